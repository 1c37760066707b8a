// V15: Taylor-Green's vortices in a tank one cell deep, u = sin(k x) cos(k y), v = -cos(k x) sin(k y): the pressure
// keeps them where they are, and viscosity lets their energy decay by exp(-4 nu k^2 t). Liquid that has any sticks to
// the tank's walls, which by the end is felt as far as 1 / k into it: the energy is that of the four vortices in the
// middle of sixteen. Without viscosity what is lost is the scheme's own, from which its viscosity follows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { VORTEX = 32, EDGE = 4 * VORTEX, STEPS = 120 };

/// In cells and steps.
static const double k = 3.14159265358979323846 / VORTEX, speed = 0.25;

static void vortices(const void *context, const double *at_m, double *velocity_m_s)
{
    const tarn_tank_desc *desc = context;
    const double x = k * at_m[0] / (double)desc->cell_m, y = k * at_m[1] / (double)desc->cell_m;
    const double speed_m_s = speed * (double)(desc->cell_m / desc->dt_s);
    velocity_m_s[0] = speed_m_s * sin(x) * cos(y);
    velocity_m_s[1] = -speed_m_s * cos(x) * sin(y);
}

/// Sum of the squared velocities in the middle.
static double energy(physics_tank *t, physics_particles *p)
{
    const float cell_m = tarn_tank_desc_of(t->tank)->cell_m;
    double sum = 0.0;
    physics_particles_read(t, p);
    for (size_t i = 0; i < p->count; i++) {
        const float *at_m = &p->position_m[3 * i], *v = &p->velocity_m_s[3 * i];
        if (fabsf(at_m[0] / cell_m - 0.5f * EDGE) < VORTEX && fabsf(at_m[1] / cell_m - 0.5f * EDGE) < VORTEX) {
            sum += (double)v[0] * (double)v[0] + (double)v[1] * (double)v[1];
        }
    }
    return sum;
}

/// E-folds that the energy decays by; viscosity in cells^2 per step.
static double decay(double viscosity, float flip)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = desc.cell_m;
    desc.cells[0] = desc.cells[1] = EDGE;
    desc.cells[2] = 1;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_FLIP] = flip;
    desc.liquids[0].viscosity_m2_s = (float)(viscosity * (double)(c * c / desc.dt_s));
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {EDGE * c, EDGE * c, c}};
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    physics_set_flow(&t, vortices, &desc);
    const double before = energy(&t, &p);
    physics_steps(&t, STEPS);
    const double after = energy(&t, &p);
    physics_particles_close(&p);
    physics_close(&t);
    return log(before / after);
}

void physics_taylor_green(void)
{
    const double one_fold = 1.0 / (4.0 * k * k * STEPS); // viscosity that takes an e-fold
    physics_within_percent(PHYSICS_REQUIRED, "V15 Taylor-Green: decay of the energy, FLIP alone", decay(one_fold, 1.0f),
                           1.0, 5.0, "e-folds");
    physics_within_percent(PHYSICS_REQUIRED, "V15 Taylor-Green: decay of the energy, default FLIP",
                           decay(one_fold, 0.97f), 1.0, 5.0, "e-folds");
    physics_figure("V15 Taylor-Green: own viscosity at 1/4 cell a step, FLIP alone", one_fold * decay(0.0, 1.0f),
                   "cell^2/step");
    physics_figure("V15 Taylor-Green: own viscosity at 1/4 cell a step, default", one_fold * decay(0.0, 0.97f),
                   "cell^2/step");
}
