// A pool over a slope and a ball gets still and stays so for a minute: its energy falls, and no particle moves, by its
// own velocity or by the density correction, faster than creep.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

static const float cell_m = 0.03125f;

static tarn_solid solid_of(tarn_shape_kind kind, const float *half_cells, const float *at_cells, double turn_z)
{
    tarn_solid solid = {.shape.kind = kind,
                        .pose.rotation = {0.0f, 0.0f, (float)sin(turn_z / 2), (float)cos(turn_z / 2)}};
    for (int a = 0; a < 3; a++) {
        solid.shape.half_m[a] = half_cells[a] * cell_m;
        solid.pose.position_m[a] = at_cells[a] * cell_m;
    }
    return solid;
}

/// Mean kinetic energy over a second, and in *fastest the most that something moved in it.
static double energy_of_second(physics_tank *t, double *fastest)
{
    double sum = 0.0;
    for (int step = 0; step < 60; step++) {
        physics_steps(t, 1);
        const tarn_tank_report report = physics_report(t);
        sum += report.kinetic_j_kg / 60.0;
        *fastest = fmax(*fastest, (double)report.speed_max_m_s);
    }
    return sum;
}

void physics_still(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 32;
    desc.cells[1] = 24;
    desc.cells[2] = 16;
    desc.cell_m = cell_m;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {32.0f * cell_m, 12.0f * cell_m, 16.0f * cell_m}};
    desc.solid_count = 2;
    desc.solids[0] =
        solid_of(TARN_SHAPE_BOX, (const float[3]){14.0f, 4.0f, 10.0f}, (const float[3]){4.0f, 3.0f, 8.0f}, -0.4);
    desc.solids[1] = solid_of(TARN_SHAPE_SPHERE, (const float[3]){4.3f}, (const float[3]){22.3f, 5.1f, 8.2f}, 0.0);
    physics_tank t = physics_open(&desc);
    double unused = 0.0, fastest = 0.0, energy = 0.0;
    physics_steps(&t, 9 * 60);
    const double early = energy_of_second(&t, &unused);
    physics_steps(&t, 40 * 60);
    for (int second = 0; second < 10; second++) {
        energy = energy_of_second(&t, &fastest);
    }
    physics_close(&t);
    physics_at_most(PHYSICS_REQUIRED, "still: kinetic energy after 60 s, over that after 10 s", energy / early, 1.0,
                    "");
    physics_at_most(PHYSICS_REQUIRED, "still: fastest motion from 50 s to 60 s", fastest, 0.01, "m/s");
}
