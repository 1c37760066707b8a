/// A liquid's host side: its part of a tank, and what of its launches tests ask for one by one.
#ifndef TARN_KERNELS_LIQUID_HOST_H
#define TARN_KERNELS_LIQUID_HOST_H

#include "kernels/liquid/liquid_kernels.h"
#include "kernels/tank/tank_internal.h"

/// The stages of a profile.
enum {
    STAGE_P2G = STAGE_COUNT,
    STAGE_GRID,
    STAGE_VISCOSITY,
    STAGE_MATRIX,
    STAGE_PRESSURE,
    STAGE_DENSITY,
    STAGE_EXTRAPOLATE,
    STAGE_END,
};

typedef struct liquid_part {
    liquid_args args;
} liquid_part;

static inline liquid_part *liquid_of(const tarn_tank *tank)
{
    return tank->part;
}

/// Its carried channels, behind those that viewers have.
enum { LIQUID_CHANNEL_PRESSURE = 4, LIQUID_CHANNEL_DENSITY };

enum { LIQUID_FIELD_PRESSURE, LIQUID_FIELD_CELLS, LIQUID_FIELD_SPEED };

/// Particles to grid, with forces: p2g and grid, by what the tank was made for.
void liquid_launch_p2g(tarn_tank *tank, const liquid_args *args);

/// Iterations of the viscosity: 0 where no liquid has any.
uint32_t liquid_viscosity_iterations(const tarn_tank *tank);
/// The strengths and coefficients of these for a substep of control->tank.grid.frac.
void liquid_fill_viscosity(const tarn_tank *tank, liquid_control *control);
/// Viscosity's launches, between the forces and the pressure.
void liquid_launch_viscosity(tarn_tank *tank, const liquid_args *args);

#endif
