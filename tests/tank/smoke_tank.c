#include "tests/tank/smoke_tank.h"

#include <cmocka.h> // needs that above

tarn_tank_desc smoke_desc(uint16_t x, uint16_t y, uint16_t z)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.model = tarn_model_find("smoke")->number;
    for (uint32_t id = 0; id < TARN_SMOKE_PARAMETER_COUNT; id++) {
        desc.parameters[id] = tarn_smoke_parameters[id].initial;
    }
    desc.cells[0] = x;
    desc.cells[1] = y;
    desc.cells[2] = z;
    desc.jitter = 0.0f;
    return desc;
}

void put_block(tarn_tank_desc *desc, const float *min, const float *max, float heat_k)
{
    tarn_fluid_block *block = &desc->blocks[desc->block_count++];
    for (int a = 0; a < 3; a++) {
        block->min_m[a] = min[a] * desc->cell_m;
        block->max_m[a] = max[a] * desc->cell_m;
    }
    block->carried[TARN_SMOKE_HEAT] = heat_k;
    block->carried[TARN_SMOKE_SMOKE] = 1.0f;
}

tarn_tank *open_tank(uint32_t threads, const tarn_tank_desc *desc, tarn_device **device)
{
    *device = plain_tank_device(threads, NULL);
    return plain_tank_open(*device, desc);
}

void close_tank(tarn_tank *tank, tarn_device *device)
{
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

void steps(tarn_tank *tank, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
}

float *face_of(const tarn_tank *tank, int c, int x, int y, int z)
{
    const uint32_t dense = tile_dense_of(&tank->args->grid.shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2);
    const uint32_t slot = tank->args->grid.m.slot[dense];
    return tank->args->store.kept[c] + (size_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);
}
