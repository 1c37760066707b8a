#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <stdio.h>

enum { ROWS_MAX = 32 };

static struct {
    const char *name, *unit, *bound;
    double measured, reference;
} rows[ROWS_MAX];
static int row_count;

physics_tank physics_open(const tarn_tank_desc *desc)
{
    physics_tank t = {0};
    char why[256] = "";
    const tarn_device_desc device = {.kind = TARN_DEVICE_CPU};
    assert_int_equal(tarn_device_create(&device, &t.device), TARN_OK);
    if (tarn_tank_create(t.device, desc, &t.tank, why, sizeof why) != TARN_OK)
        fail_msg("%s", why);
    return t;
}

void physics_close(physics_tank *t)
{
    tarn_tank_destroy(t->tank);
    tarn_device_destroy(t->device);
}

void physics_steps(physics_tank *t, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++)
        assert_int_equal(tarn_tank_step(t->tank, NULL, 0), TARN_OK);
}

tarn_tank_report physics_report(physics_tank *t)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(t->tank, &report), TARN_OK);
    return report;
}

void physics_row(const char *name, double measured, double reference, const char *unit, const char *bound)
{
    assert_true(row_count < ROWS_MAX);
    rows[row_count].name = name;
    rows[row_count].measured = measured;
    rows[row_count].reference = reference;
    rows[row_count].unit = unit;
    rows[row_count++].bound = bound;
}

void physics_print_table(void)
{
    printf("\n%-46s %12s %12s %-8s %s\n", "case", "measured", "reference", "unit", "bound");
    for (int i = 0; i < row_count; i++)
        printf("%-46s %12.6g %12.6g %-8s %s\n", rows[i].name, rows[i].measured, rows[i].reference, rows[i].unit,
               rows[i].bound);
}
