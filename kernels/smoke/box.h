/// A tile's field with so many cells around it as what is carried may come from, in tanks one cell deep of one plane
/// only. Private to the smoke's kernels.
#ifndef TARN_KERNELS_SMOKE_BOX_H
#define TARN_KERNELS_SMOKE_BOX_H

#include "kernels/grid/halo.h"
#include "kernels/smoke/smoke.h"

enum { BOX_SLACK = 4 }; ///< numbers behind a box that packs of rows read, too

/// Numbers of a box with so many cells around the tile.
#define BOX_CELLS(border) (((border)*2 + TILE_EDGE) * ((border)*2 + TILE_EDGE) * ((border)*2 + TILE_EDGE) + BOX_SLACK)

/// How a box lies in memory.
typedef struct box_shape {
    int border, edge;
    int depth; ///< planes across z
    int plane; ///< numbers from one to the next; 0: there is but one
    int first; ///< index of the tile's first cell
} box_shape;

TILE_FN box_shape box_shape_of(const grid_shape *shape, int border)
{
    box_shape b;
    b.border = border;
    b.edge = TILE_EDGE + 2 * border;
    b.depth = is_flat(shape) ? 1 : b.edge;
    b.plane = is_flat(shape) ? 0 : b.edge * b.edge;
    b.first = border * b.plane + border * b.edge + border;
    return b;
}

TILE_FN int box_index(box_shape b, int x, int y, int z)
{
    return b.first + z * b.plane + y * b.edge + x;
}

/// Loads a field; zeros where there is no tile. Ends with a barrier.
TILE_FN void load_box(box_shape b, const uint32_t *neighbour, const float *field, float *to)
{
    const int deep = b.plane != 0 ? b.border : 0;
    FOR_ROWS (x, r, 0u, (uint32_t)(b.edge * b.depth)) {
        const int y = (int)r % b.edge - b.border, z = (int)r / b.edge - deep;
        const uint32_t *in = neighbour + halo_tile(0, y, z), cell = cell_index(0, y & 7, z & 7);
        float *row = to + (int)r * b.edge + b.border;
        row_store(row + x,
                  in[0] != TILE_NONE ? row_load(field + (uint64_t)in[0] * TILE_CELLS + cell + x) : row_all(0.0f));
        if (row_begins(x)) {
            for (int i = 0; i < b.border; i++) {
                row[-1 - i] = in[-1] != TILE_NONE
                                  ? field[(uint64_t)in[-1] * TILE_CELLS + cell + TILE_EDGE - 1 - (uint32_t)i]
                                  : 0.0f;
                row[TILE_EDGE + i] =
                    in[1] != TILE_NONE ? field[(uint64_t)in[1] * TILE_CELLS + cell + (uint32_t)i] : 0.0f;
            }
        }
    }
    TILE_BARRIER();
}

/// Sets a plane of a box across an axis to `times` another one. Ends with a barrier.
TILE_FN void set_box_plane(box_shape b, float *field, int axis, int to, int from, float times)
{
    const int stride[3] = {1, b.edge, b.plane};
    const int next = axis == 0 ? b.edge : 1, beyond = axis == 2 ? b.edge : b.plane;
    const int rows = axis == 2 ? b.edge : b.depth, target = to * stride[axis], source = from * stride[axis];
    FOR_BOX (i, j, once, b.edge, rows, 1) {
        float *cell = field + i * next + j * beyond + once;
        cell[target] = times * cell[source];
    }
    TILE_BARRIER();
}

/// Sets what a field on the lower faces across `component`, or at the cells' centres (3), holds at and beyond the
/// tank's walls: nothing flows through a wall; along it things go on as `slip` says for the walls across each axis.
TILE_FN void wall_box(box_shape b, const grid_shape *shape, tile_place place, const float *slip, float *field,
                      int component)
{
    const int at[3] = {place.x, place.y, place.z};
    for (int axis = 0; axis < (b.plane != 0 ? 3 : 2); axis++) {
        const int end = tile_min_i32(shape->cells[axis] - at[axis] * TILE_EDGE, TILE_EDGE + b.border) + b.border;
        const int normal = axis == component;
        const float times = normal ? 0.0f : slip[axis];
        for (int plane = b.border - !normal; plane >= 0 && at[axis] == 0; plane--) {
            set_box_plane(b, field, axis, plane, b.border, times);
        }
        for (int plane = end; plane < b.edge; plane++) {
            set_box_plane(b, field, axis, plane, end - 1, times);
        }
    }
}

/// A component of a velocity with what lies at the walls.
TILE_FN void load_velocity(const grid_args *args, box_shape b, tile_place place, const uint32_t *neighbour,
                           const float *field, float *to, int component)
{
    const float slip[3] = {wall_slip(args, 0), wall_slip(args, 1), wall_slip(args, 2)};
    load_box(b, neighbour, field, to);
    wall_box(b, &args->shape, place, slip, to, component);
}

#endif
