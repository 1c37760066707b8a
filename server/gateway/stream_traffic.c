#include "server/gateway/stream_traffic.h"

#include <string.h>

void tarn_stream_traffic_init(tarn_stream_traffic *traffic)
{
    memset(traffic, 0, sizeof *traffic);
}

static uint64_t ms(uint64_t count)
{
    return count * 1000000u;
}

static tarn_stream_traffic_span *current(tarn_stream_traffic *traffic, uint64_t now_ns)
{
    tarn_stream_traffic_span *span = &traffic->spans[1];
    if (now_ns - span->start_ns > ms(TARN_STREAM_TRAFFIC_MS)) {
        traffic->spans[0] = *span;
        memset(span, 0, sizeof *span);
        span->start_ns = now_ns;
    }
    return span;
}

void tarn_stream_traffic_note(tarn_stream_traffic *traffic, const tarn_fanout_frame *frame, uint64_t now_ns)
{
    if (traffic->layer_count != frame->layer_count) {
        tarn_stream_traffic_init(traffic);
        traffic->layer_count = frame->layer_count;
        traffic->spans[0].start_ns = traffic->spans[1].start_ns = now_ns;
    }
    tarn_stream_traffic_span *span = current(traffic, now_ns);
    memcpy(traffic->particles, frame->particles, sizeof traffic->particles);
    if (frame->kind == TARN_STREAM_EXTRA) {
        span->extra_frames++;
        span->extra_bytes += frame->cut_bytes[frame->layer_count - 1];
        return;
    }
    span->chain_frames++;
    for (uint32_t l = 0; l < frame->layer_count; l++)
        span->chain_bytes[l] += frame->cut_bytes[l];
}

/// Whether a level takes no more frames and bytes in so many seconds than is asked for.
static int rates_fit(const tarn_stream_traffic *traffic, const tarn_view *view, uint32_t level, double seconds)
{
    const uint32_t layer = level < traffic->layer_count ? level : traffic->layer_count - 1;
    double frames = 0, bytes = 0;
    for (int i = 0; i < 2; i++) {
        const tarn_stream_traffic_span *span = &traffic->spans[i];
        frames += span->chain_frames;
        bytes += (double)span->chain_bytes[layer];
        if (level == traffic->layer_count) {
            frames += span->extra_frames;
            bytes += (double)span->extra_bytes;
        }
    }
    // A frame too many in the time that is looked at is none too many.
    return (view->frames_per_s <= 0 || frames - 1 <= seconds * view->frames_per_s) &&
           (view->mbit_per_s <= 0 || 8e-6 * bytes <= seconds * view->mbit_per_s);
}

static int particles_fit(const tarn_stream_traffic *traffic, const tarn_view *view, uint32_t level)
{
    const uint32_t layer = level < traffic->layer_count ? level : traffic->layer_count - 1;
    return layer == 0 || view->particles == 0 || traffic->particles[layer] <= view->particles;
}

tarn_stream_share tarn_stream_traffic_share(const tarn_stream_traffic *traffic, const tarn_view *view, uint64_t now_ns)
{
    const uint64_t span_ns = now_ns - traffic->spans[0].start_ns;
    const int is_known = span_ns >= ms(TARN_STREAM_TRAFFIC_MS_MIN);
    if (traffic->layer_count == 0)
        return (tarn_stream_share){UINT32_MAX, 0};
    for (uint32_t level = traffic->layer_count;; level--) {
        const int fits = !is_known || rates_fit(traffic, view, level, 1e-9 * (double)span_ns);
        if (fits && particles_fit(traffic, view, level))
            return (tarn_stream_share){level == traffic->layer_count ? UINT32_MAX : level, 0};
        if (level == 0)
            return (tarn_stream_share){0, !fits};
    }
}
