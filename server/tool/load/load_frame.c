#include "server/tool/load/load_frame.h"
#include "protocol/frame_layout.h"

#include <stdlib.h>

enum { POSITION_UNITS_PER_CELL = 32 };

bool load_frame_begins(const uint8_t *bytes)
{
    return get_u32(bytes) == TARN_FRAME_MAGIC;
}

tarn_status load_frame_head_read(const uint8_t *bytes, size_t byte_count, uint64_t frame_bytes, load_frame_head *head)
{
    if (byte_count < TARN_FRAME_HEADER_BYTES) {
        return TARN_E_TRUNCATED;
    }
    if (get_u16(bytes + FRAME_AT_VERSION) != TARN_FRAME_VERSION) {
        return TARN_E_VERSION;
    }
    size_t header_bytes = get_u16(bytes + FRAME_AT_HEADER_BYTES);
    head->input_count = get_u32(bytes + FRAME_AT_INPUT_COUNT);
    if (header_bytes < TARN_FRAME_HEADER_BYTES || get_u32(bytes + FRAME_AT_FRAME_BYTES) != frame_bytes) {
        return TARN_E_MALFORMED;
    }
    if (header_bytes > TARN_FRAME_HEADER_BYTES_MAX || head->input_count > TARN_FRAME_INPUTS_MAX) {
        return TARN_E_LIMIT;
    }
    if (byte_count < header_bytes || head->input_count > (byte_count - header_bytes) / TARN_FRAME_INPUT_BYTES) {
        return TARN_E_TRUNCATED;
    }
    head->epoch = get_u32(bytes + FRAME_AT_EPOCH);
    head->step = get_u64(bytes + FRAME_AT_STEP);
    head->inputs = bytes + header_bytes;
    return TARN_OK;
}

uint32_t load_frame_input_of(const load_frame_head *head, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < head->input_count; i++) {
        const uint8_t *entry = head->inputs + (size_t)i * TARN_FRAME_INPUT_BYTES;
        if (get_u32(entry + INPUT_AT_VIEWER_ID) == viewer_id) {
            return get_u32(entry + INPUT_AT_SEQUENCE);
        }
    }
    return 0;
}

void load_frame_room_free(load_frame_room *room)
{
    free(room->positions);
    free(room->velocities);
    *room = (load_frame_room){0};
}

static bool make_room(load_frame_room *room, uint32_t particles)
{
    if (particles <= room->particles) {
        return true;
    }
    load_frame_room_free(room);
    room->positions = malloc((size_t)particles * 4 * sizeof *room->positions);
    room->velocities = malloc((size_t)particles * 4 * sizeof *room->velocities);
    if (room->positions == NULL || room->velocities == NULL) {
        load_frame_room_free(room);
        return false;
    }
    room->particles = particles;
    return true;
}

static bool all_inside(const tarn_frame_header *header, const uint16_t *positions)
{
    for (size_t i = 0; i < header->particle_count; i++) {
        for (size_t axis = 0; axis < 3; axis++) {
            if (positions[4 * i + axis] >= (uint32_t)header->cells[axis] * POSITION_UNITS_PER_CELL) {
                return false;
            }
        }
    }
    return true;
}

tarn_status load_frame_check(const uint8_t *bytes, size_t byte_count, load_frame_room *room)
{
    tarn_frame frame;
    tarn_status status = tarn_frame_open(bytes, byte_count, &frame);
    if (status != TARN_OK) {
        return status;
    }
    if (!make_room(room, frame.header.particle_count)) {
        return TARN_E_MEMORY;
    }
    status = tarn_frame_decode(&frame, room->positions, room->velocities, room->particles);
    if (status != TARN_OK) {
        return status;
    }
    return all_inside(&frame.header, room->positions) ? TARN_OK : TARN_E_MALFORMED;
}
