/// A tank that kills the workers which go on from what was kept of it: with a store an older state is taken, then the
/// scene, and owners are told.
///
///     box of no use --> older state asked for --> taken, the tank is made --> of no use, too --> the scene
#ifndef TARN_SERVER_GATEWAY_SESSION_OLDER_H
#define TARN_SERVER_GATEWAY_SESSION_OLDER_H

#include "server/gateway/session.h"

/// Whether the tank waits for an older state, which is asked for where it is time; tarn_session_make_tank is then
/// called again when it is there.
bool tarn_session_awaits_older(tarn_session *session);

/// Takes what was asked for. @return whether the tank is to be made now, as far as its worker is up
bool tarn_session_take_older(tarn_session *session);

/// Tells owners what became of it, as soon as some are there.
void tarn_session_tell_older(tarn_session *session);

#endif
