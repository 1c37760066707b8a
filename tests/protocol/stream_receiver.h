/// A receiver of frames for the tests, in memory of exactly the sizes that it must do with.
#ifndef TARN_TESTS_PROTOCOL_STREAM_RECEIVER_H
#define TARN_TESTS_PROTOCOL_STREAM_RECEIVER_H

#include "protocol/stream.h"

#include <stdbool.h>

typedef struct stream_receiver {
    tarn_stream_size size;
    void *memory; ///< tarn_stream_bytes of it
    tarn_stream *stream;
    tarn_stream_particles particles;
    tarn_stream_frame frame; ///< the last one that opened; its bytes are gone
} stream_receiver;

/// Makes a receiver of so much room. Never fails: ends the program when memory is out.
void stream_receiver_make(stream_receiver *receiver, const tarn_stream_size *size);

void stream_receiver_free(stream_receiver *receiver);

/// Opens and decodes a frame out of a block of exactly its size.
tarn_status stream_receiver_take(stream_receiver *receiver, const uint8_t *bytes, size_t byte_count);

/// Makes a receiver of the size that a key frame asks for. @return false where it doesn't open
bool stream_receiver_make_for(stream_receiver *receiver, const uint8_t *key, size_t byte_count);

/// FNV-1a, 64 bits, of what was handed out last: of each particle its position's four numbers, little-endian, and its
/// velocity's.
uint64_t stream_receiver_hash(const stream_receiver *receiver);

/// The same of more bytes; it begins with STREAM_RECEIVER_HASH.
#define STREAM_RECEIVER_HASH UINT64_C(0xcbf29ce484222325)
uint64_t stream_receiver_add(uint64_t hash, const void *bytes, size_t count);

#endif
