// Recordings, whole and damaged: each frame that can't be used is named and costs itself alone.
#include "server/tool/kinect/depth_raw.h"
#include "server/tool/kinect/depth_source.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIDTH = 80, HEIGHT = 64, PIXELS = WIDTH * HEIGHT };

static char folder[64];

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *head, const void *pixels, size_t bytes)
{
    char path[256];
    path_of(name, path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(head, file);
    fwrite(pixels, 1, bytes, file);
    assert_int_equal(fclose(file), 0);
}

/// A frame all of whose pixels have one raw value, the low byte first.
static void write_frame(const char *name, const char *head, uint16_t raw, size_t pixels)
{
    static uint8_t bytes[4 * PIXELS];
    for (size_t i = 0; i < pixels; i++) {
        bytes[2 * i] = (uint8_t)raw;
        bytes[2 * i + 1] = (uint8_t)(raw >> 8);
    }
    write_file(name, head, bytes, 2 * pixels);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tarn-depth-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static depth_source *open_folder(bool loop, bool fast)
{
    char why[DEPTH_WHY_BYTES] = "";
    const depth_choice choice = {.kind = DEPTH_FOLDER, .path = folder, .loop = loop, .fast = fast};
    depth_source *source = depth_source_open(&choice, why);
    if (source == NULL) {
        fail_msg("%s", why);
    }
    return source;
}

static void raw_values_are_metres(void **state)
{
    (void)state;
    static uint16_t mm[DEPTH_RAW_VALUES];
    depth_raw_table(mm);
    // Against the other fit that is in use, which differs by a twentieth.
    assert_int_equal(mm[0], 0);
    assert_int_equal(mm[DEPTH_RAW_NOTHING], 0);
    for (int raw = 400; raw < 1050; raw++) {
        const double other_mm = 1000 / (raw * -0.0030711016 + 3.3309495161);
        assert_true(mm[raw + 1] >= mm[raw]);
        if (raw < 950) {
            assert_true(fabs(mm[raw] - other_mm) < 0.055 * other_mm);
        }
    }
}

static void a_recording_is_played(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES];
    depth_frame frame;
    write_file("INDEX.txt",
               "r-100.0-5.ppm\nd-100.000000-1.pgm\na-100.01-7.dump\nd-100.500000-2.pgm\r\nd-100.600000-3.pgm\n", "", 0);
    write_frame("d-100.000000-1.pgm", "P5 80 64 65535\n", 600, PIXELS);
    write_frame("d-100.500000-2.pgm", "P5 80 64 65535\n", 700, PIXELS);
    write_frame("d-100.600000-3.pgm", "P5 80 64 65535\n", 2047, PIXELS);
    static const uint16_t raws[3] = {600, 700, 2047};
    static const double times_s[3] = {0, 0.5, 0.6};
    static uint16_t mm[DEPTH_RAW_VALUES];
    depth_raw_table(mm);
    depth_source *source = open_folder(true, true);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            depth_result result;
            do {
                result = depth_source_next(source, 0, &frame, why);
            } while (result == DEPTH_NONE);
            assert_int_equal(result, DEPTH_NEXT);
            assert_int_equal(frame.width, WIDTH);
            assert_int_equal(frame.height, HEIGHT);
            assert_int_equal(frame.mm[0], mm[raws[i]]);
            assert_int_equal(frame.mm[PIXELS - 1], mm[raws[i]]);
            assert_float_equal(frame.time_s, times_s[i] + round * (0.6 + 1.0 / 30), 1e-6);
        }
    }
    depth_source_close(source);
    source = open_folder(false, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_NEXT);
    }
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_END);
    depth_source_close(source);
}

/// At the recording's own pace, and never longer than it was told to wait.
static void frames_come_when_they_are_due(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES];
    depth_frame frame;
    depth_source *source = open_folder(false, false);
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_NEXT);
    int waits = 0;
    while (depth_source_next(source, 100, &frame, why) == DEPTH_NONE) {
        waits++;
    }
    assert_in_range(waits, 1, 5); // half a second, a tenth at a time
    assert_float_equal(frame.time_s, 0.5, 1e-6);
    depth_source_close(source);
}

static void what_cannot_be_used_is_named_and_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *name, *head;
        size_t pixels;
        const char *says;
    } frames[] = {
        {"d-1.0-1.pgm", "P5 80 64 65535\n", PIXELS, NULL},
        {"d-1.1-2.pgm", "P5 80 64 65535\n", PIXELS - 1, "fewer"},
        {"d-1.2-3.pgm", "P5 80 64 65535\n", PIXELS + 1, "more"},
        {"d-1.3-4.pgm", "P5 64 80 65535\n", PIXELS, "as in the frames before"},
        {"d-1.4-5.pgm", "P5 8000 6400 65535\n", PIXELS, "8000 x 6400"},
        {"d-1.5-6.pgm", "P5 80 64 255\n", PIXELS, "no head"},
        {"d-1.6-7.pgm", "P6 80 64 65535\n", PIXELS, "no head"},
        {"d-1.7-8.pgm", "", 0, "no head"},
        {"d-1.8-9.pgm", "P5 -80 64 65535\n", PIXELS, "allowed are"},
        {"d-1.9-10.pgm", "P5 80 64 65535\n", PIXELS, NULL},
    };
    char why[DEPTH_WHY_BYTES], index[1024] = "";
    depth_frame frame;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        write_frame(frames[i].name, frames[i].head, 600, frames[i].pixels);
        strcat(strcat(index, frames[i].name), "\n");
    }
    strcat(index, "d-2.0-11.pgm\nd-nonsense.pgm\nd-2.1-12.ppm\nd-2.2-../x.pgm\nd-inf-1.pgm\n");
    write_file("INDEX.txt", index, "", 0);
    depth_source *source = open_folder(false, true);
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        why[0] = '\0';
        const depth_result result = depth_source_next(source, 0, &frame, why);
        assert_int_equal(result, frames[i].says == NULL ? DEPTH_NEXT : DEPTH_BAD);
        if (frames[i].says != NULL && (strstr(why, frames[i].says) == NULL || strstr(why, frames[i].name) == NULL)) {
            fail_msg("%s: said \"%s\"", frames[i].name, why);
        }
    }
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_BAD); // named, but not there
    assert_non_null(strstr(why, "No such file"));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_BAD);
        assert_non_null(strstr(why, "INDEX.txt: found \"d-"));
    }
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_END);
    depth_source_close(source);
}

/// Wherever a file ends, and whatever its bytes are, it is a frame or it is named.
static void no_file_breaks_the_reader(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES];
    static uint8_t bytes[2 * PIXELS + 64];
    depth_frame frame;
    uint32_t random = 1;
    write_file("INDEX.txt", "d-1.0-1.pgm\n", "", 0);
    for (int i = 0; i < 300; i++) {
        const size_t head = (size_t)snprintf((char *)bytes, 64, "P5 80 64 65535\n");
        for (size_t k = 0; k < 40; k++) {
            random = random * 1664525 + 1013904223;
            if (i % 3 == 0 && k % 4 == random >> 30) {
                bytes[k] = (uint8_t)(random >> 16);
            }
        }
        write_file("d-1.0-1.pgm", "", bytes, i % 2 == 0 ? (size_t)i : head + 2 * PIXELS);
        depth_source *source = open_folder(true, true);
        const depth_result result = depth_source_next(source, 0, &frame, why);
        assert_true(result == DEPTH_NEXT || result == DEPTH_BAD);
        depth_source_close(source);
    }
}

/// A recording of which nothing can be used comes to its end, also where it would begin again.
static void a_recording_of_nothing_ends(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES];
    depth_frame frame;
    write_file("INDEX.txt", "d-1.0-1.pgm\n", "", 0);
    write_file("d-1.0-1.pgm", "", "", 0);
    depth_source *source = open_folder(true, true);
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_BAD);
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_END);
    depth_source_close(source);
    write_file("INDEX.txt", "", "", 0);
    source = open_folder(true, true);
    assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_END);
    depth_source_close(source);
}

static void what_is_no_recording_is_refused(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES] = "", path[256];
    depth_choice choice = {.kind = DEPTH_FOLDER, .path = "/nowhere/recorded"};
    assert_null(depth_source_open(&choice, why));
    assert_non_null(strstr(why, "/nowhere/recorded/INDEX.txt: No such file"));
    path_of("INDEX.txt", path);
    unlink(path);
    choice.path = folder;
    assert_null(depth_source_open(&choice, why));
    assert_non_null(strstr(why, "allowed is a folder that fakenect-record wrote"));
    assert_int_equal(mkfifo(path, 0600), 0); // which would be waited for
    assert_null(depth_source_open(&choice, why));
    assert_non_null(strstr(why, "allowed is a folder that fakenect-record wrote"));
    unlink(path);
    choice = (depth_choice){.kind = DEPTH_V4L2, .path = "/dev/null"};
    assert_null(depth_source_open(&choice, why));
    assert_non_null(strstr(why, "isn't a V4L2 device"));
    choice.path = "/dev/no-camera";
    assert_null(depth_source_open(&choice, why));
    assert_non_null(strstr(why, "No such file"));
}

/// OpenNI's drivers leak when they are loaded; the sanitizer asks for what it may pass over.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:OpenNI2/Drivers\n";
}

/// The library's own stand-in for a camera, which sends a picture that it makes up.
static void an_openni_camera_can_be_opened_again_and_again(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES];
    const depth_choice choice = {.kind = DEPTH_OPENNI, .path = "Dummy"};
    if (depth_kind_missing(DEPTH_OPENNI) != NULL) {
        print_message("skipped: %s\n", depth_kind_missing(DEPTH_OPENNI));
        skip();
    }
    for (int round = 0; round < 2; round++) {
        depth_source *source = depth_source_open(&choice, why);
        if (source == NULL && round == 0) {
            print_message("skipped: OpenNI 2 has no driver DummyDevice here: %s\n", why);
            skip();
        }
        assert_non_null(source);
        for (int frames = 0; frames < 5;) {
            depth_frame frame;
            const depth_result result = depth_source_next(source, 100, &frame, why);
            assert_true(result == DEPTH_NEXT || result == DEPTH_NONE);
            if (result == DEPTH_NEXT) {
                assert_true(frame.width == 320 && frame.height == 240 && frame.mm[0] > 0);
                frames++;
            }
        }
        depth_source_close(source);
    }
    const depth_choice nowhere = {.kind = DEPTH_OPENNI, .path = "/nowhere/x.oni"};
    assert_null(depth_source_open(&nowhere, why));
    assert_non_null(strstr(why, "it can't be opened"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_values_are_metres),
        cmocka_unit_test(a_recording_is_played),
        cmocka_unit_test(frames_come_when_they_are_due),
        cmocka_unit_test(what_cannot_be_used_is_named_and_left_out),
        cmocka_unit_test(no_file_breaks_the_reader),
        cmocka_unit_test(a_recording_of_nothing_ends),
        cmocka_unit_test(what_is_no_recording_is_refused),
        cmocka_unit_test(an_openni_camera_can_be_opened_again_and_again),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
