// One V-cycle of an aggregation multigrid: the preconditioner of the conjugate gradients. Transfers are piecewise
// constant (Shao, Huang & Michels 2022), which corrects too little; OVERCORRECTION makes up for it.
//
// The smoother is a polynomial in D^-1 A, a Chebyshev semi-iteration (Saad, Iterative Methods for Sparse Linear
// Systems, section 12.3), of each tile alone with zeros around it: block Jacobi over tiles. It is the same before and
// after the coarse correction, so that the V-cycle is symmetric; it has no order of cells, so that it is the same in a
// mirror; and it needs no neighbour's values, so that a V-cycle takes three launches a level:
//
//     smooth ─ restrict ─ ... the coarser levels, which add their correction to x ... ─ prolong
#include "kernels/grid/partials.h"
#include "kernels/grid/poisson.h"

#define OVERCORRECTION 1.8f

/// Spectra lie in 0..2: of D^-1 A by Gershgorin. A smoother acts on their upper part; more of it on the coarser levels,
/// where it costs little. The coarsest level's polynomial acts on nearly all, and is as good as a solution.
#define FINE_LOWEST 0.4f
#define COARSE_LOWEST 0.3f

enum { FINE_DEGREE = 3, COARSE_DEGREE = 4 };

typedef struct smooth_scratch {
    float lines[2][LINES_CELLS]; ///< two iterates, with zeros around them
    float inverse[TILE_CELLS], scaled[TILE_CELLS];
} smooth_scratch;

/// Zeros around the rows with equations, which the matrix multiplies by zero or which belong to other tiles.
TILE_FN void clear_lines(const grid_patch *patch, smooth_scratch *s)
{
    FOR_EMPTY_ROWS (x, row, patch) {
        row_store(s->lines[0] + line_of_row(row) + x, row_all(0.0f));
        row_store(s->lines[1] + line_of_row(row) + x, row_all(0.0f));
    }
    const int planes = (int)patch->row_end / TILE_EDGE;
    FOR_ROWS (x, i, 0u, 2u * TILE_EDGE) {
        const int at = line_of((int)(i & 7), i & 8 ? planes : -1);
        row_store(s->lines[0] + at + x, row_all(0.0f));
        row_store(s->lines[1] + at + x, row_all(0.0f));
    }
    FOR_ROWS (x, i, 0u, 2u * (uint32_t)planes) {
        const int at = line_of(i & 1 ? TILE_EDGE : -1, (int)(i >> 1));
        row_store(s->lines[0] + at + x, row_all(0.0f));
        row_store(s->lines[1] + at + x, row_all(0.0f));
    }
}

/// Of a row of the right-hand side: inverse = D^-1, scaled = D^-1 b, and the first iterate in lines[0]; zeros where
/// there is no equation.
TILE_FN void smooth_begin(tile_matrix a, row_f32 b, float first, uint32_t row, uint32_t x, smooth_scratch *s)
{
    const uint32_t at = row * 8 + x, line = line_of_row(row);
    const row_f32 diagonal = row_load(a.diagonal + at), zero = row_all(0.0f);
    const row_f32 inverse = row_select(diagonal > 0.0f, 1.0f / diagonal, zero);
    const row_f32 value = row_select(diagonal > 0.0f, inverse * b, zero); // no trace of an older b
    row_store(s->inverse + at, inverse);
    row_store(s->scaled + at, value);
    row_store(s->lines[0] + line + x, first * value);
    row_store(s->lines[1] + line + x, zero);
    if (row_begins(x)) {
        s->lines[0][line - 1] = s->lines[0][line + 8] = 0.0f;
        s->lines[1][line - 1] = s->lines[1][line + 8] = 0.0f;
    }
}

TILE_FN grid_polynomial smoother(const grid_args *args)
{
    return args->level == 0 ? polynomial_of(FINE_DEGREE, FINE_LOWEST) : polynomial_of(COARSE_DEGREE, COARSE_LOWEST);
}

/// One more degree: the next iterate may take the place of the one before the last.
typedef struct smooth_step {
    const float *last;
    float *before;
    float keep, step;
} smooth_step;

TILE_FN row_f32 smooth_row(tile_matrix a, smooth_step t, uint32_t row, uint32_t x, const smooth_scratch *s)
{
    const uint32_t at = row * 8 + x, line = line_of_row(row) + x;
    const row_f32 own = row_load(t.last + line);
    const row_f32 change =
        (row_load(s->scaled + at) - own) + row_load(s->inverse + at) * neighbour_sum(a, t.last, row, x);
    return (own + t.keep * (own - row_load(t.before + line))) + t.step * change;
}

/// What follows smooth_begin with first = 1 / p.center: all degrees but the last, which it returns.
TILE_FN smooth_step chebyshev(tile_matrix a, grid_polynomial p, smooth_scratch *s)
{
    float rho = p.radius / p.center;
    smooth_step t;
    TILE_BARRIER();
    for (int k = 1;; k++) {
        const float next = 1.0f / (2.0f * p.center / p.radius - rho);
        t.last = s->lines[(k - 1) & 1];
        t.before = s->lines[k & 1];
        t.keep = next * rho;
        t.step = 2.0f * next / p.radius;
        if (k == p.degree - 1) {
            return t;
        }
        FOR_FULL_ROWS (x, row, a.patch) {
            row_store(t.before + line_of_row(row) + x, smooth_row(a, t, row, x, s));
        }
        TILE_BARRIER();
        rho = next;
    }
}

/// The polynomial times b, a tile's right-hand side; but for the last degree.
TILE_FN smooth_step smooth(tile_matrix a, const float *b, grid_polynomial p, smooth_scratch *s)
{
    clear_lines(a.patch, s);
    FOR_FULL_ROWS (x, row, a.patch) {
        smooth_begin(a, row_load(b + row * 8 + x), 1.0f / p.center, row, x, s);
    }
    return chebyshev(a, p, s);
}

/// x = smoothed b, from zero. One tile per tile of args->level.
TILE_KERNEL(grid_mg_smooth, CELL_LANES, grid_args, smooth_scratch)
{
    if (args->m.counters->go == 0) {
        return;
    }
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const smooth_step last = smooth(a, level->b + (uint64_t)tile * TILE_CELLS, smoother(args), s);
    float *to = level->x + (uint64_t)tile * TILE_CELLS;
    FOR_FULL_ROWS (x, row, a.patch) {
        row_store(to + row * 8 + x, smooth_row(a, last, row, x, s));
    }
}

typedef struct restrict_scratch {
    float lines[LINES_CELLS];
    float residual[TILE_CELLS];
    float pair[TILE_CELLS / 2]; ///< sums of two cells along x
} restrict_scratch;

/// Residual of x, summed over 2^3 cells into the coarser level's right-hand side. One tile per tile of args->level.
TILE_KERNEL(grid_mg_restrict, CELL_LANES, grid_args, restrict_scratch)
{
    if (args->m.counters->go == 0) {
        return;
    }
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const grid_patch *patch = a.patch;
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    load_lines(patch, level->x, tile, s->lines);
    FOR_FULL_ROWS (x, row, patch) {
        const uint32_t at = row * 8 + x;
        const row_f32 residual = row_load(b + at) - matrix_times(a, s->lines, row, x);
        row_store(s->residual + at, row_select(row_load(a.diagonal + at) > 0.0f, residual, row_all(0.0f)));
    }
    FOR_EMPTY_ROWS (x, row, patch) {
        row_store(s->residual + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, patch->row_end * TILE_EDGE / 2) {
        s->pair[i] = s->residual[2 * i] + s->residual[2 * i + 1];
    }
    TILE_BARRIER();
    const int o = (int)patch->octant;
    float *to = args->m.level[args->level + 1].b + (uint64_t)patch->parent * TILE_CELLS +
                cell_index((o & 1) * 4, (o >> 1 & 1) * 4, (o >> 2) * 4);
    if (patch->row_end < TILE_ROWS) {
        FOR_BOX (x, y, z, 4, 4, 1) {
            const float *from = s->pair + y * 8 + x;
            to[cell_index(x, y, z)] = from[0] + from[4];
        }
        return;
    }
    FOR_BOX (x, y, z, 4, 4, 4) {
        const float *from = s->pair + (z * 16 + y * 2) * 4 + x;
        to[cell_index(x, y, z)] = (from[0] + from[4]) + (from[32] + from[36]);
    }
}

typedef struct finish_scratch {
    float value[TILE_CELLS];    ///< a tile's result; zero in rows without equations
    float wide[2 * TILE_CELLS]; ///< the correction that it is, each value twice
    check_scratch check;
    uint32_t is_last;
} finish_scratch;

/// Adds a coarse tile's result to x of the finer tiles in it.
TILE_FN void correct_children(const grid_args *args, tile_matrix a, finish_scratch *s)
{
    const grid_level *fine = &args->m.level[args->level - 1];
    FOR_RANGE (i, 0, a.patch->row_end * TILE_EDGE) {
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
            FOR_FULL_ROWS (i, row, fine->patch + child) {
                row_store(x + row * 8 + i,
                          row_load(x + row * 8 + i) + row_load(from + (row >> 4) * 128 + (row >> 1 & 3) * 16 + i));
            }
        }
    }
}

/// Takes a row of a tile's result: the finest level's goes to y, and times b into s->value.
TILE_FN void finish_row(const grid_args *args, uint32_t tile, row_f32 value, uint32_t at, finish_scratch *s)
{
    const grid_level *level = &args->m.level[0];
    const uint64_t cell = (uint64_t)tile * TILE_CELLS + at;
    if (args->level == 0) {
        row_store(level->y + cell, value);
        row_store(s->value + at, value * row_load(level->b + cell));
    } else {
        row_store(s->value + at, value);
    }
}

/// beta = (r, z) new / old, of the tiles' partial results.
TILE_FN void find_beta(const grid_memory *m, check_scratch *s)
{
    grid_counters *counters = m->counters;
    const float rz = sum_partials(m, s);
    if (TILE_SINGLE()) {
        counters->beta = counters->iterations > 0 && counters->rz > 0.0f ? rz / counters->rz : 0.0f;
        counters->rz = rz;
        counters->iterations++;
    }
}

/// After all rows: the dot product with b and what the direction becomes by it, or the correction of the finer level.
TILE_FN void finish(const grid_args *args, tile_matrix a, uint32_t tile, finish_scratch *s)
{
    FOR_EMPTY_ROWS (x, row, a.patch) {
        row_store(s->value + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    if (args->level > 0) {
        correct_children(args, a, s);
        return;
    }
    tile_sum_f32(s->value, a.patch->row_end * TILE_EDGE);
    if (TILE_SINGLE()) {
        args->m.partial[tile] = s->value[0];
    }
    if (tile_is_last(&args->m.counters->come, args->m.counters->occupied, &s->is_last)) {
        find_beta(&args->m, &s->check);
    }
}

typedef struct top_scratch {
    smooth_scratch smooth;
    finish_scratch finish;
} top_scratch;

/// The coarsest level, one tile: a polynomial of a degree that is as good as a solution. It is the finest, too, in a
/// tank of one tile.
TILE_KERNEL(grid_mg_top, CELL_LANES, grid_args, top_scratch)
{
    if (args->m.counters->go == 0) {
        return;
    }
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    const smooth_step last = smooth(a, b, args->top, &s->smooth);
    FOR_FULL_ROWS (x, row, a.patch) {
        finish_row(args, tile, smooth_row(a, last, row, x, &s->smooth), row * 8 + x, &s->finish);
    }
    finish(args, a, tile, &s->finish);
}

typedef struct prolong_scratch {
    float lines[LINES_CELLS];
    smooth_scratch smooth;
    finish_scratch finish;
} prolong_scratch;

/// The result: x with the coarse correction, smoothed. One tile per tile of args->level.
TILE_KERNEL(grid_mg_prolong, CELL_LANES, grid_args, prolong_scratch)
{
    if (args->m.counters->go == 0) {
        return;
    }
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(level, tile);
    const grid_polynomial p = smoother(args);
    const float *b = level->b + (uint64_t)tile * TILE_CELLS;
    clear_lines(a.patch, &s->smooth);
    load_lines(a.patch, level->x, tile, s->lines);
    FOR_FULL_ROWS (x, row, a.patch) {
        const row_f32 residual = row_load(b + row * 8 + x) - matrix_times(a, s->lines, row, x);
        smooth_begin(a, residual, 1.0f / p.center, row, x, &s->smooth);
    }
    const smooth_step last = chebyshev(a, p, &s->smooth);
    FOR_FULL_ROWS (x, row, a.patch) {
        const uint32_t at = row * 8 + x;
        const row_f32 sum = row_load(s->lines + line_of_row(row) + x) + smooth_row(a, last, row, x, &s->smooth);
        finish_row(args, tile, row_select(row_load(a.diagonal + at) > 0.0f, sum, row_all(0.0f)), at, &s->finish);
    }
    finish(args, a, tile, &s->finish);
}

typedef struct sweep_scratch {
    float lines[LINES_CELLS];
    finish_scratch finish;
} sweep_scratch;

/// x = step D^-1 b after y = 0, or one more degree of a Chebyshev iteration: the next iterate takes the place of the
/// one before it, or is the result. x and y hold them in turn, the first in x; behind the coarser levels it is what x
/// has. One tile per tile of args->level.
TILE_KERNEL(grid_mg_sweep, CELL_LANES, grid_args, sweep_scratch)
{
    if (args->m.counters->go == 0) {
        return;
    }
    const grid_level *level = &args->m.level[args->level];
    const grid_sweeps *sweeps = &args->m.sweeps[args->level > 0 ? 1 : 0];
    const uint32_t k = args->sweep, is_after = args->is_after;
    const int from_zero = k == 0 && !is_after, from_y = k > 0 && k % 2 == is_after,
              is_last = is_after && k + 1 == sweeps->count;
    const float keep = sweeps->keep[k], step = sweeps->step[k];
    const tile_matrix a = matrix_of(level, tile);
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    const float *b = level->b + base;
    float *to = (from_zero || from_y ? level->x : level->y) + base;
    const row_f32 zero = row_all(0.0f);
    if (from_zero) {
        FOR_FULL_ROWS (x, row, a.patch) {
            const uint32_t at = row * 8 + x;
            const row_f32 diagonal = row_load(a.diagonal + at);
            row_store(to + at, row_select(diagonal > 0.0f, step * row_load(b + at) / diagonal, zero));
            row_store(level->y + base + at, zero);
        }
        return;
    }
    load_lines(a.patch, from_y ? level->y : level->x, tile, s->lines);
    FOR_FULL_ROWS (x, row, a.patch) {
        const uint32_t at = row * 8 + x;
        const row_f32 diagonal = row_load(a.diagonal + at), own = row_load(s->lines + line_of_row(row) + x);
        const row_f32 before = keep > 0.0f ? row_load(to + at) : own;
        const row_f32 change = (row_load(b + at) - matrix_times(a, s->lines, row, x)) / diagonal;
        const row_f32 value = row_select(diagonal > 0.0f, (own + keep * (own - before)) + step * change, zero);
        if (is_last) {
            finish_row(args, tile, value, at, &s->finish);
        } else {
            row_store(to + at, value);
        }
    }
    if (is_last) {
        finish(args, a, tile, &s->finish);
    }
}
