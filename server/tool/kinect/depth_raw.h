/// What 16 bits of a pixel hold: a Kinect's raw 11 bits of disparity, or millimetres, in either order of bytes.
#ifndef TARN_SERVER_TOOL_KINECT_DEPTH_RAW_H
#define TARN_SERVER_TOOL_KINECT_DEPTH_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DEPTH_RAW_VALUES = 2048,
    DEPTH_RAW_NOTHING = 2047, ///< the camera saw nothing that it could measure
    DEPTH_RAW_MM_MAX = 10000, ///< beyond, a step of disparity is half a metre
};

typedef enum depth_pixels {
    DEPTH_PIXELS_RAW = 0, ///< the low byte first, as all but those of "BE"
    DEPTH_PIXELS_RAW_BE = 1,
    DEPTH_PIXELS_MM = 2,
    DEPTH_PIXELS_MM_BE = 3,
    DEPTH_PIXELS_COUNT
} depth_pixels;

/// As options name them, and in words.
extern const char *const depth_pixels_names[DEPTH_PIXELS_COUNT], *const depth_pixels_words[DEPTH_PIXELS_COUNT];

/// What a frame's pixels plainly are: as expected, where they can be that.
/// @param pixels  as they were read, the low byte first
depth_pixels depth_pixels_judge(const uint16_t *pixels, size_t count, depth_pixels expected);

/// Puts millimetres in their place; what is no measure becomes 0.
void depth_pixels_convert(const uint16_t mm[DEPTH_RAW_VALUES], depth_pixels kind, uint16_t *pixels, size_t count);

/// Whether so many bytes hold rows of two bytes a pixel, each `stride` bytes behind the one before, whatever a driver
/// says of them. @param width, height  at least 1
bool depth_rows_fit(int width, int height, int stride, int bytes);

/// Fills a table with millimetres; 0 where nothing was measured, or farther than DEPTH_RAW_MM_MAX.
void depth_raw_table(uint16_t mm[DEPTH_RAW_VALUES]);

/// Puts millimetres in place of raw values; those beyond 11 bits are nothing.
void depth_raw_convert(const uint16_t mm[DEPTH_RAW_VALUES], uint16_t *pixels, size_t count);

#endif
