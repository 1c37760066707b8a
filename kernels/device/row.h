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

#else
// -------------------------------------------------------------------------------------------------- CPU: a row at once

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
TILE_FN row_f32 row_select(row_i32 take, row_f32 a, row_f32 b)
{
    return (row_f32)(((row_i32)a & take) | ((row_i32)b & ~take));
}
TILE_FN row_f32 row_max(row_f32 a, row_f32 b)
{
    return row_select(a > b, a, b);
}
/// As tile_clamp_f32.
TILE_FN row_f32 row_clamp(row_f32 a, float lo, float hi)
{
    const row_f32 below = row_select(a < hi, a, row_all(hi));
    return row_max(below, row_all(lo));
}
/// As tile_magnitude_f32.
TILE_FN row_f32 row_magnitude(row_f32 a)
{
    const row_i32 bits = (row_i32)a & 0x7fffffff, finite = bits < 0x7f800000;
    return (row_f32)((bits & finite) | (0x7f800000 & ~finite));
}
#endif

#endif
