/// A worker that plays back what was done to a session's tank is given that in pieces, from the session's file:
///
///     worker: from this step on ─▶ the store reads a piece (store_replay.h) ─▶ worker
///
/// The worker says where it is; nothing of that is kept here. So it gets what it needs however often it is started
/// again, or when the tank has moved to another.
#ifndef TARN_SERVER_GATEWAY_SESSION_REPLAY_H
#define TARN_SERVER_GATEWAY_SESSION_REPLAY_H

#include "server/gateway/session.h"

/// Its worker wants a piece; what it wanted before it doesn't any more.
void tarn_session_replay_wanted(tarn_session *session, const tarn_ipc_replay_wanted *at);

/// Asks the store, and hands the worker what that has read.
void tarn_session_replay_tick(tarn_session *session);

#endif
