// Disparity to depth by S. Magnenat's fit, z = 0.1236 tan(raw / 2842.5 + 1.1863), which the OpenKinect project's page
// on imaging gives as the more exact of the usual ones.
#include "server/tool/kinect/depth_raw.h"

#include <math.h>

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
