// Conjugate gradients for the Poisson equation, preconditioned by one V-cycle (multigrid.tile.c). For teaching and
// comparison also Jacobi's and Gauss-Seidel's iterations, in the same steps: a direction, the matrix times it, and an
// update of solution and residual.
#include "kernels/liquid/poisson.h"

typedef struct start_scratch {
    float value[TILE_CELLS];
    float flow[TILE_CELLS], next[TILE_CELLS]; ///< through the lower and the upper faces of cells
} start_scratch;

/// Velocity times open share.
TILE_FN float face_flow(const liquid_memory *m, int axis, uint64_t face)
{
    const float u = m->u[axis][face];
    return m->open[axis] != NULL ? u * ((float)m->open[axis][face] * (1.0f / 255.0f)) : u;
}

/// What flows out of a tile's cells: s->value.
TILE_FN void divergence(const liquid_args *args, tile_place place, uint32_t slot, start_scratch *s)
{
    const liquid_memory *m = &args->m;
    const uint64_t own = (uint64_t)slot * TILE_CELLS;
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const uint32_t stride = axis == 0 ? 1 : axis == 1 ? TILE_EDGE : TILE_EDGE * TILE_EDGE;
        const uint32_t upper = upper_slot(args, place, axis);
        const uint64_t other = (uint64_t)(upper != TILE_NONE ? upper : 0) * TILE_CELLS;
        FOR_RANGE (i, 0, TILE_CELLS)
            s->flow[i] = face_flow(m, axis, own + i);
        TILE_BARRIER();
        FOR_RANGE (i, 0, TILE_CELLS - stride)
            s->next[i] = s->flow[i + stride];
        TILE_BARRIER();
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1) {
            const uint32_t from = cell_of_side(2 * axis + 1, i, j) + (uint32_t)once;
            s->next[from + (TILE_EDGE - 1) * stride] = upper != TILE_NONE ? face_flow(m, axis, other + from) : 0.0f;
        }
        TILE_BARRIER();
        FOR_RANGE (i, 0, TILE_CELLS)
            s->value[i] = axis == 0 ? s->next[i] - s->flow[i] : s->value[i] + (s->next[i] - s->flow[i]);
        TILE_BARRIER();
    }
    if (m->solid_flux != NULL) {
        FOR_RANGE (i, 0, TILE_CELLS)
            s->value[i] += m->solid_flux[own + i];
        TILE_BARRIER();
    }
}

/// The density errors that a substep corrects: s->value. At the surface a cell is not full by nature: only crowding
/// counts there. Where a solid leaves little room nothing counts.
TILE_FN void density_to_correct(const liquid_args *args, tile_matrix a, uint32_t slot, start_scratch *s)
{
    const liquid_memory *m = &args->m;
    const float gain = m->control->density_gain;
    const uint64_t own = (uint64_t)slot * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float inner = ((a.ax[(z * 8 + y) * 9 + x] + a.ax[(z * 8 + y) * 9 + x + 1]) +
                             (a.ay[(z * 9 + y) * 8 + x] + a.ay[(z * 9 + y) * 8 + x + 8])) +
                            (a.az[(z * 8 + y) * 8 + x] + a.az[(z * 8 + y) * 8 + x + 64]);
        const float error = density_of(m, own + at) - 1.0f;
        const float wanted = inner == a.diagonal[at] ? error : tile_max2_f32(error, 0.0f);
        s->value[at] = tile_clamp_f32(wanted, -DENSITY_STEP_MAX, DENSITY_STEP_MAX) * gain;
    }
    TILE_BARRIER();
    if (m->room != NULL) {
        FOR_RANGE (i, 0, TILE_CELLS)
            s->value[i] = m->room[own + i] >= ROOM_MIN ? s->value[i] : 0.0f;
        TILE_BARRIER();
    }
}

/// Right-hand side, zero solution, and the largest residual. One tile per occupied tile.
TILE_KERNEL(liquid_solve_start, CELL_LANES, liquid_args, start_scratch)
{
    const liquid_memory *m = &args->m;
    const liquid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile], slot = m->slot[dense];
    const tile_matrix a = matrix_of(level, tile);
    const float sign = args->is_density ? 1.0f : -1.0f;
    if (args->is_density)
        density_to_correct(args, a, slot, s);
    else
        divergence(args, tile_place_of(&args->shape, 0, dense), slot, s);
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS) {
        const float value = a.diagonal[i] > 0.0f ? sign * s->value[i] : 0.0f;
        m->residual[base + i] = value;
        args->solution[base + i] = 0.0f;
        m->direction[base + i] = 0.0f;
        s->value[i] = tile_magnitude_f32(value);
    }
    TILE_BARRIER();
    tile_max_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        m->partial[tile] = s->value[0];
}

enum {
    CHECK_LANES = 256,
    DOT_BITS = 43, ///< of the largest summand: with 2^18 tiles a sum takes 61
};

typedef struct check_scratch {
    int64_t sum[CHECK_LANES];
    float max[CHECK_LANES];
} check_scratch;

/// Largest magnitude of the tiles' partial results, infinite where one is not finite: in s->max[0].
TILE_FN void largest_partial(const liquid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied;
    FOR_RANGE (i, 0, CHECK_LANES) {
        float largest = 0.0f;
        for (uint32_t at = i; at < count; at += CHECK_LANES)
            largest = tile_max2_f32(tile_magnitude_f32(m->partial[at]), largest);
        s->max[i] = largest;
    }
    TILE_BARRIER();
    tile_max_f32(s->max, CHECK_LANES);
}

/// The sum of the tiles' partial dot products, the same in whatever order the tiles come: scaled by a power of two so
/// that the largest has DOT_BITS bits, cut to integers, and summed exactly. Infinite where a summand is not finite.
TILE_FN float sum_partials(const liquid_memory *m, check_scratch *s)
{
    const uint32_t count = m->counters->occupied;
    largest_partial(m, s);
    if (!tile_is_finite_f32(s->max[0]))
        return s->max[0];
    const int exponent = (int)(tile_bits_f32(s->max[0]) >> 23) - 126; // the largest is under 2^exponent
    const double up = tile_power_of_2_f64(DOT_BITS - exponent), down = tile_power_of_2_f64(exponent - DOT_BITS);
    FOR_RANGE (i, 0, CHECK_LANES) {
        int64_t total = 0;
        for (uint32_t at = i; at < count; at += CHECK_LANES)
            total += (int64_t)((double)m->partial[at] * up);
        s->sum[i] = total;
    }
    TILE_BARRIER();
    tile_sum_i64(s->sum, CHECK_LANES);
    return (float)((double)s->sum[0] * down);
}

/// Whether the solve goes on: the largest residual against the tolerance. One tile.
TILE_KERNEL(liquid_solve_check, CHECK_LANES, liquid_args, check_scratch)
{
    const liquid_memory *m = &args->m;
    liquid_counters *counters = m->counters;
    largest_partial(m, s);
    if (TILE_SINGLE()) {
        const float residual = args->is_density ? s->max[0] : s->max[0] * m->control->frac;
        const float tolerance = args->is_density ? m->control->density_tolerance : m->control->tolerance;
        if (args->is_first) {
            counters->iterations = 0;
            counters->failed = 0;
            counters->speed_max_bits = 0;
        }
        if (!tile_is_finite_f32(residual))
            counters->failed = counters->broken = 1;
        counters->residual = residual;
        counters->go = residual > tolerance && counters->failed == 0;
        if (!args->is_density) {
            counters->pressure_residual = residual;
            counters->pressure_iterations = counters->iterations;
        }
    }
}

/// beta = (r, z) new / old. One tile.
TILE_KERNEL(liquid_cg_beta, CHECK_LANES, liquid_args, check_scratch)
{
    liquid_counters *counters = args->m.counters;
    if (counters->go == 0)
        return;
    const float rz = sum_partials(&args->m, s);
    if (TILE_SINGLE()) {
        counters->beta = counters->iterations > 0 && counters->rz > 0.0f ? rz / counters->rz : 0.0f;
        counters->rz = rz;
        counters->iterations++;
    }
}

/// direction = z + beta direction. One tile per occupied tile.
TILE_KERNEL(liquid_cg_direction, CELL_LANES, liquid_args, tile_no_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const float beta = m->counters->beta;
    const float *z = m->level[0].y + (uint64_t)tile * TILE_CELLS;
    float *direction = m->direction + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS)
        direction[i] = z[i] + beta * direction[i];
}

/// direction = D^-1 residual in the cells of args->colour, of all where that is COLOUR_ALL, and alpha = relaxation: a
/// step of Jacobi's iteration, or half a sweep of red-black Gauss-Seidel. One tile per occupied tile.
TILE_KERNEL(liquid_relax, CELL_LANES, liquid_args, tile_no_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    const float *diagonal = m->level[0].diagonal + base, *residual = m->residual + base;
    float *direction = m->direction + base;
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint32_t colour = (i ^ i >> 3 ^ i >> 6) & 1; // tiles have even edges: it fits across their borders
        const int moves = diagonal[i] > 0.0f && (args->colour == COLOUR_ALL || args->colour == colour);
        direction[i] = moves ? residual[i] / diagonal[i] : 0.0f;
    }
    if (tile == 0 && TILE_SINGLE()) {
        m->counters->alpha = m->control->relaxation;
        m->counters->iterations += args->colour != 0;
    }
}

typedef struct apply_scratch {
    float rim[RIM_CELLS];
    float value[TILE_CELLS];
} apply_scratch;

/// product = A direction, and its partial dot product with the direction. One tile per occupied tile.
TILE_KERNEL(liquid_cg_apply, CELL_LANES, liquid_args, apply_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const liquid_level *level = &m->level[0];
    const tile_matrix a = matrix_of(level, tile);
    const tile_place place = tile_place_of(&args->shape, 0, level->tile[tile]);
    load_rim(args, 0, place, tile, m->direction, s->rim);
    float *product = m->product + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float center = s->rim[rim_index(x, y, z)];
        const float value = a.diagonal[at] * center - neighbour_sum(a.ax, a.ay, a.az, s->rim, x, y, z);
        product[at] = value;
        s->value[at] = value * center;
    }
    TILE_BARRIER();
    tile_sum_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        m->partial[tile] = s->value[0];
}

/// alpha = (r, z) / (d, A d). One tile.
TILE_KERNEL(liquid_cg_alpha, CHECK_LANES, liquid_args, check_scratch)
{
    liquid_counters *counters = args->m.counters;
    if (counters->go == 0)
        return;
    const float dad = sum_partials(&args->m, s);
    if (TILE_SINGLE()) {
        const float alpha = dad > 0.0f ? counters->rz / dad : 0.0f;
        const int finite = tile_is_finite_f32(alpha) && tile_is_finite_f32(dad);
        counters->alpha = finite ? alpha : 0.0f;
        if (!finite)
            counters->failed = counters->broken = 1;
    }
}

typedef struct update_scratch {
    float value[TILE_CELLS];
} update_scratch;

/// pressure += alpha direction, residual -= alpha product, and the largest residual. One tile per occupied tile.
TILE_KERNEL(liquid_cg_update, CELL_LANES, liquid_args, update_scratch)
{
    const liquid_memory *m = &args->m;
    if (m->counters->go == 0)
        return;
    const float alpha = m->counters->alpha;
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS) {
        const float residual = m->residual[base + i] - alpha * m->product[base + i];
        args->solution[base + i] += alpha * m->direction[base + i];
        m->residual[base + i] = residual;
        s->value[i] = tile_magnitude_f32(residual);
    }
    TILE_BARRIER();
    tile_max_f32(s->value, TILE_CELLS);
    if (TILE_SINGLE())
        m->partial[tile] = s->value[0];
}
