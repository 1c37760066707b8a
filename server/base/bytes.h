/// Fields as little-endian bytes, in one walk for both directions: a function that lists a message's fields writes them
/// or reads them. What fails first stays in `status`; nothing is written or read after that.
#ifndef TARN_SERVER_BASE_BYTES_H
#define TARN_SERVER_BASE_BYTES_H

#include "protocol/assert.h"
#include "protocol/status.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct byte_codec {
    uint8_t *at, *end;
    bool writing;
    tarn_status status;
} byte_codec;

/// The next `count` bytes, or NULL when they do not fit or something failed before.
static inline uint8_t *advance(byte_codec *codec, size_t count)
{
    if (codec->status != TARN_OK) {
        return NULL;
    }
    TARN_ASSERT(codec->at <= codec->end);
    if (count > (size_t)(codec->end - codec->at)) {
        codec->status = codec->writing ? TARN_E_SPACE : TARN_E_TRUNCATED;
        return NULL;
    }
    uint8_t *bytes = codec->at;
    codec->at += count;
    return bytes;
}

static inline void refuse_when(byte_codec *codec, bool wrong)
{
    if (wrong && codec->status == TARN_OK) {
        codec->status = codec->writing ? TARN_E_ARGUMENT : TARN_E_MALFORMED;
    }
}

// gcc takes the stores behind a check of the room, or of an unrolled loop, for ones into what lies in front.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
static inline void integer(byte_codec *codec, void *value, size_t size)
{
    uint8_t *bytes = advance(codec, size);
    if (bytes == NULL) {
        return;
    }
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "integers are copied, which assumes a little-endian processor"
#endif
    if (codec->writing) {
        memcpy(bytes, value, size);
    } else {
        memcpy(value, bytes, size);
    }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

static inline void u32(byte_codec *codec, uint32_t *value)
{
    integer(codec, value, sizeof *value);
}

static inline void u64(byte_codec *codec, uint64_t *value)
{
    integer(codec, value, sizeof *value);
}

static inline void u8_up_to(byte_codec *codec, uint8_t *value, uint8_t max)
{
    integer(codec, value, sizeof *value);
    refuse_when(codec, *value > max);
}

static inline void count_up_to(byte_codec *codec, uint32_t *value, uint32_t max)
{
    u32(codec, value);
    refuse_when(codec, *value > max);
}

static inline void f32(byte_codec *codec, float *value)
{
    integer(codec, value, sizeof *value);
    refuse_when(codec, !isfinite(*value));
}

static inline void f64(byte_codec *codec, double *value)
{
    integer(codec, value, sizeof *value);
    refuse_when(codec, !isfinite(*value));
}

/// Bytes as they are: written from `*bytes`, read as a pointer to where they lie.
static inline void raw_bytes(byte_codec *codec, const uint8_t **bytes, uint32_t count)
{
    uint8_t *at = advance(codec, count);
    if (at == NULL) {
        return;
    }
    if (codec->writing) {
        TARN_ASSERT(*bytes != NULL || count == 0);
        memcpy(at, *bytes, count);
    } else {
        *bytes = at;
    }
}

#endif
