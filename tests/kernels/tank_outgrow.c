// A tank whose memory is taken away after it was made.
#include "tests/kernels/tank_outgrow.h"
#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/// A ball in a block that flies along x, four cells in each step of eight substeps, and a tap.
static void describe_flight(tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    desc->cells[0] = 48;
    desc->cells[1] = desc->cells[2] = 8;
    const float c = desc->cell_m, speed_m_s = 4.0f * c / desc->dt_s;
    desc->parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc->parameters[TARN_PARAMETER_CFL] = 0.5f;
    desc->parameters[TARN_PARAMETER_SUBSTEPS] = 8.0f;
    desc->parameters[TARN_PARAMETER_ITERATIONS] = 2.0f;
    desc->block_count = 1;
    desc->blocks[0] = (tarn_fluid_block){
        .min_m = {9 * c, 1 * c, 1 * c}, .max_m = {21.3f * c, 7 * c, 7 * c}, .velocity_m_s = {speed_m_s, 0, 0}};
    desc->solid_count = 1;
    desc->solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {2 * c}},
                                   .motion = TARN_MOTION_FREE,
                                   .density_kg_m3 = 1000.0f,
                                   .velocity_m_s = {speed_m_s, 0, 0}};
    desc->solids[0].pose = (tarn_pose){.position_m = {15 * c, 4 * c, 4 * c}, .rotation = {0, 0, 0, 1}};
    desc->emitter_count = 1;
    desc->emitters[0].shape = (tarn_shape){.kind = TARN_SHAPE_BOX, .half_m = {c, c, c}};
    desc->emitters[0].pose = (tarn_pose){.position_m = {12 * c, 4 * c, 4 * c}, .rotation = {0, 0, 0, 1}};
    desc->emitters[0].velocity_m_s[0] = speed_m_s;
}

void tank_outgrow(tarn_device_desc on, bool is_active)
{
    tarn_device *device;
    tarn_tank *tank;
    tarn_tank_desc desc;
    tarn_tank_report report;
    describe_flight(&desc);
    assert_int_equal(tarn_device_create(&on, &device), TARN_OK);
    assert_int_equal(tarn_tank_create(device, &desc, &tank, NULL, 0), TARN_OK);
    *(is_active ? &tank->args->grid.shape.active_max : &tank->args->grid.shape.occupied_max) =
        is_active ? tank->counters.grid.active : tank->counters.grid.occupied;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_E_MEMORY);
        assert_int_equal(tank->grid.substeps, 8);
        assert_int_equal(tank->counters.grid.active, 0);
        assert_int_equal(tank->counters.grid.occupied, 0);
        tarn_tank_report_light(tank, &report);
        assert_int_equal(report.particle_count, 0);
    }
    assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    assert_true(tank->counters.grid.active > 0);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}
