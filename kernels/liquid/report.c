// Reports, hashes, and what of a frame only the tank knows.
#include "kernels/liquid/tank_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float metres_per_second(const tarn_tank *tank)
{
    return tank->desc.cell_m / tank->desc.dt_s;
}

/// A unit quaternion as a frame has it; of one without length, no rotation.
static void pack_rotation(const float rotation[4], int16_t packed[4])
{
    float length = 0.0f;
    for (int i = 0; i < 4; i++) {
        length += rotation[i] * rotation[i];
    }
    length = sqrtf(length);
    for (int i = 0; i < 4; i++) {
        const float component = length > 0.0f ? rotation[i] / length : i == 3;
        packed[i] = (int16_t)tile_round_i32(tile_clamp_f32(component, -1.0f, 1.0f) * TARN_FRAME_ROTATION_ONE);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t first = ((const tarn_body_state *)a)->solid, second = ((const tarn_body_state *)b)->solid;
    return first < second ? -1 : first > second;
}

uint32_t tank_frame_bodies(const tarn_tank *tank, tarn_frame_body *bodies)
{
    _Static_assert((int)TARN_TANK_BODIES_MAX <= (int)TARN_FRAME_BODIES_MAX, "a frame holds all bodies");
    tarn_body_state states[TARN_TANK_BODIES_MAX];
    const uint32_t count = tarn_tank_bodies(tank, states);
    qsort(states, count, sizeof *states, compare_numbers); // a thrown one takes the place of the oldest
    for (uint32_t i = 0; i < count; i++) {
        tarn_frame_body *body = &bodies[i];
        body->solid = (uint16_t)states[i].solid;
        memcpy(body->position_m, states[i].pose.position_m, sizeof body->position_m);
        pack_rotation(states[i].pose.rotation, body->rotation);
    }
    return count;
}

tarn_status tarn_tank_tiles(tarn_tank *tank, uint8_t *bits, size_t bits_bytes)
{
    const int32_t *tiles = tank->args.shape.tiles[0];
    const size_t bytes = ((size_t)tiles[0] * (size_t)tiles[1] * (size_t)tiles[2] + 7) / 8;
    const uint32_t occupied = tank->counters.occupied;
    if (bits_bytes < bytes) {
        return TARN_E_SPACE;
    }
    const tarn_status status = tarn_queue_download(tank->queue, tank->tiles_host, tank->args.m.level[0].tile,
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

static tarn_status sum_totals(tarn_tank *tank, liquid_totals *totals)
{
    tarn_status status = tarn_queue_zero(tank->queue, tank->args.m.totals, sizeof *totals);
    if (status != TARN_OK) {
        return status;
    }
    liquid_args args = tank->args;
    args.level = tank->particle_count;
    tank_launch(tank, &args, liquid_totals_sum_id, NULL, (tank->particle_count + PARTICLE_LANES - 1) / PARTICLE_LANES);
    tank_launch(tank, &args, liquid_volume_id, NULL, tank->counters.solved_active);
    return tarn_queue_download(tank->queue, totals, tank->args.m.totals, sizeof *totals);
}

/// Of the cells in active tiles, pressure and sums included, which only occupied ones have.
static uint64_t grid_bytes_per_cell(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->group_bytes, active = tank->counters.active;
    const uint64_t all = bytes[GROUP_ACTIVE] * active + bytes[GROUP_OCCUPIED] * tank->counters.occupied;
    return active > 0 ? (all + active * TILE_CELLS - 1) / (active * TILE_CELLS) : 0;
}

void tarn_tank_report_light(const tarn_tank *tank, tarn_tank_report *report)
{
    memset(report, 0, sizeof *report);
    report->step = tank->step;
    report->sim_time_s = tank->sim_time_s;
    report->particle_count = tank->particle_count;
    report->active_tiles = tank->counters.active;
    report->liquid_cells = tank->counters.liquid_cells_last;
    report->substeps = tank->substeps;
    report->pressure_iterations = tank->counters.pressure_iterations;
    report->residual = tank->counters.pressure_residual;
    report->born = tank->born;
    report->gone = tank->seeded + tank->born - tank->particle_count;
    report->bytes = tank_bytes(tank);
    report->particle_bytes = tank->group_bytes[GROUP_PARTICLE];
    report->cell_bytes = grid_bytes_per_cell(tank);
    report->speed_max_m_s = tile_f32_bits(tank->counters.speed_max_bits) * metres_per_second(tank);
}

tarn_status tarn_tank_report_get(tarn_tank *tank, tarn_tank_report *report)
{
    liquid_totals totals;
    tarn_status status = sum_totals(tank, &totals);
    if (status != TARN_OK) {
        return status;
    }
    tarn_tank_report_light(tank, report);
    const double cell_m = (double)tank->desc.cell_m;
    report->volume_m3 = (double)totals.sum[TOTAL_VOLUME] * 0x1p-20 * cell_m * cell_m * cell_m;
    const double speed = (double)metres_per_second(tank);
    const double mass = totals.sum[TOTAL_MASS] > 0 ? ldexp((double)totals.sum[TOTAL_MASS], -TOTAL_MASS_BITS) : 1.0;
    report->kinetic_j_kg = 0.5 * (double)totals.sum[TOTAL_ENERGY] * 0x1p-20 / mass * speed * speed;
    for (int a = 0; a < 3; a++) {
        report->momentum_m_s[a] = (double)(int64_t)totals.sum[TOTAL_VELOCITY + a] * 0x1p-20 / mass * speed;
        report->center_m[a] =
            ((double)totals.sum[TOTAL_POSITION + a] / mass + 0.5) / (1 << POSITION_BITS) * (double)tank->desc.cell_m;
    }
    report->potential_j_kg = (double)tank->parameters[TARN_PARAMETER_GRAVITY] * report->center_m[1];
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
    liquid_totals totals;
    tarn_status status = sum_totals(tank, &totals);
    if (status != TARN_OK) {
        return status;
    }
    uint64_t rest = tile_mix_u64(tank->step + 1);
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++) {
        rest = tile_mix_u64(rest ^ tile_bits_f32(tank->parameters[i]));
    }
    rest = tile_mix_u64(rest ^ tank->counters.speed_max_bits);
    rest = tile_mix_u64(rest ^ ((uint64_t)tank->counters.next_id << 32 | tank->counters.births_refused));
    rest = tile_mix_u64(rest ^ tank->counters.reseed_debt);
    rest = mix_doubles(rest, tank->motion.position_m, 3);
    rest = mix_doubles(rest, tank->motion.rotation, 4);
    rest = mix_doubles(rest, tank->motion.target_m, 3);
    rest = mix_doubles(rest, tank->motion.target_rotation, 4);
    rest = mix_doubles(rest, tank->motion.velocity_m_s, 3);
    rest = mix_doubles(rest, tank->motion.spin, 3);
    rest = tank_bodies_hash(tank, rest);
    rest = tank_added_hash(tank, rest);
    hash->lo = totals.sum[TOTAL_HASH] ^ rest;
    hash->hi = totals.sum[TOTAL_HASH + 1] ^ tile_mix_u64(rest);
    return TARN_OK;
}
