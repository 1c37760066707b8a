#include "server/worker/input_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const tool_names[TARN_TOOL_COUNT] = {"push", "pull", "vortex", "pour", "drain"};

static float length(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// Shortens a vector to at most max.
static void clamp_length(float v[3], float max)
{
    float found = length(v);
    if (found > max)
        for (int axis = 0; axis < 3; axis++)
            v[axis] *= max / found;
}

void tarn_input_state_init(tarn_input_state *state)
{
    memset(state, 0, sizeof *state);
}

void tarn_input_state_release(tarn_input_state *state)
{
    memset(state->sources, 0, sizeof state->sources);
}

static tarn_input_viewer *viewer_find(tarn_input_state *state, uint32_t viewer_id)
{
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++)
        if (state->viewers[i].viewer_id == viewer_id)
            return &state->viewers[i];
    return NULL;
}

static tarn_input_viewer *viewer_find_or_add(tarn_input_state *state, uint32_t viewer_id)
{
    tarn_input_viewer *viewer = viewer_find(state, viewer_id);
    if (!viewer && (viewer = viewer_find(state, 0)) != NULL) {
        memset(viewer, 0, sizeof *viewer);
        viewer->viewer_id = viewer_id;
    }
    return viewer;
}

static tarn_input_source *source_find(tarn_input_state *state, uint32_t viewer_id, tarn_input_kind kind, uint32_t index)
{
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        tarn_input_source *source = &state->sources[i];
        if (source->viewer_id == viewer_id && (viewer_id == 0 || (source->kind == kind && source->index == index)))
            return source;
    }
    return NULL;
}

/// The source that may be taken from its owner: the one that was silent for longest, if that was long.
static tarn_input_source *source_most_silent(tarn_input_state *state)
{
    tarn_input_source *most = &state->sources[0];
    for (int i = 1; i < TARN_INPUT_SOURCES_MAX; i++)
        if (state->sources[i].silent_steps > most->silent_steps)
            most = &state->sources[i];
    return most->silent_steps > TARN_INPUT_SILENT_STEPS ? most : NULL;
}

static tarn_input_source *source_find_or_add(tarn_input_state *state, uint32_t viewer_id, tarn_input_kind kind,
                                             uint32_t index, tarn_text why)
{
    tarn_input_source *source = source_find(state, viewer_id, kind, index);
    if (source)
        return source;
    source = source_find(state, 0, kind, index);
    if (!source)
        source = source_most_silent(state);
    if (!source) {
        snprintf(why, sizeof(tarn_text), "%d pointers, controllers and hands act in this tank already; no more fit",
                 TARN_INPUT_SOURCES_MAX);
        return NULL;
    }
    memset(source, 0, sizeof *source);
    source->viewer_id = viewer_id;
    source->kind = kind;
    source->index = index;
    return source;
}

/// @return whether the tool pushes; if not, whether to say so is in *status
static int tool_acts(tarn_input_state *state, uint32_t viewer_id, tarn_tool tool, tarn_status *status, tarn_text why)
{
    if (tool == TARN_TOOL_PUSH)
        return 1;
    tarn_input_viewer *viewer = viewer_find_or_add(state, viewer_id);
    int told = viewer && (viewer->tools_told >> tool & 1);
    if (viewer)
        viewer->tools_told |= 1u << tool;
    *status = told ? TARN_OK : TARN_E_UNAVAILABLE;
    if (!told)
        snprintf(why, sizeof(tarn_text), "input.tool: the tool \"%s\" does nothing in this tank; allowed: \"%s\"",
                 tool_names[tool], tool_names[TARN_TOOL_PUSH]);
    return 0;
}

/// Keeps a pointer's sphere within reach of the tank, so that a wild ray gives no wild speed.
static void keep_in_reach(const tarn_tile_map *map, float point_m[3])
{
    for (int axis = 0; axis < 3; axis++) {
        float margin = TARN_INPUT_REACH_TANKS * map->size_m[axis];
        point_m[axis] = fminf(fmaxf(point_m[axis], -margin), map->size_m[axis] + margin);
    }
}

/// Takes hold of a body at a point, both in the tank.
static void hold(tarn_input_source *source, const tarn_body_grip *grip, const float point_m[3])
{
    const double point[3] = {(double)point_m[0], (double)point_m[1], (double)point_m[2]};
    double local[3];
    tarn_pose_to_shape(&grip->pose, point, local);
    for (int axis = 0; axis < 3; axis++)
        source->point_m[axis] = (float)local[axis];
    source->body = grip->body;
    source->holds = 1;
}

static tarn_status pointer_down(tarn_input_state *state, uint32_t viewer_id, const tarn_input_pointer *pointer,
                                const tarn_ray *ray, const tarn_tile_map *map, const tarn_body_map *bodies,
                                tarn_text why)
{
    tarn_status status = TARN_OK;
    if (!tool_acts(state, viewer_id, pointer->tool, &status, why))
        return status;
    tarn_input_source *source = source_find_or_add(state, viewer_id, TARN_INPUT_POINTER, pointer->pointer_id, why);
    if (!source)
        return TARN_E_LIMIT;
    const tarn_body_grip *grip = tarn_body_map_ray(bodies, ray, source->hold_m);
    source->holds = 0;
    if (grip) {
        hold(source, grip, source->hold_m);
    } else {
        float depth = tarn_ray_depth(ray, map);
        for (int axis = 0; axis < 3; axis++)
            source->hold_m[axis] = ray->origin_m[axis] + depth * ray->direction[axis];
    }
    keep_in_reach(map, source->hold_m);
    memcpy(source->normal, ray->direction, sizeof source->normal);
    memcpy(source->target_m, source->hold_m, sizeof source->target_m);
    memcpy(source->center_m, source->hold_m, sizeof source->center_m);
    memset(source->velocity_m_s, 0, sizeof source->velocity_m_s);
    source->released = 0;
    source->silent_steps = 0;
    source->radius_m = pointer->radius_m;
    source->strength = pointer->strength;
    return TARN_OK;
}

static tarn_status pointer_take(tarn_input_state *state, uint32_t viewer_id, const tarn_input_pointer *pointer,
                                const tarn_tile_map *map, const tarn_body_map *bodies, tarn_text why)
{
    tarn_ray ray;
    memcpy(ray.origin_m, pointer->origin_m, sizeof ray.origin_m);
    memcpy(ray.direction, pointer->direction, sizeof ray.direction);
    if (pointer->phase == TARN_PHASE_DOWN)
        return pointer_down(state, viewer_id, pointer, &ray, map, bodies, why);

    tarn_input_source *source = source_find(state, viewer_id, TARN_INPUT_POINTER, pointer->pointer_id);
    if (!source || source->released)
        return TARN_OK; // it hovers, or what it pressed is gone
    float hit[3];
    if (tarn_ray_plane(&ray, source->hold_m, source->normal, hit)) {
        keep_in_reach(map, hit);
        memcpy(source->target_m, hit, sizeof hit);
    }
    source->silent_steps = 0;
    source->radius_m = pointer->radius_m;
    source->strength = pointer->strength;
    source->released = pointer->phase == TARN_PHASE_UP;
    return TARN_OK;
}

/// What controllers and hands have in common.
typedef struct tracked_pose {
    tarn_input_kind kind;
    tarn_side side;
    tarn_tool tool;
    int pushes; ///< its sphere moves liquid
    int closes; ///< it is closed, and may hold something
    const float *position_m, *velocity_m_s;
    float radius_m, strength;
} tracked_pose;

/// A controller or hand that has just closed takes hold of the body that its sphere touches; an open one lets go. A
/// hand that came closed into sight doesn't take hold of what it runs into.
static int tracked_holds(tarn_input_source *source, int is_new, const tracked_pose *pose, const tarn_body_map *bodies)
{
    const int closes_now = pose->closes && !source->closed && !(is_new && pose->kind == TARN_INPUT_HAND);
    source->closed = pose->closes != 0;
    if (!pose->closes)
        source->holds = 0;
    if (closes_now) {
        const tarn_body_grip *grip = tarn_body_map_point(bodies, pose->position_m, pose->radius_m);
        if (grip)
            hold(source, grip, pose->position_m);
    }
    return source->holds;
}

static tarn_status tracked_take(tarn_input_state *state, uint32_t viewer_id, const tracked_pose *pose,
                                const tarn_body_map *bodies, tarn_text why)
{
    tarn_status status = TARN_OK;
    tarn_input_source *source = source_find(state, viewer_id, pose->kind, pose->side);
    const int may_hold = pose->closes && (source || pose->kind == TARN_INPUT_CONTROLLER);
    if (!(pose->pushes || may_hold) || !tool_acts(state, viewer_id, pose->tool, &status, why)) {
        if (source)
            source->viewer_id = 0;
        return status;
    }
    const int is_new = !source;
    if (!source)
        source = source_find_or_add(state, viewer_id, pose->kind, pose->side, why);
    if (!source)
        return TARN_E_LIMIT;
    if (!tracked_holds(source, is_new, pose, bodies) && !pose->pushes) {
        source->viewer_id = 0;
        return status;
    }
    memcpy(source->target_m, pose->position_m, sizeof source->target_m);
    memcpy(source->velocity_m_s, pose->velocity_m_s, sizeof source->velocity_m_s);
    source->radius_m = pose->radius_m;
    source->strength = pose->strength;
    source->silent_steps = 0;
    return TARN_OK;
}

tarn_status tarn_input_state_take(tarn_input_state *state, uint32_t viewer_id, const tarn_input *input,
                                  const tarn_tile_map *map, const tarn_body_map *bodies, tarn_text why)
{
    if (input->kind == TARN_INPUT_POINTER)
        return pointer_take(state, viewer_id, &input->pointer, map, bodies, why);
    if (input->kind == TARN_INPUT_CONTROLLER) {
        const tarn_input_controller *controller = &input->controller;
        float pressed = fmaxf(controller->grip, controller->trigger);
        int acts = controller->tracked && pressed >= TARN_INPUT_TRIGGER_MIN;
        tracked_pose pose = {.kind = TARN_INPUT_CONTROLLER,
                             .side = controller->side,
                             .tool = controller->tool,
                             .pushes = acts,
                             .closes = acts,
                             .position_m = controller->position_m,
                             .velocity_m_s = controller->velocity_m_s,
                             .radius_m = controller->radius_m,
                             .strength = controller->strength * pressed};
        return tracked_take(state, viewer_id, &pose, bodies, why);
    }
    if (input->kind == TARN_INPUT_HAND) {
        const tarn_input_hand *hand = &input->hand;
        int is_fist = hand->grip >= TARN_INPUT_HAND_CLOSED;
        tracked_pose pose = {.kind = TARN_INPUT_HAND,
                             .side = hand->side,
                             .tool = hand->tool,
                             .pushes = hand->tracked && !is_fist,
                             .closes = hand->tracked && (is_fist || hand->pinch >= TARN_INPUT_HAND_PINCHED),
                             .position_m = hand->position_m,
                             .velocity_m_s = hand->velocity_m_s,
                             .radius_m = hand->radius_m,
                             .strength = hand->strength};
        return tracked_take(state, viewer_id, &pose, bodies, why);
    }
    snprintf(why, sizeof(tarn_text), "input.kind: %d is neither a pointer, a controller nor a hand", (int)input->kind);
    return TARN_E_ARGUMENT;
}

void tarn_input_state_note(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence)
{
    tarn_input_viewer *viewer = viewer_id ? viewer_find_or_add(state, viewer_id) : NULL;
    if (viewer && sequence > viewer->received)
        viewer->received = sequence;
}

void tarn_input_state_viewer_gone(tarn_input_state *state, uint32_t viewer_id)
{
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++)
        if (state->sources[i].viewer_id == viewer_id)
            state->sources[i].viewer_id = 0;
    tarn_input_viewer *viewer = viewer_id ? viewer_find(state, viewer_id) : NULL;
    if (viewer)
        memset(viewer, 0, sizeof *viewer);
}

/// Spheres along a source's way in this step, at most `room`. @return how many were written
static uint32_t push_sweep(const tarn_input_source *source, const float from_m[3], uint32_t room, tarn_push *pushes)
{
    if (length(source->velocity_m_s) < TARN_INPUT_SPEED_MIN_M_S)
        return 0;
    float way[3] = {source->target_m[0] - from_m[0], source->target_m[1] - from_m[1], source->target_m[2] - from_m[2]};
    float wanted = ceilf(length(way) / source->radius_m);
    uint32_t count = wanted > TARN_INPUT_SWEEP_MAX ? TARN_INPUT_SWEEP_MAX : (uint32_t)fmaxf(wanted, 1.0f);
    if (count > room)
        count = room;
    for (uint32_t i = 0; i < count; i++) {
        float share = (float)(i + 1) / (float)count;
        for (int axis = 0; axis < 3; axis++) {
            pushes[i].center_m[axis] = from_m[axis] + share * way[axis];
            pushes[i].velocity_m_s[axis] = source->velocity_m_s[axis];
        }
        pushes[i].radius_m = source->radius_m;
        pushes[i].strength = source->strength;
    }
    return count;
}

uint32_t tarn_input_state_grabs(const tarn_input_state *state, tarn_grab grabs[TARN_TANK_GRABS_MAX])
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX && count < TARN_TANK_GRABS_MAX; i++) {
        const tarn_input_source *source = &state->sources[i];
        if (source->viewer_id == 0 || !source->holds)
            continue;
        tarn_grab *grab = &grabs[count++];
        grab->body = source->body;
        grab->strength = TARN_INPUT_GRAB_STRENGTH;
        memcpy(grab->point_m, source->point_m, sizeof grab->point_m);
        memcpy(grab->target_m, source->target_m, sizeof grab->target_m);
    }
    return count;
}

/// The pushes of one source in this step.
static uint32_t source_latch(tarn_input_source *source, float dt_s, uint32_t room, tarn_push *pushes)
{
    float from[3];
    if (source->kind == TARN_INPUT_POINTER) {
        memcpy(from, source->center_m, sizeof from);
        for (int axis = 0; axis < 3; axis++) {
            float speed = (source->target_m[axis] - from[axis]) / dt_s;
            source->velocity_m_s[axis] += TARN_INPUT_SMOOTHING * (speed - source->velocity_m_s[axis]);
        }
    } else {
        memcpy(from, source->target_m, sizeof from);
        source->released = source->silent_steps >= TARN_INPUT_STALE_STEPS;
    }
    source->silent_steps++;
    clamp_length(source->velocity_m_s, TARN_TANK_PUSH_SPEED_MAX_M_S);
    uint32_t count = source->holds ? 0 : push_sweep(source, from, room, pushes);
    memcpy(source->center_m, source->target_m, sizeof source->center_m);
    if (source->released)
        source->viewer_id = 0;
    return count;
}

uint32_t tarn_input_state_latch(tarn_input_state *state, float dt_s, tarn_push pushes[TARN_TANK_PUSHES_MAX])
{
    uint32_t waiting = 0, used = 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++)
        waiting += state->sources[i].viewer_id != 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        if (state->sources[i].viewer_id == 0)
            continue;
        waiting--;
        // Every source keeps room for one sphere; only what is left over goes to long ways.
        used += source_latch(&state->sources[i], dt_s, TARN_TANK_PUSHES_MAX - used - waiting, pushes + used);
    }
    tarn_input_state_latch_notes(state);
    return used;
}

void tarn_input_state_latch_notes(tarn_input_state *state)
{
    state->order++;
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        tarn_input_viewer *viewer = &state->viewers[i];
        if (viewer->viewer_id == 0 || viewer->received == viewer->latched)
            continue;
        viewer->latched = viewer->received;
        viewer->latched_order = state->order;
    }
}

uint32_t tarn_input_state_contained(const tarn_input_state *state, tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX])
{
    uint64_t orders[TARN_FRAME_INPUTS_MAX];
    uint32_t count = 0;
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        const tarn_input_viewer *viewer = &state->viewers[i];
        if (viewer->viewer_id == 0 || viewer->latched == 0)
            continue;
        uint32_t at = count < TARN_FRAME_INPUTS_MAX ? count++ : TARN_FRAME_INPUTS_MAX;
        for (; at > 0 && orders[at - 1] < viewer->latched_order; at--) {
            if (at == TARN_FRAME_INPUTS_MAX)
                continue;
            orders[at] = orders[at - 1];
            inputs[at] = inputs[at - 1];
        }
        if (at == TARN_FRAME_INPUTS_MAX)
            continue;
        orders[at] = viewer->latched_order;
        inputs[at] = (tarn_frame_input){viewer->viewer_id, viewer->latched};
    }
    return count;
}
