/// What viewers are told of the workers. The socketpair lets a worker say more than the protocol has words for: what
/// viewers could not be told about it or about a tank is refused when it comes.
#ifndef TARN_SERVER_GATEWAY_WELCOME_H
#define TARN_SERVER_GATEWAY_WELCOME_H

#include "protocol/message.h"
#include "server/common/ipc.h"

#include <stdbool.h>

void tarn_welcome_fill(const tarn_ipc_worker_hello *told, tarn_welcome *welcome);
bool tarn_welcome_can_tell_hello(const tarn_ipc_worker_hello *told);
bool tarn_welcome_can_tell_state(const tarn_session_state *state);

#endif
