/// A device runs kernels on memory of its own: the CPU (a pool of threads), or a CUDA GPU.
/// Both run the same kernel source (tile.h) and give the same bits.
///
/// A device is used by one thread at a time, lanes apart (tarn_device_lane_enter), and outlives everything made from
/// it.
#ifndef TARN_KERNELS_DEVICE_H
#define TARN_KERNELS_DEVICE_H

#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_DEVICE_THREADS_MAX = 256,
    TARN_DEVICE_NAME_BYTES = 128,
    TARN_DEVICE_ERROR_BYTES = 256,
};

/// What a GPU is to do without although its driver offers it; a tank's state is the same with it. Ignored for the CPU.
enum {
    TARN_DEVICE_WITHOUT_LOOPS = 1,   ///< in graphs: repeats are unrolled
    TARN_DEVICE_WITHOUT_CHAINS = 2,  ///< their launches are launches
    TARN_DEVICE_WITHOUT_REPLAYS = 4, ///< all is launched one by one each time
};

typedef enum tarn_device_kind { TARN_DEVICE_CPU = 0, TARN_DEVICE_CUDA = 1 } tarn_device_kind;

typedef struct tarn_device_desc {
    tarn_device_kind kind;
    int index;        ///< which GPU; ignored for the CPU
    uint32_t threads; ///< CPU: 1..TARN_DEVICE_THREADS_MAX, 0: one per processor this process may use
    const char *isa;  ///< CPU: "v2", "v3", "v4", or NULL: the best that the processor has
    uint32_t without; ///< TARN_DEVICE_WITHOUT_...
} tarn_device_desc;

/// How whoever uses a device lets others use it meanwhile. Without it nothing does.
typedef struct tarn_yield {
    bool (*is_due)(void *context); ///< whether to yield now: asked often, looks at little more than a clock
    /// Called by the thread that uses a queue, between two pieces of work of a millisecond or two. Until it returns
    /// other queues of the device may be used, by other threads.
    /// @param is_waiting  the device works by itself; the caller has nothing to do and calls again soon
    void (*yield)(void *context, bool is_waiting);
    void *context;
} tarn_yield;

typedef struct tarn_device tarn_device;

#ifdef __cplusplus
extern "C" {
#endif

/// How many devices of a kind this build and machine have: 1 for the CPU; 0 for CUDA where it isn't compiled in or
/// there is no GPU or driver.
int tarn_device_count(tarn_device_kind kind);

/// Whether this build contains the CUDA device.
bool tarn_device_has_cuda(void);

/// For people: why a GPU can't be used, as the end of a sentence; empty where it can. Asks CUDA, each time.
void tarn_device_cuda_problem(int index, char why[TARN_DEVICE_ERROR_BYTES]);

/// @return TARN_OK, TARN_E_ARGUMENT, TARN_E_UNAVAILABLE or TARN_E_MEMORY
tarn_status tarn_device_create(const tarn_device_desc *desc, tarn_device **device);

/// Takes NULL. Everything made from the device must be gone.
void tarn_device_destroy(tarn_device *device);

/// For people: "CPU, 2 threads, x86-64-v3" or "NVIDIA H200". Lives as long as the device.
const char *tarn_device_name(const tarn_device *device);

/// For people: why the device answers TARN_E_DEVICE; empty while it is well. Lives as long as the device.
const char *tarn_device_error(const tarn_device *device);

/// For people: what the driver has refused by now, so that the device goes without it and may be slower: "chains in
/// loops (cudaErrorNotSupported)"; empty: nothing. Lives as long as the device.
const char *tarn_device_refused(const tarn_device *device);

/// How many threads may work in lanes of the device: the CPU device's threads; 0: a GPU has none.
uint32_t tarn_device_lanes(const tarn_device *device);

/// From now on the calling thread does itself, without the device's other threads and without yielding, what it sends
/// to queues of the device, until tarn_device_lane_leave. Threads in other lanes may do so at the same time, each with
/// queues of its own; whoever is in no lane may use the device only while nobody is in one. So small tanks, whose
/// launches have too few tiles for several threads, are stepped beside each other.
/// @param lane  < tarn_device_lanes, one thread's at a time
void tarn_device_lane_enter(tarn_device *device, uint32_t lane);
void tarn_device_lane_leave(tarn_device *device);

/// From now on all queues of the device yield, also while tanks are made; NULL: no longer.
void tarn_device_set_yield(tarn_device *device, const tarn_yield *yield);

#ifdef __cplusplus
}
#endif
#endif
