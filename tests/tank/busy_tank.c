#include "tests/tank/busy_tank.h"
#include "kernels/step_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

void busy_tank_tap(tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    desc->particles_max = 60000;
    desc->emitter_count = 1;
    desc->emitters[0] = (tarn_emitter){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.0625f, 0.03125f, 0.0625f}},
                                       .pose = {{0.5f, 0.9375f, 0.5f}, {0, 0, 0, 1}},
                                       .velocity_m_s = {0.0f, -1.0f, 0.0f}};
}

void busy_tank_desc(tarn_tank_desc *desc)
{
    busy_tank_tap(desc);
    desc->reseed = 1;
    desc->liquid_count = 2;
    desc->liquids[1] = desc->liquids[0];
    desc->liquids[0].viscosity_m2_s = 0.002f;
    desc->liquids[1].viscosity_m2_s = 0.02f;
    desc->liquids[1].density_kg_m3 = 700.0f;
    desc->transfer = TARN_TRANSFER_APIC;
    desc->emitters[0].liquid = 1;
    desc->solid_count = 2;
    desc->solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.15f}},
                                   .pose = {{0.6f, 0.1f, 0.5f}, {0, 0, 0, 1}}};
    desc->solids[1] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {0.1f, 0.1f, 0.1f}},
                                   .pose = {{0.3f, 0.55f, 0.4f}, {0, 0, 0, 1}},
                                   .motion = TARN_MOTION_FREE,
                                   .density_kg_m3 = 300.0f};
    desc->drain_count = 1;
    desc->drains[0] = (tarn_drain){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.1f}},
                                   .pose = {{0.9f, 0.1f, 0.9f}, {0, 0, 0, 1}}};
    desc->block_count = 1;
    desc->blocks[0] = (tarn_fluid_block){.max_m = {0.4f, 0.4f, 0.6f}, .colour = {255, 0, 0, 255}};
}

void busy_tank_steps(tarn_tank *tank, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
}
