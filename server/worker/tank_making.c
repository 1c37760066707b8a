// A tank is made beside what was there, and takes its place when it is whole. Begin at tarn_worker_tank_load.
#include "server/common/clock.h"
#include "server/common/log.h"
#include "server/worker/tank_parts.h"
#include "server/worker/tank_start.h"
#include "server/worker/worker_resume.h"
#include "server/worker/worker_scene.h"
#include "server/worker/worker_tank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// They become the tank's, and what it had is no more.
static void parts_take(tarn_worker_tank *tank, tarn_tank_parts *parts)
{
    tarn_worker_tank_unmake(tank);
    tank->tank = parts->tank;
    tank->encoder = parts->encoder;
    tank->map = parts->map;
    tank->snapshot = parts->snapshot;
    tank->scene = *parts->scene;
    free(parts->scene);
    tank->probes.scene_is_due = true;
}

/// Begins with the tank as its scene has it.
static tarn_status start(tarn_worker_tank *tank, const tarn_ipc_load *load, const tarn_scene_pack *pack)
{
    const tarn_step_input first = {.holds = true,
                                   .pause = load->paused ? TARN_STEP_PAUSE_BEGINS : TARN_STEP_PAUSE_KEEPS};
    memset(&tank->next, 0, sizeof tank->next);
    tarn_black_box_begin(&tank->snapshot.box, load->scene);
    tarn_black_box_put_scene(&tank->snapshot.box, tank->box_fd, pack);
    tarn_status status = tarn_tank_step(tank->tank, &first);
    if (status == TARN_OK) {
        status = tarn_snapshot_start(&tank->snapshot, tank->tank);
    }
    if (status != TARN_OK) {
        return status;
    }
    tank->paused = load->paused;
    tank->steps_asked = 0;
    tarn_worker_tank_begin(tank, load->epoch, 0, tarn_clock_monotonic_ns());
    tarn_worker_tank_log_presses(tank);
    return tarn_worker_tank_look(tank);
}

/// What was kept is of no use, as viewers are told: the tank is to start afresh. @return TARN_OK or TARN_E_DEVICE
static tarn_status give_up_kept(tarn_worker_tank *tank, tarn_status failure)
{
    snprintf(tank->notice, sizeof tank->notice, "what was kept of \"%s\" is of no use (%s); the tank starts afresh",
             tank->scene.name, tarn_status_text(failure));
    tarn_log_of(TARN_LOG_WARN, (tarn_log_subject){.tank = tank->id}, "tank %u: %s", tank->id, tank->notice);
    tarn_worker_tank_let_go(tank);
    return tarn_tank_reset(tank->tank) == TARN_OK ? TARN_OK : TARN_E_DEVICE;
}

/// A tank that was made can't be: it is no more. @param why  receives a sentence  @return failure
static tarn_status refuse(tarn_worker_tank *tank, tarn_status failure, tarn_text why)
{
    snprintf(why, sizeof(tarn_text), "scene \"%s\": it can't go on or begin: %s", tank->scene.name,
             tarn_status_text(failure));
    tarn_worker_tank_unmake(tank);
    return failure;
}

/// Goes on from what a worker that is no more has left, where that can be.
/// @return TARN_E_NOT_FOUND: the tank is to start afresh
static tarn_status resume(tarn_worker_tank *tank, const tarn_ipc_load *load)
{
    tarn_black_box_rest rest;
    if (!load->resumes) {
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = TARN_E_NOT_FOUND;
    if (tarn_black_box_find(&tank->snapshot.box, load->scene, &rest)) {
        status = tarn_worker_resume(tank, &rest);
    }
    if (status == TARN_OK || status == TARN_E_DEVICE || status == TARN_E_MEMORY) { // there may be some later
        return status;
    }
    return give_up_kept(tank, status) == TARN_OK ? TARN_E_NOT_FOUND : TARN_E_DEVICE;
}

/// The scene that a tank is made from, itself.
typedef struct made_from {
    tarn_scene_pack pack;
    bool is_own; ///< which the black box has
} made_from;

/// @param box_fd  the tank's black box; 0: receives one
/// @param from    receives what it was made from; to be freed on success
static tarn_status make(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                        const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs, int *box_fd,
                        made_from *from, tarn_text why)
{
    *from = (made_from){0};
    tarn_tank_parts parts = {.scene = calloc(1, sizeof *parts.scene)};
    snprintf(why, sizeof(tarn_text), "out of memory");
    tarn_status status = TARN_E_MEMORY;
    if (parts.scene != NULL) {
        tarn_job *job = jobs->running;
        tarn_jobs_leave(jobs);
        status = tarn_worker_scene_read(scenes_dir, load, *box_fd, parts.scene, &from->pack, &from->is_own, why);
        tarn_jobs_return(job);
    }
    if (status == TARN_OK) {
        status = tarn_tank_parts_make(&parts, device, parts.scene, box_fd, why);
    }
    if (status != TARN_OK) {
        tarn_tank_parts_free(&parts);
        tarn_scene_pack_free(&from->pack);
        return status;
    }
    parts_take(tank, &parts);
    tank->pause_asked = TARN_STEP_PAUSE_KEEPS;
    tank->rates.period_ns = 1000000000u / (options->fps != 0 ? options->fps : TARN_WORKER_FPS);
    tank->rates.step_ns = (uint64_t)((double)tank->scene.tank.dt_s * 1e9);
    tank->rates.keeps_rate = options->fps != 0;
    tarn_input_state_note(&tank->inputs, load->viewer_id, load->sequence);
    tarn_worker_tank_let_go(tank);
    return TARN_OK;
}

/// The tank stands still, or goes on, as whoever asked for it wants: before anything of it is kept.
static tarn_status pause_as_asked(tarn_worker_tank *tank, bool is_paused)
{
    const tarn_step_input input = {.holds = true, .pause = is_paused ? TARN_STEP_PAUSE_BEGINS : TARN_STEP_PAUSE_ENDS};
    const tarn_status status = tarn_tank_step(tank->tank, &input);
    tank->paused = tarn_tank_paused(tank->tank);
    return status;
}

/// Goes on from its box, which was filled elsewhere. The first that is kept there is the tank as it then is: what led
/// to it was made before.
static tarn_status go_on_elsewhere(tarn_worker_tank *tank, const tarn_ipc_load *load, const tarn_scene_pack *pack)
{
    tarn_black_box_rest rest;
    tarn_status status = tarn_black_box_find(&tank->snapshot.box, load->scene, &rest) ? tarn_worker_resume(tank, &rest)
                                                                                      : TARN_E_NOT_FOUND;
    if (status == TARN_OK && load->resumes == TARN_IPC_GOES_BACK) {
        status = pause_as_asked(tank, load->paused);
    }
    if (status == TARN_OK) {
        tarn_snapshot_adopt(&tank->snapshot, tank->tank, tank->step, tank->box_fd, pack);
        if (load->resumes == TARN_IPC_GOES_BACK) {
            tarn_worker_tank_log_presses(tank); // the box of the past doesn't know what has been done since
        }
    }
    return status;
}

/// What is to become of a tank that couldn't go on, where there was none before. It is no more if the gateway has
/// something to try again: the same when there is more memory, or the tank as it was before it was to go back.
static tarn_status begin_instead(tarn_worker_tank *tank, const tarn_ipc_load *load, const tarn_scene_pack *pack,
                                 tarn_status failure, tarn_text why)
{
    if (failure == TARN_E_MEMORY || load->resumes == TARN_IPC_GOES_BACK) {
        return refuse(tank, failure, why);
    }
    tarn_status status = give_up_kept(tank, failure);
    if (status == TARN_OK) {
        status = start(tank, load, pack);
    }
    return status == TARN_OK || status == TARN_E_DEVICE ? status : refuse(tank, status, why);
}

/// Goes on from the box that came along. A tank that is there stays what it is where that can't be.
/// @return as tarn_worker_tank_load
static tarn_status load_box(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                            const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs,
                            tarn_text why)
{
    tarn_black_box_rest rest;
    made_from from;
    const int old_fd = tank->box_fd;
    const bool was_there = tank->tank != NULL;
    int box_fd = tank->next_box_fd;
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1] = "";
    if (was_there) {
        snprintf(scene, sizeof scene, "%s", tarn_black_box_scene_name(&tank->snapshot.box));
    }
    tank->next_box_fd = 0;
    tarn_status status = make(tank, device, scenes_dir, options, load, jobs, &box_fd, &from, why);
    if (status != TARN_OK) {
        close(box_fd);
        return status;
    }
    tank->box_fd = box_fd;
    status = go_on_elsewhere(tank, load, &from.pack);
    if (status != TARN_OK && status != TARN_E_DEVICE && !was_there) {
        status = begin_instead(tank, load, &from.pack, status, why);
    }
    tarn_scene_pack_free(&from.pack);
    if (status == TARN_OK || status == TARN_E_DEVICE || !was_there) {
        if (old_fd > 0) {
            close(old_fd);
        }
        return status;
    }
    tarn_ipc_load back = {.epoch = load->epoch, .paused = load->paused, .resumes = TARN_IPC_RESUMES};
    snprintf(back.scene, sizeof back.scene, "%s", scene);
    snprintf(why, sizeof(tarn_text), "the tank can't be what it was then (%s): its scene may have changed since",
             tarn_status_text(status));
    tank->box_fd = old_fd;
    tarn_text ignored;
    const tarn_status returned = make(tank, device, scenes_dir, options, &back, jobs, &tank->box_fd, &from, ignored);
    close(box_fd);
    if (returned == TARN_OK) {
        tarn_scene_pack_free(&from.pack);
    }
    if (returned == TARN_OK && tarn_black_box_find(&tank->snapshot.box, scene, &rest)) {
        rest.epoch = load->epoch;
        return tarn_worker_resume(tank, &rest) == TARN_E_DEVICE ? TARN_E_DEVICE : status;
    }
    return TARN_E_DEVICE; // the next worker makes it again
}

tarn_status tarn_worker_tank_load(tarn_worker_tank *tank, tarn_device *device, const char *scenes_dir,
                                  const tarn_worker_options *options, const tarn_ipc_load *load, tarn_jobs *jobs,
                                  tarn_text why)
{
    if (load->resumes >= TARN_IPC_RESUMES_BOX && tank->next_box_fd > 0) {
        return load_box(tank, device, scenes_dir, options, load, jobs, why);
    }
    made_from from;
    tarn_status status = make(tank, device, scenes_dir, options, load, jobs, &tank->box_fd, &from, why);
    if (status != TARN_OK) {
        return status;
    }
    status = resume(tank, load);
    if (status == TARN_E_NOT_FOUND) {
        status = start(tank, load, &from.pack);
    } else if (status == TARN_OK && !from.is_own) {
        tarn_snapshot_adopt(&tank->snapshot, tank->tank, tank->step, tank->box_fd, &from.pack);
    }
    tarn_scene_pack_free(&from.pack);
    return status == TARN_OK ? TARN_OK : refuse(tank, status, why);
}
