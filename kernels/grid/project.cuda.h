/// How a block projects a tile, a lane for each cell: what says where to look is asked for at once, then all that is
/// there. Part of extrapolate.tile.c.
#ifndef TARN_KERNELS_GRID_PROJECT_CUDA_H
#define TARN_KERNELS_GRID_PROJECT_CUDA_H

/// Tiles beside it, and which are occupied. Ends without a barrier.
TILE_FN void look_around(const grid_args *args, tile_place place, uint32_t dense, project_scratch *s)
{
    enum { WARP = 32 };
    find_beside(args, place, s->plan.types.beside);
    FOR_RANGE (n, 0, WARP + 4) { // the first warp has the former
        if (n >= WARP) {
            const uint32_t i = n - WARP, of = i == 0 ? dense : side_tile(args, 0, place, 2 * ((int)i - 1));
            s->solved[i] = of != TILE_NONE ? args->m.level[0].index[of] : TILE_NONE;
        }
    }
    if (TILE_SINGLE()) {
        s->plan.surface = 0;
    }
}

/// The tank's solution in the tile's cells, and beside the lower ones.
TILE_FN float fetch_pressure(const grid_args *args, const project_scratch *s, uint32_t n)
{
    const rim_cell c = rim_cell_of(tile_min_u32(n, rim_cells(0) - 1), 2);
    const uint32_t from = s->solved[(c.side + 2) / 2];
    const float value = args->solution[(uint64_t)(from != TILE_NONE ? from : 0) * TILE_CELLS + c.cell];
    return from != TILE_NONE ? value : 0.0f;
}

TILE_FN void project_tile(const grid_args *args, uint32_t tile, tile_place place, uint32_t dense, project_scratch *s)
{
    const grid_memory *m = &args->m;
    const uint32_t lane = tile_lane();
    const uint64_t own = (uint64_t)tile * TILE_CELLS + lane;
    look_around(args, place, dense, s);
    TILE_BARRIER();
    if ((s->solved[0] & s->solved[1] & s->solved[2] & s->solved[3]) == TILE_NONE) {
        project_nothing(args, tile);
        return;
    }
    const uint32_t failed = m->counters->failed;
    float pressure[RIM_TURNS], u[3];
    TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++) pressure[k] = fetch_pressure(args, s, lane + k * blockDim.x);
    TILE_UNROLL for (int axis = 0; axis < 3; axis++) u[axis] = args->is_density ? 0.0f : m->u[axis][own];
    plan_faces_beside(args, tile, 0, &s->plan);
    TILE_UNROLL for (uint32_t k = 0; k < RIM_TURNS; k++)
    {
        const uint32_t n = lane + k * blockDim.x;
        if (n < rim_cells(0)) {
            s->pressure[rim_cell_of(n, 2).rim] = failed != 0 ? 0.0f : pressure[k];
        }
    }
    TILE_BARRIER();
    const int x = (int)lane & 7, y = (int)lane >> 3 & 7, z = (int)lane >> 6;
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const int touches = (s->plan.touching[axis][face_row(y, z)] & 0xff) != 0;
        float change = 0.0f;
        if (touches) {
            change = face_change(s, axis, x, y, z);
            change = m->beta[axis] != NULL ? change * m->beta[axis][own] : change;
        }
        if (args->is_density) {
            m->shift[axis][own] = row_clamp(change, -SHIFT_MAX, SHIFT_MAX);
        } else if (touches) {
            m->u[axis][own] = u[axis] + change;
        }
    }
    if (!args->is_density) {
        mark_valid(args, &s->plan, tile);
    }
}

#endif
