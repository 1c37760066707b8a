// The bridge's camera: how it is set up, its thread, what it sees on the wall, and pictures of that for the page. Start
// at watch_camera.
#include "server/tool/kinect/camera.h"
#include "server/base/clock.h"
#include "server/base/files.h"
#include "server/base/text.h"
#include "server/tool/kinect/run.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- calibration ----
// Calibrations from command lines, files and the page; all end in the same checks, and a change is made on a copy, so
// that a wrong field leaves all as it was.

enum { PATH_BYTES = 4096, REASON_BYTES = 320, FILE_BYTES_MAX = 64 * 1024 };

static const float pixel_max = 10000;

static bool read_line(const char *text, float corners[4][2])
{
    for (int i = 0; i < 8; i++) {
        char *end;
        corners[i / 2][i % 2] = strtof(text, &end);
        if (end == text || *end != (i < 7 ? ',' : '\0')) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

static bool read_pairs(const json_t *list, float corners[4][2])
{
    bool right = json_is_array(list) && json_array_size(list) == 4;
    for (size_t i = 0; right && i < 4; i++) {
        const json_t *pair = json_array_get(list, i);
        right = json_is_array(pair) && json_array_size(pair) == 2;
        for (size_t k = 0; right && k < 2; k++) {
            right = json_is_number(json_array_get(pair, k));
            corners[i][k] = (float)json_number_value(json_array_get(pair, k));
        }
    }
    return right;
}

static bool check_corners(float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES])
{
    for (int i = 0; i < 8; i++) {
        const float value = corners[i / 2][i % 2];
        if (!(fabsf(value) <= pixel_max)) {
            snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "found %g, allowed are pixels from -%g to %g", (double)value,
                     (double)pixel_max, (double)pixel_max);
            return false;
        }
    }
    if (!motion_wall_corners_fit(&corners[0][0])) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "found corners that go around no area, allowed are the wall's top left, top right, bottom right and "
                 "bottom left");
        return false;
    }
    return true;
}

/// @param reason  receives why the result is NULL, with the file's name, and `status` of what kind that is
static json_t *load(const char *path, char reason[REASON_BYTES], tarn_status *status)
{
    char *text;
    size_t byte_count;
    *status = tarn_file_bytes_read(path, FILE_BYTES_MAX, "a JSON file", &text, &byte_count, reason, REASON_BYTES);
    if (*status != TARN_OK) {
        return NULL;
    }
    json_error_t error;
    const char *at = tarn_text_begin_at(text, &byte_count);
    json_t *root = at != NULL ? json_loadb(at, byte_count, JSON_REJECT_DUPLICATES, &error) : NULL;
    free(text);
    if (at == NULL) {
        *status = TARN_E_MALFORMED;
        snprintf(reason, REASON_BYTES, "%.150s: " TARN_TEXT_WIDE, path);
    } else if (root == NULL) {
        *status = TARN_E_MALFORMED;
        snprintf(reason, REASON_BYTES, "%.150s: line %d: %.140s", path, error.line, error.text);
    }
    return root;
}

static bool read_file(const char *path, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES])
{
    char reason[REASON_BYTES];
    tarn_status status;
    json_t *root = load(path, reason, &status);
    if (root == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "found \"%.120s\", which is neither eight numbers nor a JSON file: %.300s", path, reason);
        return false;
    }
    const bool right = read_pairs(json_object_get(root, "corners_px"), corners);
    json_decref(root);
    if (!right) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "%.200s: found no corners, allowed is { \"corners_px\": [[x, y], [x, y], [x, y], [x, y]] }", path);
    }
    return right;
}

bool kinect_calibration_read(const char *text, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES])
{
    return (read_line(text, corners) || read_file(text, corners, why)) && check_corners(corners, why);
}

// ---- calibration: single fields; `why` begins with the field's name ----

static bool change_corners(kinect_calibration *to, const json_t *value, char why[KINECT_CALIBRATION_WHY_BYTES])
{
    char found[KINECT_CALIBRATION_WHY_BYTES];
    to->has_corners = !json_is_null(value);
    if (!to->has_corners) {
        return true;
    }
    if (!read_pairs(value, to->corners)) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "corners_px: found something else, allowed are null and [[x, y], [x, y], [x, y], [x, y]]");
        return false;
    }
    if (!check_corners(to->corners, found)) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "corners_px: %.400s", found);
        return false;
    }
    return true;
}

static bool change_number(float *to, const char *name, const json_t *value, double min, double max,
                          char why[KINECT_CALIBRATION_WHY_BYTES])
{
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= min && number <= max)) {
        char found[32] = "something else";
        if (json_is_number(value)) {
            snprintf(found, sizeof found, "%g", number);
        }
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "%s: found %s, allowed is a number from %g to %g", name, found, min,
                 max);
        return false;
    }
    *to = (float)number;
    return true;
}

static bool change_mirror(kinect_calibration *to, const json_t *value, char why[KINECT_CALIBRATION_WHY_BYTES])
{
    if (!json_is_boolean(value)) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "mirror: found something else, allowed are true and false");
        return false;
    }
    to->mirror = json_is_true(value);
    return true;
}

static bool change_rotate(kinect_calibration *to, const json_t *value, char why[KINECT_CALIBRATION_WHY_BYTES])
{
    const double degrees = json_number_value(value);
    if (!json_is_number(value) || (degrees != 0 && degrees != 90 && degrees != 180 && degrees != 270)) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "rotate_deg: found %s, allowed are 0, 90, 180 and 270",
                 json_is_number(value) ? "another number" : "something else");
        return false;
    }
    to->turns = (uint32_t)degrees / 90;
    return true;
}

static const struct {
    const char *name;
    uint32_t field;
} fields[] = {
    {"corners_px", KINECT_FIELD_CORNERS},      {"near_m", KINECT_FIELD_NEAR},   {"far_m", KINECT_FIELD_FAR},
    {"dead_zone_m_s", KINECT_FIELD_DEAD_ZONE}, {"mirror", KINECT_FIELD_MIRROR}, {"rotate_deg", KINECT_FIELD_ROTATE},
};

static bool change_field(kinect_calibration *to, uint32_t field, const json_t *value,
                         char why[KINECT_CALIBRATION_WHY_BYTES])
{
    switch (field) {
    case KINECT_FIELD_CORNERS:
        return change_corners(to, value, why);
    case KINECT_FIELD_NEAR:
        return change_number(&to->near_m, "near_m", value, 0.2, 10, why);
    case KINECT_FIELD_FAR:
        return change_number(&to->far_m, "far_m", value, 0.2, 10, why);
    case KINECT_FIELD_DEAD_ZONE:
        return change_number(&to->dead_zone_m_s, "dead_zone_m_s", value, 0, 2, why);
    case KINECT_FIELD_MIRROR:
        return change_mirror(to, value, why);
    default:
        return change_rotate(to, value, why);
    }
}

bool kinect_calibration_change(kinect_calibration *calibration, const struct json_t *object, uint32_t keep,
                               char why[KINECT_CALIBRATION_WHY_BYTES])
{
    kinect_calibration changed = *calibration;
    size_t known = 0;
    if (!json_is_object(object)) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "found no object, allowed is { \"near_m\": ..., ... }");
        return false;
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        known += value != NULL;
        kinect_calibration ignored = changed;
        if (value != NULL &&
            !change_field((keep & fields[i].field) != 0 ? &ignored : &changed, fields[i].field, value, why)) {
            return false;
        }
    }
    if (json_object_size(object) > known) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "found another field, allowed are corners_px, near_m, far_m, dead_zone_m_s, mirror and rotate_deg");
        return false;
    }
    if (changed.near_m >= changed.far_m) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "found near_m %g and far_m %g, allowed is a near limit below the far one", (double)changed.near_m,
                 (double)changed.far_m);
        return false;
    }
    *calibration = changed;
    return true;
}

// ---- calibration: files ----

tarn_status kinect_calibration_load(kinect_calibration *calibration, const char *path, uint32_t keep,
                                    char why[KINECT_CALIBRATION_WHY_BYTES])
{
    char found[KINECT_CALIBRATION_WHY_BYTES], reason[REASON_BYTES];
    tarn_status status;
    json_t *root = load(path, reason, &status);
    if (root == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "%s", reason);
        return status;
    }
    if (!kinect_calibration_change(calibration, root, keep, found)) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "%.150s: %.320s", path, found);
        status = TARN_E_MALFORMED;
    }
    json_decref(root);
    return status;
}

enum { NUMBER_BYTES = 24 };

/// The fewest digits that are read as the same number: limits that differ must not be saved as one.
static const char *number_text(float number, char text[NUMBER_BYTES])
{
    for (int digits = 3; digits <= 9; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*g", digits, (double)number);
        if (strtof(text, NULL) == number) {
            break;
        }
    }
    return text;
}

size_t kinect_calibration_print(const kinect_calibration *calibration, char text[KINECT_CALIBRATION_TEXT_BYTES])
{
    const float(*c)[2] = calibration->corners;
    char corners[9 * NUMBER_BYTES] = "null", number[8][NUMBER_BYTES];
    if (calibration->has_corners) {
        for (int i = 0; i < 8; i++) {
            number_text(c[i / 2][i % 2], number[i]);
        }
        snprintf(corners, sizeof corners, "[[%s, %s], [%s, %s], [%s, %s], [%s, %s]]", number[0], number[1], number[2],
                 number[3], number[4], number[5], number[6], number[7]);
    }
    const int bytes =
        snprintf(text, KINECT_CALIBRATION_TEXT_BYTES,
                 "{ \"corners_px\": %s,\n  \"near_m\": %s, \"far_m\": %s, \"dead_zone_m_s\": %s, "
                 "\"mirror\": %s, \"rotate_deg\": %u }\n",
                 corners, number_text(calibration->near_m, number[0]), number_text(calibration->far_m, number[1]),
                 number_text(calibration->dead_zone_m_s, number[2]), calibration->mirror ? "true" : "false",
                 90 * calibration->turns);
    return (size_t)bytes;
}

static bool write_all(int fd, const char *text, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t wrote = write(fd, text + done, bytes - done);
        if (wrote < 0 && errno != EINTR) {
            return false;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd) == 0;
}

tarn_status kinect_calibration_save(const kinect_calibration *calibration, const char *path,
                                    char why[KINECT_CALIBRATION_WHY_BYTES])
{
    char text[KINECT_CALIBRATION_TEXT_BYTES], made[PATH_BYTES], resolved[PATH_MAX];
    const size_t bytes = kinect_calibration_print(calibration, text);
    const char *to = realpath(path, resolved) != NULL ? resolved : path; // a link stays one
    if ((size_t)snprintf(made, sizeof made, "%s.XXXXXX", to) >= sizeof made) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "found a path of %zu bytes, allowed are %zu", strlen(path),
                 sizeof made - sizeof ".XXXXXX");
        return TARN_E_LIMIT;
    }
    const int fd = mkostemp(made, O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "%.300s can't be written: %s", path, strerror(errno));
        return TARN_E_IO;
    }
    const mode_t mask = umask(0);
    umask(mask);
    bool whole = write_all(fd, text, bytes) && fchmod(fd, 0666 & ~mask) == 0;
    whole = close(fd) == 0 && whole && rename(made, to) == 0;
    if (!whole) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES, "%.300s can't be written: %s", path, strerror(errno));
        unlink(made);
        return TARN_E_IO;
    }
    return TARN_OK;
}

// ---- planes for the page ----
// A cell's depth is the mean of what was measured in it, if that is a quarter of its pixels at least: so the sensor's
// noise hardly shows, and what the difference shows moves.

/// The mean depth of a cell of `side` pixels a side; 0: too little was measured.
static uint32_t mean_mm(const show_planes *planes, const uint16_t *mm, uint32_t column, uint32_t row, uint32_t side)
{
    const uint32_t from_x = column * side, from_y = row * side;
    const uint32_t to_x = from_x + side < planes->width ? from_x + side : planes->width;
    const uint32_t to_y = from_y + side < planes->height ? from_y + side : planes->height;
    uint32_t sum_mm = 0, count = 0;
    for (uint32_t y = from_y; y < to_y; y++) {
        for (uint32_t x = from_x; x < to_x; x++) {
            const uint32_t z = mm[(size_t)y * planes->width + x];
            sum_mm += z;
            count += z != 0;
        }
    }
    return count > 0 && 4 * count >= (to_x - from_x) * (to_y - from_y) ? sum_mm / count : 0;
}

static uint8_t byte_of(uint32_t mm, uint32_t step_mm)
{
    const uint32_t steps = (mm + step_mm / 2) / step_mm;
    return (uint8_t)(steps < UINT8_MAX ? steps : UINT8_MAX);
}

void show_planes_add(show_planes *planes, const uint16_t *mm, uint32_t width, uint32_t height)
{
    const uint32_t across = (width + SHOW_COLUMNS_MAX - 1) / SHOW_COLUMNS_MAX;
    const uint32_t down = (height + SHOW_ROWS_MAX - 1) / SHOW_ROWS_MAX, side = across > down ? across : down;
    if (planes->width != width || planes->height != height) {
        memset(planes, 0, sizeof *planes);
        planes->width = width;
        planes->height = height;
        planes->columns = (width + side - 1) / side;
        planes->rows = (height + side - 1) / side;
    }
    for (uint32_t y = 0; y < planes->rows; y++) {
        for (uint32_t x = 0; x < planes->columns; x++) {
            const size_t at = (size_t)y * planes->columns + x;
            const uint32_t now = mean_mm(planes, mm, x, y, side), before = planes->before_mm[at];
            const uint32_t difference = now == 0 || before == 0 ? 0 : now > before ? now - before : before - now;
            const uint8_t depth = byte_of(now, SHOW_DEPTH_STEP_MM);
            planes->depth[at] = (uint8_t)(now != 0 && depth == 0 ? 1 : depth);
            planes->difference[at] = byte_of(difference, SHOW_DIFFERENCE_STEP_MM);
            planes->before_mm[at] = (uint16_t)now;
        }
    }
}

// ---- the camera ----
// Its thread, and the mailbox through which the loop has its frames: the only thing that both touch, under its lock.

enum {
    WAIT_MS = 100, ///< for a frame, so that an end is heard
    REST_MS = 50,
    REOPEN_MS = 1000,
    BAD_KINDS_MAX = 8, ///< of wrong frames that are named
};

/// Wrong frames are named once each kind: by their sentence behind the file's name.
typedef struct bad_kinds {
    char names[BAD_KINDS_MAX][DEPTH_WHY_BYTES];
    uint32_t count;
} bad_kinds;

static void name_bad(kinect_camera *c, bad_kinds *kinds, const char *why)
{
    const char *behind = strstr(why, ": ");
    behind = behind != NULL ? behind : why;
    for (uint32_t i = 0; i < kinds->count; i++) {
        if (strcmp(kinds->names[i], behind) == 0) {
            return;
        }
    }
    if (kinds->count < BAD_KINDS_MAX) {
        snprintf(kinds->names[kinds->count++], DEPTH_WHY_BYTES, "%s", behind);
        kinect_say(c->command, "left out a frame: %s; others like it are left out without a word", why);
    }
}

static void free_cells(kinect_mail *m)
{
    free(m->presence);
    free(m->velocity);
    free(m->depth_m);
}

/// Takes the frame's planes over, for the page. Under the lock.
static void post_planes(kinect_mail *m, const show_planes *planes)
{
    m->has_planes = planes != NULL;
    if (planes != NULL && m->planes == NULL) {
        m->planes = malloc(sizeof *m->planes);
    }
    m->has_planes &= m->planes != NULL;
    if (m->has_planes) {
        *m->planes = *planes;
    }
}

static bool room_for(kinect_mail *m, size_t cells)
{
    if (m->cells >= cells) {
        return true;
    }
    free_cells(m);
    m->presence = malloc(cells * sizeof(float));
    m->velocity = malloc(3 * cells * sizeof(float));
    m->depth_m = malloc(cells * sizeof(float));
    const bool has_room = m->presence != NULL && m->velocity != NULL && m->depth_m != NULL;
    m->cells = has_room ? cells : 0;
    return has_room;
}

/// @param planes  NULL: nobody looks
static void post(kinect_camera *c, const motion_result *result, const depth_frame *frame, const show_planes *planes,
                 uint64_t find_ns)
{
    const size_t cells = (size_t)result->columns * result->rows;
    pthread_mutex_lock(&c->lock);
    c->full = room_for(&c->box, cells);
    if (c->full) {
        memcpy(c->box.presence, result->presence, cells * sizeof(float));
        memcpy(c->box.velocity, result->velocity, 3 * cells * sizeof(float));
        memcpy(c->box.depth_m, result->depth_m, cells * sizeof(float));
        c->box.result = *result;
        c->box.result.person = NULL; // the finder's, which goes on
        c->box.width = frame->width;
        c->box.height = frame->height;
        c->box.arrived_ns = frame->arrived_ns;
        post_planes(&c->box, planes);
    }
    c->counted.frames++;
    c->counted.find_ns += find_ns;
    pthread_mutex_unlock(&c->lock);
    uv_async_send(c->wake);
}

static void rest_ms(const kinect_camera *c, int ms)
{
    for (; ms > 0 && !atomic_load(&c->ending); ms -= REST_MS) {
        nanosleep(&(struct timespec){0, REST_MS * 1000000L}, NULL);
    }
}

/// @param why  NULL: nothing is wrong
static void set_state(kinect_camera *c, kinect_camera_state state, const char *why)
{
    pthread_mutex_lock(&c->lock);
    c->state = state;
    snprintf(c->state_why, sizeof c->state_why, "%s", why != NULL ? why : "");
    pthread_mutex_unlock(&c->lock);
}

/// Opens the source, however long that takes. The first time it must work. @return NULL: it couldn't, or the end
static depth_source *open_source(kinect_camera *c, bool first)
{
    char why[DEPTH_WHY_BYTES];
    for (bool again = false; !atomic_load(&c->ending); again = true) {
        depth_source *source = depth_source_open(&c->source, why);
        if (source != NULL) {
            return source;
        }
        if (first && !again && c->source.kind == DEPTH_FOLDER) {
            kinect_say(c->command, "%s can't be played: %s", c->source_name, why);
            return NULL;
        }
        if (first && !again) {
            kinect_say(c->command, "%s: %s; trying again", c->source_name, why);
        }
        set_state(c, first ? KINECT_CAMERA_OPENING : KINECT_CAMERA_LOST, why);
        rest_ms(c, REOPEN_MS);
    }
    return NULL;
}

/// What a frame's pixels are worth is said once, and once that it is over.
static void watch_blindness(kinect_camera *c, const motion_result *result, bool *blind)
{
    const float little = 0.01f;
    if (result->measured < little && !*blind) {
        kinect_say(c->command, "%s measures nothing: all of its pixels are empty; is something before it?",
                   c->source_name);
        *blind = true;
    } else if (result->measured > 10 * little && *blind) {
        kinect_say(c->command, "%s measures again", c->source_name);
        *blind = false;
    }
}

static bool fit_finder(kinect_camera *c, motion_find **find, motion_settings *settings, const depth_frame *frame)
{
    if (*find != NULL && settings->width == frame->width && settings->height == frame->height) {
        return true;
    }
    motion_find_free(*find);
    settings->width = frame->width;
    settings->height = frame->height;
    *find = motion_find_make(settings);
    if (*find == NULL) {
        kinect_say(c->command, "out of memory for frames of %u x %u pixels", frame->width, frame->height);
    }
    return *find != NULL;
}

/// Takes over what the page has changed.
static void fit_limits(kinect_camera *c, motion_find *find, motion_settings *settings)
{
    pthread_mutex_lock(&c->lock);
    settings->near_m = c->near_m;
    settings->far_m = c->far_m;
    settings->dead_zone_m_s = c->dead_zone_m_s;
    pthread_mutex_unlock(&c->lock);
    if (find != NULL) {
        motion_find_limit(find, settings->near_m, settings->far_m, settings->dead_zone_m_s);
    }
}

/// One frame on its way into the mailbox. @return the motion in it; NULL: out of memory
static const motion_result *take_frame(kinect_camera *c, const depth_frame *frame, motion_find **find,
                                       motion_settings *settings, show_planes *planes)
{
    fit_limits(c, *find, settings);
    if (!fit_finder(c, find, settings, frame)) {
        return NULL;
    }
    const uint64_t from_ns = tarn_clock_monotonic_ns();
    const motion_result *result = motion_find_frame(*find, frame->mm, frame->time_s);
    const uint64_t find_ns = tarn_clock_monotonic_ns() - from_ns;
    const bool looks = planes != NULL && atomic_load(&c->looks);
    if (looks) {
        show_planes_add(planes, frame->mm, frame->width, frame->height);
    } else if (planes != NULL) {
        planes->width = 0; // what is shown next differs from nothing
    }
    post(c, result, frame, looks ? planes : NULL, find_ns);
    return result;
}

static void *watch_camera(void *user)
{
    kinect_camera *c = user;
    motion_settings settings = c->motion;
    show_planes *planes = c->shows ? calloc(1, sizeof *planes) : NULL;
    motion_find *find = NULL;
    bad_kinds *kinds = calloc(1, sizeof *kinds);
    char why[DEPTH_WHY_BYTES];
    bool blind = false, through = false, lost = false, has_seen = false;
    depth_source *source = kinds != NULL ? open_source(c, true) : NULL;
    while (source != NULL && !atomic_load(&c->ending) && !through) {
        depth_frame frame;
        switch (depth_source_next(source, WAIT_MS, &frame, why)) {
        case DEPTH_NEXT: {
            if (lost) { // it counts as back when it sends, as some can be opened and are silent
                kinect_say(c->command, "%s is back", c->source_name);
                lost = false;
            }
            const motion_result *result = take_frame(c, &frame, &find, &settings, planes);
            if (result == NULL) {
                depth_source_close(source);
                source = NULL;
                break;
            }
            set_state(c, KINECT_CAMERA_OPEN, NULL);
            watch_blindness(c, result, &blind);
            has_seen = true;
            break;
        }
        case DEPTH_NONE:
            break;
        case DEPTH_BAD:
            name_bad(c, kinds, why);
            pthread_mutex_lock(&c->lock);
            c->counted.bad++;
            pthread_mutex_unlock(&c->lock);
            break;
        case DEPTH_END:
            through = true;
            if (has_seen) {
                kinect_say(c->command, "%s is at its end", c->source_name);
            } else {
                kinect_say(c->command, "%s has no frame that can be used", c->source_name);
            }
            break;
        case DEPTH_NOTE:
            kinect_say(c->command, "%s", why);
            break;
        case DEPTH_LOST:
            if (!lost) {
                kinect_say(c->command, "%s is lost: %s; waiting until it is back", c->source_name, why);
                lost = true;
            }
            set_state(c, KINECT_CAMERA_LOST, why);
            depth_source_close(source);
            rest_ms(c, REOPEN_MS);
            source = open_source(c, false);
            break;
        }
    }
    const bool failed = (source == NULL && !atomic_load(&c->ending)) || (through && !has_seen);
    depth_source_close(source);
    motion_find_free(find);
    free(planes);
    free(kinds);
    if (through || failed) {
        set_state(c, failed ? KINECT_CAMERA_FAILED : KINECT_CAMERA_THROUGH, NULL);
    }
    uv_async_send(c->wake);
    return NULL;
}

// ---- the camera: what the loop asks ----

bool kinect_camera_start(kinect_camera *c)
{
    depth_choice_name(&c->source, c->source_name);
    pthread_mutex_init(&c->lock, NULL);
    c->near_m = c->motion.near_m;
    c->far_m = c->motion.far_m;
    c->dead_zone_m_s = c->motion.dead_zone_m_s;
    c->started = pthread_create(&c->thread, NULL, watch_camera, c) == 0;
    if (!c->started) {
        kinect_say(c->command, "no thread for the camera");
    }
    return c->started;
}

void kinect_camera_stop(kinect_camera *c)
{
    atomic_store(&c->ending, true);
}

void kinect_camera_end(kinect_camera *c)
{
    kinect_camera_stop(c);
    if (c->started) {
        pthread_join(c->thread, NULL);
    }
}

void kinect_camera_free(kinect_camera *c)
{
    kinect_mail_free(&c->box);
    pthread_mutex_destroy(&c->lock);
}

void kinect_mail_free(kinect_mail *m)
{
    free_cells(m);
    free(m->planes);
}

bool kinect_camera_take(kinect_camera *c, kinect_mail *mail)
{
    pthread_mutex_lock(&c->lock);
    const bool full = c->full;
    if (full) {
        const kinect_mail spare = *mail;
        *mail = c->box;
        c->box = spare;
        c->full = false;
    }
    pthread_mutex_unlock(&c->lock);
    mail->result.presence = mail->presence;
    mail->result.velocity = mail->velocity;
    mail->result.depth_m = mail->depth_m;
    return full;
}

kinect_camera_state kinect_camera_is(kinect_camera *c)
{
    pthread_mutex_lock(&c->lock);
    const kinect_camera_state state = c->state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

void kinect_camera_describe(kinect_camera *c, const kinect_mail *newest, char sentence[2 * DEPTH_WHY_BYTES])
{
    char why[DEPTH_WHY_BYTES];
    pthread_mutex_lock(&c->lock);
    const kinect_camera_state state = c->state;
    memcpy(why, c->state_why, sizeof why);
    pthread_mutex_unlock(&c->lock);
    if (state == KINECT_CAMERA_OPEN) {
        snprintf(sentence, 2 * DEPTH_WHY_BYTES, "%.450s sends %u x %u pixels and measures %.0f %% of them%s",
                 c->source_name, newest->width, newest->height, 100 * (double)newest->result.measured,
                 newest->result.learning ? "; it looks at the empty scene" : "");
    } else {
        snprintf(sentence, 2 * DEPTH_WHY_BYTES, "%.450s %s%s%.450s", c->source_name,
                 state == KINECT_CAMERA_LOST      ? "is lost; waiting until it is back"
                 : state == KINECT_CAMERA_OPENING ? "isn't open yet"
                 : state == KINECT_CAMERA_FAILED  ? "can't go on"
                                                  : "is through",
                 why[0] != '\0' ? ": " : "", why);
    }
}

kinect_tally kinect_camera_count(kinect_camera *c)
{
    pthread_mutex_lock(&c->lock);
    const kinect_tally counted = c->counted;
    c->counted = (kinect_tally){0};
    pthread_mutex_unlock(&c->lock);
    return counted;
}

void kinect_camera_limit(kinect_camera *c, const kinect_calibration *calibration)
{
    pthread_mutex_lock(&c->lock);
    c->near_m = calibration->near_m;
    c->far_m = calibration->far_m;
    c->dead_zone_m_s = calibration->dead_zone_m_s;
    pthread_mutex_unlock(&c->lock);
}

// ---- the wall ----
// The wall's unit square -> mirrored, turned -> the camera's picture, by a homography where corners are given: P.
// Heckbert, "Fundamentals of texture mapping and image warping", 1989, section 2.2.3. Its derivative at each cell tells
// what a velocity in the picture is on the wall.

enum {
    VELOCITY_STEP = 4,   ///< of 127: runs of equal bytes code well, and nobody sees a 32nd of the fastest
    VELOCITY_STEPS = 31, ///< to the largest byte
    OUTLIERS_OF = 50,    ///< one cell in so many may be faster than the largest byte says
    PRESENCE_STEP = 32,  ///< of 255
};

static const float speed_least_m_s = 0.5f; ///< for 127, so that noise isn't spread over all steps
static const float speed_most_m_s = 100;

typedef struct wall_cell {
    float x, y;      ///< in the picture, pixels; negative: outside
    float matrix[4]; ///< pixels a second right and down -> m/s along across and up
    float scale;     ///< the same of what has no direction, always positive
    float away_sign; ///< of what goes away from the camera, across the wall
} wall_cell;

struct motion_wall {
    motion_wall_settings settings;
    wall_cell cells[];
};

/// Of the unit square, with v down, onto four corners.
typedef struct homography {
    float a, b, c, d, e, f, g, h;
} homography;

static float turn_of(const float p[2], const float q[2], const float r[2])
{
    return (q[0] - p[0]) * (r[1] - q[1]) - (q[1] - p[1]) * (r[0] - q[0]);
}

bool motion_wall_corners_fit(const float *corners)
{
    int rights = 0, lefts = 0;
    for (int i = 0; i < 4; i++) {
        const float turn = turn_of(corners + 2 * i, corners + 2 * ((i + 1) % 4), corners + 2 * ((i + 2) % 4));
        rights += turn > 1;
        lefts += turn < -1;
    }
    return rights == 4 || lefts == 4;
}

static homography square_to(const float *corners)
{
    const float *p0 = corners, *p1 = corners + 2, *p2 = corners + 4, *p3 = corners + 6;
    const float dx1 = p1[0] - p2[0], dx2 = p3[0] - p2[0], sx = p0[0] - p1[0] + p2[0] - p3[0];
    const float dy1 = p1[1] - p2[1], dy2 = p3[1] - p2[1], sy = p0[1] - p1[1] + p2[1] - p3[1];
    const float area = dx1 * dy2 - dx2 * dy1;
    homography m;
    m.g = (sx * dy2 - dx2 * sy) / area;
    m.h = (dx1 * sy - sx * dy1) / area;
    m.a = p1[0] - p0[0] + m.g * p1[0];
    m.b = p3[0] - p0[0] + m.h * p3[0];
    m.c = p0[0];
    m.d = p1[1] - p0[1] + m.g * p1[1];
    m.e = p3[1] - p0[1] + m.h * p3[1];
    m.f = p0[1];
    return m;
}

/// A place on the wall, s to the right and t up, 0..1, in the picture.
static void to_picture(const motion_wall_settings *settings, const homography *m, float s, float t, float at[2])
{
    float u = settings->mirror ? 1 - s : s, v = 1 - t;
    for (uint32_t i = 0; i < settings->turns; i++) { // back, a quarter at a time
        const float before = u;
        u = v;
        v = 1 - before;
    }
    const float w = m->g * u + m->h * v + 1;
    at[0] = (m->a * u + m->b * v + m->c) / w;
    at[1] = (m->d * u + m->e * v + m->f) / w;
}

static void place_cell(const motion_wall_settings *settings, const homography *m, float s, float t, wall_cell *cell)
{
    const float small = 1e-3f;
    float left[2], right[2], below[2], above[2], here[2];
    to_picture(settings, m, s, t, here);
    to_picture(settings, m, s - small, t, left);
    to_picture(settings, m, s + small, t, right);
    to_picture(settings, m, s, t - small, below);
    to_picture(settings, m, s, t + small, above);
    // Pixels right and down for a step along across and along up.
    const float xs = (right[0] - left[0]) / (2 * small), ys = (right[1] - left[1]) / (2 * small);
    const float xt = (above[0] - below[0]) / (2 * small), yt = (above[1] - below[1]) / (2 * small);
    const float area = xs * yt - xt * ys;
    const bool inside = here[0] >= 0 && here[1] >= 0 && here[0] <= (float)settings->width &&
                        here[1] <= (float)settings->height && fabsf(area) > 1e-3f;
    cell->x = inside ? here[0] : -1;
    cell->y = here[1];
    if (!inside) {
        return;
    }
    cell->matrix[0] = settings->across_m * yt / area;
    cell->matrix[1] = -settings->across_m * xt / area;
    cell->matrix[2] = -settings->up_m * ys / area;
    cell->matrix[3] = settings->up_m * xs / area;
    cell->scale = sqrtf(settings->across_m * settings->up_m / fabsf(area));
    // In a picture that isn't mirrored, down is against up: the area is negative, and what goes away from the camera
    // goes into the tank. Mirrored, the camera looks out of it.
    cell->away_sign = area < 0 ? -1 : 1;
}

motion_wall *motion_wall_make(const motion_wall_settings *settings)
{
    const float width = (float)settings->width, height = (float)settings->height;
    const float all[8] = {0, 0, width, 0, width, height, 0, height};
    if (settings->has_corners && !motion_wall_corners_fit(&settings->corners[0][0])) {
        return NULL;
    }
    const homography m = square_to(settings->has_corners ? &settings->corners[0][0] : all);
    motion_wall *wall = calloc(1, sizeof *wall + (size_t)settings->columns * settings->rows * sizeof *wall->cells);
    if (wall == NULL) {
        return NULL;
    }
    wall->settings = *settings;
    for (uint32_t y = 0; y < settings->rows; y++) {
        for (uint32_t x = 0; x < settings->columns; x++) {
            place_cell(settings, &m, ((float)x + 0.5f) / (float)settings->columns,
                       ((float)y + 0.5f) / (float)settings->rows, &wall->cells[(size_t)y * settings->columns + x]);
        }
    }
    return wall;
}

void motion_wall_free(motion_wall *wall)
{
    free(wall);
}

/// What is at a place of the picture: presence, and m/s on the wall along its edges and across it.
static void sample(const wall_cell *cell, const motion_result *result, float value[4])
{
    const float x = cell->x / result->cell_pixels - 0.5f, y = cell->y / result->cell_pixels - 0.5f;
    const float left = floorf(x), top = floorf(y);
    float presence = 0, motion[3] = {0}, depth_m = 0;
    memset(value, 0, 4 * sizeof *value);
    for (int i = 0; i < 4; i++) {
        const float cx = left + (float)(i % 2), cy = top + (float)(i / 2);
        if (cx < 0 || cy < 0 || cx >= (float)result->columns || cy >= (float)result->rows) {
            continue;
        }
        const size_t at = (size_t)cy * result->columns + (size_t)cx;
        const float weight = (1 - fabsf(x - cx)) * (1 - fabsf(y - cy)) * result->presence[at];
        presence += weight;
        depth_m += weight * result->depth_m[at];
        for (int k = 0; k < 3; k++) {
            motion[k] += weight * result->velocity[3 * at + (size_t)k];
        }
    }
    if (presence < 0.02f || depth_m <= 0) {
        return;
    }
    // A metre a second there is so many pixels a second; the sums' weights cancel.
    const float pixels = result->focal_pixels / depth_m;
    const float right = motion[0] * pixels, down = -motion[1] * pixels;
    value[0] = presence;
    value[1] = cell->matrix[0] * right + cell->matrix[1] * down;
    value[2] = cell->matrix[2] * right + cell->matrix[3] * down;
    value[3] = cell->away_sign * cell->scale * motion[2] * pixels;
}

/// Of a cell that holds nobody nothing is said.
static bool cell_value(const motion_wall *wall, const motion_result *result, size_t i, float value[4])
{
    if (wall->cells[i].x < 0) {
        return false;
    }
    sample(&wall->cells[i], result, value);
    return lroundf(value[0] * 255 / PRESENCE_STEP) > 0;
}

static float speed_of(const float value[4])
{
    return fmaxf(fabsf(value[1]), fmaxf(fabsf(value[2]), fabsf(value[3])));
}

/// The speed that the largest byte stands for: that of the fastest cells but for a few, which a noisy camera makes much
/// faster than all others, who would then seem to rest.
static float speed_for(const motion_wall *wall, const motion_result *result, size_t count)
{
    enum { CLASSES = 128 };
    uint32_t of_class[CLASSES] = {0}, moving = 0, faster = 0;
    float fastest = 0, value[4];
    for (size_t i = 0; i < count; i++) {
        fastest = cell_value(wall, result, i, value) ? fmaxf(fastest, speed_of(value)) : fastest;
    }
    for (size_t i = 0; i < count && fastest > speed_least_m_s; i++) {
        if (cell_value(wall, result, i, value)) {
            const uint32_t class = (uint32_t)(speed_of(value) / fastest * (CLASSES - 1));
            of_class[class]++;
            moving += speed_of(value) > 0;
        }
    }
    uint32_t top = CLASSES;
    while (top > 1 && faster + of_class[top - 1] <= moving / OUTLIERS_OF) {
        faster += of_class[--top];
    }
    return fminf(fmaxf(fastest * (float)top / CLASSES, speed_least_m_s), speed_most_m_s);
}

static uint8_t step_of(float value, float fastest_m_s)
{
    const float steps = roundf(value / fastest_m_s * VELOCITY_STEPS);
    return (uint8_t)(int8_t)(VELOCITY_STEP * (int)fminf(fmaxf(steps, -VELOCITY_STEPS), VELOCITY_STEPS));
}

size_t motion_wall_planes(const motion_wall *wall, const motion_result *result, uint8_t *planes, float *speed_m_s)
{
    const size_t count = (size_t)wall->settings.columns * wall->settings.rows;
    const float fastest_m_s = speed_for(wall, result, count);
    size_t moving = 0;
    float value[4];
    memset(planes, 0, 4 * count);
    *speed_m_s = fastest_m_s * 127 / (VELOCITY_STEPS * VELOCITY_STEP);
    for (size_t i = 0; i < count; i++) {
        if (!cell_value(wall, result, i, value)) {
            continue;
        }
        const int presence = PRESENCE_STEP * (int)lroundf(value[0] * 255 / PRESENCE_STEP);
        planes[i] = (uint8_t)(presence < 255 ? presence : 255);
        for (size_t k = 1; k < 4; k++) {
            planes[k * count + i] = step_of(value[k], fastest_m_s);
        }
        moving += (planes[count + i] | planes[2 * count + i] | planes[3 * count + i]) != 0;
    }
    return moving;
}
