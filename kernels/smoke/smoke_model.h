/// Smoke as a model of a tank.
#ifndef TARN_KERNELS_SMOKE_SMOKE_MODEL_H
#define TARN_KERNELS_SMOKE_SMOKE_MODEL_H

#include "kernels/tank/tank.h"

extern const tank_model tarn_smoke_model;

#endif
