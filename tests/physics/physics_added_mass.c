// Added mass: a ball that is let go in liquid at rest takes half its volume of liquid along (Lamb, Hydrodynamics,
// section 92), so that without friction it starts with
//
//     a = (rho - rho_b) / (rho_b + rho / 2) g
//
// upwards. The walls, five radii away, add about a hundredth of that.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/step_input.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EDGE = 48, STEPS = 4 };

static const double g = 9.81;

/// Acceleration upwards of a ball in the tank's middle, over g.
static double acceleration(double share)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    const float c = desc.cell_m;
    desc.dt_s = 1.0f / 240.0f;
    desc.block_count = desc.solid_count = 1;
    tarn_solid *ball = &desc.solids[0];
    memset(ball, 0, sizeof *ball);
    ball->shape.kind = TARN_SHAPE_SPHERE;
    ball->shape.half_m[0] = 5.0f * c;
    ball->motion = TARN_MOTION_FREE;
    ball->density_kg_m3 = (float)(share * 1000.0);
    ball->pose.rotation[3] = 1.0f;
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = EDGE;
        desc.blocks[0].max_m[a] = (a == 1 ? EDGE - 4 : EDGE) * c;
        ball->pose.position_m[a] = 0.5f * EDGE * c;
    }
    physics_tank t = physics_open(&desc);
    tarn_body_state first[TARN_TANK_BODIES_MAX], last[TARN_TANK_BODIES_MAX];
    physics_steps(&t, 1);
    assert_int_equal(tarn_tank_bodies(t.tank, first), 1);
    physics_steps(&t, STEPS);
    assert_int_equal(tarn_tank_bodies(t.tank, last), 1);
    physics_close(&t);
    return (double)(last[0].velocity_m_s[1] - first[0].velocity_m_s[1]) / (STEPS * (double)desc.dt_s * g);
}

void physics_added_mass(void)
{
    static const double shares[] = {0.1, 0.5, 3.0};
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "added mass: start of a ball of density %.1f, over g", shares[i]);
        physics_within_percent(PHYSICS_REQUIRED, name, acceleration(shares[i]), (1.0 - shares[i]) / (shares[i] + 0.5),
                               5.0, "");
    }
}
