// Corners from a command line or a file; both end in the same check.
#include "server/tool/kinect/kinect_calibration.h"
#include "server/tool/kinect/motion_wall.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool read_file(const char *path, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES])
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "found \"%.150s\", which is neither eight numbers nor a JSON file: %.150s", path, error.text);
        return false;
    }
    json_t *list = json_object_get(root, "corners_px");
    bool right = json_is_array(list) && json_array_size(list) == 4;
    for (size_t i = 0; right && i < 4; i++) {
        json_t *pair = json_array_get(list, i);
        right = json_is_array(pair) && json_array_size(pair) == 2;
        for (size_t k = 0; right && k < 2; k++) {
            right = json_is_number(json_array_get(pair, k));
            corners[i][k] = (float)json_number_value(json_array_get(pair, k));
        }
    }
    json_decref(root);
    if (!right) {
        snprintf(why, KINECT_CALIBRATION_WHY_BYTES,
                 "%.200s: found no corners, allowed is { \"corners_px\": [[x, y], [x, y], [x, y], [x, y]] }", path);
    }
    return right;
}

bool kinect_calibration_read(const char *text, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES])
{
    if (!read_line(text, corners) && !read_file(text, corners, why)) {
        return false;
    }
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
