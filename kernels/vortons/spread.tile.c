// Particles to grid: strength to the edges, density to the centres, with trilinear weights and in fixed point. Each
// tile sums its own particles into a scratch grid one node wider than itself; the overlaps are added up afterwards, so
// that nothing depends on an order and totals are kept to half a unit per particle and node.
//
// Walls are mirrors: what falls behind one counts before it. Strength along a wall would have its image against itself
// there, and is taken for none on the wall's edges, which have no equation.
#include "kernels/grid/halo.h"
#include "kernels/tank/spline.h"
#include "kernels/vortons/vortons.h"

typedef struct spread_scratch {
    int32_t sum[3][NODE_COUNT];
    uint32_t count[TILE_CELLS];
    float scale[TILE_CELLS]; ///< by which particles of crowded cells count for less
    uint32_t holds;
} spread_scratch;

/// The axes along which a component has its nodes in the cells' middles: that of its edge, or all of them.
TILE_FN int is_centered(int component, int axis)
{
    return component == axis || component == 3;
}

/// Adds a particle's value to the eight nodes around it.
TILE_FN void spread_one(const store_memory *store, uint32_t particle, int component, float value, int32_t *sum)
{
    const axis_nodes x = nodes_of(store->position[0][particle], is_centered(component, 0), 0),
                     y = nodes_of(store->position[1][particle], is_centered(component, 1), 0),
                     z = nodes_of(store->position[2][particle], is_centered(component, 2), 0);
    TILE_UNROLL for (int n = 0; n < 8; n++)
    {
        const int i = n & 1, j = n >> 1 & 1, k = n >> 2;
        tile_add_i32(sum + node_at(NODE_EDGE, x.at + i, y.at + j, z.at + k),
                     tile_round_i32(x.w[i] * (y.w[j] * z.w[k]) * value));
    }
}

TILE_FN void spread_clear(spread_scratch *s, int components)
{
    for (int c = 0; c < components; c++) {
        FOR_RANGE (i, 0, NODE_COUNT) {
            s->sum[c][i] = 0;
        }
    }
    if (TILE_SINGLE()) {
        s->holds = 0;
    }
    TILE_BARRIER();
}

/// Adds one plane of nodes to another.
TILE_FN void fold_nodes(int32_t *sum, int axis, int from, int to)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? NODE_EDGE : NODE_EDGE * NODE_EDGE;
    const int a = axis == 0 ? NODE_EDGE : 1, b = axis == 2 ? NODE_EDGE : NODE_EDGE * NODE_EDGE;
    FOR_BOX (i, j, once, NODE_EDGE, NODE_EDGE, 1) {
        sum[i * a + j * b + (to + 1) * stride] += sum[i * a + j * b + (from + 1 + once) * stride];
    }
    TILE_BARRIER();
}

/// What fell behind walls counts before them; then the sums go to device memory, if there are any.
TILE_FN void spread_write(const vorton_args *args, tile_place place, int component, int32_t *sum, int32_t *to)
{
    const int at[3] = {place.x, place.y, place.z};
    for (int axis = 0; axis < 3; axis++) {
        if (!is_centered(component, axis)) {
            continue;
        }
        const int extent = tile_extent(&args->tank.grid.shape, axis, at[axis]);
        if (at[axis] == 0) {
            fold_nodes(sum, axis, -1, 0);
        }
        if (at[axis] == args->tank.grid.shape.tiles[0][axis] - 1) {
            fold_nodes(sum, axis, extent, extent - 1);
        }
    }
    FOR_RANGE (i, 0, NODE_COUNT) {
        to[i] = sum[i];
    }
}

/// Counts a tile's particles by cells, and sums their strengths. One tile per occupied tile.
TILE_KERNEL(vorton_spread, PARTICLE_LANES, vorton_args, spread_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->count[i] = 0;
    }
    spread_clear(s, 3);
    count_cells(&args->tank, tile, first, end, s->count, s->scale);
    FOR_RANGE_ATOMIC (i, first, end) {
        const float scale = args->scale.strength_unit * s->scale[particle_cell(store, i)];
        for (int c = 0; c < 3; c++) {
            const float strength = args->scale.strength * store->carried[CARRIED_VORTICITY + c][i];
            if (strength != 0.0f) {
                tile_or_u32(&s->holds, HOLDS_STRENGTH);
                spread_one(store, i, c, scale * tile_clamp_f32(strength, -STRENGTH_MAX, STRENGTH_MAX), s->sum[c]);
            }
        }
    }
    TILE_BARRIER();
    for (int c = 0; c < 3 && s->holds != 0; c++) {
        spread_write(args, tile_place_of(&args->tank.grid.shape, 0, dense), c, s->sum[c],
                     args->m.strength_sum[c] + (uint64_t)tile * NODE_COUNT);
    }
    if (TILE_SINGLE()) {
        args->m.holds[tile] = s->holds;
        if (tile == 0) {
            args->m.counters->gain_bits = args->m.counters->vortons = 0;
            for (int c = 0; c < 3; c++) {
                args->m.counters->vorticity_bits[c] = 0;
            }
        }
    }
}

/// Sums the density of a tile's particles over the tank's. One tile per occupied tile.
TILE_KERNEL(vorton_spread_mass, PARTICLE_LANES, vorton_args, spread_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const float most = args->tank.scale.cell_particles_max;
    spread_clear(s, 1);
    FOR_RANGE_ATOMIC (i, first, end) {
        const float deviation = tile_clamp_f32(store->carried[CARRIED_DEVIATION][i], -1.0f, 1.0f);
        if (deviation != 0.0f) {
            const uint8_t count = args->tank.grid.m.cell_count[(uint64_t)tile * TILE_CELLS + particle_cell(store, i)];
            const float scale = (float)count > most ? most / (float)count : 1.0f;
            tile_or_u32(&s->holds, HOLDS_MASS);
            spread_one(store, i, 3, args->scale.mass_unit * args->scale.volume * scale * deviation, s->sum[0]);
        }
    }
    TILE_BARRIER();
    if (s->holds != 0) {
        spread_write(args, tile_place_of(&args->tank.grid.shape, 0, dense), 3, s->sum[0],
                     args->m.mass_sum + (uint64_t)tile * NODE_COUNT);
    }
    if (TILE_SINGLE()) {
        args->m.holds[tile] |= s->holds;
    }
}

/// Sums the velocities of a tile's particles, at the start. One tile per occupied tile.
TILE_KERNEL(vorton_spread_impulse, PARTICLE_LANES, vorton_args, spread_scratch)
{
    const store_memory *store = &args->tank.store;
    if (args->m.control->starts == 0) {
        return;
    }
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    spread_clear(s, 3);
    FOR_RANGE_ATOMIC (i, first, end) {
        for (int c = 0; c < 3; c++) {
            spread_one(store, i, 3, args->scale.mass_unit / SPEED_MAX * args->scale.volume * store->velocity[c][i],
                       s->sum[c]);
        }
    }
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        spread_write(args, tile_place_of(&args->tank.grid.shape, 0, dense), 3, s->sum[c],
                     args->m.impulse_sum[c] + (uint64_t)tile * NODE_COUNT);
    }
}

// -----------------------------------------------------------------------------------------------------------------
// sums

typedef struct vorton_gather_scratch {
    uint32_t neighbour[27]; ///< occupied index of tiles that hold something, or TILE_NONE
    int32_t sum[TILE_CELLS];
} vorton_gather_scratch;

/// The tiles around that hold such things. @return whether there are any; ends with a barrier
TILE_FN int find_holders(const vorton_args *args, tile_place place, uint32_t what, uint32_t *neighbour)
{
    int any = 0;
    halo_neighbours(&args->tank.grid, place, neighbour);
    FOR_RANGE (n, 0, 27) {
        if (neighbour[n] != TILE_NONE && (args->m.holds[neighbour[n]] & what) != what) {
            neighbour[n] = TILE_NONE;
        }
    }
    TILE_BARRIER();
    for (int n = 0; n < 27; n++) {
        any |= neighbour[n] != TILE_NONE;
    }
    return any;
}

/// A row of sums: of what the scratch grids of its tile and of those around hold of it.
TILE_FN row_i32 gather_row(const uint32_t *neighbour, const int32_t *field, uint32_t row, uint32_t x)
{
    const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
    row_i32 sum = row_whole(0);
    for (int sz = z == 0 ? -1 : 0; sz <= (z == TILE_EDGE - 1); sz++) {
        for (int sy = y == 0 ? -1 : 0; sy <= (y == TILE_EDGE - 1); sy++) {
            const uint32_t *in = neighbour + ((sz + 1) * 3 + sy + 1) * 3;
            const uint64_t at = (uint64_t)node_at(NODE_EDGE, 0, y - TILE_EDGE * sy, z - TILE_EDGE * sz);
            if (in[1] != TILE_NONE) {
                sum += row_load_whole(field + (uint64_t)in[1] * NODE_COUNT + at + x);
            }
            if (in[0] != TILE_NONE) {
                sum += row_load_one(field + (uint64_t)in[0] * NODE_COUNT + at + TILE_EDGE, x, 0);
            }
            if (in[2] != TILE_NONE) {
                sum += row_load_one(field + (uint64_t)in[2] * NODE_COUNT + at - 1, x, TILE_EDGE - 1);
            }
        }
    }
    return sum;
}

TILE_FN void gather_field(vorton_gather_scratch *s, int any, const int32_t *field, float unit, float *to)
{
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        int32_t *sum = s->sum + row * TILE_EDGE + x;
        row_store_whole(sum, any ? gather_row(s->neighbour, field, row, x) : row_whole(0));
        row_store(to + row * TILE_EDGE + x, row_load_i32(sum) * unit);
    }
}

/// Vorticity of the edges, and what cells are. One tile per active tile.
TILE_KERNEL(vorton_gather, CELL_LANES, vorton_args, vorton_gather_scratch)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const tile_place place = tile_place_of(shape, 0, args->tank.grid.m.active_tile[tile]);
    const int ex = tile_extent(shape, 0, place.x), ey = tile_extent(shape, 1, place.y),
              ez = tile_extent(shape, 2, place.z);
    const int any = find_holders(args, place, HOLDS_STRENGTH, s->neighbour);
    for (int c = 0; c < 3; c++) {
        gather_field(s, any, args->m.strength_sum[c], 1.0f / args->scale.strength_unit,
                     args->m.vorticity[c] + (uint64_t)tile * TILE_CELLS);
    }
    uint8_t *type = args->tank.grid.m.cell_type + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        type[cell_index(x, y, z)] = x < ex && y < ey && z < ez ? CELL_LIQUID : CELL_SOLID;
    }
}

/// Deviation of the density in the cells' centres. One tile per active tile.
TILE_KERNEL(vorton_gather_mass, CELL_LANES, vorton_args, vorton_gather_scratch)
{
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, args->tank.grid.m.active_tile[tile]);
    const int any = find_holders(args, place, HOLDS_MASS, s->neighbour);
    gather_field(s, any, args->m.mass_sum, 1.0f / args->scale.mass_unit,
                 args->m.deviation + (uint64_t)tile * TILE_CELLS);
}

/// Velocities of the start in the cells' centres, in u. One tile per active tile.
TILE_KERNEL(vorton_gather_impulse, CELL_LANES, vorton_args, vorton_gather_scratch)
{
    if (args->m.control->starts == 0) {
        return;
    }
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, args->tank.grid.m.active_tile[tile]);
    const int any = find_holders(args, place, 0, s->neighbour);
    for (int c = 0; c < 3; c++) {
        gather_field(s, any, args->m.impulse_sum[c], SPEED_MAX / args->scale.mass_unit,
                     args->tank.grid.m.u[c] + (uint64_t)tile * TILE_CELLS);
    }
}
