// Motion that is found against motion that was made. For each pixel of the camera, the motion of the cell that it lies
// in is compared with the truth there:
//
//     moving  the picture's part of its velocity is 0.2 m/s or more: found within 20 degrees, or missed
//     still   it doesn't move, and neither does anything within a cell's width: nothing is found, or false motion
//
// In between a cell holds both, and either answer is right.
#include "server/tool/kinect/actor.h"
#include "server/tool/kinect/depth.h"
#include "server/tool/kinect/motion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIRST = 54, LAST = 100, CELL = 8 }; // frames that are compared: once the body is in the room

static const float moving_m_s = 0.2f, still_m_s = 0.02f;

typedef struct score {
    double moving, right, missed;   // pixels
    double moving_deep, right_deep; // the same of velocities in space
    double still, false_motion;
    double body, present, empty, ghosts;
    uint32_t people_least, people_most;
} score;

static actor_frame frame;
static uint16_t mm[ACTOR_PIXELS], table[DEPTH_RAW_VALUES];
static bool near_motion[ACTOR_PIXELS];

static float length(const float *v, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++) {
        sum += v[i] * v[i];
    }
    return sqrtf(sum);
}

/// Marks pixels that have something moving within a cell's width.
static void mark_motion(void)
{
    static bool along[ACTOR_PIXELS];
    memset(along, 0, sizeof along);
    memset(near_motion, 0, sizeof near_motion);
    for (int at = 0; at < ACTOR_PIXELS; at++) {
        const int x = at % ACTOR_WIDTH;
        if (length(frame.velocity[at], 3) > still_m_s) {
            const int from = x > CELL ? x - CELL : 0, to = x + CELL < ACTOR_WIDTH ? x + CELL : ACTOR_WIDTH - 1;
            memset(along + at - x + from, 1, (size_t)to - (size_t)from + 1);
        }
    }
    for (int y = 0; y < ACTOR_HEIGHT; y++) {
        for (int d = -CELL; d <= CELL; d++) {
            for (int x = 0; y + d >= 0 && y + d < ACTOR_HEIGHT && x < ACTOR_WIDTH; x++) {
                near_motion[y * ACTOR_WIDTH + x] |= along[(y + d) * ACTOR_WIDTH + x];
            }
        }
    }
}

static bool within_20_degrees(const float *a, const float *b, int count)
{
    float dot = 0;
    for (int i = 0; i < count; i++) {
        dot += a[i] * b[i];
    }
    return dot > 0.93969262f * length(a, count) * length(b, count);
}

static void count_frame(const motion_result *result, score *s)
{
    mark_motion();
    for (int at = 0; at < ACTOR_PIXELS; at++) {
        const size_t cell = (size_t)(at / ACTOR_WIDTH / CELL) * result->columns + (size_t)(at % ACTOR_WIDTH / CELL);
        const float *truth = frame.velocity[at], *found = result->velocity + 3 * cell;
        const bool moves = length(found, 3) > 0;
        if (length(truth, 2) >= moving_m_s) {
            s->moving++;
            s->missed += length(found, 2) == 0;
            s->right += length(found, 2) > 0 && within_20_degrees(truth, found, 2);
        }
        if (length(truth, 3) >= moving_m_s) {
            s->moving_deep++;
            s->right_deep += moves && within_20_degrees(truth, found, 3);
        }
        if (length(truth, 3) <= still_m_s && !near_motion[at]) {
            s->still++;
            s->false_motion += moves;
        }
        if (frame.person[at] != 0) {
            s->body++;
            s->present += result->presence[cell] > 0;
        } else {
            s->empty++;
            s->ghosts += result->presence[cell] > 0.5f;
        }
    }
    s->people_least = result->person_count < s->people_least ? result->person_count : s->people_least;
    s->people_most = result->person_count > s->people_most ? result->person_count : s->people_most;
}

static score play(const actor_scene *scene)
{
    motion_settings settings = motion_settings_usual;
    score s = {.people_least = UINT32_MAX};
    motion_find *find = motion_find_make(&settings);
    assert_non_null(find);
    depth_raw_table(table);
    for (uint32_t n = 0; n < LAST; n++) {
        actor_render(scene, n, &frame);
        memcpy(mm, frame.raw, sizeof mm);
        depth_raw_convert(table, mm, ACTOR_PIXELS);
        const motion_result *result = motion_find_frame(find, mm, (double)n / ACTOR_RATE);
        assert_int_equal(result->learning, n < ACTOR_RATE * 1.0 - 0.5);
        if (n >= FIRST) {
            count_frame(result, &s);
        }
    }
    motion_find_free(find);
    printf("%-9s seed %u, %.1f m: direction %6.2f %% (missed %5.2f %%), in space %6.2f %%; false motion %.3f %%; "
           "silhouette "
           "%.1f %%, beside it %.2f %%; people %u to %u\n",
           actor_act_name(scene->act), scene->seed, (double)scene->depth_m, 100 * s.right / fmax(s.moving, 1),
           100 * s.missed / fmax(s.moving, 1), 100 * s.right_deep / fmax(s.moving_deep, 1),
           100 * s.false_motion / s.still, 100 * s.present / s.body, 100 * s.ghosts / s.empty, s.people_least,
           s.people_most);
    return s;
}

static void hold_bounds(actor_act act, uint32_t seed, float depth_m)
{
    const actor_scene scene = {.act = act, .seed = seed, .depth_m = depth_m, .speed = 1, .people = 1, .noise = 1};
    const score s = play(&scene);
    if (s.moving > 0) {
        assert_true(s.moving > 50000);
        assert_true(s.right >= 0.90 * s.moving);
    }
    assert_true(s.false_motion < 0.005 * s.still);
    assert_true(s.present > 0.97 * s.body);
    assert_true(s.ghosts < 0.02 * s.empty);
    assert_int_equal(s.people_least, 1);
    assert_int_equal(s.people_most, 1);
}

static void who_stands_is_there_and_does_not_move(void **state)
{
    (void)state;
    hold_bounds(ACTOR_STILL, 1, 2.4f);
    hold_bounds(ACTOR_STILL, 2, 3.0f);
}

static void swinging_arms_have_their_direction(void **state)
{
    (void)state;
    hold_bounds(ACTOR_WAVE, 3, 2.4f);
    hold_bounds(ACTOR_WAVE, 4, 2.0f);
}

static void a_body_that_goes_aside_has_its_direction(void **state)
{
    (void)state;
    hold_bounds(ACTOR_SIDE, 5, 2.4f);
    hold_bounds(ACTOR_SIDE, 6, 3.0f);
}

static void a_body_that_sinks_and_rises_has_its_direction(void **state)
{
    (void)state;
    hold_bounds(ACTOR_BOW, 7, 2.4f);
}

static void a_body_that_walks_and_swings_has_its_directions(void **state)
{
    (void)state;
    hold_bounds(ACTOR_WALK, 8, 2.4f);
}

/// Along the axis that a camera measures worst.
static void a_body_that_comes_and_goes_has_its_direction(void **state)
{
    (void)state;
    const actor_scene scene = {.act = ACTOR_APPROACH, .seed = 9, .depth_m = 2.2f, .speed = 1, .people = 1, .noise = 1};
    const score s = play(&scene);
    assert_true(s.moving_deep > 50000);
    assert_true(s.right_deep >= 0.90 * s.moving_deep);
}

static void six_people_are_told_apart_and_a_seventh_is_left_out(void **state)
{
    (void)state;
    for (uint32_t people = 2; people <= 7; people++) {
        const actor_scene scene = {
            .act = ACTOR_CROWD, .seed = 10 + people, .depth_m = 2.8f, .speed = 1, .people = people, .noise = 1};
        const score s = play(&scene);
        const uint32_t found = people < MOTION_PEOPLE_MAX ? people : MOTION_PEOPLE_MAX;
        assert_int_equal(s.people_least, found);
        assert_int_equal(s.people_most, found);
        assert_true(s.false_motion < 0.005 * s.still);
    }
}

static void what_is_measured_nowhere_is_nobody(void **state)
{
    (void)state;
    motion_find *find = motion_find_make(&motion_settings_usual);
    assert_non_null(find);
    for (uint32_t n = 0; n < 90; n++) {
        memset(mm, n % 2 != 0 ? 0xff : 0, sizeof mm); // nothing, and farther than anything
        const motion_result *result = motion_find_frame(find, mm, (double)n / ACTOR_RATE);
        assert_int_equal(result->person_count, 0);
        for (size_t i = 0; i < (size_t)result->columns * result->rows; i++) {
            assert_true(result->presence[i] == 0 && length(result->velocity + 3 * i, 3) == 0);
        }
    }
    motion_find_free(find);
}

/// A chair that was put there, and one that was taken away.
static void furniture_becomes_ground(void **state)
{
    (void)state;
    motion_settings settings = motion_settings_usual;
    settings.rest_s = 5;
    motion_find *find = motion_find_make(&settings);
    assert_non_null(find);
    uint32_t before = 0, after = 1, gone = 1;
    for (uint32_t n = 0; n < 360; n++) {
        for (int at = 0; at < ACTOR_PIXELS; at++) {
            const int x = at % ACTOR_WIDTH, y = at / ACTOR_WIDTH;
            const bool chair = n >= 45 && n < 270 && x > 200 && x < 400 && y > 200;
            mm[at] = chair ? 2000 : 3500;
        }
        const motion_result *result = motion_find_frame(find, mm, (double)n / ACTOR_RATE);
        before = n == 100 ? result->person_count : before;
        after = n == 260 ? result->person_count : after;
        gone = n == 359 ? result->person_count : gone;
    }
    assert_int_equal(before, 1);
    assert_int_equal(after, 0);
    assert_int_equal(gone, 0);
    motion_find_free(find);
}

static void other_cameras_have_other_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{64, 64}, {320, 240}, {512, 424}, {641, 479}, {848, 480}, {1280, 1024}};
    static uint16_t pixels[1280 * 1024];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        motion_settings settings = motion_settings_usual;
        settings.width = sizes[i][0];
        settings.height = sizes[i][1];
        motion_find *find = motion_find_make(&settings);
        assert_non_null(find);
        double right = 0;
        for (uint32_t n = 0; n < 60; n++) {
            for (uint32_t at = 0; at < settings.width * settings.height; at++) {
                // A post that goes to the right by a 60th of the picture a frame.
                const float x = (float)(at % settings.width) / (float)settings.width;
                const float left = ((float)n - 35) / 60;
                pixels[at] = n >= 35 && x > left && x < left + 0.2f ? 2000 : 3500;
            }
            const motion_result *result = motion_find_frame(find, pixels, (double)n / ACTOR_RATE);
            uint32_t columns, rows;
            motion_find_size(settings.width, settings.height, &columns, &rows);
            assert_int_equal(result->columns, columns);
            assert_int_equal(result->rows, rows);
            for (size_t at = 0; n > 40 && at < (size_t)columns * rows; at++) {
                right += result->velocity[3 * at] > 0.3f;
            }
        }
        assert_true(right > 100);
        motion_find_free(find);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_stands_is_there_and_does_not_move),
        cmocka_unit_test(swinging_arms_have_their_direction),
        cmocka_unit_test(a_body_that_goes_aside_has_its_direction),
        cmocka_unit_test(a_body_that_sinks_and_rises_has_its_direction),
        cmocka_unit_test(a_body_that_walks_and_swings_has_its_directions),
        cmocka_unit_test(a_body_that_comes_and_goes_has_its_direction),
        cmocka_unit_test(six_people_are_told_apart_and_a_seventh_is_left_out),
        cmocka_unit_test(what_is_measured_nowhere_is_nobody),
        cmocka_unit_test(furniture_becomes_ground),
        cmocka_unit_test(other_cameras_have_other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
