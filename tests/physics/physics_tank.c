#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/step_input.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

static physics_tank open_on(const tarn_tank_desc *desc, uint32_t threads)
{
    physics_tank t = {0};
    char why[256] = "";
    const tarn_device_desc device = {.kind = TARN_DEVICE_CPU, .threads = threads};
    assert_int_equal(tarn_device_create(&device, &t.device), TARN_OK);
    if (tarn_tank_create(t.device, desc, &t.tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return t;
}

physics_tank physics_open(const tarn_tank_desc *desc)
{
    return open_on(desc, 1);
}

physics_tank physics_open_alone(const tarn_tank_desc *desc)
{
    return open_on(desc, 0);
}

void physics_close(physics_tank *t)
{
    assert_int_equal(physics_report(t).unconverged, 0);
    tarn_tank_destroy(t->tank);
    tarn_device_destroy(t->device);
}

void physics_steps(physics_tank *t, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        assert_int_equal(tarn_tank_step(t->tank, NULL), TARN_OK);
    }
}

solver_figures physics_solver_worst(physics_tank *t, int steps)
{
    solver_figures worst = {0};
    for (int step = 0; step < steps; step++) {
        tarn_tank_report report;
        physics_steps(t, 1);
        tarn_tank_report_light(t->tank, &report);
        worst.iterations =
            report.pressure_iterations > worst.iterations ? report.pressure_iterations : worst.iterations;
        worst.residual = !(report.residual <= worst.residual) ? report.residual : worst.residual;
    }
    return worst;
}

tarn_tank_report physics_report(physics_tank *t)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(t->tank, &report), TARN_OK);
    return report;
}
