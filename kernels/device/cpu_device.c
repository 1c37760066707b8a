// The CPU device: memory is the host's, launches run on a pool of threads and have finished when they return, with the
// best instruction set that the processor has. Begin at cpu_launch, then cpu_pool_launch.
#include "kernels/device/device_internal.h"
#include "kernels/device/device_work.h"
#include "kernels/device/tile.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// ---- the threads ----
// The owner and its helpers take a launch's tiles piece by piece. Who works on which tile is left to chance; kernels
// give the same result whoever runs them (tile.h).
//
// A launch's tiles are dealt out evenly, a range to each thread and the same in every launch of so many tiles, so that
// a thread finds in its cache what it wrote there before. It takes pieces from its own range, half of what is left each
// time, and when that is empty halves of what others have left, from behind, so that uneven tiles balance:
//
//     owner:   write job and ranges ── raise `generation` ── take pieces until none is left ── wait for others' tiles
//     helper:  take pieces while there are any ── wait for another generation (spin, then sleep)
//
// A helper that is late is not waited for: the owner waits for the tiles that helpers took, not for the helpers. So a
// launch costs a fraction of a microsecond while helpers spin, and never more than the owner's own work plus one piece
// when they sleep or when the processor is busy with something else.
//
// Taking a piece is a compare-and-swap on a range, and only who took one reads the job: the owner doesn't write the
// next job before every tile of this one is done. So it is no matter which job a helper had in mind when it looked. The
// owner takes its first piece by publishing its range without it.
//
// Whoever is to let others use the device (tarn_yield) looks after each of its pieces, which then are no larger than
// what takes about PIECE_NS: the owner begins with one tile and measures. When it is to yield it withdraws the tiles
// that nobody has taken, waits for the helpers' and yields; the rest is a job of its own afterwards. So any thread may
// be the owner, one at a time.
//
// Sleeping is announced before the last look (`sleepers`, `owner_waits`) and both sides use sequentially consistent
// operations there, so that a wake is sent whenever somebody sleeps, once, and no system call is made when nobody does.

enum {
    SPIN_NS = 100000,  // launches of a step are closer together than this
    SPIN_ROUNDS = 32,  // looks between two looks at the clock
    PIECE_NS = 500000, // where others wait for the end of a piece
    PIECE_GROWTH = 8,  // at most, from piece to piece: tiles are uneven
    LINE_BYTES = 64,
};

/// The tiles that nobody has taken yet of those dealt out to a thread: begin << 32 | end.
typedef struct cpu_range {
    _Alignas(LINE_BYTES) atomic_uint_fast64_t tiles;
} cpu_range;

/// A launch's tiles that are dealt out to nobody yet, or no more. While the owner yields other launches have theirs.
typedef struct cpu_rest {
    uint32_t count;
    uint64_t ranges[TARN_DEVICE_THREADS_MAX];
} cpu_rest;

typedef struct cpu_pool cpu_pool;

typedef struct cpu_helper {
    pthread_t thread;
    cpu_pool *pool;
    uint32_t index; // of its range
    void *scratch;
} cpu_helper;

struct cpu_pool {
    uint32_t threads; // the owner included
    uint32_t helper_count;
    int64_t spin_ns;
    cpu_helper *helpers;
    cpu_range *ranges; // the owner's, then the helpers'

    // The owner's.
    _Alignas(LINE_BYTES) void *scratch;
    uint32_t taken; // tiles that helpers took, of all jobs, mod 2^32

    // Written by the owner while no piece is out, read by who holds a piece.
    _Alignas(LINE_BYTES) tarn_cpu_entry entry;
    const void *args;
    atomic_uint piece_max;  // tiles in a piece; changed by the owner at any time
    atomic_uint generation; // futex: grows with every job, and when sleepers shall look again

    _Alignas(LINE_BYTES) atomic_uint done;     // futex: tiles that helpers have finished, of all jobs, mod 2^32
    _Alignas(LINE_BYTES) atomic_uint sleepers; // helpers that have announced to sleep and weren't woken
    atomic_int owner_waits;
    atomic_int stop;
};

// ---- sleeping and waking ----

/// @return whether it was woken
static bool futex_wait(atomic_uint *word, unsigned seen)
{
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0) == 0;
}

/// @return how many slept
static unsigned futex_wake(atomic_uint *word, unsigned how_many)
{
    const long woken =
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, how_many < INT_MAX ? how_many : INT_MAX, NULL, NULL, 0);
    return woken > 0 ? (unsigned)woken : 0;
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- tiles, taken piece by piece ----

static uint64_t range_of(uint32_t begin, uint32_t end)
{
    return (uint64_t)begin << 32 | end;
}

static uint32_t range_begin(uint64_t range)
{
    return (uint32_t)(range >> 32);
}

static uint32_t range_count(uint64_t range)
{
    return (uint32_t)range - range_begin(range);
}

/// Of so many tiles that are left in a range.
static uint32_t piece_of(cpu_pool *pool, uint32_t left)
{
    const uint32_t piece = left - left / 2, most = atomic_load_explicit(&pool->piece_max, memory_order_relaxed);
    return piece < most ? piece : most;
}

/// Takes a piece of a range, of its begin or its end, and runs it. @return how many tiles; 0 when none is left
static uint32_t run_piece_of(cpu_pool *pool, cpu_range *range, bool at_begin, void *scratch)
{
    uint_fast64_t tiles = atomic_load_explicit(&range->tiles, memory_order_acquire);
    for (uint32_t left; (left = range_count(tiles)) > 0;) {
        const uint32_t piece = piece_of(pool, left), begin = range_begin(tiles), end = begin + left;
        const uint64_t rest = at_begin ? range_of(begin + piece, end) : range_of(begin, end - piece);
        if (atomic_compare_exchange_weak_explicit(&range->tiles, &tiles, rest, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            const uint32_t at = at_begin ? begin : end - piece;
            pool->entry(pool->args, at, at + piece, scratch);
            return piece;
        }
    }
    return 0;
}

/// Of others' ranges. @return how many tiles; 0 when none is left
static uint32_t steal_piece(cpu_pool *pool, uint32_t own, void *scratch)
{
    uint32_t piece = 0;
    for (uint32_t i = 1; piece == 0 && i < pool->threads; i++) {
        const uint32_t other = own + i < pool->threads ? own + i : own + i - pool->threads;
        piece = run_piece_of(pool, &pool->ranges[other], false, scratch);
    }
    return piece;
}

/// Of the owner's range while it has tiles, then of the others'. @return how many tiles; 0 when none is left
static uint32_t run_piece(cpu_pool *pool)
{
    const uint32_t piece = run_piece_of(pool, &pool->ranges[0], true, pool->scratch);
    return piece > 0 ? piece : steal_piece(pool, 0, pool->scratch);
}

/// Takes and runs pieces until none is left. @return how many tiles
static uint32_t work(cpu_pool *pool)
{
    uint32_t tiles = 0;
    for (uint32_t piece; (piece = run_piece(pool)) > 0;) {
        tiles += piece;
    }
    return tiles;
}

static bool yield_is_due(const tarn_yield *yield)
{
    return yield->is_due != NULL && yield->is_due(yield->context);
}

/// From how long a piece took to how large pieces are to be.
static void fit_pieces(cpu_pool *pool, uint32_t tiles, int64_t took_ns)
{
    const int64_t fit = PIECE_NS * (int64_t)tiles / (took_ns > 0 ? took_ns : 1), most = PIECE_GROWTH * (int64_t)tiles;
    const int64_t next = fit < most ? fit : most;
    atomic_store_explicit(&pool->piece_max,
                          next < 1            ? 1
                          : next < UINT32_MAX ? (uint32_t)next
                                              : UINT32_MAX,
                          memory_order_relaxed);
}

/// Takes back what nobody has taken.
static void withdraw(cpu_pool *pool, cpu_rest *rest)
{
    for (uint32_t i = 0; i < pool->threads; i++) {
        rest->ranges[i] = atomic_exchange(&pool->ranges[i].tiles, 0);
        rest->count += range_count(rest->ranges[i]);
    }
}

/// As work() for the owner of a launch that yields, until it is to. @param since_ns  when its first piece began
/// @param rest  nothing; receives what is left to nobody then
static uint32_t work_and_look(cpu_pool *pool, const tarn_yield *yield, int64_t since_ns, uint32_t first, cpu_rest *rest)
{
    uint32_t tiles = 0;
    for (uint32_t piece = first; !yield_is_due(yield); tiles += piece) {
        const int64_t now = now_ns();
        fit_pieces(pool, piece, now - since_ns);
        since_ns = now;
        piece = run_piece(pool);
        if (piece == 0) {
            return tiles;
        }
    }
    withdraw(pool, rest);
    return tiles;
}

// ---- waits, of helpers and of the owner ----

static bool has_job(cpu_pool *pool, unsigned seen)
{
    return atomic_load_explicit(&pool->generation, memory_order_acquire) != seen;
}

static bool has_done(cpu_pool *pool, unsigned tiles)
{
    return atomic_load_explicit(&pool->done, memory_order_acquire) == tiles;
}

/// Spins until something is so, but not for long. @return whether it is
static bool spin_until(cpu_pool *pool, bool (*is_so)(cpu_pool *, unsigned), unsigned what)
{
    if (pool->spin_ns == 0) {
        return is_so(pool, what);
    }
    int64_t until = 0;
    do {
        for (int round = 0; round < SPIN_ROUNDS; round++) {
            if (is_so(pool, what)) {
                return true;
            }
            pause_briefly();
        }
        if (until == 0) {
            until = now_ns() + pool->spin_ns;
        }
    } while (now_ns() < until);
    return false;
}

/// @param seen  the generation before the last look for tiles
static void wait_for_job(cpu_pool *pool, unsigned seen)
{
    if (!spin_until(pool, has_job, seen)) {
        atomic_fetch_add(&pool->sleepers, 1);
        if (!futex_wait(&pool->generation, seen)) {
            atomic_fetch_sub(&pool->sleepers, 1); // who wakes takes those off that it woke
        }
    }
}

/// A helper's tiles are done.
static void report(cpu_pool *pool, uint32_t tiles)
{
    if (tiles > 0) {
        atomic_fetch_add(&pool->done, tiles);
        if (atomic_load(&pool->owner_waits)) {
            futex_wake(&pool->done, 1);
        }
    }
}

/// Takes and runs pieces until none is left. What is done is said before others' ranges are looked at: the owner may be
/// waiting for it.
static void help(cpu_pool *pool, const cpu_helper *helper)
{
    uint32_t tiles = 0;
    for (uint32_t piece; (piece = run_piece_of(pool, &pool->ranges[helper->index], true, helper->scratch)) > 0;) {
        tiles += piece;
    }
    report(pool, tiles);
    while ((tiles = steal_piece(pool, helper->index, helper->scratch)) > 0) {
        report(pool, tiles);
    }
}

static void *helper_main(void *argument)
{
    cpu_helper *helper = argument;
    cpu_pool *pool = helper->pool;
    for (;;) {
        const unsigned seen = atomic_load(&pool->generation);
        if (atomic_load(&pool->stop)) {
            return NULL;
        }
        help(pool, helper);
        wait_for_job(pool, seen);
    }
}

static void wait_for_helpers(cpu_pool *pool)
{
    while (!spin_until(pool, has_done, pool->taken)) {
        const unsigned done = atomic_load(&pool->done);
        atomic_store(&pool->owner_waits, 1);
        if (done != pool->taken && atomic_load(&pool->done) == done) {
            futex_wait(&pool->done, done);
        }
        atomic_store(&pool->owner_waits, 0);
    }
}

// ---- a launch ----

/// Raises the generation, and wakes who sleeps, at most so many.
static void announce(cpu_pool *pool, unsigned wanted)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) > 0) {
        atomic_fetch_sub(&pool->sleepers, futex_wake(&pool->generation, wanted));
    }
}

/// To each thread its share of a launch's tiles.
static void deal_out(const cpu_pool *pool, uint32_t tile_count, cpu_rest *rest)
{
    const uint64_t threads = pool->threads;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < threads; i++) {
        const uint32_t end = (uint32_t)(((i + 1) * (uint64_t)tile_count + threads - 1) / threads);
        rest->ranges[i] = range_of(begin, end);
        begin = end;
    }
    rest->count = tile_count;
}

/// Publishes what is left of a launch but for the owner's first piece. @return that piece
static uint64_t publish(cpu_pool *pool, const cpu_rest *rest)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < pool->threads; i++) {
        uint64_t tiles = rest->ranges[i];
        if (range_count(first) == 0 && range_count(tiles) > 0) {
            const uint32_t begin = range_begin(tiles), end = begin + piece_of(pool, range_count(tiles));
            first = range_of(begin, end);
            tiles = range_of(end, (uint32_t)tiles);
        }
        if (range_count(tiles) > 0) {
            atomic_store_explicit(&pool->ranges[i].tiles, tiles, memory_order_release);
        }
    }
    announce(pool, rest->count - range_count(first));
    return first;
}

/// Runs what is left of a launch until it is time to yield. @param rest  receives what is left then
static void run_rest(cpu_pool *pool, const tarn_yield *yield, tarn_cpu_entry entry, const void *args, cpu_rest *rest)
{
    const bool looks = yield->is_due != NULL;
    atomic_store_explicit(&pool->piece_max, looks ? 1 : UINT32_MAX, memory_order_relaxed);
    pool->entry = entry;
    pool->args = args;
    const uint64_t first = publish(pool, rest);
    const uint32_t count = rest->count, first_count = range_count(first);
    const int64_t since_ns = looks ? now_ns() : 0;
    entry(args, range_begin(first), range_begin(first) + first_count, pool->scratch);
    rest->count = 0;
    const uint32_t own = looks ? work_and_look(pool, yield, since_ns, first_count, rest) : work(pool);
    pool->taken += count - first_count - own - rest->count;
    wait_for_helpers(pool);
}

/// Runs the kernel over tiles 0..tile_count-1 and returns when all are done. The caller is the pool's owner until then,
/// except while it yields: then other launches may run.
static void cpu_pool_launch(cpu_pool *pool, const tarn_yield *yield, tarn_cpu_entry entry, const void *args,
                            uint32_t tile_count)
{
    if (tile_count == 1 || (tile_count > 0 && pool->threads == 1 && yield->is_due == NULL)) {
        entry(args, 0, tile_count, pool->scratch);
        if (yield_is_due(yield)) {
            yield->yield(yield->context, false);
        }
        return;
    }
    cpu_rest rest;
    deal_out(pool, tile_count, &rest);
    while (rest.count > 0) {
        run_rest(pool, yield, entry, args, &rest);
        if (yield_is_due(yield)) {
            yield->yield(yield->context, false);
        }
    }
}

/// How many threads it has, the owner included.
static uint32_t cpu_pool_threads(const cpu_pool *pool)
{
    return pool->threads;
}

/// The scratch of one of its threads, which nobody else works with between launches.
/// @param thread  < cpu_pool_threads; 0: the owner
static void *cpu_pool_scratch(cpu_pool *pool, uint32_t thread)
{
    return thread == 0 ? pool->scratch : pool->helpers[thread - 1].scratch;
}

// ---- the threads, started and ended ----

/// Starts the helpers with all signals blocked: signals are the owner's business.
static tarn_status start_helpers(cpu_pool *pool, uint32_t wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    tarn_status status = TARN_OK;
    while (pool->helper_count < wanted) {
        cpu_helper *helper = &pool->helpers[pool->helper_count];
        helper->pool = pool;
        helper->index = pool->helper_count + 1;
        helper->scratch = aligned_alloc(LINE_BYTES, TARN_TILE_SCRATCH_BYTES_MAX);
        if (helper->scratch == NULL || pthread_create(&helper->thread, NULL, helper_main, helper) != 0) {
            free(helper->scratch);
            status = TARN_E_MEMORY;
            break;
        }
        pool->helper_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/// Takes NULL. Between launches.
static void cpu_pool_destroy(cpu_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stop, 1);
    atomic_fetch_add(&pool->generation, 1);
    futex_wake(&pool->generation, INT_MAX);
    for (uint32_t i = 0; i < pool->helper_count; i++) {
        pthread_join(pool->helpers[i].thread, NULL);
        free(pool->helpers[i].scratch);
    }
    free(pool->helpers);
    free(pool->ranges);
    free(pool->scratch);
    free(pool);
}

/// @param threads  1..TARN_DEVICE_THREADS_MAX, the owner's own included
/// @param crowded  more threads than processors: waiting threads sleep at once instead of spinning
/// @return TARN_OK or TARN_E_MEMORY (memory or threads)
static tarn_status cpu_pool_create(uint32_t threads, bool crowded, cpu_pool **out)
{
    cpu_pool *pool = aligned_alloc(LINE_BYTES, sizeof *pool);
    if (pool == NULL) {
        return TARN_E_MEMORY;
    }
    memset(pool, 0, sizeof *pool);
    pool->threads = threads;
    pool->spin_ns = crowded ? 0 : SPIN_NS;
    tarn_status status = TARN_E_MEMORY;
    pool->scratch = aligned_alloc(LINE_BYTES, TARN_TILE_SCRATCH_BYTES_MAX);
    pool->helpers = calloc(threads, sizeof *pool->helpers);
    pool->ranges = aligned_alloc(LINE_BYTES, threads * sizeof *pool->ranges);
    if (pool->scratch == NULL || pool->helpers == NULL || pool->ranges == NULL) {
        goto fail;
    }
    memset(pool->ranges, 0, threads * sizeof *pool->ranges);
    status = start_helpers(pool, threads - 1);
    if (status != TARN_OK) {
        goto fail;
    }
    *out = pool;
    return TARN_OK;
fail:
    cpu_pool_destroy(pool);
    return status;
}

// ---- the device ----

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

// ---- memory ----

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

// ---- the device, created ----

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
