// What of a tank acts otherwise than it was asked for is said, and of a sound one nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/liquid_parameters.h"
#include "kernels/smoke_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/tank/busy_tank.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// 32^3 cells of 1/32 m, half full.
static void plain(tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    desc->block_count = 1;
    desc->blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.5f, 1.0f}};
}

/// The remarks in one line, with " | " between them.
static void read_remarks(const tarn_tank *tank, char *line, size_t line_bytes)
{
    tarn_remark remarks[8];
    const uint32_t count = tarn_tank_remarks(tank, remarks, 8);
    size_t at = 0;
    line[0] = 0;
    assert_true(count <= 8);
    for (uint32_t i = 0; i < count; i++) {
        at += (size_t)snprintf(line + at, line_bytes - at, "%s%s", i > 0 ? " | " : "", remarks[i]);
    }
}

static void expect_of(const tarn_tank_desc *desc, const char *wanted)
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, desc);
    char line[2048];
    tarn_remark alone[8];
    read_remarks(tank, line, sizeof line);
    if (strstr(line, wanted) == NULL || (wanted[0] == 0 && line[0] != 0)) {
        fail_msg("wanted \"%s\", found \"%s\"", wanted, line);
    }
    const uint32_t count = tarn_tank_desc_remarks(desc, alone, 8);
    if (wanted[0] == 0) {
        assert_int_equal(count, 0);
    } else {
        assert_true(count > 0 && strncmp(alone[0], line, strlen(alone[0])) == 0); // without a tank the same
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void what_is_as_it_was_meant_gets_no_remark(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    plain(&desc);
    desc.liquids[0].viscosity_m2_s = 2.9f; // 50 dx^2 / dt is 2.93
    desc.blocks[0].velocity_m_s[0] = 29.0f;
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){{.kind = TARN_SHAPE_CYLINDER, .half_m = {0.1f, 0.5f / 32}},
                                  {{0.5f, 0.5f / 32, 0.5f}, {0, 0, 0, 1}}};
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.02f, 0.2f, 0.2f}},
                                  .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    expect_of(&desc, "");
}

static void viscosity_over_its_cap(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    plain(&desc);
    desc.liquid_count = 2;
    desc.liquids[1] = desc.liquids[0];
    desc.liquids[1].viscosity_m2_s = 10.0f;
    expect_of(&desc, "liquids[1].viscosity_m2_s: asked for is 10, but 2.93 is what acts");
    desc.liquids[1].viscosity_m2_s = 100.0f;
    expect_of(&desc, "liquids[1].viscosity_m2_s: asked for is 100, but 2.93 is what acts");
}

static void speeds_that_a_step_cannot_carry(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    plain(&desc);
    desc.parameters[TARN_PARAMETER_SUBSTEPS] = 1.0f;
    desc.blocks[0].velocity_m_s[2] = -20.0f;
    expect_of(&desc, "blocks[0].velocity_m_s along an axis: asked for is 20, but 7.5 is what acts");
    plain(&desc);
    busy_tank_tap(&desc);
    desc.emitters[0].velocity_m_s[1] = -40.0f;
    expect_of(&desc, "emitters[0].velocity_m_s along an axis: asked for is 40, but 30 is what acts");
}

static void a_tank_that_is_led_faster_than_it_goes(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    plain(&desc);
    desc.led_turn_rad_s = 6.2f;
    desc.led_speed_m_s = 5.0f;
    expect_of(&desc, "");
    desc.led_turn_rad_s = 12.5f;
    expect_of(&desc, "tank_motion in rad/s: asked for is 12.5, but 6.3 is what acts: a tank follows");
    desc.led_speed_m_s = 7.5f;
    expect_of(&desc, "tank_motion in m/s: asked for is 7.5, but 5 is what acts");
}

/// Leads a tank from rest at a speed along x, or about y. @return how far it is behind at most, m or rad
static double lag_of(float speed, bool turns)
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    plain(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    double lag = 0.0;
    for (int step = 1; step <= 30; step++) {
        const float at = speed * desc.dt_s * (float)step;
        tarn_step_input input = {.poser = TARN_STEP_POSER_SCENE, .pose = {.rotation = {0, 0, 0, 1}}};
        tarn_pose pose;
        input.pose.position_m[0] = turns ? 0.0f : at;
        input.pose.rotation[1] = turns ? sinf(0.5f * at) : 0.0f;
        input.pose.rotation[3] = turns ? cosf(0.5f * at) : 1.0f;
        assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
        tarn_tank_pose(tank, &pose);
        lag = fmax(lag, turns ? (double)at - 2.0 * atan2((double)pose.rotation[1], (double)pose.rotation[3])
                              : (double)(at - pose.position_m[0]));
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return lag;
}

static void a_tank_whose_speed_is_to_change_at_once(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    plain(&desc);
    desc.led_turn_jump_rad_s = 1.5f;
    desc.led_speed_jump_m_s = 0.9f;
    expect_of(&desc, ""); // it is behind by less than the liquid shows
    desc.led_turn_jump_rad_s = 5.0f;
    expect_of(&desc,
              "tank_motion changes its turning by 5 rad/s at once, but a tank takes 0.083 s for that (at most 60 "
              "rad/s²), and lags up to 0.17 rad behind its key frames");
    assert_float_equal(lag_of(5.0f, true), 0.17, 0.01);
    desc.led_turn_jump_rad_s = 0.0f;
    desc.led_speed_jump_m_s = 4.0f;
    expect_of(&desc, "tank_motion changes its speed by 4 m/s at once, but a tank takes 0.13 s for that (at most 30 "
                     "m/s²), and lags up to 0.23 m behind its key frames");
    assert_float_equal(lag_of(4.0f, false), 0.23, 0.01);
}

static void regions_that_the_grid_cannot_see(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    const tarn_pose low = {{0.5f, 0.01f, 0.5f}, {0, 0, 0, 1}},
                    turned = {{0.5f, 0.3f, 0.5f}, {0.2157f, 0, 0.1078f, 0.9705f}},
                    beside = {{0.5f, -0.1f, 0.5f}, {0, 0, 0, 1}};
    const struct {
        tarn_drain drain;
        const char *wanted;
    } drains[] = {
        {{{.kind = TARN_SHAPE_CYLINDER, .half_m = {0.1f, 0.004f}}, low}, "drains[0] is 0.008 m thin: it drains as if"},
        {{{.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.1f, 0.01f}}, turned}, "drains[0] is 0.02 m thin"},
        {{{.kind = TARN_SHAPE_SPHERE, .half_m = {0.01f}}, low}, "drains[0] is 0.02 m thin"},
        {{{.kind = TARN_SHAPE_CAPSULE, .half_m = {0.01f, 0.2f}}, turned}, "drains[0] is 0.02 m thin"},
        {{{.kind = TARN_SHAPE_SPHERE, .half_m = {0.05f}}, beside}, "drains[0] takes nothing: it lies outside"},
    };
    for (size_t i = 0; i < sizeof drains / sizeof drains[0]; i++) {
        plain(&desc);
        desc.drain_count = 1;
        desc.drains[0] = drains[i].drain;
        expect_of(&desc, drains[i].wanted);
    }
    plain(&desc);
    desc.block_count = 2;
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.0f, 0.609f, 0.0f}, .max_m = {1.0f, 0.6090005f, 1.0f}};
    expect_of(&desc, "blocks[1] begins with no particle: it is too thin");
    plain(&desc);
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.1f}},
                                        .pose = {{0.5f, 1.2f, 0.5f}, {0, 0, 0, 1}}};
    expect_of(&desc, "fluids[0] begins with no particle");
}

/// A solid on two key frames, a tenth of a second apart.
static void moved(tarn_tank_desc *desc, const tarn_shape *shape, const float move_m[3], const float turn[4])
{
    plain(desc);
    desc->solid_count = 1;
    desc->solids[0] = (tarn_solid){.shape = *shape, .motion = TARN_MOTION_KEYFRAMES, .keyframe_count = 2};
    desc->keyframe_count = 2;
    for (int i = 0; i < 2; i++) {
        desc->keyframes[i] = (tarn_keyframe){.time_s = 0.1f * (float)i, .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    }
    for (int a = 0; a < 3; a++) {
        desc->keyframes[1].pose.position_m[a] += move_m[a];
    }
    memcpy(desc->keyframes[1].pose.rotation, turn, 4 * sizeof *turn);
}

static void solids_that_leap_over_liquid(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    const tarn_shape plate = {.kind = TARN_SHAPE_BOX, .half_m = {0.02f, 0.3f, 0.3f}},
                     ball = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.02f}},
                     disc = {.kind = TARN_SHAPE_CYLINDER, .half_m = {0.3f, 0.02f}};
    const float none[4] = {0, 0, 0, 1}, quarter[4] = {0, 0.7071068f, 0, 0.7071068f};
    // 20 m/s are 10.7 cells a step, 2.7 in each of four substeps: 0.083 m.
    moved(&desc, &plate, (const float[3]){2.0f, 0, 0}, none);
    expect_of(&desc, "solids[0] moves 0.0833 m in a substep, 2.08 times as far as it is thick there");
    moved(&desc, &plate, (const float[3]){0, 2.0f, 0}, none); // along itself
    expect_of(&desc, "");
    moved(&desc, &plate, (const float[3]){0.2f, 0, 0}, none);
    expect_of(&desc, "");
    moved(&desc, &ball, (const float[3]){1.2f, 1.2f, 0}, none);
    expect_of(&desc, "solids[0] moves 0.0707 m in a substep");
    moved(&desc, &disc, (const float[3]){0, 0, 0}, quarter); // about its own axis
    expect_of(&desc, "");
    moved(&desc, &plate, (const float[3]){0, 0, 0}, quarter); // its end goes 0.3 m round in six steps
    desc.parameters[TARN_PARAMETER_SUBSTEPS] = 1.0f;
    expect_of(&desc, "it leaps over liquid");
}

static void thin_solids(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    const tarn_shape thin[] = {{.kind = TARN_SHAPE_BOX, .half_m = {0.2f, 0.01f, 0.2f}},
                               {.kind = TARN_SHAPE_CYLINDER, .half_m = {0.2f, 0.01f}},
                               {.kind = TARN_SHAPE_CAPSULE, .half_m = {0.01f, 0.2f}}};
    for (size_t i = 0; i < sizeof thin / sizeof thin[0]; i++) {
        plain(&desc);
        desc.solid_count = 1;
        desc.solids[0] = (tarn_solid){.shape = thin[i], .pose = {{0.5f, 0.5f, 0.5f}, {0.3f, 0, 0, 0.95394f}}};
        expect_of(&desc, "solids[0] is 0.02 m thin: less than a cell of 0.03125 m doesn't keep liquid apart");
    }
}

/// Parameters change while a tank runs, and so does what is said.
static void live_parameters(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    char line[2048];
    plain(&desc);
    desc.solver = TARN_SOLVER_JACOBI;
    tarn_tank *tank = plain_tank_open(device, &desc);
    read_remarks(tank, line, sizeof line);
    assert_string_equal(line, "");
    assert_int_equal(act_set_parameter(tank, TARN_PARAMETER_RELAXATION, 1.5f), TARN_OK);
    read_remarks(tank, line, sizeof line);
    assert_string_equal(line, "relaxation: asked for is 1.5, but 1 is what acts");
    assert_int_equal(act_set_parameter(tank, TARN_PARAMETER_RELAXATION, 0.9f), TARN_OK);
    read_remarks(tank, line, sizeof line);
    assert_string_equal(line, "");
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// What people put into a running tank is judged as the scene's own is.
static void what_people_put_in(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    char line[2048], why[256];
    plain(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_solid wall = {.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.3f, 0.3f, 0.005f}},
                             .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    assert_int_equal(act_add_wall(tank, &wall, why, sizeof why), TARN_OK);
    read_remarks(tank, line, sizeof line);
    assert_non_null(strstr(line, "a piece of wall that was put in is 0.01 m thin: less than a cell"));
    const tarn_solid plate = {.shape = {.kind = TARN_SHAPE_CYLINDER, .half_m = {0.15f, 0.02f}},
                              .pose = {{0.5f, 0.9f, 0.25f}, {0, 0, 0, 1}},
                              .motion = TARN_MOTION_FREE,
                              .density_kg_m3 = 2000.0f,
                              .velocity_m_s = {0.0f, -29.0f, 0.0f}};
    uint32_t body;
    tarn_tank_report report;
    assert_int_equal(act_set_parameter(tank, TARN_PARAMETER_SUBSTEPS, 1.0f), TARN_OK);
    assert_int_equal(act_throw(tank, &plate, &body, why, sizeof why), TARN_OK);
    assert_int_equal(act_step(tank, NULL, 0), TARN_OK);
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    read_remarks(tank, line, sizeof line);
    assert_non_null(strstr(line, "body 64, which was thrown in, moves farther in a substep than it is thick"));
    busy_tank_steps(tank, 120); // it lies still now
    read_remarks(tank, line, sizeof line);
    assert_null(strstr(line, "moves farther"));
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_as_it_was_meant_gets_no_remark),
        cmocka_unit_test(viscosity_over_its_cap),
        cmocka_unit_test(speeds_that_a_step_cannot_carry),
        cmocka_unit_test(a_tank_that_is_led_faster_than_it_goes),
        cmocka_unit_test(a_tank_whose_speed_is_to_change_at_once),
        cmocka_unit_test(regions_that_the_grid_cannot_see),
        cmocka_unit_test(solids_that_leap_over_liquid),
        cmocka_unit_test(thin_solids),
        cmocka_unit_test(live_parameters),
        cmocka_unit_test(what_people_put_in),
    };
    return cmocka_run_group_tests_name("remarks", tests, NULL, NULL);
}
