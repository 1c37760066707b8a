// From the scene that a tank was made from, part by part, to one of what it is now: begin at tarn_tank_scene_write.
#include "server/common/tank_scene.h"
#include "server/common/particles_file.h"
#include "server/common/scene_json.h"
#include "server/common/text_cursor.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        json_t *told = tarn_scene_json_number(value);
        if (spec->role == TARN_PLAYS_GRAVITY && json_is_array(json_object_get(w->scene, spec->name))) {
            float pull[3];
            for (int a = 0; a < 3; a++) {
                pull[a] = value * w->desc->gravity_direction[a];
            }
            json_decref(told);
            told = tarn_scene_json_numbers(pull, 3);
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
    return tarn_scene_json_numbers(within, 3);
}

/// Where a solid is. @param body  NULL: it stands still there
static bool put_pose(scene_writer *w, json_t *solid, const tarn_pose *pose, const tarn_body_state *body)
{
    json_object_del(solid, "rotation_deg");
    return set(w, solid, "position_m", tarn_scene_json_numbers(pose->position_m, 3)) &&
           set(w, solid, "rotation", tarn_scene_json_numbers(pose->rotation, 4)) &&
           (body == NULL ||
            (set(w, solid, "velocity_m_s", limited(body->velocity_m_s, (float)TARN_SCENE_SPEED_MAX_M_S)) &&
             set(w, solid, "angular_velocity_rad_s",
                 limited(body->angular_velocity_rad_s, (float)TARN_SCENE_SPIN_MAX_RAD_S))));
}

/// The key frames of a solid, or of the tank, as they go on.
static bool put_keyframes(scene_writer *w, json_t *of, const tarn_pose *pose, const char *what)
{
    const bool is_loop = json_is_true(json_object_get(of, "loop"));
    json_t *left = tarn_scene_json_keyframes(json_object_get(of, "keyframes"), is_loop, w->time_s, pose);
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
        json_object_set_new(mesh, "scale", tarn_scene_json_number((float)(before * (double)shape->half_m[0])));
    }
    return made;
}

/// A thrown body, or a piece of wall, as a solid.
static json_t *make_added(scene_writer *w, const tarn_added_solid *added)
{
    const tarn_solid *solid = &added->solid;
    json_t *made = json_pack("{s:o, s:o}", "shape",
                             solid->shape.kind == TARN_SHAPE_FIELD ? field_shape(w, &solid->shape)
                                                                   : tarn_scene_json_shape(&solid->shape),
                             "colour", tarn_scene_json_colour(solid->colour));
    const tarn_body_state *body = added->number != 0 ? body_of(w, added->number) : NULL;
    if (made == NULL) {
        refuse_memory(w);
        return NULL;
    }
    bool is_whole = put_pose(w, made, body != NULL ? &body->pose : &solid->pose, body);
    if (body != NULL) {
        is_whole = is_whole && set(w, made, "motion", json_string("free")) &&
                   set(w, made, "density_kg_m3", tarn_scene_json_number(solid->density_kg_m3));
    } else if (solid->friction != 0.0f) {
        is_whole = is_whole && set(w, made, "friction", tarn_scene_json_number(solid->friction));
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
        } else if (start != NULL && !set(w, emitter, "start_s", tarn_scene_json_number((float)start_s))) {
            return false;
        }
        if (end != NULL && !set(w, emitter, "end_s", tarn_scene_json_number((float)end_s))) {
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
                         tarn_scene_json_numbers(now.position_m, 3), "rotation_deg",
                         tarn_scene_json_numbers(angles, 3)));
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
    return tarn_scene_json_numbers(single, 3);
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
