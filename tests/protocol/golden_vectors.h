/// The golden vectors as values: what golden/*.bin are made from, and what they must decode to. Seeded; the same on
/// every machine.
#ifndef TARN_TESTS_PROTOCOL_GOLDEN_VECTORS_H
#define TARN_TESTS_PROTOCOL_GOLDEN_VECTORS_H

#include "protocol/message.h"

#include <stdbool.h>

enum { GOLDEN_BYTES_MAX = 16384 };

typedef enum golden_kind {
    GOLDEN_STREAM, ///< a sequence of frames: golden_streams.h
    GOLDEN_MESSAGE,
} golden_kind;

/// One vector: golden/<name>.bin and, as JSON, golden/<name>.json.
typedef struct golden_vector {
    const char *name;
    golden_kind kind;
    size_t byte_count;
    uint8_t bytes[GOLDEN_BYTES_MAX];
} golden_vector;

int golden_count(void);

/// Makes vector number `index`. @return false where it could not be encoded
bool golden_make(int index, golden_vector *vector);

/// The description of what a vector holds; read back from its bytes. The caller frees it. NULL on failure.
char *golden_describe(const golden_vector *vector);

#endif
