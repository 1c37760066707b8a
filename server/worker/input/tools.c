// One function per tool, from a stroke to its part of the step's input: start at tarn_tool_act, which is the last one.
// Before them what is put into the tank: start at tarn_thrown_solid and tarn_wall_solid.
#include "server/worker/input/tools.h"

#include <math.h>
#include <string.h>

// ---- what is put into the tank ----
// Sizes and turns of it, held to what the tank takes.

_Static_assert((int)TARN_TANK_ADDED_MAX <= (int)TARN_ADDED_MAX, "a list holds all that was added");
_Static_assert((int)TARN_TANK_THROWN_FIRST == (int)TARN_ADDED_NUMBER_MIN,
               "thrown bodies are numbered as viewers are told");

#define THROWN_CELLS_MIN 2.0f
#define THROWN_CELLS_MAX 8.0f
#define THROWN_SHARE_MAX 0.25f ///< of the tank's shortest side
#define THROWN_DENSITY 0.4f    ///< of the lightest liquid's
#define WALL_CELLS_MIN 1.0f    ///< half its thickness: thinner ones leak
#define WALL_CELLS_MAX 4.0f
#define BEYOND_CELLS 2.0f ///< that walls reach beyond the floor and the lid

static const uint8_t ball_colour[3] = {242, 193, 46}, wall_colour[3] = {150, 158, 170};

static float clamp(float value, float min, float max)
{
    return fminf(fmaxf(value, min), max);
}

static bool is_flat(const tarn_tank_desc *desc)
{
    return desc->cells[2] == 1;
}

const char *tarn_throw_refusal(const tarn_tank_desc *desc)
{
    uint32_t bodies = 0;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        bodies += desc->solids[i].motion != TARN_MOTION_STATIC;
    }
    return is_flat(desc)                              ? "this tank is one cell deep; nothing floats in it"
           : desc->solver != TARN_SOLVER_MULTIGRID    ? "nothing floats with this tank's pressure solver"
           : bodies >= (uint32_t)TARN_TANK_BODIES_MAX ? "as many solids move in this tank as fit"
                                                      : NULL;
}

/// The scene's solid whose like is thrown. @return its index, or solid_count
static uint32_t model_of(const tarn_tank_desc *desc)
{
    uint32_t i = 0;
    while (i < desc->solid_count &&
           (desc->solids[i].motion != TARN_MOTION_FREE || desc->solids[i].shape.kind != TARN_SHAPE_FIELD)) {
        i++;
    }
    return i;
}

static float ball_radius_m(const tarn_tank_desc *desc, float wanted_m)
{
    const uint16_t *cells = desc->cells;
    const float shortest = fminf(fminf(cells[0], cells[1]), cells[2]);
    const float most = fminf(THROWN_CELLS_MAX, fmaxf(THROWN_SHARE_MAX * shortest, 1.0f));
    return desc->cell_m * clamp(wanted_m / desc->cell_m, fminf(THROWN_CELLS_MIN, most), most);
}

void tarn_thrown_solid(const tarn_tank_desc *desc, const tarn_tool_throw *thrown, tarn_solid *solid)
{
    const uint32_t model = model_of(desc);
    float lightest = desc->liquids[0].density_kg_m3;
    for (uint32_t i = 1; i < desc->liquid_count; i++) {
        lightest = fminf(lightest, desc->liquids[i].density_kg_m3);
    }
    *solid = (tarn_solid){.motion = TARN_MOTION_FREE, .density_kg_m3 = fmaxf(THROWN_DENSITY * lightest, 1.0f)};
    if (model < desc->solid_count) {
        solid->shape = desc->solids[model].shape;
        memcpy(solid->colour, desc->solids[model].colour, sizeof solid->colour);
    } else {
        solid->shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {ball_radius_m(desc, thrown->radius_m)}};
        memcpy(solid->colour, ball_colour, sizeof solid->colour);
    }
    solid->pose.rotation[3] = 1.0f;
    memcpy(solid->pose.position_m, thrown->center_m, sizeof solid->pose.position_m);
    memcpy(solid->velocity_m_s, thrown->velocity_m_s, sizeof solid->velocity_m_s);
}

/// The quaternion's parts of a turn whose cosine this is: sine and cosine of half of it. By square roots alone, so that
/// every machine gets the same.
static void half_turn(float cosine, float *half_sine, float *half_cosine)
{
    *half_sine = sqrtf(fmaxf(0.5f * (1.0f - cosine), 0.0f));
    *half_cosine = sqrtf(fmaxf(0.5f * (1.0f + cosine), 0.0f));
}

/// A box whose x goes along the way: turned about y where it stands, about z in a flat tank.
static void fill_box(const tarn_tank_desc *desc, const tarn_tool_wall *wall, float radius_m, tarn_solid *solid)
{
    const bool flat = is_flat(desc);
    const int other = flat ? 1 : 2;
    const float along = wall->to_m[0] - wall->from_m[0], across = wall->to_m[other] - wall->from_m[other];
    const float length_m = sqrtf(along * along + across * across), beyond_m = BEYOND_CELLS * desc->cell_m;
    const float lid_m = (float)desc->cells[1] * desc->cell_m;
    const float top_m = wall->height_m < lid_m ? wall->height_m : lid_m + beyond_m;
    float half_sine, half_cosine;
    half_turn(length_m > 0.0f ? along / length_m : 1.0f, &half_sine, &half_cosine);
    solid->shape.kind = TARN_SHAPE_BOX;
    solid->shape.half_m[0] = 0.5f * length_m + radius_m;
    solid->shape.half_m[1] = flat ? radius_m : 0.5f * (top_m + beyond_m);
    solid->shape.half_m[2] = flat ? beyond_m : radius_m;
    if (flat) {
        solid->pose.position_m[2] = 0.5f * desc->cell_m;
    } else {
        solid->pose.position_m[1] = 0.5f * (top_m - beyond_m);
    }
    // A turn about y takes x to -z.
    solid->pose.rotation[flat ? 2 : 1] = (flat ? across : -across) < 0.0f ? -half_sine : half_sine;
    solid->pose.rotation[3] = half_cosine;
}

static void fill_capsule(const tarn_tool_wall *wall, float radius_m, tarn_solid *solid)
{
    float way[3], square = 0.0f;
    for (int a = 0; a < 3; a++) {
        way[a] = wall->to_m[a] - wall->from_m[a];
        square += way[a] * way[a];
    }
    const float length_m = sqrtf(square), sign = way[1] < 0.0f ? -1.0f : 1.0f;
    solid->shape.kind = length_m > 0.01f * radius_m ? TARN_SHAPE_CAPSULE : TARN_SHAPE_SPHERE;
    solid->shape.half_m[0] = radius_m;
    solid->pose.rotation[3] = 1.0f;
    if (solid->shape.kind == TARN_SHAPE_SPHERE) {
        return;
    }
    solid->shape.half_m[1] = 0.5f * length_m;
    const float x = sign * way[0] / length_m, y = sign * way[1] / length_m, z = sign * way[2] / length_m;
    const float scale = 1.0f / sqrtf(2.0f * (1.0f + y)); // y upwards to the way: their product and the half between
    solid->pose.rotation[0] = z * scale;
    solid->pose.rotation[2] = -x * scale;
    solid->pose.rotation[3] = (1.0f + y) * scale;
}

static float wall_radius_m(const tarn_tank_desc *desc, float wanted_m)
{
    return desc->cell_m * clamp(wanted_m / desc->cell_m, WALL_CELLS_MIN, WALL_CELLS_MAX);
}

float tarn_tool_radius_m(const tarn_tank_desc *desc, tarn_tool tool, float radius_m)
{
    const float cell_m = desc->cell_m, poured_m = TARN_INPUT_POUR_RADIUS * radius_m,
                wall_m = TARN_INPUT_WALL_RADIUS * radius_m;
    switch (tool) {
    case TARN_TOOL_THROW:
        return model_of(desc) < desc->solid_count ? radius_m : ball_radius_m(desc, radius_m);
    case TARN_TOOL_WALL:
        return wall_radius_m(desc, wall_m) / TARN_INPUT_WALL_RADIUS;
    case TARN_TOOL_POUR:
        return clamp(poured_m, cell_m, TARN_TANK_POUR_RADIUS_CELLS_MAX * cell_m) / TARN_INPUT_POUR_RADIUS;
    case TARN_TOOL_DRAIN:
        return fmaxf(radius_m, 0.5f * cell_m);
    default:
        return radius_m;
    }
}

void tarn_wall_solid(const tarn_tank_desc *desc, const tarn_tool_wall *wall, tarn_solid *solid)
{
    const float radius_m = wall_radius_m(desc, wall->radius_m);
    *solid = (tarn_solid){.motion = TARN_MOTION_STATIC};
    memcpy(solid->colour, wall_colour, sizeof solid->colour);
    for (int a = 0; a < 3; a++) {
        solid->pose.position_m[a] = 0.5f * (wall->from_m[a] + wall->to_m[a]);
    }
    if (wall->height_m > 0.0f || is_flat(desc)) {
        fill_box(desc, wall, radius_m, solid);
    } else {
        fill_capsule(wall, radius_m, solid);
    }
    for (int a = 0; a < 3; a++) { // a stroke may go from far outside on one side to the other
        solid->shape.half_m[a] = fminf(solid->shape.half_m[a], TARN_TANK_WALL_CELLS_MAX * desc->cell_m);
    }
}

uint32_t tarn_added_infos(const tarn_tank_desc *desc, const tarn_added_solid *added, uint32_t added_count,
                          tarn_added_info infos[TARN_ADDED_MAX])
{
    static const tarn_added_shape shapes[TARN_SHAPE_COUNT] = {TARN_ADDED_BOX, TARN_ADDED_SPHERE, TARN_ADDED_CAPSULE,
                                                              TARN_ADDED_CYLINDER, TARN_ADDED_LIKE};
    const uint32_t model = model_of(desc);
    for (uint32_t i = 0; i < added_count; i++) {
        const tarn_solid *solid = &added[i].solid;
        tarn_added_info *info = &infos[i];
        *info = (tarn_added_info){.number = added[i].number, .shape = shapes[solid->shape.kind]};
        info->like = info->shape == TARN_ADDED_LIKE && model < desc->solid_count ? model : 0;
        info->colour = (uint32_t)solid->colour[0] << 16 | (uint32_t)solid->colour[1] << 8 | solid->colour[2];
        memcpy(info->half_m, solid->shape.half_m, sizeof info->half_m);
        memcpy(info->position_m, solid->pose.position_m, sizeof info->position_m);
        memcpy(info->rotation, solid->pose.rotation, sizeof info->rotation);
    }
    return added_count;
}

// ---- one tool after the other ----

_Static_assert((int)TARN_INPUT_SOURCES_MAX <= TARN_TANK_PUSHES_MAX && (int)TARN_INPUT_SOURCES_MAX <= TARN_TANK_DYES_MAX,
               "each source has a sphere");

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
    const float wanted = ceilf(tarn_tool_length(way) / stroke->radius_m);
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
    if (tarn_tool_length(stroke->velocity_m_s) < TARN_INPUT_SPEED_MIN_M_S) {
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
    if (tarn_tool_length(way) < wanted_m || step->wall_count == TARN_INPUT_WALLS_MAX) {
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
