// Sources by viewer and pointer; messages move them, a step latches them: start at tarn_input_state_put.
#include "server/worker/input/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/// Shortens a vector to at most max.
static void clamp_length(float v[3], float max)
{
    float found = tarn_tool_length(v);
    if (found > max) {
        for (int axis = 0; axis < 3; axis++) {
            v[axis] *= max / found;
        }
    }
}

void tarn_input_state_init(tarn_input_state *state)
{
    memset(state, 0, sizeof *state);
    state->up[1] = 1.0f;
    state->tools = TARN_TOOLS_ALL;
}

void tarn_input_state_turn(tarn_input_state *state, const float rotation[4], const float down[3])
{
    const tarn_pose pose = {{0.0f, 0.0f, 0.0f}, {rotation[0], rotation[1], rotation[2], rotation[3]}};
    const double up[3] = {-(double)down[0], -(double)down[1], -(double)down[2]};
    double local[3];
    tarn_pose_to_shape(&pose, up, local);
    for (int axis = 0; axis < 3; axis++) {
        state->up[axis] = (float)local[axis];
    }
}

void tarn_input_state_release(tarn_input_state *state)
{
    memset(state->sources, 0, sizeof state->sources);
}

// ---- viewers and sources ----

static tarn_input_viewer *viewer_find(tarn_input_state *state, uint32_t viewer_id)
{
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        if (state->viewers[i].viewer_id == viewer_id) {
            return &state->viewers[i];
        }
    }
    return NULL;
}

static tarn_input_viewer *viewer_find_or_add(tarn_input_state *state, uint32_t viewer_id)
{
    tarn_input_viewer *viewer = viewer_find(state, viewer_id);
    if (viewer == NULL && (viewer = viewer_find(state, 0)) != NULL) {
        memset(viewer, 0, sizeof *viewer);
        viewer->viewer_id = viewer_id;
    }
    return viewer;
}

static tarn_input_source *source_find(tarn_input_state *state, uint32_t viewer_id, tarn_input_kind kind, uint32_t index)
{
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        tarn_input_source *source = &state->sources[i];
        if (source->viewer_id == viewer_id && (viewer_id == 0 || (source->kind == kind && source->index == index))) {
            return source;
        }
    }
    return NULL;
}

/// The source that may be taken from its owner: the one that was silent for longest, if that was long.
static tarn_input_source *source_most_silent(tarn_input_state *state)
{
    tarn_input_source *most = &state->sources[0];
    for (int i = 1; i < TARN_INPUT_SOURCES_MAX; i++) {
        if (state->sources[i].silent_steps > most->silent_steps) {
            most = &state->sources[i];
        }
    }
    return most->silent_steps > TARN_INPUT_SILENT_STEPS ? most : NULL;
}

static tarn_input_source *source_find_or_add(tarn_input_state *state, uint32_t viewer_id, tarn_input_kind kind,
                                             uint32_t index, tarn_text why)
{
    tarn_input_source *source = source_find(state, viewer_id, kind, index);
    if (source != NULL) {
        return source;
    }
    source = source_find(state, 0, kind, index);
    if (source == NULL) {
        source = source_most_silent(state);
    }
    if (source == NULL) {
        snprintf(why, sizeof(tarn_text), "%d pointers, controllers and hands act in this tank already; no more fit",
                 TARN_INPUT_SOURCES_MAX);
        return NULL;
    }
    memset(source, 0, sizeof *source);
    source->viewer_id = viewer_id;
    source->kind = kind;
    source->index = index;
    source->press = ++state->presses;
    return source;
}

// ---- which tools fit ----

/// Refuses a tool that does nothing to what the tank holds. @return false
static bool refuse_tool(const tarn_input_state *state, tarn_tool tool, tarn_text why)
{
    int used = snprintf(why, sizeof(tarn_text), "input.tool: this tank has no \"%s\"; it has %s", tarn_tool_name(tool),
                        state->tools == 0 ? "none" : "");
    const char *separator = "";
    for (int i = 0; i < TARN_TOOL_COUNT; i++) {
        if ((state->tools >> i & 1) != 0) {
            used +=
                snprintf(why + used, sizeof(tarn_text) - (size_t)used, "%s%s", separator, tarn_tool_name((tarn_tool)i));
            separator = ", ";
        }
    }
    return false;
}

/// Whether the tank has a tool, and one more may use it besides all others than `source`, which may be NULL.
static bool tool_fits(const tarn_input_state *state, const tarn_input_source *source, tarn_tool tool, tarn_text why)
{
    uint32_t used = 0;
    if ((state->tools >> tool & 1) == 0) {
        return refuse_tool(state, tool, why);
    }
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        used += &state->sources[i] != source && state->sources[i].viewer_id != 0 && state->sources[i].tool == tool;
    }
    if (used < tarn_tool_most(tool) || tarn_tool_most(tool) == TARN_INPUT_SOURCES_MAX) {
        return true;
    }
    snprintf(why, sizeof(tarn_text), "input.tool: %u act as \"%s\" in this tank already; no more fit", (unsigned)used,
             tarn_tool_name(tool));
    return false;
}

/// Says once per viewer and tool that no more fit; forgets it when one does.
static tarn_status tell_once(tarn_input_state *state, uint32_t viewer_id, tarn_tool tool, bool fits, tarn_text why)
{
    tarn_input_viewer *viewer = viewer_find_or_add(state, viewer_id);
    const bool told = viewer != NULL && (viewer->tools_told >> tool & 1);
    if (viewer != NULL) {
        viewer->tools_told = (viewer->tools_told & ~(1u << tool)) | (fits ? 0 : 1u << tool);
    }
    if (fits || told) {
        why[0] = 0;
    }
    return fits || told ? TARN_OK : TARN_E_LIMIT;
}

bool tarn_input_state_is_news(tarn_input_state *state, uint32_t viewer_id, tarn_tool tool, bool is_so)
{
    tarn_input_viewer *viewer = viewer_find_or_add(state, viewer_id);
    const uint32_t bit = 1u << (TARN_INPUT_SIZES_SHIFT + tool),
                   before = viewer != NULL ? viewer->tools_told & bit : bit;
    if (viewer != NULL) {
        viewer->tools_told = is_so ? viewer->tools_told | bit : viewer->tools_told & ~bit;
    }
    return is_so && before == 0;
}

// ---- a pointer ----

/// Keeps a sphere within reach of the tank, so that a wild ray gives no wild speed and what a tool adds is sound.
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
    for (int axis = 0; axis < 3; axis++) {
        source->point_m[axis] = (float)local[axis];
    }
    source->body = grip->body;
    source->holds = true;
}

/// Where a press takes hold of the tank.
static void hold_tank(const tarn_input_state *state, tarn_input_source *source, const tarn_input_pointer *pointer,
                      const tarn_ray *ray, const tarn_tile_map *map)
{
    const bool is_above = pointer->tool == TARN_TOOL_POUR || pointer->tool == TARN_TOOL_THROW;
    const float depth =
        is_above ? tarn_ray_pour(ray, map, state->up, pointer->radius_m, source->lift) : tarn_ray_depth(ray, map);
    for (int axis = 0; axis < 3; axis++) {
        source->hold_m[axis] = ray->origin_m[axis] + depth * ray->direction[axis];
    }
}

/// Puts a pointer's sphere where its ray meets its plane.
static void pointer_aim(tarn_input_source *source, const tarn_tile_map *map, const float hit_m[3])
{
    for (int axis = 0; axis < 3; axis++) {
        source->target_m[axis] = hit_m[axis] + source->lift[axis];
    }
    keep_in_reach(map, source->target_m);
}

/// What every message of a pointer sets.
static void pointer_follow(tarn_input_source *source, const tarn_input_pointer *pointer)
{
    source->silent_steps = 0;
    source->radius_m = pointer->radius_m;
    source->strength = pointer->strength;
    source->colour = pointer->colour;
    source->pointer = *pointer;
}

/// Whether a pointer draws on the level, and not on the plane that faces the viewer: seen from above, in a tank that is
/// deep.
static bool draws_level(const tarn_input_pointer *pointer, const tarn_tile_map *map)
{
    const float cell_m = map->tile_m / (float)(1 << TARN_FRAME_TILE_CELLS_LOG2);
    const bool draws = pointer->tool == TARN_TOOL_WALL || pointer->tool == TARN_TOOL_ERASE;
    return draws && map->size_m[2] > 1.5f * cell_m && fabsf(pointer->direction[1]) >= TARN_INPUT_LEVEL_MIN;
}

static tarn_status pointer_down(tarn_input_state *state, uint32_t viewer_id, const tarn_input_pointer *pointer,
                                const tarn_ray *ray, const tarn_tile_map *map, const tarn_body_map *bodies,
                                tarn_text why)
{
    tarn_input_source *source = source_find(state, viewer_id, TARN_INPUT_POINTER, pointer->pointer_id);
    if (!tool_fits(state, source, pointer->tool, why)) {
        return TARN_E_LIMIT;
    }
    source = source_find_or_add(state, viewer_id, TARN_INPUT_POINTER, pointer->pointer_id, why);
    if (source == NULL) {
        return TARN_E_LIMIT;
    }
    const tarn_body_grip *grip =
        pointer->tool == TARN_TOOL_PUSH ? tarn_body_map_ray(bodies, ray, source->hold_m) : NULL;
    source->press = ++state->presses;
    source->tool = pointer->tool;
    source->holds = false;
    memset(source->lift, 0, sizeof source->lift);
    if (grip != NULL) {
        hold(source, grip, source->hold_m);
    } else {
        hold_tank(state, source, pointer, ray, map);
    }
    keep_in_reach(map, source->hold_m);
    source->stands = draws_level(pointer, map);
    memset(&source->trail, 0, sizeof source->trail);
    for (int axis = 0; axis < 3; axis++) {
        source->normal[axis] = source->stands ? (float)(axis == 1) : ray->direction[axis];
        source->axis[axis] = -ray->direction[axis]; // against the clock as the viewer sees it
    }
    pointer_aim(source, map, source->hold_m);
    memcpy(source->center_m, source->target_m, sizeof source->center_m);
    memset(source->velocity_m_s, 0, sizeof source->velocity_m_s);
    source->released = false;
    pointer_follow(source, pointer);
    return TARN_OK;
}

static tarn_status put_pointer(tarn_input_state *state, uint32_t viewer_id, const tarn_input_pointer *pointer,
                               const tarn_tile_map *map, const tarn_body_map *bodies, tarn_text why)
{
    tarn_ray ray;
    memcpy(ray.origin_m, pointer->origin_m, sizeof ray.origin_m);
    memcpy(ray.direction, pointer->direction, sizeof ray.direction);
    if (pointer->phase == TARN_PHASE_DOWN) {
        return pointer_down(state, viewer_id, pointer, &ray, map, bodies, why);
    }

    tarn_input_source *source = source_find(state, viewer_id, TARN_INPUT_POINTER, pointer->pointer_id);
    if (source == NULL || source->released) {
        return TARN_OK; // it hovers, or what it pressed is gone
    }
    float hit[3];
    if (tarn_ray_plane(&ray, source->hold_m, source->normal, hit)) {
        pointer_aim(source, map, hit);
    }
    pointer_follow(source, pointer);
    source->released = pointer->phase == TARN_PHASE_UP;
    return TARN_OK;
}

void tarn_input_state_press_again(tarn_input_state *state, const tarn_tile_map *map, const tarn_body_map *bodies)
{
    tarn_text why = "";
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        tarn_input_source *source = &state->sources[i];
        if (source->viewer_id == 0 || source->kind != TARN_INPUT_POINTER || !(source->pointer.radius_m > 0.0f)) {
            continue;
        }
        tarn_input_pointer pointer = source->pointer;
        const bool is_released = source->released;
        pointer.phase = TARN_PHASE_DOWN;
        (void)put_pointer(state, source->viewer_id, &pointer, map, bodies, why); // its source is there: it fits
        source->released = is_released;
    }
}

// ---- a controller or a hand ----

/// What controllers and hands have in common.
typedef struct tracked_pose {
    tarn_input_kind kind;
    tarn_side side;
    tarn_tool tool;
    bool acts;                            ///< its tool does something
    bool closes;                          ///< it is closed, and may hold something
    bool opens;                           ///< it is a tracked hand that isn't closed
    float position_m[3], velocity_m_s[3]; ///< within reach of the tank, and no faster than a push
    float axis[3];
    float radius_m, strength;
    uint32_t colour;
} tracked_pose;

/// Remembers whether a hand is open, also where it has no source because its tool does nothing. @return whether the
/// message before told it so
static bool was_open(tarn_input_state *state, uint32_t viewer_id, const tracked_pose *pose)
{
    tarn_input_viewer *viewer =
        viewer_id && pose->kind == TARN_INPUT_HAND ? viewer_find_or_add(state, viewer_id) : NULL;
    const uint32_t bit = 1u << pose->side, before = viewer != NULL ? viewer->open_hands & bit : 0;
    if (viewer != NULL) {
        viewer->open_hands = pose->opens ? viewer->open_hands | bit : viewer->open_hands & ~bit;
    }
    return before != 0;
}

/// A controller or hand that has just closed takes hold of the body that its sphere touches; an open one lets go. A
/// hand that came closed into sight doesn't take hold of what it runs into.
static bool tracked_holds(tarn_input_source *source, bool may_take, const tracked_pose *pose,
                          const tarn_body_map *bodies)
{
    const bool closes_now = pose->closes && !source->closed && may_take;
    source->closed = pose->closes;
    if (!pose->closes && !(pose->tool == TARN_TOOL_THROW && pose->acts)) {
        source->holds = false;
    }
    if (closes_now) {
        const tarn_body_grip *grip = tarn_body_map_point(bodies, pose->position_m, pose->radius_m);
        if (grip != NULL) {
            hold(source, grip, pose->position_m);
        }
    }
    return source->holds;
}

static void tracked_follow(tarn_input_source *source, const tracked_pose *pose)
{
    memcpy(source->target_m, pose->position_m, sizeof source->target_m);
    memcpy(source->velocity_m_s, pose->velocity_m_s, sizeof source->velocity_m_s);
    memcpy(source->axis, pose->axis, sizeof source->axis);
    if (source->tool != pose->tool) {
        memset(&source->trail, 0, sizeof source->trail);
    }
    source->tool = pose->tool;
    source->radius_m = pose->radius_m;
    source->strength = pose->strength;
    source->colour = pose->colour;
    source->silent_steps = 0;
}

/// Where a tracked pose is and how fast it moves.
static void pose_place(tracked_pose *pose, const float position_m[3], const float velocity_m_s[3],
                       const tarn_tile_map *map)
{
    memcpy(pose->position_m, position_m, sizeof pose->position_m);
    memcpy(pose->velocity_m_s, velocity_m_s, sizeof pose->velocity_m_s);
    keep_in_reach(map, pose->position_m);
    clamp_length(pose->velocity_m_s, TARN_TANK_PUSH_SPEED_MAX_M_S);
}

static tarn_status put_tracked(tarn_input_state *state, uint32_t viewer_id, const tracked_pose *pose,
                               const tarn_body_map *bodies, tarn_text why)
{
    tarn_input_source *source = source_find(state, viewer_id, pose->kind, pose->side);
    const bool may_take = was_open(state, viewer_id, pose) || source != NULL || pose->kind == TARN_INPUT_CONTROLLER;
    const bool may_hold = pose->closes && may_take;
    if (!pose->acts && !may_hold) {
        if (source != NULL) {
            source->viewer_id = 0;
        }
        return TARN_OK;
    }
    const bool fits = tool_fits(state, source, pose->tool, why);
    const tarn_status status = tell_once(state, viewer_id, pose->tool, fits, why);
    if (!fits) {
        if (source != NULL) {
            source->viewer_id = 0;
        }
        return status;
    }
    const bool is_new = source == NULL;
    if (is_new) {
        source = source_find_or_add(state, viewer_id, pose->kind, pose->side, why);
    }
    if (source == NULL) {
        return TARN_E_LIMIT;
    }
    if (is_new) {
        memcpy(source->center_m, pose->position_m, sizeof source->center_m);
    }
    if (!tracked_holds(source, may_take, pose, bodies) && !pose->acts) {
        source->viewer_id = 0;
        return TARN_OK;
    }
    tracked_follow(source, pose);
    return TARN_OK;
}

/// One axis of a pose in the tank.
static void pose_axis(const float orientation[4], int which, float axis[3])
{
    const tarn_pose pose = {{0.0f, 0.0f, 0.0f}, {orientation[0], orientation[1], orientation[2], orientation[3]}};
    double matrix[3][3];
    tarn_pose_matrix(&pose, matrix);
    for (int row = 0; row < 3; row++) {
        axis[row] = (float)matrix[row][which];
    }
}

static tracked_pose controller_pose(const tarn_input_controller *controller, const tarn_tile_map *map)
{
    const bool pushes = controller->tool == TARN_TOOL_PUSH;
    const float both = fmaxf(controller->grip, controller->trigger);
    const float pressed = pushes ? both : controller->trigger, gripped = pushes ? both : controller->grip;
    tracked_pose pose = {.kind = TARN_INPUT_CONTROLLER,
                         .side = controller->side,
                         .tool = controller->tool,
                         .acts = controller->tracked && pressed >= TARN_INPUT_TRIGGER_MIN,
                         .closes = controller->tracked && gripped >= TARN_INPUT_TRIGGER_MIN,
                         .radius_m = controller->radius_m,
                         .strength = controller->strength * pressed,
                         .colour = controller->colour};
    pose_place(&pose, controller->position_m, controller->velocity_m_s, map);
    pose_axis(controller->orientation, 2, pose.axis);
    return pose;
}

static tracked_pose hand_pose(const tarn_input_hand *hand, const tarn_tile_map *map)
{
    const bool pushes = hand->tool == TARN_TOOL_PUSH;
    const bool is_fist = hand->grip >= TARN_INPUT_HAND_CLOSED, is_pinched = hand->pinch >= TARN_INPUT_HAND_PINCHED;
    tracked_pose pose = {.kind = TARN_INPUT_HAND,
                         .side = hand->side,
                         .tool = hand->tool,
                         .acts = hand->tracked && !is_fist && (pushes || is_pinched),
                         .closes = hand->tracked && (is_fist || (pushes && is_pinched)),
                         .opens = hand->tracked && !is_fist && !(pushes && is_pinched),
                         .radius_m = hand->radius_m,
                         .strength = hand->strength,
                         .colour = hand->colour};
    pose_place(&pose, hand->position_m, hand->velocity_m_s, map);
    pose_axis(hand->orientation, 1, pose.axis);
    return pose;
}

tarn_status tarn_input_state_put(tarn_input_state *state, uint32_t viewer_id, const tarn_input *input,
                                 const tarn_tile_map *map, const tarn_body_map *bodies, tarn_text why)
{
    if ((unsigned)input->kind > TARN_INPUT_HAND) {
        snprintf(why, sizeof(tarn_text), "input.kind: %d is neither a pointer, a controller nor a hand",
                 (int)input->kind);
        return TARN_E_ARGUMENT;
    }
    if (input->kind == TARN_INPUT_POINTER) {
        return put_pointer(state, viewer_id, &input->pointer, map, bodies, why);
    }
    const tracked_pose pose =
        input->kind == TARN_INPUT_CONTROLLER ? controller_pose(&input->controller, map) : hand_pose(&input->hand, map);
    return put_tracked(state, viewer_id, &pose, bodies, why);
}

// ---- whose messages have come, and who is gone ----

void tarn_input_state_note(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence)
{
    tarn_input_viewer *viewer = viewer_id ? viewer_find_or_add(state, viewer_id) : NULL;
    if (viewer != NULL && sequence > viewer->received) {
        viewer->received = sequence;
    }
}

bool tarn_input_state_has(const tarn_input_state *state, uint32_t viewer_id, uint32_t sequence)
{
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        if (viewer_id != 0 && state->viewers[i].viewer_id == viewer_id) {
            return sequence <= state->viewers[i].received;
        }
    }
    return false;
}

static void release_of(tarn_input_state *state, uint32_t viewer_id)
{
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        if (state->sources[i].viewer_id == viewer_id) {
            state->sources[i].viewer_id = 0;
        }
    }
}

bool tarn_input_state_let_go(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence)
{
    tarn_input_viewer *viewer = viewer_id ? viewer_find(state, viewer_id) : NULL;
    if (viewer != NULL && viewer->received > sequence) {
        return false;
    }
    release_of(state, viewer_id);
    if (viewer != NULL) {
        viewer->open_hands = 0;
    }
    return true;
}

void tarn_input_state_viewer_gone(tarn_input_state *state, uint32_t viewer_id)
{
    release_of(state, viewer_id);
    tarn_input_viewer *viewer = viewer_id ? viewer_find(state, viewer_id) : NULL;
    if (viewer != NULL) {
        memset(viewer, 0, sizeof *viewer);
    }
}

// ---- bodies, held and thrown ----

uint32_t tarn_input_state_grabs(const tarn_input_state *state, tarn_grab grabs[TARN_TANK_GRABS_MAX])
{
    uint32_t count = 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX && count < TARN_TANK_GRABS_MAX; i++) {
        const tarn_input_source *source = &state->sources[i];
        if (source->viewer_id == 0 || !source->holds) {
            continue;
        }
        tarn_grab *grab = &grabs[count++];
        grab->body = source->body;
        grab->strength = TARN_INPUT_GRAB_STRENGTH;
        memcpy(grab->point_m, source->point_m, sizeof grab->point_m);
        memcpy(grab->target_m, source->target_m, sizeof grab->target_m);
    }
    return count;
}

bool tarn_input_state_is_heard(const tarn_input_state *state)
{
    bool is_heard = false;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        is_heard |= state->sources[i].viewer_id != 0 && state->sources[i].silent_steps == 0;
    }
    return is_heard;
}

void tarn_input_state_throws(tarn_input_state *state, const tarn_tool_throw *throws, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tarn_input_source *thrower = &state->sources[throws[i].source];
        if (thrower->viewer_id != 0 && thrower->press == throws[i].press) {
            thrower->throws = i + 1;
        }
    }
}

bool tarn_input_state_awaits_bodies(const tarn_input_state *state)
{
    bool awaits = false;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        awaits |= state->sources[i].viewer_id != 0 && state->sources[i].throws > 0;
    }
    return awaits;
}

/// It is in the thrower's hand until that lets go.
static void take_in_hand(tarn_input_source *thrower, uint32_t body)
{
    thrower->holds = true;
    thrower->body = body;
    memset(thrower->point_m, 0, sizeof thrower->point_m);
}

bool tarn_input_state_thrown(tarn_input_state *state, const uint32_t *bodies, uint32_t count)
{
    bool has_thrown = false;
    for (uint32_t n = 0; n < count; n++) {
        for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
            state->sources[i].holds &= state->sources[i].body != bodies[n];
        }
    }
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        tarn_input_source *thrower = &state->sources[i];
        if (thrower->viewer_id != 0 && thrower->throws > 0 && thrower->throws <= count) {
            take_in_hand(thrower, bodies[thrower->throws - 1]);
        }
        has_thrown |= thrower->throws > 0;
        thrower->throws = 0;
    }
    return has_thrown;
}

// ---- what sources do in a step ----

/// Where a source's way in this step begins, and its speed: the hand's own, however slow the tank is.
static void source_move(tarn_input_source *source, float hand_s, float from_m[3])
{
    memcpy(from_m, source->center_m, sizeof source->center_m);
    if (source->kind == TARN_INPUT_POINTER) {
        for (int axis = 0; axis < 3; axis++) {
            float speed = (source->target_m[axis] - from_m[axis]) / hand_s;
            source->velocity_m_s[axis] += TARN_INPUT_SMOOTHING * (speed - source->velocity_m_s[axis]);
        }
    } else {
        source->released = source->silent_steps >= TARN_INPUT_STALE_STEPS;
    }
    source->silent_steps++;
    clamp_length(source->velocity_m_s, TARN_TANK_PUSH_SPEED_MAX_M_S);
}

/// What one source does in this step.
static void source_latch(tarn_input_state *state, tarn_input_source *source, const float size_m[3], float hand_s,
                         uint32_t waiting, tarn_step_tools *step)
{
    tarn_tool_stroke stroke = {.tool = source->tool,
                               .radius_m = source->radius_m,
                               .strength = source->strength,
                               .colour = source->colour,
                               .source = (uint32_t)(source - state->sources),
                               .press = source->press,
                               .viewer_id = source->viewer_id,
                               .is_pointer = source->kind == TARN_INPUT_POINTER,
                               .stands = source->stands,
                               .ends = source->released,
                               .trail = &source->trail};
    source_move(source, hand_s, stroke.from_m);
    memcpy(stroke.to_m, source->target_m, sizeof stroke.to_m);
    memcpy(stroke.velocity_m_s, source->velocity_m_s, sizeof stroke.velocity_m_s);
    memcpy(stroke.axis, source->axis, sizeof stroke.axis);
    if (!source->holds) {
        tarn_tool_act(&stroke, state->up, size_m, waiting, step);
    }
    memcpy(source->center_m, source->target_m, sizeof source->center_m);
    if (source->released) {
        source->viewer_id = 0;
    }
}

void tarn_input_state_latch(tarn_input_state *state, const float size_m[3], float hand_s, tarn_step_tools *step)
{
    uint32_t waiting = 0;
    step->push_count = step->tank.pour_count = step->tank.sink_count = step->tank.dye_count = 0;
    step->throw_count = step->wall_count = step->erase_count = 0;
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        waiting += state->sources[i].viewer_id != 0;
    }
    for (int i = 0; i < TARN_INPUT_SOURCES_MAX; i++) {
        if (state->sources[i].viewer_id == 0) {
            continue;
        }
        waiting--;
        // Every source keeps room for one sphere; only what is left over goes to long ways.
        source_latch(state, &state->sources[i], size_m, hand_s, waiting, step);
    }
    tarn_input_state_latch_notes(state);
}

// ---- which messages a step contains ----

void tarn_input_state_latch_notes(tarn_input_state *state)
{
    state->order++;
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        tarn_input_viewer *viewer = &state->viewers[i];
        if (viewer->viewer_id == 0 || viewer->received == viewer->latched) {
            continue;
        }
        viewer->latched = viewer->received;
        viewer->latched_order = state->order;
    }
}

void tarn_input_state_latch_note(tarn_input_state *state, uint32_t viewer_id, uint32_t sequence)
{
    tarn_input_viewer *viewer = viewer_id ? viewer_find(state, viewer_id) : NULL;
    state->order++;
    if (viewer != NULL && sequence > viewer->latched) {
        viewer->latched = sequence;
        viewer->latched_order = state->order;
    }
}

uint32_t tarn_input_state_contained(const tarn_input_state *state, tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX])
{
    uint64_t orders[TARN_FRAME_INPUTS_MAX];
    uint32_t count = 0;
    for (int i = 0; i < TARN_INPUT_VIEWERS_MAX; i++) {
        const tarn_input_viewer *viewer = &state->viewers[i];
        if (viewer->viewer_id == 0 || viewer->latched == 0) {
            continue;
        }
        uint32_t at = count < TARN_FRAME_INPUTS_MAX ? count++ : TARN_FRAME_INPUTS_MAX;
        for (; at > 0 && orders[at - 1] < viewer->latched_order; at--) {
            if (at == TARN_FRAME_INPUTS_MAX) {
                continue;
            }
            orders[at] = orders[at - 1];
            inputs[at] = inputs[at - 1];
        }
        if (at == TARN_FRAME_INPUTS_MAX) {
            continue;
        }
        orders[at] = viewer->latched_order;
        inputs[at] = (tarn_frame_input){viewer->viewer_id, viewer->latched};
    }
    return count;
}
