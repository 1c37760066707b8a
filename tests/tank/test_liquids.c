// What liquids of a tank have of their own: density, viscosity, dye.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "kernels/step_input.h"
#include "tests/tank/liquid_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <string.h>

static void light_liquids_keep_their_velocity(void **state)
{
    (void)state;
    const uint16_t cells[3] = {16, 16, 16};
    for (int n = VARIANT_MIXED; n < VARIANT_COUNT; n++) {
        tarn_tank_desc desc = block_desc(&variants[n], cells, (const int[3]){0, 0, 0}, (const int[3]){16, 16, 16});
        desc.liquids[1].density_kg_m3 = 1.0f; // a ratio of 1000
        tarn_tank *tank = open_tank(&desc);
        const int end = variants[n].p2g == TARN_WEIGHTS_CUBIC ? 6 : 7; // of what no light particle reaches
        const grid_memory *grid = &tank->args->grid.m;
        const store_memory *store = &tank->args->store;
        for (uint32_t i = 0; i < tank->particle_count; i++) {
            store->attribute[i] = store->position[1][i] >> POSITION_BITS >= 8;
            for (int c = 0; c < 3; c++) {
                store->velocity[c][i] = store->attribute[i] ? 0.5f : -0.25f;
            }
        }
        liquid_launch_p2g(tank, &liquid_of(tank)->args);
        double worst = 0.0;
        for (int z = 2; z < 14; z++) {
            for (int y = 2; y < 14; y++) {
                for (int x = 2; x < 14; x++) {
                    for (int c = 0; c < 3; c++) {
                        const int at[3] = {x, y, z};
                        const double beta = field_at(tank, grid->beta[c], at), u = field_at(tank, grid->u[c], at);
                        if (y < end) {
                            assert_true(fabs(beta - 1e-3) < 1e-6);
                        }
                        assert_true(beta > 0.99e-3 && beta <= 1.0);
                        if (y > 9) {
                            assert_true(beta > 0.998);
                            worst = fmax(worst, fabs(u - 0.5));
                        } else if (y < end) {
                            worst = fmax(worst, fabs(u + 0.25));
                        } else if (y == 8 && c == 1) { // between the two the heavy one decides
                            worst = fmax(worst, fabs(u + 0.25) - 0.02);
                        }
                    }
                }
            }
        }
        print_message("%-42s %.2g cells per step off at a ratio of 1000\n", variants[n].name, worst);
        assert_true(worst < 2e-3);
        tarn_tank_destroy(tank);
    }
}

/// What liquid_beta makes of faces that no particle reaches: the mean of those around that some do.
static void beta_reaches_faces_without_particles(void **state)
{
    (void)state;
    const uint16_t cells[3] = {24, 24, 24};
    const tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){8, 8, 8}, (const int[3]){16, 16, 16});
    tarn_tank *tank = open_tank(&desc);
    liquid_launch_p2g(tank, &liquid_of(tank)->args); // all heavy
    const grid_memory *grid = &tank->args->grid.m;
    const double share = (double)liquid_of(tank)->args.scale.lightest;
    assert_true(fabs(field_at(tank, grid->beta[0], (const int[3]){12, 12, 12}) - share) < 1e-6);
    // Face 16 is the last that particles reach, and lies in the next tile, as face 7 does on the other side of the
    // block.
    assert_true(fabs(field_at(tank, grid->beta[0], (const int[3]){17, 12, 12}) - share) < 1e-6);
    assert_true(fabs(field_at(tank, grid->beta[0], (const int[3]){7, 12, 12}) - share) < 1e-6);
    assert_true(field_at(tank, grid->beta[0], (const int[3]){19, 12, 12}) == 1.0);
    tarn_tank_destroy(tank);
}

/// The neighbour that a moved particle lies in, as moved_to has it.
static uint32_t tile_of_move(const tarn_tank *tank, uint32_t i)
{
    const store_memory *store = &tank->args->store;
    uint32_t to = 0;
    for (int c = 2; c >= 0; c--) {
        to = to * 3 + 1 + (store->moved_position[c][i] >> TILE_POSITION_BITS) -
             (store->position[c][i] >> TILE_POSITION_BITS);
    }
    return to;
}

/// What drifts in a mixed box: light particles rise by as much volume as heavy ones sink.
static void mixed_liquids_part_and_move_no_volume(void **state)
{
    (void)state;
    const uint16_t cells[3] = {13, 16, 18};
    tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){0, 0, 0}, (const int[3]){13, 16, 18});
    tarn_tank *tank = open_tank(&desc);
    const store_memory *store = &tank->args->store;
    store->control->grid.gravity[1] = -0.1f;
    double way[2] = {0.0};
    uint32_t moves = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        store->attribute[i] = (uint32_t)(tile_mix_u64(i) & 1);
        store->moved_to[i] = MOVED_STAYS;
        for (int c = 0; c < 3; c++) {
            store->moved_position[c][i] = store->position[c][i];
        }
    }
    for (uint32_t o = 0; o < tank->counters.grid.occupied; o++) {
        memset(store->move_count + 27 * (size_t)o, 0, 27 * sizeof *store->move_count);
        store->move_count[27 * (size_t)o + MOVED_STAYS] = store->tile_count[tank->args->grid.m.level[0].tile[o]];
    }
    liquid_launch_p2g(tank, &liquid_of(tank)->args);
    grid_launch_occupied(&tank->grid, &liquid_of(tank)->args, LIQUID_KERNEL(drift));
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        way[store->attribute[i]] += (double)store->moved_position[1][i] - (double)store->position[1][i];
        assert_int_equal(store->moved_to[i], tile_of_move(tank, i));
    }
    for (uint32_t i = 0; i < tank->counters.grid.occupied * 27; i++) {
        moves += i % 27 == MOVED_STAYS ? 0 : store->move_count[i];
    }
    assert_true(moves > 0);
    print_message("%u particles of %u leave their tile; light ones rise by %.3g cells\n", moves, tank->particle_count,
                  2.0 * way[1] / tank->particle_count / (1 << POSITION_BITS));
    assert_true(way[0] < 0.0 && way[1] > 0.0);
    assert_true(fabs(way[0] + way[1]) < 1e-3 * way[1]);
    tarn_tank_destroy(tank);
}

/// An eigenmode of the viscosity's matrix in a full box: component c's value at a face.
static double mode_at(const tarn_tank *tank, int c, const int *at)
{
    const int waves[3] = {1, 2, 3};
    double value = 1.0;
    for (int a = 0; a < 3; a++) {
        value *= sin(3.14159265358979 * waves[a] * (at[a] + (a == c ? 0.0 : 0.5)) / tank->grid.desc.cells[a]);
    }
    return value;
}

static double mode_eigenvalue(const tarn_tank *tank, double k)
{
    const int waves[3] = {1, 2, 3};
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        sum += 2.0 - 2.0 * cos(3.14159265358979 * waves[a] / tank->grid.desc.cells[a]);
    }
    return 1.0 + k * sum;
}

static void set_mode(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    (void)context;
    *u = (float)mode_at(tank, c, at);
}

static void compare_mode(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    double *most = context; // [0] factor expected, [1] largest difference
    most[1] = fmax(most[1], fabs((double)*u - most[0] * mode_at(tank, c, at)));
}

static tarn_tank *open_viscous(double k, int mixed)
{
    const uint16_t cells[3] = {13, 16, 18};
    tarn_tank_desc desc =
        block_desc(&variants[mixed ? VARIANT_MIXED : 0], cells, (const int[3]){0, 0, 0}, (const int[3]){13, 16, 18});
    desc.jitter = 0.0f;
    for (uint32_t i = 0; i < desc.liquid_count; i++) {
        desc.liquids[i].viscosity_m2_s = (float)(k * (double)(desc.cell_m * desc.cell_m / desc.dt_s));
    }
    tarn_tank *tank = open_tank(&desc);
    liquid_fill_viscosity(tank, liquid_of(tank)->args.m.control);
    liquid_launch_p2g(tank, &liquid_of(tank)->args);
    return tank;
}

static void viscosity_damps_modes_by_their_eigenvalues(void **state)
{
    (void)state;
    const double strengths[] = {0.01, 0.3, 2.0, 10.0, 50.0};
    for (int mixed = 0; mixed < 2; mixed++) {
        for (int n = 0; n < 5; n++) {
            tarn_tank *tank = open_viscous(strengths[n], mixed);
            each_face(tank, set_mode, NULL);
            liquid_launch_viscosity(tank, &liquid_of(tank)->args);
            double most[2] = {1.0 / mode_eigenvalue(tank, strengths[n]), 0.0};
            each_face(tank, compare_mode, most);
            print_message("k = %g: %u iterations, factor %.4f, off by %.2g\n", strengths[n],
                          liquid_viscosity_iterations(tank), most[0], most[1]);
            assert_true(most[1] < 1e-2);
            tarn_tank_destroy(tank);
        }
    }
}

typedef struct motion {
    uint64_t seed;
    double energy;
} motion;

static void set_random(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    motion *random = context;
    (void)tank;
    *u = at[c] == 0 ? 0.0f : (float)random_double(&random->seed);
}

static void add_energy(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    motion *sum = context;
    const double beta = tank->args->grid.m.beta[c] != NULL ? field_at(tank, tank->args->grid.m.beta[c], at) : 1.0;
    sum->energy += (double)*u * (double)*u / beta;
}

static void viscosity_adds_no_energy(void **state)
{
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        for (double k = 1e-3; k < 1500.0; k *= 30.0) {
            tarn_tank *tank = open_viscous(k, mixed);
            for (uint32_t i = 0; i < tank->particle_count && mixed; i++) {
                tank->args->store.attribute[i] = i / 37 % 2;
            }
            liquid_launch_p2g(tank, &liquid_of(tank)->args);
            motion m = {.seed = 5};
            each_face(tank, set_random, &m);
            each_face(tank, add_energy, &m);
            for (int round = 0; round < 4; round++) {
                const double before = m.energy;
                liquid_launch_viscosity(tank, &liquid_of(tank)->args);
                m.energy = 0.0;
                each_face(tank, add_energy, &m);
                assert_true(m.energy <= before * (1.0 + 1e-5));
            }
            tarn_tank_destroy(tank);
        }
    }
}

static void liquid_as_thick_as_can_be_is_stable(void **state)
{
    (void)state;
    const uint16_t cells[3] = {24, 24, 16};
    tarn_tank_desc desc = block_desc(&variants[0], cells, (const int[3]){0, 0, 0}, (const int[3]){10, 18, 16});
    desc.parameters[TARN_PARAMETER_GRAVITY] = 9.81f;
    desc.liquids[0].viscosity_m2_s = 100.0f;
    tarn_tank *thick = open_tank(&desc);
    desc.liquids[0].viscosity_m2_s = 0.0f;
    tarn_tank *thin = open_tank(&desc);
    tarn_tank_report report;
    for (int step = 0; step < 30; step++) {
        assert_int_equal(tarn_tank_step(thick, NULL), TARN_OK);
        assert_int_equal(tarn_tank_step(thin, NULL), TARN_OK);
        tarn_tank_report_light(thick, &report);
        assert_true(report.speed_max_m_s < 0.5f);
    }
    tarn_tank_report_light(thin, &report);
    assert_true(report.speed_max_m_s > 1.0f);
    tarn_tank_destroy(thick);
    tarn_tank_destroy(thin);
}

static void launch_viscous_cells(tarn_tank *tank)
{
    grid_launch(&tank->grid, tank->args, LIQUID_KERNEL(viscous_cells), &tank->args->grid.m.counters->active,
                tank->args->grid.shape.active_max);
}

/// Liquid that has moved on leaves tiles that stay active for a while, with what they held still in their memory.
static void emptied_tiles_have_no_viscosity(void **state)
{
    (void)state;
    const uint16_t cells[3] = {48, 16, 16};
    tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){1, 4, 4}, (const int[3]){7, 12, 12});
    desc.liquids[0].viscosity_m2_s = desc.liquids[1].viscosity_m2_s = 1e-3f;
    desc.blocks[0].velocity_m_s[0] = desc.cell_m / desc.dt_s;
    tarn_tank *tank = open_tank(&desc);
    const grid_memory *grid = &tank->args->grid.m;
    const store_memory *store = &tank->args->store;
    const liquid_memory *m = &liquid_of(tank)->args.m;
    uint32_t emptied = 0;
    for (uint32_t step = 0; step < 25; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        launch_viscous_cells(tank);
        for (uint32_t slot = 0; slot < grid->counters->active; slot++) {
            const uint32_t dense = grid->active_tile[slot];
            if (grid->level[0].index[dense] != TILE_NONE) {
                continue;
            }
            emptied += store->tile_count[dense] > 0;
            for (uint32_t i = 0; i < TILE_CELLS; i++) {
                assert_true(m->viscosity[(size_t)slot * TILE_CELLS + i] < 0.0f);
            }
        }
    }
    assert_true(emptied > 0);
    tarn_tank_destroy(tank);
}

static void set_moving(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    (void)tank;
    (void)at;
    (void)context;
    *u = c == 1 ? 1.0f : 0.0f;
}

/// How strongly the film beside a wall grips the face below a cell: share over what the share leaves.
static double film_grip(tarn_tank *tank, const int *at)
{
    const double left = field_at(tank, tank->args->grid.m.u[1], at);
    return (1.0 - left) / left;
}

/// Beside a wall that takes half of its cells, between a thin and a thick liquid: both cells of a face count.
static void a_film_has_the_viscosity_of_both_cells(void **state)
{
    (void)state;
    const uint16_t cells[3] = {16, 16, 16};
    for (uint32_t upper = 0; upper < 2; upper++) {
        tarn_tank_desc desc =
            block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){0, 0, 0}, (const int[3]){16, 16, 16});
        const float c = desc.cell_m, unit = c * c / desc.dt_s;
        desc.liquids[0].viscosity_m2_s = 0.02f * unit;
        desc.liquids[1].viscosity_m2_s = 0.5f * unit;
        desc.solid_count = 1;
        desc.solids[0].shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {1.25f * c, 10 * c, 10 * c}};
        desc.solids[0].pose = (tarn_pose){.position_m = {7.25f * c, 8 * c, 8 * c}, .rotation = {0, 0, 0, 1}};
        tarn_tank *tank = open_tank(&desc);
        const grid_memory *grid = &tank->args->grid.m;
        const store_memory *store = &tank->args->store;
        for (uint32_t i = 0; i < tank->particle_count; i++) {
            store->attribute[i] = (store->position[1][i] >> POSITION_BITS >= 8) == upper;
        }
        liquid_fill_viscosity(tank, liquid_of(tank)->args.m.control);
        liquid_launch_p2g(tank, &liquid_of(tank)->args);
        each_face(tank, set_moving, NULL);
        const tarn_kernel *const kernels[] = {GRID_KERNEL(solids), GRID_KERNEL(solid_cells),
                                              LIQUID_KERNEL(viscous_cells), LIQUID_KERNEL(viscous_faces)};
        for (int k = 0; k < 4; k++) {
            grid_launch(&tank->grid, tank->args, kernels[k], &grid->counters->active,
                        tank->args->grid.shape.active_max);
        }
        const double low = film_grip(tank, (const int[3]){8, 7, 8}), high = film_grip(tank, (const int[3]){8, 9, 8});
        const double mean = 0.5 * (low + high), between = film_grip(tank, (const int[3]){8, 8, 8});
        print_message("grip %.4f below, %.4f above, %.4f between, their mean %.4f\n", low, high, between, mean);
        assert_true(fabs(high / low - (upper ? 25.0 : 0.04)) < 0.01 * high / low);
        assert_true(fabs(between / mean - 1.0) < 1e-4);
        tarn_tank_destroy(tank);
    }
}

// ------------------------------------------------------------------------------------------------------------- dye

/// Tiles of one colour are passed over: the only particle of another one, the first of a tile or its last, isn't.
static void one_coloured_particle_mixes(void **state)
{
    (void)state;
    const uint16_t cells[3] = {8, 8, 8};
    const tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){0, 0, 0}, (const int[3]){8, 8, 8});
    tarn_tank *tank = open_tank(&desc);
    const grid_memory *grid = &tank->args->grid.m;
    const store_memory *store = &tank->args->store;
    tank->particle_count = tank->particle_count / 8 * 8 - 3; // so that the last pack isn't full
    store->tile_count[0] = tank->particle_count;
    store->control->dye_share = 1.0f;
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t one = k == 0 ? 0 : tank->particle_count - 1;
        uint32_t coloured = 0;
        for (uint32_t i = 0; i < tank->particle_count; i++) {
            store->attribute[i] = i == one ? 200u << 8 : 0u;
        }
        grid_launch(&tank->grid, tank->args, TANK_KERNEL(dye), &grid->counters->occupied,
                    tank->args->grid.shape.tile_total[0]);
        for (uint32_t i = 0; i < tank->particle_count; i++) {
            coloured += store->attribute[i] != 0;
        }
        assert_true(store->attribute[one] < 200u << 8);
        assert_in_range(coloured, 2, 16);
    }
    tarn_tank_destroy(tank);
}

static void dye_mixes_and_none_is_lost(void **state)
{
    (void)state;
    const uint16_t cells[3] = {8, 8, 8};
    const tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){0, 0, 0}, (const int[3]){8, 8, 8});
    tarn_tank *tank = open_tank(&desc);
    const grid_memory *grid = &tank->args->grid.m;
    const store_memory *store = &tank->args->store;
    // In every cell: water, half of it with 200 of red, all with 100 of green; and oil, with 77 of blue.
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        store->attribute[i] = i % 4 == 3 ? 1u | 77u << 24 : (i % 2 ? 200u << 8 : 0u) | 100u << 16;
    }
    double before = 0.0, after = 0.0;
    uint32_t least = 255, most = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        before += store->attribute[i] >> 8 & 255;
    }
    store->control->dye_share = 0.05f;
    for (uint32_t step = 0; step < 1000; step++) {
        store->control->dye_step = step;
        grid_launch(&tank->grid, tank->args, TANK_KERNEL(dye), &grid->counters->occupied,
                    tank->args->grid.shape.tile_total[0]);
    }
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const uint32_t red = store->attribute[i] >> 8 & 255;
        after += red;
        if (i % 4 == 3) {
            assert_int_equal(store->attribute[i], 1u | 77u << 24);
        } else {
            assert_int_equal(store->attribute[i] >> 16, 100);
            least = red < least ? red : least;
            most = red > most ? red : most;
        }
    }
    print_message("mean %.2f -> %.2f, %u to %u\n", before / tank->particle_count, after / tank->particle_count, least,
                  most);
    assert_true(fabs(after - before) < 0.5 * tank->particle_count);
    assert_true(least > 40 && most < 95); // 66.7 in each cell but for chance
    tarn_tank_destroy(tank);
}

/// Oil over water, twice as heavy, which flows: all that a report says per kg.
static void reports_weigh_liquids_by_their_density(void **state)
{
    (void)state;
    const uint16_t cells[3] = {16, 16, 16};
    tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){0, 0, 0}, (const int[3]){16, 8, 16});
    desc.liquids[0].density_kg_m3 = 1000.0f;
    desc.liquids[1].density_kg_m3 = 500.0f;
    desc.block_count = 2;
    desc.blocks[1] = desc.blocks[0];
    desc.blocks[1].min_m[1] = desc.blocks[0].max_m[1];
    desc.blocks[1].max_m[1] = 2.0f * desc.blocks[0].max_m[1];
    desc.blocks[1].liquid = 1;
    desc.blocks[0].velocity_m_s[0] = 0.6f;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 9.81f;
    tarn_tank *tank = open_tank(&desc);
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const double depth_m = (double)desc.blocks[0].max_m[1], height_m = (1000.0 * 0.5 + 500.0 * 1.5) / 1500.0 * depth_m;
    assert_true(fabs(report.center_m[1] / height_m - 1.0) < 0.002);
    assert_true(fabs(report.potential_j_kg / (9.81 * height_m) - 1.0) < 0.002);
    assert_true(fabs(report.momentum_m_s[0] / (0.6 * 1000.0 / 1500.0) - 1.0) < 1e-4);
    assert_true(fabs(report.kinetic_j_kg / (0.5 * 0.36 * 1000.0 / 1500.0) - 1.0) < 1e-4);
    tarn_tank_destroy(tank);
}

/// What weighs a thousandth is where it is all the same.
static void reports_find_the_light_liquid_alone(void **state)
{
    (void)state;
    const uint16_t cells[3] = {16, 16, 16};
    tarn_tank_desc desc =
        block_desc(&variants[VARIANT_MIXED], cells, (const int[3]){0, 0, 0}, (const int[3]){16, 8, 16});
    desc.liquids[0].density_kg_m3 = 1000.0f;
    desc.liquids[1].density_kg_m3 = 1.0f;
    desc.blocks[0].liquid = 1;
    tarn_tank *tank = open_tank(&desc);
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    for (int a = 0; a < 3; a++) {
        assert_true(fabs(report.center_m[a] / (double)(0.5f * desc.blocks[0].max_m[a]) - 1.0) < 0.002);
    }
    tarn_tank_destroy(tank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_liquids_keep_their_velocity),
        cmocka_unit_test(beta_reaches_faces_without_particles),
        cmocka_unit_test(mixed_liquids_part_and_move_no_volume),
        cmocka_unit_test(viscosity_damps_modes_by_their_eigenvalues),
        cmocka_unit_test(viscosity_adds_no_energy),
        cmocka_unit_test(liquid_as_thick_as_can_be_is_stable),
        cmocka_unit_test(emptied_tiles_have_no_viscosity),
        cmocka_unit_test(a_film_has_the_viscosity_of_both_cells),
        cmocka_unit_test(one_coloured_particle_mixes),
        cmocka_unit_test(dye_mixes_and_none_is_lost),
        cmocka_unit_test(reports_weigh_liquids_by_their_density),
        cmocka_unit_test(reports_find_the_light_liquid_alone),
    };
    return cmocka_run_group_tests_name("liquids", tests, open_device, close_device);
}
