/// A liquid's host side: its part of a tank, shared by the files of kernels/liquid.
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

/// What tank_model says of these.
void liquid_substep(tarn_tank *tank);
void liquid_channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *channel);
float liquid_pressure_density(const tarn_tank *tank);
void liquid_field(tarn_tank *tank, uint32_t number, float *room, tank_field *field);

/// Particles to grid, with forces: p2g and grid, by what the tank was made for.
void liquid_launch_p2g(tarn_tank *tank, const liquid_args *args);

/// Whether anything rubs on the liquid (friction.tile.c).
bool liquid_rubs(const tarn_tank_desc *desc);

/// Whether that or viscosity does: what balances the forces is then kept (balance.tile.c).
bool liquid_resists(const tarn_tank_desc *desc);

/// m^2/s: as much of a viscosity as acts in a step that is one substep.
float liquid_viscosity_most(const tarn_tank *tank);
/// Iterations of the viscosity: 0 where no liquid has any.
uint32_t liquid_viscosity_iterations(const tarn_tank *tank);
/// The strengths and coefficients of these for a substep of control->tank.grid.frac.
void liquid_fill_viscosity(const tarn_tank *tank, liquid_control *control);
/// Viscosity's launches, between the forces and the pressure.
void liquid_launch_viscosity(tarn_tank *tank, const liquid_args *args);

/// Surface tension as it acts, N/m: as much of it as substeps_max substeps carry. Substeps that it asks for, 0 where
/// there is none; and its strength in them.
float liquid_tension_used(const tarn_tank *tank);
float liquid_tension_substeps(const tarn_tank *tank);
void liquid_fill_tension(const tarn_tank *tank, liquid_control *control);

#endif
