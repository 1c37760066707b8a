// V2: the volume of a dam break that sloshes for 60 s. While the water flies, drops hold volume that no cell is half
// full of, so the bound holds from 20 s on, when drops have fallen and long waves run to and fro, which they do for
// minutes. From then on the volume is the mean height of the surface times the floor.
#include "tests/physics/physics.h"

#include <math.h>

enum { SECONDS = 60, PER_SECOND = 2, SAMPLES = SECONDS * PER_SECOND, SPLASH_SAMPLES = 20 * PER_SECOND };

static tarn_tank_desc slosh_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 32;
    desc.cells[1] = 24;
    desc.cells[2] = 16;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.375f, 0.625f, 0.5f}};
    return desc;
}

void physics_volume(void)
{
    const tarn_tank_desc desc = slosh_desc();
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    const double start_m3 = p.count / pow(desc.particles_per_axis / (double)desc.cell_m, 3.0);
    double time_min[SAMPLES], change[SAMPLES], largest = 0.0, worst = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        physics_steps(&t, 60 / PER_SECOND);
        physics_particles_read(&t, &p);
        const tarn_tank_report report = physics_report(&t);
        time_min[i] = report.sim_time_s / 60.0;
        change[i] = 100.0 * (physics_volume_m3(&t, &p) / start_m3 - 1.0);
        if (fabs(change[i]) > fabs(largest))
            largest = change[i];
    }
    for (int i = SPLASH_SAMPLES; i < SAMPLES; i++)
        if (fabs(change[i]) > fabs(worst))
            worst = change[i];
    physics_within(PHYSICS_REQUIRED, "V2 slosh: volume from 20 s on, largest change", worst, 0.0, 1.0, "%");
    physics_within(PHYSICS_REQUIRED, "V2 slosh: volume after 60 s, change", change[SAMPLES - 1], 0.0, 1.0, "%");
    physics_within(PHYSICS_REQUIRED, "V2 slosh: trend of the volume from 30 s to 60 s",
                   physics_slope(time_min + SAMPLES / 2, change + SAMPLES / 2, SAMPLES / 2), 0.0, 0.25, "%/min");
    physics_within(PHYSICS_REPORTED, "V2 slosh: volume, largest change while it splashes", largest, 0.0, 1.0, "%");
    physics_particles_close(&p);
    physics_close(&t);
}
