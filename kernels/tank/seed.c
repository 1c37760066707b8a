// Initial particles, tile by tile, so that they come sorted: a jittered lattice inside the fluid blocks, or those that
// a description tells of one by one. Begin at tank_seed_blocks.
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- where a particle lies ----

/// Fixed-point position of `offset` (cells, about 0..1) in a cell, clamped to the tank. The upper half of a cell is the
/// mirror image of the lower, so that a lattice without jitter is symmetric to the last bit.
static uint32_t fixed_position(int cell, double offset, int cells)
{
    const double share = 1 << POSITION_BITS;
    const double inside = offset <= 0.5 ? floor(offset * share) : share - 1.0 - floor((1.0 - offset) * share);
    const double position = (double)cell * share + inside, last = (double)cells * share - 1.0;
    return (uint32_t)(position < 0.0 ? 0.0 : position > last ? last : position);
}

// ---- one by one ----
// Particles that a description tells of are put in the order of the tank's tiles once, when it is created, so that
// seeding is a copy, and the same one each time.

tarn_status tank_particles_check(const grid_complaint *why, const tarn_tank_desc *desc)
{
    if (desc->particle_count == 0) {
        return TARN_OK;
    }
    if ((tank_model_of(desc)->shown.can & TARN_MODEL_LIQUIDS) == 0) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the model \"%s\" has no use for particles",
                           tank_model_of(desc)->shown.name);
    }
    if (desc->block_count + desc->fluid_count > 0) {
        return grid_refuse(why, TARN_E_ARGUMENT, "there are particles, and blocks or fluids; allowed are either");
    }
    for (uint32_t i = 0; i < desc->particle_count; i++) {
        const tarn_seed_particle *particle = &desc->particles[i];
        for (int a = 0; a < 3; a++) {
            const float size_m = (float)desc->cells[a] * desc->cell_m;
            if (!(particle->position_m[a] >= 0.0f && particle->position_m[a] <= size_m)) {
                return grid_refuse(why, TARN_E_ARGUMENT, "particles[%u] is at %g m on axis %c; allowed is 0 to %g m", i,
                                   (double)particle->position_m[a], "xyz"[a], (double)size_m);
            }
            if (!isfinite(particle->velocity_m_s[a])) {
                return grid_refuse(why, TARN_E_ARGUMENT, "particles[%u].velocity_m_s[%d] is not a finite number", i, a);
            }
        }
        if (particle->liquid >= desc->liquid_count) {
            return grid_refuse(why, TARN_E_ARGUMENT, "particles[%u].liquid is %u; allowed is 0 to %u", i,
                               particle->liquid, desc->liquid_count - 1);
        }
    }
    return TARN_OK;
}

static uint32_t position_on(const tarn_tank_desc *desc, const tarn_seed_particle *particle, int a)
{
    const double cells = (double)particle->position_m[a] / (double)desc->cell_m, below = floor(cells);
    return fixed_position((int)below, cells - below, desc->cells[a]);
}

static uint32_t tile_of(const tarn_tank *tank, const tarn_seed_particle *particle)
{
    int at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = (int)(position_on(&tank->grid.desc, particle, a) >> TILE_POSITION_BITS);
    }
    return tile_dense_of(&tank->args->grid.shape, 0, at[0], at[1], at[2]);
}

tarn_status tank_particles_copy(tarn_tank *tank)
{
    tarn_tank_desc *desc = &tank->grid.desc;
    const tarn_seed_particle *borrowed = desc->particles;
    const uint32_t count = desc->particle_count, tiles = tank->args->grid.shape.tile_total[0];
    desc->particles = NULL;
    if (count == 0) {
        return TARN_OK;
    }
    tarn_seed_particle *own = malloc(count * sizeof *own);
    uint32_t *next = calloc((size_t)tiles + 1, sizeof *next); // first how many a tile has, one place behind
    if (own == NULL || next == NULL) {
        free(own);
        free(next);
        return TARN_E_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        next[tile_of(tank, &borrowed[i]) + 1]++;
    }
    for (uint32_t t = 0; t < tiles; t++) {
        next[t + 1] += next[t];
    }
    for (uint32_t i = 0; i < count; i++) {
        own[next[tile_of(tank, &borrowed[i])]++] = borrowed[i];
    }
    free(next);
    desc->particles = own;
    return TARN_OK;
}

void tank_particles_free(tarn_tank *tank)
{
    free((void *)(uintptr_t)tank->grid.desc.particles);
    tank->grid.desc.particles = NULL;
}

/// tank_seed_blocks of a description with particles of its own.
static void seed_particles(const tarn_tank *tank, tank_arrays *arrays, float *fastest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    TARN_ASSERT(desc->particle_count <= tank->args->scale.particles_max);
    arrays->count = desc->particle_count;
    *fastest = 0.0f;
    for (uint32_t i = 0; i < arrays->count; i++) {
        const tarn_seed_particle *particle = &desc->particles[i];
        const uint8_t colour[4] = {particle->colour[0], particle->colour[1], particle->colour[2],
                                   desc->particles_have_colours != 0 ? 255 : 0};
        for (int a = 0; a < 3; a++) {
            const float v = particle->velocity_m_s[a] * desc->dt_s / desc->cell_m;
            arrays->position[a][i] = position_on(desc, particle, a);
            arrays->velocity[a][i] = tile_clamp_f32(v, -SPEED_MAX, SPEED_MAX);
            *fastest = tile_max2_f32(*fastest, tile_abs_f32(arrays->velocity[a][i]));
        }
        arrays->id[i] = i;
        if (arrays->attribute != NULL) {
            arrays->attribute[i] = tank_attribute(desc, particle->liquid, colour);
        }
    }
}

// ---- on a lattice ----

/// An axis-aligned box, metres.
typedef struct seed_box {
    double min_m[3], max_m[3];
} seed_box;

/// A walk over the lattice of a description, with boxes around its fluid shapes. A distance changes by no more than its
/// slope times the way, 1 for all but fields: what is far from the middle of a tile or cell need not be asked at every
/// point of it. Bits are by index.
typedef struct seed_walk {
    const tarn_tank_desc *desc;
    seed_box fluid[TARN_TANK_FLUIDS_MAX];
    double slope[TARN_TANK_FLUIDS_MAX];
    uint64_t plain_solids;
} seed_walk;

/// Fluid shapes that hold some of a tile or cell, and of these those that hold all of it.
typedef struct seed_fluids {
    uint64_t some, all;
} seed_fluids;

/// The cells [first, end) of a tile, and what may hold points of them.
typedef struct seed_tile {
    int first[3], end[3];
    double center_m[3];
    uint64_t blocks, solids;
    seed_fluids fluids;
} seed_tile;

#define CELL_RADIUS 0.87 // cells, a little more than half a diagonal

static void walk_open(seed_walk *walk, const tarn_tank_desc *desc)
{
    walk->desc = desc;
    walk->plain_solids = 0;
    for (uint32_t f = 0; f < desc->fluid_count; f++) {
        const tarn_fluid_shape *fluid = &desc->fluids[f];
        tarn_shape_bounds_m(&fluid->shape, &fluid->pose, desc->fields, walk->fluid[f].min_m, walk->fluid[f].max_m);
        for (int a = 0; a < 3 && fluid->shape.inverted; a++) { // everything outside
            walk->fluid[f].min_m[a] = 0.0;
            walk->fluid[f].max_m[a] = desc->cells[a] * (double)desc->cell_m;
        }
        walk->slope[f] =
            fluid->shape.kind == TARN_SHAPE_FIELD ? tarn_distance_field_slope(&desc->fields[fluid->shape.field]) : 1.0;
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        walk->plain_solids |= (uint64_t)(desc->solids[i].shape.kind != TARN_SHAPE_FIELD) << i;
    }
}

static bool box_meets(const seed_box *box, const double *min_m, const double *max_m)
{
    bool meets = true;
    for (int a = 0; a < 3; a++) {
        meets &= box->max_m[a] >= min_m[a] && box->min_m[a] <= max_m[a];
    }
    return meets;
}

static bool box_holds(const seed_box *box, const double *min_m, const double *max_m)
{
    bool holds = true;
    for (int a = 0; a < 3; a++) {
        holds &= box->min_m[a] <= min_m[a] && box->max_m[a] >= max_m[a];
    }
    return holds;
}

static double fluid_distance_m(const tarn_tank_desc *desc, uint32_t f, const double *point_m)
{
    double local_m[3];
    tarn_pose_to_shape(&desc->fluids[f].pose, point_m, local_m);
    return tarn_shape_distance_m(&desc->fluids[f].shape, desc->fields, local_m);
}

/// Which of some fluid shapes may hold points between two corners, and which hold all of them. Those are up to radius_m
/// from their middle.
static seed_fluids fluids_between(const seed_walk *walk, uint64_t fluids, const double *min_m, const double *max_m,
                                  double radius_m)
{
    double center_m[3];
    seed_fluids found = {0, 0};
    for (int a = 0; a < 3; a++) {
        center_m[a] = 0.5 * (min_m[a] + max_m[a]);
    }
    for (uint32_t f = 0; f < walk->desc->fluid_count; f++) {
        if (!(fluids >> f & 1) || !box_meets(&walk->fluid[f], min_m, max_m)) {
            continue;
        }
        const double distance_m = fluid_distance_m(walk->desc, f, center_m), far_m = walk->slope[f] * radius_m;
        found.some |= (uint64_t) !(distance_m >= far_m) << f;
        found.all |= (uint64_t)(distance_m < -far_m && box_holds(&walk->fluid[f], min_m, max_m)) << f;
    }
    return found;
}

/// The block that holds a point, or block_count and the index of the fluid shape that does, or -1; the first one
/// counts.
static int block_at(const seed_walk *walk, uint64_t blocks, seed_fluids fluids, const double *point_m)
{
    const tarn_tank_desc *desc = walk->desc;
    for (uint32_t b = 0; b < desc->block_count; b++) {
        const tarn_fluid_block *block = &desc->blocks[b];
        int inside = (int)(blocks >> b & 1);
        for (int a = 0; a < 3; a++) {
            inside &= point_m[a] >= (double)block->min_m[a] && point_m[a] < (double)block->max_m[a];
        }
        if (inside) {
            return (int)b;
        }
    }
    for (uint32_t f = 0; f < desc->fluid_count; f++) {
        if ((fluids.all >> f & 1) || ((fluids.some >> f & 1) && box_meets(&walk->fluid[f], point_m, point_m) &&
                                      fluid_distance_m(desc, f, point_m) < 0.0)) {
            return (int)(desc->block_count + f);
        }
    }
    return -1;
}

/// The point of a lattice point's cube that is asked whether it is in the liquid, as a share of the cube along an axis:
/// where a surface cuts through cubes, so many of them are taken that the volume is what was asked for. Additive
/// recurrences by powers of the plastic number, which spread most evenly over planes of cubes (Roberts 2018), and by
/// the golden ratio from plane to plane. Never on the cube's border, so that what is as large as the cubes is taken as
/// a whole.
double tank_seed_sample(const tarn_tank_desc *desc, const int *cell, const int *point, int a)
{
    static const double step[3] = {0.6180339887498949, 0.7548776662466927, 0.5698402909980532};
    const int per_axis = (int)desc->particles_per_axis;
    double sum = 0.5;
    for (int i = 0; i < 3; i++) {
        const int along = (a + i) % 3;
        sum += step[i] * (double)(cell[along] * per_axis + point[along]);
    }
    return (floor((sum - floor(sum)) * 1024.0) + 0.5) / 1024.0;
}

/// Cells by which a lattice point is moved, along an axis: 53 bits of a hash of what names the point, the same in every
/// run and every tank with it.
static double jittered(const tarn_tank_desc *desc, const int *cell, const int *point, int a)
{
    const double per_axis = desc->particles_per_axis;
    const uint64_t key =
        ((uint64_t)cell[a] << 32 | (uint64_t)(uint32_t)(cell[(a + 1) % 3] * 2048 + cell[(a + 2) % 3])) ^
        (uint64_t)(point[0] + 4 * point[1] + 16 * point[2]) << 56 ^ (uint64_t)a << 50;
    const double random = (double)(tile_mix_u64(key + desc->seed * 0x9e3779b97f4a7c15ull) >> 11) * 0x1p-53;
    return (point[a] + 0.5 + (random - 0.5) * (double)desc->jitter) / per_axis;
}

#define SEED_MARGIN_CELLS 0.03125 // that particles keep from solids

static bool in_solid(const tarn_tank_desc *desc, uint64_t solids, const int *cell, const int *point)
{
    double at_m[3];
    if (solids == 0) {
        return false;
    }
    for (int a = 0; a < 3; a++) {
        at_m[a] = (cell[a] + jittered(desc, cell, point, a)) * (double)desc->cell_m;
    }
    return grid_solids_distance_m(desc, solids, at_m) < SEED_MARGIN_CELLS * (double)desc->cell_m;
}

// ---- on a lattice: its points, tile by tile ----

/// Is told of a lattice point that lies in a block or fluid shape and in no solid. @param block  as of block_at
typedef void (*seed_visit)(void *context, const int *cell, const int *point, int block);

static void visit_cell(const seed_walk *walk, const seed_tile *tile, const int *cell, seed_visit visit, void *context)
{
    const tarn_tank_desc *desc = walk->desc;
    const int per_axis = (int)desc->particles_per_axis;
    const double cell_m = (double)desc->cell_m;
    double min_m[3], max_m[3], at_m[3];
    for (int a = 0; a < 3; a++) {
        min_m[a] = cell[a] * cell_m;
        max_m[a] = (cell[a] + 1) * cell_m;
    }
    seed_fluids fluids = tile->fluids;
    if (fluids.some != fluids.all) {
        fluids = fluids_between(walk, fluids.some, min_m, max_m, CELL_RADIUS * cell_m);
    }
    if (tile->blocks == 0 && fluids.some == 0) {
        return;
    }
    for (int p = 0; p < per_axis * per_axis * per_axis; p++) {
        const int point[3] = {p % per_axis, p / per_axis % per_axis, p / (per_axis * per_axis)};
        for (int a = 0; a < 3; a++) {
            at_m[a] = (cell[a] + (point[a] + tank_seed_sample(desc, cell, point, a)) / per_axis) * cell_m;
        }
        const int block = block_at(walk, tile->blocks, fluids, at_m);
        if (block >= 0 && !in_solid(desc, tile->solids, cell, point)) {
            visit(context, cell, point, block);
        }
    }
}

static void visit_cells(const seed_walk *walk, const seed_tile *tile, seed_visit visit, void *context)
{
    for (int z = tile->first[2]; z < tile->end[2]; z++) {
        for (int y = tile->first[1]; y < tile->end[1]; y++) {
            for (int x = tile->first[0]; x < tile->end[0]; x++) {
                visit_cell(walk, tile, (const int[3]){x, y, z}, visit, context);
            }
        }
    }
}

/// Notes what may hold points of a tile. @return false: nothing does, or a solid holds all of it
static bool look_at_tile(const seed_walk *walk, seed_tile *tile)
{
    const tarn_tank_desc *desc = walk->desc;
    const double cell_m = (double)desc->cell_m, radius_m = CELL_RADIUS * TILE_EDGE * cell_m;
    double min_m[3], max_m[3];
    for (int a = 0; a < 3; a++) {
        min_m[a] = tile->first[a] * cell_m;
        max_m[a] = tile->end[a] * cell_m;
        tile->center_m[a] = 0.5 * (min_m[a] + max_m[a]);
    }
    tile->blocks = tile->solids = 0;
    for (uint32_t b = 0; b < desc->block_count; b++) {
        bool meets = true;
        for (int a = 0; a < 3; a++) {
            meets &= (double)desc->blocks[b].max_m[a] >= min_m[a] && (double)desc->blocks[b].min_m[a] <= max_m[a];
        }
        tile->blocks |= (uint64_t)meets << b;
    }
    tile->fluids = fluids_between(walk, ~0ull, min_m, max_m, radius_m);
    if (tile->blocks == 0 && tile->fluids.some == 0) {
        return false;
    }
    tile->solids = grid_shapes_near(desc, min_m, max_m, cell_m);
    return grid_solids_distance_m(desc, tile->solids & walk->plain_solids, tile->center_m) >= -radius_m;
}

static void tile_open(const tarn_tank_desc *desc, const int *tiles, int t, seed_tile *tile)
{
    const int at[3] = {t % tiles[0], t / tiles[0] % tiles[1], t / (tiles[0] * tiles[1])};
    for (int a = 0; a < 3; a++) {
        const int first = at[a] * TILE_EDGE, end = first + TILE_EDGE;
        tile->first[a] = first;
        tile->end[a] = end < desc->cells[a] ? end : desc->cells[a];
    }
}

/// How many tiles there are along the axes. @return and in all
static int count_tiles(const tarn_tank_desc *desc, int *tiles)
{
    for (int a = 0; a < 3; a++) {
        tiles[a] = (desc->cells[a] + TILE_EDGE - 1) / TILE_EDGE;
    }
    return tiles[0] * tiles[1] * tiles[2];
}

static void visit_tiles(const tarn_tank_desc *desc, tarn_queue *queue, seed_visit visit, void *context)
{
    seed_walk walk;
    int tiles[3];
    walk_open(&walk, desc);
    const int tile_count = count_tiles(desc, tiles);
    for (int t = 0; t < tile_count; t++) {
        seed_tile tile;
        tile_open(desc, tiles, t, &tile);
        if (look_at_tile(&walk, &tile)) {
            visit_cells(&walk, &tile, visit, context);
            tarn_queue_yield(queue);
        }
    }
}

static void count_one(void *context, const int *cell, const int *point, int block)
{
    (void)cell;
    (void)point;
    (void)block;
    ++*(uint64_t *)context;
}

/// Whether a block or a fluid shape holds all of a tile, and no solid is near.
static bool is_full(const seed_walk *walk, const seed_tile *tile)
{
    const tarn_tank_desc *desc = walk->desc;
    const double cell_m = (double)desc->cell_m;
    if (tile->solids != 0) {
        return false;
    }
    for (uint32_t b = 0; b < desc->block_count; b++) {
        bool holds = true;
        for (int a = 0; a < 3; a++) {
            holds &= (double)desc->blocks[b].min_m[a] <= tile->first[a] * cell_m &&
                     (double)desc->blocks[b].max_m[a] >= tile->end[a] * cell_m;
        }
        if (holds) {
            return true;
        }
    }
    return tile->fluids.all != 0;
}

// ---- on a lattice: how many there are, and what they are ----

void tank_scale_particles(tarn_tank *tank)
{
    const uint32_t n = tank->grid.desc.particles_per_axis;
    store_scale *store = &tank->args->scale;
    store->rest_density = (float)(n * n * n);
    store->cell_particles_max = CELL_PARTICLES_MAX_LOWEST;
    while (store->cell_particles_max < 4.0f * store->rest_density) {
        store->cell_particles_max *= 2.0f;
    }
}

uint64_t tank_blocks_particles(const tarn_tank_desc *desc)
{
    const uint64_t per_axis = desc->particles_per_axis;
    seed_walk walk;
    uint64_t count = desc->particle_count;
    int tiles[3];
    if (count > 0) { // there is nothing else
        return count;
    }
    walk_open(&walk, desc);
    const int tile_count = count_tiles(desc, tiles);
    for (int t = 0; t < tile_count; t++) {
        seed_tile tile;
        tile_open(desc, tiles, t, &tile);
        if (!look_at_tile(&walk, &tile)) {
            continue;
        }
        uint64_t points = per_axis * per_axis * per_axis;
        for (int a = 0; a < 3; a++) {
            points *= (uint64_t)(tile.end[a] - tile.first[a]);
        }
        if (is_full(&walk, &tile)) {
            count += points;
        } else {
            visit_cells(&walk, &tile, count_one, &count);
        }
    }
    return count;
}

typedef struct seed_context {
    const tarn_tank_desc *desc;
    tank_arrays *arrays;
    uint32_t count_max;
} seed_context;

static void put_one(void *context, const int *cell, const int *point, int block)
{
    seed_context *c = context;
    tank_arrays *to = c->arrays;
    if (to->count >= c->count_max) {
        return;
    }
    const tarn_tank_desc *desc = c->desc;
    const bool is_block = (uint32_t)block < desc->block_count;
    const tarn_fluid_shape *fluid = is_block ? NULL : &desc->fluids[(uint32_t)block - desc->block_count];
    const float *velocity_m_s = is_block ? desc->blocks[block].velocity_m_s : fluid->velocity_m_s;
    const uint32_t liquid = is_block ? desc->blocks[block].liquid : fluid->liquid;
    const uint8_t *colour = is_block ? desc->blocks[block].colour : fluid->colour;
    for (int a = 0; a < 3; a++) {
        const double offset = jittered(desc, cell, point, a);
        to->position[a][to->count] = fixed_position(cell[a], offset, desc->cells[a]);
        const float v = velocity_m_s[a] * desc->dt_s / desc->cell_m;
        to->velocity[a][to->count] = tile_clamp_f32(v, -SPEED_MAX, SPEED_MAX);
    }
    const float *carried = is_block ? desc->blocks[block].carried : fluid->carried;
    for (int k = 0; k < CARRIED_MAX && to->carried[k] != NULL; k++) {
        to->carried[k][to->count] = carried[k];
    }
    to->id[to->count] = to->count;
    if (to->attribute != NULL) {
        to->attribute[to->count] = tank_attribute(desc, liquid, colour);
    }
    to->count++;
}

static float fastest_block(const tarn_tank_desc *desc)
{
    float fastest = 0.0f;
    for (uint32_t b = 0; b < desc->block_count; b++) {
        for (int a = 0; a < 3; a++) {
            const float v = desc->blocks[b].velocity_m_s[a] * desc->dt_s / desc->cell_m;
            fastest = tile_max2_f32(fastest, tile_min_f32(tile_abs_f32(v), SPEED_MAX));
        }
    }
    for (uint32_t f = 0; f < desc->fluid_count; f++) {
        for (int a = 0; a < 3; a++) {
            const float v = desc->fluids[f].velocity_m_s[a] * desc->dt_s / desc->cell_m;
            fastest = tile_max2_f32(fastest, tile_min_f32(tile_abs_f32(v), SPEED_MAX));
        }
    }
    return fastest;
}

void tank_seed_blocks(const tarn_tank *tank, tank_arrays *arrays, float *fastest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    seed_context c = {desc, arrays, tank->args->scale.particles_max};
    arrays->count = 0;
    if (desc->particle_count > 0) {
        seed_particles(tank, arrays, fastest);
        return;
    }
    visit_tiles(desc, tank->grid.queue, put_one, &c);
    *fastest = fastest_block(desc);
}
