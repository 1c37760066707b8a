// Light from a direction: the room's gradient, the table, the floor and its shadows. Start at room_light.
#include "server/tool/render/render_room.h"

#include <string.h>

enum { N = ROOM_SHADOW_CELLS };

static const vec3 HORIZON = {0.71f, 0.73f, 0.75f}, ZENITH = {0.36f, 0.43f, 0.52f};
static const vec3 TABLE = {0.53f, 0.525f, 0.52f}, TILE_LIGHT = {0.66f, 0.655f, 0.645f},
                  TILE_DARK = {0.45f, 0.45f, 0.45f}, UNDERSIDE = {0.20f, 0.20f, 0.21f}, WALL = {0.78f, 0.79f, 0.80f};
static const vec3 LIGHT = {-0.55f, 1.0f, 0.25f};
static const float SHADE_OF_SOLIDS = 0.42f; // the rest of the light comes from everywhere
static const float LIGHT_SLOPE_MIN = 0.15f; // lower light than that casts no shadow on the tank's floor

/// 1, 2 or 5 times a power of ten, at most `value`.
static float round_down(float value)
{
    float power = powf(10.0f, floorf(log10f(value)));
    float digit = value / power;
    return power * (digit >= 5.0f ? 5.0f : digit >= 2.0f ? 2.0f : 1.0f);
}

room room_make(vec3 size_m, float pixel_m, float *shadow)
{
    room r = {.size_m = size_m, .light = vec3_normal(LIGHT), .tile_soft_m = 0.5f * pixel_m};
    r.tile_m = round_down(fmaxf(fminf(size_m.x, size_m.z), 0.125f * fmaxf(size_m.x, size_m.z)) / 5.0f);
    r.absorbs = (vec3){2.2f, 0.9f, 0.5f}; // it lets blue through
    r.absorb_per_m = 1.6f / cbrtf(size_m.x * size_m.y * size_m.z);
    r.shadow = shadow;
    r.shade = shadow + (size_t)N * N;
    r.shadow_work = shadow + (size_t)2 * N * N;
    memset(shadow, 0, ROOM_SHADOW_FLOATS * sizeof(float));
    room_turn(&r, &(tarn_pose){.rotation = {0, 0, 0, 1}});
    float margin_m = size_m.y;
    r.shadow_min_m[0] = -margin_m;
    r.shadow_min_m[1] = -margin_m;
    r.shadow_cell_m = (fmaxf(size_m.x, size_m.z) + 2.0f * margin_m) / (float)N;
    return r;
}

void room_turn(room *r, const tarn_pose *pose)
{
    double m[3][3];
    tarn_pose_matrix(pose, m);
    for (int row = 0; row < 3; row++) {
        r->turn.row[row] = (vec3){(float)m[row][0], (float)m[row][1], (float)m[row][2]};
    }
    r->moved_m = (vec3){pose->position_m[0], pose->position_m[1], pose->position_m[2]};
    r->light = mat3_back(&r->turn, vec3_normal(LIGHT));
}

vec3 room_middle(const room *r)
{
    return vec3_scale(r->size_m, 0.5f);
}

vec3 room_direction(const room *r, vec3 direction)
{
    return mat3_mul(&r->turn, direction);
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

static void blur(const room *r, float *map, int radius)
{
    for (int pass = 0; pass < 2; pass++) {
        blur_axis(map, r->shadow_work, 1, N, radius);
        blur_axis(r->shadow_work, map, N, 1, radius);
    }
}

void room_cast(room *r, const float *positions_m, uint32_t particle_count, float volume_m3)
{
    memset(r->shadow, 0, (size_t)N * N * sizeof(float));
    if (r->light.y < LIGHT_SLOPE_MIN) {
        return;
    }
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
    blur(r, r->shadow, 2);
}

vec3 room_shade_cell(const room *r, uint32_t x, uint32_t z)
{
    return (vec3){r->shadow_min_m[0] + ((float)x + 0.5f) * r->shadow_cell_m, 0.0f,
                  r->shadow_min_m[1] + ((float)z + 0.5f) * r->shadow_cell_m};
}

void room_soften_shade(room *r)
{
    blur(r, r->shade, 1);
}

static float map_at(const room *r, const float *map, float x_m, float z_m)
{
    float x = (x_m - r->shadow_min_m[0]) / r->shadow_cell_m - 0.5f;
    float z = (z_m - r->shadow_min_m[1]) / r->shadow_cell_m - 0.5f;
    if (!(x >= 0.0f && z >= 0.0f && x < (float)(N - 1) && z < (float)(N - 1))) {
        return 0.0f;
    }
    size_t ix = (size_t)x, iz = (size_t)z;
    float fx = x - (float)ix, fz = z - (float)iz;
    const float *s = map + iz * N + ix;
    return (s[0] * (1 - fx) + s[1] * fx) * (1 - fz) + (s[N] * (1 - fx) + s[N + 1] * fx) * fz;
}

/// A wave of squares between -1 and 1 with soft flanks: its product over two axes is a checkerboard.
static float squares(float x, float tile, float soft)
{
    float t = x / tile - 2.0f * floorf(0.5f * x / tile); // 0..2
    float edge = fminf(fabsf(t - 1.0f), fminf(t, 2.0f - t)) * tile;
    return (t < 1.0f ? 1.0f : -1.0f) * clampf(edge / soft, 0.0f, 1.0f);
}

/// Dims a colour by the shadows at a point of the plane of the tank's floor.
static vec3 in_shadow(const room *r, vec3 colour, float x_m, float z_m)
{
    float depth = map_at(r, r->shadow, x_m, z_m) * r->absorb_per_m;
    if (depth > 1e-6f) {
        // Some light comes from everywhere, so even a deep shadow isn't black.
        vec3 through = {0.48f + 0.52f * expf(-r->absorbs.x * depth), 0.51f + 0.49f * expf(-r->absorbs.y * depth),
                        0.54f + 0.46f * expf(-r->absorbs.z * depth)};
        colour = vec3_mul(colour, through);
    }
    return vec3_scale(colour, 1.0f - SHADE_OF_SOLIDS * map_at(r, r->shade, x_m, z_m));
}

static bool is_on_floor(const room *r, float x_m, float z_m)
{
    return x_m >= 0.0f && z_m >= 0.0f && x_m <= r->size_m.x && z_m <= r->size_m.z;
}

vec3 room_floor(const room *r, float x_m, float z_m)
{
    if (r->is_flat) {
        return WALL;
    }
    float wave = squares(x_m, r->tile_m, r->tile_soft_m) * squares(z_m, r->tile_m, r->tile_soft_m);
    return in_shadow(r, vec3_mix(TILE_DARK, TILE_LIGHT, 0.5f + 0.5f * wave), x_m, z_m);
}

/// What the light went through on its way to a point of the table is found where it crossed the plane of the tank's
/// floor. The floor itself holds it back where the tank is tilted or lifted.
static vec3 table(const room *r, vec3 point_m)
{
    if (r->light.y < LIGHT_SLOPE_MIN) {
        return TABLE;
    }
    vec3 through = vec3_along(point_m, r->light, -point_m.y / r->light.y);
    vec3 colour = in_shadow(r, TABLE, through.x, through.z);
    float soft_m = 0.05f * fmaxf(r->size_m.x, r->size_m.z), lifted = smoothf(0.0f, soft_m, -point_m.y);
    if (lifted > 0.0f) {
        float x_m = fminf(through.x, r->size_m.x - through.x), z_m = fminf(through.z, r->size_m.z - through.z);
        lifted *= smoothf(-soft_m, soft_m, x_m) * smoothf(-soft_m, soft_m, z_m);
        colour = vec3_scale(colour, 1.0f - 0.6f * SHADE_OF_SOLIDS * lifted);
    }
    return colour;
}

vec3 room_sky(const room *r, vec3 direction)
{
    float height = clampf(room_direction(r, direction).y, 0.0f, 1.0f);
    return vec3_mix(HORIZON, ZENITH, 1.0f - (1.0f - height) * (1.0f - height));
}

/// The table melts into the wall behind it, so that there is no hard horizon.
static vec3 melt(const room *r, vec3 colour, vec3 point_m)
{
    vec3 off = {(point_m.x - 0.5f * r->size_m.x), 0.0f, (point_m.z - 0.5f * r->size_m.z)};
    float reach_m = 2.5f * sqrtf(vec3_dot(r->size_m, r->size_m));
    float far = 1.0f - expf(-vec3_dot(off, off) / (reach_m * reach_m));
    return vec3_mix(colour, HORIZON, far);
}

vec3 room_light(const room *r, vec3 origin_m, vec3 direction)
{
    if (r->is_flat) {
        return WALL;
    }
    if (origin_m.y * direction.y < -1e-9f) {
        vec3 hit = vec3_along(origin_m, direction, -origin_m.y / direction.y);
        if (is_on_floor(r, hit.x, hit.z)) {
            return direction.y < 0.0f ? melt(r, room_floor(r, hit.x, hit.z), hit) : UNDERSIDE;
        }
    }
    float down = room_direction(r, direction).y;
    if (down >= -1e-4f) {
        return room_sky(r, direction);
    }
    vec3 middle = room_middle(r);
    float height_m = vec3_dot(r->turn.row[1], vec3_sub(origin_m, middle)) + middle.y + r->moved_m.y - r->table_m;
    vec3 hit = vec3_along(origin_m, direction, height_m / -down);
    return melt(r, table(r, hit), hit);
}
