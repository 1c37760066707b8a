// A tank without bodies.
#include "kernels/tank.h"

uint32_t tarn_tank_bodies(const tarn_tank *tank, tarn_body_state *bodies)
{
    (void)tank, (void)bodies;
    return 0;
}

tarn_status tarn_tank_set_grabs(tarn_tank *tank, const tarn_grab *grabs, uint32_t grab_count)
{
    (void)tank, (void)grabs;
    return grab_count == 0 ? TARN_OK : TARN_E_ARGUMENT;
}
