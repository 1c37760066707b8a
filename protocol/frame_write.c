#include "protocol/frame_layout.h"

static size_t particle_bytes(tarn_frame_coding coding)
{
    return coding == TARN_FRAME_CODING_COLOURS ? 4 : 3;
}

size_t tarn_frame_head_bytes(uint32_t body_count, uint32_t input_count, uint32_t tile_count)
{
    return TARN_FRAME_HEADER_BYTES + (size_t)body_count * TARN_FRAME_BODY_BYTES +
           (size_t)input_count * TARN_FRAME_INPUT_BYTES + (size_t)tile_count * TARN_FRAME_TILE_BYTES;
}

size_t tarn_frame_payload_bytes(tarn_frame_coding coding, uint32_t particle_count)
{
    return TARN_FRAME_VELOCITY_BYTES + particle_count * particle_bytes(coding);
}

size_t tarn_frame_bound(tarn_frame_coding coding, uint32_t input_count, uint32_t tile_count, uint32_t particle_count)
{
    return tarn_frame_head_bytes(TARN_FRAME_BODIES_MAX, input_count, tile_count) +
           (size_t)tile_count * TARN_FRAME_VELOCITY_BYTES + particle_count * particle_bytes(coding);
}

static tarn_status check_head(const tarn_frame_header *header, const tarn_frame_tile *tiles)
{
    if (tarn_frame_check_header(header)) {
        return TARN_E_ARGUMENT;
    }
    size_t head_bytes = tarn_frame_head_bytes(header->body_count, header->input_count, header->tile_count);
    if (header->frame_bytes < head_bytes) {
        return TARN_E_ARGUMENT;
    }
    tarn_frame_tile_check check;
    tarn_frame_tile_check_begin(&check, header, header->frame_bytes - head_bytes);
    for (uint32_t i = 0; i < header->tile_count; i++) {
        if (tarn_frame_tile_check_next(&check, &tiles[i])) {
            return TARN_E_ARGUMENT;
        }
    }
    return tarn_frame_tile_check_end(&check) ? TARN_E_ARGUMENT : TARN_OK;
}

static void write_header(const tarn_frame_header *header, uint8_t *p)
{
    for (int i = 0; i < TARN_FRAME_HEADER_BYTES; i++) {
        p[i] = 0;
    }
    put_u32(p + FRAME_AT_MAGIC, TARN_FRAME_MAGIC);
    put_u16(p + FRAME_AT_VERSION, TARN_FRAME_VERSION);
    put_u16(p + FRAME_AT_HEADER_BYTES,
            (uint16_t)(TARN_FRAME_HEADER_BYTES + header->body_count * TARN_FRAME_BODY_BYTES));
    put_u32(p + FRAME_AT_FRAME_BYTES, header->frame_bytes);
    p[FRAME_AT_KIND] = header->kind;
    p[FRAME_AT_POSITION_BITS] = header->position_bits;
    p[FRAME_AT_LAYER_COUNT] = header->layer_count;
    p[FRAME_AT_VELOCITY_NODES] = TARN_FRAME_VELOCITY_NODES;
    put_u32(p + FRAME_AT_FLAGS, header->flags);
    put_u32(p + FRAME_AT_EPOCH, header->epoch);
    put_u64(p + FRAME_AT_STEP, header->step);
    put_f64(p + FRAME_AT_SIM_TIME, header->sim_time_s);
    put_u64(p + FRAME_AT_SERVER_TIME, header->server_time_us);
    put_f32(p + FRAME_AT_REALTIME_FACTOR, header->realtime_factor);
    put_u32(p + FRAME_AT_PARTICLE_COUNT, header->particle_count);
    put_u32(p + FRAME_AT_TILE_COUNT, header->tile_count);
    put_u32(p + FRAME_AT_INPUT_COUNT, header->input_count);
    p[FRAME_AT_TILE_CELLS_LOG2] = TARN_FRAME_TILE_CELLS_LOG2;
    p[FRAME_AT_TILE_BYTES] = TARN_FRAME_TILE_BYTES;
    put_f32(p + FRAME_AT_CELL_M, header->cell_m);
    for (int i = 0; i < 4; i++) {
        put_f32(p + FRAME_AT_ORIENTATION + 4 * i, header->orientation[i]);
    }
    for (int axis = 0; axis < 3; axis++) {
        put_u16(p + FRAME_AT_CELLS + 2 * axis, header->cells[axis]);
        put_f32(p + FRAME_AT_GRAVITY + 4 * axis, header->gravity_m_s2[axis]);
    }
    put_f32(p + FRAME_AT_VELOCITY_SCALE, header->velocity_scale_m_s);
    put_u32(p + FRAME_AT_BODY_COUNT, header->body_count);
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

static void write_tile(const tarn_frame_tile *tile, uint8_t *p)
{
    for (int axis = 0; axis < 3; axis++) {
        put_u16(p + TILE_AT_TILE + 2 * axis, tile->tile[axis]);
    }
    p[TILE_AT_LAYER] = tile->layer;
    p[TILE_AT_CODING] = tile->coding;
    put_u32(p + TILE_AT_PARTICLE_COUNT, tile->particle_count);
    put_u32(p + TILE_AT_PAYLOAD_BYTES, tile->payload_bytes);
}

tarn_status tarn_frame_write_head(const tarn_frame_header *header, const tarn_frame_input *inputs,
                                  const tarn_frame_tile *tiles, uint8_t *bytes, size_t bytes_max)
{
    tarn_status status = check_head(header, tiles);
    if (status) {
        return status;
    }
    if (bytes_max < tarn_frame_head_bytes(header->body_count, header->input_count, header->tile_count)) {
        return TARN_E_SPACE;
    }
    write_header(header, bytes);
    uint8_t *p = bytes + TARN_FRAME_HEADER_BYTES;
    for (uint32_t i = 0; i < header->body_count; i++, p += TARN_FRAME_BODY_BYTES) {
        write_body(&header->bodies[i], p);
    }
    for (uint32_t i = 0; i < header->input_count; i++, p += TARN_FRAME_INPUT_BYTES) {
        put_u32(p + INPUT_AT_VIEWER_ID, inputs[i].viewer_id);
        put_u32(p + INPUT_AT_SEQUENCE, inputs[i].sequence);
    }
    for (uint32_t i = 0; i < header->tile_count; i++, p += TARN_FRAME_TILE_BYTES) {
        write_tile(&tiles[i], p);
    }
    return TARN_OK;
}

tarn_status tarn_frame_write_payload(const int8_t *velocities, const uint8_t *x, const uint8_t *y, const uint8_t *z,
                                     const uint8_t *colours, uint32_t particle_count, uint8_t *bytes, size_t bytes_max)
{
    tarn_frame_coding coding = colours ? TARN_FRAME_CODING_COLOURS : TARN_FRAME_CODING_RAW;
    if (bytes_max < tarn_frame_payload_bytes(coding, particle_count)) {
        return TARN_E_SPACE;
    }
    for (uint32_t i = 0; i < TARN_FRAME_VELOCITY_BYTES; i++) {
        bytes[i] = (uint8_t)velocities[i];
    }
    const uint8_t *columns[4] = {x, y, z, colours};
    uint8_t *p = bytes + TARN_FRAME_VELOCITY_BYTES;
    for (size_t column = 0; column < particle_bytes(coding); column++, p += particle_count) {
        for (uint32_t i = 0; i < particle_count; i++) {
            p[i] = columns[column][i];
        }
    }
    return TARN_OK;
}
