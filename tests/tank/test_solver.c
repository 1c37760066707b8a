// The Poisson solver: what it is given beside plain cells, the solvers for teaching, and what isn't finite.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"
#include "kernels/step_input.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 32, NY = 16, NZ = 8, CELLS = NX * NY * NZ, MIDDLE = NX / 2 };

static tarn_device *device;

static int open_device(void **state)
{
    (void)state;
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 2};
    return tarn_device_create(&on, &device) == TARN_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    tarn_device_destroy(device);
    return 0;
}

/// Water in two halves of different depth, at rest.
static tarn_tank_desc two_depths(float left_cells, float right_cells)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = NX;
    desc.cells[1] = NY;
    desc.cells[2] = NZ;
    desc.jitter = 0.0f;
    desc.parameters[TARN_PARAMETER_TOLERANCE] = 1e-6f;
    const float middle_m = MIDDLE * desc.cell_m, x_m = NX * desc.cell_m, z_m = NZ * desc.cell_m;
    desc.block_count = 2;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {middle_m, left_cells * desc.cell_m, z_m}};
    desc.blocks[1] =
        (tarn_fluid_block){.min_m = {middle_m, 0.0f, 0.0f}, .max_m = {x_m, right_cells * desc.cell_m, z_m}};
    return desc;
}

static tarn_tank *open_tank(const tarn_tank_desc *desc)
{
    tarn_tank *tank = NULL;
    char why[256] = "";
    if (tarn_tank_create(device, desc, &tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return tank;
}

/// Pressure as depth in cells, [z][y][x].
static void heads(tarn_tank *tank, float *head)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    assert_int_equal(tarn_tank_pressure(tank, head, CELLS), TARN_OK);
    for (int i = 0; i < CELLS; i++) {
        head[i] /= desc->parameters[TARN_PARAMETER_GRAVITY] * desc->cell_m;
    }
}

static void solvers_agree(void **state)
{
    (void)state;
    static const tarn_solver solvers[] = {TARN_SOLVER_MULTIGRID, TARN_SOLVER_GAUSS_SEIDEL, TARN_SOLVER_JACOBI};
    static float head[3][CELLS];
    uint32_t iterations[3];
    for (int i = 0; i < 3; i++) {
        tarn_tank_desc desc = two_depths(12.0f, 6.0f);
        desc.solver = solvers[i];
        desc.parameters[TARN_PARAMETER_ITERATIONS] = 2000.0f;
        desc.parameters[TARN_PARAMETER_TOLERANCE] = 1e-5f;
        desc.parameters[TARN_PARAMETER_RELAXATION] = solvers[i] == TARN_SOLVER_GAUSS_SEIDEL ? 1.7f : 1.0f;
        tarn_tank *tank = open_tank(&desc);
        tarn_tank_report report;
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        heads(tank, head[i]);
        tarn_tank_report_light(tank, &report);
        assert_true(report.residual <= 1e-5f);
        iterations[i] = report.pressure_iterations;
        tarn_tank_destroy(tank);
    }
    float largest = 0.0f;
    for (int i = 1; i < 3; i++) {
        for (int c = 0; c < CELLS; c++) {
            largest = fmaxf(largest, fabsf(head[i][c] - head[0][c]));
        }
    }
    assert_true(head[0][0] > 5.0f);
    assert_true(largest < 0.01f);
    assert_true(iterations[0] < 20 && 4 * iterations[0] < iterations[1] && 4 * iterations[1] < iterations[2]);
    tarn_tank_desc wrong = two_depths(1.0f, 1.0f);
    wrong.solver = TARN_SOLVER_COUNT;
    tarn_tank *tank;
    char why[256] = "";
    assert_int_equal(tarn_tank_create(device, &wrong, &tank, why, sizeof why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "solver is 3"));
}

/// Fields of the active tiles, as a tank with solids or several liquids has them.
static void *take_field(const tarn_tank *tank, size_t size)
{
    void *field = tarn_device_alloc(device, (size_t)tank->args->grid.shape.tile_total[0] * TILE_CELLS * size);
    assert_non_null(field);
    return field;
}

static size_t tank_cells(const tarn_tank *tank)
{
    return (size_t)tank->args->grid.shape.tile_total[0] * TILE_CELLS;
}

static tarn_tank_hash hash_after(tarn_tank *tank, int steps)
{
    tarn_tank_hash hash;
    for (int i = 0; i < steps; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    assert_int_equal(tarn_tank_hash_get(tank, &hash), TARN_OK);
    return hash;
}

/// Faces that are all open change nothing; nor does the unit in which densities are given, to the last bit where it is
/// a power of two.
static void open_faces_and_units_of_density_change_nothing(void **state)
{
    (void)state;
    const tarn_tank_desc desc = two_depths(12.0f, 6.0f);
    tarn_tank *plain = open_tank(&desc), *open = open_tank(&desc), *heavy = open_tank(&desc);
    for (int a = 0; a < 3; a++) {
        open->args->grid.m.open[a] = take_field(open, 1);
        memset(open->args->grid.m.open[a], 255, tank_cells(open));
        heavy->args->grid.m.beta[a] = take_field(heavy, sizeof(float));
        for (size_t i = 0; i < tank_cells(heavy); i++) {
            heavy->args->grid.m.beta[a][i] = 0.25f;
        }
    }
    const tarn_tank_hash wanted = hash_after(plain, 10), found = hash_after(open, 10), other = hash_after(heavy, 10);
    assert_true(found.lo == wanted.lo && found.hi == wanted.hi);
    assert_true(other.lo == wanted.lo && other.hi == wanted.hi);
    static float head[CELLS], four_heads[CELLS];
    heads(plain, head);
    heads(heavy, four_heads);
    for (int i = 0; i < CELLS; i++) {
        assert_true(four_heads[i] == 4.0f * head[i]);
    }
    for (int a = 0; a < 3; a++) {
        tarn_device_free(device, open->args->grid.m.open[a]);
        tarn_device_free(device, heavy->args->grid.m.beta[a]);
        open->args->grid.m.open[a] = NULL;
        heavy->args->grid.m.beta[a] = NULL;
    }
    tarn_tank_destroy(plain);
    tarn_tank_destroy(open);
    tarn_tank_destroy(heavy);
}

/// A wall of closed faces across the tank: each half has the pressure of its own depth, and beside the wall nothing
/// flows.
static void closed_faces_part_the_water(void **state)
{
    (void)state;
    const tarn_tank_desc desc = two_depths(12.0f, 6.0f);
    tarn_tank *tank = open_tank(&desc);
    grid_memory *grid = &tank->args->grid.m;
    for (int a = 0; a < 3; a++) {
        grid->open[a] = take_field(tank, 1);
        memset(grid->open[a], 255, tank_cells(tank));
    }
    for (int y = 0; y < NY; y++) {
        for (int z = 0; z < NZ; z++) {
            const uint32_t dense =
                tile_dense_of(&tank->args->grid.shape, 0, MIDDLE / TILE_EDGE, y / TILE_EDGE, z / TILE_EDGE);
            grid->open[0][(size_t)grid->slot[dense] * TILE_CELLS + cell_index(MIDDLE % TILE_EDGE, y % TILE_EDGE, z)] =
                0;
        }
    }
    static float head[CELLS];
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    heads(tank, head);
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            // Beside the wall the density of the higher half smears over the surface of the lower one.
            const double depth = (x < MIDDLE ? 12.0 : 6.0) - y - 0.5, found = (double)head[(3 * NY + y) * NX + x];
            if (depth > 0.0 && (x < MIDDLE - 3 || x > MIDDLE + 3)) {
                assert_true(fabs(found - depth) < 0.05);
            }
        }
    }
    assert_true(head[(3 * NY + 0) * NX + MIDDLE - 1] > 10.0f && head[(3 * NY + 0) * NX + MIDDLE] < 7.0f);
    for (int a = 0; a < 3; a++) {
        tarn_device_free(device, grid->open[a]);
        grid->open[a] = NULL;
    }
    tarn_tank_destroy(tank);
}

/// A solid's motion into closed cells has to leave through the surface: its flux is the volume that rises.
static void flux_of_solids_lifts_the_surface(void **state)
{
    (void)state;
    tarn_tank_desc desc = two_depths(8.0f, 8.0f);
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_DENSITY] = 0.0f;
    tarn_tank *tank = open_tank(&desc);
    grid_memory *grid = &tank->args->grid.m;
    grid->solid_flux = take_field(tank, sizeof(float));
    const float speed = 0.1f; // of the floor, upwards, cells per step
    for (int z = 0; z < NZ; z++) {
        for (int x = 0; x < NX; x++) {
            const uint32_t dense = tile_dense_of(&tank->args->grid.shape, 0, x / TILE_EDGE, 0, z / TILE_EDGE);
            grid->solid_flux[(size_t)grid->slot[dense] * TILE_CELLS + cell_index(x % TILE_EDGE, 0, z)] = -speed;
        }
    }
    tarn_tank_report report;
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const double per_step = (double)(desc.cell_m / desc.dt_s), rise = report.momentum_m_s[1] / per_step;
    assert_true(fabs(rise - (double)speed) < 0.1 * (double)speed);
    tarn_device_free(device, grid->solid_flux);
    grid->solid_flux = NULL;
    tarn_tank_destroy(tank);
}

/// So many plates across each axis of a tank that is full up to that share of its height.
/// @return how many closed regions there are
static uint32_t regions_between(uint32_t plates, float full_to)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    enum { CHAMBER = 10 }; // cells: no tile has one whole
    const float chamber_m = CHAMBER * desc.cell_m, edge_m = (float)(plates + 1) * chamber_m;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = (uint16_t)(CHAMBER * (plates + 1));
        desc.blocks[0].max_m[a] = a == 1 ? full_to * edge_m : edge_m;
        for (uint32_t k = 0; k < plates; k++) {
            tarn_solid *plate = &desc.solids[desc.solid_count++];
            plate->shape.kind = TARN_SHAPE_BOX;
            plate->pose.rotation[3] = 1.0f;
            for (int b = 0; b < 3; b++) {
                plate->shape.half_m[b] = b == a ? desc.cell_m : edge_m;
                plate->pose.position_m[b] = b == a ? (float)(k + 1) * chamber_m : 0.5f * edge_m;
            }
        }
    }
    tarn_tank *tank = open_tank(&desc);
    tarn_tank_report report;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    assert_int_equal(report.unconverged, 0);
    const uint32_t regions = tank->counters.grid.regions;
    tarn_tank_destroy(tank);
    return regions;
}

static void closed_regions_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(regions_between(1, 1.0f), 8);
    assert_int_equal(regions_between(2, 1.0f), 27);
    assert_int_equal(regions_between(3, 1.0f), 64); // more than have a mean each
    assert_int_equal(regions_between(2, 0.8f), 18); // the upper ones have air
}

static void what_is_not_finite_is_not_applied(void **state)
{
    (void)state;
    const tarn_tank_desc desc = two_depths(12.0f, 6.0f);
    tarn_tank *tank = open_tank(&desc);
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    assert_int_equal(tank->counters.grid.broken, 0);
    grid_memory *grid = &tank->args->grid.m;
    float *flux = take_field(tank, sizeof(float));
    const float bad[] = {NAN, INFINITY, 3e38f}; // the last is finite until it is multiplied
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tarn_tank_reset(tank), TARN_OK);
        assert_int_equal(tank->counters.grid.broken, 0);
        flux[(size_t)grid->slot[0] * TILE_CELLS + cell_index(3, 2, 3)] = bad[i];
        grid->solid_flux = flux; // a reset tank has none
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_E_UNSTABLE);
        assert_int_equal(tank->counters.grid.broken, 1);
        tarn_tank_report report;
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        assert_true(isfinite(report.kinetic_j_kg) && report.speed_max_m_s < 5.0f);
    }
    tarn_device_free(device, flux);
    grid->solid_flux = NULL;
    tarn_tank_report report;
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_E_UNSTABLE); // the next solve is sound, the state is not
    assert_int_equal(tank->counters.grid.broken, 1);
    assert_int_equal(tank->counters.grid.failed, 0);
    tarn_tank_report_light(tank, &report);
    assert_true(report.residual <= 1e-4f);
    assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    assert_int_equal(tank->counters.grid.broken, 0);
    tarn_tank_destroy(tank);
}

/// Of a slab that slides along the floor, so that tiles fall dry: not what the store says of those.
static void particles_have_the_pressure_of_their_cells(void **state)
{
    (void)state;
    static float head[CELLS];
    for (int way = -1; way <= 1; way += 2) {
        tarn_tank_desc desc = two_depths(12.0f, 12.0f);
        desc.block_count = 1;
        desc.blocks[0] = desc.blocks[way < 0];
        desc.blocks[0].velocity_m_s[0] = 4.0f * (float)way;
        tarn_tank *tank = open_tank(&desc);
        const float water = desc.liquids[0].density_kg_m3, cell_m = desc.cell_m;
        const uint32_t count = tank->particle_count,
                       pressure = tarn_model_channel_find(tarn_tank_model(tank), "pressure");
        float *at_m = malloc(count * 3 * sizeof *at_m), *pa = malloc(count * sizeof *pa);
        uint32_t pressed = 0, dry = 0, got = 0;
        for (int step = 0; step < 30; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
            assert_int_equal(tarn_tank_pressure(tank, head, CELLS), TARN_OK);
            assert_int_equal(tarn_tank_particles(tank, at_m, NULL, NULL, count, &got), TARN_OK);
            assert_int_equal(tarn_tank_channel(tank, pressure, pa, count, &got, NULL), TARN_OK);
            for (uint32_t o = 0; o < tank->counters.grid.solved; o++) {
                const grid_memory *grid = &tank->args->grid.m;
                dry += grid->level[0].index[grid->solved_tile[o]] == TILE_NONE;
            }
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t x = (uint32_t)(at_m[3 * i] / cell_m), y = (uint32_t)(at_m[3 * i + 1] / cell_m),
                               z = (uint32_t)(at_m[3 * i + 2] / cell_m);
                const float there = head[(z * NY + y) * NX + x] * water;
                assert_true(fabsf(pa[i] - there) <= 1e-3f + 1e-5f * fabsf(there));
                pressed += there > 100.0f;
            }
        }
        assert_true(dry > 0 && pressed > count);
        free(pa);
        free(at_m);
        tarn_tank_destroy(tank);
    }
}

/// Water on a liquid twice as dense, at rest: p = sum of rho g h.
static void pressure_of_two_liquids_is_hydrostatic(void **state)
{
    (void)state;
    tarn_tank_desc desc = two_depths(4.0f, 4.0f);
    const float cell_m = desc.cell_m, x_m = NX * cell_m, z_m = NZ * cell_m;
    desc.liquid_count = 2;
    desc.liquids[1] = desc.liquids[0];
    desc.liquids[1].density_kg_m3 = 2.0f * desc.liquids[0].density_kg_m3;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {x_m, 4.0f * cell_m, z_m}, .liquid = 1};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.0f, 4.0f * cell_m, 0.0f}, .max_m = {x_m, 12.0f * cell_m, z_m}};
    tarn_tank *tank = open_tank(&desc);
    const float per_cell_pa =
        desc.liquids[0].density_kg_m3 * desc.parameters[TARN_PARAMETER_GRAVITY] * cell_m; // of water
    const uint32_t count = tank->particle_count, pressure = tarn_model_channel_find(tarn_tank_model(tank), "pressure");
    float *at_m = malloc(count * 3 * sizeof *at_m), *pa = malloc(count * sizeof *pa);
    uint32_t got = 0;
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    assert_int_equal(tarn_tank_particles(tank, at_m, NULL, NULL, count, &got), TARN_OK);
    assert_int_equal(tarn_tank_channel(tank, pressure, pa, count, &got, NULL), TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        const float y = (float)(int)(at_m[3 * i + 1] / cell_m) + 0.5f; // of the cell's middle
        const float depth = y > 4.0f ? 12.0f - y : 8.0f + 2.0f * (4.0f - y);
        assert_true(fabsf(pa[i] - depth * per_cell_pa) <= 0.5f * per_cell_pa);
    }
    free(pa);
    free(at_m);
    tarn_tank_destroy(tank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_agree),
        cmocka_unit_test(open_faces_and_units_of_density_change_nothing),
        cmocka_unit_test(closed_faces_part_the_water),
        cmocka_unit_test(flux_of_solids_lifts_the_surface),
        cmocka_unit_test(closed_regions_are_told_apart),
        cmocka_unit_test(what_is_not_finite_is_not_applied),
        cmocka_unit_test(particles_have_the_pressure_of_their_cells),
        cmocka_unit_test(pressure_of_two_liquids_is_hydrostatic),
    };
    return cmocka_run_group_tests_name("solver", tests, open_device, close_device);
}
