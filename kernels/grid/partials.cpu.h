/// Tile by tile. Part of partials.h.
#ifndef TARN_KERNELS_GRID_PARTIALS_CPU_H
#define TARN_KERNELS_GRID_PARTIALS_CPU_H

typedef struct check_scratch {
    int64_t sum[CHECK_LANES];
    float max[CHECK_LANES];
} check_scratch;

TILE_FN float largest_partial(const grid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied;
    FOR_RANGE (i, 0, CHECK_LANES) {
        float largest = 0.0f;
        for (uint32_t at = i; at < count; at += CHECK_LANES) {
            largest = tile_max2_f32(tile_magnitude_f32(m->partial[at]), largest);
        }
        s->max[i] = largest;
    }
    tile_max_f32(s->max, CHECK_LANES);
    return s->max[0];
}

TILE_FN float sum_partials(const grid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied;
    const float largest = largest_partial(m, s);
    if (!tile_is_finite_f32(largest)) {
        return largest;
    }
    const partial_scale scale = partial_scale_of(largest);
    FOR_RANGE (i, 0, CHECK_LANES) {
        int64_t total = 0;
        for (uint32_t at = i; at < count; at += CHECK_LANES) {
            total += (int64_t)((double)m->partial[at] * scale.up);
        }
        s->sum[i] = total;
    }
    tile_sum_i64(s->sum, CHECK_LANES);
    return (float)((double)s->sum[0] * scale.down);
}

#endif
