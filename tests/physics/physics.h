/// Helpers of the physics tests: a tank on the CPU, figures measured from particles, and the table.
#ifndef TARN_TESTS_PHYSICS_H
#define TARN_TESTS_PHYSICS_H

#include "kernels/tank.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct physics_tank {
    tarn_device *device;
    tarn_tank *tank;
} physics_tank;

/// Creates a tank on one thread, as cases run beside each other; fails the test when that fails.
physics_tank physics_open(const tarn_tank_desc *desc);

/// The same on all processors, for a case that runs alone.
physics_tank physics_open_alone(const tarn_tank_desc *desc);

/// Fails the test when the pressure of a substep didn't converge.
void physics_close(physics_tank *t);

/// Steps without anybody pushing.
void physics_steps(physics_tank *t, uint32_t steps);
tarn_tank_report physics_report(physics_tank *t);

/// What the solver reports of the last substep of each step.
typedef struct solver_figures {
    uint32_t iterations; ///< most
    float residual;      ///< largest
} solver_figures;

/// The worst of so many steps.
solver_figures physics_solver_worst(physics_tank *t, int steps);

/// Whether cases that have a long form are to take it: --long.
bool physics_long(void);

// --------------------------------------------------------------------------------------------------- physics_flow.c

/// The velocity at a place; it comes as zero.
typedef void (*physics_flow)(const void *context, const double *at_m, double *velocity_m_s);

/// Gives every particle the velocity of its place, at most one cell in a step: the first step is not cut into substeps
/// for it.
void physics_set_flow(physics_tank *t, physics_flow flow, const void *context);

// ------------------------------------------------------------------------------------------------ physics_measure.c

/// Copies of a tank's particles and room to measure them.
typedef struct physics_particles {
    uint32_t count;
    float *position_m;   ///< three per particle, by id
    float *velocity_m_s; ///< three per particle, by id
    uint8_t *liquid;     ///< by id
    float *density;      ///< per cell, [z][y][x], for physics_volume_m3
    float *sorted;       ///< for physics_percentile
} physics_particles;

/// Takes the memory for a tank's particles; fails the test when there is none.
physics_particles physics_particles_open(physics_tank *t);
void physics_particles_close(physics_particles *p);

/// Copies positions, velocities and liquids as they are now.
void physics_particles_read(physics_tank *t, physics_particles *p);

/// Volume in which the density of the particles, smoothed over a cell, is at least half of that at rest: each column of
/// cells counts with the length over which the density, linear between the centres of cells, is above half. Of a calm
/// liquid this is the mean height of its surface times the floor, without steps of a cell.
double physics_volume_m3(physics_tank *t, physics_particles *p);

/// Volume that the liquid takes up, which clumps make less and hollows more, whatever its shape, from the density after
/// the last physics_volume_m3: cells whose neighbours are all at least half full count as full, others with the volume
/// of what they hold, and no more than one.
double physics_occupied_m3(physics_tank *t, const physics_particles *p);

/// The value of `axis` that `percent` of the particles are below, among those whose coordinate `among` is less than
/// `below_m`. 0 when there are none.
double physics_percentile_m(physics_particles *p, int axis, double percent, int among, double below_m);

/// The value that `percent` of some are below; sorts them. 0 when there are none.
double physics_percentile_of(float *values, size_t count, double percent);

/// Slope, per unit of x, of the straight line through points by least squares.
double physics_slope(const double *x, const double *y, int count);

// -------------------------------------------------------------------------------------------------- physics_table.c

/// A case fails by figures that are required; the others are printed with what is wrong with them.
typedef enum physics_need {
    PHYSICS_REPORTED = 0,
    PHYSICS_REQUIRED = 1,
} physics_need;

/// Each adds a row to the table: the figure, what it is compared with, the bound and whether it is within.
void physics_within(physics_need need, const char *name, double measured, double reference, double tolerance,
                    const char *unit);
void physics_within_percent(physics_need need, const char *name, double measured, double reference, double percent,
                            const char *unit);
void physics_at_most(physics_need need, const char *name, double measured, double limit, const char *unit);

/// A row without a bound.
void physics_figure(const char *name, double measured, const char *unit);

/// Begins a case: what follows, up to the next one, is its rows.
void physics_table_begin(void);

/// Number of the case's required rows that are not within their bound.
int physics_table_missed(void);

/// Writes the case's rows for physics_table_load, one per line. @return 0, or -1 when the file can't be written
int physics_table_save(const char *path);

/// Adds the rows of a file. @return 0, or -1 when there is no such file or a line of it isn't a row
int physics_table_load(const char *path);

/// Adds a row that says that a case was broken off.
void physics_table_lost(const char *case_name);

void physics_table_print(FILE *to, bool as_markdown);

// ------------------------------------------------------------------------------------------------------- the cases

void physics_rest(void);
void physics_volume(void);
void physics_wave(void);
void physics_column(void);
void physics_gauges(void);
void physics_divergence(void);
void physics_multigrid(void);
void physics_multigrid_large(void);
void physics_mirror(void);
void physics_spin(void);
void physics_disc(void);
void physics_lock_exchange(void);
void physics_rayleigh_taylor(void);
void physics_seiche(void);
void physics_emulsion(void);
void physics_viscosity(void);
void physics_viscous(void);
void physics_shear(void);
void physics_fall(void);
void physics_turn(void);
void physics_float(void);
void physics_still(void);
void physics_calm(void);
void physics_tension(void);
void physics_kelvin_helmholtz(void);
void physics_taylor_green(void);
void physics_light_ball(void);
void physics_heave(void);
void physics_wet_bed(void);
void physics_added_mass(void);
void physics_sealed(void);
void physics_smoke_ball(void);
void physics_smoke_taylor_green(void);
void physics_smoke_lock_exchange(void);
void physics_smoke_layers(void);
void physics_smoke_sleep(void);
void physics_vortex_ring(void);
void physics_heavy_drop(void);
void physics_leapfrog(void);
void physics_head_on(void);
void physics_vorton_lock_exchange(void);
void physics_vorton_kelvin_helmholtz(void);

#endif
