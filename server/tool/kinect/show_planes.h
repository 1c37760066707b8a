/// A camera's depth made small for the page of --show: planes of a byte a cell, of depth and of what differs from the
/// frame before. Pure; one thread at a time.
#ifndef TARN_SERVER_TOOL_KINECT_SHOW_PLANES_H
#define TARN_SERVER_TOOL_KINECT_SHOW_PLANES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SHOW_COLUMNS_MAX = 160,
    SHOW_ROWS_MAX = 120,
    SHOW_CELLS_MAX = SHOW_COLUMNS_MAX * SHOW_ROWS_MAX,
    SHOW_DEPTH_STEP_MM = 40,     ///< that one of a byte stands for
    SHOW_DIFFERENCE_STEP_MM = 2, ///< the same of differences
};

typedef struct show_planes {
    uint32_t width, height;             ///< of the camera's frames; 0: none yet
    uint32_t columns, rows;             ///< of the planes, from the picture's top left
    uint8_t depth[SHOW_CELLS_MAX];      ///< 0: nothing was measured
    uint8_t difference[SHOW_CELLS_MAX]; ///< 0 where one of both frames has nothing
    uint16_t before_mm[SHOW_CELLS_MAX]; ///< of the newest frame
} show_planes;

/// Takes a frame in. @param mm  width x height millimetres, 0: nothing was measured
void show_planes_add(show_planes *planes, const uint16_t *mm, uint32_t width, uint32_t height);

#endif
