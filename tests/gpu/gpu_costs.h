/// What it costs a device that one launch waits for another one.
#ifndef TARN_TESTS_GPU_COSTS_H
#define TARN_TESTS_GPU_COSTS_H

#include "kernels/device/device_work.h"

enum { GPU_COSTS = 7 };

extern const char *const gpu_cost_names[GPU_COSTS];

/// Microseconds of each. @param is_quick  over few rounds  @return whether the device did it all
bool gpu_costs(tarn_device *device, double us[GPU_COSTS], bool is_quick);

#endif
