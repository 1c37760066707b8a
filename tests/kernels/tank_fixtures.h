/// Tanks that the device comparisons step: small, with everything in them that a tank can do.
#ifndef TARN_TESTS_TANK_FIXTURES_H
#define TARN_TESTS_TANK_FIXTURES_H

#include "kernels/step_input.h"

typedef struct tank_fixture {
    const char *name;
    void (*describe)(tarn_tank_desc *desc);
    uint32_t steps;
    float push_strength; ///< of a sphere that circles in the tank; 0: none
    uint32_t does;       ///< TANK_FIXTURE_...
} tank_fixture;

enum { TANK_FIXTURE_COUNT = 22, TANK_FIXTURE_TINY = 16, TANK_FIXTURE_HUGE = 20 }; // the smallest come first

/// What is done to it besides the push: all tools in and out of turn, walls, throws, erasures, motion; a grab of a
/// body.
enum { TANK_FIXTURE_TOOLS = 1, TANK_FIXTURE_GRABS = 2 };

extern const tank_fixture tank_fixtures[TANK_FIXTURE_COUNT];

/// The push of a fixture at a step. @return how many pushes there are, at most 1
uint32_t tank_fixture_push(const tank_fixture *fixture, const tarn_tank_desc *desc, uint32_t step, tarn_push *push);

/// All that is done to it in a step, the push with it.
void tank_fixture_input(const tank_fixture *fixture, const tarn_tank_desc *desc, uint32_t step, tarn_step_input *input);

#endif
