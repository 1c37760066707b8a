// Rays through pixels meet the nearest of a room and of a body's parts. Each part is rigid between two moments, so that
// the velocity of what is seen is the difference of where the same point of the part is a little earlier and later.
#include "server/tool/kinect/actor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS_MAX = 80,
    LATTICE = 4,
    LATTICE_COLUMNS = ACTOR_WIDTH / LATTICE + 2,
    LATTICE_ROWS = ACTOR_HEIGHT / LATTICE + 2
};

static const float pi = 3.14159265f;
static const float wall_m = 3.7f, floor_m = -1.1f; ///< of the room: behind, and below the camera
static const float projector_m = 0.075f;           ///< to the right of the camera

/// A capsule from a to b; with a = b and `half` a flattened ball.
typedef struct part {
    float a[3], b[3], radius, half[3];
    uint8_t person;
} part;

typedef struct body {
    part parts[PARTS_MAX];
    uint32_t count;
} body;

// ---- random numbers ----

static uint32_t hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    h *= 0x297a2d39u;
    return h ^ h >> 15;
}

static float uniform(uint32_t h)
{
    return ((float)(h >> 8) + 0.5f) * 0x1p-24f;
}

/// Nearly normal, of deviation 1: the sum of four of a hash's bytes.
static float normal(uint32_t h)
{
    const float sum = (float)(h & 255) + (float)(h >> 8 & 255) + (float)(h >> 16 & 255) + (float)(h >> 24);
    return (sum - 510) / 147.8f;
}

// ---- the body ----

static void add_capsule(body *b, uint8_t person, const float from[3], const float to[3], float radius)
{
    part *p = &b->parts[b->count++];
    *p = (part){.radius = radius, .person = person};
    memcpy(p->a, from, sizeof p->a);
    memcpy(p->b, to, sizeof p->b);
}

static void add_ball(body *b, uint8_t person, float x, float y, float z, float rx, float ry, float rz)
{
    part *p = &b->parts[b->count++];
    *p = (part){.a = {x, y, z}, .b = {x, y, z}, .half = {rx, ry, rz}, .person = person};
}

/// @param raise  of the arms from hanging, radians: left, right
static void add_person(body *b, uint8_t person, float x, float y, float z, const float raise[2])
{
    add_ball(b, person, x, y + 0.10f, z, 0.20f, 0.34f, 0.13f);
    add_ball(b, person, x, y + 0.58f, z, 0.09f, 0.12f, 0.10f);
    const float neck[2][3] = {{x, y + 0.38f, z}, {x, y + 0.50f, z}};
    add_capsule(b, person, neck[0], neck[1], 0.055f);
    for (int side = 0; side < 2; side++) {
        const float s = side == 0 ? -1 : 1;
        const float shoulder[3] = {x + s * 0.20f, y + 0.34f, z};
        const float elbow[3] = {shoulder[0] + s * 0.28f * sinf(raise[side]), shoulder[1] - 0.28f * cosf(raise[side]),
                                z - 0.05f};
        const float bent = raise[side] * 1.25f;
        const float hand[3] = {elbow[0] + s * 0.27f * sinf(bent), elbow[1] - 0.27f * cosf(bent), z - 0.12f};
        add_capsule(b, person, shoulder, elbow, 0.050f);
        add_capsule(b, person, elbow, hand, 0.042f);
        add_ball(b, person, hand[0], hand[1], hand[2], 0.06f, 0.06f, 0.05f);
        const float hip[3] = {x + s * 0.10f, y - 0.18f, z}, foot[3] = {x + s * 0.13f, floor_m + 0.12f, z};
        add_capsule(b, person, hip, foot, 0.075f);
    }
}

static void pose(const actor_scene *scene, float time_s, body *b)
{
    const float t = scene->speed * time_s, hanging[2] = {0.25f, 0.25f};
    // Swings of which one is late, so that not all turn back at once.
    const float swinging[2] = {1.35f + 0.85f * sinf(2 * pi * 0.55f * t),
                               1.35f + 0.85f * sinf(2 * pi * 0.55f * t + 1.2f)};
    b->count = 0;
    if (time_s < ACTOR_ENTER_S - 1e-4f && !scene->always_there) {
        return;
    }
    switch (scene->act) {
    case ACTOR_WAVE:
        add_person(b, 1, 0, 0, scene->depth_m, swinging);
        return;
    case ACTOR_SIDE:
        add_person(b, 1, 0.55f * sinf(2 * pi * 0.22f * t), 0, scene->depth_m, hanging);
        return;
    case ACTOR_BOW:
        add_person(b, 1, 0, -0.18f + 0.18f * cosf(2 * pi * 0.4f * t), scene->depth_m, hanging);
        return;
    case ACTOR_APPROACH:
        add_person(b, 1, 0, 0, scene->depth_m + 0.5f * sinf(2 * pi * 0.2f * t), hanging);
        return;
    case ACTOR_WALK:
        add_person(b, 1, 0.55f * sinf(2 * pi * 0.22f * t), 0, scene->depth_m, swinging);
        return;
    case ACTOR_CROWD:
        for (uint32_t i = 0; i < scene->people; i++) {
            const float middle = 0.5f * (float)(scene->people - 1);
            const float step = fminf(0.62f, 2.9f / (float)scene->people);
            add_person(b, (uint8_t)(i + 1), ((float)i - middle) * step, 0, scene->depth_m + (i % 2 != 0 ? 0.45f : 0),
                       (const float[2]){0.05f, 0.05f});
        }
        return;
    default:
        add_person(b, 1, 0, 0, scene->depth_m, hanging);
        return;
    }
}

// ---- rays ----

/// Along (x, y, 1): where it meets a flattened ball; 0: nowhere.
static float meet_ball(const part *p, const float ray[3])
{
    float a = 0, b = 0, c = -1;
    for (int i = 0; i < 3; i++) {
        const float d = ray[i] / p->half[i], o = p->a[i] / p->half[i];
        a += d * d;
        b += d * o;
        c += o * o;
    }
    const float root = b * b - a * c;
    return root > 0 ? (b - sqrtf(root)) / a : 0;
}

/// The same of a capsule: its cylinder, or one of its ends.
static float meet_capsule(const part *p, const float ray[3])
{
    float axis[3], length2 = 0, ray_axis = 0, a_axis = 0, ray_ray = 0, ray_a = 0, a_a = 0;
    for (int i = 0; i < 3; i++) {
        axis[i] = p->b[i] - p->a[i];
        length2 += axis[i] * axis[i];
        ray_axis += ray[i] * axis[i];
        a_axis += p->a[i] * axis[i];
        ray_ray += ray[i] * ray[i];
        ray_a += ray[i] * p->a[i];
        a_a += p->a[i] * p->a[i];
    }
    const float r2 = p->radius * p->radius;
    const float a = length2 * ray_ray - ray_axis * ray_axis, b = length2 * ray_a - ray_axis * a_axis;
    const float c = length2 * a_a - a_axis * a_axis - r2 * length2, root = b * b - a * c;
    float best = 0;
    if (root > 0 && a > 0) {
        const float t = (b - sqrtf(root)) / a, along = t * ray_axis - a_axis;
        if (t > 0 && along >= 0 && along <= length2) {
            best = t;
        }
    }
    const float *const ends[2] = {p->a, p->b};
    for (int end = 0; end < 2; end++) {
        const float *o = ends[end];
        const float e = ray[0] * o[0] + ray[1] * o[1] + ray[2] * o[2];
        const float f = e * e - ray_ray * (o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - r2);
        const float t = f > 0 ? (e - sqrtf(f)) / ray_ray : 0;
        if (t > 0 && (best == 0 || t < best)) {
            best = t;
        }
    }
    return best;
}

/// Where the point that is now at `at` on a part is when the part is as in `other`.
static void carry(const part *now, const part *other, const float at[3], float to[3])
{
    float along = 0, length2 = 0;
    for (int i = 0; i < 3; i++) {
        along += (at[i] - now->a[i]) * (now->b[i] - now->a[i]);
        length2 += (now->b[i] - now->a[i]) * (now->b[i] - now->a[i]);
    }
    if (length2 == 0) {
        for (int i = 0; i < 3; i++) {
            to[i] = at[i] + other->a[i] - now->a[i];
        }
        return;
    }
    // The shortest rotation from one axis to the other, about a.
    float from_axis[3], to_axis[3], turn[3], offset[3], dot = 0;
    const float length = sqrtf(length2);
    for (int i = 0; i < 3; i++) {
        from_axis[i] = (now->b[i] - now->a[i]) / length;
        to_axis[i] = (other->b[i] - other->a[i]) / length;
        offset[i] = at[i] - now->a[i];
        dot += from_axis[i] * to_axis[i];
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        turn[i] = from_axis[j] * to_axis[k] - from_axis[k] * to_axis[j];
    }
    const float turn_offset = (turn[0] * offset[0] + turn[1] * offset[1] + turn[2] * offset[2]) / (1 + dot);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        to[i] = other->a[i] + dot * offset[i] + turn[j] * offset[k] - turn[k] * offset[j] + turn[i] * turn_offset;
    }
}

/// A part's pixels, roughly: none outside of them show it.
static void bounds(const part *p, int box[4])
{
    const float r = fmaxf(p->radius, fmaxf(p->half[0], fmaxf(p->half[1], p->half[2])));
    const float *const ends[2] = {p->a, p->b};
    box[0] = ACTOR_WIDTH;
    box[1] = ACTOR_HEIGHT;
    box[2] = box[3] = 0;
    for (int i = 0; i < 2; i++) {
        const float near = ends[i][2] - r, scale = ACTOR_FOCAL_PIXELS / near;
        const float x = ACTOR_WIDTH * 0.5f + ends[i][0] * scale, y = ACTOR_HEIGHT * 0.5f - ends[i][1] * scale;
        const float reach = 1.3f * r * scale + 2;
        box[0] = (int)fminf((float)box[0], fmaxf(x - reach - fabsf(ends[i][0]) * 40, 0));
        box[1] = (int)fminf((float)box[1], fmaxf(y - reach - fabsf(ends[i][1]) * 40, 0));
        box[2] = (int)fmaxf((float)box[2], fminf(x + reach + fabsf(ends[i][0]) * 40, ACTOR_WIDTH));
        box[3] = (int)fmaxf((float)box[3], fminf(y + reach + fabsf(ends[i][1]) * 40, ACTOR_HEIGHT));
    }
}

/// The room: a wall, a floor, and a box that stands on it.
static float meet_room(const float ray[3])
{
    float z = wall_m;
    if (ray[1] < 0 && floor_m / ray[1] < z) {
        z = floor_m / ray[1];
    }
    const float box_m = 3.0f, x = ray[0] * box_m, y = ray[1] * box_m;
    if (x > 1.05f && x < 1.45f && y < -0.2f && box_m < z) {
        z = box_m;
    }
    return z;
}

/// Each pixel's depth with nobody in it.
static const float *room(void)
{
    static float depth_m[ACTOR_PIXELS];
    for (int at = 0; at < ACTOR_PIXELS && depth_m[ACTOR_PIXELS - 1] == 0; at++) {
        const int x = at % ACTOR_WIDTH, y = at / ACTOR_WIDTH;
        const float ray[3] = {((float)x + 0.5f - ACTOR_WIDTH * 0.5f) / ACTOR_FOCAL_PIXELS,
                              (ACTOR_HEIGHT * 0.5f - (float)y - 0.5f) / ACTOR_FOCAL_PIXELS, 1};
        depth_m[at] = meet_room(ray);
    }
    return depth_m;
}

static void render_truth(const actor_scene *scene, float time_s, actor_frame *frame)
{
    static body now, earlier, later;
    const float little_s = 0.002f;
    const actor_scene always = {scene->act,   scene->seed, scene->depth_m, scene->speed, scene->people,
                                scene->noise, true};
    pose(scene, time_s, &now);
    pose(&always, time_s - little_s, &earlier);
    pose(&always, time_s + little_s, &later);
    memcpy(frame->depth_m, room(), sizeof frame->depth_m);
    memset(frame->person, 0, sizeof frame->person);
    memset(frame->velocity, 0, sizeof frame->velocity);
    for (uint32_t i = 0; i < now.count; i++) {
        const part *p = &now.parts[i];
        int box[4];
        bounds(p, box);
        for (int y = box[1]; y < box[3]; y++) {
            for (int x = box[0]; x < box[2]; x++) {
                const int at = y * ACTOR_WIDTH + x;
                const float ray[3] = {((float)x + 0.5f - ACTOR_WIDTH * 0.5f) / ACTOR_FOCAL_PIXELS,
                                      (ACTOR_HEIGHT * 0.5f - (float)y - 0.5f) / ACTOR_FOCAL_PIXELS, 1};
                const float z = p->radius > 0 ? meet_capsule(p, ray) : meet_ball(p, ray);
                if (z <= 0 || z >= frame->depth_m[at]) {
                    continue;
                }
                const float point[3] = {ray[0] * z, ray[1] * z, z};
                float from[3], to[3];
                carry(p, &earlier.parts[i], point, from);
                carry(p, &later.parts[i], point, to);
                frame->depth_m[at] = z;
                frame->person[at] = p->person;
                for (int k = 0; k < 3; k++) {
                    frame->velocity[at][k] = (to[k] - from[k]) / (2 * little_s);
                }
            }
        }
    }
}

// ---- the sensor ----

/// Noise that neighbours share: its values at the points of a lattice.
typedef struct lattice {
    float points[LATTICE_ROWS * LATTICE_COLUMNS];
} lattice;

static void lattice_make(lattice *l, uint32_t seed, uint32_t n)
{
    for (uint32_t at = 0; at < LATTICE_ROWS * LATTICE_COLUMNS; at++) {
        l->points[at] = normal(hash(seed, n, at));
    }
}

/// Between them. Deviation about 1 in the mean.
static float shared(const lattice *l, int x, int y)
{
    const float fx = (float)(x % LATTICE) / LATTICE, fy = (float)(y % LATTICE) / LATTICE;
    const float *here = &l->points[y / LATTICE * LATTICE_COLUMNS + x / LATTICE], *below = here + LATTICE_COLUMNS;
    return 1.5f * ((1 - fy) * ((1 - fx) * here[0] + fx * here[1]) + fy * ((1 - fx) * below[0] + fx * below[1]));
}

/// What all pixels of a frame share, in x, in y and in depth.
typedef struct frame_noise {
    lattice x, y, depth;
} frame_noise;

/// fminf is a call.
static float least(float a, float b)
{
    return a < b ? a : b;
}

/// Whether the projector's light reaches a pixel: along a row, the nearest of what lies in its direction.
static void find_shadows(const float *depth_m, bool *shadow)
{
    enum { SLOTS = ACTOR_WIDTH + 256 };
    float nearest[SLOTS];
    for (int i = 0; i < SLOTS; i++) {
        nearest[i] = INFINITY;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int x = 0; x < ACTOR_WIDTH; x++) {
            const int slot = x + 128 - (int)(ACTOR_FOCAL_PIXELS * projector_m / depth_m[x] + 0.5f);
            if (slot < 1 || slot >= SLOTS - 1) {
                continue;
            }
            if (pass == 0) {
                nearest[slot] = least(nearest[slot], depth_m[x]);
            } else {
                const float beside = -least(-nearest[slot - 1], -nearest[slot + 1]);
                shadow[x] = depth_m[x] > least(nearest[slot], beside) + 0.15f;
            }
        }
    }
}

/// Of a row, in which most of the room is as far away as what is beside it: arc tangents are what takes longest here.
static float disparity(int row, float depth_m)
{
    static float known_m[ACTOR_HEIGHT], known[ACTOR_HEIGHT];
    if (known_m[row] != depth_m) {
        known_m[row] = depth_m;
        known[row] = (atanf(depth_m / 0.1236f) - 1.1863f) * 2842.5f;
    }
    return known[row];
}

/// Of numbers between -1024 and 2^20; a call of lroundf takes longer than a pixel has.
static int nearest(float value)
{
    return (int)(value + 1024.5f) - 1024;
}

static uint16_t sense(const actor_scene *scene, uint32_t n, const frame_noise *all, const actor_frame *frame, int x,
                      int y, bool shadow)
{
    const uint32_t seed = scene->seed;
    const int at = y * ACTOR_WIDTH + x;
    // Edges tremble: what is measured here is what is a little beside.
    const int sx = x + nearest(0.9f * scene->noise * shared(&all->x, x, y));
    const int sy = y + nearest(0.9f * scene->noise * shared(&all->y, x, y));
    const int cx = sx < 0 ? 0 : sx >= ACTOR_WIDTH ? ACTOR_WIDTH - 1 : sx;
    const int cy = sy < 0 ? 0 : sy >= ACTOR_HEIGHT ? ACTOR_HEIGHT - 1 : sy;
    const float depth_m = frame->depth_m[cy * ACTOR_WIDTH + cx];
    const float random = uniform(hash(seed + 13, n, (uint32_t)at));
    if (scene->noise > 0) {
        const int right = cx + 2 < ACTOR_WIDTH ? 2 : 0, down = cy + 2 < ACTOR_HEIGHT ? 2 * ACTOR_WIDTH : 0;
        const float *here = &frame->depth_m[cy * ACTOR_WIDTH + cx];
        const bool edge = fabsf(here[right] - here[0]) > 0.2f || fabsf(here[down] - here[0]) > 0.2f;
        // Dark cloth: patches of the body, which go with it.
        const bool dark = frame->person[at] != 0 &&
                          uniform(hash(seed + 14, frame->person[at], (uint32_t)(x / 14 + 64 * (y / 14)))) < 0.02f;
        if (shadow || random < 0.002f || (edge && random < 0.3f) || (dark && random < 0.8f)) {
            return ACTOR_NOTHING;
        }
    }
    const float noise = 0.35f * normal(hash(seed + 15, n, (uint32_t)at)) + 0.40f * shared(&all->depth, x, y);
    const int raw = nearest(disparity(cy, depth_m) + scene->noise * noise);
    return raw < 1 || raw >= ACTOR_NOTHING ? ACTOR_NOTHING : (uint16_t)raw;
}

void actor_render(const actor_scene *scene, uint32_t n, actor_frame *frame)
{
    static frame_noise all;
    bool shadow[ACTOR_WIDTH] = {false};
    lattice_make(&all.x, scene->seed + 11, n);
    lattice_make(&all.y, scene->seed + 12, n);
    lattice_make(&all.depth, scene->seed + 16, n);
    render_truth(scene, (float)n / ACTOR_RATE, frame);
    for (int y = 0; y < ACTOR_HEIGHT; y++) {
        memset(shadow, 0, sizeof shadow);
        if (scene->noise > 0) {
            find_shadows(frame->depth_m + (size_t)y * ACTOR_WIDTH, shadow);
        }
        for (int x = 0; x < ACTOR_WIDTH; x++) {
            frame->raw[y * ACTOR_WIDTH + x] = sense(scene, n, &all, frame, x, y, shadow[x]);
        }
    }
}

const char *actor_act_name(actor_act act)
{
    static const char *const names[] = {"still", "wave", "side", "bow", "approach", "walk", "crowd"};
    return act < ACTOR_ACT_COUNT ? names[act] : NULL;
}
