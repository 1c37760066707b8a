// Any bytes as a sequence of frames, each behind its size as a u32: opening and decoding stay inside their
// memory, which is exactly what the sequence's first key frame asks for; what is handed out lies inside the tank; what
// opens can be written again to the same bytes (as far as this version knows them).
#include "protocol/stream_layout.h"
#include "tests/fuzz/fuzz_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DECODER_BYTES_MAX = 2 << 20, FRAMES_MAX = 16, FIELD_CELLS_MAX = 1 << 18 };

typedef struct receiver {
    void *memory;
    tarn_stream *stream;
    tarn_stream_particles out;
} receiver;

/// Makes a decoder as a key frame asks for it. @return false where that is too large
static bool make_receiver(receiver *r, const tarn_stream_frame *key)
{
    const tarn_stream_size size = tarn_stream_size_of(key);
    const size_t decoder_bytes = tarn_stream_bytes(&size);
    if (decoder_bytes > DECODER_BYTES_MAX) {
        return false;
    }
    r->memory = malloc(decoder_bytes);
    r->stream = tarn_stream_make(r->memory, &size);
    r->out.particles_max = size.slots;
    r->out.positions = malloc((size_t)8 * size.slots + 1);
    r->out.velocities = malloc((size_t)4 * size.slots + 1);
    return true;
}

static void free_receiver(receiver *r)
{
    free(r->memory);
    free(r->out.positions);
    free(r->out.velocities);
}

static void check_particles(const tarn_stream_frame *frame, const tarn_stream_particles *out)
{
    uint32_t particles = 0, layer = 0;
    for (uint32_t l = 0; l < frame->layers_present; l++) {
        particles += frame->head.layers[l].particles;
    }
    require(out->count <= particles && out->count <= out->particles_max && out->unit_bits <= TARN_PLACE_BITS);
    require(out->velocity_scale_m_s >= 0.0f && out->velocity_scale_m_s <= 3.40282347e38f);
    for (size_t i = 0; i < out->count; i++) {
        const uint16_t *position = out->positions + 4 * i;
        const int8_t *velocity = out->velocities + 4 * i;
        for (int a = 0; a < 3; a++) {
            require(position[a] >> out->unit_bits < frame->head.cells[a]);
        }
        require((frame->head.flags & TARN_FRAME_FLAG_COLOURS) != 0 || (position[3] & 0xff) == 0);
        require(frame->head.channel != 0 || position[3] < 256);
        require(velocity[3] >= (int8_t)layer && (uint32_t)velocity[3] < frame->layers_present); // in their order
        layer = (uint32_t)velocity[3];
    }
}

/// Looks at every node of the grid, and its borders, as far as there is a tank.
static void check_flow(const receiver *r, const tarn_stream_head *head)
{
    const int32_t end_z = (head->cells[2] << TARN_PLACE_BITS) - 1;
    tarn_flow flow;
    tarn_stream_flow(r->stream, &flow);
    for (size_t t = 0; t < (size_t)flow.tiles[0] * flow.tiles[1] * flow.tiles[2]; t++) {
        const uint32_t planes = tarn_flow_planes(end_z, (uint32_t)t / flow.tiles[0] / flow.tiles[1]);
        for (size_t n = 0; flow.index[t] > 0 && n < (size_t)planes * TARN_FLOW_EDGE * TARN_FLOW_EDGE; n++) {
            const int16_t *d = flow.nodes[(flow.index[t] - 1) * (size_t)TARN_FLOW_BLOCK + n].d;
            for (int a = 0; a < 3; a++) {
                require(d[a] >= -TARN_FLOW_MAX && d[a] <= TARN_FLOW_MAX);
            }
        }
    }
}

/// Looks at every cell of the field.
static void check_field(const receiver *r, const tarn_stream_head *head)
{
    const size_t cells = (size_t)head->cells[0] * head->cells[1];
    if (cells * head->cells[2] > FIELD_CELLS_MAX) {
        return;
    }
    uint8_t *plane = malloc(cells);
    for (uint32_t z = 0; z < head->cells[2]; z++) {
        tarn_stream_field_plane(r->stream, z, plane);
        for (size_t i = 0; i < cells; i++) {
            require(head->field.number != 0 || plane[i] == 0);
        }
    }
    free(plane);
}

/// A head that the reader takes is one that the writer takes, and it gives the same bytes.
static void check_rewrite(const tarn_stream_frame *frame, const uint8_t *bytes)
{
    uint8_t again[TARN_FRAME_HEADER_BYTES + TARN_FRAME_BODIES_MAX * TARN_FRAME_BODY_BYTES +
                  TARN_FRAME_INPUTS_MAX * TARN_FRAME_INPUT_BYTES + TARN_STREAM_LAYERS_MAX * TARN_STREAM_LAYER_BYTES +
                  TARN_STREAM_FIELD_BYTES];
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    const size_t head_bytes = tarn_stream_head_bytes(&frame->head);
    if (get_u16(bytes + STREAM_AT_HEADER_BYTES) !=
        TARN_FRAME_HEADER_BYTES + frame->head.body_count * TARN_FRAME_BODY_BYTES) {
        return; // it has fields that this version doesn't know
    }
    for (uint32_t i = 0; i < frame->head.input_count; i++) {
        inputs[i] = tarn_stream_input_at(frame, i);
    }
    require(tarn_stream_write_head(&frame->head, inputs, again, sizeof again) == TARN_OK);
    put_u16(again + STREAM_AT_VERSION, get_u16(bytes + STREAM_AT_VERSION)); // older ones are read, never written
    require(memcmp(again, bytes, STREAM_AT_CHANNEL_LOW) == 0);
    require(frame->head.channel == 0 || memcmp(again, bytes, TARN_FRAME_HEADER_BYTES) == 0);
    require(memcmp(again + TARN_FRAME_HEADER_BYTES, bytes + TARN_FRAME_HEADER_BYTES,
                   head_bytes - TARN_FRAME_HEADER_BYTES) == 0);
}

/// Takes a frame, alone in a block of its size.
static void take_frame(receiver *r, const uint8_t *bytes, size_t byte_count)
{
    uint8_t *alone = malloc(byte_count + 1);
    tarn_stream_frame frame;
    memcpy(alone, bytes, byte_count);
    if (tarn_stream_open(alone, byte_count, &frame) == TARN_OK) {
        const bool is_key = frame.head.kind == TARN_STREAM_KEY;
        check_rewrite(&frame, alone);
        if (r->memory != NULL || (is_key && make_receiver(r, &frame))) {
            const uint32_t most = r->out.particles_max;
            const tarn_status status = tarn_stream_decode(r->stream, &frame, &r->out);
            if (status == TARN_OK) {
                check_particles(&frame, &r->out);
                check_flow(r, &frame.head);
                check_field(r, &frame.head);
            }
            require(status != TARN_E_STATE || !is_key);
            r->out.particles_max = most;
        }
    }
    free(alone);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    receiver r = {0};
    for (int i = 0; i < FRAMES_MAX && byte_count >= 4; i++) {
        const size_t said = get_u32(bytes), frame_bytes = said < byte_count - 4 ? said : byte_count - 4;
        take_frame(&r, bytes + 4, frame_bytes);
        bytes += 4 + frame_bytes;
        byte_count -= 4 + frame_bytes;
    }
    free_receiver(&r);
    return 0;
}
