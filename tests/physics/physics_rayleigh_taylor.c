// V10: Rayleigh-Taylor. A heavy liquid on a light one in a closed box, half a wave apart: the wave grows like
// cosh(sigma t), sigma^2 = A g k. Its amplitude is the first cosine of the heavy liquid's columns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { COLUMNS = 64, HEIGHT = 128, STEPS_MAX = 200 }; // half a wavelength across

static const double pi = 3.14159265358979323846, wavelength_m = 1.0, start_m = 0.012, end_m = 0.04;

/// Amplitude of the interface: the heavy liquid above it hangs down where the cosine is positive.
static double amplitude_m(physics_tank *t, physics_particles *p)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    const double width_m = 0.5 * wavelength_m, cell_m = (double)desc->cell_m;
    physics_particles_read(t, p);
    double sum = 0.0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->liquid[i] == 0) {
            sum += cos(2.0 * pi / wavelength_m * (double)p->position_m[3 * i]);
        }
    }
    const double per_m2 = 8.0 / (cell_m * cell_m);
    return 2.0 * sum / (per_m2 * width_m);
}

static void fill(tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    const double cell_m = 0.5 * wavelength_m / COLUMNS;
    desc->cells[0] = COLUMNS;
    desc->cells[1] = HEIGHT;
    desc->cells[2] = 1;
    desc->cell_m = (float)cell_m;
    desc->dt_s = 1.0f / 240.0f;
    desc->jitter = 0.0f;
    desc->parameters[TARN_PARAMETER_FLIP] = 1.0f;
    desc->liquid_count = 2;
    desc->liquids[0].density_kg_m3 = 1.225f;
    desc->liquids[1] = desc->liquids[0];
    desc->liquids[1].density_kg_m3 = 0.1694f;
    const double middle_m = 0.5 * HEIGHT * cell_m, top_m = HEIGHT * cell_m;
    for (int i = 0; i < COLUMNS / 2; i++) { // two cells wide; blocks come in pairs
        const double x0 = 2 * i * cell_m, x1 = 2 * (i + 1) * cell_m;
        const double y = middle_m - start_m * cos(2.0 * pi / wavelength_m * 0.5 * (x0 + x1));
        desc->blocks[2 * i] =
            (tarn_fluid_block){.max_m = {(float)x1, (float)y, (float)cell_m}, .min_m = {(float)x0, 0, 0}, .liquid = 1};
        desc->blocks[2 * i + 1] = (tarn_fluid_block){
            .min_m = {(float)x0, (float)y, 0}, .max_m = {(float)x1, (float)top_m, (float)cell_m}, .liquid = 0};
    }
    desc->block_count = COLUMNS;
}

void physics_rayleigh_taylor(void)
{
    tarn_tank_desc desc;
    fill(&desc);
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    const double start = amplitude_m(&t, &p);
    double now = start, time_s = 0.0;
    for (int step = 0; step < STEPS_MAX && now < end_m; step++) {
        physics_steps(&t, 1);
        now = amplitude_m(&t, &p);
        time_s += (double)desc.dt_s;
    }
    const double grown = now / start, sigma = log(grown + sqrt(grown * grown - 1.0)) / time_s;
    const double k = 2.0 * pi / wavelength_m, atwood = (1.225 - 0.1694) / (1.225 + 0.1694);
    physics_within_percent(PHYSICS_REQUIRED, "V10 Rayleigh-Taylor, rate of growth", sigma, sqrt(atwood * 9.81 * k),
                           10.0, "1/s");
    physics_particles_close(&p);
    physics_close(&t);
}
