// Two liquids of different density whose interface is carried by what the particles are. V9, the lock exchange: they
// stand side by side in a full box, and the heavy one runs under the light one. The internal seiche: they lie in
// layers, the interface tilted by the first cosine, and swing to and fro.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { LOCK_STEPS_MAX = 600, SEICHE_COLUMNS = 64, SEICHE_HEIGHT = 32, CROSSINGS = 5, SEICHE_STEPS_MAX = 1000 };

static const double pi = 3.14159265358979323846, g = 9.81;

static void fill(tarn_tank_desc *desc, uint16_t length, uint16_t height, double cell_m, double light_kg_m3)
{
    tarn_tank_desc_default(desc);
    desc->cells[0] = length;
    desc->cells[1] = height;
    desc->cells[2] = 1;
    desc->cell_m = (float)cell_m;
    desc->parameters[TARN_PARAMETER_FLIP] = 1.0f;
    desc->liquid_count = 2;
    desc->liquids[0].density_kg_m3 = 1000.0f;
    desc->liquids[1] = desc->liquids[0];
    desc->liquids[1].density_kg_m3 = (float)light_kg_m3;
}

/// Where the heavy liquid has got to: the 99.5th percentile of x among its particles in the lowest tenth of the box.
static double front_m(physics_tank *t, physics_particles *p, double height_m)
{
    uint32_t low = 0;
    physics_particles_read(t, p);
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->liquid[i] == 0 && (double)p->position_m[3 * (size_t)i + 1] < 0.1 * height_m) {
            p->sorted[low++] = p->position_m[3 * (size_t)i];
        }
    }
    return physics_percentile_of(p->sorted, low, 99.5);
}

/// Speed of the front in liquids of a viscosity, between walls of a friction.
static double lock_speed_m_s(float viscosity_m2_s, float wall_friction)
{
    const double length_m = 0.8, height_m = 0.1, from_m = 0.5, to_m = 0.7;
    tarn_tank_desc desc;
    fill(&desc, 256, 32, length_m / 256, 1000.0 * (1.0 - 0.01 / g));
    desc.dt_s = 1.0f / 20.0f;
    desc.liquids[0].viscosity_m2_s = desc.liquids[1].viscosity_m2_s = viscosity_m2_s;
    desc.wall_friction = wall_friction;
    const float depth_m = desc.cell_m;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {(float)(0.5 * length_m), (float)height_m, depth_m}};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {(float)(0.5 * length_m), 0.0f, 0.0f},
                                        .max_m = {(float)length_m, (float)height_m, depth_m},
                                        .liquid = 1};
    desc.block_count = 2;
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    double time_s[LOCK_STEPS_MAX], front[LOCK_STEPS_MAX], now = 0.0;
    int seen = 0;
    for (int step = 1; step <= LOCK_STEPS_MAX && now < to_m; step++) {
        physics_steps(&t, 1);
        now = front_m(&t, &p, height_m);
        if (now >= from_m) {
            time_s[seen] = step * (double)desc.dt_s;
            front[seen++] = now;
        }
    }
    physics_particles_close(&p);
    physics_close(&t);
    return physics_slope(time_s, front, seen);
}

void physics_lock_exchange(void)
{
    physics_within_percent(PHYSICS_REQUIRED, "V9 lock exchange, speed of the front", lock_speed_m_s(0.0f, 0.0f), 0.0151,
                           15.0, "m/s");
    physics_within_percent(PHYSICS_REQUIRED, "V9 lock exchange, no slip of water: speed of the front",
                           lock_speed_m_s(1e-6f, 0.0f), 0.0128, 15.0, "m/s");
    physics_figure("V9 lock exchange, walls of friction 1: speed of the front", lock_speed_m_s(0.0f, 1.0f), "m/s");
}

static tarn_tank_desc seiche_desc(double length_m, double light_kg_m3)
{
    const double cell_m = length_m / SEICHE_COLUMNS, amplitude_m = 0.025 * length_m;
    const float depth_m = (float)cell_m, top_m = (float)(SEICHE_HEIGHT * cell_m);
    tarn_tank_desc desc;
    fill(&desc, SEICHE_COLUMNS, SEICHE_HEIGHT, cell_m, light_kg_m3);
    desc.jitter = 0.0f;
    for (int i = 0; i < SEICHE_COLUMNS / 2; i++) { // two cells wide; blocks come in pairs
        const float x0 = (float)(2 * i * cell_m), x1 = (float)((2 * i + 2) * cell_m);
        const float y = (float)(0.5 * SEICHE_HEIGHT * cell_m + amplitude_m * cos(pi * (2 * i + 1) / SEICHE_COLUMNS));
        desc.blocks[2 * i] = (tarn_fluid_block){.min_m = {x0, 0.0f, 0.0f}, .max_m = {x1, y, depth_m}};
        desc.blocks[2 * i + 1] = (tarn_fluid_block){.min_m = {x0, y, 0.0f}, .max_m = {x1, top_m, depth_m}, .liquid = 1};
    }
    desc.block_count = SEICHE_COLUMNS;
    return desc;
}

void physics_seiche(void)
{
    const double length_m = 1.0, light = 800.0, k = pi / length_m, half_m = 0.25 * length_m;
    const tarn_tank_desc desc = seiche_desc(length_m, light);
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    double crossing[CROSSINGS] = {0.0}, before = 0.0;
    int crossings = 0;
    for (int step = 0; step < SEICHE_STEPS_MAX && crossings < CROSSINGS; step++) {
        physics_particles_read(&t, &p);
        double now = 0.0;
        for (uint32_t i = 0; i < p.count; i++) {
            now += p.liquid[i] == 0 ? cos(k * (double)p.position_m[3 * (size_t)i]) : 0.0;
        }
        if (now * before < 0.0) {
            crossing[crossings++] = (step - now / (now - before)) * (double)desc.dt_s;
        }
        before = now;
        physics_steps(&t, 1);
    }
    assert_int_equal(crossings, CROSSINGS);
    const double omega = sqrt(g * k * (1000.0 - light) / ((1000.0 + light) / tanh(k * half_m)));
    physics_within_percent(PHYSICS_REQUIRED, "internal seiche, period",
                           2.0 * (crossing[CROSSINGS - 1] - crossing[0]) / (CROSSINGS - 1), 2.0 * pi / omega, 3.0, "s");
    physics_particles_close(&p);
    physics_close(&t);
}
