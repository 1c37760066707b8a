/// What kernels of channels, fields and probes share: values of cells.
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

/// The velocity that is kept at a cell's lower face; 0 where none is.
TILE_FN float kept_at(const tank_args *args, int c, int x, int y, int z)
{
    const grid_shape *shape = &args->grid.shape;
    if (x < 0 || y < 0 || z < 0) {
        return 0.0f;
    }
    const uint32_t dense = tile_dense_of(shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2);
    const uint32_t slot = dense != TILE_NONE ? args->grid.m.slot[dense] : TILE_NONE;
    return slot != TILE_NONE ? args->store.kept[c][(uint64_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7)]
                             : 0.0f;
}

#endif
