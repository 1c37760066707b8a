/// What viewers are told of a tank's model, from its table.
#ifndef TARN_SERVER_COMMON_MODEL_STATE_H
#define TARN_SERVER_COMMON_MODEL_STATE_H

#include "kernels/model.h"
#include "protocol/message.h"

/// Fills the state's model, tools, colour channels, fields and parameters, these with the values that they begin with.
void tarn_model_describe(const tarn_model *model, tarn_session_state *session);

#endif
