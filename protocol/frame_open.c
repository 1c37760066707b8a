// Opening a frame: everything that decoding relies on is checked here, once, by subtraction from what is left, so that
// no sum of untrusted numbers can wrap around.
#include "protocol/frame_layout.h"

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

/// Reads the bodies that the header has room for; check_layout and tarn_frame_check_header judge the number.
static void read_bodies(const uint8_t *bytes, tarn_frame_header *header)
{
    uint32_t room =
        (uint32_t)(get_u16(bytes + FRAME_AT_HEADER_BYTES) - TARN_FRAME_HEADER_BYTES) / TARN_FRAME_BODY_BYTES;
    header->body_count = get_u32(bytes + FRAME_AT_BODY_COUNT);
    for (uint32_t i = 0; i < TARN_FRAME_BODIES_MAX; i++) {
        if (i < header->body_count && i < room) {
            read_body(bytes + TARN_FRAME_HEADER_BYTES + (size_t)i * TARN_FRAME_BODY_BYTES, &header->bodies[i]);
        } else {
            header->bodies[i] = (tarn_frame_body){0};
        }
    }
}

static void read_header(const uint8_t *p, tarn_frame_header *header)
{
    header->kind = p[FRAME_AT_KIND];
    header->flags = get_u32(p + FRAME_AT_FLAGS);
    header->frame_bytes = get_u32(p + FRAME_AT_FRAME_BYTES);
    header->epoch = get_u32(p + FRAME_AT_EPOCH);
    header->step = get_u64(p + FRAME_AT_STEP);
    header->sim_time_s = get_f64(p + FRAME_AT_SIM_TIME);
    header->server_time_us = get_u64(p + FRAME_AT_SERVER_TIME);
    header->realtime_factor = get_f32(p + FRAME_AT_REALTIME_FACTOR);
    header->particle_count = get_u32(p + FRAME_AT_PARTICLE_COUNT);
    header->tile_count = get_u32(p + FRAME_AT_TILE_COUNT);
    header->input_count = get_u32(p + FRAME_AT_INPUT_COUNT);
    header->position_bits = p[FRAME_AT_POSITION_BITS];
    header->layer_count = p[FRAME_AT_LAYER_COUNT];
    header->cell_m = get_f32(p + FRAME_AT_CELL_M);
    for (int i = 0; i < 4; i++) {
        header->orientation[i] = get_f32(p + FRAME_AT_ORIENTATION + 4 * i);
    }
    for (int axis = 0; axis < 3; axis++) {
        header->cells[axis] = get_u16(p + FRAME_AT_CELLS + 2 * axis);
        header->gravity_m_s2[axis] = get_f32(p + FRAME_AT_GRAVITY + 4 * axis);
    }
    header->velocity_scale_m_s = get_f32(p + FRAME_AT_VELOCITY_SCALE);
    read_bodies(p, header);
}

/// Checks what comes before any other field can be believed.
static tarn_status check_prefix(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count < 8) {
        return TARN_E_TRUNCATED;
    }
    if (get_u32(bytes + FRAME_AT_MAGIC) != TARN_FRAME_MAGIC) {
        return TARN_E_MALFORMED;
    }
    if (get_u16(bytes + FRAME_AT_VERSION) != TARN_FRAME_VERSION) {
        return TARN_E_VERSION;
    }
    uint16_t header_bytes = get_u16(bytes + FRAME_AT_HEADER_BYTES);
    if (header_bytes < TARN_FRAME_HEADER_BYTES || header_bytes % 8 != 0) {
        return TARN_E_MALFORMED;
    }
    if (header_bytes > TARN_FRAME_HEADER_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    if (byte_count < header_bytes || byte_count < get_u32(bytes + FRAME_AT_FRAME_BYTES)) {
        return TARN_E_TRUNCATED;
    }
    return byte_count == get_u32(bytes + FRAME_AT_FRAME_BYTES) ? TARN_OK : TARN_E_MALFORMED;
}

static tarn_status check_layout(const uint8_t *bytes)
{
    if (bytes[FRAME_AT_VELOCITY_NODES] != TARN_FRAME_VELOCITY_NODES ||
        bytes[FRAME_AT_TILE_CELLS_LOG2] != TARN_FRAME_TILE_CELLS_LOG2 ||
        bytes[FRAME_AT_TILE_BYTES] != TARN_FRAME_TILE_BYTES) {
        return TARN_E_VERSION;
    }
    uint8_t reserved = 0;
    for (int i = FRAME_AT_RESERVED; i < FRAME_AT_BODY_COUNT; i++) {
        reserved |= bytes[i];
    }
    return reserved ? TARN_E_MALFORMED : TARN_OK;
}

/// Whether the header has room for its bodies, whose number is inside its limit here.
static tarn_status check_body_bytes(const uint8_t *bytes, uint32_t body_count)
{
    size_t room = (size_t)get_u16(bytes + FRAME_AT_HEADER_BYTES) - TARN_FRAME_HEADER_BYTES;
    if (body_count * (size_t)TARN_FRAME_BODY_BYTES > room) {
        return TARN_E_MALFORMED;
    }
    uint16_t reserved = 0;
    for (uint32_t i = 0; i < body_count; i++) {
        reserved |= get_u16(bytes + TARN_FRAME_HEADER_BYTES + (size_t)i * TARN_FRAME_BODY_BYTES + BODY_AT_RESERVED);
    }
    return reserved ? TARN_E_MALFORMED : TARN_OK;
}

/// Places the tables and the payloads. The counts are inside their limits here, so their products fit.
static tarn_status place_tables(const uint8_t *bytes, size_t byte_count, tarn_frame *frame)
{
    size_t left = byte_count - get_u16(bytes + FRAME_AT_HEADER_BYTES);
    size_t input_bytes = (size_t)frame->header.input_count * TARN_FRAME_INPUT_BYTES;
    if (input_bytes > left) {
        return TARN_E_MALFORMED;
    }
    left -= input_bytes;
    size_t tile_bytes = (size_t)frame->header.tile_count * TARN_FRAME_TILE_BYTES;
    if (tile_bytes > left) {
        return TARN_E_MALFORMED;
    }
    frame->inputs = bytes + get_u16(bytes + FRAME_AT_HEADER_BYTES);
    frame->tiles = frame->inputs + input_bytes;
    frame->payloads = frame->tiles + tile_bytes;
    frame->payloads_bytes = left - tile_bytes;
    return TARN_OK;
}

static tarn_status check_tiles(tarn_frame *frame)
{
    tarn_frame_tile_check check;
    tarn_frame_tile_check_begin(&check, &frame->header, frame->payloads_bytes);
    for (uint32_t i = 0; i < frame->header.tile_count; i++) {
        tarn_frame_tile tile = tarn_frame_tile_at(frame, i);
        tarn_status status = tarn_frame_tile_check_next(&check, &tile);
        if (status) {
            return status;
        }
    }
    frame->has_colours = check.coding == TARN_FRAME_CODING_COLOURS;
    return tarn_frame_tile_check_end(&check);
}

tarn_status tarn_frame_open(const uint8_t *bytes, size_t byte_count, tarn_frame *frame)
{
    tarn_status status = check_prefix(bytes, byte_count);
    if (status) {
        return status;
    }
    tarn_frame opened;
    read_header(bytes, &opened.header);
    if ((status = check_layout(bytes)) || (status = tarn_frame_check_header(&opened.header)) ||
        (status = check_body_bytes(bytes, opened.header.body_count)) ||
        (status = place_tables(bytes, byte_count, &opened)) || (status = check_tiles(&opened))) {
        return status;
    }
    *frame = opened;
    return TARN_OK;
}

tarn_frame_input tarn_frame_input_at(const tarn_frame *frame, uint32_t index)
{
    const uint8_t *p = frame->inputs + (size_t)index * TARN_FRAME_INPUT_BYTES;
    tarn_frame_input input = {get_u32(p + INPUT_AT_VIEWER_ID), get_u32(p + INPUT_AT_SEQUENCE)};
    return input;
}

tarn_frame_tile tarn_frame_tile_at(const tarn_frame *frame, uint32_t index)
{
    const uint8_t *p = frame->tiles + (size_t)index * TARN_FRAME_TILE_BYTES;
    tarn_frame_tile tile = {
        .tile = {get_u16(p + TILE_AT_TILE), get_u16(p + TILE_AT_TILE + 2), get_u16(p + TILE_AT_TILE + 4)},
        .layer = p[TILE_AT_LAYER],
        .coding = p[TILE_AT_CODING],
        .particle_count = get_u32(p + TILE_AT_PARTICLE_COUNT),
        .payload_bytes = get_u32(p + TILE_AT_PAYLOAD_BYTES),
    };
    return tile;
}
