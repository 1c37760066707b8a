/// Tanks that the device comparisons step: small, with everything in them that a tank can do.
#ifndef TARN_TESTS_TANK_FIXTURES_H
#define TARN_TESTS_TANK_FIXTURES_H

#include "kernels/tank.h"

#include <stdbool.h>

typedef struct tank_fixture {
    const char *name;
    void (*describe)(tarn_tank_desc *desc);
    uint32_t steps;
    float push_strength; ///< of a sphere that circles in the tank; 0: none
    bool has_tools;      ///< all of them, in and out of turn
} tank_fixture;

enum { TANK_FIXTURE_COUNT = 13, TANK_FIXTURE_TINY = 9 }; // the tiny ones come first
extern const tank_fixture tank_fixtures[TANK_FIXTURE_COUNT];

/// The push of a fixture at a step. @return how many pushes there are, at most 1
uint32_t tank_fixture_push(const tank_fixture *fixture, const tarn_tank_desc *desc, uint32_t step, tarn_push *push);

/// Pours, sinks and dyes of a fixture at a step, which its push then turns and draws in.
void tank_fixture_tools(const tank_fixture *fixture, const tarn_tank_desc *desc, uint32_t step, tarn_tank_tools *tools);

/// Throws in, walls up and erases what a fixture with tools does at a step. @return what the tank says
tarn_status tank_fixture_add(const tank_fixture *fixture, tarn_tank *tank, uint32_t step);

#endif
