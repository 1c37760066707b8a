// The table of the shell's kernels, by the list in tank_kernels.h.
#include "kernels/tank/tank_kernels.h"

TANK_KERNEL_LIST(TARN_KERNEL_DECLARE)

const tarn_kernel tarn_tank_kernels[TANK_KERNEL_COUNT] = {
#define TANK_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    TANK_KERNEL_LIST(TANK_KERNEL_ENTRY)
#undef TANK_KERNEL_ENTRY
};
