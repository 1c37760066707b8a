// Key, base or extra frame, by what is due and what was asked for: start at tarn_frame_plan_next.
#include "server/worker/frame_plan.h"
#include "protocol/assert.h"
#include "server/worker/worker_limits.h"

#include <string.h>

static uint64_t ms(uint64_t count)
{
    return count * 1000000u;
}

void tarn_frame_plan_start(tarn_frame_plan *plan, const tarn_frame_rates *rates, uint64_t now_ns)
{
    TARN_ASSERT(rates->period_ns > 0 && rates->step_ns > 0);
    memset(plan, 0, sizeof *plan);
    plan->period_ns = rates->period_ns;
    plan->step_ns = rates->step_ns;
    plan->keeps_rate = rates->keeps_rate;
    plan->due_ns = now_ns;
}

void tarn_frame_plan_hurry(tarn_frame_plan *plan, uint64_t now_ns)
{
    plan->due_ns = now_ns;
}

void tarn_frame_plan_acted(tarn_frame_plan *plan, uint64_t now_ns)
{
    plan->acts_ns = now_ns + ms(TARN_WORKER_ACTS_MS);
}

void tarn_frame_plan_ask(tarn_frame_plan *plan)
{
    plan->is_key_asked = true;
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/// From when on there may be a key frame.
static uint64_t key_from_ns(const tarn_frame_plan *plan)
{
    return later(plan->has_key ? plan->key_ns + ms(TARN_WORKER_KEY_SPACING_MS) : 0, plan->hold_ns);
}

/// The same of one that was asked for: some may come before their turn.
static uint64_t asked_from_ns(const tarn_frame_plan *plan)
{
    const uint64_t early_ns = ms((TARN_WORKER_KEY_ASKED_BURST - 1) * TARN_WORKER_KEY_ASKED_MS);
    return later(key_from_ns(plan), plan->asked_ns > early_ns ? plan->asked_ns - early_ns : 0);
}

/// Whether the rate asks for a frame of a step. Half a step early counts as due: the frame belongs to the step that is
/// nearest to its time.
static bool rate_asks(const tarn_frame_plan *plan, uint64_t now_ns)
{
    return plan->due_ns <= now_ns + plan->step_ns / 2;
}

/// Whether a step has a frame for the sake of those who act.
static bool is_in_between(const tarn_frame_plan *plan, uint64_t now_ns)
{
    const uint64_t apart_ns = ms(1000) / TARN_WORKER_ACTS_FPS;
    return !plan->keeps_rate && now_ns < plan->acts_ns && !rate_asks(plan, now_ns) &&
           now_ns + plan->step_ns / 2 >= plan->made_ns + apart_ns;
}

static bool is_due(const tarn_frame_plan *plan, const tarn_frame_moment *moment)
{
    if (!moment->has_stepped) {
        return moment->is_wanted && plan->due_ns <= moment->now_ns;
    }
    return rate_asks(plan, moment->now_ns) ||
           (is_in_between(plan, moment->now_ns) && plan->takes_ns <= moment->room_ns);
}

bool tarn_frame_plan_next(const tarn_frame_plan *plan, const tarn_frame_moment *moment, tarn_stream_kind *kind)
{
    const uint64_t now_ns = moment->now_ns;
    const bool may_key = now_ns >= key_from_ns(plan);
    const bool asked = plan->is_key_asked && now_ns >= asked_from_ns(plan) && !moment->awaits;
    if (now_ns < plan->hold_ns || !(is_due(plan, moment) || asked)) {
        return false;
    }
    // Half a frame early counts as due: the frame that is nearest to the time, if they go on as they come.
    const uint64_t apart_ns = now_ns - plan->made_ns;
    const uint64_t early_ns = now_ns + (apart_ns < plan->period_ns ? apart_ns : plan->period_ns) / 2;
    *kind = TARN_STREAM_KEY;
    if (asked || !plan->has_key) {
        return true;
    }
    if (moment->step == plan->base_step) {
        return may_key; // nothing has moved: there is nothing else to make
    }
    const bool is_old = early_ns >= plan->key_ns + ms(TARN_WORKER_KEY_MS) && plan->bases >= TARN_WORKER_KEY_FRAMES;
    if (moment->is_paused ? may_key : is_old) {
        return true;
    }
    const bool is_base = moment->is_paused || early_ns >= plan->base_ns + ms(TARN_WORKER_BASE_MS);
    *kind = is_base ? TARN_STREAM_BASE : TARN_STREAM_EXTRA;
    return true;
}

/// A frame has gone: the rate's next one, unless this one came in between.
static void set_due(tarn_frame_plan *plan, uint64_t now_ns)
{
    if (!is_in_between(plan, now_ns)) {
        plan->due_ns += plan->period_ns;
        if (plan->due_ns < now_ns) {
            plan->due_ns = now_ns + plan->period_ns / 2;
        }
    }
    plan->made_ns = now_ns;
}

void tarn_frame_plan_made(tarn_frame_plan *plan, tarn_stream_kind kind, uint64_t step, uint64_t now_ns,
                          uint64_t takes_ns)
{
    TARN_ASSERT(kind == TARN_STREAM_KEY || plan->has_key); // what else would it refer to
    set_due(plan, now_ns);
    plan->takes_ns = plan->takes_ns == 0 ? takes_ns : (7 * plan->takes_ns + takes_ns) / 8;
    if (kind == TARN_STREAM_EXTRA) {
        return;
    }
    plan->base_ns = now_ns;
    plan->base_step = step;
    if (kind != TARN_STREAM_KEY) {
        plan->bases++;
        return;
    }
    const bool was_early = plan->is_key_asked && now_ns >= asked_from_ns(plan); // else it came in its own turn
    plan->bases = 0;
    plan->key_ns = now_ns;
    plan->has_key = true;
    if (was_early) {
        plan->asked_ns = later(plan->asked_ns, now_ns) + ms(TARN_WORKER_KEY_ASKED_MS);
    }
    plan->is_key_asked = false;
}

void tarn_frame_plan_hold(tarn_frame_plan *plan, uint64_t until_ns)
{
    plan->hold_ns = until_ns;
}

uint64_t tarn_frame_plan_due_ns(const tarn_frame_plan *plan, uint64_t step, bool is_wanted)
{
    const uint64_t key_ns = key_from_ns(plan);
    uint64_t due_ns = is_wanted ? plan->due_ns : UINT64_MAX;
    if (due_ns != UINT64_MAX && step == plan->base_step) {
        due_ns = later(due_ns, key_ns);
    }
    due_ns = later(due_ns, plan->hold_ns);
    const uint64_t asked_ns = asked_from_ns(plan);
    return plan->is_key_asked && asked_ns < due_ns ? asked_ns : due_ns;
}
