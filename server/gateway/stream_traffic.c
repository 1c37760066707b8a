// Sums of the last second's frames by layer, and the most of them that fits a ceiling: start at
// tarn_stream_traffic_share.
#include "server/gateway/stream_traffic.h"
#include "protocol/assert.h"

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
    TARN_ASSERT(now_ns >= span->start_ns);
    if (now_ns - span->start_ns > ms(TARN_STREAM_TRAFFIC_MS)) {
        // What came before a pause says nothing.
        if (now_ns - span->start_ns > ms(2 * TARN_STREAM_TRAFFIC_MS)) {
            memset(span, 0, sizeof *span);
            span->start_ns = now_ns;
        }
        traffic->spans[0] = *span;
        memset(span, 0, sizeof *span);
        span->start_ns = now_ns;
    }
    return span;
}

void tarn_stream_traffic_note(tarn_stream_traffic *traffic, const tarn_fanout_frame *frame, uint64_t now_ns)
{
    TARN_ASSERT(frame->layer_count >= 1 && frame->layer_count <= TARN_STREAM_LAYERS_MAX);
    if (traffic->layer_count != frame->layer_count) {
        tarn_stream_traffic_init(traffic);
        traffic->layer_count = frame->layer_count;
        traffic->spans[0].start_ns = traffic->spans[1].start_ns = now_ns;
    }
    tarn_stream_traffic_span *span = current(traffic, now_ns);
    memcpy(traffic->particles, frame->particles, sizeof traffic->particles);
    const bool is_key = frame->kind == TARN_STREAM_KEY;
    const uint32_t last = frame->layer_count - 1, details = frame->cut_bytes[last] - frame->plain_bytes;
    if (frame->kind == TARN_STREAM_EXTRA) {
        span->extra_frames++;
        span->extra_bytes += frame->plain_bytes;
        span->extra_details += details;
        return;
    }
    span->chain_frames++;
    span->chain_details += details;
    span->key_details += is_key ? details : 0;
    for (uint32_t l = 0; l <= last; l++) {
        const uint32_t bytes = l < last ? frame->cut_bytes[l] : frame->plain_bytes;
        span->chain_bytes[l] += bytes;
        span->key_bytes[l] += is_key ? bytes : 0;
    }
}

/// What came in the time that is looked at.
typedef struct taken {
    double seconds;
    double chain_frames, extra_frames;
    double key_bytes[TARN_STREAM_LAYERS_MAX], chain_bytes[TARN_STREAM_LAYERS_MAX], extra_bytes;
} taken;

static taken add_up(const tarn_stream_traffic *traffic, const tarn_view *view, uint64_t now_ns)
{
    const uint32_t last = traffic->layer_count - 1;
    const double details = view->field[0] != 0 ? 1 : 0;
    taken sum = {.seconds = 1e-9 * (double)(now_ns - traffic->spans[0].start_ns)};
    for (int i = 0; i < 2; i++) {
        const tarn_stream_traffic_span *span = &traffic->spans[i];
        sum.chain_frames += span->chain_frames;
        sum.extra_frames += span->extra_frames;
        sum.extra_bytes += (double)span->extra_bytes;
        for (uint32_t l = 0; l < traffic->layer_count; l++) {
            sum.chain_bytes[l] += (double)span->chain_bytes[l];
            sum.key_bytes[l] += (double)span->key_bytes[l];
        }
        sum.chain_bytes[last] += details * (double)span->chain_details;
        sum.key_bytes[last] += details * (double)span->key_details;
        sum.extra_bytes += details * (double)span->extra_details;
    }
    return sum;
}

/// Key frames that somebody asked for come on top: a fifth more, and one, is none too many.
static bool frames_fit(const taken *sum, const tarn_view *view, double frames)
{
    return view->frames_per_s <= 0 || frames <= 1.2 * (double)view->frames_per_s * sum->seconds + 1;
}

static bool bytes_fit(const taken *sum, const tarn_view *view, double bytes)
{
    return view->mbit_per_s <= 0 || 8e-6 * bytes <= sum->seconds * (double)view->mbit_per_s;
}

static bool particles_fit(const tarn_stream_traffic *traffic, const tarn_view *view, uint32_t layer)
{
    return layer == 0 || view->particles == 0 || traffic->particles[layer] <= view->particles;
}

/// The most layers, less one, whose particles and bytes fit. @return -1: not even the first ones' bytes do
static int most_layers(const tarn_stream_traffic *traffic, const taken *sum, const tarn_view *view, const double *bytes)
{
    int layer = (int)traffic->layer_count - 1;
    while (layer >= 0 &&
           !(particles_fit(traffic, view, (uint32_t)layer) && (bytes == NULL || bytes_fit(sum, view, bytes[layer])))) {
        layer--;
    }
    return layer;
}

/// The share of the extra frames that fits besides the chain; 0 where it would be hardly any.
static double extras_share(const taken *sum, const tarn_view *view, double chain_bytes)
{
    const double frames = (double)view->frames_per_s * sum->seconds - sum->chain_frames;
    const double bytes = (double)view->mbit_per_s * sum->seconds / 8e-6 - chain_bytes;
    double share = 1;
    if (view->frames_per_s > 0 && frames < share * sum->extra_frames) {
        share = frames / sum->extra_frames;
    }
    if (view->mbit_per_s > 0 && bytes < share * sum->extra_bytes) {
        share = bytes / sum->extra_bytes;
    }
    return share >= TARN_STREAM_TRAFFIC_EXTRAS_MIN ? share : 0;
}

tarn_stream_share tarn_stream_traffic_share(const tarn_stream_traffic *traffic, const tarn_view *view, uint64_t now_ns)
{
    // Frames may come closer at any time: this holds without having been measured.
    const uint64_t spacing_ns = view->frames_per_s > 0 ? (uint64_t)(1e9 / (double)view->frames_per_s) : 0;
    const tarn_stream_share all = {UINT32_MAX, 0, spacing_ns};
    if (traffic->layer_count == 0) {
        return all;
    }
    const taken sum = add_up(traffic, view, now_ns);
    const uint32_t last = traffic->layer_count - 1;
    if (sum.seconds < 1e-3 * TARN_STREAM_TRAFFIC_MS_MIN) {
        return particles_fit(traffic, view, last)
                   ? all
                   : (tarn_stream_share){(uint32_t)most_layers(traffic, &sum, view, NULL), 0, spacing_ns};
    }
    if (particles_fit(traffic, view, last) && frames_fit(&sum, view, sum.chain_frames + sum.extra_frames) &&
        bytes_fit(&sum, view, sum.chain_bytes[last] + sum.extra_bytes)) {
        return all;
    }
    const int layer = most_layers(traffic, &sum, view, sum.chain_bytes);
    if (layer >= 0 && frames_fit(&sum, view, sum.chain_frames)) {
        const double share = layer == (int)last ? extras_share(&sum, view, sum.chain_bytes[last]) : 0;
        const double apart_s = sum.seconds / (sum.chain_frames + share * sum.extra_frames);
        return share > 0 ? (tarn_stream_share){UINT32_MAX, 0, (uint64_t)(1e9 * apart_s)}
                         : (tarn_stream_share){(uint32_t)layer, 0, 0};
    }
    const int of_keys = most_layers(traffic, &sum, view, sum.key_bytes);
    return (tarn_stream_share){of_keys > 0 ? (uint32_t)of_keys : 0, 1, 0};
}
