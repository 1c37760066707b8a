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

/// Fills so many lines on a side from a neighbour's rows, or with zeros where `tile` is TILE_NONE.
TILE_FN void load_side_lines(line_values of, uint32_t tile, uint32_t first, int from_step, float *to, int to_step,
                             uint32_t count)
{
    if (tile != TILE_NONE) {
        const uint64_t at = (uint64_t)tile * TILE_CELLS + first;
        FOR_ROWS (x, i, 0u, count) {
            row_store(to + (int)i * to_step + x, line_row(of, at + (uint64_t)i * (uint64_t)from_step + x));
        }
    } else {
        FOR_ROWS (x, i, 0u, count) {
            row_store(to + (int)i * to_step + x, row_all(0.0f));
        }
    }
}

TILE_FN void load_values(tile_matrix a, line_values of, uint32_t tile, float *lines)
{
    const uint32_t *beside = a.patch->beside, left = beside[0], right = beside[1];
    FOR_FULL_ROWS (x, row, a) {
        float *to = lines + line_of_row(row);
        row_store(to + x, line_row(of, (uint64_t)tile * TILE_CELLS + row * 8 + x));
        to[-1] = left != TILE_NONE ? line_value(of, (uint64_t)left * TILE_CELLS + row * 8 + 7) : 0.0f;
        to[8] = right != TILE_NONE ? line_value(of, (uint64_t)right * TILE_CELLS + row * 8) : 0.0f;
    }
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(lines + line_of_row(row) + x, row_all(0.0f));
    }
    const uint32_t planes = a.patch->row_end / TILE_EDGE;
    load_side_lines(of, beside[2], cell_index(0, 7, 0), 64, lines + line_of(-1, 0), LINES_Z, planes);
    load_side_lines(of, beside[3], 0, 64, lines + line_of(8, 0), LINES_Z, planes);
    load_side_lines(of, beside[4], cell_index(0, 0, 7), 8, lines + line_of(0, -1), LINE_CELLS, TILE_EDGE);
    load_side_lines(of, beside[5], 0, 8, lines + line_of(0, (int)planes), LINE_CELLS, TILE_EDGE);
}

#endif
