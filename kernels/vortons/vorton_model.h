/// Vortex particles in a filled tank as a model.
#ifndef TARN_KERNELS_VORTON_MODEL_H
#define TARN_KERNELS_VORTON_MODEL_H

#include "kernels/tank/tank_model.h"

extern const tank_model tarn_vorton_model;

#endif
