// Fields, as stream_decode.c reads them.
#include "protocol/field_decode.h"

static void forget(field_tiles *tiles)
{
    for (uint32_t i = 0; i < tiles->count; i++) {
        tiles->index[tiles->tile[i]] = 0;
    }
    tiles->count = 0;
}

void field_begin(field_decoder *fields, const tarn_stream_head *key)
{
    for (int i = 0; i < 2; i++) {
        forget(&fields->tiles[i]);
    }
    fields->chain = key->field;
    fields->is_fine_held = true;
    fields->is_shown = fields->is_fine_shown = false;
    for (int a = 0; a < 3; a++) {
        fields->cells[a] = key->cells[a];
        fields->tank_tiles[a] = ((uint32_t)key->cells[a] + 7) >> 3;
    }
}

bool field_continues(const field_decoder *fields, const tarn_stream_head *head)
{
    return head->field.number == fields->chain.number && head->field.is_kinds == fields->chain.is_kinds;
}

static tarn_field_grid view(const field_decoder *fields, const field_tiles *tiles)
{
    const uint32_t depth = (uint32_t)fields->cells[2];
    const size_t fine = (size_t)fields->chain.tiles_max * tarn_field_tile_levels(depth, TARN_FIELD_FINE);
    tarn_field_grid field = {tiles->index, {tiles->levels, tiles->levels + fine}, {0}, {0}, tiles->rest, 0};
    field.is_kinds = fields->chain.is_kinds;
    for (int a = 0; a < 3; a++) {
        field.tiles[a] = fields->tank_tiles[a];
        field.cells[a] = fields->cells[a];
    }
    return field;
}

/// The tiles of a stream. @param first  of them
static tarn_status read_group(const tarn_code_tables *tables, tarn_ans_reader *reader, const tarn_field_grid *now,
                              const tarn_field_grid *was, const tarn_flow *flow, const field_tiles *to, uint32_t part,
                              uint32_t first, uint32_t count)
{
    const uint32_t levels = tarn_field_tile_levels((uint32_t)now->cells[2], part);
    uint8_t *level = to->levels + (now->level[part] - now->level[TARN_FIELD_FINE]) + (size_t)first * levels;
    tarn_level_reader from;
    tarn_level_open(&from, reader->at, reader->end);
    for (uint32_t i = 0; i < count * levels; i++) {
        int32_t at[3];
        level[i] = (uint8_t)now->rest;
        if (tarn_field_cell(now, part, to->tile[first + i / levels], i % levels, at)) {
            const int32_t last = part == TARN_FIELD_COARSE ? tarn_field_expect_block(was, flow, at)
                                                           : tarn_field_expect_cell(now, was, flow, at);
            level[i] = (uint8_t)tarn_level_read(&from, &tables->residual, last);
            from.guess.change = part == TARN_FIELD_COARSE ? from.guess.change : 0;
        }
    }
    *reader = from.from;
    return tarn_level_is_whole(&from) ? TARN_OK : TARN_E_MALFORMED;
}

static tarn_status read_part(field_decoder *fields, const tarn_code_tables *tables, tarn_ans_reader *reader,
                             const tarn_stream_frame *frame, const tarn_flow *flow, uint32_t part)
{
    const field_tiles *to = &fields->tiles[!fields->reference];
    const tarn_field_grid now = view(fields, to), was = view(fields, &fields->tiles[fields->reference]);
    const bool has_past = frame->head.kind != TARN_STREAM_KEY;
    const uint32_t step = tarn_field_group_tiles((uint32_t)fields->cells[2], part);
    tarn_status status = TARN_OK;
    for (uint32_t first = 0; first < to->count && status == TARN_OK; first += step) {
        const uint32_t left = to->count - first;
        status =
            read_group(tables, reader, &now, has_past ? &was : NULL, flow, to, part, first, left < step ? left : step);
    }
    return status == TARN_OK && reader->at == reader->end ? TARN_OK : TARN_E_MALFORMED;
}

tarn_status field_read_coarse(field_decoder *fields, const tarn_code_tables *tables, const tarn_stream_frame *frame,
                              const tarn_flow *flow)
{
    const tarn_stream_field *said = &frame->head.field;
    field_tiles *to = &fields->tiles[!fields->reference];
    fields->is_shown = fields->is_fine_shown = false;
    if (said->number == 0) {
        return TARN_OK;
    }
    if (said->tiles > fields->chain.tiles_max) {
        return TARN_E_MALFORMED; // more than the key frame promised
    }
    forget(to);
    tarn_ans_reader reader = {.at = frame->coarse, .end = frame->coarse + said->coarse_bytes};
    const uint32_t *tiles = fields->tank_tiles;
    const tarn_status status = tarn_read_tiles(&reader, tables, tiles[0] * tiles[1] * tiles[2], said->tiles, to->tile);
    if (status != TARN_OK) {
        return status;
    }
    to->count = said->tiles;
    to->rest = said->rest;
    for (uint32_t i = 0; i < to->count; i++) {
        to->index[to->tile[i]] = i + 1;
    }
    fields->is_shown = true;
    fields->shown = !fields->reference;
    return read_part(fields, tables, &reader, frame, flow, TARN_FIELD_COARSE);
}

tarn_status field_read_fine(field_decoder *fields, const tarn_code_tables *tables, const tarn_stream_frame *frame,
                            const tarn_flow *flow)
{
    if (frame->head.field.number == 0 || frame->fine == NULL || !fields->is_fine_held) {
        return TARN_OK;
    }
    tarn_ans_reader reader = {.at = frame->fine, .end = frame->fine + frame->head.field.fine_bytes};
    fields->is_fine_shown = true;
    return read_part(fields, tables, &reader, frame, flow, TARN_FIELD_FINE);
}

void field_end(field_decoder *fields, const tarn_stream_head *head)
{
    if (head->kind != TARN_STREAM_EXTRA) {
        fields->is_fine_held = fields->is_fine_shown;
        fields->reference = !fields->reference;
    }
}

void field_plane(const field_decoder *fields, uint32_t z, uint8_t *levels)
{
    const tarn_field_grid now = view(fields, &fields->tiles[fields->is_shown ? fields->shown : 0]);
    int32_t at[3] = {0, 0, (int32_t)z};
    for (at[1] = 0; at[1] < fields->cells[1]; at[1]++) {
        for (at[0] = 0; at[0] < fields->cells[0]; at[0]++) {
            int32_t place[4], level = 0;
            if (fields->is_fine_shown) {
                level = tarn_field_level(&now, TARN_FIELD_FINE, at[0], at[1], at[2]);
            } else if (fields->is_shown) {
                tarn_field_middle(&now, TARN_FIELD_FINE, at, place);
                level = tarn_field_at(&now, TARN_FIELD_COARSE, place);
            }
            *levels++ = (uint8_t)level;
        }
    }
}

tarn_status tarn_read_tiles(tarn_ans_reader *reader, const tarn_code_tables *tables, uint32_t tiles, uint32_t count,
                            uint32_t *tile)
{
    uint32_t next = 0;
    tarn_ans_open(reader, reader->at, reader->end);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t gap = tarn_code_read_number(reader, tables, TARN_NUMBER_GAP);
        if (gap >= tiles - next || next >= tiles) {
            return TARN_E_MALFORMED;
        }
        tile[i] = next + gap;
        next += gap + 1;
    }
    return tarn_ans_is_whole(reader) ? TARN_OK : TARN_E_MALFORMED;
}
