// From the scene that a tank was made from, part by part, to one of what it is now: begin at tarn_tank_scene_write.
#include "server/scene/tell.h"
#include "kernels/shapes/shape.h"
#include "server/base/text.h"
#include "server/scene/ply.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- numbers, colours and shapes as a scene has them ----

static const double TIME_LEAST_S = 1e-4; // between two key frames that are told apart

/// As short as it can be read again to the same float.
static json_t *json_float(float value)
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

static json_t *json_floats(const float *values, int count)
{
    json_t *numbers = json_array();
    for (int i = 0; i < count; i++) {
        put(&numbers, json_float(values[i]));
    }
    return numbers;
}

static json_t *json_colour(const uint8_t colour[3])
{
    char text[8];
    snprintf(text, sizeof text, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
    return json_string(text);
}

/// Of a box, sphere, capsule or cylinder.
static json_t *json_shape(const tarn_shape *shape)
{
    const float *h = shape->half_m, size_m[3] = {2.0f * h[0], 2.0f * h[1], 2.0f * h[2]};
    switch (shape->kind) {
    case TARN_SHAPE_BOX:
        return json_pack("{s:{s:o}}", "box", "size_m", json_floats(size_m, 3));
    case TARN_SHAPE_SPHERE:
        return json_pack("{s:{s:o}}", "sphere", "radius_m", json_float(h[0]));
    case TARN_SHAPE_CAPSULE:
        return json_pack("{s:{s:o, s:o}}", "capsule", "radius_m", json_float(h[0]), "length_m", json_float(size_m[1]));
    default:
        return json_pack("{s:{s:o, s:o}}", "cylinder", "radius_m", json_float(h[0]), "height_m", json_float(size_m[1]));
    }
}

// ---- key frames as a scene has them ----

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
        put(&vector, json_float((float)(from + share * (to - from) + more[axis])));
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
        json_object_set_new(made, "rotation", json_floats(pose->rotation, 4));
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

/// Key frames as they go on from a time.
/// @param keyframes  of a solid or a tank, at least one  @param time_s  since they began
/// @param pose       where the solid is now: for those that are turned by quaternions; NULL: a tank, which isn't
/// @param is_loop    the key frames go round
static json_t *json_keyframes(const json_t *keyframes, bool is_loop, double time_s, const tarn_pose *pose)
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

// ---- a tank, as a scene ----

typedef struct scene_writer {
    const tarn_tank_scene *from;
    const tarn_tank_desc *desc; ///< as the scene has it
    json_t *original, *scene;   ///< owned; the one as it was, and as it becomes
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
    uint32_t body_count;
    uint32_t added_solid[TARN_TANK_THROWN_MAX]; ///< thrown bodies' numbers, as they come behind the scene's solids
    uint32_t thrown_count, solid_count;
    double time_s;
    bool is_aside;
    tarn_status status;
    char *why;
} scene_writer;

__attribute__((format(printf, 3, 4))) static bool refuse(scene_writer *w, tarn_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(w->why, TARN_TANK_SCENE_WHY_BYTES, format, arguments);
    va_end(arguments);
    w->status = status;
    return false;
}

static bool refuse_memory(scene_writer *w)
{
    return refuse(w, TARN_E_MEMORY, "out of memory");
}

/// Sets a field. @param value  taken over; NULL: there was no memory
static bool set(scene_writer *w, json_t *object, const char *field, json_t *value)
{
    return json_object_set_new(object, field, value) == 0 || refuse_memory(w);
}

// ---- parameters ----

/// What has changed, where a scene has it.
static bool put_parameters(scene_writer *w)
{
    const tarn_model *model = tarn_tank_model(w->from->tank);
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        const tarn_parameter_spec *spec = &model->parameters[id];
        const float value = tarn_tank_parameter(w->from->tank, id);
        json_t *in = w->scene;
        if (value == w->desc->parameters[id]) {
            continue;
        }
        if ((spec->traits & TARN_PARAMETER_IS_SOLVER) != 0) {
            in = json_object_get(w->scene, "solver");
            if (in == NULL && !set(w, w->scene, "solver", in = json_object())) {
                return false;
            }
        }
        json_t *told = json_float(value);
        if (spec->role == TARN_PLAYS_GRAVITY && json_is_array(json_object_get(w->scene, spec->name))) {
            float pull[3];
            for (int a = 0; a < 3; a++) {
                pull[a] = value * w->desc->gravity_direction[a];
            }
            json_decref(told);
            told = json_floats(pull, 3);
        }
        if (!set(w, in, spec->name, told)) {
            return false;
        }
    }
    const uint32_t room = tarn_tank_particles_max(w->from->tank);
    return set(w, w->scene, "particles_max", json_integer((json_int_t)room));
}

// ---- solids ----

static const tarn_body_state *body_of(const scene_writer *w, uint32_t solid)
{
    for (uint32_t b = 0; b < w->body_count; b++) {
        if (w->bodies[b].solid == solid) {
            return &w->bodies[b];
        }
    }
    return NULL;
}

static json_t *limited(const float *values, float most)
{
    float within[3];
    for (int a = 0; a < 3; a++) {
        within[a] = fminf(fmaxf(values[a], -most), most);
    }
    return json_floats(within, 3);
}

/// Where a solid is. @param body  NULL: it stands still there
static bool put_pose(scene_writer *w, json_t *solid, const tarn_pose *pose, const tarn_body_state *body)
{
    json_object_del(solid, "rotation_deg");
    return set(w, solid, "position_m", json_floats(pose->position_m, 3)) &&
           set(w, solid, "rotation", json_floats(pose->rotation, 4)) &&
           (body == NULL ||
            (set(w, solid, "velocity_m_s", limited(body->velocity_m_s, (float)TARN_SCENE_SPEED_MAX_M_S)) &&
             set(w, solid, "angular_velocity_rad_s",
                 limited(body->angular_velocity_rad_s, (float)TARN_SCENE_SPIN_MAX_RAD_S))));
}

/// The key frames of a solid, or of the tank, as they go on.
static bool put_keyframes(scene_writer *w, json_t *of, const tarn_pose *pose, const char *what)
{
    const bool is_loop = json_is_true(json_object_get(of, "loop"));
    json_t *left = json_keyframes(json_object_get(of, "keyframes"), is_loop, w->time_s, pose);
    if (json_array_size(left) > TARN_TANK_KEYFRAMES_MAX) {
        json_decref(left);
        return refuse(w, TARN_E_LIMIT, "%s would need more than the %d key frames that a scene may have", what,
                      TARN_TANK_KEYFRAMES_MAX);
    }
    return set(w, of, "keyframes", left);
}

static bool put_own_solids(scene_writer *w)
{
    json_t *solids = json_object_get(w->scene, "solids");
    for (uint32_t i = 0; i < w->desc->solid_count; i++) {
        json_t *solid = json_array_get(solids, i);
        const tarn_body_state *body = body_of(w, i);
        if (body == NULL) {
            continue; // it stands
        }
        if (w->desc->solids[i].motion == TARN_MOTION_KEYFRAMES ? !put_keyframes(w, solid, &body->pose, "a solid")
                                                               : !put_pose(w, solid, &body->pose, body)) {
            return false;
        }
    }
    return true;
}

/// The shape in the scene's list that has a distance field. @return borrowed, NULL: none there
static const json_t *find_field(const json_t *list, const tarn_shape *shape, uint32_t field, size_t i)
{
    const bool is_it = shape->kind == TARN_SHAPE_FIELD && shape->field == field;
    return is_it ? json_object_get(json_array_get(list, i), "shape") : NULL;
}

/// The shape of a field as the scene has it: what is thrown in looks like something that was there.
static json_t *field_shape(const scene_writer *w, const tarn_shape *shape)
{
    const json_t *found = NULL, *solids = json_object_get(w->original, "solids"),
                 *fluids = json_object_get(w->original, "fluids");
    for (uint32_t i = 0; i < w->desc->solid_count && found == NULL; i++) {
        found = find_field(solids, &w->desc->solids[i].shape, shape->field, i);
    }
    for (uint32_t i = 0; i < w->desc->fluid_count && found == NULL; i++) {
        found = find_field(fluids, &w->desc->fluids[i].shape, shape->field, i);
    }
    json_t *made = json_deep_copy(found), *mesh = json_object_get(made, "mesh");
    const json_t *scale = json_object_get(mesh, "scale");
    if (mesh != NULL && shape->half_m[0] != 1.0f) {
        const double before = scale != NULL ? json_number_value(scale) : 1.0;
        json_object_set_new(mesh, "scale", json_float((float)(before * (double)shape->half_m[0])));
    }
    return made;
}

/// A thrown body, or a piece of wall, as a solid.
static json_t *make_added(scene_writer *w, const tarn_added_solid *added)
{
    const tarn_solid *solid = &added->solid;
    json_t *made =
        json_pack("{s:o, s:o}", "shape",
                  solid->shape.kind == TARN_SHAPE_FIELD ? field_shape(w, &solid->shape) : json_shape(&solid->shape),
                  "colour", json_colour(solid->colour));
    const tarn_body_state *body = added->number != 0 ? body_of(w, added->number) : NULL;
    if (made == NULL) {
        refuse_memory(w);
        return NULL;
    }
    bool is_whole = put_pose(w, made, body != NULL ? &body->pose : &solid->pose, body);
    if (body != NULL) {
        is_whole = is_whole && set(w, made, "motion", json_string("free")) &&
                   set(w, made, "density_kg_m3", json_float(solid->density_kg_m3));
    } else if (solid->friction != 0.0f) {
        is_whole = is_whole && set(w, made, "friction", json_float(solid->friction));
    }
    if (!is_whole) {
        json_decref(made);
        return NULL;
    }
    return made;
}

static bool put_added_solids(scene_writer *w)
{
    tarn_added_solid added[TARN_TANK_ADDED_MAX];
    const uint32_t count = tarn_tank_added(w->from->tank, added);
    json_t *solids = json_object_get(w->scene, "solids");
    w->solid_count = w->desc->solid_count + count;
    if (w->solid_count > TARN_TANK_SOLIDS_MAX) {
        return refuse(w, TARN_E_LIMIT, "this tank has %u solids and pieces of wall, a scene may have %d",
                      w->solid_count, TARN_TANK_SOLIDS_MAX);
    }
    if (count > 0 && solids == NULL && !set(w, w->scene, "solids", solids = json_array())) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (added[i].number != 0 && w->thrown_count < TARN_TANK_THROWN_MAX) {
            w->added_solid[w->thrown_count++] = added[i].number;
        }
        json_t *made = make_added(w, &added[i]);
        if (made == NULL) {
            return false;
        }
        if (json_array_append_new(solids, made) != 0) {
            return refuse_memory(w);
        }
    }
    return true;
}

// ---- taps, and the tank itself ----

/// Taps open and close as much earlier as the tank is older; those that have closed are gone.
static bool put_emitters(scene_writer *w)
{
    json_t *emitters = json_object_get(w->scene, "emitters");
    for (size_t i = json_array_size(emitters); i-- > 0;) {
        json_t *emitter = json_array_get(emitters, i);
        const json_t *end = json_object_get(emitter, "end_s"), *start = json_object_get(emitter, "start_s");
        const double end_s = json_number_value(end) - w->time_s, start_s = json_number_value(start) - w->time_s;
        if (end != NULL && end_s <= 0.0) {
            json_array_remove(emitters, i);
            continue;
        }
        if (start != NULL && start_s <= 0.0) {
            json_object_del(emitter, "start_s");
        } else if (start != NULL && !set(w, emitter, "start_s", json_float((float)start_s))) {
            return false;
        }
        if (end != NULL && !set(w, emitter, "end_s", json_float((float)end_s))) {
            return false;
        }
    }
    if (emitters != NULL && json_array_size(emitters) == 0) {
        json_object_del(w->scene, "emitters");
    }
    return true;
}

/// Degrees about x, then y, then z, all three axes fixed.
static void angles_of(const float *q, double degrees[3])
{
    const double x = (double)q[0], y = (double)q[1], z = (double)q[2], s = (double)q[3],
                 turn = 180.0 / 3.14159265358979323846;
    const double sine = fmin(fmax(2.0 * (s * y - z * x), -1.0), 1.0);
    degrees[1] = asin(sine) * turn;
    if (fabs(sine) > 1.0 - 1e-9) { // x and z turn about the same axis
        degrees[0] = 0.0;
        degrees[2] = (sine > 0.0 ? -2.0 : 2.0) * atan2(x, s) * turn;
        return;
    }
    degrees[0] = atan2(2.0 * (s * x + y * z), 1.0 - 2.0 * (x * x + y * y)) * turn;
    degrees[2] = atan2(2.0 * (s * z + x * y), 1.0 - 2.0 * (y * y + z * z)) * turn;
}

static bool is_same_pose(const tarn_pose *a, const tarn_pose *b)
{
    float alike = 0.0f, apart_m = 0.0f;
    for (int i = 0; i < 4; i++) {
        alike += a->rotation[i] * b->rotation[i];
    }
    for (int i = 0; i < 3; i++) {
        apart_m = fmaxf(apart_m, fabsf(a->position_m[i] - b->position_m[i]));
    }
    return fabsf(alike) > 1.0f - 1e-5f && apart_m < 1e-3f;
}

/// The tank's key frames go on, unless a hand has turned it: then it stays how it is turned.
static bool put_tank_motion(scene_writer *w)
{
    static const tarn_pose unturned = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}};
    tarn_pose now, meant;
    double degrees[3];
    tarn_tank_pose(w->from->tank, &now);
    tarn_scene_tank_pose(w->from->scene, w->time_s, &meant);
    if (tarn_scene_moves_tank(w->from->scene) && is_same_pose(&now, &meant)) {
        return put_keyframes(w, json_object_get(w->scene, "tank_motion"), NULL, "the tank's motion");
    }
    json_object_del(w->scene, "tank_motion");
    if (is_same_pose(&now, &unturned)) {
        return true;
    }
    angles_of(now.rotation, degrees);
    const float angles[3] = {(float)degrees[0], (float)degrees[1], (float)degrees[2]};
    return set(w, w->scene, "tank_motion",
               json_pack("{s:[{s:f, s:o, s:o}]}", "keyframes", "time_s", 0.0, "position_m",
                         json_floats(now.position_m, 3), "rotation_deg", json_floats(angles, 3)));
}

// ---- probes ----

static bool has_probe(const json_t *probes, const char *name)
{
    for (size_t i = 0; i < json_array_size(probes); i++) {
        const char *found = json_string_value(json_object_get(json_array_get(probes, i), "name"));
        if (found != NULL && strcmp(found, name) == 0) {
            return true;
        }
    }
    return false;
}

static json_t *vector_of(const double *values)
{
    const float single[3] = {(float)values[0], (float)values[1], (float)values[2]};
    return json_floats(single, 3);
}

/// Its number in the scene that is written. @return false: it is there no more
static bool find_solid(const scene_writer *w, uint32_t *solid)
{
    if (*solid < w->desc->solid_count) {
        return true;
    }
    for (uint32_t i = 0; i < w->thrown_count; i++) {
        if (w->added_solid[i] == *solid) {
            *solid = w->desc->solid_count + i; // thrown bodies come before walls
            return true;
        }
    }
    return false;
}

static bool put_probe(scene_writer *w, json_t *probes, const tarn_probe_spec *spec, uint32_t *number)
{
    tarn_name name;
    uint32_t solid = spec->solid;
    if ((spec->has_solid && !find_solid(w, &solid)) || json_array_size(probes) == TARN_PROBES_MAX) {
        return true;
    }
    do {
        snprintf(name, sizeof name, "placed-%u", ++*number);
    } while (has_probe(probes, name));
    json_t *probe = json_pack("{s:s, s:s}", "name", name, "kind", tarn_probe_shows_names[spec->shows]);
    if (json_array_append_new(probes, probe) != 0) {
        return refuse_memory(w);
    }
    return (spec->shows == TARN_SHOWS_FORCE || set(w, probe, "at_m", vector_of(spec->at_m))) &&
           (!spec->has_to || set(w, probe, "to_m", vector_of(spec->to_m))) &&
           (!spec->has_solid || set(w, probe, "solid", json_integer((json_int_t)solid)));
}

static bool put_probes(scene_writer *w)
{
    json_t *probes = json_object_get(w->scene, "probes");
    uint32_t number = 0;
    if (w->from->probe_count > 0 && probes == NULL && !set(w, w->scene, "probes", probes = json_array())) {
        return false;
    }
    for (uint32_t i = 0; i < w->from->probe_count; i++) {
        if (!put_probe(w, probes, &w->from->probes[i], &number)) {
            return false;
        }
    }
    if (probes != NULL && json_array_size(probes) == 0) {
        json_object_del(w->scene, "probes");
    }
    return true;
}

// ---- liquid ----

/// A name for a file of particles that no file has which the scene names.
static bool name_file(scene_writer *w, uint32_t number, char name[TARN_SCENE_PACK_NAME_BYTES_MAX + 1])
{
    char *text = json_dumps(w->scene, JSON_COMPACT);
    if (text == NULL) {
        return refuse_memory(w);
    }
    const tarn_scene_entry scene = {.bytes = (const uint8_t *)text, .byte_count = strlen(text)};
    int more = 0;
    do {
        snprintf(name, TARN_SCENE_PACK_NAME_BYTES_MAX + 1, "liquid%.*s-%u.ply", more, "------------------------",
                 number + 1);
    } while (tarn_scene_pack_names(&scene, name) && ++more < TARN_SCENE_PACK_ENTRIES_MAX);
    free(text);
    return true;
}

static bool put_file(scene_writer *w, tarn_scene_pack *files, json_t *names, const tarn_seed_particle *particles,
                     uint32_t count, bool have_colours)
{
    char name[TARN_SCENE_PACK_NAME_BYTES_MAX + 1];
    uint8_t *bytes = malloc(tarn_particles_ply_bytes(count, have_colours));
    if (bytes == NULL) {
        return refuse_memory(w);
    }
    if (!name_file(w, (uint32_t)json_array_size(names), name)) {
        free(bytes);
        return false;
    }
    const size_t byte_count = tarn_particles_ply_write(particles, count, have_colours, bytes);
    const tarn_status status = tarn_scene_pack_add(files, name, bytes, byte_count);
    free(bytes);
    return (status == TARN_OK && json_array_append_new(names, json_string(name)) == 0) || refuse_memory(w);
}

/// How many particles a file holds.
static uint32_t per_file(bool have_colours)
{
    const size_t each = tarn_particles_ply_bytes(1, have_colours) - tarn_particles_ply_bytes(0, have_colours);
    return (uint32_t)((TARN_SCENE_FILE_BYTES_MAX - TARN_PARTICLES_PLY_HEAD_MAX) / each);
}

static bool put_files(scene_writer *w, tarn_scene_pack *files, const tarn_seed_particle *particles, uint32_t count,
                      bool have_colours)
{
    const uint32_t most = per_file(have_colours);
    json_t *names = json_array();
    if (!set(w, w->scene, "particles", names)) {
        return false;
    }
    uint32_t done = 0;
    do {
        const uint32_t now = count - done < most ? count - done : most;
        if (!put_file(w, files, names, particles + done, now, have_colours)) {
            return false;
        }
        done += now;
    } while (done < count);
    return true;
}

/// The tank's particles, from behind which on nobody is kept waiting. @param particles  room for `count`
static tarn_status copy_particles(scene_writer *w, tarn_seed_particle *particles, uint32_t count, bool have_colours)
{
    const size_t room = count > 0 ? count : 1;
    float *numbers = malloc(room * 6 * sizeof *numbers);
    uint8_t *bytes = malloc(room * 4);
    uint32_t found = 0;
    tarn_status status = numbers != NULL && bytes != NULL ? TARN_OK : TARN_E_MEMORY;
    if (status == TARN_OK) {
        status = tarn_tank_particles(w->from->tank, numbers, numbers + 3 * room, NULL, count, &found);
    }
    if (status == TARN_OK && have_colours) {
        status = tarn_tank_particle_colours(w->from->tank, bytes, bytes + room, count, &found);
    }
    if (w->from->aside != NULL) {
        w->from->aside(w->from->user, true);
    }
    w->is_aside = true;
    for (uint32_t i = 0; status == TARN_OK && i < found; i++) {
        tarn_seed_particle *to = &particles[i];
        *to = (tarn_seed_particle){.liquid = have_colours ? bytes[i] : 0};
        for (size_t a = 0; a < 3; a++) {
            const float size_m = (float)w->desc->cells[a] * w->desc->cell_m, most = TARN_SCENE_PARTICLE_SPEED_MAX_M_S;
            to->position_m[a] = fminf(fmaxf(numbers[3 * (size_t)i + a], 0.0f), size_m);
            to->velocity_m_s[a] = fminf(fmaxf(numbers[3 * room + 3 * (size_t)i + a], -most), most);
            to->colour[a] = have_colours ? bytes[room + 3 * (size_t)i + a] : 0;
        }
    }
    free(numbers);
    free(bytes);
    return status;
}

static bool put_liquid(scene_writer *w, tarn_scene_pack *files)
{
    tarn_tank_report report;
    tarn_tank_report_light(w->from->tank, &report);
    const uint32_t count = report.particle_count;
    const bool have_colours = tarn_tank_has_colours(w->from->tank);
    if (count > TARN_SCENE_PARTICLE_FILES_MAX * per_file(have_colours)) {
        return refuse(w, TARN_E_LIMIT,
                      "this tank has %u particles, which is more than the %u that a scene's files hold", count,
                      TARN_SCENE_PARTICLE_FILES_MAX * per_file(have_colours));
    }
    tarn_seed_particle *particles = malloc((count > 0 ? count : 1) * sizeof *particles);
    const tarn_status status = particles != NULL ? copy_particles(w, particles, count, have_colours) : TARN_E_MEMORY;
    json_object_del(w->scene, "blocks");
    json_object_del(w->scene, "fluids");
    const bool is_put = status == TARN_OK ? put_files(w, files, particles, count, have_colours)
                                          : refuse(w, status, "%s", tarn_status_text(status));
    free(particles);
    return is_put;
}

// ---- all of it ----

/// The scene, the files that it names yet, and those of its particles.
static bool put_together(scene_writer *w, const tarn_scene_pack *files, tarn_scene_pack *pack)
{
    tarn_scene_entry made_from, entry;
    size_t at = 0;
    char *text = json_dumps(w->scene, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (text == NULL ||
        !tarn_scene_pack_next(w->from->made_from->bytes, w->from->made_from->byte_count, &at, &made_from)) {
        free(text);
        return refuse_memory(w);
    }
    const tarn_scene_entry scene = {.bytes = (const uint8_t *)text, .byte_count = strlen(text)};
    tarn_status status = scene.byte_count <= TARN_SCENE_BYTES_MAX
                             ? tarn_scene_pack_add(pack, made_from.name, text, scene.byte_count)
                             : TARN_E_LIMIT;
    for (size_t of = 0; status == TARN_OK && tarn_scene_pack_next(files->bytes, files->byte_count, &of, &entry);) {
        status = tarn_scene_pack_add(pack, entry.name, entry.bytes, entry.byte_count);
    }
    // An older file of particles may have the same name as a new one, which stays.
    while (status == TARN_OK &&
           tarn_scene_pack_next(w->from->made_from->bytes, w->from->made_from->byte_count, &at, &entry)) {
        if (tarn_scene_pack_names(&scene, entry.name)) {
            status = tarn_scene_pack_add(pack, entry.name, entry.bytes, entry.byte_count);
        }
    }
    free(text);
    return status == TARN_OK || refuse(w, status, "the scene would be too large: %s", tarn_status_text(status));
}

tarn_status tarn_tank_scene_write(const tarn_tank_scene *from, tarn_scene_pack *pack, char *why)
{
    scene_writer w = {.from = from, .desc = &from->scene->tank, .why = why, .status = TARN_OK};
    tarn_scene_pack files = {0};
    tarn_scene_entry entry;
    size_t at = 0;
    if ((tarn_tank_model(from->tank)->can & TARN_MODEL_LIQUIDS) == 0) {
        refuse(&w, TARN_E_ARGUMENT,
               "a tank of %s can't be told as a scene as it stands: much of its flow is in no particle",
               tarn_tank_model(from->tank)->name);
        return w.status;
    }
    w.time_s = (double)from->step * (double)w.desc->dt_s;
    w.body_count = tarn_tank_bodies(from->tank, w.bodies);
    if (tarn_scene_pack_next(from->made_from->bytes, from->made_from->byte_count, &at, &entry)) {
        size_t byte_count = entry.byte_count;
        const char *text = tarn_text_begin_at((const char *)entry.bytes, &byte_count);
        w.original = text != NULL ? json_loadb(text, byte_count, 0, NULL) : NULL;
        w.scene = json_deep_copy(w.original);
    }
    if (w.scene == NULL) {
        refuse(&w, TARN_E_MALFORMED, "the scene that the tank was made from isn't there");
    } else if (put_parameters(&w) && put_own_solids(&w) && put_added_solids(&w) && put_emitters(&w) &&
               put_tank_motion(&w) && put_probes(&w) && put_liquid(&w, &files)) {
        put_together(&w, &files, pack);
    }
    tarn_scene_pack_free(&files);
    json_decref(w.original);
    json_decref(w.scene);
    if (w.is_aside && from->aside != NULL) {
        from->aside(from->user, false);
    }
    return w.status;
}

// ---- a model, to viewers ----
// From its table to the session's state, field by field.

_Static_assert((int)TARN_MODEL_PARAMETERS_MAX <= (int)TARN_PARAMETERS_MAX, "a state holds all parameters");
_Static_assert((int)TARN_MODEL_CHANNELS_MAX <= (int)TARN_CHANNELS_MAX, "a state holds all channels");
_Static_assert((int)TARN_MODEL_FIELDS_MAX <= (int)TARN_FIELDS_MAX, "a state holds all fields");

static void put_name(tarn_name to, const char *text)
{
    snprintf(to, sizeof(tarn_name), "%s", text != NULL ? text : "");
}

void tarn_model_describe(const tarn_model *model, tarn_session_state *session)
{
    put_name(session->model, model->name);
    session->tools = model->tools;
    session->parameter_count = model->parameter_count;
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        const tarn_parameter_spec *spec = &model->parameters[id];
        tarn_parameter_info *info = &session->parameters[id];
        put_name(info->name, spec->name);
        put_name(info->label, spec->label);
        put_name(info->unit, spec->unit);
        info->value = spec->initial;
        info->min = spec->min;
        info->max = spec->max;
        info->whole = (spec->traits & TARN_PARAMETER_IS_WHOLE) != 0;
        info->magnitudes = (spec->traits & TARN_PARAMETER_HAS_MAGNITUDES) != 0;
    }
    session->channel_count = model->channel_count;
    for (uint32_t i = 0; i < model->channel_count; i++) {
        put_name(session->channels[i].name, model->channels[i].name);
        put_name(session->channels[i].label, model->channels[i].label);
        put_name(session->channels[i].unit, model->channels[i].unit);
    }
    session->field_count = model->field_count;
    for (uint32_t i = 0; i < model->field_count; i++) {
        put_name(session->fields[i].name, model->fields[i].name);
        put_name(session->fields[i].label, model->fields[i].label);
        put_name(session->fields[i].unit, model->fields[i].unit);
        put_name(session->fields[i].kinds, model->fields[i].kinds);
    }
}
