/// What is right in a scene, and yet hardly what somebody meant.
#ifndef TARN_SERVER_TOOL_SCENE_DOUBTS_H
#define TARN_SERVER_TOOL_SCENE_DOUBTS_H

#include "server/common/scene.h"
#include "server/common/scene_pack.h"

#include <stdio.h>

/// Writes a line for each doubt that the tank itself doesn't remark on (tarn_tank_remarks): meshes that have no inside,
/// or of which triangles were turned round, or that are far larger than the tank; liquid, emitters and drains of which
/// most would lie in solids; fluid that rests, and nothing that moves it.
/// @param before  what each line begins with
/// @param pack    the scene's files
void scene_doubts_tell(FILE *file, const char *before, const tarn_scene *scene, const tarn_scene_pack *pack);

#endif
