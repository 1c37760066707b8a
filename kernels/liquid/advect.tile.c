// From the solved pressure back to the particles: projection, extrapolation into the air, grid to particles and their
// advection by the midpoint rule (RK2).
#include "kernels/liquid/halo.h"

// ---------------------------------------------------------------------------------------------------------- projection

typedef struct project_scratch {
    uint8_t type[RIM_CELLS];
    float pressure[RIM_CELLS];
} project_scratch;

/// u -= grad p on the faces that touch liquid, which become the valid ones; or, for the density correction, the
/// displacement -grad q. One tile per active tile.
TILE_KERNEL(liquid_project, CELL_LANES, liquid_args, project_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    load_types(args, place, tile, s->type);
    load_rim(args, 0, place, m->level[0].index[dense], m->pressure, s->pressure);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z);
        const int below[3] = {at - 1, at - RIM_EDGE, at - RIM_EDGE * RIM_EDGE};
        const uint64_t cell = (uint64_t)tile * TILE_CELLS + cell_index(x, y, z);
        uint32_t valid = 0;
        for (int axis = 0; axis < 3; axis++) {
            const uint8_t a = s->type[below[axis]], b = s->type[at];
            const int open = a != CELL_SOLID && b != CELL_SOLID && (a == CELL_LIQUID || b == CELL_LIQUID);
            const float gradient = open ? s->pressure[at] - s->pressure[below[axis]] : 0.0f;
            if (args->is_density)
                m->shift[axis][cell] = tile_clamp_f32(-gradient, -0.5f * DENSITY_STEP_MAX, 0.5f * DENSITY_STEP_MAX);
            else
                m->u[axis][cell] -= gradient;
            valid |= (uint32_t)open << axis;
        }
        m->face_valid[cell] = (uint8_t)valid;
    }
}

// ------------------------------------------------------------------------------------------------------- extrapolation

enum {
    EXTEND_BORDER = EXTRAPOLATION_LAYERS,
    EXTEND_EDGE = TILE_EDGE + 2 * EXTRAPOLATION_LAYERS,
    EXTEND_CELLS = EXTEND_EDGE * EXTEND_EDGE * EXTEND_EDGE,
};

typedef struct extend_scratch {
    float value[EXTEND_CELLS];
    float layer[EXTEND_CELLS]; ///< 0 unknown, 1 valid, 2.. the layer in which it was filled, plus one
    uint8_t valid[EXTEND_CELLS];
    uint32_t neighbour[27];
} extend_scratch;

/// Fills the unknown faces next to known ones with the mean of those.
TILE_FN void extend_layer(extend_scratch *s, int layer)
{
    const float newest = (float)layer;
    const int size = EXTEND_EDGE - 2 * layer;
    FOR_BOX (bx, by, bz, size, size, size) {
        const int at = ((bz + layer) * EXTEND_EDGE + (by + layer)) * EXTEND_EDGE + (bx + layer);
        const int around[6] = {at - 1,           at + 1,
                               at - EXTEND_EDGE, at + EXTEND_EDGE,
                               at - EXTEND_EDGE * EXTEND_EDGE, at + EXTEND_EDGE * EXTEND_EDGE};
        float weight[6];
        for (int n = 0; n < 6; n++) {
            const float of = s->layer[around[n]];
            weight[n] = of > 0.0f && of <= newest ? 1.0f : 0.0f;
        }
        const float count = ((weight[0] + weight[1]) + (weight[2] + weight[3])) + (weight[4] + weight[5]);
        const float sum = ((weight[0] * s->value[around[0]] + weight[1] * s->value[around[1]]) +
                           (weight[2] * s->value[around[2]] + weight[3] * s->value[around[3]])) +
                          (weight[4] * s->value[around[4]] + weight[5] * s->value[around[5]]);
        const int fill = s->layer[at] == 0.0f && count > 0.0f;
        s->value[at] = fill ? sum / tile_max2_f32(count, 1.0f) : s->value[at];
        s->layer[at] = fill ? newest + 1.0f : s->layer[at];
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
        halo_load_f32(s->value, EXTEND_BORDER, m->u[axis], s->neighbour);
        FOR_RANGE (i, 0, EXTEND_CELLS)
            s->layer[i] = (float)(s->valid[i] >> axis & 1);
        TILE_BARRIER();
        for (int layer = 1; layer <= EXTRAPOLATION_LAYERS; layer++)
            extend_layer(s, layer);
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const int at = ((z + EXTEND_BORDER) * EXTEND_EDGE + (y + EXTEND_BORDER)) * EXTEND_EDGE + (x + EXTEND_BORDER);
            m->u_ext[axis][(uint64_t)tile * TILE_CELLS + cell_index(x, y, z)] =
                s->layer[at] > 0.0f ? s->value[at] : 0.0f;
        }
        TILE_BARRIER();
    }
}

// ----------------------------------------------------------------------------------------- grid to particles, advection

enum {
    NEAR_EDGE = 10, ///< velocities at the particles
    NEAR_NODES = NEAR_EDGE * NEAR_EDGE * NEAR_EDGE,
    FAR_BORDER = 2,
    FAR_EDGE = 12, ///< velocities at midpoints
    FAR_NODES = FAR_EDGE * FAR_EDGE * FAR_EDGE,
};

typedef struct advect_scratch {
    float velocity[3][NEAR_NODES]; ///< new
    float change[3][NEAR_NODES];   ///< new less old
    float carrier[3][FAR_NODES];   ///< new, and the density correction
    uint32_t neighbour[27];
    uint32_t move_count[27];
    float speed[PARTICLE_LANES];
} advect_scratch;

typedef struct node_weights {
    int at;
    float w[2];
} node_weights;

/// First of the two nodes around x on an axis whose nodes sit at integers (faces) or at halves (centres), and weights.
TILE_FN node_weights weights_at(float x, float offset)
{
    const float shifted = x - offset, below = tile_floor_f32(shifted);
    node_weights n;
    n.at = (int)below;
    n.w[1] = shifted - below;
    n.w[0] = 1.0f - n.w[1];
    return n;
}

TILE_FN float interpolate(const float *field, int edge, int border, node_weights x, node_weights y, node_weights z)
{
    const float *at = field + ((z.at + border) * edge + (y.at + border)) * edge + (x.at + border);
    const float v00 = x.w[0] * at[0] + x.w[1] * at[1];
    const float v10 = x.w[0] * at[edge] + x.w[1] * at[edge + 1];
    at += edge * edge;
    const float v01 = x.w[0] * at[0] + x.w[1] * at[1];
    const float v11 = x.w[0] * at[edge] + x.w[1] * at[edge + 1];
    return (v00 * y.w[0] + v10 * y.w[1]) * z.w[0] + (v01 * y.w[0] + v11 * y.w[1]) * z.w[1];
}

TILE_FN float interpolate_component(const float *field, int edge, int border, int c, const node_weights *face,
                                    const node_weights *center)
{
    return interpolate(field, edge, border, c == 0 ? face[0] : center[0], c == 1 ? face[1] : center[1],
                       c == 2 ? face[2] : center[2]);
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

/// The slow path of a fast particle, whose midpoint lies beyond what the scratch holds.
TILE_FN float interpolate_anywhere(const liquid_args *args, tile_place place, int c, const node_weights *face,
                                   const node_weights *center, float shift_scale)
{
    const node_weights n[3] = {c == 0 ? face[0] : center[0], c == 1 ? face[1] : center[1], c == 2 ? face[2] : center[2]};
    const int x = place.x * TILE_EDGE + n[0].at, y = place.y * TILE_EDGE + n[1].at, z = place.z * TILE_EDGE + n[2].at;
    float part[2];
    for (int k = 0; k < 2; k++) {
        float row[2];
        for (int j = 0; j < 2; j++)
            row[j] = n[0].w[0] * carrier_anywhere(args, c, x, y + j, z + k, shift_scale) +
                     n[0].w[1] * carrier_anywhere(args, c, x + 1, y + j, z + k, shift_scale);
        part[k] = row[0] * n[1].w[0] + row[1] * n[1].w[1];
    }
    return part[0] * n[2].w[0] + part[1] * n[2].w[1];
}

TILE_FN void load_velocities(const liquid_args *args, advect_scratch *s, tile_place place, float shift_scale)
{
    const liquid_memory *m = &args->m;
    for (int c = 0; c < 3; c++) {
        halo_load_f32(s->velocity[c], 1, m->u_ext[c], s->neighbour);
        halo_load_f32(s->change[c], 1, m->u_old[c], s->neighbour);
        halo_load_f32(s->carrier[c], FAR_BORDER, m->u_ext[c], s->neighbour);
        TILE_BARRIER();
        halo_add_f32(s->carrier[c], FAR_BORDER, m->shift[c], s->neighbour, shift_scale);
        TILE_BARRIER();
        halo_walls(&args->shape, place, s->velocity[c], 1, c);
        halo_walls(&args->shape, place, s->change[c], 1, c);
        halo_walls(&args->shape, place, s->carrier[c], FAR_BORDER, c);
        FOR_RANGE (i, 0, NEAR_NODES)
            s->change[c][i] = s->velocity[c][i] - s->change[c][i];
    }
    TILE_BARRIER();
}

TILE_FN float position_in_tile(uint32_t position)
{
    return ((float)(position & ((1u << TILE_POSITION_BITS) - 1)) + 0.5f) * (1.0f / (1 << POSITION_BITS));
}

/// Displacement over the substep by the midpoint rule, cells.
TILE_FN void midpoint(const liquid_args *args, const advect_scratch *s, tile_place place, const float *at,
                      const float *velocity, float shift_scale, float *moved)
{
    const float frac = args->m.control->frac;
    node_weights face[3], center[3];
    int near = 1;
    for (int c = 0; c < 3; c++) {
        const float half = tile_clamp_f32(0.5f * frac * velocity[c], -0.5f * MOVE_CELLS_MAX, 0.5f * MOVE_CELLS_MAX);
        const float middle = at[c] + half;
        face[c] = weights_at(middle, 0.0f);
        center[c] = weights_at(middle, 0.5f);
        near &= middle >= -1.5f && middle < 9.0f;
    }
    for (int c = 0; c < 3; c++) {
        const float carrier = near ? interpolate_component(s->carrier[c], FAR_EDGE, FAR_BORDER, c, face, center)
                                   : interpolate_anywhere(args, place, c, face, center, shift_scale);
        moved[c] = tile_clamp_f32(frac * carrier, -MOVE_CELLS_MAX, MOVE_CELLS_MAX);
    }
}

enum { WALL_MARGIN = 1 << (POSITION_BITS - 6) }; // particles keep 1/64 cell from the walls

/// New position, velocity and tile of one particle; returns the neighbour it goes to.
TILE_FN void advect_particle(const liquid_args *args, const advect_scratch *s, tile_place place, uint32_t particle,
                             float shift_scale)
{
    const liquid_memory *m = &args->m;
    const float flip = m->control->flip, limit = m->control->speed_max;
    float at[3], velocity[3], moved[3];
    node_weights face[3], center[3];
    for (int c = 0; c < 3; c++) {
        at[c] = position_in_tile(m->position[c][particle]);
        face[c] = weights_at(at[c], 0.0f);
        center[c] = weights_at(at[c], 0.5f);
    }
    for (int c = 0; c < 3; c++) {
        velocity[c] = interpolate_component(s->velocity[c], NEAR_EDGE, 1, c, face, center);
        const float change = interpolate_component(s->change[c], NEAR_EDGE, 1, c, face, center);
        const float kept = m->velocity[c][particle] + change;
        m->moved_velocity[c][particle] = tile_clamp_f32(velocity[c] + flip * (kept - velocity[c]), -limit, limit);
    }
    midpoint(args, s, place, at, velocity, shift_scale, moved);
    const int tile_at[3] = {place.x, place.y, place.z};
    uint32_t to = 0;
    for (int c = 2; c >= 0; c--) {
        const int32_t wanted = (int32_t)m->position[c][particle] + tile_round_i32(moved[c] * (1 << POSITION_BITS));
        const int32_t last = (args->shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
        const int32_t position = tile_clamp_i32(wanted, WALL_MARGIN, last);
        m->moved_position[c][particle] = (uint32_t)position;
        to = to * 3 + (uint32_t)((position >> TILE_POSITION_BITS) - tile_at[c] + 1);
    }
    m->moved_id[particle] = m->id[particle];
    m->moved_to[particle] = (uint8_t)to;
}

/// Moves a tile's particles. One tile per occupied tile.
TILE_KERNEL(liquid_advect, PARTICLE_LANES, liquid_args, advect_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], end = first + m->tile_count[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const float shift_scale = 1.0f / m->control->frac;
    halo_neighbours(args, place, s->neighbour);
    FOR_RANGE (n, 0, 27)
        s->move_count[n] = 0;
    TILE_BARRIER();
    load_velocities(args, s, place, shift_scale);
    FOR_RANGE (i, first, end)
        advect_particle(args, s, place, i, shift_scale);
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end)
        tile_add_u32(&s->move_count[m->moved_to[i]], 1);
    FOR_LANES (lane) {
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
