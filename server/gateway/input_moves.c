// One of each pointer, side and camera.
#include "server/gateway/input_moves.h"

bool tarn_input_is_move(const tarn_input *input, tarn_worker_queue_key *key)
{
    key->kind = (uint16_t)(input->kind + 1);
    switch (input->kind) {
    case TARN_INPUT_POINTER:
        key->index = (uint16_t)input->pointer.pointer_id;
        return input->pointer.phase == TARN_PHASE_MOVE;
    case TARN_INPUT_CONTROLLER:
        key->index = (uint16_t)input->controller.side;
        return true;
    case TARN_INPUT_HAND:
        key->index = (uint16_t)input->hand.side;
        return true;
    case TARN_INPUT_ORIENTATION:
        return true;
    case TARN_INPUT_MOTION:
        key->index = (uint16_t)input->motion.source;
        return input->motion.cell_bytes > 0; // that a source is gone is said once
    default:
        return false;
    }
}
