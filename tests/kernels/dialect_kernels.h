/// The test kernels in all their compiled forms.
#ifndef TARN_TESTS_DIALECT_KERNELS_H
#define TARN_TESTS_DIALECT_KERNELS_H

#include "kernels/device/device_work.h"
#include "tests/kernels/dialect.h"

#define DIALECT_KERNEL_LIST(X)                                                                                         \
    X(saxpy)                                                                                                           \
    X(dialect_reverse)                                                                                                 \
    X(dialect_range)                                                                                                   \
    X(dialect_box)                                                                                                     \
    X(dialect_sum)                                                                                                     \
    X(dialect_scan)                                                                                                    \
    X(dialect_rank)                                                                                                    \
    X(dialect_move)                                                                                                    \
    X(dialect_atomics)                                                                                                 \
    X(dialect_arithmetic)                                                                                              \
    X(dialect_helpers)                                                                                                 \
    X(dialect_pack)                                                                                                    \
    X(dialect_row)                                                                                                     \
    X(dialect_bit_row)                                                                                                 \
    X(dialect_count)                                                                                                   \
    X(dialect_chain)                                                                                                   \
    X(dialect_round)                                                                                                   \
    X(dialect_rewind)                                                                                                  \
    X(dialect_mix)                                                                                                     \
    X(dialect_follow)

#define DIALECT_KERNEL_EXTERN(name) extern const tarn_kernel kernel_##name;
DIALECT_KERNEL_LIST(DIALECT_KERNEL_EXTERN)
#undef DIALECT_KERNEL_EXTERN

extern const tarn_chain dialect_mixing_chain;

#endif
