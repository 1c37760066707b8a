// Copies of the state for exports, tests and diagnostics.
#include "kernels/liquid/tank_internal.h"

#include <stdlib.h>
#include <string.h>

tarn_status tarn_tank_particles(tarn_tank *tank, float *positions_m, float *velocities_m_s, uint32_t *ids,
                                uint32_t particles_max, uint32_t *particle_count)
{
    const uint32_t n = tank->particle_count;
    if (n > particles_max)
        return TARN_E_SPACE;
    uint32_t *id = malloc(((size_t)n + 1) * sizeof *id);
    uint32_t *field = malloc(((size_t)n + 1) * sizeof *field);
    const liquid_memory *m = &tank->args.m;
    tarn_status status = id != NULL && field != NULL ? TARN_OK : TARN_E_MEMORY;
    if (status == TARN_OK)
        status = tarn_device_download(tank->device, id, m->id, (size_t)n * 4);
    const float speed = tank->desc.cell_m / tank->desc.dt_s;
    for (int a = 0; a < 3 && status == TARN_OK && positions_m != NULL; a++) {
        status = tarn_device_download(tank->device, field, m->position[a], (size_t)n * 4);
        for (uint32_t i = 0; i < n && status == TARN_OK; i++)
            positions_m[3 * (size_t)id[i] + (size_t)a] =
                (float)(((double)field[i] + 0.5) / (1 << POSITION_BITS) * (double)tank->desc.cell_m);
    }
    for (int a = 0; a < 3 && status == TARN_OK && velocities_m_s != NULL; a++) {
        status = tarn_device_download(tank->device, field, m->velocity[a], (size_t)n * 4);
        for (uint32_t i = 0; i < n && status == TARN_OK; i++)
            velocities_m_s[3 * (size_t)id[i] + (size_t)a] = tile_f32_bits(field[i]) * speed;
    }
    for (uint32_t i = 0; i < n && status == TARN_OK && ids != NULL; i++)
        ids[i] = i;
    free(id);
    free(field);
    *particle_count = n;
    return status;
}

static void place_tile(const tarn_tank *tank, uint32_t dense, const float *from, float scale, float *to)
{
    const liquid_shape *shape = &tank->args.shape;
    const tile_place place = tile_place_of(shape, 0, dense);
    for (int cell = 0; cell < TILE_CELLS; cell++) {
        const int x = place.x * TILE_EDGE + (cell & 7), y = place.y * TILE_EDGE + (cell >> 3 & 7),
                  z = place.z * TILE_EDGE + (cell >> 6);
        if (x < shape->cells[0] && y < shape->cells[1] && z < shape->cells[2])
            to[((size_t)z * (size_t)shape->cells[1] + (size_t)y) * (size_t)shape->cells[0] + (size_t)x] =
                from[cell] * scale;
    }
}

tarn_status tarn_tank_pressure(tarn_tank *tank, float *pressure_m2_s2, size_t cells_max)
{
    const uint16_t *cells = tank->desc.cells;
    const size_t cell_count = (size_t)cells[0] * cells[1] * cells[2];
    const uint32_t tiles = tank->counters.solved;
    if (cells_max < cell_count)
        return TARN_E_SPACE;
    if (tank->step == 0)
        return TARN_E_STATE;
    memset(pressure_m2_s2, 0, cell_count * sizeof *pressure_m2_s2);
    uint32_t *dense = malloc(((size_t)tiles + 1) * sizeof *dense);
    float *pressure = malloc(((size_t)tiles * TILE_CELLS + 1) * sizeof *pressure);
    tarn_status status = dense != NULL && pressure != NULL ? TARN_OK : TARN_E_MEMORY;
    if (status == TARN_OK)
        status = tarn_device_download(tank->device, dense, tank->args.m.solved_tile, (size_t)tiles * sizeof *dense);
    if (status == TARN_OK)
        status = tarn_device_download(tank->device, pressure, tank->args.m.pressure,
                                      (size_t)tiles * TILE_CELLS * sizeof *pressure);
    // u -= grad p in cells per step: p is in cells^2 per step and substep.
    const float scale =
        tank->desc.cell_m * tank->desc.cell_m * (float)tank->substeps / (tank->desc.dt_s * tank->desc.dt_s);
    for (uint32_t i = 0; i < tiles && status == TARN_OK; i++)
        place_tile(tank, dense[i], pressure + (size_t)i * TILE_CELLS, scale, pressure_m2_s2);
    free(dense);
    free(pressure);
    return status;
}
