// What the liquid's channels say of particles.
#include "kernels/liquid/liquid.h"

/// The pressure of a particle's cell. Particles in other tiles are left as they are. One tile per tile of the last
/// solve: particles have been sorted since, and where none is left the store says nothing.
TILE_KERNEL(liquid_show_pressure, PARTICLE_LANES, liquid_args, tile_no_scratch)
{
    const store_memory *store = &args->tank.store;
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = grid->solved_tile[tile];
    const uint32_t count = grid->level[0].index[dense] != TILE_NONE ? store->tile_count[dense] : 0;
    const float *pressure = grid->pressure + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, store->tile_first[dense], store->tile_first[dense] + count) {
        args->value[i] = pressure[particle_cell(store, i)] * args->value_scale;
    }
}

/// The density of a particle's liquid. One tile per occupied tile.
TILE_KERNEL(liquid_show_density, PARTICLE_LANES, liquid_args, tile_no_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    FOR_RANGE (i, store->tile_first[dense], store->tile_first[dense] + store->tile_count[dense]) {
        const uint32_t liquid = store->attribute != NULL ? store->attribute[i] & (LIQUIDS_MAX - 1) : 0;
        args->value[i] = args->tank.scale.liquid_density[liquid] * args->value_scale;
    }
}
