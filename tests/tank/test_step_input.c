// A step's input: what is admitted, what holds the clock, and its bytes.
#include "kernels/liquid_parameters.h"
#include "tests/tank/solid_tank.h"

#include "kernels/step_input.h"
#include "protocol/motion_code.h"

#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Something in every part.
static void fill(tarn_step_input *input)
{
    memset(input, 0, sizeof *input);
    input->pause = TARN_STEP_PAUSE_ENDS;
    input->poser = TARN_STEP_POSER_HAND;
    input->pose = (tarn_pose){{0.1f, -0.2f, 0.3f}, {0.0f, 0.6f, 0.0f, 0.8f}};
    input->parameter_count = 2;
    input->parameters[0] = (tarn_parameter_change){TARN_PARAMETER_GRAVITY, 3.5f};
    input->parameters[1] = (tarn_parameter_change){TARN_PARAMETER_FLIP, 0.5f};
    input->push_count = 2;
    input->pushes[1] = (tarn_push){{0.1f, 0.2f, 0.3f}, 0.1f, {1.0f, -1.0f, 0.5f}, 0.7f, 0.3f, {1.0f, 2.0f, 3.0f}};
    input->grab_count = 1;
    input->grabs[0] = (tarn_grab){0, {0.01f, 0.02f, 0.03f}, {0.4f, 0.5f, 0.6f}, 0.3f};
    input->tools.pour_count = 1;
    input->tools.pours[0] = (tarn_pour){
        .center_m = {0.4f, 0.6f, 0.4f}, .radius_m = 0.1f, .velocity_m_s = {0, -1, 0}, .colour = {1, 2, 3, 4}};
    input->tools.sink_count = 1;
    input->tools.sinks[0] = (tarn_sink){{0.5f, 0.1f, 0.5f}, 0.05f};
    input->tools.dye_count = 1;
    input->tools.dyes[0] = (tarn_dye){{0.2f, 0.1f, 0.2f}, 0.2f, {200, 100, 50}, 0.5f};
    input->throw_count = 1;
    input->throws[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.05f}},
                                    .pose = {{0.5f, 0.7f, 0.5f}, {0, 0, 0, 1}},
                                    .motion = TARN_MOTION_FREE,
                                    .density_kg_m3 = 500.0f,
                                    .colour = {9, 8, 7}};
    input->wall_count = 1;
    input->walls[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.1f, 0.05f}},
                                   .pose = {{0.3f, 0.1f, 0.3f}, {0, 0, 0, 1}}};
    static const uint8_t cells[] = {241, 7};
    input->motion_field_count = 1;
    input->motion_fields[0] = (tarn_motion_field){.corner_m = {0.1f, 0.2f, 0.3f},
                                                  .across_m = {1.0f, 0.0f, 0.1f},
                                                  .up_m = {0.0f, 0.8f, 0.2f},
                                                  .depth_m = 0.25f,
                                                  .speed_m_s = 2.0f,
                                                  .strength = 0.5f,
                                                  .solid = true,
                                                  .columns = 2,
                                                  .rows = 2,
                                                  .cell_bytes = sizeof cells,
                                                  .cells = cells};
    input->erase_count = 1;
    input->erases[0] = (tarn_sink){{0.9f, 0.1f, 0.9f}, 0.1f};
}

static tarn_tank *pool_with_ball(tarn_device *device)
{
    tarn_tank_desc desc = solid_tank_pool(16, 16, 16, 0.0625f, 0.3f);
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.1f, 0, 0}, (const float[3]){0.5f, 0.3f, 0.5f},
                        400.0f);
    return plain_tank_open(device, &desc);
}

static void bytes_hold_everything(void **state)
{
    (void)state;
    tarn_step_input input, read;
    uint8_t bytes[TARN_STEP_INPUT_BYTES_MAX], again[TARN_STEP_INPUT_BYTES_MAX];
    fill(&input);
    const size_t count = tarn_step_input_write(&input, bytes, sizeof bytes);
    assert_true(count > 0);
    assert_int_equal(tarn_step_input_read(bytes, count, &read), TARN_OK);
    assert_int_equal(tarn_step_input_write(&read, again, sizeof again), count);
    assert_memory_equal(bytes, again, count);
    assert_memory_equal(&read.pushes, &input.pushes, sizeof input.pushes);
    assert_memory_equal(&read.tools, &input.tools, sizeof input.tools);
    assert_memory_equal(&read.throws, &input.throws, sizeof input.throws);
    assert_memory_equal(&read.walls, &input.walls, sizeof input.walls);
    memset(&input, 0, sizeof input);
    assert_int_equal(tarn_step_input_write(&input, bytes, sizeof bytes), 4);
    assert_int_equal(tarn_step_input_write(&input, bytes, 3), 0);
}

static void every_input_fits(void **state)
{
    (void)state;
    tarn_step_input input;
    uint8_t bytes[TARN_STEP_INPUT_BYTES_MAX];
    fill(&input);
    input.parameter_count = TARN_STEP_PARAMETERS_MAX;
    input.push_count = TARN_TANK_PUSHES_MAX;
    input.grab_count = TARN_TANK_GRABS_MAX;
    input.tools.pour_count = TARN_TANK_POURS_MAX;
    input.tools.sink_count = TARN_TANK_SINKS_MAX;
    input.tools.dye_count = TARN_TANK_DYES_MAX;
    input.throw_count = TARN_STEP_THROWS_MAX;
    input.wall_count = TARN_STEP_WALLS_MAX;
    input.erase_count = TARN_STEP_ERASES_MAX;
    static const uint8_t cells[TARN_MOTION_CODE_BYTES_MAX];
    input.motion_field_count = TARN_STEP_MOTION_FIELDS_MAX;
    for (uint32_t i = 0; i < TARN_STEP_MOTION_FIELDS_MAX; i++) {
        input.motion_fields[i].cells = cells;
        input.motion_fields[i].cell_bytes = sizeof cells;
    }
    assert_true(tarn_step_input_write(&input, bytes, sizeof bytes) > 0);
}

static void cut_or_wrong_bytes_are_refused(void **state)
{
    (void)state;
    tarn_step_input input, read, none = {0};
    uint8_t bytes[TARN_STEP_INPUT_BYTES_MAX];
    fill(&input);
    const size_t count = tarn_step_input_write(&input, bytes, sizeof bytes);
    for (size_t cut = 0; cut < count; cut++) {
        uint8_t *exact = malloc(cut + 1); // so that a sanitizer sees what reads on
        memcpy(exact, bytes, cut);
        assert_int_equal(tarn_step_input_read(exact, cut, &read), TARN_E_MALFORMED);
        assert_memory_equal(&read, &none, sizeof none);
        free(exact);
    }
    assert_int_equal(tarn_step_input_read(bytes, count + 1, &read), TARN_E_MALFORMED);
    bytes[0] = 2;
    assert_int_equal(tarn_step_input_read(bytes, count, &read), TARN_E_VERSION);
    bytes[0] = 1;
    bytes[1] |= 0x20; // a flag that there isn't
    assert_int_equal(tarn_step_input_read(bytes, count, &read), TARN_E_MALFORMED);
    bytes[1] = 3 << 1; // a pause that there isn't
    assert_int_equal(tarn_step_input_read(bytes, count, &read), TARN_E_MALFORMED);
    const uint8_t empty_part[] = {1, 0, 1 << 2, 0, 0}, too_many[] = {1, 0, 1 << 2, 0, TARN_TANK_PUSHES_MAX + 1};
    assert_int_equal(tarn_step_input_read(empty_part, sizeof empty_part, &read), TARN_E_MALFORMED);
    assert_int_equal(tarn_step_input_read(too_many, sizeof too_many, &read), TARN_E_MALFORMED);
}

static void what_is_read_does_the_same(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = pool_with_ball(device), *other = pool_with_ball(device), *idle = pool_with_ball(device);
    tarn_step_input input, read;
    tarn_step_refusals refusals;
    uint8_t bytes[TARN_STEP_INPUT_BYTES_MAX];
    for (int step = 0; step < 5; step++) {
        fill(&input);
        input.pushes[0].radius_m = 0.01f * (float)step;
        assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_OK);
        assert_int_equal(refusals.count, 0);
        const size_t count = tarn_step_input_write(&input, bytes, sizeof bytes);
        assert_int_equal(tarn_step_input_read(bytes, count, &read), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
        assert_int_equal(tarn_tank_step(other, &read), TARN_OK);
        assert_int_equal(tarn_tank_step(idle, NULL), TARN_OK);
    }
    tarn_tank_hash a, b, c;
    assert_int_equal(tarn_tank_hash_get(tank, &a), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(other, &b), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(idle, &c), TARN_OK);
    assert_true(a.lo == b.lo && a.hi == b.hi);
    assert_true(a.lo != c.lo);
    tarn_tank_destroy(tank);
    tarn_tank_destroy(other);
    tarn_tank_destroy(idle);
    tarn_device_destroy(device);
}

static void what_holds_takes_no_time(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = pool_with_ball(device);
    tarn_step_input input = {.holds = true, .pause = TARN_STEP_PAUSE_BEGINS, .parameter_count = 1};
    input.parameters[0] = (tarn_parameter_change){TARN_PARAMETER_GRAVITY, 1.0f};
    tarn_tank_report report;
    assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    tarn_tank_report_light(tank, &report);
    assert_int_equal(report.step, 0);
    assert_true(tarn_tank_paused(tank));
    assert_true(tarn_tank_parameter(tank, TARN_PARAMETER_GRAVITY) == 1.0f);
    input.push_count = 1;
    assert_int_equal(tarn_tank_step(tank, &input), TARN_E_ARGUMENT);
    input = (tarn_step_input){.holds = true, .pause = TARN_STEP_PAUSE_ENDS};
    assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    assert_false(tarn_tank_paused(tank));
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Once a hand has turned the tank, the scene no longer does; after a reset it does again.
static void a_hand_takes_the_tank_from_its_scene(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = pool_with_ball(device);
    const tarn_pose upright = {{0, 0, 0}, {0, 0, 0, 1}}, turned = {{0, 0, 0}, {0.0f, 0.0f, 0.6f, 0.8f}};
    tarn_step_input hand = {.poser = TARN_STEP_POSER_HAND, .pose = upright};
    tarn_step_input scene = {.poser = TARN_STEP_POSER_SCENE, .pose = turned};
    tarn_pose found;
    uint8_t *saved = malloc(tarn_tank_save_bytes_max(tank));
    size_t bytes = 0;
    assert_int_equal(tarn_tank_step(tank, &hand), TARN_OK);
    for (int loads = 0; loads < 2; loads++) { // a saved state knows it, too
        assert_int_equal(tarn_tank_save(tank, saved, tarn_tank_save_bytes_max(tank), &bytes), TARN_OK);
        for (int step = 0; step < 10; step++) {
            assert_int_equal(tarn_tank_step(tank, &scene), TARN_OK);
        }
        tarn_tank_pose(tank, &found);
        assert_true(found.rotation[2] == 0.0f);
        assert_int_equal(tarn_tank_reset(tank), TARN_OK);
        assert_int_equal(tarn_tank_load(tank, saved, bytes), TARN_OK);
    }
    assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    for (int step = 0; step < 10; step++) {
        assert_int_equal(tarn_tank_step(tank, &scene), TARN_OK);
    }
    tarn_tank_pose(tank, &found);
    assert_true(found.rotation[2] > 0.05f);
    free(saved);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void what_does_not_fit_is_taken_out_before_the_step(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = pool_with_ball(device);
    tarn_step_input input = {.wall_count = TARN_STEP_WALLS_MAX};
    tarn_step_refusals refusals;
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    for (int i = 0; i < TARN_STEP_WALLS_MAX; i++) {
        input.walls[i] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.02f, 0.1f, 0.02f}},
                                      .pose = {{0.05f * (float)i, 0.1f, 0.3f}, {0, 0, 0, 1}}};
    }
    for (int step = 0; step < TARN_TANK_WALLS_MAX / TARN_STEP_WALLS_MAX; step++) {
        assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    }
    input.wall_count = 3;
    assert_int_equal(tarn_tank_step(tank, &input), TARN_E_ARGUMENT);
    assert_int_equal(tarn_tank_added(tank, added), TARN_TANK_WALLS_MAX);
    assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_OK);
    assert_int_equal(refusals.count, 3);
    assert_true(refusals.of[0].is_wall && refusals.of[0].index == 2 && refusals.of[0].why != NULL);
    assert_int_equal(input.wall_count, 0);
    assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void unsound_inputs_change_nothing(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = pool_with_ball(device);
    tarn_step_input good, bad[14];
    fill(&good);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bad[i] = good;
    }
    bad[0].push_count = TARN_TANK_PUSHES_MAX + 1;
    bad[1].pushes[1].strength = NAN;
    bad[2].grabs[0].body = 1;
    bad[3].parameters[0].id = TARN_PARAMETER_COUNT;
    bad[4].parameters[1].value = 2.0f;
    bad[5].pose.rotation[3] = 5.0f;
    bad[6].pose.position_m[0] = INFINITY;
    bad[7].tools.pours[0].liquid = 1;
    bad[8].throws[0].motion = TARN_MOTION_STATIC;
    bad[9].walls[0].shape.kind = TARN_SHAPE_FIELD;
    bad[10].erases[0].radius_m = NAN;
    bad[11].poser = TARN_STEP_POSER_COUNT;
    bad[12].pause = TARN_STEP_PAUSE_COUNT;
    bad[13].parameter_count = TARN_STEP_PARAMETERS_MAX + 1;
    tarn_tank_hash before, after;
    tarn_step_refusals refusals;
    assert_int_equal(tarn_tank_hash_get(tank, &before), TARN_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tarn_tank_step(tank, &bad[i]), TARN_E_ARGUMENT);
        assert_int_equal(tarn_tank_admit(tank, &bad[i], &refusals), TARN_E_ARGUMENT);
        assert_true(refusals.why[0] != 0);
    }
    assert_int_equal(tarn_tank_hash_get(tank, &after), TARN_OK);
    assert_true(before.lo == after.lo && before.hi == after.hi);
    assert_int_equal(tarn_tank_step(tank, &good), TARN_OK);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_hold_everything),
        cmocka_unit_test(every_input_fits),
        cmocka_unit_test(cut_or_wrong_bytes_are_refused),
        cmocka_unit_test(what_is_read_does_the_same),
        cmocka_unit_test(what_holds_takes_no_time),
        cmocka_unit_test(a_hand_takes_the_tank_from_its_scene),
        cmocka_unit_test(what_does_not_fit_is_taken_out_before_the_step),
        cmocka_unit_test(unsound_inputs_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
