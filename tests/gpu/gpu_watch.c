// The watch touches nothing but the clock, a text and the standard output's descriptor: whatever else may be locked by
// who hangs.
#include "tests/gpu/gpu_watch.h"

#include "server/base/clock.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; // of the note
    char note[256];
    double since_s, seconds, hung_s;
    unsigned left_out;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .note = "starting"};

static double now_s(void)
{
    return 1e-9 * (double)tarn_clock_monotonic_ns();
}

static void *look(void *unused)
{
    (void)unused;
    while (now_s() - watch.since_s < watch.hung_s) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    pthread_mutex_lock(&watch.lock);
    dprintf(STDOUT_FILENO, "\n    FAILED: hung, and ended after %.0f s: %s\n", watch.hung_s, watch.note);
    _exit(GPU_WATCH_HUNG);
}

void gpu_watch_start(double seconds)
{
    pthread_t thread;
    watch.since_s = now_s();
    watch.seconds = seconds;
    watch.hung_s = 1.25 * seconds + 15.0;
    if (pthread_create(&thread, NULL, look, NULL) != 0) {
        printf("no thread for the watch: what hangs isn't ended\n");
    }
}

void gpu_watch_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&watch.lock);
    vsnprintf(watch.note, sizeof watch.note, format, arguments);
    pthread_mutex_unlock(&watch.lock);
    va_end(arguments);
}

bool gpu_watch_has_time(const char *what)
{
    if (watch.seconds <= 0.0 || now_s() - watch.since_s < watch.seconds) {
        return true;
    }
    if (watch.left_out++ == 0) {
        printf("    left out for want of time: %s, and what comes behind it\n", what);
    }
    return false;
}

unsigned gpu_watch_left_out(void)
{
    return watch.left_out;
}
