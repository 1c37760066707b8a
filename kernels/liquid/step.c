// One fixed step: substeps, each a fixed sequence of launches.
//
//     p2g ─ grid ─ bodies, solids ─ viscosity ─ tension ─ fringe, matrix ─ pressure ─ density ─ extrapolate ─ slip ─
//     g2p + advect ─ collide ─ births, drains ─ sort
#include "kernels/liquid/tank_internal.h"

#include <math.h>
#include <string.h>

enum { DENSITY_ITERATIONS = 6 };
#define DENSITY_TOLERANCE 0.02f

void tank_launch(tarn_tank *tank, const liquid_args *args, liquid_kernel_id kernel, const uint32_t *count,
                 uint32_t most)
{
    tarn_queue_launch(tank->queue, &tarn_liquid_kernels[kernel], args, count, most);
}

void tank_mark(tarn_tank *tank, tank_stage stage)
{
    if (!tank->profiling) {
        return;
    }
    const double now_s = tarn_queue_clock_s(tank->queue);
    if (stage < STAGE_COUNT) {
        tank->stage_s[stage] += now_s - tank->stage_mark_s;
    }
    tank->stage_mark_s = now_s;
}

static void launch_occupied(tarn_tank *tank, const liquid_args *args, liquid_kernel_id kernel)
{
    tank_launch(tank, args, kernel, &args->m.counters->occupied, args->shape.occupied_max);
}

static void launch_active(tarn_tank *tank, const liquid_args *args, liquid_kernel_id kernel)
{
    tank_launch(tank, args, kernel, &args->m.counters->active, args->shape.active_max);
}

static void launch_level(tarn_tank *tank, liquid_args *args, liquid_kernel_id kernel, uint32_t level)
{
    args->level = level;
    const uint32_t most = tile_min_u32(args->shape.tile_total[level], args->shape.occupied_max);
    tank_launch(tank, args, kernel, &args->m.counters->level_tiles[level], most);
}

/// M^-1 J^T of a field of pressures: what it does to the free bodies.
static void bodies_respond(tarn_tank *tank, liquid_args *args, const float *pressure)
{
    args->gathered = pressure;
    tank_launch(tank, args, liquid_body_gather_id, &args->m.bodies->tile_count, args->shape.tile_total[0]);
    tank_launch(tank, args, liquid_body_respond_id, NULL, 1);
}

/// A force on the free bodies that their faces' pressure doesn't hold, before the pressure acts.
static void push_bodies(tarn_tank *tank, liquid_args *args, liquid_kernel_id force)
{
    const uint32_t *tiles = &args->m.bodies->tile_count, most = args->shape.tile_total[0];
    args->is_first = 1;
    tank_launch(tank, args, force, tiles, most);
    tank_launch(tank, args, liquid_body_respond_id, NULL, 1);
    tank_launch(tank, args, liquid_bodies_kick_id, NULL, 1);
    tank_launch(tank, args, liquid_body_flux_id, tiles, most);
    args->is_first = 0;
}

static int couples(const tarn_tank *tank, const liquid_args *args)
{
    return tank->body_count > 0 && !args->is_density;
}

typedef struct solve_context {
    tarn_tank *tank;
    liquid_args args;
} solve_context;

static void v_cycle(tarn_tank *tank, liquid_args *args)
{
    const uint32_t top = args->shape.level_count - 1;
    for (uint32_t level = 0; level < top; level++) {
        launch_level(tank, args, liquid_mg_smooth_id, level);
        launch_level(tank, args, liquid_mg_restrict_id, level);
    }
    launch_level(tank, args, liquid_mg_top_id, top);
    for (uint32_t level = top; level-- > 0;) {
        launch_level(tank, args, liquid_mg_prolong_id, level);
    }
}

static void iterate(void *context)
{
    solve_context *c = context;
    liquid_args *args = &c->args;
    v_cycle(c->tank, args);
    tank_launch(c->tank, args, liquid_cg_beta_id, NULL, 1);
    launch_occupied(c->tank, args, liquid_cg_direction_id);
    launch_occupied(c->tank, args, liquid_cg_apply_id);
    if (couples(c->tank, args)) {
        bodies_respond(c->tank, args, args->m.direction);
        tank_launch(c->tank, args, liquid_body_apply_id, &args->m.bodies->tile_count, args->shape.tile_total[0]);
    }
    tank_launch(c->tank, args, liquid_cg_alpha_id, NULL, 1);
    launch_occupied(c->tank, args, liquid_cg_update_id);
    tank_launch(c->tank, args, liquid_solve_check_id, NULL, 1);
}

/// One iteration of Jacobi or of Gauss-Seidel.
static void relax(void *context)
{
    solve_context *c = context;
    liquid_args *args = &c->args;
    const int is_jacobi = c->tank->desc.solver == TARN_SOLVER_JACOBI;
    for (uint32_t colour = 0; colour < (is_jacobi ? 1 : 2); colour++) {
        args->colour = is_jacobi ? COLOUR_ALL : colour;
        launch_occupied(c->tank, args, liquid_relax_id);
        launch_occupied(c->tank, args, liquid_cg_apply_id);
        launch_occupied(c->tank, args, liquid_cg_update_id);
    }
    tank_launch(c->tank, args, liquid_solve_check_id, NULL, 1);
}

static void solve(tarn_tank *tank, int is_density)
{
    solve_context c = {.tank = tank, .args = tank->args};
    const int is_multigrid = tank->desc.solver == TARN_SOLVER_MULTIGRID;
    const uint32_t iterations =
        is_density && is_multigrid ? DENSITY_ITERATIONS : (uint32_t)tank->parameters[TARN_PARAMETER_ITERATIONS];
    c.args.is_density = (uint32_t)is_density;
    c.args.solution = is_density ? tank->args.m.potential : tank->args.m.pressure;
    launch_occupied(tank, &c.args, liquid_solve_start_id);
    c.args.is_first = 1;
    tank_launch(tank, &c.args, liquid_solve_check_id, NULL, 1);
    c.args.is_first = 0;
    tarn_queue_repeat(tank->queue, &c.args.m.counters->go, iterations, is_multigrid ? iterate : relax, &c);
    if (couples(tank, &c.args)) {
        c.args.is_first = 1;
        bodies_respond(tank, &c.args, c.args.solution);
        tank_launch(tank, &c.args, liquid_bodies_kick_id, NULL, 1);
    }
    launch_active(tank, &c.args, liquid_project_id);
}

/// What becomes of particles besides moving; only launched in tanks where anything may.
static void happen(tarn_tank *tank, const liquid_args *args)
{
    if (tank->has_births) {
        launch_occupied(tank, args, liquid_spray_id);
        tank_launch(tank, args, liquid_spray_choose_id, NULL, 1);
    }
    if (tank->has_births || tank->has_events) {
        launch_occupied(tank, args, liquid_events_id);
    }
    if (tank->has_births) {
        launch_active(tank, args, liquid_births_id);
        tank_launch(tank, args, liquid_births_limit_id, NULL, 1);
    }
}

static void sort(tarn_tank *tank, const liquid_args *args)
{
    launch_active(tank, args, liquid_arrivals_id);
    tank_keep_pours(tank, args);
    tank_list_tiles(tank, args);
    if (tank->has_births) {
        launch_active(tank, args, liquid_spawn_id);
    }
    launch_active(tank, args, liquid_scatter_id);
    tank_adopt_tiles(tank, args);
}

void tank_launch_p2g(tarn_tank *tank, const liquid_args *args)
{
    const int quadratic = tank->desc.weights == TARN_WEIGHTS_QUADRATIC, mixed = args->m.mass[0] != NULL;
    const int affine = tank->desc.transfer == TARN_TRANSFER_APIC, plain = !quadratic && !affine && !mixed;
    launch_occupied(tank, args,
                    plain                 ? liquid_p2g_id
                    : quadratic && affine ? liquid_p2g_apic_quadratic_id
                    : quadratic           ? liquid_p2g_quadratic_id
                    : affine              ? liquid_p2g_apic_id
                                          : liquid_p2g_mixed_id);
    tank_mark(tank, STAGE_P2G);
    launch_active(tank, args, plain ? liquid_grid_id : liquid_grid_any_id);
    launch_active(tank, args, liquid_fill_id);
    if (mixed) {
        launch_active(tank, args, liquid_beta_id);
    }
}

void tank_launch_viscosity(tarn_tank *tank, const liquid_args *with)
{
    liquid_args args = *with;
    const int mixed = args.m.viscosity != NULL;
    args.iteration_count = tank_viscosity_iterations(tank);
    if (args.iteration_count == 0) {
        return;
    }
    if (mixed) {
        launch_active(tank, &args, liquid_viscous_cells_id);
    }
    launch_active(tank, &args, liquid_viscous_faces_id);
    if (tank->body_count > 0) {
        tank_launch(tank, &args, liquid_body_drag_id, &args.m.bodies->tile_count, args.shape.tile_total[0]);
        tank_launch(tank, &args, liquid_body_hold_id, NULL, 1);
    }
    for (args.iteration = 0; args.iteration < args.iteration_count; args.iteration++) {
        launch_active(tank, &args, mixed ? liquid_viscosity_mixed_id : liquid_viscosity_id);
    }
    if (tank->body_count > 0) {
        push_bodies(tank, &args, liquid_body_drag_id);
    }
}

int tank_launch_gather(tarn_tank *tank, const liquid_args *args)
{
    const int quadratic = tank->desc.weights == TARN_WEIGHTS_QUADRATIC;
    const int affine = tank->desc.transfer == TARN_TRANSFER_APIC;
    if (!quadratic && !affine) {
        return 0;
    }
    launch_occupied(tank, args,
                    quadratic && affine ? liquid_gather_apic_quadratic_id
                    : quadratic         ? liquid_gather_quadratic_id
                                        : liquid_gather_apic_id);
    return 1;
}

void tank_launch_advection(tarn_tank *tank, const liquid_args *args)
{
    const int gathered = tank_launch_gather(tank, args);
    tank_mark(tank, STAGE_GATHER);
    launch_occupied(tank, args, gathered ? liquid_advect_gathered_id : liquid_advect_id);
    if (tank->body_count > 0) {
        tank_launch(tank, args, liquid_bodies_end_id, NULL, 1);
    }
    if (tank->has_solids) {
        launch_occupied(tank, args, liquid_collide_id);
    }
    tank_mark(tank, STAGE_ADVECT);
    happen(tank, args);
    sort(tank, args);
    tank_mark(tank, STAGE_SORT);
}

static void substep(void *context)
{
    tarn_tank *tank = context;
    liquid_args args = tank->args;
    tank_mark(tank, STAGE_COUNT);
    tank_launch_p2g(tank, &args);
    if (tank->body_count > 0) {
        tank_launch(tank, &args, liquid_bodies_begin_id, NULL, 1);
        tank_launch(tank, &args, liquid_body_tiles_id, NULL, 1);
    }
    if (tank->has_solids) {
        launch_active(tank, &args, liquid_solids_id);
        launch_active(tank, &args, liquid_solid_cells_id);
    }
    tank_mark(tank, STAGE_GRID);
    tank_launch_viscosity(tank, &args);
    tank_mark(tank, STAGE_VISCOSITY);
    launch_occupied(tank, &args, liquid_fringe_id);
    if (tank->body_count > 0) { // which has no pressure in the fringe
        push_bodies(tank, &args, liquid_body_lift_id);
    }
    if (tank->parameters[TARN_PARAMETER_SURFACE_TENSION] > 0.0f) {
        launch_active(tank, &args, liquid_tension_smooth_id);
        launch_active(tank, &args, liquid_tension_id);
    }
    launch_occupied(tank, &args, liquid_matrix_id);
    for (uint32_t level = 1; level < args.shape.level_count && tank->desc.solver == TARN_SOLVER_MULTIGRID; level++) {
        launch_level(tank, &args, liquid_coarsen_id, level);
    }
    tank_mark(tank, STAGE_MATRIX);
    solve(tank, 0);
    tank_mark(tank, STAGE_PRESSURE);
    solve(tank, 1);
    tank_mark(tank, STAGE_DENSITY);
    launch_active(tank, &args, liquid_extrapolate_id);
    if (tank->has_solids) {
        launch_active(tank, &args, liquid_slip_id);
        launch_active(tank, &args, liquid_slip_end_id);
    }
    tank_mark(tank, STAGE_EXTRAPOLATE);
    tank_launch_advection(tank, &args);
}

/// The n-th root of a number of 0..1, n up to TARN_TANK_SUBSTEPS_MAX, by Newton's method from above: additions,
/// multiplications and divisions only, so that every machine gets the same bits, which pow doesn't promise.
static float nth_root(float of, uint32_t n)
{
    if (of <= 0.0f || n == 1) {
        return of;
    }
    double root = 1.0;
    for (int round = 0; round < 200; round++) {
        double power = 1.0;
        for (uint32_t i = 1; i < n; i++) {
            power *= root;
        }
        const double next = root - (power * root - (double)of) / ((double)n * power);
        if (next >= root) {
            break;
        }
        root = next;
    }
    return (float)root;
}

static float length3(const float *v)
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// What a push wants to move the fastest point of its sphere with, m/s; infinite where that is more than a float holds.
static float push_speed(const tarn_tank *tank, const tarn_push *push)
{
    const float radius_m =
        tile_clamp_f32(push->radius_m, tank->desc.cell_m, (float)TARN_TANK_CELLS_MAX * tank->desc.cell_m);
    return length3(push->velocity_m_s) + (fabsf(push->inward_m_s) + length3(push->spin_rad_s) * radius_m);
}

/// The push of one substep: what the substeps leave of the difference in speed multiplies to 1 - strength.
static void fill_push(const tarn_tank *tank, const tarn_push *from, liquid_push *to)
{
    const float per_cell = 1.0f / tank->desc.cell_m, per_step = tank->desc.dt_s / tank->desc.cell_m;
    const float speed = push_speed(tank, from);
    const float limit = speed > TARN_TANK_PUSH_SPEED_MAX_M_S ? TARN_TANK_PUSH_SPEED_MAX_M_S / speed : 1.0f;
    to->swirls = from->inward_m_s != 0.0f || length3(from->spin_rad_s) > 0.0f;
    to->inward = tile_clamp_f32(from->inward_m_s * limit * per_step, -SPEED_MAX, SPEED_MAX);
    for (int a = 0; a < 3; a++) {
        to->spin[a] = from->spin_rad_s[a] * limit * tank->desc.dt_s;
    }
    for (int a = 0; a < 3; a++) {
        to->center[a] = from->center_m[a] * per_cell;
        to->velocity[a] = tile_clamp_f32(from->velocity_m_s[a] * limit * per_step, -SPEED_MAX, SPEED_MAX);
    }
    to->radius = tile_clamp_f32(from->radius_m * per_cell, 0.0f, (float)TARN_TANK_CELLS_MAX);
    to->strength = 1.0f - nth_root(1.0f - tile_clamp_f32(from->strength, 0.0f, 1.0f), tank->substeps);
}

static int push_is_finite(const tarn_push *push)
{
    int finite = isfinite(push->radius_m) && isfinite(push->strength) && isfinite(push->inward_m_s);
    for (int a = 0; a < 3; a++) {
        finite =
            finite && isfinite(push->center_m[a]) && isfinite(push->velocity_m_s[a]) && isfinite(push->spin_rad_s[a]);
    }
    return finite;
}

/// Speed that pushes may give the water, cells per step.
static float fastest_push(const tarn_tank *tank, const tarn_push *pushes, uint32_t push_count)
{
    float fastest = 0.0f;
    for (uint32_t i = 0; i < push_count; i++) {
        fastest = tile_max2_f32(fastest, tile_min_f32(push_speed(tank, &pushes[i]), TARN_TANK_PUSH_SPEED_MAX_M_S) *
                                             tile_clamp_f32(pushes[i].strength, 0.0f, 1.0f));
    }
    return fastest * tank->desc.dt_s / tank->desc.cell_m;
}

static float fastest_emitter(const liquid_control *control)
{
    float fastest = 0.0f;
    for (uint32_t e = 0; e < control->emitter_count; e++) {
        fastest = tile_max2_f32(fastest, length3(control->emitters[e].velocity));
    }
    return fastest;
}

/// Substeps such that the fastest particle crosses at most cfl cells in each, and ripples no more than one.
static uint32_t substeps_for(const tarn_tank *tank, const liquid_control *control, float push)
{
    const float falling = tile_f32_bits(tank->counters.speed_max_bits) + length3(control->gravity);
    const float moving = ceilf(tile_max2_f32(falling, push) / tank->parameters[TARN_PARAMETER_CFL]);
    const float wanted = tile_max2_f32(moving, tank_tension_substeps(tank));
    const float most = tank->parameters[TARN_PARAMETER_SUBSTEPS];
    return (uint32_t)tile_clamp_f32(wanted, 1.0f, most);
}

/// Which launches this step needs besides those of every step; a captured sequence is one with them or one without.
static void choose_launches(tarn_tank *tank, const liquid_control *control)
{
    const int has_events = control->drain_count > 0 || control->is_turning;
    const int has_births = control->has_births != 0, has_pours = control->pour_tile_count > 0;
    if (has_events != tank->has_events || has_births != tank->has_births || has_pours != tank->has_pours) {
        tarn_queue_replay_destroy(tank->queue, tank->substep);
        tank->substep = NULL;
    }
    tank->has_events = has_events;
    tank->has_births = has_births;
    tank->has_pours = has_pours;
    tank->had_births |= has_births;
}

static void fill_control(tarn_tank *tank, const tarn_push *pushes, uint32_t push_count, liquid_control *control)
{
    const float *p = tank->parameters;
    memset(control, 0, sizeof *control);
    control->tolerance = p[TARN_PARAMETER_TOLERANCE];
    control->density_tolerance = DENSITY_TOLERANCE;
    const float relaxation_max = tank->desc.solver == TARN_SOLVER_JACOBI ? 1.0f : 2.0f; // beyond that it diverges
    control->relaxation = tile_min_f32(p[TARN_PARAMETER_RELAXATION], relaxation_max);
    control->density_gain = p[TARN_PARAMETER_DENSITY];
    control->seed = (uint32_t)tile_mix_u64(tank->step + 1);
    // What substeps can carry at all, not what the CFL number asks for: else a fine grid would brake a plain fall.
    control->speed_max = tile_min_f32(SPEED_MAX, MOVE_CELLS_MAX * p[TARN_PARAMETER_SUBSTEPS]);
    tank_motion_step(tank, control);
    tank_sources_fill(tank, control);
    tank_tools_fill(tank, control);
    control->has_births = tank_bears(&tank->desc) || control->pour_tile_count > 0;
    const float pushed = tile_max2_f32(fastest_push(tank, pushes, push_count), fastest_emitter(control));
    tank->substeps = substeps_for(tank, control, tile_max2_f32(pushed, tank_bodies_speed(tank)));
    control->frac = 1.0f / (float)tank->substeps;
    control->flip = nth_root(p[TARN_PARAMETER_FLIP], tank->substeps);
    tank_motion_fill(tank, control);
    control->push_count = push_count;
    for (uint32_t i = 0; i < push_count; i++) {
        fill_push(tank, &pushes[i], &control->pushes[i]);
    }
    control->dye_share = p[TARN_PARAMETER_DYE_MIXING];
    control->dye_step = (uint32_t)tank->step;
    tank_fill_viscosity(tank, control);
    tank_fill_tension(tank, control);
    choose_launches(tank, control);
}

static tarn_status read_counters(tarn_tank *tank)
{
    const uint32_t next_id = tank->counters.next_id;
    tarn_status status =
        tarn_queue_download(tank->queue, &tank->counters, tank->args.m.counters, sizeof tank->counters);
    tank->born += tank->counters.next_id - next_id;
    tank->particle_count = tank->counters.particles;
    if (status == TARN_OK && tank->counters.broken) {
        status = TARN_E_UNSTABLE;
    }
    return status == TARN_OK && tank->counters.overflow ? TARN_E_MEMORY : status;
}

tarn_status tarn_tank_step(tarn_tank *tank, const tarn_push *pushes, uint32_t push_count)
{
    if (push_count > TARN_TANK_PUSHES_MAX) {
        return TARN_E_ARGUMENT;
    }
    for (uint32_t i = 0; i < push_count; i++) {
        if (!push_is_finite(&pushes[i])) {
            return TARN_E_ARGUMENT;
        }
    }
    liquid_control control;
    fill_control(tank, pushes, push_count, &control);
    tarn_status status = tarn_queue_upload(tank->queue, tank->args.m.control, &control, sizeof control);
    if (status == TARN_OK) {
        status = tank_bodies_before_step(tank);
    }
    if (status != TARN_OK) {
        return status;
    }
    tank_tools_begin(tank, &control);
    for (uint32_t i = 0; i < tank->substeps; i++) {
        if (tank->profiling) {
            substep(tank);
        } else {
            tarn_queue_run(tank->queue, &tank->substep, substep, tank);
        }
    }
    if (control.dye_share > 0.0f && tank->args.m.attribute != NULL) {
        launch_occupied(tank, &tank->args, liquid_dye_id);
    }
    tank_tools_end(tank, &control);
    status = read_counters(tank);
    if (status == TARN_OK) {
        status = tank_bodies_after_step(tank);
    }
    tank->step++;
    tank->sim_time_s = (double)tank->step * (double)tank->desc.dt_s;
    return status;
}
