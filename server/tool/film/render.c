// From particles to a picture. Everything is drawn with twice the pixels each way and averaged at the end, which makes
// edges smooth:
//
//     solids -> depth, light of their pixels --+
//     particles -> surface (depth, thickness) -+-> light per pixel -> tank's edges -> picture
//           or -> puffs (light, what they let through), over that light and the edges behind
//     both -> shadows on the floor ------------+
//
// All of it happens in the tank's frame: where the tank is turned, the camera and the room are turned the other way.
// A pixel of liquid is a mix of what its surface mirrors and what is seen through it (Fresnel's equations, Schlick's
// approximation): the ray is bent by Snell's law, followed to a solid or to where it leaves the tank, and what it
// finds there is dimmed by the liquid's thickness (Beer-Lambert), to which the liquid adds the light that it scatters.
// Begin at render_draw, which is the last one.
#include "server/tool/film/render.h"
#include "kernels/shapes/shape.h"
#include "protocol/status.h"
#include "server/tool/film/export.h"
#include "server/tool/film/gas.h"
#include "server/tool/film/water.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- the camera ----
// Projection, and the distance from which a box fills the picture: start at camera_fit.

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

/// The same camera in a frame that is turned about a point and then moved.
static camera camera_in_frame(const camera *cam, const mat3 *turn, vec3 about_m, vec3 moved_m)
{
    camera in = *cam;
    vec3 arm = vec3_sub(vec3_sub(cam->eye, moved_m), about_m);
    in.eye = vec3_add(mat3_back(turn, arm), about_m);
    in.right = mat3_back(turn, cam->right);
    in.up = mat3_back(turn, cam->up);
    in.back = mat3_back(turn, cam->back);
    return in;
}

// ---- rows ----
// Threads that take the next range of rows from a counter until none is left.

typedef struct rows_job {
    render_rows_fn fn;
    void *context;
    uint32_t count, range;
    atomic_uint next; // range to be taken
} rows_job;

static void *rows_work(void *argument)
{
    rows_job *job = argument;
    for (;;) {
        uint64_t begin = (uint64_t)atomic_fetch_add(&job->next, 1) * job->range;
        if (begin >= job->count) {
            return NULL;
        }
        uint64_t end = begin + job->range < job->count ? begin + job->range : job->count;
        job->fn(job->context, (uint32_t)begin, (uint32_t)end);
    }
}

void render_rows(uint32_t threads, uint32_t count, uint32_t range, render_rows_fn fn, void *context)
{
    rows_job job = {.fn = fn, .context = context, .count = count, .range = range};
    pthread_t helpers[RENDER_THREADS_MAX];
    uint32_t helper_count = 0;
    while (helper_count + 1 < threads && helper_count + 1 < RENDER_THREADS_MAX &&
           pthread_create(&helpers[helper_count], NULL, rows_work, &job) == 0) {
        helper_count++;
    }
    rows_work(&job);
    while (helper_count > 0) {
        pthread_join(helpers[--helper_count], NULL);
    }
}

uint32_t render_rows_threads(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > RENDER_THREADS_MAX ? RENDER_THREADS_MAX : (uint32_t)count;
}

// ---- the room ----
// What is around the liquid: a table, the tank's tiled floor, a bright room, and the shadows of liquid and solids. The
// tank may be turned in the room; all points and directions here are in the tank's frame. Light from a direction is the
// room's gradient, the table, the floor and its shadows: start at room_light.

enum { ROOM_SHADOW_CELLS = 192 }; ///< per axis, over the tank's floor and a margin around it

typedef struct room {
    vec3 size_m;        ///< of the tank
    bool is_flat;       ///< a plain wall is all there is
    float table_m;      ///< height of the table in the room
    mat3 turn;          ///< from the tank's frame to the room's, about the tank's middle
    vec3 moved_m;       ///< how far its middle has moved
    vec3 light;         ///< unit vector towards the light
    float tile_m;       ///< edge of a floor tile
    float tile_soft_m;  ///< over which neighbouring tiles blend, so that far ones don't flicker
    float absorb_per_m; ///< of the shadow
    vec3 absorbs;       ///< by colour; of water to begin with
    float shadow_min_m[2], shadow_cell_m;
    float *shadow;      ///< metres of liquid that the light went through, ROOM_SHADOW_CELLS squared
    float *shade;       ///< 0..1: share of the light that solids hold back
    float *shadow_work; ///< as large
} room;

enum { ROOM_SHADOW_FLOATS = 3 * ROOM_SHADOW_CELLS * ROOM_SHADOW_CELLS };

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

/// Turns the tank in the room; the shadows are those of before.
static void room_turn(room *r, const tarn_pose *pose)
{
    double m[3][3];
    tarn_pose_matrix(pose, m);
    for (int row = 0; row < 3; row++) {
        r->turn.row[row] = (vec3){(float)m[row][0], (float)m[row][1], (float)m[row][2]};
    }
    r->moved_m = (vec3){pose->position_m[0], pose->position_m[1], pose->position_m[2]};
    r->light = mat3_back(&r->turn, vec3_normal(LIGHT));
}

/// @param shadow  ROOM_SHADOW_FLOATS, borrowed
static room room_make(vec3 size_m, float pixel_m, float *shadow)
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

static vec3 room_middle(const room *r)
{
    return vec3_scale(r->size_m, 0.5f);
}

/// A direction of the tank's frame in the room's.
static vec3 room_direction(const room *r, vec3 direction)
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

/// Casts the shadow of particles, each standing for a volume. Those that are not finite are left out.
static void room_cast(room *r, const float *positions_m, uint32_t particle_count, float volume_m3)
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

/// The middle of a cell of `shade` on the tank's floor.
static vec3 room_shade_cell(const room *r, uint32_t x, uint32_t z)
{
    return (vec3){r->shadow_min_m[0] + ((float)x + 0.5f) * r->shadow_cell_m, 0.0f,
                  r->shadow_min_m[1] + ((float)z + 0.5f) * r->shadow_cell_m};
}

/// Once the cells of `shade` are filled.
static void room_soften_shade(room *r)
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

/// The tank's floor at a point of it.
static vec3 room_floor(const room *r, float x_m, float z_m)
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

/// Light from a direction (unit vector), without the table.
static vec3 room_sky(const room *r, vec3 direction)
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

/// Light along a ray (unit vector) that begins in the room, above the table.
static vec3 room_light(const room *r, vec3 origin_m, vec3 direction)
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

// ---- solids ----
// The solids of a tank as rays find them: signed distances of walls and shapes, marched along ("sphere tracing": Hart,
// "Sphere tracing: a geometric method for the antialiased ray tracing of implicit surfaces", 1996). Points are in the
// tank's frame. Start at solids_trace.

typedef struct solids solids;

typedef struct solids_hit {
    float way_m; ///< along the ray
    vec3 normal; ///< unit vector, outwards
    vec3 colour; ///< linear
} solids_hit;

/// How much of what a ray brings is hidden by the sides of containers: those that it enters, and those that it leaves,
/// at most far_m away.
typedef struct solids_glass_seen {
    float entered, left; ///< 0..1
    vec3 entered_colour, left_colour;
} solids_glass_seen;

enum { STEPS_MAX = 160 };

static const float FIELD_STRIDE = 0.9f; // of the distance: between nodes it is only nearly one
static const vec3 STONE = {0.36f, 0.36f, 0.37f};

/// A solid where it is. Its shape is never inverted here: a container is a hollow that rays enter and leave.
typedef struct placed {
    tarn_shape shape;
    bool is_glass, is_cut; // cut: at the tank's walls
    vec3 colour;
    box3 box;       // around the shape, in its frame
    float smooth_m; // over which a normal is taken
    mat3 turn;      // from the shape's frame
    vec3 at_m;
    vec3 middle_m; // of a sphere around it
    float radius_m;
} placed;

struct solids {
    uint32_t count;
    bool any, any_glass; ///< that solids_trace finds; containers, that solids_glass finds
    box3 tank;
    float fine_m;
    const tarn_solid *from;
    const tarn_distance_field *fields;
    placed solid[];
};

static void prepare(const solids *s, const tarn_solid *from, placed *p)
{
    const uint8_t *c = from->colour;
    *p = (placed){.shape = from->shape,
                  .is_glass = from->shape.inverted != 0,
                  .is_cut = from->motion != TARN_MOTION_FREE,
                  .colour = c[0] == 0 && c[1] == 0 && c[2] == 0
                                ? STONE
                                : (vec3){srgb_linear(c[0]), srgb_linear(c[1]), srgb_linear(c[2])}};
    p->shape.inverted = 0;
    const tarn_pose still = {.rotation = {0, 0, 0, 1}};
    double min_m[3], max_m[3];
    tarn_shape_bounds_m(&p->shape, &still, s->fields, min_m, max_m);
    p->box = (box3){{(float)min_m[0], (float)min_m[1], (float)min_m[2]},
                    {(float)max_m[0], (float)max_m[1], (float)max_m[2]}};
    p->smooth_m = s->fine_m;
    if (p->shape.kind == TARN_SHAPE_FIELD) {
        p->smooth_m = fmaxf(p->smooth_m, 0.75f * p->shape.half_m[0] * s->fields[p->shape.field].spacing_m);
    }
    vec3 half = vec3_scale(vec3_sub(p->box.max, p->box.min), 0.5f);
    p->radius_m = sqrtf(vec3_dot(half, half));
}

/// Uses the tank's size, the solids and their fields, which live as long as this.
/// @param fine_m  what is nearer than this is hit
/// @return TARN_OK or TARN_E_MEMORY
static tarn_status solids_create(const export_info *info, float fine_m, solids **out)
{
    solids *s = calloc(1, sizeof *s + info->solid_count * sizeof(placed));
    if (s == NULL) {
        return TARN_E_MEMORY;
    }
    s->count = info->solid_count;
    s->tank = (box3){{0, 0, 0}, {info->size_m[0], info->size_m[1], info->size_m[2]}};
    s->fine_m = fine_m;
    s->from = info->solids;
    s->fields = info->fields;
    for (uint32_t i = 0; i < s->count; i++) {
        prepare(s, &info->solids[i], &s->solid[i]);
        s->any |= !s->solid[i].is_glass;
        s->any_glass |= s->solid[i].is_glass;
    }
    *out = s;
    return TARN_OK;
}

/// Takes NULL.
static void solids_destroy(solids *s)
{
    free(s);
}

static void place(placed *p, const tarn_pose *pose)
{
    double m[3][3];
    tarn_pose_matrix(pose, m);
    for (int row = 0; row < 3; row++) {
        p->turn.row[row] = (vec3){(float)m[row][0], (float)m[row][1], (float)m[row][2]};
    }
    p->at_m = (vec3){pose->position_m[0], pose->position_m[1], pose->position_m[2]};
    p->middle_m = vec3_add(mat3_mul(&p->turn, vec3_mix(p->box.min, p->box.max, 0.5f)), p->at_m);
}

/// Puts the bodies where a frame has them; the other solids are where they were at the start.
static void solids_place(solids *s, const export_frame *frame)
{
    for (uint32_t i = 0; i < s->count; i++) {
        place(&s->solid[i], &s->from[i].pose);
    }
    for (uint32_t b = 0; b < frame->body_count; b++) {
        if (frame->bodies[b].solid < s->count) {
            place(&s->solid[frame->bodies[b].solid], &frame->bodies[b].pose);
        }
    }
}

// ---- solids: rays ----

/// A ray, and the part of it that lies in the tank.
typedef struct cut_ray {
    vec3 from, direction;
    float in_m, out_m; // in_m above out_m: it misses the tank
} cut_ray;

static cut_ray make_ray(const solids *s, vec3 from, vec3 direction)
{
    cut_ray r = {.from = from, .direction = direction};
    if (!box3_cut(&s->tank, from, direction, &r.in_m, &r.out_m)) {
        r.in_m = 1e30f;
        r.out_m = -1e30f;
    }
    return r;
}

static float distance_m(const solids *s, const placed *p, vec3 local)
{
    return (float)tarn_shape_distance_m(&p->shape, s->fields, (double[3]){local.x, local.y, local.z});
}

/// A ray in a solid's frame and where it passes the solid's box.
typedef struct passage {
    vec3 from, direction;
    float begin_m, end_m;
} passage;

static bool passes(const placed *p, const cut_ray *r, float far_m, passage *way)
{
    vec3 arm = vec3_sub(p->middle_m, r->from);
    float along_m = vec3_dot(arm, r->direction);
    if (vec3_dot(arm, arm) - along_m * along_m > p->radius_m * p->radius_m || along_m < -p->radius_m) {
        return false;
    }
    way->from = mat3_back(&p->turn, vec3_sub(r->from, p->at_m));
    way->direction = mat3_back(&p->turn, r->direction);
    if (!box3_cut(&p->box, way->from, way->direction, &way->begin_m, &way->end_m)) {
        return false;
    }
    if (p->is_cut) {
        way->begin_m = fmaxf(way->begin_m, r->in_m);
        way->end_m = fminf(way->end_m, r->out_m);
    }
    way->end_m = fminf(way->end_m, far_m);
    return way->begin_m <= way->end_m;
}

/// To where the distance becomes less than `fine_m`: from outside in; with `side` -1 from inside out.
static bool march(const solids *s, const placed *p, const passage *way, float side, float *way_m)
{
    float stride = p->shape.kind == TARN_SHAPE_FIELD ? FIELD_STRIDE : 1.0f;
    float at_m = way->begin_m;
    for (int step = 0; step < STEPS_MAX && at_m <= way->end_m; step++) {
        float off_m = side * distance_m(s, p, vec3_along(way->from, way->direction, at_m));
        if (off_m < s->fine_m) {
            *way_m = at_m;
            return true;
        }
        at_m += fmaxf(stride * off_m, 0.5f * s->fine_m);
    }
    return false;
}

static vec3 shape_normal(const solids *s, const placed *p, vec3 local)
{
    float h = p->smooth_m;
    vec3 slope = {
        distance_m(s, p, (vec3){local.x + h, local.y, local.z}) -
            distance_m(s, p, (vec3){local.x - h, local.y, local.z}),
        distance_m(s, p, (vec3){local.x, local.y + h, local.z}) -
            distance_m(s, p, (vec3){local.x, local.y - h, local.z}),
        distance_m(s, p, (vec3){local.x, local.y, local.z + h}) -
            distance_m(s, p, (vec3){local.x, local.y, local.z - h}),
    };
    return vec3_normal(mat3_mul(&p->turn, slope));
}

/// Of the tank's wall at a point of it, outwards.
static vec3 wall_normal(const solids *s, vec3 point)
{
    const vec3 walls[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    const float gaps_m[] = {s->tank.max.x - point.x, point.x, s->tank.max.y - point.y, point.y,
                            s->tank.max.z - point.z, point.z};
    int nearest = 0;
    for (int i = 1; i < 6; i++) {
        nearest = fabsf(gaps_m[i]) < fabsf(gaps_m[nearest]) ? i : nearest;
    }
    return walls[nearest];
}

/// Where the tank's wall cuts a solid, the cut is as flat as the wall.
static vec3 hit_normal(const solids *s, const placed *p, const cut_ray *r, const passage *way, float way_m)
{
    vec3 local = vec3_along(way->from, way->direction, way_m);
    bool is_at_wall = p->is_cut && r->in_m > 0.0f && way_m <= r->in_m + s->fine_m;
    if (is_at_wall && distance_m(s, p, local) < -s->fine_m) {
        return wall_normal(s, vec3_along(r->from, r->direction, way_m));
    }
    return shape_normal(s, p, local);
}

/// The first solid along a ray (unit vector), at most far_m away; none that is a container. Only bodies that float are
/// seen beyond the tank's walls: the others are cut there.
static bool solids_trace(const solids *s, vec3 from, vec3 direction, float far_m, solids_hit *hit)
{
    const placed *first = NULL;
    passage first_way = {.begin_m = 0.0f};
    cut_ray r = make_ray(s, from, direction);
    for (uint32_t i = 0; i < s->count; i++) {
        const placed *p = &s->solid[i];
        passage way;
        float way_m;
        if (!p->is_glass && passes(p, &r, far_m, &way) && march(s, p, &way, 1.0f, &way_m)) {
            first = p;
            first_way = way;
            far_m = way_m;
        }
    }
    if (first == NULL) {
        return false;
    }
    *hit = (solids_hit){.way_m = far_m, .normal = hit_normal(s, first, &r, &first_way, far_m), .colour = first->colour};
    return true;
}

/// Whether anything is in the way; cheaper.
static bool solids_block(const solids *s, vec3 from, vec3 direction)
{
    cut_ray r = make_ray(s, from, direction);
    for (uint32_t i = 0; i < s->count; i++) {
        const placed *p = &s->solid[i];
        passage way;
        float way_m;
        if (!p->is_glass && passes(p, &r, 1e30f, &way) && march(s, p, &way, 1.0f, &way_m)) {
            return true;
        }
    }
    return false;
}

// ---- solids: containers ----

/// Glass hides more where it is seen from the side.
static void add_glass(float *hidden, vec3 *colour, const placed *p, float cosine)
{
    float slant = 1.0f - fminf(fabsf(cosine), 1.0f);
    float here = 0.07f + 0.45f * slant * slant;
    *colour = *hidden > 0.0f ? vec3_mix(*colour, p->colour, 0.5f) : p->colour;
    *hidden = 1.0f - (1.0f - *hidden) * (1.0f - here);
}

static solids_glass_seen solids_glass(const solids *s, vec3 from, vec3 direction, float far_m)
{
    solids_glass_seen seen = {.entered = 0.0f};
    cut_ray r = make_ray(s, from, direction);
    for (uint32_t i = 0; i < s->count; i++) {
        const placed *p = &s->solid[i];
        passage way;
        float way_m;
        if (!p->is_glass || !passes(p, &r, far_m, &way) || !march(s, p, &way, 1.0f, &way_m)) {
            continue;
        }
        vec3 local = vec3_along(way.from, way.direction, way_m);
        if (distance_m(s, p, local) > -s->fine_m) { // else it began inside, or at the tank's wall
            add_glass(&seen.entered, &seen.entered_colour, p, vec3_dot(shape_normal(s, p, local), direction));
        }
        way.begin_m = way_m + 3.0f * s->fine_m;
        if (march(s, p, &way, -1.0f, &way_m)) {
            local = vec3_along(way.from, way.direction, way_m);
            add_glass(&seen.left, &seen.left_colour, p, vec3_dot(shape_normal(s, p, local), direction));
        }
    }
    return seen;
}

// ---- the renderer ----

enum { SAMPLES = 2, SHADE_ROWS = 16, GAMMA_STEPS = 4096 };

static const float SCALED_PER_SPACING = 0.8f; // optical depth of a particle that shows a value

struct render {
    uint32_t width, height; // of the picture
    uint32_t threads;
    vec3 size_m;
    float spacing_m;
    float optical_m; // liquid as thick as this is of medium depth to the eye
    camera room_cam; // of the larger picture, in the room
    camera cam;      // the same in the tank's frame
    room around;
    surface *water; // NULL where there is smoke or dye
    gas *puffs;     // NULL where there is water
    solids *stuff;
    float *solid_depth; // of the larger picture; SURFACE_NO_DEPTH where there is none
    vec3 *light;        // of the larger picture
    float *shadow;
    uint8_t gamma[GAMMA_STEPS + 1];
    uint8_t *rgb;   // during render_draw
    bool is_scaled; // the same: the liquid's colours are values
};

/// What the picture shows: all places that the tank gets to.
static box3 seen_box(const export_info *info)
{
    const float *lo = info->reach_min_m, *hi = info->reach_max_m;
    box3 seen = {{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
    bool stays = lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2];
    return stays ? (box3){{0, 0, 0}, {info->size_m[0], info->size_m[1], info->size_m[2]}} : seen;
}

/// The camera, the room, and what the picture is made in.
static bool allocate(render *r, const export_info *info)
{
    uint32_t width = SAMPLES * r->width, height = SAMPLES * r->height;
    box3 seen = seen_box(info);
    r->room_cam = camera_fit(seen, info->is_flat, (float)width, (float)height);
    float distance_m = camera_project(&r->room_cam, vec3_scale(r->size_m, 0.5f), &(float){0}, &(float){0});
    float sample_m = distance_m / r->room_cam.focal_px, tank_m = sqrtf(vec3_dot(r->size_m, r->size_m));
    r->light = malloc((size_t)width * height * sizeof(vec3));
    r->solid_depth = malloc((size_t)width * height * sizeof(float));
    r->shadow = malloc(ROOM_SHADOW_FLOATS * sizeof(float));
    if (r->light == NULL || r->solid_depth == NULL || r->shadow == NULL ||
        (info->drawing == EXPORT_WATER
             ? surface_create(width, height, r->size_m, r->spacing_m, r->threads, &r->water)
             : gas_create(info, r->width, r->height, SAMPLES, r->threads, &r->puffs)) != TARN_OK ||
        solids_create(info, fmaxf(0.25f * sample_m, 2e-5f * tank_m), &r->stuff) != TARN_OK) {
        return false;
    }
    r->around = room_make(r->size_m, SAMPLES * sample_m, r->shadow);
    r->around.is_flat = info->is_flat;
    r->around.table_m = fminf(seen.min.y, 0.0f);
    return true;
}

tarn_status render_create(const export_info *info, render **out)
{
    if (info->width < RENDER_PIXELS_MIN || info->width > RENDER_PIXELS_MAX || info->height < RENDER_PIXELS_MIN ||
        info->height > RENDER_PIXELS_MAX) {
        return TARN_E_ARGUMENT;
    }
    render *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return TARN_E_MEMORY;
    }
    r->width = info->width;
    r->height = info->height;
    r->threads = info->threads != 0 ? info->threads : render_rows_threads();
    r->size_m = (vec3){info->size_m[0], info->size_m[1], info->size_m[2]};
    r->spacing_m = info->spacing_m;
    r->optical_m = info->is_flat ? 1.2f * r->size_m.z : cbrtf(r->size_m.x * r->size_m.y * r->size_m.z);
    if (!allocate(r, info)) {
        render_destroy(r);
        return TARN_E_MEMORY;
    }
    for (int i = 0; i <= GAMMA_STEPS; i++) {
        float c = (float)i / GAMMA_STEPS;
        c = c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1.0f / 2.4f) - 0.055f;
        r->gamma[i] = (uint8_t)(255.0f * c + 0.5f);
    }
    *out = r;
    return TARN_OK;
}

void render_destroy(render *r)
{
    if (r != NULL) {
        surface_destroy(r->water);
        gas_destroy(r->puffs);
        solids_destroy(r->stuff);
        free(r->light);
        free(r->solid_depth);
        free(r->shadow);
        free(r);
    }
}

// ---- the liquid's surface ----

/// SURFACE_NO_DEPTH where there is none.
static float water_depth(const render *r, size_t at)
{
    return r->water != NULL ? surface_depth(r->water)[at] : SURFACE_NO_DEPTH;
}

static vec3 surface_point(const camera *cam, uint32_t x, uint32_t y, float depth_m)
{
    return vec3_along(cam->eye, camera_ray(cam, (float)x + 0.5f, (float)y + 0.5f), depth_m);
}

/// The step to the neighbour on the side where the depth changes less: the other may lie across an edge.
static vec3 surface_slope(const render *r, uint32_t x, uint32_t y, bool across, vec3 here)
{
    uint32_t width = SAMPLES * r->width, height = SAMPLES * r->height;
    const float *at = surface_depth(r->water) + (size_t)y * width + x;
    size_t stride = across ? 1 : width;
    bool has_before = across ? x > 0 : y > 0, has_after = across ? x + 1 < width : y + 1 < height;
    float before = has_before ? at[-(ptrdiff_t)stride] : SURFACE_NO_DEPTH,
          after = has_after ? at[stride] : SURFACE_NO_DEPTH;
    if (fabsf(after - *at) <= fabsf(before - *at)) {
        return vec3_sub(surface_point(&r->cam, across ? x + 1 : x, across ? y : y + 1, after), here);
    }
    return vec3_sub(here, surface_point(&r->cam, across ? x - 1 : x, across ? y : y - 1, before));
}

/// Liquid that touches a wall on our side is flat there, like the glass; particles alone would make it bumpy.
static vec3 flatten_at_walls(const render *r, vec3 point, vec3 normal)
{
    const vec3 walls[] = {{1, 0, 0}, {-1, 0, 0}, {0, 0, 1}, {0, 0, -1}};
    const float gaps_m[] = {r->size_m.x - point.x, point.x, r->size_m.z - point.z, point.z};
    for (int i = 0; i < 4; i++) {
        if (vec3_dot(walls[i], r->cam.back) > 0.0f) {
            float flat = smoothf(-1.3f * r->spacing_m, -0.2f * r->spacing_m, -gaps_m[i]) *
                         smoothf(0.25f, 0.65f, vec3_dot(walls[i], normal));
            normal = vec3_normal(vec3_mix(normal, walls[i], flat));
        }
    }
    return normal;
}

/// @param here   where the surface is
/// @param point  the same, or where the ray enters the tank in front of it
static vec3 surface_normal(const render *r, uint32_t x, uint32_t y, vec3 here, vec3 point, vec3 view)
{
    vec3 across = surface_slope(r, x, y, true, here), down = surface_slope(r, x, y, false, here);
    vec3 normal = vec3_normal(vec3_cross(down, across));
    normal = flatten_at_walls(r, point, normal);
    float facing = vec3_dot(normal, view);
    // A surface that we see looks towards us.
    return facing < -0.02f ? normal : vec3_normal(vec3_along(normal, view, -facing - 0.02f));
}

/// How far a ray from inside the tank gets.
static float way_out_m(vec3 size_m, vec3 from, vec3 direction)
{
    const float size[3] = {size_m.x, size_m.y, size_m.z}, at[3] = {from.x, from.y, from.z},
                d[3] = {direction.x, direction.y, direction.z};
    float nearest = 1e30f;
    for (int axis = 0; axis < 3; axis++) {
        if (fabsf(d[axis]) > 1e-6f) {
            float wall = d[axis] > 0.0f ? size[axis] : 0.0f;
            nearest = fminf(nearest, (wall - at[axis]) / d[axis]);
        }
    }
    return fmaxf(nearest, 0.0f);
}

// ---- solids in the picture ----

/// @param view  unit vector towards the point
static vec3 shade_solid(const render *r, vec3 point, const solids_hit *hit, vec3 view)
{
    const vec3 below = {0.30f, 0.29f, 0.28f}, above = {0.50f, 0.52f, 0.55f}, sun = {0.52f, 0.51f, 0.48f};
    float facing = vec3_dot(hit->normal, r->around.light);
    float up = room_direction(&r->around, hit->normal).y;
    vec3 light = vec3_mix(below, above, 0.5f + 0.5f * up);
    light = vec3_along(light, (vec3){1, 1, 1}, 0.12f * fmaxf(-vec3_dot(hit->normal, view), 0.0f));
    float glint = 0.0f;
    if (facing > 0.0f &&
        !solids_block(r->stuff, vec3_along(point, hit->normal, 0.4f * r->spacing_m), r->around.light)) {
        light = vec3_along(light, sun, facing);
        vec3 away = vec3_along(view, hit->normal, -2.0f * vec3_dot(view, hit->normal));
        glint = 0.22f * powf(fmaxf(vec3_dot(away, r->around.light), 0.0f), 40.0f);
    }
    return vec3_along(vec3_mul(hit->colour, light), (vec3){1, 1, 1}, glint);
}

/// What a ray within the tank comes to: a solid, the floor, or the room. Sides of containers that it leaves on its way
/// are added.
/// @param view     goes on in the room
/// @param way_m    where a solid was hit: how far; else left as it is
static bool meet(const render *r, vec3 from, vec3 inward, vec3 view, vec3 *light, float *way_m)
{
    float out_m = way_out_m(r->size_m, from, inward);
    solids_hit hit;
    bool is_hit = r->stuff->any && solids_trace(r->stuff, from, inward, out_m, &hit);
    if (is_hit) {
        *way_m = hit.way_m;
        out_m = hit.way_m;
        *light = shade_solid(r, vec3_along(from, inward, hit.way_m), &hit, inward);
    } else {
        vec3 exit = vec3_along(from, inward, out_m);
        *light = exit.y <= 1e-4f * r->size_m.y
                     ? room_floor(&r->around, exit.x, exit.z)
                     : room_light(&r->around, exit, vec3_normal(vec3_mix(inward, view, 0.7f)));
    }
    if (r->stuff->any_glass) {
        solids_glass_seen glass = solids_glass(r->stuff, from, inward, out_m);
        *light = vec3_mix(*light, glass.left_colour, glass.left);
    }
    return is_hit;
}

static void trace_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    uint32_t width = SAMPLES * r->width;
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < width; x++) {
            size_t at = (size_t)y * width + x;
            vec3 view = vec3_normal(camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f));
            solids_hit hit;
            r->solid_depth[at] = SURFACE_NO_DEPTH;
            if (solids_trace(r->stuff, r->cam.eye, view, 1e30f, &hit)) {
                vec3 point = vec3_along(r->cam.eye, view, hit.way_m);
                r->solid_depth[at] = -hit.way_m * vec3_dot(view, r->cam.back);
                r->light[at] = shade_solid(r, point, &hit, view);
            }
        }
    }
}

static void shade_floor_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    for (uint32_t z = begin; z < end; z++) {
        for (uint32_t x = 0; x < ROOM_SHADOW_CELLS; x++) {
            r->around.shade[(size_t)z * ROOM_SHADOW_CELLS + x] =
                solids_block(r->stuff, room_shade_cell(&r->around, x, z), r->around.light) ? 1.0f : 0.0f;
        }
    }
}

static void draw_solids(render *r, const export_frame *frame)
{
    solids_place(r->stuff, frame);
    if (!r->stuff->any) {
        size_t pixels = (size_t)SAMPLES * SAMPLES * r->width * r->height;
        for (size_t i = 0; i < pixels; i++) {
            r->solid_depth[i] = SURFACE_NO_DEPTH;
        }
        return;
    }
    render_rows(r->threads, ROOM_SHADOW_CELLS, SHADE_ROWS, shade_floor_rows, r);
    room_soften_shade(&r->around);
    render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, trace_rows, r);
}

// ---- a pixel of liquid ----

/// Snell's law into water; a unit vector.
static vec3 bend(vec3 view, vec3 normal)
{
    const float ratio = 1.0f / 1.333f;
    float cosine = -vec3_dot(view, normal);
    float inner = sqrtf(fmaxf(1.0f - ratio * ratio * (1.0f - cosine * cosine), 0.0f));
    return vec3_normal(vec3_along(vec3_scale(view, ratio), normal, ratio * cosine - inner));
}

static vec3 inside_tank(vec3 size_m, vec3 p)
{
    return (vec3){clampf(p.x, 0, size_m.x), clampf(p.y, 0, size_m.y), clampf(p.z, 0, size_m.z)};
}

/// What is seen through the surface: what lies behind, dimmed, and the light that the liquid scatters.
/// @param is_hidden  straight behind the surface is a solid
static vec3 seen_through(const render *r, const surface_inside *in, bool is_hidden, vec3 point, vec3 normal, vec3 view)
{
    vec3 from = inside_tank(r->size_m, point), inward = bend(view, normal);
    // Thin liquid, and a drop before more of it, bend a ray twice, to and fro: only what is thick shows its back
    // elsewhere.
    float thick = smoothf(0.5f * r->spacing_m, 4.0f * r->spacing_m, in->thickness_m) * (1.0f - in->drop);
    inward = vec3_normal(vec3_mix(view, inward, thick));
    vec3 behind;
    float way_m = 0.0f, thickness_m = in->thickness_m, in_air = 1.0f;
    if (meet(r, from, inward, view, &behind, &way_m)) {
        // The bent ray's liquid is not known: it is what the straight one goes through, if that ends at a solid too.
        thickness_m = is_hidden ? in->front_m : fminf(thickness_m, way_m);
        in_air = smoothf(1.0f * r->spacing_m, 3.5f * r->spacing_m, way_m);
    }
    float depth = thickness_m / r->optical_m;
    // Where a body of liquid thins out towards its outline it keeps some colour, or one couldn't tell where it ends.
    depth += 0.10f * (1.0f - in->spray) * smoothf(0.0f, 1.5f * r->spacing_m, in->thickness_m);
    vec3 absorb = {5.6f, 1.7f, 0.8f}, scatter = {0.012f, 0.115f, 0.215f};
    if (in->has_colour) {
        const vec3 c = in->colour;
        absorb = (vec3){-1.9f * logf(c.x + 0.02f), -1.9f * logf(c.y + 0.02f), -1.9f * logf(c.z + 0.02f)};
        absorb = (vec3){fmaxf(absorb.x, 0.2f), fmaxf(absorb.y, 0.2f), fmaxf(absorb.z, 0.2f)};
        scatter = vec3_scale(c, 0.75f);
    }
    if (r->is_scaled) {
        const float cover = 1.0f - expf(-SCALED_PER_SPACING * in->thickness_m / r->spacing_m);
        return vec3_mix(behind, vec3_scale(in->colour, 0.55f + 0.45f * vec3_dot(normal, r->around.light)), cover);
    }
    vec3 through = {expf(-absorb.x * depth), expf(-absorb.y * depth), expf(-absorb.z * depth)};
    float lit = 0.5f + 0.5f * vec3_dot(normal, r->around.light);
    vec3 light = vec3_along(vec3_mul(behind, through), scatter, (1.0f - expf(-3.0f * depth)) * lit);
    // Drops in the air are white: they mirror and bend light every which way.
    float spray = 0.75f * in->spray * smoothf(0.0f, 2.0f * r->spacing_m, in->thickness_m + 0.7f * r->spacing_m);
    spray = fmaxf(spray, 0.45f * in->drop) * (0.2f + 0.8f * in_air); // on a solid they are a film
    return vec3_mix(light, vec3_scale((vec3){0.92f, 0.95f, 0.97f}, 0.75f + 0.25f * lit), spray);
}

/// What the surface mirrors: the room, a wide lamp above, and the sun's glint.
static vec3 mirrored(const render *r, vec3 point, vec3 normal, vec3 view)
{
    vec3 away = vec3_along(view, normal, -2.0f * vec3_dot(view, normal));
    vec3 up = room_direction(&r->around, away);
    vec3 light = up.y < 0.0f ? vec3_scale(room_light(&r->around, point, away), 0.6f) : room_sky(&r->around, away);
    solids_hit hit;
    if (r->stuff->any && solids_trace(r->stuff, vec3_along(point, normal, 0.5f * r->spacing_m), away, 1e30f, &hit)) {
        return shade_solid(r, vec3_along(point, away, hit.way_m), &hit, away);
    }
    if (up.y > 0.05f) {
        float x = up.x / up.y, z = up.z / up.y;
        float lamp =
            smoothf(-1.5f, -1.1f, x) * smoothf(-0.5f, -0.1f, -x) * smoothf(-1.6f, -1.2f, z) * smoothf(-0.4f, 0.0f, -z);
        light = vec3_along(light, (vec3){1, 1, 1}, 2.4f * lamp);
    }
    float glint = fmaxf(vec3_dot(away, r->around.light), 0.0f);
    return vec3_along(light, (vec3){1.0f, 0.97f, 0.92f}, 10.0f * powf(glint, 240.0f));
}

static vec3 shade_water(const render *r, uint32_t x, uint32_t y, float depth_m)
{
    vec3 ray = camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f), view = vec3_normal(ray);
    const box3 tank = {{0, 0, 0}, r->size_m};
    float entry_m, exit_m;
    if (!box3_cut(&tank, r->cam.eye, ray, &entry_m, &exit_m)) { // spheres of particles at a wall reach through it
        return room_light(&r->around, r->cam.eye, view);
    }
    vec3 here = surface_point(&r->cam, x, y, depth_m);
    vec3 point = depth_m > entry_m ? here : vec3_along(r->cam.eye, ray, entry_m);
    vec3 normal = surface_normal(r, x, y, here, point, view);
    surface_inside in = surface_look(r->water, x, y);
    if (r->around.is_flat) { // a sheet between two panes, as thick as the tank wherever there is more than a drop
        normal = (vec3){0, 0, 1};
        in.thickness_m = r->size_m.z * smoothf(0.05f, 0.6f, in.thickness_m / r->size_m.z);
    }
    float slant = clampf(1.0f + vec3_dot(view, normal), 0.0f, 1.0f);
    float mirror = 0.02f + 0.98f * slant * slant * slant * slant * slant;
    mirror *= smoothf(0.2f * r->spacing_m, 2.0f * r->spacing_m, in.thickness_m); // a rim has no normal worth the name
    mirror *= 1.0f - 0.8f * in.drop;
    bool is_hidden = r->solid_depth[(size_t)y * SAMPLES * r->width + x] < SURFACE_NO_DEPTH;
    vec3 through = seen_through(r, &in, is_hidden, point, normal, view);
    return vec3_mix(through, mirrored(r, point, normal, view), fminf(mirror, 0.75f));
}

/// Sides of containers before all else; and, where no liquid is before them, those behind.
static void pass_glass(render *r, uint32_t x, uint32_t y)
{
    if (!r->stuff->any_glass) {
        return;
    }
    size_t at = (size_t)y * SAMPLES * r->width + x;
    float water_m = water_depth(r, at), solid_m = r->solid_depth[at];
    vec3 view = vec3_normal(camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f));
    float per_depth = -1.0f / vec3_dot(view, r->cam.back);
    // Spheres of particles reach through the glass.
    float far_m = fminf(solid_m, water_m + 2.0f * r->spacing_m) * per_depth;
    solids_glass_seen glass = solids_glass(r->stuff, r->cam.eye, view, far_m);
    if (water_m >= solid_m) {
        r->light[at] = vec3_mix(r->light[at], glass.left_colour, glass.left);
    }
    r->light[at] = vec3_mix(r->light[at], glass.entered_colour, glass.entered);
}

static void shade_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    uint32_t width = SAMPLES * r->width;
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < width; x++) {
            size_t at = (size_t)y * width + x;
            const float water_m = water_depth(r, at);
            if (water_m < r->solid_depth[at]) {
                r->light[at] = shade_water(r, x, y, water_m);
            } else if (r->solid_depth[at] >= SURFACE_NO_DEPTH) {
                vec3 view = vec3_normal(camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f));
                r->light[at] = room_light(&r->around, r->cam.eye, view);
            }
            pass_glass(r, x, y);
        }
    }
}

// ---- the tank's edges in the picture ----

/// A line of the tank, as wide as `half_px` to each side; behind liquid it is dimmed as the liquid dims.
static void draw_edge(render *r, vec3 from, vec3 to, float half_px, float strength)
{
    const vec3 colour = {0.16f, 0.19f, 0.23f};
    float ax, ay, bx, by;
    float depth_a = camera_project(&r->cam, from, &ax, &ay), depth_b = camera_project(&r->cam, to, &bx, &by);
    float dx = bx - ax, dy = by - ay, length2 = fmaxf(dx * dx + dy * dy, 1e-6f);
    float reach = half_px + 1.0f;
    int width = (int)(SAMPLES * r->width), height = (int)(SAMPLES * r->height);
    int left = (int)fmaxf(fminf(ax, bx) - reach, 0), right = (int)fminf(fmaxf(ax, bx) + reach, (float)width - 1);
    int top = (int)fmaxf(fminf(ay, by) - reach, 0), bottom = (int)fminf(fmaxf(ay, by) + reach, (float)height - 1);
    for (int y = top; y <= bottom; y++) {
        for (int x = left; x <= right; x++) {
            float px = (float)x + 0.5f - ax, py = (float)y + 0.5f - ay;
            float t = clampf((px * dx + py * dy) / length2, 0.0f, 1.0f);
            float ox = px - t * dx, oy = py - t * dy;
            float alpha = strength * clampf(half_px + 0.5f - sqrtf(ox * ox + oy * oy), 0.0f, 1.0f);
            if (alpha <= 0.0f) {
                continue;
            }
            size_t at = (size_t)y * (size_t)width + (size_t)x;
            float depth_m = 1.0f / ((1.0f - t) / depth_a + t / depth_b); // 1/depth is linear in the picture
            if (r->solid_depth[at] < depth_m - 0.1f * r->spacing_m) {
                continue;
            }
            if (water_depth(r, at) < depth_m - r->spacing_m) {
                surface_inside in = surface_look(r->water, (uint32_t)x, (uint32_t)y);
                alpha *= expf(-6.0f * in.thickness_m / r->optical_m);
            }
            r->light[at] = vec3_mix(r->light[at], colour, alpha);
        }
    }
}

static void draw_edges(render *r, bool of_front)
{
    vec3 s = r->size_m;
    float half_px = fmaxf(0.5f * SAMPLES, 0.0012f * SAMPLES * (float)r->height);
    for (int axis = 0; axis < 3; axis++) {
        for (int corner = 0; corner < 4; corner++) {
            float u = corner & 1 ? 1.0f : 0.0f, v = corner & 2 ? 1.0f : 0.0f;
            vec3 from = axis == 0   ? (vec3){0, u * s.y, v * s.z}
                        : axis == 1 ? (vec3){u * s.x, 0, v * s.z}
                                    : (vec3){u * s.x, v * s.y, 0};
            vec3 to = axis == 0   ? (vec3){s.x, from.y, from.z}
                      : axis == 1 ? (vec3){from.x, s.y, from.z}
                                  : (vec3){from.x, from.y, s.z};
            vec3 middle = vec3_sub(vec3_mix(from, to, 0.5f), vec3_scale(s, 0.5f));
            if ((vec3_dot(middle, r->cam.back) > 0.0f) == of_front) {
                draw_edge(r, from, to, half_px, of_front ? 0.85f : 0.45f);
            }
        }
    }
}

// ---- smoke and dye in the picture ----

/// Over what is behind them.
static void add_puffs_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    const uint32_t width = SAMPLES * r->width;
    const box3 tank = {{0, 0, 0}, r->size_m};
    const vec3 clear_per_m = gas_clear_per_m(r->puffs);
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < width; x++) {
            const size_t at = (size_t)y * width + x;
            const gas_seen seen = gas_look(r->puffs, x / SAMPLES, y / SAMPLES);
            const vec3 ray = camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f);
            vec3 behind = r->light[at];
            float entry_m, exit_m;
            if (box3_cut(&tank, r->cam.eye, ray, &entry_m, &exit_m)) {
                const float wet = fmaxf(fminf(exit_m, r->solid_depth[at]) - entry_m, 0.0f) * sqrtf(vec3_dot(ray, ray));
                behind.x *= expf(-clear_per_m.x * wet);
                behind.y *= expf(-clear_per_m.y * wet);
                behind.z *= expf(-clear_per_m.z * wet);
            }
            r->light[at] = vec3_add(vec3_mul(behind, seen.through), seen.light);
        }
    }
}

/// A section of a particle times its optical depth is for the shadow what a volume of liquid is.
static tarn_status draw_gas(render *r, const export_frame *frame, const float *solid_depth)
{
    const tarn_status status = gas_draw(r->puffs, &r->cam, frame, r->around.light, solid_depth);
    if (status == TARN_OK) {
        r->around.absorbs = (vec3){1, 1, 1};
        r->around.absorb_per_m = 1.0f;
        room_cast(&r->around, frame->positions_m, frame->particle_count, gas_shadow_m2(r->puffs));
        render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, shade_rows, r);
        draw_edges(r, false);
        render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, add_puffs_rows, r);
        draw_edges(r, true);
    }
    return status;
}

static tarn_status draw_water(render *r, const export_frame *frame, const float *solid_depth)
{
    r->is_scaled = frame->scaled != NULL;
    const tarn_status status = surface_draw(r->water, &r->cam, frame, solid_depth);
    if (status == TARN_OK) {
        room_cast(&r->around, frame->positions_m, frame->particle_count, r->spacing_m * r->spacing_m * r->spacing_m);
        render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, shade_rows, r);
        draw_edges(r, false);
        draw_edges(r, true);
    }
    return status;
}

// ---- to bytes ----

/// Bright light bends over towards white instead of being cut off.
static uint8_t tone(const render *r, float light)
{
    float kept = light < 0.7f ? light : 0.7f + 0.3f * (1.0f - expf(-(light - 0.7f) / 0.3f));
    return r->gamma[(int)(clampf(kept, 0.0f, 1.0f) * GAMMA_STEPS + 0.5f)];
}

static void average_rows(void *context, uint32_t begin, uint32_t end)
{
    const render *r = context;
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < r->width; x++) {
            vec3 sum = {0};
            for (uint32_t k = 0; k < SAMPLES * SAMPLES; k++) {
                size_t row = (size_t)y * SAMPLES + k / SAMPLES;
                vec3 light = r->light[row * SAMPLES * r->width + (size_t)x * SAMPLES + k % SAMPLES];
                // A single glint must not whiten the whole pixel.
                light = (vec3){fminf(light.x, 2.0f), fminf(light.y, 2.0f), fminf(light.z, 2.0f)};
                sum = vec3_along(sum, light, 1.0f / (SAMPLES * SAMPLES));
            }
            uint8_t *pixel = r->rgb + ((size_t)y * r->width + x) * 3;
            pixel[0] = tone(r, sum.x);
            pixel[1] = tone(r, sum.y);
            pixel[2] = tone(r, sum.z);
        }
    }
}

tarn_status render_draw(render *r, const export_frame *frame, uint8_t *rgb)
{
    room_turn(&r->around, &frame->pose);
    r->cam = camera_in_frame(&r->room_cam, &r->around.turn, room_middle(&r->around), r->around.moved_m);
    draw_solids(r, frame);
    const float *solid_depth = r->stuff->any ? r->solid_depth : NULL;
    const tarn_status status = r->water != NULL ? draw_water(r, frame, solid_depth) : draw_gas(r, frame, solid_depth);
    if (status == TARN_OK) {
        r->rgb = rgb;
        render_rows(r->threads, r->height, SHADE_ROWS, average_rows, r);
    }
    return status;
}
