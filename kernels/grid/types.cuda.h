/// How blocks make bits of the types of a tile's cells: a row a lane, those around the tile, too. Part of halo.h.
#ifndef TARN_KERNELS_GRID_TYPES_CUDA_H
#define TARN_KERNELS_GRID_TYPES_CUDA_H

/// Types of the tile on a side, or NULL; then `missing` is what its cells count as.
TILE_FN const uint8_t *types_beside(const grid_args *args, uint32_t beside, uint32_t *missing)
{
    *missing = beside == RIM_OUTSIDE ? CELL_SOLID : CELL_AIR;
    return beside < RIM_OUTSIDE ? args->m.cell_type + (uint64_t)beside * TILE_CELLS : NULL;
}

/// load_type_rows where to->beside is known. Ends without a barrier.
TILE_FN void put_type_rows(const grid_args *args, uint32_t slot, type_rows *to)
{
    const uint8_t *own = args->m.cell_type + (uint64_t)slot * TILE_CELLS;
    FOR_RANGE (r, 0, TILE_ROWS + 4 * TILE_EDGE) {
        uint32_t missing, none;
        if (r < TILE_ROWS) {
            const uint8_t *left = types_beside(args, to->beside[0], &missing),
                          *right = types_beside(args, to->beside[1], &none);
            const uint32_t low = left != NULL ? left[r * TILE_EDGE + TILE_EDGE - 1] : missing,
                           high = right != NULL ? right[r * TILE_EDGE] : none;
            const int at = rim_row((int)r & 7, (int)r >> 3);
            to->liquid[at] = (uint16_t)(row_bits(own + r * TILE_EDGE, 0) << 1 | (low & 1) | (high & 1) << 9);
            to->solid[at] = (uint16_t)(row_bits(own + r * TILE_EDGE, 1) << 1 | (low >> 1 & 1) | (high >> 1 & 1) << 9);
        } else {
            const int side = 2 + (int)(r - TILE_ROWS) / TILE_EDGE, i = (int)r % TILE_EDGE;
            const int out = side % 2 == 0 ? -1 : TILE_EDGE, in = side % 2 == 0 ? TILE_EDGE - 1 : 0;
            const int at = side < 4 ? rim_row(out, i) : rim_row(i, out);
            const int row = side < 4 ? i * TILE_EDGE + in : in * TILE_EDGE + i;
            const uint8_t *beside = types_beside(args, to->beside[side], &missing);
            const uint8_t *cells = beside != NULL ? beside + row * TILE_EDGE : NULL;
            to->liquid[at] = (uint16_t)((cells != NULL ? row_bits(cells, 0) : (missing & 1) * 0xffu) << 1);
            to->solid[at] = (uint16_t)((cells != NULL ? row_bits(cells, 1) : (missing >> 1) * 0xffu) << 1);
        }
    }
}

TILE_FN void load_type_rows(const grid_args *args, tile_place place, uint32_t slot, type_rows *to)
{
    find_beside(args, place, to->beside);
    TILE_BARRIER();
    put_type_rows(args, slot, to);
    TILE_BARRIER();
}

#endif
