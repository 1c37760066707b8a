// The parts of the page of --show that need no process: calibrations as text and file, commands, small planes.
#include "server/tool/kinect/camera.h"
#include "server/tool/kinect/show.h"
#include "tests/server/test_cmocka.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const kinect_calibration usual = {.near_m = 0.5f, .far_m = 4, .dead_zone_m_s = 0.1f};

static const kinect_calibration other = {.has_corners = true,
                                         .corners = {{12.5f, 30}, {600, 28}, {610.34f, 450}, {-8, 455}},
                                         .near_m = 3.1496f,
                                         .far_m = 3.15f,
                                         .dead_zone_m_s = 0.25f,
                                         .mirror = true,
                                         .turns = 3};

static void assert_same(const kinect_calibration *a, const kinect_calibration *b)
{
    assert_true(a->has_corners == b->has_corners && a->mirror == b->mirror && a->turns == b->turns);
    assert_true(a->near_m == b->near_m && a->far_m == b->far_m && a->dead_zone_m_s == b->dead_zone_m_s);
    assert_memory_equal(a->corners, b->corners, sizeof a->corners);
}

static void a_file_gives_back_what_was_saved(void **state)
{
    (void)state;
    char folder[] = "/tmp/tarn-calibration-XXXXXX", path[64], why[KINECT_CALIBRATION_WHY_BYTES];
    struct stat found;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/wall.json", folder);
    kinect_calibration read = usual;
    assert_int_equal(kinect_calibration_load(&read, path, 0, why), TARN_E_NOT_FOUND);
    assert_int_equal(kinect_calibration_save(&usual, path, why), TARN_OK);
    assert_int_equal(kinect_calibration_save(&other, path, why), TARN_OK);
    assert_int_equal(kinect_calibration_load(&read, path, 0, why), TARN_OK);
    assert_same(&read, &other);
    assert_int_equal(stat(path, &found), 0);
    assert_true(found.st_size < KINECT_CALIBRATION_TEXT_BYTES);

    // What an option has said stays.
    read = usual;
    assert_int_equal(kinect_calibration_load(&read, path, KINECT_FIELD_FAR | KINECT_FIELD_CORNERS, why), TARN_OK);
    assert_true(read.far_m == usual.far_m && !read.has_corners && read.near_m == other.near_m && read.mirror);
    assert_int_equal(kinect_calibration_load(&read, path, KINECT_FIELD_NEAR | KINECT_FIELD_MIRROR, why), TARN_OK);

    float corners[4][2];
    assert_true(kinect_calibration_read(path, corners, why));
    assert_memory_equal(corners, other.corners, sizeof corners);

    // A link stays one, and what it names is written.
    char link[64], fifo[64];
    snprintf(link, sizeof link, "%s/link.json", folder);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(kinect_calibration_save(&usual, link, why), TARN_OK);
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    read = other;
    assert_int_equal(kinect_calibration_load(&read, path, 0, why), TARN_OK);
    assert_true(read.near_m == usual.near_m);

    // A pipe isn't waited for.
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(kinect_calibration_load(&read, fifo, 0, why), TARN_E_IO);
    assert_non_null(strstr(why, "fifo: found something that isn't a file, allowed is a JSON file"));
    assert_false(kinect_calibration_read(fifo, corners, why));

    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(kinect_calibration_save(&other, path, why), TARN_E_IO);
    assert_non_null(strstr(why, "can't be written: No such file"));
}

static void a_wrong_field_leaves_all_as_it_was(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"near_m\": 1, \"far_m\": 11}",       "{\"near_m\": 1, \"dead_zone_m_s\": -1}",
        "{\"near_m\": 1, \"other\": 2}",        "{\"near_m\": 4}",
        "{\"mirror\": true, \"near_m\": null}", "[1]",
    };
    char why[KINECT_CALIBRATION_WHY_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kinect_calibration changed = usual;
        json_t *object = json_loads(wrong[i], 0, NULL);
        why[0] = '\0';
        assert_false(kinect_calibration_change(&changed, object, 0, why));
        assert_non_null(strstr(why, "allowed "));
        assert_same(&changed, &usual);
        json_decref(object);
    }
}

/// Every text that begins as a command does is one or is refused in a sentence.
static void cut_commands_are_refused(void **state)
{
    (void)state;
    static const char whole[] = "{\"do\":\"apply\",\"setup\":{\"corners_px\":[[0,0],[9,0],[9,9],[0,9]],\"near_m\":1}}";
    char why[KINECT_CALIBRATION_WHY_BYTES];
    show_do what;
    for (size_t bytes = 0; bytes < strlen(whole); bytes++) {
        kinect_calibration changed = usual;
        why[0] = '\0';
        assert_false(show_message_read(whole, bytes, &changed, &what, why));
        assert_true(strlen(why) > 10);
        assert_same(&changed, &usual);
    }
    kinect_calibration changed = usual;
    assert_true(show_message_read(whole, strlen(whole), &changed, &what, why));
    assert_true(what == SHOW_APPLY && changed.has_corners && changed.near_m == 1);
}

static void texts_are_json_whatever_stands_in_them(void **state)
{
    (void)state;
    char text[SHOW_TEXT_BYTES_MAX], name[2000];
    memset(name, '"', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[5] = (char)0xff;
    const size_t setup = show_message_setup(&other, name, text);
    json_t *root = json_loadb(text, setup, 0, NULL);
    assert_non_null(root);
    json_decref(root);
    const size_t figures = show_message_figures(&(show_figures){.camera = name, .link = name, .latency_ms = -1}, text);
    root = json_loadb(text, figures, 0, NULL);
    assert_non_null(root);
    assert_true(json_is_null(json_object_get(root, "latency_ms")));
    json_decref(root);
}

static uint16_t pixels[1280 * 1024];

static void planes_are_means_of_what_was_measured(void **state)
{
    (void)state;
    static show_planes planes;
    for (int i = 0; i < 640 * 480; i++) {
        pixels[i] = 2000;
    }
    pixels[0] = 0;                // one of sixteen: the others count
    for (int y = 0; y < 4; y++) { // the second cell is empty
        memset(pixels + 640 * y + 4, 0, 8);
    }
    show_planes_add(&planes, pixels, 640, 480);
    assert_int_equal(planes.columns, 160);
    assert_int_equal(planes.rows, 120);
    assert_int_equal(planes.depth[0], 2000 / SHOW_DEPTH_STEP_MM);
    assert_int_equal(planes.depth[1], 0);
    assert_int_equal(planes.difference[0], 0);
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 8; x++) {
            pixels[640 * y + x] = 1900;
        }
    }
    show_planes_add(&planes, pixels, 640, 480);
    assert_int_equal(planes.difference[0], 100 / SHOW_DIFFERENCE_STEP_MM);
    assert_int_equal(planes.difference[1], 0); // it wasn't measured before
    assert_int_equal(planes.difference[2], 0);
    assert_int_equal(planes.depth[1], 1900 / SHOW_DEPTH_STEP_MM + 1);

    // Other sizes fit, too.
    static const uint32_t sizes[][2] = {{64, 64}, {64, 1024}, {160, 1024}, {161, 121}, {1280, 64}, {1280, 1024}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        show_planes_add(&planes, pixels, sizes[i][0], sizes[i][1]);
        assert_true(planes.columns >= 1 && planes.columns <= SHOW_COLUMNS_MAX);
        assert_true(planes.rows >= 1 && planes.rows <= SHOW_ROWS_MAX);
        uint32_t columns, rows;
        motion_find_size(sizes[i][0], sizes[i][1], &columns, &rows);
        assert_true(columns * rows <= SHOW_MOTION_CELLS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gives_back_what_was_saved),
        cmocka_unit_test(a_wrong_field_leaves_all_as_it_was),
        cmocka_unit_test(cut_commands_are_refused),
        cmocka_unit_test(texts_are_json_whatever_stands_in_them),
        cmocka_unit_test(planes_are_means_of_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
