// Lays out what is behind the static data and makes the memory grow: start at tarn_codec_lay_out.
#include "protocol/wasm/codec_room.h"

#include <stdbool.h>

enum { PAGE_BYTES = 65536 };

extern uint8_t __heap_base; // the linker's: the first byte that is free

#define ALIGNED __attribute__((aligned(CODEC_ALIGN_BYTES)))
codec_room tarn_codec_room;
double tarn_codec_header_values[CODEC_HEADER_VALUES] ALIGNED;
double tarn_codec_body_values[CODEC_BODY_VALUES * TARN_FRAME_BODIES_MAX] ALIGNED;
uint32_t tarn_codec_input_pairs[2 * TARN_FRAME_INPUTS_MAX] ALIGNED;

static uint64_t align(uint64_t address)
{
    return (address + CODEC_ALIGN_BYTES - 1) & ~(uint64_t)(CODEC_ALIGN_BYTES - 1);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t tarn_codec_with_slack(uint64_t wanted, uint64_t max)
{
    uint64_t slack = wanted + wanted / 4;
    return slack < max ? slack : max;
}

/// Makes the memory reach `end`. @return false where the engine refuses
static bool grow_to(uint64_t end)
{
    uint64_t pages = __builtin_wasm_memory_size(0), wanted = (end + PAGE_BYTES - 1) / PAGE_BYTES;
    return wanted <= pages || __builtin_wasm_memory_grow(0, (size_t)(wanted - pages)) != (size_t)-1;
}

tarn_status tarn_codec_lay_out(uint64_t decoder_bytes, uint64_t input_bytes, uint64_t particles)
{
    codec_room *room = &tarn_codec_room;
    const uint64_t decoder_max = larger(decoder_bytes, room->decoder_bytes_max);
    const uint64_t input_max = larger(input_bytes, room->input_bytes_max);
    const uint64_t count = larger(particles, room->particles_max);
    const uint64_t decoder = align((uint64_t)(uintptr_t)&__heap_base);
    const uint64_t input = align(decoder + decoder_max);
    const uint64_t positions = align(input + input_max);
    const uint64_t velocities = align(positions + 8 * count);
    const uint64_t end = align(velocities + 4 * count);
    if (end > CODEC_MEMORY_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    if (!grow_to(end)) {
        return TARN_E_MEMORY;
    }
    if (room->input != 0 && room->input != input) {
        __builtin_memmove((void *)(uintptr_t)input, (const void *)(uintptr_t)room->input, room->input_bytes_max);
    }
    *room = (codec_room){
        .decoder = (uint32_t)decoder,
        .input = (uint32_t)input,
        .positions = (uint32_t)positions,
        .velocities = (uint32_t)velocities,
        .decoder_bytes_max = (uint32_t)decoder_max,
        .input_bytes_max = (uint32_t)input_max,
        .particles_max = (uint32_t)count,
    };
    return TARN_OK;
}
