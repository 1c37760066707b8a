/// Sequences of frames for the golden vectors and the tests.
///
/// A vector's bytes are its frames, one after another, each behind its size as a u32, little-endian.
#ifndef TARN_TESTS_PROTOCOL_GOLDEN_STREAMS_H
#define TARN_TESTS_PROTOCOL_GOLDEN_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int golden_stream_count(void);

/// Never NULL for 0 <= index < golden_stream_count().
const char *golden_stream_name(int index);

/// Encodes a sequence. @return its bytes, 0 on failure
size_t golden_stream_encode(int index, uint8_t *bytes, size_t bytes_max);

/// The next frame of a sequence, behind *used bytes, which are increased. @return its bytes; NULL behind the last one
const uint8_t *golden_stream_next(const uint8_t *bytes, size_t byte_count, size_t *used, size_t *frame_bytes);

/// Writes what a receiver has of each frame, as JSON. @return false where a frame isn't one
bool golden_stream_describe(FILE *out, const uint8_t *bytes, size_t byte_count);

#endif
