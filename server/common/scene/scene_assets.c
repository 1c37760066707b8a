// Files that a scene names, and distance fields from meshes and heights.
//
// A scene may come from anywhere, so what it names stays in its own folder: the name has no "..", no root and nothing
// hidden in it, and where links lead is looked at before anything is opened.
#include "server/common/file_bytes.h"
#include "server/common/mesh_file.h"
#include "server/common/mesh_surface.h"
#include "server/common/scene/scene_draft.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MARGIN_CELLS = 2,    // of a field around its shape
    MESH_NODES_MIN = 24, // along the longest side of a mesh, however small
    FIELD_NODES_MAX = 128,
};

static bool ends_with(const char *text, const char *ending)
{
    size_t bytes = strlen(text), ending_bytes = strlen(ending);
    return bytes > ending_bytes && strcmp(text + bytes - ending_bytes, ending) == 0;
}

bool scene_read_file_name(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    const char *name = json_string_value(value), *ending = rule;
    tarn_mesh_format format;
    bool is_kind = name != NULL && (ending == NULL ? tarn_mesh_format_of(name, &format) : ends_with(name, ending));
    if (!is_kind || strlen(name) > TARN_SCENE_FILE_NAME_MAX || !tarn_scene_file_name_valid(name)) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed,
                 "the name of a file in the scene's folder or below it that ends with %s, of up to %d letters, digits, "
                 "'.', '_' and '-'",
                 ending == NULL ? TARN_MESH_FILE_ENDINGS : ending, TARN_SCENE_FILE_NAME_MAX);
        return scene_refuse_value(r, path, value, allowed);
    }
    *(const char **)into = name;
    return true;
}

/// The real path of a file that the scene names.
static bool find_file(scene_reader *r, const char *path, const char *name, char real[PATH_MAX])
{
    if (r->folder == NULL) {
        return scene_refuse(r, TARN_E_LIMIT, path,
                            "found \"%s\", allowed is no file: this scene wasn't read from a folder", name);
    }
    char joined[PATH_MAX], base[PATH_MAX];
    int bytes = snprintf(joined, sizeof joined, "%s/%s", r->folder, name);
    bool is_long = bytes < 0 || (size_t)bytes >= sizeof joined;
    if (is_long || realpath(r->folder, base) == NULL || realpath(joined, real) == NULL) {
        return scene_refuse(r, TARN_E_LIMIT, path, "found \"%s\", allowed is a file in the scene's folder: %s", name,
                            strerror(is_long ? ENAMETOOLONG : errno));
    }
    size_t base_bytes = strcmp(base, "/") == 0 ? 0 : strlen(base);
    if (strncmp(real, base, base_bytes) != 0 || real[base_bytes] != '/') {
        return scene_refuse(r, TARN_E_LIMIT, path,
                            "found \"%s\", a link that leads out of the scene's folder, allowed is a file in it", name);
    }
    struct stat status;
    if (stat(real, &status) != 0 || !S_ISREG(status.st_mode)) {
        return scene_refuse(r, TARN_E_LIMIT, path, "found \"%s\", which isn't a file", name);
    }
    if (status.st_size > TARN_SCENE_FILE_BYTES_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, path, "found \"%s\" of %lld bytes, allowed are %d", name,
                            (long long)status.st_size, TARN_SCENE_FILE_BYTES_MAX);
    }
    return true;
}

bool scene_pass_on(scene_reader *r, tarn_status status, const char *path, const char *why)
{
    return scene_refuse(r, status == TARN_E_MEMORY ? TARN_E_MEMORY : TARN_E_LIMIT, path, "%s",
                        why[0] != '\0' ? why : tarn_status_text(status));
}

bool scene_find_bytes(scene_reader *r, const char *path, const char *name, const char *what, size_t bytes_max,
                      const char **bytes, size_t *byte_count, char **made)
{
    char real[PATH_MAX], why[TARN_MESH_FILE_WHY_BYTES] = "";
    tarn_scene_entry entry;
    *made = NULL;
    if (r->folder == NULL && r->pack != NULL && tarn_scene_pack_find(r->pack, name, &entry)) {
        *bytes = (const char *)entry.bytes;
        *byte_count = entry.byte_count;
        scene_fingerprint(r, entry.bytes, entry.byte_count);
        return entry.byte_count <= bytes_max ||
               scene_refuse(r, TARN_E_LIMIT, path, "found %zu bytes, allowed are %zu", entry.byte_count, bytes_max);
    }
    if (r->folder == NULL && r->pack != NULL) {
        return scene_refuse(r, TARN_E_LIMIT, path, "found \"%s\", allowed is a file that came along with the scene",
                            name);
    }
    if (!find_file(r, path, name, real)) {
        return false;
    }
    tarn_status status = tarn_file_bytes_read(real, bytes_max, what, made, byte_count, why, sizeof why);
    if (status == TARN_OK && r->pack != NULL) {
        status = tarn_scene_pack_add(r->pack, name, *made, *byte_count);
    }
    *bytes = *made;
    if (status != TARN_OK) {
        free(*made);
        *made = NULL;
        // Where it really is stays the operator's.
        const size_t real_bytes = strlen(real);
        const bool has_real = strncmp(why, real, real_bytes) == 0 && strncmp(why + real_bytes, ": ", 2) == 0;
        (void)scene_pass_on(r, status, path, why + (has_real ? real_bytes + 2 : 0));
        return false;
    }
    scene_fingerprint(r, *bytes, *byte_count);
    return true;
}

static double mesh_extent_m(const tarn_mesh *mesh)
{
    double extent_m = 0;
    for (int axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < mesh->vertex_count; i++) {
            double at = (double)mesh->vertices_m[3 * (size_t)i + (size_t)axis];
            low = fmin(low, at);
            high = fmax(high, at);
        }
        extent_m = fmax(extent_m, high - low);
    }
    return extent_m;
}

static bool make_mesh_field(scene_reader *r, const char *path, const shape_draft *shape, double cell_m,
                            tarn_distance_field *field)
{
    char where[SCENE_PATH_BYTES], why[TARN_MESH_FILE_WHY_BYTES] = "", *made;
    const char *bytes;
    size_t byte_count;
    scene_write_path(where, "%s.file", path);
    if (!scene_find_bytes(r, where, shape->file, "a mesh file", TARN_SCENE_FILE_BYTES_MAX, &bytes, &byte_count,
                          &made)) {
        return false;
    }
    tarn_mesh mesh = {0};
    tarn_mesh_format format = TARN_MESH_FORMAT_OBJ;
    (void)tarn_mesh_format_of(shape->file, &format); // it has one: scene_read_file_name
    tarn_status status = tarn_mesh_bytes_read(shape->file, format, bytes, byte_count, &mesh, why, sizeof why);
    free(made);
    if (status != TARN_OK) {
        return scene_pass_on(r, status, where, why);
    }
    tarn_mesh_surface surface;
    if (tarn_mesh_face_one_way(&mesh, &surface) != TARN_OK) {
        tarn_mesh_free(&mesh);
        return scene_refuse(r, TARN_E_MEMORY, where, "out of memory");
    }
    for (size_t i = 0; i < 3 * (size_t)mesh.vertex_count; i++) {
        mesh.vertices_m[i] *= (float)shape->scale;
    }
    // Twice as fine as the grid of the liquid shows every feature that it can see.
    double nodes = ceil(2 * mesh_extent_m(&mesh) / cell_m) + 1 + 2 * MARGIN_CELLS;
    nodes = fmin(fmax(nodes, MESH_NODES_MIN), FIELD_NODES_MAX);
    float spacing_m = tarn_voxelize_spacing_m(&mesh, (uint32_t)nodes, MARGIN_CELLS);
    status = tarn_voxelize_mesh(&mesh, spacing_m, MARGIN_CELLS, field, why, sizeof why);
    tarn_mesh_free(&mesh);
    char amiss[TARN_MESH_FILE_WHY_BYTES];
    if (status == TARN_E_MALFORMED && tarn_mesh_surface_tell(&surface, amiss, sizeof amiss)) {
        return scene_refuse(r, TARN_E_LIMIT, where, "%s %s; allowed are closed meshes", shape->file, amiss);
    }
    return status == TARN_OK || scene_pass_on(r, status, where, why);
}

/// Heights that stand in the scene itself.
static bool copy_heights(scene_reader *r, const char *path, const shape_draft *shape, tarn_height_map *map)
{
    size_t rows = json_array_size(shape->heights), columns = json_array_size(json_array_get(shape->heights, 0));
    for (size_t row = 0; row < rows; row++) {
        size_t found = json_array_size(json_array_get(shape->heights, row));
        if (found != columns) {
            char inner[SCENE_PATH_BYTES];
            scene_write_path(inner, "%s.heights_m[%zu]", path, row);
            return scene_refuse(r, TARN_E_LIMIT, inner,
                                "found %zu heights, allowed are as many as in the first row, %zu", found, columns);
        }
    }
    float *heights_m = malloc(rows * columns * sizeof *heights_m);
    if (heights_m == NULL) {
        return scene_refuse(r, TARN_E_MEMORY, path, "out of memory");
    }
    for (size_t i = 0; i < rows * columns; i++) {
        const json_t *row = json_array_get(shape->heights, i / columns);
        heights_m[i] = (float)json_number_value(json_array_get(row, i % columns));
    }
    *map = (tarn_height_map){(uint32_t)columns, (uint32_t)rows, (float)shape->spacing_m, heights_m};
    return true;
}

static bool read_height_file(scene_reader *r, const char *path, const shape_draft *shape, tarn_height_map *map)
{
    char where[SCENE_PATH_BYTES], why[TARN_MESH_FILE_WHY_BYTES] = "", *made;
    const char *bytes;
    size_t byte_count;
    scene_write_path(where, "%s.file", path);
    if (!scene_find_bytes(r, where, shape->file, "a PGM picture", TARN_HEIGHT_FILE_BYTES_MAX, &bytes, &byte_count,
                          &made)) {
        return false;
    }
    const tarn_status status = tarn_height_bytes_read(shape->file, (float)shape->spacing_m, (float)shape->height_m,
                                                      bytes, byte_count, map, why, sizeof why);
    free(made);
    return status == TARN_OK || scene_pass_on(r, status, where, why);
}

static bool make_height_field(scene_reader *r, const char *path, const shape_draft *shape, double cell_m,
                              tarn_distance_field *field)
{
    if (shape->has_height != (shape->file != NULL)) {
        char where[SCENE_PATH_BYTES];
        scene_write_path(where, "%s.height_m", path);
        return scene_refuse(r, TARN_E_LIMIT, where,
                            shape->has_height ? "the field has an effect only with file; heights_m are in metres"
                                              : "the field is missing; with file it says how high white is");
    }
    tarn_height_map map = {0};
    if (!(shape->file != NULL ? read_height_file(r, path, shape, &map) : copy_heights(r, path, shape, &map))) {
        return false;
    }
    double low = 0, high = 0;
    for (size_t i = 0; i < (size_t)map.columns * map.rows; i++) {
        low = fmin(low, (double)map.heights_m[i]);
        high = fmax(high, (double)map.heights_m[i]);
    }
    double side_m = shape->spacing_m * (map.columns > map.rows ? map.columns : map.rows);
    double spacing_m = fmax(0.5 * cell_m, fmax(side_m, high - low) / FIELD_NODES_MAX);
    double bottom_m = low - 2 * MARGIN_CELLS * spacing_m;
    char why[TARN_VOXELIZE_WHY_BYTES] = "";
    tarn_status status =
        tarn_voxelize_heights(&map, (float)bottom_m, (float)spacing_m, MARGIN_CELLS, field, why, sizeof why);
    tarn_height_map_free(&map);
    return status == TARN_OK || scene_pass_on(r, status, path, why);
}

bool scene_make_field(scene_reader *r, const char *path, const shape_draft *shape, double cell_m,
                      tarn_distance_field *field)
{
    return shape->kind == SHAPE_MESH ? make_mesh_field(r, path, shape, cell_m, field)
                                     : make_height_field(r, path, shape, cell_m, field);
}
