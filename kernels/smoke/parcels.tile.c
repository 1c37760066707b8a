// What particles, which are parcels of warm or smoky air, do to the grid, and what becomes of them.
//
//     deposit  each tile sums the lift of its particles at the cells' centres, trilinearly, in fixed point, in a
//     scratch
//              grid one node wider than itself
//     cells    adds what tiles beside each other have summed; types of cells
//     fade     after the move: particles of a cell mix, cool and fade; what has faded or comes to an outlet leaves
#include "kernels/grid/halo.h"
#include "kernels/smoke/smoke.h"
#include "kernels/tank/show.h"
#include "kernels/tank/spline.h"

typedef struct lift_scratch {
    int32_t sum[NODE_COUNT];
    uint32_t count[TILE_CELLS];
    float scale[TILE_CELLS];
} lift_scratch;

TILE_FN void lift_particle(const smoke_args *args, lift_scratch *s, uint32_t particle)
{
    const store_memory *store = &args->tank.store;
    const smoke_control *control = args->m.control;
    const float lift = control->expansion * store->carried[TARN_SMOKE_HEAT][particle] -
                       control->weight * store->carried[TARN_SMOKE_SMOKE][particle];
    const float weight = tile_clamp_f32(lift, -control->lift_max, control->lift_max) * control->lift_unit *
                         s->scale[particle_cell(store, particle)];
    particle_axis a[3];
    for (int c = 0; c < 3; c++) {
        a[c] = axis_weights_local((int)(store->position[c][particle] & ((1u << TILE_POSITION_BITS) - 1)));
    }
    for (int row = 0; row < 4; row++) {
        const float across = weight * (a[1].center_weight[row & 1] * a[2].center_weight[row >> 1]);
        int32_t *to = s->sum + node_at(NODE_EDGE, a[0].center, a[1].center + (row & 1), a[2].center + (row >> 1));
        tile_add_i32(to, tile_round_i32(across * a[0].center_weight[0]));
        tile_add_i32(to + 1, tile_round_i32(across * a[0].center_weight[1]));
    }
}

/// Adds a plane of nodes across an axis to another one.
TILE_FN void fold_lift(int32_t *sum, int axis, int from, int to)
{
    const int stride[3] = {1, NODE_EDGE, NODE_EDGE * NODE_EDGE};
    const int across = stride[(axis + 1) % 3], beyond = stride[(axis + 2) % 3];
    FOR_RANGE (i, 0, NODE_EDGE * NODE_EDGE) {
        int32_t *row = sum + (int)i % NODE_EDGE * across + (int)i / NODE_EDGE * beyond;
        row[(to + 1) * stride[axis]] += row[(from + 1) * stride[axis]];
    }
    TILE_BARRIER();
}

/// One tile per occupied tile.
TILE_KERNEL(smoke_deposit, PARTICLE_LANES, smoke_args, lift_scratch)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const store_memory *store = &args->tank.store;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(shape, 0, dense);
    const int at[3] = {place.x, place.y, place.z};
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->count[i] = 0;
    }
    TILE_BARRIER();
    count_cells(&args->tank, tile, first, end, s->count, s->scale);
    if (first == end) {
        return;
    }
    FOR_RANGE (i, 0, NODE_COUNT) {
        s->sum[i] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        lift_particle(args, s, i);
    }
    TILE_BARRIER();
    for (int axis = 0; axis < 3; axis++) {
        const int extent = tile_extent(shape, axis, at[axis]);
        if (at[axis] == 0) {
            fold_lift(s->sum, axis, -1, 0);
        }
        if (at[axis] == shape->tiles[0][axis] - 1) {
            fold_lift(s->sum, axis, extent, extent - 1);
        }
    }
    FOR_RANGE (i, 0, NODE_COUNT) {
        args->m.sum[(uint64_t)tile * NODE_COUNT + i] = s->sum[i];
    }
}

typedef struct cells_scratch {
    uint32_t neighbour[27]; ///< occupied index of those that hold particles, or TILE_NONE
    uint32_t any;
    int32_t sum[TILE_CELLS];
} cells_scratch;

/// Sums of a row of cells.
TILE_FN row_i32 sum_cells(const smoke_args *args, const cells_scratch *s, int y, int z, uint32_t x)
{
    row_i32 sum = row_whole(0);
    for (int sz = z == 0 ? -1 : 0; sz <= (z == TILE_EDGE - 1); sz++) {
        for (int sy = y == 0 ? -1 : 0; sy <= (y == TILE_EDGE - 1); sy++) {
            const uint32_t *in = s->neighbour + ((sz + 1) * 3 + sy + 1) * 3;
            const uint64_t at = (uint64_t)node_at(NODE_EDGE, 0, y - TILE_EDGE * sy, z - TILE_EDGE * sz);
            if (in[1] != TILE_NONE) {
                sum += row_load_whole(args->m.sum + in[1] * (uint64_t)NODE_COUNT + at + x);
            }
            if (in[0] != TILE_NONE) {
                sum += row_load_one(args->m.sum + in[0] * (uint64_t)NODE_COUNT + at + TILE_EDGE, x, 0);
            }
            if (in[2] != TILE_NONE) {
                sum += row_load_one(args->m.sum + in[2] * (uint64_t)NODE_COUNT + at - 1, x, TILE_EDGE - 1);
            }
        }
    }
    return sum;
}

/// Lift of the cells, and what they are: air that is computed counts as liquid, what sleeps and outlets as air of no
/// pressure. One tile per active tile.
TILE_KERNEL(smoke_cells, CELL_LANES, smoke_args, cells_scratch)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = grid->active_tile[tile];
    const int awake = grid->level[0].index[dense] != TILE_NONE;
    const tile_place place = tile_place_of(shape, 0, dense);
    const int ex = planes_of(shape, place, 0), ey = planes_of(shape, place, 1), ez = planes_of(shape, place, 2);
    const float unit = 1.0f / (args->m.control->lift_unit * args->tank.scale.rest_density);
    uint8_t *type = grid->cell_type + (uint64_t)tile * TILE_CELLS;
    float *lift = args->m.lift + (uint64_t)tile * TILE_CELLS;
    if (TILE_SINGLE()) {
        s->any = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (n, 0, 27) {
        const uint32_t near = tile_neighbour(shape, 0, place, n),
                       o = near != TILE_NONE ? grid->level[0].index[near] : near;
        const int has = o != TILE_NONE && args->tank.store.tile_count[near] > 0;
        s->neighbour[n] = has ? o : TILE_NONE;
        tile_or_u32(&s->any, (uint32_t)has);
    }
    FOR_RANGE (i, tile_rows(shape) * TILE_EDGE, TILE_CELLS) {
        type[i] = CELL_SOLID;
    }
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, tile_planes(shape)) {
        const int outlet = is_outlet(shape, args->m.control->open, place.x * TILE_EDGE + x, place.y * TILE_EDGE + y,
                                     place.z * TILE_EDGE + z);
        const int is_inside = x < ex && y < ey && z < ez;
        type[cell_index(x, y, z)] = (uint8_t)(!is_inside ? CELL_SOLID : awake && !outlet ? CELL_LIQUID : CELL_AIR);
    }
    TILE_BARRIER();
    FOR_ROWS (x, row, 0, (uint32_t)(ez * TILE_EDGE)) {
        const uint32_t at = row * TILE_EDGE + x;
        row_store_whole(s->sum + at, s->any != 0 ? sum_cells(args, s, (int)row & 7, (int)row >> 3, x) : row_whole(0));
        row_store(lift + at, unit * row_load_i32(s->sum + at));
    }
}

typedef struct fade_scratch {
    uint32_t count[TILE_CELLS];
    int32_t sum[2][TILE_CELLS]; ///< of heat and smoke
    uint32_t move_count[MOVED_GONE + 1];
    uint32_t gone;
} fade_scratch;

/// Sums of what the cells' particles carry, in units that leave room for all of the tile's.
TILE_FN void sum_carried(const smoke_args *args, fade_scratch *s, uint32_t first, uint32_t end, const float *unit)
{
    const store_memory *store = &args->tank.store;
    FOR_RANGE (i, 0, TILE_CELLS) {
        s->count[i] = 0;
        s->sum[0][i] = s->sum[1][i] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        tile_add_u32(&s->count[cell], 1);
        for (int k = 0; k < 2; k++) {
            tile_add_i32(&s->sum[k][cell], tile_round_i32(store->carried[k][i] * unit[k]));
        }
    }
    TILE_BARRIER();
}

/// Whether a particle leaves the tank at the end of its move.
TILE_FN int has_left(const smoke_args *args, uint32_t particle)
{
    const store_memory *store = &args->tank.store;
    int cell[3];
    for (int a = 0; a < 3; a++) {
        cell[a] = (int)(store->moved_position[a][particle] >> POSITION_BITS);
    }
    return is_outlet(&args->tank.grid.shape, args->m.control->open, cell[0], cell[1], cell[2]) ||
           (tile_abs_f32(store->moved_carried[TARN_SMOKE_HEAT][particle]) < FAINT_HEAT_K &&
            store->moved_carried[TARN_SMOKE_SMOKE][particle] < FAINT_SMOKE);
}

/// Between a particle's move and the sort. One tile per occupied tile.
TILE_KERNEL(smoke_fade, PARTICLE_LANES, smoke_args, fade_scratch)
{
    const store_memory *store = &args->tank.store;
    const smoke_control *control = args->m.control;
    const uint32_t dense = args->tank.grid.m.level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    if (first == end) {
        return;
    }
    const float room = 1073741824.0f / (float)(end - first); // 2^30
    const float most[2] = {CARRIED_HEAT_MAX, CARRIED_SMOKE_MAX};
    const float unit[2] = {room / most[0], room / most[1]};
    if (TILE_SINGLE()) {
        s->gone = 0;
    }
    TILE_BARRIER();
    if (control->mixing > 0.0f) {
        sum_carried(args, s, first, end, unit);
    }
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        for (int k = 0; k < 2; k++) {
            float value = store->carried[k][i];
            if (control->mixing > 0.0f) {
                const float mean = (float)s->sum[k][cell] / (unit[k] * (float)s->count[cell]);
                value += control->mixing * (mean - value);
            }
            value *= k == TARN_SMOKE_HEAT ? control->cooled : control->faded;
            store->moved_carried[k][i] = tile_clamp_f32(value, k == TARN_SMOKE_HEAT ? -most[k] : 0.0f, most[k]);
        }
        if (has_left(args, i)) {
            store->moved_to[i] = MOVED_GONE;
            tile_or_u32(&s->gone, 1);
        }
    }
    TILE_BARRIER();
    if (s->gone == 0) {
        return;
    }
    FOR_RANGE (n, 0, MOVED_GONE + 1) {
        s->move_count[n] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        tile_add_u32(&s->move_count[store->moved_to[i]], 1);
    }
    TILE_BARRIER();
    FOR_RANGE (n, 0, 27) {
        store->move_count[tile * 27 + n] = s->move_count[n];
    }
}

TILE_KERNEL(smoke_show_pressure, PARTICLE_LANES, smoke_args, tile_no_scratch)
{
    show_tile_pressure(&args->tank, tile, args->value, args->value_scale);
}
