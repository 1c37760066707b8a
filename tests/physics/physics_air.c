#include "tests/physics/physics_air.h"

tarn_tank_desc physics_air(uint16_t x, uint16_t y, uint16_t z)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.model = tarn_model_find("smoke")->number;
    for (uint32_t id = 0; id < TARN_SMOKE_PARAMETER_COUNT; id++) {
        desc.parameters[id] = tarn_smoke_parameters[id].initial;
    }
    desc.parameters[TARN_SMOKE_HEAT_DIFFUSION] = desc.parameters[TARN_SMOKE_COOLING] =
        desc.parameters[TARN_SMOKE_FADING] = desc.parameters[TARN_SMOKE_SLEEP_SPEED] = 0.0f;
    desc.cells[0] = x;
    desc.cells[1] = y;
    desc.cells[2] = z;
    return desc;
}

void physics_air_mote(tarn_tank_desc *desc)
{
    const float c = desc->cell_m;
    desc->blocks[desc->block_count++] = (tarn_fluid_block){.max_m = {c, c, c}, .carried = {0.0f, 1.0f}};
}

float *physics_air_at(const tarn_tank *tank, int c, int x, int y, int z)
{
    const uint32_t dense = tile_dense_of(&tank->args->grid.shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2);
    const uint32_t slot = tank->args->grid.m.slot[dense];
    return tank->args->store.kept[c] + (size_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);
}
