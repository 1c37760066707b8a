/// A model whose grid turns like a wheel, and particles with it.
#ifndef TARN_TESTS_TOY_WHIRL_H
#define TARN_TESTS_TOY_WHIRL_H

#include "kernels/tank/store.h"

typedef struct whirl_args {
    tank_args tank;
    float rate; ///< radians per step
} whirl_args;

#endif
