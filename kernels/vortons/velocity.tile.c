// From the vector potential to velocity, which is free of divergence whatever the potential is worth: u = curl psi.
#include "kernels/grid/halo.h"
#include "kernels/vortons/vortons.h"

/// What spreading to the grid and looking up there take from waves of wave number k, k^2 / 12 each, and of what
/// differences over a cell do to the Laplacian and the curl the mean over directions: -2/12 + 3/48 - 3/96 k^2. The curl
/// of so much vorticity gives it back, and velocity is of fourth order in the width of the vortices.
#define SHARPENING (13.0f / 96.0f)

typedef struct velocity_scratch {
    float potential[3][RIM_CELLS], vorticity[RIM_CELLS];
    uint32_t neighbour[27];
} velocity_scratch;

/// u = curl psi, which is zero through walls; and what carries particles: u of the substep's middle, by that of the
/// substep before (Adams & Bashforth). One tile per active tile.
TILE_KERNEL(vorton_velocity, CELL_LANES, vorton_args, velocity_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    const float limit = m->control->speed_max, before = 2.0f * m->control->kick - m->control->frac;
    // No substep came before the first one; and where solids move, what was there may be theirs now.
    const float ahead = before > 0.0f && m->open[0] == NULL ? 0.5f * m->control->frac / before : 0.0f;
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, m->active_tile[tile]);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        halo_load_f32(s->potential[c], 1, args->m.potential[c], s->neighbour);
        halo_load_f32(s->vorticity, 1, args->m.vorticity[c], s->neighbour);
        FOR_RANGE (i, 0, RIM_CELLS) {
            s->potential[c][i] += SHARPENING * s->vorticity[i];
        }
        TILE_BARRIER();
    }
    for (int c = 0; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3;
        const int da = a == 0   ? 1
                       : a == 1 ? RIM_EDGE
                                : RIM_EDGE * RIM_EDGE,
                  db = b == 0   ? 1
                       : b == 1 ? RIM_EDGE
                                : RIM_EDGE * RIM_EDGE;
        const float weight = m->bodies != NULL ? m->control->gravity[c] * m->control->kick : 0.0f; // lifts bodies
        FOR_ROWS (x, row, 0, TILE_ROWS) {
            const int at = rim_index(0, (int)row % TILE_EDGE, (int)row / TILE_EDGE) + (int)x;
            const float *pa = s->potential[a] + at, *pb = s->potential[b] + at;
            const row_f32 u = (row_load(pb + da) - row_load(pb)) - (row_load(pa + db) - row_load(pa));
            const row_f32 now = row_clamp(u, -limit, limit);
            const uint64_t face = own + row * TILE_EDGE + x;
            const int first = c == 1 ? place.y + (int)row % TILE_EDGE : place.z + (int)row / TILE_EDGE;
            const uint32_t free = c == 0 ? (place.x == 0 ? 0xfeu : 0xffu) : (first == 0 ? 0u : 0xffu);
            row_store(m->u[c] + face, now + row_keep(row_bits_mask(free >> x), row_all(weight)));
            row_store(m->u_ext[c] + face,
                      row_clamp(now + ahead * (now - row_load(args->tank.store.kept[c] + face)), -limit, limit));
        }
    }
    if (tile == 0 && TILE_SINGLE()) {
        args->m.control->starts = 0;
    }
}

/// What carries particles is the velocity, beside and in solids, too. One tile per active tile.
TILE_KERNEL(vorton_settle, CELL_LANES, vorton_args, tile_no_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    if (tile == 0 && TILE_SINGLE()) {
        m->counters->unconverged += m->counters->go | m->counters->failed;
    }
    for (int c = 0; c < 3; c++) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            m->u[c][(uint64_t)tile * TILE_CELLS + i] = m->u_ext[c][(uint64_t)tile * TILE_CELLS + i];
        }
    }
}

/// What the next substep finds of this one's velocity. One tile per active tile.
TILE_KERNEL(vorton_keep, CELL_LANES, vorton_args, tile_no_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    for (int c = 0; c < 3; c++) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            m->u_ext[c][(uint64_t)tile * TILE_CELLS + i] = m->u[c][(uint64_t)tile * TILE_CELLS + i];
        }
    }
}
