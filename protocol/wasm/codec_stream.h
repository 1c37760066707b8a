/// Frames in codec.wasm.
#ifndef TARN_PROTOCOL_WASM_CODEC_STREAM_H
#define TARN_PROTOCOL_WASM_CODEC_STREAM_H

#include "protocol/wasm/codec_room.h"

/// Both read the input and fill the header, the bodies and the input table.
/// @param byte_count  of the input, at most its room
tarn_status tarn_codec_stream_open(uint32_t byte_count);
tarn_status tarn_codec_stream_decode(uint32_t byte_count);

/// After a decode that went well.
/// @param top_per_s  curl that the highest level stands for, > 0
void tarn_codec_stream_show_curl(float top_per_s);

/// After a decode that went well: a plane of the frame's field, as tarn_stream_field_plane; NULL: it has none, or not
/// this plane. The next call and the next decode overwrite it.
const uint8_t *tarn_codec_stream_field_plane(uint32_t z);

#endif
