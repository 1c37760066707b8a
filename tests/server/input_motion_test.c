// Motion that cameras see, as the worker holds it: the newest of each source, until it falls silent.
#include "server/worker/input/motion.h"
#include "tests/server/test_cmocka.h"

#include <string.h>

static tarn_input_motion_state state;
static uint64_t now_ns;

static bool latch_after(float s, tarn_step_input *input)
{
    now_ns += (uint64_t)(s * 1e9f);
    return tarn_input_motion_latch(&state, now_ns, input);
}

/// Somebody in all of a grid of 2 x 1, who moves by `along`.
static tarn_input_motion motion_of(uint32_t source, uint8_t along, uint8_t code[6])
{
    const uint8_t cells[6] = {255, 255, 255, along, 253, 0};
    memcpy(code, cells, sizeof cells);
    return (tarn_input_motion){.source = source,
                               .columns = 2,
                               .rows = 1,
                               .across_m = {1, 0, 0},
                               .up_m = {0, 1, 0},
                               .speed_m_s = 2,
                               .strength = 0.5f,
                               .cell_bytes = 6,
                               .cells = code};
}

static tarn_status put(uint32_t viewer, uint32_t source, uint8_t along)
{
    uint8_t code[6];
    tarn_text why;
    const tarn_input_motion motion = motion_of(source, along, code);
    const tarn_status status = tarn_input_motion_put(&state, now_ns, viewer, &motion, why);
    memset(code, 128, sizeof code); // the message's bytes are somebody else's
    return status;
}

static void test_the_newest_of_a_source_acts_until_it_is_silent(void **unused)
{
    static tarn_step_input input;
    (void)unused;
    memset(&state, 0, sizeof state);
    assert_int_equal(put(7, 0, 10), TARN_OK);
    assert_int_equal(put(7, 0, 20), TARN_OK);
    assert_int_equal(put(7, 1, 30), TARN_OK);
    assert_true(latch_after(0.25f, &input));
    assert_int_equal(input.motion_field_count, 2);
    assert_int_equal(input.motion_fields[0].cells[3], 20);
    assert_int_equal(input.motion_fields[1].cells[3], 30);
    assert_float_equal(input.motion_fields[0].speed_m_s, 2, 0);
    const uint8_t *latched = input.motion_fields[0].cells;
    assert_int_equal(put(7, 0, 40), TARN_OK); // while that step is being made
    assert_int_equal(latched[3], 20);
    assert_true(latch_after(0.25f, &input));
    assert_int_equal(input.motion_fields[0].cells[3], 40);
    assert_false(latch_after(0, &input)); // nobody was heard of, but it goes on
    assert_int_equal(input.motion_field_count, 2);
    assert_false(latch_after(0.25f, &input)); // the second source is silent for 0.75 s
    assert_int_equal(input.motion_field_count, 1);
    assert_int_equal(input.motion_fields[0].cells[3], 40);
    assert_false(latch_after(0.25f, &input));
    assert_int_equal(input.motion_field_count, 0);
}

static void test_who_goes_takes_their_motion_along(void **unused)
{
    static tarn_step_input input;
    tarn_text why;
    (void)unused;
    memset(&state, 0, sizeof state);
    assert_int_equal(put(7, 0, 10), TARN_OK);
    assert_int_equal(put(8, 0, 20), TARN_OK);
    tarn_input_motion_viewer_gone(&state, 7);
    latch_after(0.01f, &input);
    assert_int_equal(input.motion_field_count, 1);
    assert_int_equal(input.motion_fields[0].cells[3], 20);
    const tarn_input_motion gone = {.source = 0, .columns = 2, .rows = 1};
    assert_int_equal(tarn_input_motion_put(&state, now_ns, 9, &gone, why), TARN_OK); // who never came
    assert_int_equal(tarn_input_motion_put(&state, now_ns, 8, &gone, why), TARN_OK);
    latch_after(0.01f, &input);
    assert_int_equal(input.motion_field_count, 0);
}

static void test_who_rests_costs_nothing_unless_solid(void **unused)
{
    static tarn_step_input input;
    uint8_t code[6];
    tarn_text why;
    (void)unused;
    memset(&state, 0, sizeof state);
    assert_int_equal(put(7, 0, 0), TARN_OK);
    assert_false(latch_after(0.01f, &input));
    assert_int_equal(input.motion_field_count, 0);
    tarn_input_motion solid = motion_of(0, 0, code);
    solid.solid = 1;
    assert_int_equal(tarn_input_motion_put(&state, now_ns, 7, &solid, why), TARN_OK);
    assert_true(latch_after(0.01f, &input));
    assert_int_equal(input.motion_field_count, 1);
    assert_true(input.motion_fields[0].solid);
}

/// A tank that stands, too, forgets who fell silent.
static void test_silence_counts_while_no_step_is_made(void **unused)
{
    static tarn_step_input input;
    (void)unused;
    memset(&state, 0, sizeof state);
    assert_int_equal(put(7, 0, 10), TARN_OK);
    assert_false(latch_after(0.6f, &input));
    assert_int_equal(input.motion_field_count, 0);
    assert_int_equal(put(7, 0, 10), TARN_OK);
    tarn_input_motion_release(&state);
    assert_false(latch_after(0.01f, &input));
    assert_int_equal(input.motion_field_count, 0);
}

/// Who has a place for each of several cameras gives one to who has none.
static void test_one_viewer_does_not_keep_the_others_out(void **unused)
{
    static tarn_step_input input;
    (void)unused;
    memset(&state, 0, sizeof state);
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        assert_int_equal(put(7, i, 10), TARN_OK);
    }
    assert_int_equal(put(8, 0, 20), TARN_OK);
    assert_int_equal(put(8, 1, 20), TARN_E_LIMIT); // one is enough
    assert_int_equal(put(7, TARN_STEP_MOTION_FIELDS_MAX - 1, 10), TARN_E_LIMIT);
    assert_int_equal(put(9, 0, 30), TARN_OK);
    latch_after(0.01f, &input);
    uint32_t of_each[3] = {0};
    for (uint32_t i = 0; i < input.motion_field_count; i++) {
        of_each[input.motion_fields[i].cells[3] / 10 - 1]++;
    }
    assert_int_equal(of_each[0], TARN_STEP_MOTION_FIELDS_MAX - 2);
    assert_int_equal(of_each[1], 1);
    assert_int_equal(of_each[2], 1);
}

/// Who finds no place is told once, and gets one when somebody goes.
static void test_as_many_act_as_fit(void **unused)
{
    static tarn_step_input input;
    (void)unused;
    memset(&state, 0, sizeof state);
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        assert_int_equal(put(1 + i, 0, 10), TARN_OK);
    }
    assert_int_equal(put(99, 0, 10), TARN_E_LIMIT);
    assert_int_equal(put(97, 0, 10), TARN_E_LIMIT);
    assert_int_equal(put(99, 0, 10), TARN_OK);
    assert_int_equal(put(97, 0, 10), TARN_OK);
    latch_after(0.01f, &input);
    assert_int_equal(input.motion_field_count, TARN_STEP_MOTION_FIELDS_MAX);
    tarn_input_motion_viewer_gone(&state, 1);
    assert_int_equal(put(99, 0, 77), TARN_OK);
    latch_after(0.01f, &input);
    assert_int_equal(input.motion_fields[0].cells[3], 77);
    assert_int_equal(put(98, 0, 10), TARN_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest_of_a_source_acts_until_it_is_silent),
        cmocka_unit_test(test_who_goes_takes_their_motion_along),
        cmocka_unit_test(test_who_rests_costs_nothing_unless_solid),
        cmocka_unit_test(test_silence_counts_while_no_step_is_made),
        cmocka_unit_test(test_one_viewer_does_not_keep_the_others_out),
        cmocka_unit_test(test_as_many_act_as_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
