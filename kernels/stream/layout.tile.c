// What a frame's layout needs of its numbers: slots of layers, groups, and where each stream goes. One tile each, whose
// lanes go through all of the frame's tiles; so nobody has to wait for the host.
#include "kernels/stream/stream_memory.h"

typedef struct layout_scratch {
    uint32_t at[STREAM_LANES], total;
} layout_scratch;

/// Gives a layer's particles of each tile their slots, from `at` on. @return behind the last
TILE_FN uint32_t lay_layer(const stream_args *args, layout_scratch *s, uint32_t layer, uint32_t at)
{
    const stream_memory *w = &args->w;
    for (uint32_t from = 0; from < args->occupied; from += STREAM_LANES) {
        const uint32_t n = tile_min_u32(args->occupied - from, STREAM_LANES);
        FOR_RANGE (j, 0, n) {
            s->at[j] = w->layer_count[(from + j) * args->layers + layer];
        }
        tile_scan_u32(s->at, n, &s->total);
        FOR_RANGE (j, 0, n) {
            const uint32_t part = (from + j) * args->layers + layer;
            w->part[part].slot = at + s->at[j];
            w->part[part].count = w->layer_count[part];
        }
        at += s->total;
    }
    return at;
}

/// A key frame's layers: with room for births where there are any.
TILE_KERNEL(stream_lay_out, STREAM_LANES, stream_args, layout_scratch)
{
    stream_plan *plan = args->w.plan;
    uint32_t first = 0;
    for (uint32_t l = 0; l < args->layers; l++) {
        const uint32_t count = lay_layer(args, s, l, first) - first,
                       slots = count + (args->had_births ? count / 4 + 1024 : 0);
        if (TILE_SINGLE()) {
            plan->layer[l].first = first;
            plan->layer[l].slots = plan->layer[l].particles = count;
            plan->layer[l].slots_max = slots;
            plan->layer[l].born = 0;
        }
        first += slots;
    }
    if (TILE_SINGLE()) {
        plan->tiles = plan->is_crowded ? 0 : args->occupied;
        plan->set_streams = 2 * plan->tiles * args->layers;
    }
}

/// A base frame's newborn, behind the slots that there are.
TILE_KERNEL(stream_lay_births, STREAM_LANES, stream_args, layout_scratch)
{
    stream_plan *plan = args->w.plan;
    uint32_t is_full = 0;
    for (uint32_t l = 0; l < args->layers; l++) {
        const stream_layer *layer = &args->layer[l];
        const uint32_t next = layer->first + layer->slots, born = lay_layer(args, s, l, next) - next;
        is_full |= born > layer->slots_max - layer->slots;
        if (TILE_SINGLE()) {
            plan->layer[l] = *layer;
            plan->layer[l].born = born;
        }
    }
    if (TILE_SINGLE()) {
        plan->is_full = is_full;
    }
}

// ------------------------------------------------------------------------------------------------------------- groups

TILE_FN uint32_t groups_in(uint32_t slots)
{
    return (slots + TARN_STREAM_GROUP - 1) / TARN_STREAM_GROUP;
}

/// @return the next one
TILE_FN uint32_t put_groups(const stream_args *args, uint32_t group, uint32_t first, uint32_t slots, uint32_t is_born)
{
    FOR_RANGE (g, 0, groups_in(slots)) {
        stream_group *to = &args->w.group[group + g];
        to->slot = first + g * TARN_STREAM_GROUP;
        to->count = tile_min_u32(slots - g * TARN_STREAM_GROUP, TARN_STREAM_GROUP);
        to->is_born = is_born;
    }
    return group + groups_in(slots);
}

/// A layer's slots as they are after the frame. @return the next one
TILE_FN uint32_t put_level_groups(const stream_args *args, uint32_t group, const stream_layer *layer, uint32_t born)
{
    const uint32_t slots = layer->slots + born;
    FOR_RANGE (g, 0, groups_in(slots)) {
        stream_level_group *to = &args->w.level_group[group + g];
        const uint32_t at = g * TARN_STREAM_GROUP;
        to->slot = layer->first + at;
        to->count = tile_min_u32(slots - at, TARN_STREAM_GROUP);
        to->old = layer->slots > at ? tile_min_u32(layer->slots - at, to->count) : 0;
    }
    return group + groups_in(slots);
}

/// All layers' groups of slots and of levels.
TILE_KERNEL(stream_lay_groups, STREAM_LANES, stream_args, tile_no_scratch)
{
    stream_plan *plan = args->w.plan;
    const int is_planned = args->is_key || args->has_births;
    uint32_t groups = 0, level_groups = 0;
    for (uint32_t l = 0; l < args->layers; l++) {
        const stream_layer *layer = is_planned ? &plan->layer[l] : &args->layer[l];
        const uint32_t born = is_planned ? layer->born : 0;
        if (!args->is_key) {
            groups = put_groups(args, groups, layer->first, layer->slots, 0);
            groups = put_groups(args, groups, layer->first + layer->slots, born, 1);
        }
        if (args->has_channel) {
            level_groups = put_level_groups(args, level_groups, layer, born);
        }
        if (TILE_SINGLE()) {
            plan->group_end[l] = groups;
            plan->level_group_end[l] = level_groups;
            plan->deaths[l] = 0;
        }
        if (TILE_SINGLE() && !is_planned) {
            plan->layer[l] = args->layer[l];
            plan->layer[l].born = 0;
        }
    }
    if (TILE_SINGLE()) {
        plan->groups = groups;
        plan->level_groups = level_groups;
    }
}

// ------------------------------------------------------------------------------------------------------------ offsets

typedef enum stream_run { RUN_FLOW, RUN_GROUPS, RUN_SETS, RUN_COLOURS, RUN_LEVELS, RUN_FIELD } stream_run;

typedef struct offsets_scratch {
    uint32_t at[STREAM_LANES], total;
} offsets_scratch;

/// Where the frame has come to.
typedef struct offsets {
    uint64_t at;
    uint32_t chunks;
} offsets;

TILE_FN uint32_t part_of(const stream_args *args, uint32_t i, uint32_t layer)
{
    return i * args->layers + layer;
}

TILE_FN uint32_t stream_bytes_of(const stream_args *args, stream_run run, uint32_t i, uint32_t layer)
{
    const stream_memory *w = &args->w;
    switch (run) {
    case RUN_FLOW:
        return w->flow_bytes[i];
    case RUN_GROUPS:
        return w->bytes[i] & 0xffff;
    case RUN_SETS:
        return w->bytes[2 * part_of(args, i, layer)];
    case RUN_COLOURS:
        return w->bytes[2 * part_of(args, i, layer) + 1];
    case RUN_LEVELS:
        return w->level_bytes[i];
    default:
        return w->field_bytes[i];
    }
}

TILE_FN uint64_t stream_end_of(const stream_args *args, stream_run run, uint32_t i, uint32_t layer)
{
    switch (run) {
    case RUN_FLOW:
        return (uint64_t)(i + 1) * TARN_FLOW_BYTES_MAX;
    case RUN_GROUPS:
        return args->groups_at + (uint64_t)(i + 1) * STREAM_GROUP_BYTES;
    case RUN_SETS:
        return stream_set_end(args, part_of(args, i, layer));
    case RUN_COLOURS:
        return stream_colours_end(args, part_of(args, i, layer));
    default:
        return (uint64_t)(i + 1) * STREAM_LEVEL_BYTES;
    }
}

/// Streams that follow each other: those of one kind, and of a layer.
TILE_FN void place_streams(const stream_args *args, offsets_scratch *s, offsets *o, stream_run run, uint32_t first,
                           uint32_t end, uint32_t layer)
{
    for (uint32_t from = first; from < end; from += STREAM_LANES) {
        const uint32_t n = tile_min_u32(end - from, STREAM_LANES);
        FOR_RANGE_ATOMIC (j, 0, n) {
            s->at[j] = stream_bytes_of(args, run, from + j, layer);
            if (run == RUN_GROUPS && args->w.bytes[from + j] >> 16 > 0) {
                global_add_u32(&args->w.plan->deaths[layer], args->w.bytes[from + j] >> 16);
            }
        }
        tile_scan_u32(s->at, n, &s->total);
        FOR_RANGE (j, 0, n) {
            stream_chunk *chunk = &args->w.chunk[o->chunks + j];
            chunk->bytes = stream_bytes_of(args, run, from + j, layer);
            chunk->from = stream_end_of(args, run, from + j, layer) - chunk->bytes;
            chunk->to = o->at + s->at[j];
            chunk->source = run == RUN_LEVELS  ? STREAM_FROM_LEVELS
                            : run == RUN_FIELD ? STREAM_FROM_FIELD
                                               : STREAM_FROM_CODED;
        }
        o->at += s->total;
        o->chunks += n;
    }
}

/// A list for the host, in pieces.
TILE_FN void place_list(const stream_args *args, offsets *o, uint32_t source, uint64_t bytes)
{
    const uint32_t n = (uint32_t)((bytes + STREAM_LIST_BYTES - 1) / STREAM_LIST_BYTES);
    FOR_RANGE (j, 0, n) {
        stream_chunk *chunk = &args->w.chunk[o->chunks + j];
        const uint64_t at = (uint64_t)j * STREAM_LIST_BYTES;
        chunk->from = at;
        chunk->to = o->at + at;
        chunk->bytes = (uint32_t)(bytes - at < STREAM_LIST_BYTES ? bytes - at : STREAM_LIST_BYTES);
        chunk->source = source;
    }
    o->at += bytes;
    o->chunks += n;
}

/// What the host codes and reads: the plan, then lists.
TILE_FN void place_lists(const stream_args *args, offsets *o)
{
    const stream_plan *plan = args->w.plan;
    place_list(args, o, STREAM_FROM_PLAN, sizeof *plan);
    place_list(args, o, STREAM_FROM_FLOW_LIST, (uint64_t)plan->flow[args->flow_now] * 4);
    if (args->is_key) {
        place_list(args, o, STREAM_FROM_TILES, (uint64_t)args->occupied * sizeof(stream_tile));
        place_list(args, o, STREAM_FROM_COUNTS, (uint64_t)args->occupied * args->layers * 4);
    } else {
        place_list(args, o, STREAM_FROM_BYTES, (uint64_t)plan->groups * 4);
    }
    place_list(args, o, STREAM_FROM_FIELD_LIST, (uint64_t)args->field_tiles * 4);
}

/// A layer's streams. @return their bytes
TILE_FN uint64_t place_layer(const stream_args *args, offsets_scratch *s, offsets *o, uint32_t l, uint64_t *levels)
{
    const stream_plan *plan = args->w.plan;
    const uint64_t before = o->at;
    if (args->is_key) {
        place_streams(args, s, o, RUN_SETS, 0, args->occupied, l);
        place_streams(args, s, o, RUN_COLOURS, 0, args->has_colours ? args->occupied : 0, l);
    } else {
        place_streams(args, s, o, RUN_GROUPS, l > 0 ? plan->group_end[l - 1] : 0, plan->group_end[l], l);
    }
    const uint64_t level = o->at;
    place_streams(args, s, o, RUN_LEVELS, l > 0 ? plan->level_group_end[l - 1] : 0, plan->level_group_end[l], l);
    *levels += o->at - level;
    return o->at - before;
}

/// Says where each stream and list goes: the lists first, then the sections of the frame without what the host codes of
/// them. Of what can't be a frame there is only the plan.
TILE_KERNEL(stream_offsets, STREAM_LANES, stream_args, offsets_scratch)
{
    stream_plan *plan = args->w.plan;
    const uint32_t *fields = args->field_groups;
    offsets o = {0, 0};
    uint64_t levels = 0, layer_bytes[TARN_STREAM_LAYERS_MAX];
    if (plan->is_crowded) {
        place_list(args, &o, STREAM_FROM_PLAN, sizeof *plan);
        if (TILE_SINGLE()) {
            plan->chunks = o.chunks;
        }
        return;
    }
    place_lists(args, &o);
    const uint64_t lists = o.at;
    const uint32_t list_chunks = o.chunks;
    place_streams(args, s, &o, RUN_FLOW, 0, plan->flow[args->flow_now], 0);
    const uint64_t flow = o.at;
    place_streams(args, s, &o, RUN_FIELD, 0, fields[TARN_FIELD_COARSE], 0);
    const uint64_t coarse = o.at;
    for (uint32_t l = 0; l < args->layers; l++) {
        layer_bytes[l] = place_layer(args, s, &o, l, &levels);
    }
    const uint64_t layers = o.at;
    place_streams(args, s, &o, RUN_FIELD, fields[TARN_FIELD_COARSE],
                  fields[TARN_FIELD_COARSE] + fields[TARN_FIELD_FINE], 0);
    if (TILE_SINGLE()) {
        plan->lists_bytes = lists;
        plan->flow_bytes = flow - lists;
        plan->coarse_bytes = coarse - flow;
        plan->levels_bytes = levels;
        plan->fine_bytes = o.at - layers;
        for (uint32_t l = 0; l < args->layers; l++) {
            plan->layer_bytes[l] = layer_bytes[l];
        }
        plan->is_large = o.at > args->frame_room;
        plan->chunks = plan->is_large ? list_chunks : o.chunks;
    }
}

TILE_FN const uint8_t *room_of_source(const stream_args *args, uint32_t source)
{
    const stream_memory *w = &args->w;
    switch (source) {
    case STREAM_FROM_CODED:
        return w->coded;
    case STREAM_FROM_LEVELS:
        return w->level_coded;
    case STREAM_FROM_FIELD:
        return w->field_coded;
    case STREAM_FROM_PLAN:
        return (const uint8_t *)w->plan;
    case STREAM_FROM_FLOW_LIST:
        return (const uint8_t *)w->flow_dense[args->flow_now];
    case STREAM_FROM_TILES:
        return (const uint8_t *)args->tile_now;
    case STREAM_FROM_COUNTS:
        return (const uint8_t *)w->layer_count;
    case STREAM_FROM_BYTES:
        return (const uint8_t *)w->bytes;
    default:
        return (const uint8_t *)args->field_tile;
    }
}

/// Brings a stream, or a piece of a list, to where it belongs. One tile per each of them.
TILE_KERNEL(stream_pack, STREAM_LANES, stream_args, tile_no_scratch)
{
    const stream_chunk *chunk = &args->w.chunk[tile];
    const uint8_t *from = room_of_source(args, chunk->source) + chunk->from;
    uint8_t *to = args->to + chunk->to;
    FOR_RANGE (i, 0, chunk->bytes) {
        to[i] = from[i];
    }
}
