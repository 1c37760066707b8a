#include "tests/tank/plain_tank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> // needs those above

tarn_device *plain_tank_device(uint32_t threads, const char *isa)
{
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = threads, .isa = isa};
    tarn_device *device = NULL;
    const tarn_status status = tarn_device_create(&desc, &device);
    if (isa == NULL) {
        assert_int_equal(status, TARN_OK);
    }
    return status == TARN_OK ? device : NULL;
}

tarn_tank *plain_tank_open(tarn_device *device, const tarn_tank_desc *desc)
{
    char why[256] = "";
    tarn_tank *tank = NULL;
    if (tarn_tank_create(device, desc, &tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    return tank;
}

tarn_tank_report plain_tank_report(tarn_tank *tank)
{
    tarn_tank_report report;
    assert_int_equal(tarn_tank_report_get(tank, &report), TARN_OK);
    return report;
}

tarn_tank_hash plain_tank_hash(tarn_tank *tank)
{
    tarn_tank_hash hash;
    assert_int_equal(tarn_tank_hash_get(tank, &hash), TARN_OK);
    return hash;
}
