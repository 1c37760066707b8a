// V7: what multigrid promises. The divergence that the pressure leaves is under its tolerance in every step of a dam
// break, and the solver's iterations hardly grow with the resolution. The divergence is the residual that the solver
// itself reports, of the last substep of each step.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <stdio.h>

void physics_divergence(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 64;
    desc.cells[1] = 48;
    desc.cells[2] = 16;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.625f, 1.0f, 0.5f}};
    physics_tank t = physics_open(&desc);
    const solver_figures worst = physics_solver_worst(&t, 300);
    physics_at_most(PHYSICS_REQUIRED, "V7 dam break, 5 s: largest abs(div u) dt", (double)worst.residual, 1e-4, "");
    physics_figure("V7 dam break, 5 s: most iterations", worst.iterations, "");
    physics_close(&t);
}

enum { FIRST_STEPS = 3 };

/// The first steps of a dam break in n^3 cells.
static tarn_tank_desc cube_desc(uint16_t n)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = n;
    desc.cell_m = 1.0f / (float)n;
    desc.particles_per_axis = 1;
    desc.parameters[TARN_PARAMETER_SUBSTEPS] = 8.0f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.5f, 0.75f, 1.0f}};
    return desc;
}

/// Gravity's first step, which is half a kick, has n times the divergence: with a tolerance that grows alike, the
/// residual is to fall as far at every resolution, and only that compares iterations.
static float scaled_tolerance(uint16_t n)
{
    return 0.5e-4f * (float)n / 32.0f;
}

static solver_figures first_scaled(uint16_t n, physics_tank *t)
{
    assert_int_equal(tarn_tank_reset(t->tank), TARN_OK);
    assert_int_equal(act_set_parameter(t->tank, TARN_PARAMETER_TOLERANCE, scaled_tolerance(n)), TARN_OK);
    return physics_solver_worst(t, 1);
}

static solver_figures measure_cube(uint16_t n, physics_tank *t)
{
    char name[80];
    snprintf(name, sizeof name, "V7 multigrid, %d^3: iterations, default tolerance", n);
    physics_figure(name, physics_solver_worst(t, FIRST_STEPS).iterations, "");
    const solver_figures worst = first_scaled(n, t);
    snprintf(name, sizeof name, "V7 multigrid, %d^3: largest abs(div u) dt", n);
    physics_at_most(PHYSICS_REQUIRED, name, (double)worst.residual, (double)scaled_tolerance(n), "");
    return worst;
}

static void report_growth(uint16_t n, solver_figures at_32, solver_figures worst)
{
    char name[80];
    snprintf(name, sizeof name, "V7 multigrid, %d^3: iterations for as large a reduction", n);
    physics_at_most(PHYSICS_REQUIRED, name, worst.iterations, at_32.iterations + 2.0, "");
}

static solver_figures cube(uint16_t n)
{
    const tarn_tank_desc desc = cube_desc(n);
    physics_tank t = physics_open(&desc);
    const solver_figures worst = measure_cube(n, &t);
    physics_close(&t);
    return worst;
}

void physics_multigrid(void)
{
    const solver_figures at_32 = cube(32);
    physics_at_most(PHYSICS_REQUIRED, "V7 multigrid, 32^3: iterations", at_32.iterations, 8.0, "");
    report_growth(64, at_32, cube(64));
    report_growth(128, at_32, cube(128));
}

/// By itself, as it takes all processors and about 3 GB.
void physics_multigrid_large(void)
{
    const tarn_tank_desc small = cube_desc(32), large = cube_desc(256);
    physics_tank t = physics_open(&small);
    const solver_figures at_32 = first_scaled(32, &t);
    physics_close(&t);
    t = physics_open_alone(&large);
    report_growth(256, at_32, measure_cube(256, &t));
    physics_close(&t);
}
