/// How blocks clear their sums and bring them to device memory: sums lie by node. Part of transfer.tile.c.
#ifndef TARN_KERNELS_LIQUID_TRANSFER_CUDA_H
#define TARN_KERNELS_LIQUID_TRANSFER_CUDA_H

/// Clears all sums.
TILE_FN void clear_sums(p2g_scratch *s, int pass)
{
    FOR_RANGE (i, 0, NODE_COUNT * 2) {
        s->sum[i] = 0;
    }
    TILE_BARRIER();
}

/// Brings the sums of a pass to device memory.
TILE_FN void write_sums(const liquid_args *args, const p2g_scratch *s, int pass, uint32_t tile)
{
    const uint64_t base = (uint64_t)tile * NODE_COUNT;
    int32_t *to = sums_of(&args->m, pass) + base, *weight = pass < DENSITY ? args->m.weight[pass] + base : to;
    FOR_RANGE (i, 0, NODE_COUNT) {
        to[i] = s->sum[i * (uint32_t)values_of(pass)];
        if (pass < DENSITY) {
            weight[i] = s->sum[2 * i + 1];
        }
    }
    TILE_BARRIER();
}

#endif
