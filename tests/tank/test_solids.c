// Solids: what they leave open against analytic areas, water that rests on them and runs into them.
#include "tests/kernels/tank_acts.h"
#include "tests/tank/solid_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------------------------------- shares

/// Open share of the lower face of a cell, as the last substep had it; -1 where there is no such tile in use.
static double open_share(const tarn_tank *tank, int axis, int x, int y, int z)
{
    const grid_args *args = &tank->args->grid;
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
    for (int j = 0; j < SAMPLES; j++) {
        for (int i = 0; i < SAMPLES; i++) {
            const double a = (i + 0.5) / SAMPLES, b = (j + 0.5) / SAMPLES;
            open += f(x + (axis == 0 ? 0.0 : a),
                      y + (axis == 0   ? a
                           : axis == 1 ? 0.0
                                       : b),
                      z + (axis == 2 ? 0.0 : b)) > 0.0;
        }
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
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, desc);
    solid_tank_step(tank, 1);
    double worst = 0.0, sum = 0.0;
    uint32_t cut = 0;
    for (int axis = 0; axis < 3; axis++) {
        for (int z = axis == 2; z < desc->cells[2]; z++) {
            for (int y = axis == 1; y < desc->cells[1]; y++) {
                for (int x = axis == 0; x < desc->cells[0]; x++) {
                    const double found = open_share(tank, axis, x, y, z), wanted = sampled_share(f, axis, x, y, z);
                    const int at[3] = {x, y, z};
                    if (found < 0.0 || fabs(at[axis] - of.middle[axis]) > of.reach) {
                        continue;
                    }
                    worst = fmax(worst, fabs(found - wanted));
                    if (wanted > 0.0 && wanted < 1.0) {
                        sum += found - wanted;
                        cut++;
                    }
                }
            }
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
    solid_tank_turn_z(solid_tank_add_solid(desc, TARN_SHAPE_BOX, (const float[3]){h, h, h}, at), SLOPE_ANGLE);
}

static void shares_of_a_slope_are_its_areas(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(24, 24, 24, 0.03f, 24 * 0.03f);
    add_slope(&desc);
    compare_shares(&desc, slope_distance, (compared){{0}, 100.0}, 0.01, 0.001);
}

static void shares_of_a_ball_are_its_areas(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(24, 24, 24, 0.03f, 24 * 0.03f);
    solid_tank_add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){6.3f * 0.03f, 0, 0},
                         (const float[3]){12.2f * 0.03f, 11.7f * 0.03f, 12.4f * 0.03f});
    // Between corners a distance is taken to be linear: off by at most 1/4 of the curvature 1/r in cells at a face's
    // centre, which is worth twice that in area where the surface crosses the face slantwise.
    compare_shares(&desc, ball_distance, (compared){{12.2, 11.7, 12.4}, 5.3}, 0.5 / 6.3, 0.125 / 6.3);
}

static void mirrored_solids_have_mirrored_shares(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank[2];
    for (int side = 0; side < 2; side++) {
        tarn_tank_desc desc = solid_tank_pool(32, 16, 16, 0.03125f, 0.5f);
        desc.jitter = 0.0f;
        solid_tank_add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.14f, 0, 0},
                             (const float[3]){side == 0 ? 0.25f : 0.75f, 0.22f, 0.2f});
        tarn_solid *box = solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){0.2f, 0.08f, 0.1f},
                                               (const float[3]){side == 0 ? 0.6875f : 0.3125f, 0.1f, 0.3f});
        solid_tank_turn_z(box, side == 0 ? 0.3 : -0.3);
        tank[side] = plain_tank_open(device, &desc);
        solid_tank_step(tank[side], 1);
    }
    uint32_t cut = 0;
    for (int axis = 0; axis < 3; axis++) {
        for (int z = 0; z < 16; z++) {
            for (int y = 0; y < 16; y++) {
                for (int x = axis == 0; x < 32; x++) {
                    const double a = open_share(tank[0], axis, x, y, z);
                    const double b = open_share(tank[1], axis, axis == 0 ? 32 - x : 31 - x, y, z);
                    assert_true(a == b);
                    cut += a > 0.0 && a < 1.0;
                }
            }
        }
    }
    assert_true(cut > 100);
    for (int side = 0; side < 2; side++) {
        tarn_tank_destroy(tank[side]);
    }
    tarn_device_destroy(device);
}

/// Two steps of boxes that touch each other, along the grid: 8 and 4 cells high.
static tarn_tank_desc steps_of_boxes(float cell_m)
{
    tarn_tank_desc desc = solid_tank_pool(24, 24, 16, cell_m, 12.0f * cell_m);
    solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){4 * cell_m, 4 * cell_m, 8 * cell_m},
                         (const float[3]){4 * cell_m, 4 * cell_m, 8 * cell_m});
    solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){4 * cell_m, 2 * cell_m, 8 * cell_m},
                         (const float[3]){12 * cell_m, 2 * cell_m, 8 * cell_m});
    return desc;
}

static void faces_in_a_surface_are_shut(void **state)
{
    (void)state;
    const tarn_tank_desc desc = steps_of_boxes(0.03125f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 1);
    for (int i = 0; i < 8; i++) {
        assert_true(open_share(tank, 1, i, 8, 8) == 0.0 && open_share(tank, 1, i, 9, 8) == 1.0);
        assert_true(open_share(tank, 1, 8 + i, 4, 8) == 0.0 && open_share(tank, 1, 8 + i, 5, 8) == 1.0);
        assert_true(open_share(tank, 0, 8, i, 8) == 0.0); // between the boxes too
        assert_true(open_share(tank, 0, 16, i, 8) == (i < 4 ? 0.0 : 1.0));
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// The most particles in a cell.
static uint32_t most_crowded(tarn_tank *tank)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    uint32_t *count = calloc((size_t)desc->cells[0] * desc->cells[1] * desc->cells[2], sizeof *count), most = 0;
    cloud c = solid_tank_particles_of(tank);
    for (uint32_t i = 0; i < c.count; i++) {
        const uint32_t at[3] = {(uint32_t)(c.position_m[3 * i] / desc->cell_m),
                                (uint32_t)(c.position_m[3 * i + 1] / desc->cell_m),
                                (uint32_t)(c.position_m[3 * i + 2] / desc->cell_m)};
        const uint32_t now = ++count[(at[2] * desc->cells[1] + at[1]) * desc->cells[0] + at[0]];
        most = now > most ? now : most;
    }
    solid_tank_free_cloud(&c);
    free(count);
    return most;
}

/// Water that falls down steps gathers in no corner of theirs.
static void corners_are_no_sinks(void **state)
{
    (void)state;
    tarn_tank_desc desc = steps_of_boxes(0.03125f);
    desc.blocks[0].min_m[1] = 8 * desc.cell_m;
    desc.blocks[0].max_m[0] = 8 * desc.cell_m;
    desc.blocks[0].max_m[1] = 14 * desc.cell_m;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    uint32_t most = 0;
    for (int s = 0; s < 180; s++) {
        solid_tank_step(tank, 1);
        if (s % 10 == 9) {
            most = most_crowded(tank) > most ? most_crowded(tank) : most;
        }
    }
    print_message("at most %u particles in a cell\n", most);
    assert_true(most < 32);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// --------------------------------------------------------------------------------------------------------- still
// solids

/// Lets a pool rest for 3 s: no particle in the solid at any time, energy and volume as wanted.
static void rests(const tarn_tank_desc *desc, const char *name)
{
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, desc);
    const double before_m = solid_tank_height_m(tank);
    assert_true(solid_tank_deepest_cells(tank) > 0.0);
    double deepest = INFINITY, early = 0.0;
    for (int s = 0; s < 180; s++) {
        solid_tank_step(tank, 1);
        if (s % 10 == 0) {
            deepest = fmin(deepest, solid_tank_deepest_cells(tank));
        }
        if (s == 20) {
            early = solid_tank_kinetic_j_kg(tank);
        }
    }
    const double after_m = solid_tank_height_m(tank), depth_m = (double)desc->blocks[0].max_m[1];
    const double bound = 0.5 * 1e-4 * 9.81 * depth_m; // V1: (0.01 sqrt(g h))^2 / 2
    print_message("%s: kinetic %.2e then %.2e of %.2e J/kg, height %+.2f %%, deepest particle %.3f cells\n", name,
                  early, solid_tank_kinetic_j_kg(tank), bound, 100.0 * (after_m / before_m - 1.0), deepest);
    assert_true(deepest > 0.0);
    assert_true(solid_tank_kinetic_j_kg(tank) < bound);
    assert_true(fabs(after_m / before_m - 1.0) < 0.01);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void water_over_a_ball_stays_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.6f);
    solid_tank_add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.22f, 0, 0},
                         (const float[3]){0.52f, 0.24f, 0.47f});
    rests(&desc, "ball");
}

static void water_on_a_slope_stays_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(24, 24, 24, 0.03f, 0.45f);
    add_slope(&desc);
    rests(&desc, "slope");
}

static void water_in_a_bowl_stays_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.5f);
    solid_tank_add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.45f, 0, 0}, (const float[3]){0.5f, 0.5f, 0.5f});
    desc.solids[0].shape.inverted = 1;
    rests(&desc, "bowl");
}

/// A block at 12 m/s against a wall of 1.5 cells: nothing gets through.
static void a_jet_does_not_tunnel(void **state)
{
    (void)state;
    const float cell_m = 0.02f;
    tarn_tank_desc desc = solid_tank_pool(48, 24, 24, cell_m, 0.0f);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){
        .min_m = {0.1f, 0.1f, 0.1f}, .max_m = {0.4f, 0.4f, 0.4f}, .velocity_m_s = {12.0f, 1.0f, -2.0f}};
    const float x_m = 0.61f, half_m = 0.75f * cell_m;
    solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){half_m, 1.0f, 1.0f},
                         (const float[3]){x_m, 0.24f, 0.24f});
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    double deepest = INFINITY;
    float farthest_m = 0.0f;
    for (int s = 0; s < 60; s++) {
        solid_tank_step(tank, 1);
        deepest = fmin(deepest, solid_tank_deepest_cells(tank));
        cloud c = solid_tank_particles_of(tank);
        for (uint32_t i = 0; i < c.count; i++) {
            farthest_m = fmaxf(farthest_m, c.position_m[3 * i]);
        }
        solid_tank_free_cloud(&c);
    }
    print_message("jet: deepest %.3f cells, farthest %.3f m of %.3f m\n", deepest, (double)farthest_m,
                  (double)(x_m - half_m));
    assert_true(farthest_m < x_m - half_m && farthest_m > x_m - 3.0f * cell_m);
    assert_true(deepest > 0.0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A tank with everything in it.
static tarn_tank_desc everything(void)
{
    tarn_tank_desc desc = solid_tank_pool(40, 27, 32, 0.03125f, 0.4f);
    desc.blocks[0].velocity_m_s[0] = 0.5f;
    solid_tank_turn_z(solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){0.3f, 0.05f, 0.5f},
                                           (const float[3]){0.9f, 0.2f, 0.5f}),
                      0.4);
    solid_tank_add_solid(&desc, TARN_SHAPE_CYLINDER, (const float[3]){0.08f, 0.3f, 0},
                         (const float[3]){0.6f, 0.2f, 0.7f});
    solid_tank_add_keyed(&desc, TARN_SHAPE_CAPSULE, (const float[3]){0.08f, 0.1f, 0},
                         (const float[3]){0.2f, 0.6f, 0.2f}, (const float[3]){0.5f, 0.2f, 0.3f}, 0.4f)
        ->keyframes_loop = 1;
    for (int i = 0; i < 3; i++) {
        solid_tank_add_free(&desc,
                            (tarn_shape_kind)(i == 0   ? TARN_SHAPE_BOX
                                              : i == 1 ? TARN_SHAPE_SPHERE
                                                       : TARN_SHAPE_CYLINDER),
                            (const float[3]){0.08f, 0.06f, 0.07f},
                            (const float[3]){0.2f + 0.25f * (float)i, 0.5f, 0.6f},
                            (const float[3]){300.0f, 100.0f, 1500.0f}[i]);
    }
    return desc;
}

static tarn_tank_hash run_hash(uint32_t threads, const char *isa, float nudge_m, bool *ran)
{
    tarn_tank_hash hash = {0, 0};
    tarn_device *device = plain_tank_device(threads, isa);
    *ran = device != NULL;
    if (device == NULL) {
        return hash;
    }
    tarn_tank_desc desc = everything();
    desc.solids[3].pose.position_m[1] += nudge_m;
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_grab grab = {1, {0.02f, 0.01f, 0}, {0.6f, 0.4f, 0.5f}, 0.3f};
    for (int s = 0; s < 60; s++) {
        assert_int_equal(act_set_grabs(tank, &grab, (uint32_t)(s / 20 % 2)), TARN_OK);
        assert_int_equal(act_step(tank, NULL, 0), TARN_OK);
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
    bool ran;
    const tarn_tank_hash one = run_hash(1, "v2", 0.0f, &ran);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const tarn_tank_hash other = run_hash(others[i].threads, others[i].isa, 0.0f, &ran);
        if (!ran) {
            print_message("skipped: this processor has no %s\n", others[i].isa);
        } else {
            assert_true(other.lo == one.lo && other.hi == one.hi);
        }
    }
}

/// A body far above the water changes nothing but itself: the hash must see it.
static void the_hash_covers_bodies_and_reset_restores_them(void **state)
{
    (void)state;
    tarn_tank_hash hash[4];
    tarn_device *device = plain_tank_device(1, NULL);
    for (int i = 0; i < 2; i++) {
        tarn_tank_desc desc = solid_tank_pool(16, 32, 16, 0.0625f, 0.25f);
        solid_tank_add_free(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.1f, 0.1f},
                            (const float[3]){0.5f, 1.7f + 0.01f * (float)i, 0.5f}, 500.0f);
        tarn_tank *tank = plain_tank_open(device, &desc);
        solid_tank_step(tank, 3);
        assert_int_equal(tarn_tank_hash_get(tank, &hash[2 * i]), TARN_OK);
        assert_int_equal(tarn_tank_reset(tank), TARN_OK);
        solid_tank_step(tank, 3);
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
    if (strstr(why, part) == NULL) {
        fail_msg("\"%s\" does not name \"%s\"", why, part);
    }
}

static void wrong_solids_are_refused_with_a_sentence(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
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
    for (int i = 0; i < 14; i++) {
        solid_tank_add_free(&bad, TARN_SHAPE_SPHERE, (const float[3]){0.05f, 0, 0}, (const float[3]){0.5f, 0.5f, 0.5f},
                            500.0f);
    }
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
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.0f);
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.3f}},
                                        .pose = {{0.5f, 0.5f, 0.5f}, {0, 0, 0, 1}},
                                        .velocity_m_s = {0.0f, -1.0f, 0.0f}};
    solid_tank_add_solid(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.2f, 0, 0}, (const float[3]){0.5f, 0.5f, 0.5f});
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    const double inner_m = 0.2 + 0.03125 / 32.0; // particles keep off
    const double wanted = 4.0 / 3.0 * 3.14159265 * (0.027 - pow(inner_m, 3.0)) * 8.0 * pow(32.0, 3.0);
    print_message("shapes: %u particles, their volume makes %.0f\n", report.particle_count, wanted);
    assert_true(fabs(report.particle_count / wanted - 1.0) < 0.02);
    assert_true(fabs(report.momentum_m_s[1] + 1.0) < 1e-4);
    assert_true(solid_tank_deepest_cells(tank) > 0.0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_slope_are_its_areas),
        cmocka_unit_test(shares_of_a_ball_are_its_areas),
        cmocka_unit_test(faces_in_a_surface_are_shut),
        cmocka_unit_test(corners_are_no_sinks),
        cmocka_unit_test(mirrored_solids_have_mirrored_shares),
        cmocka_unit_test(water_over_a_ball_stays_still),
        cmocka_unit_test(water_on_a_slope_stays_still),
        cmocka_unit_test(water_in_a_bowl_stays_still),
        cmocka_unit_test(a_jet_does_not_tunnel),
        cmocka_unit_test(fluid_shapes_hold_their_volume),
        cmocka_unit_test(same_bits_for_every_isa_and_thread_count),
        cmocka_unit_test(the_hash_covers_bodies_and_reset_restores_them),
        cmocka_unit_test(wrong_solids_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests_name("solids", tests, NULL, NULL);
}
