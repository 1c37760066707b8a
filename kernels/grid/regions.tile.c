// Tells regions of the liquid apart that solids cut off from each other, and which of them are closed: regions.h. The
// matrix has begun the trees with its rows.
#include "kernels/grid/regions.h"

/// Joins a row's cells to those that their lower faces across y or z link them to: once where pairs hang together.
TILE_FN void join_rows(uint32_t *region, const float *link, const float *ax, const float *lower_ax, uint32_t own,
                       uint32_t lower)
{
    const uint32_t links = row_positive(link);
    if (links == 0) {
        return;
    }
    const uint32_t joined = links << 1 & row_positive(ax) & row_positive(lower_ax);
    for (uint32_t left = links & ~joined; left != 0; left &= left - 1) {
        const uint32_t x = tile_lowest_bit_u32(left);
        region_join(region, own + x, lower + x);
    }
}

/// Joins cells over the tile's lower faces. One tile per occupied tile.
TILE_KERNEL(grid_regions_join, CELL_LANES, grid_args, tile_no_scratch)
{
    const grid_memory *m = &args->m;
    const grid_level *level = &m->level[0];
    const tile_matrix a = matrix_of(args, 0, tile);
    const uint32_t first = region_first(m, tile), *beside = a.patch->beside;
    uint32_t *region = regions_of(m);
    FOR_RANGE_ATOMIC (i, 0, a.patch->row_count) {
        const uint32_t row = a.patch->row[i], own = first + row * TILE_EDGE;
        const float *ax = a.ax + row * 9, *ay = a.ay + (row + (row >> 3)) * 8, *az = a.az + row * 8;
        for (uint32_t axis = 1; axis < 3; axis++) {
            const uint32_t stride = axis == 1 ? 1 : TILE_EDGE; // in rows
            const int is_inside = (row / stride & 7) > 0;
            const uint32_t other = is_inside ? tile : beside[2 * axis];
            const uint32_t lower = is_inside ? row - stride : row + 7 * stride;
            if (other != TILE_NONE) {
                join_rows(region, axis == 1 ? ay : az, ax, level->ax + (uint64_t)other * TILE_FACES + lower * 9, own,
                          region_first(m, other) + lower * TILE_EDGE);
            }
        }
        if (ax[0] > 0.0f) {
            region_join(region, own, region_first(m, beside[0]) + row * TILE_EDGE + 7);
        }
    }
}

typedef struct open_scratch {
    float surface[TILE_CELLS]; ///< what faces of the free surface add to the diagonals
} open_scratch;

/// Whether a free body covers faces of a cell: what a pressure pushes away is its volume's way out.
TILE_FN int is_beside_free_body(const grid_memory *m, uint32_t cell)
{
    const uint32_t b = m->cover_owner[cell];
    return b < BODIES_MAX && m->bodies->body[b].is_free;
}

/// Marks regions that have cells at a free surface, and those with a free body. One tile per occupied tile.
TILE_KERNEL(grid_regions_open, SOLVER_LANES, grid_args, open_scratch)
{
    const grid_memory *m = &args->m;
    const tile_matrix a = matrix_of(args, 0, tile);
    const uint32_t first = region_first(m, tile);
    uint32_t *region = regions_of(m);
    FOR_FULL_ROWS (x, row, a) {
        row_store(s->surface + row * 8 + x, row_load(a.diagonal + row * 8 + x) - inner_sum(a, row, x));
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, 0, a.patch->row_count) {
        const uint32_t row = a.patch->row[i], own = row * TILE_EDGE;
        const uint32_t open = row_positive(s->surface + own);
        uint32_t afloat = 0;
        for (uint32_t x = 0; x < TILE_EDGE && m->bodies != NULL; x++) {
            afloat |= (uint32_t)(a.diagonal[own + x] > 0.0f && is_beside_free_body(m, first + own + x)) << x;
        }
        for (uint32_t left = open | afloat; left != 0; left &= left - 1) {
            const uint32_t x = tile_lowest_bit_u32(left);
            global_or_u32(region + region_root(region, first + own + x),
                          (open >> x & 1 ? REGION_OPEN : 0) | (afloat >> x & 1 ? REGION_AFLOAT : 0));
        }
    }
}

/// Numbers the closed ones, in any order. One tile per occupied tile.
TILE_KERNEL(grid_regions_list, CELL_LANES, grid_args, tile_no_scratch)
{
    const grid_memory *m = &args->m;
    const tile_matrix a = matrix_of(args, 0, tile);
    const uint32_t first = region_first(m, tile);
    uint32_t *region = regions_of(m);
    FOR_RANGE_ATOMIC (i, 0, a.patch->row_count) {
        const uint32_t row = a.patch->row[i];
        for (uint32_t runs = row_runs(a.ax, row); runs != 0; runs &= runs - 1) { // a root is the first of a run
            const uint32_t at = row * TILE_EDGE + tile_lowest_bit_u32(runs), cell = first + at;
            if (a.diagonal[at] > 0.0f && region[cell] == cell) {
                region[cell] = REGION_CLOSED + global_add_u32(&m->counters->regions, 1);
            } else if (a.diagonal[at] > 0.0f && region[cell] == (cell | REGION_AFLOAT)) {
                region[cell] = REGION_AFLOAT + global_add_u32(&m->counters->regions_afloat, 1);
            }
        }
    }
}
