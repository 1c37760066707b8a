#include "tests/protocol/golden_frames.h"

#include <stdlib.h>
#include <string.h>

const golden_frame golden_frames[] = {
    {.name = "frame-empty", .cells = {64, 32, 64}, .flags = TARN_FRAME_FLAG_PAUSED},
    {.name = "frame-one-particle",
     .cells = {8, 8, 8},
     .input_count = 1,
     .tile_count = 1,
     .tiles = {{.tile = {0, 0, 0}, .particle_count = 1}}},
    {.name = "frame-one-tile",
     .cells = {8, 8, 8},
     .tile_count = 1,
     .tiles = {{.tile = {0, 0, 0}, .particle_count = 256}}},
    {.name = "frame-six-tiles",
     .cells = {20, 17, 33},
     .input_count = 3,
     .tile_count = 6,
     .tiles = {{{0, 0, 0}, 40}, {{2, 0, 0}, 0}, {{0, 2, 0}, 7}, {{1, 2, 0}, 33}, {{0, 0, 1}, 64}, {{2, 2, 4}, 5}}},
    {.name = "frame-largest-tank",
     .cells = {TARN_FRAME_CELLS_MAX, TARN_FRAME_CELLS_MAX, TARN_FRAME_CELLS_MAX},
     .input_count = TARN_FRAME_INPUTS_MAX,
     .tile_count = 2,
     .tiles = {{{0, 0, 0}, 3}, {{255, 255, 255}, 3}}},
    {.name = "frame-longer-header",
     .cells = {16, 16, 16},
     .input_count = 2,
     .tile_count = 1,
     .extra_header_bytes = 24,
     .tiles = {{{1, 1, 1}, 9}}},
};
const int golden_frame_count = (int)(sizeof golden_frames / sizeof golden_frames[0]);

uint64_t golden_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static tarn_frame_header golden_header(const uint16_t cells[3], uint32_t input_count, uint32_t tile_count)
{
    tarn_frame_header header = {
        .kind = TARN_FRAME_KEY,
        .epoch = 7,
        .step = 123456789012,
        .sim_time_s = 2057613150.2,
        .server_time_us = 1767225600123456,
        .realtime_factor = 0.875f,
        .tile_count = tile_count,
        .input_count = input_count,
        .cells = {cells[0], cells[1], cells[2]},
        .position_bits = TARN_FRAME_POSITION_BITS,
        .layer_count = 1,
        .cell_m = 0.03125f,
        .orientation = {0.5f, -0.5f, 0.5f, 0.5f},
        .gravity_m_s2 = {0.0f, -9.81f, 0.25f},
        .velocity_scale_m_s = 0.0625f,
    };
    return header;
}

/// Random grids and positions; the first particles sit on the corners and on the borders between nodes.
static size_t write_tile(uint64_t *seed, uint32_t count, uint8_t *bytes, size_t bytes_max)
{
    static const uint8_t special[] = {0, 255, 31, 32, 95, 96, 159, 160, 223, 224};
    int8_t velocities[TARN_FRAME_VELOCITY_BYTES];
    uint8_t *axes[3];
    for (int i = 0; i < TARN_FRAME_VELOCITY_BYTES; i++) {
        velocities[i] = (int8_t)((int)(golden_random(seed) >> 56) - 128);
    }
    for (int axis = 0; axis < 3; axis++) {
        axes[axis] = malloc(count + 1);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t random = golden_random(seed);
            axes[axis][i] = i < 64 ? special[random % sizeof special] : (uint8_t)(random >> 56);
        }
    }
    tarn_status status = tarn_frame_write_payload(velocities, axes[0], axes[1], axes[2], count, bytes, bytes_max);
    for (int axis = 0; axis < 3; axis++) {
        free(axes[axis]);
    }
    return status ? 0 : tarn_frame_payload_bytes(count);
}

/// Makes room for header fields that this version does not know.
static size_t lengthen_header(uint8_t *bytes, size_t byte_count, uint32_t extra)
{
    memmove(bytes + TARN_FRAME_HEADER_BYTES + extra, bytes + TARN_FRAME_HEADER_BYTES,
            byte_count - TARN_FRAME_HEADER_BYTES);
    memset(bytes + TARN_FRAME_HEADER_BYTES, 0xa5, extra);
    byte_count += extra;
    bytes[6] = (uint8_t)(TARN_FRAME_HEADER_BYTES + extra);
    for (int i = 0; i < 4; i++) {
        bytes[8 + i] = (uint8_t)(byte_count >> 8 * i);
    }
    return byte_count;
}

size_t golden_frame_encode(const golden_frame *frame, uint8_t *bytes, size_t bytes_max)
{
    tarn_frame_header header = golden_header(frame->cells, frame->input_count, frame->tile_count);
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    tarn_frame_tile tiles[6];
    header.flags = frame->flags;
    for (uint32_t i = 0; i < frame->input_count; i++) {
        inputs[i] = (tarn_frame_input){1000 + i, UINT32_MAX - i};
    }
    size_t byte_count = tarn_frame_head_bytes(frame->input_count, frame->tile_count), head = byte_count;
    for (uint32_t i = 0; i < frame->tile_count; i++) {
        uint32_t count = frame->tiles[i].particle_count;
        tiles[i] = (tarn_frame_tile){.particle_count = count, .payload_bytes = 192 + 3 * count};
        memcpy(tiles[i].tile, frame->tiles[i].tile, sizeof tiles[i].tile);
        header.particle_count += count;
        byte_count += tiles[i].payload_bytes;
    }
    header.frame_bytes = (uint32_t)byte_count;
    if (byte_count + frame->extra_header_bytes > bytes_max ||
        tarn_frame_write_head(&header, inputs, tiles, bytes, bytes_max)) {
        return 0;
    }
    uint64_t seed = 20;
    for (uint32_t i = 0; i < frame->tile_count; i++) {
        head += write_tile(&seed, tiles[i].particle_count, bytes + head, bytes_max - head);
    }
    return frame->extra_header_bytes ? lengthen_header(bytes, head, frame->extra_header_bytes) : head;
}

size_t golden_frame_dense(uint16_t tiles_per_axis, uint32_t particles_per_tile, uint8_t **bytes)
{
    uint32_t tile_count = (uint32_t)tiles_per_axis * tiles_per_axis * tiles_per_axis;
    uint16_t cells = (uint16_t)(8 * tiles_per_axis);
    tarn_frame_header header = golden_header((uint16_t[3]){cells, cells, cells}, 0, tile_count);
    header.particle_count = tile_count * particles_per_tile;
    header.frame_bytes = (uint32_t)tarn_frame_bound(0, tile_count, header.particle_count);
    tarn_frame_tile *tiles = calloc(tile_count, sizeof *tiles);
    *bytes = malloc(header.frame_bytes);
    for (uint32_t i = 0; i < tile_count; i++) {
        tiles[i].tile[0] = (uint16_t)(i % tiles_per_axis);
        tiles[i].tile[1] = (uint16_t)(i / tiles_per_axis % tiles_per_axis);
        tiles[i].tile[2] = (uint16_t)(i / tiles_per_axis / tiles_per_axis);
        tiles[i].particle_count = particles_per_tile;
        tiles[i].payload_bytes = (uint32_t)tarn_frame_payload_bytes(particles_per_tile);
    }
    tarn_status status = tarn_frame_write_head(&header, NULL, tiles, *bytes, header.frame_bytes);
    free(tiles);
    size_t used = tarn_frame_head_bytes(0, tile_count);
    uint64_t seed = 20;
    for (uint32_t i = 0; i < tile_count && status == TARN_OK; i++) {
        used += write_tile(&seed, particles_per_tile, *bytes + used, header.frame_bytes - used);
    }
    return status ? 0 : used;
}
