/// The clocks: a monotonic one for intervals and deadlines, Unix time for what people and other machines read, and a
/// thread's own.
#ifndef TARN_SERVER_BASE_CLOCK_H
#define TARN_SERVER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tarn_clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// What this thread has had of processors.
static inline uint64_t tarn_clock_thread_ns(void)
{
    struct timespec had;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
    return (uint64_t)had.tv_sec * 1000000000u + (uint64_t)had.tv_nsec;
}

static inline uint64_t tarn_clock_unix_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

#endif
