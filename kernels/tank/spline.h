/// Nodes and weights of the transfers between particles and grid. Private to the liquid's kernels.
///
/// Where functions take `quadratic`, `affine` or `mixed`, callers pass constants: each kernel is compiled for its own.
#ifndef TARN_KERNELS_TANK_SPLINE_H
#define TARN_KERNELS_TANK_SPLINE_H

#include "kernels/tank/store.h"

/// A particle's nodes along one axis: two with trilinear weights, three with quadratic B-splines. Mirrored positions
/// get mirrored bits: distances are exact, and the outer weights are one expression of mirrored distances.
typedef struct axis_nodes {
    int at;         ///< the first node: face `at`, or the centre of cell `at`, in cells of the tile
    float distance; ///< from the particle to the first node, cells
    float w[3];
    float slope[3]; ///< what a value of 1 there adds to the affine field's slope: D^-1 w (x_node - x_particle)
} axis_nodes;

TILE_FN axis_nodes nodes_of(uint32_t position, int centered, int quadratic)
{
    const int half = 1 << (POSITION_BITS - 1);
    const int local = (int)(position & ((1u << TILE_POSITION_BITS) - 1)) - (centered ? half : 0);
    axis_nodes n;
    n.at = (local + (quadratic ? half : 0)) >> POSITION_BITS; // the nearest node, or the one below
    const float past = ((float)(local - n.at * 2 * half) + 0.5f) * (1.0f / (1 << POSITION_BITS));
    if (quadratic) {
        const float below = 0.5f - past, above = 0.5f + past;
        n.at -= 1;
        n.distance = -past - 1.0f;
        n.w[0] = 0.5f * below * below;
        n.w[1] = 0.75f - past * past;
        n.w[2] = 0.5f * above * above;
        for (int i = 0; i < 3; i++) {
            n.slope[i] = 4.0f * n.w[i] * (n.distance + (float)i); // D = 1/4 cell^2
        }
    } else {
        n.distance = -past;
        n.w[0] = 1.0f - past;
        n.w[1] = past;
        n.w[2] = 0.0f;
        n.slope[0] = -1.0f; // w (x_node - x) = -+ past (1 - past) = -+ D
        n.slope[1] = 1.0f;
        n.slope[2] = 0.0f;
    }
    return n;
}

/// Nodes of a tile's scratch grid along each axis: -1..8, and with quadratic weights -1..9, as its particles reach the
/// face after next of their cell.
TILE_FN int node_edge_of(int quadratic)
{
    return quadratic ? NODE_EDGE_QUADRATIC : NODE_EDGE;
}

/// A node of a scratch grid with `edge` nodes an axis.
TILE_FN int node_at(int edge, int x, int y, int z)
{
    return ((z + 1) * edge + (y + 1)) * edge + (x + 1);
}

/// Scales by which particles of crowded cells count for less, and keeps the counts. Ends with a barrier.
TILE_FN void scale_cells(const tank_args *args, uint32_t tile, const uint32_t *cell_count, float *scale)
{
    const grid_memory *grid = &args->grid.m;
    const float most = args->scale.cell_particles_max;
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint32_t count = cell_count[i];
        scale[i] = (float)count > most ? most / (float)count : 1.0f;
        grid->cell_count[(uint64_t)tile * TILE_CELLS + i] = (uint8_t)(count < 255 ? count : 255);
    }
    TILE_BARRIER();
}

/// Counts a tile's particles per cell, and says by how much those of crowded cells are scaled down. All counts are zero
/// before; ends with a barrier.
TILE_FN void count_cells(const tank_args *args, uint32_t tile, uint32_t first, uint32_t end, uint32_t *cell_count,
                         float *scale)
{
    FOR_RANGE_ATOMIC (i, first, end) {
        tile_add_u32(&cell_count[particle_cell(&args->store, i)], 1);
    }
    TILE_BARRIER();
    scale_cells(args, tile, cell_count, scale);
}

#endif
