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
