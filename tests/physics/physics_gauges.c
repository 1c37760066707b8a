// V5: the dam break of Zhou et al. 1999, a tank 3.22 m long with 1.2 x 0.6 m of water in one end, as a slice. Gauges
// read the water that stands above a strip of the floor 5 cm wide, as depth, air left out.
//
// The pressure gauge in the far wall is a disc 9 cm wide around 0.16 m. Marrone et al. 2011 ("delta-SPH model for
// simulating violent impact flows") compare it with the pressure at 0.19 of the water's height, 0.115 m, at its lower
// edge, where the wall feels the water turn upwards. Their inviscid runs have 2 kPa there at 0.645 s, the experiment at
// 0.643 s; from 0.85 to 1.05 s they have 3.4 kPa, it has 3.2. At 0.16 m itself this liquid comes to 2 kPa at 0.93 to
// 0.96 s with cells of 25, 12.5 and 6.3 mm alike.
//
// After about 1.4 s the wave that falls back from the wall encloses air, which this liquid doesn't know and in which
// published runs differ from the experiment and from each other, as do those with finer cells here: 0.5 to 0.7 m for
// the first peak. The peaks are reported only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/probe.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

enum { GAUGES = 2, STEPS = 144 };

static const double length_m = 3.22, density_kg_m3 = 1000.0, strip_m = 0.05;
static const double gauge_x_m[GAUGES] = {2.228, 2.725};
static const double disc_m = 0.16, disc_edge_m = 0.19 * 0.6;

static tarn_tank_desc gauges_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 128;
    desc.cells[1] = 80;
    desc.cells[2] = 8;
    desc.cell_m = (float)(length_m / 128.0);
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.2f, 0.6f, 8.0f * desc.cell_m}};
    return desc;
}

/// Depth of water at x: every particle stands for its share of the volume at the start.
static double depth_m(const physics_particles *p, double x_m)
{
    uint32_t above = 0;
    for (size_t i = 0; i < p->count; i++) {
        above += fabs((double)p->position_m[3 * i] - x_m) < 0.5 * strip_m;
    }
    return above * (1.2 * 0.6 / p->count) / strip_m;
}

/// Pressure at the far wall: the mean over the slice, linear between the centres of two cells.
static double wall_pressure_pa(const physics_tank *t, const float *pressure, double height_m)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    const size_t nx = desc->cells[0], ny = desc->cells[1], nz = desc->cells[2];
    const double at = height_m / (double)desc->cell_m - 0.5;
    const size_t y = (size_t)at;
    double sum = 0.0;
    for (size_t z = 0; z < nz; z++) {
        const double below = (double)pressure[(z * ny + y) * nx + nx - 1];
        const double above = (double)pressure[(z * ny + y + 1) * nx + nx - 1];
        sum += below + (above - below) * (at - (double)y);
    }
    return density_kg_m3 * sum / (double)nz;
}

/// When a curve first rises over a threshold, linear between its samples; NAN when it doesn't.
static double time_over_s(const double *curve, int count, double threshold, double dt_s)
{
    for (int i = 1; i < count; i++) {
        if (curve[i] > threshold && curve[i - 1] <= threshold) {
            return dt_s * (i - 1 + (threshold - curve[i - 1]) / (curve[i] - curve[i - 1]));
        }
    }
    return NAN;
}

static double peak(const double *curve, int count, double dt_s, double *time_s)
{
    int highest = 0;
    for (int i = 1; i < count; i++) {
        if (curve[i] > curve[highest]) {
            highest = i;
        }
    }
    *time_s = highest * dt_s;
    return curve[highest];
}

static double mean_between(const double *curve, double from_s, double to_s, double dt_s)
{
    const int first = (int)(from_s / dt_s), end = (int)(to_s / dt_s);
    double sum = 0.0;
    for (int i = first; i < end; i++) {
        sum += curve[i];
    }
    return sum / (end - first);
}

static void report_pressure(const double *disc_pa, const double *disc_edge_pa, double dt_s)
{
    physics_within(PHYSICS_REQUIRED, "V5 gauges: over 2 kPa at the wall, 0.115 m up",
                   time_over_s(disc_edge_pa, STEPS + 1, 2000.0, dt_s), 0.643, 0.05, "s");
    physics_within_percent(PHYSICS_REQUIRED, "V5 gauges: pressure there from 0.85 s to 1.05 s",
                           mean_between(disc_edge_pa, 0.85, 1.05, dt_s), 3230.0, 10.0, "Pa");
    physics_figure("V5 gauges: over 2 kPa at the wall, 0.16 m up", time_over_s(disc_pa, STEPS + 1, 2000.0, dt_s), "s");
}

static void report_gauges(double curve[GAUGES][STEPS + 1], double dt_s)
{
    double peak_s[GAUGES], peak_m[GAUGES];
    for (int gauge = 0; gauge < GAUGES; gauge++) {
        peak_m[gauge] = peak(curve[gauge], STEPS + 1, dt_s, &peak_s[gauge]);
    }
    physics_within(PHYSICS_REQUIRED, "V5 gauges: over 2 cm at x = 2.228 m",
                   time_over_s(curve[0], STEPS + 1, 0.02, dt_s), 0.40, 0.05, "s");
    physics_within(PHYSICS_REQUIRED, "V5 gauges: over 2 cm at x = 2.725 m",
                   time_over_s(curve[1], STEPS + 1, 0.02, dt_s), 0.50, 0.05, "s");
    physics_within_percent(PHYSICS_REPORTED, "V5 gauges: peak at x = 2.228 m", peak_m[0], 0.408, 15.0, "m");
    physics_within(PHYSICS_REPORTED, "V5 gauges: time of the peak at x = 2.228 m", peak_s[0], 1.77, 0.1, "s");
    physics_within_percent(PHYSICS_REPORTED, "V5 gauges: peak at x = 2.725 m", peak_m[1], 0.457, 15.0, "m");
    physics_within(PHYSICS_REPORTED, "V5 gauges: time of the peak at x = 2.725 m", peak_s[1], 1.92, 0.1, "s");
}

// The same by probes, in the middle of the slice.
enum { PROBE_EDGE = GAUGES, PROBES };

static tarn_probes *open_probes(const physics_tank *t, const tarn_tank_desc *desc)
{
    const float z = 4.0f * desc->cell_m, top = 80.0f * desc->cell_m;
    tarn_probe probe[PROBES];
    tarn_probes *probes = NULL;
    for (int gauge = 0; gauge < GAUGES; gauge++) {
        const float x = (float)gauge_x_m[gauge];
        probe[gauge] = (tarn_probe){.kind = TARN_PROBE_GAUGE, .points_m = {{x, 0.0f, z}, {x, top, z}}};
    }
    probe[PROBE_EDGE] = (tarn_probe){.kind = TARN_PROBE_POINT, .points_m = {{(float)length_m, (float)disc_edge_m, z}}};
    assert_int_equal(tarn_probes_create(t->tank, probe, PROBES, &probes), TARN_OK);
    return probes;
}

static void report_probes(double curve[PROBES][STEPS + 1], double dt_s)
{
    physics_within(PHYSICS_REQUIRED, "V5 probes: over 2 cm at x = 2.228 m",
                   time_over_s(curve[0], STEPS + 1, 0.02, dt_s), 0.40, 0.05, "s");
    physics_within(PHYSICS_REQUIRED, "V5 probes: over 2 cm at x = 2.725 m",
                   time_over_s(curve[1], STEPS + 1, 0.02, dt_s), 0.50, 0.05, "s");
    physics_within(PHYSICS_REQUIRED, "V5 probes: over 2 kPa at the wall, 0.115 m up",
                   time_over_s(curve[PROBE_EDGE], STEPS + 1, 2000.0, dt_s), 0.643, 0.05, "s");
    physics_within_percent(PHYSICS_REQUIRED, "V5 probes: pressure there from 0.85 s to 1.05 s",
                           mean_between(curve[PROBE_EDGE], 0.85, 1.05, dt_s), 3230.0, 10.0, "Pa");
}

void physics_gauges(void)
{
    const tarn_tank_desc desc = gauges_desc();
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    const size_t cells = (size_t)desc.cells[0] * desc.cells[1] * desc.cells[2];
    float *pressure = calloc(cells, sizeof *pressure);
    assert_non_null(pressure);
    double curve[GAUGES][STEPS + 1] = {{0.0}}, disc_pa[STEPS + 1] = {0.0}, disc_edge_pa[STEPS + 1] = {0.0};
    double probed[PROBES][STEPS + 1] = {{0.0}};
    tarn_probes *probes = open_probes(&t, &desc);
    for (int step = 1; step <= STEPS; step++) {
        tarn_probe_reading reading[PROBES];
        physics_steps(&t, 1);
        physics_particles_read(&t, &p);
        assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
        for (int i = 0; i < PROBES; i++) {
            probed[i][step] = i < GAUGES ? (double)reading[i].depth_m : (double)reading[i].pressure_pa;
        }
        for (int gauge = 0; gauge < GAUGES; gauge++) {
            curve[gauge][step] = depth_m(&p, gauge_x_m[gauge]);
        }
        assert_int_equal(tarn_tank_pressure(t.tank, pressure, cells), TARN_OK);
        disc_pa[step] = wall_pressure_pa(&t, pressure, disc_m);
        disc_edge_pa[step] = wall_pressure_pa(&t, pressure, disc_edge_m);
    }
    report_gauges(curve, (double)desc.dt_s);
    report_pressure(disc_pa, disc_edge_pa, (double)desc.dt_s);
    report_probes(probed, (double)desc.dt_s);
    tarn_probes_destroy(probes);
    free(pressure);
    physics_particles_close(&p);
    physics_close(&t);
}
