/// A tank goes on from a state and a log, in three ways: from the black box that a worker left, from another worker
/// that it is moved from, and with what was done to it once, which is done again.
#ifndef TARN_SERVER_WORKER_RESUME_H
#define TARN_SERVER_WORKER_RESUME_H

#include "server/worker/tank.h"

// ---- from a black box ----
// A tank goes on from what a worker that is no more left in its black box:
//
//     state ─ step ─ step ... of the log ─▶ as it was before the last step's input had been taken, and with that
//
// Where it is said to kill, more and more of it is left out (log/black_box.h); then the tank is set back, and its epoch
// changes.

/// Goes on with a tank that was just made, from what was found in its box. Job.
/// @return TARN_OK; TARN_E_MALFORMED (it is none of such a tank), TARN_E_VERSION, TARN_E_MEMORY or TARN_E_UNSTABLE: the
///         tank is to be reset; or TARN_E_DEVICE
tarn_status tarn_worker_resume(tarn_worker_tank *tank, const tarn_black_box_rest *rest);

/// Makes the steps since the newest state again, that of the newest input included: what went wrong then need not go
/// wrong again, where it was the memory or the device and not the simulation. Frames, presses and the epoch go on. Job.
/// @return TARN_OK: the tank is as if nothing had happened; else it is to be set back or reset: TARN_E_STATE (there is
///         no state), or what the load or a step came to
tarn_status tarn_worker_redo(tarn_worker_tank *tank);

// ---- from one worker to another ----
// A tank goes from one worker to another, or comes back from where its state was kept:
//
//     here    step ─ step ─ [SAVE] ─ stands ─▶ STATE_HEAD, STATE_CHUNK ... ─ [UNLOAD], or [GO_ON] ─ step
//     there   [RESTORE] ─ is made ─▶ MADE ─ [STATE_HEAD, STATE_CHUNK ...] ─ loads ─▶ STATE ─ rests till someone looks
//
// The state lies in the memory of the tank's snapshot, at both ends: it is a good one to be set back to. Behind it
// comes what viewers do to the tank (presses.h).

/// Saves the tank, which then stands. Job. @return TARN_OK or what tarn_tank_save returned
tarn_status tarn_worker_move_save(tarn_worker_tank *tank, uint32_t save);

/// So many bytes may be sent.
void tarn_worker_move_want(tarn_worker_tank *tank, uint64_t until);

/// The tank stands no longer, or no longer waits.
void tarn_worker_move_end(tarn_worker_tank *tank);

/// The tank, which was just made, waits for a state.
void tarn_worker_move_wait(tarn_worker_tank *tank, uint32_t save);

/// What the state will be. @param why  on failure a sentence
/// @return TARN_OK, TARN_E_STATE (the tank doesn't wait), TARN_E_LIMIT (more than fits) or TARN_E_MEMORY
tarn_status tarn_worker_move_head(tarn_worker_tank *tank, const tarn_ipc_state_head *head, tarn_text why);

/// The next piece. @param why  on failure a sentence  @return TARN_OK or TARN_E_STATE: another one is next, or none
tarn_status tarn_worker_move_chunk(tarn_worker_tank *tank, const tarn_ipc_state_chunk *chunk, tarn_text why);

/// Whether all pieces have come: the state is to be loaded.
bool tarn_worker_move_is_whole(const tarn_worker_tank *tank);

/// Loads what has come; the tank goes on from there. Job.
/// @param why  on failure a sentence; then the tank is of no use
/// @return TARN_OK, TARN_E_MALFORMED, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_worker_move_load(tarn_worker_tank *tank, tarn_text why);

/// Between jobs: puts into the link what there is to say and to send, as far as there is room.
void tarn_worker_move_tell(tarn_worker_tank *tank, tarn_worker_link *link);

/// Whether it would put something there now.
bool tarn_worker_move_is_due(const tarn_worker_tank *tank, const tarn_worker_link *link);

// ---- what was done once ----
// A tank that was gone back with is done again what was done to it then:
//
//     piece of the log ─▶ feed ─▶ in the place of viewers' inputs, step by step ─▶ the last step: it goes on live
//
// Its black box says so (log/black_box.h), so that the next worker plays on from the very step. Whatever changes the
// water ends it, before that is done; pause, single steps and the clock's speed act as ever. Where a piece is late the
// tank stands.

/// The tank, which is at its step, goes on as its box says. Job. @return TARN_OK or TARN_E_MEMORY: it goes on live
tarn_status tarn_worker_replay_go_on(tarn_worker_tank *tank);

/// From here on the tank is live, as its box says from now on. Nothing, where it is already.
/// @param because  for its viewers, behind "what was played back has ended: "; NULL: as it was to
void tarn_worker_replay_end(tarn_worker_tank *tank, const char *because);

/// What the feed has is no more; the box stays as it is.
void tarn_worker_replay_drop(tarn_worker_tank *tank);

static inline bool tarn_worker_replay_is_on(const tarn_worker_tank *tank)
{
    return tank->replay.feed.until > 0;
}

/// Whether the tank stands because a piece isn't there yet.
bool tarn_worker_replay_waits(const tarn_worker_tank *tank);

/// Takes a piece, for when no job is in progress. @param fd  owned: its memory; 0: none
void tarn_worker_replay_piece(tarn_worker_tank *tank, const tarn_ipc_replay *piece, int fd);

/// Between jobs: a piece that came goes into the feed. @return whether the tank stood for it
bool tarn_worker_replay_settle(tarn_worker_tank *tank, uint64_t now_ns);

/// When there is something to settle or to ask; UINT64_MAX: not before a piece comes.
uint64_t tarn_worker_replay_tell_ns(const tarn_worker_tank *tank);

/// Between jobs: asks for the next piece.
void tarn_worker_replay_ask(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns);

/// The next of what was done: a step's, or something that takes no time. Job. Ends the playing back where there is no
/// more or it can't be read. @return TARN_OK; TARN_E_NOT_FOUND: it has ended; or TARN_E_DEVICE
tarn_status tarn_worker_replay_next(tarn_worker_tank *tank, tarn_step_input *input);

/// Behind a step: the last one ends it.
void tarn_worker_replay_stepped(tarn_worker_tank *tank);

#endif
