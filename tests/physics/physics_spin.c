// V6: a tank that turns about the vertical with the liquid in it. In the tank's frame the liquid comes to rest on a
// paraboloid, z = w^2 r^2 / 2 g + c, whatever the walls' shape. The surface is fitted over r^2.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/kernels/tank_acts.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <string.h>

enum { EDGE = 48, HEIGHT = 24, TURN_STEPS = 480, MEAN_STEPS = 120 };

static const double turns_per_s = 1.0, rim_m = 0.25;

/// Turns the tank on, as evenly as it turned at the start.
static void turn_to(physics_tank *t, uint32_t step, double dt_s)
{
    const double pi = 3.14159265358979323846, half = pi * turns_per_s * (double)step * dt_s;
    const tarn_pose pose = {{0, 0, 0}, {0, (float)sin(half), 0, (float)cos(half)}};
    assert_int_equal(act_set_pose(t->tank, &pose), TARN_OK);
}

/// Adds the liquid's height over each column of cells: its particles, at their number per volume at rest.
static void add_heights(const physics_particles *p, double cell_m, double per_m3, double *heights)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const int x = (int)((double)p->position_m[3 * i] / cell_m),
                  z = (int)((double)p->position_m[3 * i + 2] / cell_m);
        heights[z * EDGE + x] += 1.0 / (per_m3 * cell_m * cell_m);
    }
}

void physics_spin(void)
{
    const double pi = 3.14159265358979323846, size_m = 0.6, cell_m = size_m / EDGE;
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[2] = EDGE;
    desc.cells[1] = HEIGHT;
    desc.cell_m = (float)cell_m;
    desc.spin_rad_s[1] = (float)(2.0 * pi * turns_per_s);
    desc.parameters[TARN_PARAMETER_FLIP] = 0.9f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {(float)size_m, 0.12f, (float)size_m}};
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    static double heights[EDGE * EDGE];
    memset(heights, 0, sizeof heights);
    for (uint32_t step = 1; step <= TURN_STEPS + MEAN_STEPS; step++) {
        turn_to(&t, step, (double)desc.dt_s);
        physics_steps(&t, 1);
        if (step > TURN_STEPS) {
            physics_particles_read(&t, &p);
            add_heights(&p, cell_m, 8.0 / (cell_m * cell_m * cell_m) * MEAN_STEPS, heights);
        }
    }
    static double r2[EDGE * EDGE], height[EDGE * EDGE];
    int count = 0;
    for (int z = 2; z < EDGE - 2; z++) {
        for (int x = 2; x < EDGE - 2; x++) {
            const double dx = (x + 0.5) * cell_m - 0.5 * size_m, dz = (z + 0.5) * cell_m - 0.5 * size_m;
            r2[count] = dx * dx + dz * dz;
            height[count++] = heights[z * EDGE + x];
        }
    }
    const double omega = 2.0 * pi * turns_per_s, reference = omega * omega * rim_m * rim_m / (2.0 * 9.81);
    physics_within_percent(PHYSICS_REQUIRED, "V6 rise at r = 0.25 m, 1 turn/s",
                           physics_slope(r2, height, count) * rim_m * rim_m, reference, 3.0, "m");
    physics_particles_close(&p);
    physics_close(&t);
}
