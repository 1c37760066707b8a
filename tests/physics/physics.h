/// Helpers of the physics tests: a tank on the CPU, and the table of figures.
#ifndef TARN_TESTS_PHYSICS_H
#define TARN_TESTS_PHYSICS_H

#include "kernels/tank.h"

typedef struct physics_tank {
    tarn_device *device;
    tarn_tank *tank;
} physics_tank;

/// Creates a tank on all processors; fails the test when that fails.
physics_tank physics_open(const tarn_tank_desc *desc);
void physics_close(physics_tank *t);

/// Steps without anybody pushing.
void physics_steps(physics_tank *t, uint32_t steps);
tarn_tank_report physics_report(physics_tank *t);

/// Remembers a row of the table: figure and reference with their unit and the bound that is asserted.
void physics_row(const char *name, double measured, double reference, const char *unit, const char *bound);
void physics_print_table(void);

void physics_rest(void **state);
void physics_surface(void **state);
void physics_drift(void **state);
void physics_volume(void **state);
void physics_wave(void **state);
void physics_multigrid(void **state);
void physics_shear(void **state);
void physics_fall(void **state);

#endif
