/// Stable moves: puts a tile's numbers where a counting sort by small keys puts them, of which one is far more frequent
/// than the others. All lanes call them, without a barrier before the first.
///
///     pack_move_rank(&s->move, key, n, STAYS, end, s->first); // where each goes: ranks as tile_rank_u32's
///     pack_move_u32(&s->move, to, from, n);                   // to[rank of i] = from[i], i < n, and so on for each
///     pack_move_f32(&s->move, to_x, from_x, n);               // of the arrays
///     pack_move_list(&s->move, to, from, count, n);           // of several, those that aren't NULL
///
/// Keys are below PACK_MOVE_KEYS. `first` is behind its numbers after another barrier. What ranks `end` or behind goes
/// nowhere. With wide registers, the frequent key's numbers are squeezed together and stored at once; the others go one
/// by one.
#ifndef TARN_KERNELS_PACK_MOVE_H
#define TARN_KERNELS_PACK_MOVE_H

#include "kernels/device/pack.h"

enum {
    PACK_MOVE_MAX = 256, ///< numbers at a time
    PACK_MOVE_KEYS = 32,
    PACK_MOVE_LIST_MAX = 9, ///< arrays at a time
};

#if PACK_WIDTH < 8
// -------------------------------------------------------------------------------------------------- CUDA and the rest

#define PACK_MOVE_NOWHERE 0xffffffffu

#if defined(__CUDACC__)
typedef struct pack_move {
    uint32_t rank[PACK_MOVE_MAX]; ///< each lane's own: nothing parts a rank from its moves
    uint32_t count[PACK_MOVE_MAX / 32][PACK_MOVE_KEYS];
} pack_move;

/// As tile_rank_u32, but warps count side by side, and each adds up what those before it have.
/// @param n      up to PACK_MOVE_MAX
/// @param often  the most frequent key
/// @param first  as in tile_rank_u32: where each key's numbers begin; moves on by how many there are
TILE_FN void pack_move_rank(pack_move *s, const uint8_t *key, uint32_t n, uint32_t often, uint32_t end, uint32_t *first)
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    (void)often;
    for (uint32_t base = 0; base < n; base += blockDim.x) {
        const uint32_t i = base + threadIdx.x, own = i < n ? key[i] : 0xffffffffu;
        const uint32_t peers = __match_any_sync(0xffffffffu, own);
        const uint32_t before = (uint32_t)__popc(peers & ((1u << lane) - 1u));
        s->count[warp][lane] = 0;
        __syncwarp();
        if (i < n && before == 0) {
            s->count[warp][own] = (uint32_t)__popc(peers);
        }
        TILE_BARRIER();
        uint32_t all = 0;
        if (i < n) {
            uint32_t rank = first[own] + before;
            for (uint32_t w = 0; w < warp; w++) {
                rank += s->count[w][own];
            }
            s->rank[i] = rank < end ? rank : PACK_MOVE_NOWHERE;
        }
        for (uint32_t w = 0; w < warps && threadIdx.x < PACK_MOVE_KEYS; w++) {
            all += s->count[w][threadIdx.x];
        }
        TILE_BARRIER();
        if (all != 0) {
            first[threadIdx.x] += all;
        }
    }
}
#else
typedef struct pack_move {
    uint32_t key[PACK_MOVE_MAX], rank[PACK_MOVE_MAX];
} pack_move;

TILE_FN void pack_move_rank(pack_move *s, const uint8_t *key, uint32_t n, uint32_t often, uint32_t end, uint32_t *first)
{
    (void)often;
    FOR_RANGE (i, 0, n) {
        s->key[i] = key[i];
    }
    tile_rank_u32(s->key, s->rank, n, first);
    FOR_RANGE (i, 0, n) {
        s->rank[i] = s->rank[i] < end ? s->rank[i] : PACK_MOVE_NOWHERE;
    }
}
#endif

#define PACK_MOVE(name, type)                                                                                          \
    TILE_FN void name(const pack_move *s, type *to, const type *from, uint32_t n)                                      \
    {                                                                                                                  \
        FOR_RANGE (i, 0, n) {                                                                                          \
            if (s->rank[i] != PACK_MOVE_NOWHERE)                                                                       \
                to[s->rank[i]] = from[i];                                                                              \
        }                                                                                                              \
    }

#else
// --------------------------------------------------------------------------------------------------- wide registers

/// The frequent key's numbers in a pack: a bit for each, how many, and where they go.
typedef struct pack_move_part {
    uint32_t mask, count, to;
} pack_move_part;

typedef struct pack_move {
    pack_move_part part[PACK_MOVE_MAX / PACK_WIDTH];
    uint32_t often_end; ///< behind where the last of them goes
    uint32_t other_count;
    uint32_t other_from[PACK_MOVE_MAX], other_to[PACK_MOVE_MAX];
} pack_move;

/// Which of n keys, up to a pack's, are `often`: a bit for each.
TILE_FN uint32_t pack_move_mask(const uint8_t *key, uint32_t n, uint32_t often)
{
    if (n < PACK_WIDTH) {
        uint32_t mask = 0;
        for (uint32_t l = 0; l < n; l++) {
            mask |= (uint32_t)(key[l] == often) << l;
        }
        return mask;
    }
#if PACK_WIDTH == 16
    const __m128i keys = _mm_loadu_si128((const __m128i *)(const void *)key);
#else
    const __m128i keys = _mm_loadl_epi64((const __m128i *)(const void *)key);
#endif
    const int equal = _mm_movemask_epi8(_mm_cmpeq_epi8(keys, _mm_set1_epi8((char)often)));
    return (uint32_t)equal & ((1u << PACK_WIDTH) - 1);
}

TILE_FN void pack_move_rank(pack_move *s, const uint8_t *key, uint32_t n, uint32_t often, uint32_t end, uint32_t *first)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < n; i += PACK_WIDTH) {
        const uint32_t there = tile_min_u32(n - i, PACK_WIDTH), equal = pack_move_mask(key + i, there, often);
        const uint32_t count = tile_popcount_u32(equal), fits = first[often] <= end && end - first[often] >= count;
        const pack_move_part part = {fits ? equal : 0, fits ? count : 0, first[often]};
        s->part[i / PACK_WIDTH] = part;
        first[often] += part.count;
        for (uint32_t left = ((1u << there) - 1) & ~part.mask; left != 0; left &= left - 1) {
            const uint32_t from = i + tile_lowest_bit_u32(left), to = first[key[from]]++;
            s->other_from[others] = from;
            s->other_to[others] = to;
            others += to < end;
        }
    }
    s->often_end = first[often] < end ? first[often] : end;
    s->other_count = others;
}

/// Squeezes the numbers of a mask together, in order; what is behind them is undefined.
TILE_FN pack_i32 pack_squeeze(pack_i32 a, uint32_t mask)
{
#if PACK_WIDTH == 16
    return (pack_i32)_mm512_maskz_compress_epi32((__mmask16)mask, (__m512i)a);
#else
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 0xffu; // a byte of ones for each bit
    const __m128i lane = _mm_cvtsi64_si128((int64_t)_pext_u64(0x0706050403020100u, bytes));
    return (pack_i32)_mm256_permutevar8x32_epi32((__m256i)a, _mm256_cvtepu8_epi32(lane));
#endif
}

/// Moves a pack. It is stored whole where what is behind its numbers is overwritten by the next ones.
TILE_FN void pack_move_one(const pack_move *s, uint32_t *to, const uint32_t *from, uint32_t i, uint32_t n)
{
    const pack_move_part *part = &s->part[i / PACK_WIDTH];
    pack_prefetch(from + i);
    pack_prefetch(to + part->to);
    const uint32_t count = part->to + PACK_WIDTH <= s->often_end ? PACK_WIDTH : part->count;
    pack_store_i32(to + part->to, pack_squeeze(pack_load_i32(from + i, n), part->mask), count);
}

#define PACK_MOVE(name, type)                                                                                          \
    TILE_FN void name(const pack_move *s, type *to, const type *from, uint32_t n)                                      \
    {                                                                                                                  \
        uint32_t *to_bits = (uint32_t *)(void *)to;                                                                    \
        const uint32_t *from_bits = (const uint32_t *)(const void *)from;                                              \
        EACH_PACK(i, there, 0u, n, pack_move_one(s, to_bits, from_bits, i, there));                                    \
        for (uint32_t i = 0; i < s->other_count; i++)                                                                  \
            to[s->other_to[i]] = from[s->other_from[i]];                                                               \
    }
#endif

PACK_MOVE(pack_move_u32, uint32_t)
PACK_MOVE(pack_move_f32, float)

/// @param count  a constant, up to PACK_MOVE_LIST_MAX
TILE_FN void pack_move_list(const pack_move *s, uint32_t *const *to, const uint32_t *const *from, int count, uint32_t n)
{
#ifdef __CUDACC__
    FOR_RANGE (i, 0, n) { // all is read first: what is written may for the compiler be what is read next
        const uint32_t rank = s->rank[i];
        uint32_t value[PACK_MOVE_LIST_MAX];
        TILE_UNROLL for (int k = 0; k < count; k++) value[k] = to[k] != NULL ? from[k][i] : 0;
        TILE_UNROLL for (int k = 0; k < count; k++)
        {
            if (to[k] != NULL && rank != PACK_MOVE_NOWHERE) {
                to[k][rank] = value[k];
            }
        }
    }
#else
    for (int k = 0; k < count; k++) {
        if (to[k] != NULL) {
            pack_move_u32(s, to[k], from[k], n);
        }
    }
#endif
}

#endif
