// A due time that doesn't run away: lost time is let go beyond a bound.
#include "server/worker/pace.h"
#include "protocol/assert.h"
#include "server/worker/worker_limits.h"

static const uint64_t window_ns = 500000000u;

/// Measures from where the step before the next one would have been: as many periods go by as steps are counted.
static void measure_afresh(tarn_pace *pace, uint64_t now_ns)
{
    const uint64_t begin_ns = pace->due_ns > pace->period_ns ? pace->due_ns - pace->period_ns : 0;
    pace->stepped_ns = begin_ns < now_ns ? begin_ns : now_ns;
    for (int i = 0; i < 2; i++) {
        pace->window_ns[i] = pace->stepped_ns;
        pace->window_steps[i] = 0;
    }
}

static uint64_t period_at(const tarn_pace *pace, float speed)
{
    TARN_ASSERT(speed >= 0.01f && speed <= 100.0f);
    return (uint64_t)((double)pace->dt_ns / (double)speed + 0.5);
}

void tarn_pace_start(tarn_pace *pace, float dt_s, float speed, uint64_t now_ns)
{
    TARN_ASSERT(dt_s > 0.0f);
    pace->dt_ns = (uint64_t)((double)dt_s * 1e9 + 0.5);
    pace->due_ns = now_ns;
    pace->period_ns = period_at(pace, speed);
    measure_afresh(pace, now_ns);
}

void tarn_pace_set_speed(tarn_pace *pace, float speed, uint64_t now_ns)
{
    const uint64_t period_ns = period_at(pace, speed);
    if (pace->due_ns > now_ns) {
        const double share = (double)(pace->due_ns - now_ns) / (double)pace->period_ns;
        pace->due_ns = now_ns + (uint64_t)(share * (double)period_ns);
    }
    pace->period_ns = period_ns;
    measure_afresh(pace, now_ns);
}

void tarn_pace_stepped(tarn_pace *pace, uint64_t now_ns)
{
    pace->due_ns += pace->period_ns;
    if (now_ns > pace->due_ns + TARN_WORKER_LAG_MS_MAX * (uint64_t)1000000) {
        pace->due_ns = now_ns;
    }
    TARN_ASSERT(pace->window_ns[0] <= pace->window_ns[1] && pace->window_ns[1] <= now_ns);
    pace->stepped_ns = now_ns;
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
    const uint32_t steps = pace->window_steps[0] + pace->window_steps[1];
    // Until the next step is late, the time since the newest one says nothing.
    const uint64_t on_time_ns = pace->stepped_ns + pace->period_ns;
    const uint64_t until_ns = now_ns > on_time_ns ? now_ns - pace->period_ns : pace->stepped_ns;
    const uint64_t elapsed_ns = until_ns - pace->window_ns[0];
    if (steps == 0 || elapsed_ns == 0) {
        return (float)((double)pace->dt_ns / (double)pace->period_ns);
    }
    return (float)((double)steps * (double)pace->dt_ns / (double)elapsed_ns);
}
