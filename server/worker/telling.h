/// Tells a tank as it stands as a scene (server/scene/tell.h), for whoever takes along what was built in it:
///
///     SCENE_WANTED, memory ─▶ asked ─ job, between two steps: scene, its files ─▶ archive in the memory ─▶ SCENE_TOLD
///
/// The tank is as it was. Only what is copied out of it keeps the device; the rest is done beside other tanks' work.
#ifndef TARN_SERVER_WORKER_TELLING_H
#define TARN_SERVER_WORKER_TELLING_H

#include "server/base/ipc.h"
#include "server/worker/jobs.h"
#include "server/worker/link.h"

#include <stdbool.h>

struct tarn_worker_tank;

/// Zero: nothing is asked for.
typedef struct tarn_worker_telling {
    bool is_asked, is_told; ///< what was asked for is to be made; is to be told
    uint32_t ask;
    int fd; ///< owned, of the memory; 0: none
    tarn_ipc_scene_told told;
} tarn_worker_telling;

/// @param fd  becomes the tank's; 0: none came along
void tarn_worker_telling_ask(struct tarn_worker_tank *tank, const tarn_ipc_scene_wanted *wanted, int fd);

/// Whether a job is needed for it: not while the tank is being moved.
bool tarn_worker_telling_is_due(const struct tarn_worker_tank *tank);

/// Makes it. Job. @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_telling_make(struct tarn_worker_tank *tank, tarn_jobs *jobs, tarn_job *job);

/// Between jobs: says that it is there, or tries again.
void tarn_worker_telling_tell(struct tarn_worker_tank *tank, tarn_worker_link *link);

/// Nobody is to be told any more.
void tarn_worker_telling_end(struct tarn_worker_tank *tank);

#endif
