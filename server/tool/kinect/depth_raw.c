// Disparity to depth by S. Magnenat's fit, z = 0.1236 tan(raw / 2842.5 + 1.1863), which the OpenKinect project's page
// on imaging gives as the more exact of the usual ones.
#include "server/tool/kinect/depth_raw.h"

#include <math.h>

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
const char *const depth_pixels_words[DEPTH_PIXELS_COUNT] = {
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

depth_pixels depth_pixels_judge(const uint16_t *pixels, size_t count, depth_pixels expected)
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

void depth_pixels_convert(const uint16_t mm[DEPTH_RAW_VALUES], depth_pixels kind, uint16_t *pixels, size_t count)
{
    for (size_t i = 0; i < count && is_swapped(kind); i++) {
        pixels[i] = __builtin_bswap16(pixels[i]);
    }
    if (is_raw(kind)) {
        depth_raw_convert(mm, pixels, count);
    }
}
