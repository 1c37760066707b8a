/// A history: what is done to a gateway, drawn from a seed.
#ifndef TARN_TESTS_SIM_SIM_HISTORY_H
#define TARN_TESTS_SIM_SIM_HISTORY_H

#include <stdint.h>

/// In histories of even seeds from this one on somebody ends workers, one after the other.
#define SIM_SEEDS_OF_KILLS 5000000u

/// Runs the history of a seed in this process, once. @param dir  for the store, empty, in memory
void sim_history(uint64_t seed, const char *dir);

#endif
