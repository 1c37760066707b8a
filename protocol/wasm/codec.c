// The exports of codec.wasm; README.md describes them. Freestanding: no libc, no imports.
//
// Memory behind the static data, grown and never given back:
//
//     | stack, static data | input | positions | velocities |
//
// Growing the input moves what lies behind it, which is why it forgets what the arrays held.
#include "protocol/frame.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum {
    ABI = 2,
    HEADER_VALUES = 28,
    BODY_VALUES = 8,
    PAGE_BYTES = 65536,
    ALIGN_BYTES = 16,
};

extern uint8_t __heap_base; // the linker's: the first byte that is free

static struct {
    uint32_t input, positions, velocities; // addresses
    uint32_t input_bytes_max, particles_max;
} room;

static double header_values[HEADER_VALUES] __attribute__((aligned(ALIGN_BYTES)));
static double body_values[BODY_VALUES * TARN_FRAME_BODIES_MAX] __attribute__((aligned(ALIGN_BYTES)));
static uint32_t input_pairs[2 * TARN_FRAME_INPUTS_MAX] __attribute__((aligned(ALIGN_BYTES)));

static uint64_t align(uint64_t address)
{
    return (address + ALIGN_BYTES - 1) & ~(uint64_t)(ALIGN_BYTES - 1);
}

static uint64_t with_slack(uint64_t wanted, uint64_t max)
{
    uint64_t slack = wanted + wanted / 4;
    return slack < max ? slack : max;
}

/// Makes the memory reach `end`. @return 0 where the engine refuses
static int grow_to(uint64_t end)
{
    uint64_t pages = __builtin_wasm_memory_size(0), wanted = (end + PAGE_BYTES - 1) / PAGE_BYTES;
    return wanted <= pages || __builtin_wasm_memory_grow(0, (size_t)(wanted - pages)) != (size_t)-1;
}

/// Lays the room out anew for sizes that were checked.
static tarn_status lay_out(uint64_t input_bytes, uint64_t particles)
{
    uint64_t input = align((uint64_t)(uintptr_t)&__heap_base);
    uint64_t positions = align(input + input_bytes);
    uint64_t velocities = align(positions + 8 * particles);
    if (!grow_to(align(velocities + 4 * particles))) {
        return TARN_E_MEMORY;
    }
    room.input = (uint32_t)input;
    room.positions = (uint32_t)positions;
    room.velocities = (uint32_t)velocities;
    room.input_bytes_max = (uint32_t)input_bytes;
    room.particles_max = (uint32_t)particles;
    return TARN_OK;
}

int EXPORT(tarn_codec_abi)(void)
{
    return ABI;
}

tarn_status EXPORT(tarn_codec_reserve)(uint32_t input_bytes, uint32_t particles)
{
    size_t head_min = tarn_frame_head_bytes(TARN_FRAME_BODIES_MAX, 0, 0);
    size_t bytes_max = tarn_frame_bound(TARN_FRAME_CODING_COLOURS, TARN_FRAME_INPUTS_MAX, TARN_FRAME_TILES_MAX,
                                        TARN_FRAME_PARTICLES_MAX) +
                       (TARN_FRAME_HEADER_BYTES_MAX - head_min);
    if (input_bytes > bytes_max || particles > TARN_FRAME_PARTICLES_MAX) {
        return TARN_E_LIMIT;
    }
    if (room.input && input_bytes <= room.input_bytes_max && particles <= room.particles_max) {
        return TARN_OK;
    }
    uint64_t bytes = room.input_bytes_max, count = room.particles_max;
    return lay_out(input_bytes > bytes ? with_slack(input_bytes, bytes_max) : bytes,
                   particles > count ? with_slack(particles, TARN_FRAME_PARTICLES_MAX) : count);
}

uint32_t EXPORT(tarn_codec_input)(void)
{
    return room.input;
}

uint32_t EXPORT(tarn_codec_positions)(void)
{
    return room.positions;
}

uint32_t EXPORT(tarn_codec_velocities)(void)
{
    return room.velocities;
}

uint32_t EXPORT(tarn_codec_particles_max)(void)
{
    return room.particles_max;
}

const double *EXPORT(tarn_codec_header)(void)
{
    return header_values;
}

const uint32_t *EXPORT(tarn_codec_inputs)(void)
{
    return input_pairs;
}

const double *EXPORT(tarn_codec_bodies)(void)
{
    return body_values;
}

const char *EXPORT(tarn_codec_status_name)(tarn_status status)
{
    return tarn_status_name(status);
}

const char *EXPORT(tarn_codec_status_text)(tarn_status status)
{
    return tarn_status_text(status);
}

static void store_bodies(const tarn_frame_header *header)
{
    double *v = body_values;
    for (uint32_t i = 0; i < header->body_count; i++) {
        const tarn_frame_body *body = &header->bodies[i];
        *v++ = body->solid;
        for (int axis = 0; axis < 3; axis++) {
            *v++ = (double)body->position_m[axis];
        }
        for (int k = 0; k < 4; k++) {
            *v++ = (double)body->rotation[k] / TARN_FRAME_ROTATION_ONE;
        }
    }
}

static void store_header(const tarn_frame *frame)
{
    const tarn_frame_header *header = &frame->header;
    double *v = header_values;
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
}

static tarn_status open_input(uint32_t byte_count, tarn_frame *frame)
{
    if (byte_count > room.input_bytes_max) {
        return TARN_E_SPACE;
    }
    tarn_status status = tarn_frame_open((const uint8_t *)(uintptr_t)room.input, byte_count, frame);
    if (status) {
        return status;
    }
    store_header(frame);
    store_bodies(&frame->header);
    for (uint32_t i = 0; i < frame->header.input_count; i++) {
        tarn_frame_input input = tarn_frame_input_at(frame, i);
        input_pairs[2 * i] = input.viewer_id;
        input_pairs[2 * i + 1] = input.sequence;
    }
    return TARN_OK;
}

tarn_status EXPORT(tarn_codec_open)(uint32_t byte_count)
{
    tarn_frame frame;
    return open_input(byte_count, &frame);
}

tarn_status EXPORT(tarn_codec_decode)(uint32_t byte_count)
{
    tarn_frame frame;
    tarn_status status = open_input(byte_count, &frame);
    if (status == TARN_OK && frame.header.particle_count > room.particles_max) {
        // The input keeps its size, so that it and the opened frame stay where they are.
        status = lay_out(room.input_bytes_max, with_slack(frame.header.particle_count, TARN_FRAME_PARTICLES_MAX));
    }
    if (status) {
        return status;
    }
    return tarn_frame_decode(&frame, (uint16_t *)(uintptr_t)room.positions, (int8_t *)(uintptr_t)room.velocities,
                             room.particles_max);
}
