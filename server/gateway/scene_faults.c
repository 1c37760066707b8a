// One sentence for all of them: the newest, and how many others there are.
#include "server/gateway/scene_faults.h"

#include <stdio.h>
#include <string.h>

static void say(const tarn_ipc_scene_faults *faults, tarn_viewer *viewer)
{
    tarn_text sentence;
    char others[48] = "";
    if (faults->count > 1) {
        snprintf(others, sizeof others, " (the log has %u other%s)", faults->count - 1, faults->count > 2 ? "s" : "");
    }
    snprintf(sentence, sizeof sentence, "the scene \"%s\" isn't offered%s: %.360s", faults->newest, others,
             faults->why);
    tarn_viewer_error(viewer, TARN_ERROR_SCENE, sentence);
}

void tarn_scene_faults_tell(const tarn_workers *workers, const tarn_session *first, tarn_viewer *viewer)
{
    if (workers->faults.count > 0 && viewer->session == first && viewer->role == TARN_ROLE_OWN && !viewer->is_preview) {
        say(&workers->faults, viewer);
    }
}

void tarn_scene_faults_take(tarn_workers *workers, tarn_session *first, const tarn_ipc_scene_faults *faults)
{
    const bool is_new =
                   strcmp(faults->newest, workers->faults.newest) != 0 || strcmp(faults->why, workers->faults.why) != 0,
               is_mended = faults->count < workers->faults.count; // and another's fault is the newest again
    workers->faults = *faults;
    for (uint32_t v = 0; is_new && !is_mended && first != NULL && v < first->viewer_count; v++) {
        tarn_scene_faults_tell(workers, first, first->viewers[v]);
    }
}
