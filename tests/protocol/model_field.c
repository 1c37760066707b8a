#include "tests/protocol/model_field.h"
#include "tests/protocol/model_levels.h"

void model_field_make(model_field *f, const tarn_stream_head *head)
{
    *f = (model_field){.tile_count = 1};
    for (int a = 0; a < 3; a++) {
        f->tile_count *= ((uint32_t)head->cells[a] + 7) / 8;
    }
    for (int i = 0; i < 2; i++) {
        f->index[i] = model_need(calloc(f->tile_count, sizeof *f->index[i]));
        f->tile[i] = model_need(calloc(f->tile_count, sizeof *f->tile[i]));
        for (int part = 0; part < TARN_FIELD_PARTS; part++) {
            f->level[i][part] = model_need(calloc(f->tile_count, 512));
        }
    }
}

void model_field_free(model_field *f)
{
    for (int i = 0; i < 2; i++) {
        free(f->index[i]);
        free(f->tile[i]);
        for (int part = 0; part < TARN_FIELD_PARTS; part++) {
            free(f->level[i][part]);
        }
    }
}

static tarn_field_grid view(const model_field *f, const tarn_stream_head *head, int which)
{
    tarn_field_grid field = {.index = f->index[which], .rest = f->rest[which], .is_kinds = head->field.is_kinds};
    for (int a = 0; a < 3; a++) {
        field.cells[a] = head->cells[a];
        field.tiles[a] = ((uint32_t)head->cells[a] + 7) / 8;
    }
    for (int part = 0; part < TARN_FIELD_PARTS; part++) {
        field.level[part] = f->level[which][part];
    }
    return field;
}

void model_field_begin(model_field *f, tarn_stream_head *head, uint8_t number, bool is_kinds)
{
    const int now = !f->reference;
    head->field = (tarn_stream_field){0};
    if (number == 0) {
        return;
    }
    head->field = (tarn_stream_field){.number = number,
                                      .rest = (uint8_t)(is_kinds ? 0 : 40 + head->number % 3),
                                      .is_kinds = is_kinds,
                                      .low = is_kinds ? 0.0f : -0.25f,
                                      .high = is_kinds ? 255.0f : 1e4f,
                                      .tiles_max = f->tile_count};
    f->rest[now] = head->field.rest;
    for (uint32_t t = 0; t < f->tile_count; t++) {
        const bool has = (t + head->number) % 3 != 2;
        f->index[now][t] = has ? head->field.tiles + 1 : 0;
        f->tile[now][head->field.tiles] = t;
        head->field.tiles += has;
    }
}

/// The truth: a wave that goes along, or stripes of three kinds.
static int32_t truth_at(const tarn_stream_head *head, uint32_t part, const int32_t at[3])
{
    const int32_t x = at[0] << part, y = at[1] << part, z = at[2] << part, time = (int32_t)head->number;
    if (head->field.is_kinds) {
        return ((x + time) / 3 + y / 4 + z / 2) % 3;
    }
    const int32_t phase = (5 * x + 3 * y + 2 * z + 4 * time) % 512, wave = phase < 256 ? phase : 511 - phase;
    return part == TARN_FIELD_FINE && (x + 2 * y + time) % 11 == 0 ? wave ^ 24 : wave;
}

static void write_list(const model_field *f, const tarn_stream_head *head, const tarn_code_tables *tables,
                       model_bytes *bytes)
{
    uint8_t room[4096], *end = room + sizeof room;
    const uint32_t *tile = f->tile[!f->reference];
    tarn_ans_writer writer;
    tarn_ans_begin(&writer, end);
    for (uint32_t i = head->field.tiles; i-- > 0;) {
        tarn_code_put_number(&writer, tables, TARN_NUMBER_GAP, tile[i] - (i > 0 ? tile[i - 1] + 1 : 0));
    }
    const uint8_t *at = tarn_ans_end(&writer);
    model_append(bytes, at, (size_t)(end - at));
}

void model_field_write(model_field *f, tarn_stream_head *head, const tarn_code_tables *tables, const tarn_flow *flow,
                       uint32_t part, model_bytes *bytes)
{
    const int which = !f->reference;
    const tarn_field_grid now = view(f, head, which), was = view(f, head, f->reference);
    const tarn_field_grid *past = head->kind == TARN_STREAM_KEY ? NULL : &was;
    const uint32_t levels = tarn_field_tile_levels(head->cells[2], part), step = TARN_FIELD_GROUP / levels;
    const size_t before = bytes->count;
    if (head->field.number == 0) {
        return;
    }
    if (part == TARN_FIELD_COARSE) {
        write_list(f, head, tables, bytes);
    }
    for (uint32_t first = 0; first < head->field.tiles; first += step) {
        model_levels group = {.form = head->field.is_kinds ? 1 : 1 + head->number % 4,
                              .forgets = part == TARN_FIELD_FINE};
        uint8_t *to[TARN_STREAM_GROUP];
        for (uint32_t i = first * levels; i < (first + step) * levels && i < head->field.tiles * levels; i++) {
            int32_t at[3];
            f->level[which][part][i] = head->field.rest;
            if (tarn_field_cell(&now, part, f->tile[which][i / levels], i % levels, at)) {
                to[group.count] = &f->level[which][part][i];
                group.truth[group.count] = truth_at(head, part, at);
                group.last[group.count++] = part == TARN_FIELD_COARSE ? tarn_field_expect_block(past, flow, at)
                                                                      : tarn_field_expect_cell(&now, past, flow, at);
            }
        }
        const uint32_t count = group.count;
        model_levels_write(&group, tables, bytes);
        for (uint32_t i = 0; i < count; i++) {
            *to[i] = group.levels[i];
        }
    }
    *(part == TARN_FIELD_COARSE ? &head->field.coarse_bytes : &head->field.fine_bytes) =
        (uint32_t)(bytes->count - before);
}

void model_field_end(model_field *f, const tarn_stream_head *head)
{
    f->last = !f->reference;
    if (head->kind != TARN_STREAM_EXTRA) {
        f->reference = !f->reference;
    }
}

void model_field_plane(const model_field *f, const tarn_stream_head *head, uint32_t z, uint8_t *levels)
{
    const tarn_field_grid now = view(f, head, f->last);
    for (int32_t y = 0; y < now.cells[1]; y++) {
        for (int32_t x = 0; x < now.cells[0]; x++) {
            *levels++ = (uint8_t)(head->field.number > 0 ? tarn_field_level(&now, 0, x, y, (int32_t)z) : 0);
        }
    }
}
