/// The PIC/FLIP liquid as a model of a tank.
#ifndef TARN_KERNELS_LIQUID_LIQUID_MODEL_H
#define TARN_KERNELS_LIQUID_LIQUID_MODEL_H

#include "kernels/tank/tank.h"

extern const tank_model tarn_liquid_model;

#endif
