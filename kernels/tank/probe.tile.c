// What probes see. Particles are spread by hat functions of a cell's half width of one cell along each axis.
#include "kernels/grid/poisson.h"
#include "kernels/grid/solids.h"
#include "kernels/tank/probe_cells.h"
#include "kernels/tank/show.h"

#define PROBE_FORCE_LIMIT 4e6f

enum { PROBE_OWN = PACK_WIDTH > 1 ? PACK_WIDTH : PROBE_LANES }; ///< places in which lanes add up what they see

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

/// Of a surface's cell: so much that a million of them fit.
TILE_FN uint64_t probe_fixed_force(float x)
{
    return (uint64_t)(int64_t)((double)tile_clamp_f32(x, -PROBE_FORCE_LIMIT, PROBE_FORCE_LIMIT) *
                               (double)(1 << PROBE_UNIT_BITS));
}

/// Where particles are, cells.
TILE_FN float probe_place(uint32_t position)
{
    return ((float)position + 0.5f) * (1.0f / (1 << POSITION_BITS));
}

/// Which of n particles from i on are in a probe's box.
TILE_FN pack_i32 probe_sees(const store_memory *store, const tank_probe *probe, uint32_t i, uint32_t n)
{
    pack_i32 seen = pack_count_i32(0) < (int32_t)n;
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const pack_i32 at = pack_load_i32(store->position[a] + i, n);
        seen &= (at >= (int32_t)probe->low[a]) & (at <= (int32_t)(probe->low[a] + probe->extent[a]));
    }
    return seen;
}

typedef struct probe_scratch {
    uint64_t sum[PROBE_POINT_SUMS][PROBE_OWN];
    uint32_t flux[PROBE_OWN];            ///< 2^-PROBE_SAMPLE_BITS, two's complement
    uint32_t sample[PROBE_TILE_SAMPLES]; ///< weights, the same: those of 2^18 particles fit
    uint32_t some;                       ///< there is something to add up
} probe_scratch;

/// Each lane adds up its own: `own` is its place.
TILE_FN void probe_add_point(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, uint32_t i,
                             uint32_t own)
{
    const store_memory *store = &args->tank.store;
    const float at[3] = {probe_place(store->position[0][i]), probe_place(store->position[1][i]),
                         probe_place(store->position[2][i])};
    const float weight = probe_weight(&args->tank.grid.shape, probe->at, at);
    if (weight > 0.0f) {
        const uint32_t liquid = store->attribute != NULL ? store->attribute[i] & (LIQUIDS_MAX - 1) : 0;
        tile_or_u32(&s->some, 1);
        s->sum[PROBE_WEIGHT][own] += probe_fixed(weight);
        s->sum[PROBE_MASS][own] += probe_fixed(weight * args->tank.scale.liquid_density[liquid]);
        for (int c = 0; c < 3; c++) {
            s->sum[PROBE_MOMENTUM + c][own] += probe_fixed(weight * store->velocity[c][i]);
        }
        for (uint32_t k = 0; k < args->carried_count; k++) {
            s->sum[PROBE_CARRIED + k][own] += probe_fixed(weight * store->carried[k][i]);
        }
    }
}

/// The same of those of n particles that the point sees.
TILE_FN void probe_add_points(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, uint32_t i,
                              uint32_t n, uint32_t own)
{
    uint32_t bits = pack_mask_bits(probe_sees(&args->tank.store, probe, i, n));
    for (; bits != 0; bits &= bits - 1) {
        const uint32_t lane = tile_lowest_bit_u32(bits);
        probe_add_point(args, probe, s, i + lane, own + lane);
    }
}

TILE_FN void probe_point(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, uint32_t first,
                         uint32_t end)
{
    const uint32_t sums = PROBE_CARRIED + args->carried_count;
    if (TILE_SINGLE()) {
        s->some = 0;
    }
    FOR_RANGE (i, 0, sums * PROBE_OWN) {
        s->sum[i / PROBE_OWN][i % PROBE_OWN] = 0;
    }
    TILE_BARRIER();
    EACH_PACK(i, n, first, end, probe_add_points(args, probe, s, i, n, (i - first) % PROBE_OWN));
    TILE_BARRIER();
    if (s->some == 0) {
        return;
    }
    for (uint32_t k = 0; k < sums; k++) {
        tile_sum_u64(s->sum[k], PROBE_OWN);
        if (TILE_SINGLE()) {
            global_add_u64(&args->sum[probe->first + k], s->sum[k][0]);
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

/// What particles bring through a rectangle: their velocity across, spread over a cell to either side; in
/// 2^-PROBE_SAMPLE_BITS, so that the sum of 2^PROBE_FLUX_BITS fits.
TILE_FN void probe_add_flux(const tank_probe_args *args, const tank_probe *probe, uint32_t i, uint32_t n,
                            uint32_t *flux)
{
    const store_memory *store = &args->tank.store;
    const pack_i32 seen = probe_sees(store, probe, i, n);
    if (!pack_any(seen)) {
        return;
    }
    pack_f32 along = pack_all_f32(0.0f), side = along, up = along, speed = along;
    TILE_UNROLL for (int a = 0; a < 3; a++)
    {
        const pack_f32 place =
            (pack_to_f32(pack_load_i32(store->position[a] + i, n)) + 0.5f) * (1.0f / (1 << POSITION_BITS));
        const pack_f32 off = place - probe->at[a];
        along = along + off * probe->along[a];
        side = side + off * probe->side[a];
        up = up + off * probe->up[a];
        speed = speed + pack_load_f32(store->velocity[a] + i, n) * probe->up[a];
    }
    const pack_i32 is_in =
        (along >= 0.0f) & (along < probe->length[0]) & (side >= 0.0f) & (side < probe->length[1]) & seen;
    const pack_f32 near = pack_max_f32(1.0f - pack_abs_f32(up), pack_all_f32(0.0f));
    const pack_f32 brought = near * pack_clamp_f32(speed, -SPEED_MAX, SPEED_MAX) * (float)(1 << PROBE_SAMPLE_BITS);
    pack_store_i32(flux, pack_load_i32(flux, n) + pack_keep_i32(is_in, pack_round_i32(brought)), n);
}

TILE_FN void probe_flux(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, uint32_t first,
                        uint32_t end)
{
    FOR_RANGE (own, 0, PROBE_OWN) {
        s->sum[0][own] = 0;
    }
    for (uint32_t from = first; from < end; from += PROBE_OWN << PROBE_FLUX_BITS) { // once, but for crowds
        const uint32_t to = from + tile_min_u32(PROBE_OWN << PROBE_FLUX_BITS, end - from);
        TILE_BARRIER();
        FOR_RANGE (own, 0, PROBE_OWN) {
            s->flux[own] = 0;
        }
        TILE_BARRIER();
        EACH_PACK(i, n, from, to, probe_add_flux(args, probe, i, n, s->flux + (i - from) % PROBE_OWN));
        TILE_BARRIER();
        FOR_RANGE (own, 0, PROBE_OWN) {
            s->sum[0][own] += (uint64_t)((int64_t)(int32_t)s->flux[own] * (1 << (PROBE_UNIT_BITS - PROBE_SAMPLE_BITS)));
        }
    }
    TILE_BARRIER();
    tile_sum_u64(s->sum[0], PROBE_OWN);
    if (TILE_SINGLE()) {
        global_add_u64(&args->sum[probe->first], s->sum[0][0]);
    }
}

/// The same of those of n particles that the gauge sees.
TILE_FN void probe_add_gauges(const tank_probe_args *args, const tank_probe *probe, uint32_t i, uint32_t n,
                              int tile_first, uint32_t *sample)
{
    const store_memory *store = &args->tank.store;
    uint32_t bits = pack_mask_bits(probe_sees(store, probe, i, n));
    for (; bits != 0; bits &= bits - 1) {
        const uint32_t seen = i + tile_lowest_bit_u32(bits);
        const float at[3] = {probe_place(store->position[0][seen]), probe_place(store->position[1][seen]),
                             probe_place(store->position[2][seen])};
        probe_add_gauge(args, probe, at, tile_first, sample);
    }
}

TILE_FN void probe_gauge(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, uint32_t dense,
                         uint32_t first, uint32_t end)
{
    const int tile_first = probe_tile_first(args, probe, dense);
    FOR_RANGE (k, 0, PROBE_TILE_SAMPLES) {
        s->sample[k] = 0;
    }
    TILE_BARRIER();
    EACH_PACK(i, n, first, end, probe_add_gauges(args, probe, i, n, tile_first, s->sample));
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (k, 0, PROBE_TILE_SAMPLES) { // beyond the gauge's last one nothing was added
        if (s->sample[k] > 0) {
            global_add_u64(&args->sum[probe->first + (uint32_t)(tile_first + (int)k)],
                           (uint64_t)s->sample[k] << (PROBE_UNIT_BITS - PROBE_SAMPLE_BITS));
        }
    }
}

/// What a probe sees of a tile's particles.
TILE_FN void probe_particles(const tank_probe_args *args, tank_probe_tile which, probe_scratch *s)
{
    const tank_probe own = args->probe[which.probe], *probe = &own; // what is added might lie there
    const uint32_t first = args->tank.store.tile_first[which.dense],
                   end = first + particles_in(&args->tank, which.dense);
    if (first == end) {
        return;
    }
    if (probe->kind == PROBE_FLUX) {
        probe_flux(args, probe, s, first, end);
    } else if (probe->kind == PROBE_GAUGE) {
        probe_gauge(args, probe, s, which.dense, first, end);
    } else {
        probe_point(args, probe, s, first, end);
    }
}

/// Where a tile is among those of the last solve, which are listed ascending; TILE_NONE: it isn't.
TILE_FN uint32_t probe_solved(const grid_memory *grid, uint32_t dense)
{
    uint32_t low = 0, end = grid->counters->solved;
    while (low < end) {
        const uint32_t middle = (low + end) / 2;
        low = grid->solved_tile[middle] < dense ? middle + 1 : low;
        end = grid->solved_tile[middle] < dense ? end : middle;
    }
    return low < grid->counters->solved && grid->solved_tile[low] == dense ? low : TILE_NONE;
}

/// The pressure of the last solve in a cell, in its unit; 0 where there was none.
TILE_FN float probe_pressure(const tank_args *args, int x, int y, int z)
{
    const grid_shape *shape = &args->grid.shape;
    const int cell[3] = {x, y, z};
    for (int a = 0; a < 3; a++) {
        if (cell[a] < 0 || cell[a] >= shape->cells[a]) {
            return 0.0f;
        }
    }
    const uint32_t o =
        probe_solved(&args->grid.m, tile_dense_of(shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2));
    return o != TILE_NONE ? args->grid.m.pressure[(uint64_t)o * TILE_CELLS + cell_index(x & 7, y & 7, z & 7)] : 0.0f;
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

/// What the grid has around a point.
TILE_FN void probe_grid(const tank_probe_args *args, const tank_probe *probe)
{
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

// -------------------------------------------------------------------------------------------------------------- forces

/// A tile of the last solve, for a surface: where it lies, and those above along each axis.
typedef struct probe_solved_tile {
    uint32_t slot, upper[3]; ///< active indices
    uint64_t pressure;
    tile_place place;
} probe_solved_tile;

TILE_FN void probe_find_solved(const tank_args *args, uint32_t o, uint32_t dense, probe_solved_tile *to)
{
    const grid_memory *grid = &args->grid.m;
    to->place = tile_place_of(&args->grid.shape, 0, dense);
    to->slot = grid->solved_slot[o];
    to->pressure = (uint64_t)o * TILE_CELLS;
    for (int a = 0; a < 3; a++) {
        const uint32_t next =
            tile_dense_of(&args->grid.shape, 0, to->place.x + (a == 0), to->place.y + (a == 1), to->place.z + (a == 2));
        const uint32_t above = next != TILE_NONE && grid->beta[0] != NULL ? probe_solved(grid, next) : TILE_NONE;
        to->upper[a] = above != TILE_NONE ? grid->solved_slot[above] : TILE_NONE;
    }
}

/// What a liquid cell's pressure does to a surface in it, with what the pressure grows by up to it: the same as moves
/// bodies (grid_body_gather, grid_body_lift).
TILE_FN void probe_press(const tank_probe_args *args, const probe_solved_tile *in, const tank_probe_cell *surface,
                         const float *center, uint64_t (*sum)[PROBE_OWN], uint32_t own)
{
    const grid_memory *grid = &args->tank.grid.m;
    const grid_control *control = grid->control;
    const uint32_t c = surface->cell;
    if (grid->cell_type[(uint64_t)in->slot * TILE_CELLS + c] != CELL_LIQUID) {
        return;
    }
    const float p = grid->pressure[in->pressure + c];
    const float at[3] = {(float)(in->place.x * TILE_EDGE + (int)(c & 7)) + 0.5f,
                         (float)(in->place.y * TILE_EDGE + (int)(c >> 3 & 7)) + 0.5f,
                         (float)(in->place.z * TILE_EDGE + (int)(c >> 6)) + 0.5f};
    float r[3], from_pivot[3], force[3], moment[3];
    for (int a = 0; a < 3; a++) {
        r[a] = at[a] - center[a];
        from_pivot[a] = at[a] - control->pivot[a];
    }
    for (int a = 0; a < 3; a++) {
        const float pull = control->gravity[a] + dot3(control->force_slope[a], from_pivot);
        const float mass = (float)surface->lack[a] * (1.0f / 510.0f) * density_along(grid, in->slot, in->upper, c, a);
        force[a] = p * ((float)surface->cover[a] * (1.0f / 255.0f)) - pull * args->kick * mass;
    }
    cross3(r, force, moment);
    for (int a = 0; a < 3; a++) {
        sum[a][own] += probe_fixed_force(force[a]);
        sum[3 + a][own] += probe_fixed_force(moment[a]);
    }
}

TILE_FN void probe_begin_force(probe_scratch *s)
{
    FOR_RANGE (i, 0, PROBE_FORCE_SUMS * PROBE_OWN) {
        s->sum[i / PROBE_OWN][i % PROBE_OWN] = 0;
    }
    TILE_BARRIER();
}

TILE_FN void probe_end_force(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s)
{
    TILE_BARRIER();
    for (uint32_t k = 0; k < PROBE_FORCE_SUMS; k++) {
        tile_sum_u64(s->sum[k], PROBE_OWN);
        if (TILE_SINGLE()) {
            global_add_u64(&args->sum[probe->first + k], s->sum[k][0]);
        }
    }
}

/// On what stands still: its part in a tile.
TILE_FN void probe_patch(const tank_probe_args *args, const tank_probe_patch *patch, probe_scratch *s)
{
    const tank_probe *probe = &args->probe[patch->probe];
    const uint32_t o = args->has_pressure ? probe_solved(&args->tank.grid.m, patch->dense) : TILE_NONE;
    probe_solved_tile in;
    if (o == TILE_NONE) {
        return;
    }
    probe_find_solved(&args->tank, o, patch->dense, &in);
    probe_begin_force(s);
    FOR_RANGE_ATOMIC (i, 0, patch->end - patch->first) {
        probe_press(args, &in, &args->surface[patch->first + i], probe->at, s->sum, i % PROBE_OWN);
    }
    probe_end_force(args, probe, s);
}

/// On a body: its part in a tile of the last solve.
TILE_FN void probe_mover(const tank_probe_args *args, const tank_probe *probe, uint32_t o, probe_scratch *s)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = grid->solved_tile[o], b = probe->body;
    const grid_body_state *state = &grid->bodies->state[b];
    float center[3];
    probe_solved_tile in;
    probe_find_solved(&args->tank, o, dense, &in);
    tile_center(in.place, center);
    const float away[3] = {state->position[0] - center[0], state->position[1] - center[1],
                           state->position[2] - center[2]};
    const float reach = grid->bodies->body[b].reach + TILE_RADIUS + 2.5f + BODY_SPEED_MAX; // it has moved since
    if (dot3(away, away) >= reach * reach) {
        return;
    }
    probe_begin_force(s);
    FOR_RANGE_ATOMIC (c, 0, TILE_CELLS) {
        const uint64_t cell = (uint64_t)in.slot * TILE_CELLS + c;
        if (grid->cover_owner[cell] == b) {
            tank_probe_cell surface;
            surface.cell = (uint16_t)c;
            for (int a = 0; a < 3; a++) {
                surface.cover[a] = grid->cover[a][cell];
                surface.lack[a] = grid->lack[a][cell];
            }
            probe_press(args, &in, &surface, state->position, s->sum, c % PROBE_OWN);
        }
    }
    probe_end_force(args, probe, s);
}

// ----------------------------------------------------------------------------------------------------------------- all

/// One tile for each point's part of the grid, then one per probe and tile that it may see particles of, per part of a
/// surface that stands still, and per body and tile of the last solve.
TILE_KERNEL(tank_probe_all, PROBE_LANES, tank_probe_args, probe_scratch)
{
    uint32_t at = tile;
    if (at < args->point_count) {
        probe_grid(args, &args->probe[args->point[at]]);
        return;
    }
    at -= args->point_count;
    if (at < args->tile_count) {
        probe_particles(args, args->tile[at], s);
        return;
    }
    at -= args->tile_count;
    if (at < args->patch_count) {
        probe_patch(args, &args->patch[at], s);
        return;
    }
    at -= args->patch_count;
    probe_mover(args, &args->probe[args->mover[at / args->solved]], at % args->solved, s);
}
