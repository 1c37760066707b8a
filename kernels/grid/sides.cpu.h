/// How a processor loads a field with its sides: one after the other. Part of halo.h.
#ifndef TARN_KERNELS_GRID_SIDES_CPU_H
#define TARN_KERNELS_GRID_SIDES_CPU_H

#define LOAD_SIDES(name, type)                                                                                         \
    TILE_FN void name(const grid_args *args, tile_place place, uint32_t slot, const type *field, type *rim,            \
                      type missing, type outside)                                                                      \
    {                                                                                                                  \
        const type *own = field + (uint64_t)slot * TILE_CELLS;                                                         \
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)                                                             \
            rim[rim_index(x, y, z)] = own[cell_index(x, y, z)];                                                        \
        for (int side = 0; side < 6; side++) {                                                                         \
            const uint32_t dense = side_tile(args, 0, place, side);                                                    \
            const uint32_t other = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;                               \
            const type *from = field + (uint64_t)(other != TILE_NONE ? other : 0) * TILE_CELLS;                        \
            const type none = dense != TILE_NONE ? missing : outside;                                                  \
            FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)                                                              \
                rim[rim_of_side(side, i, j) + once] = other != TILE_NONE ? from[cell_of_side(side, i, j)] : none;      \
        }                                                                                                              \
        TILE_BARRIER();                                                                                                \
    }

#endif
