// The plan of a tank's frames, by itself: a tank's steps in virtual time, and which frames it makes of them.
#include "server/worker/limits.h"
#include "server/worker/turns.h"
#include "tests/server/test_cmocka.h"

#include <string.h>

static uint64_t ms(uint64_t count)
{
    return count * 1000000u;
}

enum { TAKES_MS = 4 }; // that a frame takes here

/// Steps of a sixtieth, a frame of each so often by the rate.
static tarn_frame_rates rates_of(uint32_t frames_per_s, bool keeps_rate)
{
    return (tarn_frame_rates){1000000000u / frames_per_s, 1000000000u / 60, keeps_rate};
}

static void start_plan(tarn_frame_plan *plan, uint32_t frames_per_s, uint64_t now_ns)
{
    const tarn_frame_rates rates = rates_of(frames_per_s, false);
    tarn_frame_plan_start(plan, &rates, now_ns);
}

/// A tank that runs.
typedef struct plan_run {
    tarn_frame_plan plan;
    uint64_t now_ns, step;
    uint64_t room_ns; ///< after each step
    bool is_acted_on;
    uint32_t frames, kinds[3];
    uint32_t apart_max; ///< steps between frames
} plan_run;

/// Runs it for some steps, which come a little early or late.
static void run_plan(plan_run *run, uint32_t steps)
{
    uint64_t framed = run->step;
    run->frames = run->apart_max = 0;
    memset(run->kinds, 0, sizeof run->kinds);
    for (uint32_t i = 0; i < steps; i++) {
        tarn_stream_kind kind;
        run->step++;
        run->now_ns += run->plan.step_ns;
        const uint64_t jitter_ns = ms(run->step * 7 % 5);
        if (run->is_acted_on) {
            tarn_frame_plan_acted(&run->plan, run->now_ns + jitter_ns);
        }
        const tarn_frame_moment moment = {
            .now_ns = run->now_ns + jitter_ns, .step = run->step, .has_stepped = true, .room_ns = run->room_ns};
        if (!tarn_frame_plan_next(&run->plan, &moment, &kind)) {
            continue;
        }
        tarn_frame_plan_made(&run->plan, kind, run->step, moment.now_ns, ms(TAKES_MS));
        run->frames++;
        run->kinds[kind]++;
        run->apart_max = run->step - framed > run->apart_max ? (uint32_t)(run->step - framed) : run->apart_max;
        framed = run->step;
    }
}

static void begin_run(plan_run *run, uint32_t frames_per_s, bool keeps_rate)
{
    const tarn_frame_rates rates = rates_of(frames_per_s, keeps_rate);
    *run = (plan_run){.now_ns = ms(5000), .room_ns = ms(10)};
    tarn_frame_plan_start(&run->plan, &rates, run->now_ns);
}

static void test_a_running_tank_makes_15_base_frames_in_a_second(void **state)
{
    (void)state;
    static const uint32_t rates[] = {30, 60, 15, 10};
    static const uint32_t kinds_expected[][3] = {{1, 44, 45}, {1, 44, 135}, {1, 44, 0}, {1, 29, 0}};
    for (int r = 0; r < 4; r++) {
        plan_run run;
        begin_run(&run, rates[r], true);
        run_plan(&run, 180);
        for (int k = 0; k < 3; k++) {
            if (run.kinds[k] + 1 < kinds_expected[r][k] || run.kinds[k] > kinds_expected[r][k] + 1) {
                fail_msg("%u frames/s: %u of kind %d, expected about %u", rates[r], run.kinds[k], k,
                         kinds_expected[r][k]);
            }
        }
    }
}

/// By steps and not by the clock where the tank is slow: so many base frames belong to a key frame at least.
static void test_key_frames_that_nobody_asks_for_are_rare(void **state)
{
    (void)state;
    plan_run run;
    begin_run(&run, 30, false);
    run_plan(&run, 60 * 60);
    assert_in_range(run.kinds[TARN_STREAM_KEY], 3, 60000 / TARN_WORKER_KEY_MS + 1);
    begin_run(&run, 30, false);
    run.plan.step_ns = ms(333); // of a tank that makes three steps a second
    run_plan(&run, 3 * TARN_WORKER_KEY_FRAMES);
    assert_in_range(run.kinds[TARN_STREAM_KEY], 2, 3);
    assert_int_equal(run.kinds[TARN_STREAM_EXTRA], 0);
}

static void test_while_somebody_acts_and_a_second_after_every_step_has_a_frame(void **state)
{
    (void)state;
    plan_run run;
    begin_run(&run, TARN_WORKER_FPS, false);
    run_plan(&run, 60);
    assert_in_range(run.frames, 29, 31);
    run.is_acted_on = true;
    run_plan(&run, 120);
    assert_int_equal(run.frames, 120);
    assert_in_range(run.kinds[TARN_STREAM_BASE] + run.kinds[TARN_STREAM_KEY], 29, 31); // the chain's pace stays
    run.is_acted_on = false;
    run_plan(&run, TARN_WORKER_ACTS_MS * 60 / 1000 - 2);
    assert_int_equal(run.apart_max, 1);
    run_plan(&run, 4);
    run_plan(&run, 60);
    assert_in_range(run.frames, 29, 31);
    assert_int_equal(run.apart_max, 2);
}

static void test_a_rate_that_was_set_stays_a_ceiling(void **state)
{
    (void)state;
    static const uint32_t rates[] = {10, 30, 60};
    for (int r = 0; r < 3; r++) {
        plan_run run;
        begin_run(&run, rates[r], true);
        run.is_acted_on = true;
        run_plan(&run, 120);
        assert_in_range(run.frames, 2 * rates[r] - 1, 2 * rates[r] + 1);
    }
}

/// Nor does one that is late by itself, or beside one that is.
static void test_a_tank_without_time_for_more_frames_makes_no_more(void **state)
{
    (void)state;
    static const uint64_t rooms_ms[] = {0, TAKES_MS - 1, TAKES_MS};
    for (int i = 0; i < 3; i++) {
        plan_run run;
        begin_run(&run, TARN_WORKER_FPS, false);
        run.is_acted_on = true;
        run.room_ns = ms(rooms_ms[i]);
        run_plan(&run, 4); // until it is known what a frame takes
        run_plan(&run, 120);
        if (rooms_ms[i] >= TAKES_MS) {
            assert_int_equal(run.frames, 120);
        } else {
            assert_in_range(run.frames, 59, 61);
            assert_int_equal(run.apart_max, 2);
        }
    }
}

static void test_steps_that_come_in_a_row_have_no_frame_each(void **state)
{
    (void)state;
    plan_run run;
    begin_run(&run, TARN_WORKER_FPS, false);
    run.is_acted_on = true;
    run.plan.step_ns = ms(4); // four times as many as frames may be
    run_plan(&run, 500);
    assert_in_range(run.frames, TARN_WORKER_FPS * 2, TARN_WORKER_ACTS_FPS * 2 + 20);
}

static void test_a_key_frame_that_is_asked_for_comes_at_once_but_not_too_often(void **state)
{
    (void)state;
    plan_run run;
    tarn_stream_kind kind;
    begin_run(&run, 30, false);
    run_plan(&run, 20);
    tarn_frame_plan plan = run.plan;
    const uint64_t now_ns = run.now_ns + ms(30), step = run.step;
    tarn_frame_plan_ask(&plan);
    tarn_frame_moment moment = {.now_ns = now_ns, .step = step, .awaits = true};
    assert_false(tarn_frame_plan_next(&plan, &moment, &kind)); // the step that is about to be made is to be in it
    moment.awaits = false;
    assert_true(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(kind, TARN_STREAM_KEY);
    tarn_frame_plan_made(&plan, kind, step, now_ns, ms(TAKES_MS));
    assert_false(tarn_frame_plan_next(&plan, &moment, &kind)); // it is there
    tarn_frame_plan_ask(&plan);
    moment.now_ns = now_ns + ms(TARN_WORKER_KEY_SPACING_MS) - 1;
    assert_false(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(tarn_frame_plan_due_ns(&plan, step, false), moment.now_ns + 1);
    moment.now_ns++;
    assert_true(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(kind, TARN_STREAM_KEY);
}

/// Whoever asks again and again: everybody gets them.
static void test_key_frames_that_are_asked_for_are_few_in_the_long_run(void **state)
{
    (void)state;
    tarn_frame_plan plan;
    tarn_stream_kind kind;
    uint64_t step = 0;
    int keys = 0;
    start_plan(&plan, 30, ms(5000));
    for (uint64_t now_ns = ms(5000); now_ns < ms(15000); now_ns += ms(33)) {
        tarn_frame_plan_ask(&plan);
        const tarn_frame_moment moment = {.now_ns = now_ns, .step = ++step, .has_stepped = true};
        if (!tarn_frame_plan_next(&plan, &moment, &kind)) {
            continue;
        }
        keys += kind == TARN_STREAM_KEY;
        tarn_frame_plan_made(&plan, kind, step, now_ns, ms(TAKES_MS));
    }
    assert_in_range(keys, 10, 10 + TARN_WORKER_KEY_ASKED_BURST + 1);
}

static void test_a_paused_tank_makes_a_key_frame_and_then_nothing(void **state)
{
    (void)state;
    tarn_frame_plan plan;
    tarn_stream_kind kind;
    start_plan(&plan, 30, ms(9000));
    tarn_frame_moment moment = {.now_ns = ms(9000), .step = 7, .is_wanted = true, .is_paused = true};
    assert_true(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(kind, TARN_STREAM_KEY);
    tarn_frame_plan_made(&plan, kind, 7, ms(9000), ms(TAKES_MS));
    assert_true(tarn_frame_plan_due_ns(&plan, 7, false) == UINT64_MAX);
    moment.is_wanted = false;
    moment.now_ns = ms(60000);
    assert_false(tarn_frame_plan_next(&plan, &moment, &kind));
    // Its single steps: key frames, or base frames where they come fast.
    moment = (tarn_frame_moment){.now_ns = ms(60000), .step = 8, .has_stepped = true, .is_paused = true};
    assert_true(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(kind, TARN_STREAM_KEY);
    tarn_frame_plan_made(&plan, kind, 8, moment.now_ns, ms(TAKES_MS));
    moment.step = 9;
    moment.now_ns += ms(33);
    assert_true(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(kind, TARN_STREAM_BASE);
    // Without a step there is nothing but a key frame to make, and that not yet.
    tarn_frame_plan_made(&plan, kind, 9, moment.now_ns, ms(TAKES_MS));
    moment.has_stepped = false;
    moment.is_wanted = true;
    moment.now_ns += ms(33);
    assert_false(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_true(tarn_frame_plan_due_ns(&plan, 9, true) == ms(60000 + TARN_WORKER_KEY_SPACING_MS));
}

/// Steps that are asked for one by one, as fast as it goes: the key frames that come of them are none that viewers ask
/// for.
static void test_a_tank_stepped_by_hand_still_makes_the_key_frame_that_is_asked_for(void **state)
{
    (void)state;
    tarn_frame_plan plan;
    tarn_stream_kind kind;
    uint64_t now_ns = ms(9000), step = 0;
    start_plan(&plan, 30, now_ns);
    for (; step < 300; step++, now_ns += ms(40)) {
        const tarn_frame_moment moment = {.now_ns = now_ns, .step = step, .has_stepped = true, .is_paused = true};
        if (tarn_frame_plan_next(&plan, &moment, &kind)) {
            tarn_frame_plan_made(&plan, kind, step, now_ns, ms(TAKES_MS));
            tarn_frame_plan_ask(&plan);
        }
    }
    const uint64_t since_ns = now_ns;
    tarn_frame_moment moment = {.now_ns = now_ns, .step = plan.base_step, .is_paused = true};
    while (!tarn_frame_plan_next(&plan, &moment, &kind)) {
        moment.now_ns += ms(10);
        assert_true(moment.now_ns - since_ns <= ms(TARN_WORKER_KEY_ASKED_MS));
    }
    assert_int_equal(kind, TARN_STREAM_KEY);
}

static void test_nothing_is_made_while_there_is_no_room(void **state)
{
    (void)state;
    tarn_frame_plan plan;
    tarn_stream_kind kind;
    start_plan(&plan, 30, ms(500));
    tarn_frame_plan_ask(&plan);
    tarn_frame_plan_hold(&plan, ms(1000));
    tarn_frame_moment moment = {.now_ns = ms(999), .step = 1, .has_stepped = true};
    assert_false(tarn_frame_plan_next(&plan, &moment, &kind));
    assert_int_equal(tarn_frame_plan_due_ns(&plan, 1, true), ms(1000));
    moment.now_ns = ms(1000);
    assert_true(tarn_frame_plan_next(&plan, &moment, &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_running_tank_makes_15_base_frames_in_a_second),
        cmocka_unit_test(test_key_frames_that_nobody_asks_for_are_rare),
        cmocka_unit_test(test_while_somebody_acts_and_a_second_after_every_step_has_a_frame),
        cmocka_unit_test(test_a_rate_that_was_set_stays_a_ceiling),
        cmocka_unit_test(test_a_tank_without_time_for_more_frames_makes_no_more),
        cmocka_unit_test(test_steps_that_come_in_a_row_have_no_frame_each),
        cmocka_unit_test(test_a_key_frame_that_is_asked_for_comes_at_once_but_not_too_often),
        cmocka_unit_test(test_key_frames_that_are_asked_for_are_few_in_the_long_run),
        cmocka_unit_test(test_a_paused_tank_makes_a_key_frame_and_then_nothing),
        cmocka_unit_test(test_a_tank_stepped_by_hand_still_makes_the_key_frame_that_is_asked_for),
        cmocka_unit_test(test_nothing_is_made_while_there_is_no_room),
    };
    return cmocka_run_group_tests_name("frame_plan", tests, NULL, NULL);
}
