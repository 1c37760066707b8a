// From the solved pressure to a velocity on every face that particles may look up: projection, and extrapolation into
// the air.
#include "kernels/device/row.h"
#include "kernels/grid/poisson.h"

// ---------------------------------------------------------------------------------------------------------- projection

typedef struct project_scratch {
    face_plan plan;
    float pressure[RIM_CELLS];
    uint32_t solved[4]; ///< a GPU's: occupied indices of the tile, and of the lower one along each axis
} project_scratch;

/// What the solution does to a row of faces from `x` on, where all liquids are equally heavy.
TILE_FN row_f32 face_change(const project_scratch *s, int axis, int x, int y, int z)
{
    const float *p = s->pressure + rim_index(x, y, z);
    const int stride = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    return row_steepness(&s->plan, axis, x, y, z) * (row_load(p - stride) - row_load(p));
}

/// The faces that touch liquid and are not shut by a solid, which pressure gives a velocity.
TILE_FN void mark_valid(const grid_args *args, const face_plan *plan, uint32_t tile)
{
    const grid_memory *m = &args->m;
    const uint32_t rows = tile_rows(&args->shape);
    uint8_t *valid = m->face_rows + face_rows_of(tile, 0);
    FOR_RANGE (n, 0, 3 * TILE_ROWS) {
        const uint32_t axis = n / TILE_ROWS, row = n % TILE_ROWS;
        const uint8_t *open = m->open[axis] != NULL ? m->open[axis] + (uint64_t)tile * TILE_CELLS : NULL;
        uint32_t bits = row < rows ? plan->touching[axis][face_row((int)row % TILE_EDGE, (int)row / TILE_EDGE)] : 0;
        bits &= open != NULL ? row_bits_from(open + row * TILE_EDGE, 1) : 0xffu;
        valid[n] = (uint8_t)bits;
    }
}

/// A tile that touches no liquid.
TILE_FN void project_nothing(const grid_args *args, uint32_t tile)
{
    const grid_memory *m = &args->m;
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!args->is_density) {
        FOR_RANGE (r, 0, 3 * TILE_ROWS) {
            m->face_rows[face_rows_of(tile, 0) + r] = 0;
        }
    }
    for (int axis = 0; axis < 3 && args->is_density; axis++) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            m->shift[axis][own + i] = 0.0f;
        }
    }
}

#define SHIFT_MAX (0.5f * DENSITY_STEP_MAX) ///< of the density correction

/// project_tile(args, tile, place, dense, s) does it: velocities, or displacements.
#include TILE_FORM(project)

/// u -= grad p on the faces that touch liquid, which become the valid ones; or, for the density correction, the
/// displacement -grad q. What failed is not applied. One tile per active tile.
TILE_KERNEL(grid_project, SOLVER_LANES, grid_args, project_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!args->is_density && tile == 0 && TILE_SINGLE()) {
        m->counters->unconverged += m->counters->go | m->counters->failed;
    }
    if (args->is_alone && m->open[0] != NULL) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            m->shift[0][own + i] = 0.0f;
        }
    }
    project_tile(args, tile, tile_place_of(&args->shape, 0, dense), dense, s);
}

// ------------------------------------------------------------------------------------------------------- extrapolation

/// The bits of a plane's rows, of three times eight, whose faces lie in the tank and in none of its walls.
TILE_FN uint64_t open_plane(const grid_args *args, tile_place place, uint32_t plane)
{
    const int axis = (int)plane / TILE_EDGE, z = (int)plane % TILE_EDGE, planes = planes_of(&args->shape, place, 1);
    const int first = axis == 1 && place.y == 0;
    const uint64_t row = open_faces(&args->shape, place, axis, first, z); // every row's that has some
    const uint64_t rows = planes < TILE_EDGE ? (1ull << planes * 8) - 1 : UINT64_MAX;
    return row * 0x0101010101010101u & rows & UINT64_MAX << first * 8;
}

#include TILE_FORM(extrapolate)

/// Velocities of the faces that touch no liquid, up to EXTRAPOLATION_LAYERS away. One tile per active tile.
TILE_KERNEL(grid_extrapolate, CELL_LANES, grid_args, extend_scratch)
{
    extend_tile(args, tile, s);
}
