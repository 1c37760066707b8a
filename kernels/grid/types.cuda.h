/// How blocks make bits of the types of a tile's cells: a row a lane. Part of halo.h.
#ifndef TARN_KERNELS_GRID_TYPES_CUDA_H
#define TARN_KERNELS_GRID_TYPES_CUDA_H

/// The rows of the tile itself. `from`: types of the tiles on its sides, `missing` where that is NULL.
TILE_FN void type_rows_inside(const uint8_t *own, const uint8_t *const *from, const uint32_t *missing, type_rows *to)
{
    FOR_RANGE (r, 0, TILE_ROWS) {
        const uint32_t low = from[0] != NULL ? from[0][r * TILE_EDGE + TILE_EDGE - 1] : missing[0],
                       high = from[1] != NULL ? from[1][r * TILE_EDGE] : missing[1];
        const int at = rim_row((int)r & 7, (int)r >> 3);
        to->liquid[at] = (uint16_t)(row_bits(own + r * TILE_EDGE, 0) << 1 | (low & 1) | (high & 1) << 9);
        to->solid[at] = (uint16_t)(row_bits(own + r * TILE_EDGE, 1) << 1 | (low >> 1 & 1) | (high >> 1 & 1) << 9);
    }
}

#endif
