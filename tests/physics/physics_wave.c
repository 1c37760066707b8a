// V3: standing waves in a closed tank. The surface starts as a cosine, column by column. The mean of cos(k x) over the
// particles is the amplitude of that mode over twice the depth, whichever mode it is; the period comes from where it
// changes sign.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { COLUMNS = 64, CROSSINGS = 5, STEPS_MAX = 600 };

static const double pi = 3.14159265358979323846, g = 9.81, length_m = 1.73, depth_m = 0.6;

/// Both modes start equally steep: 5 cm high for the first, half of that for the second.
static tarn_tank_desc wave_desc(double k)
{
    const double amplitude_m = 0.05 * pi / (length_m * k);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = COLUMNS;
    desc.cells[1] = 32;
    desc.cells[2] = 8;
    desc.cell_m = (float)(length_m / COLUMNS);
    desc.particles_per_axis = 3;
    desc.jitter = 0.0f;
    desc.parameters[TARN_PARAMETER_FLIP] = 1.0f;
    desc.block_count = COLUMNS;
    for (int i = 0; i < COLUMNS; i++) {
        const double x0 = length_m * i / COLUMNS, x1 = length_m * (i + 1) / COLUMNS;
        const double height = depth_m + amplitude_m * cos(k * 0.5 * (x0 + x1));
        desc.blocks[i] = (tarn_fluid_block){.min_m = {(float)x0, 0.0f, 0.0f},
                                            .max_m = {(float)x1, (float)height, 8.0f * desc.cell_m}};
    }
    return desc;
}

static double mode_amplitude(physics_tank *t, physics_particles *p, double k)
{
    double sum = 0.0;
    physics_particles_read(t, p);
    for (size_t i = 0; i < p->count; i++) {
        sum += cos(k * (double)p->position_m[3 * i]);
    }
    return sum / p->count;
}

static double period_s(double k)
{
    const tarn_tank_desc desc = wave_desc(k);
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    double crossing[CROSSINGS] = {0.0}, before = mode_amplitude(&t, &p, k);
    int crossings = 0;
    for (int step = 0; step < STEPS_MAX && crossings < CROSSINGS; step++) {
        physics_steps(&t, 1);
        const double now = mode_amplitude(&t, &p, k);
        if (now * before < 0.0) {
            crossing[crossings++] = (step + before / (before - now)) * (double)desc.dt_s;
        }
        before = now;
    }
    assert_int_equal(crossings, CROSSINGS);
    physics_particles_close(&p);
    physics_close(&t);
    return 2.0 * (crossing[CROSSINGS - 1] - crossing[0]) / (CROSSINGS - 1);
}

static void measure_mode(physics_need need, int mode, const char *name)
{
    const double k = mode * pi / length_m;
    physics_within_percent(need, name, period_s(k), 2.0 * pi / sqrt(g * k * tanh(k * depth_m)), 2.0, "s");
}

void physics_wave(void)
{
    measure_mode(PHYSICS_REQUIRED, 1, "V3 standing wave: period of mode 1");
    measure_mode(PHYSICS_REQUIRED, 2, "V3 standing wave: period of mode 2");
}
