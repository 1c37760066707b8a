// Particles keep out of solids: those that the way of a substep would bring into one walk around it.
//
//     longest way of a tile ─ which solids that may meet ─ marks of particles that may meet one ─ these walk
//
// Most particles are far from all solids, and are told so by bounds: the least distance at the nodes of their cell, and
// the boxes around the bodies.
#include "kernels/device/pack.h"
#include "kernels/grid/solids.h"
#include "kernels/tank/store.h"

#define WALK_CELLS 0.5f    ///< beyond their way, in which particles look for solids
#define CLEAR_CELLS 0.51f  ///< the same, and what rounding may take
#define CLEAR_MARGIN 0.08f ///< more than particles keep from a solid, by what rounding may take
#define STEEPEST 1.75f     ///< more than any distance between nodes changes in a cell: sqrt(3)
#define NEAR_CELLS 12.7f   ///< the longest flight, along all axes, and that
#define FLOW_CELLS 7.5f    ///< the same of liquid

enum {
    COLLIDE_ROUNDS = 24,
    COLLIDE_PART = 2048,                          ///< particles at once
    COLLIDE_MOVE_MAX = 15 << (POSITION_BITS - 1), ///< per axis: less than a tile, so that the way ends in a neighbour
};

typedef struct collide_scratch {
    float longest[PARTICLE_LANES], nearest[PARTICLE_LANES];
    float room[TILE_CELLS];      ///< cells that particles may go
    body_box box[BODIES_MAX];    ///< of those that may be met
    uint8_t meets[COLLIDE_PART]; ///< of particles: whether something may be in the way
    uint32_t move_count[27];
} collide_scratch;

TILE_ASSERT((int)TILE_CELLS == 2 * PARTICLE_LANES, "two cells a lane");

/// Takes what points into a solid from a velocity, seen from the solid.
TILE_FN void slip(float *velocity, const float *normal, const float *of_solid)
{
    const float seen[3] = {velocity[0] - of_solid[0], velocity[1] - of_solid[1], velocity[2] - of_solid[2]};
    const float into = tile_below_zero_f32(dot3(seen, normal));
    for (int a = 0; a < 3; a++) {
        velocity[a] -= into * normal[a];
    }
}

TILE_FN void shift_position(int32_t *position, const float *cells, float scale)
{
    for (int a = 0; a < 3; a++) {
        const float step = tile_clamp_f32(cells[a] * scale, -FLIGHT_CELLS_MAX - 0.5f, FLIGHT_CELLS_MAX + 0.5f);
        position[a] += tile_round_i32(step * (1 << POSITION_BITS));
    }
}

/// Walks a particle along its way and around the solids in it: steps as long as the distance allows, pushed out and
/// turned along the surface wherever it comes too near. @return whether anything was in its way
TILE_FN int walk(const tank_args *args, uint32_t near, int32_t *position, float *rest, float *velocity)
{
    int touched = 0;
    for (int round = 0; round < COLLIDE_ROUNDS; round++) {
        float normal[3], of_solid[3];
        float distance = nearest_solid(&args->grid, near, position, normal, of_solid);
        float length = tile_sqrt_f32(dot3(rest, rest));
        const int is_clear = near == 0 && distance > STEEPEST * length + CLEAR_MARGIN;
        if (round == 0 && (is_clear || distance > length + WALK_CELLS)) {
            return 0;
        }
        const int pushed = distance < SOLID_MARGIN;
        if (pushed) {
            shift_position(position, normal, SOLID_MARGIN - distance);
            slip(velocity, normal, of_solid);
            const float still[3] = {0.0f, 0.0f, 0.0f};
            slip(rest, normal, still);
            length = tile_sqrt_f32(dot3(rest, rest));
            touched = 1;
        }
        if (length < 1e-5f) {
            if (!pushed) {
                break;
            }
            continue;
        }
        const float step = tile_min_f32(tile_max2_f32(distance - 0.5f * SOLID_MARGIN, 0.25f) / length, 1.0f);
        shift_position(position, rest, step);
        for (int a = 0; a < 3; a++) {
            rest[a] *= 1.0f - step;
        }
    }
    return touched;
}

TILE_FN void collide_particle(const tank_args *args, collide_scratch *s, tile_place place, uint32_t near,
                              uint32_t particle)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const float limit = grid->control->speed_max;
    int32_t from[3], at[3];
    float rest[3], velocity[3], unused[3];
    if (store->moved_to[particle] >= 27) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        from[c] = at[c] = (int32_t)store->position[c][particle];
        rest[c] = (float)((int32_t)store->moved_position[c][particle] - from[c]) * (1.0f / (1 << POSITION_BITS));
        velocity[c] = store->moved_velocity[c][particle];
    }
    if (!walk(args, near, at, rest, velocity)) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        const int32_t last = (args->grid.shape.cells[c] << POSITION_BITS) - 1 - WALL_MARGIN;
        at[c] = tile_clamp_i32(at[c], from[c] - COLLIDE_MOVE_MAX, from[c] + COLLIDE_MOVE_MAX);
        at[c] = tile_clamp_i32(at[c], WALL_MARGIN, last);
    }
    // Squeezed between solids: rather not move than end in one that stands still.
    const int stay =
        solid_distance(&args->grid, at, unused) < 0.0f && solid_distance(&args->grid, from, unused) >= 0.0f;
    const int tile_at[3] = {place.x, place.y, place.z};
    uint32_t to = 0;
    for (int c = 2; c >= 0; c--) {
        const int32_t position = stay ? from[c] : at[c];
        store->moved_position[c][particle] = (uint32_t)position;
        store->moved_velocity[c][particle] = tile_clamp_f32(velocity[c], -limit, limit);
        to = to * 3 + (uint32_t)((position >> TILE_POSITION_BITS) - tile_at[c] + 1);
    }
    tile_add_u32(&s->move_count[store->moved_to[particle]], 0xffffffffu);
    tile_add_u32(&s->move_count[to], 1);
    store->moved_to[particle] = (uint8_t)to;
}

/// Keeps the longest way of a pack of particles, squared cells.
TILE_FN void keep_way(const store_memory *store, float *longest, uint32_t particle, uint32_t n)
{
    pack_f32 square = pack_all_f32(0.0f);
    for (int c = 0; c < 3; c++) {
        const pack_i32 from = pack_load_i32(store->position[c] + particle, n),
                       to = pack_load_i32(store->moved_position[c] + particle, n);
        const pack_f32 way = pack_to_f32(to - from) * (1.0f / (1 << POSITION_BITS));
        square = square + way * way;
    }
    pack_keep_max_f32(longest, square);
}

/// For each cell of a tile how far particles may go in it without meeting a solid that doesn't move, 0 where there is
/// one; in s->nearest[0] the negative of the least. Distances between nodes are no less than at the nodes.
TILE_FN void load_room(const tank_args *args, collide_scratch *s, uint32_t i)
{
    const int known = i != TILE_NONE && i != TILE_FULL;
    const float all = i == TILE_FULL ? 0.0f : (float)SOLID_NEAR_CELLS - CLEAR_CELLS;
    const int16_t *nodes = args->grid.m.solid_node + (uint64_t)(known ? i : 0) * SOLID_NODES;
    if (known) {
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const int16_t *node = nodes + node_of_tile(x, y, z);
            int least = node[0];
            for (uint32_t k = 1; k < 8; k++) {
                least = tile_min_i32(node[node_of_tile(k & 1, k >> 1 & 1, k >> 2)], least);
            }
            s->room[cell_index(x, y, z)] = tile_max2_f32((float)least * (1.0f / SOLID_NODE_UNIT) - CLEAR_CELLS, 0.0f);
        }
    } else {
        FOR_RANGE (c, 0, TILE_CELLS) {
            s->room[c] = all;
        }
    }
    FOR_RANGE (lane, 0, PARTICLE_LANES) {
        s->nearest[lane] = -tile_min_f32(s->room[lane], s->room[lane + PARTICLE_LANES]);
    }
    TILE_BARRIER();
    tile_max_f32(s->nearest, PARTICLE_LANES);
}

/// Marks those of a pack of particles that may have something in their way. The boxes say what is within the longest
/// way of the tile's particles.
TILE_FN void mark_pack(const store_memory *store, collide_scratch *s, uint32_t boxes, uint32_t particle, uint32_t n,
                       uint8_t *to)
{
    const float unit = 1.0f / (1 << POSITION_BITS);
    pack_f32 at[3], square = pack_all_f32(0.0f), room = pack_all_f32(0.0f);
    pack_i32 cell = pack_all_i32(0);
    TILE_UNROLL for (int c = 2; c >= 0; c--)
    {
        const pack_i32 from = pack_load_i32(store->position[c] + particle, n);
        const pack_f32 way = pack_to_f32(pack_load_i32(store->moved_position[c] + particle, n) - from) * unit;
        at[c] = (pack_to_f32(from) + 0.5f) * unit;
        cell = cell * TILE_EDGE + (from >> POSITION_BITS & (TILE_EDGE - 1));
        square = square + way * way;
    }
    pack_places places;
    pack_set_places(&places, cell);
    for (int l = 0; l < PACK_WIDTH; l++) {
        pack_set_f32(&room, l, s->room[places.of[l]]);
    }
    const pack_i32 meets = (room * room <= square) | pack_meets_boxes(s->box, boxes, at);
    pack_store_u8(to, meets & 1, n);
}

/// Keeps moved particles out of the solids. One tile per occupied tile.
TILE_KERNEL(tank_collide, PARTICLE_LANES, tank_args, collide_scratch)
{
    const grid_memory *grid = &args->grid.m;
    const store_memory *store = &args->store;
    const uint32_t dense = grid->level[0].tile[tile];
    const uint32_t first = store->tile_first[dense], end = first + store->tile_count[dense];
    const tile_place place = tile_place_of(&args->grid.shape, 0, dense);
    if (bodies_near_tile(&args->grid, place, NEAR_CELLS) == 0 && !solids_near_tile(&args->grid, place)) {
        return;
    }
    FOR_RANGE (lane, 0, PARTICLE_LANES) {
        s->longest[lane] = 0.0f;
    }
    EACH_PACK(i, n, first, end, keep_way(store, s->longest, i, n));
    TILE_BARRIER();
    tile_max_f32(s->longest, PARTICLE_LANES);
    load_room(args, s, grid->solid_tile[dense]);
    float center[3];
    tile_center(place, center);
    const float longest = tile_sqrt_f32(s->longest[0]);
    const uint32_t near = bodies_near_tile(&args->grid, place, tile_max2_f32(longest + CLEAR_CELLS, FLOW_CELLS));
    const uint32_t some =
        near != 0 ? bodies_within(grid->bodies, near, center, longest + CLEAR_CELLS + TILE_RADIUS) : 0;
    if (some == 0 && -s->nearest[0] > longest) {
        return;
    }
    FOR_RANGE (n, 0, 27) {
        s->move_count[n] = store->move_count[tile * 27 + n];
    }
    set_body_boxes(grid->bodies, some, longest + CLEAR_CELLS, s->box);
    for (uint32_t part = first; part < end; part += COLLIDE_PART) {
        const uint32_t part_end = tile_min_u32(part + COLLIDE_PART, end), boxes = tile_popcount_u32(some);
        EACH_PACK(i, n, part, part_end, mark_pack(store, s, boxes, i, n, s->meets + (i - part)));
        FOR_RANGE_ATOMIC (i, part, part_end) {
            if (s->meets[i - part] != 0) {
                collide_particle(args, s, place, near, i);
            }
        }
        TILE_BARRIER();
    }
    FOR_RANGE (n, 0, 27) {
        store->move_count[tile * 27 + n] = s->move_count[n];
    }
}
