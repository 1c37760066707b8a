// A frame's head and tables as bytes, the mirror of stream_open's reading: start at tarn_stream_write_head.
#include "protocol/assert.h"
#include "protocol/stream_layout.h"

static uint16_t version_of(const tarn_stream_head *head)
{
    return head->field.number != 0 ? TARN_FRAME_VERSION
           : head->channel != 0    ? TARN_FRAME_VERSION_CHANNEL
                                   : TARN_FRAME_VERSION_PLAIN;
}

static void write_header(const tarn_stream_head *head, uint8_t *p)
{
    for (int i = 0; i < TARN_FRAME_HEADER_BYTES; i++) {
        p[i] = 0;
    }
    put_u32(p + STREAM_AT_MAGIC, TARN_FRAME_MAGIC);
    put_u16(p + STREAM_AT_VERSION, version_of(head));
    put_u16(p + STREAM_AT_HEADER_BYTES, (uint16_t)(TARN_FRAME_HEADER_BYTES + head->body_count * TARN_FRAME_BODY_BYTES));
    put_u32(p + STREAM_AT_FRAME_BYTES, head->frame_bytes);
    p[STREAM_AT_KIND] = head->kind;
    p[STREAM_AT_PLACE_BITS] = head->place_bits;
    p[STREAM_AT_LAYER_COUNT] = head->layer_count;
    p[STREAM_AT_TILE_CELLS_LOG2] = TARN_FRAME_TILE_CELLS_LOG2;
    put_u32(p + STREAM_AT_FLAGS, head->flags);
    put_u32(p + STREAM_AT_EPOCH, head->epoch);
    put_u64(p + STREAM_AT_STEP, head->step);
    put_f64(p + STREAM_AT_SIM_TIME, head->sim_time_s);
    put_u64(p + STREAM_AT_SERVER_TIME, head->server_time_us);
    put_f32(p + STREAM_AT_REALTIME_FACTOR, head->realtime_factor);
    put_u32(p + STREAM_AT_NUMBER, head->number);
    put_u32(p + STREAM_AT_REFERENCE, head->reference);
    put_u32(p + STREAM_AT_INTERVAL_STEPS, head->interval_steps);
    put_f32(p + STREAM_AT_INTERVAL_S, head->interval_s);
    put_u16(p + STREAM_AT_INPUT_COUNT, head->input_count);
    put_f32(p + STREAM_AT_CELL_M, head->cell_m);
    for (int i = 0; i < 4; i++) {
        put_f32(p + STREAM_AT_ORIENTATION + 4 * i, head->orientation[i]);
    }
    for (int axis = 0; axis < 3; axis++) {
        put_u16(p + STREAM_AT_CELLS + 2 * axis, head->cells[axis]);
        put_f32(p + STREAM_AT_GRAVITY + 4 * axis, head->gravity_m_s2[axis]);
    }
    put_u32(p + STREAM_AT_FLOW_TILES, head->flow_tiles);
    put_u32(p + STREAM_AT_FLOW_BYTES, head->flow_bytes);
    put_u32(p + STREAM_AT_FLOW_TILES_MAX, head->flow_tiles_max);
    put_u32(p + STREAM_AT_BODY_COUNT, head->body_count);
    put_u16(p + STREAM_AT_RESIDUAL_STEP, head->residual_step);
    p[STREAM_AT_FLOW_STEP] = head->flow_step;
    if (head->channel != 0) {
        p[STREAM_AT_CHANNEL] = head->channel;
        put_f32(p + STREAM_AT_CHANNEL_LOW, head->channel_low);
        put_f32(p + STREAM_AT_CHANNEL_HIGH, head->channel_high);
    }
}

static void write_body(const tarn_frame_body *body, uint8_t *p)
{
    put_u16(p + BODY_AT_SOLID, body->solid);
    put_u16(p + BODY_AT_RESERVED, 0);
    for (int axis = 0; axis < 3; axis++) {
        put_f32(p + BODY_AT_POSITION + 4 * axis, body->position_m[axis]);
    }
    for (int i = 0; i < 4; i++) {
        put_u16(p + BODY_AT_ROTATION + 2 * i, (uint16_t)body->rotation[i]);
    }
}

static void write_layer(const tarn_stream_layer *layer, uint8_t *p)
{
    put_u32(p + LAYER_AT_BYTES, layer->bytes);
    put_u32(p + LAYER_AT_SLOTS, layer->slots);
    put_u32(p + LAYER_AT_PARTICLES, layer->particles);
    put_u32(p + LAYER_AT_SLOTS_MAX, layer->slots_max);
}

static void write_field(const tarn_stream_field *field, uint8_t *p)
{
    p[FIELD_AT_NUMBER] = field->number;
    p[FIELD_AT_REST] = field->rest;
    put_u16(p + FIELD_AT_KINDS, field->is_kinds);
    put_f32(p + FIELD_AT_LOW, field->low);
    put_f32(p + FIELD_AT_HIGH, field->high);
    put_u32(p + FIELD_AT_TILES, field->tiles);
    put_u32(p + FIELD_AT_TILES_MAX, field->tiles_max);
    put_u32(p + FIELD_AT_COARSE_BYTES, field->coarse_bytes);
    put_u32(p + FIELD_AT_FINE_BYTES, field->fine_bytes);
}

tarn_status tarn_stream_write_head(const tarn_stream_head *head, const tarn_frame_input *inputs, uint8_t *bytes,
                                   size_t bytes_max)
{
    if (tarn_stream_check_head(head) != TARN_OK) {
        return TARN_E_ARGUMENT;
    }
    uint64_t whole = tarn_stream_head_bytes(head) + head->flow_bytes;
    whole += (uint64_t)head->field.coarse_bytes + head->field.fine_bytes;
    for (uint32_t i = 0; i < head->layer_count; i++) {
        whole += head->layers[i].bytes;
    }
    if (whole != head->frame_bytes) {
        return TARN_E_ARGUMENT;
    }
    if (bytes_max < tarn_stream_head_bytes(head)) {
        return TARN_E_SPACE;
    }
    // What tarn_stream_check_head is for: loops below stay within what the head says it takes.
    TARN_ASSERT(head->body_count <= TARN_FRAME_BODIES_MAX && head->input_count <= TARN_FRAME_INPUTS_MAX);
    TARN_ASSERT(head->layer_count >= 1 && head->layer_count <= TARN_STREAM_LAYERS_MAX);
    TARN_ASSERT(head->input_count == 0 || inputs != NULL);
    write_header(head, bytes);
    uint8_t *p = bytes + TARN_FRAME_HEADER_BYTES;
    for (uint32_t i = 0; i < head->body_count; i++, p += TARN_FRAME_BODY_BYTES) {
        write_body(&head->bodies[i], p);
    }
    for (uint32_t i = 0; i < head->input_count; i++, p += TARN_FRAME_INPUT_BYTES) {
        put_u32(p + INPUT_AT_VIEWER_ID, inputs[i].viewer_id);
        put_u32(p + INPUT_AT_SEQUENCE, inputs[i].sequence);
    }
    for (uint32_t i = 0; i < head->layer_count; i++, p += TARN_STREAM_LAYER_BYTES) {
        write_layer(&head->layers[i], p);
    }
    if (head->field.number != 0) {
        write_field(&head->field, p);
        p += TARN_STREAM_FIELD_BYTES;
    }
    TARN_ASSERT((size_t)(p - bytes) == tarn_stream_head_bytes(head));
    return TARN_OK;
}
