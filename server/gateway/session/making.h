/// How a session's tank comes to be: on which worker, from which state, whether frames come of it, and what it is
/// played back from.
#ifndef TARN_SERVER_GATEWAY_SESSION_MAKING_H
#define TARN_SERVER_GATEWAY_SESSION_MAKING_H

#include "server/gateway/service_manager.h"
#include "server/gateway/session/session.h"

#include <stdbool.h>
#include <stdint.h>

// ---- on which worker ----

/// What part of its worker's time a session's tank takes, or would, watched and in real time; 0: not known.
double tarn_session_cost(const tarn_session *session);

/// Whether some worker is up that has room for one more tank.
/// @param why  receives where none has; may be NULL
bool tarn_session_has_room(const tarn_sessions *all, tarn_text why);

/// Gives the session the worker that worker/placement.h says; tarn_session_make_tank is next. @return false: none takes
/// it
bool tarn_session_place(tarn_session *session);

/// The worker that would take the session's tank instead of its own, by worker/placement.h.
/// @param wanted  its index; -1: any  @return an index, or -1: none would
int tarn_session_other_worker(const tarn_session *session, int wanted);

/// Of a session whose worker was given up: gives it another one where its tank isn't what the first failed by.
/// @return whether it goes on there; tarn_session_make_tank is next
bool tarn_session_leaves(tarn_session *session);

// ---- from an older state ----
// Where a tank kills the workers which go on from what was kept of it: with a store an older state is taken, then the
// scene, and owners are told.
//
//     box of no use --> older state asked for --> taken, the tank is made --> of no use, too --> the scene

/// Whether the tank waits for an older state, which is asked for where it is time; tarn_session_make_tank is then
/// called again when it is there.
bool tarn_session_awaits_older(tarn_session *session);

/// Takes what was asked for. @return whether the tank is to be made now, as far as its worker is up
bool tarn_session_take_older(tarn_session *session);

/// Tells owners what became of it, as soon as some are there.
void tarn_session_tell_older(tarn_session *session);

// ---- whether frames come ----
// Of tanks that somebody watches: what /healthz goes by.

/// Notes since when frames are due. To be called every tick.
void tarn_session_pulse_tick(tarn_sessions *all, uint64_t now_ns);

/// The gateway stood: tanks have their time again, to make frames and to wait for somebody.
void tarn_session_pulse_stood(tarn_sessions *all, const tarn_standstill *stood);

/// How long frames of a tank have been due and none came, milliseconds; 0: none is due. A tank that nobody watches owes
/// none, nor one that is paused, moved or being made, which has a deadline of its own.
uint64_t tarn_session_pulse_late_ms(const tarn_session *session, uint64_t now_ns);

// ---- what it is played back from ----
// A worker that plays back what was done to a session's tank is given that in pieces, from the session's file:
//
//     worker: from this step on ─▶ the store reads a piece (store/store.h) ─▶ worker
//
// The worker says where it is; nothing of that is kept here. So it gets what it needs however often it is started
// again, or when the tank has moved to another.

/// Its worker wants a piece; what it wanted before it doesn't any more.
void tarn_session_replay_wanted(tarn_session *session, const tarn_ipc_replay_wanted *at);

/// Asks the store, and hands the worker what that has read.
void tarn_session_replay_tick(tarn_session *session);

#endif
