/// A tank's state on its way from one worker to another, as each of the two sees it; worker_move.h says how.
#ifndef TARN_SERVER_WORKER_HANDOVER_H
#define TARN_SERVER_WORKER_HANDOVER_H

#include "server/common/ipc.h"

#include <stdbool.h>

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

#endif
