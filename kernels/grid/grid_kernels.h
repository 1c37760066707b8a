/// The grid's kernels by name. Private to kernels.
#ifndef TARN_KERNELS_GRID_KERNELS_H
#define TARN_KERNELS_GRID_KERNELS_H

#include "kernels/device/device_work.h"
#include "kernels/grid/grid.h"

typedef enum grid_kernel_id {
#define GRID_KERNEL_ENUM(name) name##_id,
    GRID_KERNEL_LIST(GRID_KERNEL_ENUM)
#undef GRID_KERNEL_ENUM
        GRID_KERNEL_COUNT
} grid_kernel_id;

extern const tarn_kernel tarn_grid_kernels[GRID_KERNEL_COUNT];

extern const tarn_chain tarn_grid_solver_chain;

#define GRID_KERNEL(name) (&tarn_grid_kernels[grid_##name##_id])

#endif
