/// Parts of a scene's JSON as tank_scene.h writes them. Every function returns a new reference, or NULL: there is no
/// memory.
#ifndef TARN_SERVER_COMMON_SCENE_JSON_H
#define TARN_SERVER_COMMON_SCENE_JSON_H

#include "kernels/shapes/shape.h"

#include <jansson.h>
#include <stdbool.h>

/// As short as it can be read again to the same float.
json_t *tarn_scene_json_number(float value);
json_t *tarn_scene_json_numbers(const float *values, int count);
json_t *tarn_scene_json_colour(const uint8_t colour[3]);

/// Of a box, sphere, capsule or cylinder.
json_t *tarn_scene_json_shape(const tarn_shape *shape);

/// Key frames as they go on from a time.
/// @param keyframes  of a solid or a tank, at least one  @param time_s  since they began
/// @param pose       where the solid is now: for those that are turned by quaternions; NULL: a tank, which isn't
/// @param is_loop    the key frames go round
json_t *tarn_scene_json_keyframes(const json_t *keyframes, bool is_loop, double time_s, const tarn_pose *pose);

#endif
