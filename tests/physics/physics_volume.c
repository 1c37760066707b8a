// V2 over 10 s: the volume of a dam break that sloshes, as the number of cells that are at least half full.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t half_full_cells(physics_tank *t, float *positions, uint32_t particles, uint8_t *counts)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    const size_t cells = (size_t)desc->cells[0] * desc->cells[1] * desc->cells[2];
    uint32_t count, full = 0;
    assert_int_equal(tarn_tank_particles(t->tank, positions, NULL, NULL, particles, &count), TARN_OK);
    memset(counts, 0, cells);
    for (uint32_t i = 0; i < count; i++) {
        size_t at[3];
        for (int a = 0; a < 3; a++)
            at[a] = (size_t)(positions[3 * i + (uint32_t)a] / desc->cell_m);
        uint8_t *cell = &counts[(at[2] * desc->cells[1] + at[1]) * desc->cells[0] + at[0]];
        if (*cell < 255)
            ++*cell;
    }
    for (size_t i = 0; i < cells; i++)
        full += counts[i] >= 4;
    return full;
}

void physics_volume(void **state)
{
    (void)state;
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 64;
    desc.cells[1] = 32;
    desc.cells[2] = 16;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.625f, 0.625f, 0.5f}};
    physics_tank t = physics_open(&desc);
    const uint32_t particles = physics_report(&t).particle_count;
    float *positions = malloc((size_t)particles * 3 * sizeof *positions);
    uint8_t *counts = malloc((size_t)64 * 32 * 16);
    assert_true(positions != NULL && counts != NULL);
    const uint32_t before = half_full_cells(&t, positions, particles, counts);
    double worst = 0.0, last = 0.0;
    for (int second = 1; second <= 10; second++) {
        physics_steps(&t, 60);
        last = (double)half_full_cells(&t, positions, particles, counts) / before - 1.0;
        if (second >= 4 && fabs(last) > fabs(worst)) // the first seconds are spray, of which no cell is half full
            worst = last;
    }
    physics_row("V2 volume from 4 s to 10 s, largest change", 100.0 * worst, 0.0, "%", "+- 2");
    physics_row("V2 volume at 10 s, change", 100.0 * last, 0.0, "%", "+- 2");
    assert_int_equal(physics_report(&t).particle_count, particles);
    assert_true(fabs(worst) < 0.02);
    free(positions);
    free(counts);
    physics_close(&t);
}
