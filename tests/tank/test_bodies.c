// Bodies: pistons, floating and lying ones, in still and turning tanks, in hands.
#include "kernels/liquid_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/tank/solid_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Mean height of the highest particle over the columns of the tank's corners.
static double surface_m(tarn_tank *tank)
{
    enum { COLUMNS = 5 };
    const tarn_tank_desc *desc = tarn_tank_desc_of(tank);
    float top_m[2][COLUMNS][COLUMNS] = {{{0}}};
    cloud c = solid_tank_particles_of(tank);
    for (uint32_t i = 0; i < c.count; i++) {
        const float *p = &c.position_m[3 * i];
        const int x = (int)(p[0] / desc->cell_m), z = (int)(p[2] / desc->cell_m);
        const int side = x >= desc->cells[0] - COLUMNS;
        const int column = side ? x - (desc->cells[0] - COLUMNS) : x;
        if (column < COLUMNS && z < COLUMNS) {
            top_m[side][column][z] = fmaxf(top_m[side][column][z], p[1]);
        }
    }
    solid_tank_free_cloud(&c);
    double sum = 0.0;
    for (int i = 0; i < 2 * COLUMNS * COLUMNS; i++) {
        sum += (double)(&top_m[0][0][0])[i];
    }
    return sum / (2 * COLUMNS * COLUMNS);
}

static void a_piston_lifts_the_water_by_its_volume(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.4f);
    solid_tank_add_keyed(&desc, TARN_SHAPE_BOX, (const float[3]){0.3f, 0.2f, 0.3f}, (const float[3]){0.5f, 0.75f, 0.5f},
                         (const float[3]){0.5f, 0.31f, 0.5f}, 2.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 10);
    const double before_m = surface_m(tank);
    solid_tank_step(tank, 350);
    const double rise_m = surface_m(tank) - before_m, wanted_m = 0.6 * 0.4 * 0.6;
    print_message("piston: surface up by %.4f m, its volume makes %.4f m; kinetic %.1e J/kg\n", rise_m, wanted_m,
                  solid_tank_kinetic_j_kg(tank));
    assert_true(fabs(solid_tank_body_of(tank, 0).pose.position_m[1] - 0.31) < 1e-5);
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
    const tarn_body_state body = solid_tank_body_of(tank, 0);
    const double speed = solid_tank_length(body.velocity_m_s);
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
    enum { STEPS = 480, LATE = 120 };
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.5f);
    const float half_m = 0.15f;
    const double volume_m3 = pow(2.0 * (double)half_m, 3.0), body_kg = (double)density_kg_m3 * volume_m3;
    solid_tank_add_free(&desc, TARN_SHAPE_BOX, (const float[3]){half_m, half_m, half_m},
                        (const float[3]){0.5f, 0.67f, 0.5f}, density_kg_m3);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const double at_start = energy_j(tank, body_kg), level_m = 0.5 + (double)density_kg_m3 / 1000.0 * volume_m3;
    floated out = {0};
    for (int s = 0; s < STEPS; s++) {
        solid_tank_step(tank, 1);
        const tarn_body_state body = solid_tank_body_of(tank, 0);
        out.gain_j = fmax(out.gain_j, energy_j(tank, body_kg) - at_start);
        if (s < LATE) {
            out.early_speed_m_s = fmax(out.early_speed_m_s, solid_tank_length(body.velocity_m_s));
        }
        if (s >= STEPS - LATE) {
            out.late_speed_m_s = fmax(out.late_speed_m_s, solid_tank_length(body.velocity_m_s));
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

/// What gravity gives a free body in the first step: half a step's worth, as velocities are those of its middle.
static double first_fall_m_s(const tarn_tank_desc *desc)
{
    return 0.5 * 9.81 * (double)desc->dt_s;
}

/// A body as heavy as water, deep in it: what is missing of its buoyancy, or too much, over its weight.
static double missing_lift(tarn_device *device, tarn_shape_kind kind, const float half_cells[3], double angle,
                           float offset_cells)
{
    const float c = 0.03125f, at_m = (16.0f + offset_cells) * c;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, c, 30.0f * c);
    tarn_solid *body =
        solid_tank_add_free(&desc, kind, (const float[3]){half_cells[0] * c, half_cells[1] * c, half_cells[2] * c},
                            (const float[3]){at_m, at_m, at_m - 0.3f * c}, 1000.0f);
    solid_tank_turn_z(body, angle);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 1);
    const double fell_m_s = (double)solid_tank_body_of(tank, 0).velocity_m_s[1];
    tarn_tank_destroy(tank);
    const double added = 0.5; // of its mass, by the water that a ball takes along; more for others
    return (1.0 + added) * fell_m_s / first_fall_m_s(&desc);
}

/// Half cells are filled by their distance, which makes a ball of r cells larger by (1/4 / r)^2: 1 % for the smallest.
static void buoyancy_is_the_weight_of_the_water(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tarn_shape_kind kind;
        float half_cells[3];
        double angle;
    } bodies[] = {
        {"ball of 2.5 cells", TARN_SHAPE_SPHERE, {2.5f, 0, 0}, 0.0},
        {"ball of 3 cells", TARN_SHAPE_SPHERE, {3.0f, 0, 0}, 0.0},
        {"ball of 5 cells", TARN_SHAPE_SPHERE, {5.0f, 0, 0}, 0.0},
        {"ball of 8 cells", TARN_SHAPE_SPHERE, {8.0f, 0, 0}, 0.0},
        {"box", TARN_SHAPE_BOX, {2.5f, 2.7f, 2.6f}, 0.0},
        {"slanted box", TARN_SHAPE_BOX, {2.5f, 3.1f, 4.2f}, 0.5},
        {"large box", TARN_SHAPE_BOX, {6.0f, 4.3f, 7.0f}, 0.0},
        {"slanted capsule", TARN_SHAPE_CAPSULE, {2.5f, 3.0f, 0}, 1.0},
        {"slanted cylinder", TARN_SHAPE_CYLINDER, {3.2f, 2.6f, 0}, 1.2},
    };
    tarn_device *device = plain_tank_device(1, NULL);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        double worst = 0.0;
        for (int k = 0; k < 4; k++) {
            const double missing =
                missing_lift(device, bodies[i].kind, bodies[i].half_cells, bodies[i].angle, 0.05f + 0.26f * (float)k);
            worst = fabs(missing) > fabs(worst) ? missing : worst;
        }
        print_message("%s: buoyancy off by %+.2f %% of the weight\n", bodies[i].name, 100.0 * worst);
        assert_true(fabs(worst) < 0.02);
    }
    tarn_device_destroy(device);
}

/// A box as heavy as water between two plates that touch it in the middle of cells: these aren't lifted with it. Cells
/// at its ends that both leave next to nothing of aren't worth more than this.
static void plates_beside_a_body_have_no_lift(void **state)
{
    (void)state;
    const float c = 0.03125f, half[3] = {2.5f * c, 2.65f * c, 2.5f * c}, plate[3] = {1.0f * c, 40.0f * c, 40.0f * c};
    tarn_device *device = plain_tank_device(1, NULL);
    double worst = 0.0;
    for (int k = 0; k < 4; k++) {
        const float height_m = (16.05f + 0.26f * (float)k) * c;
        tarn_tank_desc desc = solid_tank_pool(32, 32, 32, c, 30.0f * c);
        solid_tank_add_free(&desc, TARN_SHAPE_BOX, half, (const float[3]){16 * c, height_m, 16 * c}, 1000.0f);
        for (int side = -1; side <= 1; side += 2) {
            solid_tank_add_solid(&desc, TARN_SHAPE_BOX, plate,
                                 (const float[3]){(16.0f + 3.5f * (float)side) * c, 16 * c, 16 * c});
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        solid_tank_step(tank, 1);
        const double up = (double)solid_tank_body_of(tank, 0).velocity_m_s[1] / first_fall_m_s(&desc);
        worst = fabs(up) > fabs(worst) ? up : worst;
        print_message("box between plates: goes up by %+.2f %% of a free fall\n", 100.0 * up);
        tarn_tank_destroy(tank);
    }
    assert_true(fabs(worst) < 0.1);
    tarn_device_destroy(device);
}

/// A body that lies half in each of two liquids and is as heavy as they are on the average.
static void buoyancy_at_an_interface_is_both_liquids(void **state)
{
    (void)state;
    const float c = 0.03125f;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int k = 0; k < 3; k++) {
        const float interface_cells = 15.0f + (float)k; // a tile ends at 16
        tarn_tank_desc desc = solid_tank_pool(32, 32, 32, c, interface_cells * c);
        desc.liquid_count = 2;
        desc.liquids[1] = desc.liquids[0];
        desc.liquids[1].density_kg_m3 = 200.0f;
        desc.blocks[desc.block_count] = desc.blocks[0];
        desc.blocks[desc.block_count].min_m[1] = interface_cells * c;
        desc.blocks[desc.block_count].max_m[1] = 30.0f * c;
        desc.blocks[desc.block_count++].liquid = 1;
        solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){3 * c, 0, 0},
                            (const float[3]){16.1f * c, interface_cells * c, 15.8f * c}, 600.0f);
        tarn_tank *tank = plain_tank_open(device, &desc);
        solid_tank_step(tank, 1);
        const double up = (double)solid_tank_body_of(tank, 0).velocity_m_s[1] / first_fall_m_s(&desc);
        print_message("ball between two liquids: goes up by %+.2f %% of a free fall\n", 100.0 * up);
        assert_true(fabs(up) < 0.007);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// Puts a body of half the water's density where it floats, its centre at the surface, and lets it. @return how much
/// more than that it displaces in the end, as a share of what it should, for a body whose middle is as wide as its
/// volume over `height_cells`
static double displaced_too_much(tarn_device *device, tarn_shape_kind kind, const float half_cells[3],
                                 double volume_cells, double height_cells, float level_cells)
{
    enum { STEPS = 240, LATE = 120, EDGE = 24 };
    const float c = 0.03125f;
    tarn_tank_desc desc = solid_tank_pool(EDGE, EDGE, EDGE, c, level_cells * c);
    solid_tank_add_free(&desc, kind, (const float[3]){half_cells[0] * c, half_cells[1] * c, half_cells[2] * c},
                        (const float[3]){12.1f * c, level_cells * c, 11.8f * c}, 500.0f);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const double level = (tank->particle_count / 8.0 + 0.5 * volume_cells) / (EDGE * EDGE);
    double depth = 0.0;
    for (int s = 0; s < STEPS; s++) {
        solid_tank_step(tank, 1);
        if (s >= STEPS - LATE) {
            depth += (level - (double)(solid_tank_body_of(tank, 0).pose.position_m[1] / c)) / LATE;
        }
    }
    tarn_tank_destroy(tank);
    print_message("level %.3f cells: ", level);
    return depth / (0.5 * height_cells);
}

/// A ball's depth depends on where in its cell the surface lies, by up to 3 % (tests/physics has it): over all depths
/// it is right.
static void small_bodies_float_half_under(void **state)
{
    (void)state;
    static const float levels[] = {12.0f, 12.25f, 12.4f, 12.5f, 12.75f, 13.0f};
    tarn_device *device = plain_tank_device(1, NULL);
    const size_t level_count = sizeof levels / sizeof levels[0];
    double worst = 0.0, mean = 0.0;
    for (size_t k = 0; k < level_count; k++) {
        const double ball = displaced_too_much(device, TARN_SHAPE_SPHERE, (const float[3]){3.0f, 0, 0},
                                               4.0 / 3.0 * 3.14159265 * 27.0, 4.0, levels[k]);
        const double box =
            displaced_too_much(device, TARN_SHAPE_BOX, (const float[3]){3.0f, 2.2f, 3.0f}, 36.0 * 4.4, 4.4, levels[k]);
        print_message("a ball of 3 cells displaces %+.1f %%, a box 4.4 cells high %+.1f %%\n", 100.0 * ball,
                      100.0 * box);
        worst = fmax(worst, fabs(box));
        mean += ball / (double)level_count;
    }
    assert_true(worst < 0.02 && fabs(mean) < 0.02);
    tarn_device_destroy(device);
}

static void a_heavy_ball_sinks_and_lies_still(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.5f);
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.12f, 0, 0}, (const float[3]){0.45f, 0.3f, 0.55f},
                        3000.0f);
    solid_tank_add_free(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.05f, 0.1f},
                        (const float[3]){0.75f, 0.3f, 0.25f}, 2000.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    float lowest_m = 1.0f;
    for (int s = 0; s < 300; s++) {
        solid_tank_step(tank, 1);
        lowest_m = fminf(lowest_m, solid_tank_body_of(tank, 0).pose.position_m[1]);
    }
    const tarn_body_state ball = solid_tank_body_of(tank, 0), box = solid_tank_body_of(tank, 1);
    print_message("ball at %.4f m (radius 0.12), %.4f m/s, lowest %.4f; box at %.4f m (half height 0.05), %.4f m/s; "
                  "kinetic %.1e J/kg\n",
                  (double)ball.pose.position_m[1], solid_tank_length(ball.velocity_m_s), (double)lowest_m,
                  (double)box.pose.position_m[1], solid_tank_length(box.velocity_m_s), solid_tank_kinetic_j_kg(tank));
    assert_true(fabsf(ball.pose.position_m[1] - 0.12f) < 0.003f && lowest_m > 0.115f);
    assert_true(fabsf(box.pose.position_m[1] - 0.05f) < 0.003f);
    assert_true(solid_tank_length(ball.velocity_m_s) < 0.02 && solid_tank_length(box.velocity_m_s) < 0.02);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Bodies far wider than the reach of what is known about the distance to a solid that stands still.
static void wide_round_bodies_lie_on_a_plate(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int i = 0; i < 4; i++) {
        const bool lying = i == 3;
        const float c = 1.0f / 32.0f, radius = (const float[4]){2.0f, 4.5f, 9.0f, 6.0f}[i];
        tarn_tank_desc desc = solid_tank_pool(48, 48, 48, c, 0.0f);
        desc.block_count = 1;
        desc.blocks[0] =
            (tarn_fluid_block){.min_m = {0.0f, 0.0f, 0.0f}, .max_m = {c, c, c}, .velocity_m_s = {0.0f, 0.0f, 0.0f}};
        solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){20 * c, 3 * c, 20 * c},
                             (const float[3]){24 * c, 7 * c, 24 * c});
        tarn_solid *body = solid_tank_add_free(&desc, lying ? TARN_SHAPE_CAPSULE : TARN_SHAPE_SPHERE,
                                               (const float[3]){radius * c, 5 * c, 0},
                                               (const float[3]){23.7f * c, (12.0f + radius) * c, 24.2f * c}, 800.0f);
        if (lying) {
            solid_tank_turn_z(body, 0.5 * 3.14159265);
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        solid_tank_step(tank, 120);
        const tarn_body_state at = solid_tank_body_of(tank, 0);
        const double lowest = (double)(at.pose.position_m[1] / c - radius);
        print_message("%s of radius %g cells: lies %.3f cells above the plate, %.4f m/s\n", lying ? "capsule" : "ball",
                      (double)radius, lowest - 10.0, solid_tank_length(at.velocity_m_s));
        assert_true(fabs(lowest - 10.0) < 0.1);
        assert_true(solid_tank_length(at.velocity_m_s) < 0.02);
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
    assert_int_equal(act_set_pose(tank, &pose), TARN_OK);
    solid_tank_step(tank, 1);
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
    tarn_tank_desc desc = solid_tank_pool(32, 16, 32, 1.0f / 64.0f, 0.25f);
    const float c = desc.cell_m;
    desc.dt_s = 1.0f / 120.0f;
    desc.spin_rad_s[1] = (float)rate;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){4 * c, 0, 0},
                        (const float[3]){24 * c, 8 * c, 16 * c}, 1000.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (int s = 0; s < STEPS; s++) {
        turn_evenly(tank, rate);
    }
    const tarn_body_state ball = solid_tank_body_of(tank, 0);
    const double x = (double)(ball.pose.position_m[0] / c) - 16.0, z = (double)(ball.pose.position_m[2] / c) - 16.0;
    print_message("turning: ball from 8 cells to %.3f, %.3f cells of the axis, %.4f m/s, spin %.3f rad/s\n", x, z,
                  solid_tank_length(ball.velocity_m_s), solid_tank_length(ball.angular_velocity_rad_s));
    assert_true(fabs(sqrt(x * x + z * z) - 8.0) < 0.25);
    assert_true(solid_tank_length(ball.velocity_m_s) < 0.05);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// A ball in the air of a turning tank flies straight and turns evenly, seen from the room.
static void a_ball_flies_straight_past_a_turning_tank(void **state)
{
    (void)state;
    enum { STEPS = 60 };
    const double rate = 5.0, dt_s = 1.0 / 240.0;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.0f);
    const float c = desc.cell_m;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0, 0, 0}, .max_m = {c, c, c}, .velocity_m_s = {0, 0, 0}};
    desc.dt_s = (float)dt_s;
    desc.spin_rad_s[1] = (float)rate;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    tarn_solid *ball = solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){2 * c, 0, 0},
                                           (const float[3]){20 * c, 16 * c, 16 * c}, 800.0f);
    ball->velocity_m_s[2] = (float)(rate * 4.0) * c; // at rest in the room: -w x r
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    double farthest = 0.0;
    for (int s = 0; s < STEPS; s++) {
        turn_evenly(tank, rate);
        const double angle = rate * tank->sim_time_s;
        const tarn_body_state at = solid_tank_body_of(tank, 0);
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
    tarn_tank_desc desc = solid_tank_pool(16, 16, 16, c, 0.0f);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0, 0, 0}, .max_m = {c, c, c}, .velocity_m_s = {0, 0, 0}};
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){3 * c, 0, 0}, (const float[3]){8 * c, 3 * c, 8 * c},
                        800.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 60);
    assert_int_equal(tank->grid.substeps, 1);
    const double per_step = 9.81 * (double)desc.dt_s * (double)desc.dt_s / (double)c;
    assert_true(fabs((double)tank->grid.body_state[0].contact[1] / per_step - 1.0) < 0.02);
    const tarn_push push = {
        .center_m = {0.4f, 0.4f, 0.4f}, .radius_m = 0.01f, .velocity_m_s = {5.0f}, .strength = 1.0f};
    assert_int_equal(act_step(tank, &push, 1), TARN_OK);
    assert_true(tank->grid.substeps > 1);
    assert_true(fabs((double)tank->grid.body_state[0].contact[1] / per_step - 1.0) < 0.02);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void a_solve_that_failed_pushes_no_body(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(16, 16, 16, 0.03125f, 0.25f);
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.1f, 0, 0}, (const float[3]){0.25f, 0.2f, 0.25f},
                        800.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 1);
    grid_bodies *bodies = tank->args->grid.m.bodies;
    for (uint32_t failed = 0; failed < 2; failed++) {
        const float before = bodies->state[0].velocity[0];
        tank->args->grid.m.counters->failed = failed;
        bodies->change[0][0] = failed ? NAN : 1.0f;
        grid_launch(&tank->grid, tank->args, GRID_KERNEL(bodies_kick), NULL, 1);
        assert_true(bodies->state[0].velocity[0] == before + (failed ? 0.0f : 1.0f));
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Largest error of the flow between a floor that slides and a lid that doesn't, over the floor's speed. At both ends
/// the channel is open to the air above.
static double channel_error(tarn_device *device, float floor_cells, float lid_cells)
{
    enum { LENGTH = 72, END = 8, STEPS = 240, BINS = 12 };
    const float c = 0.002f, speed = 0.2f, viscosity = 0.5f; // of a cell per step, cells^2 per step
    tarn_tank_desc desc = solid_tank_pool(LENGTH, 28, 1, c, 20.0f * c);
    desc.parameters[TARN_PARAMETER_GRAVITY] = 1.0f; // so that the levels at the ends differ by some cells
    desc.liquids[0].viscosity_m2_s = viscosity * c * c / desc.dt_s;
    solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){(0.5f * LENGTH - END) * c, 8 * c, LENGTH * c},
                         (const float[3]){0.5f * LENGTH * c, (lid_cells + 8) * c, 0.0f});
    const float middle_m = 0.5f * LENGTH * c, floor_m = (floor_cells - 8) * c;
    solid_tank_add_keyed(&desc, TARN_SHAPE_BOX, (const float[3]){2 * LENGTH * c, 8 * c, LENGTH * c},
                         (const float[3]){middle_m, floor_m, 0.0f},
                         (const float[3]){middle_m + speed * STEPS * c, floor_m, 0.0f}, STEPS * desc.dt_s);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, STEPS);
    cloud particles = solid_tank_particles_of(tank);
    double sum[BINS] = {0}, wanted[BINS] = {0}, worst = 0.0;
    uint32_t count[BINS] = {0};
    for (uint32_t i = 0; i < particles.count; i++) {
        const double x = (double)(particles.position_m[3 * i] / c);
        const double y = (double)((lid_cells - particles.position_m[3 * i + 1] / c) / (lid_cells - floor_cells));
        if (y < 0.0 || y >= 1.0 || x < LENGTH / 3.0 || x > 2.0 * LENGTH / 3.0) {
            continue;
        }
        const int bin = (int)(y * BINS);
        sum[bin] += (double)(particles.velocity_m_s[3 * i] * desc.dt_s / c / speed);
        wanted[bin] += 3.0 * y * y - 2.0 * y;
        count[bin]++;
    }
    for (int bin = 0; bin < BINS; bin++) {
        assert_true(count[bin] > 50);
        worst = fmax(worst, fabs(sum[bin] - wanted[bin]) / count[bin]);
    }
    solid_tank_free_cloud(&particles);
    tarn_tank_destroy(tank);
    return worst;
}

/// What the floor drags along comes back below the lid: u = 3 y^2 - 2 y of the floor's speed, y from the lid down.
static void solids_drag_thick_liquid(void **state)
{
    (void)state;
    static const float floors[] = {2.1f, 2.35f, 2.6f, 2.85f}, lids[] = {18.9f, 18.05f, 18.7f, 18.2f};
    tarn_device *device = plain_tank_device(1, NULL);
    for (int i = 0; i < 4; i++) {
        const double error = channel_error(device, floors[i], lids[i]);
        print_message("floor at %.2f, lid at %.2f cells: flow off by %.1f %% of the floor's speed\n", (double)floors[i],
                      (double)lids[i], 100.0 * error);
        assert_true(error < 0.05);
    }
    tarn_device_destroy(device);
}

/// Saves a tank, or as if some value in it were more by so much, and loads that. @param value  in the tank; NULL: none
static tarn_status load_with(tarn_tank *tank, const float *value, float more)
{
    const size_t bytes_max = tarn_tank_save_bytes_max(tank);
    size_t byte_count = 0;
    uint8_t *bytes = malloc(bytes_max);
    assert_non_null(bytes);
    assert_int_equal(tarn_tank_save(tank, bytes, bytes_max, &byte_count), TARN_OK);
    if (value != NULL) {
        const float changed = *value + more;
        uint8_t *at = memmem(bytes, byte_count, value, sizeof *value);
        assert_non_null(at);
        memcpy(at, &changed, sizeof changed);
    }
    const tarn_status status = tarn_tank_load(tank, bytes, byte_count);
    free(bytes);
    return status;
}

static tarn_status load_of(tarn_tank *tank)
{
    return load_with(tank, NULL, 0.0f);
}

static void loaded_motion_is_checked(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(16, 16, 16, 0.03125f, 0.25f);
    for (int a = 0; a < 3; a++) {
        desc.spin_rad_s[a] = TARN_TANK_TURN_MAX_RAD_S;
    }
    tarn_solid *box = solid_tank_add_free(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.06f, 0.08f},
                                          (const float[3]){0.25f, 0.2f, 0.25f}, 800.0f);
    solid_tank_turn_z(box, 0.4);
    box->velocity_m_s[0] = 1000.0f; // the most that is allowed
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    assert_int_equal(load_of(tank), TARN_OK); // the first state of all
    solid_tank_step(tank, 5);
    assert_int_equal(load_of(tank), TARN_OK);
    grid_body_state *body = &tank->grid.body_state[0], good;
    memcpy(&good, body, sizeof good);
    for (int i = 0; i < 9; i++) {
        body->turn[i] = 7.0f;
    }
    assert_int_equal(load_of(tank), TARN_OK);
    assert_memory_equal(body->turn, good.turn, sizeof good.turn);
    static uint8_t bytes[1 << 20];
    size_t byte_count;
    float *const tampered[] = {&body->velocity[1], &body->spin[2], &body->rotation[3]};
    for (size_t i = 0; i < sizeof tampered / sizeof tampered[0]; i++) {
        assert_int_equal(load_with(tank, tampered[i], 2000.0f), TARN_E_MALFORMED);
        *tampered[i] += 2000.0f; // nor is it saved
        assert_int_equal(tarn_tank_save(tank, bytes, sizeof bytes, &byte_count), TARN_E_UNSTABLE);
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
    tarn_tank_desc desc = solid_tank_pool(48, 32, 32, 0.03125f, 1.0f);
    desc.blocks[0].max_m[0] = 1.2f; // air at both ends, so that no wall pushes along x
    desc.blocks[0].min_m[0] = 0.3f;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    tarn_solid *ball = solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.15f, 0, 0},
                                           (const float[3]){0.65f, 0.5f, 0.5f}, 800.0f);
    ball->velocity_m_s[0] = 1.0f;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_tank_report report;
    tarn_tank_report_light(tank, &report);
    const double water_kg = 1000.0 * pow(0.03125, 3.0) * report.particle_count / 8.0;
    const double ball_kg = 800.0 * 4.0 / 3.0 * 3.14159265 * pow(0.15, 3.0);
    double lost = 0.0, gained = 0.0;
    for (int s = 0; s < 6; s++) {
        solid_tank_step(tank, 1);
        assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
        lost = ball_kg * (1.0 - (double)solid_tank_body_of(tank, 0).velocity_m_s[0]);
        gained = water_kg * report.momentum_m_s[0];
        print_message("momentum: ball %.3f to %.3f kg m/s, water %.3f\n", ball_kg, ball_kg - lost, gained);
    }
    assert_true(lost > 0.2 * ball_kg);
    assert_true(fabs(gained / lost - 1.0) < 0.1);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Momentum and angular momentum about y of a tank's liquid around a point, in the masses of its particles.
static void liquid_momentum(tarn_tank *tank, const float *about_m, double *linear, double *angular)
{
    cloud c = solid_tank_particles_of(tank);
    *linear = *angular = 0.0;
    for (uint32_t i = 0; i < c.count; i++) {
        const float *p = &c.position_m[3 * i], *v = &c.velocity_m_s[3 * i];
        *linear += (double)v[0];
        *angular += (double)((p[2] - about_m[2]) * v[0] - (p[0] - about_m[0]) * v[2]);
    }
    solid_tank_free_cloud(&c);
}

/// What a ball has lost of its momentum and its turning in a ball of liquid with nothing around it, and what the liquid
/// has got, over what the ball had.
typedef struct dragged {
    double lost, got, braked, turned;
} dragged;

/// @param viscosity  nu dt / dx^2
static dragged drag_of(tarn_device *device, float viscosity, float density)
{
    enum { STEPS = 8 };
    const float c = 0.01f, radius = 5.0f, spin = 0.2f, speed = 0.1f;
    const float middle_m[3] = {20 * c, 20 * c, 20 * c};
    tarn_tank_desc desc = solid_tank_pool(40, 40, 40, c, 0.0f);
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.transfer = TARN_TRANSFER_APIC;
    desc.liquids[0].viscosity_m2_s = viscosity * c * c / desc.dt_s;
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {14 * c}},
                                        .pose = {{middle_m[0], middle_m[1], middle_m[2]}, {0, 0, 0, 1}}};
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){radius * c, 0, 0}, middle_m, density);
    tarn_tank *tank = plain_tank_open(device, &desc);
    grid_body_state *ball = &tank->args->grid.m.bodies->state[0];
    ball->spin[1] = spin;
    ball->velocity[0] = speed;
    solid_tank_step(tank, STEPS);
    double linear, angular;
    liquid_momentum(tank, middle_m, &linear, &angular);
    const double unit = (double)(c / desc.dt_s), mass = 8.0 * (double)density / 1000.0 * 4.0 / 3.0 * 3.14159265 * 125.0;
    const double momentum = mass * (double)speed, turning = 0.4 * mass * 25.0 * (double)spin;
    const dragged out = {1.0 - (double)(ball->velocity[0] / speed), linear / unit / momentum,
                         1.0 - (double)(ball->spin[1] / spin), angular / unit / (double)c / turning};
    print_message(
        "viscosity %g, density %g: ball lost %.3f of its momentum, liquid got %.3f; of its turning %.3f, %.3f\n",
        (double)viscosity, (double)density, out.lost, out.got, out.braked, out.turned);
    tarn_tank_destroy(tank);
    return out;
}

/// Very thick liquid must not throw a light body back, though the body is no part of the implicit solve.
static void thick_liquid_drags_bodies(void **state)
{
    (void)state;
    static const float thin[] = {0.02f, 0.1f}, thick[][2] = {{5.0f, 200.0f}, {50.0f, 1000.0f}, {50.0f, 50.0f}};
    tarn_device *device = plain_tank_device(1, NULL);
    for (int i = 0; i < 2; i++) {
        const dragged ball = drag_of(device, thin[i], 1000.0f);
        assert_true(ball.braked > 0.2);
        assert_true(fabs(ball.got / ball.lost - 1.0) < 0.1 && fabs(ball.turned / ball.braked - 1.0) < 0.1);
    }
    for (int i = 0; i < 3; i++) {
        const dragged ball = drag_of(device, thick[i][0], thick[i][1]);
        assert_true(ball.lost > 0.5 && ball.lost < 1.1);
        assert_true(ball.braked > 0.5 && ball.braked < 1.1);
    }
    tarn_device_destroy(device);
}

static void a_hand_takes_a_body_along(void **state)
{
    (void)state;
    tarn_tank_desc desc = solid_tank_pool(32, 32, 32, 0.03125f, 0.4f);
    solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){0.1f, 0.1f, 0.1f}, (const float[3]){0.9f, 0.1f, 0.9f});
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (const float[3]){0.08f, 0, 0}, (const float[3]){0.3f, 0.4f, 0.3f},
                        200.0f);
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_grab grab = {0, {0, 0, 0}, {0.6f, 0.7f, 0.5f}, 0.2f};
    assert_int_equal(solid_tank_body_of(tank, 0).solid, 1);
    for (int s = 0; s < 60; s++) {
        assert_int_equal(act_set_grabs(tank, &grab, 1), TARN_OK);
        assert_int_equal(act_step(tank, NULL, 0), TARN_OK);
    }
    const tarn_body_state held = solid_tank_body_of(tank, 0);
    for (int a = 0; a < 3; a++) {
        assert_true(fabsf(held.pose.position_m[a] - grab.target_m[a]) < 0.02f);
    }
    solid_tank_step(tank, 60); // let go: it falls back
    assert_true(solid_tank_body_of(tank, 0).pose.position_m[1] < 0.55f);
    tarn_grab bad = grab;
    bad.body = 1;
    assert_int_equal(act_set_grabs(tank, &bad, 1), TARN_E_ARGUMENT);
    bad = grab;
    bad.target_m[2] = NAN;
    assert_int_equal(act_set_grabs(tank, &bad, 1), TARN_E_ARGUMENT);
    assert_int_equal(act_set_grabs(tank, &grab, TARN_TANK_GRABS_MAX + 1), TARN_E_ARGUMENT);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piston_lifts_the_water_by_its_volume),
        cmocka_unit_test(a_box_of_half_the_density_floats_half_under),
        cmocka_unit_test(a_light_box_is_stable),
        cmocka_unit_test(buoyancy_is_the_weight_of_the_water),
        cmocka_unit_test(plates_beside_a_body_have_no_lift),
        cmocka_unit_test(buoyancy_at_an_interface_is_both_liquids),
        cmocka_unit_test(small_bodies_float_half_under),
        cmocka_unit_test(a_heavy_ball_sinks_and_lies_still),
        cmocka_unit_test(wide_round_bodies_lie_on_a_plate),
        cmocka_unit_test(a_ball_keeps_its_place_in_a_turning_tank),
        cmocka_unit_test(a_ball_flies_straight_past_a_turning_tank),
        cmocka_unit_test(a_lying_body_is_held_in_steps_of_any_length),
        cmocka_unit_test(a_solve_that_failed_pushes_no_body),
        cmocka_unit_test(solids_drag_thick_liquid),
        cmocka_unit_test(loaded_motion_is_checked),
        cmocka_unit_test(momentum_goes_from_ball_to_water),
        cmocka_unit_test(thick_liquid_drags_bodies),
        cmocka_unit_test(a_hand_takes_a_body_along),
    };
    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
