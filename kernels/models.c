// The models there are, by the order of their numbers: the one place that knows them all.
#include "kernels/liquid/liquid_model.h"
#include "kernels/smoke/smoke_model.h"
#include "kernels/vortons/vorton_model.h"

const tank_model *const tank_models[] = {&tarn_liquid_model, &tarn_smoke_model, &tarn_vorton_model};
const uint32_t tank_model_count = sizeof tank_models / sizeof tank_models[0];
