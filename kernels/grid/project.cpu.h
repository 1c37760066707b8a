/// How a processor projects a tile: row by row, where something is to be done. Part of extrapolate.tile.c.
#ifndef TARN_KERNELS_GRID_PROJECT_CPU_H
#define TARN_KERNELS_GRID_PROJECT_CPU_H

TILE_FN row_f32 weighed_change(const grid_args *args, const project_scratch *s, int axis, uint64_t own, int x, int y,
                               int z)
{
    const float *beta = args->m.beta[axis];
    const row_f32 change = face_change(s, axis, x, y, z);
    return beta != NULL ? change * row_load(beta + own + cell_index(x, y, z)) : change;
}

TILE_FN void project_velocity(const grid_args *args, const project_scratch *s, int axis, uint64_t own)
{
    float *u = args->m.u[axis] + own;
    FOR_SET_ROWS (x, r, 0, TILE_EDGE * ROW_WORDS, s->plan.touching[axis], 0xff) {
        const int y = r % ROW_WORDS, z = r / ROW_WORDS;
        const uint32_t cell = cell_index(x, y, z);
        row_store(u + cell, row_load(u + cell) + weighed_change(args, s, axis, own, x, y, z));
    }
}

TILE_FN void project_shift(const grid_args *args, const project_scratch *s, int axis, uint64_t own)
{
    const uint16_t *touching = s->plan.touching[axis];
    float *shift = args->m.shift[axis] + own;
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
        row_store(shift + row * TILE_EDGE + x,
                  (touching[face_row(y, z)] & 0xff) != 0
                      ? row_clamp(weighed_change(args, s, axis, own, (int)x, y, z), -SHIFT_MAX, SHIFT_MAX)
                      : row_all(0.0f));
    }
}

/// A field of the finest level with one cell of its three lower neighbours; `tile`: TILE_NONE where the place isn't
/// part of that level. Ends without a barrier.
TILE_FN void load_lower_rim(const grid_args *args, tile_place place, uint32_t tile, const float *field, float *rim)
{
    const float *own = field + (uint64_t)(tile != TILE_NONE ? tile : 0) * TILE_CELLS;
    const uint32_t rows = tile_rows(&args->shape);
    FOR_ROWS (x, row, 0, rows) {
        row_store(rim + rim_index(0, (int)row % TILE_EDGE, (int)row / TILE_EDGE) + x,
                  tile != TILE_NONE ? row_load(own + row * TILE_EDGE + x) : row_all(0.0f));
    }
    TILE_UNROLL for (int side = 0; side < 6; side += 2)
    {
        const side_walk w = side_walk_of(side);
        const uint32_t dense = side_tile(args, 0, place, side);
        const uint32_t other = dense != TILE_NONE ? args->m.level[0].index[dense] : TILE_NONE;
        const float *from = field + (uint64_t)(other != TILE_NONE ? other : 0) * TILE_CELLS + w.cell;
        if (side == 0) {
            FOR_RANGE (i, 0, rows) {
                const int at = w.rim + (int)i % TILE_EDGE * w.i_rim + (int)i / TILE_EDGE * w.j_rim;
                rim[at] = other != TILE_NONE ? from[i * TILE_EDGE] : 0.0f;
            }
        } else {
            FOR_ROWS (x, j, 0, side == 2 ? rows / TILE_EDGE : (uint32_t)TILE_EDGE) {
                row_store(rim + w.rim + (int)j * w.j_rim + x,
                          other != TILE_NONE ? row_load(from + (int)j * w.j_cell + x) : row_all(0.0f));
            }
        }
    }
}

TILE_FN void project_tile(const grid_args *args, uint32_t tile, tile_place place, uint32_t dense, project_scratch *s)
{
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!is_near_liquid(args, place, dense)) {
        project_nothing(args, tile);
        return;
    }
    plan_faces(args, place, tile, 0, &s->plan);
    load_lower_rim(args, place, args->m.level[0].index[dense], args->solution, s->pressure);
    if (args->m.counters->failed != 0) {
        FOR_RANGE (i, 0, RIM_CELLS) {
            s->pressure[i] = 0.0f;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        if (args->is_density) {
            project_shift(args, s, axis, own);
        } else {
            project_velocity(args, s, axis, own);
        }
    }
    if (!args->is_density) {
        mark_valid(args, &s->plan, tile);
    }
}

#endif
