/// Loads a tile's field with a border of its neighbours' cells into the scratch. Private to the liquid's kernels.
#ifndef TARN_KERNELS_GRID_HALO_H
#define TARN_KERNELS_GRID_HALO_H

#include "kernels/device/row.h"
#include "kernels/grid/grid.h"

/// Active indices of a place's 27 neighbours. Ends without a barrier.
TILE_FN void halo_neighbours(const grid_args *args, tile_place place, uint32_t *neighbour)
{
    FOR_RANGE (n, 0, 27) {
        const uint32_t dense = tile_neighbour(&args->shape, 0, place, n);
        neighbour[n] = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
    }
}

/// Which of the 27 tiles a cell is in, up to a tile's width outside the tile.
TILE_FN int halo_tile(int x, int y, int z)
{
    return ((z + TILE_EDGE) >> TILE_LOG2) * 9 + ((y + TILE_EDGE) >> TILE_LOG2) * 3 + ((x + TILE_EDGE) >> TILE_LOG2);
}

/// HALO_LOAD(name, type) makes a function that loads field[s][512] into to[(8 + 2 border)^3]; where there is no tile,
/// zeros.
#include TILE_FORM(halo)

HALO_LOAD(halo_load_f32, float)
HALO_LOAD(halo_load_u8, uint8_t)

/// Sets a plane of a haloed field to another times `slip`, or to zero where `from` is the plane itself. What is unknown
/// stays so. Ends without a barrier.
TILE_FN void halo_put_plane(float *field, int edge, int axis, int to, int from, float slip)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? edge : edge * edge, next = axis == 1 ? edge * edge : edge;
    if (axis == 0) {
        FOR_BOX (i, j, once, edge, edge, 1) {
            float *row = field + (j * edge + i) * edge + once;
            row[to] = to == from ? 0.0f : row[from] < SPEED_UNKNOWN ? slip * row[from] : row[from];
        }
    } else {
        FOR_BOX (i, j, once, edge, edge, 1) {
            float *cell = field + j * next + i + once;
            const float there = cell[from * stride];
            cell[to * stride] = to == from ? 0.0f : there < SPEED_UNKNOWN ? slip * there : there;
        }
    }
}

/// The same. Ends with a barrier.
TILE_FN void halo_set_plane(float *field, int edge, int axis, int to, int from, float slip)
{
    halo_put_plane(field, edge, axis, to, from, slip);
    TILE_BARRIER();
}

/// What halo_walls does across an axis. Ends without a barrier.
/// @return whether there are walls
TILE_FN int halo_walls_across(const grid_shape *shape, tile_place place, int axis, float slip, float *field, int border,
                              int component)
{
    const int edge = TILE_EDGE + 2 * border, at = axis == 0 ? place.x : axis == 1 ? place.y : place.z;
    const int extent = tile_min_i32(shape->cells[axis] - at * TILE_EDGE, TILE_EDGE + border);
    const int normal = axis == component;
    for (int plane = normal ? border : border - 1; plane >= 0 && at == 0; plane--) {
        halo_put_plane(field, edge, axis, plane, normal ? plane : border, slip);
    }
    for (int plane = border + extent; plane < edge; plane++) {
        halo_put_plane(field, edge, axis, plane, normal ? plane : border + extent - 1, slip);
    }
    return at == 0 || border + extent < edge;
}

/// Sets what a haloed face field of `component` holds at and beyond the tank's walls: nothing flows through a wall, and
/// along it things go on as `slip` says for the walls across each axis.
TILE_FN void halo_walls(const grid_shape *shape, tile_place place, const float *slip, float *field, int border,
                        int component)
{
    for (int axis = 0; axis < 3; axis++) {
        if (halo_walls_across(shape, place, axis, slip[axis], field, border, component)) {
            TILE_BARRIER();
        }
    }
}

/// The same for a field at cells' centres: every wall mirrors it.
TILE_FN void halo_mirror(const grid_shape *shape, tile_place place, float *field, int border)
{
    const float mirrored[3] = {1.0f, 1.0f, 1.0f};
    halo_walls(shape, place, mirrored, field, border, 3);
}

/// By how much a step changed a face's velocity, as FLIP passes it on to the particles.
TILE_FN float change_of(float fresh, float old)
{
    return tile_select_f32(old < SPEED_UNKNOWN, fresh - old, 0.0f);
}

/// One face value of the velocity that carries particles, anywhere in the tank. Walls' slip counts in the order in
/// which loading rows has it.
TILE_FN float carrier_anywhere(const grid_args *args, int c, int x, int y, int z)
{
    const int wanted[3] = {x, y, z};
    float slip[3];
    int at[3];
    for (int a = 0; a < 3; a++) {
        const int cells = args->shape.cells[a];
        if (a == c && (wanted[a] <= 0 || wanted[a] >= cells)) {
            return 0.0f;
        }
        at[a] = tile_clamp_i32(wanted[a], 0, cells - 1);
        slip[a] = at[a] != wanted[a] ? wall_slip(args, a) : 1.0f;
    }
    const uint32_t dense = tile_dense_of(&args->shape, 0, at[0] >> TILE_LOG2, at[1] >> TILE_LOG2, at[2] >> TILE_LOG2);
    const uint32_t slot = args->m.slot[dense];
    if (slot == TILE_NONE) {
        return 0.0f;
    }
    const float there = args->m.u_ext[c][(uint64_t)slot * TILE_CELLS + cell_index(at[0] & 7, at[1] & 7, at[2] & 7)];
    return slip[0] * ((slip[1] * slip[2]) * there);
}

enum {
    RIM_EDGE = 10, ///< a tile with one cell around it
    RIM_CELLS = RIM_EDGE * RIM_EDGE * RIM_EDGE,
};

TILE_FN int rim_index(int x, int y, int z)
{
    return ((z + 1) * RIM_EDGE + (y + 1)) * RIM_EDGE + (x + 1);
}

/// The bits of a row's eight cells, the first one's lowest.
TILE_FN uint32_t row_bits(const uint8_t *row, int bit)
{
    uint64_t cells;
    memcpy(&cells, __builtin_assume_aligned(row, TILE_EDGE), sizeof cells);
    return (uint32_t)((cells >> bit & 0x0101010101010101u) * 0x0102040810204080u >> 56);
}

/// The bits of those of a row's eight cells that are at least so large, 1..255.
TILE_FN uint32_t row_bits_from(const uint8_t *row, uint32_t least)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t cells;
    memcpy(&cells, __builtin_assume_aligned(row, TILE_EDGE), sizeof cells);
    const uint64_t low = (cells & 0x7f * ones) + (0x80 - (least & 0x7f)) * ones;
    const uint64_t is = (least < 0x80 ? low | cells : low & cells) >> 7 & ones;
    return (uint32_t)(is * 0x0102040810204080u >> 56);
}

/// The rows of an axis in face_rows.
TILE_FN uint64_t face_rows_of(uint32_t slot, int axis)
{
    return ((uint64_t)slot * 3 + (uint64_t)axis) * TILE_ROWS;
}

/// The bits of a plane's eight rows.
TILE_FN uint64_t face_plane(const uint8_t *rows, uint32_t plane)
{
    uint64_t bits;
    memcpy(&bits, __builtin_assume_aligned(rows + plane * TILE_EDGE, TILE_EDGE), sizeof bits);
    return bits;
}

/// Face and axis of the six neighbours: -x +x -y +y -z +z.
TILE_FN uint32_t side_tile(const grid_args *args, uint32_t level, tile_place place, int side)
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

/// LOAD_SIDES(name, type) makes a function that loads an active field with one cell of the six neighbours; `missing`
/// where there is no tile, and outside `outside`. It ends with a barrier.
#include TILE_FORM(sides)

LOAD_SIDES(load_sides_f32, float)
LOAD_SIDES(load_sides_u8, uint8_t)

/// The types of cells.
TILE_FN void load_types(const grid_args *args, tile_place place, uint32_t slot, uint8_t *type)
{
    load_sides_u8(args, place, slot, args->m.cell_type, type, CELL_AIR, CELL_SOLID);
}

/// The same as bits, one for each cell of a row along x, that of cell x at x + 1; for FOR_SET_ROWS.
typedef struct type_rows {
    uint16_t liquid[RIM_EDGE * ROW_WORDS], solid[RIM_EDGE * ROW_WORDS];
    uint32_t beside[6]; ///< a GPU's: find_beside
} type_rows;

TILE_FN int rim_row(int y, int z)
{
    return (z + 1) * ROW_WORDS + y + 1;
}

/// load_type_rows(args, place, slot, to) fills them, and ends with a barrier.
#include TILE_FORM(types)

/// Along an axis, the planes of cells and faces that a tile has in the tank.
TILE_FN int planes_of(const grid_shape *shape, tile_place place, int axis)
{
    return tile_extent(shape, axis, axis == 0 ? place.x : axis == 1 ? place.y : place.z);
}

/// Bits of a row's faces that lie in the tank and in none of its walls.
TILE_FN uint32_t open_faces(const grid_shape *shape, tile_place place, int axis, int y, int z)
{
    const int at[3] = {place.x, place.y, place.z};
    if (y >= planes_of(shape, place, 1) || z >= planes_of(shape, place, 2) ||
        (axis > 0 && at[axis] == 0 && (axis == 1 ? y : z) == 0)) {
        return 0;
    }
    return (1u << planes_of(shape, place, 0)) - (axis == 0 && at[0] == 0 ? 2 : 1);
}

/// Bits of a row of lower faces: beside liquid; touching liquid and nothing solid; with liquid on both sides.
typedef struct row_faces {
    uint32_t beside, touching, inside;
} row_faces;

/// Bit x is the lower face of cell x of the row, up to cell 8 along x.
TILE_FN row_faces row_faces_of(const type_rows *types, int axis, int y, int z)
{
    const int at = rim_row(y, z), below = at - (axis == 1 ? 1 : axis == 2 ? ROW_WORDS : 0), shift = axis == 0;
    const uint32_t low = (uint32_t)types->liquid[below] << shift >> 1, own = types->liquid[at] >> 1;
    const uint32_t solid = ((uint32_t)types->solid[below] << shift | types->solid[at]) >> 1;
    row_faces faces;
    faces.beside = low | own;
    faces.touching = (low | own) & ~solid;
    faces.inside = low & own;
    return faces;
}

#endif
