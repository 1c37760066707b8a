/// How a processor adds up the nodes of tiles: row by row. Part of transfer.tile.c, which says what grid_tile makes.
#ifndef TARN_KERNELS_LIQUID_NODE_SUMS_CPU_H
#define TARN_KERNELS_LIQUID_NODE_SUMS_CPU_H

typedef struct grid_scratch {
    uint32_t neighbour[27]; ///< occupied index or TILE_NONE
    int32_t momentum[3][TILE_CELLS], weight[3][TILE_CELLS], density[TILE_CELLS];
} grid_scratch;

typedef struct face_sums {
    int32_t of[3][TILE_CELLS];
} face_sums;

typedef struct grid_any_scratch {
    grid_scratch grid;
    face_sums mass;
} grid_any_scratch;

/// Sums of a row of cells, of up to eight fields: of what the scratch grids of its tile and of those around it, with
/// `edge` nodes an axis, hold of them. Its own has all eight cells, the one on the left the first one or two, that on
/// the right the last one or two.
TILE_FN void sum_row(const grid_scratch *s, const int32_t *const *field, int count, int edge, uint32_t row, uint32_t x,
                     row_i32 *sum)
{
    const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
    const int back = nodes_before(edge), reach = edge - TILE_EDGE - back;
    const uint64_t nodes = (uint64_t)edge * (uint64_t)edge * (uint64_t)edge;
    TILE_UNROLL for (int k = 0; k < count; k++) sum[k] = row_whole(0);
    for (int sz = z < reach ? -1 : 0; sz <= (z >= TILE_EDGE - back); sz++) {
        for (int sy = y < reach ? -1 : 0; sy <= (y >= TILE_EDGE - back); sy++) {
            const uint32_t *in = s->neighbour + ((sz + 1) * 3 + sy + 1) * 3;
            const uint64_t at = (uint64_t)node_at(edge, 0, y - TILE_EDGE * sy, z - TILE_EDGE * sz);
            if (in[1] != TILE_NONE) {
                const uint64_t own = in[1] * nodes + at + x;
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += row_load_whole(field[k] + own);
            }
            for (int i = 0; i < reach && in[0] != TILE_NONE; i++) {
                const uint64_t low = in[0] * nodes + at + (uint64_t)(TILE_EDGE + i);
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += row_load_one(field[k] + low, x, i);
            }
            for (int i = 1; i <= back && in[2] != TILE_NONE; i++) { // mostly the next tile, not in the cache yet
                const uint64_t high = in[2] * nodes + at - (uint64_t)i;
                TILE_UNROLL for (int k = 0; k < count; k++) pack_prefetch(field[k] + high);
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += row_load_one(field[k] + high, x, TILE_EDGE - i);
            }
        }
    }
}

/// The sums of the tile's cells; `mass` may be NULL.
TILE_FN void sum_nodes(const liquid_memory *m, grid_scratch *s, face_sums *mass, int edge)
{
    enum { SUMS = 7 };
    const int32_t *const from[SUMS] = {m->momentum[0], m->momentum[1], m->momentum[2], m->weight[0],
                                       m->weight[1],   m->weight[2],   m->density};
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const uint32_t at = row * TILE_EDGE + x;
        row_i32 sum[SUMS];
        sum_row(s, from, SUMS, edge, row, x, sum);
        TILE_UNROLL for (int a = 0; a < 3; a++)
        {
            row_store_whole(s->momentum[a] + at, sum[a]);
            row_store_whole(s->weight[a] + at, sum[3 + a]);
        }
        row_store_whole(s->density + at, sum[6]);
    }
    if (mass != NULL) {
        FOR_ROWS (x, row, 0, TILE_ROWS) {
            const int32_t *const heavy[3] = {m->mass[0], m->mass[1], m->mass[2]};
            row_i32 sum[3];
            sum_row(s, heavy, 3, edge, row, x, sum);
            TILE_UNROLL for (int a = 0; a < 3; a++) row_store_whole(mass->of[a] + row * TILE_EDGE + x, sum[a]);
        }
    }
}

/// Which faces particles give a velocity, and which one, in u_ext: SPEED_UNKNOWN of the others. `mass` is what momentum
/// counts against: the weight itself where all liquids are equally heavy. Keeps in face_rows, which the projection sets
/// later, which ones have none: liquid_fill gives some of them one, but reads there which ones had.
TILE_FN void find_carried(const liquid_args *args, const grid_scratch *s, const face_sums *mass, uint32_t tile)
{
    const grid_memory *grid = &args->tank.grid.m;
    const int32_t least = args->scale.weight_min;
    const row_f32 one = row_all(1.0f);
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const int32_t *momentum = s->momentum[axis], *heavy = mass != NULL ? mass->of[axis] : s->weight[axis];
        uint8_t *unknown = grid->face_rows + face_rows_of(tile, axis);
        float *carried = grid->u_ext[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_RANGE (row, 0, TILE_ROWS) {
            uint32_t known = row_at_least(s->weight[axis] + row * TILE_EDGE, least);
            if (mass != NULL) {
                known &= row_at_least(mass->of[axis] + row * TILE_EDGE, MASS_MIN);
            }
            unknown[row] = (uint8_t)~known;
        }
        FOR_ROWS (x, row, 0, TILE_ROWS) {
            const uint32_t at = row * TILE_EDGE + x;
            if (unknown[row] == 0xff) {
                row_store(carried + at, row_all(SPEED_UNKNOWN));
                continue;
            }
            const row_f32 weighed = row_load_i32(heavy + at);
            const row_f32 by = row_select(one < weighed, weighed, one);
            row_store(carried + at, row_select(row_bits_mask((uint32_t)unknown[row] >> x), row_all(SPEED_UNKNOWN),
                                               row_load_i32(momentum + at) / by * SPEED_MAX));
        }
    }
}

/// Types of a row of cells, a byte each: `count` is NULL or their particles' numbers; from cell `extent` on they are
/// solid.
TILE_FN uint64_t types_of_row(const uint8_t *count, int extent)
{
    const uint64_t ones = 0x0101010101010101u, inside = extent < TILE_EDGE ? (1ull << 8 * extent) - 1 : ~0ull;
    uint64_t counts = 0;
    if (count != NULL) {
        memcpy(&counts, __builtin_assume_aligned(count, TILE_EDGE), sizeof counts);
    }
    const uint64_t full = (((counts & 0x7f * ones) + 0x7f * ones) | counts) >> 7 & ones;
    return (full * CELL_LIQUID & inside) | (ones * CELL_SOLID & ~inside);
}

/// Cell types, and by how much the density is off. Beyond the tank's walls is none: what fell there counts inside.
TILE_FN void finish_cells(const liquid_args *args, const grid_scratch *s, uint32_t tile, tile_place place)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t o = s->neighbour[13];
    const uint8_t *count = o != TILE_NONE ? grid->cell_count + (uint64_t)o * TILE_CELLS : NULL;
    const int ex = tile_extent(&args->tank.grid.shape, 0, place.x),
              ey = tile_extent(&args->tank.grid.shape, 1, place.y),
              ez = tile_extent(&args->tank.grid.shape, 2, place.z);
    const float unit = 1.0f / (args->scale.weight_scale * args->tank.scale.rest_density);
    uint8_t *type = grid->cell_type + (uint64_t)tile * TILE_CELLS;
    float *error = grid->density_error + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (row, 0, TILE_ROWS) {
        const int is_inside = (int)row % TILE_EDGE < ey && (int)row / TILE_EDGE < ez;
        const uint64_t types = types_of_row(count != NULL ? count + row * TILE_EDGE : NULL, is_inside ? ex : 0);
        memcpy(type + row * TILE_EDGE, &types, sizeof types);
    }
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const int is_inside = (int)row % TILE_EDGE < ey && (int)row / TILE_EDGE < ez;
        const row_i32 inside = row_bits_mask(is_inside ? ((1u << ex) - 1) >> x : 0);
        const row_f32 density = row_keep(inside, row_load_i32(s->density + row * TILE_EDGE + x));
        row_store(error + row * TILE_EDGE + x, density * unit - 1.0f);
    }
}

/// Of faces that particles reach, the share of the lightest liquid's density; 0 of others. Kept in `shift`, which is
/// free until the density is corrected, for liquid_beta.
TILE_FN void keep_beta(const liquid_args *args, const grid_scratch *s, const face_sums *mass, uint32_t tile)
{
    const float light = args->scale.lightest, base = args->scale.mass_base;
    for (int axis = 0; axis < 3; axis++) {
        float *to = args->tank.grid.m.shift[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_RANGE (i, 0, TILE_CELLS) {
            const int32_t heavy = mass->of[axis][i];
            const float q = (float)heavy / (float)tile_max_i32(s->weight[axis][i], 1);
            const float beta = light * (1.0f - base) / tile_max2_f32(q - base, light * 0.5f);
            to[i] = heavy >= MASS_MIN ? tile_clamp_f32(beta, light, 1.0f) : 0.0f;
        }
    }
}

/// Velocities that particles brought, cell types, density; and where `mass` isn't NULL, the mass that each face has.
TILE_FN void grid_tile(const liquid_args *args, uint32_t tile, grid_scratch *s, face_sums *mass, int edge)
{
    const grid_memory *grid = &args->tank.grid.m;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    FOR_RANGE (n, 0, 27) {
        const uint32_t dense = tile_neighbour(&args->tank.grid.shape, 0, place, n);
        s->neighbour[n] = dense != TILE_NONE ? grid->level[0].index[dense] : TILE_NONE;
    }
    sum_nodes(&args->m, s, mass, edge);
    find_carried(args, s, mass, tile);
    finish_cells(args, s, tile, place);
    if (mass != NULL) {
        keep_beta(args, s, mass, tile);
    }
}

#endif
