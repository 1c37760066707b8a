// The host side of viscosity.tile.c: how many iterations, and their coefficients.
#include "kernels/liquid/liquid_host.h"

#include <math.h>

/// Of the velocity that viscosity should leave; modes that it takes away come back by no more than this.
static const float error_max = 1e-2f;

/// Upper end of the spectrum, 1 being the lower one.
static float spectrum_end(const tarn_tank *tank, float k)
{
    return 1.0f + (tank->grid.desc.liquid_count > 1 ? 24.0f : 12.0f) * k;
}

float liquid_viscosity_most(const tarn_tank *tank)
{
    return VISCOSITY_MAX * tank->grid.desc.cell_m * tank->grid.desc.cell_m / tank->grid.desc.dt_s;
}

/// nu dt / dx^2 of a liquid over a share of a step.
static float strength_of(const tarn_tank *tank, uint32_t liquid, float frac)
{
    const float k = tank->grid.desc.liquids[liquid].viscosity_m2_s * frac * tank->grid.desc.dt_s /
                    (tank->grid.desc.cell_m * tank->grid.desc.cell_m);
    return fminf(k, VISCOSITY_MAX);
}

static float strongest(const tarn_tank *tank, float frac)
{
    float most = 0.0f;
    for (uint32_t i = 0; i < tank->grid.desc.liquid_count; i++) {
        most = fmaxf(most, strength_of(tank, i, frac));
    }
    return most;
}

uint32_t liquid_viscosity_iterations(const tarn_tank *tank)
{
    const float end = spectrum_end(tank, strongest(tank, 1.0f));
    if (end <= 1.0f) {
        return 0;
    }
    // After n iterations an error is multiplied by at most 1 / T_n(sigma), T_n being Chebyshev's polynomial.
    const double sigma = ((double)end + 1.0) / ((double)end - 1.0);
    double before = 1.0, now = sigma;
    uint32_t n = 1;
    while ((n < 2 || now * (double)error_max < 1.0) && n < VISCOSITY_ITERATIONS_MAX) {
        const double next = 2.0 * sigma * now - before;
        before = now;
        now = next;
        n++;
    }
    return n;
}

void liquid_fill_viscosity(const tarn_tank *tank, liquid_control *control)
{
    const uint32_t count = liquid_viscosity_iterations(tank);
    if (count == 0) {
        return;
    }
    float thinnest = VISCOSITY_MAX;
    for (uint32_t i = 0; i < tank->grid.desc.liquid_count; i++) {
        control->viscosity[i] = strength_of(tank, i, control->tank.grid.frac);
        thinnest = fminf(thinnest, control->viscosity[i]);
    }
    control->tank.grid.grip = 8.0f * thinnest / (1.0f + 8.0f * thinnest); // film_share of half a cell
    const float end = spectrum_end(tank, strongest(tank, control->tank.grid.frac));
    const float middle = 0.5f * (end + 1.0f), half = 0.5f * (end - 1.0f);
    float rho = half / middle;
    control->viscosity_alpha[0] = 1.0f / middle;
    for (uint32_t j = 1; j < count; j++) {
        const float next = 1.0f / (2.0f * middle / half - rho);
        control->viscosity_alpha[j] = 2.0f * next / half;
        control->viscosity_gamma[j] = next * rho;
        rho = next;
    }
}
