/// Gives a session to the store (tank_store.h).
#ifndef TARN_SERVER_GATEWAY_SESSION_KEEP_H
#define TARN_SERVER_GATEWAY_SESSION_KEEP_H

#include "server/gateway/session.h"

/// The session's tank has a box: it is kept from now on, if there is a store. To be called until it is.
void tarn_session_keep(tarn_session *session);

/// What is kept of it besides its tank has changed.
void tarn_session_keep_anew(tarn_session *session);

#endif
