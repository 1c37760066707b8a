/// What a tank is made from: the scene as it lies in its folder, or as it was when the tank was made first.
#ifndef TARN_SERVER_WORKER_WORKER_SCENE_H
#define TARN_SERVER_WORKER_WORKER_SCENE_H

#include "server/common/ipc.h"
#include "server/common/scene.h"
#include "server/common/scene_pack.h"

#include <stdbool.h>

/// @param box_fd  of the tank's black box, which may have the scene itself; 0: there is none
/// @param pack    zero; receives the scene itself, which the caller frees on failure too
/// @param is_own  receives whether it came out of the box
/// @param why     on failure a sentence
/// @return TARN_OK: give the scene to tarn_scene_free; what tarn_scene_read_file and tarn_scene_resolve return
tarn_status tarn_worker_scene_read(const char *scenes_dir, const tarn_ipc_load *load, int box_fd, tarn_scene *scene,
                                   tarn_scene_pack *pack, bool *is_own, tarn_text why);

#endif
