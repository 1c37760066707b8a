// What viewers are doing to a tank, as bytes: what is read back acts in the next step as what was written would have,
// and nothing that is read can do harm.
#include "server/worker/presses.h"
#include "tests/server/input_fixture.h"

#include <math.h>
#include <stdlib.h>

static uint8_t bytes[TARN_IPC_PRESSES_BYTES_MAX];

/// Three who press, one of whom has let go, and what the next step has been told.
static void fill(tarn_presses *presses, const tarn_tile_map *map)
{
    tarn_input input;
    memset(presses, 0, sizeof *presses);
    tarn_input_state_init(&presses->inputs);
    for (uint32_t viewer = 1; viewer <= 3; viewer++) {
        input = pointer(10 * viewer, TARN_PHASE_DOWN, (float)viewer, 1);
        input.pointer.tool = viewer == 3 ? TARN_TOOL_WALL : TARN_TOOL_PUSH;
        take(&presses->inputs, viewer, &input, map);
    }
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    latch(&presses->inputs, pushes);
    for (uint32_t viewer = 1; viewer <= 3; viewer++) {
        input = pointer(10 * viewer + 1, TARN_PHASE_MOVE, (float)viewer + 0.5f, 1.5f);
        take(&presses->inputs, viewer, &input, map);
    }
    tarn_input_state_viewer_gone(&presses->inputs, 1); // a gap
    presses->inputs.sources[1].holds = true;
    presses->inputs.sources[1].body = 5;
    presses->steps_asked = 3;
    presses->next.poser = TARN_STEP_POSER_HAND;
    presses->next.pose.rotation[3] = 1;
    presses->next.parameter_count = 2;
    presses->next.parameters[0] = (tarn_parameter_change){0, 2.5f};
    presses->next.parameters[1] = (tarn_parameter_change){TARN_MODEL_PARAMETERS_MAX - 1, -1};
}

static void test_what_is_pressed_goes_on(void **state)
{
    (void)state;
    static tarn_presses here, there;
    static tarn_step_tools tools_here, tools_there;
    const float size_m[3] = {4, 4, 4};
    tarn_tile_map map;
    fill_map(&map);
    fill(&here, &map);
    const uint32_t count = tarn_presses_write(&here, bytes, sizeof bytes);
    assert_true(count > 0);
    assert_int_equal(tarn_presses_read(bytes, count, &there), TARN_OK);
    assert_int_equal(there.steps_asked, 3);
    assert_memory_equal(&there.next, &here.next, sizeof here.next);
    for (int step = 0; step < 3; step++) {
        tarn_grab grabs_here[TARN_TANK_GRABS_MAX], grabs_there[TARN_TANK_GRABS_MAX];
        assert_int_equal(tarn_input_state_grabs(&here.inputs, grabs_here), 1);
        assert_int_equal(tarn_input_state_grabs(&there.inputs, grabs_there), 1);
        assert_memory_equal(grabs_here, grabs_there, sizeof grabs_here[0]);
        memset(&tools_here, 0, sizeof tools_here);
        memset(&tools_there, 0, sizeof tools_there);
        tarn_input_state_latch(&here.inputs, size_m, dt_s, &tools_here);
        tarn_input_state_latch(&there.inputs, size_m, dt_s, &tools_there);
        assert_memory_equal(&tools_here, &tools_there, sizeof tools_here);
    }
    tarn_frame_input seen_here[TARN_FRAME_INPUTS_MAX], seen_there[TARN_FRAME_INPUTS_MAX];
    const uint32_t seen = tarn_input_state_contained(&here.inputs, seen_here);
    assert_int_equal(seen, 2);
    assert_int_equal(tarn_input_state_contained(&there.inputs, seen_there), seen);
    assert_memory_equal(seen_here, seen_there, seen * sizeof seen_here[0]);
    tarn_tile_map_free(&map);
}

static void test_the_most_that_viewers_can_do_fits(void **state)
{
    (void)state;
    static tarn_presses presses, read;
    memset(&presses, 0, sizeof presses);
    for (uint32_t i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        presses.inputs.sources[i] = (tarn_input_source){.viewer_id = i + 1, .radius_m = 0.001f};
    }
    for (uint32_t i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        presses.inputs.viewers[i] = (tarn_input_viewer){.viewer_id = i + 1, .received = i};
    }
    presses.next.parameter_count = TARN_MODEL_PARAMETERS_MAX;
    for (uint32_t i = 0; i < TARN_MODEL_PARAMETERS_MAX; i++) {
        presses.next.parameters[i].id = i;
    }
    const uint32_t count = tarn_presses_write(&presses, bytes, sizeof bytes);
    assert_true(count > 0);
    assert_int_equal(tarn_presses_read(bytes, count, &read), TARN_OK);
    assert_memory_equal(read.inputs.sources, presses.inputs.sources, sizeof read.inputs.sources);
    assert_memory_equal(read.inputs.viewers, presses.inputs.viewers, sizeof read.inputs.viewers);
    assert_memory_equal(read.next.parameters, presses.next.parameters, sizeof read.next.parameters);
    assert_int_equal(tarn_presses_write(&presses, bytes, count - 1), 0);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    static tarn_presses presses, read;
    tarn_tile_map map;
    fill_map(&map);
    fill(&presses, &map);
    tarn_tile_map_free(&map);
    const uint32_t count = tarn_presses_write(&presses, bytes, sizeof bytes);
    for (uint32_t cut = 0; cut < count; cut++) {
        uint8_t *exact = malloc(cut + 1); // the sanitizer sees a read behind its end
        memcpy(exact, bytes, cut);
        assert_int_equal(tarn_presses_read(exact, cut, &read), TARN_E_TRUNCATED);
        free(exact);
    }
    assert_int_equal(tarn_presses_read(bytes, count + 1, &read), TARN_E_MALFORMED);
    bytes[0]++;
    assert_int_equal(tarn_presses_read(bytes, count, &read), TARN_E_VERSION);
    const tarn_presses sound = presses;
    presses.next.parameters[1].id = 0; // twice
    assert_int_equal(tarn_presses_write(&presses, bytes, sizeof bytes), 0);
    presses = sound;
    presses.inputs.sources[1].radius_m = 0;
    assert_int_equal(tarn_presses_write(&presses, bytes, sizeof bytes), 0);
    presses = sound;
    presses.inputs.sources[1].target_m[2] = NAN;
    assert_int_equal(tarn_presses_write(&presses, bytes, sizeof bytes), 0);
    presses = sound;
    presses.inputs.sources[1].tool = TARN_TOOL_COUNT;
    assert_int_equal(tarn_presses_write(&presses, bytes, sizeof bytes), 0);
}

/// Whatever is read acts in steps without harm.
static void test_random_bytes_do_no_harm(void **state)
{
    (void)state;
    static tarn_presses presses, read;
    static tarn_step_tools tools;
    static uint8_t sound[TARN_IPC_PRESSES_BYTES_MAX];
    const float size_m[3] = {4, 4, 4};
    tarn_tile_map map;
    fill_map(&map);
    fill(&presses, &map);
    const uint32_t count = tarn_presses_write(&presses, sound, sizeof sound);
    int taken = 0;
    srand(31);
    for (int round = 0; round < 20000; round++) {
        memcpy(bytes, sound, count);
        for (int k = 0; k < 3; k++) {
            bytes[(size_t)rand() % count] = (uint8_t)rand();
        }
        if (tarn_presses_read(bytes, count, &read) != TARN_OK) {
            continue;
        }
        taken++;
        assert_true(read.next.parameter_count <= TARN_MODEL_PARAMETERS_MAX);
        for (int step = 0; step < 2; step++) {
            tarn_grab grabs[TARN_TANK_GRABS_MAX];
            tarn_input_state_grabs(&read.inputs, grabs);
            tarn_input_state_latch(&read.inputs, size_m, dt_s, &tools);
        }
    }
    assert_true(taken > 1000);
    tarn_tile_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_pressed_goes_on),
        cmocka_unit_test(test_the_most_that_viewers_can_do_fits),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_random_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
