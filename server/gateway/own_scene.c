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

void tarn_own_scene_list(const char *scene, tarn_ipc_scenes *scenes)
{
    tarn_name name;
    uint32_t place = 0;
    if (!name_of(scene, name)) {
        return;
    }
    while (place < scenes->count && strcmp(scenes->names[place], name) < 0) {
        place++;
    }
    if (place < scenes->count && strcmp(scenes->names[place], name) == 0) {
        return;
    }
    if (scenes->count < TARN_SCENES_MAX) {
        scenes->count++;
    }
    if (place == scenes->count) {
        place--;
    }
    memmove(scenes->names[place + 1], scenes->names[place], (scenes->count - 1 - place) * sizeof(tarn_name));
    memcpy(scenes->names[place], name, sizeof(tarn_name));
}

bool tarn_own_scene_is_listed(const tarn_ipc_scenes *scenes, const char *name)
{
    for (uint32_t i = 0; i < scenes->count; i++) {
        if (strcmp(scenes->names[i], name) == 0) {
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
