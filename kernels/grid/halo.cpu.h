/// How a processor loads a field with a border: row by row, what isn't there from a tile of zeros. Part of halo.h,
/// which says what HALO_LOAD makes.
#ifndef TARN_KERNELS_GRID_HALO_CPU_H
#define TARN_KERNELS_GRID_HALO_CPU_H

#define HALO_LOAD(name, type)                                                                                          \
    TILE_FN void name(type *to, int border, const type *field, const uint32_t *neighbour)                              \
    {                                                                                                                  \
        static const type zeros[TILE_CELLS] = {0};                                                                     \
        const int edge = TILE_EDGE + 2 * border;                                                                       \
        const type *from[27];                                                                                          \
        for (int n = 0; n < 27; n++)                                                                                   \
            from[n] = neighbour[n] == TILE_NONE ? zeros : field + (uint64_t)neighbour[n] * TILE_CELLS;                 \
        for (int row = 0; row < edge * edge; row++) {                                                                  \
            const int y = row % edge - border, z = row / edge - border, n = halo_tile(0, y, z);                        \
            const uint32_t cell = cell_index(0, y & 7, z & 7);                                                         \
            type *target = to + row * edge;                                                                            \
            for (int i = 0; i < border; i++)                                                                           \
                target[i] = from[n - 1][cell + (uint32_t)(TILE_EDGE - border + i)];                                    \
            TILE_IVDEP for (int i = 0; i < TILE_EDGE; i++) target[border + i] = from[n][cell + (uint32_t)i];           \
            for (int i = 0; i < border; i++)                                                                           \
                target[border + TILE_EDGE + i] = from[n + 1][cell + (uint32_t)i];                                      \
        }                                                                                                              \
    }

#endif
