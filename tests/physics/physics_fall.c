// A slab of water falls freely in a fine grid: nothing may brake it, also where it crosses more cells in a substep than
// the CFL number asks for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

void physics_fall(void)
{
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
    const double reference = -9.81 * report.sim_time_s;
    physics_within_percent(PHYSICS_REQUIRED, "fall: speed after 1.4 m in cells of 1/128 m", report.momentum_m_s[1],
                           reference, 0.5, "m/s");
    physics_close(&t);
}
