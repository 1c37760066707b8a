// The matrices of the Poisson solver: the finest level's from the cells, the coarser ones' from that. A coarse cell
// gathers 2^3 cells and the coarse matrix is the Galerkin product with piecewise constant transfers, which stays a
// 7-point matrix (Shao, Huang & Michels 2022).
#include "kernels/grid/patch.h"
#include "kernels/grid/regions.h"

// ------------------------------------------------------------------------------------------------------------- surface

#define SURFACE_DENSITY 0.5f ///< over that at rest, of a cell whose centre the surface passes

enum { FRINGE_ROOM = 160 }; ///< of 255: beside more of a solid than this, density doesn't tell where the surface is

typedef struct fringe_scratch {
    float density[RIM_CELLS];
    uint16_t air[RIM_EDGE * ROW_WORDS]; ///< bits of roomy and empty cells, as type_rows
    uint32_t hollow;                    ///< some cells of the tile are less than half full
    uint32_t beside[6], occupied[6];    ///< a GPU's: active and occupied indices of the tiles on the sides
} fringe_scratch;

/// Which of a row's thin cells from x on lie between such whose centre is in the liquid and empty ones.
TILE_FN row_i32 fringe_of(const grid_memory *m, const fringe_scratch *s, uint64_t own, uint32_t row, uint32_t x,
                          row_i32 thin)
{
    enum { Y = RIM_EDGE, Z = RIM_EDGE * RIM_EDGE };
    const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
    const float *density = s->density + rim_index(0, y, z) + x;
    const row_f32 fullest = row_max(row_max(row_max(row_load(density - 1), row_load(density + 1)),
                                            row_max(row_load(density - Y), row_load(density + Y))),
                                    row_max(row_load(density - Z), row_load(density + Z)));
    const uint16_t *air = s->air + rim_row(y, z);
    const uint32_t around = air[0] | air[0] >> 2 | ((air[-1] | air[1] | air[-ROW_WORDS] | air[ROW_WORDS]) >> 1);
    const uint32_t roomy = m->room != NULL ? row_bits_from(m->room + own + row * TILE_EDGE, FRINGE_ROOM) : 0xff;
    return thin & (fullest > SURFACE_DENSITY) & row_bits_mask((around & roomy) >> x);
}

/// fringe_tile(args, place, slot, occupied, s): a tile's fringe to its types. What is air isn't told by types, which
/// are being changed, but by particles and room.
#include TILE_FORM(fringe)

/// Takes cells out of the liquid whose centre is in the air, between such whose centre is not and empty ones: there the
/// surface lies between the two centres, and the pressure at theirs would be below air's. Their velocities are
/// extrapolated. Cells of drops and sheets that are thinner than a cell everywhere stay, and hollows in the liquid. One
/// tile per occupied tile.
TILE_KERNEL(grid_fringe, SOLVER_LANES, grid_args, fringe_scratch)
{
    const uint32_t dense = args->m.level[0].tile[tile];
    fringe_tile(args, tile_place_of(&args->shape, 0, dense), args->m.slot[dense], tile, s);
}

// ------------------------------------------------------------------------------------------------------------ matrices

typedef struct matrix_scratch {
    patch_scratch patch;
    face_plan plan;
    float x[TILE_FACES], y[TILE_FACES], z[TILE_FACES]; ///< what faces add to the diagonals of their liquid cells
    uint32_t liquid;
} matrix_scratch;

/// How many coefficients of faces normal to an axis a tile of so many planes has, in face_index' order.
TILE_FN uint32_t face_count(int axis, int planes)
{
    return (uint32_t)(axis < 2 ? planes * 72 : (planes + 1) * 64);
}

/// Which of a coarse tile's eight has its cell (x, y, z).
TILE_FN int child_of(int x, int y, int z)
{
    return (z >> 2) * 4 + (y >> 2) * 2 + (x >> 2);
}

/// A tile's part of a matrix.
typedef struct matrix_store {
    float *ax, *ay, *az, *diagonal;
} matrix_store;

TILE_FN matrix_store matrix_store_of(const grid_level *level, uint32_t tile)
{
    matrix_store to;
    to.ax = level->ax + (uint64_t)tile * TILE_FACES;
    to.ay = level->ay + (uint64_t)tile * TILE_FACES;
    to.az = level->az + (uint64_t)tile * TILE_FACES;
    to.diagonal = level->diagonal + (uint64_t)tile * TILE_CELLS;
    return to;
}

/// Two functions that make coefficients of faces. Both end without a barrier but for what says so.
///
///     make_faces(args, place, slot, s, to)
///         the finest level's: steepness times open share and beta to s->x, s->y, s->z; off-diagonal coefficients,
///         those of faces with liquid on both sides, to `to`; ends with a barrier
///     coarse_faces(args, fine, child, to)
///         a coarse tile's from its eight `child` of the level `fine`: each is the sum of four
#include TILE_FORM(faces)

/// Each cell begins as of one region with the first in its row that it hangs together with.
TILE_FN void begin_regions(const grid_memory *m, uint32_t tile, const float *ax)
{
    const grid_patch *patch = m->level[0].patch + tile;
    uint32_t *region = regions_of(m) + region_first(m, tile);
    TILE_BARRIER();
    FOR_RANGE (i, 0, patch->row_count) {
        const uint32_t row = patch->row[i], runs = row_runs(ax, row), own = region_first(m, tile) + row * TILE_EDGE;
        uint32_t begin = 0;
        for (uint32_t x = 0; x < TILE_EDGE; x++) {
            begin = runs >> x & 1 ? x : begin;
            region[row * TILE_EDGE + x] = own + begin;
        }
    }
}

/// The matrix of the finest level. One tile per occupied tile.
TILE_KERNEL(grid_matrix, SOLVER_LANES, grid_args, matrix_scratch)
{
    const grid_memory *m = &args->m;
    const grid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    if (TILE_SINGLE()) {
        s->liquid = 0;
        m->solved_tile[tile] = dense;
        m->solved_slot[tile] = slot;
        if (tile == 0) {
            m->counters->solved = m->counters->occupied;
            m->counters->solved_active = m->counters->active;
            m->counters->regions = m->counters->regions_afloat = 0; // being told apart next
        }
    }
    const matrix_store to = matrix_store_of(level, tile);
    begin_patch(args, 0, place, tile, &s->patch);
    plan_faces(args, place, slot, 1, &s->plan);
    TILE_BARRIER();
    make_faces(args, place, slot, s, to);
    FOR_ROWS (x, row, tile_rows(&args->shape), TILE_ROWS) {
        row_store(to.diagonal + row * TILE_EDGE + x, row_all(0.0f));
    }
    FOR_ROWS (x, row, 0, tile_rows(&args->shape)) {
        const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE, i = (int)x;
        const float *fx = s->x + face_index(0, i, y, z), *fy = s->y + face_index(1, i, y, z),
                    *fz = s->z + face_index(2, i, y, z);
        const row_f32 sum = ((row_load(fx) + row_load(fx + 1)) + (row_load(fy) + row_load(fy + 8))) +
                            (row_load(fz) + row_load(fz + 64));
        const uint32_t liquid = s->plan.types.liquid[rim_row(y, z)];
        const row_f32 diagonal = row_keep(row_bits_mask(liquid >> 1 >> x), sum);
        row_store(to.diagonal + row * TILE_EDGE + x, diagonal);
        mark_row(&s->patch, row, row_any(diagonal > 0.0f));
    }
    FOR_RANGE_ATOMIC (row, 0, tile_rows(&args->shape)) {
        tile_add_u32(&s->liquid,
                     tile_popcount_u32(s->plan.types.liquid[rim_row((int)row & 7, (int)row >> 3)] >> 1 & 0xffu));
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        global_add_u32(&m->counters->liquid_cells, s->liquid);
        global_or_u32(&m->counters->open, s->plan.surface != 0);
    }
    end_patch(args, 0, tile, &s->patch);
    if (m->open[0] != NULL) {
        begin_regions(m, tile, to.ax);
    }
}

/// Sums of 2^3 cells of a field, and of 2^2 faces in the middle of them: pairs, then pairs of pairs.
TILE_FN float cell_sum(const float *v, int y, int z)
{
    return ((v[0] + v[1]) + (v[y] + v[y + 1])) + ((v[z] + v[z + 1]) + (v[z + y] + v[z + y + 1]));
}
TILE_FN float face_sum(const float *v, int a, int b)
{
    return (v[0] + v[a]) + (v[b] + v[a + b]);
}

/// Under this share of the diagonals that it is a difference of, a coarse diagonal is nothing but their rounding.
#define DIAGONAL_ROUNDING 1e-6f

/// Galerkin diagonal: the sum of the diagonals less twice the coefficients inside the coarse cell. Zero in one that
/// holds all of a closed region: what its equation would give is noise over noise.
TILE_FN float coarse_diagonal(const grid_args *args, uint32_t fine, int planes, uint32_t child, int x, int y, int z)
{
    const int fx = (x & 3) * 2, fy = (y & 3) * 2, fz = (z & 3) * 2;
    const tile_matrix a = matrix_of(args, fine, child);
    if (planes == 1) {
        const float *ax = a.ax + face_index(0, fx + 1, fy, 0), *ay = a.ay + face_index(1, fx, fy + 1, 0),
                    *d = a.diagonal + cell_index(fx, fy, 0);
        const float sum = (d[0] + d[1]) + (d[8] + d[9]), diagonal = sum - 2.0f * ((ax[0] + ax[9]) + (ay[0] + ay[1]));
        return tile_select_f32(diagonal > DIAGONAL_ROUNDING * sum, diagonal, 0.0f);
    }
    const float inner = (face_sum(a.ax + face_index(0, fx + 1, fy, fz), 9, 72) +
                         face_sum(a.ay + face_index(1, fx, fy + 1, fz), 1, 72)) +
                        face_sum(a.az + face_index(2, fx, fy, fz + 1), 1, 8);
    const float sum = cell_sum(a.diagonal + cell_index(fx, fy, fz), 8, 64), diagonal = sum - 2.0f * inner;
    return tile_select_f32(diagonal > DIAGONAL_ROUNDING * sum, diagonal, 0.0f);
}

/// The matrix of level args->level from the one below. One tile per tile of that level.
TILE_KERNEL(grid_coarsen, SOLVER_LANES, grid_args, patch_scratch)
{
    const uint32_t l = args->level;
    const grid_level *level = &args->m.level[l];
    const tile_place place = tile_place_of(&args->shape, l, level->tile[tile]);
    const matrix_store to = matrix_store_of(level, tile);
    const int planes = tile_planes(&args->shape);
    begin_patch(args, l, place, tile, s);
    TILE_BARRIER();
    coarse_faces(args, l - 1, s->child, to);
    FOR_RANGE_ATOMIC (i, 0, (uint32_t)planes * TILE_ROWS) {
        const int x = (int)i & 7, y = (int)i >> 3 & 7, z = (int)i >> 6;
        const uint32_t child = s->child[child_of(x, y, z)];
        const float diagonal = child != TILE_NONE ? coarse_diagonal(args, l - 1, planes, child, x, y, z) : 0.0f;
        to.diagonal[i] = diagonal;
        mark_row(s, i / TILE_EDGE, diagonal > 0.0f);
    }
    TILE_BARRIER();
    end_patch(args, l, tile, s);
}
