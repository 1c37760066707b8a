/// Nodes and weights of the transfers between particles and grid. Private to the liquid's kernels.
///
/// Where functions take a `degree`, `affine` or `mixed`, callers pass constants: each kernel is compiled for its own.
/// Degrees: 1 trilinear weights, 2 quadratic and 3 cubic B-splines.
#ifndef TARN_KERNELS_TANK_SPLINE_H
#define TARN_KERNELS_TANK_SPLINE_H

#include "kernels/tank/store.h"

/// A particle's nodes along one axis: one more than the degree. Mirrored positions get mirrored bits: distances are
/// exact, and weights are one expression of mirrored distances.
typedef struct axis_nodes {
    int at;         ///< the first node: face `at`, or the centre of cell `at`, in cells of the tile
    float distance; ///< from the particle to the first node, cells
    float w[4];     ///< beyond the nodes 0
    float slope[4]; ///< what a value of 1 there adds to the affine field's slope: D^-1 w (x_node - x_particle)
} axis_nodes;

/// Cubic weights of the nodes before and behind the next ones, at a distance of 0..1 from the latter.
TILE_FN float cubic_near(float d)
{
    return 2.0f / 3.0f - d * d * (1.0f - 0.5f * d);
}

TILE_FN float cubic_far(float d)
{
    return d * d * d * (1.0f / 6.0f);
}

TILE_FN axis_nodes nodes_of(uint32_t position, int centered, int degree)
{
    const int half = 1 << (POSITION_BITS - 1);
    const int local = (int)(position & ((1u << TILE_POSITION_BITS) - 1)) - (centered ? half : 0);
    axis_nodes n;
    n.at = (local + (degree == 2 ? half : 0)) >> POSITION_BITS; // the nearest node, or the one below
    const float past = ((float)(local - n.at * 2 * half) + 0.5f) * (1.0f / (1 << POSITION_BITS));
    n.w[3] = n.slope[3] = 0.0f;
    if (degree == 3) {
        n.at -= 1;
        n.distance = -past - 1.0f;
        n.w[0] = cubic_far(1.0f - past);
        n.w[1] = cubic_near(past);
        n.w[2] = cubic_near(1.0f - past);
        n.w[3] = cubic_far(past);
        for (int i = 0; i < 4; i++) {
            n.slope[i] = 3.0f * n.w[i] * (n.distance + (float)i); // D = 1/3 cell^2
        }
    } else if (degree == 2) {
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

/// Nodes of a tile's scratch grid along each axis: -1..8; with quadratic weights -1..9, as its particles reach the face
/// after next of their cell; with cubic ones -2..9.
TILE_FN int node_edge_of(int degree)
{
    return degree == 3 ? NODE_EDGE_CUBIC : degree == 2 ? NODE_EDGE_QUADRATIC : NODE_EDGE;
}

/// How many of them come before node 0.
TILE_FN int nodes_before(int edge)
{
    return edge == NODE_EDGE_CUBIC ? 2 : 1;
}

/// A node of a scratch grid with `edge` nodes an axis.
TILE_FN int node_at(int edge, int x, int y, int z)
{
    const int low = nodes_before(edge);
    return ((z + low) * edge + (y + low)) * edge + (x + low);
}

/// What each of a cell's particles counts for: less where there are too many.
TILE_FN float cell_scale(const tank_args *args, uint32_t count)
{
    const float most = args->scale.cell_particles_max;
    return (float)count > most ? most / (float)count : 1.0f;
}

/// Scales by which particles of crowded cells count for less, and keeps the counts. Ends with a barrier.
TILE_FN void scale_cells(const tank_args *args, uint32_t tile, const uint32_t *cell_count, float *scale)
{
    const grid_memory *grid = &args->grid.m;
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint32_t count = cell_count[i];
        scale[i] = cell_scale(args, count);
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
