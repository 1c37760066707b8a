// Preloaded into a program whose clocks are to jump: what reads a clock, and what waits until a time of one. Waits for
// a time from now on are as long as ever.
#include "tests/faults/moved_clock.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NS = 1000000000 };

static const moved_clock *moved;

__attribute__((constructor)) static void find_it(void)
{
    const char *path = getenv(MOVED_CLOCK_VARIABLE);
    const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory = fd >= 0 ? mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    moved = memory != MAP_FAILED ? memory : NULL;
    if (fd >= 0) {
        close(fd);
    }
}

static int64_t offset_ns(clockid_t clock)
{
    if (moved == NULL) {
        return 0;
    }
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return __atomic_load_n(&moved->wall_ns, __ATOMIC_RELAXED);
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        return __atomic_load_n(&moved->since_start_ns, __ATOMIC_RELAXED);
    default:
        return 0; // the time that a process or a thread has used
    }
}

static void move(struct timespec *time, int64_t ns)
{
    int64_t sum_ns = (int64_t)time->tv_nsec + ns % NS;
    time->tv_sec += (time_t)(ns / NS + (sum_ns >= NS) - (sum_ns < 0));
    time->tv_nsec = (long)((sum_ns + NS) % NS);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0) {
        move(now, offset_ns(clock));
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *when)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (when != NULL) {
        *when = now.tv_sec;
    }
    return now.tv_sec;
}

/// The kernel's clock hasn't moved. Which clock a condition has isn't told: no machine has run for thirty years.
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec kernels = *until;
    if (wait == NULL) {
        *(void **)&wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    }
    move(&kernels, -offset_ns(until->tv_sec < NS ? CLOCK_MONOTONIC : CLOCK_REALTIME));
    return wait(condition, mutex, &kernels);
}
