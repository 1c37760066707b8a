// Conjugate gradients for the Poisson equation, preconditioned by one V-cycle (multigrid.tile.c).
#include "kernels/liquid/poisson.h"

typedef struct start_scratch {
    float value[TILE_CELLS];
} start_scratch;

TILE_FN float divergence(const liquid_args *args, tile_place place, uint32_t slot, const uint32_t *upper, int x, int y,
                         int z)
{
    const liquid_memory *m = &args->m;
    const int at[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
    const uint64_t cell = (uint64_t)slot * TILE_CELLS + cell_index(x, y, z);
    const int last[3] = {x == TILE_EDGE - 1, y == TILE_EDGE - 1, z == TILE_EDGE - 1};
    const int stride[3] = {1, TILE_EDGE, TILE_EDGE * TILE_EDGE};
    float part[3];
    for (int a = 0; a < 3; a++) {
        const int wall = at[a] + 1 >= args->shape.cells[a];
        const uint64_t next = last[a] ? (uint64_t)(upper[a] != TILE_NONE ? upper[a] : 0) * TILE_CELLS +
                                            cell_index(x, y, z) - (uint32_t)(stride[a] * (TILE_EDGE - 1))
                                      : cell + (uint64_t)stride[a];
        part[a] = (wall ? 0.0f : m->u[a][next]) - m->u[a][cell];
    }
    return (part[0] + part[1]) + part[2];
}

/// The density error that a substep corrects. At the surface a cell is not full by nature: only crowding counts there.
TILE_FN float density_to_correct(const liquid_args *args, uint32_t tile, uint32_t at, int enclosed)
{
    const float error = args->m.density_error[(uint64_t)tile * TILE_CELLS + at];
    const float wanted = enclosed ? error : tile_max2_f32(error, 0.0f);
    return tile_clamp_f32(wanted, -DENSITY_STEP_MAX, DENSITY_STEP_MAX) * args->m.control->density_gain;
}

/// Right-hand side, zero solution, and the largest residual. One tile per occupied tile.
TILE_KERNEL(liquid_solve_start, CELL_LANES, liquid_args, start_scratch)
{
    const liquid_memory *m = &args->m;
    const liquid_level *level = &m->level[0];
    const uint32_t dense = level->tile[tile], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const tile_matrix a = matrix_of(level, tile);
    uint32_t upper[3]; // the same for all lanes
    for (int axis = 0; axis < 3; axis++) {
        const uint32_t side = side_tile(args, 0, place, 2 * axis + 1);
        upper[axis] = side != TILE_NONE ? m->slot[side] : TILE_NONE;
    }
    const uint64_t base = (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t at = cell_index(x, y, z);
        const float inner = ((a.ax[(z * 8 + y) * 9 + x] + a.ax[(z * 8 + y) * 9 + x + 1]) +
                             (a.ay[(z * 9 + y) * 8 + x] + a.ay[(z * 9 + y) * 8 + x + 8])) +
                            (a.az[(z * 8 + y) * 8 + x] + a.az[(z * 8 + y) * 8 + x + 64]);
        float value = args->is_density ? density_to_correct(args, tile, at, inner == a.diagonal[at])
                                       : -divergence(args, place, slot, upper, x, y, z);
        value = a.diagonal[at] > 0.0f ? value : 0.0f;
        m->residual[base + at] = value;
        args->solution[base + at] = 0.0f;
        m->direction[base + at] = 0.0f;
        s->value[at] = tile_magnitude_f32(value);
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

/// pressure += alpha direction, residual -= alpha product, and the largest residual. One tile per occupied tile.
TILE_KERNEL(liquid_cg_update, CELL_LANES, liquid_args, start_scratch)
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
