// Solids: what they leave open against analytic areas, water that rests on them, runs into them and is pushed by them.
#include "kernels/liquid/tank_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> // needs those above

#include <math.h>

static tarn_device *open_device(uint32_t threads, const char *isa)
{
    tarn_device *device = NULL;
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = threads, .isa = isa};
    return tarn_device_create(&desc, &device) == TARN_OK ? device : NULL;
}

static tarn_tank *open_tank(tarn_device *device, const tarn_tank_desc *desc)
{
    tarn_tank *tank = NULL;
    char why[256] = "";
    if (tarn_tank_create(device, desc, &tank, why, sizeof why) != TARN_OK)
        fail_msg("%s", why);
    return tank;
}

/// A tank of n cells a metre, filled to a height.
static tarn_tank_desc pool(uint16_t nx, uint16_t ny, uint16_t nz, float cell_m, float height_m)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = nx;
    desc.cells[1] = ny;
    desc.cells[2] = nz;
    desc.cell_m = cell_m;
    if (height_m > 0.0f) {
        desc.block_count = 1;
        for (int a = 0; a < 3; a++)
            desc.blocks[0].max_m[a] = (float)desc.cells[a] * cell_m;
        desc.blocks[0].max_m[1] = height_m;
    }
    return desc;
}

static tarn_solid *add_solid(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3], const float at_m[3])
{
    tarn_solid *solid = &desc->solids[desc->solid_count++];
    memset(solid, 0, sizeof *solid);
    solid->shape.kind = kind;
    memcpy(solid->shape.half_m, half_m, sizeof solid->shape.half_m);
    memcpy(solid->pose.position_m, at_m, sizeof solid->pose.position_m);
    solid->pose.rotation[3] = 1.0f;
    solid->density_kg_m3 = 500.0f;
    return solid;
}

/// Turns a solid about the z axis by the angle with this sine and cosine of its half.
static void turn_z(tarn_solid *solid, double angle)
{
    solid->pose.rotation[2] = (float)sin(0.5 * angle);
    solid->pose.rotation[3] = (float)cos(0.5 * angle);
}

typedef struct cloud {
    float *position_m, *velocity_m_s;
    uint32_t count;
} cloud;

static cloud particles_of(tarn_tank *tank)
{
    tarn_tank_report report;
    tarn_tank_report_light(tank, &report);
    const size_t n = report.particle_count;
    cloud c = {malloc((3 * n + 1) * sizeof(float)), malloc((3 * n + 1) * sizeof(float)), 0};
    assert_int_equal(tarn_tank_particles(tank, c.position_m, c.velocity_m_s, NULL, report.particle_count, &c.count),
                     TARN_OK);
    return c;
}

static void free_cloud(cloud *c)
{
    free(c->position_m);
    free(c->velocity_m_s);
}

/// The particle deepest in the description's solids as they stood at the start, in cells: negative is inside.
static double deepest_cells(tarn_tank *tank)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    double least = INFINITY;
    cloud c = particles_of(tank);
    for (uint32_t i = 0; i < c.count; i++) {
        const double at_m[3] = {(double)c.position_m[3 * i], (double)c.position_m[3 * i + 1],
                                (double)c.position_m[3 * i + 2]};
        least = fmin(least, tank_solids_distance_m(desc, ~0ull, at_m));
    }
    free_cloud(&c);
    return least / (double)desc->cell_m;
}

static void step(tarn_tank *tank, int steps)
{
    for (int i = 0; i < steps; i++)
        assert_int_equal(tarn_tank_step(tank, NULL, 0), TARN_OK);
}

static double kinetic_j_kg(tarn_tank *tank)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    return report.kinetic_j_kg;
}

static double height_m(tarn_tank *tank)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    return report.center_m[1];
}

// -------------------------------------------------------------------------------------------------------------- shares

/// Open share of the lower face of a cell, as the last substep had it; -1 where there is no such tile in use.
static double open_share(const tarn_tank *tank, int axis, int x, int y, int z)
{
    const liquid_args *args = &tank->args;
    const uint32_t slot = args->m.slot[tile_dense_of(&args->shape, 0, x >> 3, y >> 3, z >> 3)];
    return slot == TILE_NONE ? -1.0
                             : args->m.open[axis][(size_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7)] / 255.0;
}

/// Share of a square around (a, b) of edge 1 where f is positive, by sampling.
typedef double (*distance_of)(double x, double y, double z);

static double sampled_share(distance_of f, int axis, int x, int y, int z)
{
    enum { SAMPLES = 128 };
    uint32_t open = 0;
    for (int j = 0; j < SAMPLES; j++)
        for (int i = 0; i < SAMPLES; i++) {
            const double a = (i + 0.5) / SAMPLES, b = (j + 0.5) / SAMPLES;
            open += f(x + (axis == 0 ? 0.0 : a),
                      y + (axis == 0   ? a
                           : axis == 1 ? 0.0
                                       : b),
                      z + (axis == 2 ? 0.0 : b)) > 0.0;
        }
    return (double)open / (SAMPLES * SAMPLES);
}

/// Compares the faces of the tank's inside with sampled areas; leaves out faces along `axis` that lie farther than
/// `reach` cells from `middle` on it: they may be touched inside their edges, which corners can't tell.
typedef struct compared {
    double middle[3], reach;
} compared;

static void compare_shares(const tarn_tank_desc *desc, distance_of f, compared of, double worst_allowed,
                           double mean_allowed)
{
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, desc);
    step(tank, 1);
    double worst = 0.0, sum = 0.0;
    uint32_t cut = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int z = axis == 2; z < desc->cells[2]; z++)
            for (int y = axis == 1; y < desc->cells[1]; y++)
                for (int x = axis == 0; x < desc->cells[0]; x++) {
                    const double found = open_share(tank, axis, x, y, z), wanted = sampled_share(f, axis, x, y, z);
                    const int at[3] = {x, y, z};
                    if (found < 0.0 || fabs(at[axis] - of.middle[axis]) > of.reach)
                        continue;
                    worst = fmax(worst, fabs(found - wanted));
                    if (wanted > 0.0 && wanted < 1.0) {
                        sum += found - wanted;
                        cut++;
                    }
                }
    print_message("%u cut faces: worst share off by %.4f, mean by %.4f\n", cut, worst, sum / cut);
    assert_true(cut > 200);
    assert_true(worst < worst_allowed);
    assert_true(fabs(sum / cut) < mean_allowed);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

#define SLOPE_ANGLE 0.35

static double slope_distance(double x, double y, double z)
{
    (void)z; // of the upper side of a box that is turned about (12, 6): far larger than the tank
    return (y - 6.0) * cos(SLOPE_ANGLE) - (x - 12.0) * sin(SLOPE_ANGLE);
}

static double ball_distance(double x, double y, double z)
{
    return sqrt((x - 12.2) * (x - 12.2) + (y - 11.7) * (y - 11.7) + (z - 12.4) * (z - 12.4)) - 6.3;
}

static void add_slope(tarn_tank_desc *desc)
{
    const float h = 40.0f * desc->cell_m, c = desc->cell_m;
    const float at[3] = {(12.0f + 40.0f * (float)sin(SLOPE_ANGLE)) * c, (6.0f - 40.0f * (float)cos(SLOPE_ANGLE)) * c,
                         12.0f * c};
    turn_z(add_solid(desc, TARN_SHAPE_BOX, (const float[3]){h, h, h}, at), SLOPE_ANGLE);
}

static void shares_of_a_slope_are_its_areas(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(24, 24, 24, 0.03f, 24 * 0.03f);
    add_slope(&desc);
    compare_shares(&desc, slope_distance, (compared){{0}, 100.0}, 0.01, 0.001);
}

static void shares_of_a_ball_are_its_areas(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(24, 24, 24, 0.03f, 24 * 0.03f);
    add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){6.3f * 0.03f, 0, 0},
              (const float[3]){12.2f * 0.03f, 11.7f * 0.03f, 12.4f * 0.03f});
    compare_shares(&desc, ball_distance, (compared){{12.2, 11.7, 12.4}, 5.3}, 0.05, 0.015);
}

static void mirrored_solids_have_mirrored_shares(void **state)
{
    (void)state;
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank[2];
    for (int side = 0; side < 2; side++) {
        tarn_tank_desc desc = pool(32, 16, 16, 0.03125f, 0.5f);
        desc.jitter = 0.0f;
        add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.14f, 0, 0},
                  (const float[3]){side == 0 ? 0.25f : 0.75f, 0.22f, 0.2f});
        tarn_solid *box = add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){0.2f, 0.08f, 0.1f},
                                    (const float[3]){side == 0 ? 0.6875f : 0.3125f, 0.1f, 0.3f});
        turn_z(box, side == 0 ? 0.3 : -0.3);
        tank[side] = open_tank(device, &desc);
        step(tank[side], 1);
    }
    uint32_t cut = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int z = 0; z < 16; z++)
            for (int y = 0; y < 16; y++)
                for (int x = axis == 0; x < 32; x++) {
                    const double a = open_share(tank[0], axis, x, y, z);
                    const double b = open_share(tank[1], axis, axis == 0 ? 32 - x : 31 - x, y, z);
                    assert_true(a == b);
                    cut += a > 0.0 && a < 1.0;
                }
    assert_true(cut > 100);
    for (int side = 0; side < 2; side++)
        tarn_tank_destroy(tank[side]);
    tarn_device_destroy(device);
}

// --------------------------------------------------------------------------------------------------------- still
// solids

/// Lets a pool rest for 3 s: no particle in the solid at any time, energy and volume as wanted.
static void rests(const tarn_tank_desc *desc, const char *name)
{
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, desc);
    const double before_m = height_m(tank);
    assert_true(deepest_cells(tank) > 0.0);
    double deepest = INFINITY, early = 0.0;
    for (int s = 0; s < 180; s++) {
        step(tank, 1);
        if (s % 10 == 0)
            deepest = fmin(deepest, deepest_cells(tank));
        if (s == 20)
            early = kinetic_j_kg(tank);
    }
    const double after_m = height_m(tank), depth_m = (double)desc->blocks[0].max_m[1];
    const double bound = 0.5 * 1e-4 * 9.81 * depth_m; // V1: (0.01 sqrt(g h))^2 / 2
    print_message("%s: kinetic %.2e then %.2e of %.2e J/kg, height %+.2f %%, deepest particle %.3f cells\n", name,
                  early, kinetic_j_kg(tank), bound, 100.0 * (after_m / before_m - 1.0), deepest);
    assert_true(deepest > 0.0);
    assert_true(kinetic_j_kg(tank) < bound);
    assert_true(fabs(after_m / before_m - 1.0) < 0.01);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void water_over_a_ball_stays_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.6f);
    add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.22f, 0, 0}, (const float[3]){0.52f, 0.24f, 0.47f});
    rests(&desc, "ball");
}

static void water_on_a_slope_stays_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(24, 24, 24, 0.03f, 0.45f);
    add_slope(&desc);
    rests(&desc, "slope");
}

static void water_in_a_bowl_stays_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.5f);
    add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.45f, 0, 0}, (const float[3]){0.5f, 0.5f, 0.5f});
    desc.solids[0].shape.inverted = 1;
    rests(&desc, "bowl");
}

/// A block at 12 m/s against a wall of 1.5 cells: nothing gets through.
static void a_jet_does_not_tunnel(void **state)
{
    (void)state;
    const float cell_m = 0.02f;
    tarn_tank_desc desc = pool(48, 24, 24, cell_m, 0.0f);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){{0.1f, 0.1f, 0.1f}, {0.4f, 0.4f, 0.4f}, {12.0f, 1.0f, -2.0f}, 0, {0}};
    const float x_m = 0.61f, half_m = 0.75f * cell_m;
    add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){half_m, 1.0f, 1.0f}, (const float[3]){x_m, 0.24f, 0.24f});
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    double deepest = INFINITY;
    float farthest_m = 0.0f;
    for (int s = 0; s < 60; s++) {
        step(tank, 1);
        deepest = fmin(deepest, deepest_cells(tank));
        cloud c = particles_of(tank);
        for (uint32_t i = 0; i < c.count; i++)
            farthest_m = fmaxf(farthest_m, c.position_m[3 * i]);
        free_cloud(&c);
    }
    print_message("jet: deepest %.3f cells, farthest %.3f m of %.3f m\n", deepest, (double)farthest_m,
                  (double)(x_m - half_m));
    assert_true(farthest_m < x_m - half_m && farthest_m > x_m - 3.0f * cell_m);
    assert_true(deepest > 0.0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_slope_are_its_areas),
        cmocka_unit_test(shares_of_a_ball_are_its_areas),
        cmocka_unit_test(mirrored_solids_have_mirrored_shares),
        cmocka_unit_test(water_over_a_ball_stays_still),
        cmocka_unit_test(water_on_a_slope_stays_still),
        cmocka_unit_test(water_in_a_bowl_stays_still),
        cmocka_unit_test(a_jet_does_not_tunnel),
    };
    return cmocka_run_group_tests_name("solids", tests, NULL, NULL);
}
