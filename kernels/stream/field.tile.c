// A field's values as levels, and these as streams: blocks, then cells.
#include "kernels/stream/level_run.h"

TILE_FN tarn_field_grid field_of(const stream_args *args, uint32_t which)
{
    const stream_memory *w = &args->w;
    tarn_field_grid field;
    field.index = w->field_index[which];
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        field.level[part] = w->field_level[which][part];
    }
    for (int a = 0; a < 3; a++) {
        field.tiles[a] = args->tiles[a];
        field.cells[a] = (args->end[a] + 1) >> TARN_PLACE_BITS;
    }
    field.rest = args->field_rest;
    field.is_kinds = args->field_is_kinds;
    return field;
}

/// Of a block's cells in the tank the mean; of kinds that of most, and of these the last.
TILE_FN uint8_t block_level(const tarn_field_grid *field, const uint8_t *level, uint32_t dense, uint32_t block)
{
    const uint32_t edge = field->cells[2] == 1 ? 1 : 2, x = 2 * (block & 3), y = 2 * (block >> 2 & 3),
                   z = 2 * (block >> 4);
    uint32_t sum = 0, count = 0, most = 0, times = 0;
    for (uint32_t i = 0; i < 4 * edge; i++) {
        int32_t at[3];
        const uint32_t cell = cell_index((int)(x + (i & 1)), (int)(y + (i >> 1 & 1)), (int)(z + (i >> 2)));
        if (!tarn_field_cell(field, TARN_FIELD_FINE, dense, cell, at)) {
            continue;
        }
        uint32_t same = 0;
        for (uint32_t k = 0; k < 4 * edge; k++) {
            same += level[cell_index((int)(x + (k & 1)), (int)(y + (k >> 1 & 1)), (int)(z + (k >> 2)))] == level[cell];
        }
        if (same > times || (same == times && level[cell] > most)) {
            most = level[cell];
            times = same;
        }
        sum += level[cell];
        count++;
    }
    return (uint8_t)(field->is_kinds ? most : count > 0 ? (2 * sum + count) / (2 * count) : 0);
}

typedef struct field_levels_scratch {
    uint8_t level[TILE_CELLS];
} field_levels_scratch;

/// What the tank has, as levels of cells and blocks. One tile per tile of the field.
TILE_KERNEL(stream_field_levels, STREAM_LANES, stream_args, field_levels_scratch)
{
    const stream_memory *w = &args->w;
    const tarn_field_grid field = field_of(args, args->field_now);
    const uint32_t depth = (uint32_t)field.cells[2], dense = args->field_tile[tile];
    const uint32_t cells = tarn_field_tile_levels(depth, TARN_FIELD_FINE),
                   blocks = tarn_field_tile_levels(depth, TARN_FIELD_COARSE);
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->level[i] = i < cells ? stream_level_at(args->field_value[(uint64_t)tile * TILE_CELLS + i], args->field_low,
                                                  args->field_scale)
                                : 0;
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, cells) {
        w->field_true[TARN_FIELD_FINE][(uint64_t)tile * cells + i] = s->level[i];
    }
    FOR_RANGE (i, 0, blocks) {
        w->field_true[TARN_FIELD_COARSE][(uint64_t)tile * blocks + i] = block_level(&field, s->level, dense, i);
    }
}

/// A group of tiles as a stream. Of a cell nothing is expected of the change of the one before it: blocks have told
/// their mean. Kinds have the finest steps. One tile per group of the part.
TILE_KERNEL(stream_field_groups, STREAM_LANES, stream_args, level_run)
{
    const stream_memory *w = &args->w;
    const uint32_t part = args->field_part, is_coarse = part == TARN_FIELD_COARSE,
                   depth = (uint32_t)((args->end[2] + 1) >> TARN_PLACE_BITS);
    const uint32_t levels = tarn_field_tile_levels(depth, part), step = tarn_field_group_tiles(depth, part),
                   first = tile * step, count = levels * tile_min_u32(step, args->field_tiles - first);
    const tarn_field_grid now = field_of(args, args->field_now), was = field_of(args, !args->field_now);
    const tarn_field_grid *past = args->is_key ? (const tarn_field_grid *)0 : &was;
    const uint64_t from = (uint64_t)first * levels;
    tarn_flow flow;
    stream_flow_of(args, args->flow_now, &flow);
    FOR_RANGE (i, 0, count) {
        int32_t at[3];
        s->last[i] = (int16_t)(!tarn_field_cell(&now, part, args->field_tile[first + i / levels], i % levels, at)
                                   ? (int32_t)LEVEL_NONE
                               : is_coarse ? tarn_field_expect_block(past, &flow, at)
                                           : tarn_field_expect_cell(&now, past, &flow, at));
        s->level[i] = w->field_true[part][from + i];
    }
    choose_form(s, count, is_coarse);
    if (TILE_SINGLE()) {
        s->form = args->field_is_kinds ? 1 : s->form;
        choose_levels(s, count, is_coarse);
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, count) {
        w->field_level[args->field_now][part][from + i] =
            s->last[i] == LEVEL_NONE ? (uint8_t)args->field_rest : s->level[i];
    }
    const uint32_t group = args->field_group + tile;
    write_levels(args, s, w->field_coded + (uint64_t)(group + 1) * STREAM_LEVEL_BYTES, &w->field_bytes[group]);
}
