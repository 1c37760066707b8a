// Frames of version 1: each stands for itself.
#include "protocol/wasm/codec_room.h"

enum { UNIT_BITS = 5 }; // positions are in 1/32 cell

static void store_header(const tarn_frame *frame)
{
    const tarn_frame_header *header = &frame->header;
    double *v = tarn_codec_header_values;
    *v++ = header->kind;
    *v++ = header->flags;
    *v++ = header->frame_bytes;
    *v++ = header->epoch;
    *v++ = (double)header->step;
    *v++ = header->sim_time_s;
    *v++ = (double)header->server_time_us;
    *v++ = (double)header->realtime_factor;
    *v++ = header->particle_count;
    *v++ = header->tile_count;
    *v++ = header->input_count;
    for (int axis = 0; axis < 3; axis++) {
        *v++ = header->cells[axis];
    }
    *v++ = header->position_bits;
    *v++ = header->layer_count;
    *v++ = (double)header->cell_m;
    for (int i = 0; i < 4; i++) {
        *v++ = (double)header->orientation[i];
    }
    for (int axis = 0; axis < 3; axis++) {
        *v++ = (double)header->gravity_m_s2[axis];
    }
    *v++ = (double)header->velocity_scale_m_s;
    *v++ = TARN_FRAME_VERSION;
    *v++ = header->body_count;
    *v++ = frame->has_colours;
    *v++ = UNIT_BITS;
    *v++ = 0; // it has no number, and refers to none
    *v++ = 0;
    *v++ = header->layer_count;
    *v++ = 0;
    *v++ = 0;
    *v++ = header->particle_count;
}

tarn_status tarn_codec_frame_open(uint32_t byte_count, tarn_frame *frame)
{
    tarn_status status = tarn_frame_open((const uint8_t *)(uintptr_t)tarn_codec_room.input, byte_count, frame);
    if (status) {
        return status;
    }
    store_header(frame);
    tarn_codec_store_bodies(frame->header.bodies, frame->header.body_count);
    for (uint32_t i = 0; i < frame->header.input_count; i++) {
        tarn_frame_input input = tarn_frame_input_at(frame, i);
        tarn_codec_input_pairs[2 * i] = input.viewer_id;
        tarn_codec_input_pairs[2 * i + 1] = input.sequence;
    }
    return TARN_OK;
}

tarn_status tarn_codec_frame_decode(uint32_t byte_count)
{
    tarn_frame frame;
    tarn_status status = tarn_codec_frame_open(byte_count, &frame);
    if (status == TARN_OK && frame.header.particle_count > tarn_codec_room.particles_max) {
        // The input stays where it is, and with it the opened frame.
        status = tarn_codec_lay_out(0, 0, tarn_codec_with_slack(frame.header.particle_count, TARN_FRAME_PARTICLES_MAX));
    }
    if (status) {
        return status;
    }
    return tarn_frame_decode(&frame, (uint16_t *)(uintptr_t)tarn_codec_room.positions,
                             (int8_t *)(uintptr_t)tarn_codec_room.velocities, tarn_codec_room.particles_max);
}
