/// Owners go back with a tank to any moment of its past that is kept (server/log/session_history.h), have another
/// session go on from one, name moments, and set how fast the tank's clock goes.
///
///     asked ─▶ the store finds the state and the log ─▶ a black box ─▶ the worker goes on from it, under a new epoch
///     (pages/time)     (store/history)                                 (or a session of its own has it: a fork)
///
/// Until the worker has gone on from it the tank is as it was, and so it stays where anything of this fails. What was
/// there until then stays in the past, too: one can go back to it.
#ifndef TARN_SERVER_GATEWAY_SESSION_TIME_MACHINE_H
#define TARN_SERVER_GATEWAY_SESSION_TIME_MACHINE_H

#include "server/gateway/session/session.h"

/// What of a session's past is there; zeros: nothing yet. @return false, with a sentence: nothing ever is
bool tarn_time_machine_look(const tarn_session *session, tarn_session_span *span, tarn_text why);

// Those that return a status: TARN_OK, it is being done; TARN_E_ARGUMENT, t isn't kept; TARN_E_STATE, not now. Each
// with a sentence.

/// The session's tank is to be as it was. @param t_s  seconds of its time
/// @param replays  and what was done to it from then on is to be done again, until somebody changes the water
tarn_status tarn_time_machine_go_back(tarn_session *session, double t_s, bool replays, tarn_text why);

/// Another session is to have a tank as this one's was. @param fork  just opened, not placed
tarn_status tarn_time_machine_fork(tarn_session *session, double t_s, tarn_session *fork, tarn_text why);

/// @param name  1..TARN_SESSION_MARK_BYTES_MAX bytes
tarn_status tarn_time_machine_mark(tarn_session *session, double t_s, const char *name, tarn_text why);
tarn_status tarn_time_machine_unmark(tarn_session *session, uint32_t mark, tarn_text why);

/// Goes on with what the store has found, and tells workers how fast their tanks' clocks are to go.
void tarn_time_machine_tick(tarn_sessions *all, uint64_t now_ns);

#endif
