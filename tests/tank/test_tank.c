#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/device/device_work.h"
#include "kernels/liquid_parameters.h"
#include "kernels/tank/view.h"
#include "tests/kernels/tank_acts.h"
#include "tests/sanitized.h"
#include "tests/tank/plain_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Half of the tank full, at the x = 0 wall.
static tarn_tank_desc half_full(uint16_t nx, uint16_t ny, uint16_t nz)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = nx;
    desc.cells[1] = ny;
    desc.cells[2] = nz;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].max_m[a] = (float)desc.cells[a] * desc.cell_m;
    }
    desc.blocks[0].max_m[0] *= 0.5f;
    return desc;
}

static tarn_tank_hash run_hash(uint32_t threads, const char *isa, const tarn_tank_desc *desc, int steps)
{
    tarn_tank_hash hash = {0, 0};
    tarn_device *device = plain_tank_device(threads, isa);
    if (device == NULL) {
        return hash; // not on this processor
    }
    tarn_tank *tank = plain_tank_open(device, desc);
    const tarn_push push = {
        .center_m = {0.1f, 0.2f, 0.1f}, .radius_m = 0.15f, .velocity_m_s = {1.0f, 0.5f, -0.25f}, .strength = 0.7f};
    for (int i = 0; i < steps; i++) {
        assert_int_equal(act_step(tank, &push, (uint32_t)(i % 2)), TARN_OK);
    }
    assert_int_equal(tarn_tank_hash_get(tank, &hash), TARN_OK);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return hash;
}

static void same_bits_for_every_isa_and_thread_count(void **state)
{
    (void)state;
    const tarn_tank_desc desc = half_full(30, 17, 21);
    const int steps = TEST_IS_SANITIZED ? 8 : 40; // many threads wait long for each other on a busy machine
    const tarn_tank_hash one = run_hash(1, "v2", &desc, steps);
    const struct {
        uint32_t threads;
        const char *isa;
    } others[] = {{2, "v2"}, {8, "v2"}, {1, "v3"}, {2, "v3"}, {1, "v4"}, {3, "v4"}};
    assert_true(one.lo != 0 || one.hi != 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const tarn_tank_hash other = run_hash(others[i].threads, others[i].isa, &desc, steps);
        if (other.lo == 0 && other.hi == 0) {
            print_message("skipped: this processor has no %s\n", others[i].isa);
            continue;
        }
        assert_true(other.lo == one.lo && other.hi == one.hi);
    }
}

static void hash_tells_states_apart(void **state)
{
    (void)state;
    const tarn_tank_desc desc = half_full(16, 16, 16);
    tarn_tank_desc other = desc;
    other.seed++;
    const tarn_tank_hash a = run_hash(1, NULL, &desc, 3), b = run_hash(1, NULL, &desc, 4),
                         c = run_hash(1, NULL, &other, 3);
    assert_true(a.lo != b.lo && a.hi != b.hi);
    assert_true(a.lo != c.lo && a.hi != c.hi);
}

static void expect_refusal(tarn_device *device, const tarn_tank_desc *desc, tarn_status status, const char *part)
{
    tarn_tank *tank = (tarn_tank *)device;
    char why[256] = "";
    assert_int_equal(tarn_tank_create(device, desc, &tank, why, sizeof why), status);
    assert_null(tank);
    if (strstr(why, part) == NULL) {
        fail_msg("\"%s\" does not name \"%s\"", why, part);
    }
    assert_int_equal(tarn_tank_create(device, desc, &tank, NULL, 0), status);
}

static void wrong_descriptions_are_refused_with_a_sentence(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc good = half_full(16, 16, 16);
    tarn_tank_desc bad = good;
    bad.cells[1] = 3;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "cells[1] is 3");
    bad = good;
    bad.cells[2] = 1025;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "cells[2]");
    bad = good;
    bad.cells[0] = bad.cells[1] = bad.cells[2] = 1024;
    expect_refusal(device, &bad, TARN_E_LIMIT, "cells");
    bad = good;
    bad.cell_m = NAN;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "cell_m");
    bad = good;
    bad.dt_s = -1.0f;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "dt_s is -1");
    bad = good;
    bad.particles_per_axis = 5;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "particles_per_axis");
    bad = good;
    bad.parameters[TARN_PARAMETER_FLIP] = 1.5f;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "flip_ratio");
    bad = good;
    bad.block_count = TARN_TANK_BLOCKS_MAX + 1;
    expect_refusal(device, &bad, TARN_E_LIMIT, "blocks");
    bad = good;
    bad.blocks[0].max_m[0] = 2.0f;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "blocks[0]");
    bad = good;
    bad.blocks[0].velocity_m_s[1] = INFINITY;
    expect_refusal(device, &bad, TARN_E_ARGUMENT, "velocity_m_s[1]");
    bad = good;
    bad.particles_max = 10;
    expect_refusal(device, &bad, TARN_E_LIMIT, "particles");
    tarn_device_destroy(device);
}

/// Particles stay in the tank, none is lost, and nothing becomes infinite.
static void check_particles(tarn_tank *tank)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    assert_int_equal(report.particle_count, tarn_tank_desc_particles(desc));
    float *positions = calloc((size_t)report.particle_count * 3 + 1, sizeof *positions);
    uint32_t count;
    assert_int_equal(tarn_tank_particles(tank, positions, NULL, NULL, report.particle_count, &count), TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        for (int a = 0; a < 3; a++) {
            const float at = positions[3 * (size_t)i + (size_t)a];
            assert_true(at >= 0.0f && at <= (float)desc->cells[a] * desc->cell_m);
        }
    }
    assert_true(isfinite(report.kinetic_j_kg));
    free(positions);
}

static void odd_sizes_work(void **state)
{
    (void)state;
    const uint16_t sizes[][3] = {{4, 4, 4}, {8, 8, 8}, {9, 4, 5}, {8, 16, 4}, {7, 33, 12}, {65, 9, 9}, {100, 4, 4}};
    tarn_device *device = plain_tank_device(1, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const tarn_tank_desc desc = half_full(sizes[i][0], sizes[i][1], sizes[i][2]);
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 30; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        check_particles(tank);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// What particles bring to nodes beyond a wall counts inside, once.
static void reports_know_the_volume(void **state)
{
    (void)state;
    const uint16_t sizes[][3] = {{16, 16, 16}, {12, 12, 1}, {13, 11, 9}};
    tarn_device *device = plain_tank_device(1, NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tarn_tank_desc desc = half_full(sizes[i][0], sizes[i][1], sizes[i][2]);
        desc.jitter = 0.0f;
        desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
        tarn_tank *tank = plain_tank_open(device, &desc);
        tarn_tank_report report;
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        const double volume_m3 = report.particle_count / 8.0 * pow((double)desc.cell_m, 3.0);
        assert_true(fabs(report.volume_m3 / volume_m3 - 1.0) < 0.001);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// A pool keeps its height, however finely it is seeded: the density at rest is what the volume correction keeps.
static void pools_keep_their_height_for_every_seeding(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (uint32_t per_axis = 1; per_axis <= (TEST_IS_SANITIZED ? 2 : 4); per_axis++) {
        tarn_tank_desc desc = half_full(16, 20, 16);
        desc.particles_per_axis = per_axis;
        desc.blocks[0].max_m[0] = 16.0f * desc.cell_m;
        desc.blocks[0].max_m[1] = 10.0f * desc.cell_m;
        tarn_tank *tank = plain_tank_open(device, &desc);
        tarn_tank_report report;
        for (int step = 0; step < 60; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        assert_true(fabs(report.center_m[1] / (double)desc.cell_m - 5.0) < 0.1);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

static void full_and_empty_tanks_work(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = half_full(12, 12, 12);
    for (int full = 0; full < 2; full++) {
        desc.block_count = (uint32_t)full;
        desc.blocks[0].max_m[0] = 12.0f * desc.cell_m;
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 30; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        check_particles(tank);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

static void violent_pushes_lose_nothing(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = half_full(20, 24, 16);
    tarn_tank *tank = plain_tank_open(device, &desc);
    uint32_t random = 1;
    for (int step = 0; step < 60; step++) {
        tarn_push pushes[TARN_TANK_PUSHES_MAX];
        for (int i = 0; i < TARN_TANK_PUSHES_MAX; i++) {
            float r[8];
            for (int k = 0; k < 8; k++) {
                r[k] = (float)((random = random * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1.0f;
            }
            pushes[i] = (tarn_push){.center_m = {r[0], r[1], r[2]},
                                    .radius_m = fabsf(r[3]),
                                    .velocity_m_s = {1e6f * r[4], 1e6f * r[5], 1e6f * r[6]},
                                    .strength = 10.0f * r[7]};
        }
        assert_int_equal(act_step(tank, pushes, (uint32_t)(step % (TARN_TANK_PUSHES_MAX + 1))), TARN_OK);
    }
    check_particles(tank);
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const float cap = 4.0f * tarn_tank_parameter(tank, TARN_PARAMETER_SUBSTEPS); // cells per step: 4 in each substep
    assert_true(report.speed_max_m_s <= cap * desc.cell_m / desc.dt_s * 1.0001f);
    const tarn_push wrong = {
        .center_m = {NAN, 0.0f, 0.0f}, .radius_m = 0.1f, .velocity_m_s = {0.0f, 0.0f, 0.0f}, .strength = 1.0f};
    assert_int_equal(act_step(tank, &wrong, 1), TARN_E_ARGUMENT);
    assert_int_equal(act_step(tank, &wrong, TARN_TANK_PUSHES_MAX + 1), TARN_E_ARGUMENT);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void push_carries_water_along(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = half_full(32, 16, 16);
    desc.blocks[0].max_m[0] = 1.0f;
    desc.blocks[0].max_m[1] = 0.25f;
    for (int axis = 0; axis < 3; axis += 2) {
        tarn_tank *tank = plain_tank_open(device, &desc);
        tarn_push push = {
            .center_m = {0.5f, 0.12f, 0.25f}, .radius_m = 0.15f, .velocity_m_s = {0.0f, 0.0f, 0.0f}, .strength = 1.0f};
        push.velocity_m_s[axis] = 2.0f;
        tarn_tank_report report;
        for (int step = 0; step < 2; step++) {
            assert_int_equal(act_step(tank, &push, 1), TARN_OK);
        }
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        assert_true(report.momentum_m_s[axis] > 0.02);
        assert_true(fabs(report.momentum_m_s[2 - axis]) < 0.2 * report.momentum_m_s[axis]);
        tarn_tank_destroy(tank);
    }
    // A small sphere, in the middle of a tile.
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_push small = {
        .center_m = {0.5f, 0.12f, 0.125f}, .radius_m = 0.06f, .velocity_m_s = {2.0f, 0.0f, 0.0f}, .strength = 1.0f};
    tarn_tank_report report;
    assert_int_equal(act_step(tank, &small, 1), TARN_OK);
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    assert_true(report.momentum_m_s[0] > 0.001);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A push takes away its share of the difference in speed in a step, however many substeps the step has.
static void push_strength_does_not_depend_on_substeps(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    double energy[2];
    for (int many = 0; many < 2; many++) {
        tarn_tank_desc desc = half_full(32, 32, 32);
        desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
        desc.parameters[TARN_PARAMETER_CFL] = many ? 0.5f : 4.0f;
        tarn_tank *tank = plain_tank_open(device, &desc);
        const tarn_push push = {
            .center_m = {0.25f, 0.5f, 0.5f}, .radius_m = 0.25f, .velocity_m_s = {0.0f, 4.0f, 0.0f}, .strength = 0.3f};
        tarn_tank_report report;
        assert_int_equal(act_step(tank, &push, 1), TARN_OK);
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        assert_int_equal(report.substeps, many ? 2 : 1);
        energy[many] = report.kinetic_j_kg;
        tarn_tank_destroy(tank);
    }
    assert_true(energy[0] > 0.0);
    assert_true(fabs(energy[1] / energy[0] - 1.0) < 0.15);
    tarn_device_destroy(device);
}

static float farthest_move(const float *from, const float *to, uint32_t count)
{
    float farthest = 0.0f;
    for (uint32_t i = 0; i < 3 * count; i++) {
        farthest = fmaxf(farthest, fabsf(to[i] - from[i]));
    }
    return farthest;
}

/// What substeps follow is how far particles move, not what velocities they keep: a column that falls apart, in steps
/// of one substep.
static void the_fastest_is_what_moved_farthest(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = half_full(32, 32, 32);
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0.4f, 0.0f, 0.4f}, .max_m = {0.6f, 0.8f, 0.6f}};
    desc.parameters[TARN_PARAMETER_CFL] = 4.0f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_tank_report report;
    tarn_tank_report_light(tank, &report);
    uint32_t count = report.particle_count;
    float *at[2] = {calloc(3 * (size_t)count, sizeof(float)), calloc(3 * (size_t)count, sizeof(float))};
    assert_int_equal(tarn_tank_particles(tank, at[0], NULL, NULL, count, &count), TARN_OK);
    for (int step = 0; step < 10; step++) {
        float *from = at[step % 2], *to = at[(step + 1) % 2];
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        assert_int_equal(tarn_tank_particles(tank, to, NULL, NULL, count, &count), TARN_OK);
        tarn_tank_report_light(tank, &report);
        assert_int_equal(report.substeps, 1);
        assert_true(fabsf(farthest_move(from, to, count) - report.speed_max_m_s * desc.dt_s) < 1e-5f * desc.cell_m);
    }
    free(at[0]);
    free(at[1]);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void reset_gives_the_first_state_again(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = half_full(16, 16, 16);
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_tank_hash first, later, again;
    assert_int_equal(tarn_tank_hash_get(tank, &first), TARN_OK);
    for (int step = 0; step < 5; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    assert_int_equal(tarn_tank_hash_get(tank, &later), TARN_OK);
    assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(tank, &again), TARN_OK);
    assert_true(first.lo != later.lo);
    assert_true(first.lo == again.lo && first.hi == again.hi);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void parameters_have_ranges_and_names(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = half_full(8, 8, 8);
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int id = 0; id < TARN_PARAMETER_COUNT; id++) {
        const tarn_parameter_spec *spec = tarn_model_parameter(tarn_model_at(0), id);
        assert_int_equal(tarn_model_parameter_find(tarn_model_at(0), spec->name), id);
        assert_true(tarn_tank_parameter(tank, (tarn_parameter)id) == spec->initial);
        assert_int_equal(act_set_parameter(tank, (tarn_parameter)id, spec->max * 1.01f), TARN_E_ARGUMENT);
        assert_int_equal(act_set_parameter(tank, (tarn_parameter)id, NAN), TARN_E_ARGUMENT);
        assert_int_equal(act_set_parameter(tank, (tarn_parameter)id, spec->max), TARN_OK);
        assert_true(tarn_tank_parameter(tank, (tarn_parameter)id) == spec->max);
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        assert_int_equal(act_set_parameter(tank, (tarn_parameter)id, spec->min), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    assert_int_equal(tarn_model_parameter_find(tarn_model_at(0), "no such"), -1);
    assert_null(tarn_model_parameter(tarn_model_at(0), TARN_PARAMETER_COUNT));
    assert_int_equal(act_set_parameter(tank, TARN_PARAMETER_COUNT, 1.0f), TARN_E_ARGUMENT);
    check_particles(tank);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void more_surface_tension_than_substeps_carry_does_not_act(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = half_full(8, 8, 8);
    desc.dt_s = 0.1f;
    desc.parameters[TARN_PARAMETER_SUBSTEPS] = 1.0f;
    desc.parameters[TARN_PARAMETER_SURFACE_TENSION] = 10.0f;
    const float most = 1.25f * 1000.0f * desc.cell_m * desc.cell_m * desc.cell_m * 100.0f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    assert_float_equal(tarn_tank_parameter_used(tank, TARN_PARAMETER_SURFACE_TENSION), most, 1e-4f);
    assert_float_equal(tarn_tank_parameter(tank, TARN_PARAMETER_SURFACE_TENSION), 10.0f, 0.0f);
    assert_int_equal(act_set_parameter(tank, TARN_PARAMETER_SURFACE_TENSION, 0.04f), TARN_OK);
    assert_float_equal(tarn_tank_parameter_used(tank, TARN_PARAMETER_SURFACE_TENSION), 0.04f, 0.0f);
    assert_float_equal(tarn_tank_parameter_used(tank, TARN_PARAMETER_FLIP), desc.parameters[TARN_PARAMETER_FLIP], 0.0f);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A particle keeps its id when it changes tiles: between two steps nobody moves farther than the fastest can.
/// Marks the tile that a point is in.
static void mark_tile(const tarn_tank_desc *desc, const float *at_m, float off_cells, uint8_t *bits)
{
    uint32_t tile[3], tiles[3];
    for (int a = 0; a < 3; a++) {
        const float cell = at_m[a] / desc->cell_m + off_cells;
        tiles[a] = (desc->cells[a] + 7u) / 8u;
        tile[a] = cell <= 0.0f ? 0 : (uint32_t)cell / 8u;
        tile[a] = tile[a] < tiles[a] ? tile[a] : tiles[a] - 1;
    }
    const uint32_t index = (tile[2] * tiles[1] + tile[1]) * tiles[0] + tile[0];
    bits[index / 8] |= (uint8_t)(1u << index % 8);
}

static void tiles_are_those_with_particles(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = half_full(30, 20, 12);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t n = (uint32_t)tarn_tank_desc_particles(&desc);
    float *positions = malloc((size_t)n * 3 * sizeof *positions);
    for (int step = 0; step <= 30; step += 15) {
        uint8_t found[3], at_least[3] = {0}, at_most[3] = {0}; // 4 x 3 x 2 tiles
        uint32_t count;
        for (int i = 0; step > 0 && i < 15; i++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        assert_int_equal(tarn_tank_tiles(tank, found, 2), TARN_E_SPACE);
        assert_int_equal(tarn_tank_tiles(tank, found, 3), TARN_OK);
        assert_int_equal(tarn_tank_particles(tank, positions, NULL, NULL, n, &count), TARN_OK);
        // Positions in metres are rounded, which may move a particle across a border.
        for (uint32_t i = 0; i < count; i++) {
            uint8_t below[3] = {0}, above[3] = {0};
            mark_tile(&desc, positions + 3 * (size_t)i, -1e-4f, below);
            mark_tile(&desc, positions + 3 * (size_t)i, 1e-4f, above);
            for (int b = 0; b < 3; b++) {
                at_least[b] |= below[b] & above[b];
                at_most[b] |= below[b] | above[b];
            }
        }
        for (int b = 0; b < 3; b++) {
            assert_int_equal(found[b] & at_least[b], at_least[b]);
            assert_int_equal(found[b] | at_most[b], at_most[b]);
        }
        assert_true(at_least[0] != 0 && (at_most[0] & at_most[1] & at_most[2]) != 0xff);
    }
    free(positions);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void ids_stay_with_their_particles(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = half_full(32, 16, 16);
    desc.blocks[0].velocity_m_s[0] = 2.0f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    const uint32_t n = (uint32_t)tarn_tank_desc_particles(&desc);
    float *before = malloc((size_t)n * 3 * sizeof *before), *after = malloc((size_t)n * 3 * sizeof *after);
    uint32_t count;
    assert_int_equal(tarn_tank_particles(tank, before, NULL, NULL, n, &count), TARN_OK);
    for (int step = 0; step < 10; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        assert_int_equal(tarn_tank_particles(tank, after, NULL, NULL, n, &count), TARN_OK);
        for (size_t i = 0; i < (size_t)n * 3; i++) {
            assert_true(fabsf(after[i] - before[i]) < 4.0f * desc.cell_m);
        }
        memcpy(before, after, (size_t)n * 3 * sizeof *before);
    }
    free(before);
    free(after);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Water that fills a tank's width flies straight, without gravity, as fast as a substep allows: midpoints of particles
/// near a tile's border then lie beyond what the tile has loaded.
static void fast_water_flies_straight(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int axis = 0; axis < 3; axis++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            tarn_tank_desc desc = half_full(16, 16, 16);
            desc.cells[axis] = 48;
            desc.jitter = 0.0f;
            desc.parameters[TARN_PARAMETER_GRAVITY] = desc.parameters[TARN_PARAMETER_DENSITY] = 0.0f;
            desc.parameters[TARN_PARAMETER_CFL] = 4.0f;
            desc.parameters[TARN_PARAMETER_SUBSTEPS] = 2.0f;
            for (int a = 0; a < 3; a++) {
                desc.blocks[0].max_m[a] = (float)desc.cells[a] * desc.cell_m;
            }
            desc.blocks[0].min_m[axis] = 19.0f * desc.cell_m;
            desc.blocks[0].max_m[axis] = 29.0f * desc.cell_m;
            const float way_m = (float)sign * 7.5f * desc.cell_m;
            desc.blocks[0].velocity_m_s[axis] = way_m / desc.dt_s;
            tarn_tank *tank = plain_tank_open(device, &desc);
            const uint32_t n = (uint32_t)tarn_tank_desc_particles(&desc);
            float *before = malloc((size_t)n * 3 * sizeof *before), *after = malloc((size_t)n * 3 * sizeof *after);
            uint32_t count;
            assert_int_equal(tarn_tank_particles(tank, before, NULL, NULL, n, &count), TARN_OK);
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
            assert_int_equal(tarn_tank_particles(tank, after, NULL, NULL, n, &count), TARN_OK);
            for (size_t i = 0; i < n; i++) {
                for (int a = 0; a < 3; a++) {
                    const float moved = after[3 * i + (size_t)a] - before[3 * i + (size_t)a];
                    assert_true(fabsf(moved - (a == axis ? way_m : 0.0f)) < 0.01f * desc.cell_m);
                }
            }
            free(before);
            free(after);
            tarn_tank_destroy(tank);
        }
    }
    tarn_device_destroy(device);
}

/// A puddle in the middle of a large tank costs about what it costs in a small one: the same tiles, and memory for
/// them.
static void work_follows_the_liquid(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    uint64_t bytes[2];
    uint32_t tiles[2];
    for (int i = 0; i < 2; i++) {
        tarn_tank_desc desc;
        tarn_tank_desc_default(&desc);
        const uint16_t cells = i == 0 ? 64 : 512;
        desc.cells[0] = desc.cells[1] = desc.cells[2] = cells;
        desc.block_count = 1;
        const float from = 0.5f, to = 1.0f;
        desc.blocks[0] = (tarn_fluid_block){.min_m = {from, 0.0f, from}, .max_m = {to, 0.25f, to}};
        tarn_tank *tank = NULL;
        assert_int_equal(tarn_tank_create(device, &desc, &tank, NULL, 0), TARN_OK);
        for (int step = 0; step < 20; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        tarn_tank_report report;
        tarn_tank_report_light(tank, &report);
        bytes[i] = report.bytes;
        tiles[i] = report.active_tiles;
        tarn_tank_destroy(tank);
    }
    assert_int_equal(tiles[0], tiles[1]);
    assert_in_range(bytes[1], bytes[0], bytes[0] + ((uint64_t)24 << 20)); // tables over 64^3 tiles
    tarn_device_destroy(device);
}

/// A flat tank whose gravity pulls towards x and down, half full of thick liquid.
static tarn_tank_desc tilted_desc(double tilt)
{
    tarn_tank_desc desc = half_full(48, 48, 1);
    desc.blocks[0].max_m[0] *= 2.0f;
    desc.blocks[0].max_m[1] *= 0.5f;
    desc.liquids[0].viscosity_m2_s = 0.2f;
    desc.gravity_direction[0] = (float)sin(tilt);
    desc.gravity_direction[1] = -(float)cos(tilt);
    return desc;
}

static void surface_settles_across_gravity(void **state)
{
    (void)state;
    enum { EDGE = 48 };
    if (TEST_IS_SANITIZED) {
        skip(); // six seconds of water; the turned tank below is the same one
    }
    const tarn_tank_desc desc = tilted_desc(atan(0.25));
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int step = 0; step < 360; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    const uint32_t most = tarn_tank_particles_max(tank);
    float *position_m = malloc((size_t)most * 3 * sizeof *position_m);
    uint32_t count = 0;
    double height[EDGE] = {0.0}, sum = 0.0, squares = 0.0;
    assert_int_equal(tarn_tank_particles(tank, position_m, NULL, NULL, most, &count), TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        height[(int)(position_m[3 * (size_t)i] / desc.cell_m)] += 0.125; // cells, at eight particles each
    }
    for (int x = 0; x < EDGE; x++) {
        sum += (x - 0.5 * (EDGE - 1)) * height[x];
        squares += (x - 0.5 * (EDGE - 1)) * (x - 0.5 * (EDGE - 1));
    }
    const tarn_tank_report report = plain_tank_report(tank);
    print_message("slope %.4f of 0.25, %.2g J/kg\n", sum / squares, report.kinetic_j_kg);
    assert_true(fabs(sum / squares - 0.25) < 0.01);
    const double fallen = -9.81 * (sin(atan(0.25)) * report.center_m[0] - cos(atan(0.25)) * report.center_m[1]);
    assert_true(fabs(report.potential_j_kg - fallen) < 1e-4);
    free(position_m);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void a_turned_tank_feels_gravity_turned_back(void **state)
{
    (void)state;
    const double tilt = 0.4;
    const tarn_tank_desc desc = tilted_desc(tilt);
    tarn_device *device = plain_tank_device(1, NULL);
    for (int way = -1; way <= 1; way++) { // about z; the first turns it twice as far away, the last down
        tarn_tank *tank = plain_tank_open(device, &desc);
        const tarn_pose pose = {.rotation = {0.0f, 0.0f, (float)sin(0.5 * way * tilt), (float)cos(0.5 * way * tilt)}};
        assert_int_equal(act_set_pose(tank, &pose), TARN_OK);
        for (int step = 0; step < (TEST_IS_SANITIZED ? 12 : 120); step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        tank_moment now;
        tank_view_now(tank, &now);
        assert_true(fabs((double)now.gravity_m_s2[0] - 9.81 * sin(tilt * (1 - way))) < 1e-3);
        assert_true(fabs((double)now.gravity_m_s2[1] + 9.81 * cos(tilt * (1 - way))) < 1e-3);
        tarn_tank_destroy(tank);
    }
    tarn_tank_desc wrong = desc;
    tarn_tank *tank = NULL;
    char why[128];
    wrong.gravity_direction[2] = 0.5f;
    assert_int_equal(tarn_tank_create(device, &wrong, &tank, why, sizeof why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "gravity_direction's length is 1.118"));
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_every_isa_and_thread_count),
        cmocka_unit_test(hash_tells_states_apart),
        cmocka_unit_test(surface_settles_across_gravity),
        cmocka_unit_test(a_turned_tank_feels_gravity_turned_back),
        cmocka_unit_test(wrong_descriptions_are_refused_with_a_sentence),
        cmocka_unit_test(odd_sizes_work),
        cmocka_unit_test(reports_know_the_volume),
        cmocka_unit_test(pools_keep_their_height_for_every_seeding),
        cmocka_unit_test(full_and_empty_tanks_work),
        cmocka_unit_test(violent_pushes_lose_nothing),
        cmocka_unit_test(push_carries_water_along),
        cmocka_unit_test(push_strength_does_not_depend_on_substeps),
        cmocka_unit_test(the_fastest_is_what_moved_farthest),
        cmocka_unit_test(reset_gives_the_first_state_again),
        cmocka_unit_test(parameters_have_ranges_and_names),
        cmocka_unit_test(more_surface_tension_than_substeps_carry_does_not_act),
        cmocka_unit_test(tiles_are_those_with_particles),
        cmocka_unit_test(ids_stay_with_their_particles),
        cmocka_unit_test(fast_water_flies_straight),
        cmocka_unit_test(work_follows_the_liquid),
    };
    return cmocka_run_group_tests_name("tank", tests, NULL, NULL);
}
