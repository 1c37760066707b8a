// The matrices of the Poisson solver: the finest level's from the cells, the coarser ones' from that. A coarse cell
// gathers 2^3 cells and the coarse matrix is the Galerkin product with piecewise constant transfers, which stays a
// 7-point matrix (Shao, Huang & Michels 2022).
#include "kernels/liquid/poisson.h"

typedef struct matrix_scratch {
    uint8_t type[RIM_CELLS];
    uint32_t liquid;
} matrix_scratch;

TILE_FN float open_face(uint8_t a, uint8_t b)
{
    return a == CELL_LIQUID && b == CELL_LIQUID ? 1.0f : 0.0f;
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

TILE_FN float pair_sum4(const float *v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

/// Galerkin diagonal: the sum of the diagonals less twice the coefficients inside the coarse cell.
TILE_FN float coarse_diagonal(const liquid_level *fine, uint32_t child, int x, int y, int z)
{
    const int fx = (x & 3) * 2, fy = (y & 3) * 2, fz = (z & 3) * 2;
    const tile_matrix a = matrix_of(fine, child);
    float diagonal[4], inner[3][4];
    TILE_UNROLL for (int n = 0; n < 4; n++)
    {
        const int j = n & 1, k = n >> 1;
        diagonal[n] = a.diagonal[cell_index(fx, fy + j, fz + k)] + a.diagonal[cell_index(fx + 1, fy + j, fz + k)];
        inner[0][n] = a.ax[((fz + k) * 8 + fy + j) * 9 + fx + 1];
        inner[1][n] = a.ay[((fz + k) * 9 + fy + 1) * 8 + fx + j];
        inner[2][n] = a.az[((fz + 1) * 8 + fy + k) * 8 + fx + j];
    }
    return pair_sum4(diagonal) - 2.0f * ((pair_sum4(inner[0]) + pair_sum4(inner[1])) + pair_sum4(inner[2]));
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
