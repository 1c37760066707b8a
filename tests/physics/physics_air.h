/// Tanks of smoke for the physics tests: the air's velocity on the grid, to be set and read.
#ifndef TARN_TESTS_PHYSICS_AIR_H
#define TARN_TESTS_PHYSICS_AIR_H

#include "kernels/smoke_parameters.h"
#include "kernels/tank/tank_internal.h"

/// A closed tank of air in which nothing mixes, cools, fades or sleeps.
tarn_tank_desc physics_air(uint16_t x, uint16_t y, uint16_t z);

/// Fills a corner's cell with smoke without heat: a tank wants something in it.
void physics_air_mote(tarn_tank_desc *desc);

/// Where a component of the velocity at a cell's lower face is kept, cells per step; cells outside the tank have none.
float *physics_air_at(const tarn_tank *tank, int c, int x, int y, int z);

#endif
