// What the liquid's channels say of particles.
#include "kernels/liquid/liquid.h"
#include "kernels/tank/show.h"

TILE_KERNEL(liquid_show_pressure, PARTICLE_LANES, liquid_args, tile_no_scratch)
{
    show_tile_pressure(&args->tank, tile, args->value, args->value_scale);
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
