/// What one tile makes of all tiles' partial results, the same in whatever order those come. Private to the grid.
#ifndef TARN_KERNELS_GRID_PARTIALS_H
#define TARN_KERNELS_GRID_PARTIALS_H

#include "kernels/grid/grid.h"

enum {
    CHECK_LANES = 256,
    DOT_BITS = 43, ///< of the largest summand: with 2^18 tiles a sum takes 61
};

// A form of these for each device:
//
//     check_scratch
//     largest_partial(m, s)  the largest magnitude of the tiles' partial results, infinite where one is not finite
//     sum_partials(m, s)     their sum, the same in whatever order the tiles come: scaled by a power of two so that the
//                            largest has DOT_BITS bits, cut to integers, and summed exactly. Infinite where a summand
//                            is not finite
// Both: what they give is the TILE_SINGLE lane's.

/// By what a sum whose largest summand this is is scaled, and scaled back.
typedef struct partial_scale {
    double up, down;
} partial_scale;

TILE_FN partial_scale partial_scale_of(float largest)
{
    const int exponent = (int)(tile_bits_f32(largest) >> 23) - 126; // the largest is under 2^exponent
    partial_scale scale;
    scale.up = tile_power_of_2_f64(DOT_BITS - exponent);
    scale.down = tile_power_of_2_f64(exponent - DOT_BITS);
    return scale;
}

#include TILE_FORM(partials)

#endif
