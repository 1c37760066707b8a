// What probes see. Particles are spread by hat functions of a cell's half width of one cell along each axis.
#include "kernels/tank/probe_cells.h"
#include "kernels/tank/show.h"

/// The weight along an axis of a particle for a place: its own and those of its mirror images behind both walls, so
/// that the weights of evenly spread particles add up to the same everywhere. Across a tank of one cell all count.
TILE_FN float probe_hat(float x, float particle, int32_t cells)
{
    const float own = 1.0f - tile_abs_f32(x - particle);
    const float low = 1.0f - (x + particle), high = 1.0f - (2.0f * (float)cells - (x + particle));
    return cells == 1 ? 1.0f : tile_max2_f32(own, 0.0f) + (tile_max2_f32(low, 0.0f) + tile_max2_f32(high, 0.0f));
}

TILE_FN float probe_weight(const grid_shape *shape, const float *x, const float *particle)
{
    float weight = 1.0f;
    for (int a = 0; a < 3; a++) {
        weight *= probe_hat(x[a], particle[a], shape->cells[a]);
    }
    return weight;
}

TILE_FN uint64_t probe_fixed(float x)
{
    const float most = CARRIED_LIMIT;
    return (uint64_t)(int64_t)((double)tile_clamp_f32(x, -most, most) * (double)(1 << PROBE_UNIT_BITS));
}

/// Whether a probe may see a particle, and where that is.
TILE_FN int probe_sees(const store_memory *store, const tank_probe *probe, uint32_t i, float *at)
{
    const uint32_t is_off = (uint32_t)(store->position[0][i] - probe->low[0] > probe->extent[0]) |
                            (uint32_t)(store->position[1][i] - probe->low[1] > probe->extent[1]) |
                            (uint32_t)(store->position[2][i] - probe->low[2] > probe->extent[2]);
    for (int a = 0; a < 3; a++) {
        at[a] = ((float)store->position[a][i] + 0.5f) * (1.0f / (1 << POSITION_BITS));
    }
    return !is_off;
}

TILE_FN void probe_add_point(const tank_probe_args *args, const tank_probe *probe, uint32_t i, const float *at)
{
    const store_memory *store = &args->tank.store;
    const float weight = probe_weight(&args->tank.grid.shape, probe->at, at);
    uint64_t *sum = args->sum + probe->first;
    if (weight > 0.0f) {
        const uint32_t liquid = store->attribute != NULL ? store->attribute[i] & (LIQUIDS_MAX - 1) : 0;
        global_add_u64(&sum[PROBE_WEIGHT], probe_fixed(weight));
        global_add_u64(&sum[PROBE_MASS], probe_fixed(weight * args->tank.scale.liquid_density[liquid]));
        for (int c = 0; c < 3; c++) {
            global_add_u64(&sum[PROBE_MOMENTUM + c], probe_fixed(weight * store->velocity[c][i]));
        }
        for (uint32_t k = 0; k < args->carried_count; k++) {
            global_add_u64(&sum[PROBE_CARRIED + k], probe_fixed(weight * store->carried[k][i]));
        }
    }
}

/// First of PROBE_TILE_SAMPLES samples, among which are all that particles of a tile reach.
TILE_FN int probe_tile_first(const tank_probe_args *args, const tank_probe *probe, uint32_t dense)
{
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    const float middle[3] = {(float)(place.x * TILE_EDGE) + 4.0f, (float)(place.y * TILE_EDGE) + 4.0f,
                             (float)(place.z * TILE_EDGE) + 4.0f};
    float along = 0.0f;
    for (int a = 0; a < 3; a++) {
        along += (middle[a] - probe->at[a]) * probe->along[a];
    }
    const int first =
        (int)tile_floor_f32(tile_clamp_f32(along, 0.0f, probe->length[0]) * probe->per_part) - PROBE_TILE_SAMPLES / 2;
    return tile_clamp_i32(first, 0, tile_max_i32((int)probe->samples - PROBE_TILE_SAMPLES, 0));
}

typedef struct probe_scratch {
    uint64_t sum[PROBE_LANES];
    uint32_t flux[PROBE_LANES];          ///< 2^-PROBE_SAMPLE_BITS, two's complement
    uint32_t sample[PROBE_TILE_SAMPLES]; ///< weights, the same: those of 2^18 particles fit
} probe_scratch;

/// Samples of a gauge within a cell of a particle, along each axis, get its weight.
TILE_FN void probe_add_gauge(const tank_probe_args *args, const tank_probe *probe, const float *at, int tile_first,
                             uint32_t *sample)
{
    const int32_t *cells = args->tank.grid.shape.cells;
    float across = 1.0f, first = 0.0f, last = probe->length[0];
    for (int a = 0; a < 3; a++) {
        if (probe->per_along[a] == 0.0f) {
            across *= probe_hat(probe->at[a], at[a], cells[a]);
        } else if (cells[a] > 1) {
            const float middle = (at[a] - probe->at[a]) * probe->per_along[a],
                        reach = tile_abs_f32(probe->per_along[a]);
            first = tile_max2_f32(first, middle - reach);
            last = tile_min_f32(last, middle + reach);
        }
    }
    if (across <= 0.0f) {
        return;
    }
    // The samples' own weights decide at the ends.
    const int lo = tile_max_i32(
        (int)tile_floor_f32(tile_clamp_f32(first, 0.0f, probe->length[0]) * probe->per_part - 0.5f), tile_first);
    const int hi =
        tile_min_i32((int)tile_floor_f32(tile_clamp_f32(last, 0.0f, probe->length[0]) * probe->per_part - 0.5f) + 2,
                     tile_min_i32((int)probe->samples, tile_first + PROBE_TILE_SAMPLES));
    for (int k = lo; k < hi; k++) {
        const float along = ((float)k + 0.5f) * probe->part;
        float weight = across;
        for (int a = 0; a < 3; a++) {
            if (probe->per_along[a] != 0.0f) {
                weight *= probe_hat(probe->at[a] + along * probe->along[a], at[a], cells[a]);
            }
        }
        tile_add_u32(&sample[k - tile_first], (uint32_t)(weight * (float)(1 << PROBE_SAMPLE_BITS)));
    }
}

/// What a particle brings through a rectangle: its velocity across, spread over a cell to either side; in
/// 2^-PROBE_SAMPLE_BITS, so that a lane's sum over 2^11 of them fits.
TILE_FN int32_t probe_flux(const tank_probe_args *args, const tank_probe *probe, uint32_t i, const float *at)
{
    float along = 0.0f, side = 0.0f, up = 0.0f, speed = 0.0f;
    for (int a = 0; a < 3; a++) {
        const float off = at[a] - probe->at[a];
        along += off * probe->along[a];
        side += off * probe->side[a];
        up += off * probe->up[a];
        speed += args->tank.store.velocity[a][i] * probe->up[a];
    }
    const int is_in = (along >= 0.0f) & (along < probe->length[0]) & (side >= 0.0f) & (side < probe->length[1]);
    const float near = tile_max2_f32(1.0f - tile_abs_f32(up), 0.0f);
    const float brought = near * tile_clamp_f32(speed, -SPEED_MAX, SPEED_MAX) * (float)(1 << PROBE_SAMPLE_BITS);
    return is_in ? (int32_t)brought : 0;
}

/// One tile per probe and tile that it may see particles of.
TILE_KERNEL(tank_probe_particles, PROBE_LANES, tank_probe_args, probe_scratch)
{
    const store_memory *store = &args->tank.store;
    const tank_probe own = args->probe[args->tile[tile].probe], *probe = &own; // what is added might lie there
    const uint32_t dense = args->tile[tile].dense;
    const uint32_t count = particles_in(&args->tank, dense), first = store->tile_first[dense];
    if (count == 0) {
        return;
    }
    if (probe->kind == PROBE_FLUX) {
        FOR_LANES (lane) {
            s->flux[lane] = 0;
        }
        for (uint32_t from = first; from < first + count; from += PROBE_LANES) {
            FOR_RANGE (lane, 0, tile_min_u32(PROBE_LANES, first + count - from)) { // each adds up its own
                float at[3];
                const int is_seen = probe_sees(store, probe, from + lane, at);
                const int32_t brought = probe_flux(args, probe, from + lane, at);
                s->flux[lane] += (uint32_t)(is_seen ? brought : 0);
            }
        }
        FOR_LANES (lane) {
            s->sum[lane] = (uint64_t)((int64_t)(int32_t)s->flux[lane] * (1 << (PROBE_UNIT_BITS - PROBE_SAMPLE_BITS)));
        }
        TILE_BARRIER();
        tile_sum_u64(s->sum, PROBE_LANES);
        if (TILE_SINGLE()) {
            global_add_u64(&args->sum[probe->first], s->sum[0]);
        }
    } else if (probe->kind == PROBE_GAUGE) {
        const int tile_first = probe_tile_first(args, probe, dense);
        FOR_RANGE (k, 0, PROBE_TILE_SAMPLES) {
            s->sample[k] = 0;
        }
        TILE_BARRIER();
        FOR_RANGE_ATOMIC (i, first, first + count) {
            float at[3];
            if (probe_sees(store, probe, i, at)) {
                probe_add_gauge(args, probe, at, tile_first, s->sample);
            }
        }
        TILE_BARRIER();
        FOR_RANGE_ATOMIC (k, 0, PROBE_TILE_SAMPLES) { // beyond the gauge's last one nothing was added
            if (s->sample[k] > 0) {
                global_add_u64(&args->sum[probe->first + (uint32_t)(tile_first + (int)k)],
                               (uint64_t)s->sample[k] << (PROBE_UNIT_BITS - PROBE_SAMPLE_BITS));
            }
        }
    } else {
        FOR_RANGE_ATOMIC (i, first, first + count) {
            float at[3];
            if (probe_sees(store, probe, i, at)) {
                probe_add_point(args, probe, i, at);
            }
        }
    }
}

/// The pressure of the last solve in a cell, in its unit; 0 where there was none. Its tiles are listed ascending.
TILE_FN float probe_pressure(const tank_args *args, int x, int y, int z)
{
    const grid_shape *shape = &args->grid.shape;
    const grid_memory *grid = &args->grid.m;
    const int cell[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        if (cell[a] < 0 || cell[a] >= shape->cells[a]) {
            return 0.0f;
        }
    }
    const uint32_t dense = tile_dense_of(shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2);
    uint32_t low = 0, end = grid->counters->solved;
    while (low < end) {
        const uint32_t middle = (low + end) / 2;
        low = grid->solved_tile[middle] < dense ? middle + 1 : low;
        end = grid->solved_tile[middle] < dense ? end : middle;
    }
    return low < grid->counters->solved && grid->solved_tile[low] == dense
               ? grid->pressure[(uint64_t)low * TILE_CELLS + cell_index(x & 7, y & 7, z & 7)]
               : 0.0f;
}

/// A corner's face of a component: below and above the place along its own axis, at cells' middles along the others.
TILE_FN float probe_face(const tank_args *args, const float *at, int c, uint32_t corner)
{
    int cell[3];
    for (int a = 0; a < 3; a++) {
        const int low = (int)tile_floor_f32(at[a] - (a == c ? 0.0f : 0.5f)) + (int)(corner >> a & 1);
        cell[a] = tile_clamp_i32(low, 0, args->grid.shape.cells[a] - (a != c));
    }
    return kept_at(args, c, cell[0], cell[1], cell[2]);
}

/// What the grid has around points: one tile for each.
TILE_KERNEL(tank_probe_grid, 32, tank_probe_args, tile_no_scratch)
{
    const tank_probe *probe = &args->probe[args->point[tile]];
    const grid_shape *shape = &args->tank.grid.shape;
    float *to = args->cell + probe->cells;
    FOR_RANGE (i, 0, PROBE_CELLS) {
        if (i < PROBE_PRESSURES) {
            int at[3];
            for (int a = 0; a < 3; a++) {
                at[a] = tile_clamp_i32((int)tile_floor_f32(probe->at[a]), 0, shape->cells[a] - 1);
            }
            to[i] = args->has_pressure ? probe_pressure(&args->tank, at[0] + (int)(i % 3) - 1,
                                                        at[1] + (int)(i / 3 % 3) - 1, at[2] + (int)(i / 9) - 1)
                                       : 0.0f;
        } else {
            const uint32_t face = i - PROBE_PRESSURES;
            to[i] = args->has_flow ? probe_face(&args->tank, probe->at, (int)(face / 8), face % 8) : 0.0f;
        }
    }
}
