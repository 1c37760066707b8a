// From the solved pressure to a velocity on every face that particles may look up: projection, and extrapolation into
// the air.
#include "kernels/device/row.h"
#include "kernels/grid/poisson.h"

// ---------------------------------------------------------------------------------------------------------- projection

typedef struct project_scratch {
    face_plan plan;
    float pressure[RIM_CELLS];
} project_scratch;

/// What the solution does to a row of faces from `x` on.
TILE_FN row_f32 face_change(const grid_args *args, const project_scratch *s, int axis, uint64_t own, int x, int y,
                            int z)
{
    const float *beta = args->m.beta[axis], *p = s->pressure + rim_index(x, y, z);
    const int stride = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const row_f32 change = row_steepness(&s->plan, axis, x, y, z) * (row_load(p - stride) - row_load(p));
    return beta != NULL ? change * row_load(beta + own + cell_index(x, y, z)) : change;
}

TILE_FN void project_velocity(const grid_args *args, const project_scratch *s, int axis, uint64_t own)
{
    float *u = args->m.u[axis] + own;
    FOR_SET_ROWS (x, r, 0, TILE_EDGE * ROW_WORDS, s->plan.touching[axis], 0xff) {
        const int y = r % ROW_WORDS, z = r / ROW_WORDS;
        const uint32_t cell = cell_index(x, y, z);
        row_store(u + cell, row_load(u + cell) + face_change(args, s, axis, own, x, y, z));
    }
}

TILE_FN void project_shift(const grid_args *args, const project_scratch *s, int axis, uint64_t own)
{
    const float most = 0.5f * DENSITY_STEP_MAX;
    const uint16_t *touching = s->plan.touching[axis];
    float *shift = args->m.shift[axis] + own;
    FOR_ROWS (x, row, 0, TILE_ROWS) {
        const int y = (int)row % TILE_EDGE, z = (int)row / TILE_EDGE;
        row_store(shift + row * TILE_EDGE + x,
                  (touching[face_row(y, z)] & 0xff) != 0
                      ? row_clamp(face_change(args, s, axis, own, (int)x, y, z), -most, most)
                      : row_all(0.0f));
    }
}

/// The faces that touch liquid and are not shut by a solid, which pressure gives a velocity.
TILE_FN void mark_valid(const grid_args *args, const face_plan *plan, uint32_t tile)
{
    const grid_memory *m = &args->m;
    const uint32_t rows = tile_rows(&args->shape);
    for (int axis = 0; axis < 3; axis++) {
        const uint8_t *open = m->open[axis] != NULL ? m->open[axis] + (uint64_t)tile * TILE_CELLS : NULL;
        uint8_t *valid = m->face_rows + face_rows_of(tile, axis);
        FOR_RANGE (row, rows, TILE_ROWS) {
            valid[row] = 0;
        }
        FOR_BOX (y, z, once, TILE_EDGE, tile_planes(&args->shape), 1) {
            const uint32_t row = (uint32_t)(z * TILE_EDGE + y + once), touching = plan->touching[axis][face_row(y, z)];
            valid[row] = (uint8_t)(open != NULL ? touching & row_bits_from(open + row * TILE_EDGE, 1) : touching);
        }
    }
}

/// u -= grad p on the faces that touch liquid, which become the valid ones; or, for the density correction, the
/// displacement -grad q. What failed is not applied. One tile per active tile.
TILE_KERNEL(grid_project, SOLVER_LANES, grid_args, project_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!args->is_density && tile == 0 && TILE_SINGLE()) {
        m->counters->unconverged += m->counters->go | m->counters->failed;
    }
    if (args->is_alone && m->open[0] != NULL) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            m->shift[0][own + i] = 0.0f;
        }
    }
    if (!is_near_liquid(args, place, dense)) {
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
        return;
    }
    plan_faces(args, place, tile, 0, &s->plan);
    load_lower_rim(args, 0, place, m->level[0].index[dense], args->solution, s->pressure);
    if (m->counters->failed != 0) {
        FOR_RANGE (i, 0, RIM_CELLS) {
            s->pressure[i] = 0.0f;
        }
        TILE_BARRIER();
    }
    for (int axis = 0; axis < 3; axis++) {
        if (args->is_density) {
            project_shift(args, s, axis, own);
        } else {
            project_velocity(args, s, axis, own);
        }
    }
    if (!args->is_density) {
        mark_valid(args, &s->plan, tile);
    }
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
