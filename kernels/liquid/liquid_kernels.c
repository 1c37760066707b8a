// The table of the liquid's kernels, by the list in liquid_kernels.h.
#include "kernels/liquid/liquid_kernels.h"

LIQUID_KERNEL_LIST(TARN_KERNEL_DECLARE)

const tarn_kernel tarn_liquid_kernels[LIQUID_KERNEL_COUNT] = {
#define LIQUID_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    LIQUID_KERNEL_LIST(LIQUID_KERNEL_ENTRY)
#undef LIQUID_KERNEL_ENTRY
};
