/// A tank whose tiles run out in the middle of a step, for the tests of the emulated device.
#ifndef TARN_TESTS_TANK_OUTGROW_H
#define TARN_TESTS_TANK_OUTGROW_H

#include "kernels/device/device.h"

#include <stdbool.h>

/// Takes memory for more tiles away from a tank and lets a block fly on: in the sixth substep it enters the next ones.
/// What comes after that must not look for those that there are none of. Asserts as cmocka does.
/// @param is_active  whether it is active tiles that run out, or occupied ones
void tank_outgrow(tarn_device_desc on, bool is_active);

#endif
