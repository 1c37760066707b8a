// V17: a box that floats in a narrow tank heaves with the liquid that it drives through the gap around it. With a level
// surface in the gap, which goes by A / G times as far as the box, A and G being their areas, its period is
//
//     T = 2 pi sqrt((m + m_added) / (rho g A (1 + A / G)))
//
// and the added mass is that of the potential flow, twice its kinetic energy over the square of the box's speed. That
// is solved for here, by successive over-relaxation on a grid twice as fine as the tank's.
//
// In a tank that isn't deeper than the box, films of liquid between it and the walls must not spoil the pressure.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/step_input.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <string.h>

/// Cells: at rest the box, half as dense as the liquid, is half immersed.
enum { BREADTH = 20, GAP = 6, DRAUGHT = 8, BELOW = 8, WIDTH = BREADTH + 2 * GAP, HEIGHT = 32 };
enum { AREA = BREADTH * BREADTH, GAP_AREA = WIDTH * WIDTH - AREA };
/// Of the grid for the potential, which has a quarter of the tank.
enum {
    FINE = 2,
    EDGE = FINE * WIDTH / 2,
    ROWS = FINE * (BELOW + DRAUGHT),
    UNDER = FINE * BELOW,
    BESIDE = FINE * BREADTH / 2
};
enum { ROUNDS = 400, STEPS_MAX = 400, CROSSINGS = 3 };

static const double pi = 3.14159265358979323846, g = 9.81, lift = 2.0, ratio = (double)AREA / GAP_AREA;

static bool is_liquid(const int *at)
{
    const bool inside = at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[0] < EDGE && at[1] < ROWS && at[2] < EDGE;
    return inside && (at[0] >= BESIDE || at[2] >= BESIDE || at[1] < UNDER);
}

/// What flows into a cell from above: off the box's bottom, which sinks by one, or out of the gap's surface.
static double inflow(const int *at)
{
    const bool is_under = at[0] < BESIDE && at[2] < BESIDE;
    return is_under && at[1] == UNDER - 1 ? 1.0 : !is_under && at[1] == ROWS - 1 ? -ratio : 0.0;
}

/// Goes over all cells once. @return the sum of potential times inflow
static double relax(double potential[EDGE][ROWS][EDGE])
{
    double product = 0.0;
    int at[3];
    for (at[0] = 0; at[0] < EDGE; at[0]++) {
        for (at[1] = 0; at[1] < ROWS; at[1]++) {
            for (at[2] = 0; at[2] < EDGE; at[2]++) {
                double *own = &potential[at[0]][at[1]][at[2]], sum = inflow(at);
                int links = 0;
                for (int side = 0; side < 6 && is_liquid(at); side++) {
                    int other[3] = {at[0], at[1], at[2]};
                    other[side / 2] += side % 2 == 0 ? -1 : 1;
                    if (is_liquid(other)) {
                        sum += potential[other[0]][other[1]][other[2]];
                        links++;
                    }
                }
                *own += links > 0 ? 1.9 * (sum / links - *own) : 0.0;
                product += *own * inflow(at);
            }
        }
    }
    return product;
}

/// Added mass over the liquid's density, in cells^3.
static double added_mass(void)
{
    static double potential[EDGE][ROWS][EDGE];
    double product = 0.0;
    for (int i = 0; i < ROUNDS; i++) {
        product = relax(potential);
    }
    return 4.0 * product / (FINE * FINE * FINE);
}

/// The tank reaches `depth` cells from front to back, and the box across all of it that is no deeper than the box.
static tarn_tank_desc heave_desc(uint16_t depth)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = desc.cell_m, half_z = 0.5f * (float)(depth < BREADTH ? depth : BREADTH);
    desc.cells[0] = WIDTH;
    desc.cells[1] = HEIGHT;
    desc.cells[2] = depth;
    desc.block_count = desc.solid_count = 1;
    const float level = (float)(BELOW + DRAUGHT - lift * ratio) * c;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {WIDTH * c, level, (float)depth * c}};
    tarn_solid *box = &desc.solids[0];
    memset(box, 0, sizeof *box);
    box->shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {0.5f * BREADTH * c, DRAUGHT * c, half_z * c}};
    box->pose =
        (tarn_pose){.position_m = {0.5f * WIDTH * c, (float)(BELOW + DRAUGHT + lift) * c, 0.5f * (float)depth * c},
                    .rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
    box->motion = TARN_MOTION_FREE;
    box->density_kg_m3 = 500.0f;
    return desc;
}

/// The liquid moves by no more than what it would if all of it fell as far as the box does.
static void measure_films(void)
{
    const tarn_tank_desc desc = heave_desc(4);
    physics_tank t = physics_open(&desc);
    double most = 0.0;
    for (int step = 0; step < STEPS_MAX; step++) {
        physics_steps(&t, 1);
        most = fmax(most, physics_report(&t).kinetic_j_kg);
    }
    physics_at_most(PHYSICS_REQUIRED, "V17 box between two walls: largest kinetic energy", most,
                    g * lift * (double)desc.cell_m, "J/kg");
    physics_at_most(PHYSICS_REQUIRED, "V17 box between two walls: substeps without a pressure",
                    (double)physics_report(&t).unconverged, 0.0, "");
    physics_close(&t);
}

static void measure_period(void)
{
    const tarn_tank_desc desc = heave_desc(WIDTH);
    physics_tank t = physics_open(&desc);
    double before = lift, crossing[CROSSINGS] = {0.0};
    int crossings = 0;
    for (int step = 0; step < STEPS_MAX && crossings < CROSSINGS; step++) {
        tarn_body_state box[TARN_TANK_BODIES_MAX];
        physics_steps(&t, 1);
        assert_int_equal(tarn_tank_bodies(t.tank, box), 1);
        const double now = (double)(box[0].pose.position_m[1] / desc.cell_m) - BELOW - DRAUGHT;
        if (now > 0.0 && before <= 0.0) {
            crossing[crossings++] = (step + before / (before - now)) * (double)desc.dt_s;
        }
        before = now;
    }
    assert_int_equal(crossings, CROSSINGS);
    physics_close(&t);
    const double mass = AREA * DRAUGHT + added_mass();
    const double stiffness = g / (double)desc.cell_m * AREA * (1.0 + ratio);
    physics_within_percent(PHYSICS_REQUIRED, "V17 heave of a box in a narrow tank, period",
                           (crossing[CROSSINGS - 1] - crossing[0]) / (CROSSINGS - 1), 2.0 * pi * sqrt(mass / stiffness),
                           3.0, "s");
}

void physics_heave(void)
{
    measure_period();
    measure_films();
}
