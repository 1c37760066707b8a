// What a step's input may hold, what of it can be done, and how it comes to pass: parameters, pause and pose first,
// then hands, then solids that come and go; pushes and tools act in the step itself (tank.c, tools.c).
#include "kernels/step_input.h"
#include "kernels/tank/motion.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

static bool is_finite3(const float *v)
{
    return isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]);
}

// -------------------------------------------------------------------------------------------------------------- checks

static tarn_status check_counts(const tarn_step_input *input, const grid_complaint *why)
{
    const struct {
        const char *what;
        uint32_t found, allowed;
    } counts[] = {
        {"parameters", input->parameter_count, TARN_STEP_PARAMETERS_MAX},
        {"pushes", input->push_count, TARN_TANK_PUSHES_MAX},
        {"motion fields", input->motion_field_count, TARN_STEP_MOTION_FIELDS_MAX},
        {"grabs", input->grab_count, TARN_TANK_GRABS_MAX},
        {"pours", input->tools.pour_count, TARN_TANK_POURS_MAX},
        {"sinks", input->tools.sink_count, TARN_TANK_SINKS_MAX},
        {"dyes", input->tools.dye_count, TARN_TANK_DYES_MAX},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i].found > counts[i].allowed) {
            return grid_refuse(why, TARN_E_ARGUMENT, "there are %u %s; allowed are %u", counts[i].found, counts[i].what,
                               counts[i].allowed);
        }
    }
    const tarn_tank_tools *tools = &input->tools;
    if (input->holds && (input->push_count > 0 || input->motion_field_count > 0 || input->grab_count > 0 ||
                         tools->pour_count > 0 || tools->sink_count > 0 || tools->dye_count > 0)) {
        return grid_refuse(why, TARN_E_ARGUMENT,
                           "what holds the clock has pushes, motion, grabs or tools; these take time");
    }
    return TARN_OK;
}

static bool is_rotation(const float *q)
{
    double norm = 0.0;
    for (int i = 0; i < 4; i++) {
        norm += (double)q[i] * (double)q[i];
    }
    return norm > 0.9 && norm < 1.1;
}

#define POSE_MAX_M 1e4f ///< per axis

static tarn_status check_pose(const tarn_step_input *input, const grid_complaint *why)
{
    if ((unsigned)input->pause >= TARN_STEP_PAUSE_COUNT || (unsigned)input->poser >= TARN_STEP_POSER_COUNT) {
        return grid_refuse(why, TARN_E_ARGUMENT, "pause is %d and poser %d; allowed are 0 to %d and 0 to %d",
                           (int)input->pause, (int)input->poser, TARN_STEP_PAUSE_COUNT - 1, TARN_STEP_POSER_COUNT - 1);
    }
    if (input->poser == TARN_STEP_POSER_NOBODY) {
        return TARN_OK;
    }
    bool sound = is_rotation(input->pose.rotation);
    for (int a = 0; a < 3; a++) {
        sound = sound && fabsf(input->pose.position_m[a]) <= POSE_MAX_M; // not for NaN
    }
    return sound ? TARN_OK
                 : grid_refuse(why, TARN_E_ARGUMENT, "pose is no rotation, or farther away than %g m",
                               (double)POSE_MAX_M);
}

static tarn_status check_parameters(const tarn_model *model, const tarn_step_input *input, const grid_complaint *why)
{
    for (uint32_t i = 0; i < input->parameter_count; i++) {
        const tarn_parameter_spec *spec = tarn_model_parameter(model, input->parameters[i].id);
        if (spec == NULL) {
            return grid_refuse(why, TARN_E_ARGUMENT, "parameters[%u].id is %u; allowed is 0 to %d", i,
                               input->parameters[i].id, (int)model->parameter_count - 1);
        }
        const tarn_status status = tank_check_range(why, spec->name, input->parameters[i].value, spec->min, spec->max);
        if (status != TARN_OK) {
            return status;
        }
    }
    return TARN_OK;
}

static bool push_is_sound(const tarn_push *push)
{
    return is_finite3(push->center_m) && is_finite3(push->velocity_m_s) && is_finite3(push->spin_rad_s) &&
           isfinite(push->radius_m) && isfinite(push->strength) && isfinite(push->inward_m_s);
}

static tarn_status check_acts(const tarn_tank *tank, const tarn_step_input *input, const grid_complaint *why)
{
    for (uint32_t i = 0; i < input->push_count; i++) {
        if (!push_is_sound(&input->pushes[i])) {
            return grid_refuse(why, TARN_E_ARGUMENT, "pushes[%u] is not finite", i);
        }
    }
    for (uint32_t i = 0; i < input->motion_field_count; i++) {
        const tarn_status status = tank_motion_field_check(&input->motion_fields[i], i, why);
        if (status != TARN_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < input->grab_count; i++) {
        if (!grid_grab_is_sound(&tank->grid, &input->grabs[i])) {
            return grid_refuse(why, TARN_E_ARGUMENT, "grabs[%u] is not finite, or body %u is none that floats", i,
                               input->grabs[i].body);
        }
    }
    return tank_tools_are_sound(tank, &input->tools)
               ? TARN_OK
               : grid_refuse(why, TARN_E_ARGUMENT, "tools are not finite, or a pour is of a liquid that isn't there");
}

tarn_status tarn_tank_admit(tarn_tank *tank, tarn_step_input *input, tarn_step_refusals *refusals)
{
    const grid_complaint complaint = {refusals->why, sizeof refusals->why};
    refusals->count = 0;
    refusals->why[0] = 0;
    tarn_status status = check_counts(input, &complaint);
    if (status == TARN_OK) {
        status = check_pose(input, &complaint);
    }
    if (status == TARN_OK) {
        status = check_parameters(&tank->model->shown, input, &complaint);
    }
    if (status == TARN_OK) {
        status = check_acts(tank, input, &complaint);
    }
    if (status == TARN_OK) {
        status = grid_admit(&tank->grid, input, refusals);
    }
    input->admitted = status == TARN_OK ? tank->input_count + 1 : 0;
    return status;
}

// --------------------------------------------------------------------------------------------------------- what
// happens

static void set_parameter(tarn_tank *tank, uint32_t id, float value)
{
    TARN_ASSERT(id < tank->model->shown.parameter_count);
    TARN_ASSERT(value >= tank->model->shown.parameters[id].min && value <= tank->model->shown.parameters[id].max);
    if (tank->model->changes_launches(id, tank->parameters[id], value)) {
        grid_forget_launches(&tank->grid);
    }
    tank->parameters[id] = value;
}

void tank_set_parameters(tarn_tank *tank, const float values[TARN_MODEL_PARAMETERS_MAX])
{
    for (uint32_t i = 0; i < tank->model->shown.parameter_count; i++) {
        set_parameter(tank, i, values[i]);
    }
}

static void set_pose(tarn_tank *tank, const tarn_step_input *input)
{
    const bool is_hand = input->poser == TARN_STEP_POSER_HAND;
    if (is_hand || (input->poser == TARN_STEP_POSER_SCENE && !tank->turned_by_hand)) {
        tank_motion_aim(&tank->motion, &input->pose);
    }
    tank->turned_by_hand |= is_hand;
}

tarn_status tank_apply_input(tarn_tank *tank, const tarn_step_input *input)
{
    tank->input_count++;
    TARN_ASSERT(input->parameter_count <= TARN_STEP_PARAMETERS_MAX);
    TARN_ASSERT((unsigned)input->pause < TARN_STEP_PAUSE_COUNT && (unsigned)input->poser < TARN_STEP_POSER_COUNT);
    for (uint32_t i = 0; i < input->parameter_count; i++) {
        set_parameter(tank, input->parameters[i].id, input->parameters[i].value);
    }
    if (input->pause != TARN_STEP_PAUSE_KEEPS) {
        tank->paused = input->pause == TARN_STEP_PAUSE_BEGINS;
    }
    set_pose(tank, input);
    grid_set_grabs(&tank->grid, input->grabs, input->grab_count);
    tank->thrown_count = input->throw_count;
    return grid_add(&tank->grid, input, tank->thrown);
}

uint32_t tarn_tank_thrown(const tarn_tank *tank, uint32_t bodies[TARN_STEP_THROWS_MAX])
{
    TARN_ASSERT(tank->thrown_count <= TARN_STEP_THROWS_MAX);
    memcpy(bodies, tank->thrown, tank->thrown_count * sizeof *bodies);
    return tank->thrown_count;
}
