// Free fall: water is where it should be whatever the steps are, and in a fine grid nothing brakes it, also where it
// crosses more cells in a substep than the CFL number asks for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

/// How far off the exact place a block of water is after it has fallen for half a second, over the way it fell. Where
/// force and motion alternate by whole steps, it is ahead by a step's part of that.
static double place_error(float steps_per_s)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[2] = 16;
    desc.cells[1] = 96;
    desc.cell_m = 1.0f / 32.0f;
    desc.dt_s = 1.0f / steps_per_s;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0.0f, 2.25f, 0.0f}, .max_m = {0.5f, 2.75f, 0.5f}};
    physics_tank t = physics_open(&desc);
    const double from_m = physics_report(&t).center_m[1];
    physics_steps(&t, (uint32_t)(steps_per_s / 2.0f));
    const tarn_tank_report report = physics_report(&t);
    physics_close(&t);
    const double way_m = 0.5 * 9.81 * report.sim_time_s * report.sim_time_s;
    return fabs((from_m - report.center_m[1]) / way_m - 1.0) * 100.0;
}

void physics_fall(void)
{
    physics_at_most(PHYSICS_REQUIRED, "fall: place after 0.5 s at 30 steps/s, off by", place_error(30.0f), 0.1, "%");
    physics_at_most(PHYSICS_REQUIRED, "fall: place after 0.5 s at 60 steps/s, off by", place_error(60.0f), 0.1, "%");
    physics_at_most(PHYSICS_REQUIRED, "fall: place after 0.5 s at 120 steps/s, off by", place_error(120.0f), 0.1, "%");
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[2] = 8;
    desc.cells[1] = 256;
    desc.cell_m = 1.0f / 128.0f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0.0f, 1.8f, 0.0f}, .max_m = {0.0625f, 1.95f, 0.0625f}};
    physics_tank t = physics_open(&desc);
    physics_steps(&t, 32);
    const tarn_tank_report report = physics_report(&t);
    const double middle_s = report.sim_time_s - 0.5 * (double)desc.dt_s / report.substeps; // of the last substep
    physics_within_percent(PHYSICS_REQUIRED, "fall: speed after 1.4 m in cells of 1/128 m", report.momentum_m_s[1],
                           -9.81 * middle_s, 0.5, "m/s");
    physics_close(&t);
}
