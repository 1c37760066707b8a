// A scene into memory that the gateway has, too. Begin at tarn_worker_telling_make.
#include "server/worker/telling.h"
#include "server/scene/archive.h"
#include "server/scene/tell.h"
#include "server/worker/tank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tarn_worker_telling_end(tarn_worker_tank *tank)
{
    if (tank->telling.fd > 0) {
        close(tank->telling.fd);
    }
    tank->telling = (tarn_worker_telling){0};
}

void tarn_worker_telling_ask(tarn_worker_tank *tank, const tarn_ipc_scene_wanted *wanted, int fd)
{
    tarn_worker_telling_end(tank);
    tank->telling = (tarn_worker_telling){.is_asked = true, .ask = wanted->ask, .fd = fd};
}

bool tarn_worker_telling_is_due(const tarn_worker_tank *tank)
{
    return tank->telling.is_asked && tank->tank != NULL && tank->handover.phase == TARN_HANDOVER_NONE;
}

static bool is_of_scene(const tarn_worker_tank *tank, const tarn_ipc_probe *probe)
{
    for (uint32_t i = 0; i < tank->scene.probe_count; i++) {
        if (strcmp(tank->scene.probes[i].name, probe->label) == 0) {
            return true;
        }
    }
    return false;
}

/// What people put in: the scene's own are in the scene.
static uint32_t list_probes(const tarn_worker_tank *tank, tarn_probe_spec *specs)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tank->probes.asked.count; i++) {
        const tarn_ipc_probe *probe = &tank->probes.asked.probes[i];
        if (is_of_scene(tank, probe) || probe->shows >= TARN_SHOWS_COUNT) {
            continue;
        }
        tarn_probe_spec *spec = &specs[count++];
        *spec = (tarn_probe_spec){.shows = probe->shows,
                                  .has_to = probe->shows == TARN_SHOWS_GAUGE || probe->shows == TARN_SHOWS_FLUX,
                                  .has_solid = probe->shows == TARN_SHOWS_FORCE,
                                  .solid = probe->solid};
        for (int a = 0; a < 3; a++) {
            spec->at_m[a] = (double)probe->at_m[a];
            spec->to_m[a] = (double)probe->to_m[a];
        }
    }
    return count;
}

typedef struct telling_aside {
    tarn_jobs *jobs;
    tarn_job *job;
} telling_aside;

static void step_aside(void *user, bool begins)
{
    const telling_aside *aside = user;
    if (begins) {
        tarn_jobs_leave(aside->jobs);
    } else {
        tarn_jobs_return(aside->job);
    }
}

/// @return TARN_OK, or TARN_E_MEMORY
static tarn_status write_all(int fd, const uint8_t *bytes, size_t byte_count)
{
    for (size_t done = 0; done < byte_count;) {
        const ssize_t got = fd > 0 ? pwrite(fd, bytes + done, byte_count - done, (off_t)done) : -1;
        if (got < 0 && (fd <= 0 || errno != EINTR)) {
            return TARN_E_MEMORY;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return TARN_OK;
}

/// The archive of a scene, into the memory. Beside the others' work.
static tarn_status put_archive(int fd, const tarn_scene_pack *pack, tarn_ipc_scene_told *told)
{
    uint8_t *bytes = NULL;
    size_t byte_count = 0;
    tarn_status status =
        tarn_scene_archive_write(pack->bytes, pack->byte_count, TARN_IPC_SCENE_TOLD_BYTES_MAX, &bytes, &byte_count);
    if (status == TARN_E_LIMIT) {
        snprintf(told->why, sizeof told->why,
                 "with its liquid and meshes this tank has more than the %d MiB of an archive",
                 TARN_IPC_SCENE_TOLD_BYTES_MAX >> 20);
    } else if (status == TARN_OK) {
        status = write_all(fd, bytes, byte_count);
    }
    free(bytes);
    told->byte_count = status == TARN_OK ? (uint32_t)byte_count : 0;
    return status;
}

tarn_status tarn_worker_telling_make(tarn_worker_tank *tank, tarn_jobs *jobs, tarn_job *job)
{
    tarn_worker_telling *telling = &tank->telling;
    // A message may ask anew while this is away: what is made belongs to this ask, and to its memory.
    tarn_ipc_scene_told told = {.ask = telling->ask};
    const int fd = telling->fd;
    telling->is_asked = false;
    telling->fd = 0;
    tarn_scene_pack made_from = {0}, pack = {0};
    tarn_probe_spec probes[TARN_LIVE_PROBES_MAX];
    char why[TARN_TANK_SCENE_WHY_BYTES] = "";
    telling_aside aside = {jobs, job};
    tarn_status status = TARN_E_NOT_FOUND;
    const uint32_t probe_count = list_probes(tank, probes); // which messages change
    tarn_jobs_leave(jobs);
    const bool has_scene =
        tarn_black_box_scene(tank->box_fd, tarn_black_box_scene_name(&tank->snapshot.box), &made_from);
    tarn_jobs_return(job);
    if (has_scene) {
        const tarn_tank_scene from = {.made_from = &made_from,
                                      .scene = &tank->scene,
                                      .tank = tank->tank,
                                      .step = tank->step,
                                      .probes = probes,
                                      .probe_count = probe_count,
                                      .aside = step_aside,
                                      .user = &aside};
        status = tarn_tank_scene_write(&from, &pack, why);
        snprintf(told.why, sizeof told.why, "%s", why);
    } else {
        snprintf(told.why, sizeof told.why, "the scene that the tank was made from isn't there");
    }
    tarn_jobs_leave(jobs);
    if (status == TARN_OK) {
        status = put_archive(fd, &pack, &told);
    }
    tarn_scene_pack_free(&made_from);
    tarn_scene_pack_free(&pack);
    if (fd > 0) {
        close(fd);
    }
    tarn_jobs_return(job);
    told.lack = status == TARN_OK                                     ? TARN_IPC_SCENE_LACKS_NOT
                : status == TARN_E_ARGUMENT || status == TARN_E_LIMIT ? TARN_IPC_SCENE_LACKS_WORDS
                                                                      : TARN_IPC_SCENE_LACKS_ROOM;
    if (status != TARN_OK && told.why[0] == '\0') {
        snprintf(told.why, sizeof told.why, "%s", tarn_status_text(status));
    }
    if (!telling->is_asked) { // else what was asked since is answered
        telling->told = told;
        telling->is_told = true;
    }
    return status == TARN_E_DEVICE ? status : TARN_OK;
}

void tarn_worker_telling_tell(tarn_worker_tank *tank, tarn_worker_link *link)
{
    const tarn_ipc_message message = {.kind = TARN_IPC_SCENE_TOLD, .tank = tank->id, .scene_told = tank->telling.told};
    if (tank->telling.is_told) {
        tank->telling.is_told = tarn_worker_link_put(link, &message) != TARN_OK;
    }
}
