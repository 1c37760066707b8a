// Particles into bins, tiles that the surface may be in, distances at their nodes, triangles: start at
// mesh_liquid_make.
//
// Lengths without unit are in spacings, from a corner that is two spacings before the tank's. A bin's edge is as long
// as a weight reaches, two spacings, a tile's four.
#include "server/tool/film/liquid.h"
#include "server/tool/film/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REACH = 2, // of a weight; also the edge of a bin, and the margin around the tank
    TILE_BINS = 2,
    TILE_EDGE = TILE_BINS * REACH,
    BIN_FULL = 3, // particles; at rest there are 8
    VERTEX_RANGE = 1024,
    NODES_MAX = MESH_TILE_NODES_MAX * MESH_TILE_NODES_MAX * MESH_TILE_NODES_MAX,
};
_Static_assert(TILE_EDGE *MESH_DETAIL_MAX == MESH_TILE_NODES_MAX, "a tile of the finest grid");

static const float FAR = 1.4f;          // a node without particles around it
static const double HOLLOW = 4.0;       // of particles' volumes: a gap between particles, and no bubble
static const double SPECK = 0.05;       // of particles' volumes: less than any drop
static const double SMALL = 64.0;       // of particles' volumes: a drop, which smoothing shrinks
static const float WEIGHT_LEAST = 0.5f; // of what is inside

struct mesh_liquid {
    uint32_t detail, threads;
    float spacing_m, size[3]; // size: of the tank
    uint32_t bins[3];
    size_t bin_count;
    uint32_t *bin_first; // of each bin, and the number of particles
    mesh_grid grid;
    size_t tile_count;
    uint8_t *tile_has;                      // any particles
    uint32_t slot_capacity, computed_count; // of slots, the first ones; the others are all inside
    uint32_t capacity;                      // particles
    float *places;                          // x y z, by bins
    uint32_t *order;                        // number of each in the frame
};

// ---- life ----

tarn_status mesh_liquid_create(const export_info *info, uint32_t detail, mesh_liquid **out)
{
    mesh_liquid *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return TARN_E_MEMORY;
    }
    l->detail = detail;
    l->threads = info->threads != 0 ? info->threads : render_rows_threads();
    l->spacing_m = info->spacing_m;
    l->bin_count = l->tile_count = 1;
    l->grid.tile_nodes = TILE_EDGE * detail;
    l->grid.spacing_m = info->spacing_m / (float)detail;
    for (int axis = 0; axis < 3; axis++) {
        l->size[axis] = info->size_m[axis] / info->spacing_m;
        // Walls lie in the middle between nodes, and one node at least is outside everything.
        l->grid.origin_m[axis] = -(float)REACH * info->spacing_m - 0.5f * l->grid.spacing_m;
        l->grid.tiles[axis] = (uint32_t)ceilf((l->size[axis] + 2 * REACH + 1) / TILE_EDGE);
        l->bins[axis] = TILE_BINS * l->grid.tiles[axis];
        l->tile_count *= l->grid.tiles[axis];
        l->bin_count *= l->bins[axis];
    }
    l->bin_first = malloc((l->bin_count + 1) * sizeof *l->bin_first);
    l->grid.slots = malloc(l->tile_count * sizeof *l->grid.slots);
    l->tile_has = malloc(l->tile_count);
    if (l->bin_first == NULL || l->grid.slots == NULL || l->tile_has == NULL) {
        mesh_liquid_destroy(l);
        return TARN_E_MEMORY;
    }
    *out = l;
    return TARN_OK;
}

void mesh_liquid_destroy(mesh_liquid *l)
{
    if (l != NULL) {
        free(l->bin_first);
        free(l->grid.slots);
        free(l->grid.tile_of);
        free(l->grid.values);
        free(l->tile_has);
        free(l->places);
        free(l->order);
        free(l);
    }
}

// ---- particles -> bins ----

static bool place_of(const mesh_liquid *l, const float *position_m, float place[3], size_t *bin)
{
    size_t at[3];
    for (int axis = 0; axis < 3; axis++) {
        const float in_tank = position_m[axis] / l->spacing_m;
        if (!(in_tank >= -1.0f && in_tank <= l->size[axis] + 1.0f)) {
            return false; // none is there
        }
        place[axis] = in_tank + REACH;
        at[axis] = (size_t)(place[axis] / REACH);
    }
    *bin = (at[2] * l->bins[1] + at[1]) * l->bins[0] + at[0];
    return true;
}

static bool make_room_for_particles(mesh_liquid *l, uint32_t count)
{
    if (count <= l->capacity) {
        return true;
    }
    free(l->places);
    free(l->order);
    l->places = malloc((size_t)count * 3 * sizeof *l->places);
    l->order = malloc((size_t)count * sizeof *l->order);
    l->capacity = l->places != NULL && l->order != NULL ? count : 0;
    return l->capacity != 0;
}

static void sort_into_bins(mesh_liquid *l, const export_frame *frame)
{
    float place[3];
    size_t bin;
    memset(l->bin_first, 0, (l->bin_count + 1) * sizeof *l->bin_first);
    for (size_t i = 0; i < frame->particle_count; i++) {
        if (place_of(l, frame->positions_m + 3 * i, place, &bin)) {
            l->bin_first[bin + 1]++;
        }
    }
    for (size_t i = 0; i < l->bin_count; i++) {
        l->bin_first[i + 1] += l->bin_first[i];
    }
    const uint32_t inside = l->bin_first[l->bin_count];
    for (size_t i = frame->particle_count; i-- > 0;) { // the last one first, so that bins begin where they should
        if (place_of(l, frame->positions_m + 3 * i, place, &bin)) {
            const size_t to = --l->bin_first[bin + 1];
            memcpy(l->places + 3 * to, place, sizeof place);
            l->order[to] = (uint32_t)i;
        }
    }
    // Each bin's end has become its start.
    memmove(l->bin_first, l->bin_first + 1, l->bin_count * sizeof *l->bin_first);
    l->bin_first[l->bin_count] = inside;
}

static uint32_t count_in(const mesh_liquid *l, size_t bin)
{
    return l->bin_first[bin + 1] - l->bin_first[bin];
}

// ---- tiles ----

/// Bins, from first to last, that a particle may be in which is nearer than `reach` to a tile's nodes.
typedef struct bin_range {
    uint32_t first[3], last[3];
} bin_range;

static bin_range bins_around(const mesh_liquid *l, const uint32_t at[3], float reach)
{
    bin_range range;
    const float step = 1.0f / (float)l->detail;
    for (int axis = 0; axis < 3; axis++) {
        const float low = (float)(TILE_EDGE * at[axis]) - 0.5f * step - reach;
        const float high = (float)(TILE_EDGE * (at[axis] + 1)) - 1.5f * step + reach;
        const float last = (float)(l->bins[axis] - 1);
        range.first[axis] = (uint32_t)fminf(fmaxf(floorf(low / REACH), 0.0f), last);
        range.last[axis] = (uint32_t)fminf(fmaxf(floorf(high / REACH), 0.0f), last);
    }
    return range;
}

static void mark_tiles(mesh_liquid *l)
{
    memset(l->tile_has, 0, l->tile_count);
    for (uint32_t z = 0; z < l->bins[2]; z++) {
        for (uint32_t y = 0; y < l->bins[1]; y++) {
            const size_t row = ((size_t)z * l->bins[1] + y) * l->bins[0];
            const size_t tiles = ((size_t)(z / TILE_BINS) * l->grid.tiles[1] + y / TILE_BINS) * l->grid.tiles[0];
            for (uint32_t x = 0; x < l->bins[0]; x++) {
                l->tile_has[tiles + x / TILE_BINS] |= count_in(l, row + x) != 0 ? 1 : 0;
            }
        }
    }
}

/// Whether a tile or one beside it, along edges and corners too, is what `is` says.
static bool any_beside(const mesh_liquid *l, const uint32_t at[3], bool (*is)(const mesh_liquid *l, size_t tile))
{
    uint32_t first[3], last[3];
    for (int axis = 0; axis < 3; axis++) {
        first[axis] = at[axis] > 0 ? at[axis] - 1 : 0;
        last[axis] = at[axis] + 1 < l->grid.tiles[axis] ? at[axis] + 1 : at[axis];
    }
    for (uint32_t z = first[2]; z <= last[2]; z++) {
        for (uint32_t y = first[1]; y <= last[1]; y++) {
            for (uint32_t x = first[0]; x <= last[0]; x++) {
                if (is(l, ((size_t)z * l->grid.tiles[1] + y) * l->grid.tiles[0] + x)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool has_particles(const mesh_liquid *l, size_t tile)
{
    return l->tile_has[tile] != 0;
}

static bool is_computed(const mesh_liquid *l, size_t tile)
{
    return l->grid.slots[tile] >= 0;
}

/// Amid particles all around, near some, or far from all.
static int32_t look_around(const mesh_liquid *l, const uint32_t at[3])
{
    if (!any_beside(l, at, has_particles)) {
        return MESH_TILE_OUTSIDE;
    }
    const bin_range r = bins_around(l, at, REACH + 1.0f / (float)l->detail);
    bool any = false, full = true;
    for (uint32_t z = r.first[2]; z <= r.last[2]; z++) {
        for (uint32_t y = r.first[1]; y <= r.last[1]; y++) {
            for (uint32_t x = r.first[0]; x <= r.last[0]; x++) {
                const uint32_t count = count_in(l, ((size_t)z * l->bins[1] + y) * l->bins[0] + x);
                any |= count > 0;
                full &= count >= BIN_FULL;
            }
        }
    }
    return full ? MESH_TILE_INSIDE : any ? 0 : MESH_TILE_OUTSIDE;
}

static uint32_t tile_at(const mesh_grid *g, size_t tile, uint32_t at[3])
{
    at[0] = (uint32_t)(tile % g->tiles[0]);
    at[1] = (uint32_t)(tile / g->tiles[0] % g->tiles[1]);
    at[2] = (uint32_t)(tile / g->tiles[0] / g->tiles[1]);
    return (uint32_t)tile;
}

static void look_at_layers(void *context, uint32_t begin, uint32_t end)
{
    mesh_liquid *l = context;
    const size_t layer = (size_t)l->grid.tiles[0] * l->grid.tiles[1];
    for (size_t tile = begin * layer; tile < end * layer; tile++) {
        uint32_t at[3];
        tile_at(&l->grid, tile, at);
        l->grid.slots[tile] = look_around(l, at);
    }
}

/// Gives slots to the tiles near the surface, and to those amid the liquid beside them: edges between both are theirs.
static tarn_status choose_tiles(mesh_liquid *l)
{
    mesh_grid *g = &l->grid;
    mark_tiles(l);
    render_rows(l->threads, g->tiles[2], 1, look_at_layers, l);
    uint32_t computed = 0, count = 0;
    for (size_t tile = 0; tile < l->tile_count; tile++) {
        computed += is_computed(l, tile) ? 1 : 0;
        g->slots[tile] = is_computed(l, tile) ? (int32_t)count++ : g->slots[tile];
    }
    for (size_t tile = 0; tile < l->tile_count; tile++) {
        uint32_t at[3];
        tile_at(g, tile, at);
        count += g->slots[tile] == MESH_TILE_INSIDE && any_beside(l, at, is_computed) ? 1 : 0;
    }
    const size_t nodes = (size_t)g->tile_nodes * g->tile_nodes * g->tile_nodes;
    if (count * nodes > MESH_NODES_MAX) {
        return TARN_E_LIMIT;
    }
    g->slot_count = count;
    l->computed_count = computed;
    if (count > l->slot_capacity) {
        free(g->tile_of);
        free(g->values);
        g->tile_of = malloc(count * sizeof *g->tile_of);
        g->values = malloc(count * nodes * sizeof *g->values);
        l->slot_capacity = g->tile_of != NULL && g->values != NULL ? count : 0;
        if (l->slot_capacity == 0) {
            return TARN_E_MEMORY;
        }
    }
    uint32_t beside = computed;
    for (size_t tile = 0; tile < l->tile_count; tile++) {
        uint32_t at[3];
        const uint32_t number = tile_at(g, tile, at);
        if (is_computed(l, tile)) {
            g->tile_of[g->slots[tile]] = number;
        } else if (g->slots[tile] == MESH_TILE_INSIDE && any_beside(l, at, is_computed)) {
            g->tile_of[beside++] = number;
        }
    }
    for (uint32_t slot = computed; slot < count; slot++) { // not before: they aren't beside themselves
        g->slots[g->tile_of[slot]] = (int32_t)slot;
    }
    return TARN_OK;
}

// ---- distances ----

/// What particles around a node sum up to: their weights, and these times their ways from the node, in nodes.
typedef struct node_sums {
    float weight[NODES_MAX], x[NODES_MAX], y[NODES_MAX], z[NODES_MAX];
} node_sums;

/// @param at  in nodes, from the tile's first one
static void add_particle(node_sums *sums, int nodes, int detail, const float at[3])
{
    const float reach = (float)(REACH * detail), per_reach2 = 1.0f / (reach * reach);
    int first[3], last[3];
    for (int axis = 0; axis < 3; axis++) {
        const float low = ceilf(at[axis] - reach), high = floorf(at[axis] + reach);
        if (low > (float)(nodes - 1) || high < 0.0f) {
            return;
        }
        first[axis] = low > 0.0f ? (int)low : 0;
        last[axis] = high < (float)(nodes - 1) ? (int)high : nodes - 1;
    }
    for (int z = first[2]; z <= last[2]; z++) {
        const float dz = at[2] - (float)z;
        for (int y = first[1]; y <= last[1]; y++) {
            const float dy = at[1] - (float)y, dyz = 1.0f - (dy * dy + dz * dz) * per_reach2;
            const size_t row = ((size_t)z * (size_t)nodes + (size_t)y) * (size_t)nodes;
            for (int x = first[0]; x <= last[0]; x++) {
                const float dx = at[0] - (float)x, near = dyz - dx * dx * per_reach2;
                const float part = near > 0.0f ? near : 0.0f, weight = part * part * part;
                sums->weight[row + (size_t)x] += weight;
                sums->x[row + (size_t)x] += weight * dx;
                sums->y[row + (size_t)x] += weight * dy;
                sums->z[row + (size_t)x] += weight * dz;
            }
        }
    }
}

/// The places along an axis of a particle and of its images in the walls, in nodes from the tile's first one.
static int images(const mesh_liquid *l, int axis, float place, uint32_t tile, float to[3])
{
    const float detail = (float)l->detail, within = REACH + 1.0f / detail;
    const float in_tank = place - REACH, low = (float)(tile * l->grid.tile_nodes) - 0.5f;
    int count = 0;
    to[count++] = place * detail - low;
    if (in_tank < within) {
        to[count++] = (REACH - in_tank) * detail - low;
    }
    if (in_tank > l->size[axis] - within) {
        to[count++] = (REACH + 2.0f * l->size[axis] - in_tank) * detail - low;
    }
    return count;
}

static void add_with_images(const mesh_liquid *l, node_sums *sums, const float *place, const uint32_t tile[3])
{
    float to[3][3];
    int count[3];
    for (int axis = 0; axis < 3; axis++) {
        count[axis] = images(l, axis, place[axis], tile[axis], to[axis]);
    }
    for (int z = 0; z < count[2]; z++) {
        for (int y = 0; y < count[1]; y++) {
            for (int x = 0; x < count[0]; x++) {
                add_particle(sums, (int)l->grid.tile_nodes, (int)l->detail, (float[]){to[0][x], to[1][y], to[2][z]});
            }
        }
    }
}

/// By how many there are. A lone one's ball has its volume, and more where the grid cuts it, but where that hardly
/// finds it at all. A half space weighs 2.55 at its surface, a quarter of space half of that at its edge, which would
/// be rounded off.
static float radius_of(const mesh_liquid *l, float weight)
{
    const float detail = (float)l->detail;
    const float weights[] = {0.75f, 1.27f, 2.2f, 3.3f, 4.5f};
    const float radii[] = {l->detail > 1 ? 0.62f + 0.35f / (detail * detail) : 0.62f, 0.68f, 0.5f, 0.5f, 1.0f};
    enum { COUNT = sizeof weights / sizeof weights[0] };
    if (weight <= weights[0]) {
        return radii[0];
    }
    for (int i = 1; i < COUNT; i++) {
        if (weight < weights[i]) {
            const float share = (weight - weights[i - 1]) / (weights[i] - weights[i - 1]);
            return radii[i - 1] + share * (radii[i] - radii[i - 1]);
        }
    }
    return radii[COUNT - 1];
}

static float distance_at(const mesh_liquid *l, const node_sums *sums, size_t node, const float at[3])
{
    const float weight = sums->weight[node];
    float distance = FAR;
    if (weight > 0.0f) {
        const float x = sums->x[node] / weight, y = sums->y[node] / weight, z = sums->z[node] / weight;
        distance = sqrtf(x * x + y * y + z * z) / (float)l->detail - radius_of(l, weight);
        distance = fmaxf(distance, WEIGHT_LEAST - weight);
    }
    for (int axis = 0; axis < 3; axis++) {
        distance = fmaxf(distance, fmaxf(-at[axis], at[axis] - l->size[axis]));
    }
    return distance;
}

static void compute_tile(const mesh_liquid *l, uint32_t slot, node_sums *sums)
{
    const mesh_grid *g = &l->grid;
    const uint32_t n = g->tile_nodes;
    const size_t nodes = (size_t)n * n * n;
    const float step = 1.0f / (float)l->detail;
    float *values = g->values + slot * nodes;
    uint32_t at[3];
    tile_at(g, g->tile_of[slot], at);
    memset(sums->weight, 0, nodes * sizeof(float));
    memset(sums->x, 0, nodes * sizeof(float));
    memset(sums->y, 0, nodes * sizeof(float));
    memset(sums->z, 0, nodes * sizeof(float));
    const bin_range r = bins_around(l, at, REACH + 2.0f * step); // its nodes beyond a wall are near images
    for (uint32_t z = r.first[2]; z <= r.last[2]; z++) {
        for (uint32_t y = r.first[1]; y <= r.last[1]; y++) {
            const size_t row = ((size_t)z * l->bins[1] + y) * l->bins[0];
            for (size_t i = l->bin_first[row + r.first[0]]; i < l->bin_first[row + r.last[0] + 1]; i++) {
                add_with_images(l, sums, l->places + 3 * i, at);
            }
        }
    }
    size_t node = 0;
    for (uint32_t z = 0; z < n; z++) {
        for (uint32_t y = 0; y < n; y++) {
            for (uint32_t x = 0; x < n; x++, node++) {
                const float place[3] = {((float)(at[0] * n + x) - 0.5f) * step - REACH,
                                        ((float)(at[1] * n + y) - 0.5f) * step - REACH,
                                        ((float)(at[2] * n + z) - 0.5f) * step - REACH};
                values[node] = distance_at(l, sums, node, place);
            }
        }
    }
}

static void compute_tiles(void *context, uint32_t begin, uint32_t end)
{
    const mesh_liquid *l = context;
    const size_t nodes = (size_t)l->grid.tile_nodes * l->grid.tile_nodes * l->grid.tile_nodes;
    node_sums sums;
    for (uint32_t slot = begin; slot < end; slot++) {
        if (slot < l->computed_count) {
            compute_tile(l, slot, &sums);
            continue;
        }
        for (size_t node = 0; node < nodes; node++) {
            l->grid.values[slot * nodes + node] = -1.0f;
        }
    }
}

// ---- what vertices have from the particles ----

typedef struct vertex_job {
    const mesh_liquid *l;
    const export_frame *frame;
    mesh *out;
    float *shares;
} vertex_job;

/// The bins with all that is nearer to a vertex than `reach`, and its place.
static bin_range bins_near(const mesh_liquid *l, const float *position_m, float reach, float place[3])
{
    bin_range range;
    for (int axis = 0; axis < 3; axis++) {
        place[axis] = position_m[axis] / l->spacing_m + REACH;
        range.first[axis] = (uint32_t)(fmaxf(place[axis] - reach, 0.0f) / REACH);
        range.last[axis] = (uint32_t)((place[axis] + reach) / REACH);
        range.last[axis] = range.last[axis] < l->bins[axis] ? range.last[axis] : l->bins[axis] - 1;
    }
    return range;
}

/// Weights over three spacings at a vertex, as a share of what a half space has: how much of a surface it is, and no
/// drop or thread.
static float share_of_surface(const mesh_liquid *l, const float *position_m)
{
    const float reach = 3.0f, none = 3.0f, all = 7.0f; // a half space weighs 8.6, a sheet 6.3, a thread 2.4
    float place[3], weight = 0.0f, walls = 1.0f;
    const bin_range r = bins_near(l, position_m, reach, place);
    for (int axis = 0; axis < 3; axis++) { // half of what is around a wall's points is behind it
        const float gap = fminf(place[axis] - REACH, l->size[axis] + REACH - place[axis]);
        walls *= gap < reach ? 2.0f - fmaxf(gap, 0.0f) / reach : 1.0f;
    }
    for (uint32_t z = r.first[2]; z <= r.last[2]; z++) {
        for (uint32_t y = r.first[1]; y <= r.last[1]; y++) {
            const size_t row = ((size_t)z * l->bins[1] + y) * l->bins[0];
            for (size_t i = l->bin_first[row + r.first[0]]; i < l->bin_first[row + r.last[0] + 1]; i++) {
                const float *p = l->places + 3 * i;
                const float x = p[0] - place[0], w = p[1] - place[1], q = p[2] - place[2];
                const float near = fmaxf(1.0f - (x * x + w * w + q * q) / (reach * reach), 0.0f);
                weight += near * near * near;
            }
        }
    }
    return fminf(fmaxf((weight * walls - none) / (all - none), 0.0f), 1.0f);
}

static void find_shares(void *context, uint32_t begin, uint32_t end)
{
    const vertex_job *job = context;
    for (size_t v = begin; v < end; v++) {
        job->shares[v] = share_of_surface(job->l, job->out->positions_m + 3 * v);
    }
}

/// Means over the particles around a place.
typedef struct around {
    float weight, velocity[3], colour[3], channel;
} around;

static void add_around(const vertex_job *job, const float place[3], size_t i, around *sum)
{
    const mesh_liquid *l = job->l;
    float far2 = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        const float way = l->places[3 * i + (size_t)axis] - place[axis];
        far2 += way * way;
    }
    const float near = 1.0f - far2 / (REACH * REACH);
    if (near <= 0.0f) {
        return;
    }
    const float weight = near * near * near;
    const size_t from = l->order[i];
    sum->weight += weight;
    for (size_t k = 0; k < 3; k++) {
        sum->velocity[k] += weight * job->frame->velocities_m_s[3 * from + k];
        sum->colour[k] += job->out->colours != NULL ? weight * (float)job->frame->colours[3 * from + k] : 0.0f;
    }
    sum->channel += job->out->channel != NULL ? weight * job->frame->channel[from] : 0.0f;
}

static void look_around_vertices(void *context, uint32_t begin, uint32_t end)
{
    const vertex_job *job = context;
    const mesh_liquid *l = job->l;
    for (size_t v = begin; v < end; v++) {
        float *p = job->out->positions_m + 3 * v, place[3];
        for (size_t axis = 0; axis < 3; axis++) {
            p[axis] = fminf(fmaxf(p[axis], 0.0f), l->size[axis] * l->spacing_m); // smoothing bulges walls by a little
        }
        const bin_range r = bins_near(l, p, REACH, place);
        around sum = {.weight = 0.0f};
        for (uint32_t z = r.first[2]; z <= r.last[2]; z++) {
            for (uint32_t y = r.first[1]; y <= r.last[1]; y++) {
                const size_t row = ((size_t)z * l->bins[1] + y) * l->bins[0];
                for (size_t i = l->bin_first[row + r.first[0]]; i < l->bin_first[row + r.last[0] + 1]; i++) {
                    add_around(job, place, i, &sum);
                }
            }
        }
        const float per_weight = sum.weight > 0.0f ? 1.0f / sum.weight : 0.0f;
        for (size_t k = 0; k < 3; k++) {
            job->out->velocities_m_s[3 * v + k] = sum.velocity[k] * per_weight;
            if (job->out->colours != NULL) {
                job->out->colours[3 * v + k] = (uint8_t)(sum.colour[k] * per_weight + 0.5f);
            }
        }
        if (job->out->channel != NULL) {
            job->out->channel[v] = sum.channel * per_weight;
        }
    }
}

static tarn_status find_attributes(const mesh_liquid *l, const export_frame *frame, mesh *out)
{
    const size_t count = out->vertex_count;
    out->velocities_m_s = malloc(count * 3 * sizeof(float) + 1);
    out->colours = frame->colours != NULL ? malloc(count * 3 + 1) : NULL;
    out->channel = frame->channel != NULL ? malloc(count * sizeof(float) + 1) : NULL;
    if (out->velocities_m_s == NULL || (out->colours == NULL) != (frame->colours == NULL) ||
        (out->channel == NULL) != (frame->channel == NULL)) {
        return TARN_E_MEMORY;
    }
    vertex_job job = {.l = l, .frame = frame, .out = out};
    render_rows(l->threads, out->vertex_count, VERTEX_RANGE, look_around_vertices, &job);
    return TARN_OK;
}

/// Much where there is a surface, and little where threads and drops would become thinner.
static tarn_status smooth(const mesh_liquid *l, mesh *out, double small_m3)
{
    vertex_job job = {.l = l, .out = out, .shares = malloc((size_t)out->vertex_count * sizeof(float) + 1)};
    if (job.shares == NULL) {
        return TARN_E_MEMORY;
    }
    render_rows(l->threads, out->vertex_count, VERTEX_RANGE, find_shares, &job);
    const uint32_t passes = 10 * l->detail * l->detail;
    tarn_status status = mesh_smooth(out, 2, NULL, small_m3, l->threads);
    status = status == TARN_OK ? mesh_smooth(out, passes, job.shares, small_m3, l->threads) : status;
    free(job.shares);
    return status;
}

tarn_status mesh_liquid_make(mesh_liquid *l, const export_frame *frame, mesh *out)
{
    *out = (mesh){.vertex_count = 0};
    if (!make_room_for_particles(l, frame->particle_count)) {
        return TARN_E_MEMORY;
    }
    const double particle_m3 = (double)l->spacing_m * l->spacing_m * l->spacing_m;
    sort_into_bins(l, frame);
    tarn_status status = choose_tiles(l);
    if (status == TARN_OK) {
        render_rows(l->threads, l->grid.slot_count, 1, compute_tiles, l);
        status = mesh_extract(&l->grid, l->threads, out);
    }
    status = status == TARN_OK ? mesh_drop_small(out, HOLLOW * particle_m3, SPECK * particle_m3) : status;
    status = status == TARN_OK ? smooth(l, out, SMALL * particle_m3) : status;
    status = status == TARN_OK ? find_attributes(l, frame, out) : status;
    status = status == TARN_OK ? mesh_normals(out) : status;
    if (status != TARN_OK) {
        mesh_free(out);
    }
    return status;
}

tarn_status mesh_liquid_why(tarn_status status, const char *path, char *why)
{
    if (status == TARN_E_LIMIT) {
        snprintf(why, EXPORT_WHY_BYTES,
                 "%s: found a surface of more than %d vertices, or a grid for it of more than %d nodes; a lower "
                 "--surface-detail makes fewer",
                 path, MESH_VERTICES_MAX, MESH_NODES_MAX);
    } else {
        snprintf(why, EXPORT_WHY_BYTES, "%s: the surface: %s", path, tarn_status_text(status));
    }
    return status;
}
