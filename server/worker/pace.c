// A due time that doesn't run away: lost time is let go beyond a bound.
#include "server/worker/pace.h"
#include "protocol/assert.h"
#include "server/worker/worker_limits.h"

static const uint64_t window_ns = 500000000u;

void tarn_pace_start(tarn_pace *pace, float dt_s, uint64_t now_ns)
{
    TARN_ASSERT(dt_s > 0.0f);
    pace->dt_ns = (uint64_t)((double)dt_s * 1e9 + 0.5);
    pace->due_ns = now_ns;
    pace->period_ns = pace->dt_ns;
    for (int i = 0; i < 2; i++) {
        pace->window_ns[i] = now_ns;
        pace->window_steps[i] = 0;
    }
}

void tarn_pace_set_speed(tarn_pace *pace, float speed)
{
    TARN_ASSERT(speed >= 0.01f && speed <= 100.0f);
    pace->period_ns = (uint64_t)((double)pace->dt_ns / (double)speed + 0.5);
}

void tarn_pace_stepped(tarn_pace *pace, uint64_t now_ns)
{
    pace->due_ns += pace->period_ns;
    if (now_ns > pace->due_ns + TARN_WORKER_LAG_MS_MAX * (uint64_t)1000000) {
        pace->due_ns = now_ns;
    }
    TARN_ASSERT(pace->window_ns[0] <= pace->window_ns[1] && pace->window_ns[1] <= now_ns);
    pace->window_steps[1]++;
    if (now_ns - pace->window_ns[1] >= window_ns) {
        pace->window_ns[0] = pace->window_ns[1];
        pace->window_steps[0] = pace->window_steps[1];
        pace->window_ns[1] = now_ns;
        pace->window_steps[1] = 0;
    }
}

float tarn_pace_factor(const tarn_pace *pace, uint64_t now_ns)
{
    uint32_t steps = pace->window_steps[0] + pace->window_steps[1];
    uint64_t elapsed_ns = now_ns - pace->window_ns[0];
    // The first step is due at the start: until a step's time has gone by, the quotient means nothing.
    if (steps == 0 || elapsed_ns < pace->period_ns) {
        return (float)((double)pace->dt_ns / (double)pace->period_ns);
    }
    return (float)((double)steps * (double)pace->dt_ns / (double)elapsed_ns);
}
