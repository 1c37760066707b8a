/// A check of chains, as those in dialect_checks.c.
#ifndef TARN_TESTS_DIALECT_CHAINS_H
#define TARN_TESTS_DIALECT_CHAINS_H

#include "kernels/device/device_work.h"

int dialect_check_chains(tarn_queue *queue);

#endif
