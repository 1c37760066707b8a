/// Dam breaks that are large for a GPU, and what their kernels touch.
#ifndef TARN_TESTS_GPU_LARGE_H
#define TARN_TESTS_GPU_LARGE_H

#include "tests/kernels/tank_fixtures.h"

enum { GPU_LARGE_COUNT = 2, GPU_LARGE_QUICK = 2 }; ///< the quick one stands behind them

/// 100 000 and 2 000 000 particles, and one for those who have no time.
extern const tank_fixture gpu_large[GPU_LARGE_COUNT + 1];

/// Bytes of device memory that a kernel reads and writes, a particle of the first one and substep.
typedef struct gpu_kernel_bytes {
    const char *kernel;
    float read, written;
} gpu_kernel_bytes;

/// NULL: not known
const gpu_kernel_bytes *gpu_kernel_bytes_of(const char *kernel);

#endif
