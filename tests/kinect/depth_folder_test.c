// Recordings, whole and damaged: each frame that can't be used is named and costs itself alone.
#include "server/tool/kinect/depth.h"

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

/// A wall and somebody before it, with holes, as it is written by each kind of program.
static uint16_t pixel_of(depth_pixels kind, size_t i)
{
    const bool is_raw = kind == DEPTH_PIXELS_RAW || kind == DEPTH_PIXELS_RAW_BE;
    const uint16_t hole = is_raw ? 2047 : 0, wall = is_raw ? 990 : 3700, body = is_raw ? 880 : 2400,
                   v = i % 9 == 0 ? hole : (uint16_t)((i % 80 > 50 ? body : wall) + i % 5);
    return kind == DEPTH_PIXELS_RAW_BE || kind == DEPTH_PIXELS_MM_BE ? __builtin_bswap16(v) : v;
}

static void other_pixels_are_named_and_can_be_read(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES], hint[64];
    static uint16_t pixels[PIXELS], mm_of_raw[DEPTH_RAW_VALUES];
    depth_frame frame;
    depth_raw_table(mm_of_raw);
    write_file("INDEX.txt", "d-1.0-1.pgm\n", "", 0);
    for (int written = 0; written < DEPTH_PIXELS_COUNT; written++) {
        const bool is_raw = written <= DEPTH_PIXELS_RAW_BE;
        for (size_t i = 0; i < PIXELS; i++) {
            pixels[i] = pixel_of((depth_pixels)written, i);
        }
        // The head as netpbm's and OpenCV's programs lay it out.
        write_file("d-1.0-1.pgm", "P5\n80 64\n65535\n", pixels, sizeof pixels);
        for (int asked = 0; asked < DEPTH_PIXELS_COUNT; asked++) {
            const depth_choice choice = {
                .kind = DEPTH_FOLDER, .path = folder, .fast = true, .pixels = (depth_pixels)asked};
            depth_source *source = depth_source_open(&choice, why);
            assert_non_null(source);
            const depth_result result = depth_source_next(source, 0, &frame, why);
            snprintf(hint, sizeof hint, "; --pixels %s reads what is there", depth_pixels_names[written]);
            if (asked == written) {
                assert_int_equal(result, DEPTH_NEXT);
                assert_int_equal(frame.mm[0], 0);
                assert_int_equal(frame.mm[1], is_raw ? mm_of_raw[991] : 3701);
                assert_int_equal(frame.mm[51], is_raw ? mm_of_raw[881] : 2401);
            } else if (result != DEPTH_BAD || strstr(why, hint) == NULL) {
                fail_msg("%s read as %s: %d, %s", depth_pixels_names[written], depth_pixels_names[asked], result, why);
            }
            depth_source_close(source);
        }
    }
}

static void remove_frames(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -f %s/d-*.pgm", folder);
    assert_int_equal(system(command), 0);
}

/// What a recorder leaves that was killed before its index was written.
static void frames_without_an_index_are_seen(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES], name[64], path[256];
    depth_frame frame;
    static uint16_t mm_of_raw[DEPTH_RAW_VALUES];
    depth_raw_table(mm_of_raw);
    remove_frames();
    for (int i = 19; i >= 0; i--) { // times of which the last isn't the last as text
        snprintf(name, sizeof name, "d-%d.5-%d.pgm", 90 + i, i);
        write_frame(name, "P5 80 64 65535\n", (uint16_t)(600 + i), PIXELS);
    }
    path_of("INDEX.txt", path);
    for (int round = 0; round < 3; round++) {
        if (round == 2) {
            unlink(path);
        } else {
            write_file("INDEX.txt", round == 0 ? "" : "r-90.5-1.ppm\n", "", 0);
        }
        depth_source *source = open_folder(false, true);
        assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_NOTE);
        assert_non_null(strstr(why, round == 2 ? "INDEX.txt is missing; the 20 frames beside it"
                                               : "INDEX.txt names no depth frame; the 20 frames beside it"));
        for (int i = 0; i < 20; i++) {
            assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_NEXT);
            assert_int_equal(frame.mm[0], mm_of_raw[600 + i]);
        }
        assert_int_equal(depth_source_next(source, 0, &frame, why), DEPTH_END);
        depth_source_close(source);
    }
    remove_frames();
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
    remove_frames();
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

// ---- OpenNI's recordings ----

enum { ONI_WIDTH = 320, ONI_HEIGHT = 240, ONI_LEFT_MM = 1000, ONI_RIGHT_MM = 3000, ONI_FRAMES = 6 };

typedef struct oni_file {
    uint8_t bytes[(ONI_FRAMES + 1) * 2 * ONI_WIDTH * ONI_HEIGHT];
    size_t count;
} oni_file;

static void put(oni_file *file, const void *bytes, size_t count)
{
    assert_true(count <= sizeof file->bytes - file->count);
    memcpy(file->bytes + file->count, bytes, count);
    file->count += count;
}

static void put_u32(oni_file *file, uint32_t value)
{
    put(file, &value, sizeof value);
}

static void put_u64(oni_file *file, uint64_t value)
{
    put(file, &value, sizeof value);
}

/// The head of a record, of a node. @param before  where the record of the frame before begins
static void put_record(oni_file *file, uint32_t type, uint32_t node, size_t field_bytes, size_t payload_bytes,
                       size_t before)
{
    put(file, "NIR", 4);
    put_u32(file, type);
    put_u32(file, node);
    put_u32(file, (uint32_t)(28 + field_bytes));
    put_u32(file, (uint32_t)payload_bytes);
    put_u64(file, before);
}

static void put_number(oni_file *file, const char *name, uint64_t value)
{
    const size_t bytes = strlen(name) + 1;
    put_record(file, 3, 1, 4 + bytes + 12, 0, 0);
    put_u32(file, (uint32_t)bytes);
    put(file, name, bytes);
    put_u32(file, 8);
    put_u64(file, value);
}

static void put_block(oni_file *file, const char *name, const void *block, size_t block_bytes)
{
    const size_t bytes = strlen(name) + 1;
    put_record(file, 6, 1, 4 + bytes + 4 + block_bytes, 0, 0);
    put_u32(file, (uint32_t)bytes);
    put(file, name, bytes);
    put_u32(file, (uint32_t)block_bytes);
    put(file, block, block_bytes);
}

static void put_node(oni_file *file, uint64_t last_us, uint64_t seek)
{
    put_record(file, 13, 1, 4 + 6 + 4 + 4 + 28, 0, 0);
    put_u32(file, 6);
    put(file, "Depth", 6);
    put_u32(file, 2);
    put(file, "NONE", 4);
    put_u32(file, ONI_FRAMES);
    put_u64(file, 33000);
    put_u64(file, last_us);
    put_u64(file, seek);
}

/// Writes a recording as OpenNI 2 does, of one picture. @param is_mirrored  what its property says
static void write_oni(const char *name, uint64_t is_mirrored)
{
    static oni_file file;
    static uint16_t picture[ONI_WIDTH * ONI_HEIGHT];
    const uint32_t mode[3] = {ONI_WIDTH, ONI_HEIGHT, 30}, none = 8;
    const uint64_t last_us = 33000 + (ONI_FRAMES - 1) * 33333;
    size_t at[ONI_FRAMES], seek_at = 0;
    for (size_t i = 0; i < ONI_WIDTH * ONI_HEIGHT; i++) {
        picture[i] = i % ONI_WIDTH < ONI_WIDTH / 4 ? ONI_LEFT_MM : ONI_RIGHT_MM;
    }
    for (int pass = 0; pass < 2; pass++) { // what is where is known behind the first
        file.count = 0;
        put(&file, "NI10\1\0\1\0\0\0\0", 12);
        put_u64(&file, last_us);
        put_u32(&file, 1);
        put_node(&file, last_us, seek_at);
        put_number(&file, "oniRequiredFrameSize", sizeof picture);
        put_number(&file, "xnIsGenerating", 1);
        put_number(&file, "xnDeviceMaxDepth", 10000);
        put_number(&file, "xnSupportedMapOutputModesCount", 1);
        put_block(&file, "xnSupportedMapOutputModes", mode, sizeof mode);
        put_block(&file, "xnMapOutputMode", mode, sizeof mode);
        put_block(&file, "xnCropping", &(struct {
            uint32_t on;
            uint16_t x, y, w, h;
        }){0, 0, 0, ONI_WIDTH, ONI_HEIGHT},
                  12);
        put_number(&file, "xnMirror", is_mirrored);
        put_block(&file, "xnSupportedPixelFormats", &none, sizeof none);
        put_number(&file, "xnPixelFormat", 4);
        put_number(&file, "oniPixelFormat", 100);
        put_record(&file, 9, 1, 0, 0, 0);
        put_record(&file, 8, 1, 12, 0, 0);
        put(&file, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
        for (uint32_t i = 0; i < ONI_FRAMES; i++) {
            at[i] = file.count;
            put_record(&file, 10, 1, 12, sizeof picture, i > 0 ? at[i - 1] : 0);
            put_u64(&file, 33000 + i * 33333);
            put_u32(&file, i + 1);
            put(&file, picture, sizeof picture);
        }
        seek_at = file.count;
        put_record(&file, 14, 1, 0, (ONI_FRAMES + 1) * 20, 0);
        for (uint32_t i = 0; i <= ONI_FRAMES; i++) {
            put_u64(&file, i > 0 ? 33000 + (i - 1) * 33333 : 0);
            put_u32(&file, i);
            put_u64(&file, i > 0 ? at[i - 1] : 0);
        }
        put_record(&file, 11, 0, 0, 0, 0);
    }
    write_file(name, "", file.bytes, file.count);
}

/// Left is left, whatever a recording says of itself; and it ends, unless it is to begin again.
static void an_openni_recording_is_played_to_its_end(void **state)
{
    (void)state;
    char why[DEPTH_WHY_BYTES], path[256];
    depth_frame frame;
    if (depth_kind_missing(DEPTH_OPENNI) != NULL) {
        print_message("skipped: %s\n", depth_kind_missing(DEPTH_OPENNI));
        skip();
    }
    path_of("made.oni", path);
    for (int round = 0; round < 3; round++) {
        const bool is_mirrored = round == 1, loop = round == 2;
        write_oni("made.oni", is_mirrored);
        const depth_choice choice = {.kind = DEPTH_OPENNI, .path = path, .loop = loop};
        depth_source *source = depth_source_open(&choice, why);
        if (source == NULL) {
            fail_msg("%s", why);
        }
        int frames = 0;
        depth_result result = DEPTH_NONE;
        while ((result == DEPTH_NONE || result == DEPTH_NEXT) && frames < 3 * ONI_FRAMES) {
            result = depth_source_next(source, 100, &frame, why);
            if (result == DEPTH_NEXT) {
                frames++;
                const uint16_t *row = frame.mm + (size_t)7 * ONI_WIDTH;
                assert_int_equal(row[ONI_WIDTH / 8], is_mirrored ? ONI_RIGHT_MM : ONI_LEFT_MM);
                assert_int_equal(row[ONI_WIDTH - 1], is_mirrored ? ONI_LEFT_MM : ONI_RIGHT_MM);
            }
        }
        depth_source_close(source);
        if (loop ? frames != 3 * ONI_FRAMES : result != DEPTH_END || frames == 0 || frames > ONI_FRAMES) {
            fail_msg("%s: %d frames, then %d", loop ? "again and again" : "once", frames, result);
        }
    }
}

/// Whatever a driver says: sums that an int can't hold are none that fit.
static void rows_fit_into_their_bytes(void **state)
{
    (void)state;
    assert_true(depth_rows_fit(640, 480, 1280, 1280 * 480));
    assert_true(depth_rows_fit(640, 480, 1300, 1300 * 479 + 1280)); // behind the last row there need be nothing
    assert_false(depth_rows_fit(640, 480, 1300, 1300 * 479 + 1279));
    assert_false(depth_rows_fit(640, 480, 1279, 1280 * 480));
    assert_false(depth_rows_fit(640, 480, -1280, 1280 * 480));
    assert_false(depth_rows_fit(640, 480, 1 << 24, INT32_MAX)); // 2^24 * 479 is beyond 2^32
    assert_false(depth_rows_fit(640, 513, 1 << 23, 1280));      // and 2^23 * 512 comes to 0 in an int
    assert_true(depth_rows_fit(640, 1, INT32_MAX, 1280));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_values_are_metres),
        cmocka_unit_test(rows_fit_into_their_bytes),
        cmocka_unit_test(a_recording_is_played),
        cmocka_unit_test(frames_come_when_they_are_due),
        cmocka_unit_test(what_cannot_be_used_is_named_and_left_out),
        cmocka_unit_test(no_file_breaks_the_reader),
        cmocka_unit_test(other_pixels_are_named_and_can_be_read),
        cmocka_unit_test(frames_without_an_index_are_seen),
        cmocka_unit_test(a_recording_of_nothing_ends),
        cmocka_unit_test(what_is_no_recording_is_refused),
        cmocka_unit_test(an_openni_camera_can_be_opened_again_and_again),
        cmocka_unit_test(an_openni_recording_is_played_to_its_end),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
