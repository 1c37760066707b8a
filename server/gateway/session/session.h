/// A session: a tank on one of the workers and the viewers that watch it. Its black box outlives the worker: when that
/// one comes back, the tank goes on at the very step that it had come to; where that can't be, it is made from what it
/// should be (scene, paused) and starts afresh under a new epoch. A session stays with its worker until somebody moves
/// it (worker/move.h), but for one that was given up: then it goes on on another one that has room. Only one whose tank
/// may be what the worker failed by waits there until somebody resets it or loads a scene.
///
/// A tank without viewers rests after TARN_GATEWAY_IDLE_MS and goes on when somebody joins.
#ifndef TARN_SERVER_GATEWAY_SESSION_SESSION_H
#define TARN_SERVER_GATEWAY_SESSION_SESSION_H

#include "protocol/message.h"
#include "server/base/ipc.h"
#include "server/gateway/metrics.h"
#include "server/gateway/options.h"
#include "server/gateway/rights/barred.h"
#include "server/gateway/rights/role.h"
#include "server/gateway/session/presence.h"
#include "server/gateway/session/probes.h"
#include "server/gateway/session/telling.h"
#include "server/gateway/viewer/fanout.h"
#include "server/gateway/viewer/rate.h"
#include "server/gateway/worker/process.h"
#include "server/log/session_file.h"
#include "server/log/session_history.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

// ---- a tank on its way to an earlier moment ----
// The black box that it goes on from, until its worker has it, and what of that waits for the store (time_machine.h).

typedef enum tarn_past_errand {
    TARN_PAST_ERRAND_NONE = 0,
    TARN_PAST_ERRAND_BACK, ///< the tank is to be as it was
    TARN_PAST_ERRAND_FORK, ///< another session's is
    TARN_PAST_ERRAND_MARK, ///< a moment gets, or loses, its name
} tarn_past_errand;

/// What a tank is played back from, and what of it its worker waits for (making.h).
typedef struct tarn_session_replay {
    tarn_session_stretch stretch; ///< its state is 0: none
    tarn_session_stretch next;    ///< of the box that is on its way
    bool is_wanted, is_asked;     ///< a piece, by the worker; of the store
    tarn_ipc_replay_wanted at;    ///< which
} tarn_session_replay;

typedef struct tarn_session_past {
    tarn_past_errand errand; ///< that the store is on
    uint32_t fork_id;        ///< of the session that it is for
    int box_fd;              ///< owned: that the worker is to go on from; 0: none is on its way
    bool is_filled;          ///< the session's own box was filled from its file, and no worker has gone on from it yet
    bool awaits;             ///< a fork: its tank's box
    uint64_t since_ns;       ///< since when
    float speed;             ///< that owners want of its tank's clock; 0: 1
    uint64_t speed_due_ns;   ///< when the worker may be told again
    tarn_session_replay replay;
} tarn_session_past;

// ---- sessions ----

struct tarn_sessions;
struct tarn_viewer;

enum {
    TARN_SESSION_PLACE_BITS = 12, ///< of an id, below the generation
    TARN_SESSION_PLACE_MASK = (1 << TARN_SESSION_PLACE_BITS) - 1,
};

typedef struct tarn_session {
    struct tarn_sessions *all; ///< whose it is
    uint32_t id;               ///< place in the low bits, generation above; 0: free. The worker's name for the tank
    tarn_name name;
    tarn_name
        label; ///< for logs and metrics: the name, or a number where that isn't listed, since it opens the session
    tarn_name title; ///< for people; empty: none
    tarn_role_keys keys;
    uint8_t salt[TARN_SESSION_SALT_BYTES];          ///< of the keys
    char begun_as[TARN_IPC_SCENE_BYTES_MAX + 1];    ///< the scene that it was opened with
    tarn_barred barred;                             ///< whom owners removed or muted
    tarn_role guests;                               ///< what those may who come without a key
    struct in6_addr maker;                          ///< the address that it was made from; zeros: the server's own
    bool is_kept;                                   ///< however long nobody is there
    bool is_listed;                                 ///< for everybody to find
    tarn_worker_process *worker;                    ///< whose its tank is; NULL: not placed yet
    tarn_worker_process *moves_to;                  ///< whose it will be (worker/move.h); NULL: it stays
    tarn_worker_queue *held;                        ///< what viewers do to it while it stands; NULL: goes to the worker
    bool was_made;                                  ///< its tank has been there
    int box_fd;                                     ///< owned: its black box (server/log/black_box.h); 0: none
    tarn_session_past past;                         ///< what is being done with it
    bool is_owed;                                   ///< its tank is to be made as soon as that can be asked for
    bool is_failing;                                ///< it can't be kept, as its owners were told
    bool is_held_back;                              ///< it began anew too often to be kept, as its owners were told
    int kept_fd;                                    ///< the box that the store has
    bool awaits_older;                              ///< state, from the store (making.h)
    uint32_t falls;                                 ///< to an older state or the scene, lately
    uint64_t fell_ns;                               ///< when it did last
    tarn_text older_notice;                         ///< what owners are to be told of it; empty: nothing
    bool resumes;                                   ///< it is being brought back from there
    uint64_t try_ns;                                ///< when that is tried again, once it was refused; 0: never
    uint32_t tries;                                 ///< that were refused in a row
    uint64_t again_at, again_until;                 ///< what it is sent again then, in its worker's `sent`
    bool is_afresh_asked;                           ///< somebody asked for a fresh start while there was no worker
    tarn_text ends_because;                         ///< it is about to end; empty: it isn't
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];       ///< what a new worker makes the tank from: name or path
    char scene_asked[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< by a viewer, with the load that is pending
    uint32_t epoch;                                 ///< of the newest load or reset that was asked for
    bool pending;                                   ///< the worker has not answered it
    uint32_t epoch_served;                          ///< of the tank that is there, as its newest state said
    tarn_session_state state;
    tarn_fanout fanout;
    bool lacks_memory; ///< for frames, of which some were left out
    tarn_stream_traffic traffic;
    tarn_ipc_stamps stamps; ///< of the frame that comes next, or came last
    uint64_t taken_ns;      ///< when that one came
    uint64_t due_since_ns;  ///< since when frames are due (making.h); 0: none is
    tarn_stages stages;
    uint64_t key_ns;       ///< when the newest key frame came
    uint64_t bound_due_ns; ///< when viewers' ceilings are looked at again
    uint64_t key_asked_ns; ///< when one was asked for that hasn't come; 0: none
    uint32_t viewer_count;
    struct tarn_viewer *viewers[TARN_VIEWERS_MAX];
    bool viewers_changed; ///< since they were told who is there
    uint32_t gone_count;  ///< viewers that left, of which the worker doesn't know yet
    uint32_t gone[TARN_VIEWERS_MAX];
    uint32_t audience_told;         ///< to the worker
    tarn_ipc_audience carried_told; ///< the same: what frames are to carry
    uint64_t join_due_ns;           ///< up to when joins are used up
    uint64_t empty_since_ns;        ///< since when nobody looks
    uint64_t left_since_ns;         ///< since when nobody is there
    tarn_session_counts counts;
    tarn_ipc_report report; ///< the newest
    uint64_t report_ns;     ///< when that came; 0: none has
    double share;           ///< of its worker's time that it took before that
    tarn_presence_board board;
    tarn_session_probes probes;
    uint64_t fresh_due_ns;  ///< up to when fresh starts are used up
    uint64_t upload_due_ns; ///< the same of scenes that are uploaded
    uint64_t made_due_ns;   ///< the same of archives of the scene that it was made from
    tarn_session_telling telling;
} tarn_session;

/// Its place among all.
static inline uint32_t tarn_session_place_of(const tarn_session *session)
{
    return session->id & TARN_SESSION_PLACE_MASK;
}

/// All of them, and what they need of the others; set before any is opened.
typedef struct tarn_sessions {
    const tarn_gateway_options *options;
    tarn_workers *workers;
    tarn_metrics *metrics;
    /// Shows a frame to viewers to whom one is due (web.h). @param viewer_count  0..TARN_VIEWERS_MAX
    void (*show)(struct tarn_viewer *const *viewers, uint32_t viewer_count);
    tarn_session sessions[TARN_GATEWAY_SESSIONS_MAX];
    tarn_secret secret; ///< what keys are made from
    struct tarn_passes *passes;
    struct tarn_store *store;     ///< that keeps them (store/store.h); NULL: none
    struct tarn_uploads *uploads; ///< scenes of their owners (uploads.h); NULL: none are taken
    uint64_t store_due_ns;        ///< when it is looked at again
    bool has_ended;               ///< one of them, since they were looked at
    struct {
        tarn_name name;
        tarn_text sentence;
    } ended[TARN_GATEWAY_ENDED_MAX]; ///< the newest, and why
    uint32_t ended_count;            ///< so far
    uint32_t per_address_max;        ///< made from one address, at once
    tarn_fanout nowhere;             ///< for frames of tanks that were ended while they were on their way
    uint32_t generation;
} tarn_sessions;

/// What a session begins with.
typedef struct tarn_session_plan {
    const char *name; ///< NULL: one is drawn that nobody guesses
    const char *title, *scene;
    const char *begun_as; ///< NULL: the scene
    const uint8_t *salt;  ///< of its keys; NULL: one is drawn
    tarn_role guests;
    struct in6_addr maker;
    bool is_kept, is_listed;
} tarn_session_plan;

/// Opens a session, without a tank.
/// @return TARN_OK, TARN_E_LIMIT (all places are taken), TARN_E_IO (no random numbers) or TARN_E_MEMORY
tarn_status tarn_session_open(tarn_sessions *all, const tarn_session_plan *plan, tarn_session **session);

/// Gives the memory of a place back, when no frames come any more.
void tarn_session_close(tarn_session *session);

/// Ends it: its viewers are told why and closed, its tank is no more.
void tarn_session_end(tarn_session *session, const char *sentence);

/// Why a session of this name ended, for whoever comes too late; NULL: none did lately.
const char *tarn_session_ended_because(const tarn_sessions *all, const char *name);

/// Places all that have no worker, as far as there is room, and has their tanks made.
void tarn_session_place_all(tarn_sessions *all);

/// The tank has another worker, where it rests until that is told who watches it, and another black box.
/// @param box_fd  the session's from now on
void tarn_session_moved(tarn_session *session, tarn_worker_process *worker, int box_fd);

/// Sends the worker what a session's tank is made from.
void tarn_session_make_tank(tarn_session *session);

/// Lets the worker make the tank anew. @param load  but for the epoch, which is the session's next
/// @return TARN_OK, or why the worker isn't told
tarn_status tarn_session_send_load(tarn_session *session, const tarn_ipc_load *load);

/// Viewers that are there, without those who take a glimpse.
uint32_t tarn_session_people(const tarn_session *session);

uint32_t tarn_session_count(const tarn_sessions *all);

/// By name; the empty name means the first session. NULL where there is none.
tarn_session *tarn_session_find(tarn_sessions *all, const char *name);

/// @return TARN_OK, TARN_E_LIMIT (it is full), or TARN_E_STATE (too many have joined just now)
tarn_status tarn_session_join(tarn_session *session, struct tarn_viewer *viewer);
void tarn_session_leave(tarn_session *session, struct tarn_viewer *viewer);

/// A viewer began or ceased to look, or asked for more or less.
void tarn_session_view_changed(struct tarn_session *session);

/// Asks the worker for a key frame where a viewer needs one: all get the same.
void tarn_session_ask_for_key(tarn_session *session);

/// Carries out a control, or tells the viewer why not.
void tarn_session_control(tarn_session *session, struct tarn_viewer *viewer, const tarn_control *control);

/// Hands an input to the worker. `bytes` is the message as written by tarn_message_write.
void tarn_session_input(tarn_session *session, struct tarn_viewer *viewer, const tarn_input *input,
                        const uint8_t *bytes, size_t byte_count);

// What a worker says; of other workers' tanks it isn't believed. Those that return a status end the worker with
// anything but TARN_OK.
void tarn_session_worker_ready(tarn_sessions *all, tarn_worker_process *worker);
void tarn_session_worker_lost(tarn_sessions *all, tarn_worker_process *worker, const char *sentence, bool given_up);
tarn_status tarn_session_worker_message(tarn_sessions *all, const tarn_worker_process *worker,
                                        const tarn_ipc_message *message);
/// Where to receive a frame: never NULL, but where it goes there may be nobody to see it.
uint8_t *tarn_session_frame_space(tarn_sessions *all, const tarn_worker_process *worker, uint32_t tank,
                                  uint32_t frame_bytes);
tarn_status tarn_session_frame(tarn_sessions *all, const tarn_worker_process *worker, uint32_t tank,
                               uint32_t frame_bytes);

/// Ends those that are to end: nobody was there for long, or their tank cannot be made.
void tarn_session_sweep(tarn_sessions *all);

/// Lets tanks without viewers rest.
void tarn_session_tick(tarn_sessions *all, uint64_t now_ns);

/// Notes how long a stage between an input and its frame took, of a session and of all.
void tarn_session_stage(tarn_session *session, tarn_stage stage, double seconds);

#endif
