// The table of the smoke's kernels, by the list in smoke.h.
#include "kernels/smoke/smoke_kernels.h"

SMOKE_KERNEL_LIST(TARN_KERNEL_DECLARE)

const tarn_kernel tarn_smoke_kernels[SMOKE_KERNEL_COUNT] = {
#define SMOKE_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    SMOKE_KERNEL_LIST(SMOKE_KERNEL_ENTRY)
#undef SMOKE_KERNEL_ENTRY
};
