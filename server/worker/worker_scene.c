// Whoever loads a scene means the one in the folder; a tank that goes on, or begins again, has its own.
#include "server/worker/worker_scene.h"
#include "server/worker/black_box.h"

#include <stdio.h>

tarn_status tarn_worker_scene_read(const char *scenes_dir, const tarn_ipc_load *load, int box_fd, tarn_scene *scene,
                                   tarn_scene_pack *pack, bool *is_own, tarn_text why)
{
    char path[4096];
    *is_own = false;
    if ((load->viewer_id == 0 || load->resumes >= TARN_IPC_RESUMES_BOX) &&
        tarn_black_box_scene(box_fd, load->scene, pack)) {
        if (tarn_scene_read_kept(pack, scene, why, sizeof(tarn_text)) == TARN_OK) {
            *is_own = true;
            return TARN_OK;
        }
        tarn_scene_pack_free(pack); // another build's, or a worker's that had gone wild
    }
    if (tarn_scene_pack_is_file(load->scene)) { // one that an owner uploaded, which the gateway alone names so
        const tarn_status found = tarn_scene_pack_read_file(load->scene, pack);
        if (found == TARN_OK) {
            return tarn_scene_read_kept(pack, scene, why, sizeof(tarn_text));
        }
        snprintf(why, sizeof(tarn_text), "the scene that was uploaded cannot be read: %s", tarn_status_text(found));
        return found;
    }
    const tarn_status status = tarn_scene_resolve(load->scene, scenes_dir, path, sizeof path, why, sizeof(tarn_text));
    return status == TARN_OK ? tarn_scene_read_file_to_keep(path, scene, pack, why, sizeof(tarn_text)) : status;
}
