/// Four whole numbers side by side: x, y, z of a particle or a node, and something. One register with SSE2 and in
/// WebAssembly, four numbers on a GPU; the results are the same everywhere.
#ifndef TARN_PROTOCOL_LANES_H
#define TARN_PROTOCOL_LANES_H

#include "protocol/ans.h"

#if defined(__SSE2__) && !defined(__CUDACC__)
#include <emmintrin.h>
#ifdef __SSE4_1__
#include <smmintrin.h>
#endif
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#ifdef __CUDACC__

typedef struct tarn_four {
    int32_t v[4];
} tarn_four;

#define TARN_FOUR_EACH(expression)                                                                                     \
    tarn_four r;                                                                                                       \
    for (int i = 0; i < 4; i++)                                                                                        \
        r.v[i] = (expression);                                                                                         \
    return r

TARN_CODE_FN tarn_four tarn_four_load(const int32_t *from)
{
    TARN_FOUR_EACH(from[i]);
}
TARN_CODE_FN void tarn_four_store(int32_t *to, tarn_four a)
{
    for (int i = 0; i < 4; i++) {
        to[i] = a.v[i];
    }
}
TARN_CODE_FN tarn_four tarn_four_of(int32_t x, int32_t y, int32_t z, int32_t w)
{
    const tarn_four r = {{x, y, z, w}};
    return r;
}
TARN_CODE_FN tarn_four tarn_four_all(int32_t x)
{
    return tarn_four_of(x, x, x, x);
}
TARN_CODE_FN tarn_four tarn_four_add(tarn_four a, tarn_four b)
{
    TARN_FOUR_EACH(a.v[i] + b.v[i]);
}
TARN_CODE_FN tarn_four tarn_four_sub(tarn_four a, tarn_four b)
{
    TARN_FOUR_EACH(a.v[i] - b.v[i]);
}
TARN_CODE_FN tarn_four tarn_four_and(tarn_four a, tarn_four b)
{
    TARN_FOUR_EACH(a.v[i] & b.v[i]);
}
TARN_CODE_FN tarn_four tarn_four_xor(tarn_four a, tarn_four b)
{
    TARN_FOUR_EACH(a.v[i] ^ b.v[i]);
}
TARN_CODE_FN tarn_four tarn_four_left(tarn_four a, int bits)
{
    TARN_FOUR_EACH((int32_t)((uint32_t)a.v[i] << bits));
}
TARN_CODE_FN tarn_four tarn_four_right(tarn_four a, int bits)
{
    TARN_FOUR_EACH(a.v[i] >> bits);
}
TARN_CODE_FN tarn_four tarn_four_times(tarn_four a, int32_t factor)
{
    TARN_FOUR_EACH(a.v[i] * factor);
}
TARN_CODE_FN tarn_four tarn_four_min(tarn_four a, tarn_four b)
{
    TARN_FOUR_EACH(a.v[i] < b.v[i] ? a.v[i] : b.v[i]);
}
TARN_CODE_FN tarn_four tarn_four_max(tarn_four a, tarn_four b)
{
    TARN_FOUR_EACH(a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}
/// Products with `factor`, and `add`, divided by 2^31; the numbers are taken for unsigned ones, and so is the result.
TARN_CODE_FN tarn_four tarn_four_scale(tarn_four a, uint32_t factor, uint32_t add)
{
    TARN_FOUR_EACH((int32_t)(uint32_t)(((uint64_t)(uint32_t)a.v[i] * factor + add) >> 31));
}
/// The nearest numbers from -32767 to 32767.
TARN_CODE_FN tarn_four tarn_four_clamp_i16(tarn_four a)
{
    TARN_FOUR_EACH(a.v[i] < -INT16_MAX ? -INT16_MAX : a.v[i] > INT16_MAX ? INT16_MAX : a.v[i]);
}
/// Four numbers of 16 bits.
TARN_CODE_FN tarn_four tarn_four_load_i16(const int16_t *from)
{
    TARN_FOUR_EACH(from[i]);
}
TARN_CODE_FN tarn_four tarn_four_add_three_i16(const int16_t *a, const int16_t *b, const int16_t *c)
{
    TARN_FOUR_EACH(a[i] + b[i] + c[i]);
}
/// Stores three numbers of 16 bits, and `last` behind them. @param a  within 16 bits
TARN_CODE_FN void tarn_four_store_i16(int16_t *to, tarn_four a, int32_t last)
{
    for (int i = 0; i < 3; i++) {
        to[i] = (int16_t)a.v[i];
    }
    to[3] = (int16_t)last;
}
TARN_CODE_FN int32_t tarn_four_last(tarn_four a)
{
    return a.v[3];
}
TARN_CODE_FN void tarn_four_copy_i16(int16_t *to, const int16_t *from)
{
    for (int i = 0; i < 4; i++) {
        to[i] = from[i];
    }
}

#else

typedef int32_t tarn_four __attribute__((vector_size(16)));

TARN_CODE_FN tarn_four tarn_four_load(const int32_t *from)
{
    tarn_four r;
    __builtin_memcpy(&r, from, sizeof r);
    return r;
}
TARN_CODE_FN void tarn_four_store(int32_t *to, tarn_four a)
{
    __builtin_memcpy(to, &a, sizeof a);
}
TARN_CODE_FN tarn_four tarn_four_of(int32_t x, int32_t y, int32_t z, int32_t w)
{
    const tarn_four r = {x, y, z, w};
    return r;
}
TARN_CODE_FN tarn_four tarn_four_all(int32_t x)
{
    return tarn_four_of(x, x, x, x);
}
TARN_CODE_FN tarn_four tarn_four_add(tarn_four a, tarn_four b)
{
    return a + b;
}
TARN_CODE_FN tarn_four tarn_four_sub(tarn_four a, tarn_four b)
{
    return a - b;
}
TARN_CODE_FN tarn_four tarn_four_and(tarn_four a, tarn_four b)
{
    return a & b;
}
TARN_CODE_FN tarn_four tarn_four_xor(tarn_four a, tarn_four b)
{
    return a ^ b;
}
TARN_CODE_FN tarn_four tarn_four_left(tarn_four a, int bits)
{
    return a << bits;
}
TARN_CODE_FN tarn_four tarn_four_right(tarn_four a, int bits)
{
    return a >> bits;
}
TARN_CODE_FN tarn_four tarn_four_times(tarn_four a, int32_t factor)
{
    return a * factor;
}
TARN_CODE_FN tarn_four tarn_four_min(tarn_four a, tarn_four b)
{
#ifdef __SSE4_1__
    return (tarn_four)_mm_min_epi32((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
    return (tarn_four)wasm_i32x4_min((v128_t)a, (v128_t)b);
#else
    const tarn_four take = a < b;
    return (a & take) | (b & ~take);
#endif
}
TARN_CODE_FN tarn_four tarn_four_max(tarn_four a, tarn_four b)
{
#ifdef __SSE4_1__
    return (tarn_four)_mm_max_epi32((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
    return (tarn_four)wasm_i32x4_max((v128_t)a, (v128_t)b);
#else
    const tarn_four take = a > b;
    return (a & take) | (b & ~take);
#endif
}

// ------------------------------------------------------------------------- eight numbers of 16 bits, and what SIMD has

typedef int16_t tarn_eight __attribute__((vector_size(16)));

TARN_CODE_FN tarn_eight tarn_eight_load(const void *from)
{
    tarn_eight r;
    __builtin_memcpy(&r, from, sizeof r);
    return r;
}

TARN_CODE_FN tarn_eight tarn_eight_all(int16_t x)
{
    const tarn_eight r = {x, x, x, x, x, x, x, x};
    return r;
}

/// The first four numbers of a and b in turns; the last four.
TARN_CODE_FN tarn_eight tarn_eight_zip_low(tarn_eight a, tarn_eight b)
{
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
TARN_CODE_FN tarn_eight tarn_eight_zip_high(tarn_eight a, tarn_eight b)
{
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/// The products of a's and b's numbers, added in pairs.
TARN_CODE_FN tarn_four tarn_eight_dot(tarn_eight a, tarn_eight b)
{
#if defined(__SSE2__)
    return (tarn_four)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
    return (tarn_four)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#else
    tarn_four r;
    for (int i = 0; i < 4; i++) {
        r[i] = a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
    }
    return r;
#endif
}

/// a's numbers, then b's, each the nearest that fits 16 bits.
TARN_CODE_FN tarn_eight tarn_eight_narrow(tarn_four a, tarn_four b)
{
#if defined(__SSE2__)
    return (tarn_eight)_mm_packs_epi32((__m128i)a, (__m128i)b);
#elif defined(__wasm_simd128__)
    return (tarn_eight)wasm_i16x8_narrow_i32x4((v128_t)a, (v128_t)b);
#else
    tarn_eight r;
    for (int i = 0; i < 8; i++) {
        const int32_t x = i < 4 ? a[i] : b[i - 4];
        r[i] = (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
    }
    return r;
#endif
}

/// Four numbers from 0 to 65535 as such of 16 bits, twice.
TARN_CODE_FN tarn_eight tarn_eight_narrow_u16(tarn_four a)
{
    const tarn_four low = a - 32768;
    return tarn_eight_narrow(low, low) ^ tarn_eight_all(INT16_MIN);
}

/// Four numbers as such of 8 bits, the nearest from -127 to 127; they are the first four bytes.
TARN_CODE_FN tarn_eight tarn_eight_narrow_i8(tarn_four a)
{
#if defined(__SSE2__)
    const __m128i sixteen = _mm_max_epi16(_mm_packs_epi32((__m128i)a, (__m128i)a), _mm_set1_epi16(-127));
    return (tarn_eight)_mm_packs_epi16(sixteen, sixteen);
#elif defined(__wasm_simd128__)
    const v128_t sixteen = wasm_i16x8_max(wasm_i16x8_narrow_i32x4((v128_t)a, (v128_t)a), wasm_i16x8_splat(-127));
    return (tarn_eight)wasm_i8x16_narrow_i16x8(sixteen, sixteen);
#else
    tarn_eight r = {0};
    for (int i = 0; i < 4; i++) {
        ((int8_t *)&r)[i] = (int8_t)(a[i] < -127 ? -127 : a[i] > 127 ? 127 : a[i]);
    }
    return r;
#endif
}

/// The nearest numbers from -32767 to 32767.
TARN_CODE_FN tarn_four tarn_four_clamp_i16(tarn_four a)
{
#if defined(__SSE2__) && !defined(__SSE4_1__)
    const __m128i near = _mm_max_epi16(_mm_packs_epi32((__m128i)a, (__m128i)a), _mm_set1_epi16(-INT16_MAX));
    return (tarn_four)_mm_srai_epi32(_mm_unpacklo_epi16(near, near), 16);
#else
    return tarn_four_max(tarn_four_min(a, tarn_four_all(INT16_MAX)), tarn_four_all(-INT16_MAX));
#endif
}
/// Products with `factor`, and `add`, divided by 2^31; the numbers are taken for unsigned ones, and so is the result.
TARN_CODE_FN tarn_four tarn_four_scale(tarn_four a, uint32_t factor, uint32_t add)
{
#if defined(__SSE2__)
    const __m128i nil = _mm_setzero_si128(), by = _mm_set1_epi64x(factor), plus = _mm_set1_epi64x(add);
    const __m128i low = _mm_mul_epu32(_mm_unpacklo_epi32((__m128i)a, nil), by),
                  high = _mm_mul_epu32(_mm_unpackhi_epi32((__m128i)a, nil), by);
    return __builtin_shufflevector((tarn_four)_mm_srli_epi64(_mm_add_epi64(low, plus), 31),
                                   (tarn_four)_mm_srli_epi64(_mm_add_epi64(high, plus), 31), 0, 2, 4, 6);
#elif defined(__wasm_simd128__)
    const v128_t by = wasm_u32x4_splat(factor), plus = wasm_u64x2_splat(add);
    const v128_t low = wasm_i64x2_add(wasm_u64x2_extmul_low_u32x4((v128_t)a, by), plus),
                 high = wasm_i64x2_add(wasm_u64x2_extmul_high_u32x4((v128_t)a, by), plus);
    return __builtin_shufflevector((tarn_four)wasm_u64x2_shr(low, 31), (tarn_four)wasm_u64x2_shr(high, 31), 0, 2, 4, 6);
#else
    tarn_four r;
    for (int i = 0; i < 4; i++) {
        r[i] = (int32_t)(uint32_t)(((uint64_t)(uint32_t)a[i] * factor + add) >> 31);
    }
    return r;
#endif
}
/// Four numbers, and four for nothing.
TARN_CODE_FN tarn_eight tarn_eight_load_four(const int16_t *from)
{
#if defined(__SSE2__)
    return (tarn_eight)_mm_loadl_epi64((const __m128i *)(const void *)from);
#elif defined(__wasm_simd128__)
    return (tarn_eight)wasm_v128_load64_zero(from);
#else
    tarn_eight r = {from[0], from[1], from[2], from[3]};
    return r;
#endif
}
/// Four numbers of 16 bits.
TARN_CODE_FN tarn_four tarn_four_load_i16(const int16_t *from)
{
    const tarn_eight r = tarn_eight_load_four(from);
    return (tarn_four)tarn_eight_zip_low(r, r) >> 16;
}
TARN_CODE_FN tarn_four tarn_four_add_three_i16(const int16_t *a, const int16_t *b, const int16_t *c)
{
    const tarn_eight two = tarn_eight_zip_low(tarn_eight_load_four(a), tarn_eight_load_four(b));
    return tarn_eight_dot(two, tarn_eight_all(1)) + tarn_four_load_i16(c);
}
/// Stores three numbers of 16 bits, and `last` behind them: in one piece, as they will be read. @param a  within 16
/// bits
TARN_CODE_FN void tarn_four_store_i16(int16_t *to, tarn_four a, int32_t last)
{
    tarn_eight r = tarn_eight_narrow(a, a);
    r[3] = (int16_t)last;
    __builtin_memcpy(to, &r, 8);
}
TARN_CODE_FN int32_t tarn_four_last(tarn_four a)
{
    return a[3];
}
TARN_CODE_FN void tarn_four_copy_i16(int16_t *to, const int16_t *from)
{
    __builtin_memcpy(to, from, 8);
}

#endif
#endif
