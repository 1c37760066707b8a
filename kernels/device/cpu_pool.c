// A launch is cut into pieces, and whoever is awake takes them:
//
//     owner:   write the job ── publish it in `ticket` ── take pieces until none is left ── wait for pieces in others'
//     hands helper:  take pieces while there are any ── wait for a new generation (spin, then sleep)
//
// A helper that is late is not waited for: the owner waits for the pieces that helpers took, not for the helpers. So a
// launch costs less than a microsecond while helpers spin, and never more than the owner's own work plus one piece
// when they sleep or when the processor is busy with something else.
//
// `ticket` holds the job's generation and how many pieces are left. Taking a piece is a compare-and-swap on both, and
// only who took one reads the job: the owner doesn't write the next job before every piece of this one is done.
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
    PIECES_PER_THREAD = 4, // so that uneven tiles balance
    LINE_BYTES = 64,
};

typedef struct cpu_helper {
    pthread_t thread;
    cpu_pool *pool;
    void *scratch;
} cpu_helper;

struct cpu_pool {
    uint32_t helper_count;
    int64_t spin_ns;
    cpu_helper *helpers;
    void *scratch; // the owner's

    // The job: written by the owner while no piece is out, read by who holds a piece.
    _Alignas(LINE_BYTES) tarn_cpu_entry entry;
    const void *args;
    uint32_t tile_count, piece_tiles, piece_count;

    _Alignas(LINE_BYTES) atomic_uint_fast64_t ticket; // generation << 32 | pieces left
    _Alignas(LINE_BYTES) atomic_uint done;            // futex: pieces that helpers have finished, of this job
    _Alignas(LINE_BYTES) atomic_uint generation;      // futex: grows with every job
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

/// Takes a piece of the present job. @return how many were left, this one included; 0 when none is
static uint32_t take_piece(cpu_pool *pool)
{
    uint_fast64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    while ((uint32_t)ticket > 0)
        if (atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket - 1, memory_order_acq_rel,
                                                  memory_order_acquire))
            break;
    return (uint32_t)ticket;
}

static void run_piece(const cpu_pool *pool, uint32_t left, void *scratch)
{
    const uint32_t begin = (pool->piece_count - left) * pool->piece_tiles;
    const uint32_t rest = pool->tile_count - begin;
    pool->entry(pool->args, begin, begin + (rest < pool->piece_tiles ? rest : pool->piece_tiles), scratch);
}

/// Takes and runs pieces until none is left. @return how many
static uint32_t work(cpu_pool *pool, void *scratch)
{
    uint32_t taken = 0;
    for (uint32_t left; (left = take_piece(pool)) > 0; taken++)
        run_piece(pool, left, scratch);
    return taken;
}

/// Waits until *word is not `seen`, spinning at first. @return whether it changed while spinning
static int spin_while(cpu_pool *pool, atomic_uint *word, unsigned seen)
{
    if (pool->spin_ns == 0)
        return atomic_load_explicit(word, memory_order_acquire) != seen;
    int64_t until = 0;
    do {
        for (int round = 0; round < SPIN_ROUNDS; round++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return 1;
            pause_briefly();
        }
        if (until == 0)
            until = now_ns() + pool->spin_ns;
    } while (now_ns() < until);
    return 0;
}

static void wait_for_job(cpu_pool *pool, unsigned seen)
{
    if (spin_while(pool, &pool->generation, seen))
        return;
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == seen)
        futex_wait(&pool->generation, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void *helper_main(void *argument)
{
    cpu_helper *helper = argument;
    cpu_pool *pool = helper->pool;
    for (;;) {
        unsigned seen = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (atomic_load_explicit(&pool->stop, memory_order_relaxed))
            return NULL;
        const uint32_t taken = work(pool, helper->scratch);
        if (taken > 0) {
            atomic_fetch_add(&pool->done, taken);
            if (atomic_load(&pool->owner_waits))
                futex_wake(&pool->done, 1);
        }
        wait_for_job(pool, seen);
    }
}

static void wait_for_pieces(cpu_pool *pool, unsigned pieces)
{
    for (;;) {
        unsigned done = atomic_load_explicit(&pool->done, memory_order_acquire);
        if (done == pieces)
            return;
        if (spin_while(pool, &pool->done, done))
            continue;
        atomic_store(&pool->owner_waits, 1);
        if (atomic_load(&pool->done) == done)
            futex_wait(&pool->done, done);
        atomic_store(&pool->owner_waits, 0);
    }
}

static void wake_helpers(cpu_pool *pool, unsigned wanted)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) > 0)
        futex_wake(&pool->generation, wanted < INT_MAX ? (int)wanted : INT_MAX);
}

void cpu_pool_launch(cpu_pool *pool, tarn_cpu_entry entry, const void *args, uint32_t tile_count)
{
    if (tile_count <= 1 || pool->helper_count == 0) {
        if (tile_count > 0)
            entry(args, 0, tile_count, pool->scratch);
        return;
    }
    uint32_t pieces_max = (pool->helper_count + 1) * PIECES_PER_THREAD;
    uint32_t piece_tiles = (tile_count - 1) / pieces_max + 1;
    uint32_t piece_count = (tile_count - 1) / piece_tiles + 1;
    pool->entry = entry;
    pool->args = args;
    pool->tile_count = tile_count;
    pool->piece_tiles = piece_tiles;
    pool->piece_count = piece_count;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    const uint_fast64_t generation = (atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store_explicit(&pool->ticket, generation << 32 | piece_count, memory_order_release);
    wake_helpers(pool, piece_count - 1);
    const uint32_t taken = work(pool, pool->scratch);
    wait_for_pieces(pool, piece_count - taken);
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

tarn_status cpu_pool_create(uint32_t threads, int crowded, cpu_pool **out)
{
    cpu_pool *pool = aligned_alloc(LINE_BYTES, sizeof *pool);
    if (pool == NULL)
        return TARN_E_MEMORY;
    memset(pool, 0, sizeof *pool);
    pool->spin_ns = crowded ? 0 : SPIN_NS;
    tarn_status status = TARN_E_MEMORY;
    pool->scratch = aligned_alloc(LINE_BYTES, TARN_TILE_SCRATCH_BYTES_MAX);
    pool->helpers = calloc(threads, sizeof *pool->helpers);
    if (pool->scratch == NULL || pool->helpers == NULL)
        goto fail;
    status = start_helpers(pool, threads - 1);
    if (status != TARN_OK)
        goto fail;
    *out = pool;
    return TARN_OK;
fail:
    cpu_pool_destroy(pool);
    return status;
}

void cpu_pool_destroy(cpu_pool *pool)
{
    if (pool == NULL)
        return;
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
