/// Loads a tile's field with a border of its neighbours' cells into the scratch. Private to the liquid's kernels.
#ifndef TARN_KERNELS_LIQUID_HALO_H
#define TARN_KERNELS_LIQUID_HALO_H

#include "kernels/liquid/liquid.h"

/// Active indices of a place's 27 neighbours. Ends without a barrier.
TILE_FN void halo_neighbours(const liquid_args *args, tile_place place, uint32_t *neighbour)
{
    FOR_RANGE (n, 0, 27) {
        const uint32_t dense = tile_neighbour(&args->shape, 0, place, n);
        neighbour[n] = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
    }
}

/// Loads field[s][512] into to[(8 + 2 border)^3]; where there is no tile, zeros.
/// HALO_LOAD(name, type) makes the function for a type.
#define HALO_LOAD(name, type)                                                                                          \
    TILE_FN void name(type *to, int border, const type *field, const uint32_t *neighbour)                              \
    {                                                                                                                  \
        const int edge = TILE_EDGE + 2 * border;                                                                       \
        for (int n = 0; n < 27; n++) {                                                                                 \
            const int sx = n % 3 - 1, sy = n / 3 % 3 - 1, sz = n / 9 - 1;                                              \
            const int nx = sx == 0 ? TILE_EDGE : border, ny = sy == 0 ? TILE_EDGE : border,                            \
                      nz = sz == 0 ? TILE_EDGE : border;                                                               \
            const int fx = sx < 0 ? TILE_EDGE - border : 0, fy = sy < 0 ? TILE_EDGE - border : 0,                      \
                      fz = sz < 0 ? TILE_EDGE - border : 0;                                                            \
            const int tx = sx < 0    ? 0                                                                               \
                           : sx == 0 ? border                                                                          \
                                     : border + TILE_EDGE,                                                             \
                      ty = sy < 0    ? 0                                                                               \
                           : sy == 0 ? border                                                                          \
                                     : border + TILE_EDGE,                                                             \
                      tz = sz < 0    ? 0                                                                               \
                           : sz == 0 ? border                                                                          \
                                     : border + TILE_EDGE;                                                             \
            const uint32_t slot = neighbour[n];                                                                        \
            type *target = to + (tz * edge + ty) * edge + tx;                                                          \
            if (slot == TILE_NONE) {                                                                                   \
                FOR_BOX (x, y, z, nx, ny, nz)                                                                          \
                    target[(z * edge + y) * edge + x] = (type)0;                                                       \
            } else {                                                                                                   \
                const type *source = field + (uint64_t)slot * TILE_CELLS + cell_index(fx, fy, fz);                     \
                if (sx == 0) {                                                                                         \
                    FOR_BOX (x, y, z, TILE_EDGE, ny, nz)                                                               \
                        target[(z * edge + y) * edge + x] = source[cell_index(x, y, z)];                               \
                } else {                                                                                               \
                    FOR_BOX (x, y, z, border, ny, nz)                                                                  \
                        target[(z * edge + y) * edge + x] = source[cell_index(x, y, z)];                               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

HALO_LOAD(halo_load_f32, float)
HALO_LOAD(halo_load_u8, uint8_t)

/// Copies a plane of a haloed field onto another, or zeroes it where `from` is the plane itself.
TILE_FN void halo_set_plane(float *field, int edge, int axis, int to, int from)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? edge : edge * edge;
    const int a = axis == 0 ? edge : 1, b = axis == 2 ? edge : edge * edge;
    FOR_BOX (i, j, once, edge, edge, 1) {
        const int at = i * a + j * b + once;
        field[at + to * stride] = to == from ? 0.0f : field[at + from * stride];
    }
    TILE_BARRIER();
}

/// Sets what a haloed face field of `component` holds at and beyond the tank's walls: nothing flows through a wall, and
/// along it everything slips.
TILE_FN void halo_walls(const liquid_shape *shape, tile_place place, float *field, int border, int component)
{
    const int edge = TILE_EDGE + 2 * border;
    const int at[3] = {place.x, place.y, place.z};
    for (int axis = 0; axis < 3; axis++) {
        const int extent = tile_min_i32(shape->cells[axis] - at[axis] * TILE_EDGE, TILE_EDGE + border);
        const int normal = axis == component;
        if (at[axis] == 0) {
            for (int plane = normal ? border : border - 1; plane >= 0; plane--)
                halo_set_plane(field, edge, axis, plane, normal ? plane : border);
        }
        for (int plane = border + extent; plane < edge; plane++)
            halo_set_plane(field, edge, axis, plane, normal ? plane : border + extent - 1);
    }
}

/// By how much a step changed a face's velocity, as FLIP passes it on to the particles.
TILE_FN float change_of(float fresh, float old)
{
    return tile_select_f32(old < SPEED_UNKNOWN, fresh - old, 0.0f);
}

enum {
    RIM_EDGE = 10, ///< a tile with one cell around it
    RIM_CELLS = RIM_EDGE * RIM_EDGE * RIM_EDGE,
};

TILE_FN int rim_index(int x, int y, int z)
{
    return ((z + 1) * RIM_EDGE + (y + 1)) * RIM_EDGE + (x + 1);
}

/// Face and axis of the six neighbours: -x +x -y +y -z +z.
TILE_FN uint32_t side_tile(const liquid_args *args, uint32_t level, tile_place place, int side)
{
    const int d = side % 2 == 0 ? -1 : 1;
    const uint32_t dense = tile_dense_of(&args->shape, level, place.x + (side / 2 == 0 ? d : 0),
                                         place.y + (side / 2 == 1 ? d : 0), place.z + (side / 2 == 2 ? d : 0));
    return dense;
}

/// Where the cells of a side lie, cell (i, j) at first + i * i_step + j * j_step: those around a tile, in its rim; and
/// those of the neighbour on that side, in a field.
typedef struct side_walk {
    int rim, cell;
    int i_rim, j_rim, i_cell, j_cell;
} side_walk;

TILE_FN side_walk side_walk_of(int side)
{
    const int axis = side / 2, out = side % 2 == 0 ? -1 : TILE_EDGE, in = side % 2 == 0 ? TILE_EDGE - 1 : 0;
    side_walk w;
    w.rim = rim_index(axis == 0 ? out : 0, axis == 1 ? out : 0, axis == 2 ? out : 0);
    w.cell = (int)cell_index(axis == 0 ? in : 0, axis == 1 ? in : 0, axis == 2 ? in : 0);
    w.i_rim = axis == 0 ? RIM_EDGE : 1;
    w.j_rim = axis == 2 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    w.i_cell = axis == 0 ? TILE_EDGE : 1;
    w.j_cell = axis == 2 ? TILE_EDGE : TILE_EDGE * TILE_EDGE;
    return w;
}

TILE_FN int rim_of_side(int side, int i, int j)
{
    const side_walk w = side_walk_of(side);
    return w.rim + i * w.i_rim + j * w.j_rim;
}

TILE_FN uint32_t cell_of_side(int side, int i, int j)
{
    const side_walk w = side_walk_of(side);
    return (uint32_t)(w.cell + i * w.i_cell + j * w.j_cell);
}

/// Fills the rim on one side from a neighbour's cells, or with zeros where `from` is NULL.
TILE_FN void load_side(int side, const float *from, float *rim)
{
    const side_walk w = side_walk_of(side);
    if (from == NULL) {
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)
            rim[w.rim + i * w.i_rim + j * w.j_rim + once] = 0.0f;
    } else if (side < 2) {
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)
            rim[w.rim + i * RIM_EDGE + j * RIM_EDGE * RIM_EDGE + once] = from[w.cell + i * 8 + j * 64];
    } else { // rows along x
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)
            rim[w.rim + i + j * w.j_rim + once] = from[w.cell + i + j * w.j_cell];
    }
}

/// Loads a level's field with one cell of the six neighbours around it; edges and corners stay untouched. `tile` is the
/// index in the level, TILE_NONE where the place isn't part of it.
TILE_FN void load_rim(const liquid_args *args, uint32_t level, tile_place place, uint32_t tile, const float *field,
                      float *rim)
{
    const float *own = field + (uint64_t)(tile != TILE_NONE ? tile : 0) * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)
        rim[rim_index(x, y, z)] = tile != TILE_NONE ? own[cell_index(x, y, z)] : 0.0f;
    for (int side = 0; side < 6; side++) {
        const uint32_t dense = side_tile(args, level, place, side);
        const uint32_t other = dense != TILE_NONE ? args->m.level[level].index[dense] : TILE_NONE;
        load_side(side, other != TILE_NONE ? field + (uint64_t)other * TILE_CELLS : NULL, rim);
    }
    TILE_BARRIER();
}

/// Loads the types of a tile's cells with one cell of the six neighbours around them. `slot` is its active index.
TILE_FN void load_types(const liquid_args *args, tile_place place, uint32_t slot, uint8_t *type)
{
    const uint8_t *own = args->m.cell_type + (uint64_t)slot * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)
        type[rim_index(x, y, z)] = own[cell_index(x, y, z)];
    for (int side = 0; side < 6; side++) {
        const uint32_t dense = side_tile(args, 0, place, side);
        const uint32_t other = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
        const uint8_t missing = dense == TILE_NONE ? CELL_SOLID : CELL_AIR;
        const uint8_t *from = args->m.cell_type + (uint64_t)(other != TILE_NONE ? other : 0) * TILE_CELLS;
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)
            type[rim_of_side(side, i, j) + once] = other != TILE_NONE ? from[cell_of_side(side, i, j)] : missing;
    }
    TILE_BARRIER();
}

#endif
