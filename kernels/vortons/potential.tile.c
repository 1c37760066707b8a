// From vorticity to velocity, which is free of divergence whatever the solution is worth:
//
//     -lap psi = omega        u = curl psi
//
// Each component of psi lies on its edges and has an equation of its own. Nothing flows through a wall where psi has
// nothing along it, and its normal component doesn't change across it: of psi_x the edges on the walls across y and z
// are known to be 0, and what lies beyond the walls across x mirrors what is before them.
#include "kernels/grid/patch.h"
#include "kernels/vortons/vortons.h"

/// Whether the edge of a cell has an equation.
TILE_FN int has_equation(const grid_shape *shape, int component, int x, int y, int z)
{
    return (x >= (component != 0)) & (y >= (component != 1)) & (z >= (component != 2)) & (x < shape->cells[0]) &
           (y < shape->cells[1]) & (z < shape->cells[2]);
}

/// The matrix of a component, as grid_matrix. One tile per occupied tile.
TILE_KERNEL(vorton_matrix, CELL_LANES, vorton_args, patch_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    const grid_shape *shape = &args->tank.grid.shape;
    const grid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile];
    const int c = (int)args->component;
    const tile_place place = tile_place_of(shape, 0, dense);
    float *const to[3] = {level->ax + (uint64_t)tile * TILE_FACES, level->ay + (uint64_t)tile * TILE_FACES,
                          level->az + (uint64_t)tile * TILE_FACES};
    float *diagonal = level->diagonal + (uint64_t)tile * TILE_CELLS;
    const int fx = place.x * TILE_EDGE, fy = place.y * TILE_EDGE, fz = place.z * TILE_EDGE;
    for (int axis = 0; axis < 3; axis++) {
        const int ix = axis == 0, iy = axis == 1, iz = axis == 2;
        FOR_BOX (x, y, z, TILE_EDGE + ix, TILE_EDGE + iy, TILE_EDGE + iz) {
            to[axis][face_index(axis, x, y, z)] =
                (float)(has_equation(shape, c, fx + x, fy + y, fz + z) &
                        has_equation(shape, c, fx + x - ix, fy + y - iy, fz + z - iz));
        }
    }
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = c == 0 ? fx + x : c == 1 ? fy + y : fz + z;
        const int walls = (at == 0) + (at == shape->cells[c] - 1);
        diagonal[cell_index(x, y, z)] = (float)(has_equation(shape, c, fx + x, fy + y, fz + z) * (6 - walls));
    }
    if (TILE_SINGLE()) {
        m->solved_tile[tile] = dense;
        global_or_u32(&m->counters->open, 1); // some of psi is known: there is no constant to take out
        if (tile == 0) {
            m->counters->solved = m->counters->occupied;
            m->counters->solved_active = m->counters->active;
        }
    }
    TILE_BARRIER();
    make_patch(&args->tank.grid, 0, place, tile, s);
}

typedef struct start_edge_scratch {
    float gain[RIM_CELLS];
    float value[TILE_CELLS];
    uint32_t neighbour[27];
} start_edge_scratch;

/// Notes when the equation before didn't get to its end.
TILE_FN void note_unconverged(const grid_memory *m, uint32_t tile)
{
    if (tile == 0 && TILE_SINGLE()) {
        m->counters->unconverged += m->counters->go | m->counters->failed;
    }
}

/// The vorticity of the edges, with what this substep generates in the four cells around each; and zero potential. One
/// tile per occupied tile.
TILE_KERNEL(vorton_start, CELL_LANES, vorton_args, start_edge_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    const uint32_t dense = m->level[0].tile[tile];
    const int c = (int)args->component, da = c == 0 ? RIM_EDGE : 1, db = c == 2 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    float *vorticity = args->m.vorticity[c] + own;
    const float *diagonal = m->level[0].diagonal + own;
    if (c > 0) {
        note_unconverged(m, tile);
    }
    halo_neighbours(&args->tank.grid, tile_place_of(&args->tank.grid.shape, 0, dense), s->neighbour);
    TILE_BARRIER();
    halo_load_f32(s->gain, 1, args->m.gain[c], s->neighbour);
    TILE_BARRIER();
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t cell = cell_index(x, y, z);
        const float *gain = s->gain + rim_index(x, y, z);
        const float around = 0.25f * ((gain[0] + gain[-da - db]) + (gain[-da] + gain[-db]));
        const float value = diagonal[cell] > 0.0f ? vorticity[cell] + around : 0.0f;
        vorticity[cell] = m->residual[own + cell] = value;
        m->direction[own + cell] = 0.0f;
        args->m.potential[c][own + cell] = 0.0f;
        s->value[cell] = tile_magnitude_f32(value);
    }
    TILE_BARRIER();
    tile_max_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE()) {
        m->partial[tile] = s->value[0];
    }
}

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
    note_unconverged(m, tile);
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, m->active_tile[tile]);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        halo_load_f32(s->potential[c], 1, args->m.potential[c], s->neighbour);
        halo_load_f32(s->vorticity, 1, args->m.vorticity[c], s->neighbour);
        TILE_BARRIER();
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
        m->counters->open = 0;
    }
}

/// What carries particles is the velocity, beside and in solids, too. One tile per active tile.
TILE_KERNEL(vorton_settle, CELL_LANES, vorton_args, tile_no_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    note_unconverged(m, tile);
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
