/// How blocks clear their sums and bring them to device memory: sums lie by node. Part of transfer.tile.c.
#ifndef TARN_KERNELS_LIQUID_TRANSFER_CUDA_H
#define TARN_KERNELS_LIQUID_TRANSFER_CUDA_H

/// Clears all sums.
TILE_FN void clear_sums(p2g_scratch *s, int c)
{
    FOR_RANGE (i, 0, NODE_COUNT * 2) {
        s->sum[i] = 0;
    }
    TILE_BARRIER();
}

/// Brings the sums of a component to device memory.
TILE_FN void write_sums(const liquid_args *args, const p2g_scratch *s, int c, uint32_t tile)
{
    const liquid_memory *m = &args->m;
    const uint64_t base = (uint64_t)tile * NODE_COUNT;
    int32_t *to = (c == DENSITY ? m->density : m->momentum[c]) + base,
            *weight = c == DENSITY ? to : m->weight[c] + base;
    FOR_RANGE (i, 0, NODE_COUNT) {
        to[i] = s->sum[i * (uint32_t)values_of(c)];
        if (c != DENSITY) {
            weight[i] = s->sum[2 * i + 1];
        }
    }
    TILE_BARRIER();
}

#endif
