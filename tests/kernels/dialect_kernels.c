#include "tests/kernels/dialect_kernels.h"

DIALECT_KERNEL_LIST(TARN_KERNEL_DECLARE)

#define DIALECT_KERNEL_TABLE(name) const tarn_kernel kernel_##name = TARN_KERNEL_DEFINE(name);
DIALECT_KERNEL_LIST(DIALECT_KERNEL_TABLE)

TARN_CHAIN_DECLARE(dialect_mixing)

#define DIALECT_CHAIN_ENTRY(name) &kernel_##name,
const tarn_chain dialect_mixing_chain = TARN_CHAIN_DEFINE(dialect_mixing, DIALECT_CHAIN_LIST, DIALECT_CHAIN_ENTRY);
