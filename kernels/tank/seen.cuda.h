/// How blocks add up what probes see: a particle for each lane. Part of probe.tile.c.
#ifndef TARN_KERNELS_TANK_SEEN_CUDA_H
#define TARN_KERNELS_TANK_SEEN_CUDA_H

typedef tile_no_scratch probe_seen;

/// Whether a particle is in a probe's box.
TILE_FN int probe_sees(const store_memory *store, const tank_probe *probe, uint32_t i)
{
    int seen = 1;
    TILE_UNROLL for (int a = 0; a < 3; a++) seen &= store->position[a][i] - probe->low[a] <= probe->extent[a];
    return seen;
}

TILE_FN void probe_add_point(const tank_probe_args *args, const tank_probe *probe, uint64_t (*sum)[PROBE_OWN],
                             uint32_t *some, uint32_t i, uint32_t own)
{
    const store_memory *store = &args->tank.store;
    const float at[3] = {probe_place(store->position[0][i]), probe_place(store->position[1][i]),
                         probe_place(store->position[2][i])};
    const float weight = probe_weight(&args->tank.grid.shape, probe->at, at);
    if (weight > 0.0f) {
        const uint32_t liquid = store->attribute != NULL ? store->attribute[i] & (LIQUIDS_MAX - 1) : 0;
        tile_or_u32(some, 1);
        sum[PROBE_WEIGHT][own] += probe_fixed(weight);
        sum[PROBE_MASS][own] += probe_fixed(weight * args->tank.scale.liquid_density[liquid]);
        for (int c = 0; c < 3; c++) {
            sum[PROBE_MOMENTUM + c][own] += probe_fixed(weight * store->velocity[c][i]);
        }
        for (uint32_t k = 0; k < args->carried_count; k++) {
            sum[PROBE_CARRIED + k][own] += probe_fixed(weight * store->carried[k][i]);
        }
    }
}

TILE_FN void probe_see_point(const tank_probe_args *args, const tank_probe *probe, tile_place, uint32_t first,
                             uint32_t end, probe_seen *, uint64_t (*sum)[PROBE_OWN], uint32_t *some)
{
    FOR_RANGE (i, first, end) {
        if (probe_sees(&args->tank.store, probe, i)) {
            probe_add_point(args, probe, sum, some, i, threadIdx.x);
        }
    }
}

/// Samples of a gauge within a cell of a particle, along each axis, get its weight.
TILE_FN void probe_add_gauge(const tank_probe_args *args, const tank_probe *probe, const float *at, int tile_first,
                             uint32_t *sample)
{
    const int32_t *cells = args->tank.grid.shape.cells;
    float across = 1.0f, first = 0.0f, last = probe->length[0];
    for (int a = 0; a < 3; a++) {
        if (probe->per_along[a] == 0.0f) {
            across *= probe_hat(probe->at[a], at[a], cells[a]);
        } else if (cells[a] > 1) {
            const float middle = (at[a] - probe->at[a]) * probe->per_along[a],
                        reach = tile_abs_f32(probe->per_along[a]);
            first = tile_max2_f32(first, middle - reach);
            last = tile_min_f32(last, middle + reach);
        }
    }
    if (across <= 0.0f) {
        return;
    }
    // The samples' own weights decide at the ends.
    const int lo = tile_max_i32(
        (int)tile_floor_f32(tile_clamp_f32(first, 0.0f, probe->length[0]) * probe->per_part - 0.5f), tile_first);
    const int hi =
        tile_min_i32((int)tile_floor_f32(tile_clamp_f32(last, 0.0f, probe->length[0]) * probe->per_part - 0.5f) + 2,
                     tile_min_i32((int)probe->samples, tile_first + PROBE_TILE_SAMPLES));
    for (int k = lo; k < hi; k++) {
        const float along = ((float)k + 0.5f) * probe->part;
        float weight = across;
        for (int a = 0; a < 3; a++) {
            if (probe->per_along[a] != 0.0f) {
                weight *= probe_hat(probe->at[a] + along * probe->along[a], at[a], cells[a]);
            }
        }
        tile_add_u32(&sample[k - tile_first], (uint32_t)(weight * (float)(1 << PROBE_SAMPLE_BITS)));
    }
}

TILE_FN void probe_see_gauge(const tank_probe_args *args, const tank_probe *probe, tile_place, int tile_first,
                             uint32_t first, uint32_t end, probe_seen *, uint32_t *sample)
{
    const store_memory *store = &args->tank.store;
    FOR_RANGE_ATOMIC (i, first, end) {
        if (probe_sees(store, probe, i)) {
            const float at[3] = {probe_place(store->position[0][i]), probe_place(store->position[1][i]),
                                 probe_place(store->position[2][i])};
            probe_add_gauge(args, probe, at, tile_first, sample);
        }
    }
}

TILE_FN void probe_see_flux(const tank_probe_args *args, const tank_probe *probe, uint32_t first, uint32_t end,
                            uint64_t *sum)
{
    FOR_RANGE (i, first, end) {
        sum[threadIdx.x] += probe_fixed_flux(probe->is_along_axes ? probe_brings(args, probe, 1, i, 1)
                                                                  : probe_brings(args, probe, 0, i, 1));
    }
}

#endif
