// Smoke in motion. V14: two layers of air that slide past each other, without heat and with the upper one warmer. And
// what it costs that air sleeps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include "tests/physics/physics_air.h"
#include <cmocka.h> // needs those above

#include <math.h>

static const double pi = 3.14159265358979323846, g = 9.81;

// ---------------------------------------------------------------------------------------------------------------- V14
// As physics_kelvin_helmholtz.c has it, on the grid: u = U tanh(y / delta), whose wave of k delta = 0.4446 grows by
// 0.1897 U / delta. With a temperature of the same shape, warm above, whose Richardson number is J = g beta T delta /
// U^2 = 0.1, that wave grows by 0.1257 U / delta only: from the Taylor-Goldstein equation between walls as far away as
// here, whose waves are neutral at J = k delta (1 - k delta) (Hazel 1972).

enum {
    LENGTH = 280,
    HEIGHT = 64,
    DELTA = 4,         ///< cells
    SAMPLE_STEPS = 16, ///< delta / U: a quarter of a cell per step
    SAMPLES = 13,
    SETTLED = 4, ///< samples after which the two modes are left
    APART = 2,   ///< samples
};

static const double k = 0.4446 / DELTA, start = 0.02, speed = (double)DELTA / SAMPLE_STEPS;

/// The layers, and a wave that is free of divergence. Its shape is none of the solution's. In cells from the middle.
static double flow_at(int c, double x, double y)
{
    const double distance = sqrt(y * y + DELTA * DELTA), wave = start * exp(-k * distance);
    return c == 0 ? speed * (tanh(y / DELTA) + wave * y / distance * sin(k * x)) : speed * wave * cos(k * x);
}

static void set_flow(const tarn_tank *tank)
{
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < LENGTH; x++) {
            for (int c = 0; c < 2; c++) {
                const int is_wall = c == 0 ? x == 0 : y == 0;
                *physics_air_at(tank, c, x, y, 0) = is_wall ? 0.0f
                                                            : (float)flow_at(c, x + (c == 0 ? 0.0 : 0.5) - 0.5 * LENGTH,
                                                                             y + (c == 1 ? 0.0 : 0.5) - 0.5 * HEIGHT);
            }
        }
    }
}

/// The share of cos(k x) in the vertical velocities, over a wave to either side of the middle.
static double amplitude(const tarn_tank *tank)
{
    double sum = 0.0, norm = 0.0;
    for (int y = HEIGHT / 2 - 2 * DELTA; y <= HEIGHT / 2 + 2 * DELTA; y++) {
        for (int x = 0; x < LENGTH; x++) {
            const double along = k * (x + 0.5 - 0.5 * LENGTH);
            if (fabs(along) < 2.0 * pi) {
                const double weight = 0.5 + 0.5 * cos(0.5 * along);
                sum += weight * cos(along) * (double)*physics_air_at(tank, 1, x, y, 0);
                norm += weight;
            }
        }
    }
    return sum / norm;
}

/// Rate of growth in U / delta at a Richardson number.
static double growth(double richardson)
{
    tarn_tank_desc desc = physics_air(LENGTH, HEIGHT, 1);
    const float c = desc.cell_m;
    const double heat_k = richardson * speed * speed / DELTA * (double)(c / (desc.dt_s * desc.dt_s)) * 293.0 / g;
    desc.jitter = 0.0f;
    if (richardson > 0.0) {
        desc.block_count = 1;
        desc.blocks[0] = (tarn_fluid_block){.max_m = {LENGTH * c, HEIGHT * c, c}, .carried = {(float)heat_k, 1.0f}};
    } else {
        physics_air_mote(&desc);
    }
    physics_tank t = physics_open(&desc);
    const store_memory *store = &t.tank->args->store;
    for (uint32_t i = 0; i < t.tank->particle_count && richardson > 0.0; i++) {
        const double y = (double)store->position[1][i] / (1 << POSITION_BITS) - 0.5 * HEIGHT;
        store->carried[TARN_SMOKE_HEAT][i] = (float)(heat_k * tanh(y / DELTA));
    }
    set_flow(t.tank);
    double a[SAMPLES], both = 0.0, squares = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        a[i] = amplitude(t.tank);
        physics_steps(&t, SAMPLE_STEPS);
    }
    for (int i = SETTLED + APART; i + APART < SAMPLES; i++) {
        both += (a[i + APART] + a[i - APART]) * a[i];
        squares += a[i] * a[i];
    }
    physics_close(&t);
    return acosh(0.5 * both / squares) / APART;
}

void physics_smoke_layers(void)
{
    physics_within_percent(PHYSICS_REQUIRED, "V14 smoke, Kelvin-Helmholtz: rate of growth", growth(0.0), 0.1897, 10.0,
                           "U/delta");
    physics_within_percent(PHYSICS_REQUIRED, "V14 smoke, the upper layer warm, Richardson number 0.1", growth(0.1),
                           0.1257, 10.0, "U/delta");
}

// --------------------------------------------------------------------------------------------------------------- sleep
// What it costs that air without smoke sleeps where it hardly moves: a ball of warm air rises in a tank whose other air
// is awake, and again in one where only it and what it stirs is. Air that sleeps gives way as if it were outside, so
// the ball meets no return flow from it, and no walls.

enum { CHAMBER = 48, CHAMBER_HEIGHT = 64, RISE_STEPS = 75 };

typedef struct rise {
    double height, width; ///< of the warm particles' middle over the start's; their spread across, RMS; cells
    uint32_t tiles;       ///< awake at the end
} rise;

static rise let_rise(float sleep_speed_m_s)
{
    tarn_tank_desc desc = physics_air(CHAMBER, CHAMBER_HEIGHT, CHAMBER);
    const float c = desc.cell_m, bottom = 12.0f;
    desc.parameters[TARN_SMOKE_SLEEP_SPEED] = sleep_speed_m_s;
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {4.0f * c}},
                                        .pose = {.position_m = {0.5f * CHAMBER * c, bottom * c, 0.5f * CHAMBER * c},
                                                 .rotation = {0.0f, 0.0f, 0.0f, 1.0f}},
                                        .carried = {60.0f, 1.0f}};
    physics_tank t = physics_open(&desc);
    physics_steps(&t, RISE_STEPS);
    rise r = {.tiles = t.tank->counters.grid.occupied};
    const store_memory *store = &t.tank->args->store;
    for (uint32_t i = 0; i < t.tank->particle_count; i++) {
        const double x = (double)store->position[0][i] / (1 << POSITION_BITS) - 0.5 * CHAMBER;
        r.height += ((double)store->position[1][i] / (1 << POSITION_BITS) - (double)bottom) / t.tank->particle_count;
        r.width += x * x / t.tank->particle_count;
    }
    r.width = sqrt(r.width);
    physics_close(&t);
    return r;
}

void physics_smoke_sleep(void)
{
    const rise awake = let_rise(0.0f), asleep = let_rise(tarn_smoke_parameters[TARN_SMOKE_SLEEP_SPEED].initial),
               sound = let_rise(0.05f);
    physics_figure("smoke, a warm ball rises: its way, all air awake", awake.height, "cells");
    physics_within_percent(PHYSICS_REQUIRED, "smoke, default sleep: the ball's way, over that",
                           asleep.height / awake.height, 1.0, 2.0, "");
    physics_within_percent(PHYSICS_REQUIRED, "smoke, default sleep: its width, over that awake",
                           asleep.width / awake.width, 1.0, 5.0, "");
    physics_at_most(PHYSICS_REQUIRED, "smoke, default sleep: share of the tiles awake",
                    (double)asleep.tiles / awake.tiles, 0.9, "");
    physics_figure("smoke, sleep below 0.05 m/s: the ball's way, over that awake", sound.height / awake.height, "");
    physics_figure("smoke, sleep below 0.05 m/s: share of the tiles awake", (double)sound.tiles / awake.tiles, "");
}
