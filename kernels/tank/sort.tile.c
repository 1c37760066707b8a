// Which tiles are in use, and the particles' move to their new tiles. Time follows the tiles in use: nothing walks all
// tiles of the tank but bitmaps, of which a word covers 32 tiles.
//
//     arrivals   particles each active tile will have; marks it, its neighbours and its coarse tiles in the bitmaps
//     list       bitmaps -> ascending lists of the tiles to come, and their particles' places
//     scatter    particles to their places: a stable sort that only ever moves one to 27 tiles; the present lists leave
//                the tables
//     adopt      the lists to come become the present ones
//
// Where a step begins with tiles that have to become active though nothing moves, it is stay, list, retire, adopt.
#include "kernels/device/pack_move.h"
#include "kernels/device/row.h"
#include "kernels/tank/store.h"

enum { LIST_LANES = 256 };

// ------------------------------------------------------------------------------------------------------------ bitmaps

TILE_FN void mark(uint32_t *bits, uint32_t dense)
{
    global_or_u32(&bits[dense >> 5], 1u << (dense & 31));
}

/// Marks a tile that will hold particles, the neighbours that they can reach, and the coarse tiles above.
TILE_FN void mark_occupied(const tank_args *args, tile_place place)
{
    const grid_shape *shape = &args->grid.shape;
    const grid_memory *grid = &args->grid.m;
    FOR_RANGE_ATOMIC (n, 0, 27) {
        const uint32_t at = tile_neighbour(shape, 0, place, n);
        if (at != TILE_NONE) {
            mark(grid->active_bits, at);
        }
    }
    FOR_RANGE_ATOMIC (level, 0, shape->level_count) {
        mark(grid->level[level].bits,
             tile_dense_of(shape, level, place.x >> level, place.y >> level, place.z >> level));
    }
}

/// Whether a tile is occupied whatever it holds.
TILE_FN int is_awake(const store_memory *store, uint32_t dense)
{
    return store->awake != NULL && store->awake[dense] != 0;
}

/// Where the occupied tiles around a place count what moves there: index in move_count, or TILE_NONE.
TILE_FN uint32_t arrivals_from(const tank_args *args, tile_place place, uint32_t n)
{
    const uint32_t from = tile_neighbour(&args->grid.shape, 0, place, n);
    const uint32_t o = from != TILE_NONE ? args->grid.m.level[0].index[from] : TILE_NONE;
    return o != TILE_NONE ? o * 27 + (26 - n) : TILE_NONE;
}

typedef struct arrivals_scratch {
    uint32_t count[27];
    uint32_t total;
} arrivals_scratch;

/// How many particles each active tile will have. What its neighbours counted becomes where, behind its first particle,
/// theirs begin. One tile per active tile.
TILE_KERNEL(tank_arrivals, 32, tank_args, arrivals_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->active_tile[tile];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    FOR_RANGE (n, 0, 27) {
        const uint32_t from = arrivals_from(args, place, n);
        s->count[n] = from != TILE_NONE ? store->move_count[from] : 0;
    }
    tile_scan_u32(s->count, 27, &s->total);
    FOR_RANGE (n, 0, 27) {
        const uint32_t from = arrivals_from(args, place, n);
        if (from != TILE_NONE) {
            store->move_count[from] = s->count[n];
        }
    }
    const uint32_t count = s->total + (store->control->has_births ? store->births[tile] : 0);
    if (TILE_SINGLE()) {
        store->tile_count_next[dense] = count;
        if (tile == 0) {
            store->control->grid.kick = store->control->grid.frac;
        }
    }
    if (count > 0 || is_awake(store, dense)) {
        mark_occupied(args, place);
    }
}

/// Tiles that stay active although they are empty: liquid may be born there. One tile per args->grid.level of them.
TILE_KERNEL(tank_keep_active, 32, tank_args, tile_no_scratch)
{
    if (TILE_SINGLE()) {
        mark(args->grid.m.active_bits, args->grid.m.kept_tile[tile]);
    }
}

/// The same of this step's pours. One tile for each that there may be.
TILE_KERNEL(tank_keep_pours, 32, tank_args, tile_no_scratch)
{
    if (TILE_SINGLE() && tile < args->store.control->pour_tile_count) {
        mark(args->grid.m.active_bits, args->store.control->pour_tiles[tile]);
    }
}

/// Particles stay where they are: instead of the arrivals. One tile per active tile.
TILE_KERNEL(tank_stay, 32, tank_args, tile_no_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->active_tile[tile], o = grid->level[0].index[dense];
    const uint32_t count = o != TILE_NONE ? store->tile_count[dense] : 0;
    if (TILE_SINGLE()) {
        store->tile_count_next[dense] = count;
    }
    if (count > 0 || (o != TILE_NONE && is_awake(store, dense))) {
        mark_occupied(args, tile_place_of(&args->grid.shape, 0, dense));
    }
}

// -------------------------------------------------------------------------------------------------------------- lists

enum { LISTING_LANES = 1024 };

/// list_tiles(args, s) makes of the bitmaps the lists of the tiles to come, each ascending, counts these and clears the
/// bitmaps; finds the particles' places, the first one of each tile that is to be occupied; and turns the count of
/// liquid cells over. Where there are more tiles than memory is there for, none is listed: what came next in the step
/// would look for those that are left out. The host sees it after the step.
#include TILE_FORM(list)

/// The tiles in use after the move. One tile.
TILE_KERNEL(tank_list, LISTING_LANES, tank_args, list_scratch)
{
    list_tiles(args, s);
}

TILE_FN int will_be_occupied(const tank_args *args, uint32_t dense)
{
    const store_memory *store = &args->store;
    return (args->grid.m.slot[dense] != TILE_NONE && store->tile_count_next[dense] > 0) || is_awake(store, dense);
}

/// Whether a tile is occupied now and will be.
TILE_FN int stays_occupied(const tank_args *args, uint32_t dense)
{
    return args->grid.m.level[0].index[dense] != TILE_NONE && will_be_occupied(args, dense);
}

/// What is in `keeping`, to where its tiles will lie. Velocities only of faces off the tank's walls that have tiles on
/// both sides which are occupied now and will be: so a mirrored tank keeps the mirrored ones. With `keeps_edges` of
/// faces that have such a tile on one side. Before the present lists leave the tables. One tile per active tile to
/// come, at least one.
TILE_KERNEL(tank_keep, CELL_LANES, tank_args, tile_no_scratch)
{
    const grid_memory *grid = &args->grid.m;
    if (tile >= grid->counters->active_next) {
        return;
    }
    const grid_shape *shape = &args->grid.shape;
    const uint32_t dense = grid->active_tile_next[tile], from = grid->slot[dense];
    const int edges = (int)args->keeps_edges, stays = edges ? from != TILE_NONE : stays_occupied(args, dense);
    const int is_edge = edges && !will_be_occupied(args, dense);
    const tile_place place = tile_place_of(shape, 0, dense);
    const int ex = tile_extent(shape, 0, place.x), ey = tile_extent(shape, 1, place.y),
              ez = tile_extent(shape, 2, place.z);
    for (int c = 0; c < 3; c++) {
        const uint32_t below = tile_dense_of(shape, 0, place.x - (c == 0), place.y - (c == 1), place.z - (c == 2));
        const int first = !edges && (below == TILE_NONE || !stays_occupied(args, below));
        const int end = !is_edge ? TILE_EDGE : below != TILE_NONE && will_be_occupied(args, below); // of planes
        const uint32_t inside = stays ? (1u << ex) - 1 : 0;
        float *to = args->store.kept[c] + (uint64_t)tile * TILE_CELLS;
        const float *u = args->store.keeping[c] + (uint64_t)(stays ? from : 0) * TILE_CELLS;
        FOR_ROWS (x, row, 0, (uint32_t)(ez * TILE_EDGE)) { // what lies beyond never was anything but zero
            const int y = (int)row & 7, along = c == 1 ? y : (int)row >> 3;
            const uint32_t faces = c == 0                          ? inside & ~(uint32_t)first & ((1u << end) - 1)
                                   : along >= first && along < end ? inside
                                                                   : 0;
            const row_f32 value = row_load(u + row * TILE_EDGE + x);
            row_store(to + row * TILE_EDGE + x, row_keep(row_bits_mask((y < ey ? faces : 0) >> x), value));
        }
    }
}

/// What is kept goes back to `keeping`, from where it is kept again when the lists change before a substep. One tile
/// per active tile.
TILE_KERNEL(tank_unkeep, CELL_LANES, tank_args, tile_no_scratch)
{
    for (int c = 0; c < 3; c++) {
        const float *from = args->store.kept[c] + (uint64_t)tile * TILE_CELLS;
        float *to = args->store.keeping[c] + (uint64_t)tile * TILE_CELLS;
        FOR_RANGE (i, 0, TILE_CELLS) {
            to[i] = from[i];
        }
    }
}

/// Lists the pieces of an occupied tile to come, and lets nothing have moved from it.
TILE_FN void list_pieces(const tank_args *args, uint32_t o)
{
    const store_memory *store = &args->store;
    const uint32_t dense = args->grid.m.level[0].tile_next[o], bits = piece_bits_for(args, store->counters->particles);
    const uint32_t first = store->tile_first_next[dense], end = first + store->tile_count_next[dense];
    const uint32_t first_piece = (first >> bits) + o, end_piece = (end >> bits) + o + 1;
    FOR_RANGE (i, first_piece, end_piece) {
        store->piece_tile[i] = o;
    }
    FOR_RANGE (n, 0, 27) {
        store->move_count[o * 27 + n] = 0;
    }
}

/// The lists to come become the present ones. One tile per active tile to come, at least one.
TILE_KERNEL(tank_adopt, 32, tank_args, tile_no_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    grid_counters *counters = grid->counters;
    const uint32_t occupied = counters->level_tiles_next[0];
    if (tile < occupied) {
        list_pieces(args, tile);
    }
    if (TILE_SINGLE()) {
        if (tile < counters->active_next) {
            const uint32_t active = grid->active_tile_next[tile];
            grid->active_tile[tile] = active;
            grid->slot[active] = tile;
        }
        for (uint32_t level = 0; level < args->grid.shape.level_count; level++) {
            if (tile < counters->level_tiles_next[level]) {
                const uint32_t dense = grid->level[level].tile_next[tile];
                grid->level[level].tile[tile] = dense;
                grid->level[level].index[dense] = tile;
            }
            if (tile == 0) {
                counters->level_tiles[level] = counters->level_tiles_next[level];
            }
        }
        if (tile < occupied) {
            const uint32_t dense = grid->level[0].tile_next[tile];
            store->tile_first[dense] = store->tile_first_next[dense];
            store->tile_count[dense] = store->tile_count_next[dense];
        }
        if (tile == 0) {
            const uint32_t bits = piece_bits_for(args, store->counters->particles);
            counters->active = counters->active_next;
            counters->occupied = occupied;
            store->counters->piece_bits = bits;
            store->counters->pieces = tile_max_u32((store->counters->particles >> bits) + occupied, 1);
            store->counters->p2g_parts = occupied * (args->cuts ? P2G_PARTS : 1);
            if (occupied == 0) {
                store->piece_tile[0] = TILE_NONE;
            }
            store->counters->next_id += store->counters->births;
            store->counters->births = 0;
        }
    }
}

/// A tank without liquid: empty tables. One tile per 256 tiles of the tank.
TILE_KERNEL(tank_clear, LIST_LANES, tank_args, tile_no_scratch)
{
    const grid_memory *grid = &args->grid.m;
    FOR_LANES (lane) {
        const uint32_t at = tile * LIST_LANES + lane;
        for (uint32_t level = 0; level < args->grid.shape.level_count; level++) {
            if (at < args->grid.shape.tile_total[level]) {
                grid->level[level].index[at] = TILE_NONE;
            }
            if (at < (args->grid.shape.tile_total[level] + 31) / 32) {
                grid->level[level].bits[at] = 0;
            }
        }
        if (at < args->grid.shape.tile_total[0]) {
            grid->slot[at] = TILE_NONE;
        }
        if (at < (args->grid.shape.tile_total[0] + 31) / 32) {
            grid->active_bits[at] = 0;
        }
    }
}

/// What a seeded tank begins with: marks the tiles that hold particles. One tile per listed tile.
TILE_KERNEL(tank_mark, 32, tank_args, tile_no_scratch)
{
    mark_occupied(args, tile_place_of(&args->grid.shape, 0, args->grid.m.level[0].tile_next[tile]));
}

// --------------------------------------------------------------------------------------------------------------
// scatter

typedef struct scatter_scratch {
    uint32_t first[32]; ///< where this tile's next particle for each neighbour goes
    pack_move move;
} scatter_scratch;

/// Takes an active tile out of the tables.
TILE_FN void retire(const tank_args *args, uint32_t dense, tile_place place)
{
    const grid_shape *shape = &args->grid.shape;
    args->grid.m.slot[dense] = TILE_NONE;
    for (uint32_t level = 0; level < shape->level_count; level++) {
        global_store_u32(&args->grid.m.level[level]
                              .index[tile_dense_of(shape, level, place.x >> level, place.y >> level, place.z >> level)],
                         TILE_NONE);
    }
}

/// The present lists leave the tables. One tile per active tile.
TILE_KERNEL(tank_retire, 32, tank_args, tile_no_scratch)
{
    const uint32_t dense = args->grid.m.active_tile[tile];
    if (TILE_SINGLE()) {
        retire(args, dense, tile_place_of(&args->grid.shape, 0, dense));
    }
}

/// Takes a share of the active tiles out of the tables, of which this launch reads nothing.
TILE_FN void retire_share(const tank_args *args, uint32_t number, uint32_t pieces)
{
    const grid_memory *grid = &args->grid.m;
    const uint32_t active = grid->counters->active;
    FOR_RANGE_ATOMIC (k, 0, number < active ? (active - number - 1) / pieces + 1 : 0) {
        const uint32_t dense = grid->active_tile[number + k * pieces];
        retire(args, dense, tile_place_of(&args->grid.shape, 0, dense));
    }
}

/// Where the particles that go to each neighbour begin; beyond all places for those that go nowhere, as all do where
/// the tiles ran out: the places that lists gave before are no longer apart. As if all in front of the piece stayed.
TILE_FN void scatter_targets(const tank_args *args, store_piece piece, scatter_scratch *s)
{
    const store_memory *store = &args->store;
    const tile_place place = tile_place_of(&args->grid.shape, 0, piece.dense);
    const uint32_t places = args->grid.m.counters->overflow == 0 ? 27 : 0;
    FOR_RANGE (n, 0, 32) {
        const uint32_t to = n < places ? tile_neighbour(&args->grid.shape, 0, place, n) : TILE_NONE;
        s->first[n] = to != TILE_NONE ? store->tile_first_next[to] + store->move_count[piece.tile * 27 + n]
                                      : args->scale.particles_max;
        s->first[n] += n == MOVED_STAYS ? piece.first - piece.tile_first : 0;
    }
    TILE_BARRIER();
}

/// Lets those of the tile that are in front of the piece go first: a byte of each is read, four at once; most stay.
TILE_FN void scatter_before(const store_memory *store, store_piece piece, scatter_scratch *s)
{
    TILE_ASSERT(PIECE_ALIGNMENT % 4 == 0, "a piece begins with a word of moved_to");
    FOR_RANGE_ATOMIC (word, piece.tile_first / 4, piece.first / 4) {
        uint32_t to;
        memcpy(&to, __builtin_assume_aligned(store->moved_to + 4 * (uint64_t)word, 4), sizeof to);
        for (uint32_t i = 0; to != MOVED_STAYS * 0x01010101u && i < 4; i++) {
            const uint32_t n = to >> 8 * i & 0xff;
            if (n != MOVED_STAYS && 4 * word + i >= piece.tile_first) {
                tile_add_u32(&s->first[n], 1);
                tile_add_u32(&s->first[MOVED_STAYS], 0xffffffffu);
            }
        }
    }
}

/// Numbers as bits: a move looks at none.
TILE_FN uint32_t *bits_at(float *numbers, uint32_t first)
{
    return numbers != NULL ? (uint32_t *)(void *)numbers + first : NULL;
}

/// Moves what n particles have.
TILE_FN void scatter_values(const store_memory *m, const pack_move *move, uint32_t from, uint32_t n)
{
    uint32_t *const to[9] = {m->position[0],
                             m->position[1],
                             m->position[2],
                             bits_at(m->velocity[0], 0),
                             bits_at(m->velocity[1], 0),
                             bits_at(m->velocity[2], 0),
                             m->id,
                             m->attribute,
                             m->seat};
    const uint32_t *const moved[9] = {m->moved_position[0] + from,
                                      m->moved_position[1] + from,
                                      m->moved_position[2] + from,
                                      bits_at(m->moved_velocity[0], from),
                                      bits_at(m->moved_velocity[1], from),
                                      bits_at(m->moved_velocity[2], from),
                                      m->moved_id + from,
                                      m->attribute != NULL ? m->moved_attribute + from : NULL,
                                      m->seat != NULL ? m->moved_seat + from : NULL};
    pack_move_list(move, to, moved, 9, n);
    if (m->carried[0] != NULL) {
        uint32_t *carried[CARRIED_MAX];
        const uint32_t *moved_carried[CARRIED_MAX];
        TILE_UNROLL for (int k = 0; k < CARRIED_MAX; k++)
        {
            carried[k] = bits_at(m->carried[k], 0);
            moved_carried[k] = bits_at(m->moved_carried[k], from);
        }
        pack_move_list(move, carried, moved_carried, CARRIED_MAX, n);
    }
    if (m->affine[0] != NULL) {
        uint32_t *affine[9];
        const uint32_t *moved_affine[9];
        TILE_UNROLL for (int c = 0; c < 9; c++)
        {
            affine[c] = bits_at(m->affine[c], 0);
            moved_affine[c] = bits_at(m->moved_affine[c], from);
        }
        pack_move_list(move, affine, moved_affine, 9, n);
    }
}

/// Puts particles where they belong; particles of one tile stay in order, tiles arrive in the order of the neighbours.
/// Those that are gone go nowhere. The present lists leave the tables. One tile per piece.
TILE_KERNEL(tank_scatter, PARTICLE_LANES, tank_args, scatter_scratch)
{
    const store_memory *store = &args->store;
    const store_piece piece = piece_of(args, tile);
    retire_share(args, tile, store->counters->pieces);
    if (piece.first == piece.end) {
        return;
    }
    scatter_targets(args, piece, s);
    if (piece.first > piece.tile_first) {
        scatter_before(store, piece, s);
    }
    for (uint32_t from = piece.first; from < piece.end; from += PACK_MOVE_MAX) {
        const uint32_t n = tile_min_u32(piece.end - from, PACK_MOVE_MAX);
        pack_move_rank(&s->move, store->moved_to + from, n, MOVED_STAYS, args->scale.particles_max, s->first);
        scatter_values(store, &s->move, from, n);
    }
}
