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

/// Adds scale * field[s][512] to what halo_load_f32 loaded.
TILE_FN void halo_add_f32(float *to, int border, const float *field, const uint32_t *neighbour, float scale)
{
    const int edge = TILE_EDGE + 2 * border;
    for (int n = 0; n < 27; n++) {
        const int step[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        int size[3], from[3], at[3];
        for (int a = 0; a < 3; a++) {
            size[a] = step[a] == 0 ? TILE_EDGE : border;
            from[a] = step[a] < 0 ? TILE_EDGE - border : 0;
            at[a] = step[a] < 0 ? 0 : step[a] == 0 ? border : border + TILE_EDGE;
        }
        if (neighbour[n] == TILE_NONE)
            continue;
        float *target = to + (at[2] * edge + at[1]) * edge + at[0];
        const float *source = field + (uint64_t)neighbour[n] * TILE_CELLS + cell_index(from[0], from[1], from[2]);
        FOR_BOX (x, y, z, size[0], size[1], size[2])
            target[(z * edge + y) * edge + x] += scale * source[cell_index(x, y, z)];
    }
}

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

TILE_FN int rim_of_side(int side, int i, int j)
{
    const int out = side % 2 == 0 ? -1 : TILE_EDGE;
    return side / 2 == 0 ? rim_index(out, i, j) : side / 2 == 1 ? rim_index(i, out, j) : rim_index(i, j, out);
}

TILE_FN uint32_t cell_of_side(int side, int i, int j)
{
    const int in = side % 2 == 0 ? TILE_EDGE - 1 : 0;
    return side / 2 == 0 ? cell_index(in, i, j) : side / 2 == 1 ? cell_index(i, in, j) : cell_index(i, j, in);
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
        const float *from = field + (uint64_t)(other != TILE_NONE ? other : 0) * TILE_CELLS;
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)
            rim[rim_of_side(side, i, j) + once] = other != TILE_NONE ? from[cell_of_side(side, i, j)] : 0.0f;
    }
    TILE_BARRIER();
}

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

/// Share of a lower face that no solid covers.
TILE_FN float face_share(const liquid_memory *m, int axis, uint64_t cell)
{
    return m->open[axis] != (uint8_t *)0 ? (float)m->open[axis][cell] * (1.0f / 255.0f) : 1.0f;
}

#endif
