/// The liquid's kernels by name. Private to kernels.
#ifndef TARN_KERNELS_LIQUID_KERNELS_H
#define TARN_KERNELS_LIQUID_KERNELS_H

#include "kernels/device/device_work.h"
#include "kernels/liquid/liquid.h"

typedef enum liquid_kernel_id {
#define LIQUID_KERNEL_ENUM(name) name##_id,
    LIQUID_KERNEL_LIST(LIQUID_KERNEL_ENUM)
#undef LIQUID_KERNEL_ENUM
        LIQUID_KERNEL_COUNT
} liquid_kernel_id;

extern const tarn_kernel tarn_liquid_kernels[LIQUID_KERNEL_COUNT];

#define LIQUID_KERNEL(name) (&tarn_liquid_kernels[liquid_##name##_id])

#endif
