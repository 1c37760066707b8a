/// Regions of the tank in which particles are born or leave: shapes that kernels can ask for inside or outside. Private
/// to kernels/liquid.
#ifndef TARN_KERNELS_TANK_REGION_H
#define TARN_KERNELS_TANK_REGION_H

#include "kernels/tank/store.h"

/// Whether a point (cells) lies in a region.
TILE_FN int region_holds(const tank_region *region, float x, float y, float z)
{
    const float d[3] = {x - region->center[0], y - region->center[1], z - region->center[2]};
    float p[3];
    for (int a = 0; a < 3; a++) {
        p[a] = region->to_local[a][0] * d[0] + (region->to_local[a][1] * d[1] + region->to_local[a][2] * d[2]);
    }
    const float across = p[0] * p[0] + p[2] * p[2];
    const float *half = region->half;
    if (region->kind == REGION_BOX) {
        return tile_abs_f32(p[0]) <= half[0] && tile_abs_f32(p[1]) <= half[1] && tile_abs_f32(p[2]) <= half[2];
    }
    const float beyond = tile_max2_f32(tile_abs_f32(p[1]) - half[1], 0.0f);
    const float end = region->kind == REGION_CYLINDER ? (beyond > 0.0f ? half[0] * half[0] : 0.0f) : beyond * beyond;
    return across + end < half[0] * half[0];
}

/// Whether a region could meet a tile or what its particles reach in a substep, by the box around it.
TILE_FN int region_meets(const tank_region *region, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    int meets = 1;
    for (int a = 0; a < 3; a++) {
        const float corner = (float)(at[a] * TILE_EDGE);
        meets &= region->center[a] + region->extent[a] > corner - FLIGHT_CELLS_MAX &&
                 region->center[a] - region->extent[a] < corner + (float)TILE_EDGE + FLIGHT_CELLS_MAX;
    }
    return meets;
}

#endif
