// Calibrations from command lines, files and the page; all end in the same checks, and a change is made on a copy, so
// that a wrong field leaves all as it was.
#include "server/tool/kinect/kinect_calibration.h"
#include "server/common/file_bytes.h"
#include "server/common/text_cursor.h"
#include "server/tool/kinect/motion_wall.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

// ---- single fields; `why` begins with the field's name ----

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

// ---- files ----

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
