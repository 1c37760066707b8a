/// What tests do to a tank, one thing at a time: each makes the input of a step that holds the clock, or is kept for
/// the next act_step.
#ifndef TARN_TESTS_KERNELS_TANK_ACTS_H
#define TARN_TESTS_KERNELS_TANK_ACTS_H

#include "kernels/liquid_parameters.h"
#include "kernels/step_input.h"

#include <stdio.h>
#include <string.h>

/// Hands and tools of the next act_step.
static tarn_step_input act_next;

/// Takes an input as it is. @param why  where not NULL: what is wrong
static inline tarn_status act_take(tarn_tank *tank, const tarn_step_input *input, char *why, size_t why_bytes)
{
    tarn_step_input admitted = *input;
    tarn_step_refusals refusals;
    const tarn_status status = tarn_tank_admit(tank, &admitted, &refusals);
    if (why != NULL && why_bytes > 0) {
        snprintf(why, why_bytes, "%s", refusals.count > 0 ? refusals.of[0].why : refusals.why);
    }
    if (status == TARN_OK && refusals.count > 0) {
        return TARN_E_LIMIT;
    }
    return status == TARN_OK ? tarn_tank_step(tank, input) : status;
}

static inline tarn_status act_step(tarn_tank *tank, const tarn_push *pushes, uint32_t push_count)
{
    tarn_step_input input = act_next;
    memset(&act_next, 0, sizeof act_next);
    input.push_count = push_count;
    if (push_count > 0 && push_count <= TARN_TANK_PUSHES_MAX) {
        memcpy(input.pushes, pushes, push_count * sizeof *pushes);
    }
    return tarn_tank_step(tank, &input);
}

static inline tarn_status act_set_parameter(tarn_tank *tank, tarn_parameter id, float value)
{
    tarn_step_input input = {.holds = true, .parameter_count = 1, .parameters = {{(uint32_t)id, value}}};
    return tarn_tank_step(tank, &input);
}

static inline tarn_status act_set_pose(tarn_tank *tank, const tarn_pose *pose)
{
    tarn_step_input input = {.holds = true, .poser = TARN_STEP_POSER_SCENE, .pose = *pose};
    return tarn_tank_step(tank, &input);
}

/// Whether the tank would take this with the next step.
static inline tarn_status act_keep(tarn_tank *tank, const tarn_step_input *input)
{
    tarn_step_input admitted = *input;
    tarn_step_refusals refusals;
    const tarn_status status = tarn_tank_admit(tank, &admitted, &refusals);
    if (status == TARN_OK) {
        act_next = *input;
    }
    return status;
}

static inline tarn_status act_set_grabs(tarn_tank *tank, const tarn_grab *grabs, uint32_t grab_count)
{
    tarn_step_input input = act_next;
    input.grab_count = grab_count;
    if (grab_count > 0 && grab_count <= TARN_TANK_GRABS_MAX) {
        memcpy(input.grabs, grabs, grab_count * sizeof *grabs);
    }
    return act_keep(tank, &input);
}

static inline tarn_status act_set_tools(tarn_tank *tank, const tarn_tank_tools *tools)
{
    tarn_step_input input = act_next;
    input.tools = *tools;
    return act_keep(tank, &input);
}

static inline tarn_status act_throw(tarn_tank *tank, const tarn_solid *solid, uint32_t *body, char *why,
                                    size_t why_bytes)
{
    tarn_step_input input = {.holds = true, .throw_count = 1};
    uint32_t thrown[TARN_STEP_THROWS_MAX];
    input.throws[0] = *solid;
    const tarn_status status = act_take(tank, &input, why, why_bytes);
    if (status == TARN_OK && body != NULL && tarn_tank_thrown(tank, thrown) == 1) {
        *body = thrown[0];
    }
    return status;
}

static inline tarn_status act_add_wall(tarn_tank *tank, const tarn_solid *solid, char *why, size_t why_bytes)
{
    tarn_step_input input = {.holds = true, .wall_count = 1};
    input.walls[0] = *solid;
    return act_take(tank, &input, why, why_bytes);
}

static inline tarn_status act_erase_walls(tarn_tank *tank, const float center_m[3], float radius_m, uint32_t *count)
{
    tarn_step_input input = {.holds = true, .erase_count = 1};
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    const uint32_t before = tarn_tank_added(tank, added);
    memcpy(input.erases[0].center_m, center_m, sizeof input.erases[0].center_m);
    input.erases[0].radius_m = radius_m;
    const tarn_status status = tarn_tank_step(tank, &input);
    if (count != NULL) {
        *count = status == TARN_OK ? before - tarn_tank_added(tank, added) : 0;
    }
    return status;
}

#endif
