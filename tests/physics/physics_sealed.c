// Sealed tanks: two liquids of very different density side by side, without any air, so that pressure is known but for
// a constant; the same where a wall cuts a pocket off; and one liquid that a piston presses. Every substep's pressure
// is to converge, in few iterations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <stdio.h>

enum { STEPS = 120, PISTON_STEPS = 50, ITERATIONS_MAX = 12 };

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
    if (has_wall) { // whose sides are no faces of the grid
        desc.solid_count = 1;
        desc.solids[0] = (tarn_solid){
            .shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.05f, 1.0f, 1.0f}},
            .pose = {.position_m = {0.29f, 0.5f, 0.5f}, .rotation = {0, 0, 0, 1}},
        };
    }
    return desc;
}

/// A box comes in through the wall: what it takes no pressure gives back.
static tarn_tank_desc piston_desc(void)
{
    const tarn_pose from = {.position_m = {-0.1f, 0.5f, 0.5f}, .rotation = {0, 0, 0, 1}};
    tarn_tank_desc desc = sealed_desc(1000.0f, false);
    desc.solid_count = 1;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.2f, 0.2f, 0.2f}},
                                  .pose = from,
                                  .motion = TARN_MOTION_KEYFRAMES,
                                  .keyframe_count = 2};
    desc.keyframe_count = 2;
    desc.keyframes[0].pose = desc.keyframes[1].pose = from;
    desc.keyframes[1].pose.position_m[0] = 0.0f;
    desc.keyframes[1].time_s = 1.0f;
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
}
