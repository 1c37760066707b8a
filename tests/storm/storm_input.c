// What people and programs may do to a tank at most: hands of any size, speed and place, parameters that jump to their
// limits, a tank that is turned and shaken, bodies that are pulled out of it; where the plan has tools, as much of each
// as fits.
#include "tests/storm/storm.h"

#include <math.h>
#include <string.h>

const tarn_model *storm_model(const storm_tank *storm)
{
    return tarn_model_at(storm->scene->tank.model);
}

uint64_t storm_next(storm_random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

uint32_t storm_below(storm_random *random, uint32_t limit)
{
    return (uint32_t)((storm_next(random) >> 32) * limit >> 32);
}

double storm_between(storm_random *random, double from, double to)
{
    return from + (to - from) * ((double)(storm_next(random) >> 11) * 0x1p-53);
}

static bool one_in(storm_random *random, uint32_t chances)
{
    return storm_below(random, chances) == 0;
}

static double tank_size_m(const tarn_tank_desc *desc, int axis)
{
    return (double)desc->cells[axis] * (double)desc->cell_m;
}

/// Anywhere in the tank, or as far outside as it is large.
static void any_point(storm_random *random, const tarn_tank_desc *desc, float *point_m)
{
    const double beyond = one_in(random, 4) ? 1.0 : 0.0;
    for (int a = 0; a < 3; a++) {
        point_m[a] = (float)(tank_size_m(desc, a) * storm_between(random, -beyond, 1.0 + beyond));
    }
}

static void any_push(storm_random *random, const tarn_tank_desc *desc, tarn_push *push)
{
    static const float speeds_m_s[] = {0.0f, 0.5f, 3.0f, TARN_TANK_PUSH_SPEED_MAX_M_S, TARN_TANK_PUSH_SPEED_MAX_M_S,
                                       1e6f};
    static const float strengths[] = {1.0f, 1.0f, 0.3f, 0.01f, 1e6f, -1.0f}; // the last two are clamped
    const float speed_m_s = speeds_m_s[storm_below(random, 6)];
    any_point(random, desc, push->center_m);
    for (int a = 0; a < 3; a++) {
        push->velocity_m_s[a] = speed_m_s * (float)storm_between(random, -1.0, 1.0);
    }
    push->strength = strengths[storm_below(random, 6)];
    push->radius_m = (float)(tank_size_m(desc, 1) * storm_between(random, 0.02, 0.3));
    if (one_in(random, 12)) {
        push->radius_m = one_in(random, 2) ? 0.0f : 1e6f;
    }
}

static void next_pushes(storm_random *random, const tarn_tank_desc *desc, storm_input *input)
{
    for (uint32_t i = 0; i < input->push_count; i++) {
        for (int a = 0; a < 3; a++) {
            input->pushes[i].center_m[a] += input->pushes[i].velocity_m_s[a] * desc->dt_s;
        }
    }
    if (!one_in(random, 12)) {
        return;
    }
    static const uint32_t counts[] = {0, 0, 1, 1, 2, 5, 16, TARN_TANK_PUSHES_MAX};
    input->push_count = counts[storm_below(random, 8)];
    for (uint32_t i = 0; i < input->push_count; i++) {
        any_push(random, desc, &input->pushes[i]);
    }
}

static void next_pose(storm_random *random, storm_input *input)
{
    if (one_in(random, 90)) { // let go: back to where it was
        input->pose = (tarn_pose){.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    }
    if (!one_in(random, 45)) {
        return;
    }
    input->poses = true;
    double q[4], square = 0.0;
    for (int i = 0; i < 4; i++) {
        q[i] = storm_between(random, -1.0, 1.0);
        square += q[i] * q[i];
    }
    for (int i = 0; i < 4; i++) {
        input->pose.rotation[i] = square > 0.01 ? (float)(q[i] / sqrt(square)) : i == 3 ? 1.0f : 0.0f;
    }
    for (int a = 0; a < 3; a++) {
        input->pose.position_m[a] = (float)storm_between(random, -2.0, 2.0);
    }
}

static void next_grabs(const storm_tank *storm, storm_random *random, storm_input *input)
{
    if (!one_in(random, 25)) {
        return;
    }
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    const tarn_tank_desc *desc = &storm->scene->tank;
    const uint32_t count = tarn_tank_bodies(storm->tank, bodies);
    const uint32_t wanted = one_in(random, 3) ? 0 : 1 + storm_below(random, TARN_TANK_GRABS_MAX);
    input->grab_count = 0;
    for (uint32_t i = 0; i < wanted && count > 0; i++) {
        const uint32_t body = storm_below(random, count);
        if (bodies[body].solid < desc->solid_count && desc->solids[bodies[body].solid].motion != TARN_MOTION_FREE) {
            continue;
        }
        tarn_grab *grab = &input->grabs[input->grab_count++];
        grab->body = body;
        for (int a = 0; a < 3; a++) {
            grab->point_m[a] = (float)storm_between(random, -0.3, 0.3);
            grab->target_m[a] = (float)(tank_size_m(desc, a) * storm_between(random, -1.0, 2.0));
        }
        if (one_in(random, 10)) {
            grab->target_m[storm_below(random, 3)] = 1e6f;
        }
        grab->strength = one_in(random, 3) ? 1.0f : (float)storm_between(random, 0.0, 1.0);
    }
}

static void next_parameters(const storm_tank *storm, storm_random *random, storm_input *input)
{
    for (uint32_t p = 0; p < storm_model(storm)->parameter_count; p++) {
        if (input->hold[p] > 0 && --input->hold[p] == 0) {
            input->value[p] = storm->scene->tank.parameters[p];
        }
    }
    if (!one_in(random, 40)) {
        return;
    }
    const uint32_t p = storm_below(random, storm_model(storm)->parameter_count);
    const tarn_parameter_spec *spec = tarn_model_parameter(storm_model(storm), p);
    const uint32_t kind = storm_below(random, 3);
    input->value[p] = kind == 0   ? spec->min
                      : kind == 1 ? spec->max
                                  : (float)storm_between(random, (double)spec->min, (double)spec->max);
    input->hold[p] = 1 + storm_below(random, 40);
}

/// Turns some of the pushes that have just begun into pulls and vortices.
static void swirl_pushes(storm_random *random, storm_input *input)
{
    static const float speeds[] = {0.5f, 3.0f, 10.0f, -3.0f, 1e6f};
    for (uint32_t i = 0; i < input->push_count; i++) {
        tarn_push *push = &input->pushes[i];
        push->inward_m_s = one_in(random, 2) ? speeds[storm_below(random, 5)] : 0.0f;
        for (int a = 0; a < 3; a++) {
            push->spin_rad_s[a] =
                one_in(random, 3) ? speeds[storm_below(random, 5)] * (float)storm_between(random, -9.0, 9.0) : 0.0f;
        }
    }
}

static void any_pour(storm_random *random, const tarn_tank_desc *desc, tarn_pour *pour)
{
    any_point(random, desc, pour->center_m);
    pour->radius_m = (float)(tank_size_m(desc, 1) * storm_between(random, 0.0, 0.2));
    for (int a = 0; a < 3; a++) {
        pour->velocity_m_s[a] = (float)storm_between(random, -4.0, 4.0);
    }
    if (one_in(random, 12)) {
        pour->velocity_m_s[storm_below(random, 3)] = 1e30f;
    }
    pour->liquid = storm_below(random, desc->liquid_count);
    for (int i = 0; i < 3; i++) {
        pour->colour[i] = (uint8_t)storm_below(random, 256);
    }
    pour->colour[3] = one_in(random, 2) ? 255 : 0;
}

static float any_size_m(storm_random *random, const tarn_tank_desc *desc)
{
    return (float)(tank_size_m(desc, 1) * storm_between(random, 0.01, one_in(random, 8) ? 2.0 : 0.2));
}

static tarn_solid any_solid(storm_random *random, const tarn_tank_desc *desc)
{
    tarn_solid solid = {.shape = {.kind = (tarn_shape_kind)storm_below(random, TARN_SHAPE_FIELD)}};
    any_point(random, desc, solid.pose.position_m);
    for (int a = 0; a < 3; a++) {
        solid.shape.half_m[a] = any_size_m(random, desc);
    }
    const double half_turn = storm_between(random, -3.14, 3.14);
    solid.pose.rotation[storm_below(random, 3)] = (float)sin(half_turn);
    solid.pose.rotation[3] = (float)cos(half_turn);
    return solid;
}

/// Bodies are thrown in, walls come and go.
static void next_added(storm_random *random, const tarn_tank_desc *desc, storm_input *input)
{
    input->throws = desc->cells[2] > 1 && desc->solver == TARN_SOLVER_MULTIGRID && one_in(random, 60);
    input->adds_wall = one_in(random, 30);
    input->erases = one_in(random, 60);
    if (input->throws) {
        input->thrown = any_solid(random, desc);
        input->thrown.motion = TARN_MOTION_FREE;
        input->thrown.density_kg_m3 = one_in(random, 2) ? 400.0f : (float)storm_between(random, 1.0, 20000.0);
        for (int a = 0; a < 3; a++) {
            input->thrown.velocity_m_s[a] = (float)storm_between(random, -30.0, 30.0);
        }
    }
    if (input->adds_wall) {
        input->wall = any_solid(random, desc);
    }
    if (input->erases) {
        any_point(random, desc, input->erase_m);
        input->erase_radius_m = (float)(tank_size_m(desc, 0) * storm_between(random, 0.0, 0.7));
    }
}

/// Tools begin and end, and stay where they are for a while.
static void next_tools(storm_random *random, const tarn_tank_desc *desc, storm_input *input)
{
    tarn_tank_tools *tools = &input->tools;
    if (one_in(random, 10)) {
        swirl_pushes(random, input);
    }
    if (one_in(random, 20)) {
        tools->pour_count = one_in(random, 2) ? 0 : 1 + storm_below(random, TARN_TANK_POURS_MAX);
        for (uint32_t i = 0; i < tools->pour_count; i++) {
            any_pour(random, desc, &tools->pours[i]);
        }
    }
    if (one_in(random, 20)) {
        tools->sink_count = one_in(random, 2) ? 0 : 1 + storm_below(random, 3);
        for (uint32_t i = 0; i < tools->sink_count; i++) {
            any_point(random, desc, tools->sinks[i].center_m);
            tools->sinks[i].radius_m = (float)(tank_size_m(desc, 1) * storm_between(random, -0.02, 0.12));
        }
    }
    if (one_in(random, 20)) {
        tools->dye_count = one_in(random, 2) ? 0 : 1 + storm_below(random, TARN_TANK_DYES_MAX);
        for (uint32_t i = 0; i < tools->dye_count; i++) {
            tarn_dye *dye = &tools->dyes[i];
            any_point(random, desc, dye->center_m);
            dye->radius_m = (float)(tank_size_m(desc, 1) * storm_between(random, -0.1, 0.5));
            dye->share = (float)storm_between(random, -0.5, 1.5);
            for (int c = 0; c < 3; c++) {
                dye->colour[c] = (uint8_t)storm_below(random, 256);
            }
        }
    }
}

void storm_input_start(const storm_tank *storm, storm_input *input)
{
    memset(input, 0, sizeof *input);
    input->pose.rotation[3] = 1.0f;
    memcpy(input->value, storm->scene->tank.parameters, sizeof input->value);
}

void storm_input_next(const storm_tank *storm, storm_random *random, storm_input *input)
{
    next_pushes(random, &storm->scene->tank, input);
    next_pose(random, input);
    next_grabs(storm, random, input);
    next_parameters(storm, random, input);
    if (storm->plan->tools) {
        next_tools(random, &storm->scene->tank, input);
        next_added(random, &storm->scene->tank, input);
    }
}

bool storm_input_has_own_parameters(const storm_tank *storm, const storm_input *input)
{
    return memcmp(input->value, storm->scene->tank.parameters, sizeof input->value) == 0;
}

void storm_input_fill(const storm_tank *storm, const storm_input *input, uint64_t step, tarn_step_input *to)
{
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    const uint32_t body_count = tarn_tank_bodies(storm->tank, bodies);
    memset(to, 0, sizeof *to);
    to->push_count = input->push_count;
    memcpy(to->pushes, input->pushes, input->push_count * sizeof *to->pushes);
    for (uint32_t i = 0; i < input->grab_count; i++) {
        if (input->grabs[i].body < body_count) { // a reset took what was thrown in
            to->grabs[to->grab_count++] = input->grabs[i];
        }
    }
    to->tools = input->tools;
    for (uint32_t p = 0; p < storm_model(storm)->parameter_count; p++) {
        if (input->value[p] != tarn_tank_parameter(storm->tank, p)) {
            to->parameters[to->parameter_count++] = (tarn_parameter_change){p, input->value[p]};
        }
    }
    if (input->poses) {
        to->poser = TARN_STEP_POSER_HAND;
        to->pose = input->pose;
    }
    tarn_scene_drive(storm->scene, step, to);
    to->throw_count = input->throws;
    to->throws[0] = input->thrown;
    to->wall_count = input->adds_wall;
    to->walls[0] = input->wall;
    to->erase_count = input->erases;
    memcpy(to->erases[0].center_m, input->erase_m, sizeof input->erase_m);
    to->erases[0].radius_m = input->erase_radius_m;
}
