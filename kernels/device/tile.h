/// The kernel dialect: kernels for CPU and GPU from one source.
///
/// A kernel works on numbered *tiles*. One tile is worked on by a group of *lanes* that share a small scratch memory.
/// nvcc makes a tile a thread block and a lane a thread; the C compiler makes a tile a task of the thread pool and the
/// lanes a loop, which it vectorises. The body is written as loops over lanes with barriers between them:
///
///     struct saxpy_args {
///         const float *x;
///         float *y;
///         float a;
///         uint32_t count;
///     };
///     struct saxpy_scratch {
///         float part[128];
///     };
///
///     TILE_KERNEL(saxpy, 128, struct saxpy_args, struct saxpy_scratch)
///     {
///         // in scope: args, tile (this tile's number), s (the scratch)
///         FOR_LANES (i) {
///             uint32_t at = tile * 128u + i;
///             s->part[i] = at < args->count ? args->a * args->x[at] + args->y[at] : 0.0f;
///         }
///         TILE_BARRIER();
///         FOR_LANES (i) {
///             uint32_t at = tile * 128u + i;
///             if (at < args->count) {
///                 args->y[at] = s->part[i];
///             }
///         }
///     }
///
/// The host launches it over as many tiles as cover `count`: tests/kernels/dialect_checks.c does.
///
/// Lane loops: FOR_LANES (one round per lane), FOR_RANGE (any range), FOR_RANGE_ATOMIC (any range, with tile_add_* and
/// tile_or_*) and FOR_BOX (a box of cells, x fastest; sizes above zero). `continue` ends a round; `break` and `return`
/// have no place in one. Functions besides kernels (TILE_FN) use FOR_RANGE and FOR_BOX; FOR_LANES knows its lanes only
/// in a kernel's body.
///
/// Rules that keep the result bit-identical on both devices and for every number of threads and lanes:
/// - A lane loop's rounds are independent: no round reads what another round of the same loop writes. Where several add
///   into one place they use the atomics below, on integers, inside a FOR_RANGE_ATOMIC.
/// - A barrier stands between two loops when one writes what another lane of the other reads *or writes*: also between
///   the last read of a scratch value and its next write, and around what is read outside any loop.
/// - Barriers, collectives and `return` outside lane loops are reached by all lanes or by none: conditions on them come
///   from args, tile, or memory that no lane has written since the last barrier.
/// - What lives across a barrier lives in the scratch or in device memory, never in a local variable, unless it is the
///   same for all lanes. The scratch is undefined when a tile begins.
/// - What runs outside lane loops runs once on the CPU and in every lane on a GPU: writes stand inside
///   `if (TILE_SINGLE())`.
/// - Tiles of a launch run in any order and at the same time: they share only what they all read, and the global_*
///   atomics; but the last of them, as tile_is_last says, sees what each had written before it asked. A launch doesn't
///   write its own count.
/// - Reductions of floats go through tile_sum_*: a fixed tree. Maxima and integer sums may go in any order.
/// - No fused multiply-add, no libm transcendental. Clamp before converting a float to an integer.
/// - The source is C17 and C++17 at once: cast void pointers, no designated initialisers. On CUDA the files of one
/// library
///   are one translation unit: static names are unique across them.
///
/// tests/kernels runs the CUDA form of kernels on the CPU, lane by lane in several orders, compares, and looks at every
/// access: broken rules show, and so do barriers that nothing needs.
#ifndef TARN_KERNELS_TILE_H
#define TARN_KERNELS_TILE_H

#include <stdint.h>
#ifndef __CUDACC__
#include <math.h>
#include <string.h>
#endif

enum {
    TARN_TILE_SCRATCH_BYTES_MAX = 48 * 1024 - 256, ///< what every CUDA device gives a block, less the collectives' own
    TARN_TILE_ARGS_BYTES_MAX = 4000,               ///< of an argument structure: CUDA passes 4096 bytes in all
    TARN_TILE_LANES_MAX = 1024,
};

typedef struct tile_no_scratch {
    uint32_t unused;
} tile_no_scratch;

#define TILE_JOIN_(a, b) a##b
#define TILE_JOIN(a, b) TILE_JOIN_(a, b)

/// #include TILE_FORM(halo): where a device wants a part of a kernel in a form of its own, the forms lie
/// beside it as halo.cuda.h and halo.cpu.h, and define the same functions. Tanks have the same hash with either.
#define TILE_TEXT(...) #__VA_ARGS__
#ifdef __CUDACC__
#define TILE_FORM(part) TILE_TEXT(part.cuda.h)
#else
#define TILE_FORM(part) TILE_TEXT(part.cpu.h)
#endif

#ifdef __cplusplus
#define TILE_ASSERT static_assert
#else
#define TILE_ASSERT _Static_assert
#endif

/// Limits of a kernel, the same on both devices, so that what compiles for one compiles for the other.
#define TILE_KERNEL_ASSERT(name, lanes, args_type, scratch_type)                                                       \
    TILE_ASSERT((lanes) % 32 == 0 && (lanes) >= 32 && (lanes) <= (int)TARN_TILE_LANES_MAX, "lanes of " #name);         \
    TILE_ASSERT(sizeof(args_type) <= (size_t)TARN_TILE_ARGS_BYTES_MAX, "arguments of " #name);                         \
    TILE_ASSERT(sizeof(scratch_type) <= (size_t)TARN_TILE_SCRATCH_BYTES_MAX, "scratch of " #name)

#ifdef __CUDACC__
// ------------------------------------------------------------------------------------------------ CUDA: tile = block

#define TILE_FN static __device__ __forceinline__
#ifndef TILE_ARGUMENT
#define TILE_SHARED(type, name, count) __shared__ __align__(16) type name[count] // of a block
#define TILE_ARGUMENT(type) const __grid_constant__ type
#define TILE_END() __syncthreads() // before the block's next tile
#endif

#define TILE_KERNEL(name, lanes, args_type, scratch_type)                                                              \
    TILE_KERNEL_ASSERT(name, lanes, args_type, scratch_type);                                                          \
    typedef scratch_type tile_scratch_of_##name;                                                                       \
    static __device__ __forceinline__ void name##_body(const args_type *args, uint32_t tile, scratch_type *s);         \
    static __global__ void __launch_bounds__(lanes)                                                                    \
        tarn_cuda_##name(TILE_ARGUMENT(args_type) args, const uint32_t *count, uint32_t count_max)                     \
    {                                                                                                                  \
        __shared__ __align__(16) unsigned char scratch[sizeof(scratch_type)];                                          \
        uint32_t end = count != nullptr && *count < count_max ? *count : count_max;                                    \
        for (uint32_t tile = blockIdx.x; tile < end; tile += gridDim.x) {                                              \
            name##_body(&args, tile, reinterpret_cast<scratch_type *>(scratch));                                       \
            TILE_END();                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    extern "C" const void *tarn_cuda_entry_##name(uint32_t *block_lanes, uint32_t *args_bytes)                         \
    {                                                                                                                  \
        *block_lanes = lanes;                                                                                          \
        *args_bytes = sizeof(args_type);                                                                               \
        return reinterpret_cast<const void *>(&tarn_cuda_##name);                                                      \
    }                                                                                                                  \
    static __device__ __forceinline__ void name##_body(                                                                \
        [[maybe_unused]] const args_type *args, [[maybe_unused]] uint32_t tile, [[maybe_unused]] scratch_type *s)

#define TILE_UNROLL _Pragma("unroll") ///< in front of a short loop with a constant count
#define TILE_BARRIER() __syncthreads()
#define TILE_SINGLE() (threadIdx.x == 0)
#define FOR_LANES(i) for (uint32_t i = threadIdx.x, i##_once = 1; i##_once; i##_once = 0)
#define FOR_RANGE(i, begin, end) for (uint32_t i = (begin) + threadIdx.x; i < (end); i += blockDim.x)
#define FOR_RANGE_ATOMIC(i, begin, end) FOR_RANGE (i, begin, end)
#define FOR_BOX(ix, iy, iz, nx, ny, nz)                                                                                \
    for (int ix##_at = (int)threadIdx.x; ix##_at < (nx) * (ny) * (nz); ix##_at += (int)blockDim.x)                     \
        for (int ix = ix##_at % (nx), iy = ix##_at / (nx) % (ny), iz = ix##_at / ((nx) * (ny)), ix##_once = 1;         \
             ix##_once; ix##_once = 0)

TILE_FN void tile_add_i32(int32_t *p, int32_t v)
{
    atomicAdd(p, v);
}
TILE_FN void tile_add_u32(uint32_t *p, uint32_t v)
{
    atomicAdd(p, v);
}
TILE_FN void tile_or_u32(uint32_t *p, uint32_t v)
{
    if (v != 0) {
        atomicOr(p, v);
    }
}
TILE_FN uint32_t global_add_u32(uint32_t *p, uint32_t v)
{
    return atomicAdd(p, v);
}
TILE_FN void global_add_u64(uint64_t *p, uint64_t v)
{
    atomicAdd((unsigned long long *)p, (unsigned long long)v);
}
TILE_FN void global_max_u32(uint32_t *p, uint32_t v)
{
    atomicMax(p, v);
}
TILE_FN void global_or_u32(uint32_t *p, uint32_t v)
{
    atomicOr(p, v);
}
/// @return what was there
TILE_FN uint32_t global_min_u32(uint32_t *p, uint32_t v)
{
    return atomicMin(p, v);
}
/// For a place into which several tiles write, all the same.
TILE_FN void global_store_u32(uint32_t *p, uint32_t v)
{
    *(volatile uint32_t *)p = v;
}
/// Of a place that tiles of this launch change by the atomics.
TILE_FN uint32_t global_load_u32(const uint32_t *p)
{
    return *(const volatile uint32_t *)p;
}

// For blocks that wait for each other. A fence of all of CUDA's orders would wait for more than these say.
#ifdef __NVCC__
/// Adds 1; others see by it what this block has done before.
TILE_FN void tile_arrive_u32(uint32_t *p)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(p) : "memory");
}
/// The same. @return what was there, and what others had done
TILE_FN uint32_t tile_come_u32(uint32_t *p)
{
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(p) : "memory");
    return before;
}
/// @return what is there, and nothing else: each look at more than that costs the multiprocessor its cache
TILE_FN uint32_t tile_glance_u32(const uint32_t *p)
{
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}
/// @return what is there, and all that whoever came to it had done
TILE_FN uint32_t tile_look_u32(const uint32_t *p)
{
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}
#else
TILE_FN void tile_arrive_u32(uint32_t *p)
{
    (void)atomicAdd(p, 1u);
}
TILE_FN uint32_t tile_come_u32(uint32_t *p)
{
    return atomicAdd(p, 1u);
}
TILE_FN uint32_t tile_glance_u32(const uint32_t *p)
{
    return *(const volatile uint32_t *)p;
}
TILE_FN uint32_t tile_look_u32(const uint32_t *p)
{
    return *(const volatile uint32_t *)p;
}
#endif

/// The lane's number, of which the compiler knows nothing: it would keep what follows from the number in registers, or
/// out of them, from one of a chain's kernels to the next.
TILE_FN uint32_t tile_lane(void)
{
    uint32_t lane = threadIdx.x;
    asm volatile("" : "+r"(lane));
    return lane;
}

#ifndef TILE_LAST
#define TILE_LAST() ((void)0) // for those who watch
#endif
TILE_FN int tile_is_last(uint32_t *come, uint32_t tiles, uint32_t *is_last)
{
    if (TILE_SINGLE()) {
        *is_last = tile_come_u32(come) == tiles - 1;
        if (*is_last) {
            TILE_LAST();
            *come = 0;
        }
    }
    TILE_BARRIER();
    return (int)*is_last;
}

TILE_FN uint32_t tile_popcount_u32(uint32_t x)
{
    return (uint32_t)__popc(x);
}
/// Number of the lowest bit that is set; x must not be 0.
TILE_FN uint32_t tile_lowest_bit_u32(uint32_t x)
{
    return (uint32_t)__ffs((int)x) - 1;
}
/// Zeros above the highest bit that is set; x must not be 0.
TILE_FN uint32_t tile_leading_zeros_u32(uint32_t x)
{
    return (uint32_t)__clz((int)x);
}

TILE_FN int32_t tile_round_i32(float x)
{
    return __float2int_rn(x);
}
TILE_FN float tile_floor_f32(float x)
{
    return floorf(x);
}
TILE_FN float tile_sqrt_f32(float x)
{
    return __fsqrt_rn(x);
}
TILE_FN uint32_t tile_bits_f32(float x)
{
    return __float_as_uint(x);
}
TILE_FN float tile_f32_bits(uint32_t x)
{
    return __uint_as_float(x);
}

#else
// ---------------------------------------------------------------------------------- CPU: tile = task, lanes = loop

#ifndef TARN_TILE_ISA
#define TARN_TILE_ISA v2
#endif
#define TILE_SYMBOL(name) TILE_JOIN(TILE_JOIN(tarn_cpu_##name, _), TARN_TILE_ISA)

#define TILE_FN static inline __attribute__((always_inline, unused))

#define TILE_KERNEL(name, lanes, args_type, scratch_type)                                                              \
    TILE_KERNEL_ASSERT(name, lanes, args_type, scratch_type);                                                          \
    static inline void name##_body(const args_type *args, uint32_t tile, uint32_t lanes_, scratch_type *s);            \
    void TILE_SYMBOL(name)(const void *args, uint32_t tile_begin, uint32_t tile_end, void *scratch);                   \
    void TILE_SYMBOL(name)(const void *args, uint32_t tile_begin, uint32_t tile_end, void *scratch)                    \
    {                                                                                                                  \
        for (uint32_t tile = tile_begin; tile < tile_end; tile++)                                                      \
            name##_body((const args_type *)args, tile, (lanes), (scratch_type *)scratch);                              \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void name##_body(                                                     \
        __attribute__((unused)) const args_type *args, __attribute__((unused)) uint32_t tile,                          \
        __attribute__((unused)) uint32_t lanes_, __attribute__((unused)) scratch_type *s)

#define TILE_UNROLL _Pragma("GCC unroll 8")
#define TILE_IVDEP _Pragma("GCC ivdep")
#define TILE_BARRIER() ((void)0)
#define TILE_SINGLE() 1
#define FOR_LANES(i) TILE_IVDEP for (uint32_t i = 0; i < lanes_; i++)
#define FOR_RANGE(i, begin, end) TILE_IVDEP for (uint32_t i = (begin); i < (end); i++)
#define FOR_RANGE_ATOMIC(i, begin, end) for (uint32_t i = (begin); i < (end); i++)
#define FOR_BOX(ix, iy, iz, nx, ny, nz)                                                                                \
    for (int iz = 0; iz < (nz); iz++)                                                                                  \
        for (int iy = 0; iy < (ny); iy++)                                                                              \
    TILE_IVDEP for (int ix = 0; ix < (nx); ix++)

TILE_FN void tile_add_i32(int32_t *p, int32_t v)
{
    *p += v;
}
TILE_FN void tile_add_u32(uint32_t *p, uint32_t v)
{
    *p += v;
}
TILE_FN void tile_or_u32(uint32_t *p, uint32_t v)
{
    *p |= v;
}
TILE_FN uint32_t global_add_u32(uint32_t *p, uint32_t v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
TILE_FN void global_add_u64(uint64_t *p, uint64_t v)
{
    __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
TILE_FN void global_max_u32(uint32_t *p, uint32_t v)
{
    uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < v && !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

TILE_FN void global_or_u32(uint32_t *p, uint32_t v)
{
    if ((__atomic_load_n(p, __ATOMIC_RELAXED) & v) != v) {
        __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
    }
}
TILE_FN uint32_t global_min_u32(uint32_t *p, uint32_t v)
{
    uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (v < old && !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
TILE_FN void global_store_u32(uint32_t *p, uint32_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELAXED);
}
TILE_FN uint32_t global_load_u32(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

TILE_FN int tile_is_last(uint32_t *come, uint32_t tiles, uint32_t *is_last)
{
    *is_last = __atomic_add_fetch(come, 1, __ATOMIC_ACQ_REL) == tiles;
    if (*is_last) {
        __atomic_store_n(come, 0, __ATOMIC_RELAXED);
    }
    return (int)*is_last;
}

TILE_FN uint32_t tile_popcount_u32(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}
TILE_FN uint32_t tile_lowest_bit_u32(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}
TILE_FN uint32_t tile_leading_zeros_u32(uint32_t x)
{
    return (uint32_t)__builtin_clz(x);
}

/// Nearest integer, halves to even; |x| must be under 2^31.
TILE_FN int32_t tile_round_i32(float x)
{
    return (int32_t)__builtin_rintf(x);
}
TILE_FN float tile_floor_f32(float x)
{
    return __builtin_floorf(x);
}
TILE_FN float tile_sqrt_f32(float x)
{
    return __builtin_sqrtf(x);
}
TILE_FN uint32_t tile_bits_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
TILE_FN float tile_f32_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
#endif

// ---------------------------------------------------------------------------------------------------- for both devices

// nvcc makes min.f32 and max.f32 of these where one side is a constant. Which zero they give of two isn't said alike
// everywhere: a maximum has its zero second, x > 0 ? x : 0, which all agree on; a minimum has none.
TILE_FN float tile_min_f32(float a, float b)
{
    return a < b ? a : b;
}
TILE_FN float tile_max2_f32(float a, float b)
{
    return a > b ? a : b;
}
/// Not a number becomes `hi`.
TILE_FN float tile_clamp_f32(float x, float lo, float hi)
{
    const float below = x < hi ? x : hi;
    return below > lo ? below : lo;
}
/// x < 0 ? x : 0, never -0, and 0 of what isn't a number. By bits, because nvcc makes min.f32 of any comparison.
TILE_FN float tile_below_zero_f32(float x)
{
    const uint32_t bits = tile_bits_f32(x);
    return tile_f32_bits(bits - 0x80000001u < 0x7f800000u ? bits : 0u);
}
TILE_FN float tile_abs_f32(float x)
{
    return x < 0.0f ? -x : x;
}
TILE_FN uint32_t tile_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
TILE_FN uint32_t tile_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}
TILE_FN int tile_min_i32(int a, int b)
{
    return a < b ? a : b;
}
TILE_FN int tile_max_i32(int a, int b)
{
    return a > b ? a : b;
}
TILE_FN int tile_clamp_i32(int x, int lo, int hi)
{
    return x < lo ? lo : (x > hi ? hi : x);
}

/// Four floats that lie side by side: one register on the CPU. Element i of a sum is the sum of the elements i.
#ifdef __CUDACC__
typedef struct tile_f32x4 {
    float v[4];
} tile_f32x4;
TILE_FN tile_f32x4 tile_load_f32x4(const float *p)
{
    tile_f32x4 r = {{p[0], p[1], p[2], p[3]}};
    return r;
}
TILE_FN tile_f32x4 tile_scale_f32x4(float s, tile_f32x4 a)
{
    tile_f32x4 r = {{s * a.v[0], s * a.v[1], s * a.v[2], s * a.v[3]}};
    return r;
}
TILE_FN tile_f32x4 tile_add_f32x4(tile_f32x4 a, tile_f32x4 b)
{
    tile_f32x4 r = {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2], a.v[3] + b.v[3]}};
    return r;
}
TILE_FN float tile_get_f32x4(tile_f32x4 a, int i)
{
    return a.v[i];
}
TILE_FN tile_f32x4 tile_set_f32x4(float x, float y, float z, float w)
{
    tile_f32x4 r = {{x, y, z, w}};
    return r;
}
TILE_FN tile_f32x4 tile_mul_f32x4(tile_f32x4 a, tile_f32x4 b)
{
    tile_f32x4 r = {{a.v[0] * b.v[0], a.v[1] * b.v[1], a.v[2] * b.v[2], a.v[3] * b.v[3]}};
    return r;
}
TILE_FN void tile_add_row_i32(int32_t *p, tile_f32x4 a, int n)
{
    TILE_UNROLL for (int i = 0; i < n; i++) tile_add_i32(p + i, tile_round_i32(a.v[i]));
}
#else
typedef float tile_f32x4 __attribute__((vector_size(16)));
TILE_FN tile_f32x4 tile_load_f32x4(const float *p)
{
    tile_f32x4 r;
    memcpy(&r, p, sizeof r);
    return r;
}
TILE_FN tile_f32x4 tile_scale_f32x4(float s, tile_f32x4 a)
{
    return s * a;
}
TILE_FN tile_f32x4 tile_add_f32x4(tile_f32x4 a, tile_f32x4 b)
{
    return a + b;
}
TILE_FN float tile_get_f32x4(tile_f32x4 a, int i)
{
    return a[i];
}
TILE_FN tile_f32x4 tile_set_f32x4(float x, float y, float z, float w)
{
    return (tile_f32x4){x, y, z, w};
}
TILE_FN tile_f32x4 tile_mul_f32x4(tile_f32x4 a, tile_f32x4 b)
{
    return a * b;
}
/// Adds the first n of four numbers, rounded, to integers side by side, as tile_add_i32 does. The others must be zero:
/// the CPU adds all four, so p has room for four.
TILE_FN void tile_add_row_i32(int32_t *p, tile_f32x4 a, int n)
{
    (void)n;
    typedef int32_t four __attribute__((vector_size(16)));
    four sum;
    memcpy(&sum, p, sizeof sum);
    sum += (four){tile_round_i32(a[0]), tile_round_i32(a[1]), tile_round_i32(a[2]), tile_round_i32(a[3])};
    memcpy(p, &sum, sizeof sum);
}
#endif

/// 2^n, n = -252..254.
TILE_FN double tile_power_of_2_f64(int n)
{
    const int half = n / 2, rest = n - half;
    return (double)tile_f32_bits((uint32_t)(127 + half) << 23) * (double)tile_f32_bits((uint32_t)(127 + rest) << 23);
}

/// Magnitude of a number; infinite where it is not a number, so that a maximum shows that there was one.
TILE_FN float tile_magnitude_f32(float x)
{
    const uint32_t bits = tile_bits_f32(x) & 0x7fffffffu;
    return tile_f32_bits(bits < 0x7f800000u ? bits : 0x7f800000u);
}
TILE_FN int tile_is_finite_f32(float x)
{
    return (tile_bits_f32(x) & 0x7f800000u) != 0x7f800000u;
}

/// take ? a : b, by bits, so that compilers don't turn it into a branch that keeps a loop from being vectorised.
TILE_FN float tile_select_f32(int take, float a, float b)
{
    const uint32_t mask = take ? 0xffffffffu : 0u;
    return tile_f32_bits((tile_bits_f32(a) & mask) | (tile_bits_f32(b) & ~mask));
}

/// Mixes 64 bits (splitmix64's finaliser, Steele et al. 2014).
TILE_FN uint64_t tile_mix_u64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// --------------------------------------------------------------------------------------------------------- collectives
//
// All lanes call them, after a barrier; they end with one. A scan and ranks begin with each lane's own values: none is
// needed behind a FOR_RANGE from 0 to n that has set `x`, or `key`, but it is behind what has set `first`.
//
//     tile_sum_f32(x, n), tile_sum_i64(x, n), tile_sum_u64(x, n): n a power of two; the sum ends in x[0], what else is
//         in x is undefined.
//         The tree is fixed: x[i] += x[i + n/2], then n/4, ... 1.
//     tile_max_f32(x, n): the same for the maximum.
//     tile_scan_u32(x, n, total): exclusive prefix sum in place, any n; *total receives the sum.
//     tile_is_last(come, tiles, is_last): whether all other tiles of the launch, of which there are so many, have come
//         here before. The last sees what the TILE_SINGLE lanes of the others had written. Each comes once, and writes
//         nothing afterwards if it isn't the last. `come`: device memory, 0 before and after; `is_last`: in the
//         scratch.
//     tile_rank_u32(key, rank, n, first): stable ranks, any n: rank[i] = first[key[i]] + the number of j < i with the
//         same key; afterwards first[k] has grown by the number of i with key k. Keys of 0xffffffff take no part.

#ifdef __CUDACC__

/// Halves the range lane by lane down to 64 values, then inside one warp: the same tree.
#define TILE_REDUCE(name, type, merge)                                                                                 \
    TILE_FN void name(type *x, uint32_t n)                                                                             \
    {                                                                                                                  \
        uint32_t half = n / 2;                                                                                         \
        for (; half > 32; half /= 2) {                                                                                 \
            FOR_RANGE (i, 0, half)                                                                                     \
                x[i] = merge(x[i], x[i + half]);                                                                       \
            TILE_BARRIER();                                                                                            \
        }                                                                                                              \
        if (threadIdx.x < 32) {                                                                                        \
            type value = threadIdx.x < n ? x[threadIdx.x] : (type)0;                                                   \
            if (half == 32) {                                                                                          \
                value = merge(value, x[threadIdx.x + 32]);                                                             \
                half = 16;                                                                                             \
            }                                                                                                          \
            for (; half > 0; half /= 2) {                                                                              \
                type other = __shfl_down_sync(0xffffffffu, value, half);                                               \
                value = merge(value, other);                                                                           \
            }                                                                                                          \
            if (threadIdx.x == 0)                                                                                      \
                x[0] = value;                                                                                          \
        }                                                                                                              \
        TILE_BARRIER();                                                                                                \
    }

/// Inclusive prefix sum over a warp.
TILE_FN uint32_t tile_warp_scan_u32(uint32_t value)
{
    for (uint32_t step = 1; step < 32; step *= 2) {
        uint32_t lower = __shfl_up_sync(0xffffffffu, value, step);
        if (threadIdx.x % 32 >= step) {
            value += lower;
        }
    }
    return value;
}

TILE_FN void tile_scan_u32(uint32_t *x, uint32_t n, uint32_t *total)
{
    TILE_SHARED(uint32_t, warp_sum, 32);
    uint32_t before = 0; // sum of the rounds so far, the same for all lanes
    for (uint32_t base = 0; base < n; base += blockDim.x) {
        uint32_t i = base + threadIdx.x;
        uint32_t own = i < n ? x[i] : 0;
        uint32_t sum = tile_warp_scan_u32(own);
        if (threadIdx.x % 32 == 31) {
            warp_sum[threadIdx.x / 32] = sum;
        }
        TILE_BARRIER();
        uint32_t all = before;
        for (uint32_t warp = 0; warp < blockDim.x / 32; warp++) {
            if (warp == threadIdx.x / 32 && i < n) {
                x[i] = all + sum - own;
            }
            all += warp_sum[warp];
        }
        before = all;
        TILE_BARRIER();
    }
    if (threadIdx.x == 0) {
        *total = before;
    }
    TILE_BARRIER();
}

TILE_FN void tile_rank_u32(const uint32_t *key, uint32_t *rank, uint32_t n, uint32_t *first)
{
    for (uint32_t base = 0; base < n; base += blockDim.x) {
        uint32_t i = base + threadIdx.x, lane = threadIdx.x % 32;
        uint32_t own = i < n ? key[i] : 0xffffffffu;
        uint32_t peers = __match_any_sync(0xffffffffu, own);
        // Warp by warp, so that the order of the lanes is the order of the ranks. The last of equals counts them.
        for (uint32_t warp = 0; warp < blockDim.x / 32 && base + warp * 32 < n; warp++) {
            if (threadIdx.x / 32 == warp) {
                if (own != 0xffffffffu) {
                    rank[i] = first[own] + (uint32_t)__popc(peers & ((1u << lane) - 1u));
                }
                __syncwarp();
                if (own != 0xffffffffu && lane == 31u - (uint32_t)__clz((int)peers)) {
                    first[own] += (uint32_t)__popc(peers);
                }
            }
            TILE_BARRIER();
        }
    }
}

#else

#define TILE_REDUCE(name, type, merge)                                                                                 \
    TILE_FN void name(type *x, uint32_t n)                                                                             \
    {                                                                                                                  \
        for (uint32_t half = n / 2; half > 0; half /= 2) {                                                             \
            FOR_RANGE (i, 0, half)                                                                                     \
                x[i] = merge(x[i], x[i + half]);                                                                       \
        }                                                                                                              \
    }

TILE_FN void tile_scan_u32(uint32_t *x, uint32_t n, uint32_t *total)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t value = x[i];
        x[i] = sum;
        sum += value;
    }
    *total = sum;
}

TILE_FN void tile_rank_u32(const uint32_t *key, uint32_t *rank, uint32_t n, uint32_t *first)
{
    for (uint32_t i = 0; i < n; i++) {
        if (key[i] != 0xffffffffu) {
            rank[i] = first[key[i]]++;
        }
    }
}
#endif

TILE_FN float tile_add_pair_f32(float a, float b)
{
    return a + b;
}
TILE_FN int64_t tile_add_pair_i64(int64_t a, int64_t b)
{
    return a + b;
}
TILE_FN uint64_t tile_add_pair_u64(uint64_t a, uint64_t b)
{
    return a + b;
}
TILE_REDUCE(tile_sum_i64, int64_t, tile_add_pair_i64)
TILE_REDUCE(tile_sum_u64, uint64_t, tile_add_pair_u64)
TILE_REDUCE(tile_sum_f32, float, tile_add_pair_f32)
TILE_REDUCE(tile_max_f32, float, tile_max2_f32)

#endif
