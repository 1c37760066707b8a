/// The smoothing of a tile with a cell a lane, which keeps both iterates of it: lines are for the neighbours. Part of
/// multigrid.tile.c.
#ifndef TARN_KERNELS_GRID_SMOOTH_CUDA_H
#define TARN_KERNELS_GRID_SMOOTH_CUDA_H

typedef struct smooth_scratch {
    float lines[2][LINES_CELLS]; ///< two iterates, with zeros around them
} smooth_scratch;

typedef struct smoothing {
    float inverse, scaled, own, before;
    float keep, step; ///< of the last degree
    int last;         ///< which lines have `own`
} smoothing;

TILE_FN void smooth_rims(tile_matrix a, smoothing *t, smooth_scratch *s)
{
    t->inverse = t->scaled = t->own = t->before = 0.0f; // of lanes without a cell
    const side_cell c = side_cell_of(threadIdx.x, a.rows);
    if (threadIdx.x < SIDE_CELLS && c.is_there) {
        s->lines[0][c.line] = s->lines[1][c.line] = 0.0f;
    }
}

TILE_FN void smooth_begin(const held_matrix &h, row_f32 b, float first, uint32_t row, uint32_t x, smoothing *t,
                          smooth_scratch *s)
{
    t->inverse = h.diagonal > 0.0f ? 1.0f / h.diagonal : 0.0f;
    t->scaled = h.diagonal > 0.0f ? t->inverse * b : 0.0f; // no trace of an older b
    t->own = first * t->scaled;
    t->before = 0.0f;
    s->lines[0][line_of_row(row) + x] = t->own;
}

TILE_FN row_f32 smooth_end(const held_matrix &h, const smoothing *t, uint32_t row, uint32_t x, const smooth_scratch *s)
{
    const float change = (t->scaled - t->own) + t->inverse * neighbour_sum(h, s->lines[t->last], row, x);
    return (t->own + t->keep * (t->own - t->before)) + t->step * change;
}

TILE_FN void smooth_run(tile_matrix a, const held_matrix &h, const grid_sweeps *p, smoothing *t, smooth_scratch *s)
{
    const uint32_t last = p->count - 1;
    float keep = p->keep[1], step = p->step[1];
    TILE_BARRIER();
    for (uint32_t k = 1;; k++) {
        t->keep = keep;
        t->step = step;
        t->last = (int)(k - 1) & 1;
        if (k == last) {
            return;
        }
        keep = p->keep[k + 1]; // while this sweep goes on
        step = p->step[k + 1];
        FOR_FULL_ROWS (x, row, a) {
            const float value = smooth_end(h, t, row, x, s);
            t->before = t->own;
            t->own = value;
            s->lines[k & 1][line_of_row(row) + x] = value;
        }
        TILE_BARRIER();
    }
}

typedef struct restrict_scratch {
    float lines[LINES_CELLS];
    float residual[TILE_CELLS];
} restrict_scratch;

TILE_FN void restrict_residual(tile_matrix a, restrict_scratch *s, float *to)
{
    const int is_flat = a.rows < TILE_ROWS;
    FOR_BOX (x, y, z, 4, 4, is_flat ? 1 : 4) {
        const float *r = s->residual + cell_index(2 * x, 2 * y, is_flat ? z : 2 * z);
        const float near = (r[0] + r[1]) + (r[8] + r[9]);
        to[cell_index(x, y, z)] = is_flat ? near : near + ((r[64] + r[65]) + (r[72] + r[73]));
    }
}

typedef struct correct_scratch_of_children {
    uint32_t unused;
} correct_scratch_of_children;

TILE_FN void correct_children(const grid_args *args, tile_matrix a, const float *value, correct_scratch_of_children *)
{
    const grid_level *fine = &args->m.level[args->level - 1];
    uint32_t child[8], full = 0; // the latter: a bit for each in which the row has equations
    float before[8];
    FOR_FULL_ROWS (x, row, a) {
        TILE_UNROLL for (int n = 0; n < 8; n++) child[n] = a.patch->child[n];
        TILE_UNROLL for (int n = 0; n < 8; n++)
        {
            const uint32_t of = child[n] != TILE_NONE ? fine->patch[child[n]].full[row >> 5] : 0;
            before[n] = child[n] != TILE_NONE ? fine->x[(uint64_t)child[n] * TILE_CELLS + threadIdx.x] : 0.0f;
            full |= (of >> (row & 31) & 1) << n;
        }
        const float *from = value + cell_index((int)x / 2, (int)(row & 7) / 2, (int)(row >> 3) / 2);
        TILE_UNROLL for (int n = 0; n < 8; n++)
        {
            if (full >> n & 1) {
                fine->x[(uint64_t)child[n] * TILE_CELLS + threadIdx.x] =
                    before[n] + OVERCORRECTION * from[(n & 1) * 4 + (n >> 1 & 1) * 32 + (n >> 2) * 256];
            }
        }
    }
}

#endif
