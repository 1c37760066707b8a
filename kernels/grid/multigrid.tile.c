// One V-cycle of an aggregation multigrid: the preconditioner of the conjugate gradients. Transfers are piecewise
// constant (Shao, Huang & Michels 2022), which corrects too little; OVERCORRECTION makes up for it.
//
// The smoother is a polynomial in D^-1 A, a Chebyshev semi-iteration (Saad, Iterative Methods for Sparse Linear
// Systems, section 12.3), of each tile alone with zeros around it: block Jacobi over tiles. It is the same before and
// after the coarse correction, so that the V-cycle is symmetric; it has no order of cells, so that it is the same in a
// mirror; and it needs no neighbour's values, so that a V-cycle takes three launches a level:
//
//     smooth ─ restrict ─ ... the coarser levels, which add their correction to x ... ─ prolong
#include "kernels/grid/lines.h"
#include "kernels/grid/partials.h"
#include "kernels/grid/poisson.h"

#define OVERCORRECTION 1.8f

// Smoothing, in a form for each device:
//
//     smooth_rims(a, t, s)         zeros around the rows with equations, which the matrix multiplies by zero or which
//                                  belong to other tiles
//     smooth_begin(h, b, first, row, x, t, s)  a row of the right-hand side: the first iterate is `first` D^-1 b; zero
//                                  where there is no equation
//     smooth_run(a, h, p, t, s)    what follows with first = p->step[0]: all degrees but the last
//     smooth_end(h, t, row, x, s)  which this gives
//     restrict_residual(a, s, to)  s->residual summed over 2^3 cells: pairs along x, of these along y, of these along z
//     correct_children(args, a, value, s)  adds a coarse tile's result to x of the finer tiles in it, in their rows
//     with
//                                  equations
#include TILE_FORM(smooth)

TILE_FN const grid_sweeps *smoother(const grid_args *args)
{
    return args->m.sweeps + (args->level > 0 ? 1 : 0);
}

/// The polynomial times b, a tile's right-hand side; but for the last degree.
TILE_FN void smooth(tile_matrix a, held_matrix h, held_rows b, const grid_sweeps *p, smoothing *t, smooth_scratch *s)
{
    const float first = p->step[0];
    smooth_rims(a, t, s);
    FOR_FULL_ROWS (x, row, a) {
        smooth_begin(h, held_row(b, row, x), first, row, x, t, s);
    }
    smooth_run(a, h, p, t, s);
}

/// x = smoothed b, from zero. One tile per tile of args->level.
TILE_KERNEL(grid_mg_smooth, SOLVER_LANES, grid_args, smooth_scratch)
{
    const uint32_t goes = args->m.counters->go;
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(args, args->level, tile);
    const held_matrix h = hold_matrix(a);
    const held_rows b = hold_rows(a, level->b + (uint64_t)tile * TILE_CELLS);
    smoothing t;
    smooth(a, h, b, smoother(args), &t, s);
    if (goes == 0) {
        return;
    }
    float *to = level->x + (uint64_t)tile * TILE_CELLS;
    FOR_FULL_ROWS (x, row, a) {
        row_store(to + row * 8 + x, smooth_end(h, &t, row, x, s));
    }
}

/// Residual of x, summed over 2^3 cells into the coarser level's right-hand side. One tile per tile of args->level.
TILE_KERNEL(grid_mg_restrict, SOLVER_LANES, grid_args, restrict_scratch)
{
    const uint32_t goes = args->m.counters->go;
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(args, args->level, tile);
    const held_matrix h = hold_matrix(a);
    const held_rows b = hold_rows(a, level->b + (uint64_t)tile * TILE_CELLS);
    const int o = (int)a.patch->octant;
    float *to = args->m.level[args->level + 1].b + (uint64_t)a.patch->parent * TILE_CELLS +
                cell_index((o & 1) * 4, (o >> 1 & 1) * 4, (o >> 2) * 4);
    load_lines(a, level->x, tile, s->lines);
    FOR_FULL_ROWS (x, row, a) {
        const uint32_t at = row * 8 + x;
        const row_f32 residual = held_row(b, row, x) - matrix_times(h, s->lines, row, x);
        row_store(s->residual + at, row_select(held_diagonal(h, row, x) > 0.0f, residual, row_all(0.0f)));
    }
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(s->residual + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    if (goes == 0) {
        return;
    }
    restrict_residual(a, s, to);
}

typedef struct finish_scratch {
    float value[TILE_CELLS]; ///< a tile's result; zero in rows without equations
    correct_scratch_of_children correct;
    check_scratch check;
    uint32_t is_last;
} finish_scratch;

/// Takes a row of a tile's result: the finest level's goes to y, and times b into s->value.
TILE_FN void finish_row(const grid_args *args, uint32_t tile, row_f32 value, row_f32 b, uint32_t at, finish_scratch *s)
{
    if (args->level == 0) {
        row_store(args->m.level[0].y + (uint64_t)tile * TILE_CELLS + at, value);
        row_store(s->value + at, value * b);
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
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(s->value + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    if (args->level > 0) {
        correct_children(args, a, s->value, &s->correct);
        return;
    }
    tile_sum_f32(s->value, a.rows * TILE_EDGE);
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
TILE_KERNEL(grid_mg_top, SOLVER_LANES, grid_args, top_scratch)
{
    const uint32_t goes = args->m.counters->go;
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(args, args->level, tile);
    const held_matrix h = hold_matrix(a);
    const held_rows b = hold_rows(a, level->b + (uint64_t)tile * TILE_CELLS);
    smoothing t;
    smooth(a, h, b, args->m.sweeps + 2, &t, &s->smooth);
    if (goes == 0) {
        return;
    }
    FOR_FULL_ROWS (x, row, a) {
        finish_row(args, tile, smooth_end(h, &t, row, x, &s->smooth), held_row(b, row, x), row * 8 + x, &s->finish);
    }
    finish(args, a, tile, &s->finish);
}

typedef struct prolong_scratch {
    float lines[LINES_CELLS];
    smooth_scratch smooth;
    finish_scratch finish;
} prolong_scratch;

/// The result: x with the coarse correction, smoothed. One tile per tile of args->level.
TILE_KERNEL(grid_mg_prolong, SOLVER_LANES, grid_args, prolong_scratch)
{
    const uint32_t goes = args->m.counters->go;
    const grid_level *level = &args->m.level[args->level];
    const tile_matrix a = matrix_of(args, args->level, tile);
    const held_matrix h = hold_matrix(a);
    const held_rows b = hold_rows(a, level->b + (uint64_t)tile * TILE_CELLS);
    const grid_sweeps *p = smoother(args);
    const float first = p->step[0];
    smoothing t;
    smooth_rims(a, &t, &s->smooth);
    load_lines(a, level->x, tile, s->lines);
    FOR_FULL_ROWS (x, row, a) {
        const row_f32 residual = held_row(b, row, x) - matrix_times(h, s->lines, row, x);
        smooth_begin(h, residual, first, row, x, &t, &s->smooth);
    }
    smooth_run(a, h, p, &t, &s->smooth);
    if (goes == 0) {
        return;
    }
    FOR_FULL_ROWS (x, row, a) {
        const row_f32 sum = row_load(s->lines + line_of_row(row) + x) + smooth_end(h, &t, row, x, &s->smooth);
        const row_f32 value = row_select(held_diagonal(h, row, x) > 0.0f, sum, row_all(0.0f));
        finish_row(args, tile, value, held_row(b, row, x), row * 8 + x, &s->finish);
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
TILE_KERNEL(grid_mg_sweep, SOLVER_LANES, grid_args, sweep_scratch)
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
    const tile_matrix a = matrix_of(args, args->level, tile);
    const held_matrix h = hold_matrix(a);
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    const float *b = level->b + base;
    float *to = (from_zero || from_y ? level->x : level->y) + base;
    const row_f32 zero = row_all(0.0f);
    if (from_zero) {
        FOR_FULL_ROWS (x, row, a) {
            const uint32_t at = row * 8 + x;
            const row_f32 diagonal = held_diagonal(h, row, x);
            row_store(to + at, row_select(diagonal > 0.0f, step * row_load(b + at) / diagonal, zero));
            row_store(level->y + base + at, zero);
        }
        return;
    }
    load_lines(a, from_y ? level->y : level->x, tile, s->lines);
    FOR_FULL_ROWS (x, row, a) {
        const uint32_t at = row * 8 + x;
        const row_f32 diagonal = held_diagonal(h, row, x), own = row_load(s->lines + line_of_row(row) + x);
        const row_f32 before = keep > 0.0f ? row_load(to + at) : own;
        const row_f32 change = (row_load(b + at) - matrix_times(h, s->lines, row, x)) / diagonal;
        const row_f32 value = row_select(diagonal > 0.0f, (own + keep * (own - before)) + step * change, zero);
        if (is_last) {
            finish_row(args, tile, value, row_load(b + at), at, &s->finish);
        } else {
            row_store(to + at, value);
        }
    }
    if (is_last) {
        finish(args, a, tile, &s->finish);
    }
}
