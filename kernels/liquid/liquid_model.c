// The liquid as a model: a substep as a sequence of launches, begin at liquid_substep; and what of a description
// concerns it, its scales, its memory, and what it sets before a step.
#include "kernels/liquid/liquid_model.h"
#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"
#include "kernels/tank/spline.h"

#include <math.h>
#include <stdio.h>

// ---- tension ----
// The host side of tension.tile.c: how strong tension is, and how many substeps it needs.

/// Of a tension over the density of the lightest liquid, which it moves most: cells^3 / step^2.
static float strength(const tarn_tank *tank, float tension_n_m)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    float lightest = desc->liquids[0].density_kg_m3;
    for (uint32_t i = 1; i < desc->liquid_count; i++) {
        lightest = fminf(lightest, desc->liquids[i].density_kg_m3);
    }
    const float steps_per_cell = desc->dt_s / desc->cell_m;
    return tension_n_m / lightest * (steps_per_cell * steps_per_cell) / desc->cell_m;
}

/// What a substep carries. A ripple of wave number k is resisted by k^2 of its height, of which the smoothing of
/// variance v leaves exp(-v k^2 / 2), and by what holds particles to the surface: the square of its phase in a substep
/// is at most 0.8 of the strength. A radian is half of what an explicit kick is stable for.
static const float strength_max = 1.25f;

/// Surface tension as it acts, N/m: as much of it as substeps_max substeps carry.
static float liquid_tension_used(const tarn_tank *tank)
{
    const float asked = tank->parameters[TARN_PARAMETER_SURFACE_TENSION];
    const float substeps = tank->parameters[TARN_PARAMETER_SUBSTEPS];
    return fminf(asked, strength_max * (substeps * substeps) / strength(tank, 1.0f));
}

/// Substeps that it asks for, 0 where there is none.
static float liquid_tension_substeps(const tarn_tank *tank)
{
    return ceilf(sqrtf(strength(tank, liquid_tension_used(tank)) / strength_max));
}

/// Its strength in these.
static void liquid_fill_tension(const tarn_tank *tank, liquid_control *control)
{
    // A velocity changes by pressure times the time, and velocities are cells per step.
    control->tension = strength(tank, liquid_tension_used(tank));
}

// ---- viscosity ----
// The host side of viscosity.tile.c: how many iterations, and their coefficients.

/// Of the velocity that viscosity should leave; modes that it takes away come back by no more than this.
static const float error_max = 1e-2f;

/// Upper end of the spectrum, 1 being the lower one.
static float spectrum_end(const tarn_tank *tank, float k)
{
    return 1.0f + (tank->grid.desc.liquid_count > 1 ? 24.0f : 12.0f) * k;
}

/// m^2/s: as much of a viscosity as acts in a step that is one substep.
static float liquid_viscosity_most(const tarn_tank *tank)
{
    return VISCOSITY_MAX * tank->grid.desc.cell_m * tank->grid.desc.cell_m / tank->grid.desc.dt_s;
}

/// nu dt / dx^2 of a liquid over a share of a step.
static float strength_of(const tarn_tank *tank, uint32_t liquid, float frac)
{
    const float k = tank->grid.desc.liquids[liquid].viscosity_m2_s * frac * tank->grid.desc.dt_s /
                    (tank->grid.desc.cell_m * tank->grid.desc.cell_m);
    return fminf(k, VISCOSITY_MAX);
}

static float strongest(const tarn_tank *tank, float frac)
{
    float most = 0.0f;
    for (uint32_t i = 0; i < tank->grid.desc.liquid_count; i++) {
        most = fmaxf(most, strength_of(tank, i, frac));
    }
    return most;
}

uint32_t liquid_viscosity_iterations(const tarn_tank *tank)
{
    const float end = spectrum_end(tank, strongest(tank, 1.0f));
    if (end <= 1.0f) {
        return 0;
    }
    // After n iterations an error is multiplied by at most 1 / T_n(sigma), T_n being Chebyshev's polynomial.
    const double sigma = ((double)end + 1.0) / ((double)end - 1.0);
    double before = 1.0, now = sigma;
    uint32_t n = 1;
    while ((n < 2 || now * (double)error_max < 1.0) && n < VISCOSITY_ITERATIONS_MAX) {
        const double next = 2.0 * sigma * now - before;
        before = now;
        now = next;
        n++;
    }
    return n;
}

void liquid_fill_viscosity(const tarn_tank *tank, liquid_control *control)
{
    const uint32_t count = liquid_viscosity_iterations(tank);
    if (count == 0) {
        return;
    }
    float thinnest = VISCOSITY_MAX;
    for (uint32_t i = 0; i < tank->grid.desc.liquid_count; i++) {
        control->viscosity[i] = strength_of(tank, i, control->tank.grid.frac);
        thinnest = fminf(thinnest, control->viscosity[i]);
    }
    control->tank.grid.grip = 8.0f * thinnest / (1.0f + 8.0f * thinnest); // film_share of half a cell
    const float end = spectrum_end(tank, strongest(tank, control->tank.grid.frac));
    const float middle = 0.5f * (end + 1.0f), half = 0.5f * (end - 1.0f);
    float rho = half / middle;
    control->viscosity_alpha[0] = 1.0f / middle;
    for (uint32_t j = 1; j < count; j++) {
        const float next = 1.0f / (2.0f * middle / half - rho);
        control->viscosity_alpha[j] = 2.0f * next / half;
        control->viscosity_gamma[j] = next * rho;
        rho = next;
    }
}

// ---- friction ----

/// Whether anything rubs on the liquid (friction.tile.c).
static bool liquid_rubs(const tarn_tank_desc *desc)
{
    bool rubs = desc->wall_friction > 0.0f;
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        rubs |= desc->solids[i].friction > 0.0f;
    }
    return rubs;
}

/// Whether that or viscosity does: what balances the forces is then kept (balance.tile.c).
static bool liquid_resists(const tarn_tank_desc *desc)
{
    bool resists = liquid_rubs(desc);
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        resists |= desc->liquids[i].viscosity_m2_s > 0.0f;
    }
    return resists;
}

// ---- channels and fields ----

/// The pressure ranges over that of the heaviest liquid at rest, as deep as the tank is high: what an impact adds is
/// beyond.
static float pressure_top_pa(const tarn_tank *tank, float heaviest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const float gravity = tile_max2_f32(tank_role(tank, TARN_PLAYS_GRAVITY, 0.0f), 1.0f);
    return heaviest * gravity * (float)desc->cells[1] * desc->cell_m;
}

static void find_densities(const tarn_tank *tank, float *lightest, float *heaviest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    *lightest = *heaviest = desc->liquids[0].density_kg_m3;
    for (uint32_t i = 1; i < desc->liquid_count; i++) {
        *heaviest = tile_max2_f32(*heaviest, desc->liquids[i].density_kg_m3);
        *lightest = tile_min_f32(*lightest, desc->liquids[i].density_kg_m3);
    }
}

static float liquid_pressure_density(const tarn_tank *tank)
{
    float lightest, heaviest;
    find_densities(tank, &lightest, &heaviest);
    return lightest; // as grid_memory's beta
}

static void liquid_channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *channel)
{
    liquid_args args = liquid_of(tank)->args;
    float heaviest, lightest;
    find_densities(tank, &lightest, &heaviest);
    args.value = room;
    if (number == LIQUID_CHANNEL_PRESSURE) {
        args.value_scale = tank_pressure_m2_s2(tank) * liquid_pressure_density(tank);
        (void)tarn_queue_zero(tank->grid.queue, room, (size_t)tank->particle_count * sizeof *room);
        grid_launch(&tank->grid, &args, LIQUID_KERNEL(show_pressure), NULL, tank->counters.grid.solved);
        *channel = (tank_channel){room, 0.0f, pressure_top_pa(tank, heaviest)};
    } else {
        args.value_scale = heaviest;
        grid_launch(&tank->grid, &args, LIQUID_KERNEL(show_density), NULL, tank->counters.grid.occupied);
        *channel = (tank_channel){room, args.scale.lightest * heaviest, heaviest};
    }
}

static void liquid_field(tarn_tank *tank, uint32_t number, float *room, tank_field *field)
{
    float lightest, heaviest;
    if (number == LIQUID_FIELD_PRESSURE) {
        find_densities(tank, &lightest, &heaviest);
        tank_field_pressure(tank, liquid_pressure_density(tank), room, field);
        field->high = pressure_top_pa(tank, heaviest);
    } else if (number == LIQUID_FIELD_CELLS) {
        tank_field_kinds(tank, room, field);
    } else {
        tank_field_speed(tank, room, field);
    }
}

// ---- a substep ----
// A fixed sequence of launches.
//
//     p2g ─ grid ─ forces ─ bodies, solids ─ friction ─ fringe ─ viscosity ─ tension ─ matrix ─ pressure ─ density ─
//     extrapolate ─ slip ─ g2p + advect ─ drift ─ collide ─ births, drains ─ sort
//
// From before the friction to behind the viscosity velocities have what balanced the forces last (balance.tile.c).

enum { DENSITY_ITERATIONS = 6 };

void liquid_launch_p2g(tarn_tank *tank, const liquid_args *args)
{
    const tarn_weights weights = tank->grid.desc.p2g_weights;
    const bool mixed = args->m.mass[0] != NULL, affine = tank->grid.desc.transfer == TARN_TRANSFER_APIC;
    const bool in_parts = weights == TARN_WEIGHTS_LINEAR && !affine, plain = in_parts && !mixed;
    const tarn_kernel *const kernels[TARN_WEIGHTS_COUNT][2] = {
        {mixed ? LIQUID_KERNEL(p2g_mixed) : LIQUID_KERNEL(p2g), LIQUID_KERNEL(p2g_apic)},
        {LIQUID_KERNEL(p2g_quadratic), LIQUID_KERNEL(p2g_apic_quadratic)},
        {LIQUID_KERNEL(p2g_cubic), LIQUID_KERNEL(p2g_apic_cubic)}};
    if (in_parts) {
        grid_launch(&tank->grid, args, kernels[weights][affine], &args->tank.store.counters->p2g_parts,
                    P2G_PARTS * args->tank.grid.shape.occupied_max);
    } else {
        grid_launch_occupied(&tank->grid, args, kernels[weights][affine]);
    }
    tank_mark(tank, STAGE_P2G);
    grid_launch_active(&tank->grid, args, plain ? LIQUID_KERNEL(grid) : LIQUID_KERNEL(grid_any));
    grid_launch_active(&tank->grid, args, LIQUID_KERNEL(forces));
    grid_launch_active(&tank->grid, args, LIQUID_KERNEL(fill));
    if (mixed) {
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(beta));
    }
}

void liquid_launch_viscosity(tarn_tank *tank, const liquid_args *with)
{
    liquid_args args = *with;
    const bool mixed = args.m.viscosity != NULL;
    args.iteration_count = liquid_viscosity_iterations(tank);
    if (args.iteration_count == 0) {
        return;
    }
    if (mixed) {
        grid_launch_active(&tank->grid, &args, LIQUID_KERNEL(viscous_cells));
    }
    grid_launch_active(&tank->grid, &args, LIQUID_KERNEL(viscous_faces));
    if (tank->grid.body_count > 0) {
        grid_launch(&tank->grid, &args, LIQUID_KERNEL(body_drag), &args.tank.grid.m.bodies->tile_count,
                    args.tank.grid.shape.tile_total[0]);
        grid_launch(&tank->grid, &args, GRID_KERNEL(body_hold), NULL, 1);
    }
    for (args.iteration = 0; args.iteration < args.iteration_count; args.iteration++) {
        grid_launch_active(&tank->grid, &args, mixed ? LIQUID_KERNEL(viscosity_mixed) : LIQUID_KERNEL(viscosity));
    }
    if (tank->grid.body_count > 0) {
        grid_push_bodies(&tank->grid, &args, LIQUID_KERNEL(body_drag));
    }
}

/// Velocities without divergence, and displacements that part crowded particles.
static void solve(void *of)
{
    tarn_tank *tank = of;
    grid_launch_matrix(&tank->grid);
    tank_mark(tank, STAGE_MATRIX);
    const uint32_t iterations = (uint32_t)tank->parameters[TARN_PARAMETER_ITERATIONS];
    grid_solve(&tank->grid, false, iterations);
    tank_mark(tank, STAGE_PRESSURE);
    grid_solve(&tank->grid, true, tank->grid.desc.solver == TARN_SOLVER_MULTIGRID ? DENSITY_ITERATIONS : iterations);
}

static void liquid_substep(tarn_tank *tank)
{
    const liquid_args *args = &liquid_of(tank)->args;
    tank_mark(tank, STAGE_NONE);
    liquid_launch_p2g(tank, args);
    if (tank->grid.body_count > 0) {
        grid_launch(&tank->grid, args, GRID_KERNEL(bodies_begin), NULL, 1);
        grid_launch(&tank->grid, args, GRID_KERNEL(body_tiles), NULL, 1);
    }
    if (tank->grid.has_solids) {
        grid_launch_active(&tank->grid, args, GRID_KERNEL(solids));
        grid_launch_active(&tank->grid, args, GRID_KERNEL(solid_cells));
    }
    const bool resists = liquid_resists(&tank->grid.desc);
    if (resists) {
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(balance));
    }
    if (liquid_rubs(&tank->grid.desc)) {
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(friction));
    }
    tank_mark(tank, STAGE_GRID);
    grid_launch_occupied(&tank->grid, args, GRID_KERNEL(fringe));
    liquid_launch_viscosity(tank, args);
    if (resists) {
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(unbalance));
    }
    if (tank->grid.body_count > 0 && liquid_viscosity_iterations(tank) > 0) {
        grid_unbalance_bodies(&tank->grid);
    }
    tank_mark(tank, STAGE_VISCOSITY);
    if (tank->grid.body_count > 0) { // which has no pressure in the fringe
        grid_push_bodies(&tank->grid, args, GRID_KERNEL(body_lift));
    }
    if (tank->parameters[TARN_PARAMETER_SURFACE_TENSION] > 0.0f) {
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(tension_smooth));
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(tension));
    }
    grid_launch_chain(&tank->grid, solve, tank);
    tank_mark(tank, STAGE_DENSITY);
    if (resists) {
        grid_launch_active(&tank->grid, args, LIQUID_KERNEL(keep_balance));
    }
    grid_launch_active(&tank->grid, args, GRID_KERNEL(extrapolate));
    if (tank->grid.has_solids) {
        grid_launch_active(&tank->grid, args, GRID_KERNEL(slip));
        grid_launch_active(&tank->grid, args, GRID_KERNEL(slip_end));
    }
    tank_mark(tank, STAGE_EXTRAPOLATE);
    tank_launch_moves(tank, &args->tank);
    if (args->m.mass[0] != NULL) {
        grid_launch_occupied(&tank->grid, args, LIQUID_KERNEL(drift));
    }
    tank_launch_sort(tank, &args->tank);
}

// ---- the model ----

#define DENSITY_TOLERANCE 0.02f
#define CARRY_FLIP_MIN 0.5f ///< of FLIP: below, u_old has too much of what is ahead (forces.tile.c)
#define HIGH_CONTRAST 0.5f  ///< of the lightest liquid's density to the heaviest's: below this

// ---- the model: what a description may have ----

static tarn_status check_liquids(const grid_complaint *why, const tarn_tank_desc *desc)
{
    if (desc->liquid_count < 1 || desc->liquid_count > TARN_TANK_LIQUIDS_MAX) {
        return grid_refuse(why, TARN_E_LIMIT, "there are %u liquids; allowed are 1 to %d", desc->liquid_count,
                           TARN_TANK_LIQUIDS_MAX);
    }
    float lightest = INFINITY, heaviest = 0.0f;
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        char field[48];
        snprintf(field, sizeof field, "liquids[%u].density_kg_m3", i);
        tarn_status status = tank_check_range(why, field, desc->liquids[i].density_kg_m3, 0.01f, 20000.0f);
        snprintf(field, sizeof field, "liquids[%u].viscosity_m2_s", i);
        if (status == TARN_OK) {
            status = tank_check_range(why, field, desc->liquids[i].viscosity_m2_s, 0.0f, 100.0f);
        }
        if (status != TARN_OK) {
            return status;
        }
        lightest = fminf(lightest, desc->liquids[i].density_kg_m3);
        heaviest = fmaxf(heaviest, desc->liquids[i].density_kg_m3);
    }
    if (heaviest > TARN_TANK_DENSITY_RATIO_MAX * lightest) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the liquids' densities are %g to %g kg/m3; allowed is a ratio of %g",
                           (double)lightest, (double)heaviest, (double)TARN_TANK_DENSITY_RATIO_MAX);
    }
    if ((unsigned)desc->transfer >= TARN_TRANSFER_COUNT) {
        return grid_refuse(why, TARN_E_ARGUMENT, "transfer is %d; allowed is 0 to %d", (int)desc->transfer,
                           TARN_TRANSFER_COUNT - 1);
    }
    if ((unsigned)desc->p2g_weights >= TARN_WEIGHTS_COUNT || (unsigned)desc->g2p_weights >= TARN_WEIGHTS_COUNT) {
        return grid_refuse(why, TARN_E_ARGUMENT, "p2g_weights is %d, g2p_weights is %d; allowed is 0 to %d",
                           (int)desc->p2g_weights, (int)desc->g2p_weights, TARN_WEIGHTS_COUNT - 1);
    }
    return TARN_OK;
}

static tarn_status check(const tarn_tank_desc *desc, const grid_complaint *why)
{
    tarn_status status = check_liquids(why, desc);
    if (status == TARN_OK && (unsigned)desc->solver >= TARN_SOLVER_COUNT) {
        status = grid_refuse(why, TARN_E_ARGUMENT, "solver is %u; allowed is 0 to %d", (unsigned)desc->solver,
                             TARN_SOLVER_COUNT - 1);
    }
    return status;
}

// ---- the model: scales ----

/// Where and how fast drops go besides gravity.
static void fill_drops(const tarn_tank_desc *desc, const store_scale *store, liquid_scale *shape)
{
    const float diameter_m = desc->cell_m / 3.0f;
    float thinnest = desc->liquids[0].viscosity_m2_s;
    for (uint32_t i = 0; i < desc->liquid_count && shape->lightest < 1.0f; i++) {
        thinnest = fminf(thinnest, desc->liquids[i].viscosity_m2_s);
        shape->heavy[i] = (store->liquid_density[i] - shape->lightest) / (1.0f - shape->lightest);
    }
    shape->buoyancy = 2.0f * (1.0f - shape->lightest) / (1.0f + shape->lightest);
    shape->drop_viscosity = 18.0f * thinnest * desc->dt_s / (diameter_m * diameter_m);
}

static void fill_liquids(const tarn_tank_desc *desc, store_scale *store, liquid_scale *shape)
{
    const int degree = (int)desc->p2g_weights + 1;
    shape->node_edge = (uint32_t)node_edge_of(degree);
    shape->node_count = shape->node_edge * shape->node_edge * shape->node_edge;
    store->node_reach = degree == 3 ? 2.0f : 1.5f;
    float heaviest = 0.0f;
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        heaviest = fmaxf(heaviest, desc->liquids[i].density_kg_m3);
    }
    shape->lightest = 1.0f;
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        shape->lightest = fminf(shape->lightest, desc->liquids[i].density_kg_m3 / heaviest);
    }
    const float base = fmaxf(MASS_SHARE_MIN - shape->lightest, 0.0f) / fmaxf(1.0f - shape->lightest, MASS_SHARE_MIN);
    for (uint32_t i = 0; i < LIQUIDS_MAX; i++) {
        store->liquid_density[i] = i < desc->liquid_count ? desc->liquids[i].density_kg_m3 / heaviest : 1.0f;
        shape->liquid_mass[i] = i < desc->liquid_count ? base + (1.0f - base) * store->liquid_density[i] : 1.0f;
    }
    shape->mass_base = base;
    fill_drops(desc, store, shape);
}

static void scale(tarn_tank *tank)
{
    liquid_args *args = &liquid_of(tank)->args;
    const tarn_tank_desc *desc = &tank->grid.desc;
    store_scale *store = &args->tank.scale;
    tank_scale_particles(tank);
    args->scale.weight_scale = CELL_WEIGHT_MAX / store->cell_particles_max;
    args->scale.weight_min = (int32_t)args->scale.weight_scale / WEIGHT_MIN_SHARE;
    fill_liquids(desc, store, &args->scale);
    tank->grid.corrects_density = true;
    tank->grid.high_contrast = args->scale.lightest < HIGH_CONTRAST;
}

// ---- the model: memory ----

static void carve(grid_carver *t, tarn_tank *tank)
{
    liquid_args *args = &liquid_of(tank)->args;
    t->group = GROUP_ACTIVE;
    grid_carve(t, &args->m.face_kind, TILE_CELLS);
    for (int a = 0; a < 3 && args->scale.lightest < 1.0f; a++) {
        grid_carve(t, &args->tank.grid.m.beta[a], TILE_CELLS * 4);
    }
    if (tank->grid.desc.liquid_count > 1 && liquid_viscosity_iterations(tank) > 0) {
        grid_carve(t, &args->m.viscosity, TILE_CELLS * 4);
    }
    args->tank.keeps_edges = 1;
    for (int a = 0; a < 3 && liquid_resists(&tank->grid.desc); a++) {
        grid_carve(t, &args->tank.store.keeping[a], TILE_CELLS * 4);
    }
    args->m.control = (liquid_control *)args->tank.store.control;
}

/// The sums of particle to grid, which are done with when the solver begins.
static void carve_in_turn(grid_carver *t, tarn_tank *tank)
{
    liquid_args *args = &liquid_of(tank)->args;
    const uint64_t nodes = args->scale.node_count;
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &args->m.momentum[a], nodes * 4);
        grid_carve(t, &args->m.weight[a], nodes * 4);
        if (args->scale.lightest < 1.0f) {
            grid_carve(t, &args->m.mass[a], nodes * 4);
        }
    }
    grid_carve(t, &args->m.density, nodes * 4);
}

// ---- the model: before a step ----

static bool changes_launches(uint32_t id, float before, float after)
{
    return (id == TARN_PARAMETER_ITERATIONS && after != before) ||
           (id == TARN_PARAMETER_SURFACE_TENSION && (after > 0.0f) != (before > 0.0f));
}

/// Beyond that Jacobi's iteration diverges.
static float relaxation_max(const tarn_tank *tank)
{
    return tank->grid.desc.solver == TARN_SOLVER_JACOBI ? 1.0f : 2.0f;
}

static float used(const tarn_tank *tank, uint32_t id)
{
    const float asked = tank->parameters[id];
    return id == TARN_PARAMETER_SURFACE_TENSION ? liquid_tension_used(tank)
           : id == TARN_PARAMETER_RELAXATION    ? fminf(asked, relaxation_max(tank))
                                                : asked;
}

static void remark(const tarn_tank *tank, tank_remarks *to)
{
    const float most = liquid_viscosity_most(tank);
    for (uint32_t i = 0; i < tank->grid.desc.liquid_count; i++) {
        const float asked = tank->grid.desc.liquids[i].viscosity_m2_s;
        if (asked > most) {
            tank_remark(
                to,
                "liquids[%u].viscosity_m2_s: asked for is %g, but %.4g is what acts in a step without substeps: "
                "larger cells or a shorter dt_s take more",
                i, (double)asked, (double)most);
        }
    }
}

_Static_assert((int)TARN_TANK_SOLIDS_MAX == (int)SOLIDS_MAX, "every solid has its friction");

/// What a substep takes away, for as many as there are to take `friction`.
static float loss(const tarn_tank *tank, float friction)
{
    return 1.0f - tank_nth_root(1.0f - friction, tank->grid.substeps);
}

static void fill_friction(const tarn_tank *tank, liquid_friction *friction)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    friction->walls = loss(tank, desc->wall_friction);
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        friction->solid[i] = loss(tank, desc->solids[i].friction);
    }
    for (uint32_t b = 0; b < tank->grid.own_body_count; b++) {
        friction->body[b] = friction->solid[tank->grid.body_solid[b]];
    }
}

static void begin(tarn_tank *tank, tank_control *control)
{
    liquid_control *own = (liquid_control *)control;
    const float *p = tank->parameters;
    control->grid.tolerance = p[TARN_PARAMETER_TOLERANCE];
    control->grid.density_tolerance = DENSITY_TOLERANCE;
    control->grid.relaxation = tile_min_f32(p[TARN_PARAMETER_RELAXATION], relaxation_max(tank));
    control->grid.density_gain = p[TARN_PARAMETER_DENSITY];
    control->flip = tank_nth_root(p[TARN_PARAMETER_FLIP], tank->grid.substeps);
    control->grid.balances = liquid_viscosity_iterations(tank) > 0;
    control->grid.faces_carry = control->flip >= CARRY_FLIP_MIN && tank->args->store.affine[0] == NULL;
    liquid_fill_viscosity(tank, own);
    if (liquid_rubs(&tank->grid.desc)) {
        fill_friction(tank, &own->friction);
    }
    liquid_fill_tension(tank, own);
    control->grid.body_viscosity = liquid_of(tank)->args.m.viscosity != NULL ? 0.0f : own->viscosity[0];
}

// ---- the model: its table ----

static const char *const stages[STAGE_END - STAGE_COUNT] = {"p2g",      "grid",    "viscosity",  "matrix",
                                                            "pressure", "density", "extrapolate"};

static const tarn_channel_spec channels[] = {
    {"colour", "Own colour", NULL}, // of its liquid, or dye; in frames of a tank that has some
    {"speed", "Speed", "m/s"},
    {"height", "Height", "m"},
    {"vorticity", "Vorticity", "1/s"},
    [LIQUID_CHANNEL_PRESSURE] = {"pressure", "Pressure", "Pa"},
    [LIQUID_CHANNEL_DENSITY] = {"density", "Density", "kg/m³"},
};

static const tarn_field_spec fields[] = {
    [LIQUID_FIELD_PRESSURE] = {"pressure", "Pressure", "Pa", NULL},
    [LIQUID_FIELD_CELLS] = {"cells", "Cells", NULL, "air,liquid,solid"},
    [LIQUID_FIELD_SPEED] = {"speed", "Speed", "m/s", NULL},
};

const tank_model tarn_liquid_model = {
    .shown = {.name = "liquid",
              .text = "free-surface liquid by PIC/FLIP or APIC",
              .number = 0,
              .can = TARN_MODEL_ALL,
              .parameter_count = TARN_PARAMETER_COUNT,
              .parameters = tarn_liquid_parameters,
              .tools = TARN_TOOLS_ALL,
              .channel_count = sizeof channels / sizeof channels[0],
              .channels = channels,
              .field_count = sizeof fields / sizeof fields[0],
              .fields = fields},
    .part_bytes = sizeof(liquid_part),
    .control_bytes = sizeof(liquid_control),
    .stages = stages,
    .stage_count = sizeof stages / sizeof stages[0],
    .check = check,
    .scale = scale,
    .carve = carve,
    .carve_in_turn = carve_in_turn,
    .particles = tank_blocks_particles,
    .seed = tank_seed_blocks,
    .substeps = liquid_tension_substeps,
    .changes_launches = changes_launches,
    .keeps = liquid_resists,
    .used = used,
    .remark = remark,
    .begin = begin,
    .substep = liquid_substep,
    .channel = liquid_channel,
    .field = liquid_field,
    .pressure_density = liquid_pressure_density,
};
