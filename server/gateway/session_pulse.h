/// Whether tanks that somebody watches make frames: what /healthz goes by.
#ifndef TARN_SERVER_GATEWAY_SESSION_PULSE_H
#define TARN_SERVER_GATEWAY_SESSION_PULSE_H

#include "server/gateway/standstill.h"

#include <stdbool.h>
#include <stdint.h>

struct tarn_session;
struct tarn_sessions;

/// Notes since when frames are due. To be called every tick.
void tarn_session_pulse_tick(struct tarn_sessions *all, uint64_t now_ns);

/// Notes whether there was memory for a frame, and says it once.
void tarn_session_pulse_memory(struct tarn_session *session, bool is_there, uint32_t frame_bytes);

/// The gateway stood: tanks have their time again, to make frames and to wait for somebody.
void tarn_session_pulse_stood(struct tarn_sessions *all, const tarn_standstill *stood);

/// How long frames of a tank have been due and none came, milliseconds; 0: none is due. A tank that nobody watches owes
/// none, nor one that is paused, moved or being made, which has a deadline of its own.
uint64_t tarn_session_pulse_late_ms(const struct tarn_session *session, uint64_t now_ns);

#endif
