// A tank as it stands, told as a scene: what is made from that is what was there, and goes on as it did.
#include "kernels/step_input.h"
#include "server/scene/tell.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARTICLES_MAX = 200000 };

typedef struct made_tank {
    tarn_scene scene;
    tarn_scene_pack pack;
    tarn_tank *tank;
    uint64_t step;
} made_tank;

static tarn_device *device;

static int open_device(void **state)
{
    (void)state;
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = 2};
    return tarn_device_create(&desc, &device) == TARN_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    tarn_device_destroy(device);
    return 0;
}

static void make(made_tank *made)
{
    char why[512] = "";
    if (tarn_scene_read_kept(&made->pack, &made->scene, why, sizeof why) != TARN_OK ||
        tarn_tank_create(device, &made->scene.tank, &made->tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    made->step = 0;
}

static void make_file(made_tank *made, const char *path)
{
    char why[512] = "";
    memset(made, 0, sizeof *made);
    if (tarn_scene_read_file_to_keep(path, &made->scene, &made->pack, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    tarn_scene_free(&made->scene);
    make(made);
}

static void make_text(made_tank *made, const char *text)
{
    memset(made, 0, sizeof *made);
    assert_int_equal(tarn_scene_pack_add(&made->pack, "a.json", text, strlen(text)), TARN_OK);
    make(made);
}

static void unmake(made_tank *made)
{
    tarn_tank_destroy(made->tank);
    tarn_scene_free(&made->scene);
    tarn_scene_pack_free(&made->pack);
}

static void step(made_tank *made, uint32_t steps, const tarn_step_input *first)
{
    for (uint32_t i = 0; i < steps; i++) {
        tarn_step_input input = {0};
        tarn_step_refusals refusals;
        if (i == 0 && first != NULL) {
            input = *first;
        }
        tarn_scene_drive(&made->scene, made->step, &input);
        assert_int_equal(tarn_tank_admit(made->tank, &input, &refusals), TARN_OK);
        assert_int_equal(refusals.count, 0);
        assert_int_equal(tarn_tank_step(made->tank, &input), TARN_OK);
        made->step++;
    }
}

static void count_aside(void *user, bool begins)
{
    uint32_t *asides = user;
    assert_int_equal(begins, *asides == 0);
    ++*asides;
}

/// Makes a tank from another as it stands.
static void take(const made_tank *from, const tarn_probe_spec *probes, uint32_t probe_count, made_tank *to)
{
    char why[TARN_TANK_SCENE_WHY_BYTES] = "";
    uint32_t asides = 0;
    const tarn_tank_scene told = {.made_from = &from->pack,
                                  .scene = &from->scene,
                                  .tank = from->tank,
                                  .step = from->step,
                                  .probes = probes,
                                  .probe_count = probe_count,
                                  .aside = count_aside,
                                  .user = &asides};
    memset(to, 0, sizeof *to);
    if (tarn_tank_scene_write(&told, &to->pack, why) != TARN_OK) {
        fail_msg("%s", why);
    }
    assert_int_equal(asides, 2); // begun once, and ended
    make(to);
}

/// How far two tanks' liquid is apart: of the centres of mass and of how it is spread, in metres, and of the mean
/// velocity, in m/s.
static double liquid_apart(const made_tank *a, const made_tank *b)
{
    static float at_m[2][3 * PARTICLES_MAX], velocity_m_s[2][3 * PARTICLES_MAX];
    const made_tank *both[2] = {a, b};
    uint32_t counts[2];
    double apart = 0.0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tarn_tank_particles(both[i]->tank, at_m[i], velocity_m_s[i], NULL, PARTICLES_MAX, &counts[i]),
                         TARN_OK);
    }
    assert_int_equal(counts[0], counts[1]);
    for (int axis = 0; axis < 3; axis++) {
        double sum[2][3] = {{0.0}};
        for (int i = 0; i < 2; i++) {
            for (uint32_t p = 0; p < counts[i]; p++) {
                const double x = (double)at_m[i][3 * p + (uint32_t)axis];
                sum[i][0] += x / counts[i];
                sum[i][1] += x * x / counts[i];
                sum[i][2] += (double)velocity_m_s[i][3 * p + (uint32_t)axis] / counts[i];
            }
        }
        for (int k = 0; k < 3; k++) {
            apart = fmax(apart, fabs(sum[0][k] - sum[1][k]));
        }
    }
    return apart;
}

/// How far their bodies are apart: places in metres, rotations, velocities. Those of `b` are numbered in the same
/// order.
static double bodies_apart(const made_tank *a, const made_tank *b)
{
    tarn_body_state of[2][TARN_TANK_BODIES_MAX];
    const uint32_t count = tarn_tank_bodies(a->tank, of[0]);
    double apart = 0.0;
    assert_int_equal(tarn_tank_bodies(b->tank, of[1]), count);
    for (uint32_t i = 0; i < count; i++) {
        double alike = 0.0;
        for (int k = 0; k < 4; k++) {
            alike += (double)of[0][i].pose.rotation[k] * (double)of[1][i].pose.rotation[k];
        }
        apart = fmax(apart, 1.0 - fabs(alike));
        for (int k = 0; k < 3; k++) {
            apart = fmax(apart, fabs((double)(of[0][i].pose.position_m[k] - of[1][i].pose.position_m[k])));
            apart = fmax(apart, fabs((double)(of[0][i].velocity_m_s[k] - of[1][i].velocity_m_s[k])));
            apart = fmax(apart,
                         0.1 * fabs((double)(of[0][i].angular_velocity_rad_s[k] - of[1][i].angular_velocity_rad_s[k])));
        }
    }
    return apart;
}

static const tarn_solid ball = {.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.08f}},
                                .pose = {{0.9f, 0.7f, 0.5f}, {0.0f, 0.0f, 0.0f, 1.0f}},
                                .motion = TARN_MOTION_FREE,
                                .density_kg_m3 = 400.0f,
                                .velocity_m_s = {-1.0f, 0.5f, 0.2f},
                                .colour = {1, 2, 3}};
static const tarn_solid wall = {.shape = {.kind = TARN_SHAPE_CAPSULE, .half_m = {0.05f, 0.2f}},
                                .pose = {{0.3f, 0.3f, 0.3f}, {0.0f, 0.6f, 0.0f, 0.8f}},
                                .colour = {200, 100, 0}};

static void test_what_was_built_is_there_again_and_goes_on(void **state)
{
    (void)state;
    made_tank a, b;
    make_file(&a, TARN_TEST_SHIPPED "/floating-ducks.json");
    const int gravity = tarn_model_parameter_find(tarn_tank_model(a.tank), "gravity_m_s2");
    const int cfl = tarn_model_parameter_find(tarn_tank_model(a.tank), "cfl");
    assert_true(gravity >= 0 && cfl >= 0);
    tarn_step_input input = {
        .parameter_count = 2, .throw_count = 2, .wall_count = 1, .walls = {wall}, .throws = {ball}};
    input.parameters[0] = (tarn_parameter_change){(uint32_t)gravity, 4.5f};
    input.parameters[1] = (tarn_parameter_change){(uint32_t)cfl, 2.25f};
    input.throws[1] = a.scene.tank.solids[0]; // a duck, which has its form from a file
    input.throws[1].pose = (tarn_pose){{0.4f, 0.8f, 0.6f}, {0.0f, 0.0f, 0.0f, 1.0f}};
    input.throws[1].motion = TARN_MOTION_FREE;
    step(&a, 20, NULL);
    step(&a, 20, &input);
    const tarn_probe_spec probes[2] = {{.shows = TARN_SHOWS_PRESSURE, .at_m = {0.5, 0.1, 0.5}},
                                       {.shows = TARN_SHOWS_FORCE, .has_solid = true, .solid = TARN_TANK_THROWN_FIRST}};
    take(&a, probes, 2, &b);
    assert_int_equal(b.scene.tank.solid_count, a.scene.tank.solid_count + 3);
    assert_int_equal(b.scene.probe_count, a.scene.probe_count + 2);
    assert_int_equal(b.scene.probes[b.scene.probe_count - 1].solid, a.scene.tank.solid_count);
    const tarn_solid *piece = &b.scene.tank.solids[b.scene.tank.solid_count - 1];
    assert_memory_equal(&piece->shape.half_m, &wall.shape.half_m, 2 * sizeof(float));
    assert_memory_equal(&piece->pose, &wall.pose, sizeof wall.pose);
    assert_memory_equal(piece->colour, wall.colour, 3);
    assert_true(tarn_tank_parameter(b.tank, (uint32_t)gravity) == 4.5f);
    assert_true(tarn_tank_parameter(b.tank, (uint32_t)cfl) == 2.25f);
    assert_int_equal(tarn_tank_particles_max(b.tank), tarn_tank_particles_max(a.tank));
    assert_true(liquid_apart(&a, &b) < 1e-5);
    assert_true(bodies_apart(&a, &b) < 1e-5);
    step(&a, 6, NULL);
    step(&b, 6, NULL);
    assert_true(liquid_apart(&a, &b) < 5e-3);
    assert_true(bodies_apart(&a, &b) < 5e-2);

    made_tank c; // and once more, from there
    take(&b, NULL, 0, &c);
    assert_int_equal(tarn_scene_pack_count(&c.pack), tarn_scene_pack_count(&b.pack));
    assert_int_equal(c.scene.tank.solid_count, b.scene.tank.solid_count);
    assert_true(liquid_apart(&b, &c) < 1e-5);
    assert_true(bodies_apart(&b, &c) < 1e-5);
    unmake(&a);
    unmake(&b);
    unmake(&c);
}

/// Liquids, their dyes, taps with times and a body that goes round.
static const char busy[] =
    "{\"size_m\": [1, 1, 1], \"cell_m\": 0.0625, \"particles_max\": 30000, \"gravity_m_s2\": [0, -4, 3],"
    "\"liquids\": [{\"name\": \"water\"}, {\"name\": \"oil\", \"density_kg_m3\": 800}],"
    "\"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [1, 0.25, 1]},"
    "{\"min_m\": [0, 0.25, 0], \"max_m\": [1, 0.375, 1], \"liquid\": \"oil\", \"colour\": \"#ff0000\"}],"
    "\"emitters\": [{\"shape\": {\"box\": {\"size_m\": [0.2, 0.1, 0.2]}}, \"position_m\": [0.2, 0.9, 0.2],"
    "\"velocity_m_s\": [0, -1, 0], \"end_s\": 0.2},"
    "{\"shape\": {\"box\": {\"size_m\": [0.2, 0.1, 0.2]}}, \"position_m\": [0.8, 0.9, 0.8],"
    "\"velocity_m_s\": [0, -1, 0], \"start_s\": 0.1, \"end_s\": 5}],"
    "\"solids\": [{\"shape\": {\"box\": {\"size_m\": [0.5, 0.1, 0.1]}}, \"motion\": \"keyframes\", \"loop\": true,"
    "\"keyframes\": [{\"time_s\": 0, \"position_m\": [0.5, 0.3, 0.5]},"
    "{\"time_s\": 0.5, \"position_m\": [0.5, 0.4, 0.5], \"rotation_deg\": [0, 90, 0]},"
    "{\"time_s\": 1, \"position_m\": [0.5, 0.3, 0.5], \"rotation_deg\": [0, 360, 0]}]},"
    "{\"shape\": {\"box\": {\"size_m\": [0.1, 0.1, 0.1]}}, \"motion\": \"keyframes\","
    "\"keyframes\": [{\"time_s\": 0.2, \"position_m\": [0.2, 0.7, 0.8]},"
    "{\"time_s\": 0.6, \"position_m\": [0.8, 0.7, 0.8], \"rotation\": [0, 0.6, 0, 0.8]}]}],"
    "\"tank_motion\": {\"keyframes\": [{\"time_s\": 0}, {\"time_s\": 1, \"rotation_deg\": [0, 0, 10]}]}}";

static void test_times_go_on_where_they_are(void **state)
{
    (void)state;
    made_tank a, b;
    make_text(&a, busy);
    const uint32_t steps[] = {7, 23, 30, 45};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        step(&a, steps[i], NULL);
        take(&a, NULL, 0, &b);
        assert_int_equal(b.scene.tank.emitter_count, a.step * (double)a.scene.tank.dt_s < 0.2 ? 2 : 1);
        assert_int_equal(b.scene.tank.liquid_count, 2);
        assert_true(tarn_tank_has_colours(b.tank));
        assert_true(liquid_apart(&a, &b) < 1e-5);
        tarn_pose poses[2];
        tarn_tank_pose(a.tank, &poses[0]);
        tarn_tank_pose(b.tank, &poses[1]);
        for (int k = 0; k < 4; k++) {
            assert_true(fabsf(poses[0].rotation[k] - poses[1].rotation[k]) < 3e-3f); // it lags behind its key frames
        }
        step(&a, 12, NULL);
        step(&b, 12, NULL);
        assert_true(bodies_apart(&a, &b) < 2e-2);
        unmake(&b);
    }
    unmake(&a);
}

static void test_a_tank_that_a_hand_has_turned_stays_so(void **state)
{
    (void)state;
    made_tank a, b;
    make_text(&a, busy);
    const tarn_step_input turned = {
        .poser = TARN_STEP_POSER_HAND,
        .pose = {{0.1f, 0.0f, -0.2f}, {0.182574186f, 0.365148372f, 0.182574186f, 0.894427191f}}};
    step(&a, 1, &turned);
    step(&a, 60, NULL);
    take(&a, NULL, 0, &b);
    tarn_pose poses[2];
    tarn_tank_pose(a.tank, &poses[0]);
    tarn_tank_pose(b.tank, &poses[1]);
    assert_int_equal(b.scene.tank_motion.keyframe_count, 1);
    for (int k = 0; k < 4; k++) {
        assert_true(fabsf(poses[0].rotation[k] - poses[1].rotation[k]) < 1e-5f);
    }
    for (int k = 0; k < 3; k++) {
        assert_true(fabsf(poses[0].position_m[k] - poses[1].position_m[k]) < 1e-5f);
    }
    unmake(&a);
    unmake(&b);
}

static void test_what_no_scene_can_tell_is_refused(void **state)
{
    (void)state;
    made_tank a;
    tarn_scene_pack pack = {0};
    char why[TARN_TANK_SCENE_WHY_BYTES] = "";
    make_file(&a, TARN_TEST_SHIPPED "/candles.json");
    const tarn_tank_scene told = {.made_from = &a.pack, .scene = &a.scene, .tank = a.tank};
    assert_int_equal(tarn_tank_scene_write(&told, &pack, why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "a tank of smoke"));
    tarn_scene_pack_free(&pack);
    unmake(&a);
}

static void test_an_empty_tank_is_one_again(void **state)
{
    (void)state;
    made_tank a, b;
    make_text(&a, "{\"size_m\": [1, 1, 1], \"cell_m\": 0.125, \"particles_max\": 9000, \"emitters\": [{\"shape\": "
                  "{\"sphere\": {\"radius_m\": 0.2}}, \"position_m\": [0.5, 0.5, 0.5], \"velocity_m_s\": [0, 1, 0],"
                  "\"start_s\": 100}]}");
    step(&a, 2, NULL);
    take(&a, NULL, 0, &b);
    tarn_tank_report report;
    tarn_tank_report_light(b.tank, &report);
    assert_int_equal(report.particle_count, 0);
    step(&b, 2, NULL);
    unmake(&a);
    unmake(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_built_is_there_again_and_goes_on),
        cmocka_unit_test(test_times_go_on_where_they_are),
        cmocka_unit_test(test_a_tank_that_a_hand_has_turned_stays_so),
        cmocka_unit_test(test_what_no_scene_can_tell_is_refused),
        cmocka_unit_test(test_an_empty_tank_is_one_again),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
