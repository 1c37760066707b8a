// Levels from everything down to key frames alone, by what acknowledgements say of the way: start at decide. Then
// what a stream takes, which frames are on their way, and what the kernel knows of that.
#include "server/gateway/viewer/rate.h"
#include "protocol/assert.h"

#include <linux/tcp.h> // the C library's own lacks the newer figures
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

static uint64_t ms(uint64_t count)
{
    return count * 1000000u;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void tarn_viewer_rate_init(tarn_viewer_rate *rate)
{
    memset(rate, 0, sizeof *rate);
    rate->least_ns = UINT64_MAX;
    rate->raise_ms = TARN_VIEWER_RATE_RAISE_MS;
    rate->level_max = UINT32_MAX;
}

static uint32_t top_level(uint32_t layer_count)
{
    return layer_count == 0 ? 0 : layer_count + 1;
}

/// Another stream: who got everything goes on getting it.
static void set_layer_count(tarn_viewer_rate *rate, uint32_t layer_count)
{
    if (rate->level == top_level(rate->layer_count) || rate->level > top_level(layer_count)) {
        rate->level = top_level(layer_count);
    }
    rate->layer_count = layer_count;
}

static uint32_t bounded_level(const tarn_viewer_rate *rate)
{
    return rate->level < rate->level_max ? rate->level : rate->level_max;
}

static uint32_t layers_of(uint32_t level, uint32_t layer_count)
{
    return level < layer_count ? level + 1 : layer_count;
}

uint32_t tarn_viewer_rate_layers(tarn_viewer_rate *rate, tarn_stream_kind kind, uint32_t layer_count)
{
    if (kind == TARN_STREAM_KEY && rate->layer_count != layer_count) {
        set_layer_count(rate, layer_count);
    }
    TARN_ASSERT(layer_count >= 1 && layer_count <= TARN_STREAM_LAYERS_MAX);
    const uint32_t layers = layers_of(bounded_level(rate), layer_count);
    if (kind == TARN_STREAM_KEY || layers < rate->layers) {
        rate->layers = layers;
    }
    return rate->layers;
}

bool tarn_viewer_rate_skips_extras(const tarn_viewer_rate *rate)
{
    return bounded_level(rate) < rate->layer_count;
}

void tarn_viewer_rate_bound(tarn_viewer_rate *rate, const tarn_stream_share *share)
{
    rate->level_max = share->level;
    rate->keys_only = share->keys_only != 0;
    rate->spacing_ns = share->spacing_ns;
}

/// That extra frames keep to what was sent before.
static uint64_t spacing_ns(const tarn_viewer_rate *rate)
{
    const uint64_t calm_ns = bounded_level(rate) == rate->layer_count ? TARN_VIEWER_RATE_CALM_US * (uint64_t)1000 : 0;
    return rate->spacing_ns > calm_ns ? rate->spacing_ns : calm_ns;
}

/// That a frame may come early: steps don't fall on the beats of a spacing.
static uint64_t early_ns(const tarn_viewer_rate *rate)
{
    return spacing_ns(rate) / 4;
}

bool tarn_viewer_rate_takes_extra(const tarn_viewer_rate *rate, uint64_t now_ns)
{
    return !tarn_viewer_rate_skips_extras(rate) && now_ns + early_ns(rate) >= rate->due_ns;
}

void tarn_viewer_rate_sent(tarn_viewer_rate *rate, uint64_t now_ns)
{
    TARN_ASSERT(now_ns >= rate->sent_ns);
    const uint64_t from_ns = now_ns - min_u64(now_ns, early_ns(rate));
    rate->due_ns = (rate->due_ns > from_ns ? rate->due_ns : from_ns) + spacing_ns(rate);
    // What is far ahead, as after a spacing that is no more, or frames that had to be sent: one more spacing will do.
    rate->due_ns = min_u64(rate->due_ns, now_ns + 2 * spacing_ns(rate));
    if (now_ns - rate->sent_ns < TARN_VIEWER_RATE_DENSE_US * (uint64_t)1000) {
        rate->dense_ns = now_ns;
    }
    rate->sent_ns = now_ns;
}

uint64_t tarn_viewer_rate_lateness(tarn_viewer_rate *rate, uint64_t sent_ns, uint64_t now_ns, bool is_alone)
{
    TARN_ASSERT(now_ns >= sent_ns); // by our own clock
    const uint64_t took_ns = now_ns - sent_ns;
    if (took_ns < rate->least_ns || (rate->drains && is_alone)) {
        rate->least_ns = took_ns;
    }
    if (took_ns <= rate->least_ns + ms(TARN_VIEWER_RATE_NEAR_MS)) {
        rate->near_ns = now_ns;
        rate->drains = false;
    } else if (now_ns - rate->near_ns > ms(TARN_VIEWER_RATE_LEAST_MS)) {
        rate->drains = true;
    }
    return took_ns - rate->least_ns;
}

uint32_t tarn_viewer_rate_in_flight_max(const tarn_viewer_rate *rate)
{
    if (rate->drains) {
        return 1;
    }
    if (rate->least_ns == UINT64_MAX) {
        return TARN_VIEWER_RATE_IN_FLIGHT_MIN;
    }
    const uint64_t frames = TARN_VIEWER_RATE_IN_FLIGHT_MIN + rate->least_ns / ms(TARN_VIEWER_RATE_BASE_MS);
    return (uint32_t)min_u64(frames, TARN_VIEWER_RATE_IN_FLIGHT_MAX);
}

/// Where all extra frames are no more than those of the next level, that one would change nothing.
static void lower_level(tarn_viewer_rate *rate, uint32_t down, uint64_t now_ns)
{
    const bool is_dense = rate->dense_ns != 0 && now_ns - rate->dense_ns < ms(2 * TARN_VIEWER_RATE_LOOK_MS);
    if (rate->level == top_level(rate->layer_count) && !is_dense && rate->level > 0) {
        rate->level--;
    }
    rate->level -= down < rate->level ? down : rate->level;
    if (rate->was_raised) {
        rate->raise_ms = min_u64(2 * rate->raise_ms, TARN_VIEWER_RATE_RAISE_MS_MAX);
    }
    rate->was_raised = false;
    rate->lowered_ns = rate->calm_ns = now_ns;
}

/// Once it has been calm for long enough.
static void raise_level(tarn_viewer_rate *rate, uint64_t now_ns)
{
    if (rate->level == top_level(rate->layer_count) || now_ns - rate->calm_ns < ms(rate->raise_ms)) {
        return;
    }
    if (rate->was_raised && rate->raise_ms > TARN_VIEWER_RATE_RAISE_MS) {
        rate->raise_ms /= 2;
    }
    TARN_ASSERT(rate->level < top_level(rate->layer_count));
    rate->level++;
    rate->was_raised = true;
    rate->calm_ns = now_ns;
}

static void decide(tarn_viewer_rate *rate, uint64_t now_ns)
{
    if (rate->delay_min_ns > ms(TARN_VIEWER_RATE_DELAY_MS_MAX)) {
        lower_level(rate, rate->delay_min_ns > 4 * ms(TARN_VIEWER_RATE_DELAY_MS_MAX) ? 2 : 1, now_ns);
    } else if (rate->delay_sum_ns > rate->look_count * ms(TARN_VIEWER_RATE_CALM_MS_MAX)) {
        rate->calm_ns = now_ns;
    } else {
        raise_level(rate, now_ns);
    }
}

void tarn_viewer_rate_acknowledged(tarn_viewer_rate *rate, uint64_t sent_ns, uint64_t now_ns, uint64_t late_ns,
                                   uint64_t queue_ns)
{
    const uint64_t delay_ns = min_u64(late_ns, queue_ns);
    if (sent_ns < rate->lowered_ns) {
        return; // it went before less was sent, and doesn't tell what that has done
    }
    if (rate->look_count == 0) {
        rate->look_ns = now_ns;
        rate->delay_min_ns = rate->late_min_ns = UINT64_MAX;
        rate->delay_sum_ns = 0;
    }
    rate->look_count++;
    rate->delay_min_ns = min_u64(rate->delay_min_ns, delay_ns);
    rate->late_min_ns = min_u64(rate->late_min_ns, late_ns);
    rate->delay_sum_ns += delay_ns;
    if (rate->look_count < TARN_VIEWER_RATE_LOOK_MIN || now_ns - rate->look_ns < ms(TARN_VIEWER_RATE_LOOK_MS)) {
        return;
    }
    rate->late_ns = rate->late_min_ns;
    decide(rate, now_ns);
    rate->look_count = 0;
}

bool tarn_viewer_rate_idle(tarn_viewer_rate *rate, uint64_t now_ns)
{
    raise_level(rate, now_ns);
    return layers_of(bounded_level(rate), rate->layer_count) > rate->layers;
}

void tarn_viewer_rate_lost(tarn_viewer_rate *rate, uint64_t now_ns)
{
    if (rate->late_ns <= ms(TARN_VIEWER_RATE_CALM_MS_MAX)) {
        return;
    }
    lower_level(rate, 1, now_ns);
    rate->look_count = 0;
}

// ---- what a stream takes ----
// Sums of the last seconds' frames by layer, and the most of them that fits a ceiling: start at
// tarn_stream_traffic_share.

void tarn_stream_traffic_init(tarn_stream_traffic *traffic)
{
    memset(traffic, 0, sizeof *traffic);
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

// ---- what is on its way ----
// A short array of frames, oldest first: an acknowledgement lands its frame and all before it.

void tarn_viewer_flight_put(tarn_viewer_flight *flight, uint32_t epoch, uint32_t number, uint64_t step,
                            uint64_t sent_ns)
{
    TARN_ASSERT(flight->count < sizeof flight->frames / sizeof flight->frames[0]);
    TARN_ASSERT(flight->count == 0 || flight->frames[flight->count - 1].sent_ns <= sent_ns);
    const uint32_t i = flight->count++;
    flight->frames[i].epoch = epoch;
    flight->frames[i].number = number;
    flight->frames[i].step = step;
    flight->frames[i].sent_ns = sent_ns;
    flight->frames[i].is_alone = i == 0;
}

/// By its number, or by its step where that isn't said.
static bool names_frame(const tarn_viewer_flight *flight, uint32_t i, const tarn_ack *ack)
{
    return flight->frames[i].epoch == ack->epoch &&
           (ack->number ? flight->frames[i].number == ack->number : flight->frames[i].step == ack->step);
}

bool tarn_viewer_flight_land(tarn_viewer_flight *flight, const tarn_ack *ack, tarn_viewer_landing *landing)
{
    for (uint32_t i = flight->count; i > 0; i--) {
        if (!names_frame(flight, i - 1, ack)) {
            continue;
        }
        landing->sent_ns = flight->frames[i - 1].sent_ns;
        landing->is_alone = flight->frames[i - 1].is_alone;
        memmove(flight->frames, flight->frames + i, (flight->count - i) * sizeof flight->frames[0]);
        TARN_ASSERT(flight->count >= i);
        flight->count -= i;
        return true;
    }
    return false;
}

// ---- what the kernel knows of the way ----
// Here, since libuv's headers have the C library's tcp_info.

uint64_t tarn_viewer_path_queue_ns(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        bytes < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate) {
        return TARN_VIEWER_PATH_UNKNOWN;
    }
    const uint64_t rtt_us = info.tcpi_rtt > info.tcpi_min_rtt ? info.tcpi_rtt - info.tcpi_min_rtt : 0;
    if (info.tcpi_notsent_bytes == 0) {
        return rtt_us * 1000;
    }
    if (info.tcpi_delivery_rate == 0) {
        return TARN_VIEWER_PATH_UNKNOWN;
    }
    return rtt_us * 1000 + info.tcpi_notsent_bytes * (uint64_t)1000000000 / info.tcpi_delivery_rate;
}
