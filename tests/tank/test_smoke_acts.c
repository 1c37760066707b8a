// What people and bodies do in a tank of smoke.
#include "tests/tank/smoke_tank.h"

#include <cmocka.h> // needs that above

#include "kernels/step_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Particles whose place along an axis, in cells, is in a range.
static uint32_t count_between(const tarn_tank *tank, int axis, float from, float to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const float at = (float)tank->args->store.position[axis][i] / (1 << POSITION_BITS);
        count += at >= from && at < to;
    }
    return count;
}

/// A cloud at rest that nothing lifts, in the middle.
static tarn_tank_desc cloud_desc(void)
{
    tarn_tank_desc desc = smoke_desc(40, 40, 40);
    desc.parameters[TARN_SMOKE_GRAVITY] = 0.0f;
    desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = 0.0f;
    desc.particles_max = 40000;
    put_block(&desc, (const float[]){14, 14, 14}, (const float[]){26, 26, 26}, 0.0f);
    return desc;
}

static void act(tarn_tank *tank, const tarn_step_input *input, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_step(tank, input), TARN_OK);
    }
}

/// Mean over the cloud of (r x way) about y, and of the way along x, in cells.
static void ways(const tarn_tank *tank, const tarn_tank_desc *desc, double *turn, double *along)
{
    static float at[3 * 40000];
    static float speed[3 * 40000];
    uint32_t count;
    assert_int_equal(tarn_tank_particles((tarn_tank *)tank, at, speed, NULL, 40000, &count), TARN_OK);
    *turn = *along = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const double middle = 20.0 * (double)desc->cell_m;
        *turn += (((double)at[3 * i + 2] - middle) * (double)speed[3 * i] -
                  ((double)at[3 * i] - middle) * (double)speed[3 * i + 2]) /
                 count;
        *along += (double)speed[3 * i] / count;
    }
}

static void pushes_and_vortices_move_the_air(void **state)
{
    (void)state;
    const tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    for (int spins = 0; spins < 2; spins++) {
        tarn_device *device;
        double turn, along;
        tarn_tank *tank = open_tank(1, &desc, &device);
        tarn_step_input input = {
            .push_count = 1, .pushes = {{.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 8 * c, .strength = 1.0f}}};
        input.pushes[0].velocity_m_s[0] = spins ? 0.0f : 0.5f;
        input.pushes[0].spin_rad_s[1] = spins ? 5.0f : 0.0f;
        act(tank, &input, 6);
        ways(tank, &desc, &turn, &along);
        const double turned = 5.0 * pow(8.0 * (double)c, 2.0);
        assert_true(spins ? turn > 0.05 * turned && fabs(along) < 0.01 : along > 0.1 && fabs(turn) < 0.02 * turned);
        close_tank(tank, device);
    }
}

static void a_pour_is_coloured_smoke_and_dye_colours(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    tarn_tank *tank = open_tank(1, &desc, &device);
    const uint32_t before = tank->particle_count;
    const tarn_step_input pour = {.tools = {.pour_count = 1,
                                            .pours = {{.center_m = {20 * c, 6 * c, 20 * c},
                                                       .radius_m = 3 * c,
                                                       .velocity_m_s = {0.0f, 1.0f, 0.0f},
                                                       .colour = {250, 10, 20, 255}}}}};
    act(tank, &pour, 20);
    assert_true(tank->particle_count > before + 500);
    const float *heat = tank->args->store.carried[TARN_SMOKE_HEAT],
                *smoke = tank->args->store.carried[TARN_SMOKE_SMOKE];
    uint32_t warm = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        warm += heat[i] > 1.0f && smoke[i] > 0.5f; // the cloud has none
    }
    assert_int_equal(warm, tank->particle_count - before);
    const tarn_step_input dye = {
        .tools = {
            .dye_count = 1,
            .dyes = {
                {.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 5 * c, .colour = {10, 240, 30}, .share = 1.0f}}}};
    act(tank, &dye, 2);
    uint8_t *colours = malloc(3u * tank->particle_count);
    uint32_t count, red = 0, green = 0;
    assert_non_null(colours);
    assert_int_equal(tarn_tank_particle_colours(tank, NULL, colours, tank->particle_count, &count), TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        red += colours[3 * i] > 200 && colours[3 * i + 1] < 60;
        green += colours[3 * i + 1] > 200 && colours[3 * i] < 60;
    }
    assert_true(red > 500 && green > 2000 && green < before);
    free(colours);
    close_tank(tank, device);
}

/// Mean distance of the particles from the middle, cells.
static double mean_distance(const tarn_tank *tank)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        double square = 0.0;
        for (int a = 0; a < 3; a++) {
            const double d = (double)tank->args->store.position[a][i] / (1 << POSITION_BITS) - 20.0;
            square += d * d;
        }
        sum += sqrt(square);
    }
    return sum / tank->particle_count;
}

/// A drain takes what is in it at once, and goes on to draw in what is around it.
static void a_drain_sucks_smoke_in(void **state)
{
    (void)state;
    tarn_device *device;
    const tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    tarn_tank *tank = open_tank(1, &desc, &device);
    const uint32_t before = tank->particle_count;
    const tarn_step_input drain = {
        .tools = {.sink_count = 1, .sinks = {{.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 3 * c}}}};
    act(tank, &drain, 1);
    const double ball = 4.0 / 3.0 * 3.14159 * 27.0 * 8.0;
    assert_true(before - tank->particle_count < 2.0 * ball);
    act(tank, &drain, 29);
    assert_true(before - tank->particle_count > 4.0 * ball);
    close_tank(tank, device);
}

static void a_pull_gathers_smoke(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        tarn_device *device;
        const tarn_tank_desc desc = cloud_desc();
        const float c = desc.cell_m;
        tarn_tank *tank = open_tank(1, &desc, &device);
        const double before = mean_distance(tank);
        const tarn_step_input pull = {.push_count = 1,
                                      .pushes = {{.center_m = {20 * c, 20 * c, 20 * c},
                                                  .radius_m = 12 * c,
                                                  .strength = 1.0f,
                                                  .inward_m_s = away ? -0.3f : 0.3f}}};
        act(tank, &pull, 10);
        const double change = mean_distance(tank) - before;
        assert_true(away ? change > 0.5 : change < -0.5);
        close_tank(tank, device);
    }
}

/// One that takes half of the difference in a step, in one substep and in four.
static void a_pull_is_as_strong_in_substeps(void **state)
{
    (void)state;
    double change[2];
    for (int cut = 0; cut < 2; cut++) {
        tarn_device *device;
        tarn_tank_desc desc = cloud_desc();
        desc.parameters[TARN_SMOKE_CFL] = cut ? 0.5f : 2.9f;
        const float c = desc.cell_m;
        tarn_tank *tank = open_tank(1, &desc, &device);
        const tarn_step_input pull = {.push_count = 1,
                                      .pushes = {{.center_m = {20 * c, 20 * c, 20 * c},
                                                  .radius_m = 16 * c,
                                                  .strength = 0.5f,
                                                  .inward_m_s = 3.8f * c / desc.dt_s}}};
        const double before = mean_distance(tank);
        act(tank, &pull, 1);
        assert_int_equal(tank->grid.substeps, cut ? 4 : 1);
        change[cut] = mean_distance(tank) - before;
        close_tank(tank, device);
    }
    assert_true(change[0] < -0.5 && fabs(change[1] / change[0] - 1.0) < 0.1);
}

/// Of the air, along an axis, cells per step.
static double fastest(const tarn_tank *tank)
{
    double most = 0.0;
    for (size_t i = 0; i < 3 * (size_t)tank->counters.grid.active * TILE_CELLS; i++) {
        const size_t cells = (size_t)tank->counters.grid.active * TILE_CELLS;
        most = fmax(most, fabs((double)tank->args->store.kept[i / cells][i % cells]));
    }
    return most;
}

/// As many pulls and sinks in one place as there may be. They draw with more than air can be carried, were they added.
static void pulls_together_stay_in_hand(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = cloud_desc();
    const float c = desc.cell_m;
    desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
    tarn_tank *tank = open_tank(1, &desc, &device);
    static tarn_step_input all;
    all.push_count = TARN_TANK_PUSHES_MAX;
    for (int i = 0; i < TARN_TANK_PUSHES_MAX; i++) {
        all.pushes[i] = (tarn_push){.center_m = {20 * c, 20 * c, 20 * c},
                                    .radius_m = 12 * c,
                                    .strength = 1.0f,
                                    .inward_m_s = TARN_TANK_PUSH_SPEED_MAX_M_S};
    }
    all.tools.sink_count = TARN_TANK_SINKS_MAX;
    for (int i = 0; i < TARN_TANK_SINKS_MAX; i++) {
        all.tools.sinks[i] = (tarn_sink){.center_m = {20 * c, 20 * c, 20 * c}, .radius_m = 3 * c};
    }
    double drawn = 0.0;
    for (int i = 0; i < 5; i++) {
        act(tank, &all, 1);
        drawn = (double)REACH_CELLS * tank->grid.substeps;
        assert_true(fastest(tank) > 0.5 * drawn && fastest(tank) < 1.5 * drawn);
    }
    steps(tank, 2);
    assert_true(fastest(tank) < 0.3 * drawn); // most of it was taken away again
    assert_int_equal(plain_tank_report(tank).unconverged, 0);
    close_tank(tank, device);
}

/// A wall in the way of rising smoke, and none.
static void a_wall_keeps_smoke_out(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        tarn_device *device;
        tarn_tank_desc desc = smoke_desc(32, 48, 32);
        const float c = desc.cell_m;
        desc.parameters[TARN_SMOKE_COOLING] = desc.parameters[TARN_SMOKE_FADING] = 0.0f;
        put_block(&desc, (const float[]){10, 4, 10}, (const float[]){22, 14, 22}, 200.0f);
        tarn_tank *tank = open_tank(1, &desc, &device);
        tarn_step_input build = {
            .wall_count = (uint32_t)is_there,
            .walls = {{.shape = {.kind = TARN_SHAPE_BOX, .half_m = {15.9f * c, 1.5f * c, 15.9f * c}},
                       .pose = {{16 * c, 24 * c, 16 * c}, {0.0f, 0.0f, 0.0f, 1.0f}}}}};
        tarn_step_refusals refusals;
        assert_int_equal(tarn_tank_admit(tank, &build, &refusals), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &build), TARN_OK);
        steps(tank, 60);
        const uint32_t above = count_between(tank, 1, 26.0f, 48.0f);
        assert_true(is_there ? above == 0 : above > tank->particle_count / 4);
        close_tank(tank, device);
    }
}

/// A ball that is thrown through still air, and one on rails: the air before and behind it goes along as it does in a
/// potential flow, by (radius / distance)^3 of the ball's speed.
static void bodies_push_the_air(void **state)
{
    (void)state;
    const int radius = 5;
    for (int is_thrown = 0; is_thrown < 2; is_thrown++) {
        tarn_device *device;
        tarn_tank_desc desc = cloud_desc();
        const float c = desc.cell_m, speed = 0.25f * c / desc.dt_s;
        desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
        const tarn_solid ball = {.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {radius * c}},
                                 .pose = {{20 * c, 20 * c, 20 * c}, {0.0f, 0.0f, 0.0f, 1.0f}},
                                 .motion = is_thrown ? TARN_MOTION_FREE : TARN_MOTION_KEYFRAMES,
                                 .density_kg_m3 = 500.0f,
                                 .velocity_m_s = {is_thrown ? speed : 0.0f, 0.0f, 0.0f},
                                 .keyframe_count = is_thrown ? 0 : 2};
        desc.solids[0] = ball;
        desc.solid_count = !is_thrown;
        desc.keyframe_count = is_thrown ? 0 : 2;
        desc.keyframes[0] = (tarn_keyframe){0.0f, ball.pose};
        desc.keyframes[1] = (tarn_keyframe){1.0f, {{20 * c + speed, 20 * c, 20 * c}, {0.0f, 0.0f, 0.0f, 1.0f}}};
        tarn_tank *tank = open_tank(1, &desc, &device);
        tarn_step_input throws = {.throw_count = (uint32_t)is_thrown, .throws = {ball}};
        tarn_step_refusals refusals;
        assert_int_equal(tarn_tank_admit(tank, &throws, &refusals), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &throws), TARN_OK);
        for (int side = -1; side <= 1; side += 2) {
            double found = 0.0, wanted = 0.0;
            for (int way = 7; way <= 11; way++) {
                const int x = 20 + side * way;
                for (int around = 0; around < 4; around++) {
                    found += 0.25 * (double)*face_of(tank, 0, x, 19 + (around & 1), 19 + (around >> 1));
                }
                wanted += 0.25 * pow((double)radius / way, 3.0);
            }
            assert_true(fabs(found / wanted - 1.0) < 0.15);
        }
        close_tank(tank, device);
    }
}

/// A vortex keeps its speed by itself: in a flat tank nothing but the grid's own viscosity slows it.
static void stirred_air_costs_what_it_did_within_seconds(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_tank_desc desc = smoke_desc(96, 96, 1);
    tarn_tank_report report;
    const float c = desc.cell_m;
    desc.parameters[TARN_SMOKE_GRAVITY] = 0.0f;
    desc.parameters[TARN_SMOKE_SUBSTEPS] = 2.0f;
    put_block(&desc, (const float[]){40, 40, 0}, (const float[]){56, 56, 1}, 0.0f);
    tarn_tank *tank = open_tank(1, &desc, &device);
    tarn_step_input stir = {.push_count = 1,
                            .pushes = {{.center_m = {48 * c, 48 * c, 0.5f * c},
                                        .radius_m = 40 * c,
                                        .strength = 1.0f,
                                        .spin_rad_s = {0.0f, 0.0f, TARN_TANK_PUSH_SPEED_MAX_M_S / (20 * c)}}}};
    act(tank, &stir, 120);
    tarn_tank_report_light(tank, &report);
    assert_int_equal(report.substeps, 2);
    act(tank, NULL, 300);
    tarn_tank_report_light(tank, &report);
    assert_int_equal(report.substeps, 1);
    close_tank(tank, device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_and_vortices_move_the_air),
        cmocka_unit_test(a_pour_is_coloured_smoke_and_dye_colours),
        cmocka_unit_test(a_drain_sucks_smoke_in),
        cmocka_unit_test(a_pull_gathers_smoke),
        cmocka_unit_test(a_pull_is_as_strong_in_substeps),
        cmocka_unit_test(pulls_together_stay_in_hand),
        cmocka_unit_test(a_wall_keeps_smoke_out),
        cmocka_unit_test(bodies_push_the_air),
        cmocka_unit_test(stirred_air_costs_what_it_did_within_seconds),
    };
    return cmocka_run_group_tests_name("smoke_acts", tests, NULL, NULL);
}
