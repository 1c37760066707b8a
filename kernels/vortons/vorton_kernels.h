/// The vortons' kernels by name. Private to kernels.
#ifndef TARN_KERNELS_VORTON_KERNELS_H
#define TARN_KERNELS_VORTON_KERNELS_H

#include "kernels/device/device_work.h"
#include "kernels/vortons/vortons.h"

typedef enum vorton_kernel_id {
#define VORTON_KERNEL_ENUM(name) name##_id,
    VORTON_KERNEL_LIST(VORTON_KERNEL_ENUM)
#undef VORTON_KERNEL_ENUM
        VORTON_KERNEL_COUNT
} vorton_kernel_id;

extern const tarn_kernel tarn_vorton_kernels[VORTON_KERNEL_COUNT];

#define VORTON_KERNEL(name) (&tarn_vorton_kernels[vorton_##name##_id])

#endif
