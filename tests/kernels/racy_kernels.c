#include "tests/kernels/racy.h"

TARN_KERNEL_DECLARE(racy_barrier)
TARN_KERNEL_DECLARE(racy_reuse)
TARN_KERNEL_DECLARE(racy_warp)
TARN_KERNEL_DECLARE(racy_tiles)
TARN_KERNEL_DECLARE(racy_atomics)
TARN_KERNEL_DECLARE(racy_bytes)
TARN_KERNEL_DECLARE(racy_unwritten)
TARN_KERNEL_DECLARE(racy_bounds)
TARN_KERNEL_DECLARE(racy_twice)

const tarn_kernel racy_kernels[RACY_COUNT] = {
    TARN_KERNEL_DEFINE(racy_barrier),   TARN_KERNEL_DEFINE(racy_reuse),   TARN_KERNEL_DEFINE(racy_warp),
    TARN_KERNEL_DEFINE(racy_tiles),     TARN_KERNEL_DEFINE(racy_atomics), TARN_KERNEL_DEFINE(racy_bytes),
    TARN_KERNEL_DEFINE(racy_unwritten), TARN_KERNEL_DEFINE(racy_bounds),  TARN_KERNEL_DEFINE(racy_twice),
};
