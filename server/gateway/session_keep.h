/// Gives a session to the store (tank_store.h).
#ifndef TARN_SERVER_GATEWAY_SESSION_KEEP_H
#define TARN_SERVER_GATEWAY_SESSION_KEEP_H

#include "server/gateway/session.h"

/// As `kept_fd`: the store has what the session is, and no box.
enum { TARN_SESSION_NO_BOX = -1 };

/// The session, and its tank if that has a box, is kept from now on, if there is a store. To be called until it is.
void tarn_session_keep(tarn_session *session);

#endif
