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
    int measuring; ///< adds up what it would take, takes nothing
    int giving;    ///< gives back instead
} taker;

static uint64_t group_count(const liquid_shape *shape, const taker *t)
{
    return t->group == GROUP_PARTICLE   ? shape->particles_max
           : t->group == GROUP_ACTIVE   ? shape->active_max
           : t->group == GROUP_OCCUPIED ? shape->occupied_max
           : t->group == GROUP_COARSE   ? tile_min_u32(shape->occupied_max, shape->tile_total[t->level])
                                        : 1;
}

/// One piece of `each` bytes for every thing of the group.
static void take(taker *t, void *piece, uint64_t each)
{
    void *memory = NULL;
    const uint64_t count = group_count(&t->tank->args.shape, t);
    if (t->giving) {
        memcpy(&memory, piece, sizeof memory);
        tarn_device_free(t->tank->device, memory);
        return;
    }
    if (t->measuring) {
        t->tank->group_bytes[t->group] += each;
        return;
    }
    if (!t->failed)
        memory = tarn_device_alloc(t->tank->device, (size_t)(count * each));
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
    if (tank_has_attributes(&t->tank->desc)) {
        take(t, &m->attribute, 4);
        take(t, &m->moved_attribute, 4);
    }
    for (int i = 0; i < 9 && t->tank->desc.transfer == TARN_TRANSFER_APIC; i++) {
        take(t, &m->affine[i], 4);
        take(t, &m->moved_affine[i], 4);
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
    take(t, &m->face_valid, TILE_CELLS);
    for (int a = 0; a < 3 && shape->lightest_mass < 1.0f; a++)
        take(t, &m->beta[a], TILE_CELLS * 4);
    if (t->tank->desc.liquid_count > 1 && tank_viscosity_iterations(t->tank) > 0)
        take(t, &m->viscosity, TILE_CELLS * 4);
    if (t->tank->has_births) {
        take(t, &m->births, 4);
        take(t, &m->births_first, 4);
    }
}

static void take_occupied(taker *t, liquid_memory *m)
{
    const uint64_t nodes = t->tank->args.shape.node_count;
    t->group = GROUP_OCCUPIED;
    for (int a = 0; a < 3; a++) {
        take(t, &m->momentum[a], nodes * 4);
        take(t, &m->weight[a], nodes * 4);
        if (t->tank->args.shape.lightest_mass < 1.0f)
            take(t, &m->mass[a], nodes * 4);
    }
    take(t, &m->density, nodes * 4);
    take(t, &m->cell_count, TILE_CELLS);
    take(t, &m->density_error, TILE_CELLS * 4);
    take(t, &m->move_count, 27 * 4);
    take(t, &m->residual, TILE_CELLS * 4);
    take(t, &m->direction, TILE_CELLS * 4);
    take(t, &m->product, TILE_CELLS * 4);
    take(t, &m->pressure, TILE_CELLS * 4);
    take(t, &m->potential, TILE_CELLS * 4);
    take(t, &m->solved_tile, 4);
    take(t, &m->partial, 4);
    take(t, &t->tank->tile_info, 2 * 4);
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
    if (t->measuring && l > 1) // all coarse tiles are alike
        return;
    take(t, &level->tile, 4);
    take(t, &level->tile_next, 4);
    take(t, &level->ax, TILE_FACES * 4);
    take(t, &level->ay, TILE_FACES * 4);
    take(t, &level->az, TILE_FACES * 4);
    take(t, &level->diagonal, TILE_CELLS * 4);
    take(t, &level->x, TILE_CELLS * 4);
    take(t, &level->y, TILE_CELLS * 4);
    if (l > 0)
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
    for (uint32_t l = 0; l < shape->level_count; l++)
        take_level(t, &m->level[l], l);
    if (!t->giving)
        m->level[0].b = m->residual;
    if (!tarn_device_is_host(tank->device)) {
        const tarn_frame_coding coding =
            tank_has_attributes(&tank->desc) ? TARN_FRAME_CODING_COLOURS : TARN_FRAME_CODING_RAW;
        t->group = GROUP_TANK;
        take(t, &tank->payloads, (uint64_t)tarn_frame_bound(coding, 0, shape->occupied_max, shape->particles_max));
    }
}

static void measure(tarn_tank *tank)
{
    memset(tank->group_bytes, 0, sizeof tank->group_bytes);
    taker t = {.tank = tank, .measuring = 1};
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
    if (status != TARN_OK)
        return status;
    taker t = {.tank = tank};
    take_all(&t);
    const uint64_t occupied = tank->args.shape.occupied_max;
    if (!t.failed)
        t.failed = tank_keep_tiles(tank) != TARN_OK;
    tank->tile_info_host = calloc(occupied * 2, sizeof *tank->tile_info_host);
    tank->frame_tiles = calloc(occupied, sizeof *tank->frame_tiles);
    return t.failed || tank->tile_info_host == NULL || tank->frame_tiles == NULL ? TARN_E_MEMORY : TARN_OK;
}

void tank_give_memory(tarn_tank *tank)
{
    taker t = {.tank = tank, .giving = 1};
    take_all(&t);
    tarn_device_free(tank->device, tank->args.m.kept_tile);
    free(tank->tile_info_host);
    free(tank->frame_tiles);
}

uint64_t tank_bytes_least(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->group_bytes;
    return bytes[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args.shape.particles_max +
           (bytes[GROUP_ACTIVE] + bytes[GROUP_OCCUPIED]) * tile_max_u32(tank->counters.active_next, 1);
}

uint64_t tank_bytes(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->group_bytes;
    uint64_t coarse = 0;
    for (uint32_t level = 1; level < tank->args.shape.level_count; level++)
        coarse += tank->counters.level_tiles[level];
    return bytes[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args.shape.particles_max +
           bytes[GROUP_ACTIVE] * tank->counters.active + bytes[GROUP_OCCUPIED] * tank->counters.occupied +
           bytes[GROUP_COARSE] * coarse;
}
