// What balances the forces, for what acts between forces and pressure. Friction and viscosity take shares of a velocity
// away. Liquid at rest has none, but between the forces and the pressure every face has gravity's, and what they took
// of it beside walls the pressure couldn't give back: the walls would lift the liquid, and a pool would turn for ever.
// So they act on
//
//     u + dt (forces - grad p of the substep before),    from which that gradient is taken out again behind them
//
// (the incremental pressure correction: Goda 1979). All that follows the viscosity belongs to that gradient, surface
// tension as well: it is a face's change since, over the time that forces acted. It is in store.kept, which goes along
// with the tiles and is state. Faces that had no liquid begin without it.
//
// It stands for what comes in this substep. An impact's pressure doesn't come again, and is no multiple of the forces
// as a pool's is: more than BALANCE_SHARE times the force at a face isn't kept. What is kept of a body
// (grid_bodies_end) has no such bound: under a lid or in a hand a light one rests with as many times the force as the
// liquid is denser, and no impact of a body reaches twice that for long. A ball of density 0.3 that falls in at 2.9 m/s
// goes the same way with and without that bound, and within 0.02 cells with BALANCE_SHARE.
#include "kernels/device/row.h"
#include "kernels/grid/halo.h"
#include "kernels/liquid/liquid.h"

#define BALANCE_SHARE 2.0f

/// Adds what balanced the forces last. One tile per active tile.
TILE_KERNEL(liquid_balance, CELL_LANES, liquid_args, tile_no_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const float kick = grid->control->kick;
    for (int axis = 0; axis < 3; axis++) {
        const float *last = args->tank.store.kept[axis] + (uint64_t)tile * TILE_CELLS;
        float *u = grid->u[axis] + (uint64_t)tile * TILE_CELLS;
        FOR_ROWS (x, row, 0, tile_rows(&args->tank.grid.shape)) {
            const uint32_t at = row * TILE_EDGE + x;
            row_store(u + at, row_load(u + at) + kick * row_load(last + at));
        }
    }
}

/// Takes it out again, and notes what is left. One tile per active tile.
TILE_KERNEL(liquid_unbalance, CELL_LANES, liquid_args, tile_no_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    const float kick = grid->control->kick;
    for (int axis = 0; axis < 3; axis++) {
        const float *last = args->tank.store.kept[axis] + own;
        float *u = grid->u[axis] + own, *to = args->tank.store.keeping[axis] + own;
        FOR_ROWS (x, row, 0, tile_rows(&args->tank.grid.shape)) {
            const uint32_t at = row * TILE_EDGE + x;
            const row_f32 left = row_load(u + at) - kick * row_load(last + at);
            row_store(u + at, left);
            row_store(to + at, left);
        }
    }
}

/// The most that is kept of a face, cells per step^2.
TILE_FN float most_at(const grid_control *control, tile_place place, int axis, int x, int y, int z)
{
    const float at[3] = {(float)(place.x * TILE_EDGE + x) + (axis == 0 ? 0.0f : 0.5f) - control->pivot[0],
                         (float)(place.y * TILE_EDGE + y) + (axis == 1 ? 0.0f : 0.5f) - control->pivot[1],
                         (float)(place.z * TILE_EDGE + z) + (axis == 2 ? 0.0f : 0.5f) - control->pivot[2]};
    float square = 0.0f;
    for (int a = 0; a < 3; a++) {
        const float *slope = control->force_slope[a];
        const float force = control->gravity[a] + ((slope[0] * at[0] + slope[1] * at[1]) + slope[2] * at[2]);
        square += force * force;
    }
    return tile_min_f32(BALANCE_SHARE * tile_sqrt_f32(square), SPEED_MAX); // a state's bound
}

/// What has balanced the forces since. One tile per active tile.
TILE_KERNEL(liquid_keep_balance, CELL_LANES, liquid_args, tile_no_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const grid_control *control = grid->control;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    const float per_kick = 1.0f / control->kick, most = most_at(control, place, 0, 0, 0, 0);
    const uint32_t rows = tile_rows(&args->tank.grid.shape);
    for (int axis = 0; axis < 3; axis++) {
        const uint8_t *valid = grid->face_rows + face_rows_of(tile, axis);
        const float *u = grid->u[axis] + own;
        float *to = args->tank.store.keeping[axis] + own;
        if (control->is_turning) {
            FOR_RANGE (i, 0, rows * TILE_EDGE) {
                const int x = (int)i & 7, y = (int)i >> 3 & 7, z = (int)i >> 6;
                const float here = most_at(control, place, axis, x, y, z);
                const float change = tile_clamp_f32(per_kick * (u[i] - to[i]), -here, here);
                to[i] = (valid[i >> 3] >> x & 1) != 0 ? change : 0.0f;
            }
            continue;
        }
        FOR_ROWS (x, row, 0, rows) {
            const uint32_t at = row * TILE_EDGE + x;
            const row_f32 change = per_kick * (row_load(u + at) - row_load(to + at));
            row_store(to + at, row_keep(row_bits_mask((uint32_t)valid[row] >> x), row_clamp(change, -most, most)));
        }
    }
}
