// V1: a tank at rest. The pressure is that of the depth under the surface, which need not lie on the cells' borders.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

static const float g = 9.81f, depth_m = 0.5f;

enum { FILLS = 4 }; // heights of the surface in a cell, in quarters

static tarn_tank_desc rest_desc(void)
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
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.25f, depth_m, 0.75f}};
    return desc;
}

/// Largest deviation of the pressure from a linear one, in cells of liquid, down from the last cell that is full;
/// *offset_cells: by how much the pressure is that of a greater depth, on average.
static double pressure_error(const tarn_tank_desc *desc, const float *pressure, double *offset_cells)
{
    const int nx = desc->cells[0], ny = desc->cells[1], nz = desc->cells[2];
    const double surface = (double)(desc->blocks[0].max_m[1] / desc->cell_m);
    const int layers = (int)floor(surface + 0.01);
    double sum = 0.0, worst = 0.0;
    long count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int z = 0; z < nz; z++)
            for (int y = 0; y < layers - 1; y++)
                for (int x = 0; x < nx; x++) {
                    const double depth = surface - y - 0.5;
                    const double head = pressure[(z * ny + y) * nx + x] / ((double)g * (double)desc->cell_m);
                    if (pass == 0) {
                        sum += head - depth;
                        count++;
                    } else {
                        worst = fmax(worst, fabs(head - depth - sum / (double)count));
                    }
                }
    *offset_cells = sum / (double)count;
    return worst;
}

void physics_rest(void **state)
{
    (void)state;
    const tarn_tank_desc desc = rest_desc();
    physics_tank t = physics_open(&desc);
    physics_steps(&t, 120);
    const double bound = 0.5 * pow(0.01 * sqrt((double)(g * depth_m)), 2.0);
    double energy = 0.0;
    for (int i = 0; i < 60; i++) {
        physics_steps(&t, 2);
        energy = fmax(energy, physics_report(&t).kinetic_j_kg);
    }
    physics_row("V1 kinetic energy after 2 s", energy, bound, "J/kg", "measured < reference");
    assert_true(energy < bound);

    const size_t cells = (size_t)desc.cells[0] * desc.cells[1] * desc.cells[2];
    float *pressure = calloc(cells, sizeof *pressure);
    assert_non_null(pressure);
    assert_int_equal(tarn_tank_pressure(t.tank, pressure, cells - 1), TARN_E_SPACE);
    assert_int_equal(tarn_tank_pressure(t.tank, pressure, cells), TARN_OK);
    double offset;
    const double worst = pressure_error(&desc, pressure, &offset);
    physics_row("V1 pressure, offset from rho g d", offset, 0.0, "cells", "+- 0.02");
    physics_row("V1 pressure, largest deviation from linear", worst, 0.0, "cells", "< 0.1");
    assert_true(fabs(offset) < 0.02);
    assert_true(worst < 0.1);
    free(pressure);
    physics_close(&t);
}

/// The offset where the surface lies anywhere in a cell: a smaller tank with more particles. The surface of a cell that
/// is less than half full counts as its centre's.
void physics_surface(void **state)
{
    (void)state;
    double worst = 0.0;
    for (int fill = 0; fill < FILLS; fill++) {
        tarn_tank_desc desc = rest_desc();
        desc.cells[0] = desc.cells[1] = desc.cells[2] = 16;
        desc.particles_per_axis = FILLS;
        const float size_m = 16.0f * desc.cell_m, top_m = (8.0f + (float)fill / FILLS) * desc.cell_m;
        desc.blocks[0] = (tarn_fluid_block){.max_m = {size_m, top_m, size_m}};
        physics_tank t = physics_open(&desc);
        physics_steps(&t, 60);
        float pressure[16 * 16 * 16];
        double offset;
        assert_int_equal(tarn_tank_pressure(t.tank, pressure, 16 * 16 * 16), TARN_OK);
        pressure_error(&desc, pressure, &offset);
        const double wanted = fill == 0 || 2 * fill >= FILLS ? 0.0 : 0.5 - (double)fill / FILLS;
        worst = fmax(worst, fabs(offset - wanted));
        physics_close(&t);
    }
    physics_row("V1 pressure, offset from that over all fills", worst, 0.0, "cells", "< 0.15");
    assert_true(worst < 0.15);
}

void physics_drift(void **state)
{
    (void)state;
    tarn_tank_desc desc = rest_desc();
    desc.cells[0] = 24;
    desc.cells[2] = 16;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.75f, depth_m, 0.5f}};
    physics_tank t = physics_open(&desc);
    const tarn_tank_report before = physics_report(&t);
    physics_steps(&t, 3600);
    const tarn_tank_report after = physics_report(&t);
    for (int a = 0; a < 3; a++) {
        const double cells = (after.center_m[a] - before.center_m[a]) / (double)desc.cell_m;
        const char *const names[] = {"V1 drift in 60 s, x", "V1 drift in 60 s, y", "V1 drift in 60 s, z"};
        physics_row(names[a], cells, 0.0, "cells", "+- 0.1");
        assert_true(fabs(cells) < 0.1);
    }
    physics_close(&t);
}
