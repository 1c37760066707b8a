/// How a block lists tiles: the words of all bitmaps one behind the other, a lane each; then a lane for each of their
/// bits. Part of sort.tile.c.
#ifndef TARN_KERNELS_TANK_LIST_CUDA_H
#define TARN_KERNELS_TANK_LIST_CUDA_H

enum { LIST_MAPS = 1 + LEVELS_MAX }; ///< of active tiles, then of each level

typedef struct list_scratch {
    uint32_t word[LISTING_LANES], at[LISTING_LANES]; ///< bits, and how many there are in words before
    uint32_t first[LISTING_LANES];                   ///< the dense tile of its lowest bit
    uint8_t map[LISTING_LANES];
    uint32_t before[LIST_MAPS + 1]; ///< bits in the bitmaps before
    uint32_t warp_sum[LISTING_LANES / 32];
    uint32_t overflow;
} list_scratch;

TILE_ASSERT((int)LISTING_LANES == 32 * 32, "a warp sums what warps have");

/// A bitmap, and the list that is made of it.
typedef struct list_map {
    uint32_t *bits, *list;
    uint32_t tile_total, most;
} list_map;

TILE_FN list_map list_map_of(const tank_args *args, uint32_t n)
{
    const grid_memory *grid = &args->grid.m;
    const grid_shape *shape = &args->grid.shape;
    const uint32_t level = n > 0 ? n - 1 : 0;
    list_map map;
    map.bits = n > 0 ? grid->level[level].bits : grid->active_bits;
    map.list = n > 0 ? grid->level[level].tile_next : grid->active_tile_next;
    map.tile_total = shape->tile_total[level];
    map.most = n > 0 ? tile_min_u32(shape->occupied_max, map.tile_total) : shape->active_max;
    return map;
}

/// Sum over the lanes before this one. Ends with a barrier, and another one stands before the next.
/// @param all  sum over all lanes
TILE_FN uint32_t list_scan(list_scratch *s, uint32_t own, uint32_t *all)
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = tile_warp_scan_u32(own);
    if (lane == 31) {
        s->warp_sum[warp] = sum;
    }
    TILE_BARRIER();
    const uint32_t to_here = tile_warp_scan_u32(s->warp_sum[lane]);
    const uint32_t before = warp > 0 ? __shfl_sync(0xffffffffu, to_here, (int)warp - 1) : 0;
    *all = __shfl_sync(0xffffffffu, to_here, 31);
    return before + sum - own;
}

/// Takes a lane's word, number n of all bitmaps'. @return how many bits it has
TILE_FN uint32_t list_word(const tank_args *args, list_scratch *s, uint32_t n, uint32_t maps)
{
    uint32_t at = n, of = maps, *bits = NULL;
    TILE_UNROLL for (uint32_t k = 0; k < LIST_MAPS; k++)
    {
        const list_map map = list_map_of(args, k);
        const uint32_t words = (map.tile_total + 31) / 32;
        if (k < maps && of == maps) {
            if (at < words) {
                of = k;
                bits = map.bits;
            } else {
                at -= words;
            }
        }
    }
    uint32_t word = 0;
    if (of < maps) {
        word = bits[at];
        bits[at] = 0;
    }
    s->word[threadIdx.x] = word;
    s->first[threadIdx.x] = at * 32;
    s->map[threadIdx.x] = (uint8_t)of;
    return tile_popcount_u32(word);
}

/// Words of all bitmaps.
TILE_FN uint32_t list_words(const tank_args *args, uint32_t maps)
{
    uint32_t words = 0;
    TILE_UNROLL for (uint32_t k = 0; k < LIST_MAPS; k++)
    {
        words += k < maps ? (list_map_of(args, k).tile_total + 31) / 32 : 0;
    }
    return words;
}

TILE_FN void list_maps(const tank_args *args, list_scratch *s, uint32_t maps)
{
    const uint32_t words = list_words(args, maps);
    uint32_t before = 0;
    for (uint32_t first = 0; first < words; first += LISTING_LANES) {
        uint32_t all;
        const uint32_t own = list_word(args, s, first + threadIdx.x, maps), at = before + list_scan(s, own, &all);
        before += all;
        s->at[threadIdx.x] = at;
        if (s->first[threadIdx.x] == 0 && s->map[threadIdx.x] < maps) {
            s->before[s->map[threadIdx.x]] = at;
        }
        TILE_BARRIER();
        const uint32_t count = tile_min_u32(words - first, LISTING_LANES);
        for (uint32_t w = threadIdx.x / 32; w < count; w += LISTING_LANES / 32) {
            const uint32_t word = s->word[w], bit = threadIdx.x % 32;
            if (word >> bit & 1) {
                const list_map map = list_map_of(args, s->map[w]);
                const uint32_t to = s->at[w] - s->before[s->map[w]] + tile_popcount_u32(word & ((1u << bit) - 1));
                if (to < map.most) {
                    map.list[to] = s->first[w] + bit;
                }
            }
        }
        if (first + LISTING_LANES < words) {
            TILE_BARRIER();
        }
    }
    if (TILE_SINGLE()) {
        s->before[maps] = before;
    }
    TILE_BARRIER();
}

/// Tiles of a bitmap that are listed.
TILE_FN uint32_t list_length(const tank_args *args, const list_scratch *s, uint32_t n)
{
    return s->overflow == 0 ? tile_min_u32(s->before[n + 1] - s->before[n], list_map_of(args, n).most) : 0;
}

/// @return the particles' number
TILE_FN uint32_t list_particles(const tank_args *args, list_scratch *s, uint32_t count)
{
    const uint32_t *list = args->grid.m.level[0].tile_next;
    uint32_t before = 0;
    for (uint32_t first = 0; first < count; first += LISTING_LANES) {
        const uint32_t i = first + threadIdx.x, dense = i < count ? list[i] : 0;
        uint32_t all;
        const uint32_t own = i < count ? args->store.tile_count_next[dense] : 0, at = before + list_scan(s, own, &all);
        before += all;
        if (i < count) {
            args->store.tile_first_next[dense] = at;
        }
        if (first + LISTING_LANES < count) {
            TILE_BARRIER();
        }
    }
    return before;
}

TILE_FN void list_tiles(const tank_args *args, list_scratch *s)
{
    grid_counters *counters = args->grid.m.counters;
    const uint32_t maps = 1 + args->grid.shape.level_count;
    if (threadIdx.x == LISTING_LANES - 1) { // this lane's word comes late, if any does
        s->overflow = counters->overflow;
        counters->liquid_cells_last = counters->liquid_cells;
        counters->liquid_cells = 0;
        counters->open = 0;
        counters->watched_last = counters->watched_closed;
        counters->watched_closed = 0;
    }
    list_maps(args, s, maps);
    FOR_RANGE_ATOMIC (n, 0, maps) {
        tile_or_u32(&s->overflow, s->before[n + 1] - s->before[n] > list_map_of(args, n).most);
    }
    TILE_BARRIER();
    FOR_RANGE (n, 0, maps) {
        *(n > 0 ? counters->level_tiles_next + (n - 1) : &counters->active_next) = list_length(args, s, n);
    }
    const uint32_t particles = list_particles(args, s, list_length(args, s, 1));
    if (TILE_SINGLE()) {
        counters->overflow = s->overflow;
        counters->adopting = tile_max_u32(list_length(args, s, 0), 1);
        args->store.counters->particles = particles;
    }
}

#endif
