// V3: a standing wave in a closed tank. The surface starts as a cosine, column by column; the centre of mass then
// swings from side to side with the period of the first mode.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { COLUMNS = 64, CROSSINGS = 5 };

void physics_wave(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846, length_m = 1.73, depth_m = 0.6, amplitude_m = 0.05;
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
        const double height = depth_m + amplitude_m * cos(pi * 0.5 * (x0 + x1) / length_m);
        desc.blocks[i] = (tarn_fluid_block){.min_m = {(float)x0, 0.0f, 0.0f},
                                            .max_m = {(float)x1, (float)height, 8.0f * desc.cell_m}};
    }
    physics_tank t = physics_open(&desc);
    double crossing[CROSSINGS] = {0.0}, before = 1.0, before_s = 0.0;
    int crossings = 0;
    for (int step = 0; step < 600 && crossings < CROSSINGS; step++) {
        physics_steps(&t, 1);
        const tarn_tank_report report = physics_report(&t);
        const double offset = report.center_m[0] - 0.5 * length_m;
        if (step > 0 && offset * before < 0.0)
            crossing[crossings++] = before_s + (report.sim_time_s - before_s) * before / (before - offset);
        before = offset;
        before_s = report.sim_time_s;
    }
    assert_int_equal(crossings, CROSSINGS);
    const double period = 2.0 * (crossing[CROSSINGS - 1] - crossing[0]) / (CROSSINGS - 1);
    const double k = pi / length_m, reference = 2.0 * pi / sqrt(9.81 * k * tanh(k * depth_m));
    physics_row("V3 standing wave, period of mode 1", period, reference, "s", "+- 2 %");
    assert_true(fabs(period / reference - 1.0) < 0.02);
    physics_close(&t);
}
