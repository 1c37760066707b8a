/// A device and a tank as every test of tanks opens them.
#ifndef TARN_TESTS_PLAIN_TANK_H
#define TARN_TESTS_PLAIN_TANK_H

#include "kernels/tank.h"

/// A CPU device.
/// @param threads  1, but where threads are what is tested: tests run beside each other, and threads of which one waits
///     for a processor keep the others waiting
/// @param isa  NULL: the best; else NULL comes back where this processor lacks it
tarn_device *plain_tank_device(uint32_t threads, const char *isa);

/// Fails the test where the tank can't be made.
tarn_tank *plain_tank_open(tarn_device *device, const tarn_tank_desc *desc);

tarn_tank_report plain_tank_report(tarn_tank *tank);
tarn_tank_hash plain_tank_hash(tarn_tank *tank);

#endif
