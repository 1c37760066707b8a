/// Distances to the solids of a tank, for kernels. Private to kernels/liquid.
///
/// Solids that don't move are sampled once at the cells' corners near their surfaces; bodies are evaluated where they
/// are. Distances are in cells, negative inside; the solids' union is the least of all.
#ifndef TARN_KERNELS_GRID_SOLIDS_H
#define TARN_KERNELS_GRID_SOLIDS_H

#include "kernels/device/pack.h"
#include "kernels/grid/grid.h"

enum { BODY_NONE = 255 }; ///< whose a surface is that doesn't move

TILE_FN float dot3(const float *a, const float *b)
{
    return (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2];
}

TILE_FN uint32_t node_of_tile(int x, int y, int z)
{
    return (uint32_t)((z * SOLID_EDGE + y) * SOLID_EDGE + x);
}

// --------------------------------------------------------------------------------------------- solids that don't move

/// Distance at a corner of a cell, anywhere in the tank. Where no surface is near: SOLID_NEAR_CELLS, which is less.
TILE_FN float solid_node_at(const grid_args *args, int x, int y, int z)
{
    const int g[3] = {x, y, z};
    int place[3], local[3];
    for (int a = 0; a < 3; a++) {
        place[a] = tile_clamp_i32(g[a] >> TILE_LOG2, 0, args->shape.tiles[0][a] - 1);
        local[a] = tile_clamp_i32(g[a] - place[a] * TILE_EDGE, 0, TILE_EDGE);
    }
    const uint32_t i = args->m.solid_tile[tile_dense_of(&args->shape, 0, place[0], place[1], place[2])];
    if (i == TILE_NONE || i == TILE_FULL) {
        return i == TILE_NONE ? (float)SOLID_NEAR_CELLS : -(float)SOLID_NEAR_CELLS;
    }
    const int16_t node = args->m.solid_node[(uint64_t)i * SOLID_NODES + node_of_tile(local[0], local[1], local[2])];
    return (float)node * (1.0f / SOLID_NODE_UNIT);
}

/// Distance at a position by trilinear interpolation, and its gradient. Mirrored input gives mirrored bits.
TILE_FN float solid_distance(const grid_args *args, const int32_t *position, float *gradient)
{
    const grid_memory *m = &args->m;
    const float unit = 1.0f / (1 << POSITION_BITS);
    int cell[3];
    float w[3][2];
    for (int a = 0; a < 3; a++) {
        const int32_t last = (args->shape.cells[a] << POSITION_BITS) - 1;
        const int32_t at = tile_clamp_i32(position[a], 0, last);
        cell[a] = at >> POSITION_BITS;
        w[a][1] = ((float)(at & ((1 << POSITION_BITS) - 1)) + 0.5f) * unit;
        w[a][0] = 1.0f - w[a][1];
    }
    const uint32_t i =
        m->solid_tile[tile_dense_of(&args->shape, 0, cell[0] >> TILE_LOG2, cell[1] >> TILE_LOG2, cell[2] >> TILE_LOG2)];
    gradient[0] = gradient[1] = gradient[2] = 0.0f;
    if (i == TILE_NONE || i == TILE_FULL) {
        return i == TILE_NONE ? (float)SOLID_NEAR_CELLS : -(float)SOLID_NEAR_CELLS;
    }
    const int16_t *node =
        m->solid_node + (uint64_t)i * SOLID_NODES + node_of_tile(cell[0] & 7, cell[1] & 7, cell[2] & 7);
    float v[8];
    for (int k = 0; k < 8; k++) {
        v[k] = (float)node[node_of_tile(k & 1, k >> 1 & 1, k >> 2)] * (1.0f / SOLID_NODE_UNIT);
    }
    const float w00 = w[1][0] * w[2][0], w10 = w[1][1] * w[2][0], w01 = w[1][0] * w[2][1], w11 = w[1][1] * w[2][1];
    const float low = (w00 * v[0] + w10 * v[2]) + (w01 * v[4] + w11 * v[6]);
    const float high = (w00 * v[1] + w10 * v[3]) + (w01 * v[5] + w11 * v[7]);
    gradient[0] = high - low;
    gradient[1] = w[2][0] * (w[0][0] * (v[2] - v[0]) + w[0][1] * (v[3] - v[1])) +
                  w[2][1] * (w[0][0] * (v[6] - v[4]) + w[0][1] * (v[7] - v[5]));
    gradient[2] = w[1][0] * (w[0][0] * (v[4] - v[0]) + w[0][1] * (v[5] - v[1])) +
                  w[1][1] * (w[0][0] * (v[6] - v[2]) + w[0][1] * (v[7] - v[3]));
    return w[0][0] * low + w[0][1] * high;
}

/// Positive share of a triangle over which a distance is linear. One that lies in a solid's surface, or where two
/// solids touch, is shut.
TILE_FN float triangle_share(float a, float b, float c)
{
    const int inside = (a <= 0.0f) + (b <= 0.0f) + (c <= 0.0f);
    if (inside == 0) {
        return 1.0f;
    }
    if (inside == 3) {
        return 0.0f;
    }
    const int odd = inside == 1; // the corner whose side differs is the one that isn't outside
    const float tip = (a <= 0.0f) == odd ? a : (b <= 0.0f) == odd ? b : c;
    // The other two in an order that a mirror image keeps: their product commutes.
    const float p = tip == a ? b : a, q = tip == c ? b : c;
    const float cut = tip * tip / ((tip - p) * (tip - q));
    return odd ? 1.0f - cut : cut;
}

/// Open share of a square from the distances at its corners, around it: 0..255.
TILE_FN uint8_t square_share(float v00, float v10, float v11, float v01)
{
    const int shut = (v00 <= 0.0f) + (v10 <= 0.0f) + (v11 <= 0.0f) + (v01 <= 0.0f);
    if (shut == 0 || shut == 4) {
        return shut == 0 ? 255 : 0;
    }
    const float center = ((v00 + v11) + (v10 + v01)) * 0.25f;
    const float share = ((triangle_share(v00, v10, center) + triangle_share(v01, v11, center)) +
                         (triangle_share(v00, v01, center) + triangle_share(v10, v11, center))) *
                        0.25f;
    return (uint8_t)tile_clamp_i32(tile_round_i32(share * 255.0f), 0, 255);
}

// -------------------------------------------------------------------------------------------------------------- bodies

/// to = R v and to = R^T v.
TILE_FN void turn_by(const float *turn, const float *v, float *to)
{
    for (int a = 0; a < 3; a++) {
        to[a] = (turn[3 * a] * v[0] + turn[3 * a + 1] * v[1]) + turn[3 * a + 2] * v[2];
    }
}

TILE_FN void turn_back(const float *turn, const float *v, float *to)
{
    for (int a = 0; a < 3; a++) {
        to[a] = (turn[a] * v[0] + turn[3 + a] * v[1]) + turn[6 + a] * v[2];
    }
}

TILE_FN void cross3(const float *a, const float *b, float *to)
{
    to[0] = a[1] * b[2] - a[2] * b[1];
    to[1] = a[2] * b[0] - a[0] * b[2];
    to[2] = a[0] * b[1] - a[1] * b[0];
}

/// The rotation as a matrix, from that as a quaternion.
TILE_FN void set_turn(grid_body_state *state)
{
    const float *q = state->rotation;
    float *t = state->turn;
    const float xx = q[0] * q[0], yy = q[1] * q[1], zz = q[2] * q[2];
    const float xy = q[0] * q[1], xz = q[0] * q[2], yz = q[1] * q[2];
    const float xw = q[0] * q[3], yw = q[1] * q[3], zw = q[2] * q[3];
    t[0] = 1.0f - 2.0f * (yy + zz);
    t[1] = 2.0f * (xy - zw);
    t[2] = 2.0f * (xz + yw);
    t[3] = 2.0f * (xy + zw);
    t[4] = 1.0f - 2.0f * (xx + zz);
    t[5] = 2.0f * (yz - xw);
    t[6] = 2.0f * (xz - yw);
    t[7] = 2.0f * (yz + xw);
    t[8] = 1.0f - 2.0f * (xx + yy);
}

/// Distance to a sampled field, trilinear; outside its grid the distance to the grid is added.
TILE_FN float field_distance(const grid_field *field, const float *local)
{
    int64_t at = 0;
    float share[3], outside = 0.0f;
    const int64_t stride[3] = {1, field->nodes[0], (int64_t)field->nodes[0] * field->nodes[1]};
    for (int a = 0; a < 3; a++) {
        const float wanted = (local[a] - field->min[a]) * field->per_spacing, last = (float)(field->nodes[a] - 1);
        const float inside = tile_clamp_f32(wanted, 0.0f, last);
        const int node = tile_min_i32((int)inside, field->nodes[a] - 2);
        outside += (wanted - inside) * (wanted - inside);
        share[a] = inside - (float)node;
        at += node * stride[a];
    }
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) {
        float weight = 1.0f;
        int64_t index = at;
        for (int a = 0; a < 3; a++) {
            weight *= k >> a & 1 ? share[a] : 1.0f - share[a];
            index += k >> a & 1 ? stride[a] : 0;
        }
        sum += weight * field->distance[index];
    }
    return sum + (outside > 0.0f ? tile_sqrt_f32(outside) / field->per_spacing : 0.0f);
}

/// Distance in a body's own frame.
TILE_FN float body_shape_distance(const grid_bodies *bodies, const grid_body *body, const float *p)
{
    const float *half = body->half;
    if (body->kind == BODY_BOX) {
        float square = 0.0f, inside = -1e9f;
        for (int a = 0; a < 3; a++) {
            const float beyond = tile_abs_f32(p[a]) - half[a], out = tile_max2_f32(beyond, 0.0f);
            square += out * out;
            inside = tile_max2_f32(inside, beyond);
        }
        return inside > 0.0f ? tile_sqrt_f32(square) : inside;
    }
    if (body->kind == BODY_FIELD) {
        const float unscaled[3] = {p[0] / half[0], p[1] / half[0], p[2] / half[0]};
        return half[0] * field_distance(&bodies->field[body->field], unscaled);
    }
    const float end = tile_abs_f32(p[1]) - half[1], y = tile_max2_f32(end, 0.0f);
    if (body->kind == BODY_ROUND) {
        return tile_sqrt_f32((p[0] * p[0] + p[2] * p[2]) + y * y) - half[0];
    }
    const float side = tile_sqrt_f32(p[0] * p[0] + p[2] * p[2]) - half[0];
    if (side > 0.0f && end > 0.0f) {
        return tile_sqrt_f32(side * side + end * end);
    }
    return tile_max2_f32(side, end);
}

/// A point of the tank in the frame of a body's shape, cells.
TILE_FN void body_local(const grid_bodies *bodies, uint32_t b, const float *at, float *local)
{
    const grid_body_state *state = &bodies->state[b];
    const float from[3] = {at[0] - state->position[0], at[1] - state->position[1], at[2] - state->position[2]};
    turn_back(state->turn, from, local);
    for (int a = 0; a < 3; a++) {
        local[a] += bodies->body[b].center[a];
    }
}

/// Distance to a body at a point of the tank, cells.
TILE_FN float body_distance(const grid_bodies *bodies, uint32_t b, const float *at)
{
    float local[3];
    body_local(bodies, b, at, local);
    return body_shape_distance(bodies, &bodies->body[b], local);
}

/// The box around a body, and how far is far from it: what lies beyond has a body_distance of at least what the box was
/// made for.
typedef struct body_box {
    float position[3], turn[9], center[3], half[3]; ///< center: from the centre of mass
    float far_square;
} body_box;

TILE_FN void set_body_box(const grid_bodies *bodies, uint32_t b, float cells, body_box *box)
{
    const grid_body *body = &bodies->body[b];
    const float far = tile_max2_f32(cells, 0.0f) + body->box_slack;
    for (int i = 0; i < 9; i++) {
        box->turn[i] = bodies->state[b].turn[i];
    }
    for (int a = 0; a < 3; a++) {
        box->position[a] = bodies->state[b].position[a];
        box->center[a] = body->box_center[a] - body->center[a];
        box->half[a] = body->box_half[a];
    }
    box->far_square = far * far;
}

/// Squared distance of a point of the tank to the box, cells.
TILE_FN float body_box_square(const body_box *box, const float *at)
{
    const float from[3] = {at[0] - box->position[0], at[1] - box->position[1], at[2] - box->position[2]};
    float local[3], square = 0.0f;
    turn_back(box->turn, from, local);
    for (int a = 0; a < 3; a++) {
        const float out = tile_max2_f32(tile_abs_f32(local[a] - box->center[a]) - box->half[a], 0.0f);
        square += out * out;
    }
    return square;
}

/// Whether body_distance is surely at least `cells` at a point. For all points within r of it, ask for r more.
TILE_FN int body_is_beyond(const grid_bodies *bodies, uint32_t b, const float *at, float cells)
{
    body_box box;
    set_body_box(bodies, b, cells, &box);
    return body_box_square(&box, at) > box.far_square;
}

/// Those of some bodies that may be nearer to a point than `cells`. The same for all lanes if `at` is.
TILE_FN uint32_t bodies_within(const grid_bodies *bodies, uint32_t some, const float *at, float cells)
{
    uint32_t within = 0;
    for (; some != 0; some &= some - 1) {
        const uint32_t b = tile_lowest_bit_u32(some);
        within |= (uint32_t)!body_is_beyond(bodies, b, at, cells) << b;
    }
    return within;
}

/// Boxes of some bodies, in order. Collective; ends with a barrier.
TILE_FN void set_body_boxes(const grid_bodies *bodies, uint32_t some, float cells, body_box *boxes)
{
    FOR_RANGE (b, 0, BODIES_MAX) {
        if ((some >> b & 1) != 0) {
            set_body_box(bodies, b, cells, &boxes[tile_popcount_u32(some & ((1u << b) - 1))]);
        }
    }
    TILE_BARRIER();
}

/// Which points of a pack aren't beyond all boxes.
TILE_FN pack_i32 pack_meets_boxes(const body_box *boxes, uint32_t count, const pack_f32 *at)
{
    pack_i32 meets = pack_all_i32(0);
    for (uint32_t b = 0; b < count; b++) {
        const body_box *box = &boxes[b];
        const float *turn = box->turn;
        pack_f32 from[3], square = pack_all_f32(0.0f);
        TILE_UNROLL for (int a = 0; a < 3; a++) from[a] = at[a] - box->position[a];
        TILE_UNROLL for (int a = 0; a < 3; a++)
        {
            const pack_f32 local = (turn[a] * from[0] + turn[3 + a] * from[1]) + turn[6 + a] * from[2];
            const pack_f32 out = pack_max_f32(pack_abs_f32(local - box->center[a]) - box->half[a], pack_all_f32(0.0f));
            square = square + out * out;
        }
        meets |= square <= box->far_square;
    }
    return meets;
}

/// Distance, and the direction away from the surface by differences.
TILE_FN float body_gradient(const grid_bodies *bodies, uint32_t b, const float *at, float *gradient)
{
    const float step = 0.0625f;
    for (int a = 0; a < 3; a++) {
        float high[3] = {at[0], at[1], at[2]}, low[3] = {at[0], at[1], at[2]};
        high[a] += step;
        low[a] -= step;
        gradient[a] = (body_distance(bodies, b, high) - body_distance(bodies, b, low)) * (0.5f / step);
    }
    return body_distance(bodies, b, at);
}

/// Velocity of a body's matter at a point, cells per step.
TILE_FN void body_velocity(const grid_body_state *body, const float *at, float *velocity)
{
    const float r[3] = {at[0] - body->position[0], at[1] - body->position[1], at[2] - body->position[2]};
    float turning[3];
    cross3(body->spin, r, turning);
    for (int a = 0; a < 3; a++) {
        velocity[a] = body->velocity[a] + turning[a];
    }
}

#define TILE_RADIUS 6.93f ///< half a tile's diagonal

TILE_FN void tile_center(tile_place place, float *center)
{
    const int at[3] = {place.x, place.y, place.z};
    for (int a = 0; a < 3; a++) {
        center[a] = (float)(at[a] * TILE_EDGE + TILE_EDGE / 2);
    }
}

/// Bit per body that may come within `margin` cells of a tile. The same for all lanes.
TILE_FN uint32_t bodies_near_tile(const grid_args *args, tile_place place, float margin)
{
    const grid_bodies *bodies = args->m.bodies;
    uint32_t near = 0;
    if (bodies == (const grid_bodies *)0) {
        return 0;
    }
    float center[3];
    tile_center(place, center);
    for (uint32_t b = 0; b < bodies->count; b++) {
        const float *position = bodies->state[b].position;
        const float away[3] = {position[0] - center[0], position[1] - center[1], position[2] - center[2]};
        const float reach = bodies->body[b].reach + margin + TILE_RADIUS;
        near |= (uint32_t)(dot3(away, away) < reach * reach) << b;
    }
    return near;
}

/// Whether there is the surface or the inside of a solid that stands still in a tile or beside it. The same for all
/// lanes.
TILE_FN int solids_near_tile(const grid_args *args, tile_place place)
{
    int near = 0;
    for (uint32_t n = 0; n < 27; n++) {
        const uint32_t dense = tile_neighbour(&args->shape, 0, place, n);
        near |= dense != TILE_NONE && args->m.solid_tile[dense] != TILE_NONE;
    }
    return near;
}

#define SOLID_MARGIN 0.0625f ///< cells that particles keep from a solid

enum { HELD_COVER = 64 }; ///< of 255: viscosity takes faces that a solid covers by less for free

/// The nearest solid's distance at a position, the way out of it where it is nearer than SOLID_MARGIN, and its
/// velocity.
TILE_FN float nearest_solid(const grid_args *args, uint32_t near, const int32_t *position, float *normal,
                            float *velocity)
{
    float distance = solid_distance(args, position, normal);
    velocity[0] = velocity[1] = velocity[2] = 0.0f;
    if (near != 0) {
        float at[3];
        for (int a = 0; a < 3; a++) {
            at[a] = ((float)position[a] + 0.5f) * (1.0f / (1 << POSITION_BITS));
        }
        for (uint32_t rest = near; rest != 0; rest &= rest - 1) {
            const uint32_t b = tile_lowest_bit_u32(rest);
            if (body_is_beyond(args->m.bodies, b, at, distance)) {
                continue;
            }
            const float other = body_distance(args->m.bodies, b, at);
            if (other < distance) {
                distance = other;
                if (distance < SOLID_MARGIN) {
                    body_gradient(args->m.bodies, b, at, normal);
                    body_velocity(&args->m.bodies->state[b], at, velocity);
                }
            }
        }
    }
    const float length = tile_sqrt_f32(dot3(normal, normal));
    for (int a = 0; a < 3; a++) {
        normal[a] = length > 1e-6f ? normal[a] / length : 0.0f;
    }
    return distance;
}

/// A cell's density along an axis over that of the lightest liquid: the mean of its two faces'. `upper`: the next
/// tiles' active indices.
TILE_FN float density_along(const grid_memory *m, uint32_t slot, const uint32_t *upper, uint32_t c, int axis)
{
    const float *beta = m->beta[axis];
    if (beta == (const float *)0) {
        return 1.0f;
    }
    const uint32_t stride = 1u << TILE_LOG2 * axis;
    const int is_last = (c >> TILE_LOG2 * axis & (TILE_EDGE - 1)) == TILE_EDGE - 1;
    const uint64_t own = (uint64_t)slot * TILE_CELLS + c,
                   next = is_last ? (uint64_t)upper[axis] * TILE_CELLS + c - (TILE_EDGE - 1) * stride : own + stride;
    const float low = 1.0f / beta[own];
    return is_last && upper[axis] == TILE_NONE ? low : 0.5f * (low + 1.0f / beta[next]);
}

/// Keeps the sums of what a tile's cells have for a body, in all `count` of BODY_SUMS, and zero for the rest. `tile` is
/// that of a launch over the listed ones. Collective, after a barrier.
TILE_FN void gather_for_body(const grid_memory *m, uint32_t tile, uint32_t b, float (*value)[TILE_CELLS], int count)
{
    float *to = m->body_partial + ((uint64_t)tile * BODIES_MAX + b) * BODY_SUMS;
    for (int k = 0; k < count; k++) {
        tile_sum_f32(value[k], TILE_CELLS);
    }
    if (TILE_SINGLE()) {
        for (int k = 0; k < BODY_SUMS; k++) {
            to[k] = k < count ? value[k < count ? k : 0][0] : 0.0f;
        }
    }
}

/// Free bodies that may cover faces in a tile: bits.
TILE_FN uint32_t free_near_tile(const grid_args *args, uint32_t o)
{
    const uint32_t near = bodies_near_tile(args, tile_place_of(&args->shape, 0, args->m.level[0].tile[o]), 2.5f);
    uint32_t free = 0;
    for (uint32_t b = 0; b < args->m.bodies->count; b++) {
        free |= (near >> b & 1) != 0 && args->m.bodies->body[b].is_free ? 1u << b : 0u;
    }
    return free;
}

#endif
