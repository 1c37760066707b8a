// One V-cycle of an aggregation multigrid: the preconditioner of the conjugate gradients. Transfers are piecewise
// constant (Shao, Huang & Michels 2022), which corrects too little; OVERCORRECTION makes up for it.
//
// The smoother is a polynomial in D^-1 A, a Chebyshev semi-iteration (Saad, Iterative Methods for Sparse Linear
// Systems, section 12.3), of each tile alone with zeros around it: block Jacobi over tiles. It is the same before and
// after the coarse correction, so that the V-cycle is symmetric; it has no order of cells, so that it is the same in a
// mirror; and it needs no neighbour's values, so that a V-cycle takes three launches a level:
//
//     smooth ─ restrict ─ ... the coarser levels, which add their correction to x ... ─ prolong
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
} smooth_scratch;

/// inverse = D^-1, scaled = D^-1 b, and the first iterate in rim[0]; zeros where there is no equation.
TILE_FN void smooth_begin(tile_matrix a, const float *b, float first, smooth_scratch *s)
{
    FOR_RANGE (i, 0, RIM_CELLS) {
        s->rim[0][i] = 0.0f;
        s->rim[1][i] = 0.0f;
    }
    TILE_BARRIER();
    FOR_FULL_ROWS (x, row, a.patch) {
        const uint32_t at = row * 8 + x;
        const row_f32 diagonal = row_load(a.diagonal + at), zero = row_all(0.0f);
        const row_f32 inverse = row_select(diagonal > 0.0f, 1.0f / diagonal, zero);
        const row_f32 value = row_select(diagonal > 0.0f, inverse * row_load(b + at), zero); // no trace of an older b
        row_store(s->inverse + at, inverse);
        row_store(s->scaled + at, value);
        row_store(s->rim[0] + rim_of_row(row) + x, first * value);
    }
    TILE_BARRIER();
}

/// One more degree: the next iterate takes the place of the one before the last.
TILE_FN void smooth_more(tile_matrix a, const float *inverse, const float *scaled, const float *last, float *before,
                         float keep, float step)
{
    FOR_FULL_ROWS (x, row, a.patch) {
        const uint32_t at = row * 8 + x, center = rim_of_row(row) + x;
        const row_f32 own = row_load(last + center);
        const row_f32 change = (row_load(scaled + at) - own) + row_load(inverse + at) * neighbour_sum(a, last, row, x);
        row_store(before + center, (own + keep * (own - row_load(before + center))) + step * change);
    }
    TILE_BARRIER();
}

/// The Chebyshev polynomial for the spectrum lowest..2. Returns the last iterate.
TILE_FN const float *chebyshev(tile_matrix a, const float *b, int degree, float lowest, smooth_scratch *s)
{
    const float center = 0.5f * (2.0f + lowest), radius = 0.5f * (2.0f - lowest);
    float rho = radius / center;
    smooth_begin(a, b, 1.0f / center, s);
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

/// x = smoothed b, from zero. One tile per tile of args->level.
TILE_KERNEL(liquid_mg_smooth, CELL_LANES, liquid_args, smooth_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *rim = smooth(args, a, level->b + (uint64_t)tile * TILE_CELLS, s);
    float *to = level->x + (uint64_t)tile * TILE_CELLS;
    FOR_FULL_ROWS (x, row, a.patch)
        row_store(to + row * 8 + x, row_load(rim + rim_of_row(row) + x));
}

typedef struct restrict_scratch {
    float rim[RIM_CELLS];
    float residual[TILE_CELLS];
    float pair[TILE_CELLS / 2]; ///< sums of two cells along x
} restrict_scratch;

/// Residual of x, summed over 2^3 cells into the coarser level's right-hand side. One tile per tile of args->level.
TILE_KERNEL(liquid_mg_restrict, CELL_LANES, liquid_args, restrict_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const liquid_patch *patch = a.patch;
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    load_patch(patch, level->x, tile, s->rim);
    FOR_FULL_ROWS (x, row, patch) {
        const uint32_t at = row * 8 + x;
        const row_f32 residual = row_load(b + at) - matrix_times(a, s->rim, row, x);
        row_store(s->residual + at, row_select(row_load(a.diagonal + at) > 0.0f, residual, row_all(0.0f)));
    }
    FOR_EMPTY_ROWS (x, row, patch)
        row_store(s->residual + row * 8 + x, row_all(0.0f));
    TILE_BARRIER();
    FOR_RANGE (i, 0, TILE_CELLS / 2)
        s->pair[i] = s->residual[2 * i] + s->residual[2 * i + 1];
    TILE_BARRIER();
    const int o = (int)patch->octant;
    float *to = args->m.level[args->level + 1].b + (uint64_t)patch->parent * TILE_CELLS +
                cell_index((o & 1) * 4, (o >> 1 & 1) * 4, (o >> 2) * 4);
    FOR_BOX (x, y, z, 4, 4, 4) {
        const float *from = s->pair + (z * 16 + y * 2) * 4 + x;
        to[cell_index(x, y, z)] = (from[0] + from[4]) + (from[32] + from[36]);
    }
}

typedef struct finish_scratch {
    float value[TILE_CELLS];    ///< a tile's result; zero in rows without equations
    float wide[2 * TILE_CELLS]; ///< the correction that it is, each value twice
} finish_scratch;

/// The finest level's result, and its partial dot product with b.
TILE_FN void finish_solution(const liquid_args *args, tile_matrix a, uint32_t tile, finish_scratch *s)
{
    const float *b = args->m.level[0].b + (uint64_t)tile * TILE_CELLS;
    float *to = args->m.level[0].y + (uint64_t)tile * TILE_CELLS;
    FOR_FULL_ROWS (x, row, a.patch) {
        const uint32_t at = row * 8 + x;
        const row_f32 value = row_load(s->value + at);
        row_store(to + at, value);
        row_store(s->value + at, value * row_load(b + at));
    }
    TILE_BARRIER();
    tile_sum_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        args->m.partial[tile] = s->value[0];
}

/// Adds a coarse tile's result to x of the finer tiles in it.
TILE_FN void correct_children(const liquid_args *args, tile_matrix a, finish_scratch *s)
{
    const liquid_level *fine = &args->m.level[args->level - 1];
    FOR_RANGE (i, 0, TILE_CELLS) {
        const float value = OVERCORRECTION * s->value[i];
        s->wide[2 * i] = value;
        s->wide[2 * i + 1] = value;
    }
    TILE_BARRIER();
    for (int n = 0; n < 8; n++) {
        const uint32_t child = a.patch->child[n];
        const float *from = s->wide + (n & 1) * 8 + (n >> 1 & 1) * 4 * 16 + (n >> 2) * 4 * 128;
        float *x = fine->x + (uint64_t)(child != TILE_NONE ? child : 0) * TILE_CELLS;
        if (child != TILE_NONE) {
            FOR_FULL_ROWS (i, row, fine->patch + child)
                row_store(x + row * 8 + i,
                          row_load(x + row * 8 + i) + row_load(from + (row >> 4) * 128 + (row >> 1 & 3) * 16 + i));
        }
    }
}

TILE_FN void finish(const liquid_args *args, tile_matrix a, uint32_t tile, finish_scratch *s)
{
    if (args->level == 0)
        finish_solution(args, a, tile, s);
    else
        correct_children(args, a, s);
}

typedef struct top_scratch {
    smooth_scratch smooth;
    finish_scratch finish;
} top_scratch;

/// The coarsest level, one tile: a polynomial of a degree that is as good as a solution. It is the finest, too, in a
/// tank of one tile.
TILE_KERNEL(liquid_mg_top, CELL_LANES, liquid_args, top_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *rim = chebyshev(a, level->b + (uint64_t)tile * TILE_CELLS, TOP_DEGREE, TOP_LOWEST, &s->smooth);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE)
        s->finish.value[cell_index(x, y, z)] = rim[rim_index(x, y, z)];
    TILE_BARRIER();
    finish(args, a, tile, &s->finish);
}

typedef struct prolong_scratch {
    float rim[RIM_CELLS];
    float residual[TILE_CELLS];
    smooth_scratch smooth;
    finish_scratch finish;
} prolong_scratch;

/// The result: x with the coarse correction, smoothed. One tile per tile of args->level.
TILE_KERNEL(liquid_mg_prolong, CELL_LANES, liquid_args, prolong_scratch)
{
    if (args->m.counters->go == 0)
        return;
    const liquid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    load_patch(a.patch, level->x, tile, s->rim);
    FOR_FULL_ROWS (x, row, a.patch)
        row_store(s->residual + row * 8 + x, row_load(b + row * 8 + x) - matrix_times(a, s->rim, row, x));
    TILE_BARRIER();
    const float *fix = smooth(args, a, s->residual, &s->smooth);
    FOR_FULL_ROWS (x, row, a.patch) {
        const uint32_t at = row * 8 + x, in_rim = rim_of_row(row) + x;
        const row_f32 sum = row_load(s->rim + in_rim) + row_load(fix + in_rim);
        row_store(s->finish.value + at, row_select(row_load(a.diagonal + at) > 0.0f, sum, row_all(0.0f)));
    }
    FOR_EMPTY_ROWS (x, row, a.patch)
        row_store(s->finish.value + row * 8 + x, row_all(0.0f));
    TILE_BARRIER();
    finish(args, a, tile, &s->finish);
}
