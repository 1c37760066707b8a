// Probes of forces: what the liquid's pressure does to walls, to solids that stand still, and to bodies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/probe.h"
#include "tests/tank/solid_tank.h"

#include <math.h>
#include <string.h>

enum { WIDE = 24, HIGH = 32, DEEP = 20, STEPS = 150, MEAN = 60 };

static const double rho_g = 1000.0 * 9.81;
static const float cell_m = 1.0f / 32.0f;

/// Prints both, and what they differ by in percent of `of`.
static void within_percent(const char *what, double value, double wanted, double of, double percent)
{
    const double off = 100.0 * fabs(value - wanted) / of;
    print_message("%s: %.4g, wanted %.4g, off by %.2f %%\n", what, value, wanted, off);
    if (!(off <= percent)) {
        fail_msg("%s: off by %g %%, allowed are %g %%", what, off, percent);
    }
}

/// Steps a tank and takes the mean of what probes say in the end.
static void mean_of(const tarn_tank_desc *desc, const tarn_probe *probe, uint32_t count, double (*mean)[6])
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, desc);
    tarn_probes *probes = NULL;
    tarn_probe_reading reading[8];
    memset(mean, 0, count * sizeof *mean);
    assert_true(count <= sizeof reading / sizeof reading[0]);
    for (uint32_t i = 0; i < count; i++) {
        char why[256] = "";
        if (tarn_probe_check(desc, &probe[i], why, sizeof why) != TARN_OK) {
            fail_msg("probe %u: %s", i, why);
        }
    }
    assert_int_equal(tarn_probes_create(tank, probe, count, &probes), TARN_OK);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    assert_float_equal(reading[0].force_n[1], 0.0f, 0.0f); // nothing was solved yet
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
        for (uint32_t i = 0; i < count && step >= STEPS - MEAN; i++) {
            for (int a = 0; a < 3; a++) {
                mean[i][a] += (double)reading[i].force_n[a] / MEAN;
                mean[i][3 + a] += (double)reading[i].torque_n_m[a] / MEAN;
            }
        }
    }
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void water_on_walls(void **state)
{
    (void)state;
    const float w = WIDE * cell_m, h = HIGH * cell_m;
    const double deep = DEEP * (double)cell_m, wide = (double)w;
    const tarn_tank_desc desc = solid_tank_pool(WIDE, HIGH, WIDE, cell_m, DEEP * cell_m);
    const tarn_probe probe[] = {
        {.kind = TARN_PROBE_WALL, .points_m = {{0, 0, 0}, {w, 0, 0}, {0, 0, w}}},        // the floor
        {.kind = TARN_PROBE_WALL, .points_m = {{0, 0, 0}, {0, h, 0}, {0, 0, w}}},        // a side
        {.kind = TARN_PROBE_WALL, .points_m = {{w, 0, 0}, {w, h, 0}, {w, 0, w}}},        // the opposite one
        {.kind = TARN_PROBE_WALL, .points_m = {{0, 0, w}, {0.3f, 0, w}, {0, 0.25f, w}}}, // a part of one
        {.kind = TARN_PROBE_WALL, .points_m = {{0, h, 0}, {w, h, 0}, {0, h, w}}},        // the ceiling
        {.kind = TARN_PROBE_WALL, .points_m = {{0.2f, 0, 0.2f}, {0.3f, 0, 0.2f}, {0.2f, 0, 0.25f}}},
    };
    double mean[6][6];
    mean_of(&desc, probe, 6, mean);
    const double floor_n = rho_g * deep * wide * wide, side_n = 0.5 * rho_g * deep * deep * wide;
    within_percent("force on the floor, N", mean[0][1], -floor_n, floor_n, 1.0);
    within_percent("force on a wall, N", mean[1][0], -side_n, side_n, 2.0);
    within_percent("force on the opposite wall, N", mean[2][0], side_n, side_n, 2.0);
    within_percent("along that wall, N", mean[2][1], 0.0, side_n, 0.01);
    const double arm = 0.5 * (double)h - deep / 3.0; // a third of the depth up is where it acts
    within_percent("its torque about the wall's middle, N m", mean[1][5], -side_n * arm, side_n * arm, 3.0);
    const double part_n = rho_g * (deep - 0.125) * 0.25 * 0.3;
    within_percent("force on a part of a wall, N", mean[3][2], part_n, part_n, 2.0);
    within_percent("force on the ceiling, N", mean[4][1], 0.0, floor_n, 0.01);
    const double patch_n = rho_g * deep * 0.1 * 0.05;
    within_percent("force on a part of the floor, N", mean[5][1], -patch_n, patch_n, 2.0);
}

/// Archimedes, of solids that can't give way: along the grid and beside it, slanted, and round.
static void solids_are_lifted(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tarn_shape_kind kind;
        float half_cells[3], at_cells[3];
        double angle, percent;
    } solids[] = {
        {"a box along the grid", TARN_SHAPE_BOX, {4, 3, 4}, {12, 9, 12}, 0.0, 1.0},
        {"a box beside it", TARN_SHAPE_BOX, {4.3f, 3.2f, 3.7f}, {12.2f, 9.4f, 11.9f}, 0.0, 2.0},
        {"a slanted box", TARN_SHAPE_BOX, {4, 3, 4}, {12, 9, 12}, 0.4, 2.0},
        {"a ball", TARN_SHAPE_SPHERE, {5, 0, 0}, {12, 9, 12}, 0.0, 2.0},
    };
    for (size_t i = 0; i < sizeof solids / sizeof solids[0]; i++) {
        for (int motion = 0; motion < 2; motion++) {
            tarn_tank_desc desc = solid_tank_pool(WIDE, HIGH, WIDE, cell_m, DEEP * cell_m);
            float half_m[3], at_m[3];
            for (int a = 0; a < 3; a++) {
                half_m[a] = solids[i].half_cells[a] * cell_m;
                at_m[a] = solids[i].at_cells[a] * cell_m;
            }
            tarn_solid *solid = motion == 0 ? solid_tank_add_solid(&desc, solids[i].kind, half_m, at_m)
                                            : solid_tank_add_keyed(&desc, solids[i].kind, half_m, at_m, at_m, 1.0f);
            if (motion == 0) {
                solid_tank_turn_z(solid, solids[i].angle);
            } else if (solids[i].angle != 0.0) {
                continue;
            }
            const double volume = solids[i].kind == TARN_SHAPE_BOX
                                      ? 8.0 * (double)half_m[0] * (double)half_m[1] * (double)half_m[2]
                                      : 4.0 / 3.0 * 3.14159265 * pow((double)half_m[0], 3.0);
            const tarn_probe probe = {.kind = TARN_PROBE_FORCE, .solid = 0};
            const double wanted = rho_g * volume;
            double mean[1][6];
            mean_of(&desc, &probe, 1, mean);
            print_message("%s that %s\n", solids[i].name, motion == 0 ? "stands still" : "follows key frames");
            within_percent("its lift, N", mean[0][1], wanted, wanted, solids[i].percent);
            within_percent("to the side, N", hypot(mean[0][0], mean[0][2]), 0.0, wanted, 1.0);
            const double arm = (double)half_m[0];
            within_percent("its torque, N m", hypot(hypot(mean[0][3], mean[0][4]), mean[0][5]), 0.0, wanted * arm, 1.0);
        }
    }
}

/// What floats is lifted by what it weighs, the second solid of which the first one stands still.
static void what_floats_is_held(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(WIDE, HIGH, WIDE, cell_m, DEEP * cell_m);
    const float post_m[3] = {cell_m, 2 * cell_m, cell_m}, half_m[3] = {5 * cell_m, 4 * cell_m, 5 * cell_m};
    (void)solid_tank_add_solid(&desc, TARN_SHAPE_BOX, post_m, (const float[3]){2 * cell_m, 2 * cell_m, 2 * cell_m});
    (void)solid_tank_add_free(&desc, TARN_SHAPE_BOX, half_m,
                              (const float[3]){13 * cell_m, (DEEP + 0.5f) * cell_m, 13 * cell_m}, 600.0f);
    const tarn_probe probe = {.kind = TARN_PROBE_FORCE, .solid = 1};
    const double weight = 600.0 * 9.81 * 8.0 * (double)half_m[0] * (double)half_m[1] * (double)half_m[2];
    double mean[1][6];
    mean_of(&desc, &probe, 1, mean);
    within_percent("lift of what floats, N", mean[0][1], weight, weight, 2.0);
    const tarn_probe none = {.kind = TARN_PROBE_FORCE, .solid = 2};
    char why[256] = "";
    assert_int_equal(tarn_probe_check(&desc, &none, why, sizeof why), TARN_E_ARGUMENT);
    assert_string_equal(why, "the solid is 2; the tank has 2, counted from 0");
    const tarn_probe inside = {.kind = TARN_PROBE_WALL, .points_m = {{0.1f, 0, 0}, {0.1f, 0.1f, 0}, {0.1f, 0, 0.1f}}};
    assert_int_equal(tarn_probe_check(&desc, &inside, why, sizeof why), TARN_E_ARGUMENT);
    assert_string_equal(why, "the rectangle lies in none of the tank's walls");
}

/// What a probe says doesn't depend on which others the tank has or had: surfaces are found once, and kept.
static void other_probes_change_nothing(void **state)
{
    (void)state;
    enum { SETS = 3, PROBES = 4 };
    static const uint32_t solids[SETS][PROBES] = {{1, 1, 0, 1}, {0, 1, 1, 0}, {0, 0, 0, 1}};
    tarn_tank_desc desc = solid_tank_pool(WIDE, HIGH, WIDE, cell_m, DEEP * cell_m);
    const float small_m[3] = {2 * cell_m, 2 * cell_m, 2 * cell_m}, large_m[3] = {4.3f * cell_m, 0, 0};
    (void)solid_tank_add_solid(&desc, TARN_SHAPE_BOX, small_m, (const float[3]){5 * cell_m, 6 * cell_m, 5 * cell_m});
    (void)solid_tank_add_solid(&desc, TARN_SHAPE_SPHERE, large_m,
                               (const float[3]){16 * cell_m, 9 * cell_m, 16 * cell_m});
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_probes *probes[SETS];
    tarn_probe_reading first[2], reading[PROBES];
    for (int set = 0; set < SETS; set++) {
        tarn_probe probe[PROBES];
        for (int i = 0; i < PROBES; i++) {
            probe[i] = (tarn_probe){.kind = TARN_PROBE_FORCE, .solid = solids[set][i]};
        }
        assert_int_equal(tarn_probes_create(tank, probe, PROBES, &probes[set]), TARN_OK);
    }
    for (int step = 0; step < 5; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    for (int set = 0; set < SETS; set++) {
        assert_int_equal(tarn_probes_read(probes[set], reading), TARN_OK);
        for (int i = 0; i < PROBES; i++) {
            tarn_probe_reading *of = &first[solids[set][i]];
            *of = set == 0 ? reading[i] : *of;
            assert_memory_equal(&reading[i], of, sizeof *of);
        }
        tarn_probes_destroy(probes[set]);
    }
    assert_true(first[0].force_n[1] > 0.0f && first[1].force_n[1] > 1.5f * first[0].force_n[1]);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(water_on_walls),
        cmocka_unit_test(solids_are_lifted),
        cmocka_unit_test(what_floats_is_held),
        cmocka_unit_test(other_probes_change_nothing),
    };
    return cmocka_run_group_tests_name("force", tests, NULL, NULL);
}
