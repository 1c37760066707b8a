/// Rows of eight cells, part of the kernel dialect: a lane loop in which the CPU does a row at once.
///
///     FOR_ROWS (x, row, begin, end)
///         row_store(y + row * 8 + x, a * row_load(p + row * 8 + x));
///
/// On the CPU x is 0 and a row_f32 holds the eight cells of a row; on CUDA it holds cell x. The compiler doesn't have
/// to find out that the rounds are independent, which in loops of eight it often gives up on. Arithmetic is written
/// with operators, also with a scalar; a comparison gives a mask for row_select. A cell's numbers go through the
/// operations that a scalar would.
#ifndef TARN_KERNELS_ROW_H
#define TARN_KERNELS_ROW_H

#include "kernels/device/tile.h"

enum { ROW_WORDS = 16 };

#ifdef __CUDACC__
// ----------------------------------------------------------------------------------------------- CUDA: one cell a lane

typedef float row_f32;
typedef int32_t row_i32;

#define FOR_ROWS(ix, row, begin, end)                                                                                  \
    for (uint32_t row##_at = (begin)*8u + threadIdx.x; row##_at < (end)*8u; row##_at += blockDim.x)                    \
        for (uint32_t row = row##_at >> 3, ix = row##_at & 7, row##_once = 1; row##_once; row##_once = 0)

/// Whether this lane does what is to be done once for a row.
TILE_FN int row_begins(uint32_t x)
{
    return x == 0;
}
TILE_FN row_f32 row_load(const float *p)
{
    return *p;
}
TILE_FN row_f32 row_load_u8(const uint8_t *p)
{
    return (float)*p;
}
TILE_FN void row_store(float *p, row_f32 a)
{
    *p = a;
}
TILE_FN row_f32 row_all(float x)
{
    return x;
}
TILE_FN row_f32 row_select(row_i32 take, row_f32 a, row_f32 b)
{
    return take ? a : b;
}
TILE_FN row_f32 row_max(row_f32 a, row_f32 b)
{
    return tile_max2_f32(a, b);
}
TILE_FN row_f32 row_clamp(row_f32 a, float lo, float hi)
{
    return tile_clamp_f32(a, lo, hi);
}
TILE_FN row_f32 row_magnitude(row_f32 a)
{
    return tile_magnitude_f32(a);
}

// Rows as bits: those of a word from bit x on, `bits >> x`, the first cell's lowest.
//
//     FOR_SET_ROWS (x, row, first, end, words, mask)
//         the rows of first .. end - 1, multiples of ROW_WORDS, whose word of `words` has bits of the mask

#define FOR_SET_ROWS(ix, row, first, end, words, mask)                                                                 \
    for (int row##_at = 8 * (first) + (int)threadIdx.x; row##_at < 8 * (end); row##_at += (int)blockDim.x)             \
        for (int ix = row##_at & 7, row = row##_at >> 3, row##_once = 1; row##_once && ((words)[row] & (mask)) != 0;   \
             row##_once = 0)

/// The cells whose bits are set.
TILE_FN row_i32 row_bits_mask(uint32_t bits)
{
    return (int32_t)(bits & 1);
}
/// Zero but for the cells of the mask.
TILE_FN row_f32 row_keep(row_i32 mask, row_f32 a)
{
    return mask ? a : 0.0f;
}
/// The same of memory, of which other lanes may be writing the cells beside the mask.
TILE_FN row_f32 row_load_kept(row_i32 mask, const float *p)
{
    return mask ? *p : 0.0f;
}
/// Stores the cells of the mask; the others stay as they are.
TILE_FN void row_put(float *p, row_i32 mask, row_f32 a)
{
    if (mask) {
        *p = a;
    }
}
/// A byte for the cells of the mask; the others stay as they are.
TILE_FN void row_put_u8(uint8_t *p, row_i32 mask, uint8_t n)
{
    if (mask) {
        *p = n;
    }
}
/// How many of n masks take a cell.
TILE_FN row_f32 row_count(const row_i32 *mask, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += mask[i];
    }
    return (float)sum;
}
TILE_FN row_f32 row_sqrt(row_f32 a)
{
    return tile_sqrt_f32(a);
}
TILE_FN row_f32 row_load_i32(const int32_t *p)
{
    return (float)*p;
}
/// Integers as such, added with operators.
TILE_FN row_i32 row_whole(int32_t n)
{
    return n;
}
TILE_FN row_i32 row_load_whole(const int32_t *p)
{
    return *p;
}
/// *p in one cell, zero in the others.
TILE_FN row_i32 row_load_one(const int32_t *p, uint32_t x, int cell)
{
    return (int)x == cell ? *p : 0;
}
TILE_FN void row_store_whole(int32_t *p, row_i32 a)
{
    *p = a;
}
/// Whether this lane has nothing to do with the mask. A lane that does whole rows isn't asked.
TILE_FN int row_idles(row_i32 mask)
{
    return mask == 0;
}
/// Whether the mask has cells: some that this lane does.
TILE_FN int row_any(row_i32 mask)
{
    return mask != 0;
}
/// Bits of the eight integers from p on that are at least so large: all of it by one lane.
TILE_FN uint32_t row_at_least(const int32_t *p, int32_t least)
{
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits |= (uint32_t)(p[i] >= least) << i;
    }
    return bits;
}
/// The same of floats that are above zero.
TILE_FN uint32_t row_positive(const float *p)
{
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits |= (uint32_t)(p[i] > 0.0f) << i;
    }
    return bits;
}
/// The same of floats that are below `most`.
TILE_FN uint32_t row_below(const float *p, float most)
{
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits |= (uint32_t)(p[i] < most) << i;
    }
    return bits;
}

#else
// -------------------------------------------------------------------------------------------------- CPU: a row at once

#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef float row_f32 __attribute__((vector_size(32)));
typedef int32_t row_i32 __attribute__((vector_size(32)));

// Where a processor's registers are smaller than a row, how these would be passed to a function changes with compiler
// options; but none is: all are inline.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define FOR_ROWS(ix, row, begin, end)                                                                                  \
    for (uint32_t row = (begin); row < (end); row++)                                                                   \
        for (uint32_t ix = 0, row##_once = 1; row##_once; row##_once = 0)

TILE_FN int row_begins(uint32_t x)
{
    return x == 0;
}
TILE_FN row_f32 row_load(const float *p)
{
    row_f32 r;
    memcpy(&r, p, sizeof r);
    return r;
}
TILE_FN row_f32 row_load_u8(const uint8_t *p)
{
    typedef uint8_t bytes __attribute__((vector_size(8)));
    bytes r;
    memcpy(&r, p, sizeof r);
    return __builtin_convertvector(r, row_f32);
}
TILE_FN void row_store(float *p, row_f32 a)
{
    memcpy(p, &a, sizeof a);
}
TILE_FN row_f32 row_all(float x)
{
    return x - (row_f32){0};
}
// Of selections by bits compilers make several instructions. That for a minimum gives a < b ? a : b, that for a maximum
// a > b ? a : b, also of zeros and of what isn't a number.
TILE_FN row_f32 row_select(row_i32 take, row_f32 a, row_f32 b)
{
#ifdef __AVX__
    return (row_f32)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)take);
#else
    return (row_f32)(((row_i32)a & take) | ((row_i32)b & ~take));
#endif
}
TILE_FN row_f32 row_max(row_f32 a, row_f32 b)
{
#ifdef __AVX__
    return (row_f32)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return row_select(a > b, a, b);
#endif
}
/// As tile_clamp_f32.
TILE_FN row_f32 row_clamp(row_f32 a, float lo, float hi)
{
#ifdef __AVX__
    const row_f32 below = (row_f32)_mm256_min_ps((__m256)a, (__m256)row_all(hi));
#else
    const row_f32 below = row_select(a < hi, a, row_all(hi));
#endif
    return row_max(below, row_all(lo));
}
/// As tile_magnitude_f32.
TILE_FN row_f32 row_magnitude(row_f32 a)
{
    const row_i32 bits = (row_i32)a & 0x7fffffff, finite = bits < 0x7f800000;
    return (row_f32)((bits & finite) | (0x7f800000 & ~finite));
}

#define FOR_SET_ROWS(ix, row, first, end, words, mask)                                                                 \
    for (int row##_word = (first), ix = 0; row##_word < (end); row##_word += ROW_WORDS)                                \
        for (uint32_t row##_set = row_words_set((words) + row##_word, mask), row##_once = 1; row##_set != 0;           \
             row##_set &= row##_set - 1, row##_once = 1)                                                               \
            for (int row = row##_word + (int)tile_lowest_bit_u32(row##_set); row##_once; row##_once = 0)

/// A bit for each of ROW_WORDS words that have bits of the mask.
TILE_FN uint32_t row_words_set(const uint16_t *words, uint32_t mask)
{
#ifdef __SSE2__
    const __m128i all = _mm_set1_epi16((short)mask), zero = _mm_setzero_si128();
    const __m128i low = _mm_and_si128(_mm_loadu_si128((const __m128i *)words), all);
    const __m128i high = _mm_and_si128(_mm_loadu_si128((const __m128i *)(words + 8)), all);
    const __m128i none = _mm_packs_epi16(_mm_cmpeq_epi16(low, zero), _mm_cmpeq_epi16(high, zero));
    return ~(uint32_t)_mm_movemask_epi8(none) & 0xffffu;
#else
    uint32_t set = 0;
    for (int i = 0; i < ROW_WORDS; i++) {
        set |= (uint32_t)((words[i] & mask) != 0) << i;
    }
    return set;
#endif
}
TILE_FN row_i32 row_bits_mask(uint32_t bits)
{
    const row_i32 cell = {1, 2, 4, 8, 16, 32, 64, 128};
    return (cell & (int32_t)bits) != 0;
}
/// The cells of a mask as bits.
TILE_FN uint32_t row_mask_bits(row_i32 mask)
{
#ifdef __AVX__
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#else
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) {
        bits |= (uint32_t)(mask[i] & 1) << i;
    }
    return bits;
#endif
}
TILE_FN row_f32 row_keep(row_i32 mask, row_f32 a)
{
    return (row_f32)(mask & (row_i32)a);
}
TILE_FN row_f32 row_load_kept(row_i32 mask, const float *p)
{
    return row_keep(mask, row_load(p));
}
TILE_FN void row_put(float *p, row_i32 mask, row_f32 a)
{
    row_store(p, row_select(mask, a, row_load(p)));
}
TILE_FN void row_put_u8(uint8_t *p, row_i32 mask, uint8_t n)
{
    for (uint32_t bits = row_mask_bits(mask); bits != 0; bits &= bits - 1) {
        p[tile_lowest_bit_u32(bits)] = n;
    }
}
TILE_FN row_f32 row_count(const row_i32 *mask, int n)
{
    row_i32 sum = {0};
    TILE_UNROLL for (int i = 0; i < n; i++) sum -= mask[i];
    return __builtin_convertvector(sum, row_f32);
}
TILE_FN row_f32 row_sqrt(row_f32 a)
{
#ifdef __AVX__
    return (row_f32)_mm256_sqrt_ps((__m256)a);
#else
    TILE_UNROLL for (int i = 0; i < 8; i++) a[i] = tile_sqrt_f32(a[i]);
    return a;
#endif
}
TILE_FN row_f32 row_load_i32(const int32_t *p)
{
    row_i32 r;
    memcpy(&r, p, sizeof r);
    return __builtin_convertvector(r, row_f32);
}
TILE_FN row_i32 row_whole(int32_t n)
{
    return n - (row_i32){0};
}
TILE_FN row_i32 row_load_whole(const int32_t *p)
{
    row_i32 r;
    memcpy(&r, p, sizeof r);
    return r;
}
TILE_FN row_i32 row_load_one(const int32_t *p, uint32_t x, int cell)
{
    const row_i32 cells = {0, 1, 2, 3, 4, 5, 6, 7};
    (void)x;
    return row_whole(*p) & (cells == cell);
}
TILE_FN void row_store_whole(int32_t *p, row_i32 a)
{
    memcpy(p, &a, sizeof a);
}
TILE_FN int row_idles(row_i32 mask)
{
    (void)mask;
    return 0;
}
TILE_FN int row_any(row_i32 mask)
{
    return row_mask_bits(mask) != 0;
}
TILE_FN uint32_t row_at_least(const int32_t *p, int32_t least)
{
    return row_mask_bits(row_load_whole(p) >= least);
}
TILE_FN uint32_t row_positive(const float *p)
{
    return row_mask_bits(row_load(p) > 0.0f);
}
TILE_FN uint32_t row_below(const float *p, float most)
{
    return row_mask_bits(row_load(p) < most);
}
#endif

#endif
