// Velocities of faces from what particles brought (transfer.tile.c) to what pressure starts from: those of the middle
// of the substep, with the forces.
//
// Particles bring velocities to where they are when the substep begins. What lies at a face in its middle comes from
// half a way upstream,
//
//     u = v + ahead + forces - grad p,    ahead = -1/2 dt (v . grad) v
//
// and this field, free of divergence, carries particles to second order. Particles themselves get forces - grad p
// alone: `ahead` belongs to the place. Without it pressure would make the field of half a substep ago free of
// divergence, and take (w dt)^2 / 2 of a turning liquid's angular momentum in every substep. (That splitting loses this
// is from Zehnder, Narain & Thomaszewski 2018, "An advection-reflection solver for detail-preserving fluid
// simulation".)
//
// PIC's share of a particle's velocity is u - ahead. Hence u_old, which FLIP takes from u, is v + ahead / flip: of the
// blend (1 - flip) u + flip (u - u_old) that leaves what belongs to each. With hardly any FLIP, and with APIC, which
// has no use for u_old, there is no `ahead`.
#include "kernels/grid/halo.h"
#include "kernels/liquid/liquid.h"
#include "kernels/tank/push.h"

#define AHEAD_MAX 1.0f         ///< cells: a longer way upstream counts as this
#define AHEAD_CHANGE_MAX 0.25f ///< cells a step, for each axis that it comes along: more is an impact
#define AHEAD_FLIP_MIN 0.0625f ///< of FLIP, for there to be `ahead`

typedef struct forces_scratch {
    float carried[3][RIM_CELLS];
    uint8_t moving[3][TILE_ROWS]; ///< bits of the faces that have a velocity
    uint32_t neighbour[27];
    uint32_t known; ///< some face of the tile has a velocity
} forces_scratch;

/// What a turning tank adds to a velocity in a substep, besides turning it.
TILE_FN float turning_force(const grid_control *control, int axis, float x, float y, float z)
{
    const float *slope = control->force_slope[axis];
    return control->kick * (slope[0] * (x - control->pivot[0]) + slope[1] * (y - control->pivot[1]) +
                            slope[2] * (z - control->pivot[2]));
}

/// Bits of a row's faces that lie in no wall.
TILE_FN uint32_t faces_off_walls(const grid_shape *shape, tile_place place, int axis, int y, int z)
{
    const int first = (axis == 0 ? place.x : axis == 1 ? place.y : place.z) * TILE_EDGE;
    const int room = shape->cells[axis] - first, at = axis == 1 ? y : z;
    if (axis == 0) {
        return (0xffu >> tile_max_i32(TILE_EDGE - room, 0)) & (first == 0 ? 0xfeu : 0xffu);
    }
    return at < room && first + at > 0 ? 0xffu : 0;
}

/// Where a face is, cells.
TILE_FN void face_position(tile_place place, int axis, int x, int y, int z, float *at)
{
    at[0] = (float)(place.x * TILE_EDGE + x) + (axis == 0 ? 0.0f : 0.5f);
    at[1] = (float)(place.y * TILE_EDGE + y) + (axis == 1 ? 0.0f : 0.5f);
    at[2] = (float)(place.z * TILE_EDGE + z) + (axis == 2 ? 0.0f : 0.5f);
}

/// What moves faces besides gravity.
TILE_FN void add_forces(const liquid_args *args, const forces_scratch *s, tile_place place, int axis, int pushed,
                        float *u)
{
    const tank_control *control = args->tank.store.control;
    if (control->grid.is_turning) {
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            float at[3];
            face_position(place, axis, x, y, z, at);
            if (s->moving[axis][z * TILE_EDGE + y] >> x & 1) {
                u[cell_index(x, y, z)] += turning_force(&control->grid, axis, at[0], at[1], at[2]);
            }
        }
    }
    if (pushed) {
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            float at[3];
            face_position(place, axis, x, y, z, at);
            if (s->moving[axis][z * TILE_EDGE + y] >> x & 1) {
                float *face = u + cell_index(x, y, z);
                *face = apply_hands(&args->tank, at, axis, *face);
            }
        }
    }
}

/// Of component b, what flows through a row's faces across `axis`: the mean of the four around, of which unknown ones
/// are taken for still.
TILE_FN row_f32 flow_across(const forces_scratch *s, int axis, int b, int at)
{
    const int before = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const int beyond = b == 0 ? 1 : b == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const float *from = s->carried[b] + at;
    const row_f32 low = row_load(from), low_before = row_load(from - before), high = row_load(from + beyond),
                  high_before = row_load(from + beyond - before);
    return 0.25f * ((row_keep(low_before < SPEED_UNKNOWN, low_before) + row_keep(low < SPEED_UNKNOWN, low)) +
                    (row_keep(high_before < SPEED_UNKNOWN, high_before) + row_keep(high < SPEED_UNKNOWN, high)));
}

/// The one of two slopes that is less steep; 0 where they differ in sign.
TILE_FN row_f32 less_steep(row_f32 a, row_f32 b)
{
    const row_f32 zero = row_all(0.0f);
    return row_max(-row_max(-a, -b), zero) - row_max(-row_max(a, b), zero);
}

/// By what a row's velocities change from where they are to half a way upstream. Slopes are those of van Leer's
/// monotonized central limiter, and none goes beyond the neighbour upstream: at a bore or where water falls on water
/// the central slope is nobody's.
/// @param half  of the substep, less than 0
TILE_FN row_f32 ahead_of(const forces_scratch *s, int axis, int at, float half)
{
    row_f32 part[3];
    TILE_UNROLL for (int b = 0; b < 3; b++)
    {
        const int stride = b == 0 ? 1 : b == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
        const float *from = s->carried[axis] + at;
        const row_f32 own = row_load(from), low = row_load(from - stride), high = row_load(from + stride);
        const row_f32 flow = b == axis ? own : flow_across(s, axis, b, at);
        const row_f32 sides = 2.0f * less_steep(own - low, high - own);
        const row_f32 way = row_clamp(half * flow, -AHEAD_MAX, AHEAD_MAX);
        const row_f32 change = way * less_steep(sides, 0.5f * (high - low)),
                      upstream = row_select(way > row_all(0.0f), high - own, low - own);
        part[b] = row_keep((low < SPEED_UNKNOWN) & (high < SPEED_UNKNOWN),
                           row_clamp(less_steep(change, upstream), -AHEAD_CHANGE_MAX, AHEAD_CHANGE_MAX));
    }
    return (part[0] + part[1]) + part[2];
}

/// Velocities before and after the forces; 0 where there are none, and before the forces SPEED_UNKNOWN where particles
/// give none.
TILE_FN void force_component(const liquid_args *args, const forces_scratch *s, uint32_t tile, tile_place place,
                             int axis, int pushed)
{
    const grid_memory *grid = &args->tank.grid.m;
    const tank_control *control = args->tank.store.control;
    const int is_ahead = args->tank.store.affine[0] == NULL && control->flip >= AHEAD_FLIP_MIN;
    const float half = is_ahead ? -0.5f * grid->control->frac : 0.0f, per_flip = is_ahead ? 1.0f / control->flip : 0.0f;
    const row_f32 force = row_all(grid->control->gravity[axis] * grid->control->kick);
    const uint8_t *unknown = grid->face_rows + face_rows_of(tile, axis);
    float *u = grid->u[axis] + (uint64_t)tile * TILE_CELLS, *u_old = grid->u_old[axis] + (uint64_t)tile * TILE_CELLS;
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const uint32_t at = row * TILE_EDGE + x;
        if (unknown[row] == 0xff) {
            row_store(u_old + at, row_all(SPEED_UNKNOWN));
            row_store(u + at, row_all(0.0f));
            continue;
        }
        const int rim = rim_index(0, (int)row % TILE_EDGE, (int)row / TILE_EDGE) + (int)x;
        const row_i32 moving = row_bits_mask((uint32_t)s->moving[axis][row] >> x);
        const row_f32 carried = row_load(s->carried[axis] + rim),
                      ahead = is_ahead ? ahead_of(s, axis, rim, half) : row_all(0.0f);
        const row_f32 old = row_keep(moving, carried + per_flip * ahead);
        row_store(u_old + at, row_select(row_bits_mask((uint32_t)unknown[row] >> x), row_all(SPEED_UNKNOWN), old));
        row_store(u + at, row_keep(moving, carried + ahead + force));
    }
    add_forces(args, s, place, axis, pushed, u);
}

/// Bits of the tile's faces that have a velocity, and its velocities with those around. Ends with a barrier.
TILE_FN void load_carried(const liquid_args *args, forces_scratch *s, uint32_t tile, tile_place place)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const grid_memory *grid = &args->tank.grid.m;
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    if (TILE_SINGLE()) {
        s->known = 0;
    }
    TILE_BARRIER();
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const uint8_t *unknown = grid->face_rows + face_rows_of(tile, axis);
        FOR_RANGE_ATOMIC (row, 0, TILE_ROWS) {
            const uint32_t known = (uint8_t)~unknown[row];
            s->moving[axis][row] = (uint8_t)(known & faces_off_walls(shape, place, axis, (int)row & 7, (int)row >> 3));
            tile_or_u32(&s->known, known);
        }
    }
    TILE_BARRIER();
    const float slip[3] = {wall_slip(&args->tank.grid, 0), wall_slip(&args->tank.grid, 1),
                           wall_slip(&args->tank.grid, 2)};
    for (int axis = 0; axis < 3 && s->known != 0; axis++) {
        halo_load_f32(s->carried[axis], 1, grid->u_ext[axis], s->neighbour);
    }
    TILE_BARRIER();
    for (int across = 0; across < 3 && s->known != 0; across++) {
        int walls = 0;
        for (int axis = 0; axis < 3; axis++) {
            walls |= halo_walls_across(shape, place, across, slip[across], s->carried[axis], 1, axis);
        }
        if (walls) {
            TILE_BARRIER();
        }
    }
}

/// One tile per active tile. What particles brought lies in u_ext, which is free until pressure is solved.
TILE_KERNEL(liquid_forces, CELL_LANES, liquid_args, forces_scratch)
{
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, args->tank.grid.m.active_tile[tile]);
    load_carried(args, s, tile, place);
    const int pushed = in_reach(&args->tank, place);
    for (int axis = 0; axis < 3; axis++) {
        force_component(args, s, tile, place, axis, pushed);
    }
}
