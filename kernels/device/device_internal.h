/// The table of operations that a device kind provides. Private to kernels/device.
#ifndef TARN_KERNELS_DEVICE_INTERNAL_H
#define TARN_KERNELS_DEVICE_INTERNAL_H

#include "kernels/device/device_work.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_device_ops {
    void (*destroy)(tarn_device *device);
    uint64_t (*memory_bytes)(tarn_device *device);
    void *(*alloc)(tarn_device *device, size_t bytes);
    void (*release)(tarn_device *device, void *memory);
    tarn_status (*queue_create)(tarn_device *device, tarn_queue **queue);
    void (*queue_destroy)(tarn_queue *queue);
    tarn_status (*upload)(tarn_queue *queue, void *to, const void *from, size_t bytes);
    tarn_status (*download)(tarn_queue *queue, void *to, const void *from, size_t bytes);
    tarn_status (*zero)(tarn_queue *queue, void *to, size_t bytes);
    tarn_status (*wait)(tarn_queue *queue);
    void (*launch)(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                   uint32_t count_max);
    void (*repeat)(tarn_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context);
    /// NULL: what is launched in a chain is launched one by one.
    void (*chain)(tarn_queue *queue, const tarn_chain *chain, uint32_t blocks_max, void (*body)(void *), void *context);
    void (*run)(tarn_queue *queue, tarn_replay **replay, void (*body)(void *), void *context);
    void (*replay_destroy)(tarn_queue *queue, tarn_replay *replay);
    uint32_t (*lanes)(const tarn_device *device);              // NULL: it has none
    void *(*lane_scratch)(tarn_device *device, uint32_t lane); // what a thread in it works with
    // NULL, all of them: device memory is shared, and launches have ended when they return.
    void *(*alloc_shared)(tarn_device *device, size_t bytes);
    void (*release_shared)(tarn_device *device, void *memory);
    void (*follow)(tarn_queue *queue, tarn_queue *before);
    bool (*is_done)(tarn_queue *queue);
    double (*memory_rate)(tarn_device *device); // NULL: nobody knows
    /// NULL: a launch has ended when the call returns, and the clock tells.
    bool (*mark)(tarn_queue *queue, uint32_t mark);
    double (*between_s)(tarn_queue *queue, uint32_t from, uint32_t to);
    void (*bar)(tarn_device *device, void *memory, size_t bytes);        // NULL: nobody looks
    uint32_t (*chain_tiles)(tarn_queue *queue, const tarn_chain *chain); // NULL: any number
} tarn_device_ops;

/// The first member of every device kind's own structure.
struct tarn_device {
    const tarn_device_ops *ops;
    bool is_host;
    tarn_yield yield; // its functions are NULL where nobody is to be let in
    char name[TARN_DEVICE_NAME_BYTES];
    char error[TARN_DEVICE_ERROR_BYTES];
    char refused[TARN_DEVICE_ERROR_BYTES]; // what it goes without
};

/// The first member of every queue kind's own structure.
struct tarn_queue {
    tarn_device *device;
    bool in_repeat, in_chain;            // whose body is being called
    uint32_t recorded;                   // replays
    double mark_s[TARN_QUEUE_MARKS_MAX]; // where the device has no `mark`
};

/// What the calling thread works with in its lane; NULL: it is in none.
void *tarn_device_own_scratch(void);

/// Between two pieces of work.
static inline void tarn_device_yield(const tarn_device *device)
{
    if (tarn_device_own_scratch() == NULL && device->yield.is_due != NULL &&
        device->yield.is_due(device->yield.context)) {
        device->yield.yield(device->yield.context, false);
    }
}

tarn_status tarn_cpu_device_create(const tarn_device_desc *desc, tarn_device **device);
int tarn_cuda_device_count(void);
void tarn_cuda_device_problem(int index, char why[TARN_DEVICE_ERROR_BYTES]);
tarn_status tarn_cuda_device_create(const tarn_device_desc *desc, tarn_device **device);

#ifdef __cplusplus
}
#endif
#endif
