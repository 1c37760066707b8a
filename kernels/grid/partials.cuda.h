/// A warp's lanes merge what they have by themselves: maxima and integer sums may go in any order. Part of partials.h.
#ifndef TARN_KERNELS_GRID_PARTIALS_CUDA_H
#define TARN_KERNELS_GRID_PARTIALS_CUDA_H

enum { CHECK_WARPS = 32 };

typedef struct check_scratch {
    int64_t sum[CHECK_WARPS];
    uint32_t max[CHECK_WARPS];
} check_scratch;

/// For all lanes, with the lane's first partial result. Magnitudes order as their bits.
TILE_FN float find_largest(const grid_memory *m, uint32_t count, float *own, check_scratch *s)
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    *own = threadIdx.x < count ? m->partial[threadIdx.x] : 0.0f;
    uint32_t most = tile_bits_f32(tile_magnitude_f32(*own));
    for (uint32_t at = threadIdx.x + blockDim.x; at < count; at += blockDim.x) {
        most = tile_max_u32(tile_bits_f32(tile_magnitude_f32(m->partial[at])), most);
    }
    most = __reduce_max_sync(0xffffffffu, most);
    if (lane == 0) {
        s->max[warp] = most;
    }
    TILE_BARRIER();
    return tile_f32_bits(__reduce_max_sync(0xffffffffu, lane < blockDim.x / 32 ? s->max[lane] : 0));
}

TILE_FN float largest_partial(const grid_memory *m, check_scratch *s)
{
    float own;
    return find_largest(m, m->counters->occupied, &own, s);
}

TILE_FN float sum_partials(const grid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied, lane = threadIdx.x % 32;
    float own;
    const float largest = find_largest(m, count, &own, s);
    if (!tile_is_finite_f32(largest)) {
        return largest;
    }
    const partial_scale scale = partial_scale_of(largest);
    int64_t total = (int64_t)((double)own * scale.up);
    for (uint32_t at = threadIdx.x + blockDim.x; at < count; at += blockDim.x) {
        total += (int64_t)((double)m->partial[at] * scale.up);
    }
    for (uint32_t by = 16; by > 0; by /= 2) {
        total += __shfl_down_sync(0xffffffffu, total, by);
    }
    if (lane == 0) {
        s->sum[threadIdx.x / 32] = total;
    }
    TILE_BARRIER();
    total = lane < blockDim.x / 32 ? s->sum[lane] : 0;
    for (uint32_t by = 16; by > 0; by /= 2) {
        total += __shfl_down_sync(0xffffffffu, total, by);
    }
    return (float)((double)total * scale.down);
}

#endif
