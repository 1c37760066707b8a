// Projection, and the distance from which a box fills the picture: start at camera_fit.
#include "server/tool/render/render_camera.h"

static const float AZIMUTH_RAD = 0.42f, ELEVATION_RAD = 0.36f, HALF_VIEW_RAD = 0.24f, FLAT_HALF_VIEW_RAD = 0.03f;
static const float FILLED = 0.88f, FLAT_FILLED = 0.95f; // of the picture, by the box

typedef struct bounds {
    float min_x, max_x, min_y, max_y;
} bounds;

static bounds project_box(const camera *cam, box3 box)
{
    bounds b = {1e30f, -1e30f, 1e30f, -1e30f};
    for (int corner = 0; corner < 8; corner++) {
        vec3 point = {corner & 1 ? box.max.x : box.min.x, corner & 2 ? box.max.y : box.min.y,
                      corner & 4 ? box.max.z : box.min.z};
        float x, y;
        camera_project(cam, point, &x, &y);
        b.min_x = fminf(b.min_x, x);
        b.max_x = fmaxf(b.max_x, x);
        b.min_y = fminf(b.min_y, y);
        b.max_y = fmaxf(b.max_y, y);
    }
    return b;
}

camera camera_fit(box3 seen, bool is_flat, float width_px, float height_px)
{
    float azimuth = is_flat ? 0.0f : AZIMUTH_RAD, elevation = is_flat ? 0.0f : ELEVATION_RAD;
    float filled = is_flat ? FLAT_FILLED : FILLED;
    camera cam = {
        .back = {sinf(azimuth) * cosf(elevation), sinf(elevation), cosf(azimuth) * cosf(elevation)},
        .focal_px = 0.5f * fminf(width_px, height_px) / tanf(is_flat ? FLAT_HALF_VIEW_RAD : HALF_VIEW_RAD),
        .center_x_px = 0.5f * width_px,
        .center_y_px = 0.5f * height_px,
    };
    cam.right = vec3_normal(vec3_cross((vec3){0, 1, 0}, cam.back));
    cam.up = vec3_cross(cam.back, cam.right);
    vec3 middle = vec3_mix(seen.min, seen.max, 0.5f), half = vec3_sub(seen.max, middle);
    // Never closer than the corner that is nearest: half the diagonal.
    float near_m = 1.05f * sqrtf(vec3_dot(half, half)), far_m = 100.0f * near_m;
    for (int i = 0; i < 40; i++) {
        float distance_m = 0.5f * (near_m + far_m);
        cam.eye = vec3_along(middle, cam.back, distance_m);
        bounds b = project_box(&cam, seen);
        bool fits = b.max_x - b.min_x <= filled * width_px && b.max_y - b.min_y <= filled * height_px;
        *(fits ? &far_m : &near_m) = distance_m;
    }
    cam.eye = vec3_along(middle, cam.back, far_m);
    bounds b = project_box(&cam, seen);
    cam.center_x_px += 0.5f * (width_px - b.min_x - b.max_x);
    cam.center_y_px += 0.5f * (height_px - b.min_y - b.max_y);
    return cam;
}

camera camera_in_frame(const camera *cam, const mat3 *turn, vec3 about_m, vec3 moved_m)
{
    camera in = *cam;
    vec3 arm = vec3_sub(vec3_sub(cam->eye, moved_m), about_m);
    in.eye = vec3_add(mat3_back(turn, arm), about_m);
    in.right = mat3_back(turn, cam->right);
    in.up = mat3_back(turn, cam->up);
    in.back = mat3_back(turn, cam->back);
    return in;
}
