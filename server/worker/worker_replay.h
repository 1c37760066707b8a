/// A tank that was gone back with is done again what was done to it then:
///
///     piece of the log ─▶ feed ─▶ in the place of viewers' inputs, step by step ─▶ the last step: it goes on live
///
/// Its black box says so (black_box.h), so that the next worker plays on from the very step. Whatever changes the water
/// ends it, before that is done; pause, single steps and the clock's speed act as ever. Where a piece is late the tank
/// stands.
#ifndef TARN_SERVER_WORKER_REPLAY_H
#define TARN_SERVER_WORKER_REPLAY_H

#include "server/worker/worker_tank.h"

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
