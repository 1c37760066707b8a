// The rules that a frame's head obeys, applied to the values and not to the bytes, so that the writer and the reader
// share them.
#include "protocol/frame_layout.h"

static int finite_f32(float value)
{
    // Without libm: infinities and NaN are what no finite bound contains.
    return value >= -3.40282347e38f && value <= 3.40282347e38f;
}

static int finite_f64(double value)
{
    return value >= -1.7976931348623157e308 && value <= 1.7976931348623157e308;
}

static int unit_quaternion(const float q[4])
{
    float sum = 0.0f;
    for (int i = 0; i < 4; i++) {
        sum += q[i] * q[i];
    }
    return sum >= 0.98f && sum <= 1.02f;
}

static int body_rotation_is_unit(const int16_t rotation[4])
{
    float q[4];
    for (int i = 0; i < 4; i++) {
        q[i] = (float)rotation[i] / TARN_FRAME_ROTATION_ONE;
    }
    return unit_quaternion(q);
}

static tarn_status check_bodies(const tarn_frame_header *header)
{
    for (uint32_t i = 0; i < header->body_count; i++) {
        const tarn_frame_body *body = &header->bodies[i];
        if ((i > 0 && body->solid <= header->bodies[i - 1].solid) || !body_rotation_is_unit(body->rotation)) {
            return TARN_E_MALFORMED;
        }
        for (int axis = 0; axis < 3; axis++) {
            if (!finite_f32(body->position_m[axis])) {
                return TARN_E_MALFORMED;
            }
        }
    }
    return TARN_OK;
}

static tarn_status check_counts(const tarn_frame_header *header)
{
    if (header->particle_count > TARN_FRAME_PARTICLES_MAX || header->tile_count > TARN_FRAME_TILES_MAX ||
        header->input_count > TARN_FRAME_INPUTS_MAX || header->body_count > TARN_FRAME_BODIES_MAX) {
        return TARN_E_LIMIT;
    }
    for (int axis = 0; axis < 3; axis++) {
        if (header->cells[axis] == 0) {
            return TARN_E_MALFORMED;
        }
        if (header->cells[axis] > TARN_FRAME_CELLS_MAX) {
            return TARN_E_LIMIT;
        }
    }
    return TARN_OK;
}

static tarn_status check_numbers(const tarn_frame_header *header)
{
    if (header->step > TARN_FRAME_INTEGER_MAX || header->server_time_us > TARN_FRAME_INTEGER_MAX) {
        return TARN_E_LIMIT;
    }
    if (!finite_f64(header->sim_time_s) || header->sim_time_s < 0.0 || !finite_f32(header->realtime_factor) ||
        header->realtime_factor < 0.0f || !finite_f32(header->cell_m) || header->cell_m <= 0.0f ||
        !finite_f32(header->velocity_scale_m_s) || header->velocity_scale_m_s < 0.0f ||
        !unit_quaternion(header->orientation)) {
        return TARN_E_MALFORMED;
    }
    for (int axis = 0; axis < 3; axis++) {
        if (!finite_f32(header->gravity_m_s2[axis])) {
            return TARN_E_MALFORMED;
        }
    }
    return TARN_OK;
}

tarn_status tarn_frame_check_header(const tarn_frame_header *header)
{
    if (header->kind != TARN_FRAME_KEY || header->position_bits != TARN_FRAME_POSITION_BITS ||
        header->layer_count != 1) {
        return TARN_E_VERSION;
    }
    if (header->flags & ~(uint32_t)TARN_FRAME_FLAGS_KNOWN) {
        return TARN_E_MALFORMED;
    }
    tarn_status status = check_counts(header);
    if (!status) {
        status = check_numbers(header);
    }
    return status ? status : check_bodies(header);
}

void tarn_frame_tile_check_begin(tarn_frame_tile_check *check, const tarn_frame_header *header, size_t payloads_bytes)
{
    for (int axis = 0; axis < 3; axis++) {
        check->tiles[axis] =
            (uint16_t)((header->cells[axis] + (1 << TARN_FRAME_TILE_CELLS_LOG2) - 1) >> TARN_FRAME_TILE_CELLS_LOG2);
    }
    check->coding = TARN_FRAME_CODING_RAW;
    check->next_key = 0;
    check->particles_left = header->particle_count;
    check->payload_bytes_left = payloads_bytes;
}

tarn_status tarn_frame_tile_check_next(tarn_frame_tile_check *check, const tarn_frame_tile *tile)
{
    if (tile->coding != TARN_FRAME_CODING_RAW && tile->coding != TARN_FRAME_CODING_COLOURS) {
        return TARN_E_VERSION;
    }
    if (check->next_key == 0) {
        check->coding = tile->coding;
    }
    if (tile->coding != check->coding || tile->layer != 0 || tile->tile[0] >= check->tiles[0] ||
        tile->tile[1] >= check->tiles[1] || tile->tile[2] >= check->tiles[2]) {
        return TARN_E_MALFORMED;
    }
    uint64_t key = (uint64_t)tile->tile[2] << 32 | (uint64_t)tile->tile[1] << 16 | tile->tile[0];
    if (key < check->next_key || tile->particle_count > check->particles_left ||
        tile->payload_bytes != tarn_frame_payload_bytes((tarn_frame_coding)tile->coding, tile->particle_count) ||
        tile->payload_bytes > check->payload_bytes_left) {
        return TARN_E_MALFORMED;
    }
    check->next_key = key + 1;
    check->particles_left -= tile->particle_count;
    check->payload_bytes_left -= tile->payload_bytes;
    return TARN_OK;
}

tarn_status tarn_frame_tile_check_end(const tarn_frame_tile_check *check)
{
    return check->particles_left == 0 && check->payload_bytes_left == 0 ? TARN_OK : TARN_E_MALFORMED;
}
