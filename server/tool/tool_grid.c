// Pressure comes from the tank's grid; liquid and smoke from the particles, which have them; solids from their shapes.
#include "server/tool/tool_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Marks the cells whose centres are in a solid.
static void mark_solid(const tarn_tank_desc *desc, const tarn_shape *shape, const tarn_pose *pose, uint8_t *cells)
{
    double min_m[3], max_m[3];
    int64_t from[3], to[3];
    const double cell_m = (double)desc->cell_m;
    tarn_shape_bounds_m(shape, pose, desc->fields, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        const double last = desc->cells[a];
        const bool is_all = shape->inverted != 0; // beyond its surface all is solid
        from[a] = is_all ? 0 : (int64_t)fmin(fmax(floor(min_m[a] / cell_m), 0.0), last);
        to[a] = is_all ? (int64_t)last : (int64_t)fmin(fmax(ceil(max_m[a] / cell_m), 0.0), last);
    }
    for (int64_t z = from[2]; z < to[2]; z++) {
        for (int64_t y = from[1]; y < to[1]; y++) {
            for (int64_t x = from[0]; x < to[0]; x++) {
                double at_m[3] = {((double)x + 0.5) * cell_m, ((double)y + 0.5) * cell_m, ((double)z + 0.5) * cell_m};
                uint8_t *cell = &cells[(z * desc->cells[1] + y) * desc->cells[0] + x];
                if (*cell == 0) {
                    tarn_pose_to_shape(pose, at_m, at_m);
                    *cell = tarn_shape_distance_m(shape, desc->fields, at_m) < 0.0;
                }
            }
        }
    }
}

/// The solids that stay where they are: found once.
static void mark_still(tool_grid *grid, const tarn_tank_desc *desc)
{
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        const tarn_solid *solid = &desc->solids[i];
        if (solid->motion == TARN_MOTION_STATIC) {
            mark_solid(desc, &solid->shape, &solid->pose, grid->still_cells);
        }
    }
}

/// The others where they are now, and what was thrown and put in.
static void mark_moving(tool_grid *grid, const tool_tank *tank, const export_frame *frame)
{
    static tarn_added_solid added[TARN_TANK_ADDED_MAX]; // large
    const tarn_tank_desc *desc = &tank->scene.tank;
    const uint32_t added_count = tarn_tank_added(tank->tank, added);
    memcpy(grid->solid_cells, grid->still_cells, grid->cell_count);
    for (uint32_t b = 0; b < frame->body_count; b++) {
        const tarn_body_state *body = &frame->bodies[b];
        const tarn_shape *shape = body->solid < desc->solid_count ? &desc->solids[body->solid].shape : NULL;
        for (uint32_t i = 0; i < added_count && body->solid >= TARN_TANK_THROWN_FIRST; i++) {
            shape = added[i].number == body->solid ? &added[i].solid.shape : shape;
        }
        if (shape != NULL) {
            mark_solid(desc, shape, &body->pose, grid->solid_cells);
        }
    }
    for (uint32_t i = 0; i < added_count; i++) {
        if (added[i].number == 0) {
            mark_solid(desc, &added[i].solid.shape, &added[i].solid.pose, grid->solid_cells);
        }
    }
}

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
    grid->solid_cells = malloc(grid->cell_count);
    grid->still_cells = calloc(grid->cell_count, 1);
    if ((has_pressure && grid->pressure_pa == NULL) || (has_amounts && grid->amounts == NULL) ||
        grid->solid_cells == NULL || grid->still_cells == NULL) {
        tool_grid_close(grid);
        return false;
    }
    mark_still(grid, &tank->scene.tank);
    return true;
}

void tool_grid_close(tool_grid *grid)
{
    free(grid->pressure_pa);
    free(grid->amounts);
    free(grid->solid_cells);
    free(grid->still_cells);
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
    mark_moving(grid, tank, frame);
    frame->pressure_pa = grid->pressure_pa;
    frame->solid_cells = grid->solid_cells;
    frame->amounts = grid->amounts;
    frame->amount_name = grid->amount_name;
    return status;
}
