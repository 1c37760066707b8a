// What solids leave open: shares of faces and cells.
//
//     node distances ─ openness of half cells ─ room of the density kernel
//                    └ shares of the faces, whose solid it is and how it moves
//
// A face's open share is the positive part of four triangles round its centre (Batty, Bertails & Bridson 2007 want
// such shares; theirs come from the same corner distances). Everything is summed in pairs or in integers, so that a
// mirrored solid has mirrored shares to the last bit.
//
// Shares of solids that don't move are computed once, when the tank is made. Where no body is near, they are copied;
// and where none of its nodes is near enough to a body for a cover, nothing of the body is computed.
#include "kernels/grid/solids.h"
#include "kernels/grid/halo.h"

enum {
    AREA_EDGE = 11, ///< nodes -1..9 around a tile
    AREA_NODES = AREA_EDGE * AREA_EDGE * AREA_EDGE,
    MARK_EDGE = 16, ///< a row of nodes in whole packs
    HALF_EDGE = 18, ///< half cells from -0.5 to 8.5
};

#define OPEN_CELLS 0.26f ///< a half cell whose nodes are so far from all solids is open

typedef struct share_scratch {
    float node[AREA_NODES];
    uint8_t owner[AREA_NODES];                         ///< body that a node's distance is to
    float body[AREA_NODES];                            ///< distance to the nearest body
    uint8_t body_owner[AREA_NODES];                    ///< which that is
    uint8_t counts[MARK_EDGE * AREA_EDGE * AREA_EDGE]; ///< whether that distance makes a difference
    float line[MARK_EDGE];                             ///< the nodes' x
    body_box box[BODIES_MAX];
    float row_least[AREA_EDGE * AREA_EDGE];             ///< least of a row of nodes along x
    uint8_t half[HALF_EDGE * HALF_EDGE * HALF_EDGE];    ///< openness, 0..255
    uint16_t pass_z[TILE_EDGE * HALF_EDGE * HALF_EDGE]; ///< after the kernel along z: [8][18][18]
    uint16_t pass_y[TILE_EDGE * TILE_EDGE * HALF_EDGE];
    uint8_t open[3][TILE_FACES];    ///< like the matrix' faces: both borders
    uint8_t covered[3][TILE_FACES]; ///< the rest, but on the tank's walls too only what solids cover
    uint8_t still[3][TILE_FACES];   ///< what solids cover that don't move
    uint8_t face_owner[3][TILE_FACES];
    uint8_t room[TILE_CELLS], sides[TILE_CELLS];
} share_scratch;

TILE_FN int area_index(int x, int y, int z)
{
    return ((z + 1) * AREA_EDGE + (y + 1)) * AREA_EDGE + (x + 1);
}

TILE_FN int share_face(int axis, int x, int y, int z)
{
    return axis == 0 ? (z * 8 + y) * 9 + x : axis == 1 ? (z * 9 + y) * 8 + x : (z * 8 + y) * 8 + x;
}

/// Beyond the tank's walls lies its mirror image: what particles count for there is folded back (transfer.tile.c).
TILE_FN int mirrored_node(const grid_shape *shape, int axis, int at)
{
    const int last = shape->cells[axis];
    const int inside = at < 0 ? -at : at > last ? 2 * last - at : at;
    return tile_clamp_i32(inside, 0, last);
}

/// A node of the area, counted from its first one, in the tank.
TILE_FN void area_node(const grid_shape *shape, tile_place place, int x, int y, int z, int *at)
{
    at[0] = mirrored_node(shape, 0, place.x * TILE_EDGE + x - 1);
    at[1] = mirrored_node(shape, 1, place.y * TILE_EDGE + y - 1);
    at[2] = mirrored_node(shape, 2, place.z * TILE_EDGE + z - 1);
}

/// Distances at the nodes of a tile and around it to solids that don't move: s->node. `surface`: whether any is near.
TILE_FN void load_still(const grid_args *args, share_scratch *s, tile_place place, int surface)
{
    if (surface) {
        FOR_BOX (x, y, z, AREA_EDGE, AREA_EDGE, AREA_EDGE) {
            int at[3];
            area_node(&args->shape, place, x, y, z, at);
            s->node[area_index(x - 1, y - 1, z - 1)] = solid_node_at(args, at[0], at[1], at[2]);
        }
    } else {
        FOR_RANGE (i, 0, AREA_NODES) {
            s->node[i] = (float)SOLID_NEAR_CELLS;
        }
    }
    TILE_BARRIER();
}

/// How far nodes of a tile's area may lie from the tile's middle. Where the tank's wall cuts the tile, what is mirrored
/// lies before it.
TILE_FN float area_radius(const grid_shape *shape, tile_place place)
{
    const int at[3] = {place.x, place.y, place.z};
    float square = 0.0f;
    for (int a = 0; a < 3; a++) {
        const int is_cut = shape->cells[a] < (at[a] + 1) * TILE_EDGE;
        const float half = is_cut ? (float)(TILE_EDGE + 3) : (float)(TILE_EDGE / 2 + 1);
        square += half * half;
    }
    return tile_sqrt_f32(square) + 0.01f;
}

/// Those of some bodies that may cover something in a tile's area.
TILE_FN uint32_t bodies_in_area(const grid_args *args, tile_place place, uint32_t near)
{
    float center[3];
    tile_center(place, center);
    return bodies_within(args->m.bodies, near, center, area_radius(&args->shape, place) + OPEN_CELLS);
}

/// Marks a pack of nodes of a row along x.
TILE_FN void mark_nodes(const grid_args *args, share_scratch *s, tile_place place, uint32_t boxes, uint32_t i,
                        uint32_t n)
{
    const uint32_t row = i / MARK_EDGE;
    int node[3];
    area_node(&args->shape, place, 0, (int)(row % AREA_EDGE), (int)(row / AREA_EDGE), node);
    const pack_f32 at[3] = {pack_load_f32(s->line + i % MARK_EDGE, n), pack_all_f32((float)node[1]),
                            pack_all_f32((float)node[2])};
    pack_store_u8(s->counts + i, pack_meets_boxes(s->box, boxes, at) & 1, n);
}

/// Marks the nodes at which distances to bodies count: those with a node less than OPEN_CELLS away from one of `some`
/// in the 27 around them. What the others have makes no difference: the faces and cells there are open by every node.
TILE_FN void mark_area(const grid_args *args, share_scratch *s, tile_place place, uint32_t some)
{
    const float around = OPEN_CELLS + 1.733f; // the way to a node around, a little more
    const uint32_t boxes = tile_popcount_u32(some);
    FOR_RANGE (x, 0, MARK_EDGE) {
        int node[3];
        area_node(&args->shape, place, (int)x, 0, 0, node);
        s->line[x] = (float)node[0];
    }
    set_body_boxes(args->m.bodies, some, around, s->box);
    EACH_PACK(i, n, 0u, (uint32_t)(MARK_EDGE * AREA_EDGE * AREA_EDGE), mark_nodes(args, s, place, boxes, i, n));
    TILE_BARRIER();
}

/// Distances to the nearest body at the nodes, and whose they are: s->body and s->body_owner, for join_bodies. Left out
/// is what is no less than SOLID_NEAR_CELLS and than s->node, and, unless `all`, what makes no difference.
TILE_FN void load_bodies(const grid_args *args, share_scratch *s, tile_place place, uint32_t near, int all)
{
    const grid_bodies *bodies = args->m.bodies;
    FOR_BOX (x, y, z, AREA_EDGE, AREA_EDGE, AREA_EDGE) {
        const int i = area_index(x - 1, y - 1, z - 1);
        float least = 1e9f;
        uint8_t owner = BODY_NONE;
        if (all || s->counts[(z * AREA_EDGE + y) * MARK_EDGE + x] != 0) {
            const float most = tile_max2_f32(s->node[i], (float)SOLID_NEAR_CELLS);
            int node[3];
            area_node(&args->shape, place, x, y, z, node);
            const float at[3] = {(float)node[0], (float)node[1], (float)node[2]};
            for (uint32_t rest = near; rest != 0; rest &= rest - 1) {
                const uint32_t b = tile_lowest_bit_u32(rest);
                if (body_is_beyond(bodies, b, at, tile_min_f32(least, most))) {
                    continue;
                }
                const float distance = body_distance(bodies, b, at);
                owner = distance < least ? (uint8_t)b : owner;
                least = tile_min_f32(distance, least);
            }
        }
        s->body[i] = least;
        s->body_owner[i] = owner;
    }
}

/// The union of the bodies with what is in s->node, or with nothing.
TILE_FN void join_bodies(share_scratch *s, int with_node)
{
    FOR_RANGE (i, 0, AREA_NODES) {
        const float still = with_node ? s->node[i] : (float)SOLID_NEAR_CELLS;
        s->owner[i] = s->body[i] < still ? s->body_owner[i] : (uint8_t)BODY_NONE;
        s->node[i] = tile_min_f32(s->body[i], still);
    }
    TILE_BARRIER();
}

/// Steps in the area from a face's lowest corner to the others.
TILE_FN void face_strides(int axis, int *u, int *v)
{
    *u = axis == 0 ? AREA_EDGE : 1;
    *v = axis == 2 ? AREA_EDGE : AREA_EDGE * AREA_EDGE;
}

TILE_FN void share_faces(const grid_args *args, share_scratch *s, tile_place place)
{
    const int at_tile[3] = {place.x, place.y, place.z};
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const int nx = TILE_EDGE + (axis == 0), ny = TILE_EDGE + (axis == 1), nz = TILE_EDGE + (axis == 2);
        int u, v;
        face_strides(axis, &u, &v);
        FOR_BOX (x, y, z, nx, ny, nz) {
            const int i = share_face(axis, x, y, z), corner = area_index(x, y, z);
            const int normal = at_tile[axis] * TILE_EDGE + (axis == 0 ? x : axis == 1 ? y : z);
            const int wall = normal <= 0 || normal >= args->shape.cells[axis];
            const uint8_t open =
                square_share(s->node[corner], s->node[corner + u], s->node[corner + u + v], s->node[corner + v]);
            s->open[axis][i] = wall ? 0 : open;
            s->covered[axis][i] = (uint8_t)(255 - open);
            s->face_owner[axis][i] = BODY_NONE;
        }
    }
    TILE_BARRIER();
}

TILE_FN uint8_t half_openness(float distance)
{
    return (uint8_t)tile_round_i32(tile_clamp_f32(2.0f * distance + 0.5f, 0.0f, 1.0f) * 255.0f);
}

/// A row of them along x from the four rows of nodes around it, [2 z + y], with their weights along y and z. Half cell
/// h has its centre at h / 2 - 1/4.
TILE_FN void share_half_row(const float *const *row, const float *wy, const float *wz, uint8_t *to)
{
    uint8_t near[AREA_EDGE - 1], far[AREA_EDGE - 1]; // between each two nodes: a quarter from the first, and three
    for (int x = 0; x < AREA_EDGE - 1; x++) {
        float a[4], b[4];
        for (int r = 0; r < 4; r++) {
            a[r] = 0.75f * row[r][x] + 0.25f * row[r][x + 1];
            b[r] = 0.25f * row[r][x] + 0.75f * row[r][x + 1];
        }
        near[x] = half_openness(wz[0] * (wy[0] * a[0] + wy[1] * a[1]) + wz[1] * (wy[0] * a[2] + wy[1] * a[3]));
        far[x] = half_openness(wz[0] * (wy[0] * b[0] + wy[1] * b[1]) + wz[1] * (wy[0] * b[2] + wy[1] * b[3]));
    }
    for (int x = 0; x < HALF_EDGE / 2; x++) {
        to[2 * x] = far[x];
        to[2 * x + 1] = near[x + 1];
    }
}

/// Openness of half cells from the distance at their centres. Most rows are far from all solids.
TILE_FN void share_halves(share_scratch *s)
{
    FOR_RANGE (r, 0, AREA_EDGE * AREA_EDGE) {
        float least = s->node[r * AREA_EDGE];
        for (uint32_t x = 1; x < AREA_EDGE; x++) {
            least = tile_min_f32(s->node[r * AREA_EDGE + x], least);
        }
        s->row_least[r] = least;
    }
    TILE_BARRIER();
    FOR_RANGE (r, 0, HALF_EDGE * HALF_EDGE) {
        const uint32_t h[2] = {r % HALF_EDGE, r / HALF_EDGE}; // along y, along z
        const uint32_t first = (h[1] + 1) / 2 * AREA_EDGE + (h[0] + 1) / 2;
        const float *row[4];
        float w[2][2], least = SOLID_NEAR_CELLS;
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t at = first + k / 2 * AREA_EDGE + k % 2;
            row[k] = s->node + at * AREA_EDGE;
            least = tile_min_f32(s->row_least[at], least);
        }
        for (int a = 0; a < 2; a++) {
            w[a][1] = (h[a] & 1) != 0 ? 0.25f : 0.75f;
            w[a][0] = 1.0f - w[a][1];
        }
        if (least < OPEN_CELLS) {
            share_half_row(row, w[0], w[1], s->half + r * HALF_EDGE);
        } else {
            for (uint32_t x = 0; x < HALF_EDGE; x++) {
                s->half[r * HALF_EDGE + x] = 255;
            }
        }
    }
    TILE_BARRIER();
}

/// Four half cells under the density kernel 1 - |x|: an eighth, three, three, and one.
TILE_FN uint32_t under_kernel(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (a + d) + 3 * (b + c);
}

TILE_FN void share_rooms(share_scratch *s)
{
    const int row = HALF_EDGE, plane = HALF_EDGE * HALF_EDGE;
    share_halves(s);
    FOR_BOX (x, y, z, HALF_EDGE, HALF_EDGE, TILE_EDGE) {
        const uint8_t *from = s->half + 2 * z * plane + y * row + x;
        s->pass_z[z * plane + y * row + x] =
            (uint16_t)under_kernel(from[0], from[plane], from[2 * plane], from[3 * plane]);
    }
    TILE_BARRIER();
    FOR_BOX (x, y, z, HALF_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint16_t *from = s->pass_z + z * plane + 2 * y * row + x;
        s->pass_y[(z * TILE_EDGE + y) * row + x] =
            (uint16_t)under_kernel(from[0], from[row], from[2 * row], from[3 * row]);
    }
    TILE_BARRIER();
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint16_t *from = s->pass_y + (z * TILE_EDGE + y) * row + 2 * x;
        s->room[cell_index(x, y, z)] = (uint8_t)((under_kernel(from[0], from[1], from[2], from[3]) + 256) >> 9);
    }
}

TILE_FN void share_sides(share_scratch *s)
{
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        uint32_t sides = 0;
        for (int axis = 0; axis < 3; axis++) {
            const int up[3] = {axis == 0, axis == 1, axis == 2};
            sides |= (uint32_t)(s->open[axis][share_face(axis, x, y, z)] > 0) << (2 * axis);
            sides |= (uint32_t)(s->open[axis][share_face(axis, x + up[0], y + up[1], z + up[2])] > 0) << (2 * axis + 1);
        }
        s->sides[cell_index(x, y, z)] = (uint8_t)sides;
    }
}

/// Shares of the solids that don't move. One tile per tile near them, or per listed one.
TILE_KERNEL(grid_solid_shares, CELL_LANES, grid_args, share_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t near = m->solid_listed != (uint32_t *)0 ? m->solid_listed[tile] : tile;
    const tile_place place = tile_place_of(&args->shape, 0, m->solid_dense[near]);
    load_still(args, s, place, 1);
    share_faces(args, s, place);
    share_rooms(s);
    share_sides(s);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint64_t cell = (uint64_t)near * TILE_CELLS + cell_index(x, y, z);
        for (int axis = 0; axis < 3; axis++) {
            m->solid_open[axis][cell] = s->open[axis][share_face(axis, x, y, z)];
        }
        m->solid_room[cell] = s->room[cell_index(x, y, z)];
        m->solid_sides[cell] = s->sides[cell_index(x, y, z)];
    }
}

// -------------------------------------------------------------------------------------------------------- each substep

/// What solids that don't move cover of the faces; `i` as in solid_tile.
TILE_FN void share_still(const grid_args *args, share_scratch *s, tile_place place, uint32_t i)
{
    if (i != TILE_NONE) {
        load_still(args, s, place, 1);
        share_faces(args, s, place);
    }
    for (int axis = 0; axis < 3; axis++) {
        FOR_RANGE (f, 0, TILE_FACES) {
            s->still[axis][f] = i != TILE_NONE ? s->covered[axis][f] : (uint8_t)0;
        }
    }
}

/// Which body covers a face, and what it covers besides those solids that don't move. Of the tank's walls too: a body
/// that goes through one pushes nothing away there.
TILE_FN void share_owners(share_scratch *s)
{
    TILE_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const int nx = TILE_EDGE + (axis == 0), ny = TILE_EDGE + (axis == 1), nz = TILE_EDGE + (axis == 2);
        int u, v;
        face_strides(axis, &u, &v);
        FOR_BOX (x, y, z, nx, ny, nz) {
            const int i = share_face(axis, x, y, z), corner = area_index(x, y, z),
                      corners[4] = {corner, corner + u, corner + v, corner + u + v};
            uint8_t owner = BODY_NONE;
            float least = 1e9f;
            for (int k = 0; k < 4; k++) {
                const float distance = s->node[corners[k]];
                const uint8_t other = s->owner[corners[k]];
                owner = distance < least || (distance == least && other < owner) ? other : owner;
                least = tile_min_f32(distance, least);
            }
            const int left = 255 - s->still[axis][i], covered = tile_min_i32(s->covered[axis][i], left);
            s->covered[axis][i] = (uint8_t)covered;
            s->open[axis][i] = (uint8_t)tile_min_i32(s->open[axis][i], left - covered);
            s->face_owner[axis][i] = covered > 0 ? owner : (uint8_t)BODY_NONE;
        }
    }
    TILE_BARRIER();
}

/// The shares of a tile that no body is near: what was computed once, or all, or nothing.
TILE_FN void put_still(const grid_args *args, uint32_t tile, uint32_t i)
{
    const grid_memory *m = &args->m;
    const uint8_t open = i == TILE_FULL ? 0 : 255;
    const uint64_t from = (uint64_t)i * TILE_CELLS, to = (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (c, 0, TILE_CELLS) {
        const int known = i != TILE_NONE && i != TILE_FULL;
        for (int axis = 0; axis < 3; axis++) {
            m->open[axis][to + c] = known ? m->solid_open[axis][from + c] : open;
        }
        m->room[to + c] = known ? m->solid_room[from + c] : open;
        m->solid_flux[to + c] = 0.0f;
        m->sides[to + c] = known ? m->solid_sides[from + c] : open & 63;
    }
    if (m->cover_owner != (uint8_t *)0) {
        FOR_RANGE (c, 0, TILE_CELLS) {
            m->cover_owner[to + c] = BODY_NONE;
        }
    }
}

/// What a body takes of a cell, 0..255: half cells by the distance at their centres, which is exact for sides that lie
/// along the grid.
TILE_FN int body_share(const grid_bodies *bodies, uint32_t b, const float *center)
{
    int sum = 0;
    for (int k = 0; k < 8; k++) {
        const float at[3] = {center[0] + ((k & 1) != 0 ? 0.25f : -0.25f), center[1] + ((k & 2) != 0 ? 0.25f : -0.25f),
                             center[2] + ((k & 4) != 0 ? 0.25f : -0.25f)};
        const float solid = tile_clamp_f32(0.5f - 2.0f * body_distance(bodies, b, at), 0.0f, 1.0f);
        sum += tile_round_i32(solid * 255.0f);
    }
    return (sum + 4) >> 3;
}

/// What the covers of a body's faces leave out of its volume. `both`: of the two faces along each axis.
TILE_FN void put_lack(const grid_args *args, uint32_t owner, const float *center, const int *both, uint64_t to)
{
    const grid_memory *m = &args->m;
    const int is_full = both[0] + both[1] + both[2] == 6 * 255;
    const int share = owner == BODY_NONE || is_full ? 255 : body_share(m->bodies, owner, center);
    for (int axis = 0; axis < 3; axis++) {
        m->lack[axis][to] = (int16_t)(owner != BODY_NONE ? 2 * share - both[axis] : 0);
    }
}

/// What a body covers of a cell, and how much of the cell it therefore pushes away. Where several bodies meet in a
/// cell, the first of them counts.
TILE_FN void put_moving(const grid_args *args, share_scratch *s, uint32_t tile, tile_place place)
{
    const grid_memory *m = &args->m;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint32_t c = cell_index(x, y, z);
        const uint64_t to = (uint64_t)tile * TILE_CELLS + c;
        uint8_t owner = BODY_NONE;
        int face[3], next[3], both[3];
        float part[3] = {0.0f, 0.0f, 0.0f};
        for (int axis = 0; axis < 3; axis++) {
            face[axis] = share_face(axis, x, y, z);
            next[axis] = share_face(axis, x + (axis == 0), y + (axis == 1), z + (axis == 2));
            owner = (uint8_t)tile_min_i32(
                owner, tile_min_i32(s->face_owner[axis][face[axis]], s->face_owner[axis][next[axis]]));
            m->open[axis][to] = s->open[axis][face[axis]];
        }
        const float at[3] = {(float)(place.x * TILE_EDGE + x) + 0.5f, (float)(place.y * TILE_EDGE + y) + 0.5f,
                             (float)(place.z * TILE_EDGE + z) + 0.5f};
        float velocity[3] = {0.0f, 0.0f, 0.0f};
        if (owner != BODY_NONE) {
            body_velocity(&m->bodies->state[owner], at, velocity);
        }
        for (int axis = 0; axis < 3; axis++) {
            const int above = s->face_owner[axis][next[axis]] == owner ? s->covered[axis][next[axis]] : 0;
            const int below = s->face_owner[axis][face[axis]] == owner ? s->covered[axis][face[axis]] : 0;
            const int cover = owner != BODY_NONE ? above - below : 0;
            m->cover[axis][to] = (int16_t)cover;
            both[axis] = above + below;
            part[axis] = (float)cover * (1.0f / 255.0f) * velocity[axis];
        }
        put_lack(args, owner, at, both, to);
        m->cover_owner[to] = owner;
        m->room[to] = s->room[c];
        m->sides[to] = s->sides[c];
        m->solid_flux[to] = (part[0] + part[1]) + part[2];
    }
}

/// What solids leave open of each tile in use: faces, rooms and what they push away. One tile per active tile.
TILE_KERNEL(grid_solids, CELL_LANES, grid_args, share_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const uint32_t near = bodies_near_tile(args, place, 2.5f), i = m->solid_tile[dense];
    const int surface = near != 0 && solids_near_tile(args, place);
    const uint32_t some = near != 0 && !surface ? bodies_in_area(args, place, near) : near;
    if (some == 0) {
        put_still(args, tile, i);
        return;
    }
    load_still(args, s, place, surface);
    if (!surface) {
        mark_area(args, s, place, some);
    }
    load_bodies(args, s, place, near, surface);
    join_bodies(s, 1);
    share_rooms(s);
    share_still(args, s, place, i);
    if (i != TILE_NONE) {
        join_bodies(s, 0);
    }
    share_faces(args, s, place);
    share_owners(s);
    share_sides(s);
    put_moving(args, s, tile, place);
}

typedef struct solid_cells_scratch {
    uint8_t state[RIM_CELLS]; ///< CELL_WET, CELL_ROOMY
} solid_cells_scratch;

enum { CELL_WET = 1, CELL_ROOMY = 2, SLIVER_ROOM = 160, SLIVER_ROOM_MIN = 8 };

/// Whether there are particles in a cell, and whether it has so much room that there would be if it were under water.
TILE_FN uint8_t wetness(const grid_memory *m, uint32_t slot, uint32_t o, uint32_t c)
{
    if (slot == TILE_NONE) {
        return 0;
    }
    const int wet = o != TILE_NONE && m->cell_count[(uint64_t)(o != TILE_NONE ? o : 0) * TILE_CELLS + c] > 0;
    const int roomy = m->room[(uint64_t)slot * TILE_CELLS + c] >= SLIVER_ROOM;
    return (uint8_t)((wet ? CELL_WET : 0) | (roomy ? CELL_ROOMY : 0));
}

TILE_FN void load_wetness(const grid_args *args, tile_place place, uint32_t slot, uint32_t o, uint8_t *state)
{
    const grid_memory *m = &args->m;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        state[rim_index(x, y, z)] = wetness(m, slot, o, cell_index(x, y, z));
    }
    for (int side = 0; side < 6; side++) {
        const uint32_t dense = side_tile(args, 0, place, side);
        const uint32_t other = dense != TILE_NONE ? m->slot[dense] : TILE_NONE,
                       occupied = dense != TILE_NONE ? m->level[0].index[dense] : TILE_NONE;
        FOR_BOX (i, j, once, TILE_EDGE, TILE_EDGE, 1) {
            state[rim_of_side(side, i, j) + once] = wetness(m, other, occupied, cell_of_side(side, i, j));
        }
    }
    TILE_BARRIER();
}

/// Cell types near solids. A sliver beside a solid is too small to be sure of a particle: one that has none is under
/// water if a roomy neighbour is, or, where it has none of those, if another sliver is. Where no pressure is kept for
/// it, it is closed: so are films, particles or not, whose faces are open by a rounding and would enclose each other.
/// One tile per active tile.
TILE_KERNEL(grid_solid_cells, CELL_LANES, grid_args, solid_cells_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->active_tile[tile], o = m->level[0].index[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    if (m->solid_tile[dense] == TILE_NONE && bodies_near_tile(args, place, 2.5f) == 0) {
        return;
    }
    load_wetness(args, place, tile, o, s->state);
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const uint64_t at = (uint64_t)tile * TILE_CELLS + cell_index(x, y, z);
        const int rim = rim_index(x, y, z), around[3] = {1, RIM_EDGE, RIM_EDGE * RIM_EDGE};
        const uint32_t room = m->room[at], sides = m->sides[at];
        uint32_t wet = 0, roomy = 0, roomy_wet = 0;
        for (int side = 0; side < 6; side++) {
            const uint8_t other = s->state[rim + (side % 2 == 0 ? -around[side / 2] : around[side / 2])];
            const uint32_t joined = sides >> side & 1, is_wet = joined & (uint32_t)(other & CELL_WET);
            wet += is_wet;
            roomy += joined & (uint32_t)(other >> 1);
            roomy_wet += is_wet & (uint32_t)(other >> 1);
        }
        const uint32_t under = roomy > 0 ? roomy_wet : wet;
        const uint8_t type = m->cell_type[at];
        const int sliver = type == CELL_AIR && room < SLIVER_ROOM && under != 0;
        const uint8_t filled = o != TILE_NONE && room >= SLIVER_ROOM_MIN ? CELL_LIQUID : CELL_SOLID;
        const int closed = sides == 0 || (type == CELL_LIQUID && room < SLIVER_ROOM_MIN);
        m->cell_type[at] = closed ? CELL_SOLID : sliver ? filled : type;
    }
}
