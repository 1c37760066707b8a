// What the native decoder makes of a sequence of frames, for comparison with codec.wasm:
//
//     trace_stream SEQUENCE.bin TRACE.bin    "-": standard input, standard output
//
// A sequence is frames, each behind its size as a u32. A trace has of each frame, without gaps: the status (i32), how
// many particles, bodies and inputs there are (u32 each), the header's values as protocol/wasm/README.md lists them
// (f64), the bodies as there (8 f64 each), the inputs (2 u32 each), the positions (4 u16 each) and the velocities (4 i8
// each), and of its field, if it has one, the plane in the middle (u8 each). Of a frame that is refused there is
// nothing but the status. All of it is little-endian.
#include "protocol/stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BYTES_MAX = 64 << 20 };

typedef struct tracer {
    void *memory;
    tarn_stream *stream;
    tarn_stream_particles particles;
    FILE *trace;
} tracer;

static void *need(size_t bytes)
{
    void *memory = calloc(bytes > 0 ? bytes : 1, 1);
    if (memory == NULL) {
        fprintf(stderr, "trace_stream: out of memory\n");
        exit(1);
    }
    return memory;
}

static void forget(tracer *t)
{
    free(t->memory);
    free(t->particles.positions);
    free(t->particles.velocities);
}

/// Each key frame has a decoder of exactly the size that it asks for.
static void make_room(tracer *t, const tarn_stream_frame *key)
{
    const tarn_stream_size size = tarn_stream_size_of(key);
    forget(t);
    t->memory = need(tarn_stream_bytes(&size));
    t->stream = tarn_stream_make(t->memory, &size);
    t->particles = (tarn_stream_particles){.positions = need(4 * sizeof(uint16_t) * (size_t)size.slots),
                                           .velocities = need((size_t)4 * size.slots),
                                           .particles_max = size.slots};
}

static void write_bodies(tracer *t, const tarn_stream_head *head)
{
    for (uint32_t i = 0; i < head->body_count; i++) {
        const tarn_frame_body *body = &head->bodies[i];
        double v[8] = {body->solid};
        for (int axis = 0; axis < 3; axis++) {
            v[1 + axis] = (double)body->position_m[axis];
        }
        for (int k = 0; k < 4; k++) {
            v[4 + k] = (double)body->rotation[k] / TARN_FRAME_ROTATION_ONE;
        }
        fwrite(v, sizeof v, 1, t->trace);
    }
}

/// In all layers, with those that were cut off.
static double particles_of(const tarn_stream_head *head)
{
    double count = 0.0;
    for (uint32_t l = 0; l < head->layer_count; l++) {
        count += head->layers[l].particles;
    }
    return count;
}

static void write_frame(tracer *t, const tarn_stream_frame *frame)
{
    const tarn_stream_head *h = &frame->head;
    const tarn_stream_particles *p = &t->particles;
    const uint32_t counts[3] = {p->count, h->body_count, h->input_count};
    const double values[] = {
        h->kind,
        h->flags,
        h->frame_bytes,
        h->epoch,
        (double)h->step,
        h->sim_time_s,
        (double)h->server_time_us,
        (double)h->realtime_factor,
        p->count,
        h->flow_tiles,
        h->input_count,
        h->cells[0],
        h->cells[1],
        h->cells[2],
        h->place_bits,
        h->layer_count,
        (double)h->cell_m,
        (double)h->orientation[0],
        (double)h->orientation[1],
        (double)h->orientation[2],
        (double)h->orientation[3],
        (double)h->gravity_m_s2[0],
        (double)h->gravity_m_s2[1],
        (double)h->gravity_m_s2[2],
        (double)p->velocity_scale_m_s,
        TARN_FRAME_VERSION,
        h->body_count,
        (h->flags & TARN_FRAME_FLAG_COLOURS) != 0,
        p->unit_bits,
        h->number,
        h->reference,
        frame->layers_present,
        (double)h->interval_s,
        h->interval_steps,
        particles_of(h),
        h->channel,
        (double)h->channel_low,
        (double)h->channel_high,
        h->field.number,
        (double)h->field.low,
        (double)h->field.high,
        h->field.is_kinds,
        h->field.number != 0 && frame->fine != NULL,
    };
    fwrite(counts, sizeof counts, 1, t->trace);
    fwrite(values, sizeof values, 1, t->trace);
    write_bodies(t, h);
    for (uint32_t i = 0; i < h->input_count; i++) {
        const tarn_frame_input input = tarn_stream_input_at(frame, i);
        const uint32_t pair[2] = {input.viewer_id, input.sequence};
        fwrite(pair, sizeof pair, 1, t->trace);
    }
    fwrite(p->positions, 4 * sizeof *p->positions, p->count, t->trace);
    fwrite(p->velocities, 4, p->count, t->trace);
    if (h->field.number != 0) {
        const size_t cells = (size_t)h->cells[0] * h->cells[1];
        uint8_t *plane = need(cells);
        tarn_stream_field_plane(t->stream, h->cells[2] / 2, plane);
        fwrite(plane, 1, cells, t->trace);
        free(plane);
    }
}

static void take(tracer *t, const uint8_t *bytes, size_t byte_count)
{
    tarn_stream_frame frame;
    tarn_status status = tarn_stream_open(bytes, byte_count, &frame);
    if (status == TARN_OK && frame.head.kind == TARN_STREAM_KEY) {
        make_room(t, &frame);
    }
    if (status == TARN_OK) {
        status = t->stream != NULL ? tarn_stream_decode(t->stream, &frame, &t->particles) : TARN_E_STATE;
    }
    const int32_t said = status;
    fwrite(&said, sizeof said, 1, t->trace);
    if (status == TARN_OK) {
        write_frame(t, &frame);
    }
}

/// @return false where the sequence is none
static bool take_all(tracer *t, FILE *sequence)
{
    uint32_t byte_count;
    while (fread(&byte_count, 1, sizeof byte_count, sequence) == sizeof byte_count) {
        uint8_t *bytes = byte_count <= FRAME_BYTES_MAX ? need(byte_count) : NULL;
        const bool is_there = bytes != NULL && fread(bytes, 1, byte_count, sequence) == byte_count;
        if (is_there) {
            take(t, bytes, byte_count);
        }
        free(bytes);
        if (!is_there) {
            return false;
        }
    }
    return feof(sequence) != 0;
}

static FILE *open_file(const char *path, const char *mode, FILE *standard)
{
    return strcmp(path, "-") == 0 ? standard : fopen(path, mode);
}

int main(int argc, char **argv)
{
    FILE *sequence = argc == 3 ? open_file(argv[1], "rb", stdin) : NULL;
    tracer t = {.trace = sequence != NULL ? open_file(argv[2], "wb", stdout) : NULL};
    if (t.trace == NULL) {
        fprintf(stderr, "usage: trace_stream SEQUENCE.bin TRACE.bin\n");
        return 2;
    }
    bool is_well = take_all(&t, sequence);
    is_well = ferror(t.trace) == 0 && is_well;
    is_well = fclose(t.trace) == 0 && is_well;
    fclose(sequence);
    forget(&t);
    if (!is_well) {
        fprintf(stderr, "trace_stream: %s is no sequence of frames, or %s can't be written\n", argv[1], argv[2]);
    }
    return is_well ? 0 : 1;
}
