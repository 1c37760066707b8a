/// The matrix of a Poisson equation as its kernels see it. Private to the liquid's kernels.
///
///     pressure            A p = -div u           then  u -= grad p
///     density correction  A q = density error    then  particles move by -grad q   (Kugelstadt et al. 2019)
///
/// A is the 7-point Laplacian of the liquid cells: air is zero (Dirichlet), walls let nothing through (Neumann).
///
/// Every sum here runs in pairs of opposite neighbours, and nothing depends on the order of tiles, so that a mirrored
/// tank gets the mirrored bits where its tiles pair up the same way on every level: along an axis whose number of tiles
/// is a power of two.
#ifndef TARN_KERNELS_LIQUID_POISSON_H
#define TARN_KERNELS_LIQUID_POISSON_H

#include "kernels/liquid/halo.h"

/// Sum over the neighbours of coefficient times value.
TILE_FN float neighbour_sum(const float *ax, const float *ay, const float *az, const float *rim, int x, int y, int z)
{
    const int at = rim_index(x, y, z);
    const int fx = (z * 8 + y) * 9 + x, fy = (z * 9 + y) * 8 + x, fz = (z * 8 + y) * 8 + x;
    return ((ax[fx] * rim[at - 1] + ax[fx + 1] * rim[at + 1]) +
            (ay[fy] * rim[at - RIM_EDGE] + ay[fy + 8] * rim[at + RIM_EDGE])) +
           (az[fz] * rim[at - RIM_EDGE * RIM_EDGE] + az[fz + 64] * rim[at + RIM_EDGE * RIM_EDGE]);
}

typedef struct tile_matrix {
    const float *ax, *ay, *az, *diagonal;
} tile_matrix;

TILE_FN tile_matrix matrix_of(const liquid_level *level, uint32_t tile)
{
    tile_matrix a;
    a.ax = level->ax + (uint64_t)tile * TILE_FACES;
    a.ay = level->ay + (uint64_t)tile * TILE_FACES;
    a.az = level->az + (uint64_t)tile * TILE_FACES;
    a.diagonal = level->diagonal + (uint64_t)tile * TILE_CELLS;
    return a;
}

#endif
