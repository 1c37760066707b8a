// Particles to grid in tanks that ask for more than FLIP with trilinear weights, which transfer.tile.c does: affine
// particles (APIC), B-splines. A tile's scratch grid holds one component at a time, since 11^3 nodes and more
// of all sums together don't fit.
//
//     for each component: clear ─ add particles ─ fold what fell beyond walls ─ store;  then the same for the density
//
// Sources: Jiang, Schroeder, Selle, Teran & Stomakhin 2015, "The affine particle-in-cell method", with a vector c_p for
// each component of the MAC grid; Steffen, Kirby & Berzins 2008 for the splines.
#include "kernels/liquid/liquid.h"
#include "kernels/tank/spline.h"

enum {
    DENSITY_PASS = 3,          ///< after the three components
    SUMS = NODE_COUNT_MAX + 3, ///< rows are added four values at a time
};

typedef struct deposit_scratch {
    int32_t momentum[SUMS], weight[SUMS], mass[SUMS];
    uint32_t count[TILE_CELLS];
    float scale[TILE_CELLS];
} deposit_scratch;

/// What a particle brings to one component: per fixed-point unit of its mass, velocity at the particle and slopes.
typedef struct particle_share {
    float weight, mass;
    float momentum, slope[3]; ///< times mass
} particle_share;

TILE_FN particle_share share_of(const liquid_args *args, const deposit_scratch *s, uint32_t particle, int c, int affine,
                                int mixed)
{
    const store_memory *store = &args->tank.store;
    particle_share p;
    p.weight = args->scale.weight_scale * s->scale[particle_cell(store, particle)];
    p.mass = mixed ? p.weight * args->scale.liquid_mass[store->attribute[particle] & (LIQUIDS_MAX - 1)] : p.weight;
    const float unit = p.mass / SPEED_MAX;
    const float velocity = store->velocity[c][particle];
    int is_sound = tile_abs_f32(velocity) <= SPEED_MAX;
    p.momentum = velocity * unit;
    for (int a = 0; a < 3; a++) {
        const float slope = affine ? store->affine[3 * c + a][particle] : 0.0f;
        is_sound &= tile_abs_f32(slope) <= SLOPE_MAX;
        p.slope[a] = slope * unit;
    }
    if (!is_sound) { // rounded, it would pass for a fast one, and sums of such overflow
        global_or_u32(&args->tank.grid.m.counters->broken, 1);
        p.momentum = p.slope[0] = p.slope[1] = p.slope[2] = 0.0f;
    }
    return p;
}

/// Adds one particle to the nodes of component c.
TILE_FN void deposit_particle(const liquid_args *args, deposit_scratch *s, uint32_t particle, int c, int degree,
                              int affine, int mixed)
{
    const store_memory *store = &args->tank.store;
    const int edge = node_edge_of(degree), reach = degree + 1;
    const axis_nodes x = nodes_of(store->position[0][particle], c != 0, degree);
    const axis_nodes y = nodes_of(store->position[1][particle], c != 1, degree);
    const axis_nodes z = nodes_of(store->position[2][particle], c != 2, degree);
    const particle_share p = share_of(args, s, particle, c, affine, mixed);
    const int first = node_at(edge, x.at, y.at, z.at);
    const tile_f32x4 along = tile_set_f32x4(x.w[0], x.w[1], x.w[2], x.w[3]);
    const tile_f32x4 ahead = tile_scale_f32x4(
        p.slope[0], tile_set_f32x4(x.distance, x.distance + 1.0f, x.distance + 2.0f, x.distance + 3.0f));
    TILE_UNROLL for (int k = 0; k < reach; k++)
    {
        TILE_UNROLL for (int j = 0; j < reach; j++)
        {
            const tile_f32x4 w = tile_scale_f32x4(y.w[j] * z.w[k], along);
            const float row =
                p.momentum + (p.slope[1] * (y.distance + (float)j) + p.slope[2] * (z.distance + (float)k));
            const int node = first + (k * edge + j) * edge;
            const tile_f32x4 momentum =
                affine ? tile_mul_f32x4(w, tile_add_f32x4(tile_set_f32x4(row, row, row, row), ahead))
                       : tile_scale_f32x4(p.momentum, w);
            tile_add_row_i32(&s->momentum[node], momentum, reach);
            tile_add_row_i32(&s->weight[node], tile_scale_f32x4(p.weight, w), reach);
            if (mixed) {
                tile_add_row_i32(&s->mass[node], tile_scale_f32x4(p.mass, w), reach);
            }
        }
    }
}

TILE_FN void deposit_density_of(const liquid_args *args, deposit_scratch *s, uint32_t particle, int degree)
{
    const store_memory *store = &args->tank.store;
    const int edge = node_edge_of(degree), reach = degree + 1;
    const axis_nodes x = nodes_of(store->position[0][particle], 1, degree);
    const axis_nodes y = nodes_of(store->position[1][particle], 1, degree);
    const axis_nodes z = nodes_of(store->position[2][particle], 1, degree);
    const float weight = args->scale.weight_scale * s->scale[particle_cell(store, particle)];
    const int first = node_at(edge, x.at, y.at, z.at);
    const tile_f32x4 along = tile_set_f32x4(x.w[0], x.w[1], x.w[2], x.w[3]);
    TILE_UNROLL for (int k = 0; k < reach; k++)
    {
        TILE_UNROLL for (int j = 0; j < reach; j++) tile_add_row_i32(
            &s->weight[first + (k * edge + j) * edge], tile_scale_f32x4(y.w[j] * z.w[k] * weight, along), reach);
    }
}

/// Moves a plane of nodes beyond a wall onto its mirror image; sign -1: what flows out comes back the other way.
TILE_FN void fold_nodes(deposit_scratch *s, int edge, int axis, int from, int to, int sign)
{
    const int low = nodes_before(edge), stride = axis == 0 ? 1 : axis == 1 ? edge : edge * edge;
    const int a = axis == 0 ? edge : 1, b = axis == 2 ? edge : edge * edge;
    FOR_RANGE (n, 0, (uint32_t)(edge * edge)) {
        const int line = (int)n % edge * a + (int)n / edge * b;
        const int source = line + (from + low) * stride, target = line + (to + low) * stride;
        s->momentum[target] += sign * s->momentum[source];
        s->weight[target] += s->weight[source];
        s->mass[target] += s->mass[source];
    }
    TILE_BARRIER();
}

/// What fell beyond a wall is what the mirrored liquid behind it would bring to this side: free slip, and no loss of
/// density. Nodes at centres mirror onto their neighbour, the faces of component c along its own axis onto the face
/// after the wall's. Far planes go first: across a flat tank they fold onto near ones.
TILE_FN void fold_all(const liquid_args *args, deposit_scratch *s, tile_place place, int c, int degree)
{
    const int at[3] = {place.x, place.y, place.z};
    const int edge = node_edge_of(degree), top = edge - nodes_before(edge) - 1;
    for (int axis = 0; axis < 3; axis++) {
        const int room = args->tank.grid.shape.cells[axis] - at[axis] * TILE_EDGE;
        if (axis != c) {
            if (degree == 3 && room + 1 <= top) {
                fold_nodes(s, edge, axis, room + 1, room - 2, 1);
            }
            if (degree == 3 && at[axis] == 0) {
                fold_nodes(s, edge, axis, -2, 1, 1);
            }
            if (at[axis] == 0) {
                fold_nodes(s, edge, axis, -1, 0, 1);
            }
            if (room <= top) {
                fold_nodes(s, edge, axis, room, room - 1, 1);
            }
        } else if (degree > 1) {
            if (at[axis] == 0) {
                fold_nodes(s, edge, axis, -1, 1, -1);
            }
            if (room + 1 <= top) {
                fold_nodes(s, edge, axis, room + 1, room - 1, -1);
            }
        }
    }
}

TILE_FN void deposit_range(const liquid_args *args, deposit_scratch *s, uint32_t first, uint32_t end, int c, int degree,
                           int affine)
{
    if (c == DENSITY_PASS) {
        FOR_RANGE_ATOMIC (i, first, end) {
            deposit_density_of(args, s, i, degree);
        }
    } else if (args->m.mass[0] != NULL) {
        FOR_RANGE_ATOMIC (i, first, end) {
            deposit_particle(args, s, i, c, degree, affine, 1);
        }
    } else {
        FOR_RANGE_ATOMIC (i, first, end) {
            deposit_particle(args, s, i, c, degree, affine, 0);
        }
    }
    TILE_BARRIER();
}

TILE_FN void deposit_tile(const liquid_args *args, uint32_t tile, deposit_scratch *s, int degree, int affine)
{
    const grid_memory *grid = &args->tank.grid.m;
    const store_memory *store = &args->tank.store;
    const liquid_memory *m = &args->m;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    const uint32_t nodes = (uint32_t)(node_edge_of(degree) * node_edge_of(degree) * node_edge_of(degree));
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->count[i] = 0;
    }
    TILE_BARRIER();
    count_cells(&args->tank, tile, first, end, s->count, s->scale);
    for (int c = 0; c <= DENSITY_PASS; c++) {
        FOR_RANGE (i, 0, nodes) {
            s->momentum[i] = s->weight[i] = s->mass[i] = 0;
        }
        TILE_BARRIER();
        deposit_range(args, s, first, end, c, degree, affine);
        fold_all(args, s, place, c, degree);
        const uint64_t base = (uint64_t)tile * nodes;
        FOR_RANGE (i, 0, nodes) {
            if (c == DENSITY_PASS) {
                m->density[base + i] = s->weight[i];
            } else {
                m->momentum[c][base + i] = s->momentum[i];
                m->weight[c][base + i] = s->weight[i];
                if (m->mass[c] != NULL) {
                    m->mass[c][base + i] = s->mass[i];
                }
            }
        }
    }
}

/// One tile per occupied tile, as in all of these.
TILE_KERNEL(liquid_p2g_apic, PARTICLE_LANES, liquid_args, deposit_scratch)
{
    deposit_tile(args, tile, s, 1, 1);
}

TILE_KERNEL(liquid_p2g_quadratic, PARTICLE_LANES, liquid_args, deposit_scratch)
{
    deposit_tile(args, tile, s, 2, 0);
}

TILE_KERNEL(liquid_p2g_apic_quadratic, PARTICLE_LANES, liquid_args, deposit_scratch)
{
    deposit_tile(args, tile, s, 2, 1);
}

TILE_KERNEL(liquid_p2g_cubic, PARTICLE_LANES, liquid_args, deposit_scratch)
{
    deposit_tile(args, tile, s, 3, 0);
}

TILE_KERNEL(liquid_p2g_apic_cubic, PARTICLE_LANES, liquid_args, deposit_scratch)
{
    deposit_tile(args, tile, s, 3, 1);
}
