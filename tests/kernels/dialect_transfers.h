/// A check of copies and fills, as those in dialect_checks.c.
#ifndef TARN_TESTS_DIALECT_TRANSFERS_H
#define TARN_TESTS_DIALECT_TRANSFERS_H

#include "kernels/device/device_work.h"

int dialect_check_transfers(tarn_queue *queue);

#endif
