// The store's thread as a coroutine: it runs until it waits, and goes on when the simulated time has come. Where it
// takes a lock it may be held up, as a thread may.
#include "tests/sim/sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 1 << 20 };

static struct {
    ucontext_t inside, outside;
    uint8_t *stack;
    void *(*run)(void *);
    void *user;
    bool is_there, is_inside, has_ended;
    bool is_woken, waits;
    uint64_t generation; // of what it waits for
    uint64_t of_run;
    const void *outside_stack;
    size_t outside_bytes;
} thread;

bool sim_thread_is_inside(void)
{
    return thread.is_inside;
}

static void enter(void)
{
    SIM_NEED(!thread.is_inside);
    thread.is_inside = true;
#if defined(__SANITIZE_ADDRESS__)
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, thread.stack, STACK_BYTES);
#endif
    swapcontext(&thread.outside, &thread.inside);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
    thread.is_inside = false;
}

static void leave(void)
{
#if defined(__SANITIZE_ADDRESS__)
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, thread.outside_stack, thread.outside_bytes);
#endif
    swapcontext(&thread.inside, &thread.outside);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, &thread.outside_stack, &thread.outside_bytes);
#endif
}

static void begin(void)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &thread.outside_stack, &thread.outside_bytes);
#endif
    thread.run(thread.user);
    thread.has_ended = true;
    for (;;) {
        leave();
    }
}

static void go_on(void *of, uint64_t generation)
{
    (void)of;
    if (thread.is_there && !thread.has_ended && thread.generation == generation) {
        thread.generation++;
        enter();
    }
}

void sim_thread_pause(uint64_t ns)
{
    SIM_NEED(thread.is_inside);
    sim_at(sim_now() + ns, go_on, NULL, thread.generation);
    leave();
}

void sim_thread_drop(void)
{
    thread.generation++;
    thread.is_there = false;
}

// ----------------------------------------------------------------------------------------------------- what is called

int sim_pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*run)(void *), void *user);
int __wrap_pthread_join(pthread_t which, void **result);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);

int sim_pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*run)(void *), void *user)
{
    (void)attributes;
    SIM_NEED(!thread.is_inside);
    *made = pthread_self();
    thread.stack = sim_make(STACK_BYTES); // the last one's may hold what a library still points to
    getcontext(&thread.inside);
    thread.inside.uc_stack.ss_sp = thread.stack;
    thread.inside.uc_stack.ss_size = STACK_BYTES;
    thread.inside.uc_link = NULL;
    makecontext(&thread.inside, begin, 0);
    thread.run = run;
    thread.user = user;
    thread.is_there = true;
    thread.has_ended = thread.is_woken = thread.waits = false;
    sim_at(sim_now() + sim_between(0, SIM_MS), go_on, NULL, ++thread.generation);
    return 0;
}

static bool has_ended(void)
{
    return thread.has_ended || sim_gateway_is_dead();
}

/// Only when the program ends: nothing but the thread goes on.
int __wrap_pthread_join(pthread_t which, void **result)
{
    (void)which;
    (void)result;
    sim_run(has_ended, UINT64_MAX);
    if (sim_gateway_is_dead()) {
        sim_gateway_exit(-1);
    }
    thread.is_there = false;
    free(thread.stack);
    return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    (void)mutex;
    if (thread.is_inside && sim_chance(3)) {
        sim_thread_pause(sim_between(0, 3 * SIM_MS));
    }
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    (void)condition;
    SIM_NEED(!thread.is_inside);
    thread.is_woken = true;
    if (thread.waits) {
        sim_at(sim_now() + SIM_MS / 20, go_on, NULL, thread.generation);
    }
    return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    const uint64_t until_ns = (uint64_t)until->tv_sec * SIM_S + (uint64_t)until->tv_nsec;
    (void)condition;
    (void)mutex;
    SIM_NEED(thread.is_inside);
    thread.is_woken = false;
    if (until_ns <= sim_now()) {
        return ETIMEDOUT;
    }
    thread.waits = true;
    sim_at(until_ns, go_on, NULL, thread.generation);
    leave();
    thread.waits = false;
    return thread.is_woken ? 0 : ETIMEDOUT;
}
