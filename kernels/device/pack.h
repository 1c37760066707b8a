/// Packs: numbers of several particles side by side, for kernels whose loops the C compiler doesn't vectorise because
/// they look values up. On the CPU a pack is as wide as a register, on CUDA one number: the lanes are the particles
/// there.
///
///     FOR_PACKS (i, n, first, end) {                      // n: how many particles of the pack are there
///         pack_f32 x = pack_load_f32(args->x + i, n);     // zeros for the others
///         pack_store_f32(args->y + i, args->a * x, n);
///     }
///
/// EACH_PACK (i, n, first, end, call) does the same with a call of a TILE_FN, which a CPU compiles twice: for full
/// packs, whose n is a constant and costs nothing, and for what is left.
///
/// Packs are added, multiplied, shifted, masked and compared with the language's operators, with each other or, on
/// either side, with a scalar; a comparison gives a mask for pack_any, pack_keep_i32, and `&` with another mask. Each
/// particle's numbers go through the operations that a scalar would, so the width leaves no trace in the bits.
#ifndef TARN_KERNELS_PACK_H
#define TARN_KERNELS_PACK_H

#include "kernels/device/tile.h"

#ifdef __CUDACC__
// ------------------------------------------------------------------------------------------- CUDA: one particle a lane

#define PACK_WIDTH 1
typedef float pack_f32;
typedef int32_t pack_i32;
typedef struct pack_places {
    uint32_t of[PACK_WIDTH];
} pack_places;

#define FOR_PACKS(i, n, begin, end)                                                                                    \
    FOR_RANGE (i, begin, end)                                                                                          \
        for (uint32_t n = 1; n > 0; n = 0)
#define EACH_PACK(i, n, begin, end, call)                                                                              \
    FOR_PACKS(i, n, begin, end)                                                                                        \
    call

TILE_FN void pack_prefetch(const void *)
{
}
TILE_FN pack_f32 pack_load_f32(const float *p, uint32_t)
{
    return *p;
}
TILE_FN pack_i32 pack_load_i32(const uint32_t *p, uint32_t)
{
    return (int32_t)*p;
}
TILE_FN void pack_store_f32(float *p, pack_f32 a, uint32_t)
{
    *p = a;
}
TILE_FN void pack_store_i32(uint32_t *p, pack_i32 a, uint32_t)
{
    *p = (uint32_t)a;
}
TILE_FN void pack_store_u8(uint8_t *p, pack_i32 a, uint32_t)
{
    *p = (uint8_t)a;
}
TILE_FN pack_f32 pack_all_f32(float x)
{
    return x;
}
TILE_FN pack_i32 pack_all_i32(int32_t x)
{
    return x;
}
TILE_FN pack_i32 pack_count_i32(uint32_t first)
{
    return (int32_t)first;
}
TILE_FN pack_f32 pack_load_rows_f32(const float *p, int)
{
    return *p;
}
TILE_FN pack_f32 pack_abs_f32(pack_f32 a)
{
    return tile_f32_bits(tile_bits_f32(a) & 0x7fffffffu);
}
TILE_FN pack_f32 pack_first_f32(float x, uint32_t)
{
    return x;
}
TILE_FN pack_f32 pack_to_f32(pack_i32 a)
{
    return (float)a;
}
TILE_FN pack_i32 pack_round_i32(pack_f32 a)
{
    return tile_round_i32(a);
}
TILE_FN pack_f32 pack_min_f32(pack_f32 a, pack_f32 b)
{
    return tile_min_f32(a, b);
}
TILE_FN pack_f32 pack_max_f32(pack_f32 a, pack_f32 b)
{
    return a > b ? a : b;
}
TILE_FN pack_f32 pack_clamp_f32(pack_f32 a, float lo, float hi)
{
    return tile_clamp_f32(a, lo, hi);
}
TILE_FN pack_i32 pack_clamp_i32(pack_i32 a, int32_t lo, int32_t hi)
{
    return tile_clamp_i32(a, lo, hi);
}
/// Zero but for the particles of the mask, of which `&` knows no more than that it isn't zero.
TILE_FN pack_i32 pack_keep_i32(pack_i32 mask, pack_i32 a)
{
    return mask != 0 ? a : 0;
}
TILE_FN int pack_any(pack_i32 mask)
{
    return mask != 0;
}
TILE_FN uint32_t pack_mask_bits(pack_i32 mask)
{
    return mask != 0;
}
TILE_FN pack_i32 pack_bits_f32(pack_f32 a)
{
    return (int32_t)tile_bits_f32(a);
}
TILE_FN pack_f32 pack_f32_bits(pack_i32 a)
{
    return tile_f32_bits((uint32_t)a);
}
TILE_FN int32_t pack_get_i32(pack_i32 a, int)
{
    return a;
}
TILE_FN float pack_get_f32(pack_f32 a, int)
{
    return a;
}
TILE_FN void pack_set_f32(pack_f32 *a, int, float x)
{
    *a = x;
}
TILE_FN void pack_set_places(pack_places *places, pack_i32 at)
{
    places->of[0] = (uint32_t)at;
}
TILE_FN void pack_weigh_rows(const float *from, const pack_places *at, int step, int stride, const pack_f32 *w,
                             pack_f32 *out)
{
    const float *row = from + at->of[0];
    for (int k = 0; k < 4; k++) {
        out[k] = (w[0] * row[k] + w[1] * row[step + k]) + (w[2] * row[stride + k] + w[3] * row[stride + step + k]);
    }
}
TILE_FN void pack_bound_rows(const float *from, const pack_places *at, int step, int stride, const pack_f32 *w,
                             pack_f32 second, pack_f32 *low, pack_f32 *high)
{
    const int rows[4] = {0, step, stride, stride + step};
    const float *row = from + at->of[0];
    *low = *high = row[0];
    for (int k = 0; k < (second > 0.0f ? 2 : 1); k++) {
        for (int i = 0; i < 4; i++) {
            const float value = row[(w[i] > 0.0f ? rows[i] : 0) + k];
            *low = tile_min_f32(*low, value);
            *high = tile_max2_f32(*high, value);
        }
    }
}
TILE_FN void pack_weigh_pairs(const float *from, const pack_places *at, int step, const pack_f32 *w, pack_f32 *out)
{
    const float *row = from + at->of[0];
    for (int k = 0; k < 4; k++) {
        out[k] = w[k % 2 * 2] * row[k] + w[k % 2 * 2 + 1] * row[step + k];
    }
}
TILE_FN void pack_add_i32(int32_t *to, const pack_places *at, const pack_i32 *parts, int count)
{
    for (int k = 0; k < count; k++) {
        tile_add_i32(to + at->of[0] + k, parts[k]);
    }
}
TILE_FN pack_f32 pack_kept_f32(const float *kept)
{
    return kept[threadIdx.x];
}
TILE_FN void pack_keep_max_f32(float *kept, pack_f32 a)
{
    kept[threadIdx.x] = tile_max2_f32(kept[threadIdx.x], a);
}

#else
// ---------------------------------------------------------------------------------------- CPU: one register of
// particles

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define PACK_WIDTH 16
#define PACK_X86(name) _mm512_##name
#elif defined(__AVX2__)
#define PACK_WIDTH 8
#define PACK_X86(name) _mm256_##name
#else
#define PACK_WIDTH 4
#ifdef __SSE4_1__
#define PACK_X86(name) _mm_##name
#endif
#endif
#ifdef PACK_X86
#include <immintrin.h>
#endif

#ifdef PACK_X86
typedef long long pack_x86_i32 __attribute__((vector_size(4 * PACK_WIDTH))); ///< what intrinsics take for a pack_i32
#endif
typedef float pack_f32 __attribute__((vector_size(4 * PACK_WIDTH)));
typedef int32_t pack_i32 __attribute__((vector_size(4 * PACK_WIDTH)));
/// Where each particle looks up, as scalars.
typedef struct pack_places {
    uint32_t of[PACK_WIDTH];
} __attribute__((aligned(4 * PACK_WIDTH))) pack_places;

#define FOR_PACKS(i, n, begin, end)                                                                                    \
    for (uint32_t i = (begin), n; i < (end) && ((n = tile_min_u32((end)-i, PACK_WIDTH)), 1); i += PACK_WIDTH)

#define EACH_PACK(i, n, begin, end, call)                                                                              \
    do {                                                                                                               \
        uint32_t i = (begin);                                                                                          \
        for (; (end)-i >= PACK_WIDTH; i += PACK_WIDTH) {                                                               \
            const uint32_t n = PACK_WIDTH;                                                                             \
            call;                                                                                                      \
        }                                                                                                              \
        if (i < (end)) {                                                                                               \
            const uint32_t n = (end)-i;                                                                                \
            call;                                                                                                      \
        }                                                                                                              \
    } while (0)

/// Brings the values some packs behind p nearer, of an array of four-byte numbers that a loop goes through once: the
/// loops of the liquid follow more arrays than a processor does by itself. No harm beyond an array's end.
TILE_FN void pack_prefetch(const void *p)
{
    __builtin_prefetch((const char *)p + 1024);
}
/// The first n numbers from memory, zeros behind them. Nothing behind them is read.
TILE_FN pack_i32 pack_load_i32(const uint32_t *p, uint32_t n)
{
    if (__builtin_constant_p(n) && n >= PACK_WIDTH) {
        pack_i32 all;
        memcpy(&all, p, sizeof all);
        return all;
    }
#if PACK_WIDTH == 16
    return (pack_i32)_mm512_maskz_loadu_epi32((__mmask16)(0xffffu >> (16 - n)), p);
#elif PACK_WIDTH == 8
    const pack_i32 lane = {0, 1, 2, 3, 4, 5, 6, 7}, there = lane < (int32_t)n;
    return (pack_i32)_mm256_maskload_epi32((const int *)p, (__m256i)there);
#else
    pack_i32 r = {0};
    if (n >= PACK_WIDTH) {
        memcpy(&r, p, sizeof r);
    } else {
        for (uint32_t l = 0; l < n; l++) {
            memcpy((char *)&r + l * sizeof *p, p + l, sizeof *p);
        }
    }
    return r;
#endif
}
/// Stores the first n. Some processors take long for masked stores, so that a full pack goes without.
TILE_FN void pack_store_i32(uint32_t *p, pack_i32 a, uint32_t n)
{
    if (n >= PACK_WIDTH) {
        memcpy(p, &a, sizeof a);
        return;
    }
#if PACK_WIDTH == 16
    _mm512_mask_storeu_epi32(p, (__mmask16)(0xffffu >> (16 - n)), (__m512i)a);
#elif PACK_WIDTH == 8
    const pack_i32 lane = {0, 1, 2, 3, 4, 5, 6, 7}, there = lane < (int32_t)n;
    _mm256_maskstore_epi32((int *)p, (__m256i)there, (__m256i)a);
#else
    for (uint32_t l = 0; l < n; l++) {
        memcpy(p + l, (const char *)&a + l * sizeof *p, sizeof *p);
    }
#endif
}
TILE_FN pack_f32 pack_load_f32(const float *p, uint32_t n)
{
    return (pack_f32)pack_load_i32((const uint32_t *)p, n);
}
TILE_FN void pack_store_f32(float *p, pack_f32 a, uint32_t n)
{
    pack_store_i32((uint32_t *)p, (pack_i32)a, n);
}
/// Of numbers up to 255.
TILE_FN void pack_store_u8(uint8_t *p, pack_i32 a, uint32_t n)
{
    typedef uint8_t bytes __attribute__((vector_size(PACK_WIDTH)));
#if PACK_WIDTH == 8
    const __m256i bytes_of_halves = _mm256_shuffle_epi8((__m256i)a, _mm256_set1_epi32(0x0c080400));
    const uint64_t all = (uint32_t)_mm256_extract_epi32(bytes_of_halves, 0) |
                         (uint64_t)(uint32_t)_mm256_extract_epi32(bytes_of_halves, 4) << 32;
    bytes narrow;
    memcpy(&narrow, &all, sizeof narrow);
#else
    const bytes narrow = __builtin_convertvector(a, bytes);
#endif
    if (n >= PACK_WIDTH) {
        memcpy(p, &narrow, sizeof narrow);
    } else {
        for (uint32_t l = 0; l < n; l++) {
            p[l] = narrow[l];
        }
    }
}
TILE_FN pack_f32 pack_all_f32(float x)
{
    return x - (pack_f32){0};
}
TILE_FN pack_i32 pack_all_i32(int32_t x)
{
    return x - (pack_i32){0};
}
/// first, first + 1, ...
TILE_FN pack_i32 pack_count_i32(uint32_t first)
{
    pack_i32 lane;
    for (int l = 0; l < PACK_WIDTH; l++) {
        lane[l] = l;
    }
    return lane + (int32_t)first;
}
/// A full pack of numbers that lie in rows of eight, from its first one's place on; `step` from a row to the next. A
/// pack begins where its width divides its place.
TILE_FN pack_f32 pack_load_rows_f32(const float *p, int step)
{
#if PACK_WIDTH == 16
    return (pack_f32)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(p + step), 1);
#else
    (void)step;
    pack_f32 r;
    memcpy(&r, p, sizeof r);
    return r;
#endif
}
/// Also of a zero.
TILE_FN pack_f32 pack_abs_f32(pack_f32 a)
{
    return (pack_f32)((pack_i32)a & 0x7fffffff);
}
/// x for the first n, zero for the others.
TILE_FN pack_f32 pack_first_f32(float x, uint32_t n)
{
    pack_i32 lane;
    for (int l = 0; l < PACK_WIDTH; l++) {
        lane[l] = l;
    }
    return (pack_f32)((pack_i32)pack_all_f32(x) & (lane < (int32_t)n));
}
TILE_FN pack_f32 pack_to_f32(pack_i32 a)
{
    return __builtin_convertvector(a, pack_f32);
}
/// As tile_round_i32.
TILE_FN pack_i32 pack_round_i32(pack_f32 a)
{
#if PACK_WIDTH == 16
    return (pack_i32)_mm512_cvtps_epi32((__m512)a);
#elif PACK_WIDTH == 8
    return (pack_i32)_mm256_cvtps_epi32((__m256)a);
#elif defined(PACK_X86)
    return (pack_i32)_mm_cvtps_epi32((__m128)a);
#else
    pack_i32 r;
    for (int l = 0; l < PACK_WIDTH; l++) {
        r[l] = tile_round_i32(a[l]);
    }
    return r;
#endif
}
TILE_FN pack_f32 pack_max_f32(pack_f32 a, pack_f32 b)
{
    const pack_i32 more = a > b;
    return (pack_f32)(((pack_i32)a & more) | ((pack_i32)b & ~more));
}
TILE_FN pack_f32 pack_min_f32(pack_f32 a, pack_f32 b)
{
    const pack_i32 less = a < b;
    return (pack_f32)(((pack_i32)a & less) | ((pack_i32)b & ~less));
}
/// As tile_clamp_f32.
TILE_FN pack_f32 pack_clamp_f32(pack_f32 a, float lo, float hi)
{
#ifdef PACK_X86
    return (pack_f32)PACK_X86(max_ps)(PACK_X86(min_ps)(a, pack_all_f32(hi)), pack_all_f32(lo));
#else
    const pack_i32 under = a < hi;
    const pack_f32 below = (pack_f32)(((pack_i32)a & under) | ((pack_i32)pack_all_f32(hi) & ~under));
    return pack_max_f32(below, pack_all_f32(lo));
#endif
}
TILE_FN pack_i32 pack_clamp_i32(pack_i32 a, int32_t lo, int32_t hi)
{
#ifdef PACK_X86
    const pack_x86_i32 most = (pack_x86_i32)pack_all_i32(hi), least = (pack_x86_i32)pack_all_i32(lo);
    return (pack_i32)PACK_X86(max_epi32)(PACK_X86(min_epi32)((pack_x86_i32)a, most), least);
#else
    const pack_i32 high = a > hi, low = a < lo;
    return (((a & ~high) | (hi & high)) & ~low) | (lo & low);
#endif
}
/// Zero but for the particles of the mask.
TILE_FN pack_i32 pack_keep_i32(pack_i32 mask, pack_i32 a)
{
    return mask & a;
}
/// Whether a mask holds for any particle.
TILE_FN int pack_any(pack_i32 mask)
{
#if PACK_WIDTH == 16
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif PACK_WIDTH == 8
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#elif defined(PACK_X86)
    return !_mm_testz_si128((__m128i)mask, (__m128i)mask);
#else
    int any = 0;
    for (int l = 0; l < PACK_WIDTH; l++) {
        any |= mask[l];
    }
    return any != 0;
#endif
}
/// A bit for each particle of a mask, the first one's lowest.
TILE_FN uint32_t pack_mask_bits(pack_i32 mask)
{
#if PACK_WIDTH == 16
    return _mm512_movepi32_mask((__m512i)mask);
#elif PACK_WIDTH == 8
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#elif defined(PACK_X86)
    return (uint32_t)_mm_movemask_ps((__m128)mask);
#else
    uint32_t bits = 0;
    for (int l = 0; l < PACK_WIDTH; l++) {
        bits |= (uint32_t)(mask[l] & 1) << l;
    }
    return bits;
#endif
}
TILE_FN pack_i32 pack_bits_f32(pack_f32 a)
{
    return (pack_i32)a;
}
TILE_FN pack_f32 pack_f32_bits(pack_i32 a)
{
    return (pack_f32)a;
}
TILE_FN int32_t pack_get_i32(pack_i32 a, int l)
{
    return a[l];
}
TILE_FN float pack_get_f32(pack_f32 a, int l)
{
    return a[l];
}
TILE_FN void pack_set_f32(pack_f32 *a, int l, float x)
{
    (*a)[l] = x;
}
TILE_FN void pack_set_places(pack_places *places, pack_i32 at)
{
    memcpy(places->of, &at, sizeof at);
    __asm__("" : "+m"(*places)); // loads from memory are cheaper than taking a register apart
}

// A shuffle of two packs that does the same in every group of four: i..l < PACK_WIDTH are of the first.
#if PACK_WIDTH == 16
#define PACK_SHUFFLE(a, b, i, j, k, l)                                                                                 \
    __builtin_shufflevector(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4, (i) + 8, (j) + 8, (k) + 8, (l) + 8,  \
                            (i) + 12, (j) + 12, (k) + 12, (l) + 12)
#elif PACK_WIDTH == 8
#define PACK_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4)
#else
#define PACK_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#endif

/// Transposes in every group of four: element g of out[k] is element k of in[g].
TILE_FN void pack_transpose4(const pack_f32 *in, pack_f32 *out)
{
    enum { B = PACK_WIDTH };
    const pack_f32 low01 = PACK_SHUFFLE(in[0], in[1], 0, B, 1, B + 1),
                   low23 = PACK_SHUFFLE(in[2], in[3], 0, B, 1, B + 1);
    const pack_f32 high01 = PACK_SHUFFLE(in[0], in[1], 2, B + 2, 3, B + 3),
                   high23 = PACK_SHUFFLE(in[2], in[3], 2, B + 2, 3, B + 3);
    out[0] = PACK_SHUFFLE(low01, low23, 0, 1, B, B + 1);
    out[1] = PACK_SHUFFLE(low01, low23, 2, 3, B + 2, B + 3);
    out[2] = PACK_SHUFFLE(high01, high23, 0, 1, B, B + 1);
    out[3] = PACK_SHUFFLE(high01, high23, 2, 3, B + 2, B + 3);
}

/// Fours from PACK_WIDTH / 4 places.
TILE_FN pack_f32 pack_join4(const float *from, const uint32_t *at)
{
#if PACK_WIDTH == 16
    // Masked broadcasts are loads and blends, which need no shuffle unit.
    __m512 r = _mm512_castps128_ps512(_mm_loadu_ps(from + at[0]));
    r = _mm512_mask_broadcast_f32x4(r, 0x00f0, _mm_loadu_ps(from + at[4]));
    r = _mm512_mask_broadcast_f32x4(r, 0x0f00, _mm_loadu_ps(from + at[8]));
    return (pack_f32)_mm512_mask_broadcast_f32x4(r, 0xf000, _mm_loadu_ps(from + at[12]));
#elif PACK_WIDTH == 8
    return (pack_f32)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + at[0])),
                                          _mm_loadu_ps(from + at[4]), 1);
#else
    return tile_load_f32x4(from + at[0]);
#endif
}

// Of what the particles i, i + 4, ... have, four numbers each: they are weighed before they are transposed.
#define PACK_SPREAD(w, i) PACK_SHUFFLE(w, w, i, i, i, i)
#define PACK_WEIGH_ROWS(i)                                                                                             \
    ((PACK_SPREAD(w[0], i) * pack_join4(from, at->of + (i)) +                                                          \
      PACK_SPREAD(w[1], i) * pack_join4(from + step, at->of + (i))) +                                                  \
     (PACK_SPREAD(w[2], i) * pack_join4(from + stride, at->of + (i)) +                                                 \
      PACK_SPREAD(w[3], i) * pack_join4(from + stride + step, at->of + (i))))
#define PACK_WEIGH_PAIRS(i, near, far, first, second)                                                                  \
    (PACK_SHUFFLE(near, near, first, second, first, second) * pack_join4(from, at->of + (i)) +                         \
     PACK_SHUFFLE(far, far, first, second, first, second) * pack_join4(from + step, at->of + (i)))

/// Sums of four rows of four numbers for every particle: of those that begin at its place, `step` and `stride` behind
/// it, and both. out[k] = (w[0] row0[k] + w[1] row1[k]) + (w[2] row2[k] + w[3] row3[k])
TILE_FN void pack_weigh_rows(const float *from, const pack_places *at, int step, int stride, const pack_f32 *w,
                             pack_f32 *out)
{
    const pack_f32 sum[4] = {PACK_WEIGH_ROWS(0), PACK_WEIGH_ROWS(1), PACK_WEIGH_ROWS(2), PACK_WEIGH_ROWS(3)};
    pack_transpose4(sum, out);
}

#define PACK_ROW_OR(i, row, offset, w, otherwise)                                                                      \
    const pack_f32 row##_all = pack_join4(from + (offset), at->of + (i));                                              \
    const pack_i32 row##_counts = PACK_SPREAD(w, i) > 0.0f;                                                            \
    const pack_f32 row = (pack_f32)(((pack_i32)row##_all & row##_counts) | ((pack_i32)(otherwise) & ~row##_counts))
#define PACK_BOUND_ROWS(i)                                                                                             \
    do {                                                                                                               \
        const pack_f32 row0 = pack_join4(from, at->of + (i));                                                          \
        PACK_ROW_OR(i, row1, step, w[1], row0);                                                                        \
        PACK_ROW_OR(i, row2, stride, w[2], row0);                                                                      \
        PACK_ROW_OR(i, row3, stride + step, w[3], row0);                                                               \
        least[i] = pack_min_f32(pack_min_f32(row0, row1), pack_min_f32(row2, row3));                                   \
        most[i] = pack_max_f32(pack_max_f32(row0, row1), pack_max_f32(row2, row3));                                    \
    } while (0)

/// The least and the most of the first two numbers of these rows, as far as they have weights above 0; `second` is that
/// of every row's second number. The first row and the first numbers have some. Of two zeros it may be either.
TILE_FN void pack_bound_rows(const float *from, const pack_places *at, int step, int stride, const pack_f32 *w,
                             pack_f32 second, pack_f32 *low, pack_f32 *high)
{
    pack_f32 least[4], most[4], out[4];
    PACK_BOUND_ROWS(0);
    PACK_BOUND_ROWS(1);
    PACK_BOUND_ROWS(2);
    PACK_BOUND_ROWS(3);
    const pack_i32 counts = second > 0.0f;
    pack_transpose4(least, out);
    *low = pack_min_f32(out[0], (pack_f32)(((pack_i32)out[1] & counts) | ((pack_i32)out[0] & ~counts)));
    pack_transpose4(most, out);
    *high = pack_max_f32(out[0], (pack_f32)(((pack_i32)out[1] & counts) | ((pack_i32)out[0] & ~counts)));
}

/// The same of two rows, whose numbers with an even k have weights of their own:
/// out[k] = w[0] row0[k] + w[1] row1[k] for k = 0 and 2, w[2] row0[k] + w[3] row1[k] for k = 1 and 3.
TILE_FN void pack_weigh_pairs(const float *from, const pack_places *at, int step, const pack_f32 *w, pack_f32 *out)
{
    enum { B = PACK_WIDTH };
    const pack_f32 near01 = PACK_SHUFFLE(w[0], w[2], 0, B, 1, B + 1),
                   near23 = PACK_SHUFFLE(w[0], w[2], 2, B + 2, 3, B + 3);
    const pack_f32 far01 = PACK_SHUFFLE(w[1], w[3], 0, B, 1, B + 1),
                   far23 = PACK_SHUFFLE(w[1], w[3], 2, B + 2, 3, B + 3);
    const pack_f32 sum[4] = {PACK_WEIGH_PAIRS(0, near01, far01, 0, 1), PACK_WEIGH_PAIRS(1, near01, far01, 2, 3),
                             PACK_WEIGH_PAIRS(2, near23, far23, 0, 1), PACK_WEIGH_PAIRS(3, near23, far23, 2, 3)};
    pack_transpose4(sum, out);
}

typedef int32_t pack_i32x4 __attribute__((vector_size(16)));
typedef int32_t pack_i32x8 __attribute__((vector_size(32)));

/// Two groups of four from each pack.
TILE_FN void pack_add8(int32_t *to, pack_i32x8 part)
{
    pack_i32x8 sum;
    memcpy(&sum, to, sizeof sum);
    sum += part;
    memcpy(to, &sum, sizeof sum);
}

/// Adds the first `count` numbers of every particle, a multiple of 8 up to 16, to integers side by side at its place.
TILE_FN void pack_add_i32(int32_t *to, const pack_places *at, const pack_i32 *parts, int count)
{
    pack_i32 rows[4][4]; // [g][i]: numbers 4 g .. 4 g + 3 of the particles i, i + 4, ...
    TILE_UNROLL for (int g = 0; g < count / 4; g++)
    {
        pack_f32 in[4], out[4];
        TILE_UNROLL for (int k = 0; k < 4; k++) in[k] = (pack_f32)parts[4 * g + k];
        pack_transpose4(in, out);
        TILE_UNROLL for (int k = 0; k < 4; k++) rows[g][k] = (pack_i32)out[k];
    }
    TILE_UNROLL for (int i = 0; i < 4; i++)
    {
#if PACK_WIDTH == 4
        TILE_UNROLL for (int g = 0; g < count / 4; g++)
        {
            pack_i32 sum;
            memcpy(&sum, to + at->of[i] + 4 * g, sizeof sum);
            sum += rows[g][i];
            memcpy(to + at->of[i] + 4 * g, &sum, sizeof sum);
        }
#elif PACK_WIDTH == 8
        TILE_UNROLL for (int g = 0; g < count / 4; g += 2)
        {
            pack_add8(to + at->of[i] + 4 * g,
                      __builtin_shufflevector(rows[g][i], rows[g + 1][i], 0, 1, 2, 3, 8, 9, 10, 11));
            pack_add8(to + at->of[i + 4] + 4 * g,
                      __builtin_shufflevector(rows[g][i], rows[g + 1][i], 4, 5, 6, 7, 12, 13, 14, 15));
        }
#else
        if (count == 8) {
            const __m512i a = (__m512i)rows[0][i], b = (__m512i)rows[1][i];
            const __m256i a0 = _mm512_castsi512_si256(a), b0 = _mm512_castsi512_si256(b);
            const __m256i a1 = _mm512_extracti64x4_epi64(a, 1), b1 = _mm512_extracti64x4_epi64(b, 1);
            pack_add8(to + at->of[i], (pack_i32x8)_mm256_permute2x128_si256(a0, b0, 0x20));
            pack_add8(to + at->of[i + 4], (pack_i32x8)_mm256_permute2x128_si256(a0, b0, 0x31));
            pack_add8(to + at->of[i + 8], (pack_i32x8)_mm256_permute2x128_si256(a1, b1, 0x20));
            pack_add8(to + at->of[i + 12], (pack_i32x8)_mm256_permute2x128_si256(a1, b1, 0x31));
        } else {
            const __m512i a = (__m512i)rows[0][i], b = (__m512i)rows[1][i], c = (__m512i)rows[2][i],
                          d = (__m512i)rows[3][i];
            const __m512i ab0 = _mm512_shuffle_i32x4(a, b, 0x44), ab1 = _mm512_shuffle_i32x4(a, b, 0xee);
            const __m512i cd0 = _mm512_shuffle_i32x4(c, d, 0x44), cd1 = _mm512_shuffle_i32x4(c, d, 0xee);
            const pack_i32 part[4] = {
                (pack_i32)_mm512_shuffle_i32x4(ab0, cd0, 0x88), (pack_i32)_mm512_shuffle_i32x4(ab0, cd0, 0xdd),
                (pack_i32)_mm512_shuffle_i32x4(ab1, cd1, 0x88), (pack_i32)_mm512_shuffle_i32x4(ab1, cd1, 0xdd)};
            TILE_UNROLL for (int j = 0; j < 4; j++)
            {
                pack_i32 sum;
                memcpy(&sum, to + at->of[i + 4 * j], sizeof sum);
                sum += part[j];
                memcpy(to + at->of[i + 4 * j], &sum, sizeof sum);
            }
        }
#endif
    }
}

/// kept: TARN_TILE_LANES_MAX or as many as the kernel has lanes; their maximum is that of all that was kept.
TILE_FN pack_f32 pack_kept_f32(const float *kept)
{
    pack_f32 a;
    memcpy(&a, kept, sizeof a);
    return a;
}
TILE_FN void pack_keep_max_f32(float *kept, pack_f32 a)
{
    const pack_f32 most = pack_max_f32(pack_kept_f32(kept), a);
    memcpy(kept, &most, sizeof most);
}
#endif
#endif
