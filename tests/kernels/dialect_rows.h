/// Checks of kernels/device/row.h, as those in dialect_checks.c.
#ifndef TARN_TESTS_DIALECT_ROWS_H
#define TARN_TESTS_DIALECT_ROWS_H

#include "kernels/device/device_work.h"

int dialect_check_rows(tarn_queue *queue);
int dialect_check_bit_rows(tarn_queue *queue);

#endif
