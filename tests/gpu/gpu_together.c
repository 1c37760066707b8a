// Tanks on jobs of their own, as a worker has them.
#include "server/worker/jobs.h"
#include "tests/gpu/gpu_play.h"

#include <stdio.h>

typedef struct part {
    const gpu_play *play;
    gpu_outcome *outcome;
} part;

static void run_part(void *context)
{
    const part *p = context;
    gpu_outcome other;
    char why[GPU_WHY_BYTES];
    gpu_play_run(p->play, p->outcome);
    for (uint32_t i = 0; i < p->play->again && p->outcome->valid; i++) {
        gpu_play_run(p->play, &other);
        if (!gpu_outcomes_same(p->outcome, &other, why)) {
            p->outcome->valid = false;
            snprintf(p->outcome->why, sizeof p->outcome->why, "made anew for the %u. time: %.400s", i + 1, why);
        }
    }
}

static bool nobody_waits(void *user)
{
    (void)user;
    return false;
}

bool gpu_play_together(const gpu_play *plays, gpu_outcome *outcomes, uint32_t count)
{
    tarn_jobs jobs;
    tarn_job job[GPU_TOGETHER_MAX];
    part parts[GPU_TOGETHER_MAX];
    uint32_t opened = 0, going;
    if (tarn_jobs_open(&jobs, nobody_waits, NULL) != TARN_OK) {
        return false;
    }
    const tarn_yield yield = tarn_jobs_yield(&jobs);
    while (opened < count && tarn_job_open(&job[opened], &jobs) == TARN_OK) {
        parts[opened] = (part){&plays[opened], &outcomes[opened]};
        tarn_device_set_yield(plays[opened].first, &yield);
        tarn_job_start(&job[opened], run_part, &parts[opened]);
        opened++;
    }
    do {
        going = 0;
        for (uint32_t i = 0; i < opened; i++) {
            if (job[i].in_progress) {
                (void)tarn_job_resume(&job[i], 0, true); // wanted back at once
            }
            going += job[i].in_progress;
        }
    } while (going > 0);
    for (uint32_t i = 0; i < opened; i++) {
        tarn_device_set_yield(plays[i].first, NULL);
        tarn_job_close(&job[i]);
    }
    tarn_jobs_close(&jobs);
    return opened == count;
}
