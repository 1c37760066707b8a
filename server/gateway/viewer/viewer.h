/// One WebSocket connection that speaks tarn.v1: hello, join, then frames out and inputs in. viewer.c has what it is
/// due, receive.c what it may say when, send.c what it is sent when.
///
/// What goes out is bounded by its kind and not by a queue: whether welcome, joined, state and viewers are due are
/// flags, and each is made from what is true when the socket takes it; of pongs, presence and frames only the newest
/// counts, and the same of readings; errors have TARN_GATEWAY_ERRORS_QUEUED_MAX places, and of those beyond them the
/// number is told. One message is written per writable callback.
///
///     session, presence, receive --mark--> viewer <--drain-- send <-- web
///
/// Frames are sent while fewer than TARN_FRAMES_UNACKNOWLEDGED_MAX are unacknowledged, always the newest that the
/// viewer can decode (fanout.h). Of key and base frames, which later ones refer to, a few more may be on their way: a
/// viewer that such a frame can't be sent to in time needs a key frame, the largest there is. What of a frame is sent
/// is rate.h's to say.
#ifndef TARN_SERVER_GATEWAY_VIEWER_VIEWER_H
#define TARN_SERVER_GATEWAY_VIEWER_VIEWER_H

#include "protocol/message.h"
#include "server/base/ipc.h"
#include "server/base/limits.h"
#include "server/gateway/rights/passes.h"
#include "server/gateway/service_manager.h"
#include "server/gateway/session/session.h"
#include "server/gateway/viewer/fanout.h"
#include "server/gateway/viewer/rate.h"
#include "server/net/addresses.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lws;
struct tarn_viewer_list;

typedef enum tarn_viewer_phase {
    TARN_VIEWER_NEW = 0,
    TARN_VIEWER_GREETED = 1,
    TARN_VIEWER_JOINED = 2,
    TARN_VIEWER_CLOSING = 3, ///< what it sends is ignored
} tarn_viewer_phase;

typedef enum tarn_viewer_tell_what {
    TARN_VIEWER_TELL_WELCOME = 1 << 0,
    TARN_VIEWER_TELL_JOINED = 1 << 1,
    TARN_VIEWER_TELL_STATE = 1 << 2,
    TARN_VIEWER_TELL_VIEWERS = 1 << 3,
    TARN_VIEWER_TELL_PONG = 1 << 4,
    TARN_VIEWER_TELL_PROBES = 1 << 5,
} tarn_viewer_tell_what;

typedef struct tarn_viewer {
    struct tarn_viewer_list *all;
    struct tarn_viewer *next; ///< of all connections
    struct lws *wsi;
    tarn_session *session;     ///< while joined
    const tarn_fanout *fanout; ///< the session's, as long
    uint32_t id;
    tarn_viewer_phase phase;
    uint64_t since_ns, closing_since_ns;
    tarn_name name;
    uint32_t colour;
    tarn_role role;
    tarn_grant grant;                         ///< by which it has the role, unless it is a guest
    uint8_t is_preview;                       ///< not one of those who are there
    bool is_guest;                            ///< it came without a key
    bool is_given;                            ///< an owner gave it its role
    bool is_muted;                            ///< its inputs do nothing
    tarn_key visit_key;                       ///< by which its page speaks over HTTP (rights/visits.h); empty: none
    uint32_t used;                            ///< what of tarn_lock it may hold
    char browser[TARN_BROWSER_BYTES_MAX + 1]; ///< as it said when it joined; empty: it didn't
    uint64_t moderate_due_ns;                 ///< up to when what it does about the others is used up
    uint64_t refused_due_ns;                  ///< up to when answers to what it may not are used up
    tarn_presence presence;
    uint64_t presence_ns;    ///< when it changed
    bool presence_due;       ///< the session's board is to be sent
    bool readings_due;       ///< the same of what its probes measured
    uint64_t probe_due_ns;   ///< up to when changes of probes are used up
    uint64_t profile_due_ns; ///< up to when changes of name and colour are used up

    uint32_t to_tell; ///< tarn_viewer_tell_what bits
    tarn_ping ping;
    uint32_t error_first, error_count;
    uint32_t errors_left_out; ///< behind those, which are told by their number
    tarn_error_code left_out_code;
    tarn_error errors[TARN_GATEWAY_ERRORS_QUEUED_MAX];
    uint16_t close_code;
    const char *close_reason; ///< NULL: the last error's text
    bool close_sent, peer_closes;

    uint64_t frame_serial; ///< of the newest frame sent
    uint64_t reference;    ///< the same of key and base frames; 0: none yet
    bool is_lost;          ///< it had such a frame, and nothing moves that one any more
    bool was_hidden;       ///< since the newest frame sent, or that one was a still
    bool wants_key;        ///< it said so, and has been sent none since
    uint64_t key_serial;   ///< of the newest key frame sent
    uint64_t key_sent_ns;
    tarn_view view;
    uint64_t hidden_since_ns; ///< where that says hidden
    uint64_t spoke_ns;        ///< when its newest message came
    uint64_t valid_ns;        ///< when its newest pong came, or it was given time for the next
    tarn_viewer_rate rate;
    tarn_viewer_flight flight;

    uint32_t sequence; ///< newest received
    uint32_t timed_next;
    struct {
        uint32_t sequence; ///< 0: none
        uint64_t arrived_ns;
    } timed[TARN_GATEWAY_INPUTS_TIMED_MAX];

    double tokens; ///< messages that may still come now
    uint64_t tokens_ns;
    uint32_t assembled;
    uint8_t assembly[TARN_MESSAGE_BYTES_MAX];
} tarn_viewer;

/// Keeps what many may cause at once from filling the log: so many lines a second, and how many were left out. Zeros at
/// first.
typedef struct tarn_viewer_log {
    uint64_t due_ns;   ///< up to when lines are used up
    uint64_t told_ns;  ///< when it was told how many were left out
    uint32_t left_out; ///< since then
} tarn_viewer_log;

/// All connections that speak tarn.v1, joined or not, and what they need of the others; set before one comes.
typedef struct tarn_viewer_list {
    tarn_viewer *first;
    uint32_t id_last;
    bool is_ending;           ///< those that come are told so
    uint32_t per_address_max; ///< that may take part from one address
    tarn_client_turns joins;  ///< who joined of late
    tarn_viewer_log closed_log;
    tarn_sessions *sessions;
    const tarn_workers *workers;
    tarn_metrics *metrics;
} tarn_viewer_list;

void tarn_viewer_open(tarn_viewer_list *all, tarn_viewer *viewer, struct lws *wsi);

/// Makes a message due.
void tarn_viewer_tell(tarn_viewer *viewer, uint32_t what);

/// Queues an error that does not close. Of those for which there is no place it is told how many they are.
void tarn_viewer_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence);

/// The first of them is on its way.
void tarn_viewer_error_taken(tarn_viewer *viewer);

/// The session's board was written anew.
void tarn_viewer_presence_ready(tarn_viewer *viewer);

/// The session has newer readings.
void tarn_viewer_readings_ready(tarn_viewer *viewer);

/// Closes with a code and a reason, without an error before it.
/// @param reason  lasts as long as the viewer
void tarn_viewer_close(tarn_viewer *viewer, uint16_t close_code, const char *reason);

/// Sends an error and closes with 4000 + code.
void tarn_viewer_fail(tarn_viewer *viewer, tarn_error_code code, const char *sentence);

/// The frame to send now; NULL: there is none that this viewer has not got and may get.
const tarn_fanout_frame *tarn_viewer_next_frame(const tarn_viewer *viewer);
bool tarn_viewer_frame_is_due(const tarn_viewer *viewer);

/// The session has a newer frame.
void tarn_viewer_frame_ready(tarn_viewer *viewer);

/// Applies what the viewer asked for to what the stream takes now.
void tarn_viewer_bound(tarn_viewer *viewer, const tarn_stream_traffic *traffic, uint64_t now_ns);

/// Notes whether a viewer has lost the chain of frames that refer to each other.
void tarn_viewer_check_chain(tarn_viewer *viewer, uint64_t now_ns);

/// Ends connections that take too long over something.
void tarn_viewer_tick(tarn_viewer_list *all, uint64_t now_ns);

/// It answered a ping.
void tarn_viewer_is_valid(tarn_viewer *viewer, uint64_t now_ns);

/// The gateway stood: viewers have their time again.
void tarn_viewer_stood(tarn_viewer_list *all, const tarn_standstill *stood);

// ---- what it says ----

/// A piece of a message, as it arrives.
typedef struct tarn_viewer_piece {
    const uint8_t *bytes;
    size_t byte_count;
    uint64_t bytes_to_come; ///< of the same WebSocket frame, as its header declared
    int first, last;        ///< of the message
    int binary;
} tarn_viewer_piece;

void tarn_viewer_receive(tarn_viewer *viewer, const tarn_viewer_piece *piece);

/// The connection is gone.
void tarn_viewer_closed(tarn_viewer *viewer);

// ---- what it is sent ----

/// Writes the one message or frame that is due next. @return 0, or -1: the connection ends now
int tarn_viewer_writable(tarn_viewer *viewer);

// ---- those of a session ----

/// Makes a message due to all.
static inline void tarn_viewer_tell_all(const tarn_session *session, uint32_t what)
{
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        tarn_viewer_tell(session->viewers[i], what);
    }
}

/// Tells a session's owners who are there. @return whether some are
static inline bool tarn_viewer_tell_owners(const tarn_session *session, tarn_error_code code, const char *sentence)
{
    bool is_told = false;
    for (uint32_t i = 0; i < session->viewer_count; i++) {
        if (session->viewers[i]->role == TARN_ROLE_OWN) {
            tarn_viewer_error(session->viewers[i], code, sentence);
            is_told = true;
        }
    }
    return is_told;
}

// ---- names and colours ----

/// Gives a viewer that joins its name and colour: those that it asked for, or a number and a colour that nobody in the
/// session has.
void tarn_viewer_profile_join(const tarn_session *session, tarn_viewer *viewer, const tarn_join *join);

/// Takes a profile, or tells the viewer why not.
void tarn_viewer_profile_set(tarn_session *session, tarn_viewer *viewer, const tarn_profile *profile);

// ---- what it is told of workers ----
// The socketpair lets a worker say more than the protocol has words for: what viewers could not be told about it or
// about a tank is refused when it comes.

void tarn_welcome_fill(const tarn_ipc_worker_hello *told, tarn_welcome *welcome);
bool tarn_welcome_can_tell_hello(const tarn_ipc_worker_hello *told);
bool tarn_welcome_can_tell_state(const tarn_session_state *state);

// ---- scenes that can't be read ----
// Said to whoever owns the server's first tank, when one comes to be so and
// when an owner joins: who put it there is likely among them, and the log isn't before their eyes.

/// Keeps what a worker said, and says what is new to the owners who are there.
/// @param first  the first session, or NULL
void tarn_scene_faults_take(tarn_workers *workers, tarn_session *first, const tarn_ipc_scene_faults *faults);

/// Says what is wrong to one who has just joined, if that is an owner of the first tank.
void tarn_scene_faults_tell(const tarn_workers *workers, const tarn_session *first, tarn_viewer *viewer);

#endif
