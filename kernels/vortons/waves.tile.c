// The vector potential by the box's own waves, in which the Poisson equations come apart:
//
//     -lap psi = omega        psi^ = omega^ / (l_x + l_y + l_z)        l = 2 - 2 cos(pi k / n) of the wave k along an
//     axis
//
// Each component of psi lies on its edges. Nothing flows through a wall where psi has nothing along it, and its normal
// component doesn't change across it: psi_x is zero on the walls across y and z, what lies beyond those across x
// mirrors what is before them. So along its own axis a component has cosines, about the cells' middles, and along the
// others sines, zero at the first node and beyond the last cell.
//
// A transform is a product with a small matrix, axis by axis: as many operations for a cell as the tank has cells along
// its axes, all of them on rows, and nothing to iterate. In a tank of 32 x 48 x 32 cells it takes a fifth of
// multigrid's time, in larger ones it gains less; no error is left but that of rounding.
//
// Sums run over pairs of mirror images, or over even and odd waves by themselves: a mirrored tank has the mirrored
// bits.
#include "kernels/grid/halo.h"
#include "kernels/vortons/vortons.h"

/// Whether the edge of a cell has an equation.
TILE_FN int has_equation(const grid_shape *shape, int component, int x, int y, int z)
{
    return (x >= (component != 0)) & (y >= (component != 1)) & (z >= (component != 2)) & (x < shape->cells[0]) &
           (y < shape->cells[1]) & (z < shape->cells[2]);
}

typedef struct start_edge_scratch {
    float gain[RIM_CELLS], size[TILE_CELLS];
    uint32_t neighbour[27];
} start_edge_scratch;

/// The vorticity of the edges, with what this substep generates in the four cells around each. One tile per active
/// tile.
TILE_KERNEL(vorton_start, CELL_LANES, vorton_args, start_edge_scratch)
{
    const grid_memory *m = &args->tank.grid.m;
    const grid_shape *shape = &args->tank.grid.shape;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(shape, 0, dense);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        const int da = c == 0 ? RIM_EDGE : 1, db = c == 2 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
        float *vorticity = args->m.vorticity[c] + (uint64_t)tile * TILE_CELLS;
        halo_load_f32(s->gain, 1, args->m.gain[c], s->neighbour);
        TILE_BARRIER();
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const uint32_t cell = cell_index(x, y, z);
            const float *gain = s->gain + rim_index(x, y, z);
            const float around = 0.25f * ((gain[0] + gain[-da - db]) + (gain[-da] + gain[-db]));
            const int has =
                has_equation(shape, c, place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z);
            vorticity[cell] = has ? vorticity[cell] + around : 0.0f;
            s->size[cell] = tile_magnitude_f32(vorticity[cell]);
        }
        TILE_BARRIER();
        tile_max_f32(s->size, TILE_CELLS);
        if (TILE_SINGLE() && s->size[0] > 0.0f) {
            global_max_u32(&args->m.counters->vorticity_bits[c], tile_bits_f32(s->size[0]));
        }
    }
    if (TILE_SINGLE()) {
        m->solved_tile[tile] = dense;
        if (tile == 0) {
            m->counters->solved = m->counters->solved_active = m->counters->active;
            m->counters->pressure_iterations = 0;
            m->counters->pressure_residual = 0.0f;
            m->counters->speed_max_bits = m->counters->liquid_speed_bits = 0;
        }
    }
}

/// The two factors of each summand of a row's cells, by where along the axis it comes from: rows, and a number for each
/// of the eight rows that come of it.
typedef struct wave_factors {
    const float *row, *number;
    uint32_t row_step, row_tile_step, number_step, number_tile_step; ///< from one place to the next, and between tiles
} wave_factors;

TILE_FN const float *wave_row(const wave_factors *f, uint32_t at)
{
    return f->row + (uint64_t)(at >> TILE_LOG2) * f->row_tile_step + (at & 7) * f->row_step;
}
TILE_FN const float *wave_number(const wave_factors *f, uint32_t at)
{
    return f->number + (uint64_t)(at >> TILE_LOG2) * f->number_tile_step + (at & 7) * f->number_step;
}

/// Adds what comes from one place along the axis. `apart`: between the numbers of two of the rows that come of it.
TILE_FN void add_one(const wave_factors *f, uint32_t at, uint32_t apart, row_f32 *sum)
{
    const float *number = wave_number(f, at);
    const row_f32 row = row_load(wave_row(f, at));
    TILE_UNROLL for (uint32_t r = 0; r < 8; r++)
    {
        sum[r] = sum[r] + number[r * apart] * row;
    }
}

TILE_FN void add_pair(const wave_factors *f, uint32_t a, uint32_t b, uint32_t apart, row_f32 *sum)
{
    const float *number_a = wave_number(f, a), *number_b = wave_number(f, b);
    const row_f32 row_a = row_load(wave_row(f, a)), row_b = row_load(wave_row(f, b));
    TILE_UNROLL for (uint32_t r = 0; r < 8; r++)
    {
        sum[r] = sum[r] + (number_a[r * apart] * row_a + number_b[r * apart] * row_b);
    }
}

/// Eight rows of a transform. @param first  along the axis: 0 of cosines, 1 of sines, which have nothing at 0
TILE_FN void sum_waves(const wave_factors *f, uint32_t first, uint32_t cells, int inverse, uint32_t apart, row_f32 *sum)
{
    row_f32 odd[8];
    TILE_UNROLL for (int r = 0; r < 8; r++)
    {
        sum[r] = odd[r] = row_all(0.0f);
    }
    if (inverse) {
        for (uint32_t k = 2 * first; k < cells; k += 2) {
            add_one(f, k, apart, sum);
        }
        for (uint32_t k = 1; k < cells; k += 2) {
            add_one(f, k, apart, odd);
        }
    } else {
        uint32_t low = first, high = cells - 1;
        for (; low < high && high < cells; low++, high--) {
            add_pair(f, low, high, apart, sum);
        }
        if (low == high) {
            add_one(f, low, apart, odd);
        }
    }
    TILE_UNROLL for (int r = 0; r < 8; r++)
    {
        sum[r] = sum[r] + odd[r];
    }
}

/// Over the sum of the axes' eigenvalues: zero where there is no such wave.
TILE_FN row_f32 over_eigenvalue(const vorton_args *args, row_f32 value, int x, int y, int z)
{
    const row_f32 sum = (row_load(args->m.eigenvalue[0] + x) + args->m.eigenvalue[1][y]) + args->m.eigenvalue[2][z];
    return row_select(sum > 0.0f, value / sum, row_all(0.0f));
}

/// A component of which there is no vorticity anywhere has no potential, as all of them in a tank at rest and two in a
/// flat one: of its passes only the last one does anything, it writes zeros.
TILE_FN int has_waves(const vorton_args *args, int component, float *to)
{
    if (args->m.counters->vorticity_bits[component] != 0) {
        return 1;
    }
    if (args->pass.ends) {
        FOR_RANGE (i, 0, TILE_CELLS) {
            to[i] = 0.0f;
        }
    }
    return 0;
}

/// A transform along an axis, of all components: from one of the three fields that the pass names to another. Tiles
/// are numbered by component and then as active tiles, which are all that there are.
TILE_KERNEL(vorton_waves, WAVE_LANES, vorton_args, tile_no_scratch)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const wave_pass *pass = &args->pass;
    const uint32_t tiles = shape->tile_total[0], axis = pass->axis;
    const int c = (int)(tile / tiles);
    const uint32_t slot = tile % tiles, cells = (uint32_t)shape->cells[axis];
    const tile_place place = tile_place_of(shape, 0, slot);
    const int at = axis == 0 ? place.x : axis == 1 ? place.y : place.z;
    const uint32_t apart = axis == 0   ? 1
                           : axis == 1 ? (uint32_t)shape->tiles[0][0]
                                       : (uint32_t)(shape->tiles[0][0] * shape->tiles[0][1]);
    const uint32_t wide = (uint32_t)shape->tiles[0][axis] * TILE_EDGE,
                   groups = axis == 2 ? 8 : (uint32_t)tile_planes(shape);
    const int is_own = c == (int)axis;
    const float *wave = args->m.wave[axis][!is_own         ? WAVE_SINE
                                           : pass->inverse ? WAVE_COSINE_BACK
                                                           : WAVE_COSINE] +
                        at * TILE_EDGE;
    const float *from = pass->from[c] + (uint64_t)(slot - (uint32_t)at * apart) * TILE_CELLS;
    float *to = pass->to[c] + (uint64_t)slot * TILE_CELLS;
    if (!has_waves(args, c, to)) {
        return;
    }
    const uint32_t row_cells = axis == 1 ? TILE_EDGE : TILE_EDGE * TILE_EDGE; // between cells along the axis
    const uint32_t first = is_own ? 0 : 1;
    // Each case by itself: the distances are the compiler's to know.
    FOR_ROWS (x, g, 0u, groups) {
        row_f32 sum[8];
        if (axis == 0) {
            const wave_factors f = {wave + x, from + g * 64, wide, 8 * wide, 1, TILE_CELLS};
            sum_waves(&f, first, cells, pass->inverse, 8, sum);
        } else {
            const wave_factors f = {
                from + g * (axis == 1 ? 64 : 8) + x, wave, row_cells, apart * TILE_CELLS, wide, 8 * wide};
            sum_waves(&f, first, cells, pass->inverse, 1, sum);
        }
        TILE_UNROLL for (uint32_t r = 0; r < 8; r++)
        {
            const uint32_t y = axis == 2 ? g : r, z = axis == 2 ? r : g;
            const row_f32 value = pass->divides
                                      ? over_eigenvalue(args, sum[r], place.x * TILE_EDGE + (int)x,
                                                        place.y * TILE_EDGE + (int)y, place.z * TILE_EDGE + (int)z)
                                      : sum[r];
            row_store(to + (z * TILE_EDGE + y) * TILE_EDGE + x, value);
        }
    }
}
