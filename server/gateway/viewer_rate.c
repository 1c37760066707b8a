// Levels from everything down to key frames alone, by what acknowledgements say of the way: start at decide.
#include "server/gateway/viewer_rate.h"
#include "protocol/assert.h"

#include <string.h>

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
