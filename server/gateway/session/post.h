/// What a session tells its worker, at once or once that has brought its tank back, and what of it the store is given.
#ifndef TARN_SERVER_GATEWAY_SESSION_POST_H
#define TARN_SERVER_GATEWAY_SESSION_POST_H

#include "server/gateway/session/session.h"

/// Sends its worker a message, or keeps it for the worker that comes, where viewers' acts wait for that.
/// @return as tarn_worker_process_send
tarn_status tarn_session_post(const tarn_session *session, const tarn_ipc_message *message, tarn_worker_queue_key key,
                              bool is_move);

// ---- to a worker that brings a tank back ----
// After its worker's end a tank is brought back, and what viewers did meanwhile, and just before, reaches it.

/// Whether the session's tank is being brought back: what viewers do waits.
bool tarn_session_comes_back(const tarn_session *session);

/// The same, or something still waits, which nothing may overtake.
bool tarn_session_waits(const tarn_session *session);

/// The worker has brought the tank back with what viewers held: tells it who is there still, and what the one before
/// may not have taken. @param is_as_it_was  the tank goes on where viewers saw it; else all that is of the past
void tarn_session_is_back(tarn_session *session, bool is_as_it_was);

/// The worker has no tank of the session any more, or couldn't bring it back: that is tried again, ever more rarely
/// (kept.h).
void tarn_session_is_refused(tarn_session *session);

/// Hands a worker what it is to be sent again for each tank that is back, then what waited. What finds no place waits
/// on: to be called every TARN_GATEWAY_TICK_MS.
void tarn_session_send_waiting(tarn_sessions *all, tarn_worker_process *worker);

// ---- to the store ----

/// As `kept_fd`: the store has what the session is, and no box.
enum { TARN_SESSION_NO_BOX = -1 };

/// The session, and its tank if that has a box, is kept from now on, if there is a store, and the box isn't what the
/// store filled and no worker has gone on from yet. To be called until it is.
void tarn_session_keep(tarn_session *session);

/// The same whatever the box is: the store is to find another one.
void tarn_session_keep_filled(tarn_session *session);

/// What is kept of it besides its tank has changed.
void tarn_session_keep_anew(tarn_session *session);

/// Its tank's clock is to go so fast, whatever worker and server it has next. A worker that doesn't know is told by the
/// next tick (time_machine.h).
/// @param speed  TARN_SPEED_MIN..TARN_SPEED_MAX
void tarn_session_keep_speed(tarn_session *session, float speed);

#endif
