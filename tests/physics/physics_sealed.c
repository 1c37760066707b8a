// Sealed tanks: two liquids of very different density side by side, without any air, so that pressure is known but for
// a constant; the same where a wall cuts a pocket off; and one liquid that a piston presses. Then closed chambers that
// each have a constant of their own: beside one with a free surface, at rest and pressed, and two of which one is
// pressed by what the other is drawn out by. Every substep's pressure is to converge, in few iterations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/tank/tank_internal.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdio.h>

enum { STEPS = 120, PISTON_STEPS = 50, ITERATIONS_MAX = 12 };

/// A plate across the tank, whose sides are no faces of the grid.
static void add_plate(tarn_tank_desc *desc, float at_m)
{
    desc->solids[desc->solid_count++] = (tarn_solid){
        .shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.05f, 1.0f, 1.0f}},
        .pose = {.position_m = {at_m, 0.5f, 0.5f}, .rotation = {0, 0, 0, 1}},
    };
}

static tarn_tank_desc sealed_desc(float light_kg_m3, bool has_wall)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 32;
    desc.cells[1] = 32;
    desc.cells[2] = 32;
    desc.cell_m = 1.0f / 32.0f;
    desc.liquid_count = 2;
    desc.liquids[0].density_kg_m3 = 1000.0f;
    desc.liquids[1] = desc.liquids[0];
    desc.liquids[1].density_kg_m3 = light_kg_m3;
    desc.block_count = 2;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {0.5f, 1.0f, 1.0f}};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.5f, 0, 0}, .max_m = {1.0f, 1.0f, 1.0f}, .liquid = 1};
    if (has_wall) {
        add_plate(&desc, 0.29f);
    }
    return desc;
}

/// A box goes through a wall, 0.1 m/s: what it takes or leaves no pressure gives back.
static void add_piston(tarn_tank_desc *desc, float from_m)
{
    const uint32_t first = desc->keyframe_count;
    const tarn_pose from = {.position_m = {from_m, 0.5f, 0.5f}, .rotation = {0, 0, 0, 1}};
    desc->solids[desc->solid_count++] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.2f, 0.2f, 0.2f}},
                                                     .pose = from,
                                                     .motion = TARN_MOTION_KEYFRAMES,
                                                     .keyframe_first = first,
                                                     .keyframe_count = 2};
    desc->keyframe_count += 2;
    desc->keyframes[first].pose = desc->keyframes[first + 1].pose = from;
    desc->keyframes[first + 1].pose.position_m[0] += 0.1f;
    desc->keyframes[first + 1].time_s = 1.0f;
}

static tarn_tank_desc piston_desc(void)
{
    tarn_tank_desc desc = sealed_desc(1000.0f, false);
    add_piston(&desc, -0.1f);
    return desc;
}

/// A closed chamber of two liquids side by side; behind a plate a pool.
static tarn_tank_desc chamber_desc(float light_kg_m3)
{
    tarn_tank_desc desc = sealed_desc(light_kg_m3, false);
    desc.blocks[0].max_m[0] = desc.blocks[1].min_m[0] = 0.275f;
    desc.blocks[1].max_m[0] = 0.6f;
    desc.blocks[desc.block_count++] = (tarn_fluid_block){.min_m = {0.6f, 0, 0}, .max_m = {1.0f, 0.5f, 1.0f}};
    add_plate(&desc, 0.6f);
    return desc;
}

static tarn_tank_desc chamber_piston_desc(void)
{
    tarn_tank_desc desc = chamber_desc(1000.0f);
    add_piston(&desc, -0.1f);
    return desc;
}

/// A heavy lid from wall to plate on liquid, beside a pool: it has nowhere to go.
static void lid(void)
{
    tarn_tank_desc desc = chamber_desc(1000.0f);
    desc.blocks[0].max_m[1] = desc.blocks[1].max_m[1] = 0.5f;
    desc.solids[desc.solid_count++] =
        (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.275f, 0.1f, 0.5f}},
                     .pose = {.position_m = {0.275f, 0.6f, 0.5f}, .rotation = {0, 0, 0, 1}},
                     .motion = TARN_MOTION_FREE,
                     .density_kg_m3 = 2000.0f};
    physics_tank t = physics_open(&desc);
    tarn_body_state body[TARN_TANK_BODIES_MAX];
    physics_steps(&t, STEPS);
    assert_int_equal(tarn_tank_bodies(t.tank, body), 1);
    const double fallen_m = 0.6 - (double)body[0].pose.position_m[1];
    physics_at_most(PHYSICS_REQUIRED, "sealed, under a lid: its way down in 2 s", fallen_m / (double)desc.cell_m, 0.5,
                    "cells");
    physics_close(&t);
}

/// A box as heavy as the liquid that fills a chamber beside a pool: nothing moves it, and the density correction, which
/// moves no bodies, has a solution.
static void neutral_box(void)
{
    tarn_tank_desc desc = chamber_desc(1000.0f);
    desc.solids[desc.solid_count++] =
        (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.1f, 0.1f}},
                     .pose = {.position_m = {0.275f, 0.5f, 0.5f}, .rotation = {0, 0, 0, 1}},
                     .motion = TARN_MOTION_FREE,
                     .density_kg_m3 = 1000.0f};
    physics_tank t = physics_open(&desc);
    float worst = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        physics_steps(&t, 1);
        worst = fmaxf(worst, t.tank->counters.grid.residual); // a substep ends with the density correction
    }
    tarn_body_state body[TARN_TANK_BODIES_MAX];
    assert_int_equal(tarn_tank_bodies(t.tank, body), 1);
    const double moved_m = fabs(0.5 - (double)body[0].pose.position_m[1]);
    physics_at_most(PHYSICS_REQUIRED, "sealed, around a neutral box: largest density error left by the correction",
                    (double)worst, 0.05, "");
    physics_figure("sealed, around a neutral box: its way in 2 s", moved_m / (double)desc.cell_m, "cells");
    physics_close(&t);
}

/// Two closed chambers: one piston goes in, the other as fast out.
static tarn_tank_desc two_pistons_desc(void)
{
    tarn_tank_desc desc = sealed_desc(1000.0f, false);
    add_plate(&desc, 0.5f);
    add_piston(&desc, -0.1f);
    add_piston(&desc, 1.0f);
    return desc;
}

static void sealed(const char *what, tarn_tank_desc desc, int steps)
{
    char name[80];
    physics_tank t = physics_open(&desc);
    const solver_figures worst = physics_solver_worst(&t, steps);
    snprintf(name, sizeof name, "sealed, %s: substeps that didn't converge", what);
    physics_at_most(PHYSICS_REQUIRED, name, (double)physics_report(&t).unconverged, 0.0, "");
    snprintf(name, sizeof name, "sealed, %s: most iterations", what);
    physics_at_most(PHYSICS_REQUIRED, name, worst.iterations, ITERATIONS_MAX, "");
    snprintf(name, sizeof name, "sealed, %s: largest abs(div u) dt", what);
    physics_at_most(PHYSICS_REQUIRED, name, (double)worst.residual, 1e-4, "");
    physics_close(&t);
}

void physics_sealed(void)
{
    sealed("1000/300", sealed_desc(300.0f, false), STEPS);
    sealed("1000/1", sealed_desc(1.0f, false), STEPS);
    sealed("1000/300 and a pocket", sealed_desc(300.0f, true), STEPS);
    sealed("1000/1 and a pocket", sealed_desc(1.0f, true), STEPS);
    sealed("a piston", piston_desc(), PISTON_STEPS);
    sealed("1000/300 beside air", chamber_desc(300.0f), STEPS);
    sealed("1000/1 beside air", chamber_desc(1.0f), STEPS);
    sealed("a piston beside air", chamber_piston_desc(), PISTON_STEPS);
    sealed("two pistons", two_pistons_desc(), PISTON_STEPS);
    lid();
    neutral_box();
}
