// A dam that breaks over still water: Stoker 1957 (Water Waves, section 10.8), from the shallow water equations.
// Between the fan that runs back into the reservoir and the bore that runs ahead there is a plateau, of one depth and
// one speed. With depths c^2 / g and the bore's speed s,
//
//     u = 2 (c0 - c),   s (h - h1) = u h,   s^2 = g h (h + h1) / (2 h1)
//
// Depths are counted in particles, column by column. The plateau is measured in the half of it around its middle.
#include "tests/physics/physics.h"

#include <math.h>

enum { DEEP = 32, SHALLOW = 8, LENGTH = 20 * DEEP, DAM = 9 * DEEP, SAMPLES = 9 };

static const double g = 9.81;

/// The plateau, in units of the reservoir's depth and sqrt(g x that depth).
typedef struct plateau {
    double depth, speed, bore;
} plateau;

static plateau stoker(double still)
{
    double low = still, high = 1.0;
    plateau p = {0.0, 0.0, 0.0};
    for (int i = 0; i < 60; i++) {
        p.depth = 0.5 * (low + high);
        p.speed = 2.0 * (1.0 - sqrt(p.depth));
        p.bore = sqrt(0.5 * p.depth * (p.depth + still) / still);
        if (p.bore * (p.depth - still) > p.speed * p.depth) {
            high = p.depth;
        } else {
            low = p.depth;
        }
    }
    return p;
}

static tarn_tank_desc wet_bed_desc(void)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = desc.cell_m;
    desc.cells[0] = LENGTH;
    desc.cells[1] = DEEP + 8;
    desc.cells[2] = 1;
    desc.block_count = 2;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {DAM * c, DEEP * c, c}};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {DAM * c, 0.0f, 0.0f}, .max_m = {LENGTH * c, SHALLOW * c, c}};
    return desc;
}

/// Depth of each column of cells, over the reservoir's, and its mean velocity, m/s.
static void measure_columns(const physics_particles *p, double cell_m, double *depth, double *velocity)
{
    for (int x = 0; x < LENGTH; x++) {
        depth[x] = velocity[x] = 0.0;
    }
    for (size_t i = 0; i < p->count; i++) {
        const int x = (int)((double)p->position_m[3 * i] / cell_m);
        depth[x] += 1.0;
        velocity[x] += (double)p->velocity_m_s[3 * i];
    }
    for (int x = 0; x < LENGTH; x++) {
        velocity[x] /= fmax(depth[x], 1.0);
        depth[x] /= 8.0 * DEEP;
    }
}

/// Where a bore of the plateau's depth would be for what water has come past the dam, in reservoir depths from it: the
/// real one breaks, and where its front is seen swings by a third of such a depth.
static double front_of(const double *depth, double plateau_depth)
{
    const double still = (double)SHALLOW / DEEP;
    double more = 0.0;
    for (int x = DAM; x < LENGTH; x++) {
        more += (depth[x] - still) / DEEP;
    }
    return more / (plateau_depth - still);
}

static double mean_between(const double *of, double from, double to)
{
    const int first = DAM + (int)(from * DEEP), end = DAM + (int)(to * DEEP);
    double sum = 0.0;
    for (int x = first; x < end; x++) {
        sum += of[x];
    }
    return sum / (end - first);
}

void physics_wet_bed(void)
{
    static double depth[LENGTH], velocity[LENGTH];
    const tarn_tank_desc desc = wet_bed_desc();
    const double cell_m = (double)desc.cell_m, deep_m = DEEP * cell_m, unit_s = sqrt(deep_m / g);
    const plateau p = stoker((double)SHALLOW / DEEP);
    physics_tank t = physics_open(&desc);
    physics_particles particles = physics_particles_open(&t);
    double time[SAMPLES], front[SAMPLES], mean_depth = 0.0, mean_speed = 0.0;
    for (int i = 0; i < SAMPLES; i++) { // from 4 sqrt(h0 / g) to 8
        const uint32_t step = (uint32_t)((4.0 + 0.5 * i) * unit_s / (double)desc.dt_s);
        physics_steps(&t, step - (uint32_t)physics_report(&t).step);
        physics_particles_read(&t, &particles);
        measure_columns(&particles, cell_m, depth, velocity);
        time[i] = step * (double)desc.dt_s / unit_s;
        front[i] = front_of(depth, p.depth);
        const double from = (p.speed - sqrt(p.depth)) * time[i], to = p.bore * time[i], edge = 0.25 * (to - from);
        mean_depth += mean_between(depth, from + edge, to - edge) / SAMPLES;
        mean_speed += mean_between(velocity, from + edge, to - edge) / SAMPLES;
    }
    physics_within_percent(PHYSICS_REQUIRED, "wet bed: depth of the plateau, over the reservoir's", mean_depth, p.depth,
                           5.0, "");
    physics_within_percent(PHYSICS_REQUIRED, "wet bed: speed of the plateau", mean_speed, p.speed * sqrt(g * deep_m),
                           5.0, "m/s");
    physics_within_percent(PHYSICS_REQUIRED, "wet bed: speed of the bore",
                           physics_slope(time, front, SAMPLES) * sqrt(g * deep_m), p.bore * sqrt(g * deep_m), 5.0,
                           "m/s");
    physics_particles_close(&particles);
    physics_close(&t);
}
