/// The devices that the program compares, its tables' columns, and its count of what went wrong.
#ifndef TARN_TESTS_GPU_DEVICES_H
#define TARN_TESTS_GPU_DEVICES_H

#include "kernels/device/device.h"

#include <stdbool.h>
#include <stdint.h>

enum { GPU_DEVICES_MAX = 10 };

typedef struct gpu_devices {
    tarn_device *of[GPU_DEVICES_MAX]; ///< the first is what the others are compared with
    tarn_device_desc desc[GPU_DEVICES_MAX];
    bool is_cuda[GPU_DEVICES_MAX];
    uint32_t count, cuda_count;
} gpu_devices;

/// The CPU, and GPUs; without any the CPU in three ways. A GPU that is there and can't be used is a failure.
/// @param gpus_max  of those that CUDA finds @param without  TARN_DEVICE_WITHOUT_... @param is_gpu_alone  not even the
/// CPU
void gpu_devices_open(gpu_devices *list, uint32_t gpus_max, uint32_t without, bool is_gpu_alone);
void gpu_devices_close(gpu_devices *list);

/// A title, and a letter for each device.
void gpu_print_columns(const char *title, const gpu_devices *list);

/// Says what went wrong, and counts it.
__attribute__((format(printf, 1, 2))) void gpu_failure(const char *format, ...);
uint32_t gpu_failures(void);

#endif
