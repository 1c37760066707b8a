/// Where the time between an input and its frame goes, of a session and of all.
#ifndef TARN_SERVER_GATEWAY_SESSION_LATENCY_H
#define TARN_SERVER_GATEWAY_SESSION_LATENCY_H

#include "server/gateway/session.h"

/// Notes how long a stage took.
void tarn_session_stage(tarn_session *session, tarn_stage stage, double seconds);

/// A frame has come, which contains these inputs.
void tarn_session_note_latency(tarn_session *session, const tarn_fanout_inputs *inputs);

#endif
