/// Particle frames: the binary messages that carry a tank's state to viewers. SPEC.md is the authority on the bytes;
/// this header is the C interface to it.
///
/// A frame is a header with the poses of the tank's bodies, a table of the inputs it contains, a table of tiles, and
/// one payload per tile. A tile is a cube of 8 cells a side. A tile's payload holds the coarse velocity grid of the
/// tile and its particles' quantized positions, and their colours where the tank has any; it decodes without any other
/// tile and any other frame.
///
///     | head: header, bodies, input table, tile table | payload of tile 0 | payload of tile 1 | ...
///
/// The reader allocates nothing, uses no libc and no floating-point libm: it is compiled both natively and as
/// WebAssembly. Nothing in a frame is trusted: tarn_frame_open checks every count, size and sum before anything is
/// decoded, after which decoding cannot read outside the buffer.
#ifndef TARN_PROTOCOL_FRAME_H
#define TARN_PROTOCOL_FRAME_H

#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TARN_FRAME_MAGIC = 0x464e5254, ///< "TRNF" read as little-endian u32
    TARN_FRAME_VERSION = 1,
    TARN_FRAME_HEADER_BYTES = 136,             ///< of version 1; byte layout in frame_layout.h and SPEC.md
    TARN_FRAME_HEADER_BYTES_MAX = 1024,        ///< a sender may append fields that older readers skip
    TARN_FRAME_BODY_BYTES = 24,                ///< one body, behind the header's fields and part of header_bytes
    TARN_FRAME_INPUT_BYTES = 8,                ///< one entry of the input table
    TARN_FRAME_TILE_BYTES = 16,                ///< one entry of the tile table
    TARN_FRAME_TILE_CELLS_LOG2 = 3,            ///< 8 cells a side
    TARN_FRAME_VELOCITY_NODES = 4,             ///< per axis and tile: one node per 2 cells, at its centre
    TARN_FRAME_VELOCITY_BYTES = 3 * 4 * 4 * 4, ///< int8 u[z][y][x], then v, then w
    TARN_FRAME_POSITION_BITS = 8,              ///< per axis inside a tile: 1/32 of a cell
    TARN_FRAME_CELLS_MAX = 2048,               ///< per axis, so that a tank position fits 16 bits
    TARN_FRAME_PARTICLES_MAX = 1 << 24,
    TARN_FRAME_TILES_MAX = 1 << 20,
    TARN_FRAME_INPUTS_MAX = 64,
    TARN_FRAME_BODIES_MAX = 16,
    TARN_FRAME_ROTATION_ONE = 32767, ///< what a component 1 of a body's quaternion is on the wire
};

/// Largest step and server_time_us of a frame: 2^53 - 1, so that a float64 (a JavaScript number) holds them exactly.
#define TARN_FRAME_INTEGER_MAX ((uint64_t)9007199254740991)

typedef enum tarn_frame_kind {
    TARN_FRAME_KEY = 0,   ///< needs no other frame
    TARN_FRAME_DELTA = 1, ///< reserved; version 1 readers refuse it with TARN_E_VERSION
} tarn_frame_kind;

enum {
    TARN_FRAME_FLAG_PAUSED = 1 << 0,
    TARN_FRAME_FLAGS_KNOWN = TARN_FRAME_FLAG_PAUSED, ///< the other bits are reserved and must be zero
};

/// How a payload's bytes are laid out.
typedef enum tarn_frame_coding {
    TARN_FRAME_CODING_RAW = 0,     ///< velocities and positions as plain bytes
    TARN_FRAME_CODING_COLOURS = 1, ///< the same, and one byte of colour per particle
} tarn_frame_coding;

/// Where a solid that moves is.
typedef struct tarn_frame_body {
    uint16_t solid;      ///< its index among the scene's solids; ascends strictly within a frame
    float position_m[3]; ///< in the tank, finite
    int16_t rotation[4]; ///< unit quaternion x y z w (to 1 %), in 1/TARN_FRAME_ROTATION_ONE
} tarn_frame_body;

/// What a frame says of the tank as a whole.
typedef struct tarn_frame_header {
    uint8_t kind; ///< tarn_frame_kind
    uint32_t flags;
    uint32_t frame_bytes;     ///< of the whole frame
    uint32_t epoch;           ///< changes whenever the tank starts afresh (reset, scene, worker) or is set back
    uint64_t step;            ///< steps since the tank started afresh, <= TARN_FRAME_INTEGER_MAX
    double sim_time_s;        ///< simulated seconds since the tank started afresh, >= 0
    uint64_t server_time_us;  ///< Unix time at which the step finished, <= TARN_FRAME_INTEGER_MAX
    float realtime_factor;    ///< simulated seconds per second, over the last second or so, >= 0; 1 keeps up
    uint32_t particle_count;  ///< 0..TARN_FRAME_PARTICLES_MAX
    uint32_t tile_count;      ///< 0..TARN_FRAME_TILES_MAX
    uint32_t input_count;     ///< 0..TARN_FRAME_INPUTS_MAX
    uint16_t cells[3];        ///< of the tank, 1..TARN_FRAME_CELLS_MAX
    uint8_t position_bits;    ///< TARN_FRAME_POSITION_BITS in version 1
    uint8_t layer_count;      ///< 1 in version 1
    float cell_m;             ///< edge of a cell, metres, > 0
    float orientation[4];     ///< unit quaternion x y z w (to 1 %): turns tank axes into the room's
    float gravity_m_s2[3];    ///< in tank axes, finite
    float velocity_scale_m_s; ///< metres per second of one unit of the velocity grid, >= 0
    uint32_t body_count;      ///< 0..TARN_FRAME_BODIES_MAX
    tarn_frame_body bodies[TARN_FRAME_BODIES_MAX];
} tarn_frame_header;

/// The newest input of one viewer that this frame contains.
typedef struct tarn_frame_input {
    uint32_t viewer_id;
    uint32_t sequence;
} tarn_frame_input;

typedef struct tarn_frame_tile {
    uint16_t tile[3];        ///< position in tiles
    uint8_t layer;           ///< 0 in version 1
    uint8_t coding;          ///< tarn_frame_coding, the same for all tiles of a frame; the other values are reserved
    uint32_t particle_count; ///< may be 0
    uint32_t payload_bytes;  ///< tarn_frame_payload_bytes(coding, particle_count)
} tarn_frame_tile;

/// A validated frame. Points into the caller's buffer, which must outlive it.
typedef struct tarn_frame {
    tarn_frame_header header;
    const uint8_t *inputs;   ///< the input table's bytes
    const uint8_t *tiles;    ///< the tile table's bytes
    const uint8_t *payloads; ///< the first tile's payload
    size_t payloads_bytes;
    int has_colours; ///< the tiles are of TARN_FRAME_CODING_COLOURS; 0 without tiles
} tarn_frame;

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of the head (header, bodies, input table, tile table).
size_t tarn_frame_head_bytes(uint32_t body_count, uint32_t input_count, uint32_t tile_count);

/// Bytes of a tile payload with so many particles.
size_t tarn_frame_payload_bytes(tarn_frame_coding coding, uint32_t particle_count);

/// Upper bound of a whole frame's bytes, with as many bodies as there may be.
size_t tarn_frame_bound(tarn_frame_coding coding, uint32_t input_count, uint32_t tile_count, uint32_t particle_count);

/// Writes the head. The caller puts the payloads behind it, in the order of the tile table.
/// Checks what tarn_frame_open checks, so that a head written here is one that opens: every range, the order of the
/// tiles, their codings, the sums of particle_count, and frame_bytes = head + payloads.
/// @param inputs  header->input_count entries; may be NULL when that is 0
/// @param tiles   header->tile_count entries; may be NULL when that is 0
/// @return TARN_OK, TARN_E_SPACE (bytes_max < tarn_frame_head_bytes) or TARN_E_ARGUMENT
tarn_status tarn_frame_write_head(const tarn_frame_header *header, const tarn_frame_input *inputs,
                                  const tarn_frame_tile *tiles, uint8_t *bytes, size_t bytes_max);

/// Writes one payload: the reference for encoders, which are free to write the same bytes elsewhere.
/// @param velocities  TARN_FRAME_VELOCITY_BYTES values: u[z][y][x], then v, then w
/// @param x, y, z     particle_count offsets inside the tile each, in 1/32 cell
/// @param colours     tarn_frame_colour of each particle; NULL: the payload is of TARN_FRAME_CODING_RAW
/// @return TARN_OK or TARN_E_SPACE (bytes_max < tarn_frame_payload_bytes)
tarn_status tarn_frame_write_payload(const int8_t *velocities, const uint8_t *x, const uint8_t *y, const uint8_t *z,
                                     const uint8_t *colours, uint32_t particle_count, uint8_t *bytes, size_t bytes_max);

/// Validates a frame completely: sizes, ranges, reserved bits, tile positions inside the tank and strictly ascending in
/// z-major order ((z, y, x) ascending), sums of counts and of payload bytes.
/// @return TARN_OK, TARN_E_TRUNCATED, TARN_E_MALFORMED, TARN_E_VERSION or TARN_E_LIMIT; *frame is set only on TARN_OK
tarn_status tarn_frame_open(const uint8_t *bytes, size_t byte_count, tarn_frame *frame);

/// Entry `index` of the input table, index < header.input_count.
tarn_frame_input tarn_frame_input_at(const tarn_frame *frame, uint32_t index);

/// Entry `index` of the tile table, index < header.tile_count.
tarn_frame_tile tarn_frame_tile_at(const tarn_frame *frame, uint32_t index);

/// Decodes all particles, in the order of the tiles.
/// @param positions   4 x uint16 per particle: x, y, z in 1/32 cell (a particle sits at (q + 0.5)/32 cells), then the
///                    colour as red << 5 | green << 2 | blue, 0 where the frame has no colours
/// @param velocities  4 x int8 per particle: the velocity grid interpolated trilinearly inside the tile, in units of
///                    velocity_scale_m_s, then the layer
/// @param particles_max  what both arrays hold
/// @return TARN_OK or TARN_E_SPACE
tarn_status tarn_frame_decode(const tarn_frame *frame, uint16_t *positions, int8_t *velocities, uint32_t particles_max);

#ifdef __cplusplus
}
#endif
#endif
