// From the solved pressure back to the particles: projection, extrapolation into the air, grid to particles and their
// advection (RK3).
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
} extend_scratch;

TILE_FN int extend_index(int x, int y, int z)
{
    return (z * EXTEND_EDGE + y) * EXTEND_EDGE + x;
}

/// Gives the unknown faces next to known ones the mean of those; leaves out `layer` cells at the border.
TILE_FN void extend_layer(extend_scratch *s, int layer)
{
    const float *value = s->value[~layer & 1], *known = s->known[~layer & 1];
    float *next_value = s->value[layer & 1], *next_known = s->known[layer & 1];
    const int size = EXTEND_EDGE - 2 * layer, y_step = EXTEND_EDGE, z_step = EXTEND_EDGE * EXTEND_EDGE;
    FOR_BOX (x, y, z, size, size, size) {
        const int at = extend_index(x + layer, y + layer, z + layer);
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

/// Velocities of the faces that touch no liquid, up to EXTRAPOLATION_LAYERS away. One tile per active tile.
TILE_KERNEL(liquid_extrapolate, CELL_LANES, liquid_args, extend_scratch)
{
    const liquid_memory *m = &args->m;
    const tile_place place = tile_place_of(&args->shape, 0, m->active_tile[tile]);
    halo_neighbours(args, place, s->neighbour);
    TILE_BARRIER();
    halo_load_u8(s->valid, EXTEND_BORDER, m->face_valid, s->neighbour);
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        halo_load_f32(s->value[0], EXTEND_BORDER, m->u[axis], s->neighbour);
        TILE_BARRIER();
        FOR_RANGE (i, 0, EXTEND_CELLS) {
            const float known = (float)(s->valid[i] >> axis & 1);
            s->known[0][i] = known;
            s->value[0][i] = known > 0.0f ? s->value[0][i] : 0.0f;
        }
        TILE_BARRIER();
        for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++)
            extend_layer(s, layer);
        float *to = m->u_ext[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)
            to[cell_index(x, y, z)] = s->value[EXTRAPOLATION_LAYERS & 1]
                                              [extend_index(x + EXTEND_BORDER, y + EXTEND_BORDER, z + EXTEND_BORDER)];
        TILE_BARRIER();
    }
}

// ----------------------------------------------------------------------------------------- grid to particles,
// advection

enum {
    NEAR_EDGE = 10, ///< velocities at the particles
    NEAR_NODES = NEAR_EDGE * NEAR_EDGE * NEAR_EDGE,
    FAR_BORDER = 2,
    FAR_EDGE = 12, ///< velocities at midpoints
    FAR_NODES = FAR_EDGE * FAR_EDGE * FAR_EDGE,
};

typedef struct advect_scratch {
    float near[3][NEAR_NODES][2];    ///< new velocity, and how much it changed: both with one set of weights
    float carrier[3][FAR_NODES + 4]; ///< new velocity and the density correction; rows are read four values at a time
    uint32_t neighbour[27];
    uint32_t move_count[MOVED_GONE + 1];
    float speed[PARTICLE_LANES];
} advect_scratch;

typedef struct node_weights {
    int at;
    float w[2];
} node_weights;

/// A position's nodes and weights along one axis, for nodes on faces and at centres.
TILE_FN void trilinear_nodes(particle_axis axis, node_weights *face, node_weights *center)
{
    for (int i = 0; i < 2; i++) {
        face->w[i] = axis.face_weight[i];
        center->w[i] = axis.center_weight[i];
    }
    face->at = axis.face;
    center->at = axis.center;
}

/// Nodes and weights of one component: on faces along its own axis, at centres along the others.
typedef struct component_weights {
    node_weights x, y, z;
} component_weights;

TILE_FN component_weights weights_of(int c, const node_weights *face, const node_weights *center)
{
    component_weights w;
    w.x = c == 0 ? face[0] : center[0];
    w.y = c == 1 ? face[1] : center[1];
    w.z = c == 2 ? face[2] : center[2];
    return w;
}

/// Weights of the four rows along x.
typedef struct row_weights {
    float w00, w10, w01, w11;
} row_weights;

TILE_FN row_weights weights_of_rows(component_weights w)
{
    row_weights r;
    r.w00 = w.y.w[0] * w.z.w[0];
    r.w10 = w.y.w[1] * w.z.w[0];
    r.w01 = w.y.w[0] * w.z.w[1];
    r.w11 = w.y.w[1] * w.z.w[1];
    return r;
}

/// Weighted sum of four rows of four values each: symmetric under reflection.
TILE_FN tile_f32x4 sum_rows(const float *at, int y_step, int z_step, row_weights w)
{
    return tile_add_f32x4(tile_add_f32x4(tile_scale_f32x4(w.w00, tile_load_f32x4(at)),
                                         tile_scale_f32x4(w.w10, tile_load_f32x4(at + y_step))),
                          tile_add_f32x4(tile_scale_f32x4(w.w01, tile_load_f32x4(at + z_step)),
                                         tile_scale_f32x4(w.w11, tile_load_f32x4(at + y_step + z_step))));
}

/// Trilinear interpolation in carrier[c].
TILE_FN float interpolate_far(const float *field, component_weights w)
{
    const float *at =
        field + ((w.z.at + FAR_BORDER) * FAR_EDGE + (w.y.at + FAR_BORDER)) * FAR_EDGE + w.x.at + FAR_BORDER;
    const tile_f32x4 row = sum_rows(at, FAR_EDGE, FAR_EDGE * FAR_EDGE, weights_of_rows(w));
    return w.x.w[0] * tile_get_f32x4(row, 0) + w.x.w[1] * tile_get_f32x4(row, 1);
}

/// The same for the pairs of near[c].
TILE_FN void interpolate_near(const float (*field)[2], component_weights w, float *value, float *change)
{
    const float *at = field[((w.z.at + 1) * NEAR_EDGE + (w.y.at + 1)) * NEAR_EDGE + w.x.at + 1];
    const tile_f32x4 row = sum_rows(at, 2 * NEAR_EDGE, 2 * NEAR_EDGE * NEAR_EDGE, weights_of_rows(w));
    *value = w.x.w[0] * tile_get_f32x4(row, 0) + w.x.w[1] * tile_get_f32x4(row, 2);
    *change = w.x.w[0] * tile_get_f32x4(row, 1) + w.x.w[1] * tile_get_f32x4(row, 3);
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
    const row_weights r = weights_of_rows(w);
    float row[2];
    for (int i = 0; i < 2; i++)
        row[i] = (r.w00 * carrier_anywhere(args, c, x + i, y, z, shift_scale) +
                  r.w10 * carrier_anywhere(args, c, x + i, y + 1, z, shift_scale)) +
                 (r.w01 * carrier_anywhere(args, c, x + i, y, z + 1, shift_scale) +
                  r.w11 * carrier_anywhere(args, c, x + i, y + 1, z + 1, shift_scale));
    return w.x.w[0] * row[0] + w.x.w[1] * row[1];
}

/// The new velocities lie in carrier[0] and the old ones in carrier[1] for a moment, before they are paired.
TILE_FN void load_near(const liquid_args *args, advect_scratch *s, tile_place place, int c)
{
    const liquid_memory *m = &args->m;
    float *fresh = s->carrier[0], *old = s->carrier[1];
    halo_load_f32(fresh, 1, m->u_ext[c], s->neighbour);
    halo_load_f32(old, 1, m->u_old[c], s->neighbour);
    TILE_BARRIER();
    halo_walls(&args->shape, place, fresh, 1, c);
    halo_walls(&args->shape, place, old, 1, c);
    FOR_RANGE (i, 0, NEAR_NODES) {
        s->near[c][i][0] = fresh[i];
        s->near[c][i][1] = fresh[i] - old[i];
    }
    TILE_BARRIER();
}

TILE_FN void load_velocities(const liquid_args *args, advect_scratch *s, tile_place place, float shift_scale,
                             int gathered)
{
    const liquid_memory *m = &args->m;
    for (int c = 0; c < 3 && !gathered; c++)
        load_near(args, s, place, c);
    for (int c = 0; c < 3; c++) {
        halo_load_f32(s->carrier[c], FAR_BORDER, m->u_ext[c], s->neighbour);
        TILE_BARRIER();
        halo_add_f32(s->carrier[c], FAR_BORDER, m->shift[c], s->neighbour, shift_scale);
        TILE_BARRIER();
        halo_walls(&args->shape, place, s->carrier[c], FAR_BORDER, c);
    }
    TILE_BARRIER();
}

/// The velocity that carries particles at a point, fixed-point cells of the tile; from the scratch or, beyond it, from
/// anywhere.
TILE_FN void carrier_at(const liquid_args *args, const advect_scratch *s, tile_place place, const int *point,
                        float shift_scale, float *carrier)
{
    node_weights face[3], center[3];
    int near = 1;
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        trilinear_nodes(axis_weights_local(point[c]), &face[c], &center[c]);
        near &= point[c] >= -3 * (1 << (POSITION_BITS - 1)) && point[c] < 9 * (1 << POSITION_BITS);
    }
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const component_weights w = weights_of(c, face, center);
        carrier[c] = near ? interpolate_far(s->carrier[c], w) : interpolate_anywhere(args, place, c, w, shift_scale);
    }
}

/// Where a stage of the integration looks: `at` moved by `share` of the step with `velocity`.
TILE_FN void stage_point(const int *at, const float *velocity, float share, int *point)
{
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const float way = tile_clamp_f32(share * velocity[c], -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
        point[c] = at[c] + tile_round_i32(way * (1 << POSITION_BITS));
    }
}

/// Displacement over the substep, cells, by Ralston's third-order Runge-Kutta method. Where the first stage's velocity
/// is that of the transfer, it lacks the density correction's displacement; the other two carry 7/9 of the step, which
/// shift_scale then makes up for.
TILE_FN void displacement(const liquid_args *args, const advect_scratch *s, tile_place place, const int *at,
                          const float *velocity, float shift_scale, float *moved)
{
    const float frac = args->m.control->frac;
    int point[3];
    float second[3], third[3];
    stage_point(at, velocity, 0.5f * frac, point);
    carrier_at(args, s, place, point, shift_scale, second);
    stage_point(at, second, 0.75f * frac, point);
    carrier_at(args, s, place, point, shift_scale, third);
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const float sum = 2.0f * velocity[c] + 3.0f * second[c] + 4.0f * third[c];
        moved[c] = tile_clamp_f32(frac * (1.0f / 9.0f) * sum, -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
    }
}

enum { WALL_MARGIN = 1 << (POSITION_BITS - 6) }; // particles keep 1/64 cell from the walls

/// New position, velocity and tile of one particle. Where the velocity is `gathered` already (gather.tile.c), the
/// carrier's own value stands for the velocity at the start.
TILE_FN void advect_particle(const liquid_args *args, const advect_scratch *s, tile_place place, uint32_t particle,
                             float shift_scale, int gathered)
{
    const liquid_memory *m = &args->m;
    const float flip = m->control->flip, limit = m->control->speed_max;
    float velocity[3], moved[3];
    int at[3];
    node_weights face[3], center[3];
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        at[c] = (int)(m->position[c][particle] & ((1u << TILE_POSITION_BITS) - 1));
        trilinear_nodes(axis_weights_local(at[c]), &face[c], &center[c]);
    }
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        const component_weights w = weights_of(c, face, center);
        if (gathered) {
            velocity[c] = interpolate_far(s->carrier[c], w);
        } else {
            float change;
            interpolate_near(s->near[c], w, &velocity[c], &change);
            const float kept = m->velocity[c][particle] + change;
            m->moved_velocity[c][particle] = tile_clamp_f32(velocity[c] + flip * (kept - velocity[c]), -limit, limit);
        }
    }
    displacement(args, s, place, at, velocity, shift_scale, moved);
    const int tile_at[3] = {place.x, place.y, place.z};
    uint32_t to = 0;
    TILE_UNROLL for (int c = 2; c >= 0; c--)
    {
        const int32_t wanted = (int32_t)m->position[c][particle] + tile_round_i32(moved[c] * (1 << POSITION_BITS));
        const int32_t last = (args->shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
        const int32_t position = tile_clamp_i32(wanted, WALL_MARGIN, last);
        m->moved_position[c][particle] = (uint32_t)position;
        to = to * 3 + (uint32_t)((position >> TILE_POSITION_BITS) - tile_at[c] + 1);
    }
    m->moved_id[particle] = m->id[particle];
    m->moved_to[particle] = (uint8_t)to;
}

TILE_FN void advect_tile(const liquid_args *args, uint32_t tile, advect_scratch *s, int gathered)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], end = first + m->tile_count[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const float shift_scale = (gathered ? 1.0f : 9.0f / 7.0f) / m->control->frac;
    halo_neighbours(args, place, s->neighbour);
    FOR_RANGE (n, 0, MOVED_GONE + 1)
        s->move_count[n] = 0;
    TILE_BARRIER();
    load_velocities(args, s, place, shift_scale, gathered);
    FOR_RANGE (i, first, end)
        advect_particle(args, s, place, i, shift_scale, gathered);
    if (m->attribute != NULL) {
        FOR_RANGE (i, first, end)
            m->moved_attribute[i] = m->attribute[i];
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end)
        tile_add_u32(&s->move_count[m->moved_to[i]], 1);
    FOR_RANGE (lane, 0, PARTICLE_LANES) {
        float fastest = 0.0f;
        for (uint32_t i = first + lane; i < end; i += PARTICLE_LANES)
            for (int c = 0; c < 3; c++)
                fastest = tile_max2_f32(fastest, tile_abs_f32(m->moved_velocity[c][i]));
        s->speed[lane] = fastest;
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
