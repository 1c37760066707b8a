// The host side of tension.tile.c: how strong tension is, and how many substeps it needs.
#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"

#include <math.h>

/// Tension over density, cells^3 / step^2, of the lightest liquid, which it moves most.
static float strength(const tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    float lightest = desc->liquids[0].density_kg_m3;
    for (uint32_t i = 1; i < desc->liquid_count; i++) {
        lightest = fminf(lightest, desc->liquids[i].density_kg_m3);
    }
    const float steps_per_cell = desc->dt_s / desc->cell_m;
    return tank->parameters[TARN_PARAMETER_SURFACE_TENSION] / lightest * (steps_per_cell * steps_per_cell) /
           desc->cell_m;
}

/// What is stable in a step: the usual bound for ripples of two cells' length (Brackbill, Kothe & Zemach 1992). The
/// smoothed density resists a ripple of wave number k with 2.4 k / v of its height and at most 4.3 of the strength, so
/// that its phase advances by no more than about 0.6 in a substep.
static const float strength_max = 1.0f / (4.0f * 3.14159265f);

float liquid_tension_substeps(const tarn_tank *tank)
{
    return ceilf(sqrtf(strength(tank) / strength_max));
}

void liquid_fill_tension(const tarn_tank *tank, liquid_control *control)
{
    // A velocity changes by pressure times the time, and velocities are cells per step.
    const float stable = strength_max / (control->tank.grid.frac * control->tank.grid.frac);
    control->tension = fminf(strength(tank), stable);
}
