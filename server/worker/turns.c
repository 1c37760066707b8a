// The earliest deadline first. A tank's clock runs n times as fast as it uses the device, so that its deadlines are at
// least as far apart as its share demands; where it falls behind real time, because others left it nothing, it is set
// to when its next job is due, and so saves nothing up.
#include "server/worker/turns.h"

#include <string.h>

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
