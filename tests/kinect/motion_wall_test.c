// Where the camera's picture lands on the wall, and which way motion goes there.
#include "server/tool/kinect/camera.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COLUMNS = 80, ROWS = 60, CELLS = COLUMNS * ROWS };

static float presence[CELLS], velocity[3 * CELLS], depth_m[CELLS];
static uint8_t planes[4 * CELLS];

/// Somebody in one block of the picture who moves by v: right, up, away in m/s at 2 m, of a camera of 500 pixels.
static motion_result block_at(uint32_t x, uint32_t y, const float v[3])
{
    memset(presence, 0, sizeof presence);
    memset(velocity, 0, sizeof velocity);
    memset(depth_m, 0, sizeof depth_m);
    for (uint32_t j = y; j < y + 4; j++) {
        for (uint32_t i = x; i < x + 4; i++) {
            presence[j * COLUMNS + i] = 1;
            depth_m[j * COLUMNS + i] = 2;
            memcpy(velocity + 3 * (j * COLUMNS + i), v, 3 * sizeof *v);
        }
    }
    return (motion_result){.columns = COLUMNS,
                           .rows = ROWS,
                           .cell_pixels = 8,
                           .focal_pixels = 500,
                           .presence = presence,
                           .velocity = velocity,
                           .depth_m = depth_m};
}

typedef struct seen {
    float x, y; ///< middle of who is there on the wall, 0..1, up
    float v[3]; ///< m/s in the middle
} seen;

static seen look(const motion_wall_settings *settings, const motion_result *result)
{
    seen s = {0};
    float count = 0, speed_m_s;
    motion_wall *wall = motion_wall_make(settings);
    assert_non_null(wall);
    motion_wall_planes(wall, result, planes, &speed_m_s);
    const size_t cells = (size_t)settings->columns * settings->rows;
    for (size_t i = 0; i < cells; i++) {
        if (planes[i] >= 128) {
            s.x += ((float)(i % settings->columns) + 0.5f) / (float)settings->columns;
            s.y += ((float)(i / settings->columns) + 0.5f) / (float)settings->rows;
            for (size_t k = 0; k < 3; k++) {
                s.v[k] += speed_m_s * (float)(int8_t)planes[(k + 1) * cells + i] / 127;
            }
            count++;
        }
    }
    assert_true(count > 0);
    s.x /= count;
    s.y /= count;
    for (int k = 0; k < 3; k++) {
        s.v[k] /= count;
    }
    motion_wall_free(wall);
    return s;
}

static motion_wall_settings whole(void)
{
    return (motion_wall_settings){
        .width = 640, .height = 480, .columns = COLUMNS, .rows = ROWS, .across_m = 4, .up_m = 3};
}

static void the_picture_fills_the_wall(void **state)
{
    (void)state;
    const float v[3] = {0.8f, 0.4f, 0.3f};
    const motion_result result = block_at(20, 10, v);
    const motion_wall_settings settings = whole();
    const seen s = look(&settings, &result);
    assert_float_equal(s.x, 22.0 / 80, 0.01);
    assert_float_equal(s.y, 1 - 12.0 / 60, 0.01);
    // 0.8 m/s are 200 pixels a second of 640, on 4 m.
    assert_float_equal(s.v[0], 200.0 / 640 * 4, 0.06);
    assert_float_equal(s.v[1], 100.0 / 480 * 3, 0.06);
    // Away from a camera that stands behind the people is into the tank.
    assert_float_equal(s.v[2], -75.0 / 640 * 4, 0.06);
}

/// A camera's noise in one cell, as fast as a bullet, doesn't let all others rest; and a cell of whom little is seen
/// has no velocity of nobody.
static void one_wild_cell_hides_nobody(void **state)
{
    (void)state;
    const float slow[3] = {0.4f, 0, 0};
    motion_result result = block_at(20, 10, slow);
    for (uint32_t y = 30; y < 40; y++) {
        for (uint32_t x = 20; x < 40; x++) {
            presence[y * COLUMNS + x] = 1;
            depth_m[y * COLUMNS + x] = 2;
            velocity[3 * (y * COLUMNS + x)] = 0.4f;
        }
    }
    velocity[3 * (35 * COLUMNS + 30)] = 60;
    presence[2 * COLUMNS + 2] = 0.05f;
    depth_m[2 * COLUMNS + 2] = 2;
    velocity[3 * (2 * COLUMNS + 2)] = 0.4f;
    const motion_wall_settings settings = whole();
    motion_wall *wall = motion_wall_make(&settings);
    assert_non_null(wall);
    float speed_m_s;
    assert_in_range(motion_wall_planes(wall, &result, planes, &speed_m_s), 200, 250);
    const size_t calm = (size_t)(ROWS - 1 - 12) * COLUMNS + 22, wild = (size_t)(ROWS - 1 - 35) * COLUMNS + 30,
                 faint = (size_t)(ROWS - 1 - 2) * COLUMNS + 2;
    // 0.4 m/s are 100 pixels a second of 640, on 4 m.
    assert_float_equal(speed_m_s * (float)(int8_t)planes[CELLS + calm] / 127, 0.625, 0.02);
    assert_true((int8_t)planes[CELLS + wild] > 100);
    assert_int_equal(planes[CELLS + faint], 0);
    motion_wall_free(wall);
}

static void mirrored_the_camera_is_at_the_wall(void **state)
{
    (void)state;
    const float v[3] = {0.8f, 0.4f, 0.3f};
    const motion_result result = block_at(20, 10, v);
    motion_wall_settings settings = whole();
    settings.mirror = true;
    const seen s = look(&settings, &result);
    assert_float_equal(s.x, 1 - 22.0 / 80, 0.01);
    assert_float_equal(s.y, 1 - 12.0 / 60, 0.01);
    assert_float_equal(s.v[0], -200.0 / 640 * 4, 0.06);
    assert_float_equal(s.v[1], 100.0 / 480 * 3, 0.06);
    assert_float_equal(s.v[2], 75.0 / 640 * 4, 0.06);
}

static void turned_clockwise_up_is_right(void **state)
{
    (void)state;
    const float v[3] = {0, 0.4f, 0};
    const motion_result result = block_at(38, 10, v);
    motion_wall_settings settings = whole();
    settings.turns = 1;
    const seen right = look(&settings, &result);
    assert_float_equal(right.x, 1 - 12.0 / 60, 0.02); // what was at the top is at the right
    assert_float_equal(right.y, 0.5, 0.02);
    assert_true(right.v[0] > 0.5f && fabsf(right.v[1]) < 0.05f);
    settings.turns = 2;
    const seen down = look(&settings, &result);
    assert_true(down.v[1] < -0.5f && fabsf(down.v[0]) < 0.05f && down.y < 0.3f);
    settings.turns = 3;
    const seen left = look(&settings, &result);
    assert_true(left.v[0] < -0.5f && fabsf(left.v[1]) < 0.05f && left.x < 0.3f);
}

static void corners_stretch_a_part_of_the_picture(void **state)
{
    (void)state;
    const float v[3] = {0.8f, 0, 0};
    const motion_result result = block_at(38, 28, v); // in the middle of the picture
    motion_wall_settings settings = whole();
    settings.has_corners = true;
    // The middle half of the picture, its left side lower: seen from aside.
    const float corners[4][2] = {{160, 150}, {480, 100}, {480, 380}, {160, 330}};
    memcpy(settings.corners, corners, sizeof corners);
    const seen s = look(&settings, &result);
    // A homography keeps lines: the middle is where the diagonals meet, which is at x = 282.
    assert_true(s.x > 0.55f && s.x < 0.65f);
    assert_float_equal(s.y, 0.5, 0.02);
    assert_true(s.v[0] > 200.0f / 640 * 4 * 1.5f && fabsf(s.v[1]) < 0.2f);
}

static void what_goes_around_no_area_is_refused(void **state)
{
    (void)state;
    static const float line[8] = {0, 0, 100, 0, 200, 0, 300, 0}, crossed[8] = {0, 0, 100, 100, 100, 0, 0, 100};
    static const float dented[8] = {0, 0, 100, 0, 20, 20, 0, 100}, turned[8] = {0, 0, 0, 100, 100, 100, 100, 0};
    assert_false(motion_wall_corners_fit(line));
    assert_false(motion_wall_corners_fit(crossed));
    assert_false(motion_wall_corners_fit(dented));
    assert_true(motion_wall_corners_fit(turned));
}

static void corners_come_from_a_line_or_a_file(void **state)
{
    (void)state;
    float corners[4][2];
    char why[KINECT_CALIBRATION_WHY_BYTES], path[] = "/tmp/tarn-corners-XXXXXX";
    assert_true(kinect_calibration_read("0,1,100,2,101,100,3,99.5", corners, why));
    assert_float_equal(corners[3][1], 99.5, 0);
    static const char *const wrong[] = {
        "", "1,2,3", "0,1,100,2,101,100,3,99,5", "0,0,1,1,2,2,3,3", "0,0,nan,0,100,100,0,100", "/nowhere/corners.json"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        assert_false(kinect_calibration_read(wrong[i], corners, why));
        assert_true(why[0] != '\0');
    }
    static const struct {
        const char *text;
        bool right;
    } files[] = {
        {"{ \"corners_px\": [[0, 0], [640, 1], [639, 480], [2, 470]] }", true},
        {"{ \"corners_px\": [[0, 0], [640, 1], [639, 480]] }", false},
        {"{ \"corners_px\": [[0, 0], [640, \"1\"], [639, 480], [2, 470]] }", false},
        {"{ \"corners_px\": 4 }", false},
        {"[", false},
        {"", false},
    };
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, files[i].text, strlen(files[i].text), 0), strlen(files[i].text));
        assert_int_equal(kinect_calibration_read(path, corners, why), files[i].right);
    }
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_picture_fills_the_wall),
        cmocka_unit_test(one_wild_cell_hides_nobody),
        cmocka_unit_test(mirrored_the_camera_is_at_the_wall),
        cmocka_unit_test(turned_clockwise_up_is_right),
        cmocka_unit_test(corners_stretch_a_part_of_the_picture),
        cmocka_unit_test(what_goes_around_no_area_is_refused),
        cmocka_unit_test(corners_come_from_a_line_or_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
