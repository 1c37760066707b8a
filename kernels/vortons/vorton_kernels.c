// The table of the vortons' kernels, by the list in vortons.h.
#include "kernels/vortons/vorton_kernels.h"

VORTON_KERNEL_LIST(TARN_KERNEL_DECLARE)

const tarn_kernel tarn_vorton_kernels[VORTON_KERNEL_COUNT] = {
#define VORTON_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    VORTON_KERNEL_LIST(VORTON_KERNEL_ENTRY)
#undef VORTON_KERNEL_ENTRY
};
