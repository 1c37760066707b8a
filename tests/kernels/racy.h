/// Kernels with one mistake each, and the same without it: what races.h is to find, and what it isn't.
#ifndef TARN_TESTS_RACY_H
#define TARN_TESTS_RACY_H

#include "kernels/device/device_work.h"

enum { RACY_LANES = 64 };

typedef struct racy_args {
    uint32_t *from, *to; ///< RACY_LANES for each tile
    uint8_t *bytes;      ///< the same
    uint32_t is_wrong;   ///< whether the mistake is made
} racy_args;

enum {
    RACY_BARRIER,
    RACY_REUSE,
    RACY_WARP,
    RACY_TILES,
    RACY_ATOMICS,
    RACY_BYTES,
    RACY_UNWRITTEN,
    RACY_BOUNDS,
    RACY_TWICE,
    RACY_COUNT
};

extern const tarn_kernel racy_kernels[RACY_COUNT];

#endif
