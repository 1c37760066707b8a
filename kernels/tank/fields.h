/// What a tank's models have their fields from: kernels that fill cells of listed tiles. Private to kernels; included
/// by kernels, so it is C17 and C++17 at once.
#ifndef TARN_KERNELS_TANK_FIELDS_H
#define TARN_KERNELS_TANK_FIELDS_H

#include "kernels/tank/store.h"

/// The argument of these kernels; the tank's comes first.
typedef struct tank_field_args {
    tank_args tank;
    const uint32_t *tile;  ///< [i] dense
    float *to;             ///< [i][512]
    const float *value[3]; ///< of particles; or value[0] of the solved tiles' cells, [i][512]
    uint32_t axes;         ///< of `value`: the magnitude of so many
    uint32_t is_share;     ///< of particles: 1: their sum over how many a cell has at rest; 0: their mean
    uint32_t is_curl;      ///< of the flow: 1: of its curl; 0: of itself
    float scale;           ///< of all
} tank_field_args;

#endif
