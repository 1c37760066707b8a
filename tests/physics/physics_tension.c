// Surface tension: a ball that floats stays at rest, with the pressure inside that Laplace's law asks for; a cube
// becomes round, and what it has of energy, of motion and of surface, never grows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { EDGE = 32, CELLS = EDGE * EDGE * EDGE, BALL_STEPS = 300, CUBE_STEPS = 720, SAMPLE_STEPS = 4 };

static const double tension_n_m = 0.7, density_kg_m3 = 1000.0, radius_cells = 8.0, half_cells = 6.0;

static tarn_tank_desc floating_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = EDGE;
    desc.cell_m = 0.01f;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_SURFACE_TENSION] = (float)tension_n_m;
    return desc;
}

static double distance_cells(const physics_particles *p, uint32_t particle, const double *center_m, double cell_m)
{
    double sum = 0.0;
    for (size_t a = 0; a < 3; a++)
        sum += pow((double)p->position_m[3 * (size_t)particle + a] - center_m[a], 2.0);
    return sqrt(sum) / cell_m;
}

/// Mean pressure over density in the cells within half the ball's radius.
static double inner_pressure_m2_s2(physics_tank *t, const double *center_m, double cell_m)
{
    static float pressure[CELLS];
    assert_int_equal(tarn_tank_pressure(t->tank, pressure, CELLS), TARN_OK);
    double sum = 0.0;
    int count = 0;
    for (int z = 0; z < EDGE; z++)
        for (int y = 0; y < EDGE; y++)
            for (int x = 0; x < EDGE; x++) {
                const double d[3] = {x + 0.5 - center_m[0] / cell_m, y + 0.5 - center_m[1] / cell_m,
                                     z + 0.5 - center_m[2] / cell_m};
                if (sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) > 0.5 * radius_cells)
                    continue;
                sum += (double)pressure[(z * EDGE + y) * EDGE + x];
                count++;
            }
    assert_true(count > 100);
    return sum / count;
}

static void measure_ball(void)
{
    tarn_tank_desc desc = floating_desc();
    const double cell_m = (double)desc.cell_m, radius_m = radius_cells * cell_m;
    const float middle_m = 0.5f * EDGE * desc.cell_m;
    desc.fluid_count = 1;
    desc.fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {(float)radius_m}};
    desc.fluids[0].pose = (tarn_pose){{middle_m, middle_m, middle_m}, {0, 0, 0, 1}};
    physics_tank t = physics_open(&desc);
    const tarn_tank_report before = physics_report(&t);
    double pressure = 0.0, energy = 0.0;
    int samples = 0;
    for (int step = SAMPLE_STEPS; step <= BALL_STEPS; step += SAMPLE_STEPS) {
        physics_steps(&t, SAMPLE_STEPS);
        const tarn_tank_report report = physics_report(&t);
        if (step <= BALL_STEPS / 2)
            continue;
        pressure += inner_pressure_m2_s2(&t, report.center_m, cell_m);
        energy = fmax(energy, report.kinetic_j_kg);
        samples++;
    }
    const tarn_tank_report after = physics_report(&t);
    const double wave_m_s = sqrt(tension_n_m / (density_kg_m3 * radius_m));
    physics_within_percent(PHYSICS_REQUIRED, "surface tension: pressure in a ball of 8 cells radius",
                           pressure / samples * density_kg_m3, 2.0 * tension_n_m / radius_m, 20.0, "Pa");
    physics_figure("surface tension: speed in a ball at rest, over sqrt(T / rho R)", sqrt(2.0 * energy) / wave_m_s, "");
    double drift = 0.0;
    for (int a = 0; a < 3; a++)
        drift = fmax(drift, fabs(after.center_m[a] - before.center_m[a]) / cell_m);
    physics_at_most(PHYSICS_REQUIRED, "surface tension: drift of a ball in 5 s", drift, 1.0, "cells");
    physics_close(&t);
}

/// Area of the surface from the smoothed density, cells^2: the sum of the slopes of what rises from 0 to 1 where the
/// density rises from 1/4 to 3/4. Noise inside the liquid has no area so.
static double area_cells2(physics_tank *t, physics_particles *p)
{
    static double full[CELLS];
    physics_volume_m3(t, p);
    for (int i = 0; i < CELLS; i++)
        full[i] = fmin(fmax(2.0 * ((double)p->density[i] - 0.25), 0.0), 1.0);
    double area = 0.0;
    for (int z = 1; z + 1 < EDGE; z++)
        for (int y = 1; y + 1 < EDGE; y++)
            for (int x = 1; x + 1 < EDGE; x++) {
                const double *at = &full[(z * EDGE + y) * EDGE + x];
                const double dx = at[1] - at[-1], dy = at[EDGE] - at[-EDGE], dz = at[EDGE * EDGE] - at[-EDGE * EDGE];
                area += 0.5 * sqrt(dx * dx + dy * dy + dz * dz);
            }
    return area;
}

/// Radius within which 99 % of the liquid is, over that of a ball's 99 %.
static double roundness(physics_particles *p, const double *center_m, double cell_m, double ball_cells)
{
    for (uint32_t i = 0; i < p->count; i++)
        p->sorted[i] = (float)distance_cells(p, i, center_m, cell_m);
    double low = 0.0, high = 2.0 * ball_cells;
    while (high - low > 1e-4) {
        const double middle = 0.5 * (low + high);
        uint32_t inside = 0;
        for (uint32_t i = 0; i < p->count; i++)
            inside += (double)p->sorted[i] < middle;
        if (inside * 100.0 < p->count * 99.0)
            low = middle;
        else
            high = middle;
    }
    return low / (ball_cells * pow(0.99, 1.0 / 3.0));
}

static void measure_cube(void)
{
    const double pi = 3.14159265358979323846;
    tarn_tank_desc desc = floating_desc();
    const double cell_m = (double)desc.cell_m, volume = pow(2.0 * half_cells, 3.0);
    const double ball_cells = cbrt(volume * 3.0 / (4.0 * pi));
    const double per_area = tension_n_m / (density_kg_m3 * volume * cell_m); // energy per kg of a cell's area
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].min_m[a] = (float)(0.5 * EDGE - half_cells) * desc.cell_m;
        desc.blocks[0].max_m[a] = (float)(0.5 * EDGE + half_cells) * desc.cell_m;
    }
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    physics_particles_read(&t, &p);
    const double cube_area = 24.0 * half_cells * half_cells, ball_area = 4.0 * pi * ball_cells * ball_cells;
    const double surplus = (cube_area - ball_area) * per_area;
    double total_max = 0.0, kinetic_max = 0.0, kinetic = 0.0;
    for (int step = SAMPLE_STEPS; step <= CUBE_STEPS; step += SAMPLE_STEPS) {
        physics_steps(&t, SAMPLE_STEPS);
        physics_particles_read(&t, &p);
        kinetic = physics_report(&t).kinetic_j_kg;
        kinetic_max = fmax(kinetic_max, kinetic);
        const double area = area_cells2(&t, &p);
        total_max = fmax(total_max, (area + kinetic / per_area) / cube_area);
    }
    const tarn_tank_report after = physics_report(&t);
    physics_at_most(PHYSICS_REQUIRED, "surface tension: energy of a cube that gets round, over the first", total_max,
                    1.02, "");
    physics_at_most(PHYSICS_REQUIRED, "surface tension: its motion, over the surface's surplus energy",
                    kinetic_max / surplus, 1.0, "");
    physics_at_most(PHYSICS_REQUIRED, "surface tension: its motion in the end", kinetic / surplus, 0.05, "");
    physics_within_percent(PHYSICS_REQUIRED, "surface tension: its radius in the end, over a ball's",
                           roundness(&p, after.center_m, cell_m, ball_cells), 1.0, 5.0, "");
    physics_particles_close(&p);
    physics_close(&t);
}

void physics_tension(void)
{
    measure_ball();
    measure_cube();
}
