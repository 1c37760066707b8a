// What a substep adds to vorticity: the curl of what forces would do to the velocity,
//
//     d omega = curl (force) dt         of gravity on liquid that is denser by rho': grad rho' x g (Boussinesq)
//
// Forces lie in the cells' centres, and so does their curl by central differences: its sum over the tank is zero, and
// half the sum of x cross it, the impulse, is the sum of the forces, both but for rounding and walls.
//
// Solids hold the liquid that they cover (penalization: Coquerelle & Cottet 2008): so it clings to their surface, and
// vortices come off it.
#include "kernels/grid/halo.h"
#include "kernels/grid/solids.h"
#include "kernels/tank/push.h"
#include "kernels/vortons/vortons.h"

typedef struct generate_scratch {
    float force[3][RIM_CELLS]; ///< velocity that a substep's forces give
    float wide[VORTON_CELLS];  ///< a component of vorticity or velocity
    float size[TILE_CELLS];
    uint8_t room[RIM_CELLS]; ///< share of a cell's surroundings that no solid covers, 0..255
    uint32_t solid;          ///< some is covered
    uint32_t neighbour[27];
} generate_scratch;

TILE_FN int rim_stride(int axis)
{
    return axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
}

/// Adds the curl of the tile's forces to what it gains. Walls mirror forces: they press, and turn nothing.
TILE_FN void gain_curl(const vorton_args *args, generate_scratch *s, uint32_t tile, tile_place place)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const int ex = tile_extent(shape, 0, place.x), ey = tile_extent(shape, 1, place.y),
              ez = tile_extent(shape, 2, place.z);
    for (int c = 0; c < 3; c++) {
        halo_mirror(shape, place, s->force[c], 1);
    }
    for (int c = 0; c < 3; c++) {
        const int a = (c + 1) % 3, b = (c + 2) % 3, da = rim_stride(a), db = rim_stride(b);
        float *gain = args->m.gain[c] + (uint64_t)tile * TILE_CELLS;
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const float *fa = s->force[a] + rim_index(x, y, z), *fb = s->force[b] + rim_index(x, y, z);
            const float curl = 0.5f * ((fb[da] - fb[-da]) - (fa[db] - fa[-db]));
            gain[cell_index(x, y, z)] += x < ex && y < ey && z < ez ? curl : 0.0f;
        }
    }
    TILE_BARRIER();
}

/// Takes the tile's largest gain into account.
TILE_FN void note_gain(const vorton_args *args, generate_scratch *s, uint32_t tile)
{
    const uint64_t own = (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS) {
        float size = 0.0f;
        for (int c = 0; c < 3; c++) {
            size = tile_max2_f32(tile_magnitude_f32(args->m.gain[c][own + i]), size);
        }
        s->size[i] = size;
    }
    TILE_BARRIER();
    tile_max_f32(s->size, TILE_CELLS);
    if (TILE_SINGLE() && s->size[0] > 0.0f) {
        global_max_u32(&args->m.counters->gain_bits, tile_bits_f32(s->size[0]));
    }
}

/// What viscosity takes from a cell's vorticity to those around it, or the other way: walls let none through.
TILE_FN void gain_diffusion(const vorton_args *args, generate_scratch *s, uint32_t tile, tile_place place, float share)
{
    const grid_shape *shape = &args->tank.grid.shape;
    const int ex = tile_extent(shape, 0, place.x), ey = tile_extent(shape, 1, place.y),
              ez = tile_extent(shape, 2, place.z);
    for (int c = 0; c < 3; c++) {
        const int da = vorton_stride((c + 1) % 3), db = vorton_stride((c + 2) % 3);
        float *mean = s->force[0], *gain = args->m.gain[c] + (uint64_t)tile * TILE_CELLS;
        halo_load_f32(s->wide, 2, args->m.vorticity[c], s->neighbour);
        TILE_BARRIER();
        FOR_BOX (x, y, z, RIM_EDGE, RIM_EDGE, RIM_EDGE) {
            const float *edge = s->wide + vorton_index(x - 1, y - 1, z - 1);
            mean[(z * RIM_EDGE + y) * RIM_EDGE + x] = 0.25f * ((edge[0] + edge[da + db]) + (edge[da] + edge[db]));
        }
        TILE_BARRIER();
        halo_mirror(shape, place, mean, 1);
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const float *at = mean + rim_index(x, y, z);
            const float around = ((at[-1] + at[1]) + (at[-RIM_EDGE] + at[RIM_EDGE])) +
                                 (at[-RIM_EDGE * RIM_EDGE] + at[RIM_EDGE * RIM_EDGE]);
            gain[cell_index(x, y, z)] += x < ex && y < ey && z < ez ? share * (around - 6.0f * at[0]) : 0.0f;
        }
    }
}

/// What viscosity generates; before it there is nothing. One tile per active tile.
TILE_KERNEL(vorton_diffuse, CELL_LANES, vorton_args, generate_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const float share = args->m.control->viscosity;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    for (int c = 0; c < 3; c++) {
        float *gain = args->m.gain[c] + (uint64_t)tile * TILE_CELLS;
        FOR_RANGE (i, 0, TILE_CELLS) {
            gain[i] = 0.0f;
        }
    }
    TILE_BARRIER();
    if (share > 0.0f && vorton_holds(args, s->neighbour, HOLDS_STRENGTH)) {
        gain_diffusion(args, s, tile, place, share);
    }
}

/// What gravity generates, and at the start the velocities that particles were seeded with. One tile per active tile.
TILE_KERNEL(vorton_generate, CELL_LANES, vorton_args, generate_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const grid_control *g = grid->control;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    const int starts = args->m.control->starts != 0;
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    if (!starts && !vorton_holds(args, s->neighbour, HOLDS_STRENGTH | HOLDS_MASS)) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        const float weight = g->gravity[c] * g->frac;
        halo_load_f32(s->force[c], 1, args->m.deviation, s->neighbour);
        FOR_RANGE (i, 0, RIM_CELLS) {
            s->force[c][i] *= weight;
        }
        TILE_BARRIER();
    }
    gain_curl(args, s, tile, place);
    if (starts) {
        for (int c = 0; c < 3; c++) {
            halo_load_f32(s->force[c], 1, grid->u[c], s->neighbour);
        }
        TILE_BARRIER();
        gain_curl(args, s, tile, place);
    }
    note_gain(args, s, tile);
}

/// Whether solids cover some of the tile's cells or of those around. Ends with a barrier.
TILE_FN int load_rooms(const grid_memory *grid, generate_scratch *s)
{
    if (grid->room == NULL) {
        return 0;
    }
    halo_load_u8(s->room, 1, grid->room, s->neighbour);
    if (TILE_SINGLE()) {
        s->solid = 0;
    }
    TILE_BARRIER();
    FOR_BOX (x, y, z, RIM_EDGE, RIM_EDGE, RIM_EDGE) {
        uint8_t *room = &s->room[(z * RIM_EDGE + y) * RIM_EDGE + x];
        *room = s->neighbour[halo_tile(x - 1, y - 1, z - 1)] != TILE_NONE ? *room : 255;
    }
    FOR_RANGE_ATOMIC (i, 0, RIM_CELLS) {
        tile_or_u32(&s->solid, s->room[i] < 255);
    }
    TILE_BARRIER();
    return s->solid != 0;
}

/// Component c of a solid's velocity at a point in it or beside it.
TILE_FN float solid_velocity(const grid_memory *grid, const float *at, int c)
{
    float velocity[3] = {0.0f, 0.0f, 0.0f};
    for (uint32_t b = 0; grid->bodies != NULL && b < grid->bodies->count; b++) {
        if (body_distance(grid->bodies, b, at) < 1.0f) {
            body_velocity(&grid->bodies->state[b], at, velocity);
        }
    }
    return velocity[c];
}

/// What hands, emitters and solids generate: the curl of what they change the velocity of the cells' centres by. It
/// counts in the next substep. One tile per active tile.
TILE_KERNEL(vorton_push, CELL_LANES, vorton_args, generate_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, grid->active_tile[tile]);
    const float slip[3] = {1.0f, 1.0f, 1.0f};
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    TILE_BARRIER();
    const int solid = load_rooms(grid, s);
    if (!solid && !in_reach_within(&args->tank, place, 1.0f)) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        const int next = vorton_stride(c);
        halo_load_f32(s->wide, 2, grid->u[c], s->neighbour);
        TILE_BARRIER();
        halo_walls(&args->tank.grid.shape, place, slip, s->wide, 2, c);
        FOR_BOX (x, y, z, RIM_EDGE, RIM_EDGE, RIM_EDGE) {
            const float *face = s->wide + vorton_index(x - 1, y - 1, z - 1);
            const float at[3] = {(float)(place.x * TILE_EDGE + x) - 0.5f, (float)(place.y * TILE_EDGE + y) - 0.5f,
                                 (float)(place.z * TILE_EDGE + z) - 0.5f};
            const float u = 0.5f * (face[0] + face[next]);
            const int cell = (z * RIM_EDGE + y) * RIM_EDGE + x;
            float wanted = apply_hands(&args->tank, at, c, u);
            if (solid && s->room[cell] < 255) {
                wanted += (1.0f - (float)s->room[cell] * (1.0f / 255.0f)) * (solid_velocity(grid, at, c) - wanted);
            }
            s->force[c][cell] = wanted - u;
        }
        TILE_BARRIER();
    }
    gain_curl(args, s, tile, place);
    note_gain(args, s, tile);
}
