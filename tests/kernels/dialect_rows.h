/// Checks of kernels/device/row.h, as those in dialect_checks.c.
#ifndef TARN_TESTS_DIALECT_ROWS_H
#define TARN_TESTS_DIALECT_ROWS_H

#include "kernels/device/device.h"

int dialect_check_rows(tarn_device *device);
int dialect_check_bit_rows(tarn_device *device);

#endif
