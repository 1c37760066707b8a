// Liquid that enters and leaves, and a tank that turns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/liquid_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/tank/busy_tank.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void tap_fills_at_its_rate(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 30);
    const uint64_t before = plain_tank_report(tank).particle_count;
    busy_tank_steps(tank, 60);
    const tarn_tank_report after = plain_tank_report(tank);
    const double per_m3 = 8.0 * 32 * 32 * 32, wanted = per_m3 * 1.0 / 64.0;
    const double found = (double)(after.particle_count - before);
    if (fabs(found / wanted - 1.0) >= 0.1) {
        fail_msg("%g particles in a second, expected %g", found, wanted);
    }
    assert_int_equal(after.born, after.particle_count);
    assert_int_equal(after.gone, 0);
    uint32_t *ids = malloc(after.particle_count * sizeof *ids), count = 0;
    assert_int_equal(tarn_tank_particles(tank, NULL, NULL, ids, after.particle_count, &count), TARN_OK);
    for (uint32_t i = 1; i < count; i++) {
        assert_true(ids[i] > ids[i - 1]);
    }
    free(ids);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void tap_opens_and_closes_in_time(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    desc.emitters[0].start_s = 0.25f;
    desc.emitters[0].end_s = 0.5f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 15);
    assert_int_equal(plain_tank_report(tank).particle_count, 0);
    busy_tank_steps(tank, 15);
    const uint32_t count = plain_tank_report(tank).particle_count;
    assert_true(count > 0);
    busy_tank_steps(tank, 15);
    assert_int_equal(plain_tank_report(tank).particle_count, count);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void drain_empties_a_pool(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.25f, 1.0f}};
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_CYLINDER, .half_m = {0.25f, 0.0625f}},
                                  .pose = {{0.5f, 0.0f, 0.5f}, {0, 0, 0, 1}}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t before = plain_tank_report(tank).particle_count;
    busy_tank_steps(tank, 240);
    const tarn_tank_report after = plain_tank_report(tank);
    assert_true(after.particle_count < before / 8);
    assert_int_equal(after.gone, before - after.particle_count);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A pool of 16 x 4 x 16 cells with one drain. @return the share of its particles that is there after two seconds
static double left_by_drain(const tarn_drain *drain)
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[2] = 16;
    desc.cells[1] = 8;
    desc.cell_m = 0.0625f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.25f, 1.0f}};
    desc.drain_count = 1;
    desc.drains[0] = *drain;
    tarn_tank *tank = plain_tank_open(device, &desc);
    const double before = plain_tank_report(tank).particle_count;
    busy_tank_steps(tank, 120);
    const double after = plain_tank_report(tank).particle_count;
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return after / before;
}

/// Whatever its shape and wherever it lies between the cells' centres: the grid has no air to press liquid into that is
/// smaller than a cell.
static void drains_smaller_than_a_cell_drain(void **state)
{
    (void)state;
    const float low = 0.0125f, tilt = 0.2588f, up = 0.9659f; // a fifth of a cell; 30 degrees
    const tarn_drain drains[] = {
        {{.kind = TARN_SHAPE_CYLINDER, .half_m = {0.1f, low}}, {{0.5f, low, 0.5f}, {0, 0, 0, 1}}},
        {{.kind = TARN_SHAPE_CYLINDER, .half_m = {0.1f, low}}, {{0.5f, 0.0625f, 0.5f}, {0, 0, 0, 1}}}, // between layers
        {{.kind = TARN_SHAPE_CYLINDER, .half_m = {0.2f, low}}, {{0.5f, 0.1f, 0.5f}, {tilt, 0, 0, up}}},
        {{.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.01f, 0.1f}}, {{0.5f, 0.0f, 0.5f}, {0, 0, 0, 1}}},
        {{.kind = TARN_SHAPE_BOX, .half_m = {0.2f, 0.005f, 0.15f}}, {{0.52f, 0.09f, 0.47f}, {0, 0, tilt, up}}},
        {{.kind = TARN_SHAPE_SPHERE, .half_m = {0.01f}}, {{0.5f, 0.02f, 0.5f}, {0, 0, 0, 1}}},
        {{.kind = TARN_SHAPE_CAPSULE, .half_m = {0.005f, 0.3f}}, {{0.5f, 0.03f, 0.5f}, {0, 0, 0.7071f, 0.7071f}}},
    };
    for (size_t i = 0; i < sizeof drains / sizeof drains[0]; i++) {
        const double left = left_by_drain(&drains[i]);
        if (left > 0.8) {
            fail_msg("drain %zu left %.3f of the pool", i, left);
        }
    }
    const tarn_drain outside = {{.kind = TARN_SHAPE_CYLINDER, .half_m = {0.1f, low}},
                                {{0.5f, -0.02f, 0.5f}, {0, 0, 0, 1}}};
    assert_true(left_by_drain(&outside) == 1.0);
}

/// What crosses a drain in one substep leaves as what ends in it does.
static void thin_drain_takes_what_flies_through(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){
        .min_m = {0.0f, 0.75f, 0.0f}, .max_m = {1.0f, 0.875f, 1.0f}, .velocity_m_s = {0.0f, -7.0f, 0.0f}};
    desc.parameters[TARN_PARAMETER_CFL] = 4.0f;
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.6f, 0.002f, 0.6f}},
                                  .pose = {{0.5f, 0.375f, 0.5f}, {0, 0, 0, 1}}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 30);
    assert_int_equal(plain_tank_report(tank).particle_count, 0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A box of 16^3 cells with a tap in its middle, that is full but for the height above `level_m`.
static void box_with_tap(tarn_tank_desc *desc, float level_m)
{
    tarn_tank_desc_default(desc);
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = 16;
    }
    desc->cell_m = 0.0625f;
    desc->particles_max = 100000;
    desc->block_count = level_m > 0.0f;
    desc->blocks[0] = (tarn_fluid_block){.max_m = {1.0f, level_m, 1.0f}};
    desc->emitter_count = 1;
    desc->emitters[0] = (tarn_emitter){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.1875f}},
                                       .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}},
                                       .velocity_m_s = {0.0f, 2.0f, 0.0f}};
}

static bool says_that_it_stopped(const tarn_tank *tank)
{
    tarn_remark remarks[4];
    const uint32_t count = tarn_tank_remarks(tank, remarks, 4);
    bool says = false;
    for (uint32_t i = 0; i < count && i < 4; i++) {
        says |= strcmp(remarks[i], "emitters[0] has stopped: what it pours into is full") == 0;
    }
    return says;
}

/// @param room  cells that there are for liquid
/// @param most  of what these hold
static void expect_to_fill(const tarn_tank_desc *desc, double room, double most)
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, desc);
    busy_tank_steps(tank, 1);
    assert_false(says_that_it_stopped(tank));
    busy_tank_steps(tank, 420);
    const double full = plain_tank_report(tank).particle_count / (8.0 * room);
    const bool says = says_that_it_stopped(tank);
    if (!(full > 0.93 && full <= most && says)) {
        fail_msg("%.3f of what the box holds; it %s", full, says ? "says so" : "doesn't say so");
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void tap_stops_where_it_is_full(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    box_with_tap(&desc, 0.0f);
    expect_to_fill(&desc, 16 * 16 * 16, 1.0);
    box_with_tap(&desc, 0.9375f); // almost full
    expect_to_fill(&desc, 16 * 16 * 16, 1.0);
    // A part of the tank that a wall cuts off; in the other one a pool has air above it.
    box_with_tap(&desc, 0.0f);
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.125f, 0.6f, 0.6f}},
                                  .pose = {{0.875f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    expect_to_fill(&desc, 12 * 16 * 16, 1.0);
    box_with_tap(&desc, 0.0f);
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.125f, 0.6f, 0.6f}},
                                  .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0.625f, 0.0f, 0.0f}, .max_m = {1.0f, 0.25f, 1.0f}};
    desc.emitters[0].pose.position_m[0] = 0.1875f;
    expect_to_fill(&desc, 6 * 16 * 16 + 6 * 4 * 16, 1.05); // by what bubbles let in
    // A plunger that takes a quarter of the tank, and leaves it.
    box_with_tap(&desc, 0.0f);
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.125f, 0.6f, 0.6f}},
                                  .motion = TARN_MOTION_KEYFRAMES,
                                  .keyframe_count = 2};
    desc.keyframe_count = 2;
    desc.keyframes[0] = (tarn_keyframe){.pose = {{0.875f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    desc.keyframes[1] = (tarn_keyframe){.time_s = 0.5f, .pose = {{1.25f, 0.5f, 0.5f}, {0, 0, 0, 1}}};
    expect_to_fill(&desc, 16 * 16 * 16, 1.0);
}

/// With a way out it goes on.
static void tap_goes_on_where_a_drain_makes_room(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    box_with_tap(&desc, 1.0f);
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.07f, 0.1f}},
                                  .pose = {{0.1f, 0.05f, 0.1f}, {0, 0, 0, 1}}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 120);
    const uint64_t before = plain_tank_report(tank).born;
    busy_tank_steps(tank, 120);
    assert_true(plain_tank_report(tank).born > before + 4000);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// All liquid may go, and come back.
static void tank_may_run_dry(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.125f, 1.0f}};
    desc.emitters[0].start_s = 0.5f;
    desc.emitters[0].end_s = 0.6f;
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {1.0f, 0.25f, 1.0f}},
                                  .pose = {{0.5f, 0.0f, 0.5f}, {0, 0, 0, 1}}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 5);
    assert_int_equal(plain_tank_report(tank).particle_count, 0);
    busy_tank_steps(tank, 30);
    assert_true(plain_tank_report(tank).particle_count > 0);
    busy_tank_steps(tank, 60);
    assert_int_equal(plain_tank_report(tank).particle_count, 0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Where the capacity is reached, old spray makes way for what the tap brings, and the pool stays.
static void spray_makes_way_at_the_cap(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    desc.block_count = 2;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.125f, 1.0f}};
    // A mist: single particles far apart come from blocks of a sub-cell.
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.0f, 0.5f, 0.0f}, .max_m = {0.016f, 0.9f, 1.0f}};
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    const uint64_t seeded = tarn_tank_desc_particles(&desc);
    desc.particles_max = (uint32_t)seeded + 100;
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 120);
    const tarn_tank_report report = plain_tank_report(tank);
    assert_true(report.particle_count <= desc.particles_max);
    assert_true(report.born > 200);
    assert_true(report.gone > 100);
    // Identities below those of the block belong to the pool, which is seeded first in tile order of height.
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void thinned_out_liquid_is_reseeded(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    uint32_t empty[2];
    for (uint32_t reseed = 0; reseed < 2; reseed++) {
        tarn_tank_desc desc;
        tarn_tank_desc_default(&desc);
        desc.jitter = 1.0f;
        desc.cells[0] = desc.cells[1] = desc.cells[2] = 20;
        desc.cell_m = 0.05f;
        desc.block_count = 1;
        desc.blocks[0] = (tarn_fluid_block){.max_m = {0.5f, 0.75f, 1.0f}};
        desc.particles_max = 120000;
        desc.reseed = reseed;
        tarn_tank *tank = plain_tank_open(device, &desc);
        const tarn_push push = {
            .center_m = {0.5f, 0.2f, 0.5f}, .radius_m = 0.2f, .velocity_m_s = {8.0f, 4.0f, 2.0f}, .strength = 1.0f};
        for (int i = 0; i < 120; i++) {
            assert_int_equal(act_step(tank, &push, i % 8 < 4), TARN_OK);
        }
        const tarn_tank_report report = plain_tank_report(tank);
        empty[reseed] = (uint32_t)(report.born + report.gone);
        const double change = ((double)report.born - (double)report.gone) / (double)report.particle_count;
        if (fabs(change) > 0.01) {
            fail_msg("%g of the particles came by reseeding", change);
        }
        assert_true(report.particle_count > 0);
        tarn_tank_destroy(tank);
    }
    assert_int_equal(empty[0], 0);
    assert_true(empty[1] > 0);
    tarn_device_destroy(device);
}

static void turned_tank_lets_water_find_its_level(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.block_count = 1;
    desc.cells[0] = desc.cells[1] = desc.cells[2] = 16;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.5f, 0.125f, 0.5f}};
    desc.parameters[TARN_PARAMETER_FLIP] = 0.5f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    busy_tank_steps(tank, 10);
    // A quarter turn about z: what was the wall at x = 0 is the floor.
    const float half = sqrtf(0.5f);
    const tarn_pose pose = {{0, 0, 0}, {0, 0, half, half}};
    assert_int_equal(act_set_pose(tank, &pose), TARN_OK);
    busy_tank_steps(tank, 300);
    tarn_pose found;
    tarn_tank_pose(tank, &found);
    assert_true(fabsf(found.rotation[2] - half) < 1e-5f);
    // Down in the room is (0, -1, 0), in the tank the quarter turn back: (-1, 0, 0). It sloshes for long.
    double x = 0.0, y = 0.0;
    const int mean_steps = 300;
    for (int i = 0; i < mean_steps; i++) {
        busy_tank_steps(tank, 1);
        const tarn_tank_report report = plain_tank_report(tank);
        x += report.center_m[0] / mean_steps;
        y += report.center_m[1] / mean_steps;
    }
    if (fabs(x - 0.0625) >= 0.005 || fabs(y - 0.25) >= 0.01) {
        fail_msg("centre at %g, %g m on average", x, y);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void expect_refusal(tarn_device *device, const tarn_tank_desc *desc, tarn_status wanted, const char *names)
{
    char why[256] = "";
    tarn_tank *tank = NULL;
    assert_int_equal(tarn_tank_create(device, desc, &tank, why, sizeof why), wanted);
    assert_non_null(strstr(why, names));
}

static void wrong_sources_are_refused(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc good, bad;
    busy_tank_desc(&good);
    bad = good;
    bad.emitter_count = TARN_TANK_EMITTERS_MAX + 1;
    expect_refusal(device, &bad, TARN_E_LIMIT, "emitters");
    bad = good;
    bad.emitters[0].liquid = 99;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "emitters[0].liquid");
    bad = good;
    bad.emitters[0].shape.kind = TARN_SHAPE_FIELD;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "emitters[0].shape");
    bad = good;
    bad.emitters[0].velocity_m_s[2] = NAN;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "emitters[0].velocity_m_s");
    bad = good;
    bad.emitters[0].pose.position_m[0] = 5.0f;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "emitters[0]");
    bad = good; // to measure it would take hours
    bad.cell_m = 0.01f;
    bad.block_count = 0;
    bad.emitters[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {40.0f}};
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "emitters[0] is too large");
    bad = good;
    bad.drains[0].shape.kind = (tarn_shape_kind)77;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "drains[0].shape");
    bad = good;
    bad.drains[0].pose.position_m[1] = NAN;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "drains[0].pose");
    bad = good;
    bad.fluid_count = 1;
    bad.fluids[0] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.1f}},
                                       .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}},
                                       .liquid = 1000000};
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "fluids[0].liquid");
    tarn_device_destroy(device);
}

/// A still pool around a ball needs no new particles: cells that the ball cuts have fewer by nature.
static void solids_are_not_reseeded(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.reseed = 1;
    desc.cells[0] = desc.cells[1] = desc.cells[2] = 20;
    desc.cell_m = 0.05f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.0f, 0.6f, 1.0f}};
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.2f}},
                                  .pose = {{0.5f, 0.3f, 0.5f}, {0, 0, 0, 1}}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t before = plain_tank_report(tank).particle_count;
    busy_tank_steps(tank, 60);
    const tarn_tank_report after = plain_tank_report(tank);
    if (fabs((double)after.particle_count / before - 1.0) > 0.002) {
        fail_msg("%u particles became %u", before, after.particle_count);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void wrong_poses_are_refused(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    busy_tank_tap(&desc);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_pose wrong[] = {{{0, 0, 0}, {0, 0, 0, 0}},
                               {{0, 0, 0}, {0, 0, 0, 2}},
                               {{0, 0, 0}, {NAN, 0, 0, 1}},
                               {{INFINITY, 0, 0}, {0, 0, 0, 1}},
                               {{0, 1e9f, 0}, {0, 0, 0, 1}}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(act_set_pose(tank, &wrong[i]), TARN_E_ARGUMENT);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tap_fills_at_its_rate),
        cmocka_unit_test(tap_opens_and_closes_in_time),
        cmocka_unit_test(drain_empties_a_pool),
        cmocka_unit_test(drains_smaller_than_a_cell_drain),
        cmocka_unit_test(thin_drain_takes_what_flies_through),
        cmocka_unit_test(tap_stops_where_it_is_full),
        cmocka_unit_test(tap_goes_on_where_a_drain_makes_room),
        cmocka_unit_test(tank_may_run_dry),
        cmocka_unit_test(spray_makes_way_at_the_cap),
        cmocka_unit_test(thinned_out_liquid_is_reseeded),
        cmocka_unit_test(turned_tank_lets_water_find_its_level),
        cmocka_unit_test(wrong_sources_are_refused),
        cmocka_unit_test(solids_are_not_reseeded),
        cmocka_unit_test(wrong_poses_are_refused),
    };
    return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
