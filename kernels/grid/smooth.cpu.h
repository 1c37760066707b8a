/// The smoothing of a tile row by row, with both iterates in lines. Part of multigrid.tile.c.
#ifndef TARN_KERNELS_GRID_SMOOTH_CPU_H
#define TARN_KERNELS_GRID_SMOOTH_CPU_H

typedef struct smooth_scratch {
    float lines[2][LINES_CELLS]; ///< two iterates, with zeros around them
    float inverse[TILE_CELLS], scaled[TILE_CELLS];
} smooth_scratch;

/// One more degree: the next iterate may take the place of the one before the last.
typedef struct smoothing {
    const float *last;
    float *before;
    float keep, step;
} smoothing;

TILE_FN void smooth_rims(tile_matrix a, smoothing *t, smooth_scratch *s)
{
    (void)t;
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(s->lines[0] + line_of_row(row) + x, row_all(0.0f));
        row_store(s->lines[1] + line_of_row(row) + x, row_all(0.0f));
    }
    const int planes = (int)a.rows / TILE_EDGE;
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

TILE_FN void smooth_begin(held_matrix a, row_f32 b, float first, uint32_t row, uint32_t x, smoothing *t,
                          smooth_scratch *s)
{
    (void)t;
    const uint32_t at = row * 8 + x, line = line_of_row(row);
    const row_f32 diagonal = row_load(a.diagonal + at), zero = row_all(0.0f);
    const row_f32 inverse = row_select(diagonal > 0.0f, 1.0f / diagonal, zero);
    const row_f32 value = row_select(diagonal > 0.0f, inverse * b, zero); // no trace of an older b
    row_store(s->inverse + at, inverse);
    row_store(s->scaled + at, value);
    row_store(s->lines[0] + line + x, first * value);
    row_store(s->lines[1] + line + x, zero);
    s->lines[0][line - 1] = s->lines[0][line + 8] = 0.0f;
    s->lines[1][line - 1] = s->lines[1][line + 8] = 0.0f;
}

TILE_FN row_f32 smooth_end(held_matrix a, const smoothing *t, uint32_t row, uint32_t x, const smooth_scratch *s)
{
    const uint32_t at = row * 8 + x, line = line_of_row(row) + x;
    const row_f32 own = row_load(t->last + line);
    const row_f32 change =
        (row_load(s->scaled + at) - own) + row_load(s->inverse + at) * neighbour_sum(a, t->last, row, x);
    return (own + t->keep * (own - row_load(t->before + line))) + t->step * change;
}

TILE_FN void smooth_run(tile_matrix a, held_matrix h, const grid_sweeps *p, smoothing *t, smooth_scratch *s)
{
    for (uint32_t k = 1;; k++) {
        t->last = s->lines[(k - 1) & 1];
        t->before = s->lines[k & 1];
        t->keep = p->keep[k];
        t->step = p->step[k];
        if (k == p->count - 1) {
            return;
        }
        FOR_FULL_ROWS (x, row, a) {
            row_store(t->before + line_of_row(row) + x, smooth_end(h, t, row, x, s));
        }
    }
}

typedef struct restrict_scratch {
    float lines[LINES_CELLS];
    float residual[TILE_CELLS];
    float pair[TILE_CELLS / 2]; ///< sums of two cells along x
} restrict_scratch;

TILE_FN void restrict_residual(tile_matrix a, restrict_scratch *s, float *to)
{
    FOR_RANGE (i, 0, a.rows * TILE_EDGE / 2) {
        s->pair[i] = s->residual[2 * i] + s->residual[2 * i + 1];
    }
    if (a.rows < TILE_ROWS) {
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

typedef struct correct_scratch_of_children {
    float wide[2 * TILE_CELLS]; ///< the correction, each value twice
} correct_scratch_of_children;

TILE_FN void correct_children(const grid_args *args, tile_matrix a, const float *value, correct_scratch_of_children *s)
{
    const grid_level *fine = &args->m.level[args->level - 1];
    FOR_RANGE (i, 0, a.rows * TILE_EDGE) {
        s->wide[2 * i] = s->wide[2 * i + 1] = OVERCORRECTION * value[i];
    }
    for (int n = 0; n < 8; n++) {
        const uint32_t child = a.patch->child[n];
        const float *from = s->wide + (n & 1) * 8 + (n >> 1 & 1) * 4 * 16 + (n >> 2) * 4 * 128;
        float *x = fine->x + (uint64_t)(child != TILE_NONE ? child : 0) * TILE_CELLS;
        if (child != TILE_NONE) {
            const grid_patch *patch = fine->patch + child;
            FOR_LISTED_ROWS (i, row, patch, 0u, patch->row_count) {
                row_store(x + row * 8 + i,
                          row_load(x + row * 8 + i) + row_load(from + (row >> 4) * 128 + (row >> 1 & 3) * 16 + i));
            }
        }
    }
}

#endif
