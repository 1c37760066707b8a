/// A tank is brought back after its worker's end, and what viewers did meanwhile, and just before, reaches it.
#ifndef TARN_SERVER_GATEWAY_SESSION_RETURN_H
#define TARN_SERVER_GATEWAY_SESSION_RETURN_H

#include "server/gateway/session.h"

/// Whether the session's tank is being brought back: what viewers do waits.
bool tarn_session_comes_back(const tarn_session *session);

/// The same, or something still waits, which nothing may overtake.
bool tarn_session_waits(const tarn_session *session);

/// The worker has brought the tank back with what viewers held: tells it who is there still, and what the one before
/// may not have taken. @param is_as_it_was  the tank goes on where viewers saw it; else all that is of the past
void tarn_session_is_back(tarn_session *session, bool is_as_it_was);

/// The worker has no tank of the session any more, or couldn't bring it back: that is tried again, ever more rarely
/// (session_retry.h).
void tarn_session_is_refused(tarn_session *session);

/// Hands a worker what it is to be sent again for each tank that is back, then what waited. What finds no place waits
/// on: to be called every TARN_GATEWAY_TICK_MS.
void tarn_session_send_waiting(tarn_sessions *all, tarn_worker_process *worker);

#endif
