// Friction: what faces lose beside the tank's walls, solids and bodies, and how fast a block of liquid loses its speed.
#include "kernels/liquid_parameters.h"
#include "kernels/step_input.h"
#include "tests/tank/liquid_tank.h"
#include "tests/tank/solid_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <string.h>

static const double share = 0.375;

static void set_velocity(tarn_tank *tank, const double *velocity)
{
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        for (int c = 0; c < 3; c++) {
            tank->args->store.velocity[c][i] = (float)velocity[c];
        }
    }
}

/// A full tank in which everything flows alike, brought to the grid; what it loses is still to come.
static tarn_tank *open_flow(tarn_tank_desc *desc, const double *velocity)
{
    desc->parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    tarn_tank *tank = open_tank(desc);
    set_velocity(tank, velocity);
    liquid_launch_p2g(tank, &liquid_of(tank)->args);
    return tank;
}

static liquid_friction *friction_of(tarn_tank *tank)
{
    return &((liquid_control *)tank->args->store.control)->friction;
}

static void rub(tarn_tank *tank)
{
    grid_launch_active(&tank->grid, &liquid_of(tank)->args, LIQUID_KERNEL(friction));
}

// --------------------------------------------------------------------------------------------------------------- faces

typedef struct expectation {
    const double *velocity;                   ///< before
    double keep;                              ///< of it, in the layer
    double (*distance)(const double *middle); ///< of a solid's surface
    uint32_t checked;
} expectation;

static void expect_at_walls(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    expectation *e = context;
    double wanted = e->velocity[c];
    for (int a = 0; a < 3; a++) {
        wanted *= a != c && (at[a] == 0 || at[a] == tank->grid.desc.cells[a] - 1) ? e->keep : 1.0;
    }
    if (at[c] > 0) {
        assert_true(fabs((double)*u - wanted) < 1e-5);
        e->checked += wanted != e->velocity[c];
    }
}

static void faces_beside_walls_lose_their_share(void **state)
{
    (void)state;
    const double velocity[3] = {0.5, -0.25, 0.75};
    tarn_tank_desc desc = solid_tank_pool(19, 17, 9, 0.03125f, 17 * 0.03125f);
    tarn_tank *tank = open_flow(&desc, velocity);
    friction_of(tank)->walls = (float)share;
    rub(tank);
    expectation e = {velocity, 1.0 - share, NULL, 0};
    each_face(tank, expect_at_walls, &e);
    assert_true(e.checked > 1000);
    tarn_tank_destroy(tank);
}

/// Of what flows along a surface every component loses the same.
static void expect_beside_solid(tarn_tank *tank, int c, const int *at, float *u, void *context)
{
    expectation *e = context;
    double middle[3];
    for (int a = 0; a < 3; a++) {
        middle[a] = at[a] + (a == c ? 0.0 : 0.5);
    }
    const double distance = e->distance(middle), layer = fmin(fmax(1.5 - distance, 0.0), 1.0);
    const bool is_inside = at[c] > 0 && at[0] >= 4 && at[0] < tank->grid.desc.cells[0] - 4;
    if (is_inside && distance > 0.0 && distance < 4.0) {
        assert_true(fabs((double)*u - e->velocity[c] * (1.0 - layer * (1.0 - e->keep))) < 0.01);
        e->checked += layer > 0.0;
    }
}

#define ANGLE 0.35

static double from_slope(const double *p)
{
    return (p[1] - 6.0) * cos(ANGLE) - (p[0] - 12.0) * sin(ANGLE);
}

static double from_floor(const double *p)
{
    return p[1] - 4.25;
}

/// A tank with a floor or a slope in it that has friction, and liquid above.
static tarn_tank_desc ground_desc(bool slope)
{
    tarn_tank_desc desc = solid_tank_pool(24, 24, 24, 0.03f, 24 * 0.03f);
    const float c = desc.cell_m, h = 40.0f * c;
    const float tilted[3] = {(12.0f + 40.0f * (float)sin(ANGLE)) * c, (6.0f - 40.0f * (float)cos(ANGLE)) * c,
                             12.0f * c};
    const float flat[3] = {12.0f * c, (4.25f - 40.0f) * c, 12.0f * c};
    tarn_solid *ground = solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (const float[3]){h, h, h}, slope ? tilted : flat);
    ground->friction = (float)share;
    if (slope) {
        solid_tank_turn_z(ground, ANGLE);
    }
    return desc;
}

static void check_ground(bool slope, const double *velocity, double keep)
{
    tarn_tank_desc desc = ground_desc(slope);
    tarn_tank *tank = open_flow(&desc, velocity);
    friction_of(tank)->solid[0] = (float)share;
    rub(tank);
    expectation e = {velocity, keep, slope ? from_slope : from_floor, 0};
    each_face(tank, expect_beside_solid, &e);
    assert_true(e.checked > 500);
    tarn_tank_destroy(tank);
}

static void flow_along_a_solid_loses_its_share(void **state)
{
    (void)state;
    check_ground(false, (const double[3]){0.5, 0.0, -0.25}, 1.0 - share);
    check_ground(true, (const double[3]){0.5 * cos(ANGLE), 0.5 * sin(ANGLE), 0.25}, 1.0 - share);
}

static void flow_towards_a_solid_is_left_to_the_pressure(void **state)
{
    (void)state;
    check_ground(false, (const double[3]){0.0, -0.5, 0.0}, 1.0);
    check_ground(true, (const double[3]){0.5 * sin(ANGLE), -0.5 * cos(ANGLE), 0.0}, 1.0);
}

static void a_body_takes_liquid_along(void **state)
{
    (void)state;
    const double at_rest[3] = {0.0, 0.0, 0.0};
    tarn_tank_desc desc = solid_tank_pool(24, 16, 16, 0.03f, 16 * 0.03f);
    const float c = desc.cell_m, at_m[3] = {12 * c, 0.0f, 8 * c};
    solid_tank_add_keyed(&desc, TARN_SHAPE_BOX, (const float[3]){8 * c, 4 * c, 8 * c}, at_m, at_m, 1.0f);
    tarn_tank *tank = open_flow(&desc, at_rest);
    tank->args->grid.m.bodies->state[0].velocity[0] = 0.5f;
    friction_of(tank)->body[0] = (float)share;
    rub(tank);
    for (int y = 4; y < 7; y++) {
        const double u = field_at(tank, tank->args->grid.m.u[0], (const int[3]){12, y, 8});
        assert_true(fabs(u - (y == 4 ? share * 0.5 : 0.0)) < 1e-4);
    }
    tarn_tank_destroy(tank);
}

// --------------------------------------------------------------------------------------------------------------- steps

enum { FLOOR_WALL, FLOOR_SOLID, FLOOR_BESIDE_WALL, FLOOR_KEYED, FLOOR_COUNT, SLIDING_CELLS = 4 };

/// What a block of four cells' height that slides on a floor has left of its speed after a step in so many substeps.
static double speed_left(int floor, double friction, uint32_t substeps)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = desc.cell_m, speed_m_s = c / desc.dt_s;
    const uint16_t cells[3] = {64, 16, 1};
    memcpy(desc.cells, cells, sizeof cells);
    desc.blocks[desc.block_count++] = (tarn_fluid_block){
        .min_m = {8 * c, 4 * c, 0}, .max_m = {40 * c, (4 + SLIDING_CELLS) * c, c}, .velocity_m_s = {speed_m_s, 0, 0}};
    desc.parameters[TARN_PARAMETER_FLIP] = 1.0f;
    desc.parameters[TARN_PARAMETER_CFL] = substeps == 1 ? 4.0f : 0.5f;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    const float half_m[3] = {32 * c, 2 * c, c}, at_m[3] = {32 * c, 2 * c, 0.5f * c};
    if (floor == FLOOR_WALL) {
        desc.blocks[0].min_m[1] = 0.0f;
        desc.blocks[0].max_m[1] = SLIDING_CELLS * c;
        desc.wall_friction = (float)friction;
    } else if (floor != FLOOR_KEYED) {
        solid_tank_add_solid(&desc, TARN_SHAPE_BOX, half_m, at_m)->friction = (float)friction;
    } else {
        solid_tank_add_keyed(&desc, TARN_SHAPE_BOX, half_m, at_m, at_m, 1.0f)->friction = (float)friction;
    }
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = plain_tank_open(device, &desc);
    static tarn_step_input input;
    tarn_step_refusals refusals;
    memset(&input, 0, sizeof input);
    input.wall_count = floor == FLOOR_BESIDE_WALL; // at the far end: all tables of solids are other ones then
    input.walls[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {c, 4 * c, c}},
                                  .pose = {.position_m = {58 * c, 8 * c, 0.5f * c}, .rotation = {0, 0, 0, 1}}};
    assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_OK);
    assert_int_equal(refusals.count, 0);
    assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    const tarn_tank_report report = plain_tank_report(tank);
    assert_int_equal(report.substeps, substeps);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return report.momentum_m_s[0] / (double)speed_m_s;
}

static void a_sliding_block_loses_what_is_told(void **state)
{
    (void)state;
    for (int floor = 0; floor < FLOOR_COUNT; floor++) {
        const double free = speed_left(floor, 0.0, 1), half = speed_left(floor, 0.5, 1),
                     held = speed_left(floor, 1.0, 1), in_parts = speed_left(floor, 0.5, 2);
        print_message("floor %d: %.4f left, with friction %.4f, in two substeps %.4f, held %.4f\n", floor, free, half,
                      in_parts, held);
        assert_true(fabs(free - 1.0) < 1e-3);
        assert_true(fabs(half - (1.0 - 0.5 / SLIDING_CELLS)) < 0.01);
        assert_true(fabs(in_parts - half) < 0.01);
        assert_true(fabs(held - (1.0 - 1.0 / SLIDING_CELLS)) < 0.02);
    }
}

static void what_rubs_is_checked(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank *tank = NULL;
    char why[200];
    tarn_tank_desc desc = ground_desc(false);
    desc.wall_friction = 1.5f;
    assert_int_equal(tarn_tank_create(device, &desc, &tank, why, sizeof why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "wall_friction is 1.5"));
    desc.wall_friction = 0.0f;
    desc.solids[0].friction = -0.5f;
    assert_int_equal(tarn_tank_create(device, &desc, &tank, why, sizeof why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "solids[0].friction is -0.5"));
    desc.solids[0].friction = 0.5f;
    desc.solids[0].motion = TARN_MOTION_FREE;
    assert_int_equal(tarn_tank_create(device, &desc, &tank, why, sizeof why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "solids[0].friction is 0.5; allowed is 0 to 0"));
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faces_beside_walls_lose_their_share),
        cmocka_unit_test(flow_along_a_solid_loses_its_share),
        cmocka_unit_test(flow_towards_a_solid_is_left_to_the_pressure),
        cmocka_unit_test(a_body_takes_liquid_along),
        cmocka_unit_test(a_sliding_block_loses_what_is_told),
        cmocka_unit_test(what_rubs_is_checked),
    };
    return cmocka_run_group_tests_name("friction", tests, open_device, close_device);
}
