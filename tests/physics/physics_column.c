// V4: the dam break of Martin & Moyce 1952, a column of water twice as high as wide (n^2 = 2), a = 0.05715 m. The
// experiment's tank is long, so this one is; across it is a slice. Everything is the default tank made smaller: the
// step shrinks with the square root of the cell, which keeps the Froude number.
//
// Front: the 99.5th percentile of x among particles lower than 0.1 a. Height: the 99.5th percentile of y among
// particles nearer to the wall than 0.1 a. Both curves are scored as a whole, by the root of the mean square over the
// points read off the paper; the worst point stands beside it.
//
// The bounds come from what separates this liquid from theirs, before any run. Theirs starts behind a membrane that
// takes a part of sqrt(a / g) to go, and rubs at the floor; this one is free at once and glides. Solvers without
// friction, of any method, are therefore ahead of the measured front, by about 0.1 to 0.2 in T where the front moves at
// dZ/dT = 1.3, and by some per cent more of Z by the end: 0.25 in Z. The height hardly feels the floor: it was read to
// about 0.02 of its start, and a lag of 0.15 sqrt(a / g) where it falls fastest, 0.3 per unit of time, is 0.045:
// together 0.05.
#include "tests/physics/physics.h"

#include <math.h>
#include <stdio.h>

enum { FRONT_POINTS = 6, HEIGHT_POINTS = 5, CELLS_PER_A = 20, STEPS_MAX = 100 };

static const double a_m = 0.05715, g = 9.81;

typedef struct curve_point {
    double time, value;
} curve_point;

/// Time in sqrt(a / 2g), front in a.
static const curve_point front_points[FRONT_POINTS] = {{0.84, 1.22}, {1.43, 1.67}, {1.98, 2.33},
                                                       {2.51, 3.00}, {2.98, 3.67}, {3.33, 4.11}};
/// Time in sqrt(a / g), height in that at the start, 2 a.
static const curve_point height_points[HEIGHT_POINTS] = {
    {0.56, 0.94}, {1.28, 0.72}, {2.00, 0.50}, {3.06, 0.28}, {5.25, 0.11}};

static tarn_tank_desc column_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const double default_cell_m = (double)desc.cell_m;
    desc.cells[0] = 12 * CELLS_PER_A;
    desc.cells[1] = 2 * CELLS_PER_A + 8;
    desc.cells[2] = 8;
    desc.cell_m = (float)(a_m / CELLS_PER_A);
    desc.dt_s *= (float)sqrt((double)desc.cell_m / default_cell_m);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {(float)a_m, (float)(2.0 * a_m), 8.0f * desc.cell_m}};
    return desc;
}

/// The value at a time, from samples at multiples of dt; NAN outside them.
static double at_time(const double *samples, int count, double dt, double time)
{
    if (!(time >= 0.0 && time < dt * (count - 1))) {
        return NAN;
    }
    const int i = (int)(time / dt);
    return samples[i] + (samples[i + 1] - samples[i]) * (time / dt - i);
}

/// Mean time by which the experiment reaches the same front later; *rest: what the front is off by then, RMS.
static double front_lag(const double *front, int count, double dt, double *rest)
{
    double lag = 0.0, squares = 0.0;
    for (int i = 0; i < FRONT_POINTS; i++) {
        int after = 1;
        while (after + 1 < count && front[after] < front_points[i].value) {
            after++;
        }
        const double share = (front_points[i].value - front[after - 1]) / (front[after] - front[after - 1]);
        lag += (front_points[i].time - dt * (after - 1 + share)) / FRONT_POINTS;
    }
    for (int i = 0; i < FRONT_POINTS; i++) {
        const double error = at_time(front, count, dt, front_points[i].time - lag) - front_points[i].value;
        squares += error * error;
    }
    *rest = sqrt(squares / FRONT_POINTS);
    return lag;
}

static void score(physics_need need, const char *what, const curve_point *points, int point_count,
                  const double *samples, int count, double dt, double bound)
{
    double squares = 0.0, worst = 0.0, worst_time = 0.0;
    for (int i = 0; i < point_count; i++) {
        const double error = at_time(samples, count, dt, points[i].time) - points[i].value;
        printf("%s: time %.2f: %.3f, experiment %.2f\n", what, points[i].time, error + points[i].value,
               points[i].value);
        squares += error * error;
        if (!(fabs(error) <= fabs(worst))) {
            worst = error;
            worst_time = points[i].time;
        }
    }
    char name[80];
    snprintf(name, sizeof name, "V4 column: %s, RMS of %d points", what, point_count);
    physics_at_most(need, name, sqrt(squares / point_count), bound, "");
    snprintf(name, sizeof name, "V4 column: %s, worst point, at time %.2f", what, worst_time);
    physics_figure(name, worst, "");
}

void physics_column(void)
{
    const tarn_tank_desc desc = column_desc();
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    double front[STEPS_MAX + 1], height[STEPS_MAX + 1];
    for (int step = 0; step <= STEPS_MAX; step++) {
        physics_particles_read(&t, &p);
        front[step] = physics_percentile_m(&p, 0, 99.5, 1, 0.1 * a_m) / a_m;
        height[step] = physics_percentile_m(&p, 1, 99.5, 0, 0.1 * a_m) / (2.0 * a_m);
        physics_steps(&t, 1);
    }
    const double dt = (double)desc.dt_s / sqrt(a_m / g);
    score(PHYSICS_REPORTED, "front", front_points, FRONT_POINTS, front, STEPS_MAX + 1, dt * sqrt(2.0), 0.25);
    double rest;
    physics_figure("V4 column: lag of the experiment's front, mean",
                   front_lag(front, STEPS_MAX + 1, dt * sqrt(2.0), &rest), "");
    physics_at_most(PHYSICS_REQUIRED, "V4 column: front without that lag, RMS", rest, 0.1, "");
    score(PHYSICS_REQUIRED, "height", height_points, HEIGHT_POINTS, height, STEPS_MAX + 1, dt, 0.05);
    physics_particles_close(&p);
    physics_close(&t);
}
