// Memory of the CUDA device, such that a tank comes and goes without its neighbours' waiting.
//
// cudaMalloc, cudaFree and cudaFreeHost may wait for all that the device does. So device memory comes from the driver's
// pool, in the order of a stream in which nothing else happens, and pinned memory that is given back is kept for the
// next one who asks for about as much.
//
// What the pool holds beyond KEPT_BYTES goes back to the system when somebody next waits for something: other processes
// may need it, such as the worker that takes this one's tanks over.
#include "kernels/device/cuda_device.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t KEPT_BYTES = 256 << 20;     // of the pool's, in use or not
static const size_t PINNED_KEPT_BYTES = 64 << 20; // that nobody uses
static const size_t PINNED_BYTES_LEAST = 64 << 10;

/// Pinned memory; all of a device's are in its list.
struct cuda_pinned {
    cuda_pinned *next;
    void *memory;
    size_t bytes;
    int is_used;
};

cudaError_t cuda_memory_setup(cuda_device *device)
{
    int has_pools = 0;
    uint64_t kept = KEPT_BYTES;
    cudaError_t error = cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) {
        error = cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device->index);
    }
    if (error == cudaSuccess && has_pools) {
        error = cudaDeviceGetDefaultMemPool(&device->pool, device->index);
    }
    if (error == cudaSuccess && has_pools) {
        error = cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &kept);
    }
    return error;
}

/// What it holds and nobody uses is free, too.
uint64_t cuda_memory_bytes(tarn_device *base)
{
    cuda_device *device = (cuda_device *)base;
    size_t free_bytes = 0, total_bytes = 0;
    uint64_t held = 0, used = 0;
    if (!cuda_device_ready(device) || cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
        return 0;
    }
    if (device->pool != NULL &&
        (cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReservedMemCurrent, &held) != cudaSuccess ||
         cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess)) {
        (void)cudaGetLastError();
        held = used = 0;
    }
    return free_bytes + (held > used ? held - used : 0);
}

cudaError_t cuda_memory_take(cuda_device *device, void **memory, size_t bytes)
{
    *memory = NULL;
    cudaError_t error =
        device->pool != NULL ? cudaMallocAsync(memory, bytes, device->stream) : cudaMalloc(memory, bytes);
    if (error != cudaSuccess) {
        *memory = NULL;
        return error;
    }
    // Whatever queue it is for: it is there, and zero, when the call returns.
    error = cudaMemsetAsync(*memory, 0, bytes, device->stream);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(device->stream);
    }
    if (error != cudaSuccess) {
        cuda_memory_give(device, *memory);
        *memory = NULL;
    }
    return error;
}

void cuda_memory_give(cuda_device *device, void *memory)
{
    if (memory != NULL && device->pool != NULL) {
        (void)cudaFreeAsync(memory, device->stream);
    } else if (memory != NULL) {
        (void)cudaFree(memory);
    }
}

/// Where there is too little, NULL says so.
static void *noted(cuda_device *device, cudaError_t error, void *memory)
{
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return NULL;
    }
    return cuda_device_note(device, error) ? memory : NULL;
}

void *cuda_memory_alloc(tarn_device *base, size_t bytes)
{
    cuda_device *device = (cuda_device *)base;
    void *memory = NULL;
    if (!cuda_device_ready(device)) {
        return NULL;
    }
    const cudaError_t error = cuda_memory_take(device, &memory, bytes > 0 ? bytes : 1);
    return noted(device, error, memory);
}

void cuda_memory_release(tarn_device *base, void *memory)
{
    cuda_device *device = (cuda_device *)base;
    (void)cudaSetDevice(device->index);
    cuda_memory_give(device, memory);
}

// ---------------------------------------------------------------------------------------------------------------------
// pinned memory

/// The smallest that holds so much, and not more than twice as much.
static cuda_pinned *find_kept(const cuda_device *device, size_t bytes)
{
    cuda_pinned *best = NULL;
    for (cuda_pinned *p = device->pinned; p != NULL; p = p->next) {
        if (!p->is_used && p->bytes >= bytes && p->bytes / 2 <= bytes && (best == NULL || p->bytes < best->bytes)) {
            best = p;
        }
    }
    return best;
}

/// Gives back to the system what is kept beyond so many bytes.
static void drop_kept(cuda_device *device, size_t bytes)
{
    for (cuda_pinned **at = &device->pinned; *at != NULL;) {
        cuda_pinned *const p = *at;
        if (p->is_used || p->bytes <= bytes) {
            bytes -= p->is_used ? 0 : p->bytes;
            at = &p->next;
        } else {
            *at = p->next;
            (void)cudaFreeHost(p->memory);
            free(p);
        }
    }
}

cudaError_t cuda_pinned_take(cuda_device *device, void **memory, size_t bytes)
{
    const size_t rounded = bytes > PINNED_BYTES_LEAST ? bytes : PINNED_BYTES_LEAST;
    cuda_pinned *p = find_kept(device, rounded);
    if (p == NULL) {
        p = (cuda_pinned *)calloc(1, sizeof *p);
        if (p == NULL) {
            return cudaErrorMemoryAllocation;
        }
        p->bytes = rounded;
        // One address space: what the host writes by, kernels do, too.
        const unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped;
        cudaError_t error = cudaHostAlloc(&p->memory, rounded, flags);
        if (error == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            drop_kept(device, 0);
            error = cudaHostAlloc(&p->memory, rounded, flags);
        }
        if (error != cudaSuccess) {
            free(p);
            return error;
        }
        p->next = device->pinned;
        device->pinned = p;
    }
    p->is_used = 1;
    *memory = p->memory;
    return cudaSuccess;
}

void cuda_pinned_give(cuda_device *device, void *memory)
{
    for (cuda_pinned *p = device->pinned; p != NULL && memory != NULL; p = p->next) {
        p->is_used = p->is_used && p->memory != memory;
    }
    drop_kept(device, PINNED_KEPT_BYTES);
}

void *cuda_memory_alloc_shared(tarn_device *base, size_t bytes)
{
    cuda_device *device = (cuda_device *)base;
    void *memory = NULL;
    if (!cuda_device_ready(device)) {
        return NULL;
    }
    const cudaError_t error = cuda_pinned_take(device, &memory, bytes);
    memory = noted(device, error, memory);
    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void cuda_memory_release_shared(tarn_device *base, void *memory)
{
    cuda_device *device = (cuda_device *)base;
    (void)cudaSetDevice(device->index);
    cuda_pinned_give(device, memory);
}

void cuda_memory_teardown(cuda_device *device)
{
    drop_kept(device, 0);
    if (device->stream != NULL) {
        (void)cudaStreamSynchronize(device->stream);
        (void)cudaStreamDestroy(device->stream);
    }
}
