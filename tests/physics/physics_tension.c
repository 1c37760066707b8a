// Surface tension: a ball that floats stays at rest, with the pressure inside that Laplace's law asks for; one that is
// drawn out swings with Rayleigh's period; a cube, and a square in a tank one cell deep, become round, and what they
// have of energy, of motion and of surface, never grows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

enum { EDGE = 32, CELLS = EDGE * EDGE * EDGE, BALL_STEPS = 300, EDGED_STEPS = 720, SAMPLE_STEPS = 4 };

static const double pi = 3.14159265358979323846;
static const double tension_n_m = 0.7, density_kg_m3 = 1000.0, radius_cells = 8.0;

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
    for (size_t a = 0; a < 3; a++) {
        sum += pow((double)p->position_m[3 * (size_t)particle + a] - center_m[a], 2.0);
    }
    return sqrt(sum) / cell_m;
}

/// Mean pressure over density in the cells within half the ball's radius.
static double inner_pressure_m2_s2(physics_tank *t, const double *center_m, double cell_m)
{
    static float pressure[CELLS];
    assert_int_equal(tarn_tank_pressure(t->tank, pressure, CELLS), TARN_OK);
    double sum = 0.0;
    int count = 0;
    for (int z = 0; z < EDGE; z++) {
        for (int y = 0; y < EDGE; y++) {
            for (int x = 0; x < EDGE; x++) {
                const double d[3] = {x + 0.5 - center_m[0] / cell_m, y + 0.5 - center_m[1] / cell_m,
                                     z + 0.5 - center_m[2] / cell_m};
                if (sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) > 0.5 * radius_cells) {
                    continue;
                }
                sum += (double)pressure[(z * EDGE + y) * EDGE + x];
                count++;
            }
        }
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
        if (step <= BALL_STEPS / 2) {
            continue;
        }
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
    for (int a = 0; a < 3; a++) {
        drift = fmax(drift, fabs(after.center_m[a] - before.center_m[a]) / cell_m);
    }
    physics_at_most(PHYSICS_REQUIRED, "surface tension: drift of a ball in 5 s", drift, 1.0, "cells");
    physics_close(&t);
}

enum { DROP_NODES = 48, DROP_TURNS_MAX = 8 };
static const double drop_radius_cells = 10.0, drop_stretch = 0.1;

/// The ball r = R (1 + stretch P2(cos a)) of an axis along x, as a field around its middle whose sign alone counts.
static tarn_distance_field drop_field(double radius_m)
{
    const double reach_m = 1.3 * radius_m, spacing_m = 2.0 * reach_m / (DROP_NODES - 1);
    const tarn_distance_field field = {.nodes = {DROP_NODES, DROP_NODES, DROP_NODES},
                                       .spacing_m = (float)spacing_m,
                                       .min_m = {(float)-reach_m, (float)-reach_m, (float)-reach_m},
                                       .distance_m = malloc(sizeof(float) * DROP_NODES * DROP_NODES * DROP_NODES)};
    assert_non_null(field.distance_m);
    for (int i = 0; i < DROP_NODES * DROP_NODES * DROP_NODES; i++) {
        const double x = i % DROP_NODES * spacing_m - reach_m, y = i / DROP_NODES % DROP_NODES * spacing_m - reach_m,
                     z = i / (DROP_NODES * DROP_NODES) * spacing_m - reach_m;
        const double r = sqrt(x * x + y * y + z * z), cosine = x / r;
        field.distance_m[i] = (float)(r - radius_m * (1.0 + drop_stretch * 0.5 * (3.0 * cosine * cosine - 1.0)));
    }
    return field;
}

/// By how much the drop is longer along x than across: what of the particles' variance x has more, over all of it.
static double drop_length(const physics_particles *p, const double *center_m)
{
    double sum[3] = {0.0};
    for (uint32_t i = 0; i < p->count; i++) {
        for (size_t a = 0; a < 3; a++) {
            sum[a] += pow((double)p->position_m[3 * (size_t)i + a] - center_m[a], 2.0);
        }
    }
    return (sum[0] - 0.5 * (sum[1] + sum[2])) / (sum[0] + sum[1] + sum[2]);
}

/// Where the drop's length passes 0, in steps, and how far it went in the half periods between, the first a quarter.
typedef struct drop_swing {
    double turn[DROP_TURNS_MAX], most[DROP_TURNS_MAX];
    int turns;
} drop_swing;

static drop_swing watch_drop(physics_tank *t, int steps)
{
    drop_swing swing = {0};
    physics_particles p = physics_particles_open(t);
    double before = 0.0;
    for (int step = 0; step <= steps && swing.turns < DROP_TURNS_MAX; step++) {
        physics_steps(t, step > 0);
        physics_particles_read(t, &p);
        const double length = drop_length(&p, physics_report(t).center_m);
        if (length * before < 0.0) {
            swing.turn[swing.turns++] = step - length / (length - before);
        } else {
            swing.most[swing.turns] = fmax(swing.most[swing.turns], fabs(length));
        }
        before = length;
    }
    physics_particles_close(&p);
    return swing;
}

/// Lowest mode of a drop: omega^2 = 8 T / (rho R^3) (Rayleigh 1879).
static void measure_drop(void)
{
    tarn_tank_desc desc = floating_desc();
    const float middle_m = 0.5f * EDGE * desc.cell_m;
    const double radius_m = drop_radius_cells * (double)desc.cell_m;
    const double period_s = 2.0 * pi / sqrt(8.0 * tension_n_m / (density_kg_m3 * pow(radius_m, 3.0)));
    desc.field_count = desc.fluid_count = 1;
    desc.fields[0] = drop_field(radius_m);
    desc.fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_FIELD, .half_m = {1.0f}};
    desc.fluids[0].pose = (tarn_pose){{middle_m, middle_m, middle_m}, {0, 0, 0, 1}};
    physics_tank t = physics_open(&desc);
    free(desc.fields[0].distance_m);
    const drop_swing swing = watch_drop(&t, (int)ceil(3.0 * period_s / (double)desc.dt_s));
    assert_true(swing.turns >= 5);
    const int last = swing.turns - 1;
    physics_within_percent(PHYSICS_REQUIRED, "surface tension: period of a drop of 10 cells radius",
                           (swing.turn[last] - swing.turn[0]) * 2.0 / last * (double)desc.dt_s, period_s, 5.0, "s");
    physics_at_most(PHYSICS_REQUIRED, "surface tension: what of its swing the drop loses a period",
                    1.0 - pow(swing.most[last] / swing.most[0], 2.0 / last), 0.15, "");
    physics_close(&t);
}

/// Full at 3/4 of the density at rest, empty at 1/4: noise inside the liquid has no area so.
static double fullness(const physics_particles *p, int x, int y, int z)
{
    return fmin(fmax(2.0 * ((double)p->density[(z * EDGE + y) * EDGE + x] - 0.25), 0.0), 1.0);
}

/// Area of the surface from the smoothed density, cells^2: the sum of the slopes of the fullness. In a tank one cell
/// deep it is the outline.
static double area_cells2(physics_tank *t, physics_particles *p)
{
    const int deep = tarn_tank_desc_of(t->tank)->cells[2];
    physics_volume_m3(t, p);
    double area = 0.0;
    for (int z = deep > 1; z + (deep > 1) < deep; z++) {
        for (int y = 1; y + 1 < EDGE; y++) {
            for (int x = 1; x + 1 < EDGE; x++) {
                const double dx = fullness(p, x + 1, y, z) - fullness(p, x - 1, y, z),
                             dy = fullness(p, x, y + 1, z) - fullness(p, x, y - 1, z),
                             dz = deep > 1 ? fullness(p, x, y, z + 1) - fullness(p, x, y, z - 1) : 0.0;
                area += 0.5 * sqrt(dx * dx + dy * dy + dz * dz);
            }
        }
    }
    return area;
}

/// Radius within which 99 % of the liquid is.
static double radius_of_99(physics_particles *p, const double *center_m, double cell_m)
{
    for (uint32_t i = 0; i < p->count; i++) {
        p->sorted[i] = (float)distance_cells(p, i, center_m, cell_m);
    }
    double low = 0.0, high = EDGE;
    while (high - low > 1e-4) {
        const double middle = 0.5 * (low + high);
        uint32_t inside = 0;
        for (uint32_t i = 0; i < p->count; i++) {
            inside += (double)p->sorted[i] < middle;
        }
        if (inside * 100.0 < p->count * 99.0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/// What gets round, with what is known of it.
typedef struct edged_shape {
    uint16_t deep_cells;
    double half_cells;
    double area_cells2, round_cells2; ///< of its surface, and when it is round
    double volume_cells3, round_99_cells;
    physics_need calm; ///< of the motion in the end
    const char *names[4];
} edged_shape;

static edged_shape cube_shape(void)
{
    const double half = 6.0, ball = cbrt(pow(2.0 * half, 3.0) * 3.0 / (4.0 * pi));
    return (edged_shape){.deep_cells = EDGE,
                         .half_cells = half,
                         .area_cells2 = 24.0 * half * half,
                         .round_cells2 = 4.0 * pi * ball * ball,
                         .volume_cells3 = pow(2.0 * half, 3.0),
                         .round_99_cells = ball * cbrt(0.99),
                         .calm = PHYSICS_REQUIRED,
                         .names = {"surface tension: energy of a cube that gets round, over the first",
                                   "surface tension: its motion, over the surface's surplus energy",
                                   "surface tension: its motion in the end",
                                   "surface tension: its radius in the end, over a ball's"}};
}

static edged_shape square_shape(void)
{
    const double half = 7.5, disc = 2.0 * half / sqrt(pi);
    return (edged_shape){.deep_cells = 1,
                         .half_cells = half,
                         .area_cells2 = 8.0 * half,
                         .round_cells2 = 2.0 * pi * disc,
                         .volume_cells3 = pow(2.0 * half, 2.0),
                         .round_99_cells = disc * sqrt(0.99),
                         .calm = PHYSICS_REPORTED, // a square has less of a surplus for as much noise
                         .names = {"surface tension, one cell deep: energy of a square, over the first",
                                   "surface tension, one cell deep: its motion, over the surplus energy",
                                   "surface tension, one cell deep: its motion in the end",
                                   "surface tension, one cell deep: its radius in the end, over a disc's"}};
}

static tarn_tank_desc edged_desc(const edged_shape *shape)
{
    tarn_tank_desc desc = floating_desc();
    desc.cells[2] = shape->deep_cells;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].min_m[a] = (float)(0.5 * EDGE - shape->half_cells) * desc.cell_m;
        desc.blocks[0].max_m[a] = (float)(0.5 * EDGE + shape->half_cells) * desc.cell_m;
    }
    if (shape->deep_cells == 1) {
        desc.blocks[0].min_m[2] = 0.0f;
        desc.blocks[0].max_m[2] = desc.cell_m;
    }
    return desc;
}

static void measure_edged(const edged_shape *shape)
{
    const tarn_tank_desc desc = edged_desc(shape);
    const double cell_m = (double)desc.cell_m;
    const double per_area = tension_n_m / (density_kg_m3 * shape->volume_cells3 * cell_m); // J/kg of a cell's area
    const double surplus = (shape->area_cells2 - shape->round_cells2) * per_area;
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    double total_max = 0.0, kinetic_max = 0.0, kinetic = 0.0;
    for (int step = SAMPLE_STEPS; step <= EDGED_STEPS; step += SAMPLE_STEPS) {
        physics_steps(&t, SAMPLE_STEPS);
        physics_particles_read(&t, &p);
        kinetic = physics_report(&t).kinetic_j_kg;
        kinetic_max = fmax(kinetic_max, kinetic);
        total_max = fmax(total_max, (area_cells2(&t, &p) + kinetic / per_area) / shape->area_cells2);
    }
    tarn_tank_report after = physics_report(&t);
    for (uint32_t i = 0; i < p.count && shape->deep_cells == 1; i++) {
        p.position_m[3 * i + 2] = (float)after.center_m[2]; // distances in the plane
    }
    physics_at_most(PHYSICS_REQUIRED, shape->names[0], total_max, 1.02, "");
    physics_at_most(PHYSICS_REQUIRED, shape->names[1], kinetic_max / surplus, 1.0, "");
    physics_at_most(shape->calm, shape->names[2], kinetic / surplus, 0.05, "");
    physics_within_percent(PHYSICS_REQUIRED, shape->names[3],
                           radius_of_99(&p, after.center_m, cell_m) / shape->round_99_cells, 1.0, 5.0, "");
    physics_particles_close(&p);
    physics_close(&t);
}

void physics_tension(void)
{
    const edged_shape cube = cube_shape(), square = square_shape();
    measure_ball();
    measure_drop();
    measure_edged(&cube);
    measure_edged(&square);
}
