// V1: a tank at rest. Pressure, in cells of liquid, is compared with the depth cell by cell: how far it is off on
// average shows where the solver takes the surface to be, and the deviation from that whether it is linear. A solver
// whose free surface is of first order is off by half a cell.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "kernels/probe.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

static const double g = 9.81;

static tarn_tank_desc rest_desc(double depth_cells)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 40;
    desc.cells[1] = 32;
    desc.cells[2] = 24;
    desc.cell_m = 1.0f / 32.0f;
    desc.jitter = 1.0f;
    desc.parameters[TARN_PARAMETER_TOLERANCE] = 1e-5f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.25f, (float)depth_cells * desc.cell_m, 0.75f}};
    return desc;
}

/// Largest error of the pressure over the column, in cells of liquid; *offset_cells: its mean. The topmost cell of
/// liquid is left out.
static double pressure_error(const tarn_tank_desc *desc, double depth_cells, const float *pressure,
                             double *offset_cells)
{
    const int nx = desc->cells[0], ny = desc->cells[1], nz = desc->cells[2];
    double sum = 0.0, worst = 0.0;
    long count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int z = 0; z < nz; z++) {
            for (int y = 0; y + 1.5 < depth_cells; y++) {
                for (int x = 0; x < nx; x++) {
                    const double head = (double)pressure[(z * ny + y) * nx + x] / (g * (double)desc->cell_m);
                    const double error = head - (depth_cells - y - 0.5);
                    if (pass == 0) {
                        sum += error;
                        count++;
                    } else {
                        worst = fmax(worst, fabs(error - sum / (double)count));
                    }
                }
            }
        }
    }
    *offset_cells = sum / (double)count;
    return worst;
}

static void measure_pressure(physics_tank *t, double depth_cells, const char *offset_name, const char *linear_name)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    const size_t cells = (size_t)desc->cells[0] * desc->cells[1] * desc->cells[2];
    float *pressure = calloc(cells, sizeof *pressure);
    assert_non_null(pressure);
    assert_int_equal(tarn_tank_pressure(t->tank, pressure, cells - 1), TARN_E_SPACE);
    assert_int_equal(tarn_tank_pressure(t->tank, pressure, cells), TARN_OK);
    double offset;
    const double worst = pressure_error(desc, depth_cells, pressure, &offset);
    physics_within(PHYSICS_REQUIRED, offset_name, offset, 0.0, 0.1, "cells");
    physics_at_most(PHYSICS_REQUIRED, linear_name, worst, 0.1, "cells");
    free(pressure);
}

/// Largest error of what probes say of the pressure, up a line beside a corner and one in the middle, in cells of
/// liquid; less than half a cell below the surface they aren't asked.
static void measure_probes(physics_tank *t, double depth_cells, const char *name)
{
    enum { COUNT = 60 };
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    tarn_probe probe[COUNT];
    tarn_probe_reading reading[COUNT];
    tarn_probes *probes = NULL;
    double worst = 0.0;
    for (int i = 0; i < COUNT; i++) {
        const float share = (float)(i / 2) / (COUNT / 2), side = i % 2 == 0 ? 0.003f : 0.47f;
        const float up = share * (float)(depth_cells - 0.5) * desc->cell_m;
        probe[i] = (tarn_probe){.kind = TARN_PROBE_POINT, .points_m = {{1.25f * side, up, 0.75f * side}}};
    }
    assert_int_equal(tarn_probes_create(t->tank, probe, COUNT, &probes), TARN_OK);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    for (int i = 0; i < COUNT; i++) {
        const double depth_m = depth_cells * (double)desc->cell_m - (double)probe[i].points_m[0][1];
        const double error_m = (double)reading[i].pressure_pa / (1000.0 * g) - depth_m;
        worst = fmax(worst, fabs(error_m) / (double)desc->cell_m);
    }
    physics_at_most(PHYSICS_REQUIRED, name, worst, 0.1, "cells");
    tarn_probes_destroy(probes);
}

static void measure_rest(void)
{
    const double depth_cells = 16.0;
    const tarn_tank_desc desc = rest_desc(depth_cells);
    physics_tank t = physics_open(&desc);
    physics_steps(&t, 120);
    const double bound = 0.5 * 0.01 * 0.01 * g * depth_cells * (double)desc.cell_m;
    double energy = 0.0;
    for (int i = 0; i < 60; i++) {
        physics_steps(&t, 2);
        energy = fmax(energy, physics_report(&t).kinetic_j_kg);
    }
    physics_at_most(PHYSICS_REQUIRED, "V1 rest: kinetic energy after 2 s", energy, bound, "J/kg");
    measure_pressure(&t, depth_cells, "V1 rest, 16 cells deep: pressure, offset from rho g d",
                     "V1 rest, 16 cells deep: pressure, deviation from linear");
    measure_probes(&t, depth_cells, "V1 rest, 16 cells deep: pressure by probes, largest error");
    physics_close(&t);
}

/// A surface through the middle of cells shows whether the solver knows where in them it is.
static void measure_between(void)
{
    const double depth_cells = 16.5;
    const tarn_tank_desc desc = rest_desc(depth_cells);
    physics_tank t = physics_open(&desc);
    physics_steps(&t, 120);
    measure_pressure(&t, depth_cells, "V1 rest, 16.5 cells deep: pressure, offset from rho g d",
                     "V1 rest, 16.5 cells deep: pressure, deviation from linear");
    measure_probes(&t, depth_cells, "V1 rest, 16.5 cells deep: pressure by probes, largest error");
    physics_close(&t);
}

/// One through cells that are a quarter full lies below their centres.
static void measure_shallow(void)
{
    const double depth_cells = 8.25;
    tarn_tank_desc desc = rest_desc(depth_cells);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = 16;
    desc.blocks[0].max_m[0] = desc.blocks[0].max_m[2] = 0.5f;
    desc.particles_per_axis = 4; // whose lattice has quarters of cells
    physics_tank t = physics_open(&desc);
    physics_steps(&t, 120);
    measure_pressure(&t, depth_cells, "V1 rest, 8.25 cells deep: pressure, offset from rho g d",
                     "V1 rest, 8.25 cells deep: pressure, deviation from linear");
    physics_close(&t);
}

static void measure_drift(void)
{
    tarn_tank_desc desc = rest_desc(16.0);
    desc.cells[0] = 24;
    desc.cells[2] = 16;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.75f, 0.5f, 0.5f}};
    physics_tank t = physics_open(&desc);
    const tarn_tank_report before = physics_report(&t);
    physics_steps(&t, 3600);
    const tarn_tank_report after = physics_report(&t);
    for (int a = 0; a < 3; a++) {
        const char *const names[] = {"V1 rest: drift in 60 s, x", "V1 rest: drift in 60 s, y",
                                     "V1 rest: drift in 60 s, z"};
        physics_within(PHYSICS_REQUIRED, names[a], (after.center_m[a] - before.center_m[a]) / (double)desc.cell_m, 0.0,
                       0.1, "cells");
    }
    physics_close(&t);
}

void physics_rest(void)
{
    measure_rest();
    measure_between();
    measure_shallow();
    measure_drift();
}
