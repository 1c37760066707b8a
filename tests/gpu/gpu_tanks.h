/// What the program does with tanks, table by table. Whatever differs from the first device, or from the description's
/// promise, is a failure (gpu_devices.h).
#ifndef TARN_TESTS_GPU_TANKS_H
#define TARN_TESTS_GPU_TANKS_H

#include "tests/gpu/gpu_devices.h"

/// Smaller tanks and fewer steps, for devices that take a second for what others do in a millisecond.
void gpu_tanks_quick(bool is_quick);
bool gpu_tanks_are_quick(void);

/// All fixtures by state and frame; then those of `gpu_large`.
void gpu_check_tanks(const gpu_devices *list);
void gpu_check_large(const gpu_devices *list);

/// Half of the steps on one device, the others on the other, both ways.
void gpu_check_moves(const gpu_devices *list);

/// Frames are the same, whether they are coded between two steps or beside one.
void gpu_check_beside(const gpu_devices *list);

/// Many tanks that take turns on a device; and some that end and are made anew all the time beside others.
void gpu_check_crowd(const gpu_devices *list);
void gpu_check_rebuilds(const gpu_devices *list);

/// What goes wrong in one tank is its own: numbers that are none, a transfer that fails, memory that there is none of.
void gpu_check_faults(const gpu_devices *list);

/// A GPU that has read beyond its memory is done for, says so to everybody, and can be left. The process is to end.
void gpu_check_poison(const gpu_devices *list);

/// How fast tanks go of which there are more and more at once.
void gpu_print_many(const gpu_devices *list);

/// The time of each stage with waits between them, which is not what a step takes.
void gpu_print_stages(const gpu_devices *list);

/// Where a substep's time goes, as it is replayed: ms, bytes and what memory takes for them, launches.
void gpu_print_budget(const gpu_devices *list);

#endif
