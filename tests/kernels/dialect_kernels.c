#include "tests/kernels/dialect_kernels.h"

DIALECT_KERNEL_LIST(TARN_KERNEL_DECLARE)

#define DIALECT_KERNEL_TABLE(name) const tarn_kernel kernel_##name = TARN_KERNEL_DEFINE(name);
DIALECT_KERNEL_LIST(DIALECT_KERNEL_TABLE)
