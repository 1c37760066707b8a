// Particles to grid. Each tile sums its own particles in fixed point into a scratch grid one node wider than itself;
// the overlaps of neighbouring tiles are added afterwards, so that no two tiles write to one place.
//
// Source of the method: Zhu & Bridson 2005, "Animating sand as a fluid"; weights are trilinear.
#include "kernels/liquid/liquid.h"

/// Node of a tile's scratch grid, each coordinate -1..8.
TILE_FN int node_index(int x, int y, int z)
{
    return ((z + 1) * NODE_EDGE + (y + 1)) * NODE_EDGE + (x + 1);
}

typedef struct p2g_scratch {
    int32_t sum[3][NODE_COUNT][2]; ///< momentum, weight
    int32_t density[NODE_COUNT];
    uint32_t count[TILE_CELLS];
    float scale[TILE_CELLS];
} p2g_scratch;

/// Adds one particle's momentum and weight to the 8 nodes around it.
TILE_FN void deposit(int32_t (*sum)[2], int node, const float *wx, const float *wy, const float *wz, float momentum,
                     float weight)
{
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < 2; j++) {
            const float across = wy[j] * wz[k];
            int32_t *row = sum[node + k * NODE_EDGE * NODE_EDGE + j * NODE_EDGE];
            const float w0 = wx[0] * across, w1 = wx[1] * across;
            tile_add_i32(&row[0], tile_round_i32(w0 * momentum));
            tile_add_i32(&row[1], tile_round_i32(w0 * weight));
            tile_add_i32(&row[2], tile_round_i32(w1 * momentum));
            tile_add_i32(&row[3], tile_round_i32(w1 * weight));
        }
    }
}

TILE_FN void deposit_density(int32_t *sum, int node, const float *wx, const float *wy, const float *wz, float weight)
{
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < 2; j++) {
            const float across = wy[j] * wz[k] * weight;
            int32_t *row = &sum[node + k * NODE_EDGE * NODE_EDGE + j * NODE_EDGE];
            tile_add_i32(&row[0], tile_round_i32(wx[0] * across));
            tile_add_i32(&row[1], tile_round_i32(wx[1] * across));
        }
    }
}

TILE_FN uint32_t cell_of(const liquid_memory *m, uint32_t particle)
{
    const uint32_t mask = TILE_EDGE - 1;
    return cell_index((int)(m->position[0][particle] >> POSITION_BITS & mask),
                      (int)(m->position[1][particle] >> POSITION_BITS & mask),
                      (int)(m->position[2][particle] >> POSITION_BITS & mask));
}

/// What fell beyond a wall, across the flow, belongs to the cell before it: free slip, and no loss of density.
TILE_FN void fold_plane(p2g_scratch *s, int axis, int from, int to)
{
    FOR_RANGE (i, 0, NODE_EDGE * NODE_EDGE) {
        const int a = (int)i % NODE_EDGE - 1, b = (int)i / NODE_EDGE - 1;
        const int source = axis == 0   ? node_index(from, a, b)
                           : axis == 1 ? node_index(a, from, b)
                                       : node_index(a, b, from);
        const int target = axis == 0 ? node_index(to, a, b) : axis == 1 ? node_index(a, to, b) : node_index(a, b, to);
        for (int c = 0; c < 3; c++) {
            if (c != axis) {
                s->sum[c][target][0] += s->sum[c][source][0];
                s->sum[c][target][1] += s->sum[c][source][1];
            }
        }
        s->density[target] += s->density[source];
    }
    TILE_BARRIER();
}

TILE_FN void fold_walls(const liquid_args *args, p2g_scratch *s, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    for (int axis = 0; axis < 3; axis++) {
        const int extent = tile_extent(&args->shape, axis, at[axis]);
        if (at[axis] == 0)
            fold_plane(s, axis, -1, 0);
        if (at[axis] == args->shape.tiles[0][axis] - 1)
            fold_plane(s, axis, extent, extent - 1);
    }
}

/// Sums momentum, weight and density of a tile's particles. One tile per occupied tile.
TILE_KERNEL(liquid_p2g, PARTICLE_LANES, liquid_args, p2g_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], end = first + m->tile_count[dense];
    const float most = args->shape.cell_particles_max;
    FOR_RANGE (i, 0, 3 * NODE_COUNT * 2)
        ((int32_t *)s->sum)[i] = 0;
    FOR_RANGE (i, 0, NODE_COUNT)
        s->density[i] = 0;
    FOR_RANGE (i, 0, TILE_CELLS)
        s->count[i] = 0;
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end)
        tile_add_u32(&s->count[cell_of(m, i)], 1);
    TILE_BARRIER();
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint32_t count = s->count[i];
        s->scale[i] = (float)count > most ? most / (float)count : 1.0f;
        m->cell_count[(uint64_t)tile * TILE_CELLS + i] = (uint8_t)(count < 255 ? count : 255);
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const particle_axis x = axis_weights(m->position[0][i]);
        const particle_axis y = axis_weights(m->position[1][i]);
        const particle_axis z = axis_weights(m->position[2][i]);
        const float weight = args->shape.weight_scale * s->scale[cell_of(m, i)];
        const float momentum = weight / SPEED_MAX;
        deposit(s->sum[0], node_index(x.face, y.center, z.center), x.face_weight, y.center_weight, z.center_weight,
                m->velocity[0][i] * momentum, weight);
        deposit(s->sum[1], node_index(x.center, y.face, z.center), x.center_weight, y.face_weight, z.center_weight,
                m->velocity[1][i] * momentum, weight);
        deposit(s->sum[2], node_index(x.center, y.center, z.face), x.center_weight, y.center_weight, z.face_weight,
                m->velocity[2][i] * momentum, weight);
        deposit_density(s->density, node_index(x.center, y.center, z.center), x.center_weight, y.center_weight,
                        z.center_weight, weight);
    }
    TILE_BARRIER();
    fold_walls(args, s, tile_place_of(&args->shape, 0, dense));
    FOR_RANGE (i, 0, NODE_COUNT) {
        for (int c = 0; c < 3; c++) {
            m->momentum[c][(uint64_t)tile * NODE_COUNT + i] = s->sum[c][i][0];
            m->weight[c][(uint64_t)tile * NODE_COUNT + i] = s->sum[c][i][1];
        }
        m->density[(uint64_t)tile * NODE_COUNT + i] = s->density[i];
    }
}

typedef struct grid_scratch {
    uint32_t neighbour[27]; ///< occupied index or TILE_NONE
    int32_t momentum[3][TILE_CELLS], weight[3][TILE_CELLS], density[TILE_CELLS];
} grid_scratch;

/// Adds what one neighbour's scratch grid holds of this tile's cells.
TILE_FN void add_overlap(const liquid_memory *m, grid_scratch *s, uint32_t n)
{
    const uint32_t o = s->neighbour[n];
    if (o == TILE_NONE)
        return;
    const int step[3] = {(int)(n % 3) - 1, (int)(n / 3 % 3) - 1, (int)(n / 9) - 1};
    int begin[3], size[3];
    for (int a = 0; a < 3; a++) { // our cells that the neighbour's nodes -1..8 reach
        begin[a] = step[a] > 0 ? TILE_EDGE - 1 : 0;
        size[a] = step[a] == 0 ? TILE_EDGE : 1;
    }
    const uint64_t base = (uint64_t)o * NODE_COUNT;
    FOR_BOX (bx, by, bz, size[0], size[1], size[2]) {
        const int x = begin[0] + bx, y = begin[1] + by, z = begin[2] + bz;
        const uint32_t at = cell_index(x, y, z);
        const uint64_t node =
            base + (uint64_t)node_index(x - TILE_EDGE * step[0], y - TILE_EDGE * step[1], z - TILE_EDGE * step[2]);
        for (int c = 0; c < 3; c++) {
            s->momentum[c][at] += m->momentum[c][node];
            s->weight[c][at] += m->weight[c][node];
        }
        s->density[at] += m->density[node];
    }
    TILE_BARRIER();
}

/// A person's push: drags a face's velocity towards the sphere's, fully inside half the radius, fading to its rim.
TILE_FN float apply_pushes(const liquid_control *control, float x, float y, float z, int axis, float velocity)
{
    for (uint32_t i = 0; i < control->push_count; i++) {
        const liquid_push *push = &control->pushes[i];
        const float dx = x - push->center[0], dy = y - push->center[1], dz = z - push->center[2];
        const float distance2 = dx * dx + (dy * dy + dz * dz), radius2 = push->radius * push->radius;
        if (distance2 < radius2) {
            const float fade = tile_min_f32(1.0f, 2.0f * (1.0f - tile_sqrt_f32(distance2 / radius2)));
            velocity += push->strength * fade * (push->velocity[axis] - velocity);
        }
    }
    return velocity;
}

TILE_FN int in_reach(const liquid_control *control, tile_place place)
{
    for (uint32_t i = 0; i < control->push_count; i++) {
        const liquid_push *push = &control->pushes[i];
        const float corner[3] = {(float)(place.x * TILE_EDGE), (float)(place.y * TILE_EDGE),
                                 (float)(place.z * TILE_EDGE)};
        int inside = 1;
        for (int a = 0; a < 3; a++)
            inside &= push->center[a] + push->radius > corner[a] && push->center[a] - push->radius < corner[a] + 9.0f;
        if (inside)
            return 1;
    }
    return 0;
}

TILE_FN void finish_velocity(const liquid_args *args, grid_scratch *s, uint32_t tile, tile_place place, int axis,
                             int pushed)
{
    const liquid_memory *m = &args->m;
    const liquid_control *control = m->control;
    const int first = (axis == 0 ? place.x : axis == 1 ? place.y : place.z) * TILE_EDGE;
    const int wall = args->shape.cells[axis];
    const float force = control->gravity[axis] * control->frac;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const int normal = first + (axis == 0 ? x : axis == 1 ? y : z);
        const int32_t weight = s->weight[axis][at];
        const int known = weight >= args->shape.weight_min && normal > 0 && normal < wall;
        const float old = known ? (float)s->momentum[axis][at] / (float)tile_max_i32(weight, 1) * SPEED_MAX : 0.0f;
        m->u_old[axis][(uint64_t)tile * TILE_CELLS + at] = old;
        m->u[axis][(uint64_t)tile * TILE_CELLS + at] = known ? old + force : 0.0f;
    }
    TILE_BARRIER();
    if (pushed) {
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const uint32_t at = cell_index(x, y, z);
            const int normal = first + (axis == 0 ? x : axis == 1 ? y : z);
            if (s->weight[axis][at] >= args->shape.weight_min && normal > 0 && normal < wall) {
                const float fx = (float)(place.x * TILE_EDGE + x) + (axis == 0 ? 0.0f : 0.5f);
                const float fy = (float)(place.y * TILE_EDGE + y) + (axis == 1 ? 0.0f : 0.5f);
                const float fz = (float)(place.z * TILE_EDGE + z) + (axis == 2 ? 0.0f : 0.5f);
                const uint64_t face = (uint64_t)tile * TILE_CELLS + at;
                m->u[axis][face] = apply_pushes(control, fx, fy, fz, axis, m->u[axis][face]);
            }
        }
        TILE_BARRIER();
    }
}

/// Cell types, and by how much the density is off.
TILE_FN void finish_cells(const liquid_args *args, grid_scratch *s, uint32_t tile, tile_place place)
{
    const liquid_memory *m = &args->m;
    const uint32_t o = s->neighbour[13];
    const int ex = tile_extent(&args->shape, 0, place.x), ey = tile_extent(&args->shape, 1, place.y),
              ez = tile_extent(&args->shape, 2, place.z);
    const float unit = 1.0f / (args->shape.weight_scale * args->shape.rest_density);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const int solid = x >= ex || y >= ey || z >= ez;
        const int liquid = o != TILE_NONE && m->cell_count[(uint64_t)(o != TILE_NONE ? o : 0) * TILE_CELLS + at] > 0;
        m->cell_type[(uint64_t)tile * TILE_CELLS + at] = (uint8_t)(solid    ? CELL_SOLID
                                                                   : liquid ? CELL_LIQUID
                                                                            : CELL_AIR);
        m->density_error[(uint64_t)tile * TILE_CELLS + at] = (float)s->density[at] * unit - 1.0f;
    }
}

/// Velocities before and after the forces, cell types, density. One tile per active tile.
TILE_KERNEL(liquid_grid, CELL_LANES, liquid_args, grid_scratch)
{
    const liquid_memory *m = &args->m;
    const tile_place place = tile_place_of(&args->shape, 0, m->active_tile[tile]);
    FOR_RANGE (n, 0, 27) {
        const uint32_t dense = tile_neighbour(&args->shape, 0, place, n);
        s->neighbour[n] = dense != TILE_NONE ? m->level[0].index[dense] : TILE_NONE;
    }
    FOR_RANGE (i, 0, 3 * TILE_CELLS) {
        ((int32_t *)s->momentum)[i] = 0;
        ((int32_t *)s->weight)[i] = 0;
    }
    FOR_RANGE (i, 0, TILE_CELLS)
        s->density[i] = 0;
    TILE_BARRIER();
    for (uint32_t n = 0; n < 27; n++)
        add_overlap(m, s, n);
    const int pushed = in_reach(m->control, place);
    for (int axis = 0; axis < 3; axis++)
        finish_velocity(args, s, tile, place, axis, pushed);
    finish_cells(args, s, tile, place);
}
