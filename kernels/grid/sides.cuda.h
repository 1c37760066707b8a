/// Cells of a tile and of its sides as blocks go through them: in one go, several of a lane's on their way at a time.
/// Part of halo.h, which says what LOAD_SIDES makes.
#ifndef TARN_KERNELS_GRID_SIDES_CUDA_H
#define TARN_KERNELS_GRID_SIDES_CUDA_H

#define RIM_OUTSIDE 0xfffffffeu ///< beside the tank

/// Active indices of the tiles on the sides, or TILE_NONE, or RIM_OUTSIDE. Ends without a barrier.
TILE_FN void find_beside(const grid_args *args, tile_place place, uint32_t *beside)
{
    FOR_RANGE (side, 0, 6) {
        const uint32_t dense = side_tile(args, 0, place, (int)side);
        beside[side] = dense != TILE_NONE ? args->m.slot[dense] : RIM_OUTSIDE;
    }
}

enum { RIM_TURNS = 2, SIDES_AT_ONCE = 4, RIM_SIDE = TILE_EDGE * TILE_EDGE };

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

#define LOAD_SIDES(name, type)                                                                                         \
    TILE_FN void name(const grid_args *args, tile_place place, uint32_t slot, const type *field, type *rim,            \
                      type missing, type outside)                                                                      \
    {                                                                                                                  \
        const uint32_t cells = TILE_CELLS + 6 * RIM_SIDE, lanes = blockDim.x;                                          \
        for (uint32_t first = threadIdx.x; first < cells; first += SIDES_AT_ONCE * lanes) {                            \
            uint32_t from[SIDES_AT_ONCE];                                                                              \
            type value[SIDES_AT_ONCE];                                                                                 \
            TILE_UNROLL for (uint32_t k = 0; k < SIDES_AT_ONCE; k++)                                                   \
            {                                                                                                          \
                const rim_cell c = rim_cell_of(tile_min_u32(first + k * lanes, cells - 1), 1);                         \
                const uint32_t dense = c.side >= 0 ? side_tile(args, 0, place, c.side) : TILE_NONE;                    \
                const uint32_t other = args->m.slot[dense != TILE_NONE ? dense : 0];                                   \
                from[k] = c.side < 0 ? slot : dense != TILE_NONE ? other : RIM_OUTSIDE;                                \
            }                                                                                                          \
            TILE_UNROLL for (uint32_t k = 0; k < SIDES_AT_ONCE; k++)                                                   \
            {                                                                                                          \
                const rim_cell c = rim_cell_of(tile_min_u32(first + k * lanes, cells - 1), 1);                         \
                value[k] = field[(uint64_t)(from[k] < RIM_OUTSIDE ? from[k] : slot) * TILE_CELLS + c.cell];            \
            }                                                                                                          \
            TILE_UNROLL for (uint32_t k = 0; k < SIDES_AT_ONCE; k++) if (first + k * lanes < cells)                    \
            {                                                                                                          \
                const type none = from[k] == RIM_OUTSIDE ? outside : missing;                                          \
                rim[rim_cell_of(first + k * lanes, 1).rim] = from[k] < RIM_OUTSIDE ? value[k] : none;                  \
            }                                                                                                          \
        }                                                                                                              \
        TILE_BARRIER();                                                                                                \
    }

#endif
