/// From what the camera sees to a grid on the wall: which place of the picture lies at which place of the wall, and
/// what motion there means on it. Pure; made once for a size of frames and a rectangle.
///
/// A silhouette and the water that it moves belong together, so that velocities become those of the picture on the
/// wall: a hand that crosses the picture in a second moves water that would cross the wall in one. What goes towards or
/// away from the camera is scaled as what goes along.
#ifndef TARN_SERVER_TOOL_KINECT_MOTION_WALL_H
#define TARN_SERVER_TOOL_KINECT_MOTION_WALL_H

#include "server/tool/kinect/motion_find.h"

#include <stddef.h>

typedef struct motion_wall_settings {
    uint32_t width, height; ///< of the camera's picture, pixels
    uint32_t columns, rows; ///< of the grid, as protocol/motion_code.h allows
    float across_m, up_m;   ///< of the rectangle in the tank
    bool has_corners;       ///< the wall's corners in the picture are known
    float corners[4][2];    ///< pixels: the wall's top left, top right, bottom right, bottom left
    bool mirror;            ///< the camera is at the wall and looks at those who face it
    uint32_t turns;         ///< quarter turns of the picture clockwise, 0..3
} motion_wall_settings;

typedef struct motion_wall motion_wall;

/// @return NULL: out of memory, or corners of which three lie on a line or which cross over (see
/// motion_wall_corners_fit)
motion_wall *motion_wall_make(const motion_wall_settings *settings);
void motion_wall_free(motion_wall *wall);

/// Whether four corners go around a convex area, one way or the other.
/// @param corners  as in the settings, x and y of each in turn
bool motion_wall_corners_fit(const float *corners);

/// Fills the planes of a motion message, columns x rows x 4 bytes, with steps so coarse that they code well.
/// @param speed_m_s  receives what 127 stands for
/// @return how many cells move
size_t motion_wall_planes(const motion_wall *wall, const motion_result *result, uint8_t *planes, float *speed_m_s);

#endif
