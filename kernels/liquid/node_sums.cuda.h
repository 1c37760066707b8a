/// How blocks add up the nodes of tiles: a cell for each lane, which fetches all of it at once and keeps it to itself.
/// Part of transfer.tile.c, which says what grid_tile makes.
#ifndef TARN_KERNELS_LIQUID_NODE_SUMS_CUDA_H
#define TARN_KERNELS_LIQUID_NODE_SUMS_CUDA_H

typedef struct grid_scratch {
    uint32_t neighbour[27]; ///< occupied index or TILE_NONE
} grid_scratch;

typedef tile_no_scratch face_sums;

typedef struct grid_any_scratch {
    grid_scratch grid;
    face_sums mass;
} grid_any_scratch;

enum { NODE_FIELDS = 7 };

/// Sums of a cell, of up to NODE_FIELDS fields: of what the scratch grids of its tile and of those around it, with
/// `edge` nodes an axis, hold of them. Along each axis one other at most reaches it.
TILE_FN void sum_cell(const uint32_t *neighbour, const int32_t *const *field, int count, int edge, const int *cell,
                      int32_t *sum)
{
    const int back = nodes_before(edge), reach = edge - TILE_EDGE - back;
    const uint64_t nodes = (uint64_t)edge * (uint64_t)edge * (uint64_t)edge;
    int beyond[3];
    TILE_UNROLL for (int a = 0; a < 3; a++) beyond[a] = cell[a] < reach ? -1 : cell[a] >= TILE_EDGE - back;
    TILE_UNROLL for (int k = 0; k < count; k++) sum[k] = 0;
    TILE_UNROLL for (int other = 0; other < 2; other++)
    {
        if (other == 0 || beyond[2] != 0) { // the same for a warp
            int32_t value[4][NODE_FIELDS];
            TILE_UNROLL for (int n = 0; n < 4; n++)
            {
                const int sx = n & 1 ? beyond[0] : 0, sy = n & 2 ? beyond[1] : 0, sz = other ? beyond[2] : 0;
                const int is_another = (sx != 0 || !(n & 1)) && (sy != 0 || !(n & 2));
                const uint32_t of = is_another ? neighbour[13 + sx + 3 * sy + 9 * sz] : TILE_NONE;
                const uint64_t from =
                    of * nodes + (uint64_t)node_at(edge, cell[0] - TILE_EDGE * sx, cell[1] - TILE_EDGE * sy,
                                                   cell[2] - TILE_EDGE * sz);
                TILE_UNROLL for (int k = 0; k < count; k++) value[n][k] = of != TILE_NONE ? field[k][from] : 0;
            }
            TILE_UNROLL for (int n = 0; n < 4; n++)
            {
                TILE_UNROLL for (int k = 0; k < count; k++) sum[k] += value[n][k];
            }
        }
    }
}

/// What comes of a face's sums; `mass` may be NULL. By whole warps.
TILE_FN void put_face(const liquid_args *args, uint32_t tile, uint32_t cell, int axis, int32_t momentum, int32_t weight,
                      const int32_t *mass)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint64_t at = (uint64_t)tile * TILE_CELLS + cell;
    const int known = weight >= args->scale.weight_min && (mass == NULL || *mass >= MASS_MIN);
    const uint32_t bits = __ballot_sync(0xffffffffu, known);
    if (cell % TILE_EDGE == 0) {
        grid->face_rows[face_rows_of(tile, axis) + cell / TILE_EDGE] = (uint8_t) ~(bits >> (threadIdx.x & 24));
    }
    const float weighed = (float)(mass != NULL ? *mass : weight), by = 1.0f < weighed ? weighed : 1.0f;
    grid->u_ext[axis][at] = known ? (float)momentum / by * SPEED_MAX : SPEED_UNKNOWN;
    if (mass != NULL) {
        const float light = args->scale.lightest, base = args->scale.mass_base;
        const float q = (float)*mass / (float)tile_max_i32(weight, 1);
        const float beta = light * (1.0f - base) / tile_max2_f32(q - base, light * 0.5f);
        grid->shift[axis][at] = *mass >= MASS_MIN ? tile_clamp_f32(beta, light, 1.0f) : 0.0f;
    }
}

TILE_FN void grid_tile(const liquid_args *args, uint32_t tile, grid_scratch *s, const face_sums *mass, int edge)
{
    const grid_memory *grid = &args->tank.grid.m;
    const grid_shape *shape = &args->tank.grid.shape;
    const liquid_memory *m = &args->m;
    const tile_place place = tile_place_of(shape, 0, grid->active_tile[tile]);
    const float unit = 1.0f / (args->scale.weight_scale * args->tank.scale.rest_density);
    FOR_RANGE (n, 0, 27) {
        const uint32_t dense = tile_neighbour(shape, 0, place, n);
        s->neighbour[n] = dense != TILE_NONE ? grid->level[0].index[dense] : TILE_NONE;
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, TILE_CELLS) {
        const int32_t *const fields[NODE_FIELDS] = {m->momentum[0], m->momentum[1], m->momentum[2], m->weight[0],
                                                    m->weight[1],   m->weight[2],   m->density};
        const int32_t *const heavy[3] = {m->mass[0], m->mass[1], m->mass[2]};
        const int cell[3] = {(int)i & 7, (int)i >> 3 & 7, (int)i >> 6};
        const int is_inside = cell[0] < tile_extent(shape, 0, place.x) && cell[1] < tile_extent(shape, 1, place.y) &&
                              cell[2] < tile_extent(shape, 2, place.z);
        const uint32_t o = s->neighbour[13];
        const uint64_t at = (uint64_t)tile * TILE_CELLS + i;
        const uint8_t count = o != TILE_NONE ? grid->cell_count[(uint64_t)o * TILE_CELLS + i] : 0;
        int32_t sum[NODE_FIELDS], masses[3] = {0, 0, 0};
        sum_cell(s->neighbour, fields, NODE_FIELDS, edge, cell, sum);
        if (mass != NULL) {
            sum_cell(s->neighbour, heavy, 3, edge, cell, masses);
        }
        TILE_UNROLL for (int axis = 0; axis < 3; axis++)
        {
            put_face(args, tile, i, axis, sum[axis], sum[3 + axis], mass != NULL ? masses + axis : NULL);
        }
        grid->cell_type[at] = !is_inside ? CELL_SOLID : count > 0 ? CELL_LIQUID : CELL_AIR;
        grid->density_error[at] = (is_inside ? (float)sum[6] : 0.0f) * unit - 1.0f;
    }
}

#endif
