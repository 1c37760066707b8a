/// Where the wall is in the camera's picture, as a command line or a small file says it.
#ifndef TARN_SERVER_TOOL_KINECT_KINECT_CALIBRATION_H
#define TARN_SERVER_TOOL_KINECT_KINECT_CALIBRATION_H

#include <stdbool.h>

enum { KINECT_CALIBRATION_WHY_BYTES = 512 };

/// Reads the wall's corners, top left, top right, bottom right, bottom left, in pixels: eight numbers with commas
/// between them, or the name of a JSON file { "corners_px": [[x, y], [x, y], [x, y], [x, y]] }.
/// @param why  receives a sentence where the result is false
bool kinect_calibration_read(const char *text, float corners[4][2], char why[KINECT_CALIBRATION_WHY_BYTES]);

#endif
