// Air carries its own velocity. What is at a face came from where a walk back along the velocity of the substep before
// ends, by the midpoint rule, trilinearly interpolated (semi-Lagrangian: Stam 1999, "Stable fluids"). That is stable
// whatever the step, and blurs. MacCormack's scheme takes most of that back: it carries the result to where it came
// from, and half of what differs there from what was there is what the way there and back has blurred; values stay
// within those that they were interpolated from (Selle, Fedkiw, Kim, Liu & Rossignac 2008, "An unconditionally stable
// MacCormack method").
//
// The walk's ends are rounded to fixed point, so that weights are exact and a mirrored tank has the mirrored bits.
//
//     carry    velocity kept from the substep before -> u_old; its bounds -> u, u_ext      semi-Lagrangian: -> u
//     correct  u_old, the velocity kept, bounds -> u
#include "kernels/smoke/box.h"
#include "kernels/tank/pack_axis.h"

enum { CARRY_BORDER = 3 }; ///< REACH_CELLS and the next node

typedef struct carry_scratch {
    float kept[3][BOX_CELLS(CARRY_BORDER)];
    uint32_t neighbour[27];
} carry_scratch;

typedef struct correct_scratch {
    carry_scratch way;
    float carried[BOX_CELLS(CARRY_BORDER)];
} correct_scratch;

/// Places of a pack of faces, fixed-point cells of the tile.
typedef struct pack_point {
    pack_i32 at[3];
} pack_point;

TILE_FN pack_node node_of(pack_i32 at)
{
    pack_node n;
    n.at = at >> POSITION_BITS;
    n.w[1] = pack_to_f32(at & ((1 << POSITION_BITS) - 1)) * (1.0f / (1 << POSITION_BITS));
    n.w[0] = 1.0f - n.w[1];
    return n;
}

TILE_FN void axes_of(pack_point point, pack_axis *axes)
{
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        axes[a].face = node_of(point.at[a]);
        axes[a].center = node_of(point.at[a] - (1 << (POSITION_BITS - 1)));
    }
}

/// A component of a box at some places. `b` has CARRY_BORDER cells around the tile.
TILE_FN pack_f32 sample_at(box_shape b, const float *field, int c, const pack_axis *axes)
{
    pack_f32 sum[4];
    pack_places first;
    pack_corners n;
    find_corners(c, axes, CARRY_BORDER, 1, b.edge, b.plane, &first, &n);
    if (b.plane == 0) {
        const pack_f32 w[4] = {n.w[0], n.w[1], n.w[0], n.w[1]};
        pack_weigh_pairs(field, &first, b.edge, w, sum);
    } else {
        pack_weigh_rows(field, &first, b.edge, b.plane, n.w, sum);
    }
    return n.x[0] * sum[0] + n.x[1] * sum[1];
}

/// The box's index of the first of a pack of cells.
TILE_FN int first_of(box_shape b, uint32_t i)
{
    return box_index(b, (int)(i & 7), (int)(i >> TILE_LOG2 & 7), (int)(i >> 2 * TILE_LOG2));
}

/// Component a in the middle of a pack of faces across axis c: what sample_at gives there, by its order of sums.
TILE_FN pack_f32 sample_faces(box_shape b, const float *field, int a, int c, uint32_t i)
{
    const float *at = field + first_of(b, i);
    if (a == c) {
        return pack_load_rows_f32(at, b.edge);
    }
    const int stride[3] = {1, b.edge, b.plane};
    const int inner = a + c == 2 ? 2 : 1, outer = a + c - inner;
    const int next = stride[inner], beyond = stride[outer];
    at -= stride[c];
    return 0.25f * ((pack_load_rows_f32(at, b.edge) + pack_load_rows_f32(at + next, b.edge)) +
                    (pack_load_rows_f32(at + beyond, b.edge) + pack_load_rows_f32(at + beyond + next, b.edge)));
}

/// Where a pack of faces across axis c lies.
TILE_FN pack_point faces_at(int c, uint32_t i)
{
    const pack_i32 cell = pack_count_i32(i);
    pack_point p = {{cell & 7, cell >> TILE_LOG2 & 7, cell >> 2 * TILE_LOG2}};
    TILE_UNROLL for (int a = 0; a < 3; a++) p.at[a] =
        p.at[a] * (1 << POSITION_BITS) + (a == c ? 0 : 1 << (POSITION_BITS - 1));
    return p;
}

/// How far one goes at a speed in a time, at most so many cells; fixed point.
TILE_FN pack_i32 way_of(pack_f32 speed, float time, float most)
{
    return pack_round_i32(pack_clamp_f32(time * speed, -most, most) * (float)(1 << POSITION_BITS));
}

/// Where a pack of faces across axis c comes from, or goes to where `time` is less than 0.
TILE_FN pack_point walk_back(const carry_scratch *s, box_shape b, int components, int c, uint32_t i, float time)
{
    const pack_point from = faces_at(c, i);
    pack_point middle = from, to = from;
    pack_axis axes[3];
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        if (a < components) {
            middle.at[a] += way_of(sample_faces(b, s->kept[a], a, c, i), -0.5f * time, 0.5f * REACH_CELLS);
        }
    }
    axes_of(middle, axes);
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        if (a < components) {
            to.at[a] += way_of(sample_at(b, s->kept[a], a, axes), -time, REACH_CELLS);
        }
    }
    return to;
}

/// What one pack of faces is carried to. `bounds`: also the least and the most that it could be.
TILE_FN void carry_pack(const smoke_args *args, carry_scratch *s, box_shape b, int c, uint64_t own, uint32_t i,
                        uint32_t n)
{
    const grid_memory *grid = &args->tank.grid.m;
    const int components = is_flat(&args->tank.grid.shape) ? 2 : 3;
    pack_axis axes[3];
    axes_of(walk_back(s, b, components, c, i, grid->control->frac), axes);
    const pack_f32 carried = sample_at(b, s->kept[c], c, axes);
    pack_store_f32(grid->u_old[c] + own + i, carried, n);
    if (args->is_semi_lagrange) {
        pack_store_f32(grid->u[c] + own + i, carried, n);
        return;
    }
    pack_f32 low, high;
    pack_places first;
    pack_corners corners;
    find_corners(c, axes, CARRY_BORDER, 1, b.edge, b.plane, &first, &corners);
    pack_bound_rows(s->kept[c], &first, b.edge, b.plane, corners.w, corners.x[1], &low, &high);
    pack_store_f32(grid->u[c] + own + i, low, n);
    pack_store_f32(grid->u_ext[c] + own + i, high, n);
}

/// Loads what faces are carried with. Ends with a barrier.
TILE_FN void load_way(const smoke_args *args, carry_scratch *s, box_shape b, tile_place place)
{
    const int components = is_flat(&args->tank.grid.shape) ? 2 : 3;
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < components; c++) {
        load_velocity(&args->tank.grid, b, place, s->neighbour, args->tank.store.kept[c], s->kept[c], c);
    }
}

/// One tile per active tile.
TILE_KERNEL(smoke_carry, CELL_LANES, smoke_args, carry_scratch)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const tile_place place = tile_place_of(shape, 0, args->tank.grid.m.active_tile[tile]);
    const box_shape b = box_shape_of(shape, CARRY_BORDER);
    const uint32_t faces = (uint32_t)planes_of(shape, place, 2) * TILE_EDGE * TILE_EDGE;
    load_way(args, s, b, place);
    for (int c = 0; c < (is_flat(shape) ? 2 : 3); c++) {
        EACH_PACK(i, n, 0, faces, carry_pack(args, s, b, c, (uint64_t)tile * TILE_CELLS, i, n));
    }
}

TILE_FN void correct_pack(const smoke_args *args, correct_scratch *s, box_shape b, int c, uint64_t own, uint32_t i,
                          uint32_t n)
{
    const grid_memory *grid = &args->tank.grid.m;
    const int components = is_flat(&args->tank.grid.shape) ? 2 : 3;
    pack_axis axes[3];
    const pack_f32 was = sample_faces(b, s->way.kept[c], c, c, i);
    axes_of(walk_back(&s->way, b, components, c, i, -grid->control->frac), axes);
    const pack_f32 carried = pack_load_f32(grid->u_old[c] + own + i, n), back = sample_at(b, s->carried, c, axes),
                   corrected = carried + 0.5f * (was - back);
    const pack_f32 low = pack_load_f32(grid->u[c] + own + i, n), high = pack_load_f32(grid->u_ext[c] + own + i, n);
    // Which of two zeros a bound is differs between devices.
    pack_store_f32(grid->u[c] + own + i, pack_min_f32(pack_max_f32(corrected, low), high) + 0.0f, n);
}

/// One tile per active tile.
TILE_KERNEL(smoke_correct, CELL_LANES, smoke_args, correct_scratch)
{
    const grid_args *grid = &args->tank.grid;
    const tile_place place = tile_place_of(&grid->shape, 0, grid->m.active_tile[tile]);
    const box_shape b = box_shape_of(&grid->shape, CARRY_BORDER);
    const uint32_t faces = (uint32_t)planes_of(&grid->shape, place, 2) * TILE_EDGE * TILE_EDGE;
    load_way(args, &s->way, b, place);
    for (int c = 0; c < (is_flat(&grid->shape) ? 2 : 3); c++) {
        load_velocity(grid, b, place, s->way.neighbour, grid->m.u_old[c], s->carried, c);
        EACH_PACK(i, n, 0, faces, correct_pack(args, s, b, c, (uint64_t)tile * TILE_CELLS, i, n));
        TILE_BARRIER();
    }
}
