// Frames: a decoder keeps the particles from one to the next. It is made by the first key frame, and
// anew by one that asks for more than it has room for.
#include "protocol/wasm/codec_stream.h"

#include "protocol/stream.h"

#include <stdbool.h>

static tarn_stream *decoder;
static tarn_stream_size decoder_size;
static tarn_stream_particles shown; ///< of the frame decoded last
static float shown_interval_s;
static tarn_stream_head shown_head;
static uint64_t plane_at, plane_bytes; ///< of the decoder's memory, behind its own: a plane of a field

/// In all layers, with those that were cut off.
static double particles_of(const tarn_stream_head *head)
{
    double count = 0.0;
    for (uint32_t i = 0; i < head->layer_count; i++) {
        count += head->layers[i].particles;
    }
    return count;
}

static void store_header(const tarn_stream_frame *frame, const tarn_stream_particles *particles)
{
    const tarn_stream_head *head = &frame->head;
    double *v = tarn_codec_header_values;
    *v++ = head->kind;
    *v++ = head->flags;
    *v++ = head->frame_bytes;
    *v++ = head->epoch;
    *v++ = (double)head->step;
    *v++ = head->sim_time_s;
    *v++ = (double)head->server_time_us;
    *v++ = (double)head->realtime_factor;
    *v++ = particles->count;
    *v++ = head->flow_tiles;
    *v++ = head->input_count;
    for (int axis = 0; axis < 3; axis++) {
        *v++ = head->cells[axis];
    }
    *v++ = head->place_bits;
    *v++ = head->layer_count;
    *v++ = (double)head->cell_m;
    for (int i = 0; i < 4; i++) {
        *v++ = (double)head->orientation[i];
    }
    for (int axis = 0; axis < 3; axis++) {
        *v++ = (double)head->gravity_m_s2[axis];
    }
    *v++ = (double)particles->velocity_scale_m_s;
    *v++ = TARN_FRAME_VERSION;
    *v++ = head->body_count;
    *v++ = (head->flags & TARN_FRAME_FLAG_COLOURS) != 0;
    *v++ = particles->unit_bits;
    *v++ = head->number;
    *v++ = head->reference;
    *v++ = frame->layers_present;
    *v++ = (double)head->interval_s;
    *v++ = head->interval_steps;
    *v++ = particles_of(head);
    *v++ = head->channel;
    *v++ = (double)head->channel_low;
    *v++ = (double)head->channel_high;
    *v++ = head->field.number;
    *v++ = (double)head->field.low;
    *v++ = (double)head->field.high;
    *v++ = head->field.is_kinds;
    *v++ = head->field.number != 0 && frame->fine != NULL;
}

static void store_bodies(const tarn_frame_body *bodies, uint32_t count)
{
    double *v = tarn_codec_body_values;
    for (uint32_t i = 0; i < count; i++) {
        *v++ = bodies[i].solid;
        for (int axis = 0; axis < 3; axis++) {
            *v++ = (double)bodies[i].position_m[axis];
        }
        for (int k = 0; k < 4; k++) {
            *v++ = (double)bodies[i].rotation[k] / TARN_FRAME_ROTATION_ONE;
        }
    }
}

static tarn_status open_input(uint32_t byte_count, tarn_stream_frame *frame)
{
    tarn_status status = tarn_stream_open((const uint8_t *)(uintptr_t)tarn_codec_room.input, byte_count, frame);
    if (status) {
        return status;
    }
    store_bodies(frame->head.bodies, frame->head.body_count);
    for (uint32_t i = 0; i < frame->head.input_count; i++) {
        tarn_frame_input input = tarn_stream_input_at(frame, i);
        tarn_codec_input_pairs[2 * i] = input.viewer_id;
        tarn_codec_input_pairs[2 * i + 1] = input.sequence;
    }
    return TARN_OK;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/// Sees that the decoder and the arrays have room for all frames of the chain that a key frame begins. The input may
/// move.
static tarn_status make_room(const tarn_stream_frame *key)
{
    const tarn_stream_size wanted = tarn_stream_size_of(key);
    const tarn_stream_size have = decoder_size;
    const uint64_t plane = wanted.field_tiles > 0 ? (uint64_t)key->head.cells[0] * key->head.cells[1] : 0;
    const bool fits = decoder != NULL && wanted.slots <= have.slots && wanted.tiles <= have.tiles &&
                      wanted.flow_tiles <= have.flow_tiles && wanted.field_tiles <= have.field_tiles &&
                      wanted.field_levels <= have.field_levels && plane <= plane_bytes;
    if (fits && wanted.slots <= tarn_codec_room.particles_max) {
        return TARN_OK;
    }
    const uint64_t slots = tarn_codec_with_slack(wanted.slots, TARN_FRAME_PARTICLES_MAX);
    tarn_stream_size size = {
        larger((uint32_t)slots, have.slots), larger(wanted.tiles, have.tiles),
        larger((uint32_t)tarn_codec_with_slack(wanted.flow_tiles, TARN_FRAME_TILES_MAX), have.flow_tiles),
        larger(wanted.field_tiles, have.field_tiles), larger(wanted.field_levels, have.field_levels)};
    const uint64_t plane_room = plane > plane_bytes ? plane : plane_bytes;
    tarn_status status = tarn_codec_lay_out(fits ? 0 : tarn_stream_bytes(&size) + plane_room, 0, slots);
    if (status == TARN_E_LIMIT) { // nothing to spare, and no regard for earlier frames
        size = wanted;
        status = tarn_codec_lay_out(fits ? 0 : tarn_stream_bytes(&size) + plane_room, 0, wanted.slots);
    }
    if (status == TARN_OK && !fits) {
        decoder = tarn_stream_make((void *)(uintptr_t)tarn_codec_room.decoder, &size);
        decoder_size = size;
        plane_at = tarn_codec_room.decoder + tarn_stream_bytes(&size);
        plane_bytes = plane_room;
    }
    return status;
}

tarn_status tarn_codec_stream_open(uint32_t byte_count)
{
    tarn_stream_frame frame;
    tarn_status status = open_input(byte_count, &frame);
    if (status == TARN_OK) {
        tarn_stream_particles none = {0};
        for (uint32_t i = 0; i < frame.layers_present; i++) {
            none.count += frame.head.layers[i].particles;
        }
        store_header(&frame, &none);
    }
    return status;
}

tarn_status tarn_codec_stream_decode(uint32_t byte_count)
{
    tarn_stream_frame frame;
    tarn_status status = open_input(byte_count, &frame);
    if (status == TARN_OK && frame.head.kind == TARN_STREAM_KEY) {
        status = make_room(&frame);
        if (status == TARN_OK) {
            status = open_input(byte_count, &frame); // it may have moved
        }
    }
    if (status) {
        return status;
    }
    shown = (tarn_stream_particles){
        .positions = (uint16_t *)(uintptr_t)tarn_codec_room.positions,
        .velocities = (int8_t *)(uintptr_t)tarn_codec_room.velocities,
        .particles_max = tarn_codec_room.particles_max,
    };
    status = decoder != NULL ? tarn_stream_decode(decoder, &frame, &shown) : TARN_E_STATE;
    if (status != TARN_OK) {
        shown.count = 0;
        shown_head.field.number = 0;
        return status;
    }
    shown_interval_s = frame.head.interval_s;
    shown_head = frame.head;
    store_header(&frame, &shown);
    return TARN_OK;
}

const uint8_t *tarn_codec_stream_field_plane(uint32_t z)
{
    if (decoder == NULL || shown_head.field.number == 0 || z >= shown_head.cells[2]) {
        return NULL;
    }
    uint8_t *const plane = (uint8_t *)(uintptr_t)plane_at;
    tarn_stream_field_plane(decoder, z, plane);
    return plane;
}

void tarn_codec_stream_show_curl(float top_per_s)
{
    if (decoder != NULL && shown.count > 0) {
        shown.positions = (uint16_t *)(uintptr_t)tarn_codec_room.positions; // they may have moved
        const float levels = shown_interval_s > 0.0f ? 255.0f / (top_per_s * shown_interval_s) : 0.0f;
        tarn_stream_show_curl(decoder, levels, &shown);
    }
}
