// The CPU device: memory is the host's, launches run on a pool of threads (cpu_pool.c) and have finished when they
// return, with the best instruction set that the processor has.
#include "kernels/device/cpu_pool.h"
#include "kernels/device/device_internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#endif
#if HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

enum {
    ALIGNMENT = 64,
    MAPPED_BYTES_MIN = 1 << 20,
    COPY_BYTES_MAX = 1 << 20, // between two looks whether to yield
};

typedef struct cpu_device {
    tarn_device base;
    tarn_isa isa;
    cpu_pool *pool;
} cpu_device;

static tarn_status cpu_queue_create(tarn_device *base, tarn_queue **out)
{
    tarn_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) {
        return TARN_E_MEMORY;
    }
    queue->device = base;
    *out = queue;
    return TARN_OK;
}

static void cpu_queue_destroy(tarn_queue *queue)
{
    free(queue);
}

static void cpu_launch(tarn_queue *queue, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                       uint32_t count_max)
{
    cpu_device *device = (cpu_device *)queue->device;
    void *scratch = tarn_device_own_scratch();
    uint32_t tile_count = count != NULL && *count < count_max ? *count : count_max;
    if (scratch != NULL) {
        if (tile_count > 0) {
            kernel->cpu[device->isa](args, 0, tile_count, scratch);
        }
        return;
    }
    cpu_pool_launch(device->pool, &device->base.yield, kernel->cpu[device->isa], args, tile_count);
}

static void cpu_repeat(tarn_queue *queue, const uint32_t *go, uint32_t times, void (*body)(void *), void *context)
{
    (void)queue;
    for (uint32_t i = 0; i < times && *go != 0; i++) {
        body(context);
    }
}

static void cpu_run(tarn_queue *queue, tarn_replay **replay, void (*body)(void *), void *context)
{
    (void)queue;
    (void)replay;
    body(context);
}

static void cpu_replay_destroy(tarn_queue *queue, tarn_replay *replay)
{
    (void)queue;
    (void)replay;
}

static uint64_t cpu_memory_bytes(tarn_device *base)
{
    (void)base;
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 4 * 3 : UINT64_MAX;
}

/// What stands in front of every piece of memory.
typedef union piece_head {
    struct {
        size_t bytes; // with the head
        bool is_mapped;
    } own;
    unsigned char space[ALIGNMENT];
} piece_head;

/// Large pieces are mapped: their pages are zero, and come into being when they are written.
static void *cpu_alloc(tarn_device *base, size_t bytes)
{
    (void)base;
    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + sizeof(piece_head);
    if (rounded >= MAPPED_BYTES_MIN) {
        piece_head *head =
            mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (head == MAP_FAILED) {
            return NULL;
        }
        head->own.bytes = rounded;
        head->own.is_mapped = true;
        return head + 1;
    }
    piece_head *head = aligned_alloc(ALIGNMENT, rounded);
    if (head == NULL) {
        return NULL;
    }
    memset(head, 0, rounded);
    head->own.bytes = rounded;
    return head + 1;
}

#if HAS_ADDRESS_SANITIZER
static void cpu_bar(tarn_device *base, void *memory, size_t bytes)
{
    (void)base;
    ASAN_POISON_MEMORY_REGION(memory, bytes);
}
#endif

static void cpu_release(tarn_device *base, void *memory)
{
    (void)base;
    piece_head *head = (piece_head *)memory - 1;
#if HAS_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(head, head->own.bytes); // whatever comes to lie there
#endif
    if (head->own.is_mapped) {
        munmap(head, head->own.bytes);
    } else {
        free(head);
    }
}

static size_t copy_bytes(size_t bytes, size_t at)
{
    return bytes - at < COPY_BYTES_MAX ? bytes - at : COPY_BYTES_MAX;
}

static tarn_status cpu_copy(tarn_queue *queue, void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += COPY_BYTES_MAX) {
        memcpy((unsigned char *)to + at, (const unsigned char *)from + at, copy_bytes(bytes, at));
        tarn_device_yield(queue->device);
    }
    return TARN_OK;
}

static tarn_status cpu_zero(tarn_queue *queue, void *to, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += COPY_BYTES_MAX) {
        memset((unsigned char *)to + at, 0, copy_bytes(bytes, at));
        tarn_device_yield(queue->device);
    }
    return TARN_OK;
}

static tarn_status cpu_wait(tarn_queue *queue)
{
    (void)queue;
    return TARN_OK;
}

static uint32_t cpu_lanes(const tarn_device *base)
{
    return cpu_pool_threads(((const cpu_device *)base)->pool);
}

static void *cpu_lane_scratch(tarn_device *base, uint32_t lane)
{
    return cpu_pool_scratch(((cpu_device *)base)->pool, lane);
}

static void cpu_destroy(tarn_device *base)
{
    cpu_device *device = (cpu_device *)base;
    cpu_pool_destroy(device->pool);
    free(device);
}

static const tarn_device_ops cpu_ops = {
    .destroy = cpu_destroy,
    .memory_bytes = cpu_memory_bytes,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .upload = cpu_copy,
    .download = cpu_copy,
    .zero = cpu_zero,
    .wait = cpu_wait,
    .launch = cpu_launch,
    .repeat = cpu_repeat,
    .run = cpu_run,
    .replay_destroy = cpu_replay_destroy,
    .lanes = cpu_lanes,
    .lane_scratch = cpu_lane_scratch,
#if HAS_ADDRESS_SANITIZER
    .bar = cpu_bar,
#endif
};

static const char *const isa_names[TARN_ISA_COUNT] = {"v2", "v3", "v4"};

static bool isa_supported(tarn_isa isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    switch (isa) {
    case TARN_ISA_V2:
        return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    case TARN_ISA_V3:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    case TARN_ISA_V4:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    default:
        return false;
    }
#else
    return isa == TARN_ISA_V2;
#endif
}

static tarn_status choose_isa(const char *name, tarn_isa *chosen)
{
    for (int isa = TARN_ISA_COUNT - 1; isa >= 0; isa--) {
        if (name != NULL && strcmp(name, isa_names[isa]) != 0) {
            continue;
        }
        if (isa_supported((tarn_isa)isa)) {
            *chosen = (tarn_isa)isa;
            return TARN_OK;
        }
        if (name != NULL) {
            return TARN_E_UNAVAILABLE;
        }
    }
    return name != NULL ? TARN_E_ARGUMENT : TARN_E_UNAVAILABLE;
}

static uint32_t usable_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return (uint32_t)CPU_COUNT(&set);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

tarn_status tarn_cpu_device_create(const tarn_device_desc *desc, tarn_device **out)
{
    tarn_isa isa;
    tarn_status status = choose_isa(desc->isa, &isa);
    if (status != TARN_OK) {
        return status;
    }
    uint32_t threads = desc->threads != 0 ? desc->threads : usable_processors();
    if (threads > TARN_DEVICE_THREADS_MAX) {
        if (desc->threads != 0) {
            return TARN_E_ARGUMENT;
        }
        threads = TARN_DEVICE_THREADS_MAX;
    }
    cpu_device *device = calloc(1, sizeof *device);
    if (device == NULL) {
        return TARN_E_MEMORY;
    }
    device->base.ops = &cpu_ops;
    device->base.is_host = true;
    device->isa = isa;
    status = cpu_pool_create(threads, threads > usable_processors(), &device->pool);
    if (status != TARN_OK) {
        free(device);
        return status;
    }
    snprintf(device->base.name, sizeof device->base.name, "CPU, %u thread%s, x86-64-%s", threads,
             threads == 1 ? "" : "s", isa_names[isa]);
    *out = &device->base;
    return TARN_OK;
}
