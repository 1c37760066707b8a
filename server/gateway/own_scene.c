// A scene given by its file is found under the file's name, beside the scenes of the directory.
#include "server/gateway/own_scene.h"
#include "server/common/scene.h"

#include <stdio.h>
#include <string.h>

/// The name of a file's scene. @return false: `scene` is no file's, or of one that can't be a scene
static bool name_of(const char *scene, tarn_name name)
{
    const char *slash = strrchr(scene, '/'), *file = slash != NULL ? slash + 1 : scene, *ending = strrchr(file, '.');
    if (ending == NULL || strcmp(ending, ".json") != 0 || ending - file > TARN_NAME_BYTES_MAX) {
        return false;
    }
    snprintf(name, sizeof(tarn_name), "%.*s", (int)(ending - file), file);
    return tarn_scene_name_valid(name);
}

void tarn_own_scene_list(const char *scene, tarn_ipc_worker_hello *hello)
{
    tarn_name name;
    uint32_t place = 0;
    if (!name_of(scene, name)) {
        return;
    }
    while (place < hello->scene_count && strcmp(hello->scenes[place], name) < 0) {
        place++;
    }
    if (place < hello->scene_count && strcmp(hello->scenes[place], name) == 0) {
        return;
    }
    if (hello->scene_count < TARN_SCENES_MAX) {
        hello->scene_count++;
    }
    if (place == hello->scene_count) {
        place--;
    }
    memmove(hello->scenes[place + 1], hello->scenes[place], (hello->scene_count - 1 - place) * sizeof(tarn_name));
    memcpy(hello->scenes[place], name, sizeof(tarn_name));
}

bool tarn_own_scene_is_listed(const tarn_ipc_worker_hello *hello, const char *name)
{
    for (uint32_t i = 0; i < hello->scene_count; i++) {
        if (strcmp(hello->scenes[i], name) == 0) {
            return true;
        }
    }
    return false;
}

const char *tarn_own_scene_find(const char *scene, const char *name)
{
    tarn_name own;
    return name_of(scene, own) && strcmp(own, name) == 0 ? scene : name;
}
