/// What kernels of models' channels share: values of cells, shown by the particles in them.
#ifndef TARN_KERNELS_TANK_SHOW_H
#define TARN_KERNELS_TANK_SHOW_H

#include "kernels/tank/store.h"

/// Particles in a tile of the tank. Of tiles without any the store's table still says what they had last.
TILE_FN uint32_t particles_in(const tank_args *args, uint32_t dense)
{
    return args->grid.m.level[0].index[dense] != TILE_NONE ? args->store.tile_count[dense] : 0;
}

/// The pressure of a particle's cell. Particles in other tiles are left as they are. One tile per tile of the last
/// solve: particles have been sorted since, and where none is left the store says nothing.
/// @param value  [particle]
/// @param scale  what a pressure of 1 on the grid stands for
TILE_FN void show_tile_pressure(const tank_args *args, uint32_t tile, float *value, float scale)
{
    const store_memory *store = &args->store;
    const grid_memory *grid = &args->grid.m;
    const uint32_t dense = grid->solved_tile[tile];
    const uint32_t count = particles_in(args, dense);
    const float *pressure = grid->pressure + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, store->tile_first[dense], store->tile_first[dense] + count) {
        value[i] = pressure[particle_cell(store, i)] * scale;
    }
}

#endif
