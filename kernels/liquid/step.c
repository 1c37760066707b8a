// One substep of the liquid: a fixed sequence of launches.
//
//     p2g ─ grid ─ forces ─ bodies, solids ─ friction ─ fringe ─ viscosity ─ tension ─ matrix ─ pressure ─ density ─
//     extrapolate ─ slip ─ g2p + advect ─ drift ─ collide ─ births, drains ─ sort
//
// From before the friction to behind the viscosity velocities have what balanced the forces last (balance.tile.c).
#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"

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

void liquid_substep(tarn_tank *tank)
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
