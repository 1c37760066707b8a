/// Counters of the gateway and their text for Prometheus.
#ifndef TARN_SERVER_GATEWAY_METRICS_H
#define TARN_SERVER_GATEWAY_METRICS_H

#include "protocol/message.h"
#include "protocol/stream.h"
#include "server/gateway/process_usage.h"
#include "server/gateway/stages.h"
#include "server/gateway/tank_store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TARN_METRICS_LATENCY_BUCKETS = 10, TARN_METRICS_KINDS = 3 };

/// How many took how long.
typedef struct tarn_latency {
    uint64_t buckets[TARN_METRICS_LATENCY_BUCKETS + 1]; ///< the last one is for everything above
    uint64_t count;
    double sum_s;
} tarn_latency;

typedef struct tarn_metrics {
    uint64_t connections_total, connections_refused_total, connections_dropped_total;
    uint64_t viewers; ///< that have joined and are there
    uint64_t messages_total, messages_unknown_total, messages_refused_total;
    uint64_t inputs_total, inputs_coalesced_total;
    uint64_t frames_received_total, frames_sent_total, frames_skipped_total, keys_asked_total;
    uint64_t moves_total, moves_failed_total;
    uint64_t frames_by_kind_total[TARN_METRICS_KINDS]; ///< sent, by tarn_stream_kind
    uint64_t frame_bytes_by_kind_total[TARN_METRICS_KINDS];
    uint32_t viewers_by_layers[TARN_STREAM_LAYERS_MAX]; ///< that were sent a key frame with so many layers and one more
    uint64_t bytes_sent_total;
    tarn_latency latency; ///< from the arrival of an input to that of the first frame that contains it
    tarn_stages stages;
    uint64_t scrapes; ///< of this text
    double scrapes_s; ///< what they took of the loop
} tarn_metrics;

/// What is told of each session.
typedef enum tarn_session_metric {
    TARN_SESSION_METRIC_VIEWERS,
    TARN_SESSION_METRIC_FRAMES_RECEIVED,
    TARN_SESSION_METRIC_FRAMES_SENT,
    TARN_SESSION_METRIC_FRAMES_SKIPPED,
    TARN_SESSION_METRIC_BYTES_SENT,
    TARN_SESSION_METRIC_REALTIME_FACTOR,
    TARN_SESSION_METRIC_STEP_S,
    TARN_SESSION_METRIC_ENCODE_S,
    TARN_SESSION_METRIC_ENCODER_BYTES,
    TARN_SESSION_METRIC_PARTICLES,
    TARN_SESSION_METRIC_STEPS,
    TARN_SESSION_METRIC_UNCONVERGED,
    TARN_SESSION_METRIC_INPUTS_WAITING,
    TARN_SESSION_METRIC_FRAMES_IN_FLIGHT,
    TARN_SESSION_METRIC_WORKER_LOSSES,
    TARN_SESSION_METRIC_RESUMES,
    TARN_SESSION_METRIC_RESTARTS,
    TARN_SESSION_METRIC_SET_BACKS,
    TARN_SESSION_METRIC_COUNT
} tarn_session_metric;

typedef struct tarn_metrics_session {
    tarn_name label; ///< its name where everybody may know it
    int worker;      ///< -1: none
    double values[TARN_SESSION_METRIC_COUNT];
    uint64_t steps; ///< and what they took
    double steps_s;
    const tarn_latency *latency; ///< NULL: none was measured
} tarn_metrics_session;

typedef enum tarn_worker_metric {
    TARN_WORKER_METRIC_READY,
    TARN_WORKER_METRIC_STARTS,
    TARN_WORKER_METRIC_FAILURES,
    TARN_WORKER_METRIC_RETRY,
    TARN_WORKER_METRIC_TANKS,
    TARN_WORKER_METRIC_LOAD,
    TARN_WORKER_METRIC_PID,
    TARN_WORKER_METRIC_MEMORY,
    TARN_WORKER_METRIC_QUEUE,
    TARN_WORKER_METRIC_HELD,
    TARN_WORKER_METRIC_COUNT
} tarn_worker_metric;

typedef struct tarn_metrics_worker {
    const char *device; ///< as it calls it
    double values[TARN_WORKER_METRIC_COUNT];
} tarn_metrics_worker;

/// Everything on the page: the server as a whole, each worker by its number, each session by its label.
typedef struct tarn_metrics_page {
    const tarn_metrics *metrics;
    tarn_process_usage usage;
    const tarn_metrics_worker *workers;
    uint32_t worker_count;
    const tarn_metrics_session *sessions;
    uint32_t session_count;
    const tarn_store_counts *store; ///< NULL: nothing is kept
} tarn_metrics_page;

/// Notes that one took this long.
void tarn_latency_note(tarn_latency *latency, double seconds);

/// @return bytes written, without the NUL; what does not fit is cut off at a line's end
size_t tarn_metrics_write(const tarn_metrics_page *page, char *text, size_t text_bytes);

#endif
