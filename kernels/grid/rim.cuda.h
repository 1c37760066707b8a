/// How blocks load a tile's cells with those around it: in one go over the cells of the tile and of its sides, several
/// of a lane's on their way at a time. Part of poisson.h.
#ifndef TARN_KERNELS_GRID_RIM_CUDA_H
#define TARN_KERNELS_GRID_RIM_CUDA_H

enum { RIM_TURNS = 2, RIM_SIDE = TILE_EDGE * TILE_EDGE };
TILE_ASSERT((int)RIM_TURNS *(int)SOLVER_LANES >= (int)TILE_CELLS + 6 * (int)RIM_SIDE, "a tile and its sides");

typedef struct rim_cell {
    int side, rim; ///< -1: of the tile itself
    uint32_t cell;
} rim_cell;

/// Cell number n of a tile (0..511) and of its sides, 64 each.
/// @param sides  which of the six: 1: all, 2: the lower ones
TILE_FN rim_cell rim_cell_of(uint32_t n, int sides)
{
    rim_cell c;
    const int i = (int)n & 7, j = (int)n >> 3 & 7;
    if (n < TILE_CELLS) {
        c.side = -1;
        c.rim = rim_index(i, j, (int)n >> 6);
        c.cell = n;
    } else {
        c.side = (int)(n - TILE_CELLS) / RIM_SIDE * sides;
        c.rim = rim_of_side(c.side, i, j);
        c.cell = cell_of_side(c.side, i, j);
    }
    return c;
}

TILE_FN void load_lower_rim(const grid_args *args, uint32_t level, tile_place place, uint32_t tile, const float *field,
                            float *rim)
{
    float value[RIM_TURNS];
    TILE_UNROLL for (int k = 0; k < RIM_TURNS; k++)
    {
        const uint32_t n = (uint32_t)(k * SOLVER_LANES) + threadIdx.x;
        value[k] = 0.0f;
        if (n < TILE_CELLS + 3 * RIM_SIDE) {
            const rim_cell c = rim_cell_of(n, 2);
            const uint32_t dense = c.side >= 0 ? side_tile(args, level, place, c.side) : TILE_NONE;
            const uint32_t other = dense != TILE_NONE ? args->m.level[level].index[dense] : TILE_NONE;
            const uint32_t from = c.side >= 0 ? other : tile;
            value[k] = from != TILE_NONE ? field[(uint64_t)from * TILE_CELLS + c.cell] : 0.0f;
        }
    }
    TILE_UNROLL for (int k = 0; k < RIM_TURNS; k++)
    {
        const uint32_t n = (uint32_t)(k * SOLVER_LANES) + threadIdx.x;
        if (n < TILE_CELLS + 3 * RIM_SIDE) {
            rim[rim_cell_of(n, 2).rim] = value[k];
        }
    }
    TILE_BARRIER();
}

/// A lane's share of a tile's cells and of those of its sides.
typedef struct rim_values {
    float of[RIM_TURNS];
} rim_values;

TILE_FN rim_values fetch_densities(const grid_args *args, tile_place place, uint32_t slot, int upper)
{
    const uint32_t cells = TILE_CELLS + (uint32_t)(upper ? 6 : 3) * RIM_SIDE;
    rim_values value;
    TILE_UNROLL for (int k = 0; k < RIM_TURNS; k++)
    {
        const uint32_t n = (uint32_t)(k * SOLVER_LANES) + threadIdx.x;
        value.of[k] = 0.0f;
        if (n < cells) {
            const rim_cell c = rim_cell_of(n, upper ? 1 : 2);
            const uint32_t dense = c.side >= 0 ? side_tile(args, 0, place, c.side) : TILE_NONE;
            const uint32_t other = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
            const uint32_t from = c.side >= 0 ? other : slot;
            value.of[k] = from != TILE_NONE ? density_of(&args->m, (uint64_t)from * TILE_CELLS + c.cell) : 0.0f;
        }
    }
    return value;
}

TILE_FN void put_densities(rim_values value, int upper, float *density)
{
    const uint32_t cells = TILE_CELLS + (uint32_t)(upper ? 6 : 3) * RIM_SIDE;
    TILE_UNROLL for (int k = 0; k < RIM_TURNS; k++)
    {
        const uint32_t n = (uint32_t)(k * SOLVER_LANES) + threadIdx.x;
        if (n < cells) {
            density[rim_cell_of(n, upper ? 1 : 2).rim] = value.of[k];
        }
    }
}

TILE_FN void load_densities(const grid_args *args, tile_place place, uint32_t slot, int upper, float *density)
{
    put_densities(fetch_densities(args, place, slot, upper), upper, density);
}

#endif
