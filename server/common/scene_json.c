// Numbers, shapes and key frames as a scene has them.
#include "server/common/scene_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TIME_LEAST_S = 1e-4; // between two key frames that are told apart

json_t *tarn_scene_json_number(float value)
{
    char text[32];
    int digits = 6;
    do {
        snprintf(text, sizeof text, "%.*g", digits, value == 0.0f ? 0.0 : (double)value);
    } while ((float)strtod(text, NULL) != value && ++digits <= 9);
    return json_real(strtod(text, NULL));
}

/// Appends to a list, which is gone where that can't be.
static void put(json_t **list, json_t *item)
{
    if (*list == NULL || item == NULL) {
        json_decref(item);
    }
    if (*list != NULL && (item == NULL || json_array_append_new(*list, item) != 0)) {
        json_decref(*list);
        *list = NULL;
    }
}

json_t *tarn_scene_json_numbers(const float *values, int count)
{
    json_t *numbers = json_array();
    for (int i = 0; i < count; i++) {
        put(&numbers, tarn_scene_json_number(values[i]));
    }
    return numbers;
}

json_t *tarn_scene_json_colour(const uint8_t colour[3])
{
    char text[8];
    snprintf(text, sizeof text, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
    return json_string(text);
}

json_t *tarn_scene_json_shape(const tarn_shape *shape)
{
    const float *h = shape->half_m, size_m[3] = {2.0f * h[0], 2.0f * h[1], 2.0f * h[2]};
    switch (shape->kind) {
    case TARN_SHAPE_BOX:
        return json_pack("{s:{s:o}}", "box", "size_m", tarn_scene_json_numbers(size_m, 3));
    case TARN_SHAPE_SPHERE:
        return json_pack("{s:{s:o}}", "sphere", "radius_m", tarn_scene_json_number(h[0]));
    case TARN_SHAPE_CAPSULE:
        return json_pack("{s:{s:o, s:o}}", "capsule", "radius_m", tarn_scene_json_number(h[0]), "length_m",
                         tarn_scene_json_number(size_m[1]));
    default:
        return json_pack("{s:{s:o, s:o}}", "cylinder", "radius_m", tarn_scene_json_number(h[0]), "height_m",
                         tarn_scene_json_number(size_m[1]));
    }
}

// ---- key frames ----

static double time_of(const json_t *keyframes, size_t i)
{
    return json_number_value(json_object_get(json_array_get(keyframes, i), "time_s"));
}

/// A vector's part; what isn't there is 0.
static double part_of(const json_t *keyframe, const char *field, size_t axis)
{
    return json_number_value(json_array_get(json_object_get(keyframe, field), axis));
}

static json_t *vector_between(const json_t *a, const json_t *b, const char *field, double share, const double *more)
{
    json_t *vector = json_array();
    for (size_t axis = 0; axis < 3; axis++) {
        const double from = part_of(a, field, axis), to = part_of(b, field, axis);
        put(&vector, tarn_scene_json_number((float)(from + share * (to - from) + more[axis])));
    }
    return vector;
}

static bool has_rotation(const json_t *keyframe)
{
    return json_object_get(keyframe, "rotation") != NULL;
}

/// @param turned_deg  that were made in rounds before
static json_t *keyframe_between(const json_t *a, const json_t *b, double share, double time_s, const double *turned_deg,
                                const tarn_pose *pose)
{
    static const double none[3] = {0.0, 0.0, 0.0};
    json_t *made =
        json_pack("{s:f, s:o}", "time_s", time_s, "position_m", vector_between(a, b, "position_m", share, none));
    if (pose != NULL && (has_rotation(a) || has_rotation(b))) {
        json_object_set_new(made, "rotation", tarn_scene_json_numbers(pose->rotation, 4));
    } else {
        json_object_set_new(made, "rotation_deg", vector_between(a, b, "rotation_deg", share, turned_deg));
    }
    return made;
}

/// One that is there, at another time.
static json_t *keyframe_at(const json_t *keyframe, double time_s, const double *turned_deg)
{
    json_t *made = json_copy((json_t *)(uintptr_t)keyframe);
    json_object_set_new(made, "time_s", json_real(time_s));
    if (!has_rotation(keyframe)) {
        json_object_set_new(made, "rotation_deg", vector_between(keyframe, keyframe, "rotation_deg", 0.0, turned_deg));
    }
    return made;
}

json_t *tarn_scene_json_keyframes(const json_t *keyframes, bool is_loop, double time_s, const tarn_pose *pose)
{
    const size_t count = json_array_size(keyframes);
    const double first_s = time_of(keyframes, 0), last_s = time_of(keyframes, count - 1);
    const json_t *first = json_array_get(keyframes, 0), *last = json_array_get(keyframes, count - 1);
    double turned_deg[3] = {0.0, 0.0, 0.0};
    json_t *made = json_array();
    if (is_loop && last_s > 0.0) {
        time_s -= floor(time_s / last_s) * last_s;
    }
    if (time_s <= first_s || count == 1) { // it stands yet, or always
        for (size_t i = 0; i < count; i++) {
            put(&made,
                keyframe_at(json_array_get(keyframes, i), fmax(0.0, time_of(keyframes, i) - time_s), turned_deg));
        }
        return made;
    }
    if (time_s >= last_s) {
        put(&made, keyframe_at(last, 0.0, turned_deg));
        return made;
    }
    size_t next = 1;
    while (time_of(keyframes, next) <= time_s) {
        next++;
    }
    const json_t *a = json_array_get(keyframes, next - 1), *b = json_array_get(keyframes, next);
    const double share =
        (time_s - time_of(keyframes, next - 1)) / (time_of(keyframes, next) - time_of(keyframes, next - 1));
    put(&made, keyframe_between(a, b, share, 0.0, turned_deg, pose));
    for (size_t i = next; i < count; i++) {
        if (time_of(keyframes, i) - time_s >= TIME_LEAST_S) {
            put(&made, keyframe_at(json_array_get(keyframes, i), time_of(keyframes, i) - time_s, turned_deg));
        }
    }
    if (!is_loop) {
        return made;
    }
    for (size_t axis = 0; axis < 3; axis++) {
        turned_deg[axis] = part_of(last, "rotation_deg", axis) - part_of(first, "rotation_deg", axis);
    }
    const double over_s = last_s - time_s; // where the next round begins, with the frame that ends this one
    for (size_t i = 1; i < next; i++) {
        if (time_s - time_of(keyframes, i) >= TIME_LEAST_S) {
            put(&made, keyframe_at(json_array_get(keyframes, i), over_s + time_of(keyframes, i), turned_deg));
        }
    }
    put(&made, keyframe_between(a, b, share, last_s, turned_deg, pose));
    return made;
}
