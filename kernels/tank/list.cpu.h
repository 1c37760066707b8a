/// How a processor lists tiles: bitmap by bitmap. Part of sort.tile.c.
#ifndef TARN_KERNELS_TANK_LIST_CPU_H
#define TARN_KERNELS_TANK_LIST_CPU_H

typedef struct list_scratch {
    uint32_t count[LIST_LANES];
    uint32_t total, base;
} list_scratch;

/// Writes the tiles of a bitmap in ascending order, at most `most`, clears it, and returns how many it held through
/// s->base.
TILE_FN void list_bits(list_scratch *s, uint32_t *bits, uint32_t tile_total, uint32_t *list, uint32_t most)
{
    const uint32_t words = (tile_total + 31) / 32;
    s->base = 0;
    for (uint32_t first = 0; first < words; first += LIST_LANES) {
        FOR_RANGE (i, 0, LIST_LANES) {
            s->count[i] = first + i < words ? tile_popcount_u32(bits[first + i]) : 0;
        }
        tile_scan_u32(s->count, LIST_LANES, &s->total);
        FOR_RANGE (i, 0, LIST_LANES) {
            if (first + i < words) {
                uint32_t at = s->base + s->count[i];
                for (uint32_t word = bits[first + i]; word != 0; word &= word - 1, at++) {
                    if (at < most) {
                        list[at] = (first + i) * 32 + tile_lowest_bit_u32(word);
                    }
                }
                bits[first + i] = 0;
            }
        }
        s->base += s->total;
    }
}

/// Places of the particles: first particle of each listed tile.
TILE_FN void list_particles(const tank_args *args, list_scratch *s, uint32_t count)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t *list = grid->level[0].tile_next;
    s->base = 0;
    for (uint32_t first = 0; first < count; first += LIST_LANES) {
        FOR_RANGE (i, 0, LIST_LANES) {
            s->count[i] = first + i < count ? store->tile_count_next[list[first + i]] : 0;
        }
        tile_scan_u32(s->count, LIST_LANES, &s->total);
        FOR_RANGE (i, 0, LIST_LANES) {
            if (first + i < count) {
                store->tile_first_next[list[first + i]] = s->base + s->count[i];
            }
        }
        s->base += s->total;
    }
}

TILE_FN void list_tiles(const tank_args *args, list_scratch *s)
{
    const grid_memory *grid = &args->grid.m;
    const grid_shape *shape = &args->grid.shape;
    grid_counters *counters = grid->counters;
    list_bits(s, grid->active_bits, shape->tile_total[0], grid->active_tile_next, shape->active_max);
    counters->active_next = tile_min_u32(s->base, shape->active_max);
    counters->overflow |= s->base > shape->active_max;
    for (uint32_t level = 0; level < shape->level_count; level++) {
        const uint32_t most = tile_min_u32(shape->occupied_max, shape->tile_total[level]);
        list_bits(s, grid->level[level].bits, shape->tile_total[level], grid->level[level].tile_next, most);
        counters->level_tiles_next[level] = tile_min_u32(s->base, most);
        counters->overflow |= s->base > most;
    }
    if (counters->overflow != 0) {
        counters->active_next = 0;
        for (uint32_t level = 0; level < shape->level_count; level++) {
            counters->level_tiles_next[level] = 0;
        }
    }
    list_particles(args, s, counters->level_tiles_next[0]);
    counters->adopting = tile_max_u32(counters->active_next, 1);
    args->store.counters->particles = s->base;
    counters->liquid_cells_last = counters->liquid_cells;
    counters->liquid_cells = 0;
    counters->open = 0;
    counters->watched_last = counters->watched_closed;
    counters->watched_closed = 0;
}

#endif
