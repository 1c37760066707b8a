// V17: what floats displaces its weight. The draught is measured from the level that the pool would have by its volume
// and the body's. A small ball is watched for long at the depth where cells know least of the surface.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEIGHT = 32, WATER_KG_M3 = 1000 };

typedef struct float_case {
    tarn_shape_kind kind;
    float half_cells[3];
    double volume_cells, share; ///< of the body; its density over the water's
    float depth_cells;          ///< of the pool without it
    uint16_t edge;              ///< of the pool, cells
    uint32_t steps, late;       ///< of which the last are averaged
} float_case;

/// Cells from the level to the body's centre, averaged.
static double centre_above_level(const float_case *f)
{
    const float c = 0.03125f;
    const double area = (double)f->edge * f->edge;
    const double level = (double)f->depth_cells + f->share * f->volume_cells / area;
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = desc.cells[2] = f->edge;
    desc.cells[1] = HEIGHT;
    desc.cell_m = c;
    desc.block_count = desc.solid_count = 1;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {f->edge * c, (float)level * c, f->edge * c}};
    tarn_solid *body = &desc.solids[0];
    memset(body, 0, sizeof *body);
    body->shape.kind = f->kind;
    body->motion = TARN_MOTION_FREE;
    body->density_kg_m3 = (float)(f->share * WATER_KG_M3);
    body->pose.rotation[3] = 1.0f;
    for (int a = 0; a < 3; a++) {
        body->shape.half_m[a] = f->half_cells[a] * c;
        body->pose.position_m[a] = (0.5f * (float)f->edge + 0.1f) * c;
    }
    body->pose.position_m[1] = (float)(level + (double)f->half_cells[1] * (1.0 - 2.0 * f->share)) * c;
    physics_tank t = physics_open(&desc);
    const double volume = physics_report(&t).particle_count / 8.0 + f->share * f->volume_cells;
    double above = 0.0;
    for (uint32_t step = 0; step < f->steps; step++) {
        tarn_body_state state[TARN_TANK_BODIES_MAX];
        physics_steps(&t, 1);
        assert_int_equal(tarn_tank_bodies(t.tank, state), 1);
        if (step >= f->steps - f->late) {
            above += ((double)(state[0].pose.position_m[1] / c) - volume / area) / f->late;
        }
    }
    physics_close(&t);
    return above;
}

void physics_float(void)
{
    static const double shares[] = {0.3, 0.6, 0.9};
    for (int i = 0; i < 3; i++) {
        const float_case box = {TARN_SHAPE_BOX, {9.0f, 6.0f, 9.0f}, 3888.0, shares[i], 15.8f, 40, 480, 120};
        char name[64];
        snprintf(name, sizeof name, "V17 box of 12 cells, density %.1f: draught, of its height", shares[i]);
        physics_within_percent(PHYSICS_REQUIRED, name, (6.0 - centre_above_level(&box)) / 12.0, shares[i], 2.0, "");
    }
    const float_case ball = {TARN_SHAPE_SPHERE, {3.0f, 0.0f, 0.0f}, 36.0 * 3.14159265, 0.5, 12.3f, 24, 1800, 300};
    physics_within_percent(PHYSICS_REQUIRED, "V17 ball of 3 cells radius, after 30 s: draught, of its height",
                           (3.0 - centre_above_level(&ball)) / 6.0, 0.5, 2.0, "");
}
