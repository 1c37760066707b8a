// A grid's device memory. Groups: what there is once, per particle, per active, occupied or coarse tile. Room is
// reserved for as many tiles as the tank could come to use; tiles in use are the first of each array, so that on a
// device whose memory comes page by page only what the liquid uses is ever taken.
#include "kernels/grid/grid_host.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

// ---- memory ----

static uint64_t group_count(const grid_carver *t)
{
    const grid_shape *shape = &t->grid->args->shape;
    return t->group == GROUP_PARTICLE   ? t->particles_max
           : t->group == GROUP_ACTIVE   ? shape->active_max
           : t->group == GROUP_OCCUPIED ? shape->occupied_max
           : t->group == GROUP_COARSE   ? tile_min_u32(shape->occupied_max, shape->tile_total[t->level])
                                        : 1;
}

/// A piece of the memory that two stages use in turn: particle to grid its sums, the solver its matrix and vectors.
static void carve_shared(grid_carver *t, void *piece, uint64_t count, uint64_t each)
{
    if (t->grid->shared != NULL) {
        void *memory = (unsigned char *)t->grid->shared + t->shared_each * count;
        memcpy(piece, &memory, sizeof memory);
    }
    t->shared_each += each;
}

void grid_carve(grid_carver *t, void *piece, uint64_t each)
{
    TARN_ASSERT(t->group < GROUP_COUNT);
    TARN_ASSERT(t->group != GROUP_COARSE || t->level < t->grid->args->shape.level_count);
    const uint64_t count = group_count(t);
    if (t->sharing) {
        carve_shared(t, piece, count, each);
        return;
    }
    if (t->group != GROUP_COARSE || t->level == 1) { // all coarse tiles are alike
        t->each_of[t->group] += each;
    }
    void *memory = tarn_arena_piece(t->arena, count * each);
    memcpy(piece, &memory, sizeof memory);
}

/// What solids cover of the active tiles.
static void carve_covers(grid_carver *t, grid_memory *m)
{
    t->group = GROUP_ACTIVE;
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &m->open[a], TILE_CELLS);
    }
    grid_carve(t, &m->room, TILE_CELLS);
    grid_carve(t, &m->sides, TILE_CELLS);
    grid_carve(t, &m->solid_flux, TILE_CELLS * 4);
}

/// The same of bodies.
static void carve_body_covers(grid_carver *t, grid_memory *m)
{
    t->group = GROUP_ACTIVE;
    grid_carve(t, &m->cover_owner, TILE_CELLS);
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &m->cover[a], TILE_CELLS * sizeof *m->cover[a]);
        grid_carve(t, &m->lack[a], TILE_CELLS * sizeof *m->lack[a]);
    }
}

/// Distances near solids that don't move, and what they leave open.
static void carve_solids(grid_carver *t, grid_memory *m, uint64_t near)
{
    t->group = GROUP_TANK;
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &m->solid_open[a], near * TILE_CELLS);
    }
    grid_carve(t, &m->solid_tile, (uint64_t)t->grid->args->shape.tile_total[0] * 4);
    grid_carve(t, &m->solid_dense, near * 4);
    grid_carve(t, &m->solid_node, near * SOLID_NODES * 2);
    grid_carve(t, &m->solid_room, near * TILE_CELLS);
    grid_carve(t, &m->solid_sides, near * TILE_CELLS);
}

/// What bodies are, and the sums of what acts on them.
static void carve_bodies(grid_carver *t, grid_memory *m)
{
    t->group = GROUP_TANK;
    grid_carve(t, &m->bodies, sizeof *m->bodies);
    grid_carve(t, &m->body_control, sizeof *m->body_control);
    t->group = GROUP_OCCUPIED;
    grid_carve(t, &m->body_tile, sizeof *m->body_tile);
    grid_carve(t, &m->body_partial, BODIES_MAX * BODY_SUMS * sizeof *m->body_partial);
}

static void carve_fields(grid_carver *t)
{
    grid_host *grid = t->grid;
    t->group = GROUP_TANK;
    for (uint32_t f = 0; f < grid->desc.field_count; f++) {
        const uint32_t *nodes = grid->desc.fields[f].nodes;
        grid_carve(t, &grid->field_distance[f], (uint64_t)nodes[0] * nodes[1] * nodes[2] * sizeof(float));
    }
}

static void carve_active(grid_carver *t, grid_memory *m)
{
    t->group = GROUP_ACTIVE;
    grid_carve(t, &m->active_tile, 4);
    grid_carve(t, &m->active_tile_next, 4);
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &m->u[a], TILE_CELLS * 4);
        grid_carve(t, &m->u_old[a], TILE_CELLS * 4);
        grid_carve(t, &m->u_ext[a], TILE_CELLS * 4);
        grid_carve(t, &m->shift[a], TILE_CELLS * 4);
    }
    grid_carve(t, &m->cell_type, TILE_CELLS);
    grid_carve(t, &m->face_rows, 3 * TILE_ROWS);
    grid_carve(t, &m->density_error, TILE_CELLS * 4);
}

static void carve_occupied(grid_carver *t, grid_memory *m)
{
    t->group = GROUP_OCCUPIED;
    grid_carve(t, &m->cell_count, TILE_CELLS);
    grid_carve(t, &m->pressure, TILE_CELLS * 4);
    grid_carve(t, &m->solved_tile, 4);
    grid_carve(t, &m->solved_slot, 4);
    grid_carve(t, &m->partial, 4);
}

static void carve_matrix(grid_carver *t, grid_level *level)
{
    grid_carve(t, &level->ax, TILE_FACES * 4);
    grid_carve(t, &level->ay, TILE_FACES * 4);
    grid_carve(t, &level->az, TILE_FACES * 4);
    grid_carve(t, &level->diagonal, TILE_CELLS * 4);
    grid_carve(t, &level->x, TILE_CELLS * 4);
}

static void carve_solver(grid_carver *t, grid_memory *m)
{
    carve_matrix(t, &m->level[0]);
    grid_carve(t, &m->level[0].y, TILE_CELLS * 4);
    grid_carve(t, &m->residual, TILE_CELLS * 4);
    grid_carve(t, &m->direction, TILE_CELLS * 4);
    grid_carve(t, &m->product, TILE_CELLS * 4);
    grid_carve(t, &m->potential, TILE_CELLS * 4);
}

void grid_carve_in_turn(grid_carver *t, void (*sums)(grid_carver *t, void *context), void *context)
{
    grid_memory *m = &t->grid->args->m;
    const grid_carver sharing = {
        .grid = t->grid, .particles_max = t->particles_max, .group = GROUP_OCCUPIED, .sharing = true};
    grid_carver first = sharing, solver = sharing;
    t->grid->shared = NULL; // measured at first
    sums(&first, context);
    carve_solver(&solver, m);
    t->group = GROUP_OCCUPIED;
    grid_carve(t, &t->grid->shared, first.shared_each > solver.shared_each ? first.shared_each : solver.shared_each);
    first = solver = sharing;
    sums(&first, context);
    carve_solver(&solver, m);
    m->level[0].b = m->residual;
}

/// A level's tables cover all tiles, its fields those in use.
static void carve_level(grid_carver *t, grid_level *level, uint32_t l)
{
    const uint64_t tiles = t->grid->args->shape.tile_total[l];
    t->group = GROUP_TANK;
    grid_carve(t, &level->index, tiles * 4);
    grid_carve(t, &level->bits, (tiles + 31) / 32 * 4);
    t->group = l == 0 ? GROUP_OCCUPIED : GROUP_COARSE;
    t->level = l;
    TARN_ASSERT(t->group != GROUP_COARSE || tiles <= t->grid->args->shape.tile_total[0]);
    grid_carve(t, &level->tile, 4);
    grid_carve(t, &level->tile_next, 4);
    grid_carve(t, &level->patch, sizeof *level->patch);
    if (l == 0) {
        return;
    }
    carve_matrix(t, level);
    grid_carve(t, &level->b, TILE_CELLS * 4);
    if (t->grid->high_contrast) {
        grid_carve(t, &level->y, TILE_CELLS * 4);
    }
}

void grid_carve_all(grid_carver *t)
{
    grid_host *grid = t->grid;
    const grid_shape *shape = &grid->args->shape;
    grid_memory *m = &grid->args->m;
    t->group = GROUP_TANK;
    grid_carve(t, &m->slot, (uint64_t)shape->tile_total[0] * 4);
    grid_carve(t, &m->active_bits, ((uint64_t)shape->tile_total[0] + 31) / 32 * 4);
    grid_carve(t, &m->sweeps, 3 * sizeof *m->sweeps);
    carve_active(t, m);
    carve_occupied(t, m);
    if (grid->desc.solid_count > 0) {
        carve_covers(t, m);
        carve_solids(t, m, grid->solid_tiles > 0 ? grid->solid_tiles : 1);
        if (grid_solids_rub(&grid->desc)) {
            grid_carve(t, &m->solid_rough, (uint64_t)(grid->solid_tiles > 0 ? grid->solid_tiles : 1) * TILE_CELLS);
            m->rough_count = grid->solid_tiles;
        }
    }
    if (grid->own_body_count > 0) {
        carve_body_covers(t, m);
        carve_bodies(t, m);
        carve_fields(t);
    }
    for (uint32_t l = 0; l < shape->level_count; l++) {
        carve_level(t, &m->level[l], l);
    }
}

// What was taken for solids that are added stays until the tank goes.
typedef void more_carver(grid_carver *t, grid_memory *more, uint32_t near);

static void carve_more_solids(grid_carver *t, grid_memory *more, uint32_t near)
{
    if (t->grid->desc.solid_count == 0) {
        carve_covers(t, more);
    }
    carve_solids(t, more, near);
    grid_carve(t, &more->solid_listed, (uint64_t)near * 4);
}

static void carve_more_bodies(grid_carver *t, grid_memory *more, uint32_t near)
{
    (void)near;
    carve_body_covers(t, more);
    carve_bodies(t, more);
}

static tarn_status carve_more(grid_host *grid, tarn_arena *arena, more_carver *pieces, uint32_t near)
{
    grid_carver measuring = {.grid = grid, .arena = arena}, carving = measuring;
    pieces(&measuring, &grid->more, near);
    const tarn_status status = tarn_arena_take(arena, grid->device, TARN_ARENA_DEVICE);
    if (status == TARN_OK) {
        pieces(&carving, &grid->more, near);
        for (int g = 0; g < GROUP_COUNT; g++) {
            grid->more_bytes[g] += carving.each_of[g];
        }
    }
    return status;
}

tarn_status grid_carve_more_solids(grid_host *grid, uint32_t near)
{
    return grid->more.solid_tile != NULL ? TARN_OK : carve_more(grid, &grid->more_solids, carve_more_solids, near);
}

tarn_status grid_carve_more_bodies(grid_host *grid)
{
    const bool has = grid->own_body_count > 0 || grid->more.bodies != NULL;
    return has ? TARN_OK : carve_more(grid, &grid->more_bodies, carve_more_bodies, 0);
}

void grid_give_memory(grid_host *grid)
{
    tarn_arena_give(&grid->arena);
    tarn_arena_give(&grid->more_solids);
    tarn_arena_give(&grid->more_bodies);
}

// ---- checks of validating builds ----
// The grid's invariants, element by element: begin at grid_validate. Lists are ascending, tables are their inverses,
// whatever is reached is active, and the walls' tables on the host fit together. Where memory isn't the host's, only
// the walls are looked at.

/// A list of tiles is ascending, and its table says where each is and nothing of other tiles.
static void validate_list(const uint32_t *list, const uint32_t *table, uint32_t count, uint32_t tile_total)
{
    uint32_t listed = 0;
    TARN_ASSERT(count <= tile_total);
    for (uint32_t i = 0; i < count; i++) {
        TARN_ASSERT(list[i] < tile_total);
        TARN_ASSERT(i == 0 || list[i - 1] < list[i]);
        TARN_ASSERT(table[list[i]] == i);
    }
    for (uint32_t dense = 0; dense < tile_total; dense++) {
        listed += table[dense] != TILE_NONE;
    }
    TARN_ASSERT(listed == count);
}

/// What the next list is made from is empty between steps.
static void validate_bits(const uint32_t *bits, uint32_t tile_total)
{
    for (uint32_t word = 0; word < (tile_total + 31) / 32; word++) {
        TARN_ASSERT(bits[word] == 0);
    }
}

/// Particles reach no tile that isn't active, and the multigrid has every tile's parents.
static void validate_reach(const grid_args *args, const grid_counters *counters)
{
    const grid_shape *shape = &args->shape;
    for (uint32_t o = 0; o < counters->occupied; o++) {
        const tile_place place = tile_place_of(shape, 0, args->m.level[0].tile[o]);
        for (uint32_t n = 0; n < 27; n++) {
            const uint32_t beside = tile_neighbour(shape, 0, place, n);
            TARN_ASSERT(beside == TILE_NONE || args->m.slot[beside] != TILE_NONE);
        }
    }
    for (uint32_t l = 0; l + 1 < shape->level_count; l++) {
        for (uint32_t i = 0; i < counters->level_tiles[l]; i++) {
            const tile_place place = tile_place_of(shape, l, args->m.level[l].tile[i]);
            const uint32_t parent = tile_dense_of(shape, l + 1, place.x >> 1, place.y >> 1, place.z >> 1);
            TARN_ASSERT(args->m.level[l + 1].index[parent] != TILE_NONE);
        }
    }
}

void grid_validate_tiles(const grid_host *grid, const grid_counters *counters)
{
    const grid_shape *shape = &grid->args->shape;
    const grid_memory *m = &grid->args->m;
    if (!tarn_device_is_host(grid->device)) {
        return;
    }
    validate_list(m->active_tile, m->slot, counters->active, shape->tile_total[0]);
    validate_bits(m->active_bits, shape->tile_total[0]);
    for (uint32_t l = 0; l < shape->level_count; l++) {
        validate_list(m->level[l].tile, m->level[l].index, counters->level_tiles[l], shape->tile_total[l]);
        validate_bits(m->level[l].bits, shape->tile_total[l]);
    }
    validate_reach(grid->args, counters);
}

/// Every tile near walls has an index of its own, and every index that was given is a tile's or free again.
static void validate_walls(const wall_tiles *walls, uint32_t tile_total)
{
    uint32_t used = 0;
    for (uint32_t dense = 0; dense < tile_total; dense++) {
        const uint32_t i = walls->tile[dense];
        if (i == TILE_NONE || i == TILE_FULL) {
            continue;
        }
        TARN_ASSERT(i < walls->count);
        TARN_ASSERT(walls->dense[i] == dense);
        used++;
    }
    for (uint32_t i = 0; i < walls->still.count; i++) {
        TARN_ASSERT(walls->tile[walls->still.dense[i]] == i); // grid_memory.solid_rough goes by that
    }
    TARN_ASSERT(used + walls->spare_count == walls->count);
    TARN_ASSERT(walls->count <= walls->count_max);
    for (uint32_t s = 0; s < walls->spare_count; s++) {
        TARN_ASSERT(walls->spare[s] < walls->count);
        TARN_ASSERT(walls->tile[walls->dense[walls->spare[s]]] != walls->spare[s]);
    }
}

static void validate_body(const grid_body_state *state)
{
    const float *q = state->rotation;
    const float norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    TARN_ASSERT(fabsf(norm - 1.0f) <= 1e-4f); // what a stored state has to fulfil, too
    for (int a = 0; a < 3; a++) {
        TARN_ASSERT(isfinite(state->position[a]));
        TARN_ASSERT(fabsf(state->velocity[a]) <= BODY_SPEED_MAX);
        TARN_ASSERT(fabsf(state->spin[a]) <= BODY_SPIN_MAX);
    }
}

void grid_validate(const grid_host *grid, const grid_counters *counters)
{
    const grid_added *added = &grid->added;
    grid_validate_tiles(grid, counters);
    if (grid->walls.is_current) {
        validate_walls(&grid->walls, grid->args->shape.tile_total[0]);
    }
    TARN_ASSERT(grid_added_fits(grid, added));
    TARN_ASSERT(grid->body_count == grid->own_body_count + added->thrown_count);
    for (uint32_t b = 0; b < grid->body_count; b++) {
        validate_body(&grid->body_state[b]);
    }
}
