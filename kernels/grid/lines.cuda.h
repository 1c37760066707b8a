/// A lane has one cell of its tile, keeps the matrix's coefficients of it, and fetches all that it needs at once: what
/// a block waits for is memory. Part of lines.h.
#ifndef TARN_KERNELS_GRID_LINES_CUDA_H
#define TARN_KERNELS_GRID_LINES_CUDA_H

TILE_ASSERT(SOLVER_LANES == TILE_CELLS, "a lane has a cell");

#define FOR_FULL_ROWS(ix, row, a)                                                                                      \
    for (uint32_t ix = threadIdx.x & 7, row = threadIdx.x >> 3, row##_once = 1; row##_once && row < (a).rows;          \
         row##_once = 0)
#define FOR_EMPTY_ROWS(ix, row, a) for (uint32_t ix = 0, row = 0; row < 0 * (a).rows; row += 1 + ix)

typedef struct held_matrix {
    float ax[2], ay[2], az[2], diagonal;
} held_matrix;

TILE_FN held_matrix hold_matrix(tile_matrix a)
{
    held_matrix h = {{0.0f, 0.0f}, {0.0f, 0.0f}, {0.0f, 0.0f}, 0.0f};
    FOR_FULL_ROWS (x, row, a) {
        const float *ax = a.ax + row * 9 + x, *ay = a.ay + (row + (row >> 3)) * 8 + x, *az = a.az + row * 8 + x;
        h.ax[0] = ax[0];
        h.ax[1] = ax[1];
        h.ay[0] = ay[0];
        h.ay[1] = ay[8];
        h.az[0] = az[0];
        h.az[1] = az[64];
        h.diagonal = a.diagonal[row * 8 + x];
    }
    return h;
}

TILE_FN row_f32 neighbour_sum(const held_matrix &h, const float *lines, uint32_t row, uint32_t x)
{
    const float *at = lines + line_of_row(row) + x;
    enum { Y = LINE_CELLS, Z = LINES_Z };
    return ((h.ax[0] * at[-1] + h.ax[1] * at[1]) + (h.ay[0] * at[-Y] + h.ay[1] * at[Y])) +
           (h.az[0] * at[-Z] + h.az[1] * at[Z]);
}

TILE_FN row_f32 matrix_times(const held_matrix &h, const float *lines, uint32_t row, uint32_t x)
{
    return h.diagonal * lines[line_of_row(row) + x] - neighbour_sum(h, lines, row, x);
}

TILE_FN row_f32 held_diagonal(const held_matrix &h, uint32_t, uint32_t)
{
    return h.diagonal;
}

typedef float held_rows;

TILE_FN held_rows hold_rows(tile_matrix a, const float *field)
{
    return threadIdx.x >> 3 < a.rows ? field[threadIdx.x] : 0.0f;
}

TILE_FN row_f32 held_row(held_rows rows, uint32_t, uint32_t)
{
    return rows;
}

enum { SIDE_CELLS = 6 * TILE_ROWS };

/// A cell beside a tile: number i of SIDE_CELLS.
typedef struct side_cell {
    uint32_t side, cell; ///< of the tile there
    int line;            ///< where it lies among the lines
    int is_there;        ///< the tank is so deep
} side_cell;

TILE_FN side_cell side_cell_of(uint32_t i, uint32_t rows)
{
    const int u = (int)(i & 7), v = (int)(i >> 3 & 7), planes = (int)rows / TILE_EDGE;
    side_cell c;
    c.side = i / TILE_ROWS;
    const int in = c.side & 1 ? 0 : TILE_EDGE - 1, out = c.side & 1 ? TILE_EDGE : -1;
    if (c.side < 2) {
        c.cell = cell_index(in, u, v);
        c.line = line_of(u, v) + out;
    } else if (c.side < 4) {
        c.cell = cell_index(u, in, v);
        c.line = line_of(out, v) + u;
    } else {
        c.cell = cell_index(u, v, in);
        c.line = line_of(v, c.side & 1 ? planes : -1) + u;
    }
    c.is_there = c.side >= 4 || v < planes;
    return c;
}

TILE_FN void load_values(tile_matrix a, line_values of, uint32_t tile, float *lines)
{
    float own = 0.0f, side = 0.0f;
    const side_cell c = side_cell_of(threadIdx.x, a.rows);
    const int has_side = threadIdx.x < SIDE_CELLS && c.is_there;
    FOR_FULL_ROWS (x, row, a) {
        own = line_value(of, (uint64_t)tile * TILE_CELLS + row * 8 + x);
    }
    if (has_side) {
        const uint32_t other = a.patch->beside[c.side];
        side = other != TILE_NONE ? line_value(of, (uint64_t)other * TILE_CELLS + c.cell) : 0.0f;
    }
    FOR_FULL_ROWS (x, row, a) {
        lines[line_of_row(row) + x] = own;
    }
    if (has_side) {
        lines[c.line] = side;
    }
    TILE_BARRIER();
}

#endif
