/// A decoder's part for fields. Private to the codec.
#ifndef TARN_PROTOCOL_FIELD_DECODE_H
#define TARN_PROTOCOL_FIELD_DECODE_H

#include "protocol/stream.h"

#include <stdbool.h>

typedef struct field_tiles {
    uint32_t *index; ///< [tiles of the tank]
    uint32_t *tile;  ///< [count] ascending
    uint8_t *levels; ///< fine ones of all tiles, then coarse ones
    uint32_t count;
    int32_t rest;
} field_tiles;

typedef struct field_decoder {
    field_tiles tiles[2];    ///< [reference]: of the last key or base frame; the other: of the frame in hand
    int reference, shown;    ///< shown: of the last frame
    tarn_stream_field chain; ///< as the last key frame said
    uint32_t tank_tiles[3];
    int32_t cells[3];
    bool is_fine_held;  ///< the chain of details is whole
    bool is_fine_shown; ///< the last frame had them
    bool is_shown;      ///< there is a last frame with a field
} field_decoder;

/// Begins a chain. There is room for it.
void field_begin(field_decoder *fields, const tarn_stream_head *key);

/// Whether a frame's field goes on in the chain.
bool field_continues(const field_decoder *fields, const tarn_stream_head *head);

/// Reads the coarse part, then the details where they are there, and moves on to the next frame.
/// @param flow  of the frame
/// @return TARN_OK or TARN_E_MALFORMED
tarn_status field_read_coarse(field_decoder *fields, const tarn_code_tables *tables, const tarn_stream_frame *frame,
                              const tarn_flow *flow);
tarn_status field_read_fine(field_decoder *fields, const tarn_code_tables *tables, const tarn_stream_frame *frame,
                            const tarn_flow *flow);
void field_end(field_decoder *fields, const tarn_stream_head *head);

/// As tarn_stream_field_plane.
void field_plane(const field_decoder *fields, uint32_t z, uint8_t *levels);

/// Reads a list of tiles, ascending, of a tank that has `tiles`. @return TARN_OK or TARN_E_MALFORMED
tarn_status tarn_read_tiles(tarn_ans_reader *reader, const tarn_code_tables *tables, uint32_t tiles, uint32_t count,
                            uint32_t *tile);

#endif
