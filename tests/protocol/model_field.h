/// The field of the tests' encoder: levels by a formula, tiles that come and go.
#ifndef TARN_TESTS_PROTOCOL_MODEL_FIELD_H
#define TARN_TESTS_PROTOCOL_MODEL_FIELD_H

#include "protocol/stream.h"
#include "tests/protocol/model_bytes.h"

#include <stdbool.h>

typedef struct model_field {
    uint32_t *index[2], *tile[2]; ///< of the reference and of the frame in hand
    uint8_t *level[2][TARN_FIELD_PARTS];
    int32_t rest[2];
    int reference, last; ///< last: of the last frame
    uint32_t tile_count; ///< of the tank
} model_field;

void model_field_make(model_field *field, const tarn_stream_head *head);
void model_field_free(model_field *field);

/// What a field of this number says at the beginning of a frame; nothing for 0.
void model_field_begin(model_field *field, tarn_stream_head *head, uint8_t number, bool is_kinds);

/// Appends a part, and the list of tiles before the first one.
/// @param flow  of the frame
void model_field_write(model_field *field, tarn_stream_head *head, const tarn_code_tables *tables,
                       const tarn_flow *flow, uint32_t part, model_bytes *bytes);

void model_field_end(model_field *field, const tarn_stream_head *head);

/// What a decoder that has all of the frame hands out: as tarn_stream_field_plane.
void model_field_plane(const model_field *field, const tarn_stream_head *head, uint32_t z, uint8_t *levels);

#endif
