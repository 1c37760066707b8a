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
    {.name = "frame-bodies",
     .cells = {20, 17, 33},
     .input_count = 1,
     .tile_count = 2,
     .body_count = 3,
     .tiles = {{{0, 0, 0}, 5}, {{2, 2, 4}, 2}}},
    {.name = "frame-colours",
     .cells = {20, 17, 33},
     .tile_count = 3,
     .has_colours = 1,
     .tiles = {{{0, 0, 0}, 70}, {{1, 0, 0}, 0}, {{2, 2, 4}, 1}}},
    {.name = "frame-bodies-and-colours",
     .cells = {64, 64, 64},
     .input_count = 2,
     .tile_count = 2,
     .extra_header_bytes = 16,
     .body_count = TARN_FRAME_BODIES_MAX,
     .has_colours = 1,
     .tiles = {{{1, 1, 1}, 9}, {{7, 7, 7}, 4}}},
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

/// Bodies at the ends of what their numbers can be, and at random places.
static void fill_bodies(tarn_frame_header *header, uint32_t count)
{
    static const tarn_frame_body fixed[] = {
        {0, {0.0f, 0.0f, 0.0f}, {0, 0, 0, TARN_FRAME_ROTATION_ONE}},
        {7, {-0.25f, 1e3f, 3.40282347e38f}, {-TARN_FRAME_ROTATION_ONE, 0, 0, 0}},
    };
    uint64_t seed = 30;
    header->body_count = count;
    for (uint32_t i = 0; i < count; i++) {
        tarn_frame_body *body = &header->bodies[i];
        *body = fixed[i % 2];
        if (i >= 2) {
            body->solid = (uint16_t)(i < 15 ? 8 + i : UINT16_MAX);
            for (int axis = 0; axis < 3; axis++) {
                body->position_m[axis] = (float)(golden_random(&seed) >> 52) / 1024.0f;
            }
            // 9^2 + 12^2 + 20^2 = 25^2
            int16_t rotation[4] = {(int16_t)(9 * 32767 / 25), (int16_t)(-12 * 32767 / 25), (int16_t)(20 * 32767 / 25),
                                   0};
            memcpy(body->rotation, rotation, sizeof rotation);
        }
    }
}

/// Random grids and positions; the first particles sit on the corners and on the borders between nodes.
static size_t write_tile(uint64_t *seed, uint32_t count, int has_colours, uint8_t *bytes, size_t bytes_max)
{
    static const uint8_t special[] = {0, 255, 31, 32, 95, 96, 159, 160, 223, 224};
    int8_t velocities[TARN_FRAME_VELOCITY_BYTES];
    uint8_t *axes[4];
    const int columns = has_colours ? 4 : 3;
    for (int i = 0; i < TARN_FRAME_VELOCITY_BYTES; i++) {
        velocities[i] = (int8_t)((int)(golden_random(seed) >> 56) - 128);
    }
    for (int axis = 0; axis < columns; axis++) {
        axes[axis] = malloc(count + 1);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t random = golden_random(seed);
            axes[axis][i] = axis < 3 && i < 64 ? special[random % sizeof special] : (uint8_t)(random >> 56);
        }
    }
    tarn_status status = tarn_frame_write_payload(velocities, axes[0], axes[1], axes[2], has_colours ? axes[3] : NULL,
                                                  count, bytes, bytes_max);
    for (int axis = 0; axis < columns; axis++) {
        free(axes[axis]);
    }
    return status ? 0 : tarn_frame_payload_bytes((tarn_frame_coding)has_colours, count);
}

/// Makes room for header fields that this version does not know.
static size_t lengthen_header(uint8_t *bytes, size_t byte_count, uint32_t extra)
{
    const size_t header_bytes = bytes[6] | (size_t)bytes[7] << 8;
    memmove(bytes + header_bytes + extra, bytes + header_bytes, byte_count - header_bytes);
    memset(bytes + header_bytes, 0xa5, extra);
    byte_count += extra;
    bytes[6] = (uint8_t)(header_bytes + extra);
    bytes[7] = (uint8_t)((header_bytes + extra) >> 8);
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
    const tarn_frame_coding coding = frame->has_colours ? TARN_FRAME_CODING_COLOURS : TARN_FRAME_CODING_RAW;
    header.flags = frame->flags;
    fill_bodies(&header, frame->body_count);
    for (uint32_t i = 0; i < frame->input_count; i++) {
        inputs[i] = (tarn_frame_input){1000 + i, UINT32_MAX - i};
    }
    size_t byte_count = tarn_frame_head_bytes(frame->body_count, frame->input_count, frame->tile_count);
    size_t head = byte_count;
    for (uint32_t i = 0; i < frame->tile_count; i++) {
        uint32_t count = frame->tiles[i].particle_count;
        tiles[i] = (tarn_frame_tile){.coding = (uint8_t)coding,
                                     .particle_count = count,
                                     .payload_bytes = (uint32_t)tarn_frame_payload_bytes(coding, count)};
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
        head += write_tile(&seed, tiles[i].particle_count, frame->has_colours, bytes + head, bytes_max - head);
    }
    return frame->extra_header_bytes ? lengthen_header(bytes, head, frame->extra_header_bytes) : head;
}

size_t golden_frame_dense(uint16_t tiles_per_axis, uint32_t particles_per_tile, uint8_t **bytes)
{
    uint32_t tile_count = (uint32_t)tiles_per_axis * tiles_per_axis * tiles_per_axis;
    uint16_t cells = (uint16_t)(8 * tiles_per_axis);
    tarn_frame_header header = golden_header((uint16_t[3]){cells, cells, cells}, 0, tile_count);
    header.particle_count = tile_count * particles_per_tile;
    size_t used = tarn_frame_head_bytes(0, 0, tile_count);
    header.frame_bytes =
        (uint32_t)(used + tile_count * tarn_frame_payload_bytes(TARN_FRAME_CODING_RAW, particles_per_tile));
    tarn_frame_tile *tiles = calloc(tile_count, sizeof *tiles);
    *bytes = malloc(header.frame_bytes);
    for (uint32_t i = 0; i < tile_count; i++) {
        tiles[i].tile[0] = (uint16_t)(i % tiles_per_axis);
        tiles[i].tile[1] = (uint16_t)(i / tiles_per_axis % tiles_per_axis);
        tiles[i].tile[2] = (uint16_t)(i / tiles_per_axis / tiles_per_axis);
        tiles[i].particle_count = particles_per_tile;
        tiles[i].payload_bytes = (uint32_t)tarn_frame_payload_bytes(TARN_FRAME_CODING_RAW, particles_per_tile);
    }
    tarn_status status = tarn_frame_write_head(&header, NULL, tiles, *bytes, header.frame_bytes);
    free(tiles);
    uint64_t seed = 20;
    for (uint32_t i = 0; i < tile_count && status == TARN_OK; i++) {
        used += write_tile(&seed, particles_per_tile, 0, *bytes + used, header.frame_bytes - used);
    }
    return status ? 0 : used;
}
