/// What is measured in a session's tank: the list that people and the scene make, and what comes of it.
///
///     probe ─▶ wanted ─ PROBES ─▶ worker ─ PROBED ─▶ told ─▶ `probes` to all
///                                        └ READINGS ─▶ one message ─▶ `readings` to those who asked
///
/// The worker decides what can be in its tank, so that viewers are told of a probe when it measures; one PROBES is on
/// its way at a time. The list outlives the worker and the tank: a new worker, or the tank made anew, gets it again.
///
/// Readings aren't queued: a viewer whose socket is busy gets the newest when it takes bytes again.
#ifndef TARN_SERVER_GATEWAY_SESSION_PROBES_H
#define TARN_SERVER_GATEWAY_SESSION_PROBES_H

#include "server/base/ipc.h"
#include "server/log/session_frame.h"

#include <libwebsockets.h>
#include <stdbool.h>

struct tarn_session;
struct tarn_viewer;

typedef struct tarn_probe_wanted {
    uint32_t id;
    uint32_t viewer_id; ///< whose; 0: nobody's who is there
    uint32_t asker_id;  ///< who placed or moved it last, and is told where that can't be
    bool is_scenes;     ///< the scene has it
    tarn_probe_shows shows;
    float at_m[3], to_m[3];
    uint32_t solid;
    tarn_name label;
} tarn_probe_wanted;

typedef struct tarn_probes_wanted {
    uint32_t count;
    tarn_probe_wanted of[TARN_LIVE_PROBES_MAX];
} tarn_probes_wanted;

/// What viewers get: most sessions never have any, so that it is taken with the first probe.
typedef struct tarn_probes_shown {
    tarn_probe_list told; ///< the newest list
    size_t byte_count;
    uint8_t bytes[LWS_PRE + TARN_MESSAGE_SERVER_BYTES_MAX]; ///< the newest `readings`, behind LWS_PRE
} tarn_probes_shown;

typedef struct tarn_session_probes {
    uint32_t id_last;
    tarn_probes_wanted wanted;
    tarn_probes_wanted sent;  ///< as the worker's newest answer is about them, or will be
    uint32_t revision;        ///< of those
    bool awaits;              ///< the answer
    bool is_changed;          ///< since they were sent
    uint64_t send_due_ns;     ///< not before: everybody hears of each list
    tarn_probes_shown *shown; ///< owned; NULL: there never was a probe. It serves every session of this place
    tarn_name scene;          ///< whose own ones are in the list; empty: none has been yet
    bool is_scene_due;        ///< it was loaded just now: those of the tank that comes count, whatever its name
} tarn_session_probes;

/// How many viewers know of.
uint32_t tarn_session_probes_told(const struct tarn_session *session);

/// For a session that begins in a place: what is there goes on, without what was in it.
void tarn_session_probes_begin(struct tarn_session *session, tarn_probes_shown *shown);

/// Does what a viewer wants that may, or tells it why not.
void tarn_session_probes_wish(struct tarn_session *session, struct tarn_viewer *viewer, const tarn_probe_wish *wish);

/// A viewer left: what it placed is nobody's.
void tarn_session_probes_left(struct tarn_session *session, uint32_t viewer_id);

/// Sends the worker what has changed, when it can be.
void tarn_session_probes_send(struct tarn_session *session);

/// The tank is on another worker, or made anew there.
void tarn_session_probes_again(struct tarn_session *session);

/// Whether readings are to come: somebody asks for them, and something is measured.
bool tarn_session_probes_are_watched(const struct tarn_session *session);

/// The list as it was kept: whose they are isn't known any more.
void tarn_session_probes_back(struct tarn_session *session, const tarn_session_about *about);

// What a worker says. Those that return a status end it with anything but TARN_OK.
void tarn_session_probes_of_scene(struct tarn_session *session, const tarn_ipc_scene_probes *scene);
tarn_status tarn_session_probes_answered(struct tarn_session *session, const tarn_ipc_probed *answer);
tarn_status tarn_session_probes_read(struct tarn_session *session, const tarn_ipc_readings *readings);

#endif
