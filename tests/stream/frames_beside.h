/// Frames that are coded while the tank steps on, for tests on each device.
#ifndef TARN_TESTS_STREAM_FRAMES_BESIDE_H
#define TARN_TESTS_STREAM_FRAMES_BESIDE_H

#include "kernels/device/device.h"
#include "tests/kernels/tank_fixtures.h"

/// Plays a fixture twice, with frames of all kinds, channels and fields: once each frame is made between two steps,
/// once beside the next step.
/// @param is_held  beside the step the encoder's own queue does nothing before the step is made; else the device does
///                 both as it likes
/// @param why  which frame differs; empty where none does  @return whether none does
bool frames_beside_same(const tarn_device_desc *on, const tank_fixture *fixture, uint32_t frames, bool is_held,
                        char why[256]);

#endif
