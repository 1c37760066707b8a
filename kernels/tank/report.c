// Reports and hashes.
#include "kernels/tank/tank_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float metres_per_second(const tarn_tank *tank)
{
    return tank->grid.desc.cell_m / tank->grid.desc.dt_s;
}

tarn_status tarn_tank_tiles(tarn_tank *tank, uint8_t *bits, size_t bits_bytes)
{
    const int32_t *tiles = tank->args->grid.shape.tiles[0];
    const size_t bytes = ((size_t)tiles[0] * (size_t)tiles[1] * (size_t)tiles[2] + 7) / 8;
    const uint32_t occupied = tank->counters.grid.occupied;
    if (bits_bytes < bytes) {
        return TARN_E_SPACE;
    }
    const tarn_status status = tarn_queue_download(tank->grid.queue, tank->tiles_host, tank->args->grid.m.level[0].tile,
                                                   occupied * sizeof *tank->tiles_host);
    if (status != TARN_OK) {
        return status;
    }
    memset(bits, 0, bytes);
    for (uint32_t i = 0; i < occupied; i++) {
        bits[tank->tiles_host[i] / 8] |= (uint8_t)(1u << tank->tiles_host[i] % 8);
    }
    return TARN_OK;
}

static tarn_status sum_totals(tarn_tank *tank, tank_totals *totals)
{
    tarn_status status = tarn_queue_zero(tank->grid.queue, tank->args->store.totals, sizeof *totals);
    if (status != TARN_OK) {
        return status;
    }
    tank_args args = *tank->args;
    args.grid.level = tank->particle_count;
    grid_launch(&tank->grid, &args, TANK_KERNEL(totals_sum), NULL,
                (tank->particle_count + PARTICLE_LANES - 1) / PARTICLE_LANES);
    grid_launch(&tank->grid, &args, TANK_KERNEL(volume), NULL, tank->counters.grid.solved_active);
    if (tank->model->fills || tank->args->store.kept[0] != NULL) {
        grid_launch(&tank->grid, &args, TANK_KERNEL(totals_tiles), NULL, tank->counters.grid.active);
    }
    return tarn_queue_download(tank->grid.queue, totals, tank->args->store.totals, sizeof *totals);
}

/// Of the cells in active tiles, pressure and sums included, which only occupied ones have.
static uint64_t grid_bytes_per_cell(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->grid.group_bytes, active = tank->counters.grid.active;
    const uint64_t all = bytes[GROUP_ACTIVE] * active + bytes[GROUP_OCCUPIED] * tank->counters.grid.occupied;
    return active > 0 ? (all + active * TILE_CELLS - 1) / (active * TILE_CELLS) : 0;
}

void tarn_tank_report_light(const tarn_tank *tank, tarn_tank_report *report)
{
    memset(report, 0, sizeof *report);
    report->step = tank->grid.step;
    report->sim_time_s = tank->sim_time_s;
    report->particle_count = tank->particle_count;
    report->active_tiles = tank->counters.grid.active;
    report->liquid_cells = tank->counters.grid.liquid_cells_last;
    report->substeps = tank->grid.substeps;
    report->pressure_iterations = tank->counters.grid.pressure_iterations;
    report->residual = tank->counters.grid.pressure_residual;
    report->unconverged = tank->counters.grid.unconverged;
    report->born = tank->born;
    report->gone = tank->seeded + tank->born - tank->particle_count;
    report->bytes = tank_bytes(tank);
    report->particle_bytes = tank->grid.group_bytes[GROUP_PARTICLE];
    report->cell_bytes = grid_bytes_per_cell(tank);
    report->speed_max_m_s = tile_f32_bits(tank->counters.grid.speed_max_bits) * metres_per_second(tank);
}

tarn_status tarn_tank_report_get(tarn_tank *tank, tarn_tank_report *report)
{
    tank_totals totals;
    tarn_status status = sum_totals(tank, &totals);
    if (status != TARN_OK) {
        return status;
    }
    tarn_tank_report_light(tank, report);
    const double cell_m = (double)tank->grid.desc.cell_m;
    report->volume_m3 = (double)totals.sum[TOTAL_VOLUME] * 0x1p-20 * cell_m * cell_m * cell_m;
    const double speed = (double)metres_per_second(tank);
    const double mass = totals.sum[TOTAL_MASS] > 0 ? ldexp((double)totals.sum[TOTAL_MASS], -TOTAL_MASS_BITS) : 1.0;
    report->kinetic_j_kg = 0.5 * (double)totals.sum[TOTAL_ENERGY] * 0x1p-20 / mass * speed * speed;
    for (int a = 0; a < 3; a++) {
        report->momentum_m_s[a] = (double)(int64_t)totals.sum[TOTAL_VELOCITY + a] * 0x1p-20 / mass * speed;
        report->center_m[a] = ((double)totals.sum[TOTAL_POSITION + a] / mass + 0.5) / (1 << POSITION_BITS) *
                              (double)tank->grid.desc.cell_m;
    }
    const float *down = tank->grid.desc.gravity_direction;
    for (int a = 0; a < 3; a++) {
        report->potential_j_kg -=
            (double)tank_role(tank, TARN_PLAYS_GRAVITY, 0.0f) * ((double)down[a] * report->center_m[a]);
    }
    return TARN_OK;
}

static uint64_t mix_doubles(uint64_t hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = tile_mix_u64(hash ^ bits);
    }
    return hash;
}

tarn_status tarn_tank_hash_get(tarn_tank *tank, tarn_tank_hash *hash)
{
    tank_totals totals;
    tarn_status status = sum_totals(tank, &totals);
    if (status != TARN_OK) {
        return status;
    }
    uint64_t rest = tile_mix_u64(tank->grid.step + 1);
    for (uint32_t i = 0; i < tank->model->shown.parameter_count; i++) {
        rest = tile_mix_u64(rest ^ tile_bits_f32(tank->parameters[i]));
    }
    rest = tile_mix_u64(rest ^ tank->counters.grid.speed_max_bits);
    rest = tile_mix_u64(rest ^ ((uint64_t)tank->grid.substeps << 32 | tank->counters.grid.liquid_speed_bits));
    rest = tile_mix_u64(rest ^ ((uint64_t)tank->counters.next_id << 32 | tank->counters.births_refused));
    rest = tile_mix_u64(rest ^ tank->counters.reseed_debt);
    rest = mix_doubles(rest, tank->motion.position_m, 3);
    rest = mix_doubles(rest, tank->motion.rotation, 4);
    rest = mix_doubles(rest, tank->motion.target_m, 3);
    rest = mix_doubles(rest, tank->motion.target_rotation, 4);
    rest = mix_doubles(rest, tank->motion.velocity_m_s, 3);
    rest = mix_doubles(rest, tank->motion.spin, 3);
    rest = tank->turned_by_hand ? tile_mix_u64(rest ^ 0x68616e64) : rest;
    rest = grid_bodies_hash(&tank->grid, rest);
    rest = grid_added_hash(&tank->grid, rest);
    hash->lo = totals.sum[TOTAL_HASH] ^ rest;
    hash->hi = totals.sum[TOTAL_HASH + 1] ^ tile_mix_u64(rest);
    return TARN_OK;
}
