// Threads that take the next range of rows from a counter until none is left.
#include "server/tool/render/render_rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

typedef struct rows_job {
    render_rows_fn fn;
    void *context;
    uint32_t count, range;
    atomic_uint next; // range to be taken
} rows_job;

static void *rows_work(void *argument)
{
    rows_job *job = argument;
    for (;;) {
        uint64_t begin = (uint64_t)atomic_fetch_add(&job->next, 1) * job->range;
        if (begin >= job->count) {
            return NULL;
        }
        uint64_t end = begin + job->range < job->count ? begin + job->range : job->count;
        job->fn(job->context, (uint32_t)begin, (uint32_t)end);
    }
}

void render_rows(uint32_t threads, uint32_t count, uint32_t range, render_rows_fn fn, void *context)
{
    rows_job job = {.fn = fn, .context = context, .count = count, .range = range};
    pthread_t helpers[RENDER_THREADS_MAX];
    uint32_t helper_count = 0;
    while (helper_count + 1 < threads && helper_count + 1 < RENDER_THREADS_MAX &&
           pthread_create(&helpers[helper_count], NULL, rows_work, &job) == 0) {
        helper_count++;
    }
    rows_work(&job);
    while (helper_count > 0) {
        pthread_join(helpers[--helper_count], NULL);
    }
}

uint32_t render_rows_threads(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > RENDER_THREADS_MAX ? RENDER_THREADS_MAX : (uint32_t)count;
}
