#include "server/tool/render/render_camera.h"

static const float AZIMUTH_RAD = 0.42f, ELEVATION_RAD = 0.36f, HALF_VIEW_RAD = 0.24f;
static const float FILLED = 0.88f; // of the picture, by the box

typedef struct bounds {
    float min_x, max_x, min_y, max_y;
} bounds;

static bounds project_box(const camera *cam, vec3 size_m)
{
    bounds b = {1e30f, -1e30f, 1e30f, -1e30f};
    for (int corner = 0; corner < 8; corner++) {
        vec3 point = {corner & 1 ? size_m.x : 0, corner & 2 ? size_m.y : 0, corner & 4 ? size_m.z : 0};
        float x, y;
        camera_project(cam, point, &x, &y);
        b.min_x = fminf(b.min_x, x);
        b.max_x = fmaxf(b.max_x, x);
        b.min_y = fminf(b.min_y, y);
        b.max_y = fmaxf(b.max_y, y);
    }
    return b;
}

camera camera_fit(vec3 size_m, float width_px, float height_px)
{
    camera cam = {
        .back = {sinf(AZIMUTH_RAD) * cosf(ELEVATION_RAD), sinf(ELEVATION_RAD), cosf(AZIMUTH_RAD) * cosf(ELEVATION_RAD)},
        .focal_px = 0.5f * fminf(width_px, height_px) / tanf(HALF_VIEW_RAD),
        .center_x_px = 0.5f * width_px,
        .center_y_px = 0.5f * height_px,
    };
    cam.right = vec3_normal(vec3_cross((vec3){0, 1, 0}, cam.back));
    cam.up = vec3_cross(cam.back, cam.right);
    vec3 middle = vec3_scale(size_m, 0.5f);
    // Never closer than the corner that is nearest: half the diagonal.
    float near_m = 1.05f * sqrtf(vec3_dot(middle, middle)), far_m = 100.0f * near_m;
    for (int i = 0; i < 40; i++) {
        float distance_m = 0.5f * (near_m + far_m);
        cam.eye = vec3_along(middle, cam.back, distance_m);
        bounds b = project_box(&cam, size_m);
        int fits = b.max_x - b.min_x <= FILLED * width_px && b.max_y - b.min_y <= FILLED * height_px;
        *(fits ? &far_m : &near_m) = distance_m;
    }
    cam.eye = vec3_along(middle, cam.back, far_m);
    bounds b = project_box(&cam, size_m);
    cam.center_x_px += 0.5f * (width_px - b.min_x - b.max_x);
    cam.center_y_px += 0.5f * (height_px - b.min_y - b.max_y);
    return cam;
}
