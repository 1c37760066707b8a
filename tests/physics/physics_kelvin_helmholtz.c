// V14: Kelvin-Helmholtz. Two layers that slide past each other, u = U tanh(y / delta), roll up; the wave of k delta =
// 0.4446 grows fastest, by 0.1897 U / delta (Michalke 1964; 0.1889 between walls as far away as here, from Rayleigh's
// equation). Five such waves lie between the tank's ends, which turn the layers round; that grows inwards, and doesn't
// reach the middle. Over a wave to either side of it, the amplitude is the share of cos(k x) in the vertical
// velocities.
//
// What starts as any wave is soon one that grows and one that fades at the same rate, a sum of exp(sigma t) and
// exp(-sigma t): then a(t + s) + a(t - s) = 2 cosh(sigma s) a(t), which sigma is fitted to.
//
// Of vortons once more where the lower layer is heavier, by a density of tanh(y / delta), too: with a Richardson number
// g rho' delta / U^2 of 0.1 the same wave grows by 0.1257 U / delta (Taylor & Goldstein's equation between walls at 8
// delta, by shooting; 0.1893 without density).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "kernels/tank/tank_internal.h"
#include "kernels/vortons/vortons.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum {
    LENGTH = 280,
    HEIGHT = 64,
    DELTA = 4,         ///< cells
    SAMPLE_STEPS = 16, ///< delta / U: a quarter of a cell per step
    SAMPLES = 13,
    SETTLED = 4, ///< samples after which the two modes are left
    APART = 2,   ///< s, in samples
};

/// In cells, and as a share of U.
static const double pi = 3.14159265358979323846, k = 0.4446 / DELTA, start = 0.02;

/// A point's place in cells from the middle.
static void place_of(const tarn_tank_desc *desc, const double *at_m, double *x, double *y)
{
    *x = at_m[0] / (double)desc->cell_m - 0.5 * LENGTH;
    *y = at_m[1] / (double)desc->cell_m - 0.5 * HEIGHT;
}

static double speed_m_s(const tarn_tank_desc *desc)
{
    return (double)DELTA / SAMPLE_STEPS * (double)(desc->cell_m / desc->dt_s);
}

/// The layers and a wave that is free of divergence. Its shape is none of the solution's.
static void layers(const void *context, const double *at_m, double *velocity_m_s)
{
    double x, y;
    place_of(context, at_m, &x, &y);
    const double distance = sqrt(y * y + DELTA * DELTA), wave = start * exp(-k * distance), u = speed_m_s(context);
    velocity_m_s[0] = u * (tanh(y / DELTA) + wave * y / distance * sin(k * x));
    velocity_m_s[1] = u * wave * cos(k * x);
}

static double amplitude(physics_tank *t)
{
    double sum = 0.0, norm = 0.0;
    physics_particles p = physics_particles_open(t); // vortons are born and go
    physics_particles_read(t, &p);
    for (size_t i = 0; i < p.count; i++) {
        const double at_m[2] = {(double)p.position_m[3 * i], (double)p.position_m[3 * i + 1]};
        double x, y;
        place_of(tarn_tank_desc_of(t->tank), at_m, &x, &y);
        if (fabs(k * x) < 2.0 * pi && fabs(y) < 2 * DELTA) {
            const double weight = 0.5 + 0.5 * cos(0.5 * k * x);
            sum += weight * cos(k * x) * (double)p.velocity_m_s[3 * i + 1];
            norm += weight;
        }
    }
    physics_particles_close(&p);
    return sum / norm;
}

/// A tank's length and height, filled.
static void fill(tarn_tank_desc *desc)
{
    const float c = desc->cell_m;
    desc->cells[0] = LENGTH;
    desc->cells[1] = HEIGHT;
    desc->cells[2] = 1;
    desc->jitter = 0.0f;
    desc->block_count = 1;
    desc->blocks[0] = (tarn_fluid_block){.max_m = {LENGTH * c, HEIGHT * c, c}};
}

/// Rate of growth in U / delta. Closes the tank.
static double watch(physics_tank *t)
{
    physics_set_flow(t, layers, tarn_tank_desc_of(t->tank));
    double a[SAMPLES], both = 0.0, squares = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        a[i] = amplitude(t);
        physics_steps(t, SAMPLE_STEPS);
    }
    for (int i = SETTLED + APART; i + APART < SAMPLES; i++) {
        both += (a[i + APART] + a[i - APART]) * a[i];
        squares += a[i] * a[i];
    }
    physics_close(t);
    return acosh(0.5 * both / squares) / APART;
}

static double liquid_growth(float flip)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    fill(&desc);
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_FLIP] = flip;
    physics_tank t = physics_open(&desc);
    return watch(&t);
}

static double vorton_growth(double richardson)
{
    const tarn_model *model = tarn_model_find("vortons");
    tarn_tank_desc desc;
    tarn_tank_desc_default_of(&desc, model);
    fill(&desc);
    desc.parameters[tarn_model_parameter_find(model, "viscosity_m2_s")] = 0.0f;
    desc.parameters[tarn_model_parameter_find(model, "vortons_max")] = 1e6f;
    desc.blocks[0].carried[CARRIED_DEVIATION] = 0.0f;
    physics_tank t = physics_open(&desc);
    const store_memory *store = &t.tank->args->store;
    const double speed = speed_m_s(&desc), g = 9.81, delta_m = DELTA * (double)desc.cell_m;
    for (uint32_t i = 0; i < t.tank->particle_count; i++) {
        const double y = ((double)store->position[1][i] + 0.5) / (1 << POSITION_BITS) - 0.5 * HEIGHT;
        store->carried[CARRIED_DEVIATION][i] = (float)(-richardson * speed * speed / (g * delta_m) * tanh(y / DELTA));
    }
    return watch(&t);
}

void physics_kelvin_helmholtz(void)
{
    physics_within_percent(PHYSICS_REQUIRED, "V14 Kelvin-Helmholtz: rate of growth, FLIP alone", liquid_growth(1.0f),
                           0.1897, 10.0, "U/delta");
    physics_within_percent(PHYSICS_REPORTED, "V14 Kelvin-Helmholtz: rate of growth, default FLIP", liquid_growth(0.97f),
                           0.1897, 10.0, "U/delta");
}

void physics_vorton_kelvin_helmholtz(void)
{
    physics_within_percent(PHYSICS_REQUIRED, "V14 vortons, Kelvin-Helmholtz: rate of growth", vorton_growth(0.0),
                           0.1897, 10.0, "U/delta");
    physics_within_percent(PHYSICS_REQUIRED, "V14 vortons, heavy below, Ri 0.1: rate of growth", vorton_growth(0.1),
                           0.1257, 10.0, "U/delta");
}
