// One V-cycle of an aggregation multigrid: the preconditioner of the conjugate gradients. Transfers are piecewise
// constant (Shao, Huang & Michels 2022), which corrects too little; OVERCORRECTION makes up for it.
//
// The smoother is a polynomial in D^-1 A, a Chebyshev semi-iteration (Saad, Iterative Methods for Sparse Linear
// Systems, section 12.3), of each tile alone with zeros around it: block Jacobi over tiles. It is the same before and
// after the coarse correction, so that the V-cycle is symmetric; it has no order of cells, so that it is the same in a
// mirror; and it needs no neighbour's values, so that a V-cycle takes three launches a level.
#include "kernels/liquid/poisson.h"

#define OVERCORRECTION 1.8f

/// Spectra lie in 0..2: of D^-1 A by Gershgorin. A smoother acts on their upper part; more of it on the coarser levels,
/// where it costs little. The coarsest level's polynomial acts on nearly all, and is as good as a solution.
#define FINE_LOWEST 0.4f
#define COARSE_LOWEST 0.3f
#define TOP_LOWEST (1.0f / 30.0f)

enum { FINE_DEGREE = 3, COARSE_DEGREE = 4, TOP_DEGREE = 16 };

typedef struct smooth_scratch {
    float rim[2][RIM_CELLS]; ///< two iterates, with zeros around them
    float inverse[TILE_CELLS], scaled[TILE_CELLS];
    float b[TILE_CELLS];
} smooth_scratch;

/// inverse = D^-1, scaled = D^-1 b, and the first iterate in rim[0]; zeros where there is no equation.
TILE_FN void smooth_begin(const float *diagonal, const float *b, float first, smooth_scratch *s)
{
    FOR_RANGE (i, 0, RIM_CELLS) {
        s->rim[0][i] = 0.0f;
        s->rim[1][i] = 0.0f;
    }
    TILE_BARRIER();
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float inverse = diagonal[at] > 0.0f ? 1.0f / diagonal[at] : 0.0f;
        const float value =
            tile_select_f32(diagonal[at] > 0.0f, inverse * b[at], 0.0f); // no trace of what b held before
        s->inverse[at] = inverse;
        s->scaled[at] = value;
        s->rim[0][rim_index(x, y, z)] = first * value;
    }
    TILE_BARRIER();
}

/// One more degree: the next iterate takes the place of the one before the last.
TILE_FN void smooth_more(tile_matrix a, const float *inverse, const float *scaled, const float *last, float *before,
                         float keep, float step)
{
    float *next = tile_forget_f32(before);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const int center = rim_index(x, y, z);
        const float own = last[center];
        const float change = (scaled[at] - own) + inverse[at] * neighbour_sum(a.ax, a.ay, a.az, last, x, y, z);
        next[center] = (own + keep * (own - before[center])) + step * change;
    }
    TILE_BARRIER();
}

/// The Chebyshev polynomial for the spectrum lowest..2. Returns the last iterate.
TILE_FN const float *chebyshev(tile_matrix a, const float *b, int degree, float lowest, smooth_scratch *s)
{
    const float center = 0.5f * (2.0f + lowest), radius = 0.5f * (2.0f - lowest);
    float rho = radius / center;
    smooth_begin(a.diagonal, b, 1.0f / center, s);
    for (int k = 1; k < degree; k++) {
        const float next = 1.0f / (2.0f * center / radius - rho);
        smooth_more(a, s->inverse, s->scaled, s->rim[(k - 1) & 1], s->rim[k & 1], next * rho, 2.0f * next / radius);
        rho = next;
    }
    return s->rim[(degree - 1) & 1];
}

TILE_FN const float *smooth(const liquid_args *args, tile_matrix a, const float *b, smooth_scratch *s)
{
    return args->level == 0 ? chebyshev(a, b, FINE_DEGREE, FINE_LOWEST, s)
                            : chebyshev(a, b, COARSE_DEGREE, COARSE_LOWEST, s);
}

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
    const float *rim = smooth(args, matrix_of(level, tile), level->b + (uint64_t)tile * TILE_CELLS, s);
    store_rim(rim, level->x + (uint64_t)tile * TILE_CELLS);
}

typedef struct restrict_scratch {
    float rim[RIM_CELLS];
    float residual[TILE_CELLS];
} restrict_scratch;

/// Residual of x, summed over 2^3 cells into the coarser level's right-hand side. One tile per tile of args->level.
TILE_KERNEL(liquid_mg_restrict, CELL_LANES, liquid_args, restrict_scratch)
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
        s->residual[at] = a.diagonal[at] > 0.0f ? b[at] - ax : 0.0f;
    }
    TILE_BARRIER();
    const uint32_t parent = coarse->index[tile_dense_of(&args->shape, l + 1, place.x >> 1, place.y >> 1, place.z >> 1)];
    float *to =
        coarse->b + (uint64_t)parent * TILE_CELLS + cell_index((place.x & 1) * 4, (place.y & 1) * 4, (place.z & 1) * 4);
    FOR_BOX (x, y, z, 4, 4, 4) {
        const float *from = s->residual + cell_index(2 * x, 2 * y, 2 * z);
        to[cell_index(x, y, z)] =
            ((from[0] + from[1]) + (from[8] + from[9])) + ((from[64] + from[65]) + (from[72] + from[73]));
    }
}

/// The coarsest level, one tile: a polynomial of a degree that is as good as a solution.
TILE_KERNEL(liquid_mg_top, CELL_LANES, liquid_args, smooth_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    const float *rim = chebyshev(a, b, TOP_DEGREE, TOP_LOWEST, s);
    store_rim(rim, level->y + (uint64_t)tile * TILE_CELLS);
    if (args->level == 0) { // a tank of one tile: the level is the finest, too
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const uint32_t at = cell_index(x, y, z);
            s->b[at] = rim[rim_index(x, y, z)] * b[at];
        }
        TILE_BARRIER();
        tile_sum_f32(s->b, TILE_CELLS);
        if (TILE_SINGLE())
            args->m.partial[tile] = s->b[0];
    }
}

typedef struct prolong_scratch {
    float rim[RIM_CELLS];
    float coarse[TILE_CELLS / 4]; ///< rows of the coarse correction, each value twice
    smooth_scratch fix;
} prolong_scratch;

/// First of the coarse cells that a tile's cells are part of, or NULL where there is no such tile.
TILE_FN const float *coarse_part(const liquid_args *args, uint32_t l, uint32_t dense)
{
    const liquid_level *coarse = &args->m.level[l + 1];
    if (dense == TILE_NONE || args->m.level[l].index[dense] == TILE_NONE)
        return NULL;
    const tile_place at = tile_place_of(&args->shape, l, dense);
    const uint32_t parent = coarse->index[tile_dense_of(&args->shape, l + 1, at.x >> 1, at.y >> 1, at.z >> 1)];
    return coarse->y + (uint64_t)parent * TILE_CELLS + cell_index((at.x & 1) * 4, (at.y & 1) * 4, (at.z & 1) * 4);
}

/// Adds the coarse correction to the rim: value of the fine cell's coarse cell.
TILE_FN void add_coarse(const liquid_args *args, uint32_t l, tile_place place, uint32_t dense, prolong_scratch *s)
{
    float *rim = tile_forget_f32(s->rim);
    const float *own = coarse_part(args, l, dense);
    FOR_BOX (i, j, k, TILE_EDGE, TILE_EDGE / 2, TILE_EDGE / 2)
        s->coarse[(k * 4 + j) * 8 + i] = OVERCORRECTION * own[cell_index(i >> 1, j, k)];
    TILE_BARRIER();
    FOR_BOX (i, j, k, TILE_EDGE, TILE_EDGE, TILE_EDGE)
        rim[rim_index(i, j, k)] = s->rim[rim_index(i, j, k)] + s->coarse[((k >> 1) * 4 + (j >> 1)) * 8 + i];
    for (int side = 0; side < 6; side++) {
        const float *from = coarse_part(args, l, side_tile(args, l, place, side));
        const side_walk w = side_walk_of(side);
        const int first = w.cell == 0 ? 0 : side == 0 ? 3 : side == 2 ? 24 : 192; // the last of four on its axis
        if (from != NULL) {
            FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1)
                rim[w.rim + i * w.i_rim + j * w.j_rim + once] +=
                    OVERCORRECTION * from[first + (i >> 1) * w.i_cell + (j >> 1) * w.j_cell];
        }
    }
    TILE_BARRIER();
}

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
    add_coarse(args, l, place, level->tile[tile], s);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        s->fix.b[at] =
            b[at] - (a.diagonal[at] * s->rim[rim_index(x, y, z)] - neighbour_sum(a.ax, a.ay, a.az, s->rim, x, y, z));
    }
    TILE_BARRIER();
    const float *fix = smooth(args, a, s->fix.b, &s->fix);
    float *to = level->y + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float sum = s->rim[rim_index(x, y, z)] + fix[rim_index(x, y, z)];
        const float value = tile_select_f32(a.diagonal[at] > 0.0f, sum, 0.0f);
        to[at] = value;
        s->fix.b[at] = value * b[at];
    }
    TILE_BARRIER();
    if (l == 0) {
        tile_sum_f32(s->fix.b, TILE_CELLS);
        if (TILE_SINGLE())
            args->m.partial[tile] = s->fix.b[0];
    }
}
