// Probes: what they say of liquids whose pressure, depth, velocity and flux are known, and that they change nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

#include "kernels/probe.h"
#include "kernels/smoke_parameters.h"
#include "kernels/step_input.h"
#include "tests/tank/busy_tank.h"
#include "tests/tank/plain_tank.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double g = 9.81;

static void within(const char *what, double value, double wanted, double bound)
{
    if (!(fabs(value - wanted) <= bound)) {
        fail_msg("%s: %g instead of %g +- %g", what, value, wanted, bound);
    }
}

static tarn_probe point_at(float x, float y, float z)
{
    return (tarn_probe){.kind = TARN_PROBE_POINT, .points_m = {{x, y, z}}};
}

static tarn_probe gauge_at(float x, float z, float top)
{
    return (tarn_probe){.kind = TARN_PROBE_GAUGE, .points_m = {{x, 0.0f, z}, {x, top, z}}};
}

static tarn_probes *open_probes(tarn_tank *tank, const tarn_probe *probe, uint32_t count)
{
    tarn_probes *probes = NULL;
    for (uint32_t i = 0; i < count; i++) {
        char why[256] = "";
        if (tarn_probe_check(tarn_tank_desc_of(tank), &probe[i], why, sizeof why) != TARN_OK) {
            fail_msg("probe %u: %s", i, why);
        }
    }
    assert_int_equal(tarn_probes_create(tank, probe, count, &probes), TARN_OK);
    return probes;
}

static void steps(tarn_tank *tank, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
}

/// Water at rest. @param depth_cells  of 24
static tarn_tank_desc rest_desc(double depth_cells)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[2] = 16;
    desc.cells[1] = 24;
    desc.cell_m = 1.0f / 32.0f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.5f, (float)depth_cells * desc.cell_m, 0.5f}};
    return desc;
}

enum { HEIGHTS = 9, PLACES = 3, GAUGE = HEIGHTS * PLACES, ABOVE, SLANTED, REST_PROBES };

static void check_rest(tarn_device *device, double depth_cells)
{
    static const float height_cells[HEIGHTS] = {0.0f, 0.3f, 1.0f, 2.75f, 5.5f, 8.0f, 9.9f, 12.0f, 14.6f};
    static const float place_m[PLACES][2] = {{0.25f, 0.25f}, {0.0f, 0.5f}, {0.01f, 0.3f}};
    const tarn_tank_desc desc = rest_desc(depth_cells);
    const double cell_m = (double)desc.cell_m;
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_probe probe[REST_PROBES];
    tarn_probe_reading reading[REST_PROBES];
    for (int i = 0; i < GAUGE; i++) {
        const float *at = place_m[i / HEIGHTS];
        probe[i] = point_at(at[0], height_cells[i % HEIGHTS] * desc.cell_m, at[1]);
    }
    probe[GAUGE] = gauge_at(0.21f, 0.33f, 0.75f);
    probe[ABOVE] = point_at(0.25f, (float)(depth_cells + 1.5) * desc.cell_m, 0.25f);
    probe[SLANTED] = (tarn_probe){.kind = TARN_PROBE_GAUGE, .points_m = {{0.1f, 0.75f, 0.1f}, {0.4f, 0.25f, 0.4f}}};
    tarn_probes *probes = open_probes(tank, probe, REST_PROBES);
    steps(tank, 120);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    for (int i = 0; i < GAUGE; i++) {
        const double wanted = depth_cells - (double)height_cells[i % HEIGHTS];
        const double head = (double)reading[i].pressure_pa / (1000.0 * g * cell_m);
        char what[64];
        snprintf(what, sizeof what, "head in cells at place %d, %g cells up", i / HEIGHTS,
                 (double)height_cells[i % HEIGHTS]);
        within(what, head, wanted, 0.1);
        within("share in the liquid", (double)reading[i].share, 1.0, 0.25);
        within("density of the liquid", (double)reading[i].density_kg_m3, 1000.0, 1e-3);
        for (int a = 0; a < 3; a++) {
            within("velocity at rest", (double)reading[i].velocity_m_s[a], 0.0, 0.02);
        }
    }
    within("depth by a gauge, cells", (double)reading[GAUGE].depth_m / cell_m, depth_cells, 0.1);
    within("surface by a gauge, cells", (double)reading[GAUGE].surface_m / cell_m, depth_cells, 0.2);
    assert_float_equal(reading[ABOVE].pressure_pa, 0.0f, 0.0f);
    assert_float_equal(reading[ABOVE].share, 0.0f, 0.0f);
    assert_float_equal(reading[ABOVE].density_kg_m3, 0.0f, 0.0f);
    const double length_m = sqrt(0.3 * 0.3 + 0.5 * 0.5 + 0.3 * 0.3);
    within("depth by a slanted gauge from above", (double)reading[SLANTED].depth_m,
           (depth_cells * cell_m - 0.25) / 0.5 * length_m, 0.2 * cell_m * length_m / 0.5);
    within("its surface is its end", (double)reading[SLANTED].surface_m, length_m, 1e-5);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
}

static void water_at_rest(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    check_rest(device, 16.0);
    check_rest(device, 16.5);
    tarn_device_destroy(device);
}

/// A block that flies without gravity.
static void water_that_moves(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = rest_desc(24.0);
    desc.gravity_direction[1] = -1.0f;
    desc.parameters[tarn_model_parameter_find(tarn_model_at(0), "gravity_m_s2")] = 0.0f;
    desc.cells[0] = 48;
    desc.blocks[0].min_m[0] = 0.25f;
    desc.blocks[0].max_m[0] = 1.0f;
    desc.blocks[0].max_m[1] = 0.375f;
    desc.blocks[0].velocity_m_s[0] = 0.5f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_probe probe[] = {
        point_at(0.6f, 0.2f, 0.25f),
        // across, all of it; the other way round; a part; beside; along
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.6f, 0.0f, 0.0f}, {0.6f, 0.75f, 0.0f}, {0.6f, 0.0f, 0.5f}}},
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.6f, 0.0f, 0.0f}, {0.6f, 0.0f, 0.5f}, {0.6f, 0.75f, 0.0f}}},
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.6f, 0.1f, 0.1f}, {0.6f, 0.2f, 0.1f}, {0.6f, 0.1f, 0.3f}}},
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.6f, 0.45f, 0.0f}, {0.6f, 0.75f, 0.0f}, {0.6f, 0.45f, 0.5f}}},
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.3f, 0.2f, 0.0f}, {0.3f, 0.2f, 0.5f}, {0.9f, 0.2f, 0.0f}}},
        // half as much through one that is turned by 60 degrees, of twice the width
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.6f, 0.1f, 0.1f}, {0.6f, 0.2f, 0.1f}, {0.77320508f, 0.1f, 0.2f}}},
    };
    enum { COUNT = sizeof probe / sizeof probe[0] };
    tarn_probe_reading reading[COUNT];
    tarn_probes *probes = open_probes(tank, probe, COUNT);
    steps(tank, 6);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    within("velocity", (double)reading[0].velocity_m_s[0], 0.5, 0.01);
    within("velocity up", (double)reading[0].velocity_m_s[1], 0.0, 0.01);
    const double whole = 0.5 * 0.375 * 0.5, part = 0.5 * 0.1 * 0.2;
    within("flux", (double)reading[1].flux_m3_s, whole, 0.02 * whole);
    within("flux the other way", (double)reading[2].flux_m3_s, -whole, 0.02 * whole);
    within("flux through a part", (double)reading[3].flux_m3_s, part, 0.08 * part);
    within("flux over the block", (double)reading[4].flux_m3_s, 0.0, 0.001 * whole);
    within("flux along the block", (double)reading[5].flux_m3_s, 0.0, 0.02 * whole);
    within("flux through a turned one", (double)reading[6].flux_m3_s, 0.5 * part, 0.08 * part);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// From corner to corner of a full tank of many tiles, as it is at the start: nothing is passed by.
static void far_across(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 64;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {2.0f, 1.0f, 1.0f}, .velocity_m_s = {1.0f}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_probe probe[] = {
        {.kind = TARN_PROBE_GAUGE, .points_m = {{0.0f, 0.0f, 0.0f}, {2.0f, 1.0f, 1.0f}}},
        {.kind = TARN_PROBE_GAUGE, .points_m = {{2.0f, 0.05f, 1.0f}, {0.0f, 1.0f, 0.0f}}},
        {.kind = TARN_PROBE_GAUGE, .points_m = {{0.0f, 0.4f, 0.1f}, {2.0f, 0.4f, 0.1f}}},
        {.kind = TARN_PROBE_FLUX, .points_m = {{0.0f, 0.0f, 0.0f}, {2.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}}},
    };
    tarn_probe_reading reading[4];
    tarn_probes *probes = open_probes(tank, probe, 4);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    within("depth from corner to corner", (double)reading[0].depth_m, sqrt(6.0), 0.005 * sqrt(6.0));
    within("surface from corner to corner", (double)reading[0].surface_m, sqrt(6.0), 1e-5);
    within("depth the other way", (double)reading[1].depth_m, sqrt(5.0 + 0.95 * 0.95), 0.013);
    within("depth along", (double)reading[2].depth_m, 2.0, 0.01);
    within("flux through a slanted rectangle", (double)reading[3].flux_m3_s, 1.0, 0.02);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// Two layers of different density, the upper one half as heavy.
static void two_liquids(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc = rest_desc(8.0);
    desc.liquid_count = 2;
    desc.liquids[1] = desc.liquids[0];
    desc.liquids[1].density_kg_m3 = 500.0f;
    desc.block_count = 2;
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.0f, 0.25f, 0.0f}, .max_m = {0.5f, 0.5f, 0.5f}, .liquid = 1};
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_probe probe[] = {point_at(0.25f, 0.125f, 0.25f), point_at(0.25f, 0.375f, 0.25f)};
    tarn_probe_reading reading[2];
    tarn_probes *probes = open_probes(tank, probe, 2);
    steps(tank, 60);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    within("heavy below", (double)reading[0].density_kg_m3, 1000.0, 20.0);
    within("light above", (double)reading[1].density_kg_m3, 500.0, 20.0);
    within("pressure below", (double)reading[0].pressure_pa, g * (500.0 * 0.25 + 1000.0 * 0.125), 40.0);
    within("pressure above", (double)reading[1].pressure_pa, g * 500.0 * 0.125, 20.0);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// -------------------------------------------------------------------------------------------------------------- waves

/// When a curve first rises over a threshold, linear between its samples.
static double time_over_s(const double *curve, int count, double threshold, double dt_s)
{
    for (int i = 1; i < count; i++) {
        if (curve[i] > threshold && curve[i - 1] <= threshold) {
            return dt_s * (i + (threshold - curve[i - 1]) / (curve[i] - curve[i - 1]));
        }
    }
    return NAN;
}

/// The dam break of Zhou et al. 1999 as a flat slice: tests/physics has it in cells of three dimensions.
static void a_dam_breaks(void **state)
{
    (void)state;
    enum { STEPS = 36 };
    tarn_device *device = plain_tank_device(1, NULL);
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 128;
    desc.cells[1] = 80;
    desc.cells[2] = 1;
    desc.cell_m = 3.22f / 128.0f;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {1.2f, 0.6f, desc.cell_m}};
    tarn_tank *tank = plain_tank_open(device, &desc);
    const float z = 0.5f * desc.cell_m;
    const tarn_probe probe[] = {gauge_at(2.228f, z, 2.0f), gauge_at(2.725f, z, 2.0f)};
    tarn_probes *probes = open_probes(tank, probe, 2);
    double curve[2][STEPS] = {{0.0}};
    for (int step = 0; step < STEPS; step++) {
        tarn_probe_reading reading[2];
        steps(tank, 1);
        assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
        curve[0][step] = (double)reading[0].depth_m;
        curve[1][step] = (double)reading[1].depth_m;
    }
    within("over 2 cm at 2.228 m, s", time_over_s(curve[0], STEPS, 0.02, 1.0 / 60.0), 0.40, 0.05);
    within("over 2 cm at 2.725 m, s", time_over_s(curve[1], STEPS, 0.02, 1.0 / 60.0), 0.50, 0.05);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

enum { DEEP = 16, HIGH = 4, COLUMNS = 62, WIDE = 4, CREST = 150, WAVE_STEPS = 130, WAVE_GAUGES = 2 };

/// A solitary wave in columns of liquid with its velocities (Boussinesq; Rayleigh).
static tarn_tank_desc wave_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 480;
    desc.cells[1] = 32;
    desc.cells[2] = 1;
    desc.cell_m = 1.0f / 64.0f;
    const float cell = desc.cell_m, first = CREST - 0.5f * COLUMNS * WIDE, end = first + COLUMNS * WIDE;
    const double share = (double)HIGH / DEEP, sharp = sqrt(0.75 * share) / DEEP;
    const double speed = sqrt(g * (double)cell * (DEEP + HIGH));
    desc.blocks[0] = (tarn_fluid_block){.max_m = {first * cell, DEEP * cell, cell}};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {end * cell, 0.0f, 0.0f}, .max_m = {480.0f * cell, DEEP * cell, cell}};
    for (int i = 0; i < COLUMNS; i++) {
        const double x = (double)first + (i + 0.5) * WIDE - CREST, crest = 1.0 / cosh(sharp * x);
        const double rise = HIGH * crest * crest;
        const float low = (first + (float)(i * WIDE)) * cell;
        desc.blocks[2 + i] = (tarn_fluid_block){.min_m = {low, 0.0f, 0.0f},
                                                .max_m = {low + WIDE * cell, (float)(DEEP + rise) * cell, cell}};
        desc.blocks[2 + i].velocity_m_s[0] = (float)(speed * rise / (DEEP + rise));
    }
    desc.block_count = 2 + COLUMNS;
    return desc;
}

/// When the upper half of a wave has its middle, in steps. @param high  its height
static double middle_of(const double *curve, double still, double *high)
{
    double sum = 0.0, weighted = 0.0;
    *high = 0.0;
    for (int i = 0; i < WAVE_STEPS; i++) {
        *high = fmax(*high, curve[i] - still);
    }
    for (int i = 0; i < WAVE_STEPS; i++) {
        const double above = fmax(curve[i] - still - 0.5 * *high, 0.0);
        sum += above;
        weighted += above * (i + 1);
    }
    return weighted / sum;
}

static void a_wave_goes_by(void **state)
{
    (void)state;
    static const float gauge_cells[WAVE_GAUGES] = {230.0f, 330.0f};
    static double curve[WAVE_GAUGES][WAVE_STEPS];
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = wave_desc();
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_probe probe[WAVE_GAUGES];
    for (int i = 0; i < WAVE_GAUGES; i++) {
        probe[i] = gauge_at(gauge_cells[i] * desc.cell_m, 0.5f * desc.cell_m, 0.5f);
    }
    tarn_probes *probes = open_probes(tank, probe, WAVE_GAUGES);
    for (int step = 0; step < WAVE_STEPS; step++) {
        tarn_probe_reading reading[WAVE_GAUGES];
        steps(tank, 1);
        assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
        for (int i = 0; i < WAVE_GAUGES; i++) {
            curve[i][step] = (double)reading[i].depth_m;
        }
    }
    const double still_m = DEEP * (double)desc.cell_m;
    double high_m[WAVE_GAUGES], at[WAVE_GAUGES];
    for (int i = 0; i < WAVE_GAUGES; i++) {
        at[i] = middle_of(curve[i], still_m, &high_m[i]);
    }
    const double speed = (double)(gauge_cells[1] - gauge_cells[0]) * (double)desc.cell_m / ((at[1] - at[0]) / 60.0);
    const double wanted = sqrt(g * (still_m + 0.5 * (high_m[0] + high_m[1])));
    within("speed of a solitary wave over that of its height", speed / wanted, 1.0, 0.02);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// -------------------------------------------------------------------------------------------------------------- smoke

/// Warm air that rises: the grid's velocity, and what particles carry.
static void smoke_rises(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_model *smoke = tarn_model_find("smoke");
    tarn_tank_desc desc;
    tarn_tank_desc_default_of(&desc, smoke);
    desc.cells[0] = desc.cells[1] = desc.cells[2] = 24;
    desc.block_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.min_m = {0.25f, 0.125f, 0.25f}, .max_m = {0.5f, 0.375f, 0.5f}};
    desc.blocks[0].carried[TARN_SMOKE_HEAT] = 50.0f;
    desc.blocks[0].carried[TARN_SMOKE_SMOKE] = 0.8f;
    tarn_tank *tank = plain_tank_open(device, &desc);
    const tarn_probe probe[] = {point_at(0.375f, 0.25f, 0.375f), point_at(0.1f, 0.6f, 0.1f),
                                gauge_at(0.3f, 0.3f, 0.5f)};
    char why[256];
    assert_int_equal(tarn_probe_check(&desc, &probe[2], why, sizeof why), TARN_E_ARGUMENT);
    assert_non_null(strstr(why, "smoke fills its tank"));
    tarn_probe_reading reading[2];
    tarn_probes *probes = open_probes(tank, probe, 2);
    steps(tank, 4);
    assert_int_equal(tarn_probes_read(probes, reading), TARN_OK);
    within("heat", (double)reading[0].carried[TARN_SMOKE_HEAT], 50.0, 5.0);
    within("smoke", (double)reading[0].carried[TARN_SMOKE_SMOKE], 0.8, 0.08);
    within("no smoke", (double)reading[1].carried[TARN_SMOKE_SMOKE], 0.0, 0.0);
    within("all is air", (double)reading[1].share, 1.0, 0.0);
    // Of the grid's velocity the mean over some tenths of a second; particles have it, too.
    float positions[3 * 8192], velocities[3 * 8192];
    uint32_t count = 0;
    assert_int_equal(tarn_tank_particles(tank, positions, velocities, NULL, 8192, &count), TARN_OK);
    double sum = 0.0, near = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const float *x = positions + 3 * (size_t)i;
        if (fabsf(x[0] - 0.375f) + fabsf(x[1] - 0.25f) + fabsf(x[2] - 0.375f) < desc.cell_m) {
            sum += (double)velocities[3 * (size_t)i + 1];
            near += 1.0;
        }
    }
    assert_true(near >= 4.0 && sum / near > 0.02);
    within("speed upwards", (double)reading[0].velocity_m_s[1], sum / near, 0.1 * sum / near);
    tarn_probes_destroy(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

// --------------------------------------------------------------------------------------------------------------- bits

enum { BUSY_PROBES = TARN_PROBES_MAX };

static void busy_probes(const tarn_tank_desc *desc, tarn_probe *probe)
{
    const float x = (float)desc->cells[0] * desc->cell_m, y = (float)desc->cells[1] * desc->cell_m,
                z = (float)desc->cells[2] * desc->cell_m;
    for (int i = 0; i < BUSY_PROBES; i++) {
        const float t = (float)i / (BUSY_PROBES - 1), u = (float)(i * 7 % BUSY_PROBES) / (BUSY_PROBES - 1);
        if (i % 5 == 0) {
            probe[i] = point_at(t * x, 0.5f * u * y, u * z);
        } else if (i % 5 == 1) {
            probe[i] = (tarn_probe){.kind = TARN_PROBE_GAUGE, .points_m = {{t * x, 0.0f, u * z}, {u * x, y, t * z}}};
        } else if (i % 5 == 2) {
            probe[i] = (tarn_probe){.kind = TARN_PROBE_FLUX,
                                    .points_m = {{t * x, 0.0f, 0.0f}, {t * x, y, 0.0f}, {t * x, 0.0f, z}}};
        } else if (i % 5 == 3) {
            probe[i] = (tarn_probe){.kind = TARN_PROBE_WALL,
                                    .points_m = {{0.0f, 0.0f, 0.0f}, {0.0f, t * y, 0.0f}, {0.0f, 0.0f, u * z + 0.1f}}};
            probe[i].points_m[2][2] = fminf(probe[i].points_m[2][2], z);
        } else {
            probe[i] = (tarn_probe){.kind = TARN_PROBE_FORCE, .solid = (uint32_t)i / 5 % 2};
        }
    }
}

/// On every instruction set and for any number of threads they say the same, and tanks go on as if nobody had looked.
static void nothing_changes(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads;
        const char *isa;
    } devices[] = {{2, NULL}, {1, "v2"}, {3, "v3"}, {2, "v4"}};
    tarn_probe probe[BUSY_PROBES];
    tarn_probe_reading wanted[BUSY_PROBES], reading[BUSY_PROBES];
    tarn_tank_hash hash[2];
    tarn_tank_desc desc;
    busy_tank_desc(&desc);
    busy_probes(&desc, probe);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        tarn_device *device = plain_tank_device(devices[i].threads, devices[i].isa);
        if (device == NULL) {
            print_message("skipped: this machine has no %s\n", devices[i].isa);
            continue;
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        tarn_probes *probes = i > 0 ? open_probes(tank, probe, BUSY_PROBES) : NULL;
        for (int step = 0; step < 12; step++) {
            busy_tank_steps(tank, 1);
            assert_int_equal(i > 0 ? tarn_probes_read(probes, reading) : TARN_OK, TARN_OK);
        }
        hash[i > 0] = plain_tank_hash(tank);
        if (i == 0) {
            probes = open_probes(tank, probe, BUSY_PROBES);
            assert_int_equal(tarn_probes_read(probes, wanted), TARN_OK);
        } else {
            assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
            assert_memory_equal(wanted, reading, sizeof wanted);
        }
        tarn_probes_destroy(probes);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    bool is_some[5] = {false, false, false, false, false};
    for (int i = 0; i < BUSY_PROBES; i++) {
        is_some[0] |= wanted[i].pressure_pa > 0.0f;
        is_some[1] |= wanted[i].depth_m > 0.0f;
        is_some[2] |= wanted[i].flux_m3_s != 0.0f;
        is_some[3] |= probe[i].kind == TARN_PROBE_WALL && wanted[i].force_n[0] < 0.0f;
        is_some[4] |= probe[i].kind == TARN_PROBE_FORCE && probe[i].solid == 0 && wanted[i].force_n[1] != 0.0f;
    }
    assert_true(is_some[0] && is_some[1] && is_some[2] && is_some[3] && is_some[4]);
}

static void says(const tarn_tank_desc *desc, tarn_probe probe, const char *what)
{
    char why[256] = "";
    assert_int_equal(tarn_probe_check(desc, &probe, why, sizeof why), TARN_E_ARGUMENT);
    if (strstr(why, what) == NULL) {
        fail_msg("\"%s\" doesn't say \"%s\"", why, what);
    }
}

static void bad_ones_are_refused(void **state)
{
    (void)state;
    tarn_device *device = plain_tank_device(1, NULL);
    const tarn_tank_desc desc = rest_desc(4.0);
    says(&desc, point_at(0.1f, 0.8f, 0.1f), "y is 0.8 m; allowed is 0 to 0.75");
    says(&desc, point_at(NAN, 0.1f, 0.1f), "x is nan m");
    says(&desc, gauge_at(0.1f, -0.1f, 0.5f), "z is -0.1 m; allowed is 0 to 0.5");
    says(&desc, gauge_at(0.1f, 0.1f, 0.0f), "0 m long");
    says(
        &desc,
        (tarn_probe){.kind = TARN_PROBE_FLUX, .points_m = {{0.1f, 0.1f, 0.1f}, {0.1f, 0.1f, 0.1f}, {0.2f, 0.1f, 0.1f}}},
        "sides");
    says(
        &desc,
        (tarn_probe){.kind = TARN_PROBE_FLUX, .points_m = {{0.1f, 0.1f, 0.1f}, {0.2f, 0.2f, 0.1f}, {0.2f, 0.1f, 0.1f}}},
        "right angle");
    says(&desc, (tarn_probe){.kind = (tarn_probe_kind)7}, "the kind is 7");
    tarn_tank *tank = plain_tank_open(device, &desc);
    tarn_probe probe[TARN_PROBES_MAX + 1];
    tarn_probes *probes = NULL;
    for (int i = 0; i <= TARN_PROBES_MAX; i++) {
        probe[i] = point_at(0.1f, 0.1f, 0.1f);
    }
    assert_int_equal(tarn_probes_create(tank, probe, 0, &probes), TARN_E_ARGUMENT);
    assert_int_equal(tarn_probes_create(tank, probe, TARN_PROBES_MAX + 1, &probes), TARN_E_LIMIT);
    probe[1].points_m[0][2] = 9.0f;
    assert_int_equal(tarn_probes_create(tank, probe, 2, &probes), TARN_E_ARGUMENT);
    assert_null(probes);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(water_at_rest), cmocka_unit_test(water_that_moves), cmocka_unit_test(two_liquids),
        cmocka_unit_test(far_across),    cmocka_unit_test(a_dam_breaks),     cmocka_unit_test(a_wave_goes_by),
        cmocka_unit_test(smoke_rises),   cmocka_unit_test(nothing_changes),  cmocka_unit_test(bad_ones_are_refused),
    };
    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
