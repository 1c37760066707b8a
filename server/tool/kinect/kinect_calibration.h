/// How a camera is set up: where the wall is in its picture, and which depth and which motion count. A command line, a
/// small file and the page of --show say so; all end in the same checks.
///
/// The file is a JSON object; what it leaves out stays as it is:
///
///     { "corners_px": [[x, y], [x, y], [x, y], [x, y]],    the wall's; null: the picture's own
///       "near_m": 0.5, "far_m": 4, "dead_zone_m_s": 0.1, "mirror": false, "rotate_deg": 0 }
#ifndef TARN_SERVER_TOOL_KINECT_KINECT_CALIBRATION_H
#define TARN_SERVER_TOOL_KINECT_KINECT_CALIBRATION_H

#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KINECT_CALIBRATION_WHY_BYTES = 512,
    KINECT_CALIBRATION_TEXT_BYTES = 512, ///< of a calibration as text, at most
};

typedef struct kinect_calibration {
    bool has_corners;    ///< else they are the picture's
    float corners[4][2]; ///< pixels: top left, top right, bottom right, bottom left, before mirroring and turning
    float near_m, far_m;
    float dead_zone_m_s;
    bool mirror;
    uint32_t turns; ///< quarter turns clockwise, 0..3
} kinect_calibration;

/// The fields of a calibration, as bits.
enum {
    KINECT_FIELD_CORNERS = 1,
    KINECT_FIELD_NEAR = 2,
    KINECT_FIELD_FAR = 4,
    KINECT_FIELD_DEAD_ZONE = 8,
    KINECT_FIELD_MIRROR = 16,
    KINECT_FIELD_ROTATE = 32,
};

/// Reads the wall's corners, top left, top right, bottom right, bottom left, in pixels: eight numbers with commas
/// between them, or the name of a JSON file that has "corners_px".
/// @param why  receives a sentence where the result is false
bool kinect_calibration_read(const char *text, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES]);

struct json_t;

/// Takes over what an object says; all of it, or on failure nothing.
/// @param keep  fields that stay as they are, whatever it says
/// @param why   receives a sentence where the result is false
bool kinect_calibration_change(kinect_calibration *calibration, const struct json_t *object, uint32_t keep,
                               char why[KINECT_CALIBRATION_WHY_BYTES]);

/// The same of a file. @return TARN_OK, TARN_E_NOT_FOUND: there is none, TARN_E_IO, TARN_E_MALFORMED; then `why` is a
/// sentence
tarn_status kinect_calibration_load(kinect_calibration *calibration, const char *path, uint32_t keep,
                                    char why[KINECT_CALIBRATION_WHY_BYTES]);

/// Writes a calibration as the object above. @return its bytes
size_t kinect_calibration_print(const kinect_calibration *calibration, char text[KINECT_CALIBRATION_TEXT_BYTES]);

/// Puts it into a file, which is whole at any time: the old one or the new one.
/// @param why  receives a sentence where the result isn't TARN_OK
tarn_status kinect_calibration_save(const kinect_calibration *calibration, const char *path,
                                    char why[KINECT_CALIBRATION_WHY_BYTES]);

#endif
