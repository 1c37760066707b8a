// Conjugate gradients for the Poisson equation, preconditioned by one V-cycle (multigrid.tile.c). For teaching and
// comparison also Jacobi's and Gauss-Seidel's iterations, in the same steps: a direction, the matrix times it, and an
// update of solution and residual.
#include "kernels/grid/lines.h"
#include "kernels/grid/partials.h"
#include "kernels/grid/regions.h"

typedef struct start_scratch {
    float value[TILE_CELLS];
    float flow[TILE_FACES]; ///< through the faces across x
    uint8_t region[TILE_CELLS];
    uint32_t regions, cells;
} start_scratch;

/// Velocity times open share of a row's lower faces, or of one face across x.
TILE_FN row_f32 face_flow(const grid_memory *m, int axis, uint64_t face)
{
    const row_f32 u = row_load(m->u[axis] + face);
    return m->open[axis] != NULL ? u * (row_load_u8(m->open[axis] + face) * (1.0f / 255.0f)) : u;
}
TILE_FN float face_flow_x(const grid_memory *m, uint64_t face)
{
    const float u = m->u[0][face];
    return m->open[0] != NULL ? u * ((float)m->open[0][face] * (1.0f / 255.0f)) : u;
}

/// s->flow in the rows with equations. `upper` is the next tile's active index.
TILE_FN void find_flow_x(const grid_memory *m, tile_matrix a, uint64_t own, uint32_t upper, start_scratch *s)
{
    FOR_FULL_ROWS (x, row, a) {
        row_store(s->flow + row * 9 + x, face_flow(m, 0, own + row * 8 + x));
        if (row_begins(x)) {
            s->flow[row * 9 + 8] = upper != TILE_NONE ? face_flow_x(m, (uint64_t)upper * TILE_CELLS + row * 8) : 0.0f;
        }
    }
    TILE_BARRIER();
}

/// What flows out of a row's cells along y or z.
TILE_FN row_f32 flow_out(const grid_memory *m, int axis, uint64_t own, uint32_t upper, uint32_t row, uint32_t x)
{
    const uint32_t stride = axis == 1 ? 1 : TILE_EDGE; // in rows
    const int is_last = (row / stride & 7) == 7;
    const uint64_t next = is_last ? (uint64_t)upper * TILE_CELLS + (row - 7 * stride) * 8 : own + (row + stride) * 8;
    const row_f32 flow = is_last && upper == TILE_NONE ? row_all(0.0f) : face_flow(m, axis, next + x);
    return flow - face_flow(m, axis, own + row * 8 + x);
}

/// What flows out of a row's cells. `upper`: the next tiles' active indices.
TILE_FN row_f32 divergence(const grid_memory *m, uint64_t own, const uint32_t *upper, uint32_t row, uint32_t x,
                           const start_scratch *s)
{
    const float *flow = s->flow + row * 9 + x;
    const row_f32 out = ((row_load(flow + 1) - row_load(flow)) + flow_out(m, 1, own, upper[1], row, x)) +
                        flow_out(m, 2, own, upper[2], row, x);
    return m->solid_flux != NULL ? out + row_load(m->solid_flux + own + row * 8 + x) : out;
}

/// The density errors that a substep corrects. At the surface a cell is not full by nature: only crowding counts there.
/// Where a solid leaves little room nothing counts. Elsewhere an error of the density of what it leaves is a surplus in
/// proportion to the room: with more than that sent away, cells beside solids would swing between too full and empty.
TILE_FN row_f32 density_to_correct(const grid_memory *m, tile_matrix a, uint64_t own, uint32_t row, uint32_t x)
{
    const uint32_t at = row * 8 + x;
    const row_f32 inner = inner_sum(a, row, x);
    const row_f32 error = densities_of(m, own + at) - 1.0f;
    const row_f32 wanted = row_select(inner == row_load(a.diagonal + at), error, row_max(error, row_all(0.0f)));
    const row_f32 value = row_clamp(wanted, -DENSITY_STEP_MAX, DENSITY_STEP_MAX) * m->control->density_gain;
    if (m->room == NULL) {
        return value;
    }
    const row_f32 room = row_load_u8(m->room + own + at);
    return row_keep(room >= (float)ROOM_MIN, value * (room * (1.0f / 255.0f)));
}

enum { EXCESS_BITS = 24 };

#define EXCESS_MAX 65536.0f ///< of a tile: with 2^18 tiles a sum takes 58 bits

/// Adds up a tile's right side, by closed region.
TILE_FN void add_excess(const grid_args *args, uint32_t tile, const float *residual, start_scratch *s)
{
    grid_counters *counters = args->m.counters;
    const uint32_t cells = tile_rows(&args->shape) * TILE_EDGE;
    find_regions(args, tile, s->region, &s->regions);
    for (uint32_t left = s->regions; left != 0; left &= left - 1) {
        const uint32_t region = tile_lowest_bit_u32(left);
        if (TILE_SINGLE()) {
            s->cells = 0;
        }
        FOR_RANGE (i, 0, cells) {
            s->flow[i] = s->region[i] == region ? residual[i] : 0.0f;
        }
        TILE_BARRIER();
        FOR_RANGE_ATOMIC (i, 0, cells) {
            tile_add_u32(&s->cells, s->region[i] == region);
        }
        tile_sum_f32(s->flow, cells);
        if (TILE_SINGLE()) {
            const float sum = tile_clamp_f32(s->flow[0], -EXCESS_MAX, EXCESS_MAX);
            global_add_u64(&counters->closed_excess[region], (uint64_t)(int64_t)(sum * (float)(1 << EXCESS_BITS)));
            global_add_u32(&counters->closed_cells[region], s->cells);
        }
    }
}

/// Right-hand side, zero solution, and the largest residual. One tile per occupied tile.
TILE_KERNEL(grid_solve_start, SOLVER_LANES, grid_args, start_scratch)
{
    const grid_memory *m = &args->m;
    const grid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const tile_matrix a = matrix_of(args, 0, tile);
    const uint64_t base = (uint64_t)tile * TILE_CELLS, own = (uint64_t)m->slot[dense] * TILE_CELLS;
    const uint32_t upper[3] = {upper_slot(args, place, 0), upper_slot(args, place, 1), upper_slot(args, place, 2)};
    float *residual = m->residual + base;
    const uint32_t cells = tile_rows(&args->shape) * TILE_EDGE;
    FOR_RANGE (i, 0, cells) {
        args->solution[base + i] = 0.0f;
        m->direction[base + i] = 0.0f;
    }
    if (!args->is_density) {
        find_flow_x(m, a, own, upper[0], s);
    }
    FOR_FULL_ROWS (x, row, a) {
        const uint32_t at = row * 8 + x;
        const row_f32 wanted =
            args->is_density ? density_to_correct(m, a, own, row, x) : -divergence(m, own, upper, row, x, s);
        const row_f32 value = row_select(row_load(a.diagonal + at) > 0.0f, wanted, row_all(0.0f));
        row_store(residual + at, value);
        row_store(s->value + at, row_magnitude(value));
    }
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(residual + row * 8 + x, row_all(0.0f));
        row_store(s->value + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    tile_max_f32(s->value, cells);
    if (TILE_SINGLE()) {
        m->partial[tile] = s->value[0];
    }
    if (closed_regions(m->counters, args->is_density) > 0) {
        add_excess(args, tile, residual, s);
    }
}

typedef struct closed_scratch {
    float value[TILE_CELLS], mean[REGIONS_MAX];
    uint8_t region[TILE_CELLS];
    uint32_t regions;
} closed_scratch;

/// Of the watched cells of a tile, those that are in closed regions.
TILE_FN void note_watched(const grid_memory *m, uint32_t dense, const uint8_t *region)
{
    const grid_control *control = m->control;
    FOR_RANGE_ATOMIC (i, 0, control->watched_count) {
        if (control->watched_tile[i] == dense && region[control->watched_cell[i]] != REGION_NONE) {
            global_or_u32(&m->counters->watched_closed, 1u << i);
        }
    }
}

/// Where the liquid has no free surface a pressure is but for a constant, and takes no mean flow out: what is to be
/// solved for is the rest of the right side. One tile per occupied tile.
TILE_KERNEL(grid_solve_closed, SOLVER_LANES, grid_args, closed_scratch)
{
    const grid_memory *m = &args->m;
    const grid_counters *counters = m->counters;
    const uint32_t count = closed_regions(counters, args->is_density);
    if (count == 0) {
        return;
    }
    find_regions(args, tile, s->region, &s->regions);
    if (s->regions == 0) {
        return;
    }
    if (args->is_density) {
        note_watched(m, m->level[0].tile[tile], s->region);
    }
    FOR_RANGE (k, 0, count) {
        const double excess = (double)(int64_t)counters->closed_excess[k] / (double)(1 << EXCESS_BITS);
        s->mean[k] = (float)(excess / (double)tile_max_i32((int32_t)counters->closed_cells[k], 1));
    }
    TILE_BARRIER();
    float *residual = m->residual + (uint64_t)tile * TILE_CELLS;
    const uint32_t cells = tile_rows(&args->shape) * TILE_EDGE;
    FOR_RANGE (i, 0, cells) {
        const uint32_t region = s->region[i];
        residual[i] -= region != REGION_NONE ? s->mean[region] : 0.0f;
        s->value[i] = tile_magnitude_f32(residual[i]);
    }
    TILE_BARRIER();
    tile_max_f32(s->value, cells);
    if (TILE_SINGLE()) {
        m->partial[tile] = s->value[0];
    }
}

/// More than any velocities bring: they aren't, or what came of them isn't.
#define RESIDUAL_MAX 1e12f

/// Whether the solve goes on: the largest residual against the tolerance.
TILE_FN void check_residual(const grid_args *args, check_scratch *s)
{
    const grid_memory *m = &args->m;
    grid_counters *counters = m->counters;
    const float largest = largest_partial(m, s);
    if (TILE_SINGLE()) {
        const float residual = args->is_density ? largest : largest * m->control->frac;
        const float tolerance = args->is_density ? m->control->density_tolerance : m->control->tolerance;
        if (args->is_first) {
            counters->iterations = 0;
            counters->failed = 0;
            counters->speed_max_bits = counters->liquid_speed_bits = 0;
        }
        if (!(residual < RESIDUAL_MAX)) {
            counters->failed = 1; // and the substep does without
            counters->broken |= args->is_first;
        }
        counters->residual = residual;
        counters->go = residual > tolerance && counters->failed == 0;
        if (!args->is_density) {
            counters->pressure_residual = residual;
            counters->pressure_iterations = counters->iterations;
        }
    }
}

/// The check before the first iteration. One tile.
TILE_KERNEL(grid_solve_check, CHECK_LANES, grid_args, check_scratch)
{
    FOR_RANGE (k, 0, REGIONS_MAX) {
        args->m.counters->closed_cells[k] = 0;
        args->m.counters->closed_excess[k] = 0;
    }
    check_residual(args, s);
}

/// direction = D^-1 residual in the cells of args->colour, of all where that is COLOUR_ALL, and alpha = relaxation: a
/// step of Jacobi's iteration, or half a sweep of red-black Gauss-Seidel. One tile per occupied tile.
TILE_KERNEL(grid_relax, SOLVER_LANES, grid_args, tile_no_scratch)
{
    const grid_memory *m = &args->m;
    if (m->counters->go == 0) {
        return;
    }
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    const float *diagonal = m->level[0].diagonal + base, *residual = m->residual + base;
    float *direction = m->direction + base;
    FOR_RANGE (i, 0, tile_rows(&args->shape) * TILE_EDGE) {
        const uint32_t colour = (i ^ i >> 3 ^ i >> 6) & 1; // tiles have even edges: it fits across their borders
        const int moves = diagonal[i] > 0.0f && (args->colour == COLOUR_ALL || args->colour == colour);
        direction[i] = moves ? residual[i] / diagonal[i] : 0.0f;
    }
    if (tile == 0 && TILE_SINGLE()) {
        m->counters->alpha = m->control->relaxation;
        m->counters->iterations += args->colour != 0;
    }
}

/// alpha = (r, z) / (d, A d), of the tiles' partial results.
TILE_FN void find_alpha(const grid_memory *m, check_scratch *s)
{
    grid_counters *counters = m->counters;
    const float dad = sum_partials(m, s);
    if (TILE_SINGLE()) {
        const float alpha = dad > 0.0f ? counters->rz / dad : 0.0f;
        const int finite = tile_is_finite_f32(alpha) && tile_is_finite_f32(dad);
        counters->alpha = finite ? alpha : 0.0f;
        if (!finite) {
            counters->failed = 1;
        }
    }
}

typedef struct apply_scratch {
    float lines[LINES_CELLS];
    float value[TILE_CELLS];
    check_scratch check;
    uint32_t is_last;
} apply_scratch;

/// product = A direction, and alpha unless bodies are to be added. One tile per occupied tile.
TILE_KERNEL(grid_cg_apply, SOLVER_LANES, grid_args, apply_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t goes = m->counters->go;
    const tile_matrix a = matrix_of(args, 0, tile);
    const held_matrix h = hold_matrix(a);
    float *product = m->product + (uint64_t)tile * TILE_CELLS;
    load_values(a, direction_of(args), tile, s->lines);
    if (goes == 0) {
        return;
    }
    FOR_FULL_ROWS (x, row, a) {
        const row_f32 value = matrix_times(h, s->lines, row, x);
        row_store(product + row * 8 + x, value);
        row_store(s->value + row * 8 + x, value * row_load(s->lines + line_of_row(row) + x));
    }
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(s->value + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    tile_sum_f32(s->value, a.rows * TILE_EDGE);
    if (TILE_SINGLE()) {
        m->partial[tile] = s->value[0];
    }
    if (args->ends && tile_is_last(&m->counters->come, m->counters->occupied, &s->is_last)) {
        find_alpha(m, &s->check);
    }
}

/// alpha where bodies have been added. One tile.
TILE_KERNEL(grid_cg_alpha, CHECK_LANES, grid_args, check_scratch)
{
    if (args->m.counters->go != 0) {
        find_alpha(&args->m, s);
    }
}

typedef struct update_scratch {
    float value[TILE_CELLS];
    check_scratch check;
    uint32_t is_last;
} update_scratch;

/// pressure += alpha direction, residual -= alpha product, and whether to go on; the direction is kept for the next
/// iteration. One tile per occupied tile.
TILE_KERNEL(grid_cg_update, SOLVER_LANES, grid_args, update_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t goes = m->counters->go;
    const float alpha = m->counters->alpha, beta = m->counters->beta;
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    const tile_matrix a = matrix_of(args, 0, tile);
    float *residual = m->residual + base, *solution = args->solution + base, *kept = m->direction + base;
    const held_rows product = hold_rows(a, m->product + base), was = hold_rows(a, residual),
                    solved = hold_rows(a, solution), last = hold_rows(a, kept), z = hold_rows(a, m->level[0].y + base);
    if (goes == 0) {
        return;
    }
    FOR_FULL_ROWS (x, row, a) {
        const uint32_t at = row * 8 + x;
        const row_f32 left = held_row(was, row, x) - alpha * held_row(product, row, x);
        const row_f32 kept_row = held_row(last, row, x);
        const row_f32 direction = args->is_conjugate ? held_row(z, row, x) + beta * kept_row : kept_row;
        row_store(kept + at, direction);
        row_store(solution + at, held_row(solved, row, x) + alpha * direction);
        row_store(residual + at, left);
        row_store(s->value + at, row_magnitude(left));
    }
    FOR_EMPTY_ROWS (x, row, a) {
        row_store(s->value + row * 8 + x, row_all(0.0f));
    }
    TILE_BARRIER();
    tile_max_f32(s->value, a.rows * TILE_EDGE);
    if (TILE_SINGLE()) {
        m->partial[tile] = s->value[0];
    }
    if (args->ends && tile_is_last(&m->counters->come, m->counters->occupied, &s->is_last)) {
        check_residual(args, &s->check);
    }
}
