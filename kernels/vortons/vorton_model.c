// Vortex particles as a model: what they carry, their scales, their memory, and a substep.
//
//     spread ─ gather ─ viscosity ─ spread and gather mass, generate ─ potential ─ velocity ─ pressure, where there are
//     solids ─ stretch, pushes ─ g2p + advect ─ shares, cells ─ births, splits, drains ─ sort
//
// Source of the method: vortex-in-cell, Cottet & Koumoutsakos, Vortex Methods (2000), chapter 2 and section 5; vortons
// that carry a density of their own, and vorticity that is born where it changes: Gourlay, Fluid Simulation for Video
// Games, part 8.
#include "kernels/vortons/vorton_model.h"
#include "kernels/grid/grid_host.h"
#include "kernels/tank/tank_internal.h"
#include "kernels/vortons/vorton_kernels.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>

// ---- the transforms in waves ----
// The matrices of the transforms in waves.tile.c. By multiplications and divisions only: the same bits on every
// machine, which sin doesn't promise; and of mirror images exactly the same numbers.

/// sin(x), 0 <= x <= pi / 2, to a double's last digit or two.
static double sine(double x)
{
    double sum = 1.0;
    for (int n = 22; n >= 2; n -= 2) {
        sum = 1.0 - x * x / (double)(n * (n + 1)) * sum;
    }
    return x * sum;
}

enum { ROWS_AT_ONCE = 64 }; ///< between two yields

/// Sines of the n-ths of a right angle, all 4 n of a turn: no other ones are in an axis's matrices.
static void fill_turn(uint64_t n, double *turn)
{
    const double right = 1.57079632679489661923;
    for (uint64_t at = 0; at < 4 * n; at++) {
        const uint64_t half = at % (2 * n), part = half > n ? 2 * n - half : half;
        const double value = sine(right * (double)part / (double)n);
        turn[at] = at >= 2 * n ? -value : value;
    }
}

/// Orthogonal, so that each is the inverse of its transposed; [from][to], with zeros beyond n.
static void fill_matrices(tarn_queue *queue, const double *turn, uint32_t n, uint32_t wide, float *const *matrix)
{
    const double size = sqrt(2.0 / (double)n);
    for (uint64_t k = 0; k < n; k++) {
        if (k % ROWS_AT_ONCE == 0) {
            tarn_queue_yield(queue);
        }
        for (uint64_t i = 0; i < n; i++) {
            const double cosine = (k > 0 ? size : sqrt(1.0 / (double)n)) * turn[(k * (2 * i + 1) + n) % (4 * n)];
            matrix[WAVE_SINE][k * wide + i] = (float)(size * turn[2 * k * i % (4 * n)]);
            matrix[WAVE_COSINE][i * wide + k] = (float)cosine;
            matrix[WAVE_COSINE_BACK][k * wide + i] = (float)cosine;
        }
    }
}

static void fill_eigenvalues(const double *turn, uint32_t n, float *value)
{
    for (uint32_t k = 0; k < n; k++) {
        const double half = turn[k]; // sin(pi k / 2n)
        value[k] = (float)(4.0 * half * half);
    }
}

static tarn_status upload_axis(const tarn_tank *tank, const vorton_memory *m, int axis)
{
    const uint32_t n = (uint32_t)tank->grid.desc.cells[axis], wide = vorton_wave_cells(&tank->args->grid.shape, axis);
    const size_t cells = (size_t)wide * wide;
    TARN_ASSERT(n > 0 && n <= wide);
    float *matrices = calloc(WAVE_COUNT * cells + wide, sizeof *matrices), *matrix[WAVE_COUNT];
    double *turn = malloc(4 * (size_t)n * sizeof *turn);
    tarn_status status = matrices == NULL || turn == NULL ? TARN_E_MEMORY : TARN_OK;
    if (status == TARN_OK) {
        float *eigenvalue = matrices + WAVE_COUNT * cells;
        for (int kind = 0; kind < WAVE_COUNT; kind++) {
            matrix[kind] = matrices + (size_t)kind * cells;
        }
        fill_turn(n, turn);
        fill_matrices(tank->grid.queue, turn, n, wide, matrix);
        fill_eigenvalues(turn, n, eigenvalue);
        status = tarn_queue_upload(tank->grid.queue, m->eigenvalue[axis], eigenvalue, wide * sizeof(float));
    }
    for (int kind = 0; kind < WAVE_COUNT && status == TARN_OK; kind++) {
        status = tarn_queue_upload(tank->grid.queue, m->wave[axis][kind], matrix[kind], cells * sizeof(float));
    }
    free(turn);
    free(matrices);
    return status;
}

static tarn_status vorton_waves_upload(const tarn_tank *tank, const vorton_memory *m)
{
    tarn_status status = TARN_OK;
    for (int axis = 0; axis < 3 && status == TARN_OK; axis++) {
        status = upload_axis(tank, m, axis);
    }
    return status;
}

/// Takes memory for the matrices; and fills it, once.
static void vorton_waves_carve(grid_carver *t, const grid_shape *shape, vorton_memory *m)
{
    t->group = GROUP_TANK;
    for (int axis = 0; axis < 3; axis++) {
        const uint64_t wide = vorton_wave_cells(shape, axis);
        for (int kind = 0; kind < WAVE_COUNT; kind++) {
            grid_carve(t, &m->wave[axis][kind], wide * wide * sizeof(float));
        }
        grid_carve(t, &m->eigenvalue[axis], wide * sizeof(float));
    }
}

/// From vorticity to potential. What the solver of the pressure has in its vectors is lost.
static void vorton_waves_launch(tarn_tank *tank, const vorton_args *from)
{
    enum { PASSES = 6 };
    static const uint32_t axes[PASSES] = {2, 0, 1, 1, 0, 2}; // the last one fills all of a flat tank's tiles
    vorton_args args = *from;
    const grid_memory *m = &args.tank.grid.m;
    float *const spare[3] = {m->residual, m->direction, m->product}; // the pressure's solver comes later
    for (int p = 0; p < PASSES; p++) {
        args.pass = (wave_pass){
            .axis = axes[p], .inverse = p >= PASSES / 2, .divides = p == PASSES / 2 - 1, .ends = p == PASSES - 1};
        for (int c = 0; c < 3; c++) {
            args.pass.from[c] = p == 0 ? args.m.vorticity[c] : p % 2 == 0 ? args.m.potential[c] : spare[c];
            args.pass.to[c] = p % 2 == 0 ? spare[c] : args.m.potential[c];
        }
        grid_launch(&tank->grid, &args, VORTON_KERNEL(waves), NULL, 3 * args.tank.grid.shape.tile_total[0]);
    }
}

// ---- the model ----

enum {
    PARAMETER_GRAVITY,
    PARAMETER_DYE_MIXING,
    PARAMETER_TOLERANCE,
    PARAMETER_ITERATIONS,
    PARAMETER_CFL,
    PARAMETER_SUBSTEPS,
    PARAMETER_VISCOSITY,
    PARAMETER_VORTONS,
    PARAMETER_COUNT
};

/// The stages of a profile.
enum { STAGE_SPREAD = STAGE_COUNT, STAGE_VISCOSITY, STAGE_DENSITY, STAGE_POTENTIAL, STAGE_STRENGTH, STAGE_END };

#define VISCOSITY_SHARE_MAX (1.0f / 6.0f) ///< nu dt / dx^2 that an explicit substep carries

typedef struct vorton_part {
    vorton_args args;
} vorton_part;

static vorton_args *args_of(const tarn_tank *tank)
{
    return &((vorton_part *)tank->part)->args;
}

static tarn_status check(const tarn_tank_desc *desc, const grid_complaint *why)
{
    return desc->solver == TARN_SOLVER_MULTIGRID
               ? TARN_OK
               : grid_refuse(why, TARN_E_ARGUMENT, "vortons need the solver \"multigrid\"");
}

static void scale(tarn_tank *tank)
{
    vorton_args *args = args_of(tank);
    const tarn_tank_desc *desc = &tank->grid.desc;
    store_scale *store = &args->tank.scale;
    tank_scale_particles(tank);
    for (int kind = 0; kind < LIQUIDS_MAX; kind++) {
        store->liquid_density[kind] = 1.0f;
    }
    args->scale.volume = 1.0f / store->rest_density;
    args->scale.strength = desc->dt_s * args->scale.volume;
    args->scale.split = desc->dt_s * SPLIT_STRENGTH;
    args->scale.strength_unit = STRENGTH_SUM_MAX / store->cell_particles_max;
    args->scale.mass_unit = MASS_SUM_MAX / store->cell_particles_max;
}

static void carve(grid_carver *t, tarn_tank *tank)
{
    vorton_memory *m = &args_of(tank)->m;
    t->group = GROUP_TANK;
    grid_carve(t, &m->counters, sizeof *m->counters);
    t->group = GROUP_ACTIVE;
    for (int c = 0; c < 3; c++) {
        grid_carve(t, &m->vorticity[c], TILE_CELLS * 4);
        grid_carve(t, &m->gain[c], TILE_CELLS * 4);
        grid_carve(t, &m->potential[c], TILE_CELLS * 4);
    }
    grid_carve(t, &m->deviation, TILE_CELLS * 4);
    grid_carve(t, &m->others, 4);
    grid_carve(t, &m->born, 4);
    grid_carve(t, &m->split, 4);
    t->group = GROUP_OCCUPIED;
    grid_carve(t, &m->holds, 4);
    vorton_waves_carve(t, &args_of(tank)->tank.grid.shape, m);
    m->control = (vorton_control *)args_of(tank)->tank.store.control;
}

static tarn_status prepare(tarn_tank *tank)
{
    return vorton_waves_upload(tank, &args_of(tank)->m);
}

static void carve_in_turn(grid_carver *t, tarn_tank *tank)
{
    vorton_memory *m = &args_of(tank)->m;
    for (int c = 0; c < 3; c++) {
        grid_carve(t, &m->strength_sum[c], NODE_COUNT * 4);
        grid_carve(t, &m->impulse_sum[c], NODE_COUNT * 4);
    }
    grid_carve(t, &m->mass_sum, NODE_COUNT * 4);
}

static bool changes_launches(uint32_t id, float before, float after)
{
    return id == PARAMETER_ITERATIONS && after != before;
}

/// What substeps carry of it: cells^2 per step.
static float viscosity_share(const tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    return tank->parameters[PARAMETER_VISCOSITY] * desc->dt_s / (desc->cell_m * desc->cell_m);
}

static float viscosity_substeps(const tarn_tank *tank)
{
    return ceilf(viscosity_share(tank) / VISCOSITY_SHARE_MAX);
}

static float used(const tarn_tank *tank, uint32_t id)
{
    const float most = VISCOSITY_SHARE_MAX * tank->parameters[PARAMETER_SUBSTEPS];
    return id == PARAMETER_VISCOSITY && viscosity_share(tank) > most
               ? tank->parameters[id] * most / viscosity_share(tank)
               : tank->parameters[id];
}

static void begin(tarn_tank *tank, tank_control *control)
{
    vorton_control *own = (vorton_control *)control;
    control->grid.tolerance = tank->parameters[PARAMETER_TOLERANCE];
    control->grid.relaxation = 1.0f;
    own->starts = tank->grid.step == 0;
    own->viscosity = fminf(viscosity_share(tank) * control->grid.frac, VISCOSITY_SHARE_MAX);
    own->vortons_max = (uint32_t)tank->parameters[PARAMETER_VORTONS];
}

static void place_solids(tarn_tank *tank, const vorton_args *args)
{
    if (tank->grid.body_count > 0) {
        grid_launch(&tank->grid, args, GRID_KERNEL(bodies_begin), NULL, 1);
        grid_launch(&tank->grid, args, GRID_KERNEL(body_tiles), NULL, 1);
    }
    if (tank->grid.has_solids) {
        grid_launch_active(&tank->grid, args, GRID_KERNEL(solids));
        grid_launch_active(&tank->grid, args, GRID_KERNEL(solid_cells));
    }
}

static void solve(void *of)
{
    tarn_tank *tank = of;
    grid_launch_matrix(&tank->grid);
    grid_solve(&tank->grid, false, (uint32_t)tank->parameters[PARAMETER_ITERATIONS]);
}

/// A pressure lets nothing flow through solids.
static void keep_out_of_solids(tarn_tank *tank, const vorton_args *args)
{
    if (!tank->grid.has_solids) {
        return;
    }
    grid_launch_chain(&tank->grid, solve, tank);
    grid_launch_active(&tank->grid, args, GRID_KERNEL(extrapolate));
    grid_launch_active(&tank->grid, args, GRID_KERNEL(slip));
    grid_launch_active(&tank->grid, args, GRID_KERNEL(slip_end));
    grid_launch_active(&tank->grid, args, VORTON_KERNEL(settle));
}

static void substep(tarn_tank *tank)
{
    const vorton_args *args = args_of(tank);
    grid_host *grid = &tank->grid;
    tank_mark(tank, STAGE_NONE);
    grid_launch_occupied(grid, args, VORTON_KERNEL(spread));
    grid_launch_active(grid, args, VORTON_KERNEL(gather));
    place_solids(tank, args);
    grid_launch_occupied(grid, args, VORTON_KERNEL(spread_impulse));
    grid_launch_active(grid, args, VORTON_KERNEL(gather_impulse));
    tank_mark(tank, STAGE_SPREAD);
    grid_launch_active(grid, args, VORTON_KERNEL(diffuse));
    tank_mark(tank, STAGE_VISCOSITY);
    grid_launch_occupied(grid, args, VORTON_KERNEL(spread_mass));
    grid_launch_active(grid, args, VORTON_KERNEL(gather_mass));
    grid_launch_active(grid, args, VORTON_KERNEL(generate));
    tank_mark(tank, STAGE_DENSITY);
    grid_launch_active(grid, args, VORTON_KERNEL(start));
    vorton_waves_launch(tank, args);
    grid_launch_active(grid, args, VORTON_KERNEL(velocity));
    keep_out_of_solids(tank, args);
    tank_mark(tank, STAGE_POTENTIAL);
    grid_launch_active(grid, args, VORTON_KERNEL(stretch));
    grid_launch_active(grid, args, VORTON_KERNEL(push));
    tank_mark(tank, STAGE_STRENGTH);
    tank_launch_moves(tank, &args->tank);
    tank_mark(tank, STAGE_ADVECT);
    grid_launch_occupied(grid, args, VORTON_KERNEL(share));
    grid_launch_occupied(grid, args, VORTON_KERNEL(cells));
    grid_launch_active(grid, args, VORTON_KERNEL(keep));
    tank_mark(tank, STAGE_STRENGTH);
    tank_launch_sort(tank, &args->tank);
}

static void bear(tarn_tank *tank)
{
    grid_launch_active(&tank->grid, args_of(tank), VORTON_KERNEL(births));
    grid_launch(&tank->grid, args_of(tank), VORTON_KERNEL(births_limit), NULL, 1);
}

static void spawn(tarn_tank *tank)
{
    grid_launch_active(&tank->grid, args_of(tank), VORTON_KERNEL(spawn));
}

static const char *const stages[STAGE_END - STAGE_COUNT] = {"vorticity", "viscosity", "density", "potential",
                                                            "strength"};

static const tarn_parameter_spec parameters[PARAMETER_COUNT] = {
    [PARAMETER_GRAVITY] = {"gravity_m_s2", "Gravity", "m/s²", 9.81f, 0.0f, 50.0f, TARN_PLAYS_GRAVITY, 0,
                           "Strength of gravity, straight down."},
    [PARAMETER_VISCOSITY] = {"viscosity_m2_s", "Viscosity", "m²/s", 1e-6f, 0.0f, 1.0f, TARN_PLAYS_NONE, 0,
                             "How fast vorticity spreads; water has 1e-6."},
    [PARAMETER_VORTONS] = {"vortons_max", "Vortons", NULL, 50000.0f, 0.0f, 1e6f, TARN_PLAYS_NONE,
                           TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                           "Beyond this no vortons are born or split; dye that turns counts."},
    [PARAMETER_TOLERANCE] =
        {"pressure_tolerance", "Tolerance", NULL, 1e-4f, 1e-7f, 1e-1f, TARN_PLAYS_NONE,
         TARN_PARAMETER_HAS_MAGNITUDES | TARN_PARAMETER_IS_SOLVER,
         "Where there are solids: residual at which the solve for the pressure ends, the largest |div u| dt."},
    [PARAMETER_ITERATIONS] = {"pressure_iterations", "Iterations", NULL, 20.0f, 1.0f, 2000.0f, TARN_PLAYS_NONE,
                              TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                              "Cap on the iterations of the pressure's solve."},
    [PARAMETER_CFL] = {"cfl", "CFL", NULL, 2.0f, 0.5f, 4.0f, TARN_PLAYS_CFL, TARN_PARAMETER_IS_SOLVER,
                       "Cells that the fastest liquid may cross in a substep."},
    [PARAMETER_SUBSTEPS] = {"substeps_max", "Substeps", NULL, 4.0f, 1.0f, 8.0f, TARN_PLAYS_SUBSTEPS,
                            TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER, "Cap on substeps in a step."},
    [PARAMETER_DYE_MIXING] = {"dye_mixing", "Dye mixing", NULL, 0.0f, 0.0f, 1.0f, TARN_PLAYS_DYE, 0,
                              "Share of a cell's dye that mixes in a step."},
};

static const tarn_carried_spec carried[] = {
    [CARRIED_VORTICITY] = {"vorticity_x_1_s", "Vorticity, x", "1/s", 0.0f, -1000.0f, 1000.0f,
                           "Of the particle's volume."},
    [CARRIED_VORTICITY + 1] = {"vorticity_y_1_s", "Vorticity, y", "1/s", 0.0f, -1000.0f, 1000.0f,
                               "Of the particle's volume."},
    [CARRIED_VORTICITY + 2] = {"vorticity_z_1_s", "Vorticity, z", "1/s", 0.0f, -1000.0f, 1000.0f,
                               "Of the particle's volume."},
    [CARRIED_DEVIATION] = {"density_deviation", "Density deviation", NULL, 0.02f, -1.0f, 1.0f,
                           "By how much it is denser than the tank's liquid, as a share of that: 0.02 is sea water."},
};

enum { CHANNEL_DEVIATION = 4, CHANNEL_SPIN };

#define TURN_CELLS 4.0f ///< across which liquid as fast as any goes from its speed to none

static const tarn_channel_spec channels[] = {
    {"colour", "Own colour", NULL},
    {"speed", "Speed", "m/s"},
    {"height", "Height", "m"},
    {"vorticity", "Vorticity", "1/s"},
    [CHANNEL_DEVIATION] = {"deviation", "Density deviation", NULL},
    [CHANNEL_SPIN] = {"spin", "Vortons' own vorticity", "1/s"},
};

/// Up to that of the fastest liquid there may be, by what the scene throws and by how far its density makes it fall.
static float spin_top(const tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float heavy = tank_carried_most(desc, CARRIED_DEVIATION);
    float squares = 2.0f * heavy * tank_role(tank, TARN_PLAYS_GRAVITY, 0.0f) * (float)desc->cells[1] * desc->cell_m;
    for (uint32_t i = 0; i < desc->fluid_count; i++) {
        const float *v = desc->fluids[i].velocity_m_s;
        squares = tile_max2_f32(squares, v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    }
    return tile_max2_f32(tile_sqrt_f32(squares) / (TURN_CELLS * desc->cell_m), 1.0f);
}

static void channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *to)
{
    if (number == CHANNEL_SPIN) {
        vorton_args args = *args_of(tank);
        args.value = room;
        grid_launch(&tank->grid, &args, VORTON_KERNEL(show_spin), NULL, tank->counters.grid.occupied);
        *to = (tank_channel){room, 0.0f, spin_top(tank)};
        return;
    }
    const float most = tank_carried_most(&tank->grid.desc, CARRIED_DEVIATION);
    *to = (tank_channel){tank->args->store.carried[CARRIED_DEVIATION], -most, most};
}

enum { FIELD_VORTICITY, FIELD_SPEED };

static const tarn_field_spec fields[] = {
    [FIELD_VORTICITY] = {"vorticity", "Vorticity", "1/s", NULL},
    [FIELD_SPEED] = {"speed", "Speed", "m/s", NULL},
};

static void field(tarn_tank *tank, uint32_t number, float *room, tank_field *to)
{
    (number == FIELD_VORTICITY ? tank_field_vorticity : tank_field_speed)(tank, room, to);
}

const tank_model tarn_vorton_model = {
    .shown = {.name = "vortons",
              .text = "vortex particles in a filled tank, with dye that may be heavy or light",
              .number = 2,
              .can = TARN_MODEL_POURS | TARN_MODEL_DRAINS | TARN_MODEL_DYES | TARN_MODEL_TURNS | TARN_MODEL_SOLIDS,
              .parameter_count = PARAMETER_COUNT,
              .parameters = parameters,
              .tools = TARN_TOOLS_ALL,
              .channel_count = sizeof channels / sizeof channels[0],
              .channels = channels,
              .carried_count = sizeof carried / sizeof carried[0],
              .carried = carried,
              .field_count = sizeof fields / sizeof fields[0],
              .fields = fields},
    .part_bytes = sizeof(vorton_part),
    .control_bytes = sizeof(vorton_control),
    .stages = stages,
    .stage_count = sizeof stages / sizeof stages[0],
    .fills = true,
    .stays_full = true,
    .keeps_velocity = true,
    .kinds = 2,
    .room = 32768,
    .check = check,
    .scale = scale,
    .carve = carve,
    .carve_in_turn = carve_in_turn,
    .prepare = prepare,
    .particles = tank_blocks_particles,
    .seed = tank_seed_blocks,
    .substeps = viscosity_substeps,
    .changes_launches = changes_launches,
    .used = used,
    .begin = begin,
    .substep = substep,
    .bear = bear,
    .spawn = spawn,
    .channel = channel,
    .field = field,
};
