// Sizes and turns of what is added, held to what the tank takes: start at tarn_thrown_solid and tarn_wall_solid.
#include "server/worker/input_solids.h"

#include <math.h>
#include <string.h>

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
