// One function per tool, from a stroke to its part of the step's input: start at tarn_tool_act.
#include "server/worker/input_tools.h"

#include <math.h>
#include <string.h>

_Static_assert((int)TARN_INPUT_SOURCES_MAX <= TARN_TANK_PUSHES_MAX && (int)TARN_INPUT_SOURCES_MAX <= TARN_TANK_DYES_MAX,
               "each source has a sphere");

static float length(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

uint32_t tarn_tool_most(tarn_tool tool)
{
    return tool == TARN_TOOL_POUR    ? TARN_TANK_POURS_MAX
           : tool == TARN_TOOL_DRAIN ? TARN_TANK_SINKS_MAX
                                     : TARN_INPUT_SOURCES_MAX;
}

/// How many spheres cover the way of this step, at most `room`.
static uint32_t sweep_count(const tarn_tool_stroke *stroke, uint32_t room)
{
    const float way[3] = {stroke->to_m[0] - stroke->from_m[0], stroke->to_m[1] - stroke->from_m[1],
                          stroke->to_m[2] - stroke->from_m[2]};
    const float wanted = ceilf(length(way) / stroke->radius_m);
    const uint32_t count = wanted > TARN_INPUT_SWEEP_MAX ? TARN_INPUT_SWEEP_MAX : (uint32_t)fmaxf(wanted, 1.0f);
    return count > room ? room : count;
}

/// The middle of sphere i of so many.
static void sweep_center(const tarn_tool_stroke *stroke, uint32_t i, uint32_t count, float center_m[3])
{
    const float share = (float)(i + 1) / (float)count;
    for (int axis = 0; axis < 3; axis++) {
        center_m[axis] = stroke->from_m[axis] + share * (stroke->to_m[axis] - stroke->from_m[axis]);
    }
}

static void push(const tarn_tool_stroke *stroke, uint32_t waiting, tarn_step_tools *step)
{
    if (length(stroke->velocity_m_s) < TARN_INPUT_SPEED_MIN_M_S) {
        return;
    }
    const uint32_t count = sweep_count(stroke, TARN_TANK_PUSHES_MAX - step->push_count - waiting);
    for (uint32_t i = 0; i < count; i++) {
        tarn_push *to = &step->pushes[step->push_count++];
        *to = (tarn_push){.radius_m = stroke->radius_m, .strength = stroke->strength};
        sweep_center(stroke, i, count, to->center_m);
        memcpy(to->velocity_m_s, stroke->velocity_m_s, sizeof to->velocity_m_s);
    }
}

/// A pull or a vortex.
static void swirl(const tarn_tool_stroke *stroke, float inward_m_s, float spin_rad_s, tarn_step_tools *step)
{
    tarn_push *to = &step->pushes[step->push_count++];
    *to = (tarn_push){.radius_m = stroke->radius_m, .strength = TARN_INPUT_SWIRL_SHARE, .inward_m_s = inward_m_s};
    for (int axis = 0; axis < 3; axis++) {
        to->spin_rad_s[axis] = spin_rad_s * stroke->axis[axis];
    }
    memcpy(to->center_m, stroke->to_m, sizeof to->center_m);
    memcpy(to->velocity_m_s, stroke->velocity_m_s, sizeof to->velocity_m_s);
}

static void vortex(const tarn_tool_stroke *stroke, tarn_step_tools *step)
{
    const float speed_m_s = TARN_INPUT_VORTEX_M_S * stroke->strength;
    swirl(stroke, TARN_INPUT_VORTEX_INWARD * speed_m_s, speed_m_s / (0.5f * stroke->radius_m), step);
}

static void unpack_colour(uint32_t colour, uint8_t to[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] = (uint8_t)(colour >> (16 - 8 * i));
    }
}

/// Beside the tank nothing is poured; what reaches in from just outside is.
static void pour(const tarn_tool_stroke *stroke, const float up[3], const float size_m[3], tarn_step_tools *step)
{
    const float speed_m_s = TARN_INPUT_POUR_MIN_M_S + stroke->strength * TARN_INPUT_POUR_M_S;
    if (step->tank.pour_count == TARN_TANK_POURS_MAX) {
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        if (stroke->to_m[axis] < -stroke->radius_m || stroke->to_m[axis] > size_m[axis] + stroke->radius_m) {
            return;
        }
    }
    tarn_pour *to = &step->tank.pours[step->tank.pour_count++];
    *to = (tarn_pour){.radius_m = TARN_INPUT_POUR_RADIUS * stroke->radius_m};
    memcpy(to->center_m, stroke->to_m, sizeof to->center_m);
    for (int axis = 0; axis < 3; axis++) {
        to->velocity_m_s[axis] = stroke->velocity_m_s[axis] - speed_m_s * up[axis];
    }
    unpack_colour(stroke->colour, to->colour);
    to->colour[3] = stroke->colour & TARN_COLOUR_GIVEN ? 255 : 0;
}

static void drain(const tarn_tool_stroke *stroke, tarn_step_tools *step)
{
    if (step->tank.sink_count == TARN_TANK_SINKS_MAX) {
        return;
    }
    tarn_sink *to = &step->tank.sinks[step->tank.sink_count++];
    to->radius_m = stroke->radius_m;
    memcpy(to->center_m, stroke->to_m, sizeof to->center_m);
}

static void dye(const tarn_tool_stroke *stroke, uint32_t waiting, tarn_step_tools *step)
{
    if (!(stroke->strength > 0.0f)) {
        return;
    }
    const uint32_t count = sweep_count(stroke, TARN_TANK_DYES_MAX - step->tank.dye_count - waiting);
    for (uint32_t i = 0; i < count; i++) {
        tarn_dye *to = &step->tank.dyes[step->tank.dye_count++];
        to->radius_m = stroke->radius_m;
        to->share = stroke->strength;
        sweep_center(stroke, i, count, to->center_m);
        unpack_colour(stroke->colour & TARN_COLOUR_GIVEN ? stroke->colour : TARN_INPUT_DYE_COLOUR, to->colour);
    }
}

static void throw_in(const tarn_tool_stroke *stroke, tarn_step_tools *step)
{
    if (stroke->trail->begun || step->throw_count == TARN_INPUT_THROWS_MAX) {
        return;
    }
    tarn_tool_throw *to = &step->throws[step->throw_count++];
    *to = (tarn_tool_throw){
        .source = stroke->source, .press = stroke->press, .viewer_id = stroke->viewer_id, .radius_m = stroke->radius_m};
    memcpy(to->center_m, stroke->to_m, sizeof to->center_m);
    memcpy(to->velocity_m_s, stroke->velocity_m_s, sizeof to->velocity_m_s);
    stroke->trail->begun = true;
}

/// A piece grows when the way is long enough, and at its end. A press that doesn't move makes a post.
static void wall(const tarn_tool_stroke *stroke, const float size_m[3], tarn_step_tools *step)
{
    tarn_tool_trail *trail = stroke->trail;
    const float radius_m = TARN_INPUT_WALL_RADIUS * stroke->radius_m;
    const float piece_m = fmaxf(2.0f * radius_m, TARN_INPUT_WALL_SHARE * fmaxf(size_m[0], size_m[2]));
    if (!trail->begun) {
        memcpy(trail->anchor_m, stroke->to_m, sizeof trail->anchor_m);
        trail->begun = true;
    }
    const float way[3] = {stroke->to_m[0] - trail->anchor_m[0], stroke->to_m[1] - trail->anchor_m[1],
                          stroke->to_m[2] - trail->anchor_m[2]};
    const float wanted_m = !trail->drawn && (stroke->ends || !stroke->is_pointer) ? 0.0f
                           : stroke->ends                                         ? 0.25f * piece_m
                                                                                  : piece_m;
    if (length(way) < wanted_m || step->wall_count == TARN_INPUT_WALLS_MAX) {
        return;
    }
    tarn_tool_wall *to = &step->walls[step->wall_count++];
    to->viewer_id = stroke->viewer_id;
    to->radius_m = radius_m;
    to->height_m = stroke->stands ? fmaxf(stroke->strength, TARN_INPUT_WALL_SHARE) * size_m[1] : 0.0f;
    memcpy(to->from_m, trail->anchor_m, sizeof to->from_m);
    memcpy(to->to_m, stroke->to_m, sizeof to->to_m);
    memcpy(trail->anchor_m, stroke->to_m, sizeof trail->anchor_m);
    trail->drawn = true;
}

/// A pointer erases from the floor up, whatever is nearest to it.
static void erase(const tarn_tool_stroke *stroke, const float size_m[3], tarn_step_tools *step)
{
    const float wanted = stroke->stands ? ceilf(size_m[1] / stroke->radius_m) : 1.0f;
    const uint32_t column = (uint32_t)fminf(wanted, TARN_INPUT_COLUMN_MAX);
    const uint32_t count = sweep_count(stroke, (TARN_INPUT_ERASES_MAX - step->erase_count) / column);
    for (uint32_t i = 0; i < count * column; i++) {
        tarn_sink *to = &step->erases[step->erase_count++];
        to->radius_m = stroke->radius_m;
        sweep_center(stroke, i / column, count, to->center_m);
        if (stroke->stands) {
            to->center_m[1] = size_m[1] * (float)(i % column) / (float)column;
        }
    }
}

void tarn_tool_act(const tarn_tool_stroke *stroke, const float up[3], const float size_m[3], uint32_t waiting,
                   tarn_step_tools *step)
{
    switch (stroke->tool) {
    case TARN_TOOL_PULL:
        swirl(stroke, TARN_INPUT_PULL_M_S * stroke->strength, 0.0f, step);
        break;
    case TARN_TOOL_VORTEX:
        vortex(stroke, step);
        break;
    case TARN_TOOL_POUR:
        pour(stroke, up, size_m, step);
        break;
    case TARN_TOOL_DRAIN:
        drain(stroke, step);
        break;
    case TARN_TOOL_DYE:
        dye(stroke, waiting, step);
        break;
    case TARN_TOOL_THROW:
        throw_in(stroke, step);
        break;
    case TARN_TOOL_WALL:
        wall(stroke, size_m, step);
        break;
    case TARN_TOOL_ERASE:
        erase(stroke, size_m, step);
        break;
    default:
        push(stroke, waiting, step);
        break;
    }
}
