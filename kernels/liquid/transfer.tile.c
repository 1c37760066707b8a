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

/// What a tile's cells get of the sums, and of those of the tiles around it: grid_tile(args, tile, s, mass, edge).
///
///     u_ext         the velocity that particles give a face: SPEED_UNKNOWN where they hardly weigh on it
///     face_rows     until the projection, which faces have none: liquid_fill gives some of them one, but reads there
///                   which ones had
///     cell_type     beyond the tank's walls all is solid
///     density_error by how much the density is off; beyond the walls is none: what fell there counts inside
///     shift         where liquids differ, beta of faces that particles reach, for liquid_beta; 0 of others. It is free
///                   until the density is corrected
///
/// `edge`: nodes of the sums along each axis. `mass`: NULL where all liquids are equally heavy; then momentum counts
/// against the weight.
#include TILE_FORM(node_sums)

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
    uint64_t from[6];
    int known[6], count = 0;
    TILE_UNROLL for (int side = 0; side < 6; side++)
    {
        const int d = side % 2 == 0 ? -1 : 1;
        const int at[3] = {x + (side / 2 == 0 ? d : 0), y + (side / 2 == 1 ? d : 0), z + (side / 2 == 2 ? d : 0)};
        const int normal = first + at[axis];
        from[side] = active_place(s->neighbour, at[0], at[1], at[2]);
        known[side] = from[side] != UINT64_MAX && normal > 0 && normal < wall && was_known(grid, axis, from[side]);
    }
    TILE_UNROLL for (int side = 0; side < 6; side++) // of all sides at once
    {
        u[side] = known[side] ? grid->u[axis][from[side]] : 0.0f;
        old[side] = known[side] ? grid->u_old[axis][from[side]] : 0.0f;
        count += known[side];
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
    const int is_near = is_near_liquid(&args->tank.grid, place, dense); // comes while the rows do
    if (TILE_SINGLE()) {
        s->unknown = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (plane, 0, 3 * TILE_EDGE) {
        tile_or_u32(&s->unknown, face_plane(unknown, plane) != 0);
    }
    TILE_BARRIER();
    if (!is_near || s->unknown == 0) {
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
