/// Tanks that found no room when they were to come back: their boxes have them, and room may come.
#ifndef TARN_SERVER_GATEWAY_SESSION_RETRY_H
#define TARN_SERVER_GATEWAY_SESSION_RETRY_H

#include "server/gateway/session.h"

/// Has those made for which it is time. To be called every tick.
void tarn_session_retry_tick(tarn_sessions *all, uint64_t now_ns);

#endif
