// Models by number and by name.
#include "kernels/tank/tank_internal.h"
#include "protocol/channel.h"

#include <string.h>

uint32_t tarn_model_count(void)
{
    return tank_model_count;
}

const tarn_model *tarn_model_at(uint32_t number)
{
    return number < tank_model_count ? &tank_models[number]->shown : NULL;
}

const tarn_model *tarn_model_find(const char *name)
{
    for (uint32_t i = 0; i < tank_model_count; i++) {
        if (strcmp(name, tank_models[i]->shown.name) == 0) {
            return &tank_models[i]->shown;
        }
    }
    return NULL;
}

bool tank_model_is_sound(const tank_model *model)
{
    static const uint32_t needs[TARN_TOOL_COUNT] = {
        [TARN_TOOL_POUR] = TARN_MODEL_POURS,  [TARN_TOOL_DRAIN] = TARN_MODEL_DRAINS,
        [TARN_TOOL_DYE] = TARN_MODEL_DYES,    [TARN_TOOL_THROW] = TARN_MODEL_SOLIDS,
        [TARN_TOOL_WALL] = TARN_MODEL_SOLIDS, [TARN_TOOL_ERASE] = TARN_MODEL_SOLIDS,
    };
    const tarn_model *shown = &model->shown;
    bool sound = shown->parameter_count <= TARN_MODEL_PARAMETERS_MAX &&
                 shown->channel_count <= TARN_MODEL_CHANNELS_MAX && shown->carried_count <= TARN_MODEL_CARRIED_MAX &&
                 shown->field_count <= TARN_MODEL_FIELDS_MAX && (shown->field_count == 0 || model->field != NULL) &&
                 model->kinds <= LIQUIDS_MAX && (model->fills || !(model->keeps_velocity || model->stays_full)) &&
                 (shown->tools & ~TARN_TOOLS_ALL) == 0;
    for (uint32_t i = 0; i < shown->channel_count; i++) {
        sound = sound && (model->channel != NULL || !tarn_channel_is_carried(shown->channels[i].name));
    }
    for (int tool = 0; tool < TARN_TOOL_COUNT; tool++) {
        sound = sound && ((shown->tools >> tool & 1) == 0 || (shown->can & needs[tool]) == needs[tool]);
    }
    return sound;
}

const tarn_parameter_spec *tarn_model_parameter(const tarn_model *model, uint32_t id)
{
    return id < model->parameter_count ? &model->parameters[id] : NULL;
}

int tarn_model_parameter_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->parameter_count; i++) {
        if (strcmp(name, model->parameters[i].name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

uint32_t tank_kinds(const tarn_tank *tank)
{
    return tank->model->kinds > 0 ? tank->model->kinds : tank->grid.desc.liquid_count;
}

int tarn_model_field_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->field_count; i++) {
        if (strcmp(model->fields[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int tarn_model_channel_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->channel_count; i++) {
        if (tarn_channel_is_carried(name) && strcmp(model->channels[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

float tank_role(const tarn_tank *tank, tarn_parameter_role role, float otherwise)
{
    return tank->role[role] < TARN_MODEL_PARAMETERS_MAX ? tank->parameters[tank->role[role]] : otherwise;
}
