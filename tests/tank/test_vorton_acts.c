// What people and bodies do in a filled tank of vortons, and what the water does to bodies.
#include "tests/tank/solid_tank.h"

#include <cmocka.h> // needs that above

#include "kernels/tank/tank_internal.h"
#include "kernels/vortons/vortons.h"
#include "tests/kernels/tank_acts.h"

#include <math.h>

enum { EDGE = 24 };

typedef struct acts {
    tarn_tank_desc desc;
    tarn_device *device;
    tarn_tank *tank;
} acts;

/// A tank of water, with a ball of dye as heavy as that in the middle.
static void describe(acts *t)
{
    tarn_tank_desc_default_of(&t->desc, tarn_model_find("vortons"));
    t->desc.cells[0] = t->desc.cells[1] = t->desc.cells[2] = EDGE;
    t->desc.fluid_count = 1;
    t->desc.fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {5.0f * t->desc.cell_m}};
    t->desc.fluids[0].pose = (tarn_pose){.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    for (int a = 0; a < 3; a++) {
        t->desc.fluids[0].pose.position_m[a] = 0.5f * EDGE * t->desc.cell_m;
    }
}

static void open_tank(acts *t)
{
    t->device = plain_tank_device(1, NULL);
    t->tank = plain_tank_open(t->device, &t->desc);
}

static void close_tank(acts *t)
{
    tarn_tank_destroy(t->tank);
    tarn_device_destroy(t->device);
}

/// Places and velocities of a particle, from the tank's middle: cells and cells per step.
static void look(const acts *t, uint32_t i, double *at, double *velocity)
{
    const store_memory *store = &t->tank->args->store;
    for (int a = 0; a < 3; a++) {
        at[a] = (double)store->position[a][i] / (1 << POSITION_BITS) - 0.5 * EDGE;
        velocity[a] = (double)store->velocity[a][i];
    }
}

/// Means over the particles: of their distance from the middle, and how fast they go around it, about y.
static void measure(const acts *t, double *distance, double *turning)
{
    *distance = *turning = 0.0;
    for (uint32_t i = 0; i < t->tank->particle_count; i++) {
        double x[3], u[3];
        look(t, i, x, u);
        *distance += sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / t->tank->particle_count;
        *turning += (x[2] * u[0] - x[0] * u[2]) / t->tank->particle_count;
    }
}

static tarn_push hand_on_middle(const acts *t)
{
    tarn_push hand = {.radius_m = 6.0f * t->desc.cell_m, .strength = 0.5f};
    for (int a = 0; a < 3; a++) {
        hand.center_m[a] = 0.5f * EDGE * t->desc.cell_m;
    }
    return hand;
}

static void a_vortex_turns_the_water(void **state)
{
    (void)state;
    for (int way = -1; way <= 1; way += 2) {
        acts t;
        double distance, turning;
        describe(&t);
        open_tank(&t);
        tarn_push hand = hand_on_middle(&t);
        hand.spin_rad_s[1] = 5.0f * (float)way;
        for (int step = 0; step < 20; step++) {
            assert_int_equal(act_step(t.tank, &hand, 1), TARN_OK);
        }
        measure(&t, &distance, &turning);
        assert_true(way * turning > 0.05);
        close_tank(&t);
    }
}

/// Hands that stir hard, each its own way, have no more vortons born, or split, than there may be.
static void hard_stirring_keeps_to_the_number(void **state)
{
    (void)state;
    enum { MOST = 600, STEPS = 40 };
    acts t;
    describe(&t);
    t.desc.fluid_count = 0;
    t.desc.parameters[tarn_model_parameter_find(tarn_model_find("vortons"), "vortons_max")] = MOST;
    open_tank(&t);
    uint32_t largest = 0;
    for (int step = 0; step < STEPS; step++) {
        tarn_push hands[2] = {hand_on_middle(&t), hand_on_middle(&t)};
        const float c = t.desc.cell_m, way = step / 5 % 2 == 0 ? 1.0f : -1.0f;
        hands[0].center_m[0] -= 4.0f * c;
        hands[1].center_m[0] += 4.0f * c;
        for (int h = 0; h < 2; h++) {
            hands[h].velocity_m_s[1 + h] = 3.0f * way;
            hands[h].spin_rad_s[h] = 20.0f;
            hands[h].strength = 1.0f;
        }
        assert_int_equal(act_step(t.tank, hands, 2), TARN_OK);
        assert_in_range(t.tank->particle_count, 0, MOST);
        largest = t.tank->particle_count > largest ? t.tank->particle_count : largest;
    }
    assert_in_range(largest, MOST / 2, MOST);
    close_tank(&t);
}

static uint32_t count_within(const acts *t, const float *center_m, float radius_m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->tank->particle_count; i++) {
        double x[3], u[3], squares = 0.0;
        look(t, i, x, u);
        for (int a = 0; a < 3; a++) {
            squares += pow((x[a] + 0.5 * EDGE) * (double)t->desc.cell_m - (double)center_m[a], 2.0);
        }
        count += squares < (double)radius_m * (double)radius_m;
    }
    return count;
}

/// What is poured in flows on the way it is poured, and has its colour.
static void a_pour_brings_dye(void **state)
{
    (void)state;
    acts t;
    describe(&t);
    open_tank(&t);
    const float c = t.desc.cell_m;
    const uint32_t before = t.tank->particle_count;
    const tarn_tank_tools tools = {.pour_count = 1,
                                   .pours = {{.center_m = {12.0f * c, 20.0f * c, 12.0f * c},
                                              .radius_m = 2.0f * c,
                                              .velocity_m_s = {0.0f, -0.5f, 0.0f},
                                              .colour = {200, 20, 30, 255}}}};
    double fall = 0.0;
    uint32_t red = 0;
    for (int step = 0; step < 20; step++) {
        assert_int_equal(act_set_tools(t.tank, &tools), TARN_OK);
        assert_int_equal(act_step(t.tank, NULL, 0), TARN_OK);
    }
    for (uint32_t i = 0; i < t.tank->particle_count; i++) {
        if (t.tank->args->store.attribute[i] >> 8 == (200u | 20u << 8 | 30u << 16)) {
            double x[3], u[3];
            look(&t, i, x, u);
            fall -= u[1];
            red++;
        }
    }
    assert_true(t.tank->particle_count > before && red > 50);
    assert_true(fall / red * (double)c / (double)t.desc.dt_s > 0.1);
    close_tank(&t);
}

static void a_drain_takes_what_is_in_it(void **state)
{
    (void)state;
    acts t;
    describe(&t);
    open_tank(&t);
    const tarn_push ball = hand_on_middle(&t);
    tarn_tank_tools tools = {.sink_count = 1, .sinks = {{.radius_m = 3.0f * t.desc.cell_m}}};
    memcpy(tools.sinks[0].center_m, ball.center_m, sizeof ball.center_m);
    const uint32_t before = t.tank->particle_count;
    const uint32_t within = count_within(&t, ball.center_m, tools.sinks[0].radius_m);
    assert_int_equal(act_set_tools(t.tank, &tools), TARN_OK);
    assert_int_equal(act_step(t.tank, NULL, 0), TARN_OK);
    assert_true(within > 100 && count_within(&t, ball.center_m, 0.9f * tools.sinks[0].radius_m) == 0);
    assert_true(fabs((double)(before - t.tank->particle_count) - within) < 0.05 * within);
    close_tank(&t);
}

static void dye_colours_what_is_in_it(void **state)
{
    (void)state;
    acts t;
    describe(&t);
    open_tank(&t);
    const tarn_push ball = hand_on_middle(&t);
    tarn_tank_tools tools = {.dye_count = 1,
                             .dyes = {{.radius_m = 3.0f * t.desc.cell_m, .colour = {10, 200, 30}, .share = 1.0f}}};
    memcpy(tools.dyes[0].center_m, ball.center_m, sizeof ball.center_m);
    const uint32_t within = count_within(&t, ball.center_m, tools.dyes[0].radius_m);
    assert_int_equal(act_set_tools(t.tank, &tools), TARN_OK);
    assert_int_equal(act_step(t.tank, NULL, 0), TARN_OK);
    uint32_t green = 0;
    for (uint32_t i = 0; i < t.tank->particle_count; i++) {
        green += t.tank->args->store.attribute[i] >> 8 == (10u | 200u << 8 | 30u << 16);
    }
    assert_true(within > 100 && fabs((double)green - within) < 0.05 * within);
    close_tank(&t);
}

/// A tank without gravity, with a free ball in its middle instead of the dye.
static void describe_body(acts *t, float density_kg_m3, float gravity_m_s2)
{
    describe(t);
    t->desc.fluid_count = 0;
    const float c = t->desc.cell_m, middle = 0.5f * EDGE * c, half[3] = {3.0f * c, 0.0f, 0.0f};
    solid_tank_add_free(&t->desc, TARN_SHAPE_SPHERE, half, (const float[3]){middle, middle, middle}, density_kg_m3);
    t->desc.parameters[tarn_model_parameter_find(tarn_model_find("vortons"), "gravity_m_s2")] = gravity_m_s2;
}

/// Water that is set going on one side of a ball takes it along, and the other way from the other side's mirror.
static void a_flow_takes_a_body_along(void **state)
{
    (void)state;
    for (int way = -1; way <= 1; way += 2) {
        acts t;
        describe_body(&t, 1000.0f, 0.0f);
        open_tank(&t);
        tarn_push hand = hand_on_middle(&t);
        hand.radius_m = 4.0f * t.desc.cell_m;
        hand.center_m[0] -= (float)way * 6.0f * t.desc.cell_m;
        hand.velocity_m_s[0] = (float)way;
        const float before = solid_tank_body_of(t.tank, 0).pose.position_m[0];
        for (int step = 0; step < 30; step++) {
            assert_int_equal(act_step(t.tank, &hand, 1), TARN_OK);
        }
        const float moved = solid_tank_body_of(t.tank, 0).pose.position_m[0] - before;
        assert_true((float)way * moved > 0.5f * t.desc.cell_m);
        close_tank(&t);
    }
}

/// A ball that sinks, slower than it would fall, and leaves turning water behind.
static void a_body_stirs_the_water(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    acts t;
    describe_body(&t, 3000.0f, 9.81f);
    open_tank(&t);
    const float before = solid_tank_body_of(t.tank, 0).pose.position_m[1];
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(tarn_tank_step(t.tank, NULL), TARN_OK);
    }
    const float sunk = before - solid_tank_body_of(t.tank, 0).pose.position_m[1];
    const float free_fall = 0.5f * 9.81f * (STEPS * t.desc.dt_s) * (STEPS * t.desc.dt_s);
    const tarn_tank_report after = plain_tank_report(t.tank);
    assert_true(sunk > 0.2f * free_fall && sunk < 0.8f * free_fall);
    assert_true(after.born > 20 && after.speed_max_m_s > 0.1f);
    close_tank(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vortex_turns_the_water),  cmocka_unit_test(hard_stirring_keeps_to_the_number),
        cmocka_unit_test(a_pour_brings_dye),         cmocka_unit_test(a_drain_takes_what_is_in_it),
        cmocka_unit_test(dye_colours_what_is_in_it), cmocka_unit_test(a_flow_takes_a_body_along),
        cmocka_unit_test(a_body_stirs_the_water),
    };
    return cmocka_run_group_tests_name("acts on vortons", tests, NULL, NULL);
}
