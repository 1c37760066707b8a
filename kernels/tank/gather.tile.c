// Grid to particles in tanks with affine particles (APIC) or B-splines: the particles' new velocities and
// slopes, one component at a time. advect.tile.c does FLIP with trilinear weights together with the advection.
//
// Sources as in deposit.tile.c. For trilinear weights the slope is the interpolated field's own gradient, for splines
// D^-1 sum w u (x_node - x) with D = 1/4 or, of cubic ones, 1/3.
#include "kernels/grid/halo.h"
#include "kernels/tank/spline.h"
#include "kernels/tank/store.h"

enum {
    GATHER_BORDER = 2, ///< with splines; 1 with trilinear weights
    GATHER_EDGE = TILE_EDGE + 2 * GATHER_BORDER,
    GATHER_NODES = GATHER_EDGE * GATHER_EDGE * GATHER_EDGE,
};

typedef struct gather_scratch {
    float fresh[GATHER_NODES + 4], change[GATHER_NODES + 4]; ///< rows are read four values at a time
    uint32_t neighbour[27];
} gather_scratch;

/// Sum of two to four weighted rows, symmetric under reflection.
TILE_FN tile_f32x4 blend(const float *w, const tile_f32x4 *row, int degree)
{
    if (degree == 1) {
        return tile_add_f32x4(tile_scale_f32x4(w[0], row[0]), tile_scale_f32x4(w[1], row[1]));
    }
    if (degree == 3) {
        return tile_add_f32x4(tile_add_f32x4(tile_scale_f32x4(w[0], row[0]), tile_scale_f32x4(w[3], row[3])),
                              tile_add_f32x4(tile_scale_f32x4(w[1], row[1]), tile_scale_f32x4(w[2], row[2])));
    }
    return tile_add_f32x4(tile_add_f32x4(tile_scale_f32x4(w[0], row[0]), tile_scale_f32x4(w[2], row[2])),
                          tile_scale_f32x4(w[1], row[1]));
}

TILE_FN float blend_row(const float *w, tile_f32x4 row, int degree)
{
    if (degree == 1) {
        return w[0] * tile_get_f32x4(row, 0) + w[1] * tile_get_f32x4(row, 1);
    }
    if (degree == 3) {
        return (w[0] * tile_get_f32x4(row, 0) + w[3] * tile_get_f32x4(row, 3)) +
               (w[1] * tile_get_f32x4(row, 1) + w[2] * tile_get_f32x4(row, 2));
    }
    return (w[0] * tile_get_f32x4(row, 0) + w[2] * tile_get_f32x4(row, 2)) + w[1] * tile_get_f32x4(row, 1);
}

/// Interpolated value and, where `slope` isn't NULL, the three slopes.
TILE_FN float interpolate_nodes(const float *field, const axis_nodes *x, const axis_nodes *y, const axis_nodes *z,
                                int degree, float *slope)
{
    const int border = degree > 1 ? GATHER_BORDER : 1, edge = TILE_EDGE + 2 * border, reach = degree + 1;
    const float *at = field + ((z->at + border) * edge + (y->at + border)) * edge + x->at + border;
    tile_f32x4 plane[4], plane_slope[4];
    TILE_UNROLL for (int k = 0; k < reach; k++)
    {
        tile_f32x4 row[4];
        TILE_UNROLL for (int j = 0; j < reach; j++) row[j] = tile_load_f32x4(at + (k * edge + j) * edge);
        plane[k] = blend(y->w, row, degree);
        if (slope != NULL) {
            plane_slope[k] = blend(y->slope, row, degree);
        }
    }
    const tile_f32x4 line = blend(z->w, plane, degree);
    if (slope != NULL) {
        slope[0] = blend_row(x->slope, line, degree);
        slope[1] = blend_row(x->w, blend(z->w, plane_slope, degree), degree);
        slope[2] = blend_row(x->w, blend(z->slope, plane, degree), degree);
    }
    return blend_row(x->w, line, degree);
}

/// Beyond a wall there is this side's mirror image, times `factor`; what is unknown stays so.
TILE_FN void mirror_plane(float *field, int axis, int to, int from, float factor)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? GATHER_EDGE : GATHER_EDGE * GATHER_EDGE;
    const int a = axis == 0 ? GATHER_EDGE : 1, b = axis == 2 ? GATHER_EDGE : GATHER_EDGE * GATHER_EDGE;
    FOR_BOX (i, j, once, GATHER_EDGE, GATHER_EDGE, 1) {
        const int line = i * a + j * b + once;
        const float there = field[line + from * stride];
        field[line + to * stride] = tile_select_f32(there < SPEED_UNKNOWN, factor * there, there);
    }
    TILE_BARRIER();
}

/// Loads a component with a border; walls as in halo_walls, and what splines reach beyond them.
TILE_FN void load_gathered(const tank_args *args, gather_scratch *s, tile_place place, const float *field, float *to,
                           int c, int degree)
{
    const int border = degree > 1 ? GATHER_BORDER : 1, at[3] = {place.x, place.y, place.z};
    halo_load_f32(to, border, field, s->neighbour);
    TILE_BARRIER();
    const float slip[3] = {wall_slip(&args->grid, 0), wall_slip(&args->grid, 1), wall_slip(&args->grid, 2)};
    halo_walls(&args->grid.shape, place, slip, to, border, c);
    for (int a = 0; a < 3; a++) {
        const int wall = border + args->grid.shape.cells[a] - at[a] * TILE_EDGE; // as a face
        const int skip = a == c ? 0 : 1;                                         // centres beside it are halo_walls'
        const float factor = a == c ? -1.0f : slip[a];
        if (degree > 1 + skip && at[a] == 0) {
            mirror_plane(to, a, border - 1 - skip, border + 1, factor);
        }
        if (degree > 1 + skip && wall + 1 < GATHER_EDGE) {
            mirror_plane(to, a, wall + 1, wall - 1 - skip, factor);
        }
    }
}

/// Scales slopes down so that nothing within reach of the particle is faster than SPEED_MAX: liquid.h counts on it.
TILE_FN void limit_slopes(const tank_args *args, float velocity, float *slope)
{
    const float reach =
        args->scale.node_reach * ((tile_abs_f32(slope[0]) + tile_abs_f32(slope[1])) + tile_abs_f32(slope[2]));
    const float room = SPEED_MAX - tile_abs_f32(velocity);
    const float scale = reach > room ? room / reach : 1.0f;
    for (int a = 0; a < 3; a++) {
        slope[a] *= scale;
    }
}

TILE_FN void gather_particle(const tank_args *args, const gather_scratch *s, uint32_t particle, int c, int degree,
                             int affine)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const float flip = store->control->flip, limit = grid->control->speed_max;
    const axis_nodes x = nodes_of(store->position[0][particle], c != 0, degree);
    const axis_nodes y = nodes_of(store->position[1][particle], c != 1, degree);
    const axis_nodes z = nodes_of(store->position[2][particle], c != 2, degree);
    if (affine) {
        float slope[3];
        const float value = interpolate_nodes(s->fresh, &x, &y, &z, degree, slope);
        const float velocity = tile_clamp_f32(value, -limit, limit);
        limit_slopes(args, velocity, slope);
        store->moved_velocity[c][particle] = velocity;
        for (int a = 0; a < 3; a++) {
            store->moved_affine[3 * c + a][particle] = slope[a];
        }
    } else {
        const float value = interpolate_nodes(s->fresh, &x, &y, &z, degree, NULL);
        const float kept = store->velocity[c][particle] + interpolate_nodes(s->change, &x, &y, &z, degree, NULL);
        store->moved_velocity[c][particle] = tile_clamp_f32(value + flip * (kept - value), -limit, limit);
    }
}

TILE_FN void gather_tile(const tank_args *args, uint32_t tile, gather_scratch *s, int degree, int affine)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    halo_neighbours(&args->grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        load_gathered(args, s, place, grid->u_ext[c], s->fresh, c, degree);
        if (!affine) {
            load_gathered(args, s, place, grid->u_old[c], s->change, c, degree);
            FOR_RANGE (i, 0, GATHER_NODES) {
                s->change[i] = change_of(s->fresh[i], s->change[i]);
            }
        }
        TILE_BARRIER();
        FOR_RANGE (i, first, end) {
            gather_particle(args, s, i, c, degree, affine);
        }
        TILE_BARRIER();
    }
}

/// New velocities of a tile's particles, before they move. One tile per occupied tile, as in all of these.
TILE_KERNEL(tank_gather_apic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 1, 1);
}

TILE_KERNEL(tank_gather_quadratic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 2, 0);
}

TILE_KERNEL(tank_gather_apic_quadratic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 2, 1);
}

TILE_KERNEL(tank_gather_cubic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 3, 0);
}

TILE_KERNEL(tank_gather_apic_cubic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 3, 1);
}
