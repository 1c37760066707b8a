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
        for (int k = 0; k < edge; k++)                                                                                 \
            for (int j = 0; j < edge; j++, to += edge) {                                                               \
                const int y = j - border, z = k - border;                                                              \
                const type *const *beside = from + halo_tile(0, y, z);                                                 \
                const uint32_t cell = cell_index(0, y & 7, z & 7);                                                     \
                for (int i = 0; i < border; i++)                                                                       \
                    to[i] = beside[-1][cell + (uint32_t)(TILE_EDGE - border + i)];                                     \
                memcpy(to + border, beside[0] + cell, TILE_EDGE * sizeof *to);                                         \
                for (int i = 0; i < border; i++)                                                                       \
                    to[border + TILE_EDGE + i] = beside[1][cell + (uint32_t)i];                                        \
            }                                                                                                          \
    }

#endif
