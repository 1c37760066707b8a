// Turns in degrees have the bits that they have everywhere, and the tank goes where its key frames say.
#include "server/scene/turn.h"
#include "tests/scene/scene_expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka.h needs the headers above it.
#include <cmocka.h>

static void test_sine_and_cosine_are_right(void **state)
{
    (void)state;
    const double radians = acos(-1.0) / 180;
    for (int i = -360000; i <= 360000; i++) {
        const double angle_deg = i * 0.01 + 0.0037;
        double sine, cosine;
        tarn_turn_sine_cosine(angle_deg, &sine, &cosine);
        // The reference is given the rest of a turn, so that it isn't the one that is wrong.
        const double rest = remainder(angle_deg, 360.0);
        assert_true(fabs(sine - sin(rest * radians)) < 4e-16);
        assert_true(fabs(cosine - cos(rest * radians)) < 4e-16);
    }
}

static void test_quarter_turns_are_exact(void **state)
{
    (void)state;
    static const double sines[] = {0, 1, 0, -1};
    for (int quarter = -400; quarter <= 400; quarter++) {
        double sine, cosine;
        tarn_turn_sine_cosine(90.0 * quarter, &sine, &cosine);
        assert_true(sine == sines[quarter & 3] && cosine == sines[(quarter + 1) & 3]);
    }
}

static void test_what_is_no_angle_turns_nothing(void **state)
{
    (void)state;
    const double wrong[] = {NAN, INFINITY, -INFINITY, 36000.1, -1e300};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        double sine, cosine;
        tarn_turn_sine_cosine(wrong[i], &sine, &cosine);
        assert_true(sine == 0 && cosine == 1);
    }
}

/// The bits of doubles, folded into one number.
static uint64_t fold(uint64_t folded, const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        folded = (folded ^ bits) * 0x100000001b3u;
    }
    return folded;
}

static void test_turns_have_the_same_bits_on_every_machine(void **state)
{
    (void)state;
    // The angles themselves are exact, whatever the compiler does with them.
    uint64_t folded = 0xcbf29ce484222325u;
    for (int i = 0; i < 20000; i++) {
        const double angles[3] = {i * 0.75 - 7000, i * -1.375 + 11, i * 0.09375};
        double quaternion[4];
        tarn_turn_quaternion(angles, quaternion);
        folded = fold(folded, quaternion, 4);
    }
    assert_true(folded == UINT64_C(0x6cd3da6d0cc5341c));
}

static void turn_vector(const double q[4], const double v[3], double turned[3])
{
    const double t[3] = {2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]),
                         2 * (q[0] * v[1] - q[1] * v[0])};
    turned[0] = v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1];
    turned[1] = v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2];
    turned[2] = v[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0];
}

static void test_axes_are_turned_about_in_order(void **state)
{
    (void)state;
    const struct {
        double degrees[3], from[3], to[3];
    } cases[] = {
        {{90, 0, 0}, {0, 1, 0}, {0, 0, 1}},   {{0, 90, 0}, {0, 0, 1}, {1, 0, 0}},  {{0, 0, 90}, {1, 0, 0}, {0, 1, 0}},
        {{90, 90, 0}, {0, 1, 0}, {1, 0, 0}},  {{90, 0, 90}, {1, 0, 0}, {0, 1, 0}}, {{0, 90, 90}, {0, 0, 1}, {0, 1, 0}},
        {{90, 90, 90}, {0, 1, 0}, {0, 1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double quaternion[4], turned[3];
        tarn_turn_quaternion(cases[i].degrees, quaternion);
        turn_vector(quaternion, cases[i].from, turned);
        for (int axis = 0; axis < 3; axis++) {
            assert_float_equal(turned[axis], cases[i].to[axis], 1e-15);
        }
    }
}

// ---- the tank ----

static tarn_scene scene;

static void read_with(const char *more)
{
    char why[TARN_SCENE_WHY_BYTES];
    const char *text = scene_with(more);
    if (scene_read_probe(text, &scene, why) != TARN_OK) {
        fail_msg("%s\n%s", text, why);
    }
}

static void expect_pose(double time_s, double x_m, double about_y_deg)
{
    tarn_pose pose;
    tarn_scene_tank_pose(&scene, time_s, &pose);
    const double half = about_y_deg * acos(-1.0) / 360;
    assert_float_equal(pose.position_m[0], x_m, 1e-6);
    assert_true(pose.position_m[1] == 0.0f && pose.position_m[2] == 0.0f);
    // Either sign is the same rotation.
    const double alike = (double)pose.rotation[1] * sin(half) + (double)pose.rotation[3] * cos(half);
    assert_true(fabs(fabs(alike) - 1) < 1e-6);
    assert_true(pose.rotation[0] == 0.0f && pose.rotation[2] == 0.0f);
}

static void test_a_tank_that_nobody_moves_stays(void **state)
{
    (void)state;
    read_with("'seed':1");
    assert_false(tarn_scene_moves_tank(&scene));
    expect_pose(0, 0, 0);
    expect_pose(1e9, 0, 0);
    tarn_scene_free(&scene);
}

static void test_the_tank_moves_evenly_and_rests_at_the_ends(void **state)
{
    (void)state;
    read_with("'tank_motion':{'keyframes':[{'time_s':1,'position_m':[0.5,0,0]},"
              "{'time_s':3,'position_m':[1.5,0,0],'rotation_deg':[0,720,0]},"
              "{'time_s':4,'position_m':[1.5,0,0],'rotation_deg':[0,630,0]}]}");
    assert_true(tarn_scene_moves_tank(&scene));
    expect_pose(0, 0.5, 0);
    expect_pose(1, 0.5, 0);
    expect_pose(1.25, 0.625, 90);
    expect_pose(2.75, 1.375, 630);
    expect_pose(3, 1.5, 0);
    expect_pose(3.5, 1.5, 675);
    expect_pose(4, 1.5, 630);
    expect_pose(400, 1.5, 630);
    assert_true(fabsf(scene.tank.led_turn_rad_s - 6.2832f) < 1e-3f && scene.tank.led_speed_m_s == 0.5f);
    // From 2 pi to -pi/2; and it comes to rest.
    assert_float_equal(scene.tank.led_turn_jump_rad_s, 7.854, 1e-3);
    assert_float_equal(scene.tank.led_speed_jump_m_s, 0.5, 1e-3);
    tarn_scene_free(&scene);
}

static void test_a_loop_goes_on_and_on(void **state)
{
    (void)state;
    read_with("'tank_motion':{'loop':true,'keyframes':[{'time_s':0},{'time_s':0.5,'position_m':[0.2,0,0],"
              "'rotation_deg':[0,90,0]},{'time_s':2,'rotation_deg':[0,360,0]}]}");
    expect_pose(0.25, 0.1, 45);
    expect_pose(2.25, 0.1, 45);
    expect_pose(200000.25, 0.1, 45);
    expect_pose(200000, 0, 0);
    expect_pose(1, 0.2 * 2 / 3, 180);
    assert_true(fabsf(scene.tank.led_turn_rad_s - 3.1416f) < 1e-3f && scene.tank.led_speed_m_s == 0.4f);
    // All at once at the start, and from one round to the next it turns on.
    assert_float_equal(scene.tank.led_turn_jump_rad_s, 3.1416, 1e-3);
    assert_float_equal(scene.tank.led_speed_jump_m_s, 0.4 + 0.2 / 1.5, 1e-3);
    tarn_scene_free(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sine_and_cosine_are_right),
        cmocka_unit_test(test_quarter_turns_are_exact),
        cmocka_unit_test(test_what_is_no_angle_turns_nothing),
        cmocka_unit_test(test_turns_have_the_same_bits_on_every_machine),
        cmocka_unit_test(test_axes_are_turned_about_in_order),
        cmocka_unit_test(test_a_tank_that_nobody_moves_stays),
        cmocka_unit_test(test_the_tank_moves_evenly_and_rests_at_the_ends),
        cmocka_unit_test(test_a_loop_goes_on_and_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
