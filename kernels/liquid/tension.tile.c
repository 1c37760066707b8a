// Surface tension: at the free surface the pressure is not zero but tension times curvature.
//
// The curvature is the divergence of the normals of the smoothed density f (Brackbill, Kothe & Zemach 1992). Its level
// sets are nearly parallel: it matters little where between two cells' centres the surface is taken to be, which is
// known no better than to a tenth of a cell. But nor does it hold particles to the surface: outside a ball the level
// sets are bent less, so that a particle that gets there is pressed farther out, and what is smaller than the smoothing
// is free to grow. A share of the pressure therefore rises outwards. Where the liquid is the set that a Gaussian G of
// variance v smooths, the area of its surface is
//
//     sqrt(2 pi / v) integral over the liquid of (1 - f),   f = G * liquid
//
// as v goes to 0 (Esedoglu & Otto 2015), and the pressure that takes the least away from it is its derivative,
//
//     p = tension sqrt(2 pi / v) (1 - 2 f)
//
// at the surface. Where that is, is known from a density that is smoothed, too, by a variance w, and so lies curvature
// w / 2 too far inside, where f is larger and p less by the share w / v: p is scaled up by v / (v - w). This pressure
// alone would be enough, but over a cell it changes by the curvature of a ball of two cells' radius: where the surface
// is uncertain it is noise, which brakes waves.
//
// A pressure at the surface is the same as a kick to the velocity of the faces that it crosses, given before the solver
// that takes the surface's pressure for zero (ghost fluid method, Gibou et al. 2002):
//
//     u - s (p_surface - p_liquid)     =     (u - s p_surface) - s (0 - p_liquid)
//
// s being the face's steepness. Hence the solver, its matrix and the projection know nothing of it.
//
// Walls and solids take no part in the smoothing, as if the liquid went on behind them as it is in front: the surface
// meets them at a right angle. The kick is explicit; the smoothing slows short ripples, which liquid_model.c counts on.
#include "kernels/grid/poisson.h"
#include "kernels/liquid/liquid.h"

/// Along each axis the deposit, the interpolation and every smoothing add 1/6, 1/6 and 1/2 to the variance.
#define PLACE_VARIANCE (1.0f / 3.0f)
#define SMOOTH_VARIANCE (PLACE_VARIANCE + 0.5f * SMOOTHINGS)

enum {
    SMOOTHINGS = 3,
    SMOOTH_EDGE = TILE_EDGE + 2 * SMOOTHINGS,
    SMOOTH_CELLS = SMOOTH_EDGE * SMOOTH_EDGE * SMOOTH_EDGE,
};

#define TWO_PI 6.2831853f
#define HOLDING_SHARE 0.15f ///< of the pressure that rises outwards
#define BENT_MOST 0.5f      ///< curvature of a ball of four cells' radius: single particles come and go
#define ROOM_LEAST 0.02f    ///< with less room around than this a cell has no density
#define FLAT 1e-4f          ///< square of a sum of four slopes that give no direction

typedef struct tension_smooth_scratch {
    float density[2][SMOOTH_CELLS];
    float room[2][SMOOTH_CELLS];
    uint8_t byte[SMOOTH_CELLS];
    uint32_t neighbour[27];
} tension_smooth_scratch;

/// (1 2 1) / 4 along an axis; the cells at the border stay as they are.
TILE_FN void binomial_axis(const float *from, int axis, float *to)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? SMOOTH_EDGE : SMOOTH_EDGE * SMOOTH_EDGE;
    FOR_BOX (x, y, z, SMOOTH_EDGE, SMOOTH_EDGE, SMOOTH_EDGE) {
        const int at = (z * SMOOTH_EDGE + y) * SMOOTH_EDGE + x, along = axis == 0 ? x : axis == 1 ? y : z;
        const int step = along > 0 && along < SMOOTH_EDGE - 1 ? stride : 0;
        to[at] = 0.25f * ((from[at - step] + from[at + step]) + 2.0f * from[at]);
    }
    TILE_BARRIER();
}

/// SMOOTHINGS times along each axis. @return which of the two holds the result
TILE_FN int binomial(float (*field)[SMOOTH_CELLS])
{
    int from = 0;
    for (int i = 0; i < 3 * SMOOTHINGS; i++) {
        binomial_axis(field[from], i % 3, field[1 - from]);
        from = 1 - from;
    }
    return from;
}

/// Which of three tiles in a row a haloed coordinate is in.
TILE_FN int haloed_third(int at)
{
    return (at >= SMOOTHINGS) + (at >= SMOOTHINGS + TILE_EDGE);
}

/// Densities over that at rest, and what room solids leave for them, with a border of SMOOTHINGS cells.
TILE_FN void load_to_smooth(const liquid_args *args, tile_place place, tension_smooth_scratch *s)
{
    const grid_memory *grid = &args->tank.grid.m;
    halo_load_f32(s->density[0], SMOOTHINGS, grid->density_error, s->neighbour);
    if (grid->room != NULL) {
        halo_load_u8(s->byte, SMOOTHINGS, grid->room, s->neighbour);
    }
    FOR_BOX (x, y, z, SMOOTH_EDGE, SMOOTH_EDGE, SMOOTH_EDGE) {
        const int at = (z * SMOOTH_EDGE + y) * SMOOTH_EDGE + x;
        const int is_kept = s->neighbour[(haloed_third(z) * 3 + haloed_third(y)) * 3 + haloed_third(x)] != TILE_NONE;
        s->density[0][at] += is_kept ? 1.0f : 0.0f;
        if (grid->room != NULL) {
            s->room[0][at] = is_kept ? (float)s->byte[at] * (1.0f / 255.0f) : 1.0f;
        }
    }
    TILE_BARRIER();
    halo_mirror(&args->tank.grid.shape, place, s->density[0], SMOOTHINGS);
    if (grid->room != NULL) {
        halo_mirror(&args->tank.grid.shape, place, s->room[0], SMOOTHINGS);
    }
}

/// The smoothed density of what room there is: shift[0], which is free until the density is corrected. One tile per
/// active tile.
TILE_KERNEL(liquid_tension_smooth, CELL_LANES, liquid_args, tension_smooth_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    load_to_smooth(args, place, s);
    const int in = binomial(s->density);
    if (grid->room != NULL) {
        (void)binomial(s->room);
    }
    float *to = grid->shift[0] + (uint64_t)tile * TILE_CELLS;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = ((z + SMOOTHINGS) * SMOOTH_EDGE + y + SMOOTHINGS) * SMOOTH_EDGE + x + SMOOTHINGS;
        const float density = s->density[in][at];
        to[cell_index(x, y, z)] = grid->room != NULL ? density / tile_max2_f32(s->room[in][at], ROOM_LEAST) : density;
    }
}

enum {
    WIDE_BORDER = 2,
    WIDE_EDGE = TILE_EDGE + 2 * WIDE_BORDER,
    CORNER_EDGE = WIDE_EDGE - 1, ///< corner (0, 0, 0) is the upper one of the first cell
};

typedef struct tension_scratch {
    cell_rim cells;
    float pressure[RIM_CELLS];
    float full[WIDE_EDGE * WIDE_EDGE * WIDE_EDGE];
    float normal[3][CORNER_EDGE * CORNER_EDGE * CORNER_EDGE];
    uint32_t neighbour[27];
} tension_scratch;

/// Sum of the four differences along an axis between eight values; `along`, `b` and `c` are the axes' strides.
TILE_FN float cube_slope(const float *at, int along, int b, int c)
{
    return ((at[along] - at[0]) + (at[along + b] - at[b])) +
           ((at[along + c] - at[c]) + (at[along + b + c] - at[b + c]));
}

/// Normals at the corners, into the liquid; shorter where the density is as good as the same all around.
TILE_FN void find_normals(tension_scratch *s)
{
    enum { Y = WIDE_EDGE, Z = WIDE_EDGE * WIDE_EDGE };
    FOR_BOX (x, y, z, CORNER_EDGE, CORNER_EDGE, CORNER_EDGE) {
        const float *full = s->full + z * Z + y * Y + x;
        const float nx = cube_slope(full, 1, Y, Z), ny = cube_slope(full, Y, 1, Z), nz = cube_slope(full, Z, 1, Y);
        const float length = tile_sqrt_f32(((nx * nx + ny * ny) + nz * nz) + FLAT);
        const int at = (z * CORNER_EDGE + y) * CORNER_EDGE + x;
        s->normal[0][at] = nx / length;
        s->normal[1][at] = ny / length;
        s->normal[2][at] = nz / length;
    }
    TILE_BARRIER();
}

/// The pressure that the surface has where it passes a cell's centre.
TILE_FN void find_pressure(float strength, tension_scratch *s)
{
    enum { Y = CORNER_EDGE, Z = CORNER_EDGE * CORNER_EDGE };
    const float holding =
        tile_sqrt_f32(TWO_PI / SMOOTH_VARIANCE) * (SMOOTH_VARIANCE / (SMOOTH_VARIANCE - PLACE_VARIANCE));
    FOR_BOX (x, y, z, RIM_EDGE, RIM_EDGE, RIM_EDGE) {
        const int at = (z * CORNER_EDGE + y) * CORNER_EDGE + x;
        const float bent = -0.25f * ((cube_slope(s->normal[0] + at, 1, Y, Z) + cube_slope(s->normal[1] + at, Y, 1, Z)) +
                                     cube_slope(s->normal[2] + at, Z, 1, Y));
        const float full = s->full[((z + 1) * WIDE_EDGE + y + 1) * WIDE_EDGE + x + 1];
        const float held = holding * tile_clamp_f32(1.0f - 2.0f * full, -1.0f, 1.0f);
        s->pressure[(z * RIM_EDGE + y) * RIM_EDGE + x] =
            strength * ((1.0f - HOLDING_SHARE) * tile_clamp_f32(bent, -BENT_MOST, BENT_MOST) + HOLDING_SHARE * held);
    }
}

/// The kick that the surface's pressure gives a face: 0 where there is no surface.
TILE_FN float tension_kick(const tension_scratch *s, int a, int b)
{
    const cell_rim *cells = &s->cells;
    const float kind = cells->kind[a] + cells->kind[b], steepness = face_steepness(cells, a, b);
    const int a_is_liquid = cells->kind[a] > KIND_SURFACE;
    const float liquid = a_is_liquid ? s->pressure[a] : s->pressure[b],
                air = a_is_liquid ? s->pressure[b] : s->pressure[a];
    const float kick = steepness * liquid + (air - liquid); // the pressure between them, times steepness
    return kind > KIND_SURFACE && kind < KIND_INSIDE ? (a_is_liquid ? -kick : kick) : 0.0f;
}

/// Kicks the lower faces of a tile that the surface crosses. One tile per active tile.
TILE_KERNEL(liquid_tension, SOLVER_LANES, liquid_args, tension_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t dense = grid->active_tile[tile];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    if (!is_near_liquid(&args->tank.grid, place, dense)) {
        return;
    }
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    halo_load_f32(s->full, WIDE_BORDER, grid->shift[0], s->neighbour);
    TILE_BARRIER();
    halo_mirror(&args->tank.grid.shape, place, s->full, WIDE_BORDER);
    find_normals(s);
    find_pressure(args->m.control->tension * grid->control->kick, s);
    load_cells(&args->tank.grid, place, tile, &s->cells);
    for (int axis = 0; axis < 3; axis++) {
        const int stride = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
        float *u = grid->u[axis] + own;
        const float *beta = grid->beta[axis];
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const uint32_t i = cell_index(x, y, z);
            const int at = rim_index(x, y, z);
            const float kick = tension_kick(s, at - stride, at);
            u[i] += beta != NULL ? kick * beta[own + i] : kick;
        }
    }
}
