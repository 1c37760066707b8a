/// Where each field of a frame's head lies. Private to the codec and its tests;
/// SPEC.md shows the same tables, and a test compares the two.
#ifndef TARN_PROTOCOL_FRAME_LAYOUT_H
#define TARN_PROTOCOL_FRAME_LAYOUT_H

#include "protocol/bytes.h"
#include "protocol/frame.h"

// X(identifier, name in SPEC.md, offset, type)
#define TARN_FRAME_HEADER_FIELDS(X)                                                                                    \
    X(MAGIC, "magic", 0, "u32")                                                                                        \
    X(VERSION, "version", 4, "u16")                                                                                    \
    X(HEADER_BYTES, "header_bytes", 6, "u16")                                                                          \
    X(FRAME_BYTES, "frame_bytes", 8, "u32")                                                                            \
    X(KIND, "kind", 12, "u8")                                                                                          \
    X(POSITION_BITS, "position_bits", 13, "u8")                                                                        \
    X(LAYER_COUNT, "layer_count", 14, "u8")                                                                            \
    X(VELOCITY_NODES, "velocity_nodes", 15, "u8")                                                                      \
    X(FLAGS, "flags", 16, "u32")                                                                                       \
    X(EPOCH, "epoch", 20, "u32")                                                                                       \
    X(STEP, "step", 24, "u64")                                                                                         \
    X(SIM_TIME, "sim_time_s", 32, "f64")                                                                               \
    X(SERVER_TIME, "server_time_us", 40, "u64")                                                                        \
    X(REALTIME_FACTOR, "realtime_factor", 48, "f32")                                                                   \
    X(PARTICLE_COUNT, "particle_count", 52, "u32")                                                                     \
    X(TILE_COUNT, "tile_count", 56, "u32")                                                                             \
    X(INPUT_COUNT, "input_count", 60, "u32")                                                                           \
    X(CELLS, "cells", 64, "u16[3]")                                                                                    \
    X(TILE_CELLS_LOG2, "tile_cells_log2", 70, "u8")                                                                    \
    X(TILE_BYTES, "tile_bytes", 71, "u8")                                                                              \
    X(CELL_M, "cell_m", 72, "f32")                                                                                     \
    X(ORIENTATION, "orientation", 76, "f32[4]")                                                                        \
    X(GRAVITY, "gravity_m_s2", 92, "f32[3]")                                                                           \
    X(VELOCITY_SCALE, "velocity_scale_m_s", 104, "f32")                                                                \
    X(RESERVED, "reserved", 108, "u8[12]")                                                                             \
    X(BODY_COUNT, "body_count", 120, "u32")                                                                            \
    X(UNUSED, "unused", 124, "u8[12]")

#define TARN_FRAME_BODY_FIELDS(X)                                                                                      \
    X(SOLID, "solid", 0, "u16")                                                                                        \
    X(RESERVED, "reserved", 2, "u16")                                                                                  \
    X(POSITION, "position_m", 4, "f32[3]")                                                                             \
    X(ROTATION, "rotation", 16, "i16[4]")

#define TARN_FRAME_TILE_FIELDS(X)                                                                                      \
    X(TILE, "tile", 0, "u16[3]")                                                                                       \
    X(LAYER, "layer", 6, "u8")                                                                                         \
    X(CODING, "coding", 7, "u8")                                                                                       \
    X(PARTICLE_COUNT, "particle_count", 8, "u32")                                                                      \
    X(PAYLOAD_BYTES, "payload_bytes", 12, "u32")

#define TARN_FRAME_INPUT_FIELDS(X)                                                                                     \
    X(VIEWER_ID, "viewer_id", 0, "u32")                                                                                \
    X(SEQUENCE, "sequence", 4, "u32")

enum {
#define TARN_FRAME_AT(id, name, offset, type) FRAME_AT_##id = offset,
    TARN_FRAME_HEADER_FIELDS(TARN_FRAME_AT)
#undef TARN_FRAME_AT
#define TARN_FRAME_AT(id, name, offset, type) BODY_AT_##id = offset,
        TARN_FRAME_BODY_FIELDS(TARN_FRAME_AT)
#undef TARN_FRAME_AT
#define TARN_FRAME_AT(id, name, offset, type) TILE_AT_##id = offset,
            TARN_FRAME_TILE_FIELDS(TARN_FRAME_AT)
#undef TARN_FRAME_AT
#define TARN_FRAME_AT(id, name, offset, type) INPUT_AT_##id = offset,
                TARN_FRAME_INPUT_FIELDS(TARN_FRAME_AT)
#undef TARN_FRAME_AT
};

/// Ranges of the header's fields, whichever way the frame goes.
/// @return TARN_OK, TARN_E_VERSION, TARN_E_LIMIT or TARN_E_MALFORMED
tarn_status tarn_frame_check_header(const tarn_frame_header *header);

/// Checks a tile table entry by entry: order, place, coding, sums.
typedef struct tarn_frame_tile_check {
    uint16_t tiles[3];       ///< of the tank
    uint8_t coding;          ///< of the first tile, which the others share
    uint64_t next_key;       ///< smallest z-major key that the next tile may have; 0 before the first
    uint32_t particles_left; ///< of header.particle_count
    size_t payload_bytes_left;
} tarn_frame_tile_check;

void tarn_frame_tile_check_begin(tarn_frame_tile_check *check, const tarn_frame_header *header, size_t payloads_bytes);
tarn_status tarn_frame_tile_check_next(tarn_frame_tile_check *check, const tarn_frame_tile *tile);
tarn_status tarn_frame_tile_check_end(const tarn_frame_tile_check *check);

#endif
