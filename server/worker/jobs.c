// The baton goes from thread to thread by semaphores: each waits for its own. What one did before it gave the baton
// away the next one sees. Start at tarn_job_resume, and for lanes at lane_main.
#include "server/worker/jobs.h"
#include "protocol/assert.h"
#include "server/base/clock.h"
#include "server/worker/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static _Thread_local tarn_lane *own_lane;
static _Thread_local tarn_job *own_job; ///< that the thread runs in it

// ---- the baton ----

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
        TARN_ASSERT(errno == EINTR);
    }
}

tarn_status tarn_jobs_open(tarn_jobs *jobs, bool (*is_wanted)(void *user), void *user)
{
    memset(jobs, 0, sizeof *jobs);
    jobs->is_wanted = is_wanted;
    jobs->user = user;
    jobs->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (jobs->done_fd < 0) {
        return TARN_E_MEMORY;
    }
    TARN_ASSERT(sem_init(&jobs->back, 0, 0) == 0 && pthread_mutex_init(&jobs->baton, NULL) == 0);
    tarn_jobs_take(jobs);
    return TARN_OK;
}

void tarn_jobs_take(tarn_jobs *jobs)
{
    TARN_ASSERT(pthread_mutex_lock(&jobs->baton) == 0);
}

void tarn_jobs_give(tarn_jobs *jobs)
{
    TARN_ASSERT(pthread_mutex_unlock(&jobs->baton) == 0);
}

void tarn_jobs_close(tarn_jobs *jobs)
{
    tarn_jobs_give(jobs);
    for (uint32_t i = 0; i < jobs->lane_count; i++) {
        tarn_lane *lane = &jobs->lanes[i];
        TARN_ASSERT(lane->job == NULL);
        sem_post(&lane->go);
        pthread_join(lane->thread, NULL);
        sem_destroy(&lane->go);
    }
    free(jobs->lanes);
    pthread_mutex_destroy(&jobs->baton);
    sem_destroy(&jobs->back);
    close(jobs->done_fd);
}

// ---- a lane ----

/// Gives the baton, and then tells the scheduler, which would only wait for it before.
static void give_and_tell(tarn_lane *lane)
{
    const uint64_t one = 1;
    const int done_fd = lane->tells ? lane->jobs->done_fd : -1;
    lane->tells = false;
    tarn_jobs_give(lane->jobs);
    if (done_fd >= 0) {
        TARN_ASSERT(write(done_fd, &one, sizeof one) == (ssize_t)sizeof one);
    }
}

/// From its beginning to its end, with the baton at both.
static void run_alone(const tarn_lane *lane, tarn_job *job)
{
    // Its own time: where the machine does other work, or another lane has the baton, no tank is to pay for it.
    const uint64_t before_ns = tarn_clock_thread_ns();
    own_job = job;
    job->since_ns = tarn_clock_monotonic_ns();
    tarn_device_lane_enter(lane->jobs->device, lane->number);
    job->run(job->context);
    tarn_device_lane_leave(lane->jobs->device);
    job->used_ns = tarn_clock_thread_ns() - before_ns;
    job->is_done = true;
    own_job = NULL;
}

/// Neither has had a turn, nor is anybody else's.
static void leave_alone(tarn_job *job)
{
    TARN_ASSERT(job->in_progress && job->used_ns == 0 && !job->is_alone && job->jobs->running == NULL);
    job->is_alone = true;
}

static void *lane_main(void *argument)
{
    tarn_lane *lane = argument;
    const tarn_jobs *jobs = lane->jobs;
    own_lane = lane;
    for (;;) {
        wait_for(&lane->go);
        if (lane->job == NULL) {
            return NULL;
        }
        tarn_jobs_take(lane->jobs);
        while (lane->job != NULL) {
            bool tells = true;
            run_alone(lane, lane->job);
            lane->job = jobs->next != NULL ? jobs->next(jobs->next_user, lane->number, &tells) : NULL;
            lane->tells = tells || lane->job == NULL;
            if (lane->job != NULL) {
                leave_alone(lane->job);
            }
        }
        give_and_tell(lane);
    }
}

// ---- threads of jobs and lanes ----

static void *job_main(void *argument)
{
    tarn_job *job = argument;
    for (;;) {
        wait_for(&job->go);
        if (job->ends) {
            return NULL;
        }
        job->run(job->context);
        job->in_progress = false;
        sem_post(&job->jobs->back);
    }
}

/// With all signals blocked: they are the scheduler's business.
static tarn_status thread_start(pthread_t *thread, void *(*main)(void *argument), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? TARN_OK : TARN_E_MEMORY;
}

tarn_status tarn_jobs_open_lanes(tarn_jobs *jobs, tarn_device *device, uint32_t count, tarn_lane_next *next, void *user)
{
    TARN_ASSERT(jobs->lanes == NULL && count <= tarn_device_lanes(device));
    jobs->lanes = calloc(count, sizeof *jobs->lanes);
    if (jobs->lanes == NULL) {
        return count == 0 ? TARN_OK : TARN_E_MEMORY;
    }
    jobs->device = device;
    jobs->next = next;
    jobs->next_user = user;
    for (uint32_t i = 0; i < count; i++) {
        tarn_lane *lane = &jobs->lanes[i];
        lane->jobs = jobs;
        lane->number = i;
        TARN_ASSERT(sem_init(&lane->go, 0, 0) == 0);
        if (thread_start(&lane->thread, lane_main, lane) != TARN_OK) {
            sem_destroy(&lane->go);
            return TARN_E_MEMORY;
        }
        jobs->lane_count = i + 1;
    }
    return TARN_OK;
}

tarn_status tarn_job_open(tarn_job *job, tarn_jobs *jobs)
{
    memset(job, 0, sizeof *job);
    if (sem_init(&job->go, 0, 0) != 0) {
        return TARN_E_MEMORY;
    }
    if (thread_start(&job->thread, job_main, job) != TARN_OK) {
        sem_destroy(&job->go);
        return TARN_E_MEMORY;
    }
    job->jobs = jobs;
    return TARN_OK;
}

void tarn_job_close(tarn_job *job)
{
    if (job->jobs == NULL) {
        return;
    }
    TARN_ASSERT(!job->in_progress);
    job->ends = true;
    sem_post(&job->go);
    pthread_join(job->thread, NULL);
    sem_destroy(&job->go);
    job->jobs = NULL;
}

// ---- a job, from its start to its end ----

void tarn_job_start(tarn_job *job, void (*run)(void *context), void *context)
{
    TARN_ASSERT(!job->in_progress);
    job->run = run;
    job->context = context;
    job->in_progress = true;
    job->is_waiting = job->is_done = job->is_alone = false;
    job->used_ns = 0;
}

void tarn_job_go_alone(tarn_job *job, uint32_t lane)
{
    tarn_lane *own = &job->jobs->lanes[lane];
    TARN_ASSERT(lane < job->jobs->lane_count && own->job == NULL);
    leave_alone(job);
    own->job = job;
    sem_post(&own->go);
}

bool tarn_job_is_done(tarn_job *job, uint64_t *used_ns)
{
    if (!job->is_done) {
        return false;
    }
    *used_ns = job->used_ns;
    job->is_done = job->in_progress = false;
    return true;
}

void tarn_job_part(void)
{
    if (own_job != NULL) {
        give_and_tell(own_lane);
    }
}

void tarn_job_rejoin(void)
{
    if (own_job != NULL) {
        tarn_jobs_take(own_job->jobs);
    }
}

uint64_t tarn_job_resume(tarn_job *job, uint64_t until_ns, bool others_run)
{
    tarn_jobs *jobs = job->jobs;
    TARN_ASSERT(job->in_progress && jobs->running == NULL && !job->is_alone);
    const uint64_t now_ns = tarn_clock_monotonic_ns(), before_ns = job->used_ns;
    if (atomic_load(&job->is_away)) {
        job->since_ns = now_ns; // what it does uses nothing that others would want
        return 0;
    }
    if (!job->is_waiting) {
        job->since_ns = now_ns; // else it goes on from when it began to wait
    }
    job->is_waiting = false;
    jobs->until_ns = until_ns;
    jobs->look_ns = now_ns + TARN_WORKER_LOOK_MS * (uint64_t)1000000;
    jobs->others_run = others_run;
    jobs->running = job;
    sem_post(&job->go);
    wait_for(&jobs->back);
    jobs->running = NULL;
    const uint64_t back_ns = tarn_clock_monotonic_ns();
    job->used_ns += back_ns - job->since_ns;
    job->since_ns = back_ns;
    return job->used_ns - before_ns;
}

uint64_t tarn_jobs_used_ns(const tarn_jobs *jobs)
{
    const tarn_job *job = own_job != NULL ? own_job : jobs->running;
    return job->used_ns + (tarn_clock_monotonic_ns() - job->since_ns);
}

// ---- when a job gives way ----

static bool is_due(void *context)
{
    tarn_jobs *jobs = context;
    if (jobs->running == NULL) { // the scheduler itself uses the device
        return false;
    }
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (now_ns >= jobs->until_ns) {
        return true;
    }
    if (now_ns < jobs->look_ns) {
        return false;
    }
    jobs->look_ns = now_ns + TARN_WORKER_LOOK_MS * (uint64_t)1000000;
    return jobs->is_wanted(jobs->user);
}

static void yield(void *context, bool is_waiting)
{
    tarn_jobs *jobs = context;
    tarn_job *job = jobs->running;
    if (job == NULL && !is_waiting) {
        return;
    }
    if (job == NULL || (is_waiting && !jobs->others_run && !is_due(jobs))) {
        const struct timespec shortly = {.tv_nsec = TARN_WORKER_POLL_US * 1000};
        nanosleep(&shortly, NULL);
        return;
    }
    job->is_waiting = is_waiting;
    sem_post(&jobs->back);
    wait_for(&job->go);
}

void tarn_jobs_leave(tarn_jobs *jobs)
{
    tarn_job *job = jobs->running;
    TARN_ASSERT(job != NULL && pthread_equal(job->thread, pthread_self()));
    job->is_waiting = true;
    atomic_store(&job->is_away, true);
    sem_post(&jobs->back);
}

void tarn_jobs_return(tarn_job *job)
{
    TARN_ASSERT(pthread_equal(job->thread, pthread_self()) && atomic_load(&job->is_away));
    atomic_store(&job->is_away, false);
    wait_for(&job->go);
}

tarn_yield tarn_jobs_yield(tarn_jobs *jobs)
{
    return (tarn_yield){is_due, yield, jobs};
}
