// Motion fields: what people in front of a camera do to liquid, smoke and vortons, in any rectangle, on every device
// the same; and which fields are refused.
#include "tests/tank/plain_tank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/step_input.h"
#include "protocol/motion_code.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 24, COLUMNS = 12, ROWS = 8, PARTICLES_MAX = 200000 };

#define SIDE_M 1.2f
#define CELL_M (SIDE_M / CELLS)

/// A tank without gravity, full of what a model has in the middle.
static tarn_tank_desc still_desc(uint32_t model, bool is_flat)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default_of(&desc, tarn_model_at(model));
    desc.cells[0] = desc.cells[1] = CELLS;
    desc.cells[2] = is_flat ? 1 : CELLS;
    desc.cell_m = CELL_M;
    const int gravity = tarn_model_parameter_find(tarn_model_at(model), "gravity_m_s2");
    desc.parameters[gravity] = 0.0f;
    desc.particles_max = PARTICLES_MAX;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {SIDE_M, SIDE_M, (float)desc.cells[2] * CELL_M}};
    for (uint32_t k = 0; k < tarn_model_at(model)->carried_count; k++) {
        desc.blocks[0].carried[k] = tarn_model_at(model)->carried[k].initial;
    }
    return desc;
}

/// A grid of motion, and its code.
typedef struct people {
    uint8_t planes[TARN_MOTION_PLANES][ROWS * COLUMNS];
    uint8_t code[TARN_MOTION_CODE_BYTES_MAX];
} people;

/// Somebody in some columns and all rows, with a velocity in bytes.
static void stand(people *p, int first, int end, int along, int up, int front)
{
    const int velocity[3] = {along, up, front};
    memset(p, 0, sizeof *p);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        if (i % COLUMNS >= first && i % COLUMNS < end) {
            p->planes[0][i] = 255;
            for (int c = 0; c < 3; c++) {
                p->planes[c + 1][i] = (uint8_t)velocity[c];
            }
        }
    }
}

/// A field over a rectangle.
static tarn_motion_field field_of(people *p, const float *corner, const float *across, const float *up)
{
    tarn_motion_field field = {.speed_m_s = 1.27f, .strength = 1.0f, .columns = COLUMNS, .rows = ROWS};
    memcpy(field.corner_m, corner, sizeof field.corner_m);
    memcpy(field.across_m, across, sizeof field.across_m);
    memcpy(field.up_m, up, sizeof field.up_m);
    field.cell_bytes =
        (uint32_t)tarn_motion_encode(p->planes[0], sizeof p->planes, p->code, TARN_MOTION_CODE_BYTES_MAX);
    field.cells = p->code;
    return field;
}

static const float FRONT_CORNER[3] = {0.0f, 0.0f, SIDE_M}, FRONT_ACROSS[3] = {SIDE_M, 0.0f, 0.0f},
                   FRONT_UP[3] = {0.0f, SIDE_M, 0.0f};

static void act(tarn_tank *tank, const tarn_motion_field *field, int count)
{
    tarn_step_input input = {.motion_field_count = 1};
    tarn_step_refusals refusals;
    input.motion_fields[0] = *field;
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
    }
}

/// Mean velocity of the particles in a box, m/s.
static void mean_velocity(tarn_tank *tank, const float *min, const float *max, double *mean)
{
    static float at[3 * PARTICLES_MAX], speed[3 * PARTICLES_MAX];
    uint32_t count, inside = 0;
    assert_int_equal(tarn_tank_particles(tank, at, speed, NULL, PARTICLES_MAX, &count), TARN_OK);
    mean[0] = mean[1] = mean[2] = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const float *p = at + 3 * (size_t)i, *v = speed + 3 * (size_t)i;
        if (p[0] >= min[0] && p[0] < max[0] && p[1] >= min[1] && p[1] < max[1] && p[2] >= min[2] && p[2] < max[2]) {
            inside++;
            for (int a = 0; a < 3; a++) {
                mean[a] += (double)v[a];
            }
        }
    }
    assert_true(inside > 100);
    for (int a = 0; a < 3; a++) {
        mean[a] /= inside;
    }
}

/// Somebody in the right half of the picture goes up: there it goes up, and comes down in the left half.
static void what_is_behind_who_moves_goes_along(void **state)
{
    (void)state;
    for (uint32_t model = 0; model < tarn_model_count(); model++) {
        for (int flat = 0; flat < (model == 2 ? 1 : 2); flat++) { // vortons have no flat tanks
            tarn_device *device = plain_tank_device(1, NULL);
            const tarn_tank_desc desc = still_desc(model, flat);
            tarn_tank *tank = plain_tank_open(device, &desc);
            people p;
            stand(&p, COLUMNS / 2, COLUMNS, 0, 60, 0); // 0.6 m/s
            float corner[3] = {0.0f, 0.0f, (float)desc.cells[2] * CELL_M};
            tarn_motion_field field = field_of(&p, corner, FRONT_ACROSS, FRONT_UP);
            field.strength = 0.3f;
            act(tank, &field, 10);
            double right[3], left[3];
            const float end = (float)desc.cells[2] * CELL_M;
            mean_velocity(tank, (const float[]){0.7f, 0.4f, 0.0f}, (const float[]){1.1f, 0.8f, end}, right);
            mean_velocity(tank, (const float[]){0.1f, 0.4f, 0.0f}, (const float[]){0.5f, 0.8f, end}, left);
            if (right[1] < 0.15 || left[1] > -0.1 || fabs(right[0]) > 0.3 * right[1] ||
                fabs(right[2]) > 0.1 * right[1]) {
                fail_msg("model %u, flat %d: right %g %g %g, left %g %g %g m/s", model, flat, right[0], right[1],
                         right[2], left[0], left[1], left[2]);
            }
            tarn_tank_destroy(tank);
            tarn_device_destroy(device);
        }
    }
}

/// The same person in rectangles that are turned: what comes of it is turned in the same way.
static void the_rectangle_says_which_way(void **state)
{
    (void)state;
    static const struct {
        float corner[3], across[3], up[3];
        int axis; ///< that the columns lie along
        float sign;
        int up_axis, front_axis;
        float front_sign;
    } cases[] = {
        {{0, 0, SIDE_M}, {SIDE_M, 0, 0}, {0, SIDE_M, 0}, 0, 1.0f, 1, 2, 1.0f},
        {{SIDE_M, 0, 0}, {-SIDE_M, 0, 0}, {0, SIDE_M, 0}, 0, -1.0f, 1, 2, -1.0f},     // from behind
        {{SIDE_M, 0, SIDE_M}, {0, 0, -SIDE_M}, {0, SIDE_M, 0}, 2, -1.0f, 1, 0, 1.0f}, // from the right
        {{0, SIDE_M, 0}, {SIDE_M, 0, 0}, {0, 0, SIDE_M}, 0, 1.0f, 2, 1, -1.0f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int c = 0; c < 3; c++) {
            tarn_device *device = plain_tank_device(1, NULL);
            const tarn_tank_desc desc = still_desc(1, false);
            tarn_tank *tank = plain_tank_open(device, &desc);
            people p;
            stand(&p, 4, 8, c == 0 ? 60 : 0, c == 1 ? 60 : 0, c == 2 ? 60 : 0);
            for (int k = 0; k < ROWS * COLUMNS; k++) { // in the middle rows only
                p.planes[0][k] = k / COLUMNS >= 3 && k / COLUMNS < 5 ? 255 : 0;
            }
            tarn_motion_field field = field_of(&p, cases[i].corner, cases[i].across, cases[i].up);
            act(tank, &field, 2);
            double mean[3];
            mean_velocity(tank, (const float[]){0.5f, 0.5f, 0.5f}, (const float[]){0.7f, 0.7f, 0.7f}, mean);
            const int axis = c == 0 ? cases[i].axis : c == 1 ? cases[i].up_axis : cases[i].front_axis;
            const double sign = c == 0 ? (double)cases[i].sign : c == 1 ? 1.0 : (double)cases[i].front_sign;
            // A whole beam along an axis that ends at walls is stopped by them: only what has room moves far.
            if (sign * mean[axis] < 0.02 || fabs(mean[(axis + 1) % 3]) > 0.2 * fabs(mean[axis]) ||
                fabs(mean[(axis + 2) % 3]) > 0.2 * fabs(mean[axis])) {
                fail_msg("rectangle %zu, component %d: %g %g %g m/s", i, c, mean[0], mean[1], mean[2]);
            }
            tarn_tank_destroy(tank);
            tarn_device_destroy(device);
        }
    }
}

/// A slab reaches as far as it says, on both sides.
static void depth_bounds_what_acts(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = still_desc(0, false);
    tarn_tank *tank = plain_tank_open(device, &desc);
    people p;
    stand(&p, COLUMNS / 2, COLUMNS, 0, 60, 0);
    tarn_motion_field field = field_of(&p, (const float[]){0.0f, 0.0f, 0.6f}, FRONT_ACROSS, FRONT_UP);
    field.depth_m = 0.19f; // its ends lie between faces
    act(tank, &field, 3);
    double slab[3], front[3], behind[3];
    mean_velocity(tank, (const float[]){0.7f, 0.4f, 0.45f}, (const float[]){1.1f, 0.8f, 0.75f}, slab);
    mean_velocity(tank, (const float[]){0.7f, 0.4f, 0.95f}, (const float[]){1.1f, 0.8f, 1.2f}, front);
    mean_velocity(tank, (const float[]){0.7f, 0.4f, 0.0f}, (const float[]){1.1f, 0.8f, 0.25f}, behind);
    // Before and behind the slab it comes back, on both sides alike.
    if (slab[1] < 0.1 || front[1] > 0.0 || behind[1] > 0.0 || fabs(front[1] - behind[1]) > 0.02 * slab[1]) {
        fail_msg("%g m/s in the slab, %g before and %g behind it", slab[1], front[1], behind[1]);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Somebody at rest does nothing to what flows by, unless they are solid: then it stops where they stand.
static void who_rests_is_in_the_way_only_if_solid(void **state)
{
    (void)state;
    double speed[2];
    for (int solid = 0; solid < 2; solid++) {
        tarn_device *device = plain_tank_device(1, NULL);
        tarn_tank_desc desc = still_desc(1, true);
        desc.blocks[0].velocity_m_s[0] = 0.0f;
        tarn_tank *tank = plain_tank_open(device, &desc);
        people p;
        const float corner[3] = {0.0f, 0.0f, CELL_M};
        stand(&p, 0, 3, 0, 100, 0); // first somebody stirs at the left
        tarn_motion_field field = field_of(&p, corner, FRONT_ACROSS, FRONT_UP);
        act(tank, &field, 20);
        stand(&p, 8, 11, 0, 0, 0); // then somebody stands at the right
        field = field_of(&p, corner, FRONT_ACROSS, FRONT_UP);
        field.solid = solid;
        act(tank, &field, 5);
        double mean[3];
        mean_velocity(tank, (const float[]){0.85f, 0.3f, 0.0f}, (const float[]){1.05f, 0.9f, CELL_M}, mean);
        speed[solid] = sqrt(mean[0] * mean[0] + mean[1] * mean[1]);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    if (speed[0] < 0.02 || speed[1] > 0.2 * speed[0]) {
        fail_msg("%g m/s around who isn't solid, %g m/s in who is", speed[0], speed[1]);
    }
}

/// Speeds beyond what people may give are cut to that.
static void speed_is_limited(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = still_desc(0, true);
    tarn_tank *tank = plain_tank_open(device, &desc);
    people p;
    const float corner[3] = {0.0f, 0.0f, CELL_M};
    stand(&p, COLUMNS / 2, COLUMNS, 0, 127, 0);
    tarn_motion_field field = field_of(&p, corner, FRONT_ACROSS, FRONT_UP);
    field.speed_m_s = 1000.0f;
    act(tank, &field, 5);
    assert_true(plain_tank_report(tank).speed_max_m_s < 4.0f * TARN_TANK_PUSH_SPEED_MAX_M_S);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// What doesn't reach the tank asks for no substeps; what does, does.
static void what_lies_beside_the_tank_costs_no_substeps(void **state)
{
    (void)state;
    uint32_t substeps[2];
    for (int is_inside = 0; is_inside < 2; is_inside++) {
        tarn_device *device = plain_tank_device(1, NULL);
        tarn_tank_desc desc = still_desc(0, true);
        tarn_tank *tank = plain_tank_open(device, &desc);
        people p;
        const float corner[3] = {is_inside ? 0.0f : 2.0f * SIDE_M, 0.0f, CELL_M};
        stand(&p, 0, COLUMNS, 127, 0, 0);
        tarn_motion_field field = field_of(&p, corner, FRONT_ACROSS, FRONT_UP);
        field.speed_m_s = 1000.0f;
        act(tank, &field, 2);
        substeps[is_inside] = plain_tank_report(tank).substeps;
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    assert_int_equal(substeps[0], 1);
    assert_true(substeps[1] > 1);
}

/// A log of it replays, whatever the threads.
static void bytes_and_threads_change_nothing(void **state)
{
    (void)state;
    static uint8_t bytes[TARN_STEP_INPUT_BYTES_MAX];
    tarn_tank_hash hash[3];
    for (int run = 0; run < 3; run++) {
        tarn_device *device = plain_tank_device(run == 1 ? 3 : 1, NULL);
        const tarn_tank_desc desc = still_desc(0, false);
        tarn_tank *tank = plain_tank_open(device, &desc);
        for (int step = 0; step < 12; step++) {
            people p[2];
            tarn_step_input input = {.motion_field_count = 2}, read;
            stand(&p[0], step / 2, step / 2 + 3, 50, step * 5, -30);
            stand(&p[1], 3, 9, 0, 0, 0);
            input.motion_fields[0] = field_of(&p[0], FRONT_CORNER, FRONT_ACROSS, FRONT_UP);
            input.motion_fields[1] = field_of(&p[1], (const float[]){0.1f, 0.2f, 0.3f},
                                              (const float[]){0.8f, 0.1f, 0.2f}, (const float[]){0.0f, 0.5f, 0.1f});
            input.motion_fields[1].solid = true;
            input.motion_fields[1].depth_m = 0.1f;
            if (run == 2) {
                const size_t count = tarn_step_input_write(&input, bytes, sizeof bytes);
                assert_int_equal(tarn_step_input_read(bytes, count, &read), TARN_OK);
                input = read;
            }
            assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
        }
        hash[run] = plain_tank_hash(tank);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
    assert_memory_equal(&hash[0], &hash[2], sizeof hash[0]);
}

static void expect_refusal(tarn_tank *tank, const tarn_motion_field *field, const char *words)
{
    tarn_step_input input = {.motion_field_count = 1};
    tarn_step_refusals refusals;
    input.motion_fields[0] = *field;
    const tarn_tank_hash before = plain_tank_hash(tank);
    assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_E_ARGUMENT);
    if (strstr(refusals.why, words) == NULL) {
        fail_msg("\"%s\" doesn't say \"%s\"", refusals.why, words);
    }
    assert_int_equal(tarn_tank_step(tank, &input), TARN_E_ARGUMENT);
    const tarn_tank_hash after = plain_tank_hash(tank);
    assert_memory_equal(&before, &after, sizeof before);
}

static void wrong_fields_are_refused_with_a_sentence(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = still_desc(1, true);
    tarn_tank *tank = plain_tank_open(device, &desc);
    people p;
    stand(&p, 0, 3, 10, 20, 30);
    const tarn_motion_field sound = field_of(&p, FRONT_CORNER, FRONT_ACROSS, FRONT_UP);
    tarn_motion_field field = sound;
    field.rows = TARN_MOTION_ROWS_MAX + 1;
    expect_refusal(tank, &field, "121");
    field = sound;
    field.columns = 0;
    expect_refusal(tank, &field, "0 x 8");
    field = sound;
    field.columns = COLUMNS + 1;
    expect_refusal(tank, &field, "cells");
    field = sound;
    field.cells = NULL;
    expect_refusal(tank, &field, "cells");
    field = sound;
    field.corner_m[1] = NAN;
    expect_refusal(tank, &field, "rectangle");
    field = sound;
    memcpy(field.up_m, field.across_m, sizeof field.up_m);
    expect_refusal(tank, &field, "rectangle");
    field = sound;
    field.strength = 1.5f;
    expect_refusal(tank, &field, "strength 1.5");
    field = sound;
    field.speed_m_s = INFINITY;
    expect_refusal(tank, &field, "speed");
    field = sound;
    field.depth_m = -1.0f;
    expect_refusal(tank, &field, "depth -1");
    tarn_step_input input = {.holds = true, .motion_field_count = 1};
    input.motion_fields[0] = sound;
    tarn_step_refusals refusals;
    assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_E_ARGUMENT);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_behind_who_moves_goes_along),
        cmocka_unit_test(the_rectangle_says_which_way),
        cmocka_unit_test(depth_bounds_what_acts),
        cmocka_unit_test(who_rests_is_in_the_way_only_if_solid),
        cmocka_unit_test(speed_is_limited),
        cmocka_unit_test(what_lies_beside_the_tank_costs_no_substeps),
        cmocka_unit_test(bytes_and_threads_change_nothing),
        cmocka_unit_test(wrong_fields_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
