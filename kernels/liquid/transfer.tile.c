// Particles to grid. Each tile sums its own particles in fixed point into a scratch grid one node wider than itself;
// the overlaps of neighbouring tiles are added afterwards, so that no two tiles write to one place.
//
// Source of the method: Zhu & Bridson 2005, "Animating sand as a fluid"; weights are trilinear.
#include "kernels/grid/halo.h"
#include "kernels/grid/poisson.h"
#include "kernels/liquid/liquid.h"
#include "kernels/tank/pack_axis.h"
#include "kernels/tank/spline.h"

enum {
    CORNERS = 8, ///< nodes around a particle
    // A CPU keeps the sums of the particles between the same eight nodes side by side, so that a particle adds to one
    // place, and adds up at the end what belongs to one node: 8 * 9 * 9 places of momentum and weight, 9^3 of density.
    BLOCK_EDGE = TILE_EDGE + 1,
    BLOCK_SUMS = TILE_EDGE * BLOCK_EDGE * BLOCK_EDGE * CORNERS * 2,
    BY_BLOCKS = PACK_WIDTH > 1,
    // A GPU keeps them by node: all momenta, then all weights. Before, they are counts, of which each of four particles
    // in a row has its own.
    COUNTS = 4,
    COUNTS_STRIDE = TILE_CELLS + 8, ///< other banks of its memory
    LANE_SUMS = COUNTS * COUNTS_STRIDE,
};

typedef struct p2g_scratch {
    int32_t sum[BY_BLOCKS ? BLOCK_SUMS : LANE_SUMS]; ///< of one component; the count's first
    uint32_t count[TILE_CELLS];
    float scale[TILE_CELLS];
    uint32_t rows[TILE_EDGE]; ///< [z] rows of cells with particles, a bit for each y
    uint32_t is_crowded;      ///< some of `scale` are not 1
} p2g_scratch;

/// Passes over the particles: 0..2 for a component's momentum and weight; the density, which has no faces; where
/// liquids differ, MASS + 0..2 for what a component's momentum counts against.
enum { DENSITY = 3, MASS = 4 };
TILE_ASSERT((int)LANE_SUMS >= 2 * NODE_COUNT, "room for momenta and weights");
TILE_ASSERT(P2G_PARTS == DENSITY + 1, "a part for each component, and one for the density");

/// Numbers of the scratch for each node.
TILE_FN int values_of(int pass)
{
    return pass < DENSITY ? 2 : 1;
}

/// The axis on whose faces a pass has its nodes, or DENSITY.
TILE_FN int axis_of(int pass)
{
    return pass < MASS ? pass : pass - MASS;
}

/// Blocks along an axis: a particle's lower face is 0..7, its lower centre -1..7.
TILE_FN int blocks_of(int pass, int axis)
{
    return TILE_EDGE + (axis_of(pass) != axis);
}

/// Weights of a pack of particles; those of crowded cells count for less.
TILE_FN pack_f32 pack_weights(const liquid_args *args, const p2g_scratch *s, uint32_t particle, uint32_t n)
{
    pack_f32 weight = pack_first_f32(args->scale.weight_scale, n);
    if (s->is_crowded) {
        for (uint32_t l = 0; l < n; l++) {
            pack_set_f32(&weight, (int)l,
                         args->scale.weight_scale * s->scale[particle_cell(&args->tank.store, particle + l)]);
        }
    }
    return weight;
}

/// Masses of a pack of particles of these weights.
TILE_FN pack_f32 pack_masses(const liquid_args *args, pack_f32 weight, uint32_t particle, uint32_t n)
{
    pack_f32 share = pack_all_f32(0.0f);
    for (uint32_t l = 0; l < n; l++) {
        const uint32_t liquid = args->tank.store.attribute[particle + l] & (LIQUIDS_MAX - 1);
        pack_set_f32(&share, (int)l, args->scale.liquid_mass[liquid]);
    }
    return weight * share;
}

/// What a pack of particles brings to the eight nodes around each in a pass.
typedef struct pack_parts {
    pack_node node[3];
    pack_f32 weight, mass, momentum;
} pack_parts;

/// `mixed`: liquids differ.
TILE_FN pack_parts parts_of_pack(const liquid_args *args, const p2g_scratch *s, int pass, int mixed, uint32_t particle,
                                 uint32_t n)
{
    const store_memory *store = &args->tank.store;
    const int c = axis_of(pass);
    pack_parts p;
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const pack_i32 local = pack_load_i32(store->position[a] + particle, n) & ((1 << TILE_POSITION_BITS) - 1);
        p.node[a] = pack_node_of(a == c ? local : local - (1 << (POSITION_BITS - 1)));
    }
    p.weight = pack_weights(args, s, particle, n);
    p.mass = mixed && pass != DENSITY ? pack_masses(args, p.weight, particle, n) : p.weight;
    p.momentum = p.weight;
    if (pass != DENSITY) {
        pack_f32 velocity = pack_load_f32(store->velocity[c < 3 ? c : 0] + particle, n);
        if (pass < DENSITY) {
            velocity = mark_beyond(&args->tank, velocity, SPEED_MAX);
        }
        p.momentum = velocity * (p.mass / SPEED_MAX);
    }
    return p;
}

/// What a pass sums first, or alone.
TILE_FN int32_t *sums_of(const liquid_memory *m, int pass)
{
    return pass < DENSITY ? m->momentum[pass] : pass == DENSITY ? m->density : m->mass[axis_of(pass)];
}

#include TILE_FORM(transfer)

TILE_FN void deposit_pass(const liquid_args *args, p2g_scratch *s, int pass, int mixed, uint32_t tile, uint32_t dense)
{
    const store_memory *store = &args->tank.store;
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    clear_sums(s, pass);
    EACH_PACK(i, n, first, end, deposit_pack(args, s, pass, mixed, i, n));
    TILE_BARRIER();
    finish_sums(args, s, pass, tile, tile_place_of(&args->tank.grid.shape, 0, dense));
}

/// Which rows of cells have particles, and whether some have too many.
TILE_FN void find_rows(const liquid_args *args, p2g_scratch *s)
{
    FOR_RANGE_ATOMIC (row, 0, TILE_EDGE * TILE_EDGE) {
        uint32_t most = 0;
        for (uint32_t x = 0; x < TILE_EDGE; x++) {
            most = tile_max_u32(most, s->count[row * TILE_EDGE + x]);
        }
        tile_or_u32(&s->rows[row / TILE_EDGE], (most > 0 ? 1u : 0u) << row % TILE_EDGE);
        tile_or_u32(&s->is_crowded, (float)most > args->tank.scale.cell_particles_max ? 1 : 0);
    }
}

/// By how much the particles of crowded cells count for less; kept with `keeps` are the cells' numbers of particles.
TILE_FN void find_scales(const liquid_args *args, uint32_t tile, p2g_scratch *s, int keeps)
{
    if (keeps) {
        scale_cells(&args->tank, tile, s->count, s->scale);
    } else {
        FOR_RANGE (i, 0, TILE_CELLS) {
            s->scale[i] = cell_scale(&args->tank, s->count[i]);
        }
        TILE_BARRIER();
    }
    find_rows(args, s);
}

/// A part of an occupied tile: all of it, or where there are P2G_PARTS, those of a component or the density.
TILE_FN void p2g_part(const liquid_args *args, uint32_t number, p2g_scratch *s, int mixed)
{
    const grid_memory *grid = &args->tank.grid.m;
    const store_memory *store = &args->tank.store;
    const uint32_t parts = args->tank.cuts ? P2G_PARTS : 1;
    const uint32_t tile = number / parts, part = number % parts;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    FOR_RANGE (z, 0, TILE_EDGE) {
        s->rows[z] = 0;
    }
    if (TILE_SINGLE()) {
        s->is_crowded = 0;
    }
    count_range(store, s, first, end);
    find_scales(args, tile, s, parts == 1 || part == DENSITY);
    TILE_UNROLL for (int pass = 0; pass <= DENSITY; pass++)
    {
        if (parts == 1 && pass > 0) {
            TILE_BARRIER();
        }
        if (parts == 1 || (int)part == pass) {
            deposit_pass(args, s, pass, mixed, tile, dense);
        }
    }
    TILE_UNROLL for (int c = 0; c < 3; c++)
    {
        if (mixed && (parts == 1 || (int)part == c)) { // each lane clears what it has brought to memory
            deposit_pass(args, s, MASS + c, mixed, tile, dense);
        }
    }
}

/// Sums momentum, weight and density of a tile's particles. One tile per p2g_parts.
TILE_KERNEL(liquid_p2g, PARTICLE_LANES, liquid_args, p2g_scratch)
{
    p2g_part(args, tile, s, 0);
}

/// The same for liquids of different density: mass, too.
TILE_KERNEL(liquid_p2g_mixed, PARTICLE_LANES, liquid_args, p2g_scratch)
{
    p2g_part(args, tile, s, 1);
}

typedef struct grid_scratch {
    uint32_t neighbour[27]; ///< occupied index or TILE_NONE
    int32_t momentum[3][TILE_CELLS], weight[3][TILE_CELLS], density[TILE_CELLS];
} grid_scratch;

typedef struct face_sums {
    int32_t of[3][TILE_CELLS];
} face_sums;

typedef struct grid_any_scratch {
    grid_scratch grid;
    face_sums mass;
} grid_any_scratch;

/// Sums of a row of cells, of up to eight fields: of what the scratch grids of its tile and of those around it, with
/// `edge` nodes an axis, hold of them. Its own has all eight cells, the one on the left the first one or two, that on
/// the right the last one or two.
TILE_FN void sum_row(const grid_scratch *s, const int32_t *const *field, int count, int edge, uint32_t row, uint32_t x,
                     row_i32 *sum)
{
    const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
    const int back = nodes_before(edge), reach = edge - TILE_EDGE - back;
    const uint64_t nodes = (uint64_t)edge * (uint64_t)edge * (uint64_t)edge;
    TILE_UNROLL for (int k = 0; k < count; k++) sum[k] = row_whole(0);
    for (int sz = z < reach ? -1 : 0; sz <= (z >= TILE_EDGE - back); sz++) {
        for (int sy = y < reach ? -1 : 0; sy <= (y >= TILE_EDGE - back); sy++) {
            const uint32_t *in = s->neighbour + ((sz + 1) * 3 + sy + 1) * 3;
            const uint64_t at = (uint64_t)node_at(edge, 0, y - TILE_EDGE * sy, z - TILE_EDGE * sz);
            if (in[1] != TILE_NONE) {
                const uint64_t own = in[1] * nodes + at + x;
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += row_load_whole(field[k] + own);
            }
            for (int i = 0; i < reach && in[0] != TILE_NONE; i++) {
                const uint64_t low = in[0] * nodes + at + (uint64_t)(TILE_EDGE + i);
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += row_load_one(field[k] + low, x, i);
            }
            for (int i = 1; i <= back && in[2] != TILE_NONE; i++) { // mostly the next tile, not in the cache yet
                const uint64_t high = in[2] * nodes + at - (uint64_t)i;
                TILE_UNROLL for (int k = 0; k < count; k++) pack_prefetch(field[k] + high);
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += row_load_one(field[k] + high, x, TILE_EDGE - i);
            }
        }
    }
}

/// The sums of the tile's cells; `mass` may be NULL.
TILE_FN void sum_nodes(const liquid_memory *m, grid_scratch *s, face_sums *mass, int edge)
{
    enum { SUMS = 7 };
    const int32_t *const from[SUMS] = {m->momentum[0], m->momentum[1], m->momentum[2], m->weight[0],
                                       m->weight[1],   m->weight[2],   m->density};
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const uint32_t at = row * TILE_EDGE + x;
        row_i32 sum[SUMS];
        sum_row(s, from, SUMS, edge, row, x, sum);
        TILE_UNROLL for (int a = 0; a < 3; a++)
        {
            row_store_whole(s->momentum[a] + at, sum[a]);
            row_store_whole(s->weight[a] + at, sum[3 + a]);
        }
        row_store_whole(s->density + at, sum[6]);
    }
    if (mass != NULL) {
        FOR_ROWS (x, row, 0, TILE_ROWS) {
            const int32_t *const heavy[3] = {m->mass[0], m->mass[1], m->mass[2]};
            row_i32 sum[3];
            sum_row(s, heavy, 3, edge, row, x, sum);
            TILE_UNROLL for (int a = 0; a < 3; a++) row_store_whole(mass->of[a] + row * TILE_EDGE + x, sum[a]);
        }
    }
    TILE_BARRIER();
}

/// Which faces particles give a velocity, and which one, in u_ext: SPEED_UNKNOWN of the others. `mass` is what momentum
/// counts against: the weight itself where all liquids are equally heavy. Keeps in face_rows, which the projection sets
/// later, which ones have none: liquid_fill gives some of them one, but reads there which ones had.
TILE_FN void find_carried(const liquid_args *args, const grid_scratch *s, const face_sums *mass, uint32_t tile)
{
    const grid_memory *grid = &args->tank.grid.m;
    const int32_t least = args->scale.weight_min;
    const row_f32 one = row_all(1.0f);
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const int32_t *momentum = s->momentum[axis], *heavy = mass != NULL ? mass->of[axis] : s->weight[axis];
        uint8_t *unknown = grid->face_rows + face_rows_of(tile, axis);
        float *carried = grid->u_ext[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_RANGE (row, 0, TILE_ROWS) {
            uint32_t known = row_at_least(s->weight[axis] + row * TILE_EDGE, least);
            if (mass != NULL) {
                known &= row_at_least(mass->of[axis] + row * TILE_EDGE, MASS_MIN);
            }
            unknown[row] = (uint8_t)~known;
        }
        TILE_BARRIER();
        FOR_ROWS (x, row, 0, TILE_ROWS) {
            const uint32_t at = row * TILE_EDGE + x;
            if (unknown[row] == 0xff) {
                row_store(carried + at, row_all(SPEED_UNKNOWN));
                continue;
            }
            const row_f32 weighed = row_load_i32(heavy + at);
            const row_f32 by = row_select(one < weighed, weighed, one);
            row_store(carried + at, row_select(row_bits_mask((uint32_t)unknown[row] >> x), row_all(SPEED_UNKNOWN),
                                               row_load_i32(momentum + at) / by * SPEED_MAX));
        }
    }
}

/// Types of a row of cells, a byte each: `count` is NULL or their particles' numbers; from cell `extent` on they are
/// solid.
TILE_FN uint64_t types_of_row(const uint8_t *count, int extent)
{
    const uint64_t ones = 0x0101010101010101u, inside = extent < TILE_EDGE ? (1ull << 8 * extent) - 1 : ~0ull;
    uint64_t counts = 0;
    if (count != NULL) {
        memcpy(&counts, __builtin_assume_aligned(count, TILE_EDGE), sizeof counts);
    }
    const uint64_t full = (((counts & 0x7f * ones) + 0x7f * ones) | counts) >> 7 & ones;
    return (full * CELL_LIQUID & inside) | (ones * CELL_SOLID & ~inside);
}

/// Cell types, and by how much the density is off. Beyond the tank's walls is none: what fell there counts inside.
TILE_FN void finish_cells(const liquid_args *args, const grid_scratch *s, uint32_t tile, tile_place place)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t o = s->neighbour[13];
    const uint8_t *count = o != TILE_NONE ? grid->cell_count + (uint64_t)o * TILE_CELLS : NULL;
    const int ex = tile_extent(&args->tank.grid.shape, 0, place.x),
              ey = tile_extent(&args->tank.grid.shape, 1, place.y),
              ez = tile_extent(&args->tank.grid.shape, 2, place.z);
    const float unit = 1.0f / (args->scale.weight_scale * args->tank.scale.rest_density);
    uint8_t *type = grid->cell_type + (uint64_t)tile * TILE_CELLS;
    float *error = grid->density_error + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (row, 0, TILE_ROWS) {
        const int is_inside = (int)row % TILE_EDGE < ey && (int)row / TILE_EDGE < ez;
        const uint64_t types = types_of_row(count != NULL ? count + row * TILE_EDGE : NULL, is_inside ? ex : 0);
        memcpy(type + row * TILE_EDGE, &types, sizeof types);
    }
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const int is_inside = (int)row % TILE_EDGE < ey && (int)row / TILE_EDGE < ez;
        const row_i32 inside = row_bits_mask(is_inside ? ((1u << ex) - 1) >> x : 0);
        const row_f32 density = row_keep(inside, row_load_i32(s->density + row * TILE_EDGE + x));
        row_store(error + row * TILE_EDGE + x, density * unit - 1.0f);
    }
}

/// Of faces that particles reach, the share of the lightest liquid's density; 0 of others. Kept in `shift`, which is
/// free until the density is corrected, for liquid_beta.
TILE_FN void keep_beta(const liquid_args *args, const grid_scratch *s, const face_sums *mass, uint32_t tile)
{
    const float light = args->scale.lightest, base = args->scale.mass_base;
    for (int axis = 0; axis < 3; axis++) {
        float *to = args->tank.grid.m.shift[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_RANGE (i, 0, TILE_CELLS) {
            const int32_t heavy = mass->of[axis][i];
            const float q = (float)heavy / (float)tile_max_i32(s->weight[axis][i], 1);
            const float beta = light * (1.0f - base) / tile_max2_f32(q - base, light * 0.5f);
            to[i] = heavy >= MASS_MIN ? tile_clamp_f32(beta, light, 1.0f) : 0.0f;
        }
    }
}

/// Velocities that particles brought, cell types, density; and where `mass` isn't NULL, the mass that each face has.
TILE_FN void grid_tile(const liquid_args *args, uint32_t tile, grid_scratch *s, face_sums *mass, int edge)
{
    const grid_memory *grid = &args->tank.grid.m;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    FOR_RANGE (n, 0, 27) {
        const uint32_t dense = tile_neighbour(&args->tank.grid.shape, 0, place, n);
        s->neighbour[n] = dense != TILE_NONE ? grid->level[0].index[dense] : TILE_NONE;
    }
    TILE_BARRIER();
    sum_nodes(&args->m, s, mass, edge);
    find_carried(args, s, mass, tile);
    finish_cells(args, s, tile, place);
    if (mass != NULL) {
        keep_beta(args, s, mass, tile);
    }
}

/// One tile per active tile.
TILE_KERNEL(liquid_grid, CELL_LANES, liquid_args, grid_scratch)
{
    grid_tile(args, tile, s, NULL, NODE_EDGE);
}

/// The same for the sums of deposit.tile.c.
TILE_KERNEL(liquid_grid_any, CELL_LANES, liquid_args, grid_any_scratch)
{
    if (args->m.mass[0] == NULL) {
        grid_tile(args, tile, &s->grid, NULL, (int)args->scale.node_edge);
    } else {
        grid_tile(args, tile, &s->grid, &s->mass, (int)args->scale.node_edge);
    }
}

typedef struct fill_scratch {
    type_rows types;
    uint32_t neighbour[27];
    uint32_t unknown; ///< some face of the tile has no velocity
} fill_scratch;

/// Place of a face in the active fields, up to a cell outside the tile; UINT64_MAX where there is no tile.
TILE_FN uint64_t active_place(const uint32_t *neighbour, int x, int y, int z)
{
    const uint32_t slot = neighbour[halo_tile(x, y, z)];
    return slot == TILE_NONE ? UINT64_MAX : (uint64_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);
}

/// Whether particles gave the face at a place in the active fields a velocity.
TILE_FN int was_known(const grid_memory *grid, int axis, uint64_t at)
{
    const uint64_t row = face_rows_of((uint32_t)(at / TILE_CELLS), axis) + at / TILE_EDGE % TILE_ROWS;
    return (grid->face_rows[row] >> (at & 7) & 1) == 0;
}

/// Gives a face that lies in no wall the mean of the known ones around it. Those are written by nobody.
TILE_FN void fill_face(const liquid_args *args, const fill_scratch *s, tile_place place, int axis, int x, int y, int z)
{
    const grid_memory *grid = &args->tank.grid.m;
    const int first = (axis == 0 ? place.x : axis == 1 ? place.y : place.z) * TILE_EDGE;
    const int wall = args->tank.grid.shape.cells[axis];
    const int own = first + (axis == 0 ? x : axis == 1 ? y : z);
    float u[6], old[6];
    int count = 0;
    for (int side = 0; side < 6; side++) {
        const int d = side % 2 == 0 ? -1 : 1;
        const int at[3] = {x + (side / 2 == 0 ? d : 0), y + (side / 2 == 1 ? d : 0), z + (side / 2 == 2 ? d : 0)};
        const int normal = first + at[axis];
        const uint64_t from = active_place(s->neighbour, at[0], at[1], at[2]);
        const int known = from != UINT64_MAX && normal > 0 && normal < wall && was_known(grid, axis, from);
        u[side] = known ? grid->u[axis][from] : 0.0f;
        old[side] = known ? grid->u_old[axis][from] : 0.0f;
        count += known;
    }
    if (count > 0 && own > 0 && own < wall) {
        const uint64_t to = active_place(s->neighbour, x, y, z);
        grid->u[axis][to] = (((u[0] + u[1]) + (u[2] + u[3])) + (u[4] + u[5])) / (float)count;
        grid->u_old[axis][to] = (((old[0] + old[1]) + (old[2] + old[3])) + (old[4] + old[5])) / (float)count;
    }
}

/// A drop close to a face gives its cell's other faces a velocity, but hardly weighs on this one, which would count as
/// one that nothing flows through: pressure would brake the drop. Such faces of cells with liquid take the mean of
/// those around them. One tile per active tile.
TILE_KERNEL(liquid_fill, CELL_LANES, liquid_args, fill_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = grid->active_tile[tile];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    const uint8_t *unknown = grid->face_rows + face_rows_of(tile, 0);
    if (!is_near_liquid(&args->tank.grid, place, dense)) {
        return;
    }
    if (TILE_SINGLE()) {
        s->unknown = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (plane, 0, 3 * TILE_EDGE) {
        tile_or_u32(&s->unknown, face_plane(unknown, plane) != 0);
    }
    TILE_BARRIER();
    if (s->unknown == 0) {
        return;
    }
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    load_type_rows(&args->tank.grid, place, tile, &s->types);
    FOR_RANGE (row, 0, 3 * TILE_ROWS) {
        const int axis = (int)row / TILE_ROWS, y = (int)row & 7, z = (int)row >> 3 & 7;
        const row_faces faces = row_faces_of(&s->types, axis, y, z);
        for (uint32_t wanted = unknown[row] & faces.beside; wanted != 0; wanted &= wanted - 1) {
            fill_face(args, s, place, axis, (int)tile_lowest_bit_u32(wanted), y, z);
        }
    }
}

typedef struct beta_scratch {
    float known[RIM_CELLS];
    uint32_t neighbour[27];
} beta_scratch;

/// Beta of every face: faces without particles take the mean of the faces around them that have some, else the
/// lightest liquid's. One tile per active tile.
TILE_KERNEL(liquid_beta, CELL_LANES, liquid_args, beta_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const float *known = s->known;
    halo_neighbours(&args->tank.grid, tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]), s->neighbour);
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        float *to = grid->beta[axis] + (uint64_t)tile * TILE_CELLS;
        halo_load_f32(s->known, 1, grid->shift[axis], s->neighbour);
        TILE_BARRIER();
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const int at = rim_index(x, y, z), dy = RIM_EDGE, dz = RIM_EDGE * RIM_EDGE;
            const float sum = ((known[at - 1] + known[at + 1]) + (known[at - dy] + known[at + dy])) +
                              (known[at - dz] + known[at + dz]);
            const int count = (known[at - 1] > 0.0f) + (known[at + 1] > 0.0f) + (known[at - dy] > 0.0f) +
                              (known[at + dy] > 0.0f) + (known[at - dz] > 0.0f) + (known[at + dz] > 0.0f);
            to[cell_index(x, y, z)] = known[at] > 0.0f ? known[at] : count > 0 ? sum / (float)count : 1.0f;
        }
        TILE_BARRIER();
    }
}
