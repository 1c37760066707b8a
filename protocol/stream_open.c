// Opening a frame: sizes are checked by subtraction from what is left, so that no sum of untrusted numbers can wrap
// around.
#include "protocol/stream_layout.h"

#include <stdbool.h>

static void read_body(const uint8_t *p, tarn_frame_body *body)
{
    body->solid = get_u16(p + BODY_AT_SOLID);
    for (int axis = 0; axis < 3; axis++) {
        body->position_m[axis] = get_f32(p + BODY_AT_POSITION + 4 * axis);
    }
    for (int i = 0; i < 4; i++) {
        body->rotation[i] = (int16_t)get_u16(p + BODY_AT_ROTATION + 2 * i);
    }
}

static void read_header(const uint8_t *p, tarn_stream_head *head)
{
    head->kind = p[STREAM_AT_KIND];
    head->place_bits = p[STREAM_AT_PLACE_BITS];
    head->layer_count = p[STREAM_AT_LAYER_COUNT];
    head->flags = get_u32(p + STREAM_AT_FLAGS);
    head->frame_bytes = get_u32(p + STREAM_AT_FRAME_BYTES);
    head->epoch = get_u32(p + STREAM_AT_EPOCH);
    head->step = get_u64(p + STREAM_AT_STEP);
    head->sim_time_s = get_f64(p + STREAM_AT_SIM_TIME);
    head->server_time_us = get_u64(p + STREAM_AT_SERVER_TIME);
    head->realtime_factor = get_f32(p + STREAM_AT_REALTIME_FACTOR);
    head->number = get_u32(p + STREAM_AT_NUMBER);
    head->reference = get_u32(p + STREAM_AT_REFERENCE);
    head->interval_steps = get_u32(p + STREAM_AT_INTERVAL_STEPS);
    head->interval_s = get_f32(p + STREAM_AT_INTERVAL_S);
    head->input_count = get_u16(p + STREAM_AT_INPUT_COUNT);
    head->cell_m = get_f32(p + STREAM_AT_CELL_M);
    for (int i = 0; i < 4; i++) {
        head->orientation[i] = get_f32(p + STREAM_AT_ORIENTATION + 4 * i);
    }
    for (int axis = 0; axis < 3; axis++) {
        head->cells[axis] = get_u16(p + STREAM_AT_CELLS + 2 * axis);
        head->gravity_m_s2[axis] = get_f32(p + STREAM_AT_GRAVITY + 4 * axis);
    }
    head->flow_tiles = get_u32(p + STREAM_AT_FLOW_TILES);
    head->flow_bytes = get_u32(p + STREAM_AT_FLOW_BYTES);
    head->flow_tiles_max = get_u32(p + STREAM_AT_FLOW_TILES_MAX);
    head->body_count = get_u32(p + STREAM_AT_BODY_COUNT);
    head->residual_step = get_u16(p + STREAM_AT_RESIDUAL_STEP);
    head->flow_step = p[STREAM_AT_FLOW_STEP];
    head->channel = p[STREAM_AT_CHANNEL];
    head->channel_low = head->channel != 0 ? get_f32(p + STREAM_AT_CHANNEL_LOW) : 0.0f;
    head->channel_high = head->channel != 0 ? get_f32(p + STREAM_AT_CHANNEL_HIGH) : 0.0f;
}

/// Checks what comes before any other field can be believed.
static tarn_status check_prefix(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count < 8) {
        return TARN_E_TRUNCATED;
    }
    if (get_u32(bytes + STREAM_AT_MAGIC) != TARN_FRAME_MAGIC) {
        return TARN_E_MALFORMED;
    }
    const uint16_t version = get_u16(bytes + STREAM_AT_VERSION);
    if (version < TARN_FRAME_VERSION_MIN || version > TARN_FRAME_VERSION) {
        return TARN_E_VERSION;
    }
    const uint16_t header_bytes = get_u16(bytes + STREAM_AT_HEADER_BYTES);
    if (header_bytes < TARN_FRAME_HEADER_BYTES || header_bytes % 8 != 0) {
        return TARN_E_MALFORMED;
    }
    if (header_bytes > TARN_FRAME_HEADER_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    if (byte_count < header_bytes) {
        return TARN_E_TRUNCATED;
    }
    if (bytes[STREAM_AT_TILE_CELLS_LOG2] != TARN_FRAME_TILE_CELLS_LOG2) {
        return TARN_E_VERSION;
    }
    const uint32_t later = version == 2 ? get_u32(bytes + STREAM_AT_RESIDUAL_STEP) : bytes[STREAM_AT_CHANNEL];
    const int may = version >= TARN_FRAME_VERSION_CHANNEL, must = version == TARN_FRAME_VERSION_CHANNEL;
    return (later == 0 || may) && (later != 0 || !must) ? TARN_OK : TARN_E_MALFORMED;
}

/// The bodies, for which the header must have room.
static tarn_status read_bodies(const uint8_t *bytes, tarn_stream_head *head)
{
    const size_t room = (size_t)get_u16(bytes + STREAM_AT_HEADER_BYTES) - TARN_FRAME_HEADER_BYTES;
    if (head->body_count > TARN_FRAME_BODIES_MAX) {
        return TARN_E_LIMIT;
    }
    if (head->body_count * (size_t)TARN_FRAME_BODY_BYTES > room) {
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < TARN_FRAME_BODIES_MAX; i++) {
        const uint8_t *p = bytes + TARN_FRAME_HEADER_BYTES + (size_t)i * TARN_FRAME_BODY_BYTES;
        head->bodies[i] = (tarn_frame_body){0};
        if (i >= head->body_count) {
            continue;
        }
        read_body(p, &head->bodies[i]);
        if (get_u16(p + BODY_AT_RESERVED) != 0) {
            return TARN_E_MALFORMED;
        }
    }
    return TARN_OK;
}

/// What is said of a field; of none where the frame's version knows none.
static tarn_status read_field(const uint8_t *p, tarn_stream_field *field)
{
    *field = (tarn_stream_field){
        .number = p[FIELD_AT_NUMBER],
        .rest = p[FIELD_AT_REST],
        .is_kinds = p[FIELD_AT_KINDS],
        .low = get_f32(p + FIELD_AT_LOW),
        .high = get_f32(p + FIELD_AT_HIGH),
        .tiles = get_u32(p + FIELD_AT_TILES),
        .tiles_max = get_u32(p + FIELD_AT_TILES_MAX),
        .coarse_bytes = get_u32(p + FIELD_AT_COARSE_BYTES),
        .fine_bytes = get_u32(p + FIELD_AT_FINE_BYTES),
    };
    return field->number != 0 && p[FIELD_AT_KINDS + 1] == 0 ? TARN_OK : TARN_E_MALFORMED;
}

/// The layer table behind the input table, and what is said of a field; all must fit.
static tarn_status read_tables(const uint8_t *bytes, size_t byte_count, tarn_stream_frame *frame)
{
    tarn_stream_head *head = &frame->head;
    size_t left = byte_count - get_u16(bytes + STREAM_AT_HEADER_BYTES);
    if (head->layer_count > TARN_STREAM_LAYERS_MAX || head->input_count > TARN_FRAME_INPUTS_MAX) {
        return TARN_E_LIMIT;
    }
    const size_t inputs = (size_t)head->input_count * TARN_FRAME_INPUT_BYTES;
    const size_t layers = (size_t)head->layer_count * TARN_STREAM_LAYER_BYTES;
    const bool has_field = get_u16(bytes + STREAM_AT_VERSION) > TARN_FRAME_VERSION_CHANNEL;
    const size_t tables = inputs + layers + (has_field ? TARN_STREAM_FIELD_BYTES : 0);
    if (left < tables) {
        return TARN_E_TRUNCATED;
    }
    frame->inputs = bytes + get_u16(bytes + STREAM_AT_HEADER_BYTES);
    frame->flow = frame->inputs + tables;
    for (uint32_t i = 0; i < TARN_STREAM_LAYERS_MAX; i++) {
        const uint8_t *p = frame->inputs + inputs + (size_t)i * TARN_STREAM_LAYER_BYTES;
        head->layers[i] = (tarn_stream_layer){0};
        if (i < head->layer_count) {
            head->layers[i] = (tarn_stream_layer){get_u32(p + LAYER_AT_BYTES), get_u32(p + LAYER_AT_SLOTS),
                                                  get_u32(p + LAYER_AT_PARTICLES), get_u32(p + LAYER_AT_SLOTS_MAX)};
        }
    }
    head->field = (tarn_stream_field){0};
    return has_field ? read_field(frame->inputs + inputs + layers, &head->field) : TARN_OK;
}

/// Finds the sections. What is there ends where one of them does, and is all of the frame where all are there.
static tarn_status place_sections(const uint8_t *bytes, size_t byte_count, tarn_stream_frame *frame)
{
    const tarn_stream_head *head = &frame->head;
    size_t left = byte_count - (size_t)(frame->flow - bytes);
    if (left < head->flow_bytes || left - head->flow_bytes < head->field.coarse_bytes) {
        return TARN_E_TRUNCATED;
    }
    frame->coarse = frame->flow + head->flow_bytes;
    const uint8_t *at = frame->coarse + head->field.coarse_bytes;
    uint64_t whole = (uint64_t)(at - bytes) + head->field.fine_bytes;
    left -= (size_t)(at - frame->flow);
    frame->layers_present = 0;
    for (uint32_t i = 0; i < head->layer_count; i++) {
        const uint32_t section = head->layers[i].bytes;
        whole += section;
        frame->layers[i] = NULL;
        if (i > frame->layers_present || section > left) {
            continue;
        }
        frame->layers[i] = at;
        at += section;
        left -= section;
        frame->layers_present++;
    }
    if (whole != head->frame_bytes) {
        return TARN_E_MALFORMED;
    }
    const bool is_cut = frame->layers_present < head->layer_count;
    frame->fine = !is_cut && left >= head->field.fine_bytes ? at : NULL;
    left -= frame->fine != NULL ? head->field.fine_bytes : 0;
    if (left > 0) {
        return is_cut || frame->fine == NULL ? TARN_E_TRUNCATED : TARN_E_MALFORMED;
    }
    return TARN_OK;
}

tarn_status tarn_stream_open(const uint8_t *bytes, size_t byte_count, tarn_stream_frame *frame)
{
    tarn_status status = check_prefix(bytes, byte_count);
    if (status != TARN_OK) {
        return status;
    }
    tarn_stream_frame opened;
    read_header(bytes, &opened.head);
    status = read_bodies(bytes, &opened.head);
    if (status == TARN_OK) {
        status = read_tables(bytes, byte_count, &opened);
    }
    if (status == TARN_OK) {
        status = tarn_stream_check_head(&opened.head);
    }
    if (status == TARN_OK) {
        status = place_sections(bytes, byte_count, &opened);
    }
    if (status == TARN_OK) {
        *frame = opened;
    }
    return status;
}

tarn_frame_input tarn_stream_input_at(const tarn_stream_frame *frame, uint32_t index)
{
    const uint8_t *p = frame->inputs + (size_t)index * TARN_FRAME_INPUT_BYTES;
    const tarn_frame_input input = {get_u32(p + INPUT_AT_VIEWER_ID), get_u32(p + INPUT_AT_SEQUENCE)};
    return input;
}

size_t tarn_stream_head_bytes(const tarn_stream_head *head)
{
    return TARN_FRAME_HEADER_BYTES + (size_t)head->body_count * TARN_FRAME_BODY_BYTES +
           (size_t)head->input_count * TARN_FRAME_INPUT_BYTES + (size_t)head->layer_count * TARN_STREAM_LAYER_BYTES +
           (head->field.number != 0 ? TARN_STREAM_FIELD_BYTES : 0);
}

size_t tarn_stream_cut_bytes(const tarn_stream_head *head, uint32_t layers)
{
    uint64_t behind = layers > head->layer_count ? 0 : head->field.fine_bytes;
    for (uint32_t i = layers; i < head->layer_count; i++) {
        behind += head->layers[i].bytes;
    }
    return (size_t)(head->frame_bytes - behind);
}
