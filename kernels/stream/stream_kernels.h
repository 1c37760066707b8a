/// The encoder's kernels by name. Private to kernels/stream.
#ifndef TARN_KERNELS_STREAM_STREAM_KERNELS_H
#define TARN_KERNELS_STREAM_STREAM_KERNELS_H

#include "kernels/device/device_work.h"
#include "kernels/stream/stream_memory.h"

typedef enum stream_kernel_id {
#define STREAM_KERNEL_ENUM(name) name##_id,
    STREAM_KERNEL_LIST(STREAM_KERNEL_ENUM)
#undef STREAM_KERNEL_ENUM
        STREAM_KERNEL_COUNT
} stream_kernel_id;

extern const tarn_kernel tarn_stream_kernels[STREAM_KERNEL_COUNT];

#endif
