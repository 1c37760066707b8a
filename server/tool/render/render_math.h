/// Vectors of three floats, and small helpers, for the renderer.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_MATH_H
#define TARN_SERVER_TOOL_RENDER_RENDER_MATH_H

#include <math.h>

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

static inline float clampf(float value, float min, float max)
{
    return value < min ? min : value > max ? max : value;
}

/// 0 below a, 1 above b, smooth between; a < b.
static inline float smoothf(float a, float b, float value)
{
    float t = clampf((value - a) / (b - a), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

#endif
