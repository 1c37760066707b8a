// Pressure comes from the tank's grid; liquid and smoke from the particles, which have them.
#include "server/tool/tool_grid.h"

#include <stdlib.h>
#include <string.h>

bool tool_grid_open(tool_grid *grid, const tool_tank *tank)
{
    const uint16_t *cells = tank->scene.tank.cells;
    const tarn_model *model = tarn_tank_model(tank->tank);
    const bool has_pressure = tarn_tank_pressure_density(tank->tank) > 0.0F,
               has_liquids = (model->can & TARN_MODEL_LIQUIDS) != 0;
    *grid = (tool_grid){.cell_count = (size_t)cells[0] * cells[1] * cells[2],
                        .amount_name = has_liquids ? "density" : "smoke",
                        .channel = has_liquids ? -1 : tarn_model_channel_find(model, "smoke")};
    const bool has_amounts = has_liquids || grid->channel >= 0;
    grid->pressure_pa = has_pressure ? malloc(grid->cell_count * sizeof(float)) : NULL;
    grid->amounts = has_amounts ? malloc((size_t)tarn_tank_particles_max(tank->tank) * sizeof(float)) : NULL;
    if ((has_pressure && grid->pressure_pa == NULL) || (has_amounts && grid->amounts == NULL)) {
        tool_grid_close(grid);
        return false;
    }
    return true;
}

void tool_grid_close(tool_grid *grid)
{
    free(grid->pressure_pa);
    free(grid->amounts);
    *grid = (tool_grid){.cell_count = 0};
}

/// The pressure of the last substep; there is none before the first.
static tarn_status read_pressure(tool_grid *grid, const tool_tank *tank)
{
    const float density_kg_m3 = tarn_tank_pressure_density(tank->tank);
    const tarn_status status = tarn_tank_pressure(tank->tank, grid->pressure_pa, grid->cell_count);
    if (status == TARN_E_STATE) {
        memset(grid->pressure_pa, 0, grid->cell_count * sizeof(float));
        return TARN_OK;
    }
    for (size_t i = 0; i < grid->cell_count && status == TARN_OK; i++) {
        grid->pressure_pa[i] *= density_kg_m3;
    }
    return status;
}

static tarn_status read_amounts(tool_grid *grid, const tool_tank *tank, const export_frame *frame)
{
    if (grid->channel >= 0) {
        uint32_t count = 0;
        return tarn_tank_channel(tank->tank, (uint32_t)grid->channel, grid->amounts, frame->particle_count, &count,
                                 NULL);
    }
    for (uint32_t i = 0; i < frame->particle_count; i++) {
        grid->amounts[i] = tank->scene.tank.liquids[frame->liquids != NULL ? frame->liquids[i] : 0].density_kg_m3;
    }
    return TARN_OK;
}

tarn_status tool_grid_read(tool_grid *grid, const tool_tank *tank, export_frame *frame)
{
    tarn_status status = grid->pressure_pa != NULL ? read_pressure(grid, tank) : TARN_OK;
    if (status == TARN_OK && grid->amounts != NULL) {
        status = read_amounts(grid, tank, frame);
    }
    frame->pressure_pa = grid->pressure_pa;
    frame->amounts = grid->amounts;
    frame->amount_name = grid->amount_name;
    return status;
}
