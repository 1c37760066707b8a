// Reads a scene. Tables name the fields of each object; one function per kind of field checks it and fills a draft;
// then the draft is fitted together and copied to the caller. The parts are in scene/.
//
//     bytes -> JSON -> tables: names, types, ranges (the schema's part) -> the fields together -> tarn_scene
//              scene_reader.c, scene_values.c: the core    scene_fit_...
//              scene_tank.c, scene_liquids.c, scene_solids.c, scene_shapes.c, scene_probes.c,
//              scene_particles.c: one part of a scene each
//                                                          scene_assets.c: files, distance fields
#include "server/common/scene.h"
#include "server/common/scene/scene_draft.h"
#include "server/common/text_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void tarn_scene_free(tarn_scene *scene)
{
    if (scene == NULL) {
        return;
    }
    for (uint32_t i = 0; i < TARN_TANK_FIELDS_MAX; i++) {
        tarn_distance_field_free(&scene->tank.fields[i]);
    }
    scene->tank.field_count = 0;
    free((void *)(uintptr_t)scene->tank.particles);
    scene->tank.particles = NULL;
    scene->tank.particle_count = 0;
}

/// From JSON to the draft's scene.
static bool fill_draft(scene_reader *r, const json_t *json, scene_draft *d)
{
    return scene_read_scene(r, json, d) && scene_fit_cells(r, d) && scene_fit_gravity(r, d) &&
           scene_fit_liquids(r, d) && scene_fit_blocks(r, d) && scene_fit_particle_files(r, d) &&
           scene_fit_tank_motion(r, d) && scene_fit_solids(r, d) && scene_fit_regions(r, d) &&
           scene_fit_particles(r, d) && scene_fit_probes(r, d);
}

static bool check_name(scene_reader *r, const char *name)
{
    return tarn_scene_name_valid(name) ||
           scene_refuse(
               r, TARN_E_MALFORMED, "",
               "found the name \"%.63s\", allowed are 1 to %d of a-z, 0-9 and '-', followed by .json for a file", name,
               TARN_NAME_BYTES_MAX);
}

/// Ours lies beside the scenes and has a scene's ending: its name and its fields would be the wrong things to complain
/// of.
static bool check_is_no_schema(scene_reader *r, const json_t *json)
{
    const char *dialect = json_string_value(json_object_get(json, "$schema"));
    return dialect == NULL || strstr(dialect, "json-schema.org/") == NULL || json_object_get(json, "size_m") != NULL ||
           scene_refuse(r, TARN_E_MALFORMED, "",
                        "this isn't a scene but a JSON schema, which tells editors what a scene may hold; allowed is a "
                        "scene, which has size_m, cell_m and some liquid");
}

/// Begins the fingerprint with the JSON, without what the water doesn't depend on.
static bool fingerprint_json(scene_reader *r, const json_t *json)
{
    static const char *const IDLE[] = {"$schema", "title", "description", "lesson", "look", "probes"};
    json_t *acting = json_copy((json_t *)json);
    for (size_t i = 0; i < sizeof IDLE / sizeof IDLE[0]; i++) {
        json_object_del(acting, IDLE[i]);
    }
    char *text = acting != NULL ? json_dumps(acting, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(acting);
    if (text == NULL) {
        return scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
    }
    r->fingerprint = 0xcbf29ce484222325u;
    scene_fingerprint(r, text, strlen(text));
    free(text);
    return true;
}

static bool is_blank(const char *text, size_t text_bytes)
{
    size_t at = 0;
    while (at < text_bytes && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    return at == text_bytes;
}

static tarn_status read_json(scene_reader *r, const char *name, const char *text, size_t text_bytes, scene_draft *d)
{
    tarn_tank_desc_default(&d->scene.tank);
    snprintf(d->scene.name, sizeof d->scene.name, "%s", name);
    snprintf(d->scene.title, sizeof d->scene.title, "%s", name);
    json_error_t error;
    text = tarn_text_begin_at(text, &text_bytes);
    if (text == NULL) {
        scene_refuse(r, TARN_E_MALFORMED, "", TARN_TEXT_WIDE);
        return r->status;
    }
    json_t *json = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL && is_blank(text, text_bytes)) {
        scene_refuse(r, TARN_E_MALFORMED, "", "the file is empty");
    } else if (json == NULL && error.text[0] == '\0') { // jansson says nothing of what it had no memory for
        scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
    } else if (json == NULL) {
        scene_refuse(r, TARN_E_MALFORMED, "", "line %d, column %d: this isn't JSON: %s", error.line, error.column,
                     error.text);
    } else if (check_is_no_schema(r, json) && check_name(r, name) && scene_apply_settings(r, json) &&
               fingerprint_json(r, json) && fill_draft(r, json, d)) {
        d->scene.fingerprint = r->fingerprint;
        r->status = TARN_OK;
    }
    json_decref(json);
    return r->status;
}

/// @param r  what it is read with; its status becomes the result
static tarn_status read_text(scene_reader *r, const char *name, const char *text, size_t text_bytes, tarn_scene *scene)
{
    r->status = TARN_E_MEMORY;
    if (text_bytes > TARN_SCENE_BYTES_MAX) {
        scene_refuse(r, TARN_E_LIMIT, "", "found %zu bytes, allowed are %d", text_bytes, TARN_SCENE_BYTES_MAX);
        return r->status;
    }
    scene_draft *d = calloc(1, sizeof *d);
    if (d == NULL) {
        scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
        return r->status;
    }
    if (read_json(r, name, text, text_bytes, d) == TARN_OK) {
        *scene = d->scene;
    } else {
        tarn_scene_free(&d->scene);
    }
    free(d);
    return r->status;
}

tarn_status tarn_scene_read_text(const char *origin, const char *folder, const char *name, const char *text,
                                 size_t text_bytes, tarn_scene *scene, char *why, size_t why_bytes)
{
    scene_reader r = {.origin = origin, .folder = folder, .why = why, .why_bytes = why_bytes};
    return read_text(&r, name, text, text_bytes, scene);
}

tarn_status tarn_scene_read_kept(tarn_scene_pack *pack, tarn_scene *scene, char *why, size_t why_bytes)
{
    scene_reader r = {
        .origin = "the scene that was kept", .pack = pack, .why = why, .why_bytes = why_bytes, .status = TARN_OK};
    tarn_scene_entry entry;
    size_t at = 0;
    char name[sizeof entry.name];
    if (!tarn_scene_pack_sound(pack->bytes, pack->byte_count) ||
        !tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &entry)) {
        scene_refuse(&r, TARN_E_MALFORMED, "", "found no scene in it");
        return r.status;
    }
    snprintf(name, sizeof name, "%.*s", (int)(strlen(entry.name) - strlen(".json")), entry.name);
    r.origin = entry.name;
    return read_text(&r, name, (const char *)entry.bytes, entry.byte_count, scene);
}

/// Reads at most TARN_SCENE_BYTES_MAX + 1 bytes of a regular file.
static bool read_bytes(scene_reader *r, const char *path, char *text, size_t *text_bytes)
{
    bool done = false;
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        scene_refuse(r, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, "", "%s", strerror(errno));
        goto end;
    }
    if (!S_ISREG(status.st_mode)) {
        scene_refuse(r, TARN_E_IO, "", "found something that isn't a file, allowed is a scene file");
        goto end;
    }
    *text_bytes = 0;
    while (*text_bytes <= TARN_SCENE_BYTES_MAX) {
        ssize_t bytes = read(file, text + *text_bytes, TARN_SCENE_BYTES_MAX + 1 - *text_bytes);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0) {
            scene_refuse(r, TARN_E_IO, "", "%s", strerror(errno));
            goto end;
        }
        if (bytes == 0) {
            break;
        }
        *text_bytes += (size_t)bytes;
    }
    done = true;
end:
    if (file >= 0) {
        close(file);
    }
    return done;
}

/// @param r  without a folder, which is the file's
static tarn_status read_file(scene_reader *r, const char *path, tarn_scene *scene)
{
    r->origin = path;
    r->status = TARN_E_MEMORY;
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    size_t name_bytes = strlen(file);
    if (name_bytes < 5 || strcmp(file + name_bytes - 5, ".json") != 0) {
        scene_refuse(r, TARN_E_MALFORMED, "", "found a file name without .json, allowed is NAME.json");
        return r->status;
    }
    char name[TARN_NAME_BYTES_MAX + 2], folder[PATH_MAX];
    snprintf(name, sizeof name, "%.*s", (int)(name_bytes - 5), file);
    // "a.json" lies in ".", "/a.json" in "/".
    snprintf(folder, sizeof folder, "%.*s",
             slash == NULL   ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash == NULL ? "." : path);
    r->folder = folder;
    char *text = malloc(TARN_SCENE_BYTES_MAX + 1);
    if (text == NULL) {
        scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
        return r->status;
    }
    size_t text_bytes = 0;
    if (read_bytes(r, path, text, &text_bytes)) {
        // One that is too long isn't kept, and refused like any other.
        if (r->pack != NULL && tarn_scene_pack_add(r->pack, file, text, text_bytes) == TARN_E_MEMORY) {
            scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
        } else {
            read_text(r, name, text, text_bytes, scene);
        }
    }
    free(text);
    r->folder = NULL; // was this function's
    return r->status;
}

tarn_status tarn_scene_read_file(const char *path, tarn_scene *scene, char *why, size_t why_bytes)
{
    return tarn_scene_read_file_set(path, NULL, scene, why, why_bytes);
}

tarn_status tarn_scene_read_file_set(const char *path, const tarn_scene_settings *settings, tarn_scene *scene,
                                     char *why, size_t why_bytes)
{
    scene_reader r = {.settings = settings, .why = why, .why_bytes = why_bytes};
    return read_file(&r, path, scene);
}

tarn_status tarn_scene_read_file_to_keep(const char *path, tarn_scene *scene, tarn_scene_pack *pack, char *why,
                                         size_t why_bytes)
{
    scene_reader r = {.pack = pack, .why = why, .why_bytes = why_bytes};
    return read_file(&r, path, scene);
}
