/// The particles' kernels by name. Private to kernels.
#ifndef TARN_KERNELS_TANK_KERNELS_H
#define TARN_KERNELS_TANK_KERNELS_H

#include "kernels/device/device_work.h"
#include "kernels/tank/store.h"

typedef enum tank_kernel_id {
#define TANK_KERNEL_ENUM(name) name##_id,
    TANK_KERNEL_LIST(TANK_KERNEL_ENUM)
#undef TANK_KERNEL_ENUM
        TANK_KERNEL_COUNT
} tank_kernel_id;

extern const tarn_kernel tarn_tank_kernels[TANK_KERNEL_COUNT];

#define TANK_KERNEL(name) (&tarn_tank_kernels[tank_##name##_id])

#endif
