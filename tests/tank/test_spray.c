// A lone drop: it flies as a stone would, asks for no substeps, and meets walls, solids, water and drains as water
// does.
#include "kernels/liquid_parameters.h"
#include "tests/tank/solid_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <string.h>

#define CELL_M (1.0f / 64.0f)

/// A tank of 64^3 cells without weight, and in it a cube of `cells` cells from a corner on that flies at so many cells
/// a step. A cube of half a cell is one particle.
static tarn_tank_desc flying(float cells, const float at[3], const float speed[3])
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = 64;
    desc.cell_m = CELL_M;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].min_m[a] = at[a] * CELL_M;
        desc.blocks[0].max_m[a] = (at[a] + cells) * CELL_M;
        desc.blocks[0].velocity_m_s[a] = speed[a] * CELL_M / desc.dt_s;
    }
    return desc;
}

/// Where the only particle is and how fast, cells and cells a step.
static void drop_of(tarn_tank *tank, const tarn_tank_desc *desc, float at[3], float speed[3])
{
    cloud c = solid_tank_particles_of(tank);
    assert_int_equal(c.count, 1);
    for (int a = 0; a < 3; a++) {
        at[a] = c.position_m[a] / CELL_M;
        speed[a] = c.velocity_m_s[a] * desc->dt_s / CELL_M;
    }
    solid_tank_free_cloud(&c);
}

/// Substeps that a step takes while a cube flies at so many cells a step.
static uint32_t substeps_of_flying(tarn_device *device, float cells, float speed)
{
    const tarn_tank_desc desc = flying(cells, (const float[3]){8.0f, 8.0f, 8.0f}, (const float[3]){speed, 0.0f, 0.0f});
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 2); // the first one's speed was given, not moved with
    const uint32_t substeps = plain_tank_report(tank).substeps;
    tarn_tank_destroy(tank);
    return substeps;
}

/// Water takes two substeps at the first speed. A lone drop is carried as far, and the others don't wait for it.
static void asks_for_no_substeps(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    assert_int_equal(substeps_of_flying(device, 4.0f, 3.5f), 2);
    assert_int_equal(substeps_of_flying(device, 0.5f, 3.5f), 1);
    assert_int_equal(substeps_of_flying(device, 0.5f, 6.5f), 1);
    tarn_device_destroy(device);
}

/// Thrown across the tank farther in a substep than velocities are extrapolated, a drop is where a stone would be.
static void flies_like_a_stone(void **state)
{
    (void)state;
    enum { STEPS = 8 };
    const float from[3] = {4.0f, 40.0f, 30.0f}, thrown[3] = {6.3f, 1.5f, -2.0f};
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = flying(0.5f, from, thrown);
    desc.parameters[TARN_PARAMETER_GRAVITY] = 9.81f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    float start[3], end[3], speed[3];
    drop_of(tank, &desc, start, speed);
    solid_tank_step(tank, STEPS);
    drop_of(tank, &desc, end, speed);
    const float fall = 9.81f * desc.dt_s * desc.dt_s / CELL_M; // cells a step, gained in a step
    const float way = sqrtf(6.3f * 6.3f + 1.5f * 1.5f + 2.0f * 2.0f) * STEPS;
    for (int a = 0; a < 3; a++) {
        const float wanted = start[a] + thrown[a] * STEPS - (a == 1 ? 0.5f * fall * STEPS * STEPS : 0.0f);
        assert_true(fabsf(end[a] - wanted) < 1e-3f * way);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A drop at 6.3 cells a step comes to the tank's wall, or to a plate of two cells that it would be beyond in a step:
/// it stays before either and runs along it as before.
static void stops_at_walls_and_solids(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int plate = 0; plate < 2; plate++) {
        tarn_tank_desc desc = flying(0.5f, (const float[3]){40.2f, 20.0f, 20.0f}, (const float[3]){6.3f, 0.0f, 1.25f});
        const float end = plate ? 55.0f : 64.0f;
        if (plate) {
            solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){CELL_M, 0.5f, 0.5f},
                                 (const float[3]){(end + 1.0f) * CELL_M, 0.5f, 0.5f});
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        float start[3], at[3], speed[3];
        drop_of(tank, &desc, start, speed);
        solid_tank_step(tank, 8);
        drop_of(tank, &desc, at, speed);
        assert_true(at[0] < end && at[0] > end - 1.5f);
        assert_true(fabsf(speed[0]) < 0.1f);
        assert_true(fabsf(speed[2] - 1.25f) < 0.02f);
        assert_true(fabsf(at[2] - start[2] - 8.0f * 1.25f) < 0.2f);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// What a drop brings to a ball of water that floats in the middle becomes the whole's: nothing else acts. It joins in
/// the fifth step; what the ball's surface does of itself later is more than it brought.
static void joins_water_with_its_momentum(void **state)
{
    (void)state;
    const float thrown = 5.0f;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = flying(0.5f, (const float[3]){8.0f, 31.0f, 31.0f}, (const float[3]){thrown, 0.0f, 0.0f});
    desc.block_count = 2;
    desc.blocks[1] = (tarn_fluid_block){.min_m = {28.0f * CELL_M, 28.0f * CELL_M, 28.0f * CELL_M},
                                        .max_m = {36.0f * CELL_M, 36.0f * CELL_M, 36.0f * CELL_M}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_tank_report before = plain_tank_report(tank);
    solid_tank_step(tank, 8);
    const tarn_tank_report after = plain_tank_report(tank);
    assert_int_equal(after.particle_count, before.particle_count);
    assert_true(after.speed_max_m_s < 0.2f * thrown * CELL_M / desc.dt_s); // it has joined
    assert_true(fabs(after.momentum_m_s[0] / before.momentum_m_s[0] - 1.0) < 0.02);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// However far from a plate a step begins, none ends in it.
static void never_flies_into_a_plate(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int i = 0; i < 20; i++) {
        const float plate = 53.0f + 0.1f * (float)i;
        tarn_tank_desc desc = flying(0.5f, (const float[3]){20.0f, 20.0f, 20.0f}, (const float[3]){6.93f, 0.0f, 0.0f});
        solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){CELL_M, 0.5f, 0.5f},
                             (const float[3]){(plate + 1.0f) * CELL_M, 0.5f, 0.5f});
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 8; step++) {
            float at[3], speed[3];
            solid_tank_step(tank, 1);
            drop_of(tank, &desc, at, speed);
            assert_true(at[0] < plate);
        }
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// A drain takes a drop that flies into it, and a frame shows one until then.
static void is_taken_by_a_drain(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = flying(0.5f, (const float[3]){8.0f, 31.0f, 31.0f}, (const float[3]){6.3f, 0.0f, 0.0f});
    desc.drain_count = 1;
    desc.drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {4.0f * CELL_M, 0.25f, 0.25f}},
                                  .pose = {.position_m = {36.0f * CELL_M, 0.5f, 0.5f}, .rotation = {0, 0, 0, 1}}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 3);
    assert_int_equal(plain_tank_report(tank).particle_count, 1);
    solid_tank_step(tank, 3);
    assert_int_equal(plain_tank_report(tank).particle_count, 0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_for_no_substeps),          cmocka_unit_test(flies_like_a_stone),
        cmocka_unit_test(stops_at_walls_and_solids),     cmocka_unit_test(never_flies_into_a_plate),
        cmocka_unit_test(joins_water_with_its_momentum), cmocka_unit_test(is_taken_by_a_drain),
    };
    return cmocka_run_group_tests_name("spray", tests, NULL, NULL);
}
