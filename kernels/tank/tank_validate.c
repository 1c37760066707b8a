// The particles' invariants, one by one, for validating builds: begin at tank_validate. What the sort has made: every
// particle in the tile that lists it, tiles behind each other without gaps.
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>

static void validate_particle(const tarn_tank *tank, uint32_t i, uint32_t dense)
{
    const grid_shape *shape = &tank->args->grid.shape;
    const store_memory *store = &tank->args->store;
    int at[3];
    for (int a = 0; a < 3; a++) {
        TARN_ASSERT(store->position[a][i] >> POSITION_BITS < (uint32_t)shape->cells[a]);
        TARN_ASSERT(fabsf(store->velocity[a][i]) <= SPEED_MAX); // not for NaN
        at[a] = (int)(store->position[a][i] >> TILE_POSITION_BITS);
    }
    TARN_ASSERT(tile_dense_of(shape, 0, at[0], at[1], at[2]) == dense);
    for (uint32_t k = 0; k < tank->model->shown.carried_count; k++) {
        TARN_ASSERT(fabsf(store->carried[k][i]) <= CARRIED_LIMIT);
    }
    TARN_ASSERT(store->attribute == NULL || (store->attribute[i] & 0xff) < tank_kinds(tank));
}

void tank_validate_particles(const tarn_tank *tank)
{
    const store_memory *store = &tank->args->store;
    const uint32_t *tiles = tank->args->grid.m.level[0].tile;
    uint32_t particles = 0;
    if (tank->model->stays_full) {
        TARN_ASSERT(tank->counters.grid.active == tank->args->grid.shape.tile_total[0]);
        TARN_ASSERT(tank->counters.grid.occupied == tank->counters.grid.active);
    }
    if (!tarn_device_is_host(tank->grid.device)) {
        return;
    }
    for (uint32_t o = 0; o < tank->counters.grid.occupied; o++) {
        const uint32_t dense = tiles[o], first = store->tile_first[dense], count = store->tile_count[dense];
        TARN_ASSERT(first == particles);
        TARN_ASSERT(count > 0 || (store->awake != NULL && store->awake[dense] != 0));
        TARN_ASSERT(count <= tank->particle_count - first);
        for (uint32_t i = first; i < first + count; i++) {
            validate_particle(tank, i, dense);
        }
        particles += count;
    }
    TARN_ASSERT(particles == tank->particle_count);
}

void tank_validate(const tarn_tank *tank)
{
    grid_validate(&tank->grid, &tank->counters.grid);
    tank_validate_particles(tank);
}
