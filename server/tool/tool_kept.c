// From a kept state to a tank that is in it.
#include "server/tool/tool_kept.h"
#include "server/common/printable.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

void tool_kept_close(tool_tank *tank)
{
    if (tank->tank != NULL) {
        tool_tank_close(tank);
    }
    *tank = (tool_tank){0};
}

static bool make(const char *command, const char *scenes_dir, const tool_device *device, const char *scene,
                 tool_tank *tank)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    if (tarn_scene_resolve(scene, scenes_dir, path, sizeof path, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: the scene that the tank was made from: %s; --scenes says where it is\n", command, why);
        return false;
    }
    return tool_tank_open(tank, command, path, device);
}

bool tool_kept_put(const char *command, const char *scenes_dir, const tool_device *device, const kept_stretch *stretch,
                   tool_tank *tank, char made[TARN_IPC_SCENE_BYTES_MAX + 1])
{
    const tarn_box_state *state = &stretch->state;
    if (tank->tank != NULL && strcmp(made, state->scene) != 0) {
        tool_kept_close(tank);
    }
    if (tank->tank == NULL && !make(command, scenes_dir, device, state->scene, tank)) {
        *tank = (tool_tank){0};
        return false;
    }
    memcpy(made, state->scene, sizeof state->scene);
    const tarn_status status = state->state_bytes_max == tarn_tank_save_bytes_max(tank->tank)
                                   ? tarn_tank_load(tank->tank, state->bytes.bytes, state->bytes.count)
                                   : TARN_E_MALFORMED;
    if (status != TARN_OK) {
        char scene[sizeof state->scene];
        memcpy(scene, state->scene, sizeof scene);
        tarn_make_printable(scene);
        fprintf(stderr, "%s: state %" PRId64 " can't be put into a tank of the scene \"%s\": %s\n", command,
                stretch->id, scene,
                status == TARN_E_MALFORMED ? "it was saved from another one" : tarn_status_text(status));
    }
    return status == TARN_OK;
}
