// V2: the volume of a dam break that sloshes for 60 s: all of it, drops and sheets included, at all times, and once
// drops have fallen, from 20 s on, also the mean height of the surface times the floor. Long waves run to and fro for
// minutes.
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

static double largest(const double *change, int count)
{
    double found = 0.0;
    for (int i = 0; i < count; i++) {
        if (!(fabs(change[i]) <= fabs(found))) {
            found = change[i];
        }
    }
    return found;
}

void physics_volume(void)
{
    const tarn_tank_desc desc = slosh_desc();
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    const double start_m3 = p.count / pow(desc.particles_per_axis / (double)desc.cell_m, 3.0);
    double time_min[SAMPLES], occupied[SAMPLES], level[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        physics_steps(&t, 60 / PER_SECOND);
        physics_particles_read(&t, &p);
        time_min[i] = physics_report(&t).sim_time_s / 60.0;
        level[i] = 100.0 * (physics_volume_m3(&t, &p) / start_m3 - 1.0);
        occupied[i] = 100.0 * (physics_occupied_m3(&t, &p) / start_m3 - 1.0);
    }
    physics_within(PHYSICS_REQUIRED, "V2 slosh: occupied volume, largest change", largest(occupied, SAMPLES), 0.0, 1.0,
                   "%");
    physics_within(PHYSICS_REQUIRED, "V2 slosh: occupied volume after 60 s, change", occupied[SAMPLES - 1], 0.0, 1.0,
                   "%");
    physics_within(PHYSICS_REQUIRED, "V2 slosh: trend of the occupied volume from 30 s to 60 s",
                   physics_slope(time_min + SAMPLES / 2, occupied + SAMPLES / 2, SAMPLES / 2), 0.0, 0.25, "%/min");
    physics_within(PHYSICS_REQUIRED, "V2 slosh: height of the surface from 20 s on, largest change",
                   largest(level + SPLASH_SAMPLES, SAMPLES - SPLASH_SAMPLES), 0.0, 1.0, "%");
    physics_within(PHYSICS_REQUIRED, "V2 slosh: height of the surface after 60 s, change", level[SAMPLES - 1], 0.0, 1.0,
                   "%");
    physics_particles_close(&p);
    physics_close(&t);
}
