/// A scene that the server was started with by its file: it stands in the list of scenes under the file's name, and is
/// meant by that name even where the scenes' directory has one of the same name.
#ifndef TARN_SERVER_GATEWAY_OWN_SCENE_H
#define TARN_SERVER_GATEWAY_OWN_SCENE_H

#include "server/common/ipc.h"

#include <stdbool.h>

/// Puts it into the list, which is sorted; a list that is full loses its last name.
/// @param scene  what the server was started with; a mere name changes nothing
void tarn_own_scene_list(const char *scene, tarn_ipc_scenes *scenes);

/// Whether a name stands in the list.
bool tarn_own_scene_is_listed(const tarn_ipc_scenes *scenes, const char *name);

/// What the worker is told for a name of the list: the file where the name means it, else the name itself.
const char *tarn_own_scene_find(const char *scene, const char *name);

#endif
