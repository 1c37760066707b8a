/// Most tiles are partly filled: the solver goes over the rows that hold equations, and lets what it keeps for the
/// others be zero. Part of lines.h.
#ifndef TARN_KERNELS_GRID_LINES_CPU_H
#define TARN_KERNELS_GRID_LINES_CPU_H

#define FOR_LISTED_ROWS(ix, row, patch, begin, end)                                                                    \
    FOR_ROWS (ix, row##_in_list, begin, end)                                                                           \
        for (uint32_t row = (patch)->row[row##_in_list], row##_here = 1; row##_here; row##_here = 0)
#define FOR_FULL_ROWS(ix, row, a) FOR_LISTED_ROWS (ix, row, (a).patch, 0u, (a).patch->row_count)
#define FOR_EMPTY_ROWS(ix, row, a) FOR_LISTED_ROWS (ix, row, (a).patch, (a).patch->row_count, (a).patch->row_end)

typedef tile_matrix held_matrix;

TILE_FN held_matrix hold_matrix(tile_matrix a)
{
    return a;
}

TILE_FN row_f32 neighbour_sum(held_matrix a, const float *lines, uint32_t row, uint32_t x)
{
    const float *at = lines + line_of_row(row) + x;
    const float *ax = a.ax + row * 9 + x, *ay = a.ay + (row + (row >> 3)) * 8 + x, *az = a.az + row * 8 + x;
    enum { Y = LINE_CELLS, Z = LINES_Z };
    return ((row_load(ax) * row_load(at - 1) + row_load(ax + 1) * row_load(at + 1)) +
            (row_load(ay) * row_load(at - Y) + row_load(ay + 8) * row_load(at + Y))) +
           (row_load(az) * row_load(at - Z) + row_load(az + 64) * row_load(at + Z));
}

TILE_FN row_f32 matrix_times(held_matrix a, const float *lines, uint32_t row, uint32_t x)
{
    return row_load(a.diagonal + row * 8 + x) * row_load(lines + line_of_row(row) + x) -
           neighbour_sum(a, lines, row, x);
}

TILE_FN row_f32 held_diagonal(held_matrix a, uint32_t row, uint32_t x)
{
    return row_load(a.diagonal + row * 8 + x);
}

typedef const float *held_rows;

TILE_FN held_rows hold_rows(tile_matrix a, const float *field)
{
    (void)a;
    return field;
}

TILE_FN row_f32 held_row(held_rows rows, uint32_t row, uint32_t x)
{
    return row_load(rows + row * 8 + x);
}

/// Fills so many lines on a side from a neighbour's rows, or with zeros where `from` is NULL.
TILE_FN void load_side_lines(const float *from, int from_step, float *to, int to_step, uint32_t count)
{
    if (from != NULL) {
        FOR_ROWS (x, i, 0u, count) {
            row_store(to + (int)i * to_step + x, row_load(from + (int)i * from_step + x));
        }
    } else {
        FOR_ROWS (x, i, 0u, count) {
            row_store(to + (int)i * to_step + x, row_all(0.0f));
        }
    }
}

/// A field of the tile on a side, or NULL.
TILE_FN const float *beside(const grid_patch *patch, int side, const float *field)
{
    return patch->beside[side] != TILE_NONE ? field + (uint64_t)patch->beside[side] * TILE_CELLS : NULL;
}

TILE_FN void load_lines(tile_matrix a, const float *field, uint32_t tile, float *lines)
{
    const grid_patch *patch = a.patch;
    const float *own = field + (uint64_t)tile * TILE_CELLS;
    const float *left = beside(patch, 0, field), *right = beside(patch, 1, field), *front = beside(patch, 2, field),
                *back = beside(patch, 3, field), *below = beside(patch, 4, field), *above = beside(patch, 5, field);
    FOR_FULL_ROWS (x, row, a) {
        float *to = lines + line_of_row(row);
        row_store(to + x, row_load(own + row * 8 + x));
        to[-1] = left != NULL ? left[row * 8 + 7] : 0.0f;
        to[8] = right != NULL ? right[row * 8] : 0.0f;
    }
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(lines + line_of_row(row) + x, row_all(0.0f));
    }
    const uint32_t planes = patch->row_end / TILE_EDGE;
    load_side_lines(front != NULL ? front + cell_index(0, 7, 0) : NULL, 64, lines + line_of(-1, 0), LINES_Z, planes);
    load_side_lines(back, 64, lines + line_of(8, 0), LINES_Z, planes);
    load_side_lines(below != NULL ? below + cell_index(0, 0, 7) : NULL, 8, lines + line_of(0, -1), LINE_CELLS,
                    TILE_EDGE);
    load_side_lines(above, 8, lines + line_of(0, (int)planes), LINE_CELLS, TILE_EDGE);
}

#endif
