// The grid of a whirl: a rigid rotation about the tank's vertical axis.
#include "tests/toy/whirl.h"

/// Sets the velocities of a tile's faces, and that all its cells may hold particles. One tile per active tile.
TILE_KERNEL(toy_whirl, CELL_LANES, whirl_args, tile_no_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const grid_shape *shape = &args->tank.grid.shape;
    const uint32_t dense = grid->active_tile[tile], o = grid->level[0].index[dense];
    const tile_place place = tile_place_of(shape, 0, dense);
    const float middle_x = 0.5f * (float)shape->cells[0], middle_z = 0.5f * (float)shape->cells[2];
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint64_t at = (uint64_t)tile * TILE_CELLS + i;
        const float x = (float)(place.x * TILE_EDGE + (int)(i & 7)) + 0.5f - middle_x;
        const float z = (float)(place.z * TILE_EDGE + (int)(i >> 6)) + 0.5f - middle_z;
        const float u[3] = {args->rate * z, 0.0f, -args->rate * x};
        for (int c = 0; c < 3; c++) {
            grid->u_old[c][at] = grid->u_ext[c][at] = u[c];
            grid->shift[c][at] = 0.0f;
        }
        if (o != TILE_NONE) {
            grid->cell_count[(uint64_t)o * TILE_CELLS + i] = 1;
        }
    }
    if (tile == 0 && TILE_SINGLE()) {
        grid->counters->speed_max_bits = grid->counters->liquid_speed_bits = 0;
    }
}
