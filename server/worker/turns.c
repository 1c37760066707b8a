// Whose turn it is, when a step is due, and which kind of frame comes with it.
#include "server/worker/turns.h"
#include "protocol/assert.h"
#include "server/worker/limits.h"

#include <string.h>

// ---- turns ----
// The earliest deadline first. A tank's clock runs n times as fast as it uses the device, so that its deadlines are at
// least as far apart as its share demands; where it falls behind real time, because others left it nothing, it is set
// to when its next job is due, and so saves nothing up.

static const uint64_t slice_ns = TARN_WORKER_SLICE_MS * (uint64_t)1000000;
static const uint64_t first_slice_ns = TARN_WORKER_FIRST_SLICE_MS * (uint64_t)1000000;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/// How many share the worker.
static uint64_t sharers(const tarn_turns *turns)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < turns->count; i++) {
        count += turns->of[i].has_work;
    }
    return count > 0 ? count : 1;
}

/// How far a clock may be ahead.
static uint64_t debt_ns(const tarn_turns *turns)
{
    return TARN_WORKER_DEBT_SLICES * slice_ns * sharers(turns);
}

/// The next deadline: after what the job still needs, or a slice of it; where nothing is known of it a small one, which
/// comes soon.
static void set_deadline(const tarn_turns *turns, tarn_turn *turn)
{
    const uint64_t rest_ns = turn->expected_ns > turn->used_ns ? turn->expected_ns - turn->used_ns : first_slice_ns;
    turn->deadline_ns = turn->clock_ns + least(rest_ns, slice_ns) * sharers(turns);
}

/// From now on it counts.
static void count_in(tarn_turns *turns, int place)
{
    turns->count = (uint32_t)place < turns->count ? turns->count : (uint32_t)place + 1;
}

void tarn_turns_set_work(tarn_turns *turns, int place, bool has_work)
{
    count_in(turns, place);
    turns->of[place].has_work = has_work || turns->of[place].is_begun;
}

void tarn_turns_begin(tarn_turns *turns, int place, uint64_t due_ns, bool is_step, uint64_t now_ns)
{
    tarn_turn *turn = &turns->of[place];
    count_in(turns, place);
    turn->has_work = turn->is_begun = true;
    turn->is_waiting = false;
    turn->used_ns = is_step ? 0 : turn->expected_ns;
    if (turn->clock_ns < due_ns) {
        turn->clock_ns = due_ns;
    }
    turn->clock_ns = least(turn->clock_ns, now_ns + debt_ns(turns));
    set_deadline(turns, turn);
}

int tarn_turns_pick(const tarn_turns *turns)
{
    int picked = -1;
    for (uint32_t i = 0; i < turns->count; i++) {
        const tarn_turn *turn = &turns->of[i];
        if (turn->is_begun && !turn->is_waiting && !turn->is_alone &&
            (picked < 0 || turn->deadline_ns < turns->of[picked].deadline_ns)) {
            picked = (int)i;
        }
    }
    return picked;
}

bool tarn_turns_is_shared(const tarn_turns *turns)
{
    return sharers(turns) > 1;
}

uint64_t tarn_turns_together_ns(const tarn_turns *turns)
{
    return least(sharers(turns) * TARN_WORKER_TOGETHER_US, TARN_WORKER_TOGETHER_US_MAX) * 1000;
}

uint64_t tarn_turns_slice_ns(const tarn_turns *turns, int place)
{
    const tarn_turn *turn = &turns->of[place];
    bool is_alone = true;
    for (uint32_t i = 0; i < turns->count; i++) {
        is_alone &= (int)i == place || !turns->of[i].is_begun;
    }
    return is_alone ? UINT64_MAX : (turn->deadline_ns - turn->clock_ns) / sharers(turns) + 1;
}

/// Keeps a clock from running too far ahead: all that are ahead go back by as much, so that what these have had stays
/// the same among them.
static void limit_debt(tarn_turns *turns, const tarn_turn *turn, uint64_t now_ns)
{
    const uint64_t most_ns = now_ns + debt_ns(turns);
    const uint64_t excess_ns = turn->clock_ns > most_ns ? turn->clock_ns - most_ns : 0;
    for (uint32_t i = 0; i < turns->count && excess_ns > 0; i++) {
        tarn_turn *other = &turns->of[i];
        const uint64_t ahead_ns = other->is_begun && other->clock_ns > now_ns ? other->clock_ns - now_ns : 0;
        other->clock_ns -= least(excess_ns, ahead_ns);
        other->deadline_ns -= least(excess_ns, ahead_ns);
    }
}

void tarn_turns_use(tarn_turns *turns, int place, uint64_t used_ns, bool is_waiting, uint64_t now_ns)
{
    tarn_turn *turn = &turns->of[place];
    turn->is_waiting = is_waiting;
    turn->used_ns += used_ns;
    turn->clock_ns += used_ns * sharers(turns);
    if (turn->clock_ns >= turn->deadline_ns) {
        set_deadline(turns, turn);
    }
    limit_debt(turns, turn, now_ns);
}

void tarn_turns_leave_alone(tarn_turns *turns, int place)
{
    turns->of[place].is_alone = true;
}

void tarn_turns_wake(tarn_turns *turns)
{
    for (uint32_t i = 0; i < turns->count; i++) {
        turns->of[i].is_waiting = false;
    }
}

void tarn_turns_end(tarn_turns *turns, int place, bool is_step)
{
    tarn_turn *turn = &turns->of[place];
    turn->is_begun = turn->is_waiting = turn->is_alone = false;
    if (is_step) {
        turn->expected_ns = turn->used_ns >= turn->expected_ns
                                ? turn->used_ns
                                : turn->expected_ns - (turn->expected_ns - turn->used_ns) / 8;
    }
}

void tarn_turns_expect(tarn_turns *turns, int place, uint64_t expected_ns)
{
    turns->of[place].expected_ns = expected_ns;
}

void tarn_turns_forget(tarn_turns *turns, int place)
{
    memset(&turns->of[place], 0, sizeof turns->of[place]);
    while (turns->count > 0 && !turns->of[turns->count - 1].has_work && !turns->of[turns->count - 1].is_begun) {
        turns->count--;
    }
}

// ---- pace ----
// A due time that doesn't run away: lost time is let go beyond a bound.

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

// ---- frames ----
// Key, base or extra frame, by what is due and what was asked for: start at tarn_frame_plan_next.

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
