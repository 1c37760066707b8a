/// How the server is, for those who look after it: GET /healthz, GET /readyz and GET /metrics.
///
///     /healthz    200 while a worker is ready, else 503; "ok" or why not, then a line for each worker
///     /readyz     200 while newcomers are welcome: a worker is ready, none was given up, and the server isn't about to
///                 end; else 503 and why not
///     /metrics    for Prometheus: of the server, of each worker by its number, of each session by its name. Sessions
///                 that aren't listed are named by numbers: whoever knows a session's name may join it.
#ifndef TARN_SERVER_GATEWAY_PAGES_STATUS_H
#define TARN_SERVER_GATEWAY_PAGES_STATUS_H

#include "server/gateway/metrics.h"
#include "server/gateway/session/session.h"
#include "server/gateway/worker/process.h"

#include <stddef.h>

/// @return the status of the answer
unsigned tarn_status_health(const tarn_workers *workers, const tarn_sessions *sessions, bool is_ending, char *text,
                            size_t text_bytes);

/// @param is_leaving  the server is about to end  @return as above
unsigned tarn_status_ready(const tarn_workers *workers, bool is_leaving, char *text, size_t text_bytes);

/// @return bytes written
size_t tarn_status_metrics(tarn_metrics *metrics, const tarn_workers *workers, const tarn_sessions *sessions,
                           char *text, size_t text_bytes);

#endif
