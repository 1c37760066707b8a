// V13: a slotted disc, carried once round by a given rotation: every particle comes back. The rotation is linear, so
// interpolation is exact and what is seen is the integration in time, at the speed of the default CFL number.
//
// No public function prescribes a velocity: this case launches the solver's own advection and sort.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid/liquid_host.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <string.h>

enum { EDGE = 128, RADIUS = 15, SLOT = 3, TURN_STEPS = 126 }; // 40 cells from the middle: 2 cells per step

/// Column by column: below the slot one block, in it two at its sides.
static void fill_disc(tarn_tank_desc *desc, double x0, double y0)
{
    for (int i = -RADIUS; i < RADIUS; i++) {
        const double middle = i + 0.5, half = sqrt(RADIUS * RADIUS - middle * middle);
        const double top =
            fabs(middle) < SLOT ? y0 - half + 25.0 > y0 + half ? y0 + half : y0 - RADIUS + 5.0 : y0 + half;
        const float cell = desc->cell_m;
        desc->blocks[desc->block_count++] =
            (tarn_fluid_block){.min_m = {(float)(x0 + i) * cell, (float)(y0 - half) * cell, 0.0f},
                               .max_m = {(float)(x0 + i + 1) * cell, (float)top * cell, cell}};
    }
}

/// Rigid rotation about the tank's middle on all faces of the active tiles.
static void set_rotation(tarn_tank *tank, double omega)
{
    const grid_memory *grid = &tank->args->grid.m;
    for (uint32_t tile = 0; tile < tank->counters.grid.active; tile++) {
        const tile_place place = tile_place_of(&tank->args->grid.shape, 0, grid->active_tile[tile]);
        for (uint32_t cell = 0; cell < TILE_CELLS; cell++) {
            const uint64_t at = (uint64_t)tile * TILE_CELLS + cell;
            const double x = place.x * TILE_EDGE + (int)(cell & 7), y = place.y * TILE_EDGE + (int)(cell >> 3 & 7);
            grid->u_ext[0][at] = grid->u_old[0][at] = (float)(-omega * (y + 0.5 - 0.5 * EDGE));
            grid->u_ext[1][at] = grid->u_old[1][at] = (float)(omega * (x + 0.5 - 0.5 * EDGE));
            grid->u_ext[2][at] = grid->u_old[2][at] = 0.0f;
            for (int c = 0; c < 3; c++) {
                grid->shift[c][at] = 0.0f;
            }
        }
    }
}

static void carry(tarn_tank *tank, double omega)
{
    tank_control *control = tank->args->store.control;
    memset(control, 0, tank->model->control_bytes);
    control->grid.frac = 1.0f;
    control->grid.speed_max = SPEED_MAX;
    liquid_launch_p2g(tank, &liquid_of(tank)->args); // which also finds where the particles are
    set_rotation(tank, omega);
    tank_launch_advection(tank, tank->args);
    assert_int_equal(
        tarn_queue_download(tank->grid.queue, &tank->counters, tank->args->store.counters, sizeof tank->counters),
        TARN_OK);
}

void physics_disc(void)
{
    const double omega = 2.0 * 3.14159265358979323846 / TURN_STEPS;
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = EDGE;
    desc.cells[2] = 1;
    fill_disc(&desc, 0.5 * EDGE, 0.5 * EDGE + 25.0);
    physics_tank t = physics_open(&desc);
    physics_particles before = physics_particles_open(&t), after = physics_particles_open(&t);
    physics_particles_read(&t, &before);
    for (int step = 0; step < TURN_STEPS; step++) {
        carry(t.tank, omega);
    }
    physics_particles_read(&t, &after);
    double farthest = 0.0;
    for (uint32_t i = 0; i < before.count; i++) {
        double distance2 = 0.0;
        for (uint32_t a = 0; a < 3; a++) {
            const double d = (double)(after.position_m[3 * i + a] - before.position_m[3 * i + a]) / (double)desc.cell_m;
            distance2 += d * d;
        }
        farthest = fmax(farthest, sqrt(distance2));
    }
    physics_at_most(PHYSICS_REQUIRED, "V13 slotted disc, farthest particle after a turn", farthest, 0.1, "cells");
    physics_particles_close(&before);
    physics_particles_close(&after);
    physics_close(&t);
}
