// Whose turn it is, in virtual time: tanks with steps of any length share a device that works in pieces of a
// millisecond, as jobs do that yield. What is held to are steps made and missed, shares of the time, and how late a
// step is done at most.
#include "server/worker/turns.h"
#include "tests/server/test_cmocka.h"

#include <string.h>

static const uint64_t ms_ns = 1000000, piece_ns = 1000000;

enum { TANKS_MAX = 8 };

#define DT_S (1.0f / 60.0f)

typedef struct sim_tank {
    uint64_t cost_ns; // of a step
    uint64_t vary_ns; // that a step may take more, at random
    uint64_t load_ns; // of a job before the first step; 0: none
    uint64_t from_ns; // when it comes
    uint64_t left_ns; // of the job in progress
    uint64_t due_ns;  // of the job in progress
    bool in_progress, is_step, loaded;
    tarn_pace pace;
    // found
    uint64_t used_ns, steps, late_ns_max, unserved_ns_max, served_ns;
} sim_tank;

typedef struct sim {
    tarn_turns turns;
    sim_tank tanks[TANKS_MAX];
    int count;
    uint64_t now_ns;
    uint32_t seed;
} sim;

static void sim_add(sim *s, uint64_t cost_ns)
{
    s->tanks[s->count++] = (sim_tank){.cost_ns = cost_ns};
}

static uint64_t sim_due(const sim *s, const sim_tank *tank)
{
    (void)s;
    return !tank->loaded && tank->load_ns > 0 ? tank->from_ns : tank->pace.due_ns;
}

static void sim_begin(sim *s, int i)
{
    sim_tank *tank = &s->tanks[i];
    tank->in_progress = true;
    tank->due_ns = sim_due(s, tank);
    tank->is_step = tank->loaded || tank->load_ns == 0;
    s->seed = s->seed * 1664525u + 1013904223u;
    tank->left_ns = tank->is_step ? tank->cost_ns + (tank->vary_ns > 0 ? s->seed % tank->vary_ns : 0) : tank->load_ns;
    tank->served_ns = s->now_ns;
    tarn_turns_begin(&s->turns, i, tank->due_ns, tank->is_step, s->now_ns);
}

static void sim_end(sim *s, int i)
{
    sim_tank *tank = &s->tanks[i];
    tank->in_progress = false;
    tarn_turns_end(&s->turns, i, tank->is_step);
    if (!tank->is_step) {
        tank->loaded = true;
        tarn_pace_start(&tank->pace, DT_S, 1, s->now_ns);
        return;
    }
    const uint64_t late_ns = s->now_ns - tank->due_ns;
    tank->late_ns_max = late_ns > tank->late_ns_max ? late_ns : tank->late_ns_max;
    tank->steps++;
    tarn_pace_stepped(&tank->pace, s->now_ns);
}

/// Begins what is due. @return when the next job will be
static uint64_t sim_begin_due(sim *s)
{
    uint64_t next_ns = UINT64_MAX;
    for (int i = 0; i < s->count; i++) {
        sim_tank *tank = &s->tanks[i];
        if (tank->in_progress) {
            continue;
        }
        const uint64_t due_ns = sim_due(s, tank);
        tarn_turns_set_work(&s->turns, i, s->now_ns >= tank->from_ns);
        if (due_ns <= s->now_ns) {
            sim_begin(s, i);
        } else if (due_ns < next_ns) {
            next_ns = due_ns;
        }
    }
    return next_ns;
}

static void sim_use(sim *s, int i, uint64_t used_ns)
{
    sim_tank *tank = &s->tanks[i];
    const uint64_t unserved_ns = s->now_ns - tank->served_ns;
    tank->unserved_ns_max = unserved_ns > tank->unserved_ns_max ? unserved_ns : tank->unserved_ns_max;
    s->now_ns += used_ns;
    tank->served_ns = s->now_ns;
    tank->used_ns += used_ns;
    tank->left_ns -= used_ns;
    tarn_turns_use(&s->turns, i, used_ns, false, s->now_ns);
    if (tank->left_ns == 0) {
        sim_end(s, i);
    }
}

static void sim_start(sim *s)
{
    for (int i = 0; i < s->count; i++) {
        tarn_pace_start(&s->tanks[i].pace, DT_S, 1, s->tanks[i].from_ns);
    }
}

static void sim_run(sim *s, uint64_t until_ns)
{
    while (s->now_ns < until_ns) {
        const uint64_t next_ns = sim_begin_due(s);
        const int i = tarn_turns_pick(&s->turns);
        if (i < 0) {
            s->now_ns = next_ns;
            continue;
        }
        const uint64_t slice_ns = tarn_turns_slice_ns(&s->turns, i);
        uint64_t stop_ns = slice_ns < next_ns - s->now_ns ? slice_ns : next_ns - s->now_ns;
        stop_ns = (stop_ns - 1) / piece_ns * piece_ns + piece_ns; // it yields between two pieces
        sim_use(s, i, s->tanks[i].left_ns < stop_ns ? s->tanks[i].left_ns : stop_ns);
    }
}

static void test_a_small_tank_misses_no_step_beside_a_huge_one(void **state)
{
    (void)state;
    sim s = {.seed = 1};
    sim_add(&s, 8 * ms_ns);
    sim_add(&s, 500 * ms_ns);
    sim_start(&s);
    sim_run(&s, 20000 * ms_ns);
    assert_in_range(s.tanks[0].steps, 20 * 60 - 1, 20 * 60 + 1);
    assert_true(s.tanks[0].late_ns_max <= 2 * 8 * ms_ns + 2 * piece_ns);
    // What is left goes to the other one.
    assert_true(s.tanks[1].steps >= 20);
    assert_true(s.tanks[0].used_ns + s.tanks[1].used_ns >= 19999 * ms_ns);
}

static void test_a_tank_in_the_making_delays_nobody(void **state)
{
    (void)state;
    sim s = {.seed = 2};
    sim_add(&s, 7 * ms_ns);
    sim_add(&s, 300 * ms_ns);
    s.tanks[1].load_ns = 3000 * ms_ns;
    s.tanks[1].from_ns = 1000 * ms_ns;
    sim_start(&s);
    sim_run(&s, 10000 * ms_ns);
    assert_in_range(s.tanks[0].steps, 10 * 60 - 1, 10 * 60 + 1);
    assert_true(s.tanks[0].late_ns_max <= 2 * 7 * ms_ns + 2 * piece_ns);
    assert_true(s.tanks[1].steps > 2);
}

/// Steps that vary: no estimate is right.
static void test_steps_of_any_length_stay_within_the_share(void **state)
{
    (void)state;
    sim s = {.seed = 3};
    sim_add(&s, 2 * ms_ns);
    sim_add(&s, 100 * ms_ns);
    s.tanks[0].vary_ns = 10 * ms_ns; // 7 ms on average, of a share of 8.3
    s.tanks[1].vary_ns = 400 * ms_ns;
    sim_start(&s);
    sim_run(&s, 30000 * ms_ns);
    assert_in_range(s.tanks[0].steps, 30 * 60 - 2, 30 * 60 + 1);
    assert_true(s.tanks[1].steps > 30);
}

static void test_eight_tanks_get_their_shares(void **state)
{
    (void)state;
    const uint64_t cost_ms[TANKS_MAX] = {1, 2, 4, 8, 16, 32, 100, 500};
    const uint64_t all_ms = 30000;
    sim s = {.seed = 4};
    for (int i = 0; i < TANKS_MAX; i++) {
        sim_add(&s, cost_ms[i] * ms_ns);
    }
    sim_start(&s);
    sim_run(&s, all_ms * ms_ns);
    uint64_t left_ns = all_ms * ms_ns;
    for (int i = 0; i < 2; i++) { // of these each needs less than an eighth
        assert_in_range(s.tanks[i].steps, all_ms * 60 / 1000 - 2, all_ms * 60 / 1000 + 1);
        assert_true(s.tanks[i].late_ns_max <= TANKS_MAX * cost_ms[i] * ms_ns + TANKS_MAX * piece_ns);
        left_ns -= s.tanks[i].used_ns;
    }
    for (int i = 2; i < TANKS_MAX; i++) { // the others get the same of what these leave
        assert_in_range(s.tanks[i].used_ns, left_ns / 6 * 9 / 10, left_ns / 6 * 11 / 10);
        assert_true(s.tanks[i].steps >= 1);
        assert_true(s.tanks[i].unserved_ns_max <= 8 * TANKS_MAX * TARN_WORKER_SLICE_MS * ms_ns);
    }
}

/// A tank that had the device to itself, and one that comes: neither what the one had nor what the other had not is
/// made up for beyond TARN_WORKER_DEBT_SLICES.
static void test_what_was_had_alone_is_soon_forgotten(void **state)
{
    (void)state;
    sim s = {.seed = 5};
    sim_add(&s, 50 * ms_ns);
    sim_add(&s, 40 * ms_ns);
    s.tanks[1].from_ns = 60000 * ms_ns;
    sim_start(&s);
    sim_run(&s, 60000 * ms_ns);
    const uint64_t before_ns = s.tanks[0].used_ns;
    assert_true(before_ns >= 59900 * ms_ns);
    sim_run(&s, 62000 * ms_ns);
    const uint64_t first_ns = s.tanks[0].used_ns - before_ns, second_ns = s.tanks[1].used_ns;
    const uint64_t most_ns = (2 * TARN_WORKER_DEBT_SLICES + 2) * TARN_WORKER_SLICE_MS * ms_ns;
    assert_true(second_ns >= first_ns || first_ns - second_ns <= most_ns);
    assert_true(first_ns >= second_ns || second_ns - first_ns <= most_ns);
}

static void test_who_waits_for_the_device_leaves_the_turn_to_others(void **state)
{
    (void)state;
    tarn_turns turns;
    memset(&turns, 0, sizeof turns);
    assert_int_equal(tarn_turns_pick(&turns), -1);
    tarn_turns_begin(&turns, 3, 5, true, 5);
    assert_true(tarn_turns_slice_ns(&turns, 3) == UINT64_MAX);
    tarn_turns_begin(&turns, 7, 6, true, 6);
    assert_true(tarn_turns_slice_ns(&turns, 3) <= TARN_WORKER_SLICE_MS * ms_ns + 1);
    assert_int_equal(tarn_turns_pick(&turns), 3);
    tarn_turns_use(&turns, 3, 100, true, 106);
    assert_int_equal(tarn_turns_pick(&turns), 7);
    tarn_turns_use(&turns, 7, 100, true, 206);
    assert_int_equal(tarn_turns_pick(&turns), -1);
    tarn_turns_wake(&turns);
    assert_int_equal(tarn_turns_pick(&turns), 3);
    tarn_turns_end(&turns, 3, true);
    assert_int_equal(tarn_turns_pick(&turns), 7);
    tarn_turns_forget(&turns, 7);
    assert_int_equal(tarn_turns_pick(&turns), -1);
}

/// One that runs by itself needs no turn until it has ended, whatever wakes the others.
static void test_who_runs_alone_needs_no_turn(void **state)
{
    (void)state;
    static tarn_turns turns;
    tarn_turns_expect(&turns, 2, ms_ns);
    tarn_turns_begin(&turns, 2, 0, true, ms_ns);
    tarn_turns_begin(&turns, 5, ms_ns, true, ms_ns);
    assert_true(tarn_turns_is_shared(&turns));
    assert_true(tarn_turns_together_ns(&turns) == 2 * TARN_WORKER_TOGETHER_US * 1000);
    assert_int_equal(tarn_turns_pick(&turns), 2);
    tarn_turns_leave_alone(&turns, 2);
    assert_int_equal(tarn_turns_pick(&turns), 5);
    tarn_turns_leave_alone(&turns, 5);
    tarn_turns_wake(&turns);
    assert_int_equal(tarn_turns_pick(&turns), -1);
    tarn_turns_use(&turns, 2, ms_ns, false, 2 * ms_ns);
    tarn_turns_end(&turns, 2, true);
    tarn_turns_begin(&turns, 2, 2 * ms_ns, true, 2 * ms_ns);
    assert_int_equal(tarn_turns_pick(&turns), 2);
    // Places behind the last that anybody has aren't looked at.
    assert_int_equal(turns.count, 6);
    tarn_turns_end(&turns, 5, true);
    tarn_turns_forget(&turns, 5);
    assert_int_equal(turns.count, 3);
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        tarn_turns_set_work(&turns, i, true);
    }
    assert_true(tarn_turns_together_ns(&turns) == TARN_WORKER_TOGETHER_US_MAX * (uint64_t)1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_tank_misses_no_step_beside_a_huge_one),
        cmocka_unit_test(test_a_tank_in_the_making_delays_nobody),
        cmocka_unit_test(test_steps_of_any_length_stay_within_the_share),
        cmocka_unit_test(test_eight_tanks_get_their_shares),
        cmocka_unit_test(test_what_was_had_alone_is_soon_forgotten),
        cmocka_unit_test(test_who_waits_for_the_device_leaves_the_turn_to_others),
        cmocka_unit_test(test_who_runs_alone_needs_no_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
