/// A Kinect's raw 11 bits of disparity, as millimetres.
#ifndef TARN_SERVER_TOOL_KINECT_DEPTH_RAW_H
#define TARN_SERVER_TOOL_KINECT_DEPTH_RAW_H

#include <stddef.h>
#include <stdint.h>

enum {
    DEPTH_RAW_VALUES = 2048,
    DEPTH_RAW_NOTHING = 2047, ///< the camera saw nothing that it could measure
    DEPTH_RAW_MM_MAX = 10000, ///< beyond, a step of disparity is half a metre
};

/// Fills a table with millimetres; 0 where nothing was measured, or farther than DEPTH_RAW_MM_MAX.
void depth_raw_table(uint16_t mm[DEPTH_RAW_VALUES]);

/// Puts millimetres in place of raw values; those beyond 11 bits are nothing.
void depth_raw_convert(const uint16_t mm[DEPTH_RAW_VALUES], uint16_t *pixels, size_t count);

#endif
