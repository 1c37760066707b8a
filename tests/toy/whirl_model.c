// The whirl as a model: what it shows, how it begins, and a substep.
#include "kernels/tank/tank_internal.h"
#include "tests/toy/whirl.h"

enum { PARAMETER_RATE, PARAMETER_COUNT };

TARN_KERNEL_DECLARE(toy_whirl)
static const tarn_kernel whirl_kernel = TARN_KERNEL_DEFINE(toy_whirl);

static tarn_status check(const tarn_tank_desc *desc, const grid_complaint *why)
{
    return desc->cells[2] > 1 ? TARN_OK : grid_refuse(why, TARN_E_ARGUMENT, "a whirl needs three dimensions");
}

static void scale(tarn_tank *tank)
{
    tank->args->scale.rest_density = 8.0f;
    tank->args->scale.cell_particles_max = CELL_PARTICLES_MAX_LOWEST;
    tank->args->scale.liquid_density[0] = 1.0f;
}

static void carve(grid_carver *t, tarn_tank *tank)
{
    (void)t;
    (void)tank;
}

static float substeps(const tarn_tank *tank)
{
    (void)tank;
    return 0.0f;
}

static bool changes_launches(uint32_t id, float before, float after)
{
    return id == PARAMETER_RATE && before != after;
}

static void begin(tarn_tank *tank, tank_control *control)
{
    (void)control;
    ((whirl_args *)tank->part)->rate = tank->parameters[PARAMETER_RATE] * tank->grid.desc.dt_s;
}

static void substep(tarn_tank *tank)
{
    grid_launch_active(&tank->grid, tank->part, &whirl_kernel);
    tank_launch_advection(tank, tank->args);
}

static const tarn_parameter_spec parameters[PARAMETER_COUNT] = {
    {"rate_rad_s", "Turning", "rad/s", 1.0f, -20.0f, 20.0f, TARN_PLAYS_NONE, 0, "How fast it turns."}};
static const tarn_channel_spec channels[] = {{"colour", "Own colour", NULL}};

static const tarn_carried_spec carried[] = {{"warmth_k", "Warmth", "K", 10.0f, -50.0f, 50.0f, "Over the room's."}};

extern const tank_model toy_whirl_model;
const tank_model toy_whirl_model = {
    .shown = {.name = "whirl",
              .text = "tracers in a rigid rotation",
              .number = 1,
              .can = TARN_MODEL_DYES | TARN_MODEL_DRAINS,
              .parameter_count = PARAMETER_COUNT,
              .parameters = parameters,
              .tools = TARN_TOOL_BIT(DYE) | TARN_TOOL_BIT(DRAIN),
              .channel_count = 1,
              .channels = channels,
              .carried_count = 1,
              .carried = carried},
    .fills = true,
    .keeps_velocity = true,
    .part_bytes = sizeof(whirl_args),
    .control_bytes = sizeof(tank_control),
    .check = check,
    .scale = scale,
    .carve = carve,
    .carve_in_turn = carve,
    .particles = tank_blocks_particles,
    .seed = tank_seed_blocks,
    .substeps = substeps,
    .changes_launches = changes_launches,
    .begin = begin,
    .substep = substep,
};
