/// How blocks load a field with a border: a cell for each lane, and several of them on their way at a time. Part of
/// halo.h, which says what HALO_LOAD makes.
#ifndef TARN_KERNELS_GRID_HALO_CUDA_H
#define TARN_KERNELS_GRID_HALO_CUDA_H

enum { HALO_AT_ONCE = 4 };

#define HALO_LOAD(name, type)                                                                                          \
    TILE_FN void name(type *to, int border, const type *field, const uint32_t *neighbour)                              \
    {                                                                                                                  \
        const int edge = TILE_EDGE + 2 * border, cells = edge * edge * edge, lanes = (int)blockDim.x;                  \
        for (int first = (int)threadIdx.x; first < cells; first += HALO_AT_ONCE * lanes) {                             \
            type value[HALO_AT_ONCE];                                                                                  \
            TILE_UNROLL for (int i = 0; i < HALO_AT_ONCE; i++)                                                         \
            {                                                                                                          \
                const int at = tile_min_i32(first + i * lanes, cells - 1);                                             \
                const int x = at % edge - border, y = at / edge % edge - border, z = at / (edge * edge) - border;      \
                const uint32_t slot = neighbour[halo_tile(x, y, z)];                                                   \
                const uint64_t from = (uint64_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);                   \
                value[i] = slot != TILE_NONE ? field[from] : (type)0;                                                  \
            }                                                                                                          \
            TILE_UNROLL for (int i = 0; i < HALO_AT_ONCE; i++) if (first + i * lanes < cells) to[first + i * lanes] =  \
                value[i];                                                                                              \
        }                                                                                                              \
    }

#endif
