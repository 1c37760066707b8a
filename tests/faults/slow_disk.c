// Preloaded into a program whose disk is to be slow: what is to be synced takes up to so many milliseconds longer.
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void wait_some(void)
{
    static _Thread_local unsigned seed;
    const char *most = getenv("TARN_TEST_SYNC_MS");
    const long most_ms = most != NULL ? strtol(most, NULL, 10) : 0;
    struct timespec now;
    if (most_ms <= 0) {
        return;
    }
    if (seed == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        seed = (unsigned)now.tv_nsec | 1;
    }
    const long ms = rand_r(&seed) % most_ms;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int fsync(int fd)
{
    static int (*real)(int);
    real = real != NULL ? real : (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_some();
    return real(fd);
}

int fdatasync(int fd)
{
    static int (*real)(int);
    real = real != NULL ? real : (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_some();
    return real(fd);
}
