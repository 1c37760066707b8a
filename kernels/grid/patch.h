/// What every matrix of a Poisson equation ends with: the lists by which the solver finds its way. Private to kernels.
#ifndef TARN_KERNELS_GRID_PATCH_H
#define TARN_KERNELS_GRID_PATCH_H

#include "kernels/grid/lines.h"
#include "kernels/grid/poisson.h"

/// Where a tile's matrix has the coefficient of a face normal to an axis, 0..8 along it.
TILE_FN int face_index(int axis, int x, int y, int z)
{
    return axis == 0 ? (z * 8 + y) * 9 + x : axis == 1 ? (z * 9 + y) * 8 + x : (z * 8 + y) * 8 + x;
}

typedef struct patch_scratch {
    uint32_t child[8]; ///< of the finer level, x fastest, or TILE_NONE
    uint32_t full[2];  ///< rows with equations as bits
} patch_scratch;

TILE_FN uint32_t level_tile(const grid_args *args, uint32_t level, int x, int y, int z)
{
    const uint32_t dense = tile_dense_of(&args->shape, level, x, y, z);
    return dense != TILE_NONE ? args->m.level[level].index[dense] : TILE_NONE;
}

/// Where the tiles around one, below it and above it are: all looked up at once. Ends without a barrier.
TILE_FN void begin_patch(const grid_args *args, uint32_t l, tile_place place, uint32_t tile, patch_scratch *s)
{
    enum { BESIDE = 6, CHILDREN = 8 };
    grid_patch *patch = args->m.level[l].patch + tile;
    FOR_RANGE (n, 0, BESIDE + CHILDREN + 1) {
        const int side = (int)n, step = side % 2 == 0 ? -1 : 1, child = side - BESIDE;
        uint32_t found = TILE_NONE;
        if (n < BESIDE) {
            found = level_tile(args, l, place.x + (side / 2 == 0 ? step : 0), place.y + (side / 2 == 1 ? step : 0),
                               place.z + (side / 2 == 2 ? step : 0));
            patch->beside[n] = found;
        } else if (n < BESIDE + CHILDREN) {
            if (l > 0) {
                found = level_tile(args, l - 1, 2 * place.x + (child & 1), 2 * place.y + (child >> 1 & 1),
                                   2 * place.z + (child >> 2));
            }
            patch->child[child] = s->child[child] = found;
        } else {
            if (l + 1 < args->shape.level_count) {
                found = level_tile(args, l + 1, place.x >> 1, place.y >> 1, place.z >> 1);
            }
            patch->parent = found;
            patch->octant = (uint32_t)((place.x & 1) | (place.y & 1) << 1 | (place.z & 1) << 2);
        }
    }
    if (TILE_SINGLE()) {
        s->full[0] = s->full[1] = 0;
    }
}

/// Lists the rows with equations first, of so many. The diagonal is the tile's. Ends without a barrier.
TILE_FN void list_rows(const float *diagonal, uint32_t rows, grid_patch *patch, patch_scratch *s)
{
    FOR_RANGE_ATOMIC (row, 0, rows) {
        tile_or_u32(&s->full[row >> 5], (uint32_t)(row_positive(diagonal + row * 8) != 0) << (row & 31));
    }
    TILE_BARRIER();
    const uint32_t low = s->full[0], high = s->full[1];
    const uint32_t low_count = tile_popcount_u32(low), total = low_count + tile_popcount_u32(high);
    FOR_RANGE (row, 0, rows) {
        const uint32_t word = row < 32 ? low : high, bit = 1u << (row & 31);
        const uint32_t before = (row < 32 ? 0 : low_count) + tile_popcount_u32(word & (bit - 1));
        patch->row[(word & bit) != 0 ? before : total + row - before] = (uint8_t)row;
    }
    if (TILE_SINGLE()) {
        patch->row_count = total;
        patch->row_end = rows;
        patch->full[0] = low;
        patch->full[1] = high;
    }
}

/// What else the solver needs to know of a tile whose matrix stands, after begin_patch and a barrier; and its vectors
/// are zero where nothing writes them.
TILE_FN void end_patch(const grid_args *args, uint32_t l, uint32_t tile, patch_scratch *s)
{
    const grid_level *level = &args->m.level[l];
    const uint32_t rows = tile_rows(&args->shape);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    list_rows(level->diagonal + own, rows, level->patch + tile, s);
    FOR_RANGE (i, 0, rows * TILE_EDGE) {
        level->x[own + i] = 0.0f;
    }
    if (level->y != NULL) {
        FOR_RANGE (i, 0, rows * TILE_EDGE) {
            level->y[own + i] = 0.0f;
        }
    }
    if (l == 0) {
        FOR_RANGE (i, 0, rows * TILE_EDGE) {
            args->m.product[own + i] = 0.0f;
        }
    }
}

#endif
