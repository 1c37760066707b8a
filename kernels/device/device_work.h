/// What the kernels library does with a device: memory, and queues of transfers, launches and replays.
///
/// What is sent to a queue runs in order; queues are independent of each other. On the CPU a launch has finished when
/// the call returns; on CUDA it runs asynchronously in the queue's stream, and tarn_queue_download and tarn_queue_wait
/// wait for it. A device and its queues are used by one thread at a time, whichever it is, or by one in each lane
/// (device.h).
#ifndef TARN_KERNELS_DEVICE_WORK_H
#define TARN_KERNELS_DEVICE_WORK_H

#include "kernels/device/device.h"

#include <stdbool.h>

typedef enum tarn_isa { TARN_ISA_V2, TARN_ISA_V3, TARN_ISA_V4, TARN_ISA_COUNT } tarn_isa;

typedef void (*tarn_cpu_entry)(const void *args, uint32_t tile_begin, uint32_t tile_end, void *scratch);
typedef const void *(*tarn_cuda_entry)(uint32_t *lanes, uint32_t *args_bytes);

/// A kernel in all its compiled forms; made by TARN_KERNEL_DEFINE from what tile.h emits.
typedef struct tarn_kernel {
    const char *name;
    tarn_cpu_entry cpu[TARN_ISA_COUNT];
    tarn_cuda_entry cuda; ///< NULL in a build without CUDA
} tarn_kernel;

#if TARN_HAVE_CUDA
#define TARN_KERNEL_CUDA_DECLARE(name) const void *tarn_cuda_entry_##name(uint32_t *, uint32_t *);
#define TARN_KERNEL_CUDA(name) tarn_cuda_entry_##name
#else
#define TARN_KERNEL_CUDA_DECLARE(name)
#define TARN_KERNEL_CUDA(name) NULL
#endif
// A build with one form of its kernels has it for every instruction set, and needs a processor for it.
#if !defined(TARN_ONE_ISA) && !defined(__x86_64__)
#define TARN_ONE_ISA v2
#endif
#if !defined(TARN_ONE_ISA)
#define TARN_KERNEL_DECLARE(name)                                                                                      \
    void tarn_cpu_##name##_v2(const void *, uint32_t, uint32_t, void *);                                               \
    void tarn_cpu_##name##_v3(const void *, uint32_t, uint32_t, void *);                                               \
    void tarn_cpu_##name##_v4(const void *, uint32_t, uint32_t, void *);                                               \
    TARN_KERNEL_CUDA_DECLARE(name)
#define TARN_KERNEL_DEFINE(name)                                                                                       \
    {                                                                                                                  \
        #name, {tarn_cpu_##name##_v2, tarn_cpu_##name##_v3, tarn_cpu_##name##_v4}, TARN_KERNEL_CUDA(name)              \
    }
#else
#define TARN_KERNEL_JOIN(name, isa) tarn_cpu_##name##_##isa
#define TARN_KERNEL_CPU(name, isa) TARN_KERNEL_JOIN(name, isa)
#define TARN_KERNEL_DECLARE(name)                                                                                      \
    void TARN_KERNEL_CPU(name, TARN_ONE_ISA)(const void *, uint32_t, uint32_t, void *);                                \
    TARN_KERNEL_CUDA_DECLARE(name)
#define TARN_KERNEL_DEFINE(name)                                                                                       \
    {                                                                                                                  \
        #name,                                                                                                         \
            {TARN_KERNEL_CPU(name, TARN_ONE_ISA), TARN_KERNEL_CPU(name, TARN_ONE_ISA),                                 \
             TARN_KERNEL_CPU(name, TARN_ONE_ISA)},                                                                     \
            TARN_KERNEL_CUDA(name)                                                                                     \
    }
#endif

enum { TARN_CHAIN_KERNELS_MAX = 64 };

/// Kernels that a GPU can do one after the other in one launch (tile_chain.h), in the order of the chain's list; made
/// by TARN_CHAIN_DEFINE.
typedef struct tarn_chain {
    const char *name;
    const tarn_kernel *kernels[TARN_CHAIN_KERNELS_MAX]; ///< those behind the last are NULL
    tarn_cuda_entry cuda;                               ///< NULL in a build without CUDA
} tarn_chain;

#if TARN_HAVE_CUDA
#define TARN_CHAIN_DECLARE(name) const void *tarn_cuda_chain_entry_##name(uint32_t *, uint32_t *);
#define TARN_CHAIN_CUDA(name) tarn_cuda_chain_entry_##name
#else
#define TARN_CHAIN_DECLARE(name)
#define TARN_CHAIN_CUDA(name) NULL
#endif
/// ENTRY(name): a kernel's address and a comma.
#define TARN_CHAIN_DEFINE(name, LIST, ENTRY)                                                                           \
    {                                                                                                                  \
        #name, {LIST(ENTRY)}, TARN_CHAIN_CUDA(name)                                                                    \
    }

/// What a tank does on its device, in order.
typedef struct tarn_queue tarn_queue;

/// A sequence of launches that is replayed as one.
typedef struct tarn_replay tarn_replay;

#ifdef __cplusplus
extern "C" {
#endif

/// Memory that can be had at most: what a GPU has free, three quarters of the machine's for the CPU.
uint64_t tarn_device_memory_bytes(tarn_device *device);

/// Bytes per second that the device's memory moves by its data sheet; 0: not known.
double tarn_device_memory_rate(tarn_device *device);

/// Device memory, zeroed, aligned to 64 bytes or more. NULL when there is none left.
void *tarn_device_alloc(tarn_device *device, size_t bytes);

/// Takes NULL. What was sent to queues and uses it must have ended: it waits for none, nor for anybody else's work.
void tarn_device_free(tarn_device *device, void *memory);

/// Memory that kernels write and the host reads in place, when a wait for the queue has returned: on CUDA pinned memory
/// of the host, in which what kernels write is under way while they run. Else as the two above.
void *tarn_device_alloc_shared(tarn_device *device, size_t bytes);
void tarn_device_free_shared(tarn_device *device, void *memory);

/// Says of bytes within an allocation that nobody has to do with them, until it is freed. Where somebody looks
/// (sanitizers, tests/kernels/races.h) to touch them is a mistake; elsewhere it is nothing.
void tarn_device_bar(tarn_device *device, void *memory, size_t bytes);

/// Whether host code may read and write device memory in place (the CPU device).
bool tarn_device_is_host(const tarn_device *device);

/// @return TARN_OK, TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_queue_create(tarn_device *device, tarn_queue **queue);

/// Takes NULL. Waits. Its replays must be gone.
void tarn_queue_destroy(tarn_queue *queue);

tarn_device *tarn_queue_device(const tarn_queue *queue);

/// Copies and fills, in the order of the launches. The host memory may be reused when the call returns.
tarn_status tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes);
tarn_status tarn_queue_zero(tarn_queue *queue, void *to, size_t bytes);
tarn_status tarn_queue_wait(tarn_queue *queue);

/// What is sent to a queue from now on begins when what was sent to the other one by now has ended.
void tarn_queue_follow(tarn_queue *queue, tarn_queue *before);

/// Whether all that was sent to it has ended, or the device is gone. Doesn't wait; where it hasn't ended, others may
/// use the device first (tarn_device_set_yield).
bool tarn_queue_is_done(tarn_queue *queue);

/// For long work of the host on behalf of a queue: yields if that is due (tarn_device_set_yield).
void tarn_queue_yield(tarn_queue *queue);

/// Runs a kernel over tiles 0..n-1, n = count_max, or min(*count, count_max) where count (device memory) is given.
/// Errors are kept by the device and returned by the next upload, download or wait of any of its queues.
void tarn_queue_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                       uint32_t count_max);

/// Runs body up to `times` times, as long as *go (device memory) is not zero before each. Kernels of the body must do
/// nothing when *go is zero: a device that cannot look runs them all. Repeats are not nested: what stands in the outer
/// one's body before the inner one would set a `go` anew.
void tarn_queue_repeat(tarn_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context);

/// Runs `body`, which only launches kernels of the chain, with arguments that differ in few words, and repeats. Where
/// the device can it is one launch of a replay (tile_chain.h says by which rules); else its launches are launches. It
/// may be in a repeat's body, but not in another chain's.
/// @param blocks_max  how many of its blocks run at the same time at most: more than it has tiles only wait, and keep
///                    other queues' work off the device
void tarn_queue_chain(tarn_queue *queue, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *),
                      void *context);

/// On how many tiles the device works at once in a chain: launches over more of them are faster one by one.
uint32_t tarn_queue_chain_tiles(tarn_queue *queue, const tarn_chain *chain);

/// Runs `body`, which only launches, zeroes, repeats and chains, always with the same arguments: the CPU runs it each
/// time, CUDA captures it into a graph the first time (*replay NULL) and launches the graph from then on.
void tarn_queue_run(tarn_queue *queue, tarn_replay **replay, void (*body)(void *), void *context);

/// How many replays it has captured so far: each takes the host milliseconds. On the CPU none.
uint32_t tarn_queue_recorded(const tarn_queue *queue);

/// Takes NULL. Waits.
void tarn_queue_replay_destroy(tarn_queue *queue, tarn_replay *replay);

/// Seconds on a clock, for profiles. Waits.
double tarn_queue_clock_s(tarn_queue *queue);

enum { TARN_QUEUE_MARKS_MAX = 32 };

/// Notes when all that was sent before it has ended, without waiting; in tarn_queue_run each replay does so anew. It is
/// not noted within repeats and chains of a replay, nor where the driver's graphs have no events.
/// @param mark  < TARN_QUEUE_MARKS_MAX
/// @return whether it is noted
bool tarn_queue_mark(tarn_queue *queue, uint32_t mark);

/// Seconds from one mark to a later one, as the latest replay has noted them. Waits.
/// @return negative: they can't be told
double tarn_queue_between_s(tarn_queue *queue, uint32_t from, uint32_t to);

#ifdef __cplusplus
}
#endif
#endif
