// Puffs, sorted by distance and blended in bands of rows, each by one thread from the front to the back: what is before
// hides what is behind, and the picture is the same for any number of threads. Start at gas_draw.
#include "server/tool/film/gas.h"
#include "server/tool/film/render.h"

#include <stdlib.h>
#include <string.h>

enum {
    BAND_ROWS = 24,
    PUFF_RANGE = 4096,
    VOXELS_MAX = 1 << 18, // of the density: light needs no more
    MARCH_STEPS = 8,
    DISTANCES = 1 << 14, // that puffs are sorted by
};

static const float NEAREST = 0.05f, FARTHEST = 200.0f; // of drawn puffs from the eye, in diagonals of the tank
static const float OPAQUE = 0.01f;                     // what lets less through hides all behind it
static const vec3 SUN = {0.80f, 0.77f, 0.72f}, SKY = {0.23f, 0.26f, 0.30f};

/// Light is linear, 1 is white.
typedef struct gas_kind {
    vec3 colour, fast;           ///< of particles without colours of their own, at rest and fast
    float depth, flat_depth;     ///< optical depth of a tank's edge that is full of it; of a flat tank's one cell
    float shadow, flat_shadow;   ///< of such an edge, for the light that falls in
    float floor_shadow;          ///< share of what it takes that is missing on the floor
    float scatter;               ///< of the light that is lost, as much is scattered
    float inky;                  ///< 0: all colours get equally far through it; 1: as its own colour does
    vec3 clear;                  ///< what the liquid around it takes from light along an edge of the tank
    float nominal, flat_nominal; ///< particles in a cell where it is as thick as said above
    float spread, flat_spread;   ///< radius of a puff, in distances of neighbours: many must overlap
} gas_kind;

static const gas_kind KINDS[] = {
    [EXPORT_SMOKE] = {.colour = {0.82f, 0.84f, 0.88f},
                      .fast = {0.86f, 0.84f, 0.82f},
                      .depth = 20.0f,
                      .flat_depth = 1.5f,
                      .shadow = 13.0f,
                      .flat_shadow = 6.5f,
                      .floor_shadow = 0.5f,
                      .scatter = 1.0f,
                      .nominal = 8.0f,
                      .flat_nominal = 4.0f,
                      .spread = 1.9f,
                      .flat_spread = 4.0f},
    [EXPORT_DYE] = {.colour = {0.03f, 0.07f, 0.62f},
                    .fast = {0.85f, 0.03f, 0.3f},
                    .depth = 9.0f,
                    .flat_depth = 0.7f,
                    .shadow = 5.0f,
                    .floor_shadow = 0.6f,
                    .scatter = 0.16f,
                    .inky = 1.0f,
                    .clear = {0.16f, 0.04f, 0.03f},
                    .nominal = 8.0f,
                    .flat_nominal = 4.0f,
                    .spread = 1.9f,
                    .flat_spread = 4.0f},
};

/// A particle in the picture.
typedef struct puff {
    float x_px, y_px, depth_m, radius_px, radius_m;
    float amount;  // optical depth in the middle
    vec3 takes;    // share of that for red, green and blue
    vec3 scatters; // light towards the eye, were it opaque
} puff;

/// What a row of the maps has, each as long as the row: what is let through and the light, by colour, and where the
/// tank is, as depths.
enum { THROUGH, LIGHT = 3, FROM = 6, TO, ROW_VALUES };

struct gas {
    const gas_kind *kind;
    uint32_t width, height, coarse, threads;
    vec3 size_m;
    float cell_m, edge_m; // edge of a cube, or of a square, as large as the tank
    bool is_flat;
    float *sums;
    float *density; // particles in a voxel, of all that there are shared out among the eight around each
    uint32_t voxels[3];
    float voxel_m;
    puff *puffs;
    uint32_t *order; // of puffs, from the front to the back
    uint32_t capacity, counts[DISTANCES + 1];
    float linear[256]; // from sRGB
    // Of a frame:
    float section_m2; // of a particle, times its optical depth
    float spread_m;
    float bulk; // density around the average particle
    float shadow_per_m;
    float scatter;
};

/// @return whether the voxels are few enough
static bool divide(gas *g, const float *size_m)
{
    double voxels = 1.0;
    for (int axis = 0; axis < 3; axis++) {
        g->voxels[axis] = (uint32_t)fminf(ceilf(size_m[axis] / g->voxel_m), 1e6f);
        voxels *= g->voxels[axis];
    }
    return voxels <= VOXELS_MAX;
}

tarn_status gas_create(const export_info *info, uint32_t width, uint32_t height, uint32_t coarse, uint32_t threads,
                       gas **out)
{
    gas *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return TARN_E_MEMORY;
    }
    const float *size = info->size_m;
    g->kind = &KINDS[info->drawing];
    g->width = width;
    g->height = height;
    g->coarse = coarse;
    g->threads = threads;
    g->size_m = (vec3){size[0], size[1], size[2]};
    g->cell_m = info->cell_m;
    g->is_flat = info->is_flat;
    g->edge_m = info->is_flat ? sqrtf(size[0] * size[1]) : cbrtf(size[0] * size[1] * size[2]);
    // So many particles in each that chance doesn't show.
    g->voxel_m = (info->is_flat ? 8.0f : 2.0f) * info->cell_m;
    while (!divide(g, size)) {
        g->voxel_m *= 1.25f;
    }
    g->sums = malloc((size_t)width * height * ROW_VALUES * sizeof(float));
    g->density = malloc((size_t)g->voxels[0] * g->voxels[1] * g->voxels[2] * sizeof(float));
    if (g->sums == NULL || g->density == NULL) {
        gas_destroy(g);
        return TARN_E_MEMORY;
    }
    for (int i = 0; i < 256; i++) {
        g->linear[i] = srgb_linear((uint8_t)i);
    }
    *out = g;
    return TARN_OK;
}

void gas_destroy(gas *g)
{
    if (g != NULL) {
        free(g->sums);
        free(g->density);
        free(g->puffs);
        free(g->order);
        free(g);
    }
}

// ---- density ----

/// The eight voxels whose middles are around a place, and the share of each.
typedef struct corners {
    size_t index[8];
    float share[8];
} corners;

static corners corners_of(const gas *g, vec3 p)
{
    const float at_m[3] = {p.x, p.y, p.z};
    size_t index[3][2], stride = 1;
    float part[3];
    for (int axis = 0; axis < 3; axis++) {
        const float last = (float)g->voxels[axis] - 1.0f;
        const float at = clampf(at_m[axis] / g->voxel_m - 0.5f, 0.0f, last); // a wall doesn't thin it out
        const size_t low = (size_t)at, high = at < last ? low + 1 : low;
        part[axis] = at - (float)low;
        index[axis][0] = low * stride;
        index[axis][1] = high * stride;
        stride *= g->voxels[axis];
    }
    corners c;
    for (int i = 0; i < 8; i++) {
        const int x = i & 1, y = i >> 1 & 1, z = i >> 2;
        c.index[i] = index[0][x] + index[1][y] + index[2][z];
        c.share[i] = (x ? part[0] : 1.0f - part[0]) * (y ? part[1] : 1.0f - part[1]) * (z ? part[2] : 1.0f - part[2]);
    }
    return c;
}

static float density_at(const gas *g, vec3 p)
{
    const corners c = corners_of(g, p);
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) {
        sum += c.share[i] * g->density[c.index[i]];
    }
    return sum;
}

static bool is_inside(const gas *g, const float *p)
{
    return p[0] >= 0.0f && p[1] >= 0.0f && p[2] >= 0.0f && p[0] <= g->size_m.x && p[1] <= g->size_m.y &&
           p[2] <= g->size_m.z;
}

/// Also how large puffs of this frame are and how much each takes. A particle stands for a fixed amount, so that smoke
/// gets thinner as it spreads, but a scene with many in a cell isn't as much thicker: pictures show only so much.
static void weigh(gas *g, const export_frame *frame)
{
    const size_t voxel_count = (size_t)g->voxels[0] * g->voxels[1] * g->voxels[2];
    memset(g->density, 0, voxel_count * sizeof(float));
    for (size_t k = 0; k < frame->particle_count; k++) {
        const float *p = frame->positions_m + 3 * k;
        if (is_inside(g, p)) {
            const corners c = corners_of(g, (vec3){p[0], p[1], p[2]});
            for (int i = 0; i < 8; i++) {
                g->density[c.index[i]] += c.share[i];
            }
        }
    }
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < voxel_count; i++) {
        sum += (double)g->density[i];
        squares += (double)g->density[i] * (double)g->density[i];
    }
    g->bulk = sum > 0.0 ? (float)(squares / sum) : 1.0f;
    const gas_kind *kind = g->kind;
    const float cells = g->voxel_m / g->cell_m, deep = fminf(cells, g->size_m.z / g->cell_m);
    const float crowding = g->bulk / (cells * cells * deep); // particles in a cell around the average one
    const float nominal = sqrtf((g->is_flat ? kind->flat_nominal : kind->nominal) * crowding);
    const float per_m = g->is_flat ? kind->flat_depth / g->cell_m : kind->depth / g->edge_m;
    g->section_m2 = per_m * g->cell_m * g->cell_m * g->cell_m / nominal;
    g->spread_m = g->cell_m * (g->is_flat ? kind->flat_spread / sqrtf(crowding) : kind->spread / cbrtf(crowding));
    g->shadow_per_m = (g->is_flat ? kind->flat_shadow : kind->shadow) * (crowding / nominal) / g->edge_m;
}

/// Optical depth, for light, of what is between a place and the tank's walls. Near places count most: steps grow with
/// the way.
static float shade_along(const gas *g, vec3 from, vec3 along)
{
    const box3 tank = {{0, 0, 0}, g->size_m};
    float in_m, out_m, sum = 0.0f;
    if (!box3_cut(&tank, from, along, &in_m, &out_m)) {
        return 0.0f;
    }
    for (int i = 0; i < MARCH_STEPS; i++) {
        const float t = ((float)i + 0.5f) / MARCH_STEPS;
        sum += t * density_at(g, vec3_along(from, along, t * t * out_m));
    }
    return 2.0f / MARCH_STEPS * sum * out_m * g->shadow_per_m / g->bulk;
}

// ---- particles -> puffs ----

typedef struct puff_job {
    gas *g;
    const camera *cam;
    const export_frame *frame;
    vec3 towards_light;
} puff_job;

static vec3 tint_of(const gas *g, const export_frame *frame, size_t i)
{
    const uint8_t *c = frame->scaled != NULL    ? frame->scaled + 3 * i
                       : frame->colours != NULL ? frame->colours + 3 * i
                                                : NULL;
    if (c != NULL) { // neither black, which nothing gets through, nor clear
        const vec3 own = {g->linear[c[0]], g->linear[c[1]], g->linear[c[2]]};
        return vec3_along((vec3){0.01f, 0.01f, 0.01f}, own, 0.85f);
    }
    const float *v = frame->velocities_m_s + 3 * i;
    const float speed = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / sqrtf(2.0f * 9.81f * g->size_m.y);
    return vec3_mix(g->kind->colour, g->kind->fast, speed > 0.0f ? smoothf(0.02f, 0.35f, speed) : 0.0f);
}

static void light_puff(const puff_job *job, vec3 at, vec3 tint, puff *p)
{
    const gas *g = job->g;
    // Light that was scattered on its way gets farther than that which comes straight.
    const float shade = shade_along(g, at, job->towards_light), above = shade_along(g, at, (vec3){0, 1, 0});
    const float sun = 0.74f * expf(-shade) + 0.26f * expf(-0.25f * shade);
    const float sky = 0.35f + 0.65f * expf(-0.5f * above);
    const vec3 light = vec3_along(vec3_scale(SUN, sun), SKY, sky);
    if (job->frame->scaled != NULL) { // values, which neither shadow nor what is behind may tint
        p->scatters = vec3_scale(tint, 0.8f + 0.2f * sun);
        p->takes = (vec3){1, 1, 1};
        return;
    }
    p->scatters = vec3_mul(tint, light);
    const vec3 ink = {-logf(tint.x), -logf(tint.y), -logf(tint.z)};
    p->takes = vec3_mix((vec3){0.94f, 1.0f, 1.06f}, ink, g->kind->inky);
}

/// How much of a puff the walls leave of it, about.
static float inside_share(const gas *g, vec3 at, float radius_m)
{
    const float at_m[3] = {at.x, at.y, at.z}, size_m[3] = {g->size_m.x, g->size_m.y, g->size_m.z};
    float share = 1.0f;
    for (int axis = 0; axis < (g->is_flat ? 2 : 3); axis++) {
        share *= smoothf(-radius_m, radius_m, at_m[axis]) * smoothf(-radius_m, radius_m, size_m[axis] - at_m[axis]);
    }
    return fmaxf(share, 0.1f);
}

static void make_puffs(void *context, uint32_t begin, uint32_t end)
{
    const puff_job *job = context;
    const gas *g = job->g;
    const float diagonal_m = sqrtf(vec3_dot(g->size_m, g->size_m)), per_coarse = 1.0f / (float)g->coarse;
    for (size_t i = begin; i < end; i++) {
        puff *p = &job->g->puffs[i];
        const float *m = job->frame->positions_m + 3 * i;
        *p = (puff){.radius_px = 0.0f};
        const vec3 at = {m[0], m[1], m[2]};
        if (!is_inside(g, m)) { // also what is not finite
            continue;
        }
        // A flat tank's are larger than it is deep: they stand in its middle.
        const vec3 middle = {at.x, at.y, g->is_flat ? 0.5f * g->size_m.z : at.z};
        p->depth_m = camera_project(job->cam, middle, &p->x_px, &p->y_px);
        if (!(p->depth_m > NEAREST * diagonal_m && p->depth_m < FARTHEST * diagonal_m)) {
            continue;
        }
        p->x_px *= per_coarse;
        p->y_px *= per_coarse;
        // Alone it is larger, so that thin smoke is no heap of dots.
        const float crowd = fmaxf(density_at(g, at) / g->bulk, 0.01f);
        const float sparse = clampf(powf(crowd, g->is_flat ? -0.5f : -1.0f / 3.0f), 0.75f, 2.2f);
        const float px_per_m = job->cam->focal_px / p->depth_m * per_coarse;
        p->radius_px = fmaxf(g->spread_m * sparse * px_per_m, 1.5f);
        p->radius_m = p->radius_px / px_per_m;
        // Faded it adds up to the section, of which none is lost beyond the walls.
        p->amount = 0.955f * g->section_m2 / (p->radius_m * p->radius_m * inside_share(g, at, p->radius_m));
        light_puff(job, at, tint_of(g, job->frame, i), p);
    }
}

static uint32_t distance_of(const puff *p, float near_m, float per_m)
{
    return (uint32_t)clampf((p->depth_m - near_m) * per_m, 0.0f, DISTANCES - 1);
}

/// By counting, with the particles' order among those that are equally far: the same for any number of threads.
static void sort_puffs(gas *g, uint32_t count)
{
    float near_m = 1e30f, far_m = 0.0f;
    for (uint32_t i = 0; i < count; i++) {
        if (g->puffs[i].radius_px > 0.0f) {
            near_m = fminf(near_m, g->puffs[i].depth_m);
            far_m = fmaxf(far_m, g->puffs[i].depth_m);
        }
    }
    const float per_m = (DISTANCES - 1) / fmaxf(far_m - near_m, 1e-6f);
    memset(g->counts, 0, sizeof g->counts);
    for (uint32_t i = 0; i < count; i++) {
        g->counts[distance_of(&g->puffs[i], near_m, per_m) + 1]++;
    }
    for (uint32_t k = 0; k < DISTANCES; k++) {
        g->counts[k + 1] += g->counts[k];
    }
    for (uint32_t i = 0; i < count; i++) {
        g->order[g->counts[distance_of(&g->puffs[i], near_m, per_m)]++] = i;
    }
}

// ---- puffs -> light ----

typedef struct blend_job {
    const gas *g;
    const camera *cam;
    uint32_t count;
    const float *solid_depth;
} blend_job;

static float *row_of(const gas *g, uint32_t y)
{
    return g->sums + (size_t)y * g->width * ROW_VALUES;
}

/// What an optical depth lets through: e^-d, closely enough, and cheap.
static float let_through(float d)
{
    return 1.0f / (1.0f + d * (1.0f + d * (0.5f + d * (1.0f / 6.0f + d * (1.0f / 24.0f)))));
}

/// The part of a row from the puff's left to its right.
static void blend_row(float *restrict row, size_t width, const puff *p, float dy, int left, int right, float scatter)
{
    float *restrict red = row + THROUGH * width, *restrict green = red + width, *restrict blue = green + width;
    float *restrict lit_red = row + LIGHT * width, *restrict lit_green = lit_red + width,
                    *restrict lit_blue = lit_green + width;
    const float *restrict from_m = row + FROM * width, *restrict to_m = row + TO * width;
    const float per_px = 1.0f / p->radius_px, dy2 = dy * dy * per_px * per_px;
    const puff own = *p;
    for (int x = left; x <= right; x++) {
        if (red[x] + green[x] + blue[x] < OPAQUE) {
            continue;
        }
        const float dx = ((float)x + 0.5f - own.x_px) * per_px, off = fmaxf(1.0f - dx * dx - dy2, 0.0f);
        // What of it is inside the tank and before solids.
        const float room_m = 0.5f * (to_m[x] - from_m[x]), per_m = 0.5f / fmaxf(fminf(own.radius_m, room_m), 1e-6f);
        float in = 0.5f + (own.depth_m - from_m[x]) * per_m, out = 0.5f + (to_m[x] - own.depth_m) * per_m;
        in = clampf(in, 0.0f, 1.0f);
        out = clampf(out, 0.0f, 1.0f);
        const float share = in * in * (3.0f - 2.0f * in) + out * out * (3.0f - 2.0f * out) - 1.0f;
        const float depth = own.amount * off * off * fmaxf(share, 0.0f);
        const float scattered = 1.0f - let_through(depth * scatter);
        lit_red[x] += own.scatters.x * red[x] * scattered;
        lit_green[x] += own.scatters.y * green[x] * scattered;
        lit_blue[x] += own.scatters.z * blue[x] * scattered;
        red[x] *= let_through(depth * own.takes.x);
        green[x] *= let_through(depth * own.takes.y);
        blue[x] *= let_through(depth * own.takes.z);
    }
}

static void blend_puff(const gas *g, const puff *p, uint32_t begin, uint32_t end)
{
    const int top = (int)fmaxf(ceilf(p->y_px - p->radius_px - 0.5f), (float)begin);
    const int bottom = (int)fminf(floorf(p->y_px + p->radius_px - 0.5f), (float)end - 1.0f);
    for (int y = top; y <= bottom; y++) {
        const float dy = (float)y + 0.5f - p->y_px;
        const float half_px = sqrtf(fmaxf(p->radius_px * p->radius_px - dy * dy, 0.0f));
        const int left = (int)fmaxf(ceilf(p->x_px - half_px - 0.5f), 0.0f);
        const int right = (int)fminf(floorf(p->x_px + half_px - 0.5f), (float)g->width - 1.0f);
        blend_row(row_of(g, (uint32_t)y), g->width, p, dy, left, right, g->scatter);
    }
}

/// Nothing is there yet; and where a pixel's ray enters the tank, and leaves it or ends.
static void begin_row(const blend_job *job, uint32_t y)
{
    const gas *g = job->g;
    const box3 tank = {{0, 0, 0}, g->size_m};
    const float coarse = (float)g->coarse;
    const float *solid =
        job->solid_depth != NULL ? job->solid_depth + (size_t)y * g->coarse * g->coarse * g->width : NULL;
    float *row = row_of(g, y);
    for (uint32_t x = 0; x < g->width; x++) {
        const vec3 ray = camera_ray(job->cam, ((float)x + 0.5f) * coarse, ((float)y + 0.5f) * coarse);
        float in_m, out_m;
        const bool is_through = box3_cut(&tank, job->cam->eye, ray, &in_m, &out_m);
        for (int c = 0; c < 3; c++) {
            row[(size_t)(THROUGH + c) * g->width + x] = 1.0f;
            row[(size_t)(LIGHT + c) * g->width + x] = 0.0f;
        }
        row[FROM * g->width + x] = is_through ? in_m : 0.0f;
        row[TO * g->width + x] = !is_through     ? 0.0f
                                 : solid == NULL ? out_m
                                                 : fminf(out_m, solid[(size_t)x * g->coarse]);
    }
}

static void blend_band(void *context, uint32_t begin, uint32_t end)
{
    const blend_job *job = context;
    const gas *g = job->g;
    for (uint32_t y = begin; y < end; y++) {
        begin_row(job, y);
    }
    for (uint32_t k = 0; k < job->count; k++) {
        const puff *p = &g->puffs[g->order[k]];
        if (p->radius_px > 0.0f && p->y_px + p->radius_px > (float)begin && p->y_px - p->radius_px < (float)end) {
            blend_puff(g, p, begin, end);
        }
    }
}

// ---- a frame ----

static bool make_room(gas *g, uint32_t count)
{
    if (count > g->capacity) {
        puff *puffs = realloc(g->puffs, count * sizeof *puffs);
        g->puffs = puffs != NULL ? puffs : g->puffs;
        uint32_t *order = realloc(g->order, count * sizeof *order);
        g->order = order != NULL ? order : g->order;
        if (puffs == NULL || order == NULL) {
            return false;
        }
        g->capacity = count;
    }
    return true;
}

tarn_status gas_draw(gas *g, const camera *cam, const export_frame *frame, vec3 towards_light, const float *solid_depth)
{
    if (!make_room(g, frame->particle_count)) {
        return TARN_E_MEMORY;
    }
    weigh(g, frame);
    g->scatter = frame->scaled != NULL ? 1.0f : g->kind->scatter;
    // In a flat tank light comes from above and from the side only.
    const vec3 light = g->is_flat ? vec3_normal((vec3){towards_light.x, towards_light.y, 0}) : towards_light;
    puff_job puffs = {g, cam, frame, light};
    render_rows(g->threads, frame->particle_count, PUFF_RANGE, make_puffs, &puffs);
    sort_puffs(g, frame->particle_count);
    blend_job blend = {g, cam, frame->particle_count, solid_depth};
    render_rows(g->threads, g->height, BAND_ROWS, blend_band, &blend);
    return TARN_OK;
}

gas_seen gas_look(const gas *g, uint32_t x, uint32_t y)
{
    const float *at = row_of(g, y) + x;
    const size_t width = g->width;
    return (gas_seen){{at[0], at[width], at[2 * width]},
                      {at[LIGHT * width], at[(LIGHT + 1) * width], at[(LIGHT + 2) * width]}};
}

vec3 gas_clear_per_m(const gas *g)
{
    return vec3_scale(g->kind->clear, 1.0f / g->edge_m);
}

float gas_shadow_m2(const gas *g)
{
    return g->section_m2 * g->kind->floor_shadow;
}
