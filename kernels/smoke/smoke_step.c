// One substep of the smoke: a fixed sequence of launches.
//
//     carry (MacCormack) ─ deposit ─ forces ─ viscosity, confinement ─ bodies, solids ─ matrix ─ pressure ─ extrapolate
//     ─ slip ─ draw ─ sleep ─ move particles ─ mix, cool, fade ─ sort
#include "kernels/smoke/smoke_host.h"

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

void smoke_substep(tarn_tank *tank)
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
