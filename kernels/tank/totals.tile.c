// Totals for reports and hashes.
#include "kernels/tank/store.h"

typedef struct volume_scratch {
    uint64_t sum[PARTICLE_LANES];
} volume_scratch;

/// Adds up the liquid's volume as the last substep's grid saw it. One tile per tile that was active then.
TILE_KERNEL(tank_volume, PARTICLE_LANES, tank_args, volume_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const float *error = grid->density_error + (uint64_t)tile * TILE_CELLS;
    FOR_LANES (lane) {
        uint64_t sum = 0;
        for (uint32_t i = lane; i < TILE_CELLS; i += PARTICLE_LANES) {
            sum += (uint64_t)tile_round_i32(tile_clamp_f32(error[i] + 1.0f, 0.0f, 1.0f) * (float)(1 << 20));
        }
        s->sum[lane] = sum;
    }
    TILE_BARRIER();
    tile_sum_u64(s->sum, PARTICLE_LANES);
    if (TILE_SINGLE()) {
        global_add_u64(&store->totals->sum[TOTAL_VOLUME], s->sum[0]);
    }
}

typedef struct totals_scratch {
    uint64_t sum[TOTAL_VOLUME][PARTICLE_LANES];
} totals_scratch;

/// Adds up what reports and hashes need; integers, so that the order doesn't matter. One tile per 256 particles;
/// args->grid.level holds the number of particles.
TILE_KERNEL(tank_totals_sum, PARTICLE_LANES, tank_args, totals_scratch)
{
    const store_memory *store = &args->store;
    const uint32_t first = tile * PARTICLE_LANES;
    const uint32_t count = args->grid.level - first < PARTICLE_LANES ? args->grid.level - first : PARTICLE_LANES;
    FOR_LANES (lane) {
        const uint32_t i = first + (lane < count ? lane : 0);
        const uint64_t counts = lane < count;
        const float mass =
            args->scale.liquid_density[store->attribute != NULL ? store->attribute[i] & (LIQUIDS_MAX - 1) : 0];
        uint64_t hash = tile_mix_u64(store->id[i] + 0x9e3779b97f4a7c15ull);
        float energy = 0.0f;
        for (int c = 0; c < 3; c++) {
            const float v = store->velocity[c][i];
            hash = tile_mix_u64(hash ^ ((uint64_t)store->position[c][i] << 32 | tile_bits_f32(v)));
            energy += v * v;
            s->sum[TOTAL_POSITION + c][lane] = counts * (uint64_t)((double)mass * (double)store->position[c][i]);
            s->sum[TOTAL_VELOCITY + c][lane] = counts * (uint64_t)(int64_t)tile_round_i32(mass * v * (float)(1 << 20));
        }
        for (int c = 0; store->affine[0] != NULL && c < 9; c++) {
            hash = tile_mix_u64(hash ^ tile_bits_f32(store->affine[c][i]));
        }
        if (store->attribute != NULL) {
            hash = tile_mix_u64(hash ^ store->attribute[i]);
        }
        for (int k = 0; k < CARRIED_MAX && store->carried[k] != NULL; k++) {
            hash = tile_mix_u64(hash ^ tile_bits_f32(store->carried[k][i]));
        }
        s->sum[TOTAL_ENERGY][lane] = counts * (uint64_t)(mass * energy * (float)(1 << 20));
        s->sum[TOTAL_MASS][lane] = counts * (uint64_t)(mass * (float)(1ull << TOTAL_MASS_BITS));
        s->sum[TOTAL_HASH][lane] = counts * hash;
        s->sum[TOTAL_HASH + 1][lane] = counts * tile_mix_u64(hash ^ 0xd1b54a32d192ed03ull);
    }
    TILE_BARRIER();
    for (int k = 0; k < TOTAL_VOLUME; k++) {
        tile_sum_u64(s->sum[k], PARTICLE_LANES);
    }
    FOR_RANGE_ATOMIC (k, 0, TOTAL_VOLUME) {
        global_add_u64(&store->totals->sum[k], s->sum[k][0]);
    }
}

typedef struct tiles_scratch {
    uint64_t sum[2][CELL_LANES];
} tiles_scratch;

/// Adds to the hashes what a tank has besides particles: which tiles are occupied in one that is filled, and what is
/// kept of faces. One tile per active tile.
TILE_KERNEL(tank_totals_tiles, CELL_LANES, tank_args, tiles_scratch)
{
    const store_memory *store = &args->store;
    const uint32_t dense = args->grid.m.active_tile[tile];
    const uint64_t key = tile_mix_u64(dense + 0x632be59bd9b4e019ull);
    FOR_LANES (lane) {
        uint64_t sum = lane == 0 && store->awake != NULL && args->grid.m.level[0].index[dense] != TILE_NONE ? key : 0;
        for (uint32_t c = 0; store->kept[0] != NULL && c < 3; c++) {
            for (uint32_t i = lane; i < TILE_CELLS; i += CELL_LANES) {
                const float u = store->kept[c][(uint64_t)tile * TILE_CELLS + i];
                sum += u != 0.0f ? tile_mix_u64((key + c * TILE_CELLS + i) ^ (uint64_t)tile_bits_f32(u) << 32) : 0;
            }
        }
        s->sum[0][lane] = sum;
        s->sum[1][lane] = tile_mix_u64(sum);
    }
    TILE_BARRIER();
    tile_sum_u64(s->sum[0], CELL_LANES);
    tile_sum_u64(s->sum[1], CELL_LANES);
    if (TILE_SINGLE()) {
        global_add_u64(&store->totals->sum[TOTAL_HASH], s->sum[0][0]);
        global_add_u64(&store->totals->sum[TOTAL_HASH + 1], s->sum[1][0]);
    }
}
