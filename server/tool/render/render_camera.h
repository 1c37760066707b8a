/// A perspective camera. Pixels count from the upper left corner of the picture; depth is in metres along the view.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_CAMERA_H
#define TARN_SERVER_TOOL_RENDER_RENDER_CAMERA_H

#include "server/tool/render/render_math.h"

#include <stdbool.h>

typedef struct camera {
    vec3 eye, right, up, back;
    float focal_px;
    float center_x_px, center_y_px; ///< where the camera points
} camera;

/// Looks at a box from the right, the front (+z) and above, so that all of it is in the picture's middle.
/// @param is_flat  from the front, and from so far away that only the front shows
camera camera_fit(box3 seen, bool is_flat, float width_px, float height_px);

/// The same camera in a frame that is turned about a point and then moved.
camera camera_in_frame(const camera *cam, const mat3 *turn, vec3 about_m, vec3 moved_m);

/// @return depth; the other two are meaningful where it is above 0
static inline float camera_project(const camera *cam, vec3 point_m, float *x_px, float *y_px)
{
    vec3 v = vec3_sub(point_m, cam->eye);
    float depth_m = -vec3_dot(v, cam->back);
    float scale = cam->focal_px / depth_m;
    *x_px = cam->center_x_px + vec3_dot(v, cam->right) * scale;
    *y_px = cam->center_y_px - vec3_dot(v, cam->up) * scale;
    return depth_m;
}

/// From the eye through a point of the picture, as long as depth 1 needs: eye + depth * this is the point.
static inline vec3 camera_ray(const camera *cam, float x_px, float y_px)
{
    vec3 ray = vec3_scale(cam->back, -1.0f);
    ray = vec3_along(ray, cam->right, (x_px - cam->center_x_px) / cam->focal_px);
    return vec3_along(ray, cam->up, (cam->center_y_px - y_px) / cam->focal_px);
}

#endif
