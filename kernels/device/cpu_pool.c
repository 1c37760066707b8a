// A launch is cut into pieces, and whoever is awake takes them, large ones first and single tiles in the end, so that
// uneven tiles balance:
//
//     owner:   write the job ── publish it in `ticket` ── take pieces until none is left ── wait for others' tiles
//     helper:  take pieces while there are any ── wait for tiles in the ticket (spin, then sleep)
//
// A helper that is late is not waited for: the owner waits for the tiles that helpers took, not for the helpers. So a
// launch costs a fraction of a microsecond while helpers spin, and never more than the owner's own work plus one piece
// when they sleep or when the processor is busy with something else.
//
// `ticket` holds the job's generation and how many tiles are left; the job lies in the same cache line, which is all
// that a launch sends to a helper. Taking a piece is a compare-and-swap on both, and only who took one reads the job:
// the owner doesn't write the next job before every tile of this one is done. The owner takes its first piece by
// publishing the job without it.
//
// Whoever is to let others use the device (tarn_yield) looks after each of its pieces, which then are no larger than
// what takes about PIECE_NS: the owner begins with one tile and measures. When it is to yield it withdraws the tiles
// that nobody has taken, waits for the helpers' and yields; the rest is a job of its own afterwards. So any thread may
// be the owner, one at a time.
//
// Sleeping is announced before the last look (`sleepers`, `owner_waits`) and both sides use sequentially consistent
// operations there, so that a wake is sent whenever somebody sleeps, and no system call is made when nobody does.
#include "kernels/device/cpu_pool.h"
#include "kernels/device/tile.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPIN_NS = 100000,      // launches of a step are closer together than this
    SPIN_ROUNDS = 32,      // looks between two looks at the clock
    PIECES_PER_THREAD = 2, // of what is left
    PIECE_NS = 500000,     // where others wait for the end of a piece
    PIECE_GROWTH = 8,      // at most, from piece to piece: tiles are uneven
    LINE_BYTES = 64,
};

typedef struct cpu_helper {
    pthread_t thread;
    cpu_pool *pool;
    void *scratch;
} cpu_helper;

struct cpu_pool {
    uint32_t threads; // the owner included
    uint32_t helper_count;
    int64_t spin_ns;
    cpu_helper *helpers;

    // The owner's.
    _Alignas(LINE_BYTES) void *scratch;
    uint32_t taken; // tiles that helpers took, of all jobs, mod 2^32

    // Written by the owner while no piece is out, read by who holds a piece.
    _Alignas(LINE_BYTES) tarn_cpu_entry entry;
    const void *args;
    uint32_t tile_count;
    atomic_uint piece_max;       // tiles in a piece; changed by the owner at any time
    atomic_uint_fast64_t ticket; // generation << 32 | tiles left

    _Alignas(LINE_BYTES) atomic_uint done;       // futex: tiles that helpers have finished, of all jobs, mod 2^32
    _Alignas(LINE_BYTES) atomic_uint generation; // futex: grows when sleepers shall look again
    atomic_int stop;
    _Alignas(LINE_BYTES) atomic_uint sleepers; // helpers that sleep or are about to
    atomic_int owner_waits;
};

static void futex_wait(atomic_uint *word, unsigned seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int how_many)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
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

/// Of so many tiles that are left.
static uint32_t piece_of(cpu_pool *pool, uint32_t left)
{
    const uint32_t piece = (left - 1) / (pool->threads * PIECES_PER_THREAD) + 1,
                   most = atomic_load_explicit(&pool->piece_max, memory_order_relaxed);
    return piece < most ? piece : most;
}

/// Takes a piece of the present job and runs it. @return how many tiles; 0 when none is left
static uint32_t run_piece(cpu_pool *pool, void *scratch)
{
    uint_fast64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    uint32_t piece = 0;
    while ((uint32_t)ticket > 0) {
        piece = piece_of(pool, (uint32_t)ticket);
        if (atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket - piece, memory_order_acq_rel,
                                                  memory_order_acquire)) {
            const uint32_t begin = pool->tile_count - (uint32_t)ticket;
            pool->entry(pool->args, begin, begin + piece, scratch);
            return piece;
        }
    }
    return 0;
}

/// Takes and runs pieces until none is left. @return how many tiles
static uint32_t work(cpu_pool *pool, void *scratch)
{
    uint32_t tiles = 0;
    for (uint32_t piece; (piece = run_piece(pool, scratch)) > 0;) {
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

/// The same for the owner of a launch that yields, until it is to. @param since_ns  when its first piece began
/// @param withdrawn  receives how many tiles are left to nobody then
static uint32_t work_and_look(cpu_pool *pool, const tarn_yield *yield, int64_t since_ns, uint32_t first,
                              uint32_t *withdrawn)
{
    uint32_t tiles = 0;
    *withdrawn = 0;
    for (uint32_t piece = first; !yield_is_due(yield); tiles += piece) {
        const int64_t now = now_ns();
        fit_pieces(pool, piece, now - since_ns);
        since_ns = now;
        piece = run_piece(pool, pool->scratch);
        if (piece == 0) {
            return tiles;
        }
    }
    const uint_fast64_t generation = atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> 32;
    *withdrawn = (uint32_t)atomic_exchange(&pool->ticket, generation << 32);
    return tiles;
}

static bool has_tiles(cpu_pool *pool, unsigned unused)
{
    (void)unused;
    return (uint32_t)atomic_load_explicit(&pool->ticket, memory_order_acquire) > 0;
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
    if (spin_until(pool, has_tiles, 0)) {
        return;
    }
    atomic_fetch_add(&pool->sleepers, 1);
    if ((uint32_t)atomic_load(&pool->ticket) == 0) {
        futex_wait(&pool->generation, seen);
    }
    atomic_fetch_sub(&pool->sleepers, 1);
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
        const uint32_t tiles = work(pool, helper->scratch);
        if (tiles > 0) {
            atomic_fetch_add(&pool->done, tiles);
            if (atomic_load(&pool->owner_waits)) {
                futex_wake(&pool->done, 1);
            }
        }
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

static void wake_helpers(cpu_pool *pool, unsigned wanted)
{
    atomic_fetch_add(&pool->generation, 1);
    futex_wake(&pool->generation, wanted < INT_MAX ? (int)wanted : INT_MAX);
}

/// Runs tiles from `begin` on, all of them unless it is time to yield. @return where it stopped
static uint32_t run_from(cpu_pool *pool, const tarn_yield *yield, tarn_cpu_entry entry, const void *args,
                         uint32_t begin, uint32_t tile_count)
{
    const uint32_t count = tile_count - begin;
    const bool looks = yield->is_due != NULL;
    atomic_store_explicit(&pool->piece_max, looks ? 1 : UINT32_MAX, memory_order_relaxed);
    const uint32_t first = piece_of(pool, count);
    const uint_fast64_t generation = (atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> 32) + 1;
    pool->entry = entry;
    pool->args = args;
    pool->tile_count = tile_count;
    atomic_exchange(&pool->ticket, generation << 32 | (count - first));
    if (atomic_load(&pool->sleepers) > 0) {
        wake_helpers(pool, count - first);
    }
    const int64_t since_ns = looks ? now_ns() : 0;
    entry(args, begin, begin + first, pool->scratch);
    uint32_t withdrawn = 0;
    const uint32_t own =
        first + (looks ? work_and_look(pool, yield, since_ns, first, &withdrawn) : work(pool, pool->scratch));
    pool->taken += count - own - withdrawn;
    wait_for_helpers(pool);
    return tile_count - withdrawn;
}

void cpu_pool_launch(cpu_pool *pool, const tarn_yield *yield, tarn_cpu_entry entry, const void *args,
                     uint32_t tile_count)
{
    if (tile_count == 1 || (tile_count > 0 && pool->threads == 1 && yield->is_due == NULL)) {
        entry(args, 0, tile_count, pool->scratch);
        if (yield_is_due(yield)) {
            yield->yield(yield->context, false);
        }
        return;
    }
    for (uint32_t begin = 0; begin < tile_count;) {
        begin = run_from(pool, yield, entry, args, begin, tile_count);
        if (yield_is_due(yield)) {
            yield->yield(yield->context, false);
        }
    }
}

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

tarn_status cpu_pool_create(uint32_t threads, bool crowded, cpu_pool **out)
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
    if (pool->scratch == NULL || pool->helpers == NULL) {
        goto fail;
    }
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

void cpu_pool_destroy(cpu_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stop, 1);
    wake_helpers(pool, INT_MAX);
    for (uint32_t i = 0; i < pool->helper_count; i++) {
        pthread_join(pool->helpers[i].thread, NULL);
        free(pool->helpers[i].scratch);
    }
    free(pool->helpers);
    free(pool->scratch);
    free(pool);
}
