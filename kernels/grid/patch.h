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
    uint32_t before[TILE_ROWS]; ///< rows with equations
    uint32_t total;
    uint32_t full[2]; ///< the same as bits
} patch_scratch;

/// Lists the rows with equations first, of so many. The diagonal is the tile's.
TILE_FN void list_rows(const float *diagonal, uint32_t rows, grid_patch *patch, patch_scratch *s)
{
    if (TILE_SINGLE()) {
        s->full[0] = s->full[1] = 0;
    }
    FOR_RANGE (row, 0, rows) {
        const float *d = diagonal + row * 8;
        const float a = tile_max2_f32(tile_max2_f32(d[0], d[1]), tile_max2_f32(d[2], d[3])),
                    b = tile_max2_f32(tile_max2_f32(d[4], d[5]), tile_max2_f32(d[6], d[7]));
        s->before[row] = tile_max2_f32(a, b) > 0.0f;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (row, 0, rows) {
        tile_or_u32(&s->full[row >> 5], s->before[row] << (row & 31));
    }
    tile_scan_u32(s->before, rows, &s->total);
    FOR_RANGE (row, 0, rows) {
        const uint32_t before = s->before[row], end = row + 1 < rows ? s->before[row + 1] : s->total;
        patch->row[end > before ? before : s->total + row - before] = (uint8_t)row;
    }
    if (TILE_SINGLE()) {
        patch->row_count = s->total;
        patch->row_end = rows;
        patch->full[0] = s->full[0];
        patch->full[1] = s->full[1];
    }
}

TILE_FN uint32_t level_tile(const grid_args *args, uint32_t level, int x, int y, int z)
{
    const uint32_t dense = tile_dense_of(&args->shape, level, x, y, z);
    return dense != TILE_NONE ? args->m.level[level].index[dense] : TILE_NONE;
}

/// What the solver needs to know of a tile whose matrix stands; and its vectors are zero where nothing writes them.
TILE_FN void make_patch(const grid_args *args, uint32_t l, tile_place place, uint32_t tile, patch_scratch *s)
{
    const grid_level *level = &args->m.level[l];
    grid_patch *patch = level->patch + tile;
    const uint32_t rows = tile_rows(&args->shape);
    list_rows(level->diagonal + (uint64_t)tile * TILE_CELLS, rows, patch, s);
    FOR_RANGE (side, 0, 6) {
        const int step = side % 2 == 0 ? -1 : 1;
        patch->beside[side] = level_tile(args, l, place.x + (side / 2 == 0 ? step : 0),
                                         place.y + (side / 2 == 1 ? step : 0), place.z + (side / 2 == 2 ? step : 0));
    }
    FOR_RANGE (n, 0, 8) {
        patch->child[n] = l > 0 ? level_tile(args, l - 1, 2 * place.x + (int)(n & 1), 2 * place.y + (int)(n >> 1 & 1),
                                             2 * place.z + (int)(n >> 2))
                                : TILE_NONE;
    }
    if (TILE_SINGLE()) {
        patch->parent = l + 1 < args->shape.level_count
                            ? level_tile(args, l + 1, place.x >> 1, place.y >> 1, place.z >> 1)
                            : TILE_NONE;
        patch->octant = (uint32_t)((place.x & 1) | (place.y & 1) << 1 | (place.z & 1) << 2);
    }
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
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
