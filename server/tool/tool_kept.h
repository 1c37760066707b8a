/// The tank that a kept session's state is put into: what `tarn session export` and `tarn replay` share.
#ifndef TARN_SERVER_TOOL_TOOL_KEPT_H
#define TARN_SERVER_TOOL_TOOL_KEPT_H

#include "server/tool/kept/kept_copy.h"
#include "server/tool/tool.h"

/// Makes the tank of a state's scene and puts the state into it.
/// @param tank  of the scene before, kept where it is the same one; zero at first
/// @param made  what it was made from
/// @return false: a sentence went to stderr, and the tank may be there or not (tool_kept_close takes both)
bool tool_kept_put(const char *command, const char *scenes_dir, const tool_device *device, const kept_stretch *stretch,
                   tool_tank *tank, char made[TARN_IPC_SCENE_BYTES_MAX + 1]);
void tool_kept_close(tool_tank *tank);

/// Whether the tank that is there was made from a state's scene. @param made  as above
bool tool_kept_is_of(const kept_stretch *stretch, const char *made);

#endif
