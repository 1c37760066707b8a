// Smoke, whose air lives on the grid. V16, a ball of warm air: the impulse of its vortices, 1/2 integral x x curl u dV
// upwards, grows by its buoyancy, g beta T V (Saffman, Vortex Dynamics, section 3.2), until it nears a wall. V15,
// Taylor-Green's vortices in a box whose walls are slippery, as physics_taylor_green.c has them. V9, a lock exchange
// between cold and warm air.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include "tests/physics/physics_air.h"
#include <cmocka.h> // needs those above

#include <math.h>

static const double pi = 3.14159265358979323846, g = 9.81;

// ---------------------------------------------------------------------------------------------------------------- V16

enum { WIDTH = 32, HEIGHT = 40, BALL_STEPS = 20 };

/// How component c changes along axis a at a cell's centre, over two cells.
static double slope(const tarn_tank *tank, int c, int a, const int *cell)
{
    const int d[3] = {a == 0, a == 1, a == 2}, u[3] = {c == 0, c == 1, c == 2};
    const int x = cell[0], y = cell[1], z = cell[2];
    return 0.25 * ((double)*physics_air_at(tank, c, x + d[0], y + d[1], z + d[2]) -
                   (double)*physics_air_at(tank, c, x - d[0], y - d[1], z - d[2]) +
                   (double)*physics_air_at(tank, c, x + d[0] + u[0], y + d[1] + u[1], z + d[2] + u[2]) -
                   (double)*physics_air_at(tank, c, x - d[0] + u[0], y - d[1] + u[1], z - d[2] + u[2]));
}

/// Upwards, in cells and steps.
static double impulse(const tarn_tank *tank)
{
    double sum = 0.0;
    for (int z = 1; z < WIDTH - 2; z++) {
        for (int y = 1; y < HEIGHT - 2; y++) {
            for (int x = 1; x < WIDTH - 2; x++) {
                const int cell[3] = {x, y, z};
                const double curl_x = slope(tank, 2, 1, cell) - slope(tank, 1, 2, cell),
                             curl_z = slope(tank, 1, 0, cell) - slope(tank, 0, 1, cell);
                sum += 0.5 * ((z + 0.5 - 0.5 * WIDTH) * curl_x - (x + 0.5 - 0.5 * WIDTH) * curl_z);
            }
        }
    }
    return sum;
}

void physics_smoke_ball(void)
{
    tarn_tank_desc desc = physics_air(WIDTH, HEIGHT, WIDTH);
    const float c = desc.cell_m, heat_k = 30.0f;
    desc.parameters[TARN_SMOKE_TOLERANCE] = 1e-5f;
    desc.fluid_count = 1;
    desc.fluids[0] = (tarn_fluid_shape){
        .shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {5.0f * c}},
        .pose = {.position_m = {0.5f * WIDTH * c, 14.0f * c, 0.5f * WIDTH * c}, .rotation = {0.0f, 0.0f, 0.0f, 1.0f}},
        .carried = {heat_k, 1.0f}};
    physics_tank t = physics_open(&desc);
    const double volume = t.tank->particle_count / (double)t.tank->args->scale.rest_density;
    const double lift = g * (double)(desc.dt_s * desc.dt_s / c) * (double)heat_k / 293.0;
    double time[BALL_STEPS], now[BALL_STEPS];
    for (int i = 0; i < BALL_STEPS; i++) {
        physics_steps(&t, 1);
        time[i] = i;
        now[i] = impulse(t.tank);
    }
    physics_within_percent(PHYSICS_REQUIRED, "V16 smoke, warm ball: growth of its impulse, over its buoyancy",
                           physics_slope(time, now, BALL_STEPS) / (lift * volume), 1.0, 3.0, "");
    physics_close(&t);
}

// ---------------------------------------------------------------------------------------------------------------- V15

enum { VORTEX = 32, EDGE = 2 * VORTEX, VORTEX_STEPS = 120 };

/// Sum of the squared velocities.
static double energy(const tarn_tank *tank)
{
    double sum = 0.0;
    for (int y = 0; y < EDGE; y++) {
        for (int x = 0; x < EDGE; x++) {
            const double u = (double)*physics_air_at(tank, 0, x, y, 0), v = (double)*physics_air_at(tank, 1, x, y, 0);
            sum += u * u + v * v;
        }
    }
    return sum;
}

/// E-folds that the energy decays by; viscosity in cells^2 per step.
static double decay(double viscosity, float advection)
{
    const double k = pi / VORTEX, speed = 0.25;
    tarn_tank_desc desc = physics_air(EDGE, EDGE, 1);
    desc.parameters[TARN_SMOKE_VISCOSITY] = (float)(viscosity * (double)(desc.cell_m * desc.cell_m / desc.dt_s));
    desc.parameters[TARN_SMOKE_ADVECTION] = advection;
    physics_air_mote(&desc);
    physics_tank t = physics_open(&desc);
    for (int y = 0; y < EDGE; y++) {
        for (int x = 0; x < EDGE; x++) {
            *physics_air_at(t.tank, 0, x, y, 0) = (float)(speed * sin(k * x) * cos(k * (y + 0.5)));
            *physics_air_at(t.tank, 1, x, y, 0) = (float)(-speed * cos(k * (x + 0.5)) * sin(k * y));
        }
    }
    const double before = energy(t.tank);
    physics_steps(&t, VORTEX_STEPS);
    const double after = energy(t.tank);
    physics_close(&t);
    return log(before / after);
}

void physics_smoke_taylor_green(void)
{
    const double k = pi / VORTEX, one_fold = 1.0 / (4.0 * k * k * VORTEX_STEPS);
    physics_within_percent(PHYSICS_REQUIRED, "V15 smoke, Taylor-Green: decay of the energy", decay(one_fold, 1.0f), 1.0,
                           5.0, "e-folds");
    physics_figure("V15 smoke: own viscosity at 1/4 cell a step, MacCormack", one_fold * decay(0.0, 1.0f),
                   "cell^2/step");
    physics_figure("V15 smoke: own viscosity at 1/4 cell a step, semi-Lagrangian", one_fold * decay(0.0, 0.0f),
                   "cell^2/step");
}

// ----------------------------------------------------------------------------------------------------------------- V9

enum { LOCK_STEPS_MAX = 600, LOCK_PARTICLES_MAX = 256 * 32 * 8 };

/// Where the cold air has got to: the 99.5th percentile of x among its particles in the lowest tenth of the box.
static double cold_front_m(const tarn_tank *tank, float warm_k, float *places)
{
    const store_memory *store = &tank->args->store;
    const double cell_m = (double)tank->grid.desc.cell_m;
    uint32_t low = 0;
    for (uint32_t i = 0; i < tank->particle_count; i++) {
        if (store->carried[TARN_SMOKE_HEAT][i] < 0.5f * warm_k &&
            store->position[1][i] < (uint32_t)(3.2 * (1 << POSITION_BITS))) {
            places[low++] = (float)(store->position[0][i] * cell_m / (1 << POSITION_BITS));
        }
    }
    return physics_percentile_of(places, low, 99.5);
}

void physics_smoke_lock_exchange(void)
{
    static float places[LOCK_PARTICLES_MAX];
    const float warm_k = (float)(293.0 * 0.01 / g);
    tarn_tank_desc desc = physics_air(256, 32, 1);
    desc.cell_m = 0.8f / 256;
    desc.dt_s = 1.0f / 20.0f;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.4f, 0.1f, desc.cell_m}, .carried = {0.0f, 1.0f}};
    desc.blocks[1] =
        (tarn_fluid_block){.min_m = {0.4f, 0.0f, 0.0f}, .max_m = {0.8f, 0.1f, desc.cell_m}, .carried = {warm_k, 1.0f}};
    desc.block_count = 2;
    physics_tank t = physics_open(&desc);
    assert_true(t.tank->particle_count <= LOCK_PARTICLES_MAX);
    double time_s[LOCK_STEPS_MAX], front[LOCK_STEPS_MAX], now = 0.0;
    int seen = 0;
    for (int step = 1; step <= LOCK_STEPS_MAX && now < 0.7; step++) {
        physics_steps(&t, 1);
        now = cold_front_m(t.tank, warm_k, places);
        if (now >= 0.5) {
            time_s[seen] = step * (double)desc.dt_s;
            front[seen++] = now;
        }
    }
    physics_within_percent(PHYSICS_REQUIRED, "V9 smoke, lock exchange by heat: speed of the front",
                           physics_slope(time_s, front, seen), 0.0151, 15.0, "m/s");
    physics_close(&t);
}
