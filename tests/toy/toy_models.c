// kernels/models.c with one model more.
#include "kernels/liquid/liquid_model.h"

extern const tank_model toy_whirl_model;

const tank_model *const tank_models[] = {&tarn_liquid_model, &toy_whirl_model};
const uint32_t tank_model_count = sizeof tank_models / sizeof tank_models[0];
