// The exports of codec.wasm; README.md describes them. Freestanding: no libc, no imports. Open codec_room.h next.
#include "protocol/wasm/codec_stream.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

enum { ABI = 6 };

int EXPORT(tarn_codec_abi)(void)
{
    return ABI;
}

tarn_status EXPORT(tarn_codec_reserve)(uint32_t input_bytes, uint32_t particles)
{
    const codec_room *room = &tarn_codec_room;
    if (input_bytes > CODEC_INPUT_BYTES_MAX || particles > TARN_FRAME_PARTICLES_MAX) {
        return TARN_E_LIMIT;
    }
    if (room->input && input_bytes <= room->input_bytes_max && particles <= room->particles_max) {
        return TARN_OK;
    }
    uint64_t bytes =
        input_bytes > room->input_bytes_max ? tarn_codec_with_slack(input_bytes, CODEC_INPUT_BYTES_MAX) : 0;
    uint64_t count = particles > room->particles_max ? tarn_codec_with_slack(particles, TARN_FRAME_PARTICLES_MAX) : 0;
    return tarn_codec_lay_out(0, bytes, count);
}

uint32_t EXPORT(tarn_codec_input)(void)
{
    return tarn_codec_room.input;
}

uint32_t EXPORT(tarn_codec_positions)(void)
{
    return tarn_codec_room.positions;
}

uint32_t EXPORT(tarn_codec_velocities)(void)
{
    return tarn_codec_room.velocities;
}

uint32_t EXPORT(tarn_codec_particles_max)(void)
{
    return tarn_codec_room.particles_max;
}

const double *EXPORT(tarn_codec_header)(void)
{
    return tarn_codec_header_values;
}

const uint32_t *EXPORT(tarn_codec_inputs)(void)
{
    return tarn_codec_input_pairs;
}

const double *EXPORT(tarn_codec_bodies)(void)
{
    return tarn_codec_body_values;
}

const char *EXPORT(tarn_codec_status_name)(tarn_status status)
{
    return tarn_status_name(status);
}

const char *EXPORT(tarn_codec_status_text)(tarn_status status)
{
    return tarn_status_text(status);
}

tarn_status EXPORT(tarn_codec_open)(uint32_t byte_count)
{
    return byte_count <= tarn_codec_room.input_bytes_max ? tarn_codec_stream_open(byte_count) : TARN_E_SPACE;
}

void EXPORT(tarn_codec_show_curl)(float top_per_s)
{
    tarn_codec_stream_show_curl(top_per_s);
}

const uint8_t *EXPORT(tarn_codec_field_plane)(uint32_t z)
{
    return tarn_codec_stream_field_plane(z);
}

tarn_status EXPORT(tarn_codec_decode)(uint32_t byte_count)
{
    return byte_count <= tarn_codec_room.input_bytes_max ? tarn_codec_stream_decode(byte_count) : TARN_E_SPACE;
}
