// Grid to particles, and their advection (RK3).
#include "kernels/grid/halo.h"
#include "kernels/grid/poisson.h"
#include "kernels/tank/pack_axis.h"
#include "kernels/tank/store.h"

enum {
    FAR_BORDER = 2,
    FAR_EDGE = 12, ///< velocities on the way
    FAR_NODES = FAR_EDGE * FAR_EDGE * FAR_EDGE,
    FAR_PAIRS = FAR_EDGE * (FAR_EDGE - 1) * FAR_EDGE,
    FAR_COPIES = PACK_WIDTH > 1 ? 2 : 1, ///< a CPU looks a node and the next along z up at once
    IN_WALLS = 27,                       ///< instead of a neighbour, and of the next two: no tile, as nothing flows
    NEIGHBOURS = IN_WALLS + 3,
};

/// What is looked up where particles are: the first stage of their way, and what the grid adds to their velocity, both
/// with one set of weights.
typedef struct near_scratch {
    float field[3][NEAR_NODES][2];
} near_scratch;

/// What the way looks up: the grid's velocity.
typedef struct far_scratch {
    float carrier[3][FAR_COPIES > 1 ? FAR_PAIRS : FAR_NODES][FAR_COPIES];
} far_scratch;

/// What a block keeps besides the fields.
typedef struct advect_common {
    uint32_t neighbour[NEIGHBOURS];
    uint32_t move_count[27];
    uint32_t layers[2];               ///< bit per layer of cells along y, and along z, that holds particles
    float way[PARTICLE_LANES];        ///< cells along an axis
    float liquid_way[PARTICLE_LANES]; ///< the same without spray
} advect_common;

/// The cells of a tile that hold particles lie in y[0]..y[1] and z[0]..z[1]: nodes farther away are not looked up. In a
/// flat tank nothing moves along z, nor is looked up beyond the next nodes.
typedef struct cell_box {
    int y[2], z[2];
    int components, far_z; ///< axes of velocities; nodes that are looked up before and behind along z
} cell_box;

typedef struct node_weights {
    int at;
    float w[2];
} node_weights;

/// Nodes and weights of one component: on faces along its own axis, at centres along the others.
typedef struct component_weights {
    node_weights x, y, z;
} component_weights;

TILE_FN component_weights weights_at(int c, const int *point)
{
    node_weights n[3];
    for (int a = 0; a < 3; a++) {
        const particle_axis axis = axis_weights_local(point[a]);
        n[a].at = a == c ? axis.face : axis.center;
        for (int i = 0; i < 2; i++) {
            n[a].w[i] = a == c ? axis.face_weight[i] : axis.center_weight[i];
        }
    }
    component_weights w = {n[0], n[1], n[2]};
    return w;
}

/// Trilinear interpolation of far.carrier[c].
TILE_FN pack_f32 interpolate_far(const far_scratch *s, int c, const pack_axis *axes)
{
    enum { ROW = FAR_COPIES * FAR_EDGE, PLANE = ROW * FAR_EDGE };
    pack_f32 sum[4];
    pack_places first;
    pack_corners n;
    find_corners(c, axes, FAR_BORDER, FAR_COPIES, ROW, PLANE, &first, &n);
    if (FAR_COPIES > 1) {
        pack_weigh_pairs(s->carrier[c][0], &first, ROW, n.w, sum);
        return n.x[0] * (sum[0] + sum[1]) + n.x[1] * (sum[2] + sum[3]);
    }
    pack_weigh_rows(s->carrier[c][0], &first, ROW, PLANE, n.w, sum);
    return n.x[0] * sum[0] + n.x[1] * sum[1];
}

/// The slow path of a fast particle, whose midpoint lies beyond what the scratch holds: the same sum.
TILE_FN float interpolate_anywhere(const tank_args *args, tile_place place, int c, component_weights w)
{
    const int x = place.x * TILE_EDGE + w.x.at, y = place.y * TILE_EDGE + w.y.at, z = place.z * TILE_EDGE + w.z.at;
    float row[2];
    for (int i = 0; i < 2; i++) {
        row[i] = (w.y.w[0] * w.z.w[0] * carrier_anywhere(&args->grid, c, x + i, y, z) +
                  w.y.w[1] * w.z.w[0] * carrier_anywhere(&args->grid, c, x + i, y + 1, z)) +
                 (w.y.w[0] * w.z.w[1] * carrier_anywhere(&args->grid, c, x + i, y, z + 1) +
                  w.y.w[1] * w.z.w[1] * carrier_anywhere(&args->grid, c, x + i, y + 1, z + 1));
    }
    return w.x.w[0] * row[0] + w.x.w[1] * row[1];
}

/// Where nodes of a component lie along y or z, as halo_walls has it: beyond walls are the cells before them, but
/// nothing flows through walls.
typedef struct axis_place {
    uint32_t neighbour; ///< what it adds to a neighbour's number, from that of the first one along x
    uint32_t cell;      ///< and to a cell's
    int is_wall;
    float slip; ///< of what lies there
} axis_place;

TILE_FN axis_place axis_place_of(const grid_args *args, tile_place place, int c, int axis, int at)
{
    const grid_shape *shape = &args->shape;
    const int tile = axis == 0 ? place.x : axis == 1 ? place.y : place.z;
    const uint32_t tile_step = axis == 0 ? 1 : axis == 1 ? 3 : 9;
    const int last = shape->cells[axis] - 1 - tile * TILE_EDGE, first = tile == 0 ? 0 : -TILE_EDGE;
    const int in = tile_clamp_i32(at, first, last);
    axis_place p;
    p.neighbour = (uint32_t)((in >> TILE_LOG2) + 1) * tile_step;
    p.cell = (uint32_t)(in & (TILE_EDGE - 1)) << (TILE_LOG2 * axis);
    p.is_wall = c == axis && ((tile == 0 && at <= 0) || at > last);
    p.slip = in != at && !p.is_wall ? wall_slip(args, axis) : 1.0f;
    return p;
}

/// Where a row of nodes lies.
typedef struct row_place {
    uint32_t neighbour; ///< that holds the nodes with x < 0; the next one holds 0..7
    uint32_t cell;      ///< of its cells, that with x = 0
    float slip;
} row_place;

TILE_FN row_place row_place_of(axis_place y, axis_place z)
{
    row_place row;
    row.neighbour = y.is_wall | z.is_wall ? (uint32_t)IN_WALLS : y.neighbour + z.neighbour;
    row.cell = y.cell + z.cell;
    row.slip = y.slip * z.slip;
    return row;
}

/// The velocity that carries particles at points, fixed-point cells of the tile; from the scratch or, beyond it, from
/// anywhere. `there`: the particles that the pack has.
TILE_FN void carrier_at(const tank_args *args, const far_scratch *s, tile_place place, cell_box box,
                        const pack_i32 *point, pack_i32 there, pack_f32 *carrier)
{
    pack_axis axes[3];
    pack_i32 beyond = pack_all_i32(0);
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const int first = a == 0 ? 0 : a == 1 ? box.y[0] : box.z[0];
        const int last = a == 0 ? TILE_EDGE - 1 : a == 1 ? box.y[1] : box.z[1];
        const pack_i32 near = pack_clamp_i32(point[a], (2 * first - 3) * (1 << (POSITION_BITS - 1)),
                                             (last + 2) * (1 << POSITION_BITS) - 1);
        beyond |= near != point[a];
        axes[a] = pack_axis_of(near);
    }
    TILE_UNROLL for (int c = 0; c < 3; c++) carrier[c] =
        c < box.components ? interpolate_far(s, c, axes) : pack_all_f32(0.0f);
    beyond &= there;
    if (pack_any(beyond != 0)) {
        for (int l = 0; l < PACK_WIDTH; l++) {
            if (pack_get_i32(beyond, l) == 0) {
                continue;
            }
            const int at[3] = {pack_get_i32(point[0], l), pack_get_i32(point[1], l), pack_get_i32(point[2], l)};
            float far[3];
            for (int c = 0; c < 3; c++) {
                far[c] = interpolate_anywhere(args, place, c, weights_at(c, at));
            }
            TILE_UNROLL for (int c = 0; c < 3; c++) pack_set_f32(&carrier[c], l, far[c]);
        }
    }
}

/// Whether one of a pack of particles is spray.
TILE_FN int is_spray(const grid_memory *grid, uint32_t slot, const pack_i32 *at, int l)
{
    const uint32_t cell = cell_index(pack_get_i32(at[0], l) >> POSITION_BITS, pack_get_i32(at[1], l) >> POSITION_BITS,
                                     pack_get_i32(at[2], l) >> POSITION_BITS);
    return density_of(grid, (uint64_t)slot * TILE_CELLS + cell) < SPRAY_DENSITY;
}

/// Where a stage of the integration looks: `at` moved by `share` of the step with `velocity`.
TILE_FN void stage_point(const pack_i32 *at, const pack_f32 *velocity, float share, pack_i32 *point)
{
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 way = pack_clamp_f32(share * velocity[c], -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
        point[c] = at[c] + pack_round_i32(way * (float)(1 << POSITION_BITS));
    }
}

/// Displacement over the substep, cells, by Ralston's third-order Runge-Kutta method; unlimited.
/// @param velocity  the first stage's
/// @param there     the particles that the pack has
TILE_FN void displacement(const tank_args *args, const far_scratch *s, tile_place place, cell_box box,
                          const pack_i32 *at, const pack_f32 *velocity, pack_i32 there, pack_f32 *way)
{
    const float frac = args->grid.m.control->frac;
    pack_i32 point[3];
    pack_f32 second[3], third[3];
    stage_point(at, velocity, 0.5f * frac, point);
    carrier_at(args, s, place, box, point, there, second);
    stage_point(at, second, 0.75f * frac, point);
    carrier_at(args, s, place, box, point, there, third);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 sum = 2.0f * velocity[c] + 3.0f * second[c] + 4.0f * third[c];
        way[c] = frac * (1.0f / 9.0f) * sum;
    }
}

/// Counts the particles that leave their tile; most don't, and all would count in one place.
TILE_FN void count_moves(advect_common *s, pack_i32 to, uint32_t n)
{
    uint32_t moving = pack_mask_bits(to != MOVED_STAYS) & ((1u << n) - 1);
    pack_places tile;
    pack_set_places(&tile, to);
    for (; moving != 0; moving &= moving - 1) {
        tile_add_u32(&s->move_count[tile.of[tile_lowest_bit_u32(moving)]], 1);
    }
}

/// Keeps how far particles go, and those of the liquid. Which are spray is looked up where one would be the farthest of
/// the lane's so far.
TILE_FN void keep_way(const grid_memory *grid, advect_common *s, const pack_i32 *at, pack_f32 way)
{
    const pack_f32 before = pack_kept_f32(s->liquid_way);
    pack_keep_max_f32(s->way, way);
    if (!pack_any(way > before)) {
        return;
    }
    float most = pack_get_f32(before, 0);
    for (int l = 0; l < PACK_WIDTH; l++) {
        const float found = pack_get_f32(way, l);
        if (found > most && !is_spray(grid, s->neighbour[MOVED_STAYS], at, l)) {
            most = found;
        }
    }
    pack_keep_max_f32(s->liquid_way, pack_all_f32(most));
}

/// Spray that goes farther in a substep than velocities are extrapolated flies straight, with its own velocity: on its
/// way there is nothing to look up.
/// @param velocity  the first stage's
/// @param way, moved  cells; as wanted, and as far as it may be
TILE_FN void fly_spray(const tank_args *args, uint32_t slot, const pack_i32 *at, const pack_f32 *velocity,
                       uint32_t particle, uint32_t n, pack_f32 *way, pack_f32 *moved)
{
    const float frac = args->grid.m.control->frac, least = (float)EXTRAPOLATION_LAYERS / frac;
    const pack_f32 speed =
        pack_max_f32(pack_max_f32(pack_abs_f32(velocity[0]), pack_abs_f32(velocity[1])), pack_abs_f32(velocity[2]));
    if (!pack_any(speed > least)) {
        return;
    }
    pack_f32 flight = pack_all_f32(0.0f); // 1 for those that fly
    for (int l = 0; l < PACK_WIDTH; l++) {
        const int flies = pack_get_f32(speed, l) > least && is_spray(&args->grid.m, slot, at, l);
        pack_set_f32(&flight, l, flies ? 1.0f : 0.0f);
    }
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 own = frac * pack_load_f32(args->store.moved_velocity[c] + particle, n);
        way[c] = flight * own + (1.0f - flight) * way[c];
        moved[c] = flight * pack_clamp_f32(own, -FLIGHT_CELLS_MAX, FLIGHT_CELLS_MAX) + (1.0f - flight) * moved[c];
    }
}

/// Spray that comes to one of the tank's walls goes on along it. In the grid it would have nothing but its own cell to
/// pass on to what it brings, and splash from there. `beyond`: how far the others would be behind the wall across axis
/// c.
TILE_FN void stop_spray(const tank_args *args, uint32_t slot, const pack_i32 *at, pack_i32 beyond, int c,
                        uint32_t particle)
{
    for (int l = 0; l < PACK_WIDTH; l++) {
        const int32_t out = pack_get_i32(beyond, l);
        if (out != 0 && is_spray(&args->grid.m, slot, at, l)) {
            float *velocity = &args->store.moved_velocity[c][particle + (uint32_t)l];
            *velocity = (*velocity > 0.0f) == (out > 0) ? 0.0f : *velocity;
        }
    }
}

/// New positions and tiles of a pack of particles, which are at `at`.
/// @param velocity  the first stage's
TILE_FN void move_pack(const tank_args *args, advect_common *s, const far_scratch *carrier, tile_place place,
                       cell_box box, const pack_i32 *at, const pack_f32 *velocity, uint32_t particle, uint32_t n)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const int tile_at[3] = {place.x, place.y, place.z};
    const float limit = grid->control->speed_max * grid->control->frac;
    const pack_i32 there = pack_first_f32(1.0f, n) > 0.0f;
    pack_f32 way[3], moved[3], farthest = pack_all_f32(0.0f);
    pack_i32 to = pack_all_i32(0);
    displacement(args, carrier, place, box, at, velocity, there, way);
    TILE_UNROLL for (int c = 0; c < 3; c++) moved[c] = pack_clamp_f32(way[c], -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
    fly_spray(args, s->neighbour[MOVED_STAYS], at, velocity, particle, n, way, moved);
    TILE_UNROLL for (int c = 2; c >= 0; c--)
    {
        const int32_t last = (args->grid.shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
        const pack_i32 wanted =
            pack_load_i32(store->position[c] + particle, n) + pack_round_i32(moved[c] * (float)(1 << POSITION_BITS));
        const pack_i32 position = pack_clamp_i32(wanted, WALL_MARGIN, last),
                       beyond = pack_keep_i32(there, wanted - position);
        if (pack_any(beyond)) {
            stop_spray(args, s->neighbour[MOVED_STAYS], at, beyond, c, particle);
        }
        pack_store_i32(store->moved_position[c] + particle, position, n);
        to = to * 3 + ((position >> TILE_POSITION_BITS) - (tile_at[c] - 1));
        farthest = pack_max_f32(farthest, pack_abs_f32(pack_clamp_f32(way[c], -limit, limit)));
    }
    count_moves(s, to, n);
    keep_way(grid, s, at, farthest * pack_first_f32(1.0f, n));
    pack_store_u8(store->moved_to + particle, to, n);
}

/// What moves along with a pack of particles as it is. What is written may for a compiler be what is read next: a GPU
/// would wait for each.
TILE_FN void copy_pack(const tank_args *args, uint32_t particle, uint32_t n)
{
    const store_memory *store = &args->store;
    const pack_i32 id = pack_load_i32(store->id + particle, n);
    pack_i32 attribute = pack_all_i32(0), seat = pack_all_i32(0);
    if (store->attribute != NULL) {
        attribute = pack_load_i32(store->attribute + particle, n);
    }
    if (store->seat != NULL) {
        seat = pack_load_i32(store->seat + particle, n);
    }
    pack_store_i32(store->moved_id + particle, id, n);
    if (store->attribute != NULL) {
        pack_store_i32(store->moved_attribute + particle, attribute, n);
    }
    if (store->seat != NULL) {
        pack_store_i32(store->moved_seat + particle, seat, n);
    }
    for (int k = 0; k < CARRIED_MAX && store->carried[k] != NULL; k++) {
        const pack_f32 carried = mark_beyond(args, pack_load_f32(store->carried[k] + particle, n), CARRIED_LIMIT);
        pack_store_f32(store->moved_carried[k] + particle, carried, n);
    }
}

/// Where in its tile particles are. Ends with a barrier.
TILE_FN cell_box box_of(const tank_args *args, advect_common *s, uint32_t tile)
{
    const uint8_t *count = args->grid.m.cell_count + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE_ATOMIC (row, 0, tile_rows(&args->grid.shape)) {
        uint32_t any = 0;
        for (uint32_t x = 0; x < TILE_EDGE; x++) {
            any |= count[row * TILE_EDGE + x];
        }
        tile_or_u32(&s->layers[0], any != 0 ? 1u << row % TILE_EDGE : 0);
        tile_or_u32(&s->layers[1], any != 0 ? 1u << row / TILE_EDGE : 0);
    }
    TILE_BARRIER();
    const uint32_t y = tile_max_u32(s->layers[0], 1), z = tile_max_u32(s->layers[1], 1);
    cell_box box;
    box.components = is_flat(&args->grid.shape) ? 2 : 3;
    box.far_z = is_flat(&args->grid.shape) ? 1 : FAR_BORDER;
    box.y[0] = (int)tile_lowest_bit_u32(y);
    box.y[1] = 31 - (int)tile_leading_zeros_u32(y);
    box.z[0] = (int)tile_lowest_bit_u32(z);
    box.z[1] = 31 - (int)tile_leading_zeros_u32(z);
    return box;
}

/// What the density correction's displacement is times in the first stage, which carries 2/9 of the step.
TILE_FN float shift_scale_of(const tank_args *args)
{
    return 4.5f / args->grid.m.control->frac;
}

// find_axes and advect_range: how a device loads fields around a tile, and in which order it goes through particles.
#include TILE_FORM(advect)

TILE_FN void advect_piece(const tank_args *args, store_piece piece, advect_scratch *scratch, int gathered)
{
    const grid_memory *grid = &args->grid.m;
    const uint32_t first = piece.first, end = piece.end;
    advect_common *s = &scratch->common;
    const tile_place place = tile_place_of(&args->grid.shape, 0, piece.dense);
    if (first == end) {
        return;
    }
    halo_neighbours(&args->grid, place, s->neighbour);
    FOR_RANGE (n, IN_WALLS, NEIGHBOURS) {
        s->neighbour[n] = TILE_NONE;
    }
    if (TILE_SINGLE()) {
        s->layers[0] = s->layers[1] = 0;
    }
    FOR_RANGE (n, 0, 27) {
        s->move_count[n] = 0;
    }
    FOR_RANGE (lane, 0, PARTICLE_LANES) {
        s->way[lane] = s->liquid_way[lane] = 0.0f;
    }
    find_axes(args, scratch, place);
    TILE_BARRIER();
    advect_range(args, scratch, place, box_of(args, s, piece.tile), first, end, gathered);
    if (TILE_SINGLE()) {
        uint32_t gone = 0;
        for (uint32_t n = 0; n < 27; n++) {
            gone += s->move_count[n];
        }
        s->move_count[MOVED_STAYS] = end - first - gone;
    }
    tile_max_f32(s->way, PARTICLE_LANES);
    tile_max_f32(s->liquid_way, PARTICLE_LANES);
    FOR_RANGE_ATOMIC (n, 0, 27) {
        if (s->move_count[n] != 0) {
            global_add_u32(&args->store.move_count[piece.tile * 27 + n], s->move_count[n]);
        }
    }
    if (TILE_SINGLE()) {
        const float frac = grid->control->frac, limit = grid->control->speed_max;
        const float all = tile_min_f32(s->way[0] / frac, limit), liquid = tile_min_f32(s->liquid_way[0] / frac, limit);
        global_max_u32(&grid->counters->speed_max_bits, tile_bits_f32(all));
        global_max_u32(&grid->counters->liquid_speed_bits, tile_bits_f32(liquid));
    }
}

/// Moves particles. One tile per piece.
TILE_KERNEL(tank_advect, PARTICLE_LANES, tank_args, advect_scratch)
{
    advect_piece(args, piece_of(args, tile), s, 0);
}

/// The same after one of the gathering kernels.
TILE_KERNEL(tank_advect_gathered, PARTICLE_LANES, tank_args, advect_scratch)
{
    advect_piece(args, piece_of(args, tile), s, 1);
}
