/// Tanks of smoke for tests.
#ifndef TARN_TESTS_SMOKE_TANK_H
#define TARN_TESTS_SMOKE_TANK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/smoke/smoke_host.h"
#include "tests/tank/plain_tank.h"

/// A tank of so many cells, empty, with parameters as they are initially.
tarn_tank_desc smoke_desc(uint16_t x, uint16_t y, uint16_t z);

/// Adds smoke, and air that is warmer by so much, between two corners in cells.
void put_block(tarn_tank_desc *desc, const float *min, const float *max, float heat_k);

/// @param device  receives the device that close_tank() destroys, too
tarn_tank *open_tank(uint32_t threads, const tarn_tank_desc *desc, tarn_device **device);

void close_tank(tarn_tank *tank, tarn_device *device);

void steps(tarn_tank *tank, int count);

/// Where the velocity at a cell's lower face is kept.
float *face_of(const tarn_tank *tank, int c, int x, int y, int z);

#endif
