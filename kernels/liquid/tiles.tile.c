// Which tiles are in use: occupied, active and coarse lists from the particle counts; and the particles' move to their
// new tiles: a stable sort that only ever moves a particle to one of 27 tiles.
#include "kernels/liquid/liquid.h"

enum { SCAN_LANES = 256 };

typedef struct tiles_scratch {
    uint32_t occupied[SCAN_LANES], active[SCAN_LANES];
    uint32_t occupied_total, active_total;
    uint32_t occupied_base, active_base;
} tiles_scratch;

TILE_FN uint32_t tile_is_active(const liquid_args *args, uint32_t dense)
{
    const liquid_shape *shape = &args->shape;
    tile_place place = tile_place_of(shape, 0, dense);
    for (uint32_t n = 0; n < 27; n++) {
        uint32_t at = tile_neighbour(shape, 0, place, n);
        if (at != TILE_NONE && args->m.tile_count_next[at] > 0)
            return 1;
    }
    return 0;
}

TILE_FN uint32_t coarse_is_occupied(const liquid_args *args, uint32_t level, uint32_t dense)
{
    const liquid_shape *shape = &args->shape;
    tile_place place = tile_place_of(shape, level, dense);
    for (int n = 0; n < 8; n++) {
        uint32_t at =
            tile_dense_of(shape, level - 1, 2 * place.x + (n & 1), 2 * place.y + (n >> 1 & 1), 2 * place.z + (n >> 2));
        if (at != TILE_NONE && args->m.level[level - 1].index[at] != TILE_NONE)
            return 1;
    }
    return 0;
}

/// Level 0: occupied and active tiles, and the particles' ranges.
TILE_FN void list_fine_tiles(const liquid_args *args, tiles_scratch *s)
{
    const liquid_memory *m = &args->m;
    const uint32_t total = args->shape.tile_total[0];
    if (TILE_SINGLE())
        s->occupied_base = s->active_base = 0;
    TILE_BARRIER();
    for (uint32_t base = 0; base < total; base += SCAN_LANES) {
        FOR_RANGE (i, 0, SCAN_LANES) {
            uint32_t at = base + i;
            s->occupied[i] = at < total && m->tile_count_next[at] > 0;
            s->active[i] = at < total && tile_is_active(args, at);
        }
        TILE_BARRIER();
        tile_scan_u32(s->occupied, SCAN_LANES, &s->occupied_total);
        tile_scan_u32(s->active, SCAN_LANES, &s->active_total);
        TILE_BARRIER();
        FOR_RANGE (i, 0, SCAN_LANES) {
            uint32_t at = base + i;
            if (at < total) {
                uint32_t count = m->tile_count_next[at];
                uint32_t o = s->occupied_base + s->occupied[i], a = s->active_base + s->active[i];
                uint32_t occupied = count > 0, active = tile_is_active(args, at);
                m->tile_count[at] = count;
                m->tile_first[at] = m->tile_first_next[at];
                m->level[0].index[at] = occupied ? o : TILE_NONE;
                m->slot[at] = active ? a : TILE_NONE;
                if (occupied)
                    m->level[0].tile[o] = at;
                if (active)
                    m->active_tile[a] = at;
            }
        }
        TILE_BARRIER();
        if (TILE_SINGLE()) {
            s->occupied_base += s->occupied_total;
            s->active_base += s->active_total;
        }
        TILE_BARRIER();
    }
    if (TILE_SINGLE()) {
        m->counters->occupied = m->counters->level_tiles[0] = s->occupied_base;
        m->counters->active = s->active_base;
        m->counters->liquid_cells_last = m->counters->liquid_cells;
        m->counters->liquid_cells = 0;
    }
    TILE_BARRIER();
}

TILE_FN void list_coarse_tiles(const liquid_args *args, tiles_scratch *s, uint32_t level)
{
    const liquid_memory *m = &args->m;
    const uint32_t total = args->shape.tile_total[level];
    if (TILE_SINGLE())
        s->occupied_base = 0;
    TILE_BARRIER();
    for (uint32_t base = 0; base < total; base += SCAN_LANES) {
        FOR_RANGE (i, 0, SCAN_LANES)
            s->occupied[i] = base + i < total && coarse_is_occupied(args, level, base + i);
        TILE_BARRIER();
        tile_scan_u32(s->occupied, SCAN_LANES, &s->occupied_total);
        TILE_BARRIER();
        FOR_RANGE (i, 0, SCAN_LANES) {
            uint32_t at = base + i, o = s->occupied_base + s->occupied[i];
            if (at < total) {
                uint32_t occupied = coarse_is_occupied(args, level, at);
                m->level[level].index[at] = occupied ? o : TILE_NONE;
                if (occupied)
                    m->level[level].tile[o] = at;
            }
        }
        TILE_BARRIER();
        if (TILE_SINGLE())
            s->occupied_base += s->occupied_total;
        TILE_BARRIER();
    }
    if (TILE_SINGLE())
        m->counters->level_tiles[level] = s->occupied_base;
    TILE_BARRIER();
}

/// Lists the tiles in use. One tile; reads tile_count_next and tile_first_next, which become the present ones.
TILE_KERNEL(liquid_tiles, SCAN_LANES, liquid_args, tiles_scratch)
{
    list_fine_tiles(args, s);
    for (uint32_t level = 1; level < args->shape.level_count; level++)
        list_coarse_tiles(args, s, level);
}

/// How many particles each active tile will have. One tile per active tile.
TILE_KERNEL(liquid_arrivals, 32, liquid_args, tile_no_scratch)
{
    const liquid_memory *m = &args->m;
    if (TILE_SINGLE()) {
        const uint32_t dense = m->active_tile[tile];
        const tile_place place = tile_place_of(&args->shape, 0, dense);
        uint32_t count = 0;
        for (uint32_t n = 0; n < 27; n++) {
            uint32_t from = tile_neighbour(&args->shape, 0, place, n);
            uint32_t o = from != TILE_NONE ? m->level[0].index[from] : TILE_NONE;
            if (o != TILE_NONE)
                count += m->move_count[o * 27 + (26 - n)];
        }
        m->tile_count_next[dense] = count;
    }
}

typedef struct offsets_scratch {
    uint32_t count[SCAN_LANES];
    uint32_t total, base;
} offsets_scratch;

/// First particle of each tile after the move. One tile.
TILE_KERNEL(liquid_offsets, SCAN_LANES, liquid_args, offsets_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t total = args->shape.tile_total[0];
    if (TILE_SINGLE())
        s->base = 0;
    TILE_BARRIER();
    for (uint32_t base = 0; base < total; base += SCAN_LANES) {
        FOR_RANGE (i, 0, SCAN_LANES) {
            uint32_t at = base + i;
            uint32_t count = at < total && m->slot[at] != TILE_NONE ? m->tile_count_next[at] : 0;
            if (at < total)
                m->tile_count_next[at] = count;
            s->count[i] = count;
        }
        TILE_BARRIER();
        tile_scan_u32(s->count, SCAN_LANES, &s->total);
        TILE_BARRIER();
        FOR_RANGE (i, 0, SCAN_LANES) {
            if (base + i < total)
                m->tile_first_next[base + i] = s->base + s->count[i];
        }
        TILE_BARRIER();
        if (TILE_SINGLE())
            s->base += s->total;
        TILE_BARRIER();
    }
}

typedef struct scatter_scratch {
    uint32_t first[32]; ///< where this tile's next particle for each neighbour goes
    uint32_t key[PARTICLE_LANES], rank[PARTICLE_LANES];
} scatter_scratch;

/// Puts a tile's particles where they belong; particles of one tile stay in order, tiles arrive in the order of the
/// neighbours. One tile per occupied tile.
TILE_KERNEL(liquid_scatter, PARTICLE_LANES, liquid_args, scatter_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[tile];
    const uint32_t first = m->tile_first[dense], count = m->tile_count[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    FOR_RANGE (n, 0, 27) {
        uint32_t to = tile_neighbour(&args->shape, 0, place, n), start = 0;
        if (to != TILE_NONE) {
            tile_place to_place = tile_place_of(&args->shape, 0, to);
            start = m->tile_first_next[to];
            for (uint32_t e = 0; e < 26 - n; e++) { // we are neighbour 26 - n of that tile
                uint32_t other = tile_neighbour(&args->shape, 0, to_place, e);
                uint32_t o = other != TILE_NONE ? m->level[0].index[other] : TILE_NONE;
                start += o != TILE_NONE ? m->move_count[o * 27 + (26 - e)] : 0;
            }
        }
        s->first[n] = start;
    }
    TILE_BARRIER();
    for (uint32_t base = 0; base < count; base += PARTICLE_LANES) {
        const uint32_t n = count - base < PARTICLE_LANES ? count - base : PARTICLE_LANES;
        FOR_RANGE (i, 0, n)
            s->key[i] = m->moved_to[first + base + i];
        TILE_BARRIER();
        tile_rank_u32(s->key, s->rank, n, s->first);
        FOR_RANGE (i, 0, n) {
            uint32_t from = first + base + i, to = s->rank[i];
            for (int c = 0; c < 3; c++) {
                m->position[c][to] = m->moved_position[c][from];
                m->velocity[c][to] = m->moved_velocity[c][from];
            }
            m->id[to] = m->moved_id[from];
        }
        if (m->attribute != NULL) {
            FOR_RANGE (i, 0, n)
                m->attribute[s->rank[i]] = m->moved_attribute[first + base + i];
        }
        for (int c = 0; m->affine[0] != NULL && c < 9; c++) {
            FOR_RANGE (i, 0, n)
                m->affine[c][s->rank[i]] = m->moved_affine[c][first + base + i];
        }
        TILE_BARRIER();
    }
}
