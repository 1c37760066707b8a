// A shear wave in a closed box full of thick liquid: u = sin(2 pi y / H) sin(pi z / W) along x, which vanishes at the
// walls that nothing slips along, keeps its shape and decays by exp(-nu k^2 t), k^2 = (2 pi / H)^2 + (pi / W)^2.
// Towards the ends the wave turns round: velocities are those of a stream function, so that the pressure has nothing to
// do at the start. Measured in the middle third, with FLIP alone, which doesn't damp by itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { LENGTH = 96, HEIGHT = 32, WIDTH = 16, STEPS = 40 };

static const double pi = 3.14159265358979;

/// 1 in the middle, 0 with no slope at both ends; and its slope.
static double plateau(double x, double *slope)
{
    const double ramp = LENGTH / 3.0, end = x < LENGTH / 2.0 ? x : LENGTH - x;
    *slope = end < ramp ? 0.5 * pi / ramp * sin(pi * end / ramp) * (x < LENGTH / 2.0 ? 1.0 : -1.0) : 0.0;
    return end < ramp ? 0.5 - 0.5 * cos(pi * end / ramp) : 1.0;
}

static double at_of(const tarn_tank *tank, int axis, uint32_t particle)
{
    return ((double)tank->args->store.position[axis][particle] + 0.5) / (1 << POSITION_BITS);
}

static double shape_at(const tarn_tank *tank, uint32_t particle)
{
    return sin(2.0 * pi * at_of(tank, 1, particle) / HEIGHT) * sin(pi * at_of(tank, 2, particle) / WIDTH);
}

static void start_wave(tarn_tank *tank, double speed)
{
    const store_memory *store = &tank->args->store;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        double slope;
        const double x = plateau(at_of(tank, 0, i), &slope), y = at_of(tank, 1, i), z = at_of(tank, 2, i);
        store->velocity[0][i] = (float)(speed * x * shape_at(tank, i));
        store->velocity[1][i] =
            (float)(-speed * slope * HEIGHT / (2.0 * pi) * (1.0 - cos(2.0 * pi * y / HEIGHT)) * sin(pi * z / WIDTH));
        store->velocity[2][i] = 0.0f;
    }
}

/// Share of the wave in the middle's velocities.
static double amplitude(const tarn_tank *tank)
{
    double sum = 0.0, norm = 0.0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        const double x = at_of(tank, 0, i), shape = shape_at(tank, i);
        if (x < LENGTH / 3.0 || x > 2.0 * LENGTH / 3.0) {
            continue;
        }
        sum += shape * (double)tank->args->store.velocity[0][i];
        norm += shape * shape;
    }
    return sum / norm;
}

void physics_viscosity(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const uint16_t cells[3] = {LENGTH, HEIGHT, WIDTH};
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = cells[a];
        desc.blocks[0].max_m[a] = (float)cells[a] * desc.cell_m;
    }
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_FLIP] = 1.0f;
    const double k2 = (4.0 / HEIGHT / HEIGHT + 1.0 / WIDTH / WIDTH) * pi * pi; // 1 / cell^2
    const double rate = 1.0 / STEPS;                                           // one e-fold in all
    desc.liquids[0].viscosity_m2_s = (float)(rate / k2 * (double)(desc.cell_m * desc.cell_m / desc.dt_s));
    physics_tank t = physics_open(&desc);
    start_wave(t.tank, 0.002);
    const double before = amplitude(t.tank);
    physics_steps(&t, STEPS);
    const double decay = -log(amplitude(t.tank) / before);
    physics_within_percent(PHYSICS_REQUIRED, "viscosity: decay of a shear wave", decay, 1.0, 5.0, "e-folds");
    physics_close(&t);
}
