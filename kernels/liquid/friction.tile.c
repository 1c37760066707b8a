// What the tank's walls and solids rub off the liquid that flows along them, between the forces and the pressure. A
// friction is the share that the liquid's velocity, less the surface's, loses in a step of what there is along the
// surface, in a layer one cell thick; a substep takes the share of which all of a step's make that. FLIP hands the
// change to the particles, so that a flow loses momentum at that rate whatever its cells and substeps.
//
// A face counts by the part of its cell that lies in the layer: all of it half a cell from the surface, as the faces
// beside the tank's walls are; nothing from one and a half cells on. What flows into a solid is the pressure's to stop.
#include "kernels/grid/solids.h"
#include "kernels/liquid/liquid.h"

#define LAYER_END 1.5f ///< cells from the surface

TILE_FN float in_layer(float distance)
{
    return tile_clamp_f32(LAYER_END - distance, 0.0f, 1.0f);
}

/// What particles brought to a face anywhere, in u_ext at this time; 0 and *known 0 where they reach none.
TILE_FN float carried_anywhere(const grid_args *grid, int c, int x, int y, int z, int *known)
{
    const int *cells = grid->shape.cells;
    *known = 0;
    if (x < 0 || y < 0 || z < 0 || x >= cells[0] || y >= cells[1] || z >= cells[2]) {
        return 0.0f;
    }
    const uint32_t slot = grid->m.slot[tile_dense_of(&grid->shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2)];
    if (slot == TILE_NONE) {
        return 0.0f;
    }
    const float u = grid->m.u_ext[c][(uint64_t)slot * TILE_CELLS + cell_index(x & 7, y & 7, z & 7)];
    *known = u < SPEED_UNKNOWN;
    return *known ? u : 0.0f;
}

/// Component c at the middle of a face across `axis`: the mean of the four around that are known. Summed in pairs, for
/// mirror images.
TILE_FN float carried_at_face(const grid_args *grid, int axis, int c, const int *cell)
{
    float u[4];
    int known[4];
    for (int k = 0; k < 4; k++) {
        int at[3] = {cell[0], cell[1], cell[2]};
        at[axis] -= k & 1;
        at[c] += k >> 1;
        u[k] = carried_anywhere(grid, c, at[0], at[1], at[2], &known[k]);
    }
    const int count = (known[0] + known[1]) + (known[2] + known[3]);
    return count > 0 ? ((u[0] + u[1]) + (u[2] + u[3])) / (float)count : 0.0f;
}

/// A face's velocity without a share of what it has along a surface more than the surface.
/// @param normal  of any length, the least too
TILE_FN float rubbed(const grid_args *grid, const int *cell, int axis, float share, const float *normal,
                     const float *of_surface, float u)
{
    const float own = u - of_surface[axis], square = tile_max2_f32(dot3(normal, normal), 1e-12f);
    float through = own * normal[axis];
    for (int c = 0; c < 3; c++) {
        if (c != axis && normal[c] != 0.0f) {
            through += (carried_at_face(grid, axis, c, cell) - of_surface[c]) * normal[c];
        }
    }
    return u - share * (own - through * normal[axis] / square);
}

/// In a tank of one cell's depth nothing rubs at the walls in front and behind.
TILE_FN float rub_walls(const liquid_args *args, const int *cell, int axis, float u)
{
    const int *cells = args->tank.grid.shape.cells;
    const float keep = 1.0f - args->m.control->friction.walls;
    for (int a = 0; a < 3; a++) {
        const int is_beside = a != axis && cells[a] > 1 && (cell[a] == 0 || cell[a] == cells[a] - 1);
        u = is_beside ? keep * u : u;
    }
    return u;
}

/// The solid that rubs in a cell, among those that stand still.
TILE_FN uint32_t rough_solid(const grid_args *grid, int x, int y, int z)
{
    const uint32_t i =
        grid->m.solid_tile[tile_dense_of(&grid->shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2)];
    return i < grid->m.rough_count ? grid->m.solid_rough[(uint64_t)i * TILE_CELLS + cell_index(x & 7, y & 7, z & 7)]
                                   : (uint32_t)SOLID_SMOOTH;
}

TILE_FN float rub_solids(const liquid_args *args, const int *cell, int axis, float u)
{
    const grid_args *grid = &args->tank.grid;
    const float at_rest[3] = {0.0f, 0.0f, 0.0f};
    const uint32_t above = rough_solid(grid, cell[0], cell[1], cell[2]),
                   below = rough_solid(grid, cell[0] - (axis == 0), cell[1] - (axis == 1), cell[2] - (axis == 2));
    const uint32_t solid = tile_min_u32(above, below);
    if (solid == SOLID_SMOOTH) {
        return u;
    }
    int32_t position[3];
    float normal[3];
    for (int a = 0; a < 3; a++) {
        position[a] = (cell[a] << POSITION_BITS) + (a == axis ? 0 : 1 << (POSITION_BITS - 1));
    }
    const float share = args->m.control->friction.solid[solid] * in_layer(solid_distance(grid, position, normal));
    return share > 0.0f ? rubbed(grid, cell, axis, share, normal, at_rest, u) : u;
}

TILE_FN float rub_bodies(const liquid_args *args, uint32_t some, const int *cell, int axis, float u)
{
    const grid_args *grid = &args->tank.grid;
    float at[3], normal[3], of_body[3];
    for (int a = 0; a < 3; a++) {
        at[a] = (float)cell[a] + (a == axis ? 0.0f : 0.5f);
    }
    for (; some != 0; some &= some - 1) {
        const uint32_t b = tile_lowest_bit_u32(some);
        if (!body_is_beyond(grid->m.bodies, b, at, LAYER_END)) {
            const float share =
                args->m.control->friction.body[b] * in_layer(body_gradient(grid->m.bodies, b, at, normal));
            body_velocity(&grid->m.bodies->state[b], at, of_body);
            u = rubbed(grid, cell, axis, share, normal, of_body, u);
        }
    }
    return u;
}

/// Whether a tile lies at the tank's walls.
TILE_FN int is_at_walls(const grid_shape *shape, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    int beside = 0;
    for (int a = 0; a < 3; a++) {
        beside |= at[a] == 0 || at[a] == shape->tiles[0][a] - 1;
    }
    return beside;
}

/// Bodies that rub and are near.
TILE_FN uint32_t rough_bodies(const liquid_args *args, tile_place place)
{
    uint32_t some = bodies_near_tile(&args->tank.grid, place, 2.5f), rough = 0;
    for (; some != 0; some &= some - 1) {
        const uint32_t b = tile_lowest_bit_u32(some);
        rough |= (uint32_t)(args->m.control->friction.body[b] > 0.0f) << b;
    }
    return rough;
}

/// One tile per active tile.
TILE_KERNEL(liquid_friction, CELL_LANES, liquid_args, tile_no_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    const uint32_t bodies = rough_bodies(args, place);
    const int walls = args->m.control->friction.walls > 0.0f && is_at_walls(&args->tank.grid.shape, place);
    if (bodies == 0 && grid->rough_count == 0 && !walls) {
        return;
    }
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int cell[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
        for (int axis = 0; axis < 3; axis++) {
            const uint64_t at = (uint64_t)tile * TILE_CELLS + cell_index(x, y, z);
            if (grid->u_old[axis][at] < SPEED_UNKNOWN && !face_is_outside(&args->tank.grid.shape, cell, axis)) {
                float u = rub_walls(args, cell, axis, grid->u[axis][at]);
                u = grid->rough_count > 0 ? rub_solids(args, cell, axis, u) : u;
                grid->u[axis][at] = rub_bodies(args, bodies, cell, axis, u);
            }
        }
    }
}
