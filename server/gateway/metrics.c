#include "server/gateway/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const double latency_bounds_s[TARN_METRICS_LATENCY_BUCKETS] = {0.005, 0.01, 0.02, 0.03, 0.05,
                                                                      0.075, 0.1,  0.2,  0.5,  1.0};

typedef struct metrics_text {
    char *at;
    size_t left;
} metrics_text;

static void put(metrics_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(metrics_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= text->left) {
        *text->at = 0;
        text->left = 0;
        return;
    }
    text->at += length;
    text->left -= (size_t)length;
}

static void put_metric(metrics_text *text, const char *name, const char *type, const char *help, double value)
{
    if (text->left) {
        put(text, "# HELP tarn_%s %s\n# TYPE tarn_%s %s\ntarn_%s %.17g\n", name, help, name, type, name, value);
    }
}

void tarn_metrics_latency(tarn_metrics *metrics, double seconds)
{
    int bucket = 0;
    while (bucket < TARN_METRICS_LATENCY_BUCKETS && seconds > latency_bounds_s[bucket]) {
        bucket++;
    }
    metrics->latency_buckets[bucket]++;
    metrics->latency_count++;
    metrics->latency_sum_s += seconds;
}

static void put_head(metrics_text *text, const char *name, const char *type, const char *help)
{
    if (text->left) {
        put(text, "# HELP tarn_%s %s\n# TYPE tarn_%s %s\n", name, help, name, type);
    }
}

/// A counter of each kind of frames.
static void put_kinds(metrics_text *text, const char *name, const char *help, const uint64_t *values)
{
    static const char *const kinds[TARN_METRICS_KINDS] = {"key", "base", "extra"};
    put_head(text, name, "counter", help);
    for (int kind = 0; kind < TARN_METRICS_KINDS && text->left; kind++) {
        put(text, "tarn_%s{kind=\"%s\"} %" PRIu64 "\n", name, kinds[kind], values[kind]);
    }
}

static void put_layers(metrics_text *text, const tarn_metrics *metrics)
{
    put_head(text, "viewers_by_layers", "gauge", "Viewers that get so many layers of the frames");
    for (int i = 0; i < TARN_STREAM_LAYERS_MAX && text->left; i++) {
        put(text, "tarn_viewers_by_layers{layers=\"%d\"} %" PRIu32 "\n", i + 1, metrics->viewers_by_layers[i]);
    }
}

static void put_latency(metrics_text *text, const tarn_metrics *metrics)
{
    uint64_t below = 0;
    if (text->left) {
        put(text, "# HELP tarn_input_to_frame_seconds From an input's arrival to the first frame that contains it\n"
                  "# TYPE tarn_input_to_frame_seconds histogram\n");
    }
    for (int i = 0; i < TARN_METRICS_LATENCY_BUCKETS && text->left; i++) {
        below += metrics->latency_buckets[i];
        put(text, "tarn_input_to_frame_seconds_bucket{le=\"%g\"} %" PRIu64 "\n", latency_bounds_s[i], below);
    }
    if (text->left) {
        put(text,
            "tarn_input_to_frame_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\ntarn_input_to_frame_seconds_sum %.17g\n"
            "tarn_input_to_frame_seconds_count %" PRIu64 "\n",
            metrics->latency_count, metrics->latency_sum_s, metrics->latency_count);
    }
}

static void put_stages(metrics_text *text, const tarn_stages *stages)
{
    put_head(text, "stage_seconds", "summary", "Stages between an input and the frame that shows it");
    for (int i = 0; i < TARN_STAGE_COUNT && text->left; i++) {
        const char *name = tarn_stage_name((tarn_stage)i);
        put(text, "tarn_stage_seconds_sum{stage=\"%s\"} %.17g\ntarn_stage_seconds_count{stage=\"%s\"} %" PRIu64 "\n",
            name, stages->sum_s[i], name, stages->count[i]);
    }
}

size_t tarn_metrics_write(const tarn_metrics *m, char *bytes, size_t text_bytes)
{
    metrics_text text = {bytes, text_bytes};
    const tarn_ipc_report *report = &m->report;
    put_metric(&text, "viewers", "gauge", "Viewers in sessions", (double)m->viewers);
    put_metric(&text, "connections_total", "counter", "Connections accepted", (double)m->connections_total);
    put_metric(&text, "connections_refused_total", "counter", "Connections refused by a limit",
               (double)m->connections_refused_total);
    put_metric(&text, "connections_dropped_total", "counter", "Idle connections ended, to make room or after a time",
               (double)m->connections_dropped_total);
    put_metric(&text, "messages_total", "counter", "Messages from viewers", (double)m->messages_total);
    put_metric(&text, "messages_unknown_total", "counter", "Messages of unknown kinds, ignored",
               (double)m->messages_unknown_total);
    put_metric(&text, "messages_refused_total", "counter", "Messages answered with an error",
               (double)m->messages_refused_total);
    put_metric(&text, "inputs_total", "counter", "Inputs handed to the worker", (double)m->inputs_total);
    put_metric(&text, "inputs_coalesced_total", "counter", "Inputs replaced by newer ones on their way",
               (double)m->inputs_coalesced_total);
    put_metric(&text, "frames_received_total", "counter", "Frames from the worker", (double)m->frames_received_total);
    put_metric(&text, "keys_asked_total", "counter", "Key frames asked for because a viewer needed one",
               (double)m->keys_asked_total);
    put_metric(&text, "frames_sent_total", "counter", "Frames sent to viewers", (double)m->frames_sent_total);
    put_kinds(&text, "frames_by_kind_total", "Frames sent to viewers, by kind", m->frames_by_kind_total);
    put_kinds(&text, "frame_bytes_by_kind_total", "Bytes of frames sent to viewers, by kind",
              m->frame_bytes_by_kind_total);
    put_layers(&text, m);
    put_metric(&text, "frames_skipped_total", "counter", "Frames that a viewer was not sent, while it looked",
               (double)m->frames_skipped_total);
    put_metric(&text, "bytes_sent_total", "counter", "Bytes of frames and messages sent to viewers",
               (double)m->bytes_sent_total);
    put_metric(&text, "worker_starts_total", "counter", "Starts of the worker", (double)m->worker_starts_total);
    put_metric(&text, "worker_failures_total", "counter", "Ends of the worker that nobody asked for",
               (double)m->worker_failures_total);
    put_metric(&text, "worker_ready", "gauge", "Whether the worker simulates", m->worker_ready);
    put_metric(&text, "realtime_factor", "gauge", "Simulated seconds per second; 0 while resting or paused",
               (double)report->realtime_factor);
    put_metric(&text, "step_seconds", "gauge", "Mean time of a step over the last second", (double)report->step_s);
    put_metric(&text, "encode_seconds", "gauge", "Mean time to encode a frame", (double)report->encode_s);
    put_metric(&text, "encoder_bytes", "gauge", "Device memory that the encoder of frames takes",
               (double)report->encoder_bytes);
    put_metric(&text, "particles", "gauge", "Particles in the tank", report->particle_count);
    put_metric(&text, "steps", "gauge", "Steps since the tank started afresh", (double)report->step);
    put_latency(&text, m);
    put_stages(&text, &m->stages);
    return (size_t)(text.at - bytes);
}
