// Key frames: the particles of each tile and layer as a set, and the reference that it makes.
#include "kernels/stream/stream_memory.h"

typedef struct see_scratch {
    uint32_t filled[STREAM_FILLED];
} see_scratch;

TILE_FN uint32_t cell_of(const stream_args *args, uint32_t particle)
{
    const uint32_t mask = TILE_EDGE - 1;
    return cell_index((int)(args->position[0][particle] >> POSITION_BITS & mask),
                      (int)(args->position[1][particle] >> POSITION_BITS & mask),
                      (int)(args->position[2][particle] >> POSITION_BITS & mask));
}

/// Marks the cells that hold particles. One tile per occupied tile.
TILE_KERNEL(stream_see, STREAM_LANES, stream_args, see_scratch)
{
    const uint32_t dense = args->tank_tile[tile], first = args->tile_first[dense];
    FOR_RANGE (k, 0, STREAM_FILLED) {
        s->filled[k] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, first + args->tile_count[dense]) {
        const uint32_t cell = cell_of(args, i);
        tile_or_u32(&s->filled[cell / 32], 1u << cell % 32);
    }
    TILE_BARRIER();
    FOR_RANGE (k, 0, STREAM_FILLED) {
        args->w.filled[tile * STREAM_FILLED + k] = s->filled[k];
    }
}

/// Whether a cell of the tank holds particles, or lies below its floor, through which nobody looks.
TILE_FN int is_filled(const stream_args *args, const int *at)
{
    if (at[1] < 0) {
        return 1;
    }
    for (int a = 0; a < 3; a++) {
        if (at[a] < 0 || at[a] > args->end[a] >> TARN_PLACE_BITS) {
            return 0;
        }
    }
    const uint32_t dense =
        ((uint32_t)(at[2] >> TILE_LOG2) * args->tiles[1] + (uint32_t)(at[1] >> TILE_LOG2)) * args->tiles[0] +
        (uint32_t)(at[0] >> TILE_LOG2);
    const uint32_t o = args->tank_index[dense], cell = cell_index(at[0] & 7, at[1] & 7, at[2] & 7);
    return o != TILE_NONE && (args->w.filled[o * STREAM_FILLED + cell / 32] >> cell % 32 & 1) != 0;
}

typedef struct layers_scratch {
    uint32_t count[TARN_STREAM_LAYERS_MAX];
    uint8_t is_visible[TARN_SET_CELLS]; ///< has a side towards air, a wall or a solid
} layers_scratch;

/// Draws each particle's layer, and counts them. One tile per occupied tile.
TILE_KERNEL(stream_layers, STREAM_LANES, stream_args, layers_scratch)
{
    const uint32_t dense = args->tank_tile[tile], first = args->tile_first[dense],
                   end = first + args->tile_count[dense];
    uint32_t tile_at[3];
    stream_tile_at(args, dense, tile_at);
    FOR_RANGE (l, 0, args->layers) {
        s->count[l] = 0;
    }
    FOR_RANGE (c, 0, TARN_SET_CELLS) {
        uint32_t empty = 0;
        for (int side = 0; side < 6; side++) {
            int at[3] = {(int)(8 * tile_at[0] + (c & 7)), (int)(8 * tile_at[1] + (c >> 3 & 7)),
                         (int)(8 * tile_at[2] + (c >> 6))};
            at[side / 2] += side % 2 == 0 ? -1 : 1;
            empty += !is_filled(args, at);
        }
        s->is_visible[c] = empty > 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t layer = stream_layer_of(args, args->id[i], s->is_visible[cell_of(args, i)]);
        args->w.layer[i] = (uint8_t)layer;
        tile_add_u32(&s->count[layer], 1);
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (l, 0, args->layers) {
        args->w.layer_count[tile * args->layers + l] = s->count[l];
        if (s->count[l] > args->points_max) {
            global_or_u32(&args->w.plan->is_crowded, 1);
        }
    }
}

typedef struct sets_scratch {
    uint32_t count[TARN_SET_CELLS], end[TARN_SET_CELLS]; ///< of cells
    uint32_t total, reach, far;
    uint32_t cell[STREAM_LANES], rank[STREAM_LANES];
} sets_scratch;

/// A place's key in its tile's set. The tank's particles are within their tile.
TILE_FN uint32_t key_of(const stream_args *args, uint32_t particle)
{
    int32_t place[4];
    uint32_t in[3];
    tarn_four_store(place, stream_place_of(args, particle));
    for (int a = 0; a < 3; a++) {
        in[a] = (uint32_t)(place[a] & (TARN_PLACE_TILE - 1)) >> (TARN_PLACE_BITS - args->bits);
    }
    return tarn_set_key(in, args->bits);
}

TILE_FN int key_is_after(const uint32_t *key, const uint32_t *order, uint32_t i, uint32_t j)
{
    return key[i] > key[j] || (key[i] == key[j] && order[i] > order[j]);
}

TILE_FN void key_swap(uint32_t *key, uint32_t *order, uint32_t i, uint32_t j)
{
    const uint32_t k = key[i], o = order[i];
    key[i] = key[j];
    order[i] = order[j];
    key[j] = k;
    order[j] = o;
}

/// Heap sort, for cells that are crowded beyond all measure.
TILE_FN void key_sort_many(uint32_t *key, uint32_t *order, uint32_t n)
{
    for (uint32_t start = n / 2, end = n; end > 1;) {
        if (start > 0) {
            start--;
        } else {
            key_swap(key, order, 0, --end);
        }
        for (uint32_t at = start, child = 2 * at + 1; child < end; child = 2 * at + 1) {
            child += child + 1 < end && key_is_after(key, order, child + 1, child);
            if (!key_is_after(key, order, child, at)) {
                break;
            }
            key_swap(key, order, at, child);
            at = child;
        }
    }
}

/// Sorts a cell's keys; equal ones stay in the tank's order, so that every device has the same.
TILE_FN void key_sort(uint32_t *key, uint32_t *order, uint32_t n)
{
    if (n > STREAM_CELL_SORTED_MAX) {
        key_sort_many(key, order, n);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t k = key[i], o = order[i];
        uint32_t at = i;
        for (; at > 0 && key[at - 1] > k; at--) {
            key[at] = key[at - 1];
            order[at] = order[at - 1];
        }
        key[at] = k;
        order[at] = o;
    }
}

/// Brings a layer's particles of a tile into the order of their keys, from `to` on. Ends with a barrier.
TILE_FN void sort_layer(const stream_args *args, sets_scratch *s, uint32_t layer, uint32_t first, uint32_t end,
                        uint32_t to)
{
    const stream_memory *w = &args->w;
    FOR_RANGE (c, 0, TARN_SET_CELLS) {
        s->count[c] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        if (args->w.layer[i] == layer) {
            tile_add_u32(&s->count[cell_of(args, i)], 1);
        }
    }
    TILE_BARRIER();
    FOR_RANGE (c, 0, TARN_SET_CELLS) {
        s->end[c] = s->count[c];
    }
    tile_scan_u32(s->end, TARN_SET_CELLS, &s->total);
    for (uint32_t from = first; from < end; from += STREAM_LANES) {
        const uint32_t n = tile_min_u32(end - from, STREAM_LANES);
        FOR_RANGE (j, 0, n) {
            s->cell[j] = args->w.layer[from + j] == layer ? cell_of(args, from + j) : TILE_NONE;
        }
        tile_rank_u32(s->cell, s->rank, n, s->end);
        FOR_RANGE (j, 0, n) {
            if (s->cell[j] != TILE_NONE) {
                w->key[to + s->rank[j]] = key_of(args, from + j);
                w->key_order[to + s->rank[j]] = from + j;
            }
        }
        TILE_BARRIER();
    }
    FOR_RANGE (c, 0, TARN_SET_CELLS) {
        const uint32_t at = to + s->end[c] - s->count[c];
        key_sort(w->key + at, w->key_order + at, s->count[c]);
    }
    TILE_BARRIER();
}

/// What viewers have of a layer's particles becomes the reference.
TILE_FN void seat_layer(const stream_args *args, sets_scratch *s, const uint32_t *tile_at, const stream_part *part,
                        uint32_t from)
{
    const stream_memory *w = &args->w;
    uint32_t reach = 0, far = 0;
    FOR_RANGE_ATOMIC (k, 0, part->count) {
        const uint32_t i = w->key_order[from + k];
        const tarn_four place = stream_keep_place(args, stream_place_of(args, i));
        w->pair[i].kept = stream_pack_place(place);
        w->pair[i].true_place = STREAM_NOWHERE;
        w->place_slot[i] = part->slot + k;
        tarn_four_store_i16(w->slot[part->slot + k].old.residual, tarn_four_all(0), SLOT_ALIVE);
        for (int a = 0; a < 3; a++) {
            far |= (uint32_t)tile_abs_f32(args->velocity[a][i] * args->steps * (float)(1 << TARN_PLACE_BITS));
        }
        args->seat[i] = w->seat_was[i] = i;
        reach |= stream_reach_of(tile_at, place);
    }
    tile_or_u32(&s->reach, reach);
    tile_or_u32(&s->far, far);
    TILE_BARRIER();
}

/// A tile's sets in order, layer by layer, and its part of the reference. One tile per occupied tile.
TILE_KERNEL(stream_sets, STREAM_LANES, stream_args, sets_scratch)
{
    const stream_memory *w = &args->w;
    const uint32_t dense = args->tank_tile[tile], first = args->tile_first[dense],
                   end = first + args->tile_count[dense];
    uint32_t tile_at[3], from = first;
    stream_tile_at(args, dense, tile_at);
    if (TILE_SINGLE()) {
        s->reach = s->far = 0;
    }
    for (uint32_t l = 0; l < args->layers; l++) {
        stream_part *part = &w->part[tile * args->layers + l];
        if (TILE_SINGLE()) {
            part->first = from;
        }
        if (part->count == 0) {
            continue;
        }
        sort_layer(args, s, l, first, end, from);
        seat_layer(args, s, tile_at, part, from);
        from += part->count;
    }
    if (args->has_colours) { // nobody asks for layers any more
        FOR_RANGE (i, first, end) {
            w->layer[i] = (uint8_t)stream_colour_of(args, w->key_order[i]);
        }
    }
    if (TILE_SINGLE()) {
        w->tile[tile].dense = dense;
        w->tile[tile].first = first;
        w->tile[tile].count = end - first;
        w->tile[tile].reach = s->reach;
        global_or_u32(&w->plan->farthest, s->far);
    }
}

enum { CODE_SETS_LANES = 64 };

#include TILE_FORM(sets)

/// Ends with a barrier.
TILE_FN void count_cells_of(const stream_args *args, code_sets_scratch *s, const stream_part *part)
{
    FOR_RANGE (c, 0, TARN_SET_CELLS) {
        s->count[c] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, part->first, part->first + part->count) {
        tile_add_u32(&s->count[args->w.key[i] >> 3 * args->bits], 1);
    }
    TILE_BARRIER();
}

/// A part's set as a stream, or its colours; none where there are no particles. One tile per stream.
TILE_KERNEL(stream_code_sets, CODE_SETS_LANES, stream_args, code_sets_scratch)
{
    const stream_memory *w = &args->w;
    const uint32_t number = tile / 2, is_colours = tile % 2;
    const stream_part *part = &w->part[number];
    if (part->count == 0 || (is_colours && !args->has_colours)) {
        if (TILE_SINGLE()) {
            w->bytes[tile] = 0;
        }
        return;
    }
    if (!is_colours) {
        count_cells_of(args, s, part);
    }
    const uint64_t end = is_colours ? stream_colours_end(args, number) : stream_set_end(args, number);
    write_part(args, s, part, is_colours, w->coded + end, &w->bytes[tile]);
}
