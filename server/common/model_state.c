// From a model's table to the session's state, field by field.
#include "server/common/model_state.h"

#include <stdio.h>

_Static_assert((int)TARN_MODEL_PARAMETERS_MAX <= (int)TARN_PARAMETERS_MAX, "a state holds all parameters");
_Static_assert((int)TARN_MODEL_CHANNELS_MAX <= (int)TARN_CHANNELS_MAX, "a state holds all channels");
_Static_assert((int)TARN_MODEL_FIELDS_MAX <= (int)TARN_FIELDS_MAX, "a state holds all fields");

static void put(tarn_name to, const char *text)
{
    snprintf(to, sizeof(tarn_name), "%s", text != NULL ? text : "");
}

void tarn_model_describe(const tarn_model *model, tarn_session_state *session)
{
    put(session->model, model->name);
    session->tools = model->tools;
    session->parameter_count = model->parameter_count;
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        const tarn_parameter_spec *spec = &model->parameters[id];
        tarn_parameter_info *info = &session->parameters[id];
        put(info->name, spec->name);
        put(info->label, spec->label);
        put(info->unit, spec->unit);
        info->value = spec->initial;
        info->min = spec->min;
        info->max = spec->max;
        info->whole = (spec->traits & TARN_PARAMETER_IS_WHOLE) != 0;
        info->magnitudes = (spec->traits & TARN_PARAMETER_HAS_MAGNITUDES) != 0;
    }
    session->channel_count = model->channel_count;
    for (uint32_t i = 0; i < model->channel_count; i++) {
        put(session->channels[i].name, model->channels[i].name);
        put(session->channels[i].label, model->channels[i].label);
        put(session->channels[i].unit, model->channels[i].unit);
    }
    session->field_count = model->field_count;
    for (uint32_t i = 0; i < model->field_count; i++) {
        put(session->fields[i].name, model->fields[i].name);
        put(session->fields[i].label, model->fields[i].label);
        put(session->fields[i].unit, model->fields[i].unit);
        put(session->fields[i].kinds, model->fields[i].kinds);
    }
}
