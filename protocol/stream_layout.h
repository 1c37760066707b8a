/// Where each field of a frame's head lies. Private to the codec, its tests and `tarn load`; SPEC.md and STREAM.md show
/// the same tables, and a test compares them.
#ifndef TARN_PROTOCOL_STREAM_LAYOUT_H
#define TARN_PROTOCOL_STREAM_LAYOUT_H

#include "protocol/bytes.h"
#include "protocol/stream.h"

// X(identifier, name in the documents, offset, type)
#define TARN_STREAM_HEADER_FIELDS(X)                                                                                   \
    X(MAGIC, "magic", 0, "u32")                                                                                        \
    X(VERSION, "version", 4, "u16")                                                                                    \
    X(HEADER_BYTES, "header_bytes", 6, "u16")                                                                          \
    X(FRAME_BYTES, "frame_bytes", 8, "u32")                                                                            \
    X(KIND, "kind", 12, "u8")                                                                                          \
    X(PLACE_BITS, "place_bits", 13, "u8")                                                                              \
    X(LAYER_COUNT, "layer_count", 14, "u8")                                                                            \
    X(TILE_CELLS_LOG2, "tile_cells_log2", 15, "u8")                                                                    \
    X(FLAGS, "flags", 16, "u32")                                                                                       \
    X(EPOCH, "epoch", 20, "u32")                                                                                       \
    X(STEP, "step", 24, "u64")                                                                                         \
    X(SIM_TIME, "sim_time_s", 32, "f64")                                                                               \
    X(SERVER_TIME, "server_time_us", 40, "u64")                                                                        \
    X(REALTIME_FACTOR, "realtime_factor", 48, "f32")                                                                   \
    X(NUMBER, "number", 52, "u32")                                                                                     \
    X(REFERENCE, "reference", 56, "u32")                                                                               \
    X(INTERVAL_STEPS, "interval_steps", 60, "u32")                                                                     \
    X(CELLS, "cells", 64, "u16[3]")                                                                                    \
    X(INPUT_COUNT, "input_count", 70, "u16")                                                                           \
    X(CELL_M, "cell_m", 72, "f32")                                                                                     \
    X(ORIENTATION, "orientation", 76, "f32[4]")                                                                        \
    X(GRAVITY, "gravity_m_s2", 92, "f32[3]")                                                                           \
    X(INTERVAL_S, "interval_s", 104, "f32")                                                                            \
    X(FLOW_TILES, "flow_tiles", 108, "u32")                                                                            \
    X(FLOW_BYTES, "flow_bytes", 112, "u32")                                                                            \
    X(FLOW_TILES_MAX, "flow_tiles_max", 116, "u32")                                                                    \
    X(BODY_COUNT, "body_count", 120, "u32")                                                                            \
    X(RESIDUAL_STEP, "residual_step", 124, "u16")                                                                      \
    X(FLOW_STEP, "flow_step", 126, "u8")                                                                               \
    X(CHANNEL, "channel", 127, "u8")                                                                                   \
    X(CHANNEL_LOW, "channel_low", 128, "f32")                                                                          \
    X(CHANNEL_HIGH, "channel_high", 132, "f32")

#define TARN_STREAM_LAYER_FIELDS(X)                                                                                    \
    X(BYTES, "bytes", 0, "u32")                                                                                        \
    X(SLOTS, "slots", 4, "u32")                                                                                        \
    X(PARTICLES, "particles", 8, "u32")                                                                                \
    X(SLOTS_MAX, "slots_max", 12, "u32")

#define TARN_STREAM_FIELD_FIELDS(X)                                                                                    \
    X(NUMBER, "field", 0, "u8")                                                                                        \
    X(REST, "rest", 1, "u8")                                                                                           \
    X(KINDS, "is_kinds", 2, "u16")                                                                                     \
    X(LOW, "field_low", 4, "f32")                                                                                      \
    X(HIGH, "field_high", 8, "f32")                                                                                    \
    X(TILES, "field_tiles", 12, "u32")                                                                                 \
    X(TILES_MAX, "field_tiles_max", 16, "u32")                                                                         \
    X(COARSE_BYTES, "coarse_bytes", 20, "u32")                                                                         \
    X(FINE_BYTES, "fine_bytes", 24, "u32")

#define TARN_FRAME_BODY_FIELDS(X)                                                                                      \
    X(SOLID, "solid", 0, "u16")                                                                                        \
    X(RESERVED, "reserved", 2, "u16")                                                                                  \
    X(POSITION, "position_m", 4, "f32[3]")                                                                             \
    X(ROTATION, "rotation", 16, "i16[4]")

#define TARN_FRAME_INPUT_FIELDS(X)                                                                                     \
    X(VIEWER_ID, "viewer_id", 0, "u32")                                                                                \
    X(SEQUENCE, "sequence", 4, "u32")

enum {
#define TARN_STREAM_AT(id, name, offset, type) STREAM_AT_##id = offset,
    TARN_STREAM_HEADER_FIELDS(TARN_STREAM_AT)
#undef TARN_STREAM_AT
#define TARN_STREAM_AT(id, name, offset, type) BODY_AT_##id = offset,
        TARN_FRAME_BODY_FIELDS(TARN_STREAM_AT)
#undef TARN_STREAM_AT
#define TARN_STREAM_AT(id, name, offset, type) INPUT_AT_##id = offset,
            TARN_FRAME_INPUT_FIELDS(TARN_STREAM_AT)
#undef TARN_STREAM_AT
#define TARN_STREAM_AT(id, name, offset, type) LAYER_AT_##id = offset,
                TARN_STREAM_LAYER_FIELDS(TARN_STREAM_AT)
#undef TARN_STREAM_AT
#define TARN_STREAM_AT(id, name, offset, type) FIELD_AT_##id = offset,
                    TARN_STREAM_FIELD_FIELDS(TARN_STREAM_AT)
#undef TARN_STREAM_AT
};

/// Ranges of the head's fields, whichever way the frame goes.
/// @return TARN_OK, TARN_E_VERSION, TARN_E_LIMIT or TARN_E_MALFORMED
tarn_status tarn_stream_check_head(const tarn_stream_head *head);

#endif
