// A tank's device memory: the particles', and what grid and model take besides; and how many tiles it is for.
#include "kernels/tank/motion_field.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <stdlib.h>
#include <string.h>

static void carve_particles(grid_carver *t, tarn_tank *tank)
{
    store_memory *m = &tank->args->store;
    t->group = GROUP_PARTICLE;
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &m->position[a], 4);
        grid_carve(t, &m->velocity[a], 4);
        grid_carve(t, &m->moved_position[a], 4);
        grid_carve(t, &m->moved_velocity[a], 4);
    }
    grid_carve(t, &m->id, 4);
    grid_carve(t, &m->moved_id, 4);
    grid_carve(t, &m->moved_to, 1);
    for (int i = 0; i < 2; i++) {
        grid_carve(t, &tank->attributes[i], 4);
    }
    for (uint32_t k = 0; k < tank->model->shown.carried_count; k++) {
        grid_carve(t, &m->carried[k], 4);
        grid_carve(t, &m->moved_carried[k], 4);
    }
    for (int i = 0; i < 9 && tank->grid.desc.transfer == TARN_TRANSFER_APIC; i++) {
        grid_carve(t, &m->affine[i], 4);
        grid_carve(t, &m->moved_affine[i], 4);
    }
}

/// Whether something of the grid goes on from substep to substep.
static bool keeps(const tarn_tank *tank)
{
    return tank->model->keeps_velocity || (tank->model->keeps != NULL && tank->model->keeps(&tank->grid.desc));
}

static void carve_tables(grid_carver *t, tarn_tank *tank)
{
    store_memory *m = &tank->args->store;
    const uint64_t tiles = tank->args->grid.shape.tile_total[0];
    t->group = GROUP_TANK;
    grid_carve(t, &m->control, tank->model->control_bytes);
    grid_carve(t, &m->counters, sizeof *m->counters);
    grid_carve(t, &m->totals, sizeof *m->totals);
    grid_carve(t, &m->motion, TANK_MOTION_CELLS_MAX * sizeof *m->motion);
    grid_carve(t, &m->tile_first, tiles * 4);
    grid_carve(t, &m->tile_count, tiles * 4);
    grid_carve(t, &m->tile_first_next, tiles * 4);
    grid_carve(t, &m->tile_count_next, tiles * 4);
    grid_carve(t, &m->piece_tile, (tiles + (t->particles_max >> PIECE_BITS_MIN)) * 4);
    if (tank->grid.desc.emitter_count > 0) {
        grid_carve(t, &tank->args->grid.m.kept_tile, tiles * 4);
    }
    if (tank->model->fills) {
        grid_carve(t, &m->awake, tiles);
    }
    t->group = GROUP_ACTIVE;
    grid_carve(t, &m->births, 4);
    grid_carve(t, &m->births_first, 4);
    for (int c = 0; c < 3 && keeps(tank); c++) {
        grid_carve(t, &m->kept[c], TILE_CELLS * 4);
    }
    t->group = GROUP_OCCUPIED;
    grid_carve(t, &m->move_count, 27 * 4);
}

static void carve_in_turn(grid_carver *t, void *tank)
{
    ((tarn_tank *)tank)->model->carve_in_turn(t, tank);
}

static void carve_all(grid_carver *t, tarn_tank *tank)
{
    carve_tables(t, tank);
    carve_particles(t, tank);
    grid_carve_all(t);
    tank->model->carve(t, tank);
    grid_carve_in_turn(t, carve_in_turn, tank);
}

/// @return what there is for each thing of a group
static grid_carver carve(tarn_tank *tank)
{
    grid_carver t = {.grid = &tank->grid, .arena = &tank->grid.arena, .particles_max = tank->args->scale.particles_max};
    carve_all(&t, tank);
    return t;
}

/// Measures what it takes if so many tiles may be active.
static uint64_t measure(tarn_tank *tank, uint32_t active_max)
{
    grid_shape *shape = &tank->args->grid.shape;
    const uint32_t occupied_max = tank->model->fills ? active_max : tank->args->scale.particles_max;
    shape->active_max = active_max;
    shape->occupied_max = tile_min_u32(active_max, occupied_max);
    tank->grid.arena = (tarn_arena){0};
    const grid_carver t = carve(tank);
    memcpy(tank->grid.group_bytes, t.each_of, sizeof t.each_of);
    return tank->grid.arena.bytes;
}

/// As many tiles as the tank could use, or as memory allows: where it is overcommitted, taking too much succeeds and
/// kills somebody later.
static tarn_status choose_capacity(tarn_tank *tank)
{
    const uint64_t memory = tarn_device_memory_bytes(tank->grid.device);
    uint32_t fits = 0, too_many = tank->args->grid.shape.tile_total[0];
    if (measure(tank, too_many) <= memory) {
        return TARN_OK;
    }
    while (too_many - fits > 1) {
        const uint32_t middle = fits + (too_many - fits) / 2;
        *(measure(tank, middle) <= memory ? &fits : &too_many) = middle;
    }
    (void)measure(tank, tile_max_u32(fits, 1));
    return fits > 0 ? TARN_OK : TARN_E_MEMORY;
}

tarn_status tank_carve_memory(tarn_tank *tank)
{
    tarn_status status = choose_capacity(tank);
    if (status == TARN_OK) {
        status = tarn_arena_take(&tank->grid.arena, tank->grid.device, TARN_ARENA_DEVICE);
    }
    if (status != TARN_OK) {
        return status;
    }
    (void)carve(tank);
    tank_args *args = tank->args;
    TARN_ASSERT(args->grid.shape.occupied_max <= args->grid.shape.active_max); // an occupied tile is active
    TARN_ASSERT(args->grid.shape.active_max <= args->grid.shape.tile_total[0]);
    args->grid.m.control = &args->store.control->grid;
    args->grid.m.counters = &args->store.counters->grid;
    for (int c = 0; c < 3 && tank->model->keeps_velocity; c++) {
        args->store.keeping[c] = args->grid.m.u_ext[c];
    }
    status = tank_keep_tiles(tank);
    tank->tiles_host = calloc(args->grid.shape.active_max, sizeof *tank->tiles_host);
    tank->grid.own = args->grid.m;
    tank->motion_cells = calloc(1, sizeof *tank->motion_cells);
    return status == TARN_OK && (tank->tiles_host == NULL || tank->motion_cells == NULL) ? TARN_E_MEMORY : status;
}

void tank_give_memory(tarn_tank *tank)
{
    grid_give_memory(&tank->grid);
    free(tank->tiles_host);
    free(tank->motion_cells);
}

uint64_t tank_bytes_least(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->grid.group_bytes;
    return bytes[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args->scale.particles_max +
           (bytes[GROUP_ACTIVE] + bytes[GROUP_OCCUPIED]) * tile_max_u32(tank->counters.grid.active_next, 1);
}

uint64_t tank_bytes(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->grid.group_bytes, *more = tank->grid.more_bytes;
    const grid_counters *counters = &tank->counters.grid;
    uint64_t coarse = 0;
    for (uint32_t level = 1; level < tank->args->grid.shape.level_count; level++) {
        coarse += counters->level_tiles[level];
    }
    return bytes[GROUP_TANK] + more[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args->scale.particles_max +
           (bytes[GROUP_ACTIVE] + more[GROUP_ACTIVE]) * counters->active +
           (bytes[GROUP_OCCUPIED] + more[GROUP_OCCUPIED]) * counters->occupied + bytes[GROUP_COARSE] * coarse;
}
