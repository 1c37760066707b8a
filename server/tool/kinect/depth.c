// Sources of depth frames: what their pixels hold, frames that are made up, a folder that was recorded, and the choice
// among all back ends: start at depth_source_open, which is at the end.
#include "server/tool/kinect/depth.h"
#include "server/base/clock.h"
#include "server/tool/kinect/actor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- pixels ----
// Disparity to depth by S. Magnenat's fit, z = 0.1236 tan(raw / 2842.5 + 1.1863), which the OpenKinect project's page
// on imaging gives as the more exact of the usual ones.

bool depth_rows_fit(int width, int height, int stride, int bytes)
{
    const int64_t row_bytes = 2 * (int64_t)width;
    return stride >= row_bytes && bytes >= (height - (int64_t)1) * stride + row_bytes;
}

void depth_raw_table(uint16_t mm[DEPTH_RAW_VALUES])
{
    for (int raw = 0; raw < DEPTH_RAW_VALUES; raw++) {
        const double angle = raw / 2842.5 + 1.1863;
        const double z_mm = angle < 1.5707 ? 123.6 * tan(angle) : INFINITY;
        mm[raw] = raw != DEPTH_RAW_NOTHING && z_mm <= DEPTH_RAW_MM_MAX ? (uint16_t)lround(z_mm) : 0;
    }
    mm[0] = 0; // what a camera that isn't ready says
}

void depth_raw_convert(const uint16_t mm[DEPTH_RAW_VALUES], uint16_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pixels[i] = pixels[i] < DEPTH_RAW_VALUES ? mm[pixels[i]] : 0;
    }
}

const char *const depth_pixels_names[DEPTH_PIXELS_COUNT] = {"raw", "raw-be", "mm", "mm-be"};
static const char *const depth_pixels_words[DEPTH_PIXELS_COUNT] = {
    "a Kinect's raw 11 bits, the low byte first", "a Kinect's raw 11 bits, the high byte first",
    "millimetres, the low byte first", "millimetres, the high byte first"};

static bool is_swapped(depth_pixels kind)
{
    return kind == DEPTH_PIXELS_RAW_BE || kind == DEPTH_PIXELS_MM_BE;
}

static bool is_raw(depth_pixels kind)
{
    return kind == DEPTH_PIXELS_RAW || kind == DEPTH_PIXELS_RAW_BE;
}

/// How a frame's pixels look as one kind.
typedef struct pixel_tally {
    size_t likely;  ///< that can be of it
    size_t between; ///< that no raw value is: beyond what is measured, and not DEPTH_RAW_NOTHING
    size_t nothing; ///< DEPTH_RAW_NOTHING
} pixel_tally;

/// What a frame's pixels plainly are: as expected, where they can be that.
/// @param pixels  as they were read, the low byte first
static depth_pixels depth_pixels_judge(const uint16_t *pixels, size_t count, depth_pixels expected)
{
    enum { RAW_MAX = 1092, MM_MIN = 200, MM_MAX = 12000, LOOKED_AT = 20000 }; // of what cameras measure
    const size_t stride = count / LOOKED_AT + 1;
    pixel_tally tallies[DEPTH_PIXELS_COUNT] = {{0}};
    size_t looked_at = 0;
    for (size_t i = 0; i < count; i += stride) {
        looked_at++;
        for (int kind = 0; kind < DEPTH_PIXELS_COUNT; kind++) {
            pixel_tally *t = &tallies[kind];
            const uint16_t v = is_swapped((depth_pixels)kind) ? __builtin_bswap16(pixels[i]) : pixels[i];
            t->nothing += v == DEPTH_RAW_NOTHING;
            t->between += v > RAW_MAX && v != DEPTH_RAW_NOTHING;
            t->likely += v == 0 || (is_raw((depth_pixels)kind) ? v <= RAW_MAX || v == DEPTH_RAW_NOTHING
                                                               : v >= MM_MIN && v <= MM_MAX);
        }
    }
    // Raw values are all likely millimetres, too; but these don't shun what is between, nor often are 2047.
    const pixel_tally *wanted = &tallies[expected];
    if (!is_raw(expected) && wanted->between == 0 && wanted->nothing > looked_at / 200) {
        return is_swapped(expected) ? DEPTH_PIXELS_RAW_BE : DEPTH_PIXELS_RAW;
    }
    for (int kind = -1; kind < DEPTH_PIXELS_COUNT; kind++) {
        const depth_pixels one = kind < 0 ? expected : (depth_pixels)kind;
        if (10 * tallies[one].likely >= 9 * looked_at) {
            return one;
        }
    }
    return expected;
}

/// Puts millimetres in their place; what is no measure becomes 0.
static void depth_pixels_convert(const uint16_t mm[DEPTH_RAW_VALUES], depth_pixels kind, uint16_t *pixels, size_t count)
{
    for (size_t i = 0; i < count && is_swapped(kind); i++) {
        pixels[i] = __builtin_bswap16(pixels[i]);
    }
    if (is_raw(kind)) {
        depth_raw_convert(mm, pixels, count);
    }
}

// ---- frames that are made up ----
// Made depth as it goes, for whoever has no camera: somebody walks before a wall and swings both arms (actor.h).
// A frame is made when it is asked for, as the room is at that moment: a busy machine sees fewer, and nobody slower.

static const actor_scene scene = {.act = ACTOR_WALK, .seed = 1, .depth_m = 2.4f, .speed = 1, .noise = 1};

/// The empty room, which is looked at first, comes once; then so many seconds again and again, which are whole periods
/// of what the actor does.
enum { ROUND_S = 200, ROUND_FRAMES = ROUND_S * ACTOR_RATE, ROUND_FROM = 2 * ACTOR_RATE };

typedef struct demo {
    uint64_t began_ns;
    uint64_t next; ///< number of the frame that is due next, from the beginning
    uint16_t mm_of_raw[DEPTH_RAW_VALUES];
    uint16_t mm[ACTOR_PIXELS];
    actor_frame made;
} demo;

static void *open_demo(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    demo *d = calloc(1, sizeof *d);
    (void)choice;
    if (d == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    depth_raw_table(d->mm_of_raw);
    d->began_ns = tarn_clock_monotonic_ns();
    return d;
}

static depth_result next_demo_frame(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    demo *d = self;
    (void)why;
    const uint64_t now_ns = tarn_clock_monotonic_ns(), due_ns = d->began_ns + d->next * 1000000000u / ACTOR_RATE;
    if (now_ns < due_ns) {
        const uint64_t wait_ns = (uint64_t)wait_ms * 1000000u, left_ns = due_ns - now_ns,
                       sleep_ns = left_ns < wait_ns ? left_ns : wait_ns;
        nanosleep(&(struct timespec){(time_t)(sleep_ns / 1000000000u), (long)(sleep_ns % 1000000000u)}, NULL);
        if (left_ns > wait_ns) {
            return DEPTH_NONE;
        }
    }
    const uint64_t at_ns = tarn_clock_monotonic_ns(), number = (at_ns - d->began_ns) * ACTOR_RATE / 1000000000u;
    const uint64_t n = number < ROUND_FROM + ROUND_FRAMES ? number : ROUND_FROM + (number - ROUND_FROM) % ROUND_FRAMES;
    actor_render(&scene, (uint32_t)n, &d->made);
    memcpy(d->mm, d->made.raw, sizeof d->mm);
    depth_raw_convert(d->mm_of_raw, d->mm, ACTOR_PIXELS);
    d->next = number + 1;
    *frame = (depth_frame){.mm = d->mm,
                           .width = ACTOR_WIDTH,
                           .height = ACTOR_HEIGHT,
                           .time_s = (double)number / ACTOR_RATE,
                           .arrived_ns = tarn_clock_monotonic_ns()};
    return DEPTH_NEXT;
}

static void close_demo(void *self)
{
    free(self);
}

static const depth_back_end depth_demo = {open_demo, next_demo_frame, close_demo};

// ---- a folder that was recorded ----
// A recording as libfreenect's fakenect-record writes it: INDEX.txt names a file a line, and of those a
// "d-TIME-STAMP.pgm" is a depth frame; TIME is in seconds, STAMP the camera's own. The file's head is one line,
// "P5 640 480 65535"; behind it come the raw 11 bits of disparity, 16 bits a pixel, the low byte first. That isn't the
// PGM of the book, whose high byte comes first, but what the recorder writes and fakenect plays. Other programs write
// that of the book, and millimetres: depth.h tells them apart, --pixels reads them.
//
// Where INDEX.txt is missing or names no depth frame, as when the recorder was killed, the folder's files are the
// index.
//
//     INDEX.txt line -> name: kind and time -> wait until it is due -> file: head, size, pixels -> millimetres
//
// A file that can't be used is DEPTH_BAD and the next line follows, so that one bad frame costs one frame.

enum { NAME_BYTES = 256, NAMED_MAX = 1000000 };

/// Between frames that are farther apart than this nothing was recorded: no one waits for it.
static const double gap_s_max = 2.0;
/// Between the last frame and the first of the next round.
static const double round_s = 1.0 / 30;

typedef struct folder {
    FILE *index;
    char *named;                ///< the index, where it was made of the folder's files
    char note[DEPTH_WHY_BYTES]; ///< to be said; empty: nothing is
    char path[4096];
    bool loop, fast;
    depth_pixels pixels_are;
    bool pending; ///< `name` is read and not yet played
    char name[NAME_BYTES];
    double recorded_s; ///< of the pending frame
    bool begun;
    double last_recorded_s, time_s; ///< of the frame before: as recorded, as played
    uint64_t due_ns;                ///< of the pending frame
    uint32_t usable;                ///< frames of this round
    uint32_t width, height;         ///< of the first usable frame
    uint16_t mm_of_raw[DEPTH_RAW_VALUES];
    uint16_t *pixels;
} folder;

static void close_folder(void *self)
{
    folder *f = self;
    if (f != NULL) {
        if (f->index != NULL) {
            fclose(f->index);
        }
        free(f->named);
        free(f->pixels);
        free(f);
    }
}

/// Opens a file to read; what isn't one would be waited for, or never end. @return NULL: errno says why
static FILE *open_file(const char *path)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        close(fd);
        errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        return NULL;
    }
    FILE *file = fdopen(fd, "r");
    if (file == NULL) {
        close(fd);
    }
    return file;
}

static bool is_frame_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return name[0] == 'd' && name[1] == '-' && dot != NULL && strcmp(dot, ".pgm") == 0;
}

static int is_frame(const struct dirent *entry)
{
    return is_frame_name(entry->d_name);
}

static int by_time(const struct dirent **a, const struct dirent **b)
{
    const double first_s = strtod((*a)->d_name + 2, NULL), second_s = strtod((*b)->d_name + 2, NULL);
    return first_s != second_s ? (first_s > second_s) - (first_s < second_s) : strcmp((*a)->d_name, (*b)->d_name);
}

static bool names_frames(FILE *index)
{
    char line[NAME_BYTES];
    bool has = false;
    while (!has && fgets(line, sizeof line, index) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        has = is_frame_name(line);
    }
    rewind(index);
    return has;
}

/// Makes an index of the folder's files, where there are frames among them.
static void name_by_files(folder *f)
{
    struct dirent **entries = NULL;
    size_t bytes = 0;
    const int count = scandir(f->path, &entries, is_frame, by_time);
    FILE *list = count > 0 && count <= NAMED_MAX ? open_memstream(&f->named, &bytes) : NULL;
    for (int i = 0; i < count; i++) {
        if (list != NULL) {
            fprintf(list, "%s\n", entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    if (list != NULL && fclose(list) == 0) {
        snprintf(f->note, sizeof f->note,
                 "%.300s/INDEX.txt %s; the %d frames beside it are taken in the order of their names", f->path,
                 f->index != NULL ? "names no depth frame" : "is missing", count);
        if (f->index != NULL) {
            fclose(f->index);
        }
        f->index = fmemopen(f->named, bytes, "r");
    }
}

static void *open_folder(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    folder *f = calloc(1, sizeof *f);
    char index[sizeof f->path + 16];
    if (f == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    f->loop = choice->loop;
    f->fast = choice->fast;
    f->pixels_are = choice->pixels;
    if ((size_t)snprintf(f->path, sizeof f->path, "%s", choice->path) >= sizeof f->path) {
        snprintf(why, DEPTH_WHY_BYTES, "found a path of %zu bytes, allowed are %zu", strlen(choice->path),
                 sizeof f->path - 1);
        goto fail;
    }
    snprintf(index, sizeof index, "%s/INDEX.txt", f->path);
    f->index = open_file(index);
    const int error = errno;
    if (f->index == NULL ? error == ENOENT : !names_frames(f->index)) {
        name_by_files(f);
    }
    if (f->index == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "%.380s: %s; allowed is a folder that fakenect-record wrote", index,
                 strerror(error));
        goto fail;
    }
    f->pixels = malloc(sizeof(uint16_t) * DEPTH_WIDTH_MAX * DEPTH_HEIGHT_MAX);
    if (f->pixels == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        goto fail;
    }
    depth_raw_table(f->mm_of_raw);
    return f;
fail:
    close_folder(f);
    return NULL;
}

/// Reads on to the next line that names a depth frame. @return DEPTH_NEXT, DEPTH_BAD, DEPTH_END
static depth_result read_line(folder *f, char why[DEPTH_WHY_BYTES])
{
    char line[NAME_BYTES];
    while (fgets(line, sizeof line, f->index) != NULL) {
        const size_t length = strcspn(line, "\r\n");
        if (line[length] == '\0' && length == sizeof line - 1) {
            for (int c = 0; c != '\n' && c != EOF;) { // the rest of a line that is too long
                c = fgetc(f->index);
            }
        }
        line[length] = '\0';
        if (line[0] != 'd' || line[1] != '-') {
            continue; // pictures and the tilt of the camera
        }
        char *end;
        const double time_s = strtod(line + 2, &end);
        if (end == line + 2 || *end != '-' || !isfinite(time_s) || !is_frame_name(line) || strchr(line, '/') != NULL) {
            snprintf(why, DEPTH_WHY_BYTES, "%.200s/INDEX.txt: found \"%.100s\", allowed is d-TIME-STAMP.pgm", f->path,
                     line);
            return DEPTH_BAD;
        }
        memcpy(f->name, line, sizeof f->name);
        f->recorded_s = time_s;
        return DEPTH_NEXT;
    }
    return DEPTH_END;
}

/// At the end: the first line again, where that is wanted and there is something to play.
static depth_result begin_again(folder *f)
{
    if (!f->loop || f->usable == 0) {
        return DEPTH_END;
    }
    f->usable = 0;
    rewind(f->index);
    return DEPTH_NONE;
}

/// When the pending frame is to be played, and what its time is.
static void set_due(folder *f)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    double step_s = f->recorded_s - f->last_recorded_s;
    if (!f->begun) {
        f->due_ns = now_ns;
        step_s = 0;
    } else if (step_s <= 0 || step_s > gap_s_max) {
        step_s = round_s;
    }
    f->time_s += step_s;
    f->due_ns += (uint64_t)(step_s * 1e9);
    if (f->due_ns + (uint64_t)(gap_s_max * 1e9) < now_ns) {
        f->due_ns = now_ns; // the process stood still
    }
    f->last_recorded_s = f->recorded_s;
    f->begun = true;
}

static depth_result refuse(const folder *f, char why[DEPTH_WHY_BYTES], const char *found)
{
    snprintf(why, DEPTH_WHY_BYTES, "%.180s/%.100s: %.200s", f->path, f->name, found);
    return DEPTH_BAD;
}

/// Reads a file that is open.
static depth_result read_pixels(folder *f, FILE *file, char why[DEPTH_WHY_BYTES])
{
    char found[DEPTH_WHY_BYTES / 2];
    unsigned width, height, most; // of at most nine digits, as more would wrap
    if (fscanf(file, "P5 %9u %9u %9u", &width, &height, &most) != 3 || most != 65535 || fgetc(file) != '\n') {
        return refuse(f, why, "found no head, allowed is one such as \"P5 640 480 65535\" and the end of a line");
    }
    if (width < DEPTH_SIDE_MIN || width > DEPTH_WIDTH_MAX || height < DEPTH_SIDE_MIN || height > DEPTH_HEIGHT_MAX) {
        snprintf(found, sizeof found, "found %u x %u pixels, allowed are %d x %d to %d x %d", width, height,
                 DEPTH_SIDE_MIN, DEPTH_SIDE_MIN, DEPTH_WIDTH_MAX, DEPTH_HEIGHT_MAX);
        return refuse(f, why, found);
    }
    if (f->width != 0 && (width != f->width || height != f->height)) {
        snprintf(found, sizeof found, "found %u x %u pixels, allowed are %u x %u as in the frames before", width,
                 height, f->width, f->height);
        return refuse(f, why, found);
    }
    const size_t count = (size_t)width * height, got = fread(f->pixels, sizeof *f->pixels, count, file);
    if (got != count || fgetc(file) != EOF) {
        snprintf(found, sizeof found, "found %s than the %u x %u pixels that its head promises",
                 got != count ? "fewer" : "more", width, height);
        return refuse(f, why, found);
    }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < count; i++) {
        f->pixels[i] = __builtin_bswap16(f->pixels[i]);
    }
#endif
    const depth_pixels kind = depth_pixels_judge(f->pixels, count, f->pixels_are);
    if (kind != f->pixels_are) {
        snprintf(found, sizeof found, "found %s, allowed are %s; --pixels %s reads what is there",
                 depth_pixels_words[kind], depth_pixels_words[f->pixels_are], depth_pixels_names[kind]);
        return refuse(f, why, found);
    }
    depth_pixels_convert(f->mm_of_raw, kind, f->pixels, count);
    f->width = width;
    f->height = height;
    return DEPTH_NEXT;
}

static depth_result play(folder *f, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    char path[sizeof f->path + NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", f->path, f->name);
    FILE *file = open_file(path);
    if (file == NULL) {
        return refuse(f, why, strerror(errno));
    }
    const depth_result result = read_pixels(f, file, why);
    fclose(file);
    if (result == DEPTH_NEXT) {
        f->usable++;
        *frame = (depth_frame){.mm = f->pixels,
                               .width = f->width,
                               .height = f->height,
                               .time_s = f->time_s,
                               .arrived_ns = tarn_clock_monotonic_ns()};
    }
    return result;
}

/// Waits until the pending frame is due, but no longer than wait_ms. @return whether it is
static bool wait_due(const folder *f, int wait_ms)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (f->fast || now_ns >= f->due_ns) {
        return true;
    }
    const uint64_t wait_ns = (uint64_t)wait_ms * 1000000u, left_ns = f->due_ns - now_ns;
    const uint64_t sleep_ns = left_ns < wait_ns ? left_ns : wait_ns;
    nanosleep(&(struct timespec){(time_t)(sleep_ns / 1000000000u), (long)(sleep_ns % 1000000000u)}, NULL);
    return left_ns <= wait_ns;
}

static depth_result next_frame(void *self, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    folder *f = self;
    if (f->note[0] != '\0') {
        memcpy(why, f->note, DEPTH_WHY_BYTES);
        f->note[0] = '\0';
        return DEPTH_NOTE;
    }
    if (!f->pending) {
        const depth_result result = read_line(f, why);
        if (result != DEPTH_NEXT) {
            return result == DEPTH_END ? begin_again(f) : result;
        }
        f->pending = true;
        set_due(f);
    }
    if (!wait_due(f, wait_ms)) {
        return DEPTH_NONE;
    }
    f->pending = false;
    return play(f, frame, why);
}

static const depth_back_end depth_folder = {open_folder, next_frame, close_folder};

// ---- the choice among all back ends ----

struct depth_source {
    const depth_back_end *back_end;
    void *self;
};

static const depth_back_end *const back_ends[DEPTH_KIND_COUNT] = {
    [DEPTH_FOLDER] = &depth_folder,
#ifdef TARN_FREENECT
    [DEPTH_FREENECT] = &depth_freenect,
#endif
    [DEPTH_V4L2] = &depth_v4l2,
#ifdef TARN_OPENNI
    [DEPTH_OPENNI] = &depth_openni,
#endif
    [DEPTH_DEMO] = &depth_demo,
};

const char *depth_kind_missing(depth_kind kind)
{
    if (back_ends[kind] != NULL) {
        return NULL;
    }
    return kind == DEPTH_OPENNI ? "this program was built without OpenNI 2; install libopenni2-dev and build again"
                                : "this program was built without libfreenect; install libfreenect-dev and build again";
}

void depth_choice_name(const depth_choice *choice, char name[DEPTH_WHY_BYTES])
{
    switch (choice->kind) {
    case DEPTH_FOLDER:
        snprintf(name, DEPTH_WHY_BYTES, "the recording \"%.400s\"", choice->path);
        return;
    case DEPTH_FREENECT:
        snprintf(name, DEPTH_WHY_BYTES, "the Kinect %u", choice->index);
        return;
    case DEPTH_OPENNI:
        if (choice->path == NULL) {
            snprintf(name, DEPTH_WHY_BYTES, "the OpenNI camera %u", choice->index);
            return;
        }
        snprintf(name, DEPTH_WHY_BYTES, "the OpenNI %s \"%.400s\"",
                 strchr(choice->path, '.') != NULL ? "recording" : "camera", choice->path);
        return;
    case DEPTH_DEMO:
        snprintf(name, DEPTH_WHY_BYTES, "the demonstration");
        return;
    default:
        snprintf(name, DEPTH_WHY_BYTES, "the depth camera \"%.400s\"", choice->path);
        return;
    }
}

depth_source *depth_source_open(const depth_choice *choice, char why[DEPTH_WHY_BYTES])
{
    const depth_back_end *back_end = back_ends[choice->kind];
    if (back_end == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "%s", depth_kind_missing(choice->kind));
        return NULL;
    }
    depth_source *source = calloc(1, sizeof *source);
    if (source == NULL) {
        snprintf(why, DEPTH_WHY_BYTES, "out of memory");
        return NULL;
    }
    source->back_end = back_end;
    source->self = back_end->open(choice, why);
    if (source->self == NULL) {
        free(source);
        return NULL;
    }
    return source;
}

depth_result depth_source_next(depth_source *source, int wait_ms, depth_frame *frame, char why[DEPTH_WHY_BYTES])
{
    return source->back_end->next(source->self, wait_ms, frame, why);
}

void depth_source_close(depth_source *source)
{
    if (source != NULL) {
        source->back_end->close(source->self);
        free(source);
    }
}
