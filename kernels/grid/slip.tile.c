// Velocities of faces that solids shut. They are extrapolated like those in the air; what flows through the solid is
// taken from them, so that what particles look up beside it runs along it (Batty, Bertails & Bridson 2007). Otherwise
// corners between solids would be sinks.
//
// A face's velocity as a vector takes faces around it, which may be shut too: all are computed from the extrapolated
// field first, and put in their places then. The solved field is free at this time and keeps them in between.
//
// Where viscosity holds the liquid beside solids that stand still, what is looked up goes linearly to zero at their
// surface and on: on faces that they cover by a quarter or more, from what the liquid does a cell away. That is no
// change of velocity, so that FLIP doesn't pass it on. Not beside bodies, which would have to lose what particles get.
#include "kernels/grid/halo.h"
#include "kernels/grid/solids.h"

/// Whether a tile is near a solid's surface. `near`: bodies that are.
TILE_FN int is_near_surface(const grid_args *args, uint32_t dense, uint32_t near)
{
    const uint32_t i = args->m.solid_tile[dense];
    return (i != TILE_NONE && i != TILE_FULL) || near != 0;
}

/// A component of the velocity at a cell's lower face across `axis`: its own, or the mean of the four faces around it.
TILE_FN float component_at_face(const grid_args *args, int axis, int c, const int *cell)
{
    const int x = cell[0], y = cell[1], z = cell[2];
    const int bx = axis == 0, by = axis == 1, bz = axis == 2, ux = c == 0, uy = c == 1, uz = c == 2;
    if (c == axis) {
        return carrier_anywhere(args, c, x, y, z);
    }
    return 0.25f * ((carrier_anywhere(args, c, x, y, z) + carrier_anywhere(args, c, x - bx, y - by, z - bz)) +
                    (carrier_anywhere(args, c, x + ux, y + uy, z + uz) +
                     carrier_anywhere(args, c, x + ux - bx, y + uy - by, z + uz - bz)));
}

TILE_FN void face_position(const int *cell, int axis, int32_t *position)
{
    for (int a = 0; a < 3; a++) {
        position[a] = (cell[a] << POSITION_BITS) + (a == axis ? 0 : 1 << (POSITION_BITS - 1));
    }
}

/// A shut face's component once nothing flows through the solid there. Of a surface along the grid, as most are, the
/// other components don't count and aren't looked up.
TILE_FN float slipping_component(const grid_args *args, uint32_t near, int axis, const int *cell)
{
    int32_t position[3];
    float normal[3], of_solid[3], through = 0.0f;
    face_position(cell, axis, position);
    nearest_solid(args, near, position, normal, of_solid);
    const float own = component_at_face(args, axis, axis, cell);
    if (normal[axis] == 0.0f) {
        return own;
    }
    for (int c = 0; c < 3; c++) {
        if (normal[c] != 0.0f) {
            through += ((c == axis ? own : component_at_face(args, axis, c, cell)) - of_solid[c]) * normal[c];
        }
    }
    return own - through * normal[axis];
}

/// A component at a position, from the extrapolated field.
TILE_FN float component_at(const grid_args *args, int c, const int32_t *position)
{
    int at[3];
    float w[3][2], sum = 0.0f;
    for (int a = 0; a < 3; a++) {
        const particle_axis axis = axis_weights_local(position[a]);
        at[a] = a == c ? axis.face : axis.center;
        for (int i = 0; i < 2; i++) {
            w[a][i] = a == c ? axis.face_weight[i] : axis.center_weight[i];
        }
    }
    for (int k = 0; k < 4; k++) {
        const int y = at[1] + (k & 1), z = at[2] + (k >> 1);
        sum +=
            w[1][k & 1] * w[2][k >> 1] *
            (w[0][0] * carrier_anywhere(args, c, at[0], y, z) + w[0][1] * carrier_anywhere(args, c, at[0] + 1, y, z));
    }
    return sum;
}

/// A face's component on the line from zero at a solid's surface to the liquid's a cell away.
TILE_FN float clinging_component(const grid_args *args, int axis, const int *cell)
{
    int32_t position[3];
    float normal[3];
    face_position(cell, axis, position);
    const float distance = solid_distance(args, position, normal);
    const float length = tile_max2_f32(tile_sqrt_f32(dot3(normal, normal)), 1e-6f);
    for (int a = 0; a < 3; a++) {
        position[a] += tile_round_i32((1.0f - distance) * (normal[a] / length) * (1 << POSITION_BITS));
    }
    return tile_clamp_f32(distance, -1.0f, 1.0f) * component_at(args, axis, position);
}

/// What viscosity makes of `slipping`, the velocity of a face that a solid covers. A shut one passes on less change.
TILE_FN float gripped(const grid_args *args, int axis, const int *cell, uint64_t at, float slipping)
{
    const grid_memory *m = &args->m;
    const float grip = m->control->grip;
    if (grip == 0.0f || (m->cover_owner != NULL && m->cover_owner[at] != BODY_NONE)) {
        return slipping;
    }
    const float value = slipping + grip * (clinging_component(args, axis, cell) - slipping);
    float *old = &m->u_old[axis][at];
    if (m->open[axis][at] == 0 && *old < SPEED_UNKNOWN) {
        *old = value - (1.0f - grip) * (slipping - *old);
    }
    return value;
}

/// Open shares up to which faces are set here.
TILE_FN uint32_t open_max(const grid_args *args)
{
    return args->m.control->grip > 0.0f ? 255 - HELD_COVER : 0;
}

typedef struct slip_scratch {
    uint32_t neighbour[27];
    uint16_t
        moving[RIM_EDGE * RIM_EDGE]; ///< [z][y] from -1: bit per cell from x = -1 with a velocity at its lower faces
    uint16_t around[TILE_ROWS];      ///< bit per cell with such a one in the 27 around it
} slip_scratch;

/// Bits of `count` cells from a place in the active fields.
TILE_FN uint32_t moving_cells(const grid_memory *m, uint64_t from, int count)
{
    uint32_t bits = 0;
    for (int i = 0; i < count; i++) {
        const uint64_t at = from + (uint64_t)i;
        bits |= (uint32_t)(m->u_ext[0][at] != 0.0f || m->u_ext[1][at] != 0.0f || m->u_ext[2][at] != 0.0f) << i;
    }
    return bits;
}

/// Finds the cells around which something moves: deep inside a solid and far from the liquid nothing does. Ends with a
/// barrier.
TILE_FN void find_moving(const grid_args *args, tile_place place, slip_scratch *s)
{
    halo_neighbours(args, place, s->neighbour);
    TILE_BARRIER();
    FOR_RANGE (r, 0, RIM_EDGE * RIM_EDGE) {
        const int y = (int)r % RIM_EDGE - 1, z = (int)r / RIM_EDGE - 1;
        const uint32_t *in = s->neighbour + halo_tile(0, y, z) - 1;
        const uint64_t row = cell_index(0, y & 7, z & 7);
        uint32_t bits = in[1] != TILE_NONE ? moving_cells(&args->m, in[1] * (uint64_t)TILE_CELLS + row, 8) << 1 : 0;
        bits |= in[0] != TILE_NONE ? moving_cells(&args->m, in[0] * (uint64_t)TILE_CELLS + row + 7, 1) : 0;
        bits |= in[2] != TILE_NONE ? moving_cells(&args->m, in[2] * (uint64_t)TILE_CELLS + row, 1) << 9 : 0;
        s->moving[r] = (uint16_t)bits;
    }
    TILE_BARRIER();
    FOR_RANGE (r, 0, TILE_ROWS) {
        const uint16_t *low = s->moving + r / TILE_EDGE * RIM_EDGE + r % TILE_EDGE;
        uint32_t bits = 0;
        for (int i = 0; i < 9; i++) {
            bits |= low[i / 3 * RIM_EDGE + i % 3];
        }
        s->around[r] = (uint16_t)(bits | bits >> 1 | bits >> 2);
    }
    TILE_BARRIER();
}

/// Computes the velocities of shut faces. One tile per active tile.
TILE_KERNEL(grid_slip, CELL_LANES, grid_args, slip_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    const uint32_t near = bodies_near_tile(args, place, 2.5f);
    if (!is_near_surface(args, dense, near)) {
        return;
    }
    find_moving(args, place, s);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint64_t at = own + cell_index(x, y, z);
        const int cell[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
        const int moves = near != 0 || (s->around[z * TILE_EDGE + y] >> x & 1) != 0;
        for (int axis = 0; axis < 3; axis++) {
            const uint32_t open = m->open[axis][at];
            if (open == 0 && !moves) {
                m->u[axis][at] = 0.0f;
            } else if (open <= open_max(args)) {
                const float slipping = open == 0 ? slipping_component(args, near, axis, cell) : m->u_ext[axis][at];
                m->u[axis][at] = gripped(args, axis, cell, at, slipping);
            }
        }
    }
}

/// Puts them in their places. One tile per active tile.
TILE_KERNEL(grid_slip_end, CELL_LANES, grid_args, tile_no_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!is_near_surface(args, dense, bodies_near_tile(args, place, 2.5f))) {
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            const int is_set = m->open[axis][own + i] <= open_max(args);
            m->u_ext[axis][own + i] = is_set ? m->u[axis][own + i] : m->u_ext[axis][own + i];
        }
    }
}
