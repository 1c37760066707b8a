/// The scene that a kept tank was made from, beside what lies in the scenes' folder now.
#ifndef TARN_SERVER_GATEWAY_KEPT_SCENE_H
#define TARN_SERVER_GATEWAY_KEPT_SCENE_H

#include "server/gateway/gateway_options.h"
#include "server/gateway/tank_store.h"

/// Whether a tank may be made from what its file says: its own scene, one by its name, or the file that the server was
/// started with. Another file's path isn't followed: the session's file may come from elsewhere.
bool tarn_kept_scene_allowed(const tarn_gateway_options *options, const tarn_store_found *found);

/// Says in the log where the folder's is another one by now, or none, and that the tank keeps its own.
/// @param label  of the session
void tarn_kept_scene_compare(const tarn_gateway_options *options, const tarn_store_found *found, const char *label);

#endif
