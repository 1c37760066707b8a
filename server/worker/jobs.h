/// Jobs: straight code on threads of their own, of which exactly one runs at a time, the scheduler's included. Whoever
/// runs holds the *baton*; what the jobs and the scheduler share needs no locks, and is never seen in a state that lies
/// between two places where a job yields.
///
///     scheduler: tarn_job_start ─ tarn_job_resume ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ returns ─ ... ─ tarn_job_resume ┄┄┄ returns
///     job:                                  └ runs ─ yields (device.h) ┘                      └ goes on ─ ends ┘
///
/// Threads and not state machines: a step, a frame, a scene's making read from top to bottom, and debuggers and
/// sanitizers understand them. A job that never yields blocks the scheduler, so that whoever watches it notices. What
/// touches nothing that is shared (reading a scene's files) a job may do without the baton, beside the others.
///
/// A short job may run alone instead, in a *lane*: one of as many threads as the device has lanes (device.h), each of
/// which runs such jobs one after the other. The job is not resumed and doesn't yield, takes the baton where it needs
/// it, and is without it for its tank's own work. A lane that has come to a job's end is given the next one on the
/// spot, so that between two of them no thread waits for another one to wake up.
///
///     scheduler: tarn_job_go_alone ─ gives the baton ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄ takes it ─ ...
///     lane:                            └ job: tarn_job_part ─ its tank's work ─ tarn_job_rejoin ─ ends ─ next job: ...
#ifndef TARN_SERVER_WORKER_JOBS_H
#define TARN_SERVER_WORKER_JOBS_H

#include "kernels/device/device.h"
#include "protocol/status.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tarn_job tarn_job;
typedef struct tarn_lane tarn_lane;

/// Asked by a lane in which a job has ended, with the baton: what goes on there.
/// @param tells  receives whether the scheduler is to look; it is where none goes on
/// @return a job that was started and had no turn; NULL: none
typedef tarn_job *tarn_lane_next(void *user, uint32_t lane, bool *tells);

/// What the jobs of a worker have in common. Its fields belong to who holds the baton.
typedef struct tarn_jobs {
    tarn_job *running;             ///< NULL: the scheduler
    sem_t back;                    ///< the scheduler waits for the baton
    uint64_t until_ns;             ///< the scheduler wants the baton then; of the present turn
    uint64_t look_ns;              ///< when the running job asks next whether it is wanted
    bool others_run;               ///< while it waits for the device, others could go on
    pthread_mutex_t baton;         ///< where jobs run alone; else the scheduler's all the time
    int done_fd;                   ///< readable: something has come to its end in a lane that concerns the scheduler
    bool (*is_wanted)(void *user); ///< whether the scheduler has anything to do now
    void *user;
    tarn_device *device; ///< of the lanes
    tarn_lane *lanes;
    uint32_t lane_count;
    tarn_lane_next *next;
    void *next_user;
} tarn_jobs;

struct tarn_lane {
    tarn_jobs *jobs;
    pthread_t thread;
    sem_t go;
    tarn_job *job; ///< to run; NULL: the thread is to end
    uint32_t number;
    bool tells; ///< done_fd is to be written to, once the baton is given
};

struct tarn_job {
    tarn_jobs *jobs;
    pthread_t thread;
    sem_t go; ///< the job waits for the baton
    void (*run)(void *context);
    void *context;
    bool in_progress;           ///< started and not at its end
    bool is_waiting;            ///< it gave the baton back because it waits for the device, or has left
    atomic_bool is_away;        ///< it has left and doesn't want the baton yet
    bool is_alone;              ///< it runs in a lane, in a thread that isn't its own
    bool is_done;               ///< it ran alone, and is at its end
    bool ends;                  ///< the thread is to end
    uint64_t since_ns, used_ns; ///< its time: since it has the baton or waits for the device; of the job before that
};

/// @param is_wanted  asked about every TARN_WORKER_LOOK_MS by the running job's thread
/// @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_jobs_open(tarn_jobs *jobs, bool (*is_wanted)(void *user), void *user);

/// No job may be in progress.
void tarn_jobs_close(tarn_jobs *jobs);

/// Makes the threads of the lanes.
/// @param count  <= tarn_device_lanes(device)  @param next  NULL: what goes on is the scheduler's to say
/// @return TARN_OK or TARN_E_MEMORY, with which tarn_jobs_close is still to be called
tarn_status tarn_jobs_open_lanes(tarn_jobs *jobs, tarn_device *device, uint32_t count, tarn_lane_next *next,
                                 void *user);

/// The scheduler gives the baton away while it waits; done_fd is to end that. And takes it back.
void tarn_jobs_give(tarn_jobs *jobs);
void tarn_jobs_take(tarn_jobs *jobs);

/// What the device is to do between pieces of work (tarn_device_set_yield).
tarn_yield tarn_jobs_yield(tarn_jobs *jobs);

/// The running job's own time since it started, without the turns of others. Job only.
uint64_t tarn_jobs_used_ns(const tarn_jobs *jobs);

/// Goes on without the baton: until tarn_jobs_return the job touches only what is its own. Job only.
void tarn_jobs_leave(tarn_jobs *jobs);
/// @param job  the one that left
void tarn_jobs_return(tarn_job *job);

/// A job that runs alone goes on without the baton, with what is its own and its tank's, until tarn_job_rejoin. Of any
/// other neither does anything. Job only.
void tarn_job_part(void);
void tarn_job_rejoin(void);

/// Makes a thread that has nothing to do. @return TARN_OK or TARN_E_MEMORY: no thread
tarn_status tarn_job_open(tarn_job *job, tarn_jobs *jobs);

/// Ends the thread. No job may be in progress. Takes one that was never opened (zeroed).
void tarn_job_close(tarn_job *job);

/// Gives it something to do; it begins with its first turn.
void tarn_job_start(tarn_job *job, void (*run)(void *context), void *context);

/// Lets it run alone from its beginning to its end. It must have been started, and had no turn.
/// @param lane  which nobody is in
void tarn_job_go_alone(tarn_job *job, uint32_t lane);

/// Whether one that runs alone has come to its end; then it is in progress no more.
/// @param used_ns  receives what it used
bool tarn_job_is_done(tarn_job *job, uint64_t *used_ns);

/// Whether it has left, so that there is no sense in giving it the baton.
static inline bool tarn_job_is_away(const tarn_job *job)
{
    return atomic_load(&job->is_away);
}

/// Gives it the baton until it yields or ends; returns at once while it is away.
/// @param until_ns  when the scheduler wants it back at the latest, give or take a piece of work
/// @param others_run  others could go on while it waits for the device
/// @return ns that it used since the last time, with the wait for the device
uint64_t tarn_job_resume(tarn_job *job, uint64_t until_ns, bool others_run);

#endif
