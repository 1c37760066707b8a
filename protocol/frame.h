/// What all of Tarn knows of particle frames, the binary messages that carry a tank's state to viewers: their limits,
/// their flags, bodies and inputs. stream.h reads and writes them; SPEC.md is the authority on the bytes.
#ifndef TARN_PROTOCOL_FRAME_H
#define TARN_PROTOCOL_FRAME_H

#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TARN_FRAME_MAGIC = 0x464e5254,      ///< "TRNF" read as little-endian u32
    TARN_FRAME_VERSION = 5,             ///< newest that is read; written where a frame carries a field
    TARN_FRAME_VERSION_CHANNEL = 4,     ///< written where it carries a channel and no field
    TARN_FRAME_VERSION_PLAIN = 3,       ///< written elsewhere
    TARN_FRAME_VERSION_MIN = 2,         ///< oldest that is read: all steps are 0
    TARN_FRAME_CHANNEL_MAX = 8,         ///< largest number of a channel
    TARN_FRAME_FIELD_MAX = 8,           ///< the same of a field
    TARN_FRAME_HEADER_BYTES = 136,      ///< byte layout in stream_layout.h and SPEC.md
    TARN_FRAME_HEADER_BYTES_MAX = 1024, ///< a sender may append fields that older readers skip
    TARN_FRAME_BODY_BYTES = 24,         ///< one body, behind the header's fields and part of header_bytes
    TARN_FRAME_INPUT_BYTES = 8,         ///< one entry of the input table
    TARN_FRAME_TILE_CELLS_LOG2 = 3,     ///< a tile is a cube of 8 cells a side
    TARN_FRAME_CELLS_MAX = 2048,        ///< per axis
    TARN_FRAME_PARTICLES_MAX = 1 << 24, ///< and slots
    TARN_FRAME_TILES_MAX = 1 << 20,     ///< of the flow's grid
    TARN_FRAME_FIELD_TILES_MAX = 1 << 17,
    TARN_FRAME_INPUTS_MAX = 64,
    TARN_FRAME_BODIES_MAX = 16,
    TARN_FRAME_ROTATION_ONE = 32767, ///< what a component 1 of a body's quaternion is on the wire
};

/// Largest step and server_time_us of a frame: 2^53 - 1, so that a float64 (a JavaScript number) holds them exactly.
#define TARN_FRAME_INTEGER_MAX ((uint64_t)9007199254740991)

enum {
    TARN_FRAME_FLAG_PAUSED = 1 << 0,
    TARN_FRAME_FLAG_COLOURS = 1 << 1, ///< particles have colours
    TARN_FRAME_FLAGS_KNOWN =
        TARN_FRAME_FLAG_PAUSED | TARN_FRAME_FLAG_COLOURS, ///< the other bits are reserved and must be zero
};

/// Where a solid that moves is.
typedef struct tarn_frame_body {
    uint16_t solid;      ///< its index among the scene's, or the number of one that was added; ascends strictly
    float position_m[3]; ///< in the tank, finite
    int16_t rotation[4]; ///< unit quaternion x y z w (to 1 %), in 1/TARN_FRAME_ROTATION_ONE
} tarn_frame_body;

/// The newest input of one viewer that a frame contains.
typedef struct tarn_frame_input {
    uint32_t viewer_id;
    uint32_t sequence;
} tarn_frame_input;

#endif
