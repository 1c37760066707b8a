// A block of liquid that turns freely, without gravity: pressure has to turn every velocity as fast as the liquid
// turns. Its angular momentum stays, its energy doesn't grow, and the angle converges with the square of the step.
//
// No public function gives particles a velocity each: this case writes them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

static const double turn_rad_s = 2.0, time_s = 0.5;

/// About the z axis through the centre of mass, of the particles together; in metres and seconds.
typedef struct turning {
    double momentum, energy, angle; ///< angle: mean since the start
} turning;

/// A tank with a block in its middle, a cube, or in a flat tank a square.
static tarn_tank_desc turn_desc(uint16_t cells, uint16_t depth, float block_cells, double steps_per_s)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = cells;
    desc.cells[2] = depth;
    desc.dt_s = (float)(1.0 / steps_per_s);
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        const float half = fminf(block_cells, (float)desc.cells[a]) / 2.0f;
        desc.blocks[0].min_m[a] = (0.5f * (float)desc.cells[a] - half) * desc.cell_m;
        desc.blocks[0].max_m[a] = (0.5f * (float)desc.cells[a] + half) * desc.cell_m;
    }
    return desc;
}

static void set_turning(tarn_tank *tank)
{
    const store_memory *store = &tank->args->store;
    const double turn = turn_rad_s * (double)tank->grid.desc.dt_s, unit = 1.0 / (1 << POSITION_BITS);
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const double x = store->position[0][i] * unit - 0.5 * tank->grid.desc.cells[0],
                     y = store->position[1][i] * unit - 0.5 * tank->grid.desc.cells[1];
        store->velocity[0][i] = (float)(-turn * y);
        store->velocity[1][i] = (float)(turn * x);
    }
}

/// @param start_m  positions at the start
static turning measure(physics_tank *t, physics_particles *p, const double center_m[2], const float *start_m)
{
    turning sum = {0};
    double along = 0.0, across = 0.0;
    physics_particles_read(t, p);
    for (size_t i = 0; i < p->count; i++) {
        const double x = (double)p->position_m[3 * i] - center_m[0], y = (double)p->position_m[3 * i + 1] - center_m[1];
        const double x0 = (double)start_m[3 * i] - center_m[0], y0 = (double)start_m[3 * i + 1] - center_m[1];
        sum.momentum += x * (double)p->velocity_m_s[3 * i + 1] - y * (double)p->velocity_m_s[3 * i];
        along += x0 * x + y0 * y;
        across += x0 * y - y0 * x;
        for (size_t a = 0; a < 3; a++) {
            sum.energy += 0.5 * (double)p->velocity_m_s[3 * i + a] * (double)p->velocity_m_s[3 * i + a];
        }
    }
    sum.angle = atan2(across, along);
    return sum;
}

/// After time_s: what is left of the momentum; the most that there was of the energy over that after the first step,
/// from which on velocities are those of the middles of steps; and the angle.
static turning turn(const tarn_tank_desc *desc)
{
    physics_tank t = physics_open(desc);
    physics_particles p = physics_particles_open(&t), start = physics_particles_open(&t);
    const double center_m[2] = {0.5 * desc->cells[0] * (double)desc->cell_m,
                                0.5 * desc->cells[1] * (double)desc->cell_m};
    set_turning(t.tank);
    physics_particles_read(&t, &start);
    const double momentum = measure(&t, &p, center_m, start.position_m).momentum;
    physics_steps(&t, 1);
    turning now = measure(&t, &p, center_m, start.position_m), result = {0};
    const double energy = now.energy;
    for (int steps = (int)lround(time_s / (double)desc->dt_s); steps > 1; steps--) {
        physics_steps(&t, 1);
        now = measure(&t, &p, center_m, start.position_m);
        result.energy = fmax(result.energy, now.energy / energy);
    }
    result.momentum = now.momentum / momentum;
    result.angle = now.angle;
    physics_particles_close(&start);
    physics_particles_close(&p);
    physics_close(&t);
    return result;
}

/// By what the angle's change shrinks when steps are halved a second time: 1/2 for the first order, 1/4 for the second.
static double shrinking(void)
{
    double angle[3];
    for (int i = 0; i < 3; i++) {
        tarn_tank_desc desc = turn_desc(80, 1, 40.0f, 30.0 * (1 << i));
        desc.parameters[TARN_PARAMETER_FLIP] = 1.0f; // PIC's share is one of steps, not of time
        angle[i] = turn(&desc).angle;
    }
    return (angle[2] - angle[1]) / (angle[1] - angle[0]);
}

void physics_turn(void)
{
    const tarn_tank_desc small = turn_desc(48, 48, 24.0f, 60.0), large = turn_desc(64, 64, 32.0f, 60.0);
    const turning of_small = turn(&small), of_large = turn(&large);
    physics_within(PHYSICS_REPORTED, "turning block of 24 cells: angular momentum after 0.5 s, change",
                   (of_small.momentum - 1.0) * 100.0, 0.0, 0.3, "%");
    physics_within(PHYSICS_REQUIRED, "turning block of 32 cells: angular momentum after 0.5 s, change",
                   (of_large.momentum - 1.0) * 100.0, 0.0, 0.3, "%");
    physics_at_most(PHYSICS_REQUIRED, "turning block of 32 cells: largest energy, over that after a step",
                    of_large.energy, 1.0, "");
    physics_at_most(PHYSICS_REQUIRED, "turning block: change of the angle, 120 against 60 steps/s, over 60 against 30",
                    shrinking(), pow(2.0, -1.9), "");
}
