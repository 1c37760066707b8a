// V7 in part: what multigrid promises. The solver's iterations hardly grow with the resolution, and its residual is the
// divergence that is left.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

/// Most iterations of the pressure in the first steps of a dam break in n^3 cells.
static uint32_t iterations_at(uint16_t n, float *residual)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = n;
    desc.cell_m = 1.0f / (float)n;
    desc.particles_per_axis = 1;
    // Gravity's first step has n times the divergence: with a bound that grows alike, the residual is to fall as far.
    desc.parameters[TARN_PARAMETER_TOLERANCE] = 1e-4f * (float)n / 32.0f;
    desc.parameters[TARN_PARAMETER_SUBSTEPS] = 8.0f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.5f, 0.75f, 1.0f}};
    physics_tank t = physics_open(&desc);
    uint32_t most = 0;
    *residual = 0.0f;
    for (int step = 0; step < 6; step++) {
        physics_steps(&t, 1);
        const tarn_tank_report report = physics_report(&t);
        most = report.pressure_iterations > most ? report.pressure_iterations : most;
        *residual = report.residual > *residual ? report.residual : *residual;
    }
    physics_close(&t);
    return most;
}

void physics_multigrid(void **state)
{
    (void)state;
    float residual[2];
    const uint32_t coarse = iterations_at(32, &residual[0]), fine = iterations_at(128, &residual[1]);
    physics_row("V7 iterations at 32^3", coarse, 7.0, "", "<= 8");
    physics_row("V7 iterations at 128^3", fine, coarse + 2.0, "", "<= those at 32^3 + 2");
    physics_row("V7 residual at 128^3, max abs(div u) dt", (double)residual[1], 4e-4, "", "<= reference");
    assert_true(coarse <= 8);
    assert_true(fine <= coarse + 2);
    assert_true(residual[0] <= 1e-4f && residual[1] <= 4e-4f);
}
