/// What the files of the CUDA device share. Private to kernels/device.
#ifndef TARN_KERNELS_CUDA_DEVICE_H
#define TARN_KERNELS_CUDA_DEVICE_H

#include "kernels/device/chain_record.h"
#include "kernels/device/device_internal.h"

#include <cuda_runtime.h>

enum {
    CUDA_LOOPS_MAX = 256,         // repeats in one graph; further ones are unrolled
    CUDA_STAGING_BYTES = 1 << 20, // pinned memory that transfers go through
    CUDA_STAGING_PIECES = 4,
};

/// What a launch does at present.
typedef enum cuda_mode {
    CUDA_MODE_DIRECT,  // runs
    CUDA_MODE_LOAD,    // loads the kernel's code, so that nothing is loaded during a capture
    CUDA_MODE_CAPTURE, // becomes a node of a graph
} cuda_mode;

typedef struct cuda_device {
    tarn_device base;
    int index;
    uint32_t multiprocessors;
    int loops_possible;  // whether this driver's graphs can loop
    int chains_possible; // whether it takes launches whose blocks all run at the same time
    int chains_in_loops; // and takes them in its graphs' loops
    int marks_possible;  // whether graphs take events
    bool has_no_replays; // as it was asked for
    double memory_rate;  // bytes per second, by the device's attributes; 0: they don't say
    cudaError_t failure; // the first error of any queue; nothing is sent to the device after it

    // cuda_memory.cu
    cudaStream_t stream;        // in whose order memory comes and goes, and is zeroed
    cudaMemPool_t pool;         // that it comes from; NULL: this driver has none
    struct cuda_pinned *pinned; // pieces of the host's memory
} cuda_device;

typedef struct cuda_chain cuda_chain;

typedef struct cuda_queue {
    tarn_queue base;
    cudaStream_t stream;
    cudaEvent_t followed; // when another queue that follows this one may go on

    // Transfers go through pieces of pinned memory, used in turn; an event tells when a piece is free again.
    unsigned char *staging;
    cudaEvent_t staged[CUDA_STAGING_PIECES];
    uint32_t next_piece;

    // Capture
    cuda_mode mode;
    cudaStream_t target; // where launches go: `stream`, or inside a loop `loop_stream`
    cudaStream_t loop_stream;
    uint32_t loop_count;
    uint32_t *rounds;                        // device memory: what is left of each loop's rounds
    chain_record *recording;                 // of the chain that is being loaded; NULL outside one
    cuda_chain **chain_at;                   // of the replay that is being made: where the next chain is, or is put
    cudaEvent_t marks[TARN_QUEUE_MARKS_MAX]; // made when they are first used
} cuda_queue;

static inline cuda_device *cuda_queue_device(const cuda_queue *queue)
{
    return (cuda_device *)queue->base.device;
}

/// Keeps the first error. @return whether the device is well
bool cuda_device_note(cuda_device *device, cudaError_t error);

/// Whether operations may be sent: the device is well; makes it the calling thread's current one.
bool cuda_device_ready(cuda_device *device);

tarn_status cuda_device_status(const cuda_device *device);

void cuda_queue_launch(tarn_queue *base, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                       uint32_t count_max);

// cuda_memory.cu

/// What the device's memory needs; setup may fail halfway.
cudaError_t cuda_memory_setup(cuda_device *device);
void cuda_memory_teardown(cuda_device *device);

uint64_t cuda_memory_bytes(tarn_device *base);
void *cuda_memory_alloc(tarn_device *base, size_t bytes);
void cuda_memory_release(tarn_device *base, void *memory);
void *cuda_memory_alloc_shared(tarn_device *base, size_t bytes);
void cuda_memory_release_shared(tarn_device *base, void *memory);

/// Device memory as queues may use it at once, zeroed; and back, when all that uses it has ended. The latter takes
/// NULL.
cudaError_t cuda_memory_take(cuda_device *device, void **memory, size_t bytes);
void cuda_memory_give(cuda_device *device, void *memory);

/// Pinned memory of the host, with whatever is in it. The latter takes NULL.
cudaError_t cuda_pinned_take(cuda_device *device, void **memory, size_t bytes);
void cuda_pinned_give(cuda_device *device, void *memory);

// cuda_graph.cu

/// Whether graphs can loop, and the kernels that this takes.
cudaError_t cuda_graph_setup(cuda_device *device);

/// What a queue needs for captures.
cudaError_t cuda_graph_queue_setup(cuda_queue *queue);
void cuda_graph_queue_teardown(cuda_queue *queue);

void cuda_graph_repeat(tarn_queue *base, const uint32_t *go, uint32_t times, void (*body)(void *), void *context);
void cuda_graph_run(tarn_queue *base, tarn_replay **replay, void (*body)(void *), void *context);
void cuda_graph_replay_destroy(tarn_queue *base, tarn_replay *replay);

// cuda_marks.cu

bool cuda_mark(tarn_queue *base, uint32_t mark);
double cuda_between_s(tarn_queue *base, uint32_t from, uint32_t to);
void cuda_marks_teardown(cuda_queue *queue);

// cuda_chain.cu

/// Whether chains can be one launch.
cudaError_t cuda_chain_setup(cuda_device *device);

uint32_t cuda_chain_tiles(tarn_queue *base, const tarn_chain *chain);
void cuda_chain_run(tarn_queue *base, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *),
                    void *context);

/// Takes NULL, and those behind it. What they launch has ended.
void cuda_chain_destroy(cuda_queue *queue, cuda_chain *chain);

#endif
