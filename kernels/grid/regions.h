/// Regions: cells whose equations hang together. In one that no free surface touches, a closed one, a pressure is known
/// but for a constant, and takes no mean flow out: the mean of the right side is taken out of each. Private to kernels.
///
/// Regions are told apart where there are solids, by union-find (Playne & Hawick 2018): cells, numbered 512 * slot +
/// cell, form trees; every cell names one that comes before it, or itself, the root. However tiles' joins fall
/// together, a region's root is the first of its cells. When all are joined the roots say what of a region is asked.
/// For the pressure a region counts as open, too, where a free body touches it, for a pressure may move that out of the
/// way. The density correction moves no bodies: for it such a region is closed.
#ifndef TARN_KERNELS_GRID_REGIONS_H
#define TARN_KERNELS_GRID_REGIONS_H

#include "kernels/grid/lines.h"
#include "kernels/grid/poisson.h"

#define REGION_AFLOAT 0x20000000u ///< in a root: a free body touches the region; once listed, and which of those it is
#define REGION_CLOSED 0x40000000u ///< in a root: and which of the closed regions it is
#define REGION_OPEN 0x80000000u   ///< in a root: a free surface touches the region

enum { REGION_NONE = 255 }; ///< of a cell without an equation, or in an open region

/// By cell, of active tiles. The density correction's displacements take the place when nobody asks any more.
TILE_FN uint32_t *regions_of(const grid_memory *m)
{
    return (uint32_t *)m->shift[0];
}

/// Number of an occupied tile's first cell.
TILE_FN uint32_t region_first(const grid_memory *m, uint32_t tile)
{
    return m->slot[m->level[0].tile[tile]] * TILE_CELLS;
}

/// Bits of a row's cells that no coefficient links to the one before them: where its runs begin.
TILE_FN uint32_t row_runs(const float *ax, uint32_t row)
{
    return (~row_positive(ax + row * 9) & 0xff) | 1;
}

/// The root of a cell's tree. On the way cells come to name the one after the next, so that the next way is shorter.
TILE_FN uint32_t region_root(uint32_t *region, uint32_t cell)
{
    uint32_t next = global_load_u32(region + cell);
    while (next != cell && next < REGION_AFLOAT) {
        const uint32_t after = global_load_u32(region + next);
        if (after != next && after < REGION_AFLOAT) {
            global_store_u32(region + cell, after);
        }
        cell = next;
        next = after;
    }
    return cell;
}

TILE_FN void region_join(uint32_t *region, uint32_t a, uint32_t b)
{
    a = region_root(region, a);
    b = region_root(region, b);
    while (a != b) {
        const uint32_t last = tile_max_u32(a, b), first = tile_min_u32(a, b);
        const uint32_t before = global_min_u32(region + last, first);
        a = region_root(region, first);
        b = before != last ? region_root(region, before) : a; // somebody else has joined it to that
    }
}

/// Regions that are known to be closed for a solve.
TILE_FN uint32_t known_regions(const grid_counters *counters, uint32_t is_density)
{
    return counters->regions + (is_density ? counters->regions_afloat : 0);
}

/// How many means are to be taken out. Where regions weren't told apart, or are too many, the tank counts as one.
TILE_FN uint32_t closed_regions(const grid_counters *counters, uint32_t is_density)
{
    const uint32_t known = known_regions(counters, is_density);
    return known > 0 && known <= REGIONS_MAX ? known : counters->open == 0;
}

/// Which of the closed regions a root is of, those that bodies float in behind the others, or REGION_NONE.
TILE_FN uint32_t closed_region_of(const grid_counters *counters, uint32_t root, uint32_t is_density)
{
    if (root >= REGION_OPEN) {
        return REGION_NONE;
    }
    if (root >= REGION_CLOSED) {
        return root - REGION_CLOSED;
    }
    return is_density ? counters->regions + (root - REGION_AFLOAT) : (uint32_t)REGION_NONE;
}

/// Which closed region each of a tile's cells is in, and bits of those that there are. Ends with a barrier.
TILE_FN void find_regions(const grid_args *args, uint32_t tile, uint8_t *of_cell, uint32_t *there)
{
    const grid_memory *m = &args->m;
    const uint32_t is_density = args->is_density;
    const float *diagonal = m->level[0].diagonal + (uint64_t)tile * TILE_CELLS;
    const uint32_t first = region_first(m, tile), known = known_regions(m->counters, is_density);
    uint32_t *region = regions_of(m);
    const int is_one = known == 0 || known > REGIONS_MAX;
    if (TILE_SINGLE()) {
        *there = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, 0, tile_rows(&args->shape) * TILE_EDGE) {
        uint32_t of = diagonal[i] > 0.0f ? 0 : (uint32_t)REGION_NONE;
        if (of == 0 && !is_one) {
            of = closed_region_of(m->counters, region[region_root(region, first + i)], is_density);
        }
        of_cell[i] = (uint8_t)of;
        tile_or_u32(there, of != REGION_NONE ? 1u << of : 0);
    }
    TILE_BARRIER();
}

#endif
