/// The smoke's kernels by name. Private to kernels/smoke.
#ifndef TARN_KERNELS_SMOKE_KERNELS_H
#define TARN_KERNELS_SMOKE_KERNELS_H

#include "kernels/device/device_work.h"
#include "kernels/smoke/smoke.h"

typedef enum smoke_kernel_id {
#define SMOKE_KERNEL_ENUM(name) name##_id,
    SMOKE_KERNEL_LIST(SMOKE_KERNEL_ENUM)
#undef SMOKE_KERNEL_ENUM
        SMOKE_KERNEL_COUNT
} smoke_kernel_id;

extern const tarn_kernel tarn_smoke_kernels[SMOKE_KERNEL_COUNT];

#define SMOKE_KERNEL(name) (&tarn_smoke_kernels[smoke_##name##_id])

#endif
