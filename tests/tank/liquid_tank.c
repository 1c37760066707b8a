#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid_parameters.h"
#include "tests/tank/liquid_tank.h"
#include <cmocka.h> // needs those above

#include <string.h>

#define BACK(name, transfer, to, TO, mixed)                                                                            \
    {name " " to " to linear", transfer, TO, TARN_WEIGHTS_LINEAR, mixed},                                              \
        {name " " to " to quadratic", transfer, TO, TARN_WEIGHTS_QUADRATIC, mixed},                                    \
    {                                                                                                                  \
        name " " to " to cubic", transfer, TO, TARN_WEIGHTS_CUBIC, mixed                                               \
    }
#define WEIGHTS(name, transfer, mixed)                                                                                 \
    BACK(name, transfer, "linear", TARN_WEIGHTS_LINEAR, mixed),                                                        \
        BACK(name, transfer, "quadratic", TARN_WEIGHTS_QUADRATIC, mixed),                                              \
        BACK(name, transfer, "cubic", TARN_WEIGHTS_CUBIC, mixed)

const variant variants[VARIANT_COUNT] = {WEIGHTS("flip", TARN_TRANSFER_FLIP, 0), WEIGHTS("apic", TARN_TRANSFER_APIC, 0),
                                         WEIGHTS("flip, two liquids,", TARN_TRANSFER_FLIP, 1),
                                         WEIGHTS("apic, two liquids,", TARN_TRANSFER_APIC, 1)};
static tarn_device *device;

int open_device(void **state)
{
    (void)state;
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = 1};
    return tarn_device_create(&desc, &device) != TARN_OK;
}

int close_device(void **state)
{
    (void)state;
    tarn_device_destroy(device);
    return 0;
}

tarn_tank_desc block_desc(const variant *v, const uint16_t cells[3], const int first[3], const int end[3])
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.transfer = v->transfer;
    desc.p2g_weights = v->p2g;
    desc.g2p_weights = v->g2p;
    desc.parameters[TARN_PARAMETER_GRAVITY] = 0.0f;
    desc.parameters[TARN_PARAMETER_FLIP] = 0.0f;
    desc.jitter = 1.0f;
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.cells[a] = cells[a];
        desc.blocks[0].min_m[a] = (float)first[a] * desc.cell_m;
        desc.blocks[0].max_m[a] = (float)end[a] * desc.cell_m;
    }
    if (v->mixed) {
        desc.liquid_count = 2;
        desc.liquids[1] = desc.liquids[0];
        desc.liquids[1].density_kg_m3 = 40.0f;
    }
    return desc;
}

tarn_tank *open_tank(const tarn_tank_desc *desc)
{
    tarn_tank *tank = NULL;
    char why[256] = "";
    if (tarn_tank_create(device, desc, &tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    memset(tank->args->store.control, 0, tank->model->control_bytes);
    tank->args->store.control->grid.frac = 1.0f;
    tank->args->store.control->grid.speed_max = SPEED_MAX;
    return tank;
}

double random_double(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15ull;
    return (double)(tile_mix_u64(*seed) >> 11) * 0x1p-52 - 1.0;
}

double position_of(const tarn_tank *tank, int axis, uint32_t particle)
{
    return ((double)tank->args->store.position[axis][particle] + 0.5) / (1 << POSITION_BITS);
}

double field_at(const tarn_tank *tank, const float *field, const int *at)
{
    for (int a = 0; a < 3; a++) {
        if (at[a] < 0 || at[a] >= tank->grid.desc.cells[a]) {
            return 0.0;
        }
    }
    const uint32_t dense = tile_dense_of(&tank->args->grid.shape, 0, at[0] >> 3, at[1] >> 3, at[2] >> 3);
    const uint32_t slot = tank->args->grid.m.slot[dense];
    return slot != TILE_NONE ? (double)field[(size_t)slot * TILE_CELLS + cell_index(at[0] & 7, at[1] & 7, at[2] & 7)]
                             : 0.0;
}

void each_face(tarn_tank *tank, void (*visit)(tarn_tank *tank, int c, const int *at, float *u, void *context),
               void *context)
{
    for (int z = 0; z < tank->grid.desc.cells[2]; z++) {
        for (int y = 0; y < tank->grid.desc.cells[1]; y++) {
            for (int x = 0; x < tank->grid.desc.cells[0]; x++) {
                for (int c = 0; c < 3; c++) {
                    const int at[3] = {x, y, z};
                    const uint32_t dense = tile_dense_of(&tank->args->grid.shape, 0, x >> 3, y >> 3, z >> 3);
                    const size_t cell =
                        (size_t)tank->args->grid.m.slot[dense] * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);
                    visit(tank, c, at, &tank->args->grid.m.u[c][cell], context);
                }
            }
        }
    }
}
