// Smoke as a model: a substep as a sequence of launches, begin at smoke_substep; what of a description concerns it, its
// memory, and what it sets before a step.
#include "kernels/smoke/smoke_model.h"
#include "kernels/smoke/smoke_host.h"
#include "kernels/smoke_parameters.h"

#include <math.h>
#include <stddef.h>

// ---- parameters, and what particles carry ----

const tarn_parameter_spec tarn_smoke_parameters[TARN_SMOKE_PARAMETER_COUNT] = {
    [TARN_SMOKE_GRAVITY] = {"gravity_m_s2", "Gravity", "m/s²", 9.81f, 0.0f, 50.0f, TARN_PLAYS_GRAVITY, 0,
                            "Strength of gravity, straight down."},
    [TARN_SMOKE_EXPANSION] = {"thermal_expansion_1_k", "Thermal expansion", "1/K", 1.0f / 293.0f, 0.0f, 0.1f,
                              TARN_PLAYS_NONE, 0,
                              "By what share of its density air gets lighter with each kelvin; air at 20 °C by 1/293."},
    [TARN_SMOKE_WEIGHT] = {"smoke_weight", "Weight of smoke", NULL, 0.0f, -1.0f, 10.0f, TARN_PLAYS_NONE, 0,
                           "By what share of its density smoke of concentration 1 makes air heavier."},
    [TARN_SMOKE_VISCOSITY] = {"viscosity_m2_s", "Viscosity", "m²/s", 0.0f, 0.0f, 1.0f, TARN_PLAYS_NONE, 0,
                              "Kinematic viscosity; air has 0.000015. As much of it acts as is stable."},
    [TARN_SMOKE_HEAT_DIFFUSION] = {"heat_diffusion_1_s", "Mixing", "1/s", 0.5f, 0.0f, 100.0f, TARN_PLAYS_NONE, 0,
                                   "Rate at which the heat and smoke of a cell's particles become equal."},
    [TARN_SMOKE_COOLING] = {"cooling_1_s", "Cooling", "1/s", 0.2f, 0.0f, 100.0f, TARN_PLAYS_NONE, 0,
                            "Rate at which heat is lost."},
    [TARN_SMOKE_FADING] = {"fading_1_s", "Fading", "1/s", 0.2f, 0.0f, 100.0f, TARN_PLAYS_NONE, 0,
                           "Rate at which smoke fades; what is hardly seen and hardly warm is taken away."},
    [TARN_SMOKE_CONFINEMENT] = {"vorticity_confinement", "Vorticity confinement", NULL, 0.0f, 0.0f, 10.0f,
                                TARN_PLAYS_NONE, 0,
                                "Strength of a force that keeps small vortices turning; 0: physics alone."},
    [TARN_SMOKE_WALL_GRIP] = {"wall_grip", "Grip of walls", NULL, 0.0f, 0.0f, 1.0f, TARN_PLAYS_NONE, 0,
                              "0: air slips freely along walls; 1: it sticks to them."},
    [TARN_SMOKE_OPEN] = {"open", "Open", NULL, 0.0f, 0.0f, 2.0f, TARN_PLAYS_NONE, TARN_PARAMETER_IS_WHOLE,
                         "Where air and smoke leave the tank: 0: nowhere; 1: at the top; 2: at all sides but the "
                         "floor."},
    [TARN_SMOKE_SLEEP_SPEED] = {"sleep_speed_m_s", "Sleep below", "m/s", 0.01f, 0.0f, 10.0f, TARN_PLAYS_NONE,
                                TARN_PARAMETER_IS_SOLVER,
                                "Where air has no smoke and is slower it isn't computed: it gives way as if it were "
                                "outside. 0: all air is computed."},
    [TARN_SMOKE_ADVECTION] = {"advection", "Advection", NULL, 1.0f, 0.0f, 1.0f, TARN_PLAYS_NONE,
                              TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                              "How air carries its own velocity: 0: semi-Lagrangian, which blurs; 1: MacCormack."},
    [TARN_SMOKE_TOLERANCE] = {"pressure_tolerance", "Tolerance", NULL, 1e-3f, 1e-7f, 1e-1f, TARN_PLAYS_NONE,
                              TARN_PARAMETER_HAS_MAGNITUDES | TARN_PARAMETER_IS_SOLVER,
                              "Residual at which the pressure solve ends: the largest |div u| dt."},
    [TARN_SMOKE_ITERATIONS] = {"pressure_iterations", "Iterations", NULL, 20.0f, 1.0f, 2000.0f, TARN_PLAYS_NONE,
                               TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                               "Cap on pressure iterations, whatever kind."},
    [TARN_SMOKE_CFL] = {"cfl", "CFL", NULL, 2.0f, 0.5f, 2.9f, TARN_PLAYS_CFL, TARN_PARAMETER_IS_SOLVER,
                        "Cells that the fastest air may cross in a substep."},
    [TARN_SMOKE_SUBSTEPS] =
        {"substeps_max", "Substeps", NULL, 4.0f, 1.0f, 8.0f, TARN_PLAYS_SUBSTEPS,
         TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
         "Cap on substeps in a step. Air so fast that it takes more than half of them calms within seconds."},
};

static const tarn_carried_spec carried_specs[TARN_SMOKE_CARRIED_COUNT] = {
    [TARN_SMOKE_HEAT] = {"heat_k", "Heat", "K", 60.0f, -250.0f, 2000.0f, "Kelvin above the air's temperature at rest."},
    [TARN_SMOKE_SMOKE] = {"smoke", "Smoke", NULL, 1.0f, 0.0f, 10.0f, "Concentration of smoke; 1: as it leaves a fire."},
};

// ---- a substep ----
// A fixed sequence of launches.
//
//     carry (MacCormack) ─ deposit ─ forces ─ viscosity, confinement ─ bodies, solids ─ matrix ─ pressure ─ extrapolate
//     ─ slip ─ draw ─ sleep ─ move particles ─ mix, cool, fade ─ sort

/// nu dt / dx^2 of a step.
static float viscosity_of_step(const tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    return tank->parameters[TARN_SMOKE_VISCOSITY] * desc->dt_s / (desc->cell_m * desc->cell_m);
}

/// Rounds of viscosity in a step's substeps, an even number: 0 where there is none.
static uint32_t smoke_viscosity_rounds(const tarn_tank *tank)
{
    const float rounds = ceilf(viscosity_of_step(tank) / VISCOSITY_ROUND_MAX);
    return 2 * ((uint32_t)tile_min_f32(rounds, (float)VISCOSITY_ROUNDS_MAX) / 2 +
                ((uint32_t)tile_min_f32(rounds, (float)VISCOSITY_ROUNDS_MAX) & 1));
}

static void launch_carry(tarn_tank *tank, const smoke_args *with)
{
    smoke_args args = *with;
    args.is_semi_lagrange = tank->parameters[TARN_SMOKE_ADVECTION] == 0.0f;
    grid_launch_active(&tank->grid, &args, SMOKE_KERNEL(carry));
    if (!args.is_semi_lagrange) {
        grid_launch_active(&tank->grid, &args, SMOKE_KERNEL(correct));
    }
}

/// From u to u by way of u_ext.
static void launch_viscosity(tarn_tank *tank, const smoke_args *with)
{
    smoke_args args = *with;
    const grid_memory *m = &args.tank.grid.m;
    const uint32_t rounds = smoke_viscosity_rounds(tank);
    for (uint32_t i = 0; i < rounds; i++) {
        for (int a = 0; a < 3; a++) {
            args.from[a] = i % 2 == 0 ? m->u[a] : m->u_ext[a];
            args.to[a] = i % 2 == 0 ? m->u_ext[a] : m->u[a];
        }
        grid_launch_active(&tank->grid, &args, SMOKE_KERNEL(viscosity));
    }
}

/// Velocities without divergence.
static void solve(void *of)
{
    tarn_tank *tank = of;
    grid_launch_matrix(&tank->grid);
    tank_mark(tank, STAGE_MATRIX);
    grid_solve(&tank->grid, false, (uint32_t)tank->parameters[TARN_SMOKE_ITERATIONS]);
}

static void smoke_substep(tarn_tank *tank)
{
    const smoke_args *args = &smoke_of(tank)->args;
    grid_host *grid = &tank->grid;
    tank_mark(tank, STAGE_NONE);
    launch_carry(tank, args);
    tank_mark(tank, STAGE_CARRY);
    grid_launch_occupied(grid, args, SMOKE_KERNEL(deposit));
    grid_launch_active(grid, args, SMOKE_KERNEL(cells));
    tank_mark(tank, STAGE_DEPOSIT);
    grid_launch_active(grid, args, SMOKE_KERNEL(forces));
    launch_viscosity(tank, args);
    if (tank->parameters[TARN_SMOKE_CONFINEMENT] > 0.0f) {
        grid_launch_active(grid, args, SMOKE_KERNEL(curl));
        grid_launch_active(grid, args, SMOKE_KERNEL(confine));
    }
    if (grid->body_count > 0) {
        grid_launch(grid, args, GRID_KERNEL(bodies_begin), NULL, 1);
        grid_launch(grid, args, GRID_KERNEL(body_tiles), NULL, 1);
    }
    if (grid->has_solids) {
        grid_launch_active(grid, args, GRID_KERNEL(solids));
        grid_launch_active(grid, args, GRID_KERNEL(solid_cells));
    }
    tank_mark(tank, STAGE_FORCES);
    grid_launch_chain(grid, solve, tank);
    tank_mark(tank, STAGE_PRESSURE);
    grid_launch_active(grid, args, GRID_KERNEL(extrapolate));
    if (grid->has_solids) {
        grid_launch_active(grid, args, GRID_KERNEL(slip));
        grid_launch_active(grid, args, GRID_KERNEL(slip_end));
    }
    grid_launch_active(grid, args, SMOKE_KERNEL(draw));
    grid_launch_active(grid, args, SMOKE_KERNEL(stir));
    grid_launch_active(grid, args, SMOKE_KERNEL(wake));
    tank_mark(tank, STAGE_EXTRAPOLATE);
    tank_launch_moves(tank, &args->tank);
    grid_launch_occupied(grid, args, SMOKE_KERNEL(fade));
    tank_launch_sort(tank, &args->tank);
}

// ---- the model ----

#define AIR_KG_M3 1.2f
#define SUCTION_M_S 1.0f     ///< of a drain at its rim
#define CALMING_1_S 1.0      ///< rate at which air that takes too many substeps calms
#define CALM_SHARE 0.8f      ///< of what fewer substeps carry: what calms gets there within seconds
#define LIFT_SHOWN_MIN 1e-3f ///< for the range of pressures that are shown

static tarn_status check(const tarn_tank_desc *desc, const grid_complaint *why)
{
    if (desc->transfer != TARN_TRANSFER_FLIP || desc->p2g_weights != TARN_WEIGHTS_LINEAR ||
        desc->g2p_weights != TARN_WEIGHTS_LINEAR || desc->reseed) {
        return grid_refuse(why, TARN_E_ARGUMENT, "smoke knows neither transfers, weights nor reseeding");
    }
    if ((unsigned)desc->solver >= TARN_SOLVER_COUNT) {
        return grid_refuse(why, TARN_E_ARGUMENT, "solver is %u; allowed is 0 to %d", (unsigned)desc->solver,
                           TARN_SOLVER_COUNT - 1);
    }
    return TARN_OK;
}

static void scale(tarn_tank *tank)
{
    tarn_tank_desc *desc = &tank->grid.desc;
    store_scale *store = &tank->args->scale;
    tank_scale_particles(tank);
    store->makes_way = 1;
    for (uint32_t i = 0; i < LIQUIDS_MAX; i++) {
        store->liquid_density[i] = 1.0f;
    }
    tank->args->grid.walls_known = 1;
    desc->liquids[0] = (tarn_liquid){.density_kg_m3 = AIR_KG_M3, .colour = {214, 216, 220}};
}

static void carve(grid_carver *t, tarn_tank *tank)
{
    smoke_args *args = &smoke_of(tank)->args;
    t->group = GROUP_ACTIVE;
    grid_carve(t, &args->m.lift, TILE_CELLS * 4);
    grid_carve(t, &args->m.stirs, 1);
    args->m.control = (smoke_control *)args->tank.store.control;
}

/// The sums of the deposit, which are done with when the solver begins.
static void carve_in_turn(grid_carver *t, tarn_tank *tank)
{
    grid_carve(t, &smoke_of(tank)->args.m.sum, (uint64_t)NODE_COUNT * 4);
}

static float substeps(const tarn_tank *tank)
{
    (void)tank;
    return 0.0f;
}

// ---- the model: parameters as they act ----

static float used(const tarn_tank *tank, uint32_t id)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float most = VISCOSITY_ROUND_MAX * (float)VISCOSITY_ROUNDS_MAX * desc->cell_m * desc->cell_m / desc->dt_s;
    return id == TARN_SMOKE_VISCOSITY ? tile_min_f32(tank->parameters[id], most) : tank->parameters[id];
}

static bool changes_launches(uint32_t id, float before, float after)
{
    return after != before &&
           (id == TARN_SMOKE_ITERATIONS || id == TARN_SMOKE_ADVECTION || id == TARN_SMOKE_VISCOSITY ||
            (id == TARN_SMOKE_CONFINEMENT && (after > 0.0f) != (before > 0.0f)));
}

// ---- the model: before a step ----

/// exp(-x) of x >= 0 to 11 digits, by multiplications only: the same bits on every machine, which exp doesn't promise.
static float decayed(double x)
{
    const double y = x / 4096.0;
    double power = y < 1.0 ? 1.0 - y + 0.5 * y * y - y * y * y / 6.0 : 0.0;
    for (int i = 0; i < 12; i++) {
        power *= power;
    }
    return (float)power;
}

/// The most lift, up or down, that a particle of this tank may have.
static float lift_max(const tarn_tank *tank, float expansion, float weight)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    float most[TARN_SMOKE_CARRIED_COUNT];
    for (int k = 0; k < TARN_SMOKE_CARRIED_COUNT; k++) {
        most[k] = tile_abs_f32(carried_specs[k].initial);
        for (uint32_t i = 0; i < desc->block_count; i++) {
            most[k] = tile_max2_f32(most[k], tile_abs_f32(desc->blocks[i].carried[k]));
        }
        for (uint32_t i = 0; i < desc->fluid_count; i++) {
            most[k] = tile_max2_f32(most[k], tile_abs_f32(desc->fluids[i].carried[k]));
        }
        for (uint32_t i = 0; i < desc->emitter_count; i++) {
            most[k] = tile_max2_f32(most[k], tile_abs_f32(desc->emitters[i].carried[k]));
        }
    }
    return tile_max2_f32(expansion * most[TARN_SMOKE_HEAT] + tile_abs_f32(weight) * most[TARN_SMOKE_SMOKE], 1e-6f);
}

/// The speed that half of the substeps carry, and a little less, cells per step: who stirs may take them all, and a few
/// seconds later the tank costs what it did before. Where there is one substep at most nothing is to be won.
static float calm_speed(const tarn_tank *tank, float speed_max)
{
    const float half = floorf(0.5f * tank->parameters[TARN_SMOKE_SUBSTEPS]);
    return half >= 1.0f ? tile_min_f32(CALM_SHARE * half * tank->parameters[TARN_SMOKE_CFL], speed_max) : speed_max;
}

static void begin(tarn_tank *tank, tank_control *control)
{
    smoke_control *own = (smoke_control *)control;
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float *p = tank->parameters;
    const double dt_s = (double)desc->dt_s * (double)control->grid.frac;
    const uint32_t rounds = smoke_viscosity_rounds(tank);
    control->flip = 0.0f;
    control->grid.tolerance = p[TARN_SMOKE_TOLERANCE];
    control->grid.relaxation = 1.0f;
    control->grid.grip = p[TARN_SMOKE_WALL_GRIP];
    own->expansion = p[TARN_SMOKE_EXPANSION];
    own->weight = p[TARN_SMOKE_WEIGHT];
    own->lift_max = lift_max(tank, own->expansion, own->weight);
    own->lift_unit = LIFT_CELL_MAX / (tank->args->scale.cell_particles_max * own->lift_max);
    own->viscosity =
        rounds > 0 ? tile_min_f32(viscosity_of_step(tank) * control->grid.frac / (float)rounds, VISCOSITY_ROUND_MAX)
                   : 0.0f;
    own->confinement = p[TARN_SMOKE_CONFINEMENT];
    own->mixing = 1.0f - decayed((double)p[TARN_SMOKE_HEAT_DIFFUSION] * dt_s);
    own->cooled = decayed((double)p[TARN_SMOKE_COOLING] * dt_s);
    own->faded = decayed((double)p[TARN_SMOKE_FADING] * dt_s);
    own->sleep_speed = p[TARN_SMOKE_SLEEP_SPEED] * desc->dt_s / desc->cell_m;
    own->calm_speed = calm_speed(tank, control->grid.speed_max);
    own->kept = decayed(CALMING_1_S * dt_s);
    own->suction = SUCTION_M_S * desc->dt_s / desc->cell_m;
    own->open = (uint32_t)p[TARN_SMOKE_OPEN];
}

// ---- the model: channels, fields, its table ----

static const char *const stages[STAGE_END - STAGE_COUNT] = {"carry",  "deposit",  "forces",
                                                            "matrix", "pressure", "extrapolate"};

enum { CHANNEL_HEAT = 4, CHANNEL_SMOKE, CHANNEL_PRESSURE };

static const tarn_channel_spec channels[] = {
    {"colour", "Own colour", NULL},
    {"speed", "Speed", "m/s"},
    {"height", "Height", "m"},
    {"vorticity", "Vorticity", "1/s"},
    [CHANNEL_HEAT] = {"heat", "Heat", "K"},
    [CHANNEL_SMOKE] = {"smoke", "Smoke", NULL},
    [CHANNEL_PRESSURE] = {"pressure", "Pressure", "Pa"},
};

static float pressure_density(const tarn_tank *tank)
{
    (void)tank;
    return AIR_KG_M3;
}

/// Besides that of air at rest, of each particle's cell. It ranges over that of a column as high as the tank of the
/// warmest or heaviest air that the scene has.
static void show_pressure(tarn_tank *tank, float *room, tank_channel *to)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float *p = tank->parameters;
    smoke_args args = smoke_of(tank)->args;
    args.value = room;
    args.value_scale = tank_pressure_m2_s2(tank) * pressure_density(tank);
    (void)tarn_queue_zero(tank->grid.queue, room, (size_t)tank->particle_count * sizeof *room);
    grid_launch(&tank->grid, &args, SMOKE_KERNEL(show_pressure), NULL, tank->counters.grid.solved);
    const float lift = tile_max2_f32(lift_max(tank, p[TARN_SMOKE_EXPANSION], p[TARN_SMOKE_WEIGHT]), LIFT_SHOWN_MIN);
    const float gravity = tile_max2_f32(p[TARN_SMOKE_GRAVITY], 1.0f);
    const float most = AIR_KG_M3 * lift * gravity * (float)desc->cells[1] * desc->cell_m;
    *to = (tank_channel){room, -most, most};
}

static void channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *to)
{
    if (number == CHANNEL_PRESSURE) {
        show_pressure(tank, room, to);
        return;
    }
    float *const *carried = tank->args->store.carried;
    const float most = tank_carried_most(&tank->grid.desc, TARN_SMOKE_HEAT);
    *to = number == CHANNEL_HEAT ? (tank_channel){carried[TARN_SMOKE_HEAT], -most, most}
                                 : (tank_channel){carried[TARN_SMOKE_SMOKE], 0.0f, 1.0f};
}

enum { FIELD_SMOKE, FIELD_HEAT, FIELD_SPEED };

static const tarn_field_spec fields[] = {
    [FIELD_SMOKE] = {"smoke", "Smoke", NULL, NULL},
    [FIELD_HEAT] = {"heat", "Heat", "K", NULL},
    [FIELD_SPEED] = {"speed", "Speed", "m/s", NULL},
};

static void field(tarn_tank *tank, uint32_t number, float *room, tank_field *to)
{
    if (number == FIELD_SPEED) {
        tank_field_speed(tank, room, to);
    } else {
        tank_field_carried(tank, number == FIELD_SMOKE ? TARN_SMOKE_SMOKE : TARN_SMOKE_HEAT, room, to);
        to->low = number == FIELD_SMOKE ? 0.0f : -to->high;
        to->high = number == FIELD_SMOKE ? 1.0f : to->high;
    }
}

const tank_model tarn_smoke_model = {
    .shown = {.name = "smoke",
              .text = "smoke and warm air that fill the tank, on a grid by MacCormack's scheme",
              .number = 1,
              .can = TARN_MODEL_ALL & ~(uint32_t)(TARN_MODEL_LIQUIDS | TARN_MODEL_RUBS),
              .parameter_count = TARN_SMOKE_PARAMETER_COUNT,
              .parameters = tarn_smoke_parameters,
              .tools = TARN_TOOLS_ALL,
              .channel_count = sizeof channels / sizeof channels[0],
              .channels = channels,
              .carried_count = TARN_SMOKE_CARRIED_COUNT,
              .carried = carried_specs,
              .field_count = sizeof fields / sizeof fields[0],
              .fields = fields},
    .part_bytes = sizeof(smoke_part),
    .control_bytes = sizeof(smoke_control),
    .stages = stages,
    .stage_count = sizeof stages / sizeof stages[0],
    .fills = true,
    .keeps_velocity = true,
    .check = check,
    .scale = scale,
    .carve = carve,
    .carve_in_turn = carve_in_turn,
    .particles = tank_blocks_particles,
    .seed = tank_seed_blocks,
    .substeps = substeps,
    .changes_launches = changes_launches,
    .used = used,
    .begin = begin,
    .substep = smoke_substep,
    .channel = channel,
    .field = field,
    .pressure_density = pressure_density,
};
