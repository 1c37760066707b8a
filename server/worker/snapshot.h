/// What of a tank is kept beside it: its last good state, its state on the way to another worker, and inputs that are
/// played back.
#ifndef TARN_SERVER_WORKER_SNAPSHOT_H
#define TARN_SERVER_WORKER_SNAPSHOT_H

#include "kernels/step_input.h"
#include "kernels/tank.h"
#include "protocol/status.h"
#include "server/base/ipc.h"
#include "server/log/black_box.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- the last good state ----
// It lies in the tank's black box: what the tank is set back to when a step fails, and what the next worker goes on
// from when this one ends.
//
//     step ok  -> every second of simulated time, or where the box's log is full: keep
//     step bad -> there is one, and the tank wasn't set back within the last second: restore
//              -> otherwise: the caller resets the tank

typedef struct tarn_snapshot {
    tarn_black_box box;
    uint64_t steps_per_s; ///< simulated
    uint64_t steps_since; ///< since the tank started, was set back or was kept
    bool is_start;        ///< what is kept is the tank's start
    bool was_restored;    ///< less than a second of simulated time ago
} tarn_snapshot;

/// Maps a tank's black box, which uses memory as states need it. What is in it stays.
/// @param fd  of the box; stays the caller's  @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_snapshot_init(tarn_snapshot *snapshot, int fd, const tarn_tank *tank, float dt_s);
void tarn_snapshot_free(tarn_snapshot *snapshot);

/// The tank starts afresh, and nobody holds anything: keeps it as it is now, which is nothing to be set back to here.
/// @return TARN_OK or what tarn_tank_save returned
tarn_status tarn_snapshot_start(tarn_snapshot *snapshot, tarn_tank *tank);

/// Makes room for what the tank, which has made `step` steps, is told next. @return TARN_OK, or what tarn_tank_save
/// returned
tarn_status tarn_snapshot_make_room(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Notes a good step, the `step`th, and keeps the tank's state once in a second of simulated time.
/// @return TARN_OK or what tarn_tank_save returned; then what was kept before still is
tarn_status tarn_snapshot_stepped(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Keeps the tank's state now; it is good, after the `step`th.
/// @return TARN_OK or what tarn_tank_save returned; then what was kept before still is
tarn_status tarn_snapshot_keep(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Tells whoever follows the box how long a step is, and how long one took of late. @param step_s  0: not known
void tarn_snapshot_set_pace(tarn_snapshot *snapshot, float dt_s, float step_s);

/// The scene of a tank that goes on becomes its own: it is put into the box, with the tank as it is now, after the
/// `step`th step. Where that can't be, it isn't. @param fd  of the box
void tarn_snapshot_adopt(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step, int fd,
                         const struct tarn_scene_pack *pack);

/// Loads a state that was put into the box's space from elsewhere, and keeps it. @param step  receives where it is
/// @return TARN_OK, or what tarn_tank_load returned; then nothing changes here
tarn_status tarn_snapshot_load(tarn_snapshot *snapshot, tarn_tank *tank, size_t byte_count, uint64_t *step);

/// Sets the tank back. The box's log is left to the caller.
/// @param step  receives where it is then
/// @return TARN_OK, TARN_E_STATE (nothing is kept, or the tank was set back less than a second of simulated time ago),
/// or
///         what tarn_tank_load returned
tarn_status tarn_snapshot_restore(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t *step);

// ---- on the way to another worker ----
// A tank's state on its way from one worker to another, as each of the two sees it; resume.h says how.

typedef enum tarn_handover_phase {
    TARN_HANDOVER_NONE,
    TARN_HANDOVER_GIVES, ///< the state is saved and is being sent
    TARN_HANDOVER_WAITS, ///< the tank was made and has no state of its own yet
    TARN_HANDOVER_GETS,  ///< it is coming
} tarn_handover_phase;

typedef struct tarn_handover {
    tarn_handover_phase phase;
    bool is_told;             ///< that the state is there, or that it may come
    tarn_ipc_state_head head; ///< of it only `save` while the tank waits
    uint64_t at;              ///< bytes that were sent or have come: the snapshot's, then those of presses
    uint64_t until;           ///< that may be sent
    uint8_t *presses;         ///< of head.presses_bytes; owned
} tarn_handover;

// ---- inputs that are played back ----
// What was done to a tank once, as it is played back: records of a session's log, which come in pieces and leave in
// order, one step's at a time.
//
// Pure: whoever has the tank asks for pieces and puts them here (resume.h). A record that was read stays where
// it is until the next piece is put.

typedef struct tarn_replay_feed {
    uint64_t until;   ///< the last step that is played back; 0: nothing is
    uint64_t from;    ///< the step that the next piece is to begin behind
    uint32_t held;    ///< records behind that step that have come
    bool is_last;     ///< no further piece comes
    uint64_t ready;   ///< steps whose records are here
    uint8_t *bytes;   ///< owned: two pieces of the largest size
    size_t at, count; ///< of the record that is next; of all
} tarn_replay_feed;

/// A record; of both one.
typedef struct tarn_replay_record {
    bool is_hash;
    uint64_t step; ///< that the hash is behind
    tarn_tank_hash hash;
    tarn_step_input input; ///< points into the feed
} tarn_replay_record;

/// Begins behind a step. @param feed  zero  @param until  above `step`
/// @return TARN_OK or TARN_E_MEMORY: then it stays zero
tarn_status tarn_replay_feed_begin(tarn_replay_feed *feed, uint64_t step, uint64_t until);

/// Nothing is played back any more: it is zero.
void tarn_replay_feed_end(tarn_replay_feed *feed);

/// Whether another piece is to come, of any size.
bool tarn_replay_feed_wants(const tarn_replay_feed *feed);

/// Where a piece that is wanted goes: TARN_IPC_REPLAY_BYTES_MAX bytes. What was read before is no more.
uint8_t *tarn_replay_feed_space(tarn_replay_feed *feed);

/// Takes what was put there. @return TARN_OK, or TARN_E_MALFORMED: these are no whole records, and nothing was taken
tarn_status tarn_replay_feed_put(tarn_replay_feed *feed, size_t byte_count, bool is_last);

/// Reads the next record. @return TARN_OK; TARN_E_NOT_FOUND: none is here; TARN_E_MALFORMED or TARN_E_VERSION
tarn_status tarn_replay_feed_read(tarn_replay_feed *feed, tarn_replay_record *record);

#endif
