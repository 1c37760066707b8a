/// The only place where `tarn load` knows what a frame looks like: its head, read while the rest is still on its way,
/// and its check as a whole.
#ifndef TARN_SERVER_TOOL_LOAD_FRAME_H
#define TARN_SERVER_TOOL_LOAD_FRAME_H

#include "protocol/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOAD_FRAME_MAGIC_BYTES = 4, ///< that tell a frame from a message
    LOAD_FRAME_HEAD_BYTES_MAX = TARN_FRAME_HEADER_BYTES_MAX + TARN_FRAME_INPUTS_MAX * TARN_FRAME_INPUT_BYTES,
    LOAD_FRAME_BYTES_MAX = 64 << 20,
};

/// Header and input table, as they came; points into the reader's bytes.
typedef struct load_frame_head {
    uint32_t epoch;
    uint64_t step;
    uint32_t input_count;
    const uint8_t *inputs;
} load_frame_head;

/// @param bytes  LOAD_FRAME_MAGIC_BYTES or more
bool load_frame_begins(const uint8_t *bytes);

/// Reads the head out of the first bytes of a frame.
/// @param byte_count   what there is: min(frame_bytes, LOAD_FRAME_HEAD_BYTES_MAX) is always enough
/// @param frame_bytes  of the whole frame, as the WebSocket says
/// @return TARN_OK, or why it isn't a frame that this program reads
tarn_status load_frame_head_read(const uint8_t *bytes, size_t byte_count, uint64_t frame_bytes, load_frame_head *head);

/// The newest input of a viewer that the frame contains; 0: the frame doesn't say.
uint32_t load_frame_input_of(const load_frame_head *head, uint32_t viewer_id);

/// Room that checks decode into; grows as frames need it. All zero to begin with.
typedef struct load_frame_room {
    uint16_t *positions;
    int8_t *velocities;
    uint32_t particles;
} load_frame_room;

void load_frame_room_free(load_frame_room *room);

/// Opens and decodes a whole frame and looks whether all particles are inside the tank.
/// @return TARN_OK, TARN_E_MEMORY, or what is wrong with the frame
tarn_status load_frame_check(const uint8_t *bytes, size_t byte_count, load_frame_room *room);

#endif
