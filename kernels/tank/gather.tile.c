// Grid to particles in tanks with affine particles (APIC) or quadratic B-splines: the particles' new velocities and
// slopes, one component at a time. advect.tile.c does FLIP with trilinear weights together with the advection.
//
// Sources as in deposit.tile.c. For trilinear weights the slope is the interpolated field's own gradient, for splines
// D^-1 sum w u (x_node - x) with D = 1/4.
#include "kernels/grid/halo.h"
#include "kernels/tank/spline.h"
#include "kernels/tank/store.h"

enum {
    GATHER_BORDER = 2, ///< with quadratic weights; 1 with trilinear ones
    GATHER_EDGE = TILE_EDGE + 2 * GATHER_BORDER,
    GATHER_NODES = GATHER_EDGE * GATHER_EDGE * GATHER_EDGE,
};

typedef struct gather_scratch {
    float fresh[GATHER_NODES + 4], change[GATHER_NODES + 4]; ///< rows are read four values at a time
    uint32_t neighbour[27];
} gather_scratch;

/// Sum of two or three weighted rows, symmetric under reflection.
TILE_FN tile_f32x4 blend(const float *w, const tile_f32x4 *row, int quadratic)
{
    if (!quadratic) {
        return tile_add_f32x4(tile_scale_f32x4(w[0], row[0]), tile_scale_f32x4(w[1], row[1]));
    }
    return tile_add_f32x4(tile_add_f32x4(tile_scale_f32x4(w[0], row[0]), tile_scale_f32x4(w[2], row[2])),
                          tile_scale_f32x4(w[1], row[1]));
}

TILE_FN float blend_row(const float *w, tile_f32x4 row, int quadratic)
{
    if (!quadratic) {
        return w[0] * tile_get_f32x4(row, 0) + w[1] * tile_get_f32x4(row, 1);
    }
    return (w[0] * tile_get_f32x4(row, 0) + w[2] * tile_get_f32x4(row, 2)) + w[1] * tile_get_f32x4(row, 1);
}

/// Interpolated value and, where `slope` isn't NULL, the three slopes.
TILE_FN float interpolate_nodes(const float *field, const axis_nodes *x, const axis_nodes *y, const axis_nodes *z,
                                int quadratic, float *slope)
{
    const int border = quadratic ? GATHER_BORDER : 1, edge = TILE_EDGE + 2 * border, reach = quadratic ? 3 : 2;
    const float *at = field + ((z->at + border) * edge + (y->at + border)) * edge + x->at + border;
    tile_f32x4 plane[3], plane_slope[3];
    TILE_UNROLL for (int k = 0; k < reach; k++)
    {
        tile_f32x4 row[3];
        TILE_UNROLL for (int j = 0; j < reach; j++) row[j] = tile_load_f32x4(at + (k * edge + j) * edge);
        plane[k] = blend(y->w, row, quadratic);
        if (slope != NULL) {
            plane_slope[k] = blend(y->slope, row, quadratic);
        }
    }
    const tile_f32x4 line = blend(z->w, plane, quadratic);
    if (slope != NULL) {
        slope[0] = blend_row(x->slope, line, quadratic);
        slope[1] = blend_row(x->w, blend(z->w, plane_slope, quadratic), quadratic);
        slope[2] = blend_row(x->w, blend(z->slope, plane, quadratic), quadratic);
    }
    return blend_row(x->w, line, quadratic);
}

/// Beyond a wall the flow through it is the mirror image of this side's; what is unknown stays so.
TILE_FN void mirror_plane(float *field, int axis, int to, int from)
{
    const int stride = axis == 0 ? 1 : axis == 1 ? GATHER_EDGE : GATHER_EDGE * GATHER_EDGE;
    const int a = axis == 0 ? GATHER_EDGE : 1, b = axis == 2 ? GATHER_EDGE : GATHER_EDGE * GATHER_EDGE;
    FOR_BOX (i, j, once, GATHER_EDGE, GATHER_EDGE, 1) {
        const int line = i * a + j * b + once;
        const float there = field[line + from * stride];
        field[line + to * stride] = tile_select_f32(there < SPEED_UNKNOWN, -there, there);
    }
    TILE_BARRIER();
}

/// Loads a component with a border; walls as in halo_walls, and what quadratic weights reach beyond them.
TILE_FN void load_gathered(const tank_args *args, gather_scratch *s, tile_place place, const float *field, float *to,
                           int c, int quadratic)
{
    const int border = quadratic ? GATHER_BORDER : 1;
    halo_load_f32(to, border, field, s->neighbour);
    TILE_BARRIER();
    const float slip[3] = {wall_slip(&args->grid, 0), wall_slip(&args->grid, 1), wall_slip(&args->grid, 2)};
    halo_walls(&args->grid.shape, place, slip, to, border, c);
    if (quadratic) {
        const int at = c == 0 ? place.x : c == 1 ? place.y : place.z;
        const int wall = border + args->grid.shape.cells[c] - at * TILE_EDGE;
        if (at == 0) {
            mirror_plane(to, c, border - 1, border + 1);
        }
        if (wall + 1 < GATHER_EDGE) {
            mirror_plane(to, c, wall + 1, wall - 1);
        }
    }
}

/// Scales slopes down so that nothing within reach of the particle is faster than SPEED_MAX: liquid.h counts on it.
TILE_FN void limit_slopes(float velocity, float *slope)
{
    const float reach = NODE_REACH * ((tile_abs_f32(slope[0]) + tile_abs_f32(slope[1])) + tile_abs_f32(slope[2]));
    const float room = SPEED_MAX - tile_abs_f32(velocity);
    const float scale = reach > room ? room / reach : 1.0f;
    for (int a = 0; a < 3; a++) {
        slope[a] *= scale;
    }
}

TILE_FN void gather_particle(const tank_args *args, const gather_scratch *s, uint32_t particle, int c, int quadratic,
                             int affine)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const float flip = store->control->flip, limit = grid->control->speed_max;
    const axis_nodes x = nodes_of(store->position[0][particle], c != 0, quadratic);
    const axis_nodes y = nodes_of(store->position[1][particle], c != 1, quadratic);
    const axis_nodes z = nodes_of(store->position[2][particle], c != 2, quadratic);
    if (affine) {
        float slope[3];
        const float value = interpolate_nodes(s->fresh, &x, &y, &z, quadratic, slope);
        const float velocity = tile_clamp_f32(value, -limit, limit);
        limit_slopes(velocity, slope);
        store->moved_velocity[c][particle] = velocity;
        for (int a = 0; a < 3; a++) {
            store->moved_affine[3 * c + a][particle] = slope[a];
        }
    } else {
        const float value = interpolate_nodes(s->fresh, &x, &y, &z, quadratic, NULL);
        const float kept = store->velocity[c][particle] + interpolate_nodes(s->change, &x, &y, &z, quadratic, NULL);
        store->moved_velocity[c][particle] = tile_clamp_f32(value + flip * (kept - value), -limit, limit);
    }
}

TILE_FN void gather_tile(const tank_args *args, uint32_t tile, gather_scratch *s, int quadratic, int affine)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    halo_neighbours(&args->grid, place, s->neighbour);
    TILE_BARRIER();
    for (int c = 0; c < 3; c++) {
        load_gathered(args, s, place, grid->u_ext[c], s->fresh, c, quadratic);
        if (!affine) {
            load_gathered(args, s, place, grid->u_old[c], s->change, c, quadratic);
            FOR_RANGE (i, 0, GATHER_NODES) {
                s->change[i] = change_of(s->fresh[i], s->change[i]);
            }
        }
        TILE_BARRIER();
        FOR_RANGE (i, first, end) {
            gather_particle(args, s, i, c, quadratic, affine);
        }
        TILE_BARRIER();
    }
}

/// New velocities of a tile's particles, before they move. One tile per occupied tile, as in all of these.
TILE_KERNEL(tank_gather_apic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 0, 1);
}

TILE_KERNEL(tank_gather_quadratic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 1, 0);
}

TILE_KERNEL(tank_gather_apic_quadratic, PARTICLE_LANES, tank_args, gather_scratch)
{
    gather_tile(args, tile, s, 1, 1);
}
