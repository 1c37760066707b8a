// The Poisson solver: conjugate gradients, preconditioned by one V-cycle of an aggregation multigrid.
//
//     pressure            A p = -div u           then  u -= grad p
//     density correction  A q = density error    then  particles move by -grad q   (Kugelstadt et al. 2019)
//
// A is the 7-point Laplacian of the liquid cells: air is zero (Dirichlet), walls let nothing through (Neumann). A
// coarse cell gathers 2^3 cells and the coarse matrix is the Galerkin product with piecewise constant transfers, which
// stays a 7-point matrix (Shao, Huang & Michels 2022). Piecewise constant transfers correct too little, which
// OVERCORRECTION makes up for.
//
// The smoother is red-black Gauss-Seidel inside each tile with nothing from outside (block Jacobi over tiles), forward
// before and backward after the coarse correction, so that the V-cycle is symmetric. It needs no neighbour's values, so
// a V-cycle takes three launches a level.
#include "kernels/liquid/halo.h"

#define OVERCORRECTION 1.8f

enum {
    SWEEPS = 2,
    TOP_SWEEPS = 12,
};

TILE_FN void zero_rim(float *rim)
{
    FOR_RANGE (i, 0, RIM_CELLS)
        rim[i] = 0.0f;
    TILE_BARRIER();
}

/// Sum over the neighbours of coefficient times value.
TILE_FN float neighbour_sum(const float *ax, const float *ay, const float *az, const float *rim, int x, int y, int z)
{
    const int at = rim_index(x, y, z);
    const int fx = (z * 8 + y) * 9 + x, fy = (z * 9 + y) * 8 + x, fz = (z * 8 + y) * 8 + x;
    return ((ax[fx] * rim[at - 1] + ax[fx + 1] * rim[at + 1]) +
            (ay[fy] * rim[at - RIM_EDGE] + ay[fy + 8] * rim[at + RIM_EDGE])) +
           (az[fz] * rim[at - RIM_EDGE * RIM_EDGE] + az[fz + 64] * rim[at + RIM_EDGE * RIM_EDGE]);
}

typedef struct tile_matrix {
    const float *ax, *ay, *az, *diagonal;
} tile_matrix;

TILE_FN tile_matrix matrix_of(const liquid_level *level, uint32_t tile)
{
    tile_matrix a;
    a.ax = level->ax + (uint64_t)tile * TILE_FACES;
    a.ay = level->ay + (uint64_t)tile * TILE_FACES;
    a.az = level->az + (uint64_t)tile * TILE_FACES;
    a.diagonal = level->diagonal + (uint64_t)tile * TILE_CELLS;
    return a;
}

/// One half sweep of Gauss-Seidel over the cells of a colour. A cell without an equation stays zero. Every other row
/// goes first, so that no row waits for the one before it. Cells of the other colour are written back as they are,
/// which keeps the loop free of branches; rounds that read them at the same time find the same value before and after.
TILE_FN void relax(tile_matrix a, const float *inverse, const float *b, float *rim, int colour)
{
    float *to = tile_forget_f32(rim);
    for (int parity = 0; parity < 2; parity++) {
        FOR_BOX (x, half, z, TILE_EDGE, TILE_EDGE / 2, TILE_EDGE) {
            const int y = 2 * half + ((z + parity) & 1);
            const int at = rim_index(x, y, z);
            const uint32_t cell = cell_index(x, y, z);
            const float value = (b[cell] + neighbour_sum(a.ax, a.ay, a.az, rim, x, y, z)) * inverse[cell];
            to[at] = tile_select_f32(((x + parity) & 1) == colour, value, rim[at]);
        }
    }
    TILE_BARRIER();
}

TILE_FN void invert(const float *diagonal, float *inverse)
{
    FOR_RANGE (i, 0, TILE_CELLS)
        inverse[i] = diagonal[i] > 0.0f ? 1.0f / diagonal[i] : 0.0f;
    TILE_BARRIER();
}

// ------------------------------------------------------------------------------------------------------------ matrices

typedef struct matrix_scratch {
    uint8_t type[RIM_CELLS];
    uint32_t liquid;
} matrix_scratch;

TILE_FN float open_face(uint8_t a, uint8_t b)
{
    return a == CELL_LIQUID && b == CELL_LIQUID ? 1.0f : 0.0f;
}

/// Open share of a cell's face on an axis, `up`: the upper one. Beyond the tank: 0.
TILE_FN float share_of_face(const liquid_args *args, tile_place place, int axis, int up, int x, int y, int z)
{
    int at[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
    at[axis] += up;
    if (at[axis] >= args->shape.cells[axis])
        return 0.0f;
    const uint32_t dense = tile_dense_of(&args->shape, 0, at[0] >> TILE_LOG2, at[1] >> TILE_LOG2, at[2] >> TILE_LOG2);
    const uint32_t slot = dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
    if (slot == TILE_NONE)
        return 0.0f;
    return face_share(&args->m, axis, (uint64_t)slot * TILE_CELLS + cell_index(at[0] & 7, at[1] & 7, at[2] & 7));
}

/// Weighs the matrix by what solids leave open of the faces.
TILE_FN void open_matrix(const liquid_args *args, tile_place place, const uint8_t *type, float *ax, float *ay,
                         float *az, float *diagonal)
{
    FOR_BOX (x, y, z, 9, 8, 8)
        ax[(z * 8 + y) * 9 + x] *= share_of_face(args, place, 0, x == 8, x - (x == 8), y, z);
    FOR_BOX (x, y, z, 8, 9, 8)
        ay[(z * 9 + y) * 8 + x] *= share_of_face(args, place, 1, y == 8, x, y - (y == 8), z);
    FOR_BOX (x, y, z, 8, 8, 9)
        az[(z * 8 + y) * 8 + x] *= share_of_face(args, place, 2, z == 8, x, y, z - (z == 8));
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z), step[3] = {1, RIM_EDGE, RIM_EDGE * RIM_EDGE};
        float sum[3];
        for (int axis = 0; axis < 3; axis++)
            sum[axis] = (type[at - step[axis]] != CELL_SOLID ? share_of_face(args, place, axis, 0, x, y, z) : 0.0f) +
                        (type[at + step[axis]] != CELL_SOLID ? share_of_face(args, place, axis, 1, x, y, z) : 0.0f);
        diagonal[cell_index(x, y, z)] = type[at] == CELL_LIQUID ? (sum[0] + sum[1]) + sum[2] : 0.0f;
    }
    TILE_BARRIER();
}

/// The matrix of the finest level. One tile per occupied tile.
TILE_KERNEL(liquid_matrix, CELL_LANES, liquid_args, matrix_scratch)
{
    const liquid_memory *m = &args->m;
    const liquid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    if (TILE_SINGLE()) {
        s->liquid = 0;
        m->solved_tile[tile] = dense;
        if (tile == 0)
            m->counters->solved = m->counters->occupied;
    }
    load_types(args, place, m->slot[dense], s->type);
    const uint8_t *type = s->type;
    float *ax = level->ax + (uint64_t)tile * TILE_FACES, *ay = level->ay + (uint64_t)tile * TILE_FACES,
          *az = level->az + (uint64_t)tile * TILE_FACES, *diagonal = level->diagonal + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, 9, 8, 8)
        ax[(z * 8 + y) * 9 + x] = open_face(type[rim_index(x - 1, y, z)], type[rim_index(x, y, z)]);
    FOR_BOX (x, y, z, 8, 9, 8)
        ay[(z * 9 + y) * 8 + x] = open_face(type[rim_index(x, y - 1, z)], type[rim_index(x, y, z)]);
    FOR_BOX (x, y, z, 8, 8, 9)
        az[(z * 8 + y) * 8 + x] = open_face(type[rim_index(x, y, z - 1)], type[rim_index(x, y, z)]);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z);
        const int open = (type[at - 1] != CELL_SOLID) + (type[at + 1] != CELL_SOLID) +
                         (type[at - RIM_EDGE] != CELL_SOLID) + (type[at + RIM_EDGE] != CELL_SOLID) +
                         (type[at - RIM_EDGE * RIM_EDGE] != CELL_SOLID) +
                         (type[at + RIM_EDGE * RIM_EDGE] != CELL_SOLID);
        diagonal[cell_index(x, y, z)] = type[at] == CELL_LIQUID ? (float)open : 0.0f;
    }
    TILE_BARRIER();
    if (m->open[0] != (uint8_t *)0)
        open_matrix(args, place, type, ax, ay, az, diagonal);
    FOR_RANGE_ATOMIC (i, 0, TILE_CELLS)
        tile_add_u32(&s->liquid, type[rim_index((int)i & 7, (int)i >> 3 & 7, (int)i >> 6)] == CELL_LIQUID);
    TILE_BARRIER();
    if (TILE_SINGLE())
        global_add_u32(&m->counters->liquid_cells, s->liquid);
}

/// Fine tile that holds a coarse tile's cell (x, y, z), or TILE_NONE; (fx, fy, fz) is its first fine cell there.
TILE_FN uint32_t child_of(const liquid_args *args, uint32_t level, tile_place place, int x, int y, int z)
{
    const uint32_t dense =
        tile_dense_of(&args->shape, level - 1, 2 * place.x + (x >> 2), 2 * place.y + (y >> 2), 2 * place.z + (z >> 2));
    return dense != TILE_NONE ? args->m.level[level - 1].index[dense] : TILE_NONE;
}

/// Sum of the four fine coefficients that make up one coarse face; plane 0..8 along the axis.
TILE_FN float coarse_face(const liquid_args *args, uint32_t level, tile_place place, int axis, int plane, int i, int j)
{
    const liquid_level *fine = &args->m.level[level - 1];
    const int inside = plane < TILE_EDGE ? plane : TILE_EDGE - 1; // the coarse cell that has the face
    const int x = axis == 0 ? inside : i, y = axis == 1 ? inside : axis == 0 ? i : j, z = axis == 2 ? inside : j;
    const uint32_t child = child_of(args, level, place, x, y, z);
    if (child == TILE_NONE)
        return 0.0f;
    const int p = (inside & 3) * 2 + (plane - inside) * 2;
    const int a = (i & 3) * 2, b = (j & 3) * 2;
    float sum[2];
    for (int k = 0; k < 2; k++) {
        if (axis == 0) {
            const float *ax = fine->ax + (uint64_t)child * TILE_FACES;
            sum[k] = ax[((b + k) * 8 + a) * 9 + p] + ax[((b + k) * 8 + a + 1) * 9 + p];
        } else if (axis == 1) {
            const float *ay = fine->ay + (uint64_t)child * TILE_FACES;
            sum[k] = ay[((b + k) * 9 + p) * 8 + a] + ay[((b + k) * 9 + p) * 8 + a + 1];
        } else {
            const float *az = fine->az + (uint64_t)child * TILE_FACES;
            sum[k] = az[(p * 8 + b + k) * 8 + a] + az[(p * 8 + b + k) * 8 + a + 1];
        }
    }
    return sum[0] + sum[1];
}

/// Galerkin diagonal: the sum of the diagonals less twice the coefficients inside the coarse cell.
TILE_FN float coarse_diagonal(const liquid_level *fine, uint32_t child, int x, int y, int z)
{
    const int fx = (x & 3) * 2, fy = (y & 3) * 2, fz = (z & 3) * 2;
    const tile_matrix a = matrix_of(fine, child);
    float diagonal = 0.0f, inner = 0.0f;
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < 2; j++) {
            diagonal += a.diagonal[cell_index(fx, fy + j, fz + k)] + a.diagonal[cell_index(fx + 1, fy + j, fz + k)];
            inner += a.ax[((fz + k) * 8 + fy + j) * 9 + fx + 1] + a.ay[((fz + k) * 9 + fy + 1) * 8 + fx + j] +
                     a.az[((fz + 1) * 8 + fy + k) * 8 + fx + j];
        }
    }
    return diagonal - 2.0f * inner;
}

/// The matrix of level args->level from the one below. One tile per tile of that level.
TILE_KERNEL(liquid_coarsen, CELL_LANES, liquid_args, tile_no_scratch)
{
    const uint32_t l = args->level;
    const liquid_level *level = &args->m.level[l];
    const tile_place place = tile_place_of(&args->shape, l, level->tile[tile]);
    float *ax = level->ax + (uint64_t)tile * TILE_FACES, *ay = level->ay + (uint64_t)tile * TILE_FACES,
          *az = level->az + (uint64_t)tile * TILE_FACES, *diagonal = level->diagonal + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, 9, 8, 8)
        ax[(z * 8 + y) * 9 + x] = coarse_face(args, l, place, 0, x, y, z);
    FOR_BOX (x, y, z, 8, 9, 8)
        ay[(z * 9 + y) * 8 + x] = coarse_face(args, l, place, 1, y, x, z);
    FOR_BOX (x, y, z, 8, 8, 9)
        az[(z * 8 + y) * 8 + x] = coarse_face(args, l, place, 2, z, x, y);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t child = child_of(args, l, place, x, y, z);
        diagonal[cell_index(x, y, z)] =
            child != TILE_NONE ? coarse_diagonal(&args->m.level[l - 1], child, x, y, z) : 0.0f;
    }
}

// ------------------------------------------------------------------------------------------------------------- V-cycle

typedef struct smooth_scratch {
    float rim[RIM_CELLS];
    float inverse[TILE_CELLS];
    float b[TILE_CELLS];
} smooth_scratch;

TILE_FN void store_rim(const float *rim, float *to)
{
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)
        to[cell_index(x, y, z)] = rim[rim_index(x, y, z)];
}

/// x = smoothed b, from zero. One tile per tile of args->level.
TILE_KERNEL(liquid_mg_smooth, CELL_LANES, liquid_args, smooth_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    invert(a.diagonal, s->inverse);
    zero_rim(s->rim);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        relax(a, s->inverse, b, s->rim, 0);
        relax(a, s->inverse, b, s->rim, 1);
    }
    store_rim(s->rim, level->x + (uint64_t)tile * TILE_CELLS);
}

/// Residual of x, summed over 2^3 cells into the coarser level's right-hand side. One tile per tile of args->level.
TILE_KERNEL(liquid_mg_restrict, CELL_LANES, liquid_args, smooth_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const uint32_t l = args->level;
    const liquid_level *level = &args->m.level[l], *coarse = &args->m.level[l + 1];
    const tile_matrix a = matrix_of(level, tile);
    const tile_place place = tile_place_of(&args->shape, l, level->tile[tile]);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    load_rim(args, l, place, tile, level->x, s->rim);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float ax = a.diagonal[at] * s->rim[rim_index(x, y, z)] - neighbour_sum(a.ax, a.ay, a.az, s->rim, x, y, z);
        s->b[at] = a.diagonal[at] > 0.0f ? b[at] - ax : 0.0f;
    }
    TILE_BARRIER();
    const uint32_t parent = coarse->index[tile_dense_of(&args->shape, l + 1, place.x >> 1, place.y >> 1, place.z >> 1)];
    float *to =
        coarse->b + (uint64_t)parent * TILE_CELLS + cell_index((place.x & 1) * 4, (place.y & 1) * 4, (place.z & 1) * 4);
    FOR_BOX (x, y, z, 4, 4, 4) {
        const float *from = s->b + cell_index(2 * x, 2 * y, 2 * z);
        to[cell_index(x, y, z)] =
            ((from[0] + from[1]) + (from[8] + from[9])) + ((from[64] + from[65]) + (from[72] + from[73]));
    }
}

/// The coarsest level, one tile: enough symmetric sweeps to be as good as solved.
TILE_KERNEL(liquid_mg_top, CELL_LANES, liquid_args, smooth_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    invert(a.diagonal, s->inverse);
    zero_rim(s->rim);
    for (int sweep = 0; sweep < TOP_SWEEPS; sweep++) {
        relax(a, s->inverse, b, s->rim, 0);
        relax(a, s->inverse, b, s->rim, 1);
    }
    for (int sweep = 0; sweep < TOP_SWEEPS; sweep++) {
        relax(a, s->inverse, b, s->rim, 1);
        relax(a, s->inverse, b, s->rim, 0);
    }
    store_rim(s->rim, level->y + (uint64_t)tile * TILE_CELLS);
    if (args->level == 0) { // a tank of one tile: the level is the finest, too
        TILE_BARRIER();
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const uint32_t at = cell_index(x, y, z);
            s->inverse[at] = s->rim[rim_index(x, y, z)] * b[at];
        }
        TILE_BARRIER();
        tile_sum_f32(s->inverse, TILE_CELLS);
        if (TILE_SINGLE())
            args->m.partial[tile] = s->inverse[0];
    }
}

/// Adds the coarse correction to the rim: value of the fine cell's coarse cell.
TILE_FN void add_coarse(const liquid_args *args, uint32_t l, tile_place place, float *rim)
{
    const liquid_level *coarse = &args->m.level[l + 1];
    for (int part = 0; part < 7; part++) { // the tile itself, then its six sides
        const int side = part - 1;
        const uint32_t dense =
            part == 0 ? tile_dense_of(&args->shape, l, place.x, place.y, place.z) : side_tile(args, l, place, side);
        if (dense == TILE_NONE || args->m.level[l].index[dense] == TILE_NONE)
            continue;
        const tile_place at = tile_place_of(&args->shape, l, dense);
        const uint32_t parent = coarse->index[tile_dense_of(&args->shape, l + 1, at.x >> 1, at.y >> 1, at.z >> 1)];
        const float *y =
            coarse->y + (uint64_t)parent * TILE_CELLS + cell_index((at.x & 1) * 4, (at.y & 1) * 4, (at.z & 1) * 4);
        if (part == 0) {
            FOR_BOX (i, j, k, TILE_EDGE, TILE_EDGE, TILE_EDGE)
                rim[rim_index(i, j, k)] += OVERCORRECTION * y[cell_index(i >> 1, j >> 1, k >> 1)];
        } else {
            const int in = side % 2 == 0 ? 3 : 0;
            FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1) {
                const uint32_t from = side / 2 == 0   ? cell_index(in, i >> 1, j >> 1)
                                      : side / 2 == 1 ? cell_index(i >> 1, in, j >> 1)
                                                      : cell_index(i >> 1, j >> 1, in);
                rim[rim_of_side(side, i, j) + once] += OVERCORRECTION * y[from];
            }
        }
    }
    TILE_BARRIER();
}

typedef struct prolong_scratch {
    float rim[RIM_CELLS], fix[RIM_CELLS];
    float inverse[TILE_CELLS], residual[TILE_CELLS];
} prolong_scratch;

/// y = x + coarse correction, smoothed; on the finest level also the partial dot product of b and y.
/// One tile per tile of args->level.
TILE_KERNEL(liquid_mg_prolong, CELL_LANES, liquid_args, prolong_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const uint32_t l = args->level;
    const liquid_level *level = &args->m.level[l];
    const tile_matrix a = matrix_of(level, tile);
    const tile_place place = tile_place_of(&args->shape, l, level->tile[tile]);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    load_rim(args, l, place, tile, level->x, s->rim);
    add_coarse(args, l, place, s->rim);
    invert(a.diagonal, s->inverse);
    zero_rim(s->fix);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        s->residual[at] =
            b[at] - (a.diagonal[at] * s->rim[rim_index(x, y, z)] - neighbour_sum(a.ax, a.ay, a.az, s->rim, x, y, z));
    }
    TILE_BARRIER();
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        relax(a, s->inverse, s->residual, s->fix, 1);
        relax(a, s->inverse, s->residual, s->fix, 0);
    }
    float *to = level->y + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float value = a.diagonal[at] > 0.0f ? s->rim[rim_index(x, y, z)] + s->fix[rim_index(x, y, z)] : 0.0f;
        to[at] = value;
        s->residual[at] = value * b[at];
    }
    TILE_BARRIER();
    if (l == 0) {
        tile_sum_f32(s->residual, TILE_CELLS);
        if (TILE_SINGLE())
            args->m.partial[tile] = s->residual[0];
    }
}

// ------------------------------------------------------------------------------------------------- conjugate gradients

typedef struct start_scratch {
    float value[TILE_CELLS];
} start_scratch;

TILE_FN float divergence(const liquid_args *args, tile_place place, uint32_t slot, const uint32_t *upper, int x, int y,
                         int z)
{
    const liquid_memory *m = &args->m;
    const int at[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
    const uint64_t cell = (uint64_t)slot * TILE_CELLS + cell_index(x, y, z);
    const int last[3] = {x == TILE_EDGE - 1, y == TILE_EDGE - 1, z == TILE_EDGE - 1};
    const int stride[3] = {1, TILE_EDGE, TILE_EDGE * TILE_EDGE};
    float part[3];
    for (int a = 0; a < 3; a++) {
        const int wall = at[a] + 1 >= args->shape.cells[a];
        const uint64_t next = last[a] ? (uint64_t)(upper[a] != TILE_NONE ? upper[a] : 0) * TILE_CELLS +
                                            cell_index(x, y, z) - (uint32_t)(stride[a] * (TILE_EDGE - 1))
                                      : cell + (uint64_t)stride[a];
        part[a] = (wall ? 0.0f : face_share(m, a, next) * m->u[a][next]) - face_share(m, a, cell) * m->u[a][cell];
    }
    const float flux = m->solid_flux != (float *)0 ? m->solid_flux[cell] : 0.0f;
    return ((part[0] + part[1]) + part[2]) + flux;
}

/// The density error that a substep corrects. At the surface a cell is not full by nature: only crowding counts there.
TILE_FN float density_to_correct(const liquid_args *args, uint32_t tile, uint32_t at, int enclosed)
{
    const float error = args->m.density_error[(uint64_t)tile * TILE_CELLS + at];
    const float wanted = enclosed ? error : tile_max2_f32(error, 0.0f);
    return tile_clamp_f32(wanted, -DENSITY_STEP_MAX, DENSITY_STEP_MAX) * args->m.control->density_gain;
}

/// Right-hand side, zero solution, and the largest residual. One tile per occupied tile.
TILE_KERNEL(liquid_solve_start, CELL_LANES, liquid_args, start_scratch)
{
    const liquid_memory *m = &args->m;
    const liquid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const tile_matrix a = matrix_of(level, tile);
    uint32_t upper[3]; // the same for all lanes
    for (int axis = 0; axis < 3; axis++) {
        const uint32_t side = side_tile(args, 0, place, 2 * axis + 1);
        upper[axis] = side != TILE_NONE ? m->slot[side] : TILE_NONE;
    }
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float inner = ((a.ax[(z * 8 + y) * 9 + x] + a.ax[(z * 8 + y) * 9 + x + 1]) +
                             (a.ay[(z * 9 + y) * 8 + x] + a.ay[(z * 9 + y) * 8 + x + 8])) +
                            (a.az[(z * 8 + y) * 8 + x] + a.az[(z * 8 + y) * 8 + x + 64]);
        float value = args->is_density ? density_to_correct(args, tile, at, inner == a.diagonal[at])
                                       : -divergence(args, place, slot, upper, x, y, z);
        value = a.diagonal[at] > 0.0f ? value : 0.0f;
        m->residual[base + at] = value;
        args->solution[base + at] = 0.0f;
        m->direction[base + at] = 0.0f;
        s->value[at] = tile_abs_f32(value);
    }
    TILE_BARRIER();
    tile_max_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        m->partial[tile] = s->value[0];
}

enum { CHECK_LANES = 256 };

typedef struct check_scratch {
    double sum[CHECK_LANES];
    float max[CHECK_LANES];
} check_scratch;

/// Whether the solve goes on: the largest residual against the tolerance. One tile.
TILE_KERNEL(liquid_solve_check, CHECK_LANES, liquid_args, check_scratch)
{
    const liquid_memory *m = &args->m;
    const uint32_t count = m->counters->occupied;
    FOR_LANES (i) {
        float largest = 0.0f;
        for (uint32_t at = i; at < count; at += CHECK_LANES)
            largest = tile_max2_f32(m->partial[at], largest);
        s->max[i] = largest;
    }
    TILE_BARRIER();
    tile_max_f32(s->max, CHECK_LANES);
    if (TILE_SINGLE()) {
        const float residual = args->is_density ? s->max[0] : s->max[0] * m->control->frac;
        const float tolerance = args->is_density ? m->control->density_tolerance : m->control->tolerance;
        if (args->is_first) {
            m->counters->iterations = 0;
            m->counters->speed_max_bits = 0;
        }
        m->counters->residual = residual;
        m->counters->go = residual > tolerance;
        if (!args->is_density) {
            m->counters->pressure_residual = residual;
            m->counters->pressure_iterations = m->counters->iterations;
        }
    }
}

TILE_FN void sum_partials(const liquid_memory *m, double *sum)
{
    const uint32_t count = m->counters->occupied;
    FOR_RANGE (i, 0, CHECK_LANES) {
        double total = 0.0;
        for (uint32_t at = i; at < count; at += CHECK_LANES)
            total += (double)m->partial[at];
        sum[i] = total;
    }
    TILE_BARRIER();
    tile_sum_f64(sum, CHECK_LANES);
}

/// beta = (r, z) new / old. One tile.
TILE_KERNEL(liquid_cg_beta, CHECK_LANES, liquid_args, check_scratch)
{
    liquid_counters *counters = args->m.counters;
    if (counters->go == 0)
        return;
    sum_partials(&args->m, s->sum);
    if (TILE_SINGLE()) {
        const float rz = (float)s->sum[0];
        counters->beta = counters->iterations > 0 && counters->rz > 0.0f ? rz / counters->rz : 0.0f;
        counters->rz = rz;
        counters->iterations++;
    }
}

/// direction = z + beta direction. One tile per occupied tile.
TILE_KERNEL(liquid_cg_direction, CELL_LANES, liquid_args, tile_no_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const float beta = m->counters->beta;
    const float *z = m->level[0].y + (uint64_t)tile * TILE_CELLS;
    float *direction = m->direction + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS)
        direction[i] = z[i] + beta * direction[i];
}

typedef struct apply_scratch {
    float rim[RIM_CELLS];
    float value[TILE_CELLS];
} apply_scratch;

/// product = A direction, and its partial dot product with the direction. One tile per occupied tile.
TILE_KERNEL(liquid_cg_apply, CELL_LANES, liquid_args, apply_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const liquid_level *level = &m->level[0];
    const tile_matrix a = matrix_of(level, tile);
    const tile_place place = tile_place_of(&args->shape, 0, level->tile[tile]);
    load_rim(args, 0, place, tile, m->direction, s->rim);
    float *product = m->product + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float center = s->rim[rim_index(x, y, z)];
        const float value = a.diagonal[at] * center - neighbour_sum(a.ax, a.ay, a.az, s->rim, x, y, z);
        product[at] = value;
        s->value[at] = value * center;
    }
    TILE_BARRIER();
    tile_sum_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        m->partial[tile] = s->value[0];
}

/// alpha = (r, z) / (d, A d). One tile.
TILE_KERNEL(liquid_cg_alpha, CHECK_LANES, liquid_args, check_scratch)
{
    liquid_counters *counters = args->m.counters;
    if (counters->go == 0)
        return;
    sum_partials(&args->m, s->sum);
    if (TILE_SINGLE())
        counters->alpha = s->sum[0] > 0.0 ? counters->rz / (float)s->sum[0] : 0.0f;
}

/// pressure += alpha direction, residual -= alpha product, and the largest residual. One tile per occupied tile.
TILE_KERNEL(liquid_cg_update, CELL_LANES, liquid_args, start_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const float alpha = m->counters->alpha;
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS) {
        const float residual = m->residual[base + i] - alpha * m->product[base + i];
        args->solution[base + i] += alpha * m->direction[base + i];
        m->residual[base + i] = residual;
        s->value[i] = tile_abs_f32(residual);
    }
    TILE_BARRIER();
    tile_max_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        m->partial[tile] = s->value[0];
}
