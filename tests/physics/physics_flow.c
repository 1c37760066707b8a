// A flow to start from. No public function prescribes a velocity that isn't the same in a whole block: this writes the
// particles of a tank on the CPU.
#include "kernels/tank/tank_internal.h"
#include "tests/physics/physics.h"

void physics_set_flow(physics_tank *t, physics_flow flow, const void *context)
{
    const store_memory *store = &t->tank->args->store;
    const double cell_m = (double)tarn_tank_desc_of(t->tank)->cell_m;
    const double scale = (double)tarn_tank_desc_of(t->tank)->dt_s / cell_m;
    for (uint32_t i = 0; i < t->tank->particle_count; i++) {
        double at_m[3], velocity_m_s[3] = {0.0, 0.0, 0.0};
        for (int a = 0; a < 3; a++) {
            at_m[a] = ((double)store->position[a][i] + 0.5) / (1 << POSITION_BITS) * cell_m;
        }
        flow(context, at_m, velocity_m_s);
        for (int a = 0; a < 3; a++) {
            store->velocity[a][i] = (float)(velocity_m_s[a] * scale);
        }
    }
}
