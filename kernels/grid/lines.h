/// A tile's part of a matrix and of the fields that it is multiplied with. Private to the grid's kernels.
#ifndef TARN_KERNELS_GRID_LINES_H
#define TARN_KERNELS_GRID_LINES_H

#include "kernels/device/row.h"
#include "kernels/grid/halo.h"

/// A tile's part of a level's matrix.
typedef struct tile_matrix {
    const float *ax, *ay, *az, *diagonal;
    const grid_patch *patch;
    uint32_t rows; ///< that the tank has in its tiles
} tile_matrix;

TILE_FN tile_matrix matrix_of(const grid_args *args, uint32_t level, uint32_t tile)
{
    const grid_level *of = &args->m.level[level];
    tile_matrix a;
    a.ax = of->ax + (uint64_t)tile * TILE_FACES;
    a.ay = of->ay + (uint64_t)tile * TILE_FACES;
    a.az = of->az + (uint64_t)tile * TILE_FACES;
    a.diagonal = of->diagonal + (uint64_t)tile * TILE_CELLS;
    a.patch = of->patch + tile;
    a.rows = tile_rows(&args->shape);
    return a;
}

/// What a row's faces with liquid on both sides add to its diagonals: all, to the last bit, away from the free surface.
TILE_FN row_f32 inner_sum(tile_matrix a, uint32_t row, uint32_t x)
{
    const float *ax = a.ax + row * 9 + x, *ay = a.ay + (row + (row >> 3)) * 8 + x, *az = a.az + row * 8 + x;
    return ((row_load(ax) + row_load(ax + 1)) + (row_load(ay) + row_load(ay + 8))) + (row_load(az) + row_load(az + 64));
}

#include TILE_FORM(line_cells)

/// A tile's rows with one cell around them, as the solver keeps them: LINE_CELLS from one to the next.
enum {
    LINE_EDGE = TILE_EDGE + 2,
    LINES_CELLS = LINE_EDGE * LINE_EDGE * LINE_CELLS,
    LINES_Z = LINE_EDGE * LINE_CELLS, ///< from a row to the next one along z
};

/// Where row y, z of -1..8 begins.
TILE_FN int line_of(int y, int z)
{
    return (z + 1) * LINES_Z + (y + 1) * LINE_CELLS + 4;
}
TILE_FN uint32_t line_of_row(uint32_t row)
{
    return row * LINE_CELLS + (row >> 3) * (LINES_Z - 8 * LINE_CELLS) + (uint32_t)line_of(0, 0);
}

/// What lines hold: a field, to which so many times another one is added if there is one.
typedef struct line_values {
    const float *field, *more;
    float times;
} line_values;

TILE_FN line_values values_of(const float *field)
{
    line_values of;
    of.field = field;
    of.more = NULL;
    of.times = 0.0f;
    return of;
}

/// The solver's direction. With conjugate gradients whoever needs it finds it anew, until the update keeps it: it would
/// be a launch of its own to store it for all tiles before they multiply it.
TILE_FN line_values direction_of(const grid_args *args)
{
    line_values of = values_of(args->m.direction);
    if (args->is_conjugate) {
        of.more = of.field;
        of.field = args->m.level[0].y;
        of.times = args->m.counters->beta;
    }
    return of;
}

TILE_FN float line_value(line_values of, uint64_t at)
{
    return of.more != NULL ? of.field[at] + of.times * of.more[at] : of.field[at];
}
TILE_FN row_f32 line_row(line_values of, uint64_t at)
{
    return of.more != NULL ? row_load(of.field + at) + of.times * row_load(of.more + at) : row_load(of.field + at);
}

// A form of these for each device:
//
//     FOR_FULL_ROWS (x, row, a)     the rows that hold equations; on a GPU all, whose lanes would idle else: what there
//     FOR_EMPTY_ROWS (x, row, a)    is of the others is zero. On a GPU none. Both: SOLVER_LANES lanes, a cell each
//     held_matrix, hold_matrix(a)   what of it a lane keeps, where it keeps its cell's: all of it is fetched at once
//     held_rows, hold_rows(a, field)  the same of a tile's field, of which held_row(rows, row, x) is a row
//     neighbour_sum(h, lines, row, x)  sum over the neighbours of coefficient times value
//     matrix_times(h, lines, row, x)   a row of the matrix times a vector
//     load_values(a, of, tile, lines)  what the matrix needs of a level's values, a tile's cells and those around its
//                                   rows; they are zero in rows without equations. Ends with a barrier
#include TILE_FORM(lines)

TILE_FN void load_lines(tile_matrix a, const float *field, uint32_t tile, float *lines)
{
    load_values(a, values_of(field), tile, lines);
}

#endif
