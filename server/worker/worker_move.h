/// A tank goes from one worker to another, or comes back from where its state was kept:
///
///     here    step ─ step ─ [SAVE] ─ stands ─▶ STATE_HEAD, STATE_CHUNK ... ─ [UNLOAD], or [GO_ON] ─ step
///     there   [RESTORE] ─ is made ─▶ MADE ─ [STATE_HEAD, STATE_CHUNK ...] ─ loads ─▶ STATE ─ rests till someone looks
///
/// The state lies in the memory of the tank's snapshot, at both ends: it is a good one to be set back to. Behind it
/// comes what viewers do to the tank (press_bytes.h).
#ifndef TARN_SERVER_WORKER_WORKER_MOVE_H
#define TARN_SERVER_WORKER_WORKER_MOVE_H

#include "server/worker/worker_tank.h"

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

#endif
