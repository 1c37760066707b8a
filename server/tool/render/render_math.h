/// Vectors of three floats, and small helpers, for the renderer.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_MATH_H
#define TARN_SERVER_TOOL_RENDER_RENDER_MATH_H

#include <math.h>
#include <stdbool.h>

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

#endif
