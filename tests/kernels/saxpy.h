/// Arguments and scratch of the dialect's worked example (kernels/device/tile.h).
#ifndef TARN_TESTS_SAXPY_H
#define TARN_TESTS_SAXPY_H

#include <stdint.h>

struct saxpy_args {
    const float *x;
    float *y;
    float a;
    uint32_t count;
};
struct saxpy_scratch {
    float part[128];
};

#endif
