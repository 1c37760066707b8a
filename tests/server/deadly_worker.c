// tarn-worker that dies of states, for `tarnd --worker`: the linker puts this tarn_tank_load in front of the kernels'
// own
// (--wrap). TARN_TEST_DEADLY_STEP names the step whose states kill, and all later ones.
#include "kernels/tank.h"

#include <stdlib.h>

tarn_status __real_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);
tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count);

tarn_status __wrap_tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    const char *from = getenv("TARN_TEST_DEADLY_STEP");
    const tarn_status status = __real_tarn_tank_load(tank, bytes, byte_count);
    tarn_tank_report report;
    tarn_tank_report_light(tank, &report);
    if (status == TARN_OK && from != NULL && report.step >= strtoull(from, NULL, 10)) {
        abort();
    }
    return status;
}
