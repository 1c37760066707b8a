// Thick liquid beside walls, by the ways that its particles go.
//
// Poiseuille: a column falls in a shaft of 8 cells' width, its ends in the air, as fast as friction at the sides lets
// it: u = g x (H - x) / (2 nu). Compared in cells' widths from the side, in the middle of the column; the second shaft
// lies between plates that cut cells. One cell deep, so that nothing rubs in front and behind.
//
// Huppert 1982, "The propagation of two-dimensional and axisymmetric viscous gravity currents over a rigid horizontal
// surface": a volume q per width that spreads from a wall has its front at 1.411 (g q^3 / (3 nu))^(1/5) t^(1/5). The
// front is where 99.9 % of the particles are behind.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>

enum { SHAFT = 8, SHAFT_HEIGHT = 128, MIDDLE = 16 };

static const float cell_m = 0.03125f;

static tarn_tank_desc thick(uint16_t width, uint16_t height, float viscosity_m2_s)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = width;
    desc.cells[1] = height;
    desc.cells[2] = 1;
    desc.cell_m = cell_m;
    desc.liquids[0].viscosity_m2_s = viscosity_m2_s;
    desc.block_count = 1;
    return desc;
}

static void add_plate(tarn_tank_desc *desc, float from_cells, float to_cells)
{
    tarn_solid *plate = &desc->solids[desc->solid_count++];
    *plate = (tarn_solid){.shape.kind = TARN_SHAPE_BOX, .pose.rotation[3] = 1.0f};
    plate->shape.half_m[0] = 0.5f * (to_cells - from_cells) * cell_m;
    plate->shape.half_m[1] = plate->shape.half_m[2] = SHAFT_HEIGHT * cell_m;
    plate->pose.position_m[0] = 0.5f * (from_cells + to_cells) * cell_m;
}

/// Speed of the column, and of the parabola at the same places, by cell from the left side.
typedef struct shaft_profile {
    double speed[SHAFT], wanted[SHAFT];
} shaft_profile;

static void add_ways(shaft_profile *to, const physics_particles *now, const float *before_m, double left_cells,
                     double scale, double dt_s)
{
    double middle = 0.0;
    for (uint32_t i = 0; i < now->count; i++) {
        middle += (double)now->position_m[3 * i + 1] / now->count;
    }
    for (uint32_t i = 0; i < now->count; i++) {
        const double x = (double)(now->position_m[3 * i] / cell_m) - left_cells, y = (double)now->position_m[3 * i + 1];
        if (x > 0.0 && x < SHAFT && fabs(y - middle) < MIDDLE / 2.0 * (double)cell_m) {
            to->speed[(int)x] += ((double)before_m[3 * i + 1] - y) / dt_s;
            to->wanted[(int)x] += scale * x * (SHAFT - x);
        }
    }
}

/// @param plates_cells  how far into a cell the sides lie, or 0: the tank's walls
static shaft_profile fall_in_shaft(float plates_cells)
{
    const float nu = 0.125f, left = plates_cells > 0.0f ? 4.0f + plates_cells : 0.0f;
    const uint16_t width = plates_cells > 0.0f ? SHAFT + 8 : SHAFT;
    tarn_tank_desc desc = thick(width, SHAFT_HEIGHT, nu);
    desc.blocks[0] = (tarn_fluid_block){
        .min_m = {0.0f, 30.0f * cell_m, 0.0f},
        .max_m = {(float)width * cell_m, (SHAFT_HEIGHT - 2.0f) * cell_m, cell_m},
    };
    if (plates_cells > 0.0f) {
        add_plate(&desc, left - 16.0f, left);
        add_plate(&desc, left + SHAFT, left + SHAFT + 16.0f);
    }
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t), before = physics_particles_open(&t);
    shaft_profile sums = {{0}, {0}};
    const double scale = (double)(desc.parameters[TARN_PARAMETER_GRAVITY] * cell_m * cell_m / (2.0f * nu));
    physics_steps(&t, 20);
    for (int step = 0; step < 10; step++) {
        physics_particles_read(&t, &before);
        physics_steps(&t, 1);
        physics_particles_read(&t, &p);
        add_ways(&sums, &p, before.position_m, (double)left, scale, (double)desc.dt_s);
    }
    physics_particles_close(&p);
    physics_particles_close(&before);
    physics_close(&t);
    return sums;
}

static double rms_percent(const shaft_profile *sums)
{
    double square = 0.0, of = 0.0;
    for (int i = 0; i < SHAFT; i++) {
        square += pow(sums->speed[i] - sums->wanted[i], 2.0);
        of += pow(sums->wanted[i], 2.0);
    }
    return 100.0 * sqrt(square / of);
}

static void spread_over_floor(void)
{
    const float nu = 0.05f;
    tarn_tank_desc desc = thick(128, 20, nu);
    desc.blocks[0] = (tarn_fluid_block){.max_m = {24.0f * cell_m, 16.0f * cell_m, cell_m}};
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    const double q_m2 = p.count / 8.0 * (double)(cell_m * cell_m);
    physics_steps(&t, 600);
    physics_particles_read(&t, &p);
    const double front = physics_percentile_m(&p, 0, 99.9, 0, 1e9);
    physics_particles_close(&p);
    physics_close(&t);
    const double strength = (double)desc.parameters[TARN_PARAMETER_GRAVITY] * pow(q_m2, 3.0) / (3.0 * (double)nu);
    physics_within_percent(PHYSICS_REQUIRED, "viscous current on a floor: front after 10 s", front,
                           1.411 * pow(strength * 10.0, 0.2), 5.0, "m");
}

void physics_viscous(void)
{
    const shaft_profile walls = fall_in_shaft(0.0f), plates = fall_in_shaft(0.25f);
    physics_at_most(PHYSICS_REQUIRED, "Poiseuille, 8 cells between walls: RMS of the profile", rms_percent(&walls), 2.0,
                    "%");
    physics_at_most(PHYSICS_REQUIRED, "Poiseuille, 8 cells between plates off the grid: RMS", rms_percent(&plates), 2.0,
                    "%");
    physics_within_percent(PHYSICS_REPORTED, "Poiseuille: speed of the cell at the wall, over the parabola's",
                           walls.speed[0] / walls.wanted[0], 1.0, 2.0, "");
    spread_over_floor();
}
