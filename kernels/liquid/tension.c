// The host side of tension.tile.c: how strong tension is, and how many substeps it needs.
#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"

#include <math.h>

/// Of a tension over the density of the lightest liquid, which it moves most: cells^3 / step^2.
static float strength(const tarn_tank *tank, float tension_n_m)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    float lightest = desc->liquids[0].density_kg_m3;
    for (uint32_t i = 1; i < desc->liquid_count; i++) {
        lightest = fminf(lightest, desc->liquids[i].density_kg_m3);
    }
    const float steps_per_cell = desc->dt_s / desc->cell_m;
    return tension_n_m / lightest * (steps_per_cell * steps_per_cell) / desc->cell_m;
}

/// What a substep carries. A ripple of wave number k is resisted by k^2 of its height, of which the smoothing of
/// variance v leaves exp(-v k^2 / 2), and by what holds particles to the surface: the square of its phase in a substep
/// is at most 0.8 of the strength. A radian is half of what an explicit kick is stable for.
static const float strength_max = 1.25f;

float liquid_tension_used(const tarn_tank *tank)
{
    const float asked = tank->parameters[TARN_PARAMETER_SURFACE_TENSION];
    const float substeps = tank->parameters[TARN_PARAMETER_SUBSTEPS];
    return fminf(asked, strength_max * (substeps * substeps) / strength(tank, 1.0f));
}

float liquid_tension_substeps(const tarn_tank *tank)
{
    return ceilf(sqrtf(strength(tank, liquid_tension_used(tank)) / strength_max));
}

void liquid_fill_tension(const tarn_tank *tank, liquid_control *control)
{
    // A velocity changes by pressure times the time, and velocities are cells per step.
    control->tension = strength(tank, liquid_tension_used(tank));
}
