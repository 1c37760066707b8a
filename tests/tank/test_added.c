// Solids that come while the tank runs: thrown bodies float, walls hold liquid back and let it go again, and both are
// part of the state.
#include "tests/tank/solid_tank.h"

#include "kernels/tank/view.h"
#include "tests/kernels/tank_acts.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tarn_solid ball_of(float radius_m, float density_kg_m3, float x, float y, float z)
{
    return (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {radius_m}},
                        .pose = {.position_m = {x, y, z}, .rotation = {0.0f, 0.0f, 0.0f, 1.0f}},
                        .motion = TARN_MOTION_FREE,
                        .density_kg_m3 = density_kg_m3};
}

static tarn_solid wall_of(float half_x_m, float half_y_m, float half_z_m, float x, float y, float z)
{
    return (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {half_x_m, half_y_m, half_z_m}},
                        .pose = {.position_m = {x, y, z}, .rotation = {0.0f, 0.0f, 0.0f, 1.0f}}};
}

static uint32_t throw_in(tarn_tank *tank, tarn_solid solid)
{
    char why[256] = "";
    uint32_t body = 99;
    if (act_throw(tank, &solid, &body, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return body;
}

static void add_wall(tarn_tank *tank, tarn_solid wall)
{
    char why[256] = "";
    if (act_add_wall(tank, &wall, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
}

static void assert_same(tarn_tank *a, tarn_tank *b)
{
    const tarn_tank_hash of_a = plain_tank_hash(a), of_b = plain_tank_hash(b);
    assert_true(of_a.lo == of_b.lo && of_a.hi == of_b.hi);
}

// ------------------------------------------------------------------------------------------------------------- thrown

/// A ball of 0.4 of the water's density rests where the cap above the surface has 0.6 of its volume.
static void thrown_bodies_float_at_their_density(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = solid_tank_pool(24, 24, 24, 0.05f, 0.6f);
    tarn_tank *tank = plain_tank_open(device, &desc);
    const float radius_m = 0.2f;
    assert_int_equal(throw_in(tank, ball_of(radius_m, 400.0f, 0.6f, 0.8f, 0.6f)), 0);
    solid_tank_step(tank, 240);
    double sum_m = 0.0;
    for (int i = 0; i < 60; i++) {
        solid_tank_step(tank, 1);
        sum_m += (double)solid_tank_body_of(tank, 0).pose.position_m[1] / 60.0;
    }
    double low = 0.0, high = 2.0; // depth under water over the radius: d^2 (3 - d) / 4 = 0.4
    for (int i = 0; i < 50; i++) {
        const double d = 0.5 * (low + high);
        *(d * d * (3.0 - d) / 4.0 < 0.4 ? &low : &high) = d;
    }
    const double volume_m3 = 0.4 * 4.18879 * pow((double)radius_m, 3.0), level_m = 0.6 + volume_m3 / (1.2 * 1.2);
    const double wanted_m = level_m + (1.0 - low) * (double)radius_m;
    if (fabs(sum_m - wanted_m) > 0.25 * 0.05) {
        fail_msg("the ball's middle is at %.4f m; wanted is %.4f m", sum_m, wanted_m);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Into the air: a parabola, whatever the tank had before.
static void thrown_bodies_have_their_velocity(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = solid_tank_pool(32, 32, 16, 0.05f, 0.2f);
    solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (float[]){0.1f, 0, 0}, (float[]){1.3f, 0.25f, 0.4f}, 500.0f);
    tarn_tank *tank = plain_tank_open(device, &desc);
    solid_tank_step(tank, 10);
    tarn_solid ball = ball_of(0.1f, 400.0f, 0.3f, 0.8f, 0.4f);
    ball.velocity_m_s[0] = 2.0f;
    ball.velocity_m_s[1] = 1.0f;
    assert_int_equal(throw_in(tank, ball), 1);
    solid_tank_step(tank, 12);
    const tarn_body_state found = solid_tank_body_of(tank, 1);
    assert_int_equal(found.solid, TARN_TANK_THROWN_FIRST);
    assert_true(fabsf(found.pose.position_m[0] - 0.7f) < 0.01f);
    assert_true(fabsf(found.pose.position_m[1] - (0.8f + 0.2f - 0.5f * 9.81f * 0.04f)) < 0.03f);
    ball.velocity_m_s[0] = 900.0f; // is limited
    throw_in(tank, ball);
    assert_true(solid_tank_length(solid_tank_body_of(tank, 2).velocity_m_s) <= 10.001);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void the_oldest_thrown_body_makes_way(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = solid_tank_pool(24, 16, 24, 0.05f, 0.2f);
    for (int i = 0; i < 10; i++) {
        solid_tank_add_free(&desc, TARN_SHAPE_SPHERE, (float[]){0.05f, 0, 0},
                            (float[]){0.1f + 0.1f * (float)i, 0.3f, 0.6f}, 500.0f);
    }
    tarn_tank *tank = plain_tank_open(device, &desc);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(throw_in(tank, ball_of(0.05f, 400.0f, 0.1f + 0.1f * (float)i, 0.5f, 0.2f)), 10 + i % 6);
    }
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    assert_int_equal(tarn_tank_added(tank, added), 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(added[i].number, TARN_TANK_THROWN_FIRST + 3 + i);
    }
    tank_moment now;
    tank_view_now(tank, &now);
    assert_int_equal(now.body_count, TARN_TANK_BODIES_MAX);
    for (uint32_t i = 1; i < TARN_TANK_BODIES_MAX; i++) {
        assert_true(now.bodies[i].solid > now.bodies[i - 1].solid);
    }
    solid_tank_step(tank, 3);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// -------------------------------------------------------------------------------------------------------------- walls

/// Mean heights of the liquid on both sides of x.
static void levels_of(tarn_tank *tank, float x_m, double level_m[2])
{
    cloud c = solid_tank_particles_of(tank);
    double count[2] = {0.0, 0.0};
    level_m[0] = level_m[1] = 0.0;
    for (uint32_t i = 0; i < c.count; i++) {
        const int side = c.position_m[3 * i] > x_m;
        level_m[side] += 2.0 * (double)c.position_m[3 * i + 1];
        count[side] += 1.0;
    }
    for (int side = 0; side < 2; side++) {
        level_m[side] = count[side] > 0.0 ? level_m[side] / count[side] : 0.0;
    }
    solid_tank_free_cloud(&c);
}

/// A dam before a column that would break, with its middle between the cells' corners; in a tank with solids of its own
/// and in one without.
static void a_wall_holds_liquid_back_until_it_goes(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int has_own = 0; has_own < 2; has_own++) {
        tarn_tank_desc desc = solid_tank_pool(40, 24, 16, 0.05f, 0.6f);
        desc.blocks[0].max_m[0] = 0.8f;
        if (has_own) {
            solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (float[]){0.1f, 0.1f, 0.1f}, (float[]){1.5f, 0.1f, 0.4f});
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        add_wall(tank, wall_of(0.05f, 0.9f, 0.3f, 0.875f, 0.7f, 0.2f)); // of two overlapping pieces
        add_wall(tank, wall_of(0.05f, 0.9f, 0.3f, 0.875f, 0.7f, 0.65f));
        solid_tank_step(tank, 240);
        double level_m[2];
        levels_of(tank, 0.875f, level_m);
        if (level_m[0] < 0.57 || level_m[1] > 0.03) {
            fail_msg("behind the wall the water is %.3f m high, before it %.3f", level_m[0], level_m[1]);
        }
        uint32_t count = 9;
        assert_int_equal(act_erase_walls(tank, (float[]){0.875f, 0.3f, 0.2f}, 0.01f, &count), TARN_OK);
        assert_int_equal(count, 1); // the others' half still stands
        solid_tank_step(tank, 5);
        assert_int_equal(act_erase_walls(tank, (float[]){0.875f, 0.3f, 0.7f}, 0.05f, &count), TARN_OK);
        assert_int_equal(count, 1);
        solid_tank_step(tank, 300);
        levels_of(tank, 0.875f, level_m);
        if (level_m[1] < 0.15 || level_m[0] > 0.35) {
            fail_msg("without it %.3f and %.3f m", level_m[0], level_m[1]);
        }
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

/// In the midst of still water, along the grid: nothing stays in it, and the water doesn't leap.
static void a_new_wall_pushes_liquid_out(void **state)
{
    (void)state;
    static const float middles_m[] = {0.6f, 0.625f, 0.61f};
    tarn_device *device = plain_tank_device(1, NULL);
    for (int i = 0; i < 3; i++) {
        const tarn_tank_desc desc = solid_tank_pool(24, 24, 16, 0.05f, 0.6f);
        tarn_tank *tank = plain_tank_open(device, &desc);
        const tarn_solid wall = wall_of(0.075f, 1.0f, 0.25f, middles_m[i], 0.5f, 0.2f);
        solid_tank_step(tank, 20);
        add_wall(tank, wall);
        double fastest = 0.0;
        for (int k = 0; k < 60; k++) {
            solid_tank_step(tank, 1);
            fastest = fmax(fastest, solid_tank_kinetic_j_kg(tank));
        }
        cloud c = solid_tank_particles_of(tank);
        double deepest = INFINITY;
        for (uint32_t p = 0; p < c.count; p++) {
            const double at_m[3] = {(double)c.position_m[3 * p], (double)c.position_m[3 * p + 1],
                                    (double)c.position_m[3 * p + 2]};
            deepest = fmin(deepest, grid_wall_distance(&tank->grid, &wall, at_m));
        }
        solid_tank_free_cloud(&c);
        if (deepest < -0.3) {
            fail_msg("a particle is %.2f cells in the wall at %.3f m", -deepest, (double)middles_m[i]);
        }
        if (fastest > 0.6) {
            fail_msg("the water got %.3f J/kg", fastest);
        }
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

static void walls_have_limits(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = solid_tank_pool(24, 16, 16, 0.05f, 0.2f);
    tarn_tank *tank = plain_tank_open(device, &desc), *plain = plain_tank_open(device, &desc);
    char why[256];
    for (int i = 0; i < TARN_TANK_WALLS_MAX; i++) {
        add_wall(tank, wall_of(0.05f, 0.1f, 0.05f, 0.017f * (float)i, 0.1f, 0.4f));
    }
    const tarn_solid more = wall_of(0.05f, 0.1f, 0.05f, 0.5f, 0.1f, 0.1f);
    assert_int_equal(act_add_wall(tank, &more, why, sizeof why), TARN_E_LIMIT);
    assert_non_null(strstr(why, "as many walls"));
    tarn_solid bad = more;
    bad.shape.kind = TARN_SHAPE_FIELD;
    assert_int_equal(act_add_wall(plain, &bad, why, sizeof why), TARN_E_ARGUMENT);
    bad = more;
    bad.shape.half_m[1] = NAN;
    assert_int_equal(act_add_wall(plain, &bad, why, sizeof why), TARN_E_ARGUMENT);
    bad = more;
    bad.pose.position_m[2] = INFINITY;
    assert_int_equal(act_add_wall(plain, &bad, why, sizeof why), TARN_E_ARGUMENT);
    bad = ball_of(0.1f, 0.0f, 0.5f, 0.5f, 0.5f);
    assert_int_equal(act_throw(plain, &bad, NULL, why, sizeof why), TARN_E_ARGUMENT);
    bad = ball_of(1e6f, 400.0f, 0.5f, 0.5f, 0.5f);
    assert_int_equal(act_throw(plain, &bad, NULL, why, sizeof why), TARN_E_ARGUMENT);
    assert_int_equal(act_throw(plain, &more, NULL, NULL, 0), TARN_E_ARGUMENT);
    assert_int_equal(act_erase_walls(tank, (float[]){NAN, 0.0f, 0.0f}, 0.1f, NULL), TARN_E_ARGUMENT);
    uint32_t count = 0;
    assert_int_equal(act_erase_walls(tank, (float[]){0.5f, 0.1f, 0.4f}, 5.0f, &count), TARN_OK);
    assert_int_equal(count, TARN_TANK_WALLS_MAX);
    tarn_tank_destroy(plain);
    tarn_tank *fresh = plain_tank_open(device, &desc);
    solid_tank_step(tank, 20);
    solid_tank_step(fresh, 20);
    assert_same(tank, fresh); // as if nothing had been there
    tarn_tank_destroy(fresh);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// -------------------------------------------------------------------------------------------------------------- state

/// What a busy hand does to a tank.
static void disturb(tarn_tank *tank, int part)
{
    if (part % 2 == 0) {
        tarn_solid ball = ball_of(0.1f, 400.0f, 0.3f + 0.1f * (float)part, 0.8f, 0.4f);
        ball.velocity_m_s[2] = 1.0f;
        throw_in(tank, ball);
    }
    tarn_solid wall = wall_of(0.06f, 0.4f, 0.2f, 0.4f + 0.2f * (float)part, 0.2f, 0.3f);
    wall.pose.rotation[1] = 0.3826834f;
    wall.pose.rotation[3] = 0.9238795f;
    add_wall(tank, wall);
    if (part == 2) {
        assert_int_equal(act_erase_walls(tank, (float[]){0.4f, 0.2f, 0.3f}, 0.05f, NULL), TARN_OK);
    }
}

static tarn_tank_desc busy_desc(int has_own)
{
    tarn_tank_desc desc = solid_tank_pool(28, 24, 16, 0.05f, 0.4f);
    if (has_own) {
        solid_tank_add_solid(&desc, TARN_SHAPE_BOX, (float[]){0.1f, 0.1f, 0.1f}, (float[]){1.1f, 0.1f, 0.4f});
        solid_tank_add_free(&desc, TARN_SHAPE_BOX, (float[]){0.1f, 0.1f, 0.1f}, (float[]){0.3f, 0.5f, 0.4f}, 300.0f);
    }
    return desc;
}

static void states_go_on_with_what_was_added(void **state)
{
    (void)state;
    tarn_device *one = plain_tank_device(1, NULL), *three = plain_tank_device(3, NULL);
    for (int has_own = 0; has_own < 2; has_own++) {
        const tarn_tank_desc desc = busy_desc(has_own);
        tarn_tank *tank = plain_tank_open(one, &desc), *other = plain_tank_open(three, &desc);
        for (int part = 0; part < 3; part++) {
            disturb(tank, part);
            solid_tank_step(tank, 8);
        }
        const size_t bytes_max = tarn_tank_save_bytes_max(tank);
        uint8_t *bytes = malloc(bytes_max);
        size_t byte_count = 0;
        assert_int_equal(tarn_tank_save(tank, bytes, bytes_max, &byte_count), TARN_OK);
        disturb(other, 1); // of which nothing may stay
        solid_tank_step(other, 2);
        assert_int_equal(tarn_tank_load(other, bytes, byte_count), TARN_OK);
        assert_same(tank, other);
        for (int part = 3; part < 5; part++) {
            disturb(tank, part);
            disturb(other, part);
            solid_tank_step(tank, 10);
            solid_tank_step(other, 10);
            assert_same(tank, other);
        }
        for (size_t cut = 1; cut < byte_count; cut = cut * 2 + 7) {
            assert_int_equal(tarn_tank_load(other, bytes, byte_count - cut), TARN_E_MALFORMED);
        }
        assert_same(tank, other);
        free(bytes);
        tarn_tank_destroy(other);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(three);
    tarn_device_destroy(one);
}

/// A wild state is refused, and the tank is as it was.
static void wild_additions_are_no_state(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = busy_desc(1);
    tarn_tank *tank = plain_tank_open(device, &desc);
    disturb(tank, 0);
    solid_tank_step(tank, 2);
    const size_t bytes_max = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(bytes_max);
    size_t byte_count = 0, at = 0;
    assert_int_equal(tarn_tank_save(tank, bytes, bytes_max, &byte_count), TARN_OK);
    while (memcmp(bytes + at, "ADDD", 4) != 0) {
        at++;
    }
    // As kernels/tank/state.c lays it out.
    enum { COUNTS = 16 + 4, THROWN = 16 + 8, SOLID = 64, HALF = 8, POSITION = 20, DENSITY = 48 };
    const size_t walls = at + THROWN + tank->grid.added.thrown_count * (4 + SOLID);
    assert_true(tank->grid.added.thrown_count > 0 && tank->grid.added.wall_count > 0);
    const struct {
        size_t at, bytes;
    } wild[] = {{at + COUNTS, 2},
                {at + COUNTS + 2, 2},
                {at + THROWN, 4},
                {at + THROWN + 4 + HALF, 4},
                {at + THROWN + 4 + DENSITY, 4},
                {walls + HALF, 4},
                {walls + POSITION, 4}};
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        uint8_t sound[4];
        memcpy(sound, bytes + wild[i].at, wild[i].bytes);
        memset(bytes + wild[i].at, 0xff, wild[i].bytes); // a number beyond all, or none
        assert_int_equal(tarn_tank_load(tank, bytes, byte_count), TARN_E_MALFORMED);
        memcpy(bytes + wild[i].at, sound, wild[i].bytes);
    }
    const tarn_tank_hash before = plain_tank_hash(tank);
    assert_int_equal(tarn_tank_load(tank, bytes, byte_count), TARN_OK);
    assert_true(plain_tank_hash(tank).lo == before.lo);
    free(bytes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

static void reset_takes_everything_added_away(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    for (int has_own = 0; has_own < 2; has_own++) {
        const tarn_tank_desc desc = busy_desc(has_own);
        tarn_tank *tank = plain_tank_open(device, &desc), *plain = plain_tank_open(device, &desc);
        tarn_added_solid added[TARN_TANK_ADDED_MAX];
        for (int round = 0; round < 2; round++) {
            disturb(tank, 0);
            disturb(tank, 3); // far from the other
            assert_int_equal(tarn_tank_added(tank, added), 3);
            solid_tank_step(tank, 5);
            assert_int_equal(tarn_tank_reset(tank), TARN_OK);
            assert_int_equal(tarn_tank_added(tank, added), 0);
        }
        solid_tank_step(tank, 15);
        solid_tank_step(plain, 15);
        assert_same(tank, plain);
        disturb(tank, 0);
        disturb(plain, 0);
        solid_tank_step(tank, 25);
        solid_tank_step(plain, 25);
        assert_same(tank, plain);
        tarn_tank_destroy(plain);
        tarn_tank_destroy(tank);
    }
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thrown_bodies_float_at_their_density),
        cmocka_unit_test(thrown_bodies_have_their_velocity),
        cmocka_unit_test(the_oldest_thrown_body_makes_way),
        cmocka_unit_test(a_wall_holds_liquid_back_until_it_goes),
        cmocka_unit_test(a_new_wall_pushes_liquid_out),
        cmocka_unit_test(walls_have_limits),
        cmocka_unit_test(states_go_on_with_what_was_added),
        cmocka_unit_test(wild_additions_are_no_state),
        cmocka_unit_test(reset_takes_everything_added_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
