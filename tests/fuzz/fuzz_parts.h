/// What the fuzzers share.
#ifndef TARN_TESTS_FUZZ_PARTS_H
#define TARN_TESTS_FUZZ_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/// libFuzzer calls it. @return 0
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

/// Ends the program, which is a finding, where something is so that may not be.
static inline void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/// Bytes that come in pieces.
typedef struct byte_source {
    const uint8_t *bytes;
    size_t left, piece; ///< piece: of one read, at most
} byte_source;

/// @param from  a byte_source  @return how many came; 0: there are none left
static inline ssize_t byte_source_read(void *from, void *bytes, size_t byte_count)
{
    byte_source *source = from;
    size_t count = source->left < byte_count ? source->left : byte_count;
    count = count < source->piece ? count : source->piece;
    if (count > 0) {
        memcpy(bytes, source->bytes, count);
    }
    source->bytes += count;
    source->left -= count;
    return (ssize_t)count;
}

#endif
