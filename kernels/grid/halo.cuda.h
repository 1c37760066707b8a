/// How blocks load a field with a border: a cell for each lane. Part of halo.h, which says what HALO_LOAD makes.
#ifndef TARN_KERNELS_GRID_HALO_CUDA_H
#define TARN_KERNELS_GRID_HALO_CUDA_H

#define HALO_LOAD(name, type)                                                                                          \
    TILE_FN void name(type *to, int border, const type *field, const uint32_t *neighbour)                              \
    {                                                                                                                  \
        const int edge = TILE_EDGE + 2 * border;                                                                       \
        FOR_BOX (i, j, k, edge, edge, edge) {                                                                          \
            const int x = i - border, y = j - border, z = k - border;                                                  \
            const uint32_t slot = neighbour[halo_tile(x, y, z)];                                                       \
            const uint64_t from = (uint64_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);                       \
            to[(k * edge + j) * edge + i] = slot != TILE_NONE ? field[from] : (type)0;                                 \
        }                                                                                                              \
    }

#endif
