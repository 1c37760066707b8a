/// Which inputs say where something is now, so that a newer one replaces them.
#ifndef TARN_SERVER_GATEWAY_INPUT_MOVES_H
#define TARN_SERVER_GATEWAY_INPUT_MOVES_H

#include "server/gateway/worker_queue.h"

#include <stdbool.h>

/// @param key  receives which of a viewer's inputs replace each other  @return whether this one may be replaced
bool tarn_input_is_move(const tarn_input *input, tarn_worker_queue_key *key);

#endif
