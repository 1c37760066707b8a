// From the solved pressure back to the particles: projection, extrapolation into the air, grid to particles and their
// advection (RK3).
#include "kernels/liquid/pack_axis.h"
#include "kernels/liquid/poisson.h"

// ---------------------------------------------------------------------------------------------------------- projection

typedef struct project_scratch {
    cell_rim cells;
    float pressure[RIM_CELLS];
    float change[TILE_CELLS];
} project_scratch;

TILE_FN void project_axis(const liquid_args *args, project_scratch *s, int axis, uint64_t own)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const float *beta = args->m.beta[axis];
    float *change = s->change;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z);
        const float steepness = face_steepness(&s->cells, at - stride, at);
        change[cell_index(x, y, z)] = steepness * (s->pressure[at - stride] - s->pressure[at]);
    }
    TILE_BARRIER();
    if (beta != NULL) {
        FOR_RANGE (i, 0, TILE_CELLS)
            change[i] *= beta[own + i];
        TILE_BARRIER();
    }
    if (args->is_density) {
        float *shift = args->m.shift[axis] + own;
        FOR_RANGE (i, 0, TILE_CELLS)
            shift[i] = tile_clamp_f32(change[i], -0.5f * DENSITY_STEP_MAX, 0.5f * DENSITY_STEP_MAX);
    } else {
        float *u = args->m.u[axis] + own;
        FOR_RANGE (i, 0, TILE_CELLS)
            u[i] += change[i];
    }
    TILE_BARRIER();
}

/// The faces that touch liquid and are not shut by a solid, which pressure gives a velocity.
TILE_FN void mark_valid(const liquid_memory *m, const float *kind, uint64_t own)
{
    uint8_t *valid = m->face_valid + own;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z), y_step = RIM_EDGE, z_step = RIM_EDGE * RIM_EDGE;
        const int along_x = kind[at - 1] + kind[at] > KIND_SURFACE,
                  along_y = kind[at - y_step] + kind[at] > KIND_SURFACE,
                  along_z = kind[at - z_step] + kind[at] > KIND_SURFACE;
        valid[cell_index(x, y, z)] = (uint8_t)(along_x | along_y << 1 | along_z << 2);
    }
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        if (m->open[axis] != NULL) {
            FOR_RANGE (i, 0, TILE_CELLS)
                valid[i] &= (uint8_t)(m->open[axis][own + i] > 0 ? 7 : ~(1u << axis));
            TILE_BARRIER();
        }
    }
}

/// u -= grad p on the faces that touch liquid, which become the valid ones; or, for the density correction, the
/// displacement -grad q. What failed is not applied. One tile per active tile.
TILE_KERNEL(liquid_project, CELL_LANES, liquid_args, project_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!is_near_liquid(args, place, dense)) {
        if (!args->is_density) {
            FOR_RANGE (i, 0, TILE_CELLS)
                m->face_valid[own + i] = 0;
        }
        for (int axis = 0; axis < 3 && args->is_density; axis++) {
            FOR_RANGE (i, 0, TILE_CELLS)
                m->shift[axis][own + i] = 0.0f;
        }
        return;
    }
    load_cells(args, place, tile, &s->cells);
    load_rim(args, 0, place, m->level[0].index[dense], args->solution, s->pressure);
    if (m->counters->failed != 0) {
        FOR_RANGE (i, 0, RIM_CELLS)
            s->pressure[i] = 0.0f;
        TILE_BARRIER();
    }
    for (int axis = 0; axis < 3; axis++)
        project_axis(args, s, axis, own);
    if (!args->is_density)
        mark_valid(m, s->cells.kind, own);
}

// ------------------------------------------------------------------------------------------------------- extrapolation

enum {
    EXTEND_BORDER = EXTRAPOLATION_LAYERS,
    EXTEND_EDGE = TILE_EDGE + 2 * EXTRAPOLATION_LAYERS,
    EXTEND_CELLS = EXTEND_EDGE * EXTEND_EDGE * EXTEND_EDGE,
};

/// Two copies, so that a layer reads one and writes the other. Unknown values are zero.
typedef struct extend_scratch {
    float value[2][EXTEND_CELLS];
    float known[2][EXTEND_CELLS]; ///< 1 or 0
    uint8_t valid[EXTEND_CELLS];
    uint32_t neighbour[27];
    uint32_t unknown, known_near; ///< bit per axis: some face of the tile is unknown, some that may reach it known
} extend_scratch;

TILE_FN int extend_index(int x, int y, int z)
{
    return (z * EXTEND_EDGE + y) * EXTEND_EDGE + x;
}

/// Gives the unknown faces next to known ones the mean of those. Goes over whole planes but for `layer` rows at their
/// borders: rows run into each other, and what comes of it at their ends is read by nobody.
TILE_FN void extend_layer(extend_scratch *s, int layer)
{
    const float *value = s->value[~layer & 1], *known = s->known[~layer & 1];
    float *next_value = s->value[layer & 1], *next_known = s->known[layer & 1];
    const int size = EXTEND_EDGE - 2 * layer, y_step = EXTEND_EDGE, z_step = EXTEND_EDGE * EXTEND_EDGE;
    FOR_BOX (i, z, once, size * EXTEND_EDGE - 2 * layer, size, 1) {
        const int at = extend_index(layer + i, layer, layer + z) + once;
        const float count = ((known[at - 1] + known[at + 1]) + (known[at - y_step] + known[at + y_step])) +
                            (known[at - z_step] + known[at + z_step]);
        const float sum = ((value[at - 1] + value[at + 1]) + (value[at - y_step] + value[at + y_step])) +
                          (value[at - z_step] + value[at + z_step]);
        const float mean = sum / tile_max2_f32(count, 1.0f);
        next_value[at] = known[at] > 0.0f ? value[at] : mean;
        next_known[at] = known[at] > 0.0f || count > 0.0f ? 1.0f : 0.0f;
    }
    TILE_BARRIER();
}

/// One component of a tile that has unknown faces.
TILE_FN void extend_component(const liquid_args *args, extend_scratch *s, int axis, float *to)
{
    halo_load_f32(s->value[0], EXTEND_BORDER, args->m.u[axis], s->neighbour);
    TILE_BARRIER();
    FOR_RANGE (i, 0, EXTEND_CELLS) {
        const float known = (float)(s->valid[i] >> axis & 1);
        s->known[0][i] = known;
        s->value[0][i] = known > 0.0f ? s->value[0][i] : 0.0f;
    }
    TILE_BARRIER();
    for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++)
        extend_layer(s, layer);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)
        to[cell_index(x, y, z)] =
            s->value[EXTRAPOLATION_LAYERS & 1][extend_index(x + EXTEND_BORDER, y + EXTEND_BORDER, z + EXTEND_BORDER)];
    TILE_BARRIER();
}

/// Velocities of the faces that touch no liquid, up to EXTRAPOLATION_LAYERS away. One tile per active tile.
TILE_KERNEL(liquid_extrapolate, CELL_LANES, liquid_args, extend_scratch)
{
    const liquid_memory *m = &args->m;
    const uint64_t first = (uint64_t)tile * TILE_CELLS;
    const tile_place place = tile_place_of(&args->shape, 0, m->active_tile[tile]);
    halo_neighbours(args, place, s->neighbour);
    if (TILE_SINGLE())
        s->unknown = s->known_near = 0;
    TILE_BARRIER();
    halo_load_u8(s->valid, EXTEND_BORDER, m->face_valid, s->neighbour);
    FOR_RANGE_ATOMIC (i, 0, TILE_CELLS)
        tile_or_u32(&s->unknown, m->face_valid[first + i] ^ 7u);
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, 0, EXTEND_CELLS)
        tile_or_u32(&s->known_near, s->valid[i]);
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        const float *from = m->u[axis] + first;
        float *to = m->u_ext[axis] + first;
        if ((s->unknown & s->known_near) >> axis & 1) {
            extend_component(args, s, axis, to);
        } else {
            const int known = (s->unknown >> axis & 1) == 0;
            FOR_RANGE (i, 0, TILE_CELLS)
                to[i] = known ? from[i] : 0.0f;
        }
    }
}

// ----------------------------------------------------------------------------------------- grid to particles,
// advection

enum {
    NEAR_EDGE = 10, ///< velocities at the particles
    NEAR_NODES = NEAR_EDGE * NEAR_EDGE * NEAR_EDGE,
    FAR_BORDER = 2,
    FAR_EDGE = 12, ///< velocities on the way
    FAR_NODES = FAR_EDGE * FAR_EDGE * FAR_EDGE,
    FAR_SQUARES = FAR_EDGE * (FAR_EDGE - 1) * FAR_EDGE,
    FAR_COPIES = PACK_WIDTH > 1 ? 2 : 1, ///< a CPU looks a node and the next along y up at once
};

/// What the transfer looks up: new velocity, and how much it changed, both with one set of weights.
typedef struct near_scratch {
    float field[3][NEAR_NODES][2];
    float fresh[NEAR_NODES], old[NEAR_NODES];
} near_scratch;

/// What the way looks up: new velocity and the density correction.
typedef struct far_scratch {
    float carrier[3][FAR_COPIES > 1 ? FAR_SQUARES : FAR_NODES][FAR_COPIES];
    float plain[FAR_COPIES > 1 ? FAR_NODES : 1];
} far_scratch;

typedef struct advect_scratch {
    union {
        near_scratch near; ///< first
        far_scratch far;   ///< then
    } of;
    uint32_t neighbour[27];
    uint32_t move_count[27];
    float speed[PARTICLE_LANES];
} advect_scratch;

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
        for (int i = 0; i < 2; i++)
            n[a].w[i] = a == c ? axis.face_weight[i] : axis.center_weight[i];
    }
    component_weights w = {n[0], n[1], n[2]};
    return w;
}

/// The eight nodes of a component around each particle of a pack: the first one's index, and weights.
typedef struct pack_corners {
    pack_places first;
    pack_f32 x[2];
    pack_f32 w00, w10, w01, w11; ///< of the four rows along x
} pack_corners;

/// @param node, row  numbers of the scratch from one node to the next along x, and along y; edge: rows of a plane
TILE_FN void find_corners(int c, const pack_axis *axes, int border, int node, int row, int edge, pack_corners *n)
{
    const pack_node x = c == 0 ? axes[0].face : axes[0].center, y = c == 1 ? axes[1].face : axes[1].center,
                    z = c == 2 ? axes[2].face : axes[2].center;
    pack_set_places(&n->first, (z.at + border) * (edge * row) + (y.at + border) * row + (x.at + border) * node);
    n->x[0] = x.w[0];
    n->x[1] = x.w[1];
    n->w00 = y.w[0] * z.w[0];
    n->w10 = y.w[1] * z.w[0];
    n->w01 = y.w[0] * z.w[1];
    n->w11 = y.w[1] * z.w[1];
}

/// Trilinear interpolation of the pairs of near.field[c]: symmetric under reflection.
TILE_FN void interpolate_near(const near_scratch *s, int c, const pack_axis *axes, pack_f32 *value, pack_f32 *change)
{
    enum { ROW = 2 * NEAR_EDGE, PLANE = ROW * NEAR_EDGE };
    const float *field = s->field[c][0];
    pack_f32 a[4], b[4], sum[4];
    pack_corners n;
    find_corners(c, axes, 1, 2, ROW, NEAR_EDGE, &n);
    pack_fetch4(field, &n.first, a);
    pack_fetch4(field + ROW, &n.first, b);
    TILE_UNROLL for (int k = 0; k < 4; k++) sum[k] = n.w00 * a[k] + n.w10 * b[k];
    pack_fetch4(field + PLANE, &n.first, a);
    pack_fetch4(field + PLANE + ROW, &n.first, b);
    TILE_UNROLL for (int k = 0; k < 4; k++) sum[k] = sum[k] + (n.w01 * a[k] + n.w11 * b[k]);
    *value = n.x[0] * sum[0] + n.x[1] * sum[2];
    *change = n.x[0] * sum[1] + n.x[1] * sum[3];
}

/// Four nodes of a plane of far.carrier[c]: [2 x + y].
TILE_FN void fetch_square(const float *field, const pack_places *first, pack_f32 *square)
{
    if (FAR_COPIES > 1) {
        pack_fetch4(field, first, square);
    } else {
        pack_f32 row[4];
        pack_fetch4(field, first, row);
        square[0] = row[0];
        square[2] = row[1];
        pack_fetch4(field + FAR_EDGE, first, row);
        square[1] = row[0];
        square[3] = row[1];
    }
}

/// The same for far.carrier[c].
TILE_FN pack_f32 interpolate_far(const far_scratch *s, int c, const pack_axis *axes)
{
    enum { ROW = FAR_COPIES * FAR_EDGE, ROWS = FAR_COPIES > 1 ? FAR_EDGE - 1 : FAR_EDGE };
    const float *field = s->carrier[c][0];
    pack_f32 low[4], high[4], sum[2];
    pack_corners n;
    find_corners(c, axes, FAR_BORDER, FAR_COPIES, ROW, ROWS, &n);
    fetch_square(field, &n.first, low);
    fetch_square(field + ROW * ROWS, &n.first, high);
    TILE_UNROLL for (int i = 0; i < 2; i++) sum[i] =
        (n.w00 * low[2 * i] + n.w10 * low[2 * i + 1]) + (n.w01 * high[2 * i] + n.w11 * high[2 * i + 1]);
    return n.x[0] * sum[0] + n.x[1] * sum[1];
}

/// One face value of the velocity that carries particles, anywhere in the tank.
TILE_FN float carrier_anywhere(const liquid_args *args, int c, int x, int y, int z, float shift_scale)
{
    int at[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        const int cells = args->shape.cells[a];
        if (a == c && (at[a] <= 0 || at[a] >= cells))
            return 0.0f;
        at[a] = tile_clamp_i32(at[a], 0, cells - 1);
    }
    const uint32_t dense = tile_dense_of(&args->shape, 0, at[0] >> TILE_LOG2, at[1] >> TILE_LOG2, at[2] >> TILE_LOG2);
    const uint32_t slot = args->m.slot[dense];
    if (slot == TILE_NONE)
        return 0.0f;
    const uint64_t cell = (uint64_t)slot * TILE_CELLS + cell_index(at[0] & 7, at[1] & 7, at[2] & 7);
    return args->m.u_ext[c][cell] + shift_scale * args->m.shift[c][cell];
}

/// The slow path of a fast particle, whose midpoint lies beyond what the scratch holds: the same sum.
TILE_FN float interpolate_anywhere(const liquid_args *args, tile_place place, int c, component_weights w,
                                   float shift_scale)
{
    const int x = place.x * TILE_EDGE + w.x.at, y = place.y * TILE_EDGE + w.y.at, z = place.z * TILE_EDGE + w.z.at;
    float row[2];
    for (int i = 0; i < 2; i++)
        row[i] = (w.y.w[0] * w.z.w[0] * carrier_anywhere(args, c, x + i, y, z, shift_scale) +
                  w.y.w[1] * w.z.w[0] * carrier_anywhere(args, c, x + i, y + 1, z, shift_scale)) +
                 (w.y.w[0] * w.z.w[1] * carrier_anywhere(args, c, x + i, y, z + 1, shift_scale) +
                  w.y.w[1] * w.z.w[1] * carrier_anywhere(args, c, x + i, y + 1, z + 1, shift_scale));
    return w.x.w[0] * row[0] + w.x.w[1] * row[1];
}

TILE_FN void load_near(const liquid_args *args, advect_scratch *s, tile_place place)
{
    const liquid_memory *m = &args->m;
    near_scratch *near = &s->of.near;
    for (int c = 0; c < 3; c++) {
        halo_load_f32(near->fresh, 1, m->u_ext[c], s->neighbour);
        halo_load_f32(near->old, 1, m->u_old[c], s->neighbour);
        TILE_BARRIER();
        halo_walls(&args->shape, place, near->fresh, 1, c);
        halo_walls(&args->shape, place, near->old, 1, c);
        FOR_RANGE (i, 0, NEAR_NODES) {
            near->field[c][i][0] = near->fresh[i];
            near->field[c][i][1] = change_of(near->fresh[i], near->old[i]);
        }
        TILE_BARRIER();
    }
}

TILE_FN void load_far(const liquid_args *args, advect_scratch *s, tile_place place, float shift_scale)
{
    const liquid_memory *m = &args->m;
    far_scratch *far = &s->of.far;
    for (int c = 0; c < 3; c++) {
        float *plain = FAR_COPIES > 1 ? far->plain : far->carrier[c][0];
        halo_load_f32(plain, FAR_BORDER, m->u_ext[c], s->neighbour);
        TILE_BARRIER();
        halo_add_f32(plain, FAR_BORDER, m->shift[c], s->neighbour, shift_scale);
        TILE_BARRIER();
        halo_walls(&args->shape, place, plain, FAR_BORDER, c);
        if (FAR_COPIES > 1) {
            for (int z = 0; z < FAR_EDGE; z++) {
                const float *plane = plain + z * FAR_EDGE * FAR_EDGE;
                float *squares = far->carrier[c][z * FAR_EDGE * (FAR_EDGE - 1)];
                FOR_RANGE (i, 0, FAR_EDGE * (FAR_EDGE - 1)) {
                    squares[2 * i] = plane[i];
                    squares[2 * i + 1] = plane[i + FAR_EDGE];
                }
            }
        }
        TILE_BARRIER();
    }
}

/// The velocity that carries particles at points, fixed-point cells of the tile; from the scratch or, beyond it, from
/// anywhere.
TILE_FN void carrier_at(const liquid_args *args, const far_scratch *s, tile_place place, const pack_i32 *point,
                        float shift_scale, pack_f32 *carrier)
{
    pack_axis axes[3];
    pack_i32 beyond = pack_all_i32(0);
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const pack_i32 near = pack_clamp_i32(point[a], -3 * (1 << (POSITION_BITS - 1)), 9 * (1 << POSITION_BITS) - 1);
        beyond |= near != point[a];
        axes[a] = pack_axis_of(near);
    }
    TILE_UNROLL for (int c = 0; c < 3; c++) carrier[c] = interpolate_far(s, c, axes);
    if (pack_any(beyond)) {
        for (int l = 0; l < PACK_WIDTH; l++) {
            if (pack_get_i32(beyond, l) == 0)
                continue;
            const int at[3] = {pack_get_i32(point[0], l), pack_get_i32(point[1], l), pack_get_i32(point[2], l)};
            for (int c = 0; c < 3; c++)
                pack_set_f32(&carrier[c], l, interpolate_anywhere(args, place, c, weights_at(c, at), shift_scale));
        }
    }
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

/// Displacement over the substep, cells, by Ralston's third-order Runge-Kutta method. Where the first stage's velocity
/// is that of the transfer, it lacks the density correction's displacement; the other two carry 7/9 of the step, which
/// shift_scale then makes up for.
TILE_FN void displacement(const liquid_args *args, const far_scratch *s, tile_place place, const pack_i32 *at,
                          const pack_f32 *velocity, float shift_scale, pack_f32 *moved)
{
    const float frac = args->m.control->frac;
    pack_i32 point[3];
    pack_f32 second[3], third[3];
    stage_point(at, velocity, 0.5f * frac, point);
    carrier_at(args, s, place, point, shift_scale, second);
    stage_point(at, second, 0.75f * frac, point);
    carrier_at(args, s, place, point, shift_scale, third);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const pack_f32 sum = 2.0f * velocity[c] + 3.0f * second[c] + 4.0f * third[c];
        moved[c] = pack_clamp_f32(frac * (1.0f / 9.0f) * sum, -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
    }
}

/// Where particles are in their tile, fixed-point cells.
TILE_FN void load_places(const liquid_memory *m, uint32_t particle, uint32_t n, pack_i32 *at)
{
    TILE_UNROLL for (int c = 0; c < 3; c++) at[c] =
        pack_load_i32(m->position[c] + particle, n) & ((1 << TILE_POSITION_BITS) - 1);
}

/// New velocities of a pack of particles. The grid's velocity at them, the way's first stage, waits in moved_position.
TILE_FN void transfer_pack(const liquid_args *args, const near_scratch *s, uint32_t particle, uint32_t n)
{
    const liquid_memory *m = &args->m;
    const float flip = m->control->flip, limit = m->control->speed_max;
    pack_i32 at[3];
    pack_axis axes[3];
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_prefetch(m->position[c] + particle);
        pack_prefetch(m->velocity[c] + particle);
        pack_prefetch(m->moved_velocity[c] + particle);
        pack_prefetch(m->moved_position[c] + particle);
    }
    load_places(m, particle, n, at);
    TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        pack_f32 velocity, change;
        interpolate_near(s, c, axes, &velocity, &change);
        const pack_f32 kept = pack_load_f32(m->velocity[c] + particle, n) + change;
        const pack_f32 moved = pack_clamp_f32(velocity + flip * (kept - velocity), -limit, limit);
        pack_store_f32(m->moved_velocity[c] + particle, moved, n);
        pack_store_i32(m->moved_position[c] + particle, pack_bits_f32(velocity), n);
    }
}

enum { STAYS = 13 };

/// Counts the particles that leave their tile; most don't, and all would count in one place.
TILE_FN void count_moves(advect_scratch *s, pack_i32 to, uint32_t n)
{
    if (pack_any(to != STAYS)) {
        for (uint32_t l = 0; l < n; l++)
            if (pack_get_i32(to, (int)l) != STAYS)
                tile_add_u32(&s->move_count[pack_get_i32(to, (int)l)], 1);
    }
}

/// New positions and tiles of a pack of particles. Where the velocity is `gathered` already (gather.tile.c), the
/// carrier's own value stands for the velocity at the start.
TILE_FN void move_pack(const liquid_args *args, advect_scratch *s, tile_place place, uint32_t particle, uint32_t n,
                       float shift_scale, int gathered)
{
    const liquid_memory *m = &args->m;
    const int tile_at[3] = {place.x, place.y, place.z};
    pack_f32 velocity[3], moved[3], fastest = pack_all_f32(0.0f);
    pack_i32 at[3], to = pack_all_i32(0);
    pack_prefetch(m->id + particle);
    pack_prefetch(m->moved_id + particle);
    load_places(m, particle, n, at);
    if (gathered) {
        pack_axis axes[3];
        TILE_UNROLL for (int c = 0; c < 3; c++) axes[c] = pack_axis_of(at[c]);
        TILE_UNROLL for (int c = 0; c < 3; c++) velocity[c] = interpolate_far(&s->of.far, c, axes);
    } else {
        TILE_UNROLL for (int c = 0; c < 3; c++) velocity[c] =
            pack_f32_bits(pack_load_i32(m->moved_position[c] + particle, n));
    }
    displacement(args, &s->of.far, place, at, velocity, shift_scale, moved);
    TILE_UNROLL for (int c = 2; c >= 0; c--)
    {
        const int32_t last = (args->shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
        const pack_i32 wanted =
            pack_load_i32(m->position[c] + particle, n) + pack_round_i32(moved[c] * (float)(1 << POSITION_BITS));
        const pack_i32 position = pack_clamp_i32(wanted, WALL_MARGIN, last);
        pack_store_i32(m->moved_position[c] + particle, position, n);
        to = to * 3 + ((position >> TILE_POSITION_BITS) - (tile_at[c] - 1));
        fastest = pack_max_f32(fastest, pack_abs_f32(pack_load_f32(m->moved_velocity[c] + particle, n)));
    }
    count_moves(s, to, n);
    pack_keep_max_f32(s->speed, fastest);
    pack_store_i32(m->moved_id + particle, pack_load_i32(m->id + particle, n), n);
    pack_store_u8(m->moved_to + particle, to, n);
    if (m->attribute != NULL)
        pack_store_i32(m->moved_attribute + particle, pack_load_i32(m->attribute + particle, n), n);
}

TILE_FN void advect_tile(const liquid_args *args, uint32_t tile, advect_scratch *s, int gathered)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], end = first + m->tile_count[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const float shift_scale = (gathered ? 1.0f : 9.0f / 7.0f) / m->control->frac;
    halo_neighbours(args, place, s->neighbour);
    FOR_RANGE (n, 0, 27)
        s->move_count[n] = 0;
    FOR_RANGE (lane, 0, PARTICLE_LANES)
        s->speed[lane] = 0.0f;
    TILE_BARRIER();
    if (!gathered) {
        load_near(args, s, place);
        FOR_PACKS(i, n, first, end)
        transfer_pack(args, &s->of.near, i, n);
        TILE_BARRIER();
    }
    load_far(args, s, place, shift_scale);
    FOR_PACKS(i, n, first, end)
    move_pack(args, s, place, i, n, shift_scale, gathered);
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        uint32_t gone = 0;
        for (uint32_t n = 0; n < 27; n++)
            gone += s->move_count[n];
        s->move_count[STAYS] = end - first - gone;
    }
    TILE_BARRIER();
    tile_max_f32(s->speed, PARTICLE_LANES);
    FOR_RANGE (n, 0, 27)
        m->move_count[tile * 27 + n] = s->move_count[n];
    if (TILE_SINGLE())
        global_max_u32(&m->counters->speed_max_bits, tile_bits_f32(s->speed[0]));
}

/// Moves a tile's particles. One tile per occupied tile.
TILE_KERNEL(liquid_advect, PARTICLE_LANES, liquid_args, advect_scratch)
{
    advect_tile(args, tile, s, 0);
}

/// The same after one of the gathering kernels.
TILE_KERNEL(liquid_advect_gathered, PARTICLE_LANES, liquid_args, advect_scratch)
{
    advect_tile(args, tile, s, 1);
}
