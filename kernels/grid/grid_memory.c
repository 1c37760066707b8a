// A grid's device memory. Groups: what there is once, per particle, per active, occupied or coarse tile. Room is
// reserved for as many tiles as the tank could come to use; tiles in use are the first of each array, so that on a
// device whose memory comes page by page only what the liquid uses is ever taken.
#include "kernels/grid/grid_host.h"
#include "protocol/assert.h"

#include <stdlib.h>
#include <string.h>

static uint64_t group_count(const grid_taker *t)
{
    const grid_shape *shape = &t->grid->args->shape;
    return t->group == GROUP_PARTICLE   ? t->particles_max
           : t->group == GROUP_ACTIVE   ? shape->active_max
           : t->group == GROUP_OCCUPIED ? shape->occupied_max
           : t->group == GROUP_COARSE   ? tile_min_u32(shape->occupied_max, shape->tile_total[t->level])
                                        : 1;
}

/// A piece of the memory that two stages use in turn: particle to grid its sums, the solver its matrix and vectors.
static void take_shared(grid_taker *t, void *piece, uint64_t count, uint64_t each)
{
    if (!t->measuring && !t->giving) {
        TARN_ASSERT(t->grid->shared != NULL);
        void *memory = (unsigned char *)t->grid->shared + t->shared_each * count;
        memcpy(piece, &memory, sizeof memory);
    }
    t->shared_each += each;
}

void grid_take(grid_taker *t, void *piece, uint64_t each)
{
    void *memory = NULL;
    TARN_ASSERT(t->group < GROUP_COUNT);
    TARN_ASSERT(t->group != GROUP_COARSE || t->level < t->grid->args->shape.level_count);
    const uint64_t count = group_count(t);
    if (t->sharing) {
        take_shared(t, piece, count, each);
        return;
    }
    if (t->giving) {
        memcpy(&memory, piece, sizeof memory);
        tarn_device_free(t->grid->device, memory);
        return;
    }
    if (t->measuring) {
        TARN_ASSERT(t->bytes != NULL);
        t->bytes[t->group] += each;
        return;
    }
    if (!t->failed) {
        memory = tarn_device_alloc(t->grid->device, (size_t)(count * each));
    }
    t->failed |= memory == NULL;
    memcpy(piece, &memory, sizeof memory);
}

/// What solids cover of the active tiles.
static void take_covers(grid_taker *t, grid_memory *m)
{
    t->group = GROUP_ACTIVE;
    for (int a = 0; a < 3; a++) {
        grid_take(t, &m->open[a], TILE_CELLS);
    }
    grid_take(t, &m->room, TILE_CELLS);
    grid_take(t, &m->sides, TILE_CELLS);
    grid_take(t, &m->solid_flux, TILE_CELLS * 4);
}

/// The same of bodies.
static void take_body_covers(grid_taker *t, grid_memory *m)
{
    t->group = GROUP_ACTIVE;
    grid_take(t, &m->cover_owner, TILE_CELLS);
    for (int a = 0; a < 3; a++) {
        grid_take(t, &m->cover[a], TILE_CELLS * sizeof *m->cover[a]);
        grid_take(t, &m->lack[a], TILE_CELLS * sizeof *m->lack[a]);
    }
}

/// Distances near solids that don't move, and what they leave open.
static void take_solids(grid_taker *t, grid_memory *m, uint64_t near)
{
    t->group = GROUP_TANK;
    for (int a = 0; a < 3; a++) {
        grid_take(t, &m->solid_open[a], near * TILE_CELLS);
    }
    grid_take(t, &m->solid_tile, (uint64_t)t->grid->args->shape.tile_total[0] * 4);
    grid_take(t, &m->solid_dense, near * 4);
    grid_take(t, &m->solid_node, near * SOLID_NODES * 2);
    grid_take(t, &m->solid_room, near * TILE_CELLS);
    grid_take(t, &m->solid_sides, near * TILE_CELLS);
}

/// What bodies are, and the sums of what acts on them.
static void take_bodies(grid_taker *t, grid_memory *m)
{
    t->group = GROUP_TANK;
    grid_take(t, &m->bodies, sizeof *m->bodies);
    grid_take(t, &m->body_control, sizeof *m->body_control);
    t->group = GROUP_OCCUPIED;
    grid_take(t, &m->body_tile, sizeof *m->body_tile);
    grid_take(t, &m->body_partial, BODIES_MAX * BODY_SUMS * sizeof *m->body_partial);
}

static void take_fields(grid_taker *t)
{
    grid_host *grid = t->grid;
    t->group = GROUP_TANK;
    for (uint32_t f = 0; f < grid->desc.field_count; f++) {
        const uint32_t *nodes = grid->desc.fields[f].nodes;
        grid_take(t, &grid->field_distance[f], (uint64_t)nodes[0] * nodes[1] * nodes[2] * sizeof(float));
    }
}

static void take_active(grid_taker *t, grid_memory *m)
{
    t->group = GROUP_ACTIVE;
    grid_take(t, &m->active_tile, 4);
    grid_take(t, &m->active_tile_next, 4);
    for (int a = 0; a < 3; a++) {
        grid_take(t, &m->u[a], TILE_CELLS * 4);
        grid_take(t, &m->u_old[a], TILE_CELLS * 4);
        grid_take(t, &m->u_ext[a], TILE_CELLS * 4);
        grid_take(t, &m->shift[a], TILE_CELLS * 4);
    }
    grid_take(t, &m->cell_type, TILE_CELLS);
    grid_take(t, &m->face_rows, 3 * TILE_ROWS);
    grid_take(t, &m->density_error, TILE_CELLS * 4);
}

static void take_occupied(grid_taker *t, grid_memory *m)
{
    t->group = GROUP_OCCUPIED;
    grid_take(t, &m->cell_count, TILE_CELLS);
    grid_take(t, &m->pressure, TILE_CELLS * 4);
    grid_take(t, &m->solved_tile, 4);
    grid_take(t, &m->partial, 4);
}

static void take_matrix(grid_taker *t, grid_level *level)
{
    grid_take(t, &level->ax, TILE_FACES * 4);
    grid_take(t, &level->ay, TILE_FACES * 4);
    grid_take(t, &level->az, TILE_FACES * 4);
    grid_take(t, &level->diagonal, TILE_CELLS * 4);
    grid_take(t, &level->x, TILE_CELLS * 4);
}

static void take_solver(grid_taker *t, grid_memory *m)
{
    take_matrix(t, &m->level[0]);
    grid_take(t, &m->level[0].y, TILE_CELLS * 4);
    grid_take(t, &m->residual, TILE_CELLS * 4);
    grid_take(t, &m->direction, TILE_CELLS * 4);
    grid_take(t, &m->product, TILE_CELLS * 4);
    grid_take(t, &m->potential, TILE_CELLS * 4);
}

void grid_take_in_turn(grid_taker *t, void (*sums)(grid_taker *t, void *context), void *context)
{
    grid_memory *m = &t->grid->args->m;
    const grid_taker sharing = {
        .grid = t->grid, .particles_max = t->particles_max, .group = GROUP_OCCUPIED, .sharing = true};
    grid_taker first = sharing, solver = sharing;
    first.measuring = solver.measuring = true;
    sums(&first, context);
    take_solver(&solver, m);
    t->group = GROUP_OCCUPIED;
    grid_take(t, &t->grid->shared, first.shared_each > solver.shared_each ? first.shared_each : solver.shared_each);
    if (t->measuring || t->giving || t->failed) {
        return;
    }
    first = solver = sharing;
    sums(&first, context);
    take_solver(&solver, m);
    m->level[0].b = m->residual;
}

/// A level's tables cover all tiles, its fields those in use.
static void take_level(grid_taker *t, grid_level *level, uint32_t l)
{
    const uint64_t tiles = t->grid->args->shape.tile_total[l];
    t->group = GROUP_TANK;
    grid_take(t, &level->index, tiles * 4);
    grid_take(t, &level->bits, (tiles + 31) / 32 * 4);
    t->group = l == 0 ? GROUP_OCCUPIED : GROUP_COARSE;
    t->level = l;
    TARN_ASSERT(t->group != GROUP_COARSE || tiles <= t->grid->args->shape.tile_total[0]);
    if (t->measuring && l > 1) { // all coarse tiles are alike
        return;
    }
    grid_take(t, &level->tile, 4);
    grid_take(t, &level->tile_next, 4);
    grid_take(t, &level->patch, sizeof *level->patch);
    if (l == 0) {
        return;
    }
    take_matrix(t, level);
    grid_take(t, &level->b, TILE_CELLS * 4);
}

void grid_take_all(grid_taker *t)
{
    grid_host *grid = t->grid;
    const grid_shape *shape = &grid->args->shape;
    grid_memory *m = &grid->args->m;
    t->group = GROUP_TANK;
    grid_take(t, &m->slot, (uint64_t)shape->tile_total[0] * 4);
    grid_take(t, &m->active_bits, ((uint64_t)shape->tile_total[0] + 31) / 32 * 4);
    take_active(t, m);
    take_occupied(t, m);
    if (grid->desc.solid_count > 0) {
        take_covers(t, m);
        take_solids(t, m, grid->solid_tiles > 0 ? grid->solid_tiles : 1);
    }
    if (grid->own_body_count > 0) {
        take_body_covers(t, m);
        take_bodies(t, m);
        take_fields(t);
    }
    for (uint32_t l = 0; l < shape->level_count; l++) {
        take_level(t, &m->level[l], l);
    }
}

// What was taken for solids that are added stays until the tank goes.
typedef void more_taker(grid_taker *t, grid_memory *more, uint32_t near);

static void take_more_solids(grid_taker *t, grid_memory *more, uint32_t near)
{
    if (t->grid->desc.solid_count == 0) {
        take_covers(t, more);
    }
    take_solids(t, more, near);
    grid_take(t, &more->solid_listed, (uint64_t)near * 4);
}

static void take_more_bodies(grid_taker *t, grid_memory *more, uint32_t near)
{
    (void)near;
    take_body_covers(t, more);
    take_bodies(t, more);
}

static tarn_status take_more(grid_host *grid, more_taker *pieces, uint32_t near)
{
    grid_taker taking = {.grid = grid}, giving = {.grid = grid, .giving = true};
    grid_taker measuring = {.grid = grid, .measuring = true, .bytes = grid->more_bytes};
    grid_memory *more = &grid->more, before = *more;
    pieces(&taking, more, near);
    if (taking.failed) {
        pieces(&giving, more, near);
        *more = before;
        return TARN_E_MEMORY;
    }
    pieces(&measuring, more, near);
    return TARN_OK;
}

tarn_status grid_take_more_solids(grid_host *grid, uint32_t near)
{
    return grid->more.solid_tile != NULL ? TARN_OK : take_more(grid, take_more_solids, near);
}

tarn_status grid_take_more_bodies(grid_host *grid)
{
    const bool has = grid->own_body_count > 0 || grid->more.bodies != NULL;
    return has ? TARN_OK : take_more(grid, take_more_bodies, 0);
}

void grid_give_more(grid_host *grid)
{
    grid_taker t = {.grid = grid, .giving = true};
    if (grid->more.solid_tile != NULL) {
        take_more_solids(&t, &grid->more, 0);
    }
    if (grid->more.bodies != NULL) {
        take_more_bodies(&t, &grid->more, 0);
    }
}
