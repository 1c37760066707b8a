/// The flow that moves particles from one frame to the next: how far what is at a cell's corner goes, in quanta, as
/// whole numbers. A decoder and every encoder compute the same bits from it.
///
/// Nodes lie at the cells' corners, the tile's own being those of its cells' lowest corners. A tile's block has 9 nodes
/// a side, so that every place in the tile lies between eight nodes of one block: those beyond the tile's own 8 are
/// copies of the next tiles' or, where the frame has no such tile, of the nearest one of its own.
///
/// Of the last tiles along z only planes of nodes up to the tank's end have a meaning: a flat tank has two.
///
/// Places are in 1/1024 cell. A node's number is in quanta: 1/2^bits of a cell.
#ifndef TARN_PROTOCOL_FLOW_GRID_H
#define TARN_PROTOCOL_FLOW_GRID_H

#include "protocol/lanes.h"

enum {
    TARN_FLOW_EDGE = 9, ///< nodes of a block, per axis
    TARN_FLOW_BLOCK = TARN_FLOW_EDGE * TARN_FLOW_EDGE * TARN_FLOW_EDGE,
    TARN_FLOW_NODES = 512, ///< that a tile has of its own
    TARN_FLOW_MAX = 32767, ///< largest number of a node, up or down
    TARN_PLACE_BITS = 10,  ///< of a cell
    TARN_PLACE_TILE = 8 << TARN_PLACE_BITS,
    TARN_FLOW_WEIGHT_BITS = 5, ///< of an axis
};

/// A node: x, y, z; what the frame doesn't say is filled in from nodes near it. Of a row's first node the fourth number
/// says which of the row's eight the frame knows, a bit each; of the others it means nothing.
typedef struct tarn_flow_node {
    int16_t d[4];
} tarn_flow_node;

/// A frame's grid. `index` has one entry per tile of the tank, z-major: 1 + its block, or 0.
typedef struct tarn_flow {
    const uint32_t *index;
    const tarn_flow_node *nodes; ///< [block][TARN_FLOW_BLOCK], x fastest
    uint32_t tiles[3];           ///< of the tank
    uint32_t bits;               ///< a quantum is 1/2^bits of a cell
} tarn_flow;

TARN_CODE_FN uint32_t tarn_flow_node_at(uint32_t x, uint32_t y, uint32_t z)
{
    return (z * TARN_FLOW_EDGE + y) * TARN_FLOW_EDGE + x;
}

/// How many planes of a block's nodes there are along z, 2..TARN_FLOW_EDGE: those that a place in the tank can lie
/// between. Of the others no node is known, and none is read.
/// @param end_z  last place in the tank
TARN_CODE_FN uint32_t tarn_flow_planes(int32_t end_z, uint32_t tile_z)
{
    const uint32_t cells = ((uint32_t)end_z >> TARN_PLACE_BITS) + 1 - 8 * tile_z;
    return cells < 8 ? cells + 1 : (uint32_t)TARN_FLOW_EDGE;
}

/// Where the block of the tile at a place is; NULL where the frame has none.
/// @param place  inside the tank
TARN_CODE_FN const tarn_flow_node *tarn_flow_block(const tarn_flow *flow, const int32_t place[3])
{
    const int shift = TARN_PLACE_BITS + 3;
    const uint32_t x = (uint32_t)place[0] >> shift, y = (uint32_t)place[1] >> shift, z = (uint32_t)place[2] >> shift;
    const uint32_t block = flow->index[(z * flow->tiles[1] + y) * flow->tiles[0] + x];
    return block > 0 ? flow->nodes + (uint64_t)(block - 1) * TARN_FLOW_BLOCK : (const tarn_flow_node *)0;
}

/// The flow at a place of a block's tile, trilinear, times 2^15: |sum| <= 2^15 TARN_FLOW_MAX. The fourth means nothing.
///
/// Each of the eight weights is a product of three that add up to 32, hence at most 2^15; less than nothing they fit 16
/// bits. Pairs of nodes along y go through one instruction for products of pairs.
#ifndef __CUDACC__
TARN_CODE_FN tarn_four tarn_flow_sum(const tarn_flow_node *block, tarn_four place)
{
    const int shift = TARN_PLACE_BITS - TARN_FLOW_WEIGHT_BITS;
    const tarn_eight strides = {1, TARN_FLOW_EDGE, TARN_FLOW_EDGE * TARN_FLOW_EDGE, 0, 0, 0, 0, 0};
    const tarn_eight one = tarn_eight_all(1 << TARN_FLOW_WEIGHT_BITS), upper = {0, -1, 0, -1, 0, -1, 0, -1};
    const tarn_four cell = place >> TARN_PLACE_BITS & 7;
    const tarn_four at = tarn_eight_dot(tarn_eight_narrow(cell, cell), strides);
    const tarn_flow_node *n = block + at[0] + at[1];
    const tarn_eight w = (tarn_eight)(((place & ((1 << TARN_PLACE_BITS) - 1)) + (1 << (shift - 1))) >> shift);
    const tarn_eight wx = __builtin_shufflevector(w, w, 0, 0, 0, 0, 0, 0, 0, 0),
                     wy = __builtin_shufflevector(w, w, 2, 2, 2, 2, 2, 2, 2, 2),
                     wz = __builtin_shufflevector(w, w, 4, 4, 4, 4, 4, 4, 4, 4);
    const tarn_eight y = (wy & upper) | ((one - wy) & ~upper), z1 = y * wz, z0 = y * one - z1;
    const tarn_eight x1 = -wx, x0 = wx - one;
    const tarn_eight n00 = tarn_eight_load(n), n10 = tarn_eight_load(n + TARN_FLOW_EDGE),
                     n01 = tarn_eight_load(n + TARN_FLOW_EDGE * TARN_FLOW_EDGE),
                     n11 = tarn_eight_load(n + TARN_FLOW_EDGE * (TARN_FLOW_EDGE + 1));
    const tarn_four less =
        tarn_eight_dot(tarn_eight_zip_low(n00, n10), z0 * x0) + tarn_eight_dot(tarn_eight_zip_high(n00, n10), z0 * x1) +
        tarn_eight_dot(tarn_eight_zip_low(n01, n11), z1 * x0) + tarn_eight_dot(tarn_eight_zip_high(n01, n11), z1 * x1);
    return -less;
}

#else
TARN_CODE_FN tarn_four tarn_flow_sum(const tarn_flow_node *block, tarn_four place)
{
    const int shift = TARN_PLACE_BITS - TARN_FLOW_WEIGHT_BITS, one = 1 << TARN_FLOW_WEIGHT_BITS;
    const tarn_flow_node *n = block;
    int32_t w[3], stride = 1;
    for (int a = 0; a < 3; a++) {
        n += (place.v[a] >> TARN_PLACE_BITS & 7) * stride;
        w[a] = ((place.v[a] & ((1 << TARN_PLACE_BITS) - 1)) + (1 << (shift - 1))) >> shift;
        stride *= TARN_FLOW_EDGE;
    }
    const int32_t pair[4] = {(one - w[1]) * (one - w[2]), w[1] * (one - w[2]), (one - w[1]) * w[2], w[1] * w[2]};
    const tarn_flow_node *rows[4] = {n, n + TARN_FLOW_EDGE, n + TARN_FLOW_EDGE * TARN_FLOW_EDGE,
                                     n + TARN_FLOW_EDGE * (TARN_FLOW_EDGE + 1)};
    tarn_four sum = {{0, 0, 0, 0}};
    for (int k = 0; k < 3; k++) {
        int32_t x0 = 0, x1 = 0;
        for (int r = 0; r < 4; r++) {
            x0 += rows[r][0].d[k] * pair[r];
            x1 += rows[r][1].d[k] * pair[r];
        }
        sum.v[k] = x0 * (one - w[0]) + x1 * w[0];
    }
    return sum;
}
#endif

/// That sum as a distance in 1/1024 cell.
TARN_CODE_FN tarn_four tarn_flow_distance(tarn_four sum, uint32_t bits)
{
    const int shift = 3 * TARN_FLOW_WEIGHT_BITS - TARN_PLACE_BITS + (int)bits;
    return tarn_four_right(tarn_four_add(sum, tarn_four_all(1 << (shift - 1))), shift);
}

/// What is expected of a node out of the frame's reference: what its grid has where that came from which is now at the
/// node.
/// @param before  the reference's block of the node's tile; NULL where it has none, or there is no reference
/// @param ratio   of the two frames' intervals, in 1/65536
TARN_CODE_FN tarn_four tarn_flow_expect(const tarn_flow *reference, const tarn_flow_node *before, tarn_four node,
                                        uint32_t at, const int32_t end[4], uint32_t ratio)
{
    const tarn_four nil = tarn_four_of(0, 0, 0, 0);
    if (before == (const tarn_flow_node *)0) {
        return nil;
    }
    const tarn_four here = tarn_four_load_i16(before[at].d);
    const tarn_four back = tarn_four_left(here, TARN_PLACE_BITS - (int)reference->bits);
    const tarn_four place = tarn_four_min(tarn_four_max(tarn_four_sub(node, back), nil), tarn_four_load(end));
    int32_t there[4];
    tarn_four_store(there, place);
    const tarn_flow_node *block = tarn_flow_block(reference, there);
    const tarn_four sum = block != (const tarn_flow_node *)0 ? tarn_flow_sum(block, place)
                                                             : tarn_four_left(here, 3 * TARN_FLOW_WEIGHT_BITS);
    // 2^31 more than a sum is a number without a sign; that makes `ratio` more in the end.
    const tarn_four scaled = tarn_four_scale(tarn_four_xor(sum, tarn_four_all(INT32_MIN)), ratio, 1u << 30);
    return tarn_four_clamp_i16(tarn_four_sub(scaled, tarn_four_all((int32_t)ratio)));
}

/// A node of a tile's block beyond the tile's own: the next tile's, or the nearest of its own.
/// @param at  in the block, at least one of them 8
TARN_CODE_FN tarn_flow_node tarn_flow_border(const tarn_flow *flow, const uint32_t tile[3], const tarn_flow_node *block,
                                             const uint32_t at[3])
{
    uint32_t other[3], from[3], nearest[3];
    int is_inside = 1;
    for (int a = 0; a < 3; a++) {
        const uint32_t beyond = at[a] >> 3;
        other[a] = tile[a] + beyond;
        from[a] = at[a] - 8 * beyond;
        nearest[a] = at[a] - beyond;
        is_inside &= other[a] < flow->tiles[a];
    }
    const uint32_t next =
        is_inside ? flow->index[(other[2] * flow->tiles[1] + other[1]) * flow->tiles[0] + other[0]] : 0;
    return next > 0 ? flow->nodes[(uint64_t)(next - 1) * TARN_FLOW_BLOCK + tarn_flow_node_at(from[0], from[1], from[2])]
                    : block[tarn_flow_node_at(nearest[0], nearest[1], nearest[2])];
}

/// The ratio of two intervals of so many steps, for tarn_flow_expect.
TARN_CODE_FN uint32_t tarn_flow_ratio(uint64_t steps, uint64_t reference_steps)
{
    const uint64_t most = (uint64_t)16 << 16;
    if (reference_steps == 0 || steps > (uint64_t)1 << 32) {
        return reference_steps == 0 ? 0 : (uint32_t)most;
    }
    const uint64_t ratio = (steps << 16) / reference_steps;
    return (uint32_t)(ratio < most ? ratio : most);
}

#endif
