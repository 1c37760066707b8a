// The CUDA device: a stream for each queue, in which everything happens in order.
//
// Errors of CUDA are sticky: after an illegal address the context of the whole process is gone. The first error is
// kept, nothing is sent afterwards, and every upload, download and wait returns TARN_E_DEVICE. Running out of memory is
// no such error: the allocation gives NULL and the device goes on.
//
// Nothing here may run in a process that was forked after CUDA started; a fork followed by exec is fine.
#include "kernels/device/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMPUTE_CAPABILITY_MIN = 80, // what the kernels are compiled for
    THREADS_PER_MULTIPROCESSOR = 2048,
    WAVES = 4, // of resident blocks in a launch: uneven tiles balance, and a launch whose count is small stays small
};

static const size_t PIECE_BYTES = CUDA_STAGING_BYTES / CUDA_STAGING_PIECES;

bool cuda_device_note(cuda_device *device, cudaError_t error)
{
    if (error != cudaSuccess && device->failure == cudaSuccess) {
        device->failure = error;
        snprintf(device->base.error, sizeof device->base.error, "CUDA: %s (%s)", cudaGetErrorString(error),
                 cudaGetErrorName(error));
    }
    return device->failure == cudaSuccess;
}

bool cuda_device_ready(cuda_device *device)
{
    return device->failure == cudaSuccess && cuda_device_note(device, cudaSetDevice(device->index));
}

tarn_status cuda_device_status(const cuda_device *device)
{
    return device->failure == cudaSuccess ? TARN_OK : TARN_E_DEVICE;
}

/// Waits, and lets others use the device meanwhile.
/// @param is_done  cudaEventQuery or cudaStreamQuery
template <typename handle>
static cudaError_t wait_for(const cuda_device *device, cudaError_t (*is_done)(handle), cudaError_t (*block)(handle),
                            handle what)
{
    const tarn_yield *yield = &device->base.yield;
    if (yield->yield == NULL) {
        return block(what);
    }
    cudaError_t error;
    while ((error = is_done(what)) == cudaErrorNotReady) {
        (void)cudaGetLastError(); // it is none
        yield->yield(yield->context, true);
    }
    return error;
}

// ----------------------------------------------------------------------------------------------------------------
// transfers

static double cuda_memory_rate(tarn_device *base)
{
    return ((cuda_device *)base)->memory_rate;
}

/// The next piece of pinned memory, free for use, or NULL.
static unsigned char *take_piece(cuda_queue *queue, uint32_t *piece)
{
    *piece = queue->next_piece;
    queue->next_piece = (*piece + 1) % CUDA_STAGING_PIECES;
    if (!cuda_device_note(cuda_queue_device(queue), wait_for(cuda_queue_device(queue), cudaEventQuery,
                                                             cudaEventSynchronize, queue->staged[*piece]))) {
        return NULL;
    }
    return queue->staging + (size_t)*piece * PIECE_BYTES;
}

static size_t piece_bytes(size_t bytes, size_t at)
{
    return bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
}

static tarn_status cuda_upload(tarn_queue *base, void *to, const void *from, size_t bytes)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (queue->mode != CUDA_MODE_DIRECT) {
        return TARN_E_STATE;
    }
    for (size_t at = 0; at < bytes && cuda_device_ready(device); at += PIECE_BYTES) {
        uint32_t piece;
        unsigned char *pinned = take_piece(queue, &piece);
        if (pinned == NULL) {
            break;
        }
        size_t count = piece_bytes(bytes, at);
        memcpy(pinned, (const unsigned char *)from + at, count);
        if (cuda_device_note(device, cudaMemcpyAsync((unsigned char *)to + at, pinned, count, cudaMemcpyHostToDevice,
                                                     queue->stream))) {
            cuda_device_note(device, cudaEventRecord(queue->staged[piece], queue->stream));
        }
    }
    return cuda_device_status(device);
}

/// One piece of a download: sent by the first pass, taken out by the second.
typedef struct download_piece {
    uint32_t piece;
    unsigned char *pinned;
} download_piece;

static bool download_send(cuda_queue *queue, download_piece *piece, const void *from, size_t at, size_t bytes)
{
    cuda_device *device = cuda_queue_device(queue);
    piece->pinned = take_piece(queue, &piece->piece);
    if (piece->pinned == NULL) {
        return false;
    }
    cudaError_t error = cudaMemcpyAsync(piece->pinned, (const unsigned char *)from + at, piece_bytes(bytes, at),
                                        cudaMemcpyDeviceToHost, queue->stream);
    return cuda_device_note(device, error) &&
           cuda_device_note(device, cudaEventRecord(queue->staged[piece->piece], queue->stream));
}

static tarn_status cuda_download(tarn_queue *base, void *to, const void *from, size_t bytes)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (queue->mode != CUDA_MODE_DIRECT) {
        return TARN_E_STATE;
    }
    download_piece pieces[CUDA_STAGING_PIECES];
    size_t sent = 0;
    for (size_t taken = 0; taken < bytes && cuda_device_ready(device); taken += PIECE_BYTES) {
        for (; sent < bytes && sent < taken + CUDA_STAGING_BYTES; sent += PIECE_BYTES) {
            if (!download_send(queue, &pieces[sent / PIECE_BYTES % CUDA_STAGING_PIECES], from, sent, bytes)) {
                return TARN_E_DEVICE;
            }
        }
        const download_piece *piece = &pieces[taken / PIECE_BYTES % CUDA_STAGING_PIECES];
        if (cuda_device_note(device,
                             wait_for(device, cudaEventQuery, cudaEventSynchronize, queue->staged[piece->piece]))) {
            memcpy((unsigned char *)to + taken, piece->pinned, piece_bytes(bytes, taken));
        }
    }
    return cuda_device_status(device);
}

static tarn_status cuda_zero(tarn_queue *base, void *to, size_t bytes)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (queue->recording != NULL) {
        chain_record_refuse(queue->recording, "it fills memory");
    }
    if (bytes > 0 && queue->mode != CUDA_MODE_LOAD && cuda_device_ready(device)) {
        cuda_device_note(device, cudaMemsetAsync(to, 0, bytes, queue->target));
    }
    return cuda_device_status(device);
}

static tarn_status cuda_wait(tarn_queue *base)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (queue->mode != CUDA_MODE_DIRECT) {
        return TARN_E_STATE;
    }
    if (cuda_device_ready(device)) {
        cuda_device_note(device, wait_for(device, cudaStreamQuery, cudaStreamSynchronize, queue->stream));
    }
    return cuda_device_status(device);
}

static void cuda_follow(tarn_queue *base, tarn_queue *before)
{
    cuda_queue *queue = (cuda_queue *)base, *first = (cuda_queue *)before;
    cuda_device *device = (cuda_device *)base->device;
    if (cuda_device_ready(device) && cuda_device_note(device, cudaEventRecord(first->followed, first->stream))) {
        cuda_device_note(device, cudaStreamWaitEvent(queue->stream, first->followed, 0));
    }
}

static bool cuda_is_done(tarn_queue *base)
{
    cuda_device *device = (cuda_device *)base->device;
    if (!cuda_device_ready(device)) {
        return true;
    }
    const cudaError_t error = cudaStreamQuery(((cuda_queue *)base)->stream);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); // it is none
        if (device->base.yield.yield != NULL) {
            device->base.yield.yield(device->base.yield.context, true);
        }
        return false;
    }
    cuda_device_note(device, error);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// launches

void cuda_queue_launch(tarn_queue *base, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                       uint32_t count_max)
{
    cuda_queue *queue = (cuda_queue *)base;
    cuda_device *device = (cuda_device *)base->device;
    if (count_max == 0 || !cuda_device_ready(device)) {
        return;
    }
    uint32_t lanes, args_bytes;
    const void *function = kernel->cuda(&lanes, &args_bytes);
    if (queue->mode == CUDA_MODE_LOAD) {
        cudaFuncAttributes attributes;
        cuda_device_note(device, cudaFuncGetAttributes(&attributes, function));
        if (queue->recording != NULL) {
            chain_record_launch(queue->recording, kernel, args, count, count_max);
        }
        return;
    }
    uint32_t blocks_max = device->multiprocessors * (THREADS_PER_MULTIPROCESSOR / lanes) * WAVES;
    uint32_t blocks = count_max < blocks_max ? count_max : blocks_max;
    void *parameters[] = {(void *)args, &count, &count_max};
    cuda_device_note(device, cudaLaunchKernel(function, dim3(blocks), dim3(lanes), parameters, 0, queue->target));
}

// ---------------------------------------------------------------------------------------------------------------
// creation and the end

static void cuda_queue_destroy(tarn_queue *base)
{
    cuda_queue *queue = (cuda_queue *)base;
    (void)cudaSetDevice(cuda_queue_device(queue)->index);
    if (queue->stream != NULL) {
        (void)cudaStreamSynchronize(queue->stream);
    }
    cuda_graph_queue_teardown(queue);
    cuda_marks_teardown(queue);
    for (int i = 0; i < CUDA_STAGING_PIECES; i++) {
        if (queue->staged[i] != NULL) {
            (void)cudaEventDestroy(queue->staged[i]);
        }
    }
    if (queue->followed != NULL) {
        (void)cudaEventDestroy(queue->followed);
    }
    cuda_pinned_give(cuda_queue_device(queue), queue->staging);
    if (queue->stream != NULL) {
        (void)cudaStreamDestroy(queue->stream);
    }
    free(queue);
}

static cudaError_t set_up_queue(cuda_queue *queue)
{
    cudaError_t error = cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        error = cuda_pinned_take(cuda_queue_device(queue), (void **)&queue->staging, CUDA_STAGING_BYTES);
    }
    for (int i = 0; i < CUDA_STAGING_PIECES && error == cudaSuccess; i++) {
        error = cudaEventCreateWithFlags(&queue->staged[i], cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&queue->followed, cudaEventDisableTiming);
    }
    queue->target = queue->stream;
    return error == cudaSuccess ? cuda_graph_queue_setup(queue) : error;
}

static tarn_status cuda_queue_create(tarn_device *base, tarn_queue **out)
{
    cuda_device *device = (cuda_device *)base;
    if (!cuda_device_ready(device)) {
        return TARN_E_DEVICE;
    }
    cuda_queue *queue = (cuda_queue *)calloc(1, sizeof *queue);
    if (queue == NULL) {
        return TARN_E_MEMORY;
    }
    queue->base.device = base;
    const cudaError_t error = set_up_queue(queue);
    if (error != cudaSuccess) {
        cuda_queue_destroy(&queue->base);
        (void)cudaGetLastError(); // where it was a lack of memory it is reported by the status
        if (error != cudaErrorMemoryAllocation) {
            cuda_device_note(device, error);
        }
        return error == cudaErrorMemoryAllocation ? TARN_E_MEMORY : TARN_E_DEVICE;
    }
    *out = &queue->base;
    return TARN_OK;
}

static void cuda_destroy(tarn_device *base)
{
    cuda_device *device = (cuda_device *)base;
    (void)cudaSetDevice(device->index);
    cuda_memory_teardown(device);
    (void)cudaGetLastError();
    free(device);
}

static const tarn_device_ops cuda_ops = {
    cuda_destroy,
    cuda_memory_bytes,
    cuda_memory_alloc,
    cuda_memory_release,
    cuda_queue_create,
    cuda_queue_destroy,
    cuda_upload,
    cuda_download,
    cuda_zero,
    cuda_wait,
    cuda_queue_launch,
    cuda_graph_repeat,
    cuda_chain_run,
    cuda_graph_run,
    cuda_graph_replay_destroy,
    NULL,
    NULL,
    cuda_memory_alloc_shared,
    cuda_memory_release_shared,
    cuda_follow,
    cuda_is_done,
    cuda_memory_rate,
    cuda_mark,
    cuda_between_s,
    NULL,
    cuda_chain_tiles,
};

/// Both edges of the memory's clock move a bus's width.
static double memory_rate_of(int index)
{
    int clock_khz = 0, bus_bits = 0;
    if (cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, index) != cudaSuccess ||
        cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, index) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0.0;
    }
    return 2.0 * 1e3 * (double)clock_khz * (double)bus_bits / 8.0;
}

static cudaError_t set_up(cuda_device *device, uint32_t without)
{
    cudaError_t error = cudaSetDevice(device->index);
    if (error == cudaSuccess) {
        error = cuda_memory_setup(device);
    }
    if (error == cudaSuccess) {
        error = cuda_chain_setup(device);
    }
    if (error == cudaSuccess) {
        error = cuda_graph_setup(device);
    }
    device->marks_possible = 1;
    device->memory_rate = memory_rate_of(device->index);
    device->loops_possible = device->loops_possible && (without & TARN_DEVICE_WITHOUT_LOOPS) == 0;
    device->chains_possible = device->chains_possible && (without & TARN_DEVICE_WITHOUT_CHAINS) == 0;
    device->has_no_replays = (without & TARN_DEVICE_WITHOUT_REPLAYS) != 0;
    return error;
}

/// What CUDA says of GPUs, and of whatever else it can't do.
static void say_cuda_error(cudaError_t error, char why[TARN_DEVICE_ERROR_BYTES])
{
    int driver = 0, own = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&own);
    if (error == cudaErrorInsufficientDriver && driver == 0) {
        snprintf(why, TARN_DEVICE_ERROR_BYTES, "no driver is installed");
    } else if (error == cudaErrorInsufficientDriver) {
        snprintf(why, TARN_DEVICE_ERROR_BYTES, "the driver is for CUDA %d.%d, and this build needs one for %d.%d",
                 driver / 1000, driver % 1000 / 10, own / 1000, own % 1000 / 10);
    } else {
        snprintf(why, TARN_DEVICE_ERROR_BYTES, "CUDA says: %s (%s)", cudaGetErrorString(error),
                 cudaGetErrorName(error));
    }
    (void)cudaGetLastError();
}

int tarn_cuda_device_count(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count;
}

/// @param why  where it can't be opened, the reason
static tarn_status open_device(int index, uint32_t without, cuda_device **out, char why[TARN_DEVICE_ERROR_BYTES])
{
    int count = 0;
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && (index < 0 || index >= count)) {
        snprintf(why, TARN_DEVICE_ERROR_BYTES, "this machine has %d of them, numbered from 0", count);
        return count == 0 ? TARN_E_UNAVAILABLE : TARN_E_ARGUMENT;
    }
    if (error == cudaSuccess) {
        error = cudaGetDeviceProperties(&properties, index);
    }
    if (error != cudaSuccess) {
        say_cuda_error(error, why);
        return TARN_E_UNAVAILABLE;
    }
    if (properties.major * 10 + properties.minor < COMPUTE_CAPABILITY_MIN) {
        snprintf(why, TARN_DEVICE_ERROR_BYTES, "%.100s is too old: its compute capability is %d.%d, needed is %d.%d",
                 properties.name, properties.major, properties.minor, COMPUTE_CAPABILITY_MIN / 10,
                 COMPUTE_CAPABILITY_MIN % 10);
        return TARN_E_UNAVAILABLE;
    }
    cuda_device *device = (cuda_device *)calloc(1, sizeof *device);
    if (device == NULL) {
        snprintf(why, TARN_DEVICE_ERROR_BYTES, "%s", tarn_status_text(TARN_E_MEMORY));
        return TARN_E_MEMORY;
    }
    device->base.ops = &cuda_ops;
    device->index = index;
    device->multiprocessors = (uint32_t)properties.multiProcessorCount;
    snprintf(device->base.name, sizeof device->base.name, "%.*s", TARN_DEVICE_NAME_BYTES - 1, properties.name);
    error = set_up(device, without);
    if (error != cudaSuccess) {
        say_cuda_error(error, why);
        cuda_destroy(&device->base);
        return error == cudaErrorMemoryAllocation ? TARN_E_MEMORY : TARN_E_UNAVAILABLE;
    }
    *out = device;
    return TARN_OK;
}

void tarn_cuda_device_problem(int index, char why[TARN_DEVICE_ERROR_BYTES])
{
    cuda_device *device;
    if (open_device(index, 0, &device, why) == TARN_OK) {
        cuda_destroy(&device->base);
        why[0] = '\0';
    }
}

tarn_status tarn_cuda_device_create(const tarn_device_desc *desc, tarn_device **out)
{
    char why[TARN_DEVICE_ERROR_BYTES];
    cuda_device *device;
    const tarn_status status = open_device(desc->index, desc->without, &device, why);
    if (status == TARN_OK) {
        *out = &device->base;
    }
    return status;
}
