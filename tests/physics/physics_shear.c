// A shear flow that floats without gravity is free of divergence and of pressure, and linear: transfers to the grid and
// back with the right weights give every particle the velocity that it had. With PIC alone nothing else is left of it,
// so that a weight that belongs to another place of the cell shows as the flow's change over half a cell. One particle
// in a cell shows what two hide: errors that are each other's mirror image.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

enum { CELLS = 24, FIRST = 4, DEPTH = 16, RIM = 3 };

static const float change_m_s = 0.04f; // from cell to cell

/// Liquid in the tank's middle, moving along `along` with a speed that grows along `across`, layer by layer of its
/// lattice.
static tarn_tank_desc shear_desc(int along, int across, uint32_t per_axis)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = CELLS;
    }
    desc.jitter = 0.0f;
    desc.particles_per_axis = per_axis;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_FLIP] = 0.0f;
    desc.parameters[TARN_PARAMETER_DENSITY] = 0.0f;
    desc.block_count = DEPTH * per_axis;
    for (uint32_t layer = 0; layer < desc.block_count; layer++) {
        tarn_fluid_block *block = &desc.blocks[layer];
        for (int a = 0; a < 3; a++) {
            block->min_m[a] = FIRST * desc.cell_m;
            block->max_m[a] = (FIRST + DEPTH) * desc.cell_m;
        }
        block->min_m[across] = ((float)FIRST + (float)layer / (float)per_axis) * desc.cell_m;
        block->max_m[across] = block->min_m[across] + desc.cell_m / (float)per_axis;
        block->velocity_m_s[along] = change_m_s * ((float)layer / (float)per_axis - 0.5f * DEPTH);
    }
    return desc;
}

/// Largest change of a velocity in one step, of particles away from the surface, in units of the flow's own change over
/// a cell.
static double largest_change(int along, int across, uint32_t per_axis)
{
    const tarn_tank_desc desc = shear_desc(along, across, per_axis);
    physics_tank t = physics_open(&desc);
    const uint32_t n = (uint32_t)tarn_tank_desc_particles(&desc);
    float *positions = malloc((size_t)n * 3 * sizeof *positions);
    float *before = malloc((size_t)n * 3 * sizeof *before), *after = malloc((size_t)n * 3 * sizeof *after);
    assert_true(positions != NULL && before != NULL && after != NULL);
    uint32_t count;
    assert_int_equal(tarn_tank_particles(t.tank, positions, before, NULL, n, &count), TARN_OK);
    physics_steps(&t, 1);
    assert_int_equal(tarn_tank_particles(t.tank, NULL, after, NULL, n, &count), TARN_OK);
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        bool inside = true;
        for (size_t a = 0; a < 3; a++) {
            const float at = positions[3 * i + a] / desc.cell_m;
            inside &= at > FIRST + RIM && at < FIRST + DEPTH - RIM;
        }
        for (size_t a = 0; inside && a < 3; a++) {
            largest = fmax(largest, fabs((double)(after[3 * i + a] - before[3 * i + a])));
        }
    }
    free(positions);
    free(before);
    free(after);
    physics_close(&t);
    return largest / (double)change_m_s;
}

void physics_shear(void)
{
    double largest = 0.0;
    for (int along = 0; along < 3; along++) {
        for (int across = 0; across < 3; across++) {
            for (uint32_t per_axis = 1; across != along && per_axis <= 2; per_axis++) {
                largest = fmax(largest, largest_change(along, across, per_axis));
            }
        }
    }
    physics_at_most(PHYSICS_REQUIRED, "shear: largest change by transfers", largest, 0.01, "cells");
}
