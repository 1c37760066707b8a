/// The only place where `tarn load` knows what a frame looks like: its head, read while the rest is still on its way,
/// what a viewer's frames have to do with one another, and their decoding.
#ifndef TARN_SERVER_TOOL_LOAD_FRAME_H
#define TARN_SERVER_TOOL_LOAD_FRAME_H

#include "protocol/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOAD_FRAME_MAGIC_BYTES = 4, ///< that tell a frame from a message
    LOAD_FRAME_HEAD_BYTES_MAX = TARN_FRAME_HEADER_BYTES_MAX + TARN_FRAME_INPUTS_MAX * TARN_FRAME_INPUT_BYTES +
                                TARN_STREAM_LAYERS_MAX * TARN_STREAM_LAYER_BYTES + TARN_STREAM_FIELD_BYTES,
    LOAD_FRAME_BYTES_MAX = 64 << 20,
    LOAD_FRAME_KINDS = TARN_STREAM_EXTRA + 1,
};

/// What decoding one viewer's frames may take.
#define LOAD_DECODER_BYTES_MAX ((size_t)2 << 30)

/// What the head says of the frame, and its input table as it came, which points into the reader's bytes.
typedef struct load_frame_head {
    tarn_stream_kind kind;
    uint32_t epoch;
    uint64_t step;
    uint32_t number, reference;
    uint32_t layers; ///< that are there
    uint32_t input_count;
    const uint8_t *inputs;
} load_frame_head;

/// @param bytes  LOAD_FRAME_MAGIC_BYTES or more
bool load_frame_begins(const uint8_t *bytes);

/// Reads the head out of the first bytes of a frame.
/// @param byte_count   what there is: min(frame_bytes, LOAD_FRAME_HEAD_BYTES_MAX) is always enough
/// @param frame_bytes  of the frame as it was sent, as the WebSocket says
/// @return TARN_OK, or why it isn't a frame that this program reads
tarn_status load_frame_head_read(const uint8_t *bytes, size_t byte_count, uint64_t frame_bytes, load_frame_head *head);

/// The newest input of a viewer that the frame contains; 0: the frame doesn't say.
uint32_t load_frame_input_of(const load_frame_head *head, uint32_t viewer_id);

/// What a viewer was sent, as far as the next frame depends on it. All zero: nothing.
typedef struct load_chain {
    bool begun;         ///< with a key frame
    uint32_t epoch;     ///< of all since the last key frame
    uint32_t number;    ///< of the newest frame
    uint32_t reference; ///< number of the newest key or base frame
    uint64_t step;
} load_chain;

/// Notes the next frame that a viewer is sent. @return NULL, or what is wrong with sending that frame to it, for people
const char *load_chain_follow(load_chain *chain, const load_frame_head *head);

/// Decodes one viewer's frames, in their order and from a key frame on. All zero to begin with; its memory grows as
/// key frames ask for it, up to LOAD_DECODER_BYTES_MAX.
typedef struct load_decoder {
    void *memory;
    tarn_stream *stream;
    tarn_stream_particles particles;
} load_decoder;

void load_decoder_free(load_decoder *decoder);

/// Opens and decodes a frame, and looks whether all particles that it announces are there and inside the tank.
/// @return TARN_OK, TARN_E_MEMORY, TARN_E_LIMIT, or what is wrong with the frame
tarn_status load_decoder_decode(load_decoder *decoder, const uint8_t *bytes, size_t byte_count);

#endif
