/// Tanks with sources, for the tests of those and of saved states.
#ifndef TARN_TESTS_BUSY_TANK_H
#define TARN_TESTS_BUSY_TANK_H

#include "kernels/tank.h"

/// 1 m^3 in 32^3 cells with a tap of 1/64 m^2 under the ceiling that lets 1 m/s fall.
void busy_tank_tap(tarn_tank_desc *desc);

/// Everything at once: taps, drains, turning, reseeding, two liquids, a solid and a floating body.
void busy_tank_desc(tarn_tank_desc *desc);

/// Fails the test where a step can't be made.
void busy_tank_steps(tarn_tank *tank, int count);

#endif
