/// Moves a session's tank to another worker while it is watched. One at a time: then the others hardly notice.
///
///     the other worker           this one                        what viewers do
///     makes the tank             steps                           goes to this one
///                                saves at the next step, stands  is held
///     takes the state            stands                          is held
///     steps: the next frame      forgets it                      goes to the other, in order
///
/// The epoch stays and frames' numbers go on, so that viewers see a key frame a little early and nothing else. Where
/// anything fails before the other worker has the tank, it goes on where it is; where the worker ends that has it, it
/// is brought back as ever, and gets what was held.
#ifndef TARN_SERVER_GATEWAY_WORKER_MOVE_H
#define TARN_SERVER_GATEWAY_WORKER_MOVE_H

#include "server/gateway/service_manager.h"
#include "server/gateway/session/session.h"

#include <stdbool.h>

typedef enum tarn_move_phase {
    TARN_MOVE_NONE,
    TARN_MOVE_MAKES,  ///< the other worker makes the tank
    TARN_MOVE_SAVES,  ///< this one is to save it
    TARN_MOVE_PASSES, ///< the state is on its way, and is loaded
    TARN_MOVE_ENDS,   ///< what was held goes to whoever has the tank
} tarn_move_phase;

/// Zeroed but for `sessions`, before it is used.
typedef struct tarn_move {
    tarn_sessions *sessions;
    tarn_move_phase phase;
    tarn_session *session;
    uint32_t id; ///< of the session: its place may be another one's by now
    tarn_worker_process *from, *to;
    uint32_t save;            ///< counts moves: what came of an older one isn't taken for this one's
    int box_fd;               ///< owned: of the tank that `to` makes; 0: none
    uint64_t since_ns;        ///< since when `to` makes the tank, then since when it may stand
    tarn_ipc_state_head head; ///< what `from` offers
    uint64_t wanted, passed;  ///< bytes of it that it may send; that it sent
    bool owes_go_on;          ///< `from` still has to be told that it keeps the tank
    tarn_worker_queue held;   ///< what viewers do meanwhile: TARN_GATEWAY_WORKER_QUEUE_MAX at most, as in any queue
} tarn_move;

/// Begins to move a session's tank.
/// @param wanted  the other worker's index, below the number of workers; -1: placement.h chooses
/// @param why     on failure a sentence
/// @return TARN_OK, or TARN_E_STATE: not now, or not there
tarn_status tarn_move_begin(tarn_move *move, tarn_session *session, int wanted, tarn_text why);

/// Takes a worker's message where it is about a move. @param status  as tarn_session_worker_message returns it
/// @return false: it isn't
bool tarn_move_worker_message(tarn_move *move, tarn_worker_process *worker, const tarn_ipc_message *message,
                              tarn_status *status);

/// A worker has taken a chunk.
void tarn_move_chunk_sent(tarn_move *move, const tarn_worker_process *worker);

/// A worker is gone; before tarn_session_worker_lost.
void tarn_move_worker_lost(tarn_move *move, const tarn_worker_process *worker, const char *sentence);

/// Ends a move that takes too long, and goes on with what found no place.
void tarn_move_tick(tarn_move *move, uint64_t now_ns);

/// The gateway stood: the move has its time again.
void tarn_move_stood(tarn_move *move, const tarn_standstill *stood);

#endif
