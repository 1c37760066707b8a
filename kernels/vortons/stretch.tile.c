// What becomes of the particles' strengths in a substep. Vorticity turns and stretches with the liquid,
//
//     d omega / dt = (omega . grad) u = div (omega u)
//
// on the grid, cell by cell: what flows through the faces between them adds up to nothing. The vortons of a cell share
// this and what else is generated there (generate.tile.c). In cells that have particles but no strength, one of them
// takes it; in empty cells a vorton is born in the middle, and later goes where the liquid does.
//
// Turning and stretching each vorton by itself would let what they have against each other, which the grid doesn't see,
// grow without end.
#include "kernels/grid/halo.h"
#include "kernels/vortons/vortons.h"

typedef struct stretch_scratch {
    float flow[3][VORTON_CELLS];
    float spin[3][VORTON_CELLS]; ///< curl of the flow on the edges, 1 / step
    uint32_t neighbour[27];
} stretch_scratch;

/// The curl of the flow on the edges -1..9. Ends with a barrier.
TILE_FN void find_spin(stretch_scratch *s)
{
    for (int c = 0; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3, da = vorton_stride(a), db = vorton_stride(b);
        FOR_BOX (x, y, z, VORTON_EDGE - 1, VORTON_EDGE - 1, VORTON_EDGE - 1) {
            const int at = vorton_index(x - 1, y - 1, z - 1);
            const float *ua = s->flow[a] + at, *ub = s->flow[b] + at;
            s->spin[c][at] = (ub[0] - ub[-da]) - (ua[0] - ua[-db]);
        }
    }
    TILE_BARRIER();
}

/// Vorticity along an axis times component c of the velocity, in the middles of a row of lower faces across the axis.
TILE_FN row_f32 vorticity_flux(const stretch_scratch *s, int c, int axis, int at)
{
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    const int d = vorton_stride(axis), da = vorton_stride(a), db = vorton_stride(b), dc = vorton_stride(c);
    const float *w = s->spin[axis] + at, *u = s->flow[c] + at;
    const row_f32 here = (row_load(w) + row_load(w + da + db)) + (row_load(w + da) + row_load(w + db)),
                  before =
                      (row_load(w - d) + row_load(w - d + da + db)) + (row_load(w - d + da) + row_load(w - d + db));
    const row_f32 spin = 0.125f * (here + before);
    return c == axis ? spin * row_load(u)
                     : spin * (0.25f * ((row_load(u) + row_load(u - d)) + (row_load(u + dc) + row_load(u - d + dc))));
}

/// What stretching adds to the vorticity of cells. It counts in the next substep. One tile per active tile.
TILE_KERNEL(vorton_stretch, CELL_LANES, vorton_args, stretch_scratch)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const grid_memory *grid = &args->tank.grid.m;
    const tile_place place = tile_place_of(shape, 0, grid->active_tile[tile]);
    const float slip[3] = {1.0f, 1.0f, 1.0f}, frac = grid->control->frac;
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    if (!vorton_holds(args, s->neighbour, HOLDS_STRENGTH)) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        halo_load_f32(s->flow[c], 2, grid->u[c], s->neighbour);
        TILE_BARRIER();
        halo_walls(shape, place, slip, s->flow[c], 2, c);
    }
    find_spin(s);
    const int ex = tile_extent(shape, 0, place.x), ey = tile_extent(shape, 1, place.y),
              ez = tile_extent(shape, 2, place.z);
    for (int c = 0; c < 3; c++) {
        float *gain = args->m.gain[c] + (uint64_t)tile * TILE_CELLS;
        FOR_ROWS (x, row, 0, TILE_ROWS) {
            const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE, at = vorton_index((int)x, y, z);
            const row_f32 out = ((vorticity_flux(s, c, 0, at + 1) - vorticity_flux(s, c, 0, at)) +
                                 (vorticity_flux(s, c, 1, at + VORTON_EDGE) - vorticity_flux(s, c, 1, at))) +
                                (vorticity_flux(s, c, 2, at + VORTON_EDGE * VORTON_EDGE) - vorticity_flux(s, c, 2, at));
            const uint32_t inside = y < ey && z < ez ? (1u << ex) - 1 : 0;
            float *to = gain + row * TILE_EDGE + x;
            row_store(to, row_load(to) + row_keep(row_bits_mask(inside >> x), frac * out));
        }
    }
}

// ------------------------------------------------------------------------------------------------------------- shares

typedef struct vorton_share_scratch {
    uint32_t weight[TILE_CELLS];  ///< sum of the shares of a cell's particles with strength
    uint32_t nearest[TILE_CELLS]; ///< of the others; 0: there is none
    uint32_t heirs[TILE_CELLS];   ///< who are as near as that
    uint32_t total;
} vorton_share_scratch;

TILE_FN int is_vorton(const store_memory *store, uint32_t particle)
{
    return (store->attribute[particle] & 0xffu) == KIND_VORTON || store->carried[CARRIED_VORTICITY][particle] != 0.0f ||
           store->carried[CARRIED_VORTICITY + 1][particle] != 0.0f ||
           store->carried[CARRIED_VORTICITY + 2][particle] != 0.0f;
}

enum { SHARE_BITS = 18 };
enum { NEAR_BITS = POSITION_BITS - 6 }; ///< what lies within 1/128 cell is as near: lattices are but for rounding
#define SHARE_MAX 4194304.0f            ///< so that the sum over 1000 of a cell is within 32 bits

/// A vorton's part of what its cell gets, by the strength that it has: the strong of a cell stretch more.
TILE_FN uint32_t share_of(const vorton_args *args, uint32_t particle)
{
    float size = 0.0f;
    for (int c = 0; c < 3; c++) {
        size += tile_abs_f32(args->tank.store.carried[CARRIED_VORTICITY + c][particle]);
    }
    const float share = size * (args->scale.strength * (float)(1 << SHARE_BITS));
    return 1 + (uint32_t)tile_clamp_f32(share, 0.0f, SHARE_MAX);
}

/// How near a particle lies to the middle of its cell: never 0, and the same in a mirror. Who is nearest takes what is
/// generated in a cell without vortons: at the edge of dye particles lie on one side of their cells, and others would
/// pull strength inwards. Those who are equally near share it, so that on a lattice no corner has more than its share.
TILE_FN uint32_t nearness(const store_memory *store, uint32_t particle)
{
    const int32_t half = 1 << (POSITION_BITS - 1), mask = 2 * half - 1;
    int32_t away = 0;
    for (int a = 0; a < 3; a++) {
        const int32_t from = 2 * ((int32_t)store->position[a][particle] & mask) + 1 - 2 * half;
        away += ((from < 0 ? -from : from) + (1 << (NEAR_BITS - 1))) >> NEAR_BITS;
    }
    return (uint32_t)(1 + (6 * half >> NEAR_BITS) - away);
}

/// Who of a cell's particles share what is generated there. Ends with a barrier.
TILE_FN void find_shares(const vorton_args *args, vorton_share_scratch *s, uint32_t first, uint32_t end)
{
    const store_memory *store = &args->tank.store;
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->weight[i] = s->nearest[i] = s->heirs[i] = 0;
    }
    if (TILE_SINGLE()) {
        s->total = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        if (is_vorton(store, i)) {
            tile_add_u32(&s->weight[cell], share_of(args, i));
            tile_add_u32(&s->total, 1);
        } else {
            global_max_u32(&s->nearest[cell], nearness(store, i));
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        if (s->weight[cell] == 0) {
            tile_add_u32(&s->heirs[cell], s->nearest[cell] == nearness(store, i));
        }
    }
    TILE_BARRIER();
}

/// Gives what is generated to particles, behind the advection. One tile per occupied tile.
TILE_KERNEL(vorton_share, PARTICLE_LANES, vorton_args, vorton_share_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const float most = STRENGTH_MAX / args->scale.strength;
    if (first == end) {
        return;
    }
    find_shares(args, s, first, end);
    FOR_RANGE (i, first, end) {
        const uint32_t cell = particle_cell(store, i), weight = s->weight[cell];
        const int is_heir = weight == 0 && s->nearest[cell] == nearness(store, i);
        if (is_heir || is_vorton(store, i)) {
            const float part = is_heir ? 1.0f / (float)s->heirs[cell] : (float)share_of(args, i) / (float)weight;
            const float share = part / args->scale.strength;
            for (int c = 0; c < 3; c++) {
                const float gain = args->m.gain[c][(uint64_t)tile * TILE_CELLS + cell];
                const float sum = store->carried[CARRIED_VORTICITY + c][i] + share * gain;
                store->moved_carried[CARRIED_VORTICITY + c][i] = tile_clamp_f32(sum, -most, most);
            }
        }
    }
    if (TILE_SINGLE()) {
        global_add_u32(&args->m.counters->vortons, s->total);
    }
}

// --------------------------------------------------------------------------------------------------------------- cells
//
// Of a cell's vortons the grid sees the sum. What they have against each other moves nothing, but stretches, each by
// itself, and would grow without end: where it is large for the vorticity that the grid sees around, it is cut, of all
// of the cell by the same share. And where vortons crowd, some give their strength to the others.

enum {
    CROWD = 16,         ///< vortons in a cell: of more some go
    CROWD_SCARCE = 2,   ///< the same, where three quarters of those that there may be are there
    CELL_VORTONS = 512, ///< whose strengths the sums hold
    CELL_SUM_BITS = 18,
};
#define DISCORD_MAX 2.0f ///< sum of the vortons' differences from their mean, over the vorticity around

typedef struct order_scratch {
    uint32_t vortons[TILE_CELLS], keeper[TILE_CELLS], staying[TILE_CELLS];
    int32_t all[3][TILE_CELLS], stays[3][TILE_CELLS]; ///< strengths of all, and of those that stay
    uint32_t discord[TILE_CELLS];
    float share[TILE_CELLS]; ///< that is kept of it
    uint32_t neighbour[27];
} order_scratch;

TILE_FN int is_moved_vorton(const store_memory *store, uint32_t particle)
{
    return (store->moved_attribute[particle] & 0xffu) == KIND_VORTON || store->moved_carried[0][particle] != 0.0f ||
           store->moved_carried[1][particle] != 0.0f || store->moved_carried[2][particle] != 0.0f;
}

/// Whether one of a crowd goes: not the first one, of the others so many by chance that `most` are left.
TILE_FN int leaves_crowd(const store_memory *store, const order_scratch *s, uint32_t i, uint32_t end, uint32_t cell,
                         uint32_t most)
{
    const uint32_t count = s->vortons[cell];
    if (count <= most || s->keeper[cell] == end - i) {
        return 0;
    }
    const uint64_t random = tile_mix_u64(((uint64_t)store->control->seed << 32) ^ store->id[i]) >> 40;
    return random * (count - 1) >= (uint64_t)(most - 1) << 24;
}

/// Adds up a cell's vortons, and which of them stay. Ends with a barrier.
TILE_FN void sum_vortons(const store_memory *store, order_scratch *s, uint32_t first, uint32_t end, uint32_t most,
                         float unit)
{
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->vortons[i] = s->keeper[i] = s->staying[i] = s->discord[i] = 0;
        for (int c = 0; c < 3; c++) {
            s->all[c][i] = s->stays[c][i] = 0;
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        if (is_moved_vorton(store, i)) {
            tile_add_u32(&s->vortons[particle_cell(store, i)], 1);
            global_max_u32(&s->keeper[particle_cell(store, i)], end - i);
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        if (!is_moved_vorton(store, i)) {
            continue;
        }
        const int stays = !leaves_crowd(store, s, i, end, cell, most);
        tile_add_u32(&s->staying[cell], (uint32_t)stays);
        for (int c = 0; c < 3; c++) {
            const int32_t strength = tile_round_i32(unit * store->moved_carried[c][i]);
            tile_add_i32(&s->all[c][cell], strength);
            tile_add_i32(&s->stays[c][cell], stays ? strength : 0);
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        if (!is_moved_vorton(store, i) || leaves_crowd(store, s, i, end, cell, most)) {
            continue;
        }
        const float part = 1.0f / (float)s->staying[cell];
        float size = 0.0f;
        for (int c = 0; c < 3; c++) {
            size += tile_abs_f32(unit * store->moved_carried[c][i] - part * (float)s->stays[c][cell]);
        }
        tile_add_u32(&s->discord[cell], (uint32_t)tile_round_i32(size));
    }
    TILE_BARRIER();
}

/// What of their discord the vortons of cells keep, by the vorticity on the cells' edges. Ends with a barrier.
TILE_FN void find_discord(const vorton_args *args, order_scratch *s)
{
    const float unit = 1.0f / (float)(1 << CELL_SUM_BITS);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t cell = cell_index(x, y, z);
        float around = 0.0f;
        if (s->vortons[cell] < 2) {
            continue;
        }
        for (int edge = 0; edge < 12; edge++) {
            const int c = edge >> 2, i = edge & 1, j = edge >> 1 & 1;
            const int ex = c == 0 ? x : x + i, ey = c == 0 ? y + i : c == 1 ? y : y + j, ez = c == 2 ? z : z + j;
            const uint32_t slot = s->neighbour[halo_tile(ex, ey, ez)];
            const uint64_t at =
                (uint64_t)(slot != TILE_NONE ? slot : 0) * TILE_CELLS + cell_index(ex & 7, ey & 7, ez & 7);
            around += slot != TILE_NONE ? 0.25f * tile_abs_f32(args->m.vorticity[c][at]) : 0.0f;
        }
        const float discord = unit * (float)s->discord[cell], allowed = DISCORD_MAX * around;
        s->share[cell] = discord > allowed ? allowed / discord : 1.0f;
    }
    TILE_BARRIER();
}

/// Keeps cells in order, by where particles were before the move. One tile per occupied tile.
TILE_KERNEL(vorton_cells, PARTICLE_LANES, vorton_args, order_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const uint64_t total = args->m.counters->vortons, allowed = args->m.control->vortons_max;
    const uint32_t most = 4 * total > 3 * allowed ? CROWD_SCARCE : CROWD;
    const float unit = (float)(1 << CELL_SUM_BITS) * args->scale.strength, limit = STRENGTH_MAX / args->scale.strength;
    if (first == end) {
        return;
    }
    halo_neighbours(&args->tank.grid, tile_place_of(&args->tank.grid.shape, 0, dense), s->neighbour);
    sum_vortons(store, s, first, end, most, unit);
    find_discord(args, s);
    FOR_RANGE (i, first, end) {
        const uint32_t cell = particle_cell(store, i), count = s->vortons[cell];
        if (!is_moved_vorton(store, i) || count < 2 || count > CELL_VORTONS) {
            continue;
        }
        const int goes = leaves_crowd(store, s, i, end, cell, most);
        const float part = 1.0f / (unit * (float)s->staying[cell]), kept = s->share[cell];
        for (int c = 0; c < 3; c++) {
            const float own = store->moved_carried[c][i], mean = part * (float)s->stays[c][cell];
            const float given = part * (float)(s->all[c][cell] - s->stays[c][cell]);
            const float agreed = kept < 1.0f ? mean + kept * (own - mean) : own;
            store->moved_carried[c][i] = goes ? 0.0f : tile_clamp_f32(agreed + given, -limit, limit);
        }
        if (goes && (store->moved_attribute[i] & 0xffu) == KIND_VORTON) {
            store->moved_to[i] = MOVED_GONE;
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// births

enum { BUDGET_LANES = 256 };

typedef struct vorton_births_scratch {
    uint32_t born[TILE_CELLS], split[TILE_CELLS]; ///< in each cell, at most one of both; then those in cells before
    uint32_t strongest[TILE_CELLS];               ///< of a cell's vortons that may split, its strength as bits
    uint32_t parent[TILE_CELLS];                  ///< the particles' end less the index of who splits; 0: nobody
    uint32_t born_total, split_total;
} vorton_births_scratch;

TILE_FN float moved_strength(const vorton_args *args, uint32_t particle)
{
    float squares = 0.0f;
    for (int c = 0; c < 3; c++) {
        const float strength = args->scale.strength * args->tank.store.moved_carried[CARRIED_VORTICITY + c][particle];
        squares += strength * strength;
    }
    return tile_sqrt_f32(squares);
}

/// Half of the way between the parts of a vorton, along an axis; in 1/2^20 cell.
TILE_FN int32_t split_way(const vorton_args *args, uint32_t particle, int axis, float strength)
{
    const float along = args->tank.store.moved_carried[CARRIED_VORTICITY + axis][particle] * args->scale.strength;
    return tile_round_i32(tile_clamp_f32(along / strength, -1.0f, 1.0f) * SPLIT_WAY);
}

/// Whether a vorton's parts come to lie in its tile, and no solid is near them.
TILE_FN int parts_fit(const vorton_args *args, uint32_t particle, uint32_t tile, tile_place place, float strength)
{
    const uint8_t *room = args->tank.grid.m.room;
    const int tile_at[3] = {place.x, place.y, place.z};
    int32_t low[3], high[3]; // of the parts, along each axis by itself
    int cell[2][3], fits = 1;
    for (int a = 0; a < 3; a++) {
        const int32_t way = split_way(args, particle, a, strength), size = way < 0 ? -way : way;
        const int32_t at = (int32_t)args->tank.store.moved_position[a][particle];
        const int32_t wall = args->tank.grid.shape.cells[a] << POSITION_BITS;
        low[a] = at - size;
        high[a] = at + size;
        cell[0][a] = (at - way) >> POSITION_BITS & (TILE_EDGE - 1);
        cell[1][a] = (at + way) >> POSITION_BITS & (TILE_EDGE - 1);
        fits = fits && low[a] >> TILE_POSITION_BITS == tile_at[a] && high[a] >> TILE_POSITION_BITS == tile_at[a] &&
               low[a] >= WALL_MARGIN && high[a] < wall - WALL_MARGIN;
    }
    for (int part = 0; part < 2 && fits && room != NULL; part++) {
        const int *at = cell[part];
        fits = room[(uint64_t)tile * TILE_CELLS + cell_index(at[0], at[1], at[2])] == 255;
    }
    return fits;
}

/// The strength of a vorton that may split; 0: it may not. Dye stays whole: of its particles there are many in a cell,
/// which share what it gets.
TILE_FN float splitting_strength(const vorton_args *args, uint32_t particle, uint32_t tile, tile_place place)
{
    const store_memory *store = &args->tank.store;
    if ((store->moved_attribute[particle] & 0xffu) != KIND_VORTON || store->moved_to[particle] != MOVED_STAYS) {
        return 0.0f;
    }
    const float strength = moved_strength(args, particle);
    return strength > args->scale.split && parts_fit(args, particle, tile, place, strength) ? strength : 0.0f;
}

/// The cell of its tile that a particle which stays there has moved to.
TILE_FN uint32_t moved_cell(const store_memory *store, uint32_t particle)
{
    return cell_index((int)(store->moved_position[0][particle] >> POSITION_BITS & 7),
                      (int)(store->moved_position[1][particle] >> POSITION_BITS & 7),
                      (int)(store->moved_position[2][particle] >> POSITION_BITS & 7));
}

/// The strongest of each cell's vortons that may split, by where they have moved to: when births are written there may
/// be others where they were. Ends with a barrier.
TILE_FN void find_parents(const vorton_args *args, vorton_births_scratch *s, uint32_t tile)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.active_tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->strongest[i] = s->parent[i] = 0;
    }
    TILE_BARRIER();
    if (4 * (uint64_t)args->m.counters->vortons > 3 * (uint64_t)args->m.control->vortons_max) {
        return;
    }
    FOR_RANGE_ATOMIC (i, first, end) {
        const float strength = splitting_strength(args, i, tile, place);
        if (strength > 0.0f) {
            global_max_u32(&s->strongest[moved_cell(store, i)], tile_bits_f32(strength));
        }
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const float strength = splitting_strength(args, i, tile, place);
        if (strength > 0.0f && tile_bits_f32(strength) == s->strongest[moved_cell(store, i)]) {
            global_max_u32(&s->parent[moved_cell(store, i)], end - i);
        }
    }
    TILE_BARRIER();
}

TILE_FN float largest_vorticity(const vorton_args *args)
{
    const uint32_t *bits = args->m.counters->vorticity_bits;
    return tile_max2_f32(tile_max2_f32(tile_f32_bits(bits[0]), tile_f32_bits(bits[1])), tile_f32_bits(bits[2]));
}

/// In which of a tile's cells a vorton is born, or splits. Ends with a barrier.
TILE_FN void find_births(const vorton_args *args, vorton_births_scratch *s, uint32_t tile)
{
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    const float largest = tile_f32_bits(args->m.counters->gain_bits);
    const float least = tile_max2_f32(BIRTH_SHARE * largest, BIRTH_ROUNDING * largest_vorticity(args));
    const uint8_t *room = args->tank.grid.m.room;
    if (TILE_SINGLE()) {
        s->born_total = s->split_total = 0;
    }
    find_parents(args, s, tile);
    FOR_RANGE_ATOMIC (i, 0, TILE_CELLS) {
        float size = 0.0f;
        for (int c = 0; c < 3; c++) {
            size = tile_max2_f32(tile_abs_f32(args->m.gain[c][own + i]), size);
        }
        const int is_free = args->tank.grid.m.cell_count[own + i] == 0 && (room == NULL || room[own + i] > 127);
        s->born[i] = size > least && is_free;
        s->split[i] = s->parent[i] != 0 && s->born[i] == 0;
        tile_add_u32(&s->born_total, s->born[i]);
        tile_add_u32(&s->split_total, s->split[i]);
    }
    TILE_BARRIER();
}

/// How many vortons a tile wants to be born, and to split. One tile per active tile.
TILE_KERNEL(vorton_births, CELL_LANES, vorton_args, vorton_births_scratch)
{
    if (args->m.counters->vortons < args->m.control->vortons_max) {
        find_births(args, s, tile);
    } else if (TILE_SINGLE()) {
        s->born_total = s->split_total = 0;
    }
    if (TILE_SINGLE()) {
        args->m.born[tile] = s->born_total;
        args->m.split[tile] = s->split_total;
    }
}

typedef struct vorton_limit_scratch {
    uint32_t count[BUDGET_LANES];
    uint32_t total, left;
} vorton_limit_scratch;

/// Cuts what tiles want to what is left, tile by tile.
TILE_FN void cut_wanted(vorton_limit_scratch *s, uint32_t *wanted, uint32_t tiles)
{
    for (uint32_t first = 0; first < tiles; first += BUDGET_LANES) {
        FOR_RANGE (i, 0, BUDGET_LANES) {
            s->count[i] = first + i < tiles ? wanted[first + i] : 0;
        }
        tile_scan_u32(s->count, BUDGET_LANES, &s->total);
        FOR_RANGE (i, 0, BUDGET_LANES) {
            if (first + i < tiles) {
                const uint32_t left = s->left - tile_min_u32(s->count[i], s->left);
                wanted[first + i] = tile_min_u32(wanted[first + i], left);
            }
        }
        TILE_BARRIER();
        if (TILE_SINGLE()) {
            s->left -= tile_min_u32(s->total, s->left);
        }
    }
}

/// Adds vortons to the tiles' births, no more than there may be: those that are born first, for without them what is
/// generated is lost. One tile.
TILE_KERNEL(vorton_births_limit, BUDGET_LANES, vorton_args, vorton_limit_scratch)
{
    const uint32_t tiles = args->tank.grid.m.counters->active, most = args->m.control->vortons_max;
    uint32_t *births = args->tank.store.births;
    if (TILE_SINGLE()) {
        s->left = most - tile_min_u32(args->m.counters->vortons, most);
    }
    cut_wanted(s, args->m.born, tiles);
    cut_wanted(s, args->m.split, tiles);
    FOR_RANGE (i, 0, tiles) {
        args->m.others[i] = births[i];
        births[i] += args->m.born[i] + args->m.split[i];
    }
}

TILE_FN void spawn_vorton(const vorton_args *args, uint32_t tile, tile_place place, uint32_t cell, uint32_t to,
                          uint32_t id)
{
    const store_memory *store = &args->tank.store;
    const int tile_at[3] = {place.x, place.y, place.z}, at[3] = {(int)cell & 7, (int)cell >> 3 & 7, (int)cell >> 6};
    const float limit = args->tank.grid.m.control->speed_max;
    for (int a = 0; a < 3; a++) {
        const uint64_t from = (uint64_t)tile * TILE_CELLS + cell;
        store->position[a][to] =
            ((uint32_t)(tile_at[a] * TILE_EDGE + at[a]) << POSITION_BITS) + (1u << (POSITION_BITS - 1));
        store->velocity[a][to] = tile_clamp_f32(args->tank.grid.m.u_ext[a][from], -limit, limit);
        store->carried[CARRIED_VORTICITY + a][to] =
            tile_clamp_f32(args->m.gain[a][from], -STRENGTH_MAX, STRENGTH_MAX) / args->scale.strength;
    }
    store->carried[CARRIED_DEVIATION][to] = 0.0f;
    store->id[to] = id;
    store->attribute[to] = KIND_VORTON | VORTON_COLOUR;
    if (store->seat != NULL) {
        store->seat[to] = TILE_NONE;
    }
}

/// Half of a vorton stays in its place in the order, the other half is new: the sum of strengths, the mean of places
/// and the impulse are what they were, to the last bit.
TILE_FN void split_vorton(const vorton_args *args, uint32_t from, uint32_t to, uint32_t id)
{
    const store_memory *store = &args->tank.store;
    const float strength = moved_strength(args, from);
    for (int a = 0; a < 3; a++) {
        const uint32_t way = (uint32_t)split_way(args, from, a, strength);
        store->position[a][to] = store->moved_position[a][from] + way;
        store->moved_position[a][from] -= way;
        store->velocity[a][to] = store->moved_velocity[a][from];
    }
    for (int k = 0; k <= CARRIED_DEVIATION; k++) {
        store->carried[k][to] = store->moved_carried[k][from] = 0.5f * store->moved_carried[k][from];
    }
    store->id[to] = id;
    store->attribute[to] = store->moved_attribute[from];
    if (store->seat != NULL) {
        store->seat[to] = TILE_NONE;
    }
}

/// Writes a tile's vortons behind its other births: those that are born, then parts. One tile per active tile.
TILE_KERNEL(vorton_spawn, CELL_LANES, vorton_args, vorton_births_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t births = store->births[tile], others = tile_min_u32(args->m.others[tile], births);
    if (births == others) {
        return;
    }
    const uint32_t dense = args->tank.grid.m.active_tile[tile];
    const uint32_t to = store->tile_first_next[dense] + store->tile_count_next[dense] - births + others;
    const uint32_t id = store->counters->next_id + store->births_first[tile] + others;
    const uint32_t end = store->tile_first[dense] + store->tile_count[dense];
    const uint32_t born = tile_min_u32(args->m.born[tile], births - others), split = births - others - born;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    find_births(args, s, tile);
    tile_scan_u32(s->born, TILE_CELLS, &s->born_total);
    tile_scan_u32(s->split, TILE_CELLS, &s->split_total);
    FOR_RANGE (cell, 0, TILE_CELLS) {
        const uint32_t next = cell + 1, at = s->born[cell], part = s->split[cell];
        if (at < born && at < (next < TILE_CELLS ? s->born[next] : s->born_total)) {
            spawn_vorton(args, tile, place, cell, to + at, id + at);
        }
        if (part < split && part < (next < TILE_CELLS ? s->split[next] : s->split_total)) {
            split_vorton(args, end - s->parent[cell], to + born + part, id + born + part);
        }
    }
}

/// How fast a particle's own liquid turns. One tile per occupied tile.
TILE_KERNEL(vorton_show_spin, PARTICLE_LANES, vorton_args, tile_no_scratch)
{
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    FOR_RANGE (i, store->tile_first[dense], store->tile_first[dense] + store->tile_count[dense]) {
        float squares = 0.0f;
        for (int c = 0; c < 3; c++) {
            const float w = store->carried[CARRIED_VORTICITY + c][i];
            squares += w * w;
        }
        args->value[i] = tile_sqrt_f32(squares);
    }
}
