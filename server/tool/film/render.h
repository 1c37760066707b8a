/// Pictures of a tank: particles drawn as a lit, refracting surface, or as smoke or dye, with the tank's solids, in a
/// room. Software, no GPU. The same frame gives the same picture for any number of threads.
#ifndef TARN_SERVER_TOOL_FILM_RENDER_H
#define TARN_SERVER_TOOL_FILM_RENDER_H

#include "protocol/status.h"
#include "server/tool/film/export.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { RENDER_PIXELS_MIN = 16, RENDER_PIXELS_MAX = 4096 }; ///< of a picture, per axis

typedef struct render render;

/// Uses what `info` says of the tank, its solids and the pictures. It is not kept, but solids and fields are.
/// @return TARN_OK, TARN_E_ARGUMENT (a size out of its range) or TARN_E_MEMORY
tarn_status render_create(const export_info *info, render **out);

/// Takes NULL.
void render_destroy(render *r);

/// Draws a frame. `scaled` of the frame cover the liquid; else `colours` tint it, or `liquids` do. Of smoke and dye
/// `scaled` are the colours.
/// @param rgb  3 bytes per pixel, sRGB, from the upper left, width * height * 3 in all
/// @return TARN_OK or TARN_E_MEMORY
tarn_status render_draw(render *r, const export_frame *frame, uint8_t *rgb);

// ---- vectors ----
// Vectors of three floats, and small helpers, for the renderer.

typedef struct vec3 {
    float x, y, z;
} vec3;

static inline vec3 vec3_add(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline vec3 vec3_sub(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec3 vec3_scale(vec3 a, float s)
{
    return (vec3){a.x * s, a.y * s, a.z * s};
}

/// a + b * s
static inline vec3 vec3_along(vec3 a, vec3 b, float s)
{
    return (vec3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s};
}

static inline vec3 vec3_mul(vec3 a, vec3 b)
{
    return (vec3){a.x * b.x, a.y * b.y, a.z * b.z};
}

static inline vec3 vec3_mix(vec3 a, vec3 b, float t)
{
    return vec3_along(vec3_scale(a, 1.0f - t), b, t);
}

static inline float vec3_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 vec3_cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline vec3 vec3_normal(vec3 a)
{
    float length = sqrtf(vec3_dot(a, a));
    return length > 0.0f ? vec3_scale(a, 1.0f / length) : a;
}

/// What is no number becomes the least one: places in tables come from it.
static inline float clampf(float value, float min, float max)
{
    return !(value > min) ? min : value > max ? max : value;
}

/// Three rows.
typedef struct mat3 {
    vec3 row[3];
} mat3;

static inline vec3 mat3_mul(const mat3 *m, vec3 v)
{
    return (vec3){vec3_dot(m->row[0], v), vec3_dot(m->row[1], v), vec3_dot(m->row[2], v)};
}

/// By the transposed matrix: a rotation's way back.
static inline vec3 mat3_back(const mat3 *m, vec3 v)
{
    return vec3_along(vec3_along(vec3_scale(m->row[0], v.x), m->row[1], v.y), m->row[2], v.z);
}

typedef struct box3 {
    vec3 min, max;
} box3;

/// The part of a ray within a box, in units of the ray. @return whether there is one at or after 0
static inline bool box3_cut(const box3 *box, vec3 from, vec3 ray, float *in, float *out)
{
    const float lo[3] = {box->min.x, box->min.y, box->min.z}, hi[3] = {box->max.x, box->max.y, box->max.z},
                at[3] = {from.x, from.y, from.z}, d[3] = {ray.x, ray.y, ray.z};
    *in = 0.0f;
    *out = 1e30f;
    for (int axis = 0; axis < 3; axis++) {
        float slow = fabsf(d[axis]) > 1e-9f ? d[axis] : 1e-9f;
        float a = (lo[axis] - at[axis]) / slow, b = (hi[axis] - at[axis]) / slow;
        *in = fmaxf(*in, fminf(a, b));
        *out = fminf(*out, fmaxf(a, b));
    }
    return *in < *out;
}

/// 0 below a, 1 above b, smooth between; a < b.
static inline float smoothf(float a, float b, float value)
{
    float t = clampf((value - a) / (b - a), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

/// From a byte of sRGB to linear light.
static inline float srgb_linear(uint8_t srgb)
{
    float c = (float)srgb / 255.0f;
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

// ---- the camera ----
// A perspective camera. Pixels count from the upper left corner of the picture; depth is in metres along the view.

typedef struct camera {
    vec3 eye, right, up, back;
    float focal_px;
    float center_x_px, center_y_px; ///< where the camera points
} camera;

/// Looks at a box from the right, the front (+z) and above, so that all of it is in the picture's middle.
/// @param is_flat  from the front, and from so far away that only the front shows
camera camera_fit(box3 seen, bool is_flat, float width_px, float height_px);

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

// ---- rows ----
// Work on the rows of a picture, by several threads.

/// Handles begin <= i < end. Writes nothing that another range reads or writes, so that the result does not depend on
/// who handles what.
typedef void (*render_rows_fn)(void *context, uint32_t begin, uint32_t end);

/// Handles 0 <= i < count in ranges of at most `range` and waits for them all. Where a thread can't be had, the others
/// do its work.
void render_rows(uint32_t threads, uint32_t count, uint32_t range, render_rows_fn fn, void *context);

/// Processors that there are, at most RENDER_THREADS_MAX.
uint32_t render_rows_threads(void);

enum { RENDER_THREADS_MAX = 64 };

#endif
