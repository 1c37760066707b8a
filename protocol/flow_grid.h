/// The flow that moves particles from one frame to the next: how far what is at a cell's corner goes, in quanta, as
/// whole numbers. A decoder and every encoder compute the same bits from it.
///
/// Nodes lie at the cells' corners, the tile's own being those of its cells' lowest corners. A tile's block has 9 nodes
/// a side, so that every place in the tile lies between eight nodes of one block: those beyond the tile's own 8 are
/// copies of the next tiles' or, where the frame has no such tile, of the nearest one of its own.
///
/// Places are in 1/1024 cell. A node's number is in quanta: 1/2^bits of a cell.
#ifndef TARN_PROTOCOL_FLOW_GRID_H
#define TARN_PROTOCOL_FLOW_GRID_H

#include "protocol/ans.h"

enum {
    TARN_FLOW_EDGE = 9, ///< nodes of a block, per axis
    TARN_FLOW_BLOCK = TARN_FLOW_EDGE * TARN_FLOW_EDGE * TARN_FLOW_EDGE,
    TARN_FLOW_NODES = 512, ///< that a tile has of its own
    TARN_FLOW_MAX = 32767, ///< largest number of a node, up or down
    TARN_PLACE_BITS = 10,  ///< of a cell
    TARN_PLACE_TILE = 8 << TARN_PLACE_BITS,
    TARN_FLOW_WEIGHT_BITS = 5, ///< of an axis
};

/// A node: x, y, z, and whether the frame says anything of it; what it doesn't is filled in from nodes near it.
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

TARN_CODE_FN int32_t tarn_flow_clamp(int32_t value)
{
    return value < -TARN_FLOW_MAX ? -TARN_FLOW_MAX : value > TARN_FLOW_MAX ? TARN_FLOW_MAX : value;
}

TARN_CODE_FN uint32_t tarn_flow_node_at(uint32_t x, uint32_t y, uint32_t z)
{
    return (z * TARN_FLOW_EDGE + y) * TARN_FLOW_EDGE + x;
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

/// x, y, z and nothing of eight nodes around a place, weighted: pairs of nodes along y and z have weights that fit 16
/// bits, 0..1024; along x it is 32 - wx and wx. Instructions for products of pairs make this half the work.
#if defined(__SSE2__) && !defined(__CUDACC__)
#include <emmintrin.h>
TARN_CODE_FN void tarn_flow_mix(const tarn_flow_node *n, const int32_t w[4], int32_t wx, int32_t sum[4])
{
    const __m128i low = _mm_set1_epi32(w[0] | w[1] << 16), high = _mm_set1_epi32(w[2] | w[3] << 16);
    const __m128i n00 = _mm_loadu_si128((const __m128i *)(const void *)n);
    const __m128i n10 = _mm_loadu_si128((const __m128i *)(const void *)(n + TARN_FLOW_EDGE));
    const __m128i n01 = _mm_loadu_si128((const __m128i *)(const void *)(n + TARN_FLOW_EDGE * TARN_FLOW_EDGE));
    const __m128i n11 = _mm_loadu_si128((const __m128i *)(const void *)(n + TARN_FLOW_EDGE * (TARN_FLOW_EDGE + 1)));
    const __m128i x0 = _mm_add_epi32(_mm_madd_epi16(_mm_unpacklo_epi16(n00, n10), low),
                                     _mm_madd_epi16(_mm_unpacklo_epi16(n01, n11), high));
    const __m128i x1 = _mm_add_epi32(_mm_madd_epi16(_mm_unpackhi_epi16(n00, n10), low),
                                     _mm_madd_epi16(_mm_unpackhi_epi16(n01, n11), high));
    // x0 (32 - wx) + x1 wx. There is no product of 32 bits, but the difference is below 2^26: twice 13 bits of it will
    // do.
    const __m128i change = _mm_sub_epi32(x1, x0), weight = _mm_set1_epi32(wx);
    const __m128i upper = _mm_madd_epi16(_mm_srai_epi32(change, 13), weight);
    const __m128i lower = _mm_madd_epi16(_mm_and_si128(change, _mm_set1_epi32(0x1fff)), weight);
    const __m128i part = _mm_add_epi32(_mm_slli_epi32(upper, 13), lower);
    _mm_storeu_si128((__m128i *)(void *)sum, _mm_add_epi32(_mm_slli_epi32(x0, TARN_FLOW_WEIGHT_BITS), part));
}
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
TARN_CODE_FN void tarn_flow_mix(const tarn_flow_node *n, const int32_t w[4], int32_t wx, int32_t sum[4])
{
    const v128_t low = wasm_i32x4_splat(w[0] | w[1] << 16), high = wasm_i32x4_splat(w[2] | w[3] << 16);
    const v128_t n00 = wasm_v128_load(n), n10 = wasm_v128_load(n + TARN_FLOW_EDGE);
    const v128_t n01 = wasm_v128_load(n + TARN_FLOW_EDGE * TARN_FLOW_EDGE);
    const v128_t n11 = wasm_v128_load(n + TARN_FLOW_EDGE * (TARN_FLOW_EDGE + 1));
    const v128_t y0 = wasm_i16x8_shuffle(n00, n10, 0, 8, 1, 9, 2, 10, 3, 11);
    const v128_t y1 = wasm_i16x8_shuffle(n00, n10, 4, 12, 5, 13, 6, 14, 7, 15);
    const v128_t z0 = wasm_i16x8_shuffle(n01, n11, 0, 8, 1, 9, 2, 10, 3, 11);
    const v128_t z1 = wasm_i16x8_shuffle(n01, n11, 4, 12, 5, 13, 6, 14, 7, 15);
    const v128_t x0 = wasm_i32x4_add(wasm_i32x4_dot_i16x8(y0, low), wasm_i32x4_dot_i16x8(z0, high));
    const v128_t x1 = wasm_i32x4_add(wasm_i32x4_dot_i16x8(y1, low), wasm_i32x4_dot_i16x8(z1, high));
    wasm_v128_store(sum, wasm_i32x4_add(wasm_i32x4_mul(x0, wasm_i32x4_splat((1 << TARN_FLOW_WEIGHT_BITS) - wx)),
                                        wasm_i32x4_mul(x1, wasm_i32x4_splat(wx))));
}
#else
TARN_CODE_FN void tarn_flow_mix(const tarn_flow_node *n, const int32_t w[4], int32_t wx, int32_t sum[4])
{
    const tarn_flow_node *rows[4] = {n, n + TARN_FLOW_EDGE, n + TARN_FLOW_EDGE * TARN_FLOW_EDGE,
                                     n + TARN_FLOW_EDGE * (TARN_FLOW_EDGE + 1)};
    for (int k = 0; k < 3; k++) {
        int32_t x0 = 0, x1 = 0;
        for (int r = 0; r < 4; r++) {
            x0 += rows[r][0].d[k] * w[r];
            x1 += rows[r][1].d[k] * w[r];
        }
        sum[k] = x0 * ((1 << TARN_FLOW_WEIGHT_BITS) - wx) + x1 * wx;
    }
    sum[3] = 0;
}
#endif

/// The flow at a place of a block's tile, trilinear, times 2^15: |sum| <= 2^15 TARN_FLOW_MAX. The fourth means nothing.
TARN_CODE_FN void tarn_flow_sum(const tarn_flow_node *block, const int32_t place[3], int32_t sum[4])
{
    const int shift = TARN_PLACE_BITS - TARN_FLOW_WEIGHT_BITS, one = 1 << TARN_FLOW_WEIGHT_BITS;
    const int half = 1 << (shift - 1), mask = (1 << TARN_PLACE_BITS) - 1;
    const tarn_flow_node *n =
        block + tarn_flow_node_at((uint32_t)place[0] >> TARN_PLACE_BITS & 7, (uint32_t)place[1] >> TARN_PLACE_BITS & 7,
                                  (uint32_t)place[2] >> TARN_PLACE_BITS & 7);
    const int32_t wx = ((place[0] & mask) + half) >> shift, wy = ((place[1] & mask) + half) >> shift,
                  wz = ((place[2] & mask) + half) >> shift;
    const int32_t w[4] = {(one - wy) * (one - wz), wy * (one - wz), (one - wy) * wz, wy * wz};
    tarn_flow_mix(n, w, wx, sum);
}

/// That sum as a distance in 1/1024 cell.
TARN_CODE_FN int32_t tarn_flow_distance(int32_t sum, uint32_t bits)
{
    const int shift = 3 * TARN_FLOW_WEIGHT_BITS - TARN_PLACE_BITS + (int)bits;
    return (sum + (1 << (shift - 1))) >> shift;
}

/// What is expected of a node out of the frame's reference: what its grid has where that came from which is now at the
/// node. @param ratio  of the two frames' intervals, in 1/65536; 0: there is no reference
TARN_CODE_FN void tarn_flow_expect(const tarn_flow *reference, const int32_t node[3], const int32_t end[3],
                                   uint32_t ratio, int32_t expected[3])
{
    int32_t place[3], sum[4];
    const tarn_flow_node *block = ratio > 0 ? tarn_flow_block(reference, node) : (const tarn_flow_node *)0;
    if (block == (const tarn_flow_node *)0) {
        expected[0] = expected[1] = expected[2] = 0;
        return;
    }
    const tarn_flow_node *here =
        block + tarn_flow_node_at((uint32_t)node[0] >> TARN_PLACE_BITS & 7, (uint32_t)node[1] >> TARN_PLACE_BITS & 7,
                                  (uint32_t)node[2] >> TARN_PLACE_BITS & 7);
    for (int a = 0; a < 3; a++) {
        place[a] = node[a] - here->d[a] * (1 << (TARN_PLACE_BITS - (int)reference->bits));
        place[a] = place[a] < 0 ? 0 : place[a] > end[a] ? end[a] : place[a];
        sum[a] = here->d[a] * (1 << 3 * TARN_FLOW_WEIGHT_BITS);
    }
    block = tarn_flow_block(reference, place);
    if (block != (const tarn_flow_node *)0)
        tarn_flow_sum(block, place, sum);
    for (int a = 0; a < 3; a++) {
        const int64_t scaled = ((int64_t)sum[a] * ratio + ((int64_t)1 << 30)) >> 31;
        expected[a] = scaled < -TARN_FLOW_MAX  ? -TARN_FLOW_MAX
                      : scaled > TARN_FLOW_MAX ? TARN_FLOW_MAX
                                               : (int32_t)scaled;
    }
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
    if (reference_steps == 0 || steps > (uint64_t)1 << 32)
        return reference_steps == 0 ? 0 : (uint32_t)most;
    const uint64_t ratio = (steps << 16) / reference_steps;
    return (uint32_t)(ratio < most ? ratio : most);
}

#endif
