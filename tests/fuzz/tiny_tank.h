/// A tank of two tiles with a floating body, a tap and a drain. Its liquid has no colours until it is dyed, or a state
/// with colours is loaded.
#ifndef TARN_TESTS_FUZZ_TINY_TANK_H
#define TARN_TESTS_FUZZ_TINY_TANK_H

#include "kernels/step_input.h"

#include <stdio.h>

enum { TINY_TANK_STATE_BYTES = 1 << 16 }; ///< of its states, at most

/// Makes one on one thread, which nobody destroys, as it was described.
/// @param desc  what it was made from; NULL: nobody asks
tarn_tank *tiny_tank(tarn_tank_desc *desc);

/// Ends the program where something is so that may not be.
void tiny_tank_must(bool holds, const char *what, tarn_status status);

/// An input with one of everything, which such a tank admits. @param input  is overwritten
void tiny_tank_input(tarn_tank *tank, tarn_step_input *input);

/// A file in the folder that TARN_FUZZ_SEEDS names, to be written and closed; NULL: there is no such variable.
FILE *tiny_tank_open_seed(const char *name);
/// The same with these bytes in it.
void tiny_tank_write_seed(const char *name, const uint8_t *bytes, size_t byte_count);

#endif
