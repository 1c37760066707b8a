/// Enough of CUDA for kernels/device/tile.h to compile its CUDA form for the CPU: included before it, in C++.
///
/// A block's lanes are fibres that run one at a time, each until its next barrier or collective, in an order that the
/// test chooses. What a missing barrier leaves to chance on a GPU thus happens here, always, in one of the orders.
#ifndef TARN_TESTS_CUDA_ON_CPU_H
#define TARN_TESTS_CUDA_ON_CPU_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define __CUDACC__ 1
#define __device__
#define __host__
#define __global__
#define __shared__ static __attribute__((section("emulated_shared"))) // filled with rubbish before every block
#define __forceinline__ inline __attribute__((always_inline, unused))
#define __launch_bounds__(lanes)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define TILE_ARGUMENT(type) const type &
#define TILE_END() emulated_block_barrier("tile.h", 0)

#define TILE_SHARED(type, name, count)                                                                                 \
    __shared__ type name##_of_first[count];                                                                            \
    type *const name = reinterpret_cast<type *>(emulated_own(name##_of_first))
#define TILE_LAST() emulated_last_tile()
#define TILE_CHAIN_PAUSE() emulated_pause()

struct emulated_index {
    uint32_t x;
};
extern emulated_index threadIdx, blockIdx, blockDim, gridDim;

/// Whether a kernel has run on any tile so far.
extern "C" int emulated_has_run(const char *kernel);

/// Why the last chain was refused that couldn't be one launch; NULL: all could.
extern "C" const char *emulated_refused(void);

/// Ends this lane's turn until all lanes of the block, or of its warp, have come here.
void emulated_block_barrier(const char *file, int line);
void emulated_warp_barrier(void);

/// Ends this lane's turn: it waits for another block.
void emulated_pause(void);

/// This tile comes behind all others of the launch.
void emulated_last_tile(void);

/// Of the blocks that run side by side the first has its shared memory where the linker gathers it: this lane's.
void *emulated_own(void *of_first);

/// Gives a value to the warp. @return all 32 lanes' values, until the lane's next collective
const uint64_t *emulated_warp_share(uint64_t value);

#define __syncthreads() emulated_block_barrier(__FILE__, __LINE__)

static inline void __threadfence(void)
{
}

static inline void __syncwarp(void)
{
    emulated_warp_barrier();
}

template <typename T>
static inline T emulated_shuffle(T value, int from)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emulated_warp_share(bits)[from >= 0 && from < 32 ? from : (int)(threadIdx.x % 32)];
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
static inline T __shfl_sync(uint32_t, T value, int from)
{
    return emulated_shuffle(value, from);
}

template <typename T>
static inline T __shfl_down_sync(uint32_t, T value, uint32_t by)
{
    return emulated_shuffle(value, (int)(threadIdx.x % 32 + by));
}

template <typename T>
static inline T __shfl_up_sync(uint32_t, T value, uint32_t by)
{
    return emulated_shuffle(value, (int)(threadIdx.x % 32) - (int)by);
}

static inline uint32_t __ballot_sync(uint32_t, int is)
{
    const uint64_t *all = emulated_warp_share(is != 0);
    uint32_t bits = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        bits |= (uint32_t)all[lane] << lane;
    }
    return bits;
}

static inline uint32_t __match_any_sync(uint32_t, uint32_t value)
{
    const uint64_t *all = emulated_warp_share(value);
    uint32_t same = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        same |= (uint32_t)(all[lane] == value) << lane;
    }
    return same;
}

static inline uint32_t __reduce_max_sync(uint32_t, uint32_t value)
{
    const uint64_t *all = emulated_warp_share(value);
    uint64_t most = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        most = all[lane] > most ? all[lane] : most;
    }
    return (uint32_t)most;
}

// One lane runs at a time: atomic for those who watch the kernels.
template <typename T>
static inline T atomicAdd(T *place, T value)
{
    return __atomic_fetch_add(place, value, __ATOMIC_RELAXED);
}

static inline uint32_t atomicMax(uint32_t *place, uint32_t value)
{
    const uint32_t before = __atomic_load_n(place, __ATOMIC_RELAXED);
    __atomic_store_n(place, value > before ? value : before, __ATOMIC_RELAXED);
    return before;
}

static inline uint32_t atomicMin(uint32_t *place, uint32_t value)
{
    const uint32_t before = __atomic_load_n(place, __ATOMIC_RELAXED);
    __atomic_store_n(place, value < before ? value : before, __ATOMIC_RELAXED);
    return before;
}

static inline uint32_t atomicOr(uint32_t *place, uint32_t value)
{
    return __atomic_fetch_or(place, value, __ATOMIC_RELAXED);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __popc(uint32_t x)
{
    return __builtin_popcount(x);
}

static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((uint32_t)x);
}

static inline int __float2int_rn(float x)
{
    return (int)rintf(x);
}

static inline float __fsqrt_rn(float x)
{
    return sqrtf(x);
}

static inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float __uint_as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
