/// What the parts of codec.wasm share: the memory behind the static data, and where a frame's head is handed out.
///
///     | stack, static data | decoder | input | positions | velocities |
///
/// It grows and is never given back. The decoder's state holds addresses of its own memory and lives from frame to
/// frame; so it comes first, where nothing that grows moves it.
#ifndef TARN_PROTOCOL_WASM_CODEC_ROOM_H
#define TARN_PROTOCOL_WASM_CODEC_ROOM_H

#include "protocol/frame.h"
#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CODEC_HEADER_VALUES = 43,
    CODEC_BODY_VALUES = 8,
    CODEC_ALIGN_BYTES = 16,
    CODEC_MEMORY_BYTES_MAX = 512 << 20, ///< what the module is linked with
    CODEC_INPUT_BYTES_MAX = 256 << 20,  ///< more than a frame of TARN_FRAME_PARTICLES_MAX particles takes
};

typedef struct codec_room {
    uint32_t decoder, input, positions, velocities; ///< addresses
    uint32_t decoder_bytes_max, input_bytes_max, particles_max;
} codec_room;

extern codec_room tarn_codec_room;

/// README.md says what is where.
extern double tarn_codec_header_values[CODEC_HEADER_VALUES];
extern double tarn_codec_body_values[CODEC_BODY_VALUES * TARN_FRAME_BODIES_MAX];
extern uint32_t tarn_codec_input_pairs[2 * TARN_FRAME_INPUTS_MAX];

/// `wanted` and a quarter to spare, at most `max`.
uint64_t tarn_codec_with_slack(uint64_t wanted, uint64_t max);

/// Lays the room out for at least so much of each; what it has is never made smaller. The decoder's state stays, unless
/// it is the decoder that grows; the input's bytes are moved with it then. What the arrays held is lost.
/// @return TARN_OK; TARN_E_LIMIT: more than 512 MiB, or TARN_E_MEMORY: the engine refuses; nothing has changed then
tarn_status tarn_codec_lay_out(uint64_t decoder_bytes, uint64_t input_bytes, uint64_t particles);

#endif
