/// What one tile makes of all tiles' partial results, the same in whatever order those come. Private to the grid.
#ifndef TARN_KERNELS_GRID_PARTIALS_H
#define TARN_KERNELS_GRID_PARTIALS_H

#include "kernels/grid/grid.h"

enum {
    CHECK_LANES = 256,
    DOT_BITS = 43, ///< of the largest summand: with 2^18 tiles a sum takes 61
};

typedef struct check_scratch {
    int64_t sum[CHECK_LANES];
    float max[CHECK_LANES];
} check_scratch;

/// Largest magnitude of the tiles' partial results, infinite where one is not finite: in s->max[0].
TILE_FN void largest_partial(const grid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied;
    FOR_RANGE (i, 0, CHECK_LANES) {
        float largest = 0.0f;
        for (uint32_t at = i; at < count; at += CHECK_LANES) {
            largest = tile_max2_f32(tile_magnitude_f32(m->partial[at]), largest);
        }
        s->max[i] = largest;
    }
    TILE_BARRIER();
    tile_max_f32(s->max, CHECK_LANES);
}

/// The sum of the tiles' partial dot products, the same in whatever order the tiles come: scaled by a power of two so
/// that the largest has DOT_BITS bits, cut to integers, and summed exactly. Infinite where a summand is not finite.
TILE_FN float sum_partials(const grid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied;
    largest_partial(m, s);
    if (!tile_is_finite_f32(s->max[0])) {
        return s->max[0];
    }
    const int exponent = (int)(tile_bits_f32(s->max[0]) >> 23) - 126; // the largest is under 2^exponent
    const double up = tile_power_of_2_f64(DOT_BITS - exponent), down = tile_power_of_2_f64(exponent - DOT_BITS);
    FOR_RANGE (i, 0, CHECK_LANES) {
        int64_t total = 0;
        for (uint32_t at = i; at < count; at += CHECK_LANES) {
            total += (int64_t)((double)m->partial[at] * up);
        }
        s->sum[i] = total;
    }
    TILE_BARRIER();
    tile_sum_i64(s->sum, CHECK_LANES);
    return (float)((double)s->sum[0] * down);
}

#endif
