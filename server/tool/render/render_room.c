#include "server/tool/render/render_room.h"

#include <string.h>

enum { N = ROOM_SHADOW_CELLS };

static const vec3 HORIZON = {0.71f, 0.73f, 0.75f}, ZENITH = {0.36f, 0.43f, 0.52f};
static const vec3 TABLE = {0.53f, 0.525f, 0.52f}, TILE_LIGHT = {0.66f, 0.655f, 0.645f},
                  TILE_DARK = {0.45f, 0.45f, 0.45f};

/// 1, 2 or 5 times a power of ten, at most `value`.
static float round_down(float value)
{
    float power = powf(10.0f, floorf(log10f(value)));
    float digit = value / power;
    return power * (digit >= 5.0f ? 5.0f : digit >= 2.0f ? 2.0f : 1.0f);
}

room room_make(vec3 size_m, float pixel_m, float *shadow)
{
    room r = {.size_m = size_m, .light = vec3_normal((vec3){-0.55f, 1.0f, 0.25f}), .tile_soft_m = 0.5f * pixel_m};
    r.tile_m = round_down(fmaxf(fminf(size_m.x, size_m.z), 0.125f * fmaxf(size_m.x, size_m.z)) / 5.0f);
    r.absorb_per_m = 1.6f / cbrtf(size_m.x * size_m.y * size_m.z);
    r.shadow = shadow;
    r.shadow_work = shadow + (size_t)N * N;
    float margin_m = size_m.y;
    r.shadow_min_m[0] = -margin_m;
    r.shadow_min_m[1] = -margin_m;
    r.shadow_cell_m = (fmaxf(size_m.x, size_m.z) + 2.0f * margin_m) / (float)N;
    return r;
}

/// Mean of 2 radius + 1 cells along one axis; what is outside counts as 0.
static void blur_axis(const float *from, float *to, int stride, int other, int radius)
{
    for (int line = 0; line < N; line++) {
        const float *in = from + (size_t)line * (size_t)other;
        float *out = to + (size_t)line * (size_t)other;
        double sum = 0.0; // a float would keep a trace of what it added and took away
        for (int i = -radius; i < N; i++) {
            sum += i + radius < N ? (double)in[(size_t)(i + radius) * (size_t)stride] : 0.0;
            sum -= i - radius - 1 >= 0 ? (double)in[(size_t)(i - radius - 1) * (size_t)stride] : 0.0;
            if (i >= 0) {
                out[(size_t)i * (size_t)stride] = (float)(sum / (2 * radius + 1));
            }
        }
    }
}

void room_cast(room *r, const float *positions_m, uint32_t particle_count, float volume_m3)
{
    memset(r->shadow, 0, (size_t)N * N * sizeof(float));
    float per_m = 1.0f / r->shadow_cell_m;
    // A column under the cell: what the light goes through is longer by its slope.
    float depth_m = volume_m3 * per_m * per_m / r->light.y;
    for (size_t i = 0; i < particle_count; i++) {
        const float *p = positions_m + 3 * i;
        float x = (p[0] - p[1] * r->light.x / r->light.y - r->shadow_min_m[0]) * per_m;
        float z = (p[2] - p[1] * r->light.z / r->light.y - r->shadow_min_m[1]) * per_m;
        if (x >= 0.0f && z >= 0.0f && x < (float)N && z < (float)N) {
            r->shadow[(size_t)z * N + (size_t)x] += depth_m;
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        blur_axis(r->shadow, r->shadow_work, 1, N, 2);
        blur_axis(r->shadow_work, r->shadow, N, 1, 2);
    }
}

static float shadow_at(const room *r, float x_m, float z_m)
{
    float x = (x_m - r->shadow_min_m[0]) / r->shadow_cell_m - 0.5f;
    float z = (z_m - r->shadow_min_m[1]) / r->shadow_cell_m - 0.5f;
    if (!(x >= 0.0f && z >= 0.0f && x < (float)(N - 1) && z < (float)(N - 1))) {
        return 0.0f;
    }
    size_t ix = (size_t)x, iz = (size_t)z;
    float fx = x - (float)ix, fz = z - (float)iz;
    const float *s = r->shadow + iz * N + ix;
    return (s[0] * (1 - fx) + s[1] * fx) * (1 - fz) + (s[N] * (1 - fx) + s[N + 1] * fx) * fz;
}

/// A wave of squares between -1 and 1 with soft flanks: its product over two axes is a checkerboard.
static float squares(float x, float tile, float soft)
{
    float t = x / tile - 2.0f * floorf(0.5f * x / tile); // 0..2
    float edge = fminf(fabsf(t - 1.0f), fminf(t, 2.0f - t)) * tile;
    return (t < 1.0f ? 1.0f : -1.0f) * clampf(edge / soft, 0.0f, 1.0f);
}

vec3 room_floor(const room *r, float x_m, float z_m)
{
    vec3 colour = TABLE;
    if (x_m >= 0.0f && z_m >= 0.0f && x_m <= r->size_m.x && z_m <= r->size_m.z) {
        float wave = squares(x_m, r->tile_m, r->tile_soft_m) * squares(z_m, r->tile_m, r->tile_soft_m);
        colour = vec3_mix(TILE_DARK, TILE_LIGHT, 0.5f + 0.5f * wave);
    }
    float depth = shadow_at(r, x_m, z_m) * r->absorb_per_m;
    if (depth > 1e-6f) {
        // Some light comes from everywhere, so even a deep shadow isn't black; water lets blue through.
        vec3 through = {0.48f + 0.52f * expf(-2.2f * depth), 0.51f + 0.49f * expf(-0.9f * depth),
                        0.54f + 0.46f * expf(-0.5f * depth)};
        colour = vec3_mul(colour, through);
    }
    return colour;
}

vec3 room_sky(const room *r, vec3 direction)
{
    (void)r;
    float height = clampf(direction.y, 0.0f, 1.0f);
    return vec3_mix(HORIZON, ZENITH, 1.0f - (1.0f - height) * (1.0f - height));
}

vec3 room_light(const room *r, vec3 origin_m, vec3 direction)
{
    vec3 sky = room_sky(r, direction);
    if (direction.y >= -1e-4f) {
        return sky;
    }
    float distance_m = origin_m.y / -direction.y;
    vec3 hit = vec3_along(origin_m, direction, distance_m);
    vec3 off = {(hit.x - 0.5f * r->size_m.x), 0.0f, (hit.z - 0.5f * r->size_m.z)};
    float reach_m = 2.5f * sqrtf(vec3_dot(r->size_m, r->size_m));
    // The table melts into the wall behind it, so that there is no hard horizon.
    float far = 1.0f - expf(-vec3_dot(off, off) / (reach_m * reach_m));
    return vec3_mix(room_floor(r, hit.x, hit.z), HORIZON, far);
}
