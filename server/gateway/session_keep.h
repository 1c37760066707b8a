/// Gives a session to the store (tank_store.h).
#ifndef TARN_SERVER_GATEWAY_SESSION_KEEP_H
#define TARN_SERVER_GATEWAY_SESSION_KEEP_H

#include "server/gateway/session.h"

/// As `kept_fd`: the store has what the session is, and no box.
enum { TARN_SESSION_NO_BOX = -1 };

/// The session, and its tank if that has a box, is kept from now on, if there is a store, and the box isn't what the
/// store filled and no worker has gone on from yet. To be called until it is.
void tarn_session_keep(tarn_session *session);

/// The same whatever the box is: the store is to find another one.
void tarn_session_keep_filled(tarn_session *session);

/// The next tank has a box of its own, and nothing of this one: not even the scene.
void tarn_session_forget_box(tarn_session *session);

/// What is kept of it besides its tank has changed.
void tarn_session_keep_anew(tarn_session *session);

/// Its tank's clock is to go so fast, whatever worker and server it has next. A worker that doesn't know is told by the
/// next tick (time_machine.h).
/// @param speed  TARN_SPEED_MIN..TARN_SPEED_MAX
void tarn_session_keep_speed(tarn_session *session, float speed);

#endif
