// The field that frames carry: from the tank's model, as two parts of tiles in groups.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

tarn_status tarn_encoder_carry_field(tarn_encoder *e, uint32_t field)
{
    TARN_ASSERT(!e->is_begun);
    if (field > tarn_tank_model(e->tank)->field_count) {
        return TARN_E_ARGUMENT;
    }
    const tarn_status status = field == 0 ? TARN_OK : e->lacks_field ? TARN_E_MEMORY : encoder_carve_field(e);
    e->lacks_field = status != TARN_OK;
    if (status == TARN_OK && field != e->field.number) {
        e->field = (tarn_stream_field){.number = (uint8_t)field};
    }
    return status;
}

bool encoder_has_other_field(const tarn_encoder *e)
{
    return e->field.number != e->reference_field;
}

/// The tiles that the frame's field has.
static void list_tiles(tarn_encoder *e, const tank_field *field)
{
    const uint32_t now = !e->field_reference;
    TARN_ASSERT(field->count <= e->view.field_tiles_max);
    e->args.field_now = now;
    encoder_index(e, e->field_dense[now], 1, e->field_listed[now], e->args.w.field_index[now], false, NULL);
    e->field_listed[now] = field->count;
    encoder_index(e, field->tile, 1, field->count, e->args.w.field_index[now], true, e->field_dense[now]);
}

static uint32_t groups_of(const tarn_encoder *e, uint32_t part)
{
    const uint32_t step = tarn_field_group_tiles(e->view.cells[2], part);
    return (e->field.tiles + step - 1) / step;
}

static void launch_part(tarn_encoder *e, uint32_t part)
{
    e->args.field_part = part;
    e->args.field_group = part == TARN_FIELD_COARSE ? 0 : groups_of(e, TARN_FIELD_COARSE);
    encoder_launch(e, stream_field_groups_id, groups_of(e, part));
}

void encoder_begin_field(tarn_encoder *e)
{
    e->args.field_tiles = e->args.field_groups[TARN_FIELD_COARSE] = e->args.field_groups[TARN_FIELD_FINE] = 0;
    if (e->field.number == 0) {
        return;
    }
    tank_field field;
    tank_view_field(e->tank, e->field.number - 1u, e->args.w.field_room, &field);
    const float range = field.high - field.low, scale = range > 0.0f ? (float)TARN_LEVEL_MAX / range : 0.0f;
    list_tiles(e, &field);
    e->field.low = field.low;
    e->field.high = field.high;
    e->field.is_kinds = field.is_kinds;
    e->field.rest = stream_level_at(0.0f, field.low, scale);
    e->field.tiles = e->args.field_tiles = e->field_listed[e->args.field_now];
    e->field.tiles_max = e->view.field_tiles_max;
    e->args.field_value = field.value;
    e->args.field_tile = e->field_dense[e->args.field_now];
    e->args.field_low = field.low;
    e->args.field_scale = scale;
    e->args.field_rest = e->field.rest;
    e->args.field_is_kinds = field.is_kinds;
    for (uint32_t part = 0; part < TARN_FIELD_PARTS; part++) {
        e->args.field_groups[part] = groups_of(e, part);
    }
    encoder_launch(e, stream_field_levels_id, e->field.tiles);
}

void encoder_code_field(tarn_encoder *e)
{
    if (e->field.number > 0) {
        launch_part(e, TARN_FIELD_COARSE);
        launch_part(e, TARN_FIELD_FINE);
    }
}

void encoder_keep_field(tarn_encoder *e)
{
    e->reference_field = e->field.number;
    e->field_reference = e->field.number > 0 ? e->args.field_now : e->field_reference;
}
