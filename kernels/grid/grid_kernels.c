// The table of the grid's kernels, by the list in grid_kernels.h.
#include "kernels/grid/grid_kernels.h"

GRID_KERNEL_LIST(TARN_KERNEL_DECLARE)

const tarn_kernel tarn_grid_kernels[GRID_KERNEL_COUNT] = {
#define GRID_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    GRID_KERNEL_LIST(GRID_KERNEL_ENTRY)
#undef GRID_KERNEL_ENTRY
};
