// Dispatch from the public device API to the device kind that was created.
#include "kernels/device/device_internal.h"
#include "protocol/assert.h"

#include <stdio.h>
#include <time.h>

bool tarn_device_has_cuda(void)
{
    return TARN_HAVE_CUDA != 0;
}

int tarn_device_count(tarn_device_kind kind)
{
    switch (kind) {
    case TARN_DEVICE_CPU:
        return 1;
    case TARN_DEVICE_CUDA:
#if TARN_HAVE_CUDA
        return tarn_cuda_device_count();
#else
        return 0;
#endif
    }
    return 0;
}

void tarn_device_cuda_problem(int index, char why[TARN_DEVICE_ERROR_BYTES])
{
#if TARN_HAVE_CUDA
    tarn_cuda_device_problem(index, why);
#else
    (void)index;
    snprintf(why, TARN_DEVICE_ERROR_BYTES, "this build has no CUDA device, because nvcc wasn't used");
#endif
}

tarn_status tarn_device_create(const tarn_device_desc *desc, tarn_device **device)
{
    *device = NULL;
    switch (desc->kind) {
    case TARN_DEVICE_CPU:
        return tarn_cpu_device_create(desc, device);
    case TARN_DEVICE_CUDA:
#if TARN_HAVE_CUDA
        return tarn_cuda_device_create(desc, device);
#else
        return TARN_E_UNAVAILABLE;
#endif
    }
    return TARN_E_ARGUMENT;
}

void tarn_device_destroy(tarn_device *device)
{
    if (device != NULL) {
        device->ops->destroy(device);
    }
}

const char *tarn_device_name(const tarn_device *device)
{
    return device->name;
}

const char *tarn_device_error(const tarn_device *device)
{
    return device->error;
}

const char *tarn_device_refused(const tarn_device *device)
{
    return device->refused;
}

bool tarn_device_is_host(const tarn_device *device)
{
    return device->is_host;
}

uint64_t tarn_device_memory_bytes(tarn_device *device)
{
    return device->ops->memory_bytes(device);
}

double tarn_device_memory_rate(tarn_device *device)
{
    return device->ops->memory_rate != NULL ? device->ops->memory_rate(device) : 0.0;
}

void *tarn_device_alloc(tarn_device *device, size_t bytes)
{
    return device->ops->alloc(device, bytes);
}

void tarn_device_free(tarn_device *device, void *memory)
{
    if (memory != NULL) {
        device->ops->release(device, memory);
    }
}

void *tarn_device_alloc_shared(tarn_device *device, size_t bytes)
{
    return device->ops->alloc_shared != NULL ? device->ops->alloc_shared(device, bytes)
                                             : tarn_device_alloc(device, bytes);
}

void tarn_device_free_shared(tarn_device *device, void *memory)
{
    if (memory == NULL || device->ops->release_shared == NULL) {
        tarn_device_free(device, memory);
        return;
    }
    device->ops->release_shared(device, memory);
}

void tarn_device_bar(tarn_device *device, void *memory, size_t bytes)
{
    if (device->ops->bar != NULL) {
        device->ops->bar(device, memory, bytes);
    }
}

static _Thread_local void *own_scratch;

void *tarn_device_own_scratch(void)
{
    return own_scratch;
}

uint32_t tarn_device_lanes(const tarn_device *device)
{
    return device->ops->lanes != NULL ? device->ops->lanes(device) : 0;
}

void tarn_device_lane_enter(tarn_device *device, uint32_t lane)
{
    TARN_ASSERT(own_scratch == NULL && lane < tarn_device_lanes(device));
    own_scratch = device->ops->lane_scratch(device, lane);
}

void tarn_device_lane_leave(tarn_device *device)
{
    (void)device;
    TARN_ASSERT(own_scratch != NULL);
    own_scratch = NULL;
}

void tarn_device_set_yield(tarn_device *device, const tarn_yield *yield)
{
    device->yield = yield != NULL ? *yield : (tarn_yield){NULL, NULL, NULL};
}

tarn_status tarn_queue_create(tarn_device *device, tarn_queue **queue)
{
    *queue = NULL;
    return device->ops->queue_create(device, queue);
}

void tarn_queue_destroy(tarn_queue *queue)
{
    if (queue != NULL) {
        queue->device->ops->queue_destroy(queue);
    }
}

tarn_device *tarn_queue_device(const tarn_queue *queue)
{
    return queue->device;
}

void tarn_queue_follow(tarn_queue *queue, tarn_queue *before)
{
    TARN_ASSERT(queue->device == before->device);
    if (queue->device->ops->follow != NULL) {
        queue->device->ops->follow(queue, before);
    }
}

bool tarn_queue_is_done(tarn_queue *queue)
{
    return queue->device->ops->is_done == NULL || queue->device->ops->is_done(queue);
}

void tarn_queue_yield(tarn_queue *queue)
{
    tarn_device_yield(queue->device);
}

tarn_status tarn_queue_upload(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    return queue->device->ops->upload(queue, to, from, bytes);
}

tarn_status tarn_queue_download(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    return queue->device->ops->download(queue, to, from, bytes);
}

tarn_status tarn_queue_zero(tarn_queue *queue, void *to, size_t bytes)
{
    return queue->device->ops->zero(queue, to, bytes);
}

tarn_status tarn_queue_wait(tarn_queue *queue)
{
    return queue->device->ops->wait(queue);
}

void tarn_queue_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                       uint32_t count_max)
{
    queue->device->ops->launch(queue, kernel, args, count, count_max);
}

void tarn_queue_repeat(tarn_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    TARN_ASSERT(!queue->in_repeat);
    queue->in_repeat = true;
    queue->device->ops->repeat(queue, go, times, body, context);
    queue->in_repeat = false;
}

void tarn_queue_chain(tarn_queue *queue, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *),
                      void *context)
{
    TARN_ASSERT(!queue->in_chain && blocks_max > 0);
    queue->in_chain = true;
    if (queue->device->ops->chain != NULL) {
        queue->device->ops->chain(queue, chain, blocks_max, body, context);
    } else {
        body(context);
    }
    queue->in_chain = false;
}

uint32_t tarn_queue_chain_tiles(tarn_queue *queue, const tarn_chain *chain)
{
    return queue->device->ops->chain_tiles != NULL ? queue->device->ops->chain_tiles(queue, chain) : UINT32_MAX;
}

void tarn_queue_run(tarn_queue *queue, tarn_replay **replay, void (*body)(void *), void *context)
{
    const bool is_new = *replay == NULL;
    queue->device->ops->run(queue, replay, body, context);
    queue->recorded += is_new && *replay != NULL;
}

uint32_t tarn_queue_recorded(const tarn_queue *queue)
{
    return queue->recorded;
}

void tarn_queue_replay_destroy(tarn_queue *queue, tarn_replay *replay)
{
    if (replay != NULL) {
        queue->device->ops->replay_destroy(queue, replay);
    }
}

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double tarn_queue_clock_s(tarn_queue *queue)
{
    (void)tarn_queue_wait(queue);
    return clock_s();
}

bool tarn_queue_mark(tarn_queue *queue, uint32_t mark)
{
    TARN_ASSERT(mark < TARN_QUEUE_MARKS_MAX);
    if (queue->device->ops->mark != NULL) {
        return queue->device->ops->mark(queue, mark);
    }
    queue->mark_s[mark] = clock_s();
    return true;
}

double tarn_queue_between_s(tarn_queue *queue, uint32_t from, uint32_t to)
{
    TARN_ASSERT(from < TARN_QUEUE_MARKS_MAX && to < TARN_QUEUE_MARKS_MAX);
    (void)tarn_queue_wait(queue);
    if (queue->device->ops->between_s != NULL) {
        return queue->device->ops->between_s(queue, from, to);
    }
    return queue->mark_s[to] - queue->mark_s[from];
}
