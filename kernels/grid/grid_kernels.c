// The table of the grid's kernels, by the list in grid_kernels.h.
#include "kernels/grid/grid_kernels.h"

GRID_KERNEL_LIST(TARN_KERNEL_DECLARE)
TARN_CHAIN_DECLARE(grid_solver)

const tarn_kernel tarn_grid_kernels[GRID_KERNEL_COUNT] = {
#define GRID_KERNEL_ENTRY(name) TARN_KERNEL_DEFINE(name),
    GRID_KERNEL_LIST(GRID_KERNEL_ENTRY)
#undef GRID_KERNEL_ENTRY
};

#define GRID_CHAIN_ENTRY(name) &tarn_grid_kernels[name##_id],
const tarn_chain tarn_grid_solver_chain = TARN_CHAIN_DEFINE(grid_solver, GRID_CHAIN_LIST, GRID_CHAIN_ENTRY);
#undef GRID_CHAIN_ENTRY
