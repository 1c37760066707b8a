/// Checks of the kernel dialect on one device, without a test framework: tests/kernels runs them on every instruction
/// set and number of threads, tests/gpu on a bare machine with a GPU.
#ifndef TARN_TESTS_DIALECT_CHECKS_H
#define TARN_TESTS_DIALECT_CHECKS_H

#include "kernels/device/device_work.h"

typedef struct dialect_check {
    const char *name;
    int (*run)(tarn_queue *queue); ///< 0 when right
} dialect_check;

extern const dialect_check dialect_checks[];
extern const uint32_t dialect_check_count;

/// Runs a check in a queue of its own. @return 0 when right
int dialect_check_run(const dialect_check *check, tarn_device *device);

/// What the last failed check found; empty when none failed. Thread of the checks only.
const char *dialect_check_message(void);

#endif
