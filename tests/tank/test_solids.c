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
    // Between corners a distance is taken to be linear: off by at most 1/4 of the curvature 1/r in cells at a face's
    // centre, which is worth twice that in area where the surface crosses the face slantwise.
    compare_shares(&desc, ball_distance, (compared){{12.2, 11.7, 12.4}, 5.3}, 0.5 / 6.3, 0.125 / 6.3);
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

// ---------------------------------------------------------------------------------------------------------------
// bodies

static tarn_solid *add_keyed(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3], const float from_m[3],
                             const float to_m[3], float over_s)
{
    tarn_solid *solid = add_solid(desc, kind, half_m, from_m);
    solid->motion = TARN_MOTION_KEYFRAMES;
    solid->keyframe_first = desc->keyframe_count;
    solid->keyframe_count = 2;
    for (int k = 0; k < 2; k++) {
        tarn_keyframe *key = &desc->keyframes[desc->keyframe_count++];
        memset(key, 0, sizeof *key);
        key->time_s = (float)k * over_s;
        key->pose.rotation[3] = 1.0f;
        memcpy(key->pose.position_m, k == 0 ? from_m : to_m, sizeof key->pose.position_m);
    }
    return solid;
}

static tarn_solid *add_free(tarn_tank_desc *desc, tarn_shape_kind kind, const float half_m[3], const float at_m[3],
                            float density_kg_m3)
{
    tarn_solid *solid = add_solid(desc, kind, half_m, at_m);
    solid->motion = TARN_MOTION_FREE;
    solid->density_kg_m3 = density_kg_m3;
    return solid;
}

/// Mean height of the highest particle over the columns of the tank's corners.
static double surface_m(tarn_tank *tank)
{
    enum { COLUMNS = 5 };
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    float top_m[2][COLUMNS][COLUMNS] = {{{0}}};
    cloud c = particles_of(tank);
    for (uint32_t i = 0; i < c.count; i++) {
        const float *p = &c.position_m[3 * i];
        const int x = (int)(p[0] / desc->cell_m), z = (int)(p[2] / desc->cell_m);
        const int side = x >= desc->cells[0] - COLUMNS;
        const int column = side ? x - (desc->cells[0] - COLUMNS) : x;
        if (column < COLUMNS && z < COLUMNS)
            top_m[side][column][z] = fmaxf(top_m[side][column][z], p[1]);
    }
    free_cloud(&c);
    double sum = 0.0;
    for (int i = 0; i < 2 * COLUMNS * COLUMNS; i++)
        sum += (double)(&top_m[0][0][0])[i];
    return sum / (2 * COLUMNS * COLUMNS);
}

static tarn_body_state body_of(tarn_tank *tank, uint32_t b)
{
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    assert_true(tarn_tank_bodies(tank, bodies) > b);
    return bodies[b];
}

static double length(const float *v)
{
    return sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
}

static void a_piston_lifts_the_water_by_its_volume(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.4f);
    add_keyed(&desc, TARN_SHAPE_BOX, (const float[3]){0.3f, 0.2f, 0.3f}, (const float[3]){0.5f, 0.75f, 0.5f},
              (const float[3]){0.5f, 0.31f, 0.5f}, 2.0f);
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    step(tank, 10);
    const double before_m = surface_m(tank);
    step(tank, 350);
    const double rise_m = surface_m(tank) - before_m, wanted_m = 0.6 * 0.4 * 0.6;
    print_message("piston: surface up by %.4f m, its volume makes %.4f m; kinetic %.1e J/kg\n", rise_m, wanted_m,
                  kinetic_j_kg(tank));
    assert_true(fabs(body_of(tank, 0).pose.position_m[1] - 0.31) < 1e-5);
    assert_true(fabs(rise_m / wanted_m - 1.0) < 0.05);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Total energy of the water and a body, joules, for water of density 1000.
static double energy_j(tarn_tank *tank, double body_kg)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    const double water_kg = 1000.0 * pow((double)desc->cell_m, 3.0) * report.particle_count / 8.0;
    const tarn_body_state body = body_of(tank, 0);
    const double speed = length(body.velocity_m_s);
    return water_kg * (report.kinetic_j_kg + report.potential_j_kg) +
           body_kg * (0.5 * speed * speed + 9.81 * (double)body.pose.position_m[1]);
}

/// What became of a box that fell a little into a pool.
typedef struct floated {
    double height; ///< of its centre above the surface, mean of the last 2 s, in edges of the box
    double early_speed_m_s, late_speed_m_s;
    double gain_j; ///< most energy beyond that at the start
} floated;

static floated float_box(float density_kg_m3)
{
    enum { STEPS = 600, LATE = 120 };
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.5f);
    const float half_m = 0.15f;
    const double volume_m3 = pow(2.0 * (double)half_m, 3.0), body_kg = (double)density_kg_m3 * volume_m3;
    add_free(&desc, TARN_SHAPE_BOX, (const float[3]){half_m, half_m, half_m}, (const float[3]){0.5f, 0.67f, 0.5f},
             density_kg_m3);
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    const double at_start = energy_j(tank, body_kg), level_m = 0.5 + (double)density_kg_m3 / 1000.0 * volume_m3;
    floated out = {0};
    for (int s = 0; s < STEPS; s++) {
        step(tank, 1);
        const tarn_body_state body = body_of(tank, 0);
        out.gain_j = fmax(out.gain_j, energy_j(tank, body_kg) - at_start);
        if (s < LATE)
            out.early_speed_m_s = fmax(out.early_speed_m_s, length(body.velocity_m_s));
        if (s >= STEPS - LATE) {
            out.late_speed_m_s = fmax(out.late_speed_m_s, length(body.velocity_m_s));
            out.height += ((double)body.pose.position_m[1] - level_m) / (2.0 * (double)half_m) / LATE;
        }
    }
    print_message("box of %.0f kg/m3: centre %+.3f edges from the surface, speed %.3f then %.3f m/s, energy %+.3f J of "
                  "%.1f J\n",
                  (double)density_kg_m3, out.height, out.early_speed_m_s, out.late_speed_m_s, out.gain_j, at_start);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return out;
}

/// Archimedes. The energy that may come in from nowhere is a thousandth of the water's and what the box fell.
static void a_box_of_half_the_density_floats_half_under(void **state)
{
    (void)state;
    const floated box = float_box(500.0f);
    assert_true(fabs(box.height) < 0.05);
    assert_true(box.late_speed_m_s < 0.2 * box.early_speed_m_s);
    assert_true(box.gain_j < 1.5);
}

static void a_light_box_is_stable(void **state)
{
    (void)state;
    const floated box = float_box(100.0f);
    assert_true(fabs(box.height - 0.4) < 0.05);
    assert_true(box.late_speed_m_s < 0.2 * box.early_speed_m_s);
    assert_true(box.gain_j < 1.5);
}

static void a_heavy_ball_sinks_and_lies_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.5f);
    add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.12f, 0, 0}, (const float[3]){0.45f, 0.3f, 0.55f}, 3000.0f);
    add_free(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.05f, 0.1f}, (const float[3]){0.75f, 0.3f, 0.25f}, 2000.0f);
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    float lowest_m = 1.0f;
    for (int s = 0; s < 300; s++) {
        step(tank, 1);
        lowest_m = fminf(lowest_m, body_of(tank, 0).pose.position_m[1]);
    }
    const tarn_body_state ball = body_of(tank, 0), box = body_of(tank, 1);
    print_message("ball at %.4f m (radius 0.12), %.4f m/s, lowest %.4f; box at %.4f m (half height 0.05), %.4f m/s; "
                  "kinetic %.1e J/kg\n",
                  (double)ball.pose.position_m[1], length(ball.velocity_m_s), (double)lowest_m,
                  (double)box.pose.position_m[1], length(box.velocity_m_s), kinetic_j_kg(tank));
    assert_true(fabsf(ball.pose.position_m[1] - 0.12f) < 0.003f && lowest_m > 0.115f);
    assert_true(fabsf(box.pose.position_m[1] - 0.05f) < 0.003f);
    assert_true(length(ball.velocity_m_s) < 0.02 && length(box.velocity_m_s) < 0.02);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Bodies far wider than the reach of what is known about the distance to a solid that stands still.
static void wide_round_bodies_lie_on_a_plate(void **state)
{
    (void)state;
    tarn_device *device = open_device(2, NULL);
    for (int i = 0; i < 4; i++) {
        const int lying = i == 3;
        const float c = 1.0f / 32.0f, radius = (const float[4]){2.0f, 4.5f, 9.0f, 6.0f}[i];
        tarn_tank_desc desc = pool(48, 48, 48, c, 0.0f);
        desc.block_count = 1;
        desc.blocks[0] = (tarn_fluid_block){{0.0f, 0.0f, 0.0f}, {c, c, c}, {0.0f, 0.0f, 0.0f}, 0, {0}};
        add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){20 * c, 3 * c, 20 * c},
                  (const float[3]){24 * c, 7 * c, 24 * c});
        tarn_solid *body =
            add_free(&desc, lying ? TARN_SHAPE_CAPSULE : TARN_SHAPE_SPHERE, (const float[3]){radius * c, 5 * c, 0},
                     (const float[3]){23.7f * c, (12.0f + radius) * c, 24.2f * c}, 800.0f);
        if (lying)
            turn_z(body, 0.5 * 3.14159265);
        tarn_tank *tank = open_tank(device, &desc);
        step(tank, 120);
        const tarn_body_state at = body_of(tank, 0);
        const double lowest = (double)(at.pose.position_m[1] / c - radius);
        print_message("%s of radius %g cells: lies %.3f cells above the plate, %.4f m/s\n", lying ? "capsule" : "ball",
                      (double)radius, lowest - 10.0, length(at.velocity_m_s));
        assert_true(fabs(lowest - 10.0) < 0.1);
        assert_true(length(at.velocity_m_s) < 0.02);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// Turns a tank evenly about y for a step: so far ahead of it lies what it follows that it needn't brake yet.
static void turn_evenly(tarn_tank *tank, double rate_rad_s)
{
    const double braking_rad_s2 = 60.0, ahead = 0.5 * rate_rad_s * rate_rad_s / braking_rad_s2;
    const double half = 0.5 * (rate_rad_s * tank->sim_time_s + ahead);
    const tarn_pose pose = {.rotation = {0.0f, (float)sin(half), 0.0f, (float)cos(half)}};
    assert_int_equal(tarn_tank_set_pose(tank, &pose), TARN_OK);
    step(tank, 1);
    assert_true(fabs(tank->motion.spin[1] - rate_rad_s) < 0.01 * rate_rad_s);
}

/// In the frame of a tank that turns evenly, full of water that turns with it, a ball as heavy as water has no reason
/// to move: what holds the water on its circle holds the ball too. Turning against the room alone, it would roll
/// backwards.
static void a_ball_keeps_its_place_in_a_turning_tank(void **state)
{
    (void)state;
    enum { STEPS = 60 };
    const double rate = 6.0;
    tarn_tank_desc desc = pool(32, 16, 32, 1.0f / 64.0f, 0.25f);
    const float c = desc.cell_m;
    desc.dt_s = 1.0f / 120.0f;
    desc.spin_rad_s[1] = (float)rate;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){4 * c, 0, 0}, (const float[3]){24 * c, 8 * c, 16 * c}, 1000.0f);
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    for (int s = 0; s < STEPS; s++)
        turn_evenly(tank, rate);
    const tarn_body_state ball = body_of(tank, 0);
    const double x = (double)(ball.pose.position_m[0] / c) - 16.0, z = (double)(ball.pose.position_m[2] / c) - 16.0;
    print_message("turning: ball from 8 cells to %.3f, %.3f cells of the axis, %.4f m/s, spin %.3f rad/s\n", x, z,
                  length(ball.velocity_m_s), length(ball.angular_velocity_rad_s));
    assert_true(fabs(sqrt(x * x + z * z) - 8.0) < 0.25);
    assert_true(length(ball.velocity_m_s) < 0.05);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A ball in the air of a turning tank flies straight and turns evenly, seen from the room.
static void a_ball_flies_straight_past_a_turning_tank(void **state)
{
    (void)state;
    enum { STEPS = 60 };
    const double rate = 5.0, dt_s = 1.0 / 240.0;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.0f);
    const float c = desc.cell_m;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){{0, 0, 0}, {c, c, c}, {0, 0, 0}, 0, {0}};
    desc.dt_s = (float)dt_s;
    desc.spin_rad_s[1] = (float)rate;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    tarn_solid *ball = add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){2 * c, 0, 0},
                                (const float[3]){20 * c, 16 * c, 16 * c}, 800.0f);
    ball->velocity_m_s[2] = (float)(rate * 4.0) * c; // at rest in the room: -w x r
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    double farthest = 0.0;
    for (int s = 0; s < STEPS; s++) {
        turn_evenly(tank, rate);
        const double angle = rate * tank->sim_time_s;
        const tarn_body_state at = body_of(tank, 0);
        const double x = (double)(at.pose.position_m[0] / c) - 16.0, z = (double)(at.pose.position_m[2] / c) - 16.0;
        // The room's x and z: turned by the tank's angle about y.
        const double room_x = cos(angle) * x + sin(angle) * z, room_z = cos(angle) * z - sin(angle) * x;
        farthest = fmax(farthest, hypot(room_x - 4.0, room_z));
    }
    print_message("at rest in the room: ball %.3f cells away at most\n", farthest);
    assert_true(farthest < 0.2);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// What a floor gives a body counts for the time that it takes, however many substeps share it.
static void a_lying_body_is_held_in_steps_of_any_length(void **state)
{
    (void)state;
    const float c = 0.03125f;
    tarn_tank_desc desc = pool(16, 16, 16, c, 0.0f);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){{0, 0, 0}, {c, c, c}, {0, 0, 0}, 0, {0}};
    add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){3 * c, 0, 0}, (const float[3]){8 * c, 3 * c, 8 * c}, 800.0f);
    tarn_device *device = open_device(1, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    step(tank, 60);
    assert_int_equal(tank->substeps, 1);
    const double per_step = 9.81 * (double)desc.dt_s * (double)desc.dt_s / (double)c;
    assert_true(fabs((double)tank->body_state[0].contact[1] / per_step - 1.0) < 0.02);
    const tarn_push push = {
        .center_m = {0.4f, 0.4f, 0.4f}, .radius_m = 0.01f, .velocity_m_s = {5.0f}, .strength = 1.0f};
    assert_int_equal(tarn_tank_step(tank, &push, 1), TARN_OK);
    assert_true(tank->substeps > 1);
    assert_true(fabs((double)tank->body_state[0].contact[1] / per_step - 1.0) < 0.02);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void a_solve_that_failed_pushes_no_body(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(16, 16, 16, 0.03125f, 0.25f);
    add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.1f, 0, 0}, (const float[3]){0.25f, 0.2f, 0.25f}, 800.0f);
    tarn_device *device = open_device(1, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    step(tank, 1);
    liquid_bodies *bodies = tank->args.m.bodies;
    for (uint32_t failed = 0; failed < 2; failed++) {
        const float before = bodies->state[0].velocity[0];
        tank->args.m.counters->failed = failed;
        bodies->change[0][0] = failed ? NAN : 1.0f;
        tank_launch(tank, &tank->args, liquid_bodies_kick_id, NULL, 1);
        assert_true(bodies->state[0].velocity[0] == before + (failed ? 0.0f : 1.0f));
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Saves a tank as it is told to believe that it is, and loads that.
static tarn_status load_of(tarn_tank *tank)
{
    const size_t bytes_max = tarn_tank_save_bytes_max(tank);
    size_t byte_count = 0;
    uint8_t *bytes = malloc(bytes_max);
    assert_non_null(bytes);
    assert_int_equal(tarn_tank_save(tank, bytes, bytes_max, &byte_count), TARN_OK);
    const tarn_status status = tarn_tank_load(tank, bytes, byte_count);
    free(bytes);
    return status;
}

static void loaded_motion_is_checked(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(16, 16, 16, 0.03125f, 0.25f);
    for (int a = 0; a < 3; a++)
        desc.spin_rad_s[a] = TARN_TANK_TURN_MAX_RAD_S;
    tarn_solid *box = add_free(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.06f, 0.08f},
                               (const float[3]){0.25f, 0.2f, 0.25f}, 800.0f);
    turn_z(box, 0.4);
    box->velocity_m_s[0] = 1000.0f; // the most that is allowed
    tarn_device *device = open_device(1, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    assert_int_equal(load_of(tank), TARN_OK); // the first state of all
    step(tank, 5);
    assert_int_equal(load_of(tank), TARN_OK);
    liquid_body_state *body = &tank->body_state[0], good;
    memcpy(&good, body, sizeof good);
    for (int i = 0; i < 9; i++)
        body->turn[i] = 7.0f;
    assert_int_equal(load_of(tank), TARN_OK);
    assert_memory_equal(body->turn, good.turn, sizeof good.turn);
    float *const tampered[] = {&body->velocity[1], &body->spin[2], &body->rotation[3]};
    for (size_t i = 0; i < sizeof tampered / sizeof tampered[0]; i++) {
        *tampered[i] += 2000.0f;
        assert_int_equal(load_of(tank), TARN_E_MALFORMED);
        memcpy(body, &good, sizeof good);
    }
    double *const moved[] = {&tank->motion.spin[1], &tank->motion.velocity_m_s[2]};
    const double most[] = {2.0 * (double)TARN_TANK_TURN_MAX_RAD_S, 10.0};
    for (int i = 0; i < 2; i++) {
        const double before = *moved[i];
        *moved[i] = 1.01 * most[i];
        assert_int_equal(load_of(tank), TARN_E_MALFORMED);
        *moved[i] = before;
    }
    assert_int_equal(load_of(tank), TARN_OK);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Without gravity, a ball that moves inside a block of water: what it loses, the water gets.
static void momentum_goes_from_ball_to_water(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(48, 32, 32, 0.03125f, 1.0f);
    desc.blocks[0].max_m[0] = 1.2f; // air at both ends, so that no wall pushes along x
    desc.blocks[0].min_m[0] = 0.3f;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    tarn_solid *ball =
        add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.15f, 0, 0}, (const float[3]){0.65f, 0.5f, 0.5f}, 800.0f);
    ball->velocity_m_s[0] = 1.0f;
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    tarn_tank_report report;
    tarn_tank_report_light(tank, &report);
    const double water_kg = 1000.0 * pow(0.03125, 3.0) * report.particle_count / 8.0;
    const double ball_kg = 800.0 * 4.0 / 3.0 * 3.14159265 * pow(0.15, 3.0);
    double lost = 0.0, gained = 0.0;
    for (int s = 0; s < 6; s++) {
        step(tank, 1);
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        lost = ball_kg * (1.0 - (double)body_of(tank, 0).velocity_m_s[0]);
        gained = water_kg * report.momentum_m_s[0];
        print_message("momentum: ball %.3f to %.3f kg m/s, water %.3f\n", ball_kg, ball_kg - lost, gained);
    }
    assert_true(lost > 0.2 * ball_kg);
    assert_true(fabs(gained / lost - 1.0) < 0.1);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void a_hand_takes_a_body_along(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.4f);
    add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.1f, 0.1f}, (const float[3]){0.9f, 0.1f, 0.9f});
    add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.08f, 0, 0}, (const float[3]){0.3f, 0.4f, 0.3f}, 200.0f);
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    const tarn_grab grab = {0, {0, 0, 0}, {0.6f, 0.7f, 0.5f}, 0.2f};
    assert_int_equal(body_of(tank, 0).solid, 1);
    for (int s = 0; s < 60; s++) {
        assert_int_equal(tarn_tank_set_grabs(tank, &grab, 1), TARN_OK);
        step(tank, 1);
    }
    const tarn_body_state held = body_of(tank, 0);
    for (int a = 0; a < 3; a++)
        assert_true(fabsf(held.pose.position_m[a] - grab.target_m[a]) < 0.02f);
    step(tank, 60); // let go: it falls back
    assert_true(body_of(tank, 0).pose.position_m[1] < 0.55f);
    tarn_grab bad = grab;
    bad.body = 1;
    assert_int_equal(tarn_tank_set_grabs(tank, &bad, 1), TARN_E_ARGUMENT);
    bad = grab;
    bad.target_m[2] = NAN;
    assert_int_equal(tarn_tank_set_grabs(tank, &bad, 1), TARN_E_ARGUMENT);
    assert_int_equal(tarn_tank_set_grabs(tank, &grab, TARN_TANK_GRABS_MAX + 1), TARN_E_ARGUMENT);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A tank with everything in it.
static tarn_tank_desc everything(void)
{
    tarn_tank_desc desc = pool(40, 27, 32, 0.03125f, 0.4f);
    desc.blocks[0].velocity_m_s[0] = 0.5f;
    turn_z(add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){0.3f, 0.05f, 0.5f}, (const float[3]){0.9f, 0.2f, 0.5f}),
           0.4);
    add_solid(&desc, TARN_SHAPE_CYLINDER, (const float[3]){0.08f, 0.3f, 0}, (const float[3]){0.6f, 0.2f, 0.7f});
    add_keyed(&desc, TARN_SHAPE_CAPSULE, (const float[3]){0.08f, 0.1f, 0}, (const float[3]){0.2f, 0.6f, 0.2f},
              (const float[3]){0.5f, 0.2f, 0.3f}, 0.4f)
        ->keyframes_loop = 1;
    for (int i = 0; i < 3; i++)
        add_free(&desc,
                 (tarn_shape_kind)(i == 0   ? TARN_SHAPE_BOX
                                   : i == 1 ? TARN_SHAPE_SPHERE
                                            : TARN_SHAPE_CYLINDER),
                 (const float[3]){0.08f, 0.06f, 0.07f}, (const float[3]){0.2f + 0.25f * (float)i, 0.5f, 0.6f},
                 (const float[3]){300.0f, 100.0f, 1500.0f}[i]);
    return desc;
}

static tarn_tank_hash run_hash(uint32_t threads, const char *isa, float nudge_m, int *ran)
{
    tarn_tank_hash hash = {0, 0};
    tarn_device *device = open_device(threads, isa);
    *ran = device != NULL;
    if (device == NULL)
        return hash;
    tarn_tank_desc desc = everything();
    desc.solids[3].pose.position_m[1] += nudge_m;
    tarn_tank *tank = open_tank(device, &desc);
    const tarn_grab grab = {1, {0.02f, 0.01f, 0}, {0.6f, 0.4f, 0.5f}, 0.3f};
    for (int s = 0; s < 60; s++) {
        assert_int_equal(tarn_tank_set_grabs(tank, &grab, (uint32_t)(s / 20 % 2)), TARN_OK);
        step(tank, 1);
    }
    assert_int_equal(tarn_tank_hash_get(tank, &hash), TARN_OK);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return hash;
}

static void same_bits_for_every_isa_and_thread_count(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads;
        const char *isa;
    } others[] = {{2, "v2"}, {8, "v2"}, {1, "v3"}, {8, "v3"}, {2, "v4"}};
    int ran;
    const tarn_tank_hash one = run_hash(1, "v2", 0.0f, &ran);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const tarn_tank_hash other = run_hash(others[i].threads, others[i].isa, 0.0f, &ran);
        if (!ran)
            print_message("skipped: this processor has no %s\n", others[i].isa);
        else
            assert_true(other.lo == one.lo && other.hi == one.hi);
    }
}

/// A body far above the water changes nothing but itself: the hash must see it.
static void the_hash_covers_bodies_and_reset_restores_them(void **state)
{
    (void)state;
    tarn_tank_hash hash[4];
    tarn_device *device = open_device(2, NULL);
    for (int i = 0; i < 2; i++) {
        tarn_tank_desc desc = pool(16, 32, 16, 0.0625f, 0.25f);
        add_free(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.1f, 0.1f},
                 (const float[3]){0.5f, 1.7f + 0.01f * (float)i, 0.5f}, 500.0f);
        tarn_tank *tank = open_tank(device, &desc);
        step(tank, 3);
        assert_int_equal(tarn_tank_hash_get(tank, &hash[2 * i]), TARN_OK);
        assert_int_equal(tarn_tank_reset(tank), TARN_OK);
        step(tank, 3);
        assert_int_equal(tarn_tank_hash_get(tank, &hash[2 * i + 1]), TARN_OK);
        tarn_tank_destroy(tank);
    }
    assert_true(hash[0].lo == hash[1].lo && hash[2].lo == hash[3].lo && hash[0].lo != hash[2].lo);
    tarn_device_destroy(device);
}

static void expect_refusal(tarn_device *device, const tarn_tank_desc *desc, const char *part)
{
    tarn_tank *tank = NULL;
    char why[256] = "";
    const tarn_status status = tarn_tank_create(device, desc, &tank, why, sizeof why);
    assert_true(status == TARN_E_ARGUMENT || status == TARN_E_LIMIT);
    assert_null(tank);
    if (strstr(why, part) == NULL)
        fail_msg("\"%s\" does not name \"%s\"", why, part);
}

static void wrong_solids_are_refused_with_a_sentence(void **state)
{
    (void)state;
    tarn_device *device = open_device(1, NULL);
    const tarn_tank_desc good = everything();
    tarn_tank_desc bad = good;
    bad.solids[0].shape.half_m[0] = -1.0f;
    expect_refusal(device, &bad, "solids[0].shape");
    bad = good;
    bad.solids[1].pose.position_m[2] = NAN;
    expect_refusal(device, &bad, "solids[1].pose.position_m");
    bad = good;
    bad.solids[1].pose.rotation[0] = 3.0f;
    expect_refusal(device, &bad, "solids[1].pose.rotation");
    bad = good;
    bad.solids[3].density_kg_m3 = 0.5f;
    expect_refusal(device, &bad, "solids[3].density_kg_m3 is 0.5");
    bad = good;
    bad.solver = TARN_SOLVER_JACOBI;
    expect_refusal(device, &bad, "solids[3] floats");
    bad = good;
    bad.solids[3].shape.inverted = 1;
    expect_refusal(device, &bad, "solids[3].shape is inverted");
    bad = good;
    bad.cells[2] = 1;
    bad.blocks[0].max_m[2] = bad.cell_m;
    expect_refusal(device, &bad, "solids[3] floats; a tank one cell deep has no floating bodies");
    bad = good;
    bad.keyframes[1].time_s = 0.0f;
    expect_refusal(device, &bad, "keyframes[1].time_s is 0");
    bad = good;
    bad.solids[2].keyframe_count = 9;
    expect_refusal(device, &bad, "solids[2]");
    bad = good;
    bad.solid_count = TARN_TANK_SOLIDS_MAX + 1;
    expect_refusal(device, &bad, "solids");
    bad = good;
    for (int i = 0; i < 14; i++)
        add_free(&bad, TARN_SHAPE_SPHERE, (const float[3]){0.05f, 0, 0}, (const float[3]){0.5f, 0.5f, 0.5f}, 500.0f);
    expect_refusal(device, &bad, "solids that move");
    bad = good;
    bad.solids[0].shape.kind = TARN_SHAPE_FIELD;
    expect_refusal(device, &bad, "solids[0].shape");
    bad = good;
    bad.fluid_count = 1;
    expect_refusal(device, &bad, "fluids[0]");
    tarn_device_destroy(device);
}

/// Water from shapes: as many particles as volume, none of them in a solid.
static void fluid_shapes_hold_their_volume(void **state)
{
    (void)state;
    tarn_tank_desc desc = pool(32, 32, 32, 0.03125f, 0.0f);
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.3f}},
                                        .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}},
                                        .velocity_m_s = {0.0f, -1.0f, 0.0f}};
    add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.2f, 0, 0}, (const float[3]){0.5f, 0.5f, 0.5f});
    tarn_device *device = open_device(2, NULL);
    tarn_tank *tank = open_tank(device, &desc);
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const double inner_m = 0.2 + 0.03125 / 32.0; // particles keep off
    const double wanted = 4.0 / 3.0 * 3.14159265 * (0.027 - pow(inner_m, 3.0)) * 8.0 * pow(32.0, 3.0);
    print_message("shapes: %u particles, their volume makes %.0f\n", report.particle_count, wanted);
    assert_true(fabs(report.particle_count / wanted - 1.0) < 0.02);
    assert_true(fabs(report.momentum_m_s[1] + 1.0) < 1e-4);
    assert_true(deepest_cells(tank) > 0.0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_slope_are_its_areas),
        cmocka_unit_test(shares_of_a_ball_are_its_areas),
        cmocka_unit_test(mirrored_solids_have_mirrored_shares),
        cmocka_unit_test(water_over_a_ball_stays_still),
        cmocka_unit_test(water_on_a_slope_stays_still),
        cmocka_unit_test(water_in_a_bowl_stays_still),
        cmocka_unit_test(a_jet_does_not_tunnel),
        cmocka_unit_test(fluid_shapes_hold_their_volume),
        cmocka_unit_test(a_piston_lifts_the_water_by_its_volume),
        cmocka_unit_test(a_box_of_half_the_density_floats_half_under),
        cmocka_unit_test(a_light_box_is_stable),
        cmocka_unit_test(a_heavy_ball_sinks_and_lies_still),
        cmocka_unit_test(wide_round_bodies_lie_on_a_plate),
        cmocka_unit_test(a_ball_keeps_its_place_in_a_turning_tank),
        cmocka_unit_test(a_ball_flies_straight_past_a_turning_tank),
        cmocka_unit_test(a_lying_body_is_held_in_steps_of_any_length),
        cmocka_unit_test(a_solve_that_failed_pushes_no_body),
        cmocka_unit_test(loaded_motion_is_checked),
        cmocka_unit_test(momentum_goes_from_ball_to_water),
        cmocka_unit_test(a_hand_takes_a_body_along),
        cmocka_unit_test(same_bits_for_every_isa_and_thread_count),
        cmocka_unit_test(the_hash_covers_bodies_and_reset_restores_them),
        cmocka_unit_test(wrong_solids_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("solids", tests, NULL, NULL);
}
