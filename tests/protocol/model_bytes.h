/// Bytes that grow, for encoders of tests; where memory is short the test ends.
#ifndef TARN_TESTS_PROTOCOL_MODEL_BYTES_H
#define TARN_TESTS_PROTOCOL_MODEL_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct model_bytes {
    uint8_t *at;
    size_t count, room;
} model_bytes;

static inline void *model_need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static inline void model_append(model_bytes *bytes, const uint8_t *from, size_t count)
{
    while (bytes->room < bytes->count + count) {
        bytes->room = 2 * bytes->room + 4096;
        bytes->at = model_need(realloc(bytes->at, bytes->room));
    }
    memcpy(bytes->at + bytes->count, from, count);
    bytes->count += count;
}

#endif
