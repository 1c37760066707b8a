/// Vortex particles in a filled tank as a model.
#ifndef TARN_KERNELS_VORTONS_VORTON_MODEL_H
#define TARN_KERNELS_VORTONS_VORTON_MODEL_H

#include "kernels/tank/tank.h"

extern const tank_model tarn_vorton_model;

#endif
