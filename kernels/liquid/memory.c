// A tank's device memory. Groups: what there is once, per particle, per active, occupied or coarse tile. Room is
// reserved for as many tiles as the tank could come to use; tiles in use are the first of each array, so that on a
// device whose memory comes page by page only what the liquid uses is ever taken.
#include "kernels/liquid/tank_internal.h"

#include <stdlib.h>
#include <string.h>

/// Takes device memory; remembers failure, so that callers need not check each piece.
typedef struct taker {
    tarn_tank *tank;
    tank_group group;
    uint32_t level; ///< of GROUP_COARSE
    int failed;
    int measuring;        ///< adds up what it would take, takes nothing: into
    uint64_t *bytes;      ///< [GROUP_COUNT]
    int giving;           ///< gives back instead
    uint64_t shared_each; ///< bytes of tank->shared that are spoken for, per tile
    int sharing;          ///< pieces come from tank->shared
} taker;

static uint64_t group_count(const liquid_shape *shape, const taker *t)
{
    return t->group == GROUP_PARTICLE   ? shape->particles_max
           : t->group == GROUP_ACTIVE   ? shape->active_max
           : t->group == GROUP_OCCUPIED ? shape->occupied_max
           : t->group == GROUP_COARSE   ? tile_min_u32(shape->occupied_max, shape->tile_total[t->level])
                                        : 1;
}

/// A piece of the memory that two stages use in turn: particle to grid its sums, the solver its matrix and vectors.
static void take_shared(taker *t, void *piece, uint64_t count, uint64_t each)
{
    if (!t->measuring && !t->giving) {
        void *memory = (unsigned char *)t->tank->shared + t->shared_each * count;
        memcpy(piece, &memory, sizeof memory);
    }
    t->shared_each += each;
}

/// One piece of `each` bytes for every thing of the group.
static void take(taker *t, void *piece, uint64_t each)
{
    void *memory = NULL;
    const uint64_t count = group_count(&t->tank->args.shape, t);
    if (t->sharing) {
        take_shared(t, piece, count, each);
        return;
    }
    if (t->giving) {
        memcpy(&memory, piece, sizeof memory);
        tarn_device_free(t->tank->device, memory);
        return;
    }
    if (t->measuring) {
        t->bytes[t->group] += each;
        return;
    }
    if (!t->failed) {
        memory = tarn_device_alloc(t->tank->device, (size_t)(count * each));
    }
    t->failed |= memory == NULL;
    memcpy(piece, &memory, sizeof memory);
}

static void take_particles(taker *t, liquid_memory *m)
{
    t->group = GROUP_PARTICLE;
    for (int a = 0; a < 3; a++) {
        take(t, &m->position[a], 4);
        take(t, &m->velocity[a], 4);
        take(t, &m->moved_position[a], 4);
        take(t, &m->moved_velocity[a], 4);
    }
    take(t, &m->id, 4);
    take(t, &m->moved_id, 4);
    take(t, &m->moved_to, 1);
    for (int i = 0; i < 2; i++) {
        take(t, &t->tank->attributes[i], 4);
    }
    for (int i = 0; i < 9 && t->tank->desc.transfer == TARN_TRANSFER_APIC; i++) {
        take(t, &m->affine[i], 4);
        take(t, &m->moved_affine[i], 4);
    }
}

/// What solids cover of the active tiles.
static void take_covers(taker *t, liquid_memory *m)
{
    t->group = GROUP_ACTIVE;
    for (int a = 0; a < 3; a++) {
        take(t, &m->open[a], TILE_CELLS);
    }
    take(t, &m->room, TILE_CELLS);
    take(t, &m->sides, TILE_CELLS);
    take(t, &m->solid_flux, TILE_CELLS * 4);
}

/// The same of bodies.
static void take_body_covers(taker *t, liquid_memory *m)
{
    t->group = GROUP_ACTIVE;
    take(t, &m->cover_owner, TILE_CELLS);
    for (int a = 0; a < 3; a++) {
        take(t, &m->cover[a], TILE_CELLS * sizeof *m->cover[a]);
        take(t, &m->lack[a], TILE_CELLS * sizeof *m->lack[a]);
    }
}

/// Distances near solids that don't move, and what they leave open.
static void take_solids(taker *t, liquid_memory *m, uint64_t near)
{
    t->group = GROUP_TANK;
    for (int a = 0; a < 3; a++) {
        take(t, &m->solid_open[a], near * TILE_CELLS);
    }
    take(t, &m->solid_tile, (uint64_t)t->tank->args.shape.tile_total[0] * 4);
    take(t, &m->solid_dense, near * 4);
    take(t, &m->solid_node, near * SOLID_NODES * 2);
    take(t, &m->solid_room, near * TILE_CELLS);
    take(t, &m->solid_sides, near * TILE_CELLS);
}

/// What bodies are, and the sums of what acts on them.
static void take_bodies(taker *t, liquid_memory *m)
{
    t->group = GROUP_TANK;
    take(t, &m->bodies, sizeof *m->bodies);
    take(t, &m->body_control, sizeof *m->body_control);
    t->group = GROUP_OCCUPIED;
    take(t, &m->body_tile, sizeof *m->body_tile);
    take(t, &m->body_partial, BODIES_MAX * BODY_SUMS * sizeof *m->body_partial);
}

static void take_fields(taker *t)
{
    tarn_tank *tank = t->tank;
    t->group = GROUP_TANK;
    for (uint32_t f = 0; f < tank->desc.field_count; f++) {
        const uint32_t *nodes = tank->desc.fields[f].nodes;
        take(t, &tank->field_distance[f], (uint64_t)nodes[0] * nodes[1] * nodes[2] * sizeof(float));
    }
}

static void take_active(taker *t, liquid_memory *m)
{
    const liquid_shape *shape = &t->tank->args.shape;
    t->group = GROUP_ACTIVE;
    take(t, &m->active_tile, 4);
    take(t, &m->active_tile_next, 4);
    for (int a = 0; a < 3; a++) {
        take(t, &m->u[a], TILE_CELLS * 4);
        take(t, &m->u_old[a], TILE_CELLS * 4);
        take(t, &m->u_ext[a], TILE_CELLS * 4);
        take(t, &m->shift[a], TILE_CELLS * 4);
    }
    take(t, &m->cell_type, TILE_CELLS);
    take(t, &m->face_rows, 3 * TILE_ROWS);
    take(t, &m->face_kind, TILE_CELLS);
    take(t, &m->density_error, TILE_CELLS * 4);
    for (int a = 0; a < 3 && shape->lightest < 1.0f; a++) {
        take(t, &m->beta[a], TILE_CELLS * 4);
    }
    if (t->tank->desc.liquid_count > 1 && tank_viscosity_iterations(t->tank) > 0) {
        take(t, &m->viscosity, TILE_CELLS * 4);
    }
    take(t, &m->births, 4);
    take(t, &m->births_first, 4);
}

static void take_occupied(taker *t, liquid_memory *m)
{
    t->group = GROUP_OCCUPIED;
    take(t, &m->cell_count, TILE_CELLS);
    take(t, &m->move_count, 27 * 4);
    take(t, &m->pressure, TILE_CELLS * 4);
    take(t, &m->solved_tile, 4);
    take(t, &m->partial, 4);
}

/// The sums of particle to grid, which are done with when the solver begins.
static void take_sums(taker *t, liquid_memory *m)
{
    const uint64_t nodes = t->tank->args.shape.node_count;
    for (int a = 0; a < 3; a++) {
        take(t, &m->momentum[a], nodes * 4);
        take(t, &m->weight[a], nodes * 4);
        if (t->tank->args.shape.lightest < 1.0f) {
            take(t, &m->mass[a], nodes * 4);
        }
    }
    take(t, &m->density, nodes * 4);
}

static void take_matrix(taker *t, liquid_level *level)
{
    take(t, &level->ax, TILE_FACES * 4);
    take(t, &level->ay, TILE_FACES * 4);
    take(t, &level->az, TILE_FACES * 4);
    take(t, &level->diagonal, TILE_CELLS * 4);
    take(t, &level->x, TILE_CELLS * 4);
}

static void take_solver(taker *t, liquid_memory *m)
{
    take_matrix(t, &m->level[0]);
    take(t, &m->level[0].y, TILE_CELLS * 4);
    take(t, &m->residual, TILE_CELLS * 4);
    take(t, &m->direction, TILE_CELLS * 4);
    take(t, &m->product, TILE_CELLS * 4);
    take(t, &m->potential, TILE_CELLS * 4);
}

/// One piece of memory per occupied tile that is large enough for the sums and for the solver's fields.
static void take_both(taker *t, liquid_memory *m)
{
    taker sums = {.tank = t->tank, .group = GROUP_OCCUPIED, .sharing = 1, .measuring = 1}, solver = sums;
    take_sums(&sums, m);
    take_solver(&solver, m);
    t->group = GROUP_OCCUPIED;
    take(t, &t->tank->shared, sums.shared_each > solver.shared_each ? sums.shared_each : solver.shared_each);
    if (t->measuring || t->giving || t->failed) {
        return;
    }
    sums = (taker){.tank = t->tank, .group = GROUP_OCCUPIED, .sharing = 1};
    solver = sums;
    take_sums(&sums, m);
    take_solver(&solver, m);
    m->level[0].b = m->residual;
}

/// A level's tables cover all tiles, its fields those in use.
static void take_level(taker *t, liquid_level *level, uint32_t l)
{
    const uint64_t tiles = t->tank->args.shape.tile_total[l];
    t->group = GROUP_TANK;
    take(t, &level->index, tiles * 4);
    take(t, &level->bits, (tiles + 31) / 32 * 4);
    t->group = l == 0 ? GROUP_OCCUPIED : GROUP_COARSE;
    t->level = l;
    if (t->measuring && l > 1) { // all coarse tiles are alike
        return;
    }
    take(t, &level->tile, 4);
    take(t, &level->tile_next, 4);
    take(t, &level->patch, sizeof *level->patch);
    if (l == 0) {
        return;
    }
    take_matrix(t, level);
    take(t, &level->b, TILE_CELLS * 4);
}

static void take_all(taker *t)
{
    tarn_tank *tank = t->tank;
    const liquid_shape *shape = &tank->args.shape;
    liquid_memory *m = &tank->args.m;
    t->group = GROUP_TANK;
    take(t, &m->control, sizeof *m->control);
    take(t, &m->counters, sizeof *m->counters);
    take(t, &m->totals, sizeof *m->totals);
    take(t, &m->tile_first, (uint64_t)shape->tile_total[0] * 4);
    take(t, &m->tile_count, (uint64_t)shape->tile_total[0] * 4);
    take(t, &m->tile_first_next, (uint64_t)shape->tile_total[0] * 4);
    take(t, &m->tile_count_next, (uint64_t)shape->tile_total[0] * 4);
    take(t, &m->slot, (uint64_t)shape->tile_total[0] * 4);
    take(t, &m->active_bits, ((uint64_t)shape->tile_total[0] + 31) / 32 * 4);
    take_particles(t, m);
    take_active(t, m);
    take_occupied(t, m);
    take_both(t, m);
    if (tank->desc.solid_count > 0) {
        take_covers(t, m);
        take_solids(t, m, tank->solid_tiles > 0 ? tank->solid_tiles : 1);
    }
    if (tank->own_body_count > 0) {
        take_body_covers(t, m);
        take_bodies(t, m);
        take_fields(t);
    }
    for (uint32_t l = 0; l < shape->level_count; l++) {
        take_level(t, &m->level[l], l);
    }
}

static void measure(tarn_tank *tank)
{
    memset(tank->group_bytes, 0, sizeof tank->group_bytes);
    taker t = {.tank = tank, .measuring = 1, .bytes = tank->group_bytes};
    take_all(&t);
}

/// As many tiles as the tank could use, or as memory allows: where it is overcommitted, taking too much succeeds and
/// kills somebody later.
static tarn_status choose_capacity(tarn_tank *tank)
{
    liquid_shape *shape = &tank->args.shape;
    const uint64_t *bytes = tank->group_bytes, memory = tarn_device_memory_bytes(tank->device);
    shape->active_max = shape->tile_total[0];
    shape->occupied_max = tile_min_u32(shape->tile_total[0], shape->particles_max);
    measure(tank);
    const uint64_t fixed = bytes[GROUP_TANK] + bytes[GROUP_PARTICLE] * shape->particles_max;
    const uint64_t each = bytes[GROUP_ACTIVE] + bytes[GROUP_OCCUPIED] + bytes[GROUP_COARSE] / 7;
    const uint64_t fit = fixed < memory ? (memory - fixed) / each : 0;
    if (fit < shape->active_max) {
        shape->active_max = (uint32_t)fit;
        shape->occupied_max = tile_min_u32(shape->occupied_max, (uint32_t)fit);
        measure(tank);
    }
    return fit > 0 ? TARN_OK : TARN_E_MEMORY;
}

tarn_status tank_take_memory(tarn_tank *tank)
{
    tarn_status status = choose_capacity(tank);
    if (status != TARN_OK) {
        return status;
    }
    taker t = {.tank = tank};
    take_all(&t);
    if (!t.failed) {
        t.failed = tank_keep_tiles(tank) != TARN_OK;
    }
    tank->tiles_host = calloc(tank->args.shape.occupied_max, sizeof *tank->tiles_host);
    tank->own = tank->args.m;
    return t.failed || tank->tiles_host == NULL ? TARN_E_MEMORY : TARN_OK;
}

// What was taken for solids that are added stays until the tank goes.
typedef void more_taker(taker *t, liquid_memory *more, uint32_t near);

static void take_more_solids(taker *t, liquid_memory *more, uint32_t near)
{
    if (t->tank->desc.solid_count == 0) {
        take_covers(t, more);
    }
    take_solids(t, more, near);
    take(t, &more->solid_listed, (uint64_t)near * 4);
}

static void take_more_bodies(taker *t, liquid_memory *more, uint32_t near)
{
    (void)near;
    take_body_covers(t, more);
    take_bodies(t, more);
}

static tarn_status take_more(tarn_tank *tank, more_taker *pieces, uint32_t near)
{
    taker taking = {.tank = tank}, giving = {.tank = tank, .giving = 1};
    taker measuring = {.tank = tank, .measuring = 1, .bytes = tank->more_bytes};
    liquid_memory *more = &tank->more, before = *more;
    pieces(&taking, more, near);
    if (taking.failed) {
        pieces(&giving, more, near);
        *more = before;
        return TARN_E_MEMORY;
    }
    pieces(&measuring, more, near);
    return TARN_OK;
}

tarn_status tank_take_more_solids(tarn_tank *tank, uint32_t near)
{
    return tank->more.solid_tile != NULL ? TARN_OK : take_more(tank, take_more_solids, near);
}

tarn_status tank_take_more_bodies(tarn_tank *tank)
{
    const int has = tank->own_body_count > 0 || tank->more.bodies != NULL;
    return has ? TARN_OK : take_more(tank, take_more_bodies, 0);
}

void tank_give_memory(tarn_tank *tank)
{
    taker t = {.tank = tank, .giving = 1};
    if (tank->more.solid_tile != NULL) {
        take_more_solids(&t, &tank->more, 0);
    }
    if (tank->more.bodies != NULL) {
        take_more_bodies(&t, &tank->more, 0);
    }
    tank_added_forget(tank); // what was there first is to be given back
    take_all(&t);
    tarn_device_free(tank->device, tank->args.m.kept_tile);
    free(tank->tiles_host);
}

uint64_t tank_bytes_least(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->group_bytes;
    return bytes[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args.shape.particles_max +
           (bytes[GROUP_ACTIVE] + bytes[GROUP_OCCUPIED]) * tile_max_u32(tank->counters.active_next, 1);
}

uint64_t tank_bytes(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->group_bytes, *more = tank->more_bytes;
    uint64_t coarse = 0;
    for (uint32_t level = 1; level < tank->args.shape.level_count; level++) {
        coarse += tank->counters.level_tiles[level];
    }
    return bytes[GROUP_TANK] + more[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args.shape.particles_max +
           (bytes[GROUP_ACTIVE] + more[GROUP_ACTIVE]) * tank->counters.active +
           (bytes[GROUP_OCCUPIED] + more[GROUP_OCCUPIED]) * tank->counters.occupied + bytes[GROUP_COARSE] * coarse;
}
