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

/// How far particles are from where a probe begins, along an axis.
TILE_FN pack_f32 probe_off(const store_memory *store, const tank_probe *probe, uint32_t a, uint32_t i, uint32_t n)
{
    return (pack_to_f32(pack_load_i32(store->position[a] + i, n)) + 0.5f) * (1.0f / (1 << POSITION_BITS)) -
           probe->at[a];
}

/// What particles bring through a rectangle: their velocity across, spread over a cell to either side; in
/// 2^-PROBE_SAMPLE_BITS, so that the sum of 2^PROBE_FLUX_BITS fits.
/// @param is_along_axes  a constant: the sides and what is across are
TILE_FN pack_i32 probe_brings(const tank_probe_args *args, const tank_probe *probe, int is_along_axes, uint32_t i,
                              uint32_t n)
{
    const store_memory *store = &args->tank.store;
    pack_f32 along = pack_all_f32(0.0f), side = along, up = along, speed = along;
    if (is_along_axes) {
        const uint32_t *axis = probe->axis;
        along = probe_off(store, probe, axis[0], i, n) * probe->along[axis[0]];
        side = probe_off(store, probe, axis[1], i, n) * probe->side[axis[1]];
        up = probe_off(store, probe, axis[2], i, n) * probe->up[axis[2]];
        speed = pack_load_f32(store->velocity[axis[2]] + i, n) * probe->up[axis[2]];
    } else {
        TILE_UNROLL for (uint32_t a = 0; a < 3; a++)
        {
            const pack_f32 off = probe_off(store, probe, a, i, n);
            along = along + off * probe->along[a];
            side = side + off * probe->side[a];
            up = up + off * probe->up[a];
            speed = speed + pack_load_f32(store->velocity[a] + i, n) * probe->up[a];
        }
    }
    const pack_i32 is_in = (along >= 0.0f) & (along < probe->length[0]) & (side >= 0.0f) & (side < probe->length[1]) &
                           (pack_count_i32(0) < (int32_t)n);
    const pack_f32 near = pack_max_f32(1.0f - pack_abs_f32(up), pack_all_f32(0.0f));
    const pack_f32 brought = near * pack_clamp_f32(speed, -SPEED_MAX, SPEED_MAX) * (float)(1 << PROBE_SAMPLE_BITS);
    return pack_keep_i32(is_in, pack_round_i32(brought));
}

TILE_FN uint64_t probe_fixed_flux(int32_t sum)
{
    return (uint64_t)((int64_t)sum * (1 << (PROBE_UNIT_BITS - PROBE_SAMPLE_BITS)));
}

/// What a probe sees of a tile's particles, from first to end. `seen` is the form's own.
///
///     probe_see_point(args, probe, place, first, end, seen, sum, some)
///         adds a point's sums to the places of lanes, and sets `some` where there is anything
///     probe_see_gauge(args, probe, place, tile_first, first, end, seen, sample)
///         adds to a gauge's samples, from tile_first on
///     probe_see_flux(args, probe, first, end, sum)
///         adds what crosses a rectangle to the places of lanes
#include TILE_FORM(seen)

typedef struct probe_scratch {
    probe_seen seen;
    uint64_t sum[PROBE_POINT_SUMS][PROBE_OWN];
    uint32_t sample[PROBE_TILE_SAMPLES]; ///< weights, the same: those of 2^18 particles fit
    uint32_t some;                       ///< there is something to add up
    uint32_t around[8];                  ///< probe_solved of the tiles around a point, as far as they are others
} probe_scratch;

TILE_FN void probe_point(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, tile_place place,
                         uint32_t first, uint32_t end)
{
    const uint32_t sums = PROBE_CARRIED + args->carried_count;
    if (TILE_SINGLE()) {
        s->some = 0;
    }
    FOR_RANGE (i, 0, sums * PROBE_OWN) {
        s->sum[i / PROBE_OWN][i % PROBE_OWN] = 0;
    }
    TILE_BARRIER();
    probe_see_point(args, probe, place, first, end, &s->seen, s->sum, &s->some);
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
TILE_FN int probe_tile_first(const tank_probe *probe, tile_place place)
{
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

TILE_FN void probe_flux(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, uint32_t first,
                        uint32_t end)
{
    FOR_RANGE (own, 0, PROBE_OWN) {
        s->sum[0][own] = 0;
    }
    probe_see_flux(args, probe, first, end, s->sum[0]);
    TILE_BARRIER();
    tile_sum_u64(s->sum[0], PROBE_OWN);
    if (TILE_SINGLE()) {
        global_add_u64(&args->sum[probe->first], s->sum[0][0]);
    }
}

TILE_FN void probe_gauge(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s, tile_place place,
                         uint32_t first, uint32_t end)
{
    const int tile_first = probe_tile_first(probe, place);
    FOR_RANGE (k, 0, PROBE_TILE_SAMPLES) {
        s->sample[k] = 0;
    }
    TILE_BARRIER();
    probe_see_gauge(args, probe, place, tile_first, first, end, &s->seen, s->sample);
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
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, which.dense);
    if (probe->kind == PROBE_FLUX) {
        probe_flux(args, probe, s, first, end);
    } else if (probe->kind == PROBE_GAUGE) {
        probe_gauge(args, probe, s, place, first, end);
    } else {
        probe_point(args, probe, s, place, first, end);
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

/// Where the pressures of the tiles around a point are: of its own, and of those that cells around it lie in. Of the
/// eight at the corners those are left out that are one with the one before along some axis.
TILE_FN void probe_find_around(const tank_args *args, const int *at, uint32_t *around)
{
    FOR_RANGE (corner, 0, 8) {
        int tile[3], is_another = 1;
        for (int a = 0; a < 3; a++) {
            const int above = (int)(corner >> a & 1), low = tile_max_i32(at[a] - 1, 0) >> TILE_LOG2;
            tile[a] = above ? (at[a] + 1) >> TILE_LOG2 : low;
            is_another = is_another && (!above || tile[a] != low);
        }
        if (is_another) {
            const uint32_t dense = tile_dense_of(&args->grid.shape, 0, tile[0], tile[1], tile[2]);
            around[corner] = dense != TILE_NONE ? probe_solved(&args->grid.m, dense) : TILE_NONE;
        }
    }
}

/// The pressure of the last solve in the cell that is so far from a point's, in its unit; 0 where there was none.
TILE_FN float probe_pressure(const tank_args *args, const int *at, const int *off, const uint32_t *around)
{
    const grid_shape *shape = &args->grid.shape;
    uint32_t corner = 0;
    int cell[3];
    for (int a = 0; a < 3; a++) {
        cell[a] = at[a] + off[a];
        if (cell[a] < 0 || cell[a] >= shape->cells[a]) {
            return 0.0f;
        }
        corner |= (uint32_t)(cell[a] >> TILE_LOG2 != tile_max_i32(at[a] - 1, 0) >> TILE_LOG2) << a;
    }
    const uint32_t o = around[corner];
    return o != TILE_NONE
               ? args->grid.m.pressure[(uint64_t)o * TILE_CELLS + cell_index(cell[0] & 7, cell[1] & 7, cell[2] & 7)]
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

/// What the grid has around a point.
TILE_FN void probe_grid(const tank_probe_args *args, const tank_probe *probe, probe_scratch *s)
{
    const grid_shape *shape = &args->tank.grid.shape;
    float *to = args->cell + probe->cells;
    int at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = tile_clamp_i32((int)tile_floor_f32(probe->at[a]), 0, shape->cells[a] - 1);
    }
    if (args->has_pressure) {
        probe_find_around(&args->tank, at, s->around);
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, PROBE_CELLS) {
        if (i < PROBE_PRESSURES) {
            const int off[3] = {(int)(i % 3) - 1, (int)(i / 3 % 3) - 1, (int)(i / 9) - 1};
            to[i] = args->has_pressure ? probe_pressure(&args->tank, at, off, s->around) : 0.0f;
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

/// Each lane its own sums, which are those that it adds to.
TILE_FN void probe_begin_force(probe_scratch *s)
{
    FOR_RANGE (i, 0, PROBE_FORCE_SUMS * PROBE_OWN) {
        s->sum[i / PROBE_OWN][i % PROBE_OWN] = 0;
    }
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
        probe_grid(args, &args->probe[args->point[at]], s);
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
