/// What tests of the reader of scenes share: texts of scenes, given to the reader as "a.json" without a folder.
#ifndef TARN_TESTS_SCENE_EXPECT_H
#define TARN_TESTS_SCENE_EXPECT_H

#include "server/scene/scene.h"

#define GOOD_SIZE "\"size_m\":[1,1,1],\"cell_m\":0.125"
#define GOOD_BLOCKS "\"blocks\":[{\"min_m\":[0,0,0],\"max_m\":[0.5,0.5,1]}]"

/// @param why  TARN_SCENE_WHY_BYTES
tarn_status scene_read_probe(const char *text, tarn_scene *scene, char *why);

/// A scene of one cubic metre, half full, with more fields: `more` has ' in place of ". Valid until the next call.
const char *scene_with(const char *more);

/// The text is refused with the status, the sentence holds every part (NULL ends them), and the scene is as it was.
void scene_expect_refusal(const char *text, tarn_status status, const char *const *parts);

#define REFUSES(text, status, ...) scene_expect_refusal(text, status, (const char *const[]){__VA_ARGS__, NULL})
#define REFUSES_WITH(more, status, ...) REFUSES(scene_with(more), status, __VA_ARGS__)

#endif
