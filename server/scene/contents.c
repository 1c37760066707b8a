// What is in a scene: files that it names, particles, shapes, solids, motion, probes, liquids; each part a table of
// fields and what becomes of them. The tables are scene.c's to read, the fitters its to call: begin at its fill_draft.
#include "server/base/files.h"
#include "server/scene/mesh.h"
#include "server/scene/ply.h"
#include "server/scene/reader.h"
#include "server/scene/scene.h"
#include "server/scene/turn.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- files that a scene names ----
// And distance fields from the meshes and heights in them.
//
// A scene may come from anywhere, so what it names stays in its own folder: the name has no "..", no root and nothing
// hidden in it, and where links lead is looked at before anything is opened.

enum {
    MARGIN_CELLS = 2,    // of a field around its shape
    MESH_NODES_MIN = 24, // along the longest side of a mesh, however small
    FIELD_NODES_MAX = 128,
};

/// What a mesh measures at least, along its longest side.
#define MESH_M_MIN ((MESH_NODES_MIN - 1 - 2 * MARGIN_CELLS) * (double)TARN_VOXELIZE_SPACING_M_MIN)

static bool ends_with(const char *text, const char *ending)
{
    size_t bytes = strlen(text), ending_bytes = strlen(ending);
    return bytes > ending_bytes && strcmp(text + bytes - ending_bytes, ending) == 0;
}

/// Rule: what its name ends with, as ".pgm"; NULL: a mesh. const char *, borrowed.
static bool read_file_name(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
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

/// Passes on what a reader of files or the voxelizer said.
static bool pass_on(scene_reader *r, tarn_status status, const char *path, const char *why)
{
    return scene_refuse(r, status == TARN_E_MEMORY ? TARN_E_MEMORY : TARN_E_LIMIT, path, "%s",
                        why[0] != '\0' ? why : tarn_status_text(status));
}

/// The bytes of a file that the scene names: from its folder, and kept where they are to be, or from what was kept.
/// @param what   it is to be, for sentences
/// @param bytes  the caller frees `made`, which is NULL where they lie in what was kept
static bool find_bytes(scene_reader *r, const char *path, const char *name, const char *what, size_t bytes_max,
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
        (void)pass_on(r, status, path, why + (has_real ? real_bytes + 2 : 0));
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
    if (!find_bytes(r, where, shape->file, "a mesh file", TARN_SCENE_FILE_BYTES_MAX, &bytes, &byte_count, &made)) {
        return false;
    }
    tarn_mesh mesh = {0};
    tarn_mesh_format format = TARN_MESH_FORMAT_OBJ;
    (void)tarn_mesh_format_of(shape->file, &format); // it has one: read_file_name
    tarn_status status = tarn_mesh_bytes_read(shape->file, format, bytes, byte_count, &mesh, why, sizeof why);
    free(made);
    if (status != TARN_OK) {
        return pass_on(r, status, where, why);
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
    const double extent_m = mesh_extent_m(&mesh);
    if (!(extent_m >= MESH_M_MIN)) {
        tarn_mesh_free(&mesh);
        return scene_refuse(r, TARN_E_LIMIT, where, "%s: found a mesh of %g m with its scale, allowed are %g m or more",
                            shape->file, extent_m, MESH_M_MIN);
    }
    double nodes = ceil(2 * extent_m / cell_m) + 1 + 2 * MARGIN_CELLS;
    nodes = fmin(fmax(nodes, MESH_NODES_MIN), FIELD_NODES_MAX);
    float spacing_m = tarn_voxelize_spacing_m(&mesh, (uint32_t)nodes, MARGIN_CELLS);
    status = tarn_voxelize_mesh(&mesh, spacing_m, MARGIN_CELLS, field, why, sizeof why);
    tarn_mesh_free(&mesh);
    char amiss[TARN_MESH_FILE_WHY_BYTES];
    if (status == TARN_E_MALFORMED && tarn_mesh_surface_tell(&surface, amiss, sizeof amiss)) {
        return scene_refuse(r, TARN_E_LIMIT, where, "%s %s; allowed are closed meshes", shape->file, amiss);
    }
    return status == TARN_OK || pass_on(r, status, where, why);
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
    if (!find_bytes(r, where, shape->file, "a PGM picture", TARN_HEIGHT_FILE_BYTES_MAX, &bytes, &byte_count, &made)) {
        return false;
    }
    const tarn_status status = tarn_height_bytes_read(shape->file, (float)shape->spacing_m, (float)shape->height_m,
                                                      bytes, byte_count, map, why, sizeof why);
    free(made);
    return status == TARN_OK || pass_on(r, status, where, why);
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
    return status == TARN_OK || pass_on(r, status, path, why);
}

/// Makes the distance field of a mesh or heightfield.
/// @param cell_m  of the tank: how fine
static bool make_field(scene_reader *r, const char *path, const shape_draft *shape, double cell_m,
                       tarn_distance_field *field)
{
    return shape->kind == SHAPE_MESH ? make_mesh_field(r, path, shape, cell_m, field)
                                     : make_height_field(r, path, shape, cell_m, field);
}

// ---- values that only parts of a scene have ----

/// Rule: scene_range of each; float[3].
static bool read_vector_float(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    double vector[3] = {0};
    if (!scene_read_vector(r, path, value, vector, rule)) {
        return false;
    }
    for (int axis = 0; axis < 3; axis++) {
        ((float *)into)[axis] = (float)vector[axis];
    }
    return true;
}

/// Rule: NULL; uint8_t[4], the fourth 255.
static bool read_colour(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const char *text = json_string_value(value);
    if (text == NULL || text[0] != '#' || strlen(text) != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6) {
        return scene_refuse_value(r, path, value, "a string \"#rrggbb\" of hexadecimal digits");
    }
    unsigned red = 0, green = 0, blue = 0;
    sscanf(text + 1, "%2x%2x%2x", &red, &green, &blue);
    const uint8_t colour[4] = {(uint8_t)red, (uint8_t)green, (uint8_t)blue, 255};
    memcpy(into, colour, sizeof colour);
    return true;
}

/// Rule: NULL; const char *, borrowed from the JSON.
static bool read_identifier(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const char *text = json_string_value(value);
    if (text == NULL || !tarn_scene_name_valid(text)) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "a string of 1 to %d of a-z, 0-9 and '-'", TARN_NAME_BYTES_MAX);
        return scene_refuse_value(r, path, value, allowed);
    }
    *(const char **)into = text;
    return true;
}

// ---- particles ----
// The liquid particle by particle, from files.

static bool read_particle_file(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    return read_file_name(r, path, value, into, ".ply");
}

const scene_list scene_particle_file_list = {"files of particles",
                                             1,
                                             TARN_SCENE_PARTICLE_FILES_MAX,
                                             read_particle_file,
                                             offsetof(scene_draft, particle_files),
                                             sizeof(const char *),
                                             offsetof(scene_draft, particle_file_count)};

/// What is wrong with a particle in this tank. @return NULL: nothing
static const char *particle_fault(const tarn_tank_desc *tank, const tarn_seed_particle *particle)
{
    bool is_inside = true, is_slow = true;
    for (int a = 0; a < 3; a++) {
        const float size_m = (float)tank->cells[a] * tank->cell_m;
        is_inside &= particle->position_m[a] >= 0.0f && particle->position_m[a] <= size_m;
        is_slow &= fabsf(particle->velocity_m_s[a]) <= TARN_SCENE_PARTICLE_SPEED_MAX_M_S;
    }
    return !is_inside                               ? "which lies outside the tank; allowed are particles in it"
           : !is_slow                               ? "which is faster than the 1000 m/s that are allowed"
           : particle->liquid >= tank->liquid_count ? "of a liquid that the scene hasn't"
                                                    : NULL;
}

static bool read_particles(scene_reader *r, scene_draft *d, const char *path, const char *name,
                           tarn_particles *particles)
{
    char why[TARN_MESH_FILE_WHY_BYTES] = "", *made;
    const char *bytes;
    size_t byte_count;
    const uint32_t before = particles->count;
    if (!find_bytes(r, path, name, "a PLY file", TARN_SCENE_FILE_BYTES_MAX, &bytes, &byte_count, &made)) {
        return false;
    }
    const tarn_status status = tarn_particles_ply_read(name, bytes, byte_count, particles, why, sizeof why);
    free(made);
    if (status != TARN_OK) {
        return pass_on(r, status, path, why);
    }
    for (uint32_t i = before; i < particles->count; i++) {
        const float *at_m = particles->of[i].position_m;
        const char *fault = particle_fault(&d->scene.tank, &particles->of[i]);
        if (fault != NULL) {
            return scene_refuse(r, TARN_E_LIMIT, path, "%s: found particle %u at %g, %g, %g m, %s", name, i - before,
                                (double)at_m[0], (double)at_m[1], (double)at_m[2], fault);
        }
    }
    return true;
}

/// Whether no cell has more than so many of them: where thousands share one, a single tile takes all of a step.
static bool check_crowds(scene_reader *r, const tarn_tank_desc *tank, const tarn_particles *particles)
{
    const uint32_t n = tank->particles_per_axis, most = TARN_SCENE_CROWD_MAX * n * n * n;
    const size_t width = tank->cells[0], height = tank->cells[1];
    uint16_t *counts = calloc(width * height * tank->cells[2], sizeof *counts);
    if (counts == NULL) {
        return scene_refuse(r, TARN_E_MEMORY, "particles", "out of memory");
    }
    bool is_right = true;
    for (uint32_t i = 0; i < particles->count && is_right; i++) {
        const float *at_m = particles->of[i].position_m;
        size_t cell[3];
        for (int a = 0; a < 3; a++) {
            const size_t below = (size_t)(at_m[a] / tank->cell_m);
            cell[a] = below < tank->cells[a] ? below : tank->cells[a] - 1u;
        }
        is_right =
            ++counts[(cell[2] * height + cell[1]) * width + cell[0]] <= most ||
            scene_refuse(r, TARN_E_LIMIT, "particles",
                         "found more than %u particles in the cell at %g, %g, %g m; allowed are %d times as many "
                         "as it is seeded with",
                         most, (double)at_m[0], (double)at_m[1], (double)at_m[2], TARN_SCENE_CROWD_MAX);
    }
    free(counts);
    return is_right;
}

bool scene_fit_particle_files(scene_reader *r, scene_draft *d)
{
    tarn_tank_desc *tank = &d->scene.tank;
    tarn_particles particles = {0};
    bool is_right =
        d->particle_file_count == 0 || d->block_count + d->fluid_count == 0 ||
        scene_refuse(r, TARN_E_LIMIT, "particles", "found particles, and blocks or fluids; allowed are either");
    for (uint32_t i = 0; i < d->particle_file_count && is_right; i++) {
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "particles[%u]", i);
        is_right = read_particles(r, d, path, d->particle_files[i], &particles);
    }
    is_right = is_right && (particles.count == 0 || check_crowds(r, tank, &particles));
    tank->particles = particles.of; // the scene's, whatever came of it
    tank->particle_count = particles.count;
    tank->particles_have_colours = particles.have_colours;
    return is_right;
}

// ---- shapes and poses ----
// What a shape is, where it is and how it is turned.

static const scene_range places = {-TARN_SCENE_SIZE_M_MAX, TARN_SCENE_SIZE_M_MAX, "m", false, false};
static const scene_range speeds = {-TARN_SCENE_SPEED_MAX_M_S, TARN_SCENE_SPEED_MAX_M_S, "m/s", false, false};
static const scene_range angles = {-TARN_TURN_DEG_MAX, TARN_TURN_DEG_MAX, "degrees", false, false};

static const scene_range shape_lengths = {TARN_SCENE_LENGTH_M_MIN, TARN_SCENE_LENGTH_M_MAX, "m", false, false};

static const char *const kind_names[SHAPE_KINDS] = {"box", "sphere", "capsule", "cylinder", "mesh", "heightfield"};

// ---- one function for each kind of shape ----

static bool read_box(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"size_m", true, scene_read_vector, offsetof(shape_draft, size_m), &shape_lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_sphere(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"radius_m", true, scene_read_double, offsetof(shape_draft, radius_m), &shape_lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_capsule(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"radius_m", true, scene_read_double, offsetof(shape_draft, radius_m), &shape_lengths},
        {"length_m", true, scene_read_double, offsetof(shape_draft, length_m), &shape_lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_cylinder(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"radius_m", true, scene_read_double, offsetof(shape_draft, radius_m), &shape_lengths},
        {"height_m", true, scene_read_double, offsetof(shape_draft, length_m), &shape_lengths},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_mesh(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range scales = {TARN_SCENE_SCALE_MIN, TARN_SCENE_SCALE_MAX, NULL, false, false};
    static const scene_field fields[] = {
        {"file", true, read_file_name, offsetof(shape_draft, file), NULL},
        {"scale", false, scene_read_double, offsetof(shape_draft, scale), &scales},
    };
    ((shape_draft *)into)->scale = 1;
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

/// Checks rows of numbers, and keeps them in the JSON until the field is made.
static bool read_heights(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    size_t rows = json_array_size(value);
    if (!json_is_array(value) || rows < 2 || rows > TARN_SCENE_HEIGHTS_MAX) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "an array of 2 to %d rows of heights", TARN_SCENE_HEIGHTS_MAX);
        return scene_refuse_value(r, path, value, allowed);
    }
    for (size_t row = 0; row < rows; row++) {
        char element[SCENE_PATH_BYTES];
        scene_write_path(element, "%s[%zu]", path, row);
        const json_t *heights = json_array_get(value, row);
        size_t columns = json_array_size(heights);
        if (!json_is_array(heights) || columns < 2 || columns > TARN_SCENE_HEIGHTS_MAX) {
            char allowed[SCENE_ALLOWED_BYTES];
            snprintf(allowed, sizeof allowed, "an array of 2 to %d heights", TARN_SCENE_HEIGHTS_MAX);
            return scene_refuse_value(r, element, heights, allowed);
        }
        for (size_t column = 0; column < columns; column++) {
            double height = 0;
            scene_write_path(element, "%s[%zu][%zu]", path, row, column);
            if (!scene_read_double(r, element, json_array_get(heights, column), &height, &places)) {
                return false;
            }
        }
    }
    *(const json_t **)into = value;
    return true;
}

static bool read_heightfield(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    enum { SPACING, HEIGHT, FILE_NAME, HEIGHTS };
    static const scene_field fields[] = {
        [SPACING] = {"spacing_m", true, scene_read_double, offsetof(shape_draft, spacing_m), &shape_lengths},
        [HEIGHT] = {"height_m", false, scene_read_double, offsetof(shape_draft, height_m), &shape_lengths},
        [FILE_NAME] = {"file", false, read_file_name, offsetof(shape_draft, file), ".pgm"},
        [HEIGHTS] = {"heights_m", false, read_heights, offsetof(shape_draft, heights), NULL},
    };
    uint32_t given = 0;
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    ((shape_draft *)into)->has_height = (given & 1u << HEIGHT) != 0;
    bool has_file = (given & 1u << FILE_NAME) != 0, has_heights = (given & 1u << HEIGHTS) != 0;
    return has_file != has_heights ||
           scene_refuse(r, TARN_E_MALFORMED, path, "found %s of file and heights_m, allowed is exactly one",
                        has_file ? "both" : "none");
}

/// Rule: NULL; shape_draft.
static bool read_shape(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        [SHAPE_BOX] = {"box", false, read_box, 0, NULL},
        [SHAPE_SPHERE] = {"sphere", false, read_sphere, 0, NULL},
        [SHAPE_CAPSULE] = {"capsule", false, read_capsule, 0, NULL},
        [SHAPE_CYLINDER] = {"cylinder", false, read_cylinder, 0, NULL},
        [SHAPE_MESH] = {"mesh", false, read_mesh, 0, NULL},
        [SHAPE_HEIGHTFIELD] = {"heightfield", false, read_heightfield, 0, NULL},
        [SHAPE_KINDS] = {"inverted", false, scene_read_flag, offsetof(shape_draft, inverted), NULL},
    };
    uint32_t given = 0;
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    char found[SCENE_ALLOWED_BYTES] = "none";
    uint32_t count = 0;
    for (int kind = 0; kind < SHAPE_KINDS; kind++) {
        if (given & 1u << kind) {
            size_t used = count == 0 ? 0 : strlen(found);
            snprintf(found + used, sizeof found - used, "%s%s", count == 0 ? "" : " and ", kind_names[kind]);
            ((shape_draft *)into)->kind = (shape_kind)kind;
            count++;
        }
    }
    return count == 1 || scene_refuse(r, TARN_E_MALFORMED, path,
                                      "found %s, allowed is exactly one of box, sphere, capsule, cylinder, mesh and "
                                      "heightfield",
                                      found);
}

/// Rule: NULL; double[4].
static bool read_rotation(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range parts = {-1, 1, NULL, false, false};
    if (!json_is_array(value) || json_array_size(value) != 4) {
        return scene_refuse_value(r, path, value, "an array of 4 numbers: a unit quaternion x, y, z, w");
    }
    for (size_t i = 0; i < 4; i++) {
        char element[SCENE_PATH_BYTES];
        scene_write_path(element, "%s[%zu]", path, i);
        if (!scene_read_double(r, element, json_array_get(value, i), (double *)into + i, &parts)) {
            return false;
        }
    }
    return true;
}

/// Notes which fields of a pose a table found. @return false: refused, there were two rotations
static bool note_pose(scene_reader *r, const char *path, uint32_t given, pose_draft *pose)
{
    pose->has_position = (given & 1u << POSE_POSITION) != 0;
    pose->has_degrees = (given & 1u << POSE_DEGREES) != 0;
    pose->has_rotation = (given & 1u << POSE_ROTATION) != 0;
    return !(pose->has_degrees && pose->has_rotation) ||
           scene_refuse(r, TARN_E_MALFORMED, path,
                        "found both rotation_deg and rotation, allowed is at most one of them");
}

/// The fields of a pose, for the first places of a table.
#define POSE_TABLE(type, member, is_position_required)                                                                 \
    [POSE_POSITION] = {"position_m", is_position_required, scene_read_vector, offsetof(type, member.position_m),       \
                       &places},                                                                                       \
    [POSE_DEGREES] = {"rotation_deg", false, scene_read_vector, offsetof(type, member.degrees), &angles},              \
    [POSE_ROTATION] = {"rotation", false, read_rotation, offsetof(type, member.rotation), NULL}

// ---- shapes and poses, fitted ----

static bool fit_pose(scene_reader *r, const char *path, const pose_draft *pose, tarn_pose *fitted)
{
    double rotation[4] = {0, 0, 0, 1};
    if (pose->has_degrees) {
        tarn_turn_quaternion(pose->degrees, rotation);
    } else if (pose->has_rotation) {
        const double *q = pose->rotation;
        double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (fabs(length - 1) > 0.01) {
            return scene_refuse(r, TARN_E_LIMIT, path,
                                "rotation: found a quaternion of length %.4g, allowed is length 1 (to 1 %%)", length);
        }
        for (int i = 0; i < 4; i++) {
            rotation[i] = q[i] / length;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        fitted->position_m[axis] = (float)pose->position_m[axis];
    }
    for (int i = 0; i < 4; i++) {
        fitted->rotation[i] = (float)rotation[i];
    }
    return true;
}

static bool is_same_field(const shape_draft *a, const shape_draft *b)
{
    if (a->kind != b->kind || (a->file == NULL) != (b->file == NULL)) {
        return false;
    }
    bool same_source = a->file != NULL ? strcmp(a->file, b->file) == 0 : json_equal(a->heights, b->heights);
    return same_source && a->scale == b->scale && a->spacing_m == b->spacing_m && a->height_m == b->height_m;
}

/// The description's field for a mesh or heightfield: one that is there already, or a new one.
static bool fit_field(scene_reader *r, scene_draft *d, const char *path, const shape_draft *shape, tarn_shape *fitted)
{
    tarn_tank_desc *tank = &d->scene.tank;
    fitted->kind = TARN_SHAPE_FIELD;
    fitted->half_m[0] = 1.0f; // the scale is in the field
    for (uint32_t i = 0; i < tank->field_count; i++) {
        if (is_same_field(d->field_shapes[i], shape)) {
            fitted->field = i;
            return true;
        }
    }
    if (tank->field_count == TARN_TANK_FIELDS_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, path, "found one more different mesh or heightfield, allowed are %d",
                            TARN_TANK_FIELDS_MAX);
    }
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.%s", path, kind_names[shape->kind]);
    if (!make_field(r, inner, shape, d->cell_m, &tank->fields[tank->field_count])) {
        return false;
    }
    d->field_shapes[tank->field_count] = shape;
    fitted->field = tank->field_count++;
    return true;
}

/// The shape of a description; reads files and makes distance fields where it needs them.
static bool fit_shape(scene_reader *r, scene_draft *d, const char *path, const shape_draft *shape, tarn_shape *fitted)
{
    fitted->inverted = shape->inverted;
    switch (shape->kind) {
    case SHAPE_BOX:
        fitted->kind = TARN_SHAPE_BOX;
        for (int axis = 0; axis < 3; axis++) {
            fitted->half_m[axis] = (float)(0.5 * shape->size_m[axis]);
        }
        return true;
    case SHAPE_SPHERE:
        fitted->kind = TARN_SHAPE_SPHERE;
        fitted->half_m[0] = (float)shape->radius_m;
        return true;
    case SHAPE_CAPSULE:
    case SHAPE_CYLINDER:
        fitted->kind = shape->kind == SHAPE_CAPSULE ? TARN_SHAPE_CAPSULE : TARN_SHAPE_CYLINDER;
        fitted->half_m[0] = (float)shape->radius_m;
        fitted->half_m[1] = (float)(0.5 * shape->length_m);
        return true;
    default:
        return fit_field(r, d, path, shape, fitted);
    }
}

// ---- where a scene puts its tank ----
// At a time: between key frames the position and the angles change evenly.

bool tarn_scene_moves_tank(const tarn_scene *scene)
{
    return scene->tank_motion.keyframe_count > 0;
}

/// The time within the key frames; after the last one that of the last, or of a later round. A loop begins at 0.
static double time_on_path(const tarn_scene_motion *motion, double time_s)
{
    const double first_s = motion->keyframes[0].time_s, last_s = motion->keyframes[motion->keyframe_count - 1].time_s;
    if (!(time_s > first_s)) {
        return first_s;
    }
    if (time_s <= last_s || !motion->is_loop) {
        return fmin(time_s, last_s);
    }
    const double rest_s = time_s - floor(time_s / last_s) * last_s;
    return fmin(fmax(rest_s, 0), last_s);
}

void tarn_scene_drive(const tarn_scene *scene, uint64_t step, tarn_step_input *input)
{
    if (tarn_scene_moves_tank(scene) && input->poser == TARN_STEP_POSER_NOBODY) {
        input->poser = TARN_STEP_POSER_SCENE;
        tarn_scene_tank_pose(scene, (double)(step + 1) * (double)scene->tank.dt_s, &input->pose);
    }
}

void tarn_scene_tank_pose(const tarn_scene *scene, double time_s, tarn_pose *pose)
{
    const tarn_scene_motion *motion = &scene->tank_motion;
    *pose = (tarn_pose){.rotation = {0, 0, 0, 1}};
    if (motion->keyframe_count == 0) {
        return;
    }
    const double at_s = time_on_path(motion, time_s);
    uint32_t next = 1;
    while (next < motion->keyframe_count && motion->keyframes[next].time_s < at_s) {
        next++;
    }
    const tarn_scene_keyframe *a = &motion->keyframes[next - 1], *b = a;
    double share = 0;
    if (next < motion->keyframe_count) {
        b = &motion->keyframes[next];
        share = (at_s - a->time_s) / (b->time_s - a->time_s);
    }
    double degrees[3], rotation[4];
    for (int axis = 0; axis < 3; axis++) {
        pose->position_m[axis] = (float)(a->position_m[axis] + share * (b->position_m[axis] - a->position_m[axis]));
        degrees[axis] = a->rotation_deg[axis] + share * (b->rotation_deg[axis] - a->rotation_deg[axis]);
    }
    tarn_turn_quaternion(degrees, rotation);
    for (int i = 0; i < 4; i++) {
        pose->rotation[i] = (float)rotation[i];
    }
}

// ---- solids ----
// And how they and the tank itself move along key frames.

enum {
    SOLID_SHAPE = POSE_FIELDS,
    SOLID_MOTION,
    SOLID_DENSITY,
    SOLID_VELOCITY,
    SOLID_SPIN,
    SOLID_FRICTION,
    SOLID_KEYFRAMES,
    SOLID_LOOP,
    SOLID_COLOUR
};
enum { FRAME_TIME = POSE_FIELDS };

#define SOLID_DENSITY_KG_M3 500.0f ///< of a free one that doesn't say: wood

static const scene_range spins = {-TARN_SCENE_SPIN_MAX_RAD_S, TARN_SCENE_SPIN_MAX_RAD_S, "rad/s", false, false};
static const scene_range times = {0, TARN_SCENE_TIME_S_MAX, "s", false, false};

// ---- solids and key frames, read ----

static bool read_keyframe(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        POSE_TABLE(keyframe_draft, pose, true),
        [FRAME_TIME] = {"time_s", true, scene_read_double, offsetof(keyframe_draft, time_s), &times},
    };
    keyframe_draft *keyframe = into;
    uint32_t given = 0;
    return SCENE_READ_OBJECT(r, path, value, into, fields, &given) && note_pose(r, path, given, &keyframe->pose);
}

/// The tank's key frames have angles only, which say how often it turns; and it may stay where it is.
static bool read_tank_keyframe(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        {"time_s", true, scene_read_double, offsetof(keyframe_draft, time_s), &times},
        {"position_m", false, scene_read_vector, offsetof(keyframe_draft, pose.position_m), &places},
        {"rotation_deg", false, scene_read_vector, offsetof(keyframe_draft, pose.degrees), &angles},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

#define KEYFRAME_LIST(read)                                                                                            \
    {                                                                                                                  \
        "key frames", 1, TARN_TANK_KEYFRAMES_MAX, read, offsetof(motion_draft, keyframes), sizeof(keyframe_draft),     \
            offsetof(motion_draft, keyframe_count)                                                                     \
    }

bool scene_read_tank_motion(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_list list = KEYFRAME_LIST(read_tank_keyframe);
    static const scene_field fields[] = {
        {"keyframes", true, scene_read_list, 0, &list},
        {"loop", false, scene_read_flag, offsetof(motion_draft, is_loop), NULL},
    };
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

static bool read_solid(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const char *const motions[TARN_MOTION_COUNT] = {"static", "keyframes", "free"};
    static const scene_choice motion = {motions, TARN_MOTION_COUNT};
    static const scene_range densities = {1, 20000, "kg/m3", false, false}, shares = {0, 1, NULL, false, false};
    static const scene_list list = KEYFRAME_LIST(read_keyframe);
    static const scene_field fields[] = {
        POSE_TABLE(solid_draft, pose, false),
        [SOLID_SHAPE] = {"shape", true, read_shape, offsetof(solid_draft, shape), NULL},
        [SOLID_MOTION] = {"motion", false, scene_read_choice, offsetof(solid_draft, motion), &motion},
        [SOLID_DENSITY] = {"density_kg_m3", false, scene_read_float, offsetof(solid_draft, density_kg_m3), &densities},
        [SOLID_VELOCITY] = {"velocity_m_s", false, read_vector_float, offsetof(solid_draft, velocity_m_s), &speeds},
        [SOLID_SPIN] = {"angular_velocity_rad_s", false, read_vector_float,
                        offsetof(solid_draft, angular_velocity_rad_s), &spins},
        [SOLID_FRICTION] = {"friction", false, scene_read_float, offsetof(solid_draft, friction), &shares},
        [SOLID_KEYFRAMES] = {"keyframes", false, scene_read_list, offsetof(solid_draft, path), &list},
        [SOLID_LOOP] = {"loop", false, scene_read_flag, offsetof(solid_draft, path.is_loop), NULL},
        [SOLID_COLOUR] = {"colour", false, read_colour, offsetof(solid_draft, colour), NULL},
    };
    solid_draft *solid = into;
    uint32_t given = 0;
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    solid->has_density = (given & 1u << SOLID_DENSITY) != 0;
    solid->has_velocity = (given & 1u << SOLID_VELOCITY) != 0;
    solid->has_spin = (given & 1u << SOLID_SPIN) != 0;
    solid->has_friction = (given & 1u << SOLID_FRICTION) != 0;
    solid->has_keyframes = (given & 1u << SOLID_KEYFRAMES) != 0;
    solid->has_loop = (given & 1u << SOLID_LOOP) != 0;
    return note_pose(r, path, given, &solid->pose);
}

const scene_list scene_solid_list = {"solids",
                                     1,
                                     TARN_TANK_SOLIDS_MAX,
                                     read_solid,
                                     offsetof(scene_draft, solids),
                                     sizeof(solid_draft),
                                     offsetof(scene_draft, solid_count)};

// ---- key frames, fitted ----

static bool check_times(scene_reader *r, const char *path, const motion_draft *motion)
{
    for (uint32_t i = 1; i < motion->keyframe_count; i++) {
        double before = motion->keyframes[i - 1].time_s, time = motion->keyframes[i].time_s;
        if ((float)time <= (float)before) {
            char inner[SCENE_PATH_BYTES];
            scene_write_path(inner, "%s.keyframes[%u].time_s", path, i);
            return scene_refuse(r, TARN_E_LIMIT, inner, "found %.9g s, allowed is more than the one before, %.9g s",
                                time, before);
        }
    }
    return true;
}

/// What goes round must end where it began: otherwise it would jump, and take the liquid along.
static bool check_loop(scene_reader *r, const char *path, const motion_draft *motion)
{
    if (!motion->is_loop) {
        return true;
    }
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.loop", path);
    if (motion->keyframe_count < 2 || motion->keyframes[0].time_s != 0) {
        return scene_refuse(r, TARN_E_LIMIT, inner,
                            "found true with %u key frame%s, the first at %.9g s; allowed are two or more, the first "
                            "at 0 s",
                            motion->keyframe_count, motion->keyframe_count == 1 ? "" : "s",
                            motion->keyframes[0].time_s);
    }
    const keyframe_draft *last = &motion->keyframes[motion->keyframe_count - 1];
    tarn_pose a = {0}, b = {0};
    if (!fit_pose(r, path, &motion->keyframes[0].pose, &a) || !fit_pose(r, path, &last->pose, &b)) {
        return false;
    }
    double apart_m = 0, alike = 0;
    for (int i = 0; i < 3; i++) {
        apart_m = fmax(apart_m, fabs((double)a.position_m[i] - (double)b.position_m[i]));
    }
    for (int i = 0; i < 4; i++) {
        alike += (double)a.rotation[i] * (double)b.rotation[i];
    }
    if (apart_m > 1e-4 || fabs(alike) < 1 - 1e-6) {
        return scene_refuse(r, TARN_E_LIMIT, inner,
                            "the last key frame isn't where the first is, allowed is the same place and rotation, so "
                            "that nothing jumps");
    }
    return true;
}

/// Between two key frames in degrees: how many pieces of at most TARN_SCENE_KEYFRAME_TURN_DEG. Rotations as quaternions
/// go the shortest way, in which no turn can get lost.
static uint32_t piece_count(const keyframe_draft *a, const keyframe_draft *b)
{
    double turn_deg = 0;
    for (int axis = 0; axis < 3; axis++) {
        turn_deg = fmax(turn_deg, fabs(b->pose.degrees[axis] - a->pose.degrees[axis]));
    }
    if (a->pose.has_rotation || b->pose.has_rotation) {
        return 1;
    }
    return (uint32_t)fmax(1, ceil(turn_deg / TARN_SCENE_KEYFRAME_TURN_DEG));
}

static bool put_keyframe(scene_reader *r, scene_draft *d, const char *path, const keyframe_draft *keyframe)
{
    tarn_tank_desc *tank = &d->scene.tank;
    if (tank->keyframe_count == TARN_TANK_KEYFRAMES_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, path,
                            "the solids need more than %d key frames, where one is added for every %g degrees of a "
                            "turn; allowed are fewer",
                            TARN_TANK_KEYFRAMES_MAX, TARN_SCENE_KEYFRAME_TURN_DEG);
    }
    tarn_keyframe *fitted = &tank->keyframes[tank->keyframe_count++];
    fitted->time_s = (float)keyframe->time_s;
    return fit_pose(r, path, &keyframe->pose, &fitted->pose);
}

/// The key frame that lies `share` of the way between two.
static keyframe_draft keyframe_between(const keyframe_draft *first, const keyframe_draft *second, double share)
{
    keyframe_draft between = {.pose.has_degrees = true};
    const pose_draft *a = &first->pose, *b = &second->pose;
    between.time_s = first->time_s + share * (second->time_s - first->time_s);
    for (int axis = 0; axis < 3; axis++) {
        between.pose.position_m[axis] = a->position_m[axis] + share * (b->position_m[axis] - a->position_m[axis]);
        between.pose.degrees[axis] = a->degrees[axis] + share * (b->degrees[axis] - a->degrees[axis]);
    }
    return between;
}

/// Puts in what a turn needs between two key frames, at times that the tank can tell apart.
static bool put_between(scene_reader *r, scene_draft *d, const char *path, uint32_t index,
                        const keyframe_draft *keyframe)
{
    char inner[SCENE_PATH_BYTES];
    const uint32_t pieces = piece_count(keyframe, keyframe + 1);
    float last_s = (float)keyframe->time_s;
    for (uint32_t piece = 1; piece <= pieces; piece++) {
        const keyframe_draft between = keyframe_between(keyframe, keyframe + 1, (double)piece / pieces);
        if ((float)between.time_s <= last_s) {
            scene_write_path(inner, "%s.keyframes[%u].time_s", path, index + 1);
            return scene_refuse(r, TARN_E_LIMIT, inner,
                                "found %.9g s, %.3g s after the one before, which is too short a time for the turn "
                                "between them, in %u pieces; allowed is a later time",
                                keyframe[1].time_s, keyframe[1].time_s - keyframe->time_s, pieces);
        }
        last_s = (float)between.time_s;
        scene_write_path(inner, "%s.keyframes[%u]", path, index);
        if (piece < pieces && !put_keyframe(r, d, inner, &between)) {
            return false;
        }
    }
    return true;
}

static bool fit_keyframes(scene_reader *r, scene_draft *d, const char *path, const motion_draft *motion)
{
    for (uint32_t i = 0; i < motion->keyframe_count; i++) {
        const keyframe_draft *keyframe = &motion->keyframes[i];
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s.keyframes[%u]", path, i);
        if (!put_keyframe(r, d, inner, keyframe)) {
            return false;
        }
        if (i + 1 < motion->keyframe_count && !put_between(r, d, path, i, keyframe)) {
            return false;
        }
    }
    return true;
}

// ---- solids and the tank's way, fitted ----

/// Fields that have no effect with a solid's motion are refused: somebody meant something by them.
static bool check_motion(scene_reader *r, const scene_draft *d, const char *path, const solid_draft *solid)
{
    const bool is_free = solid->motion == TARN_MOTION_FREE, has_path = solid->motion == TARN_MOTION_KEYFRAMES;
    const struct {
        const char *name;
        bool is_wrong;
        const char *sentence;
    } rules[] = {
        {"density_kg_m3", solid->has_density && !is_free, "the field has an effect only with \"motion\": \"free\""},
        {"velocity_m_s", solid->has_velocity && !is_free, "the field has an effect only with \"motion\": \"free\""},
        {"angular_velocity_rad_s", solid->has_spin && !is_free,
         "the field has an effect only with \"motion\": \"free\""},
        {"friction", solid->has_friction && is_free, "the field has no effect with \"motion\": \"free\""},
        {"friction", solid->has_friction && (r->model->can & TARN_MODEL_RUBS) == 0,
         "the field has no effect with this model"},
        {"keyframes", solid->has_keyframes && !has_path, "the field has an effect only with \"motion\": \"keyframes\""},
        {"loop", solid->has_loop && !has_path, "the field has an effect only with \"motion\": \"keyframes\""},
        {"keyframes", has_path && !solid->has_keyframes, "the field is missing; \"motion\": \"keyframes\" needs it"},
        {"position_m", has_path && solid->pose.has_position, "the key frames say where the solid is; leave it out"},
        {"rotation_deg", has_path && solid->pose.has_degrees,
         "the key frames say how the solid is turned; leave it out"},
        {"rotation", has_path && solid->pose.has_rotation, "the key frames say how the solid is turned; leave it out"},
        {"position_m", !has_path && !solid->pose.has_position, "the field is missing, and it has no default"},
        {"shape.inverted", is_free && solid->shape.inverted, "found true, allowed is false with \"motion\": \"free\""},
        {"motion", is_free && d->solver != TARN_SOLVER_MULTIGRID,
         "found \"free\", allowed only with the solver's kind \"multigrid\""},
        {"motion", is_free && d->scene.tank.cells[2] == 1, "found \"free\", not allowed in a tank one cell deep"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].is_wrong) {
            char inner[SCENE_PATH_BYTES];
            scene_write_path(inner, "%s.%s", path, rules[i].name);
            return scene_refuse(r, TARN_E_LIMIT, inner, "%s", rules[i].sentence);
        }
    }
    return true;
}

static bool fit_solid(scene_reader *r, scene_draft *d, uint32_t index)
{
    static const uint8_t grey[3] = {158, 162, 168};
    const solid_draft *solid = &d->solids[index];
    tarn_tank_desc *tank = &d->scene.tank;
    tarn_solid *fitted = &tank->solids[index];
    char path[SCENE_PATH_BYTES], shape[SCENE_PATH_BYTES];
    scene_write_path(path, "solids[%u]", index);
    scene_write_path(shape, "solids[%u].shape", index);
    if (!check_motion(r, d, path, solid) || !check_times(r, path, &solid->path)) {
        return false;
    }
    fitted->motion = (tarn_motion)solid->motion;
    fitted->density_kg_m3 = solid->has_density ? solid->density_kg_m3 : SOLID_DENSITY_KG_M3;
    fitted->friction = solid->friction;
    memcpy(fitted->velocity_m_s, solid->velocity_m_s, sizeof fitted->velocity_m_s);
    memcpy(fitted->angular_velocity_rad_s, solid->angular_velocity_rad_s, sizeof fitted->angular_velocity_rad_s);
    memcpy(fitted->colour, solid->colour[3] != 0 ? solid->colour : grey, sizeof fitted->colour);
    fitted->keyframes_loop = solid->path.is_loop;
    fitted->keyframe_first = tank->keyframe_count;
    if (!fit_pose(r, path, &solid->pose, &fitted->pose) || !fit_keyframes(r, d, path, &solid->path) ||
        !check_loop(r, path, &solid->path)) {
        return false;
    }
    fitted->keyframe_count = tank->keyframe_count - fitted->keyframe_first;
    if (fitted->keyframe_count > 0) {
        fitted->pose = tank->keyframes[fitted->keyframe_first].pose;
    }
    return fit_shape(r, d, shape, &solid->shape, &fitted->shape);
}

bool scene_fit_solids(scene_reader *r, scene_draft *d)
{
    uint32_t body_count = 0;
    for (uint32_t i = 0; i < d->solid_count; i++) {
        body_count += d->solids[i].motion != TARN_MOTION_STATIC;
        if (body_count > TARN_TANK_BODIES_MAX) {
            char path[SCENE_PATH_BYTES];
            scene_write_path(path, "solids[%u].motion", i);
            return scene_refuse(r, TARN_E_LIMIT, path, "found one more solid that moves, allowed are %d",
                                TARN_TANK_BODIES_MAX);
        }
        if (!fit_solid(r, d, i)) {
            return false;
        }
    }
    d->scene.tank.solid_count = d->solid_count;
    return true;
}

/// The angle between two rotations.
static double angle_between(const double from_deg[3], const double to_deg[3])
{
    double from[4], to[4], cosine = 0.0;
    tarn_turn_quaternion(from_deg, from);
    tarn_turn_quaternion(to_deg, to);
    for (int i = 0; i < 4; i++) {
        cosine += from[i] * to[i];
    }
    return 2.0 * acos(fmin(fabs(cosine), 1.0));
}

/// The fastest that the tank's key frames ask it to turn and to move.
static void find_fastest(const tarn_scene_motion *motion, tarn_tank_desc *tank)
{
    for (uint32_t i = 0; i + 1 < motion->keyframe_count; i++) {
        const tarn_scene_keyframe *from = &motion->keyframes[i], *to = from + 1;
        const double way_s = to->time_s - from->time_s;
        double way_m = 0.0, turned_deg = 0.0, before[3];
        memcpy(before, from->rotation_deg, sizeof before);
        for (int axis = 0; axis < 3; axis++) {
            way_m = hypot(way_m, to->position_m[axis] - from->position_m[axis]);
            turned_deg = fmax(turned_deg, fabs(to->rotation_deg[axis] - from->rotation_deg[axis]));
        }
        const int parts = 1 + (int)(turned_deg / 15.0); // none of which is half a turn
        for (int part = 1; part <= parts; part++) {
            double now[3];
            for (int axis = 0; axis < 3; axis++) {
                now[axis] =
                    from->rotation_deg[axis] + (to->rotation_deg[axis] - from->rotation_deg[axis]) * part / parts;
            }
            tank->led_turn_rad_s = fmaxf(tank->led_turn_rad_s, (float)(angle_between(before, now) * parts / way_s));
            memcpy(before, now, sizeof before);
        }
        tank->led_speed_m_s = fmaxf(tank->led_speed_m_s, (float)(way_m / way_s));
    }
}

/// The velocities with which the key frames lead the tank through the step that begins at a time.
static void find_velocities(const tarn_scene *scene, double from_s, double velocity_m_s[3], double spin_rad_s[3])
{
    const double dt_s = (double)scene->tank.dt_s;
    tarn_pose from, to;
    tarn_scene_tank_pose(scene, from_s, &from);
    tarn_scene_tank_pose(scene, from_s + dt_s, &to);
    const float *p = from.rotation, *q = to.rotation;
    const double w = (double)(q[3] * p[3] + q[0] * p[0] + q[1] * p[1] + q[2] * p[2]), sign = w < 0.0 ? -1.0 : 1.0;
    double turn[3], sine = 0.0;
    for (int a = 0; a < 3; a++) {
        const int n = (a + 1) % 3, l = (a + 2) % 3;
        turn[a] =
            sign * ((double)(q[a] * p[3]) - (double)(q[3] * p[a]) - (double)(q[n] * p[l]) + (double)(q[l] * p[n]));
        sine = hypot(sine, turn[a]);
        velocity_m_s[a] = ((double)to.position_m[a] - (double)from.position_m[a]) / dt_s;
    }
    for (int a = 0; a < 3; a++) {
        spin_rad_s[a] = sine > 0.0 ? turn[a] / sine * 2.0 * atan2(sine, sign * w) / dt_s : 0.0;
    }
}

static float distance_between(const double one[3], const double other[3])
{
    return (float)sqrt(pow(one[0] - other[0], 2) + pow(one[1] - other[1], 2) + pow(one[2] - other[2], 2));
}

/// By how much the tank is to change how it turns and moves where its key frames meet. It begins at rest, but for a
/// spin.
static void find_jumps(const tarn_scene *scene, tarn_tank_desc *tank)
{
    const tarn_scene_motion *motion = &scene->tank_motion;
    for (uint32_t i = 0; i < motion->keyframe_count; i++) {
        const double at_s = fmax(motion->keyframes[i].time_s, 0.0);
        double velocity_before[3] = {0.0}, velocity[3], spin[3],
               spin_before[3] = {(double)tank->spin_rad_s[0], (double)tank->spin_rad_s[1], (double)tank->spin_rad_s[2]};
        if (at_s > 0.0) {
            find_velocities(scene, fmax(at_s - (double)tank->dt_s, 0.0), velocity_before, spin_before);
        }
        find_velocities(scene, at_s, velocity, spin);
        tank->led_turn_jump_rad_s = fmaxf(tank->led_turn_jump_rad_s, distance_between(spin, spin_before));
        tank->led_speed_jump_m_s = fmaxf(tank->led_speed_jump_m_s, distance_between(velocity, velocity_before));
    }
}

bool scene_fit_tank_motion(scene_reader *r, scene_draft *d)
{
    motion_draft *motion = &d->tank_motion;
    tarn_scene_motion *fitted = &d->scene.tank_motion;
    for (uint32_t i = 0; i < motion->keyframe_count; i++) {
        const keyframe_draft *keyframe = &motion->keyframes[i];
        motion->keyframes[i].pose.has_degrees = true;
        fitted->keyframes[i].time_s = keyframe->time_s;
        memcpy(fitted->keyframes[i].position_m, keyframe->pose.position_m, sizeof keyframe->pose.position_m);
        memcpy(fitted->keyframes[i].rotation_deg, keyframe->pose.degrees, sizeof keyframe->pose.degrees);
    }
    fitted->keyframe_count = motion->keyframe_count;
    fitted->is_loop = motion->is_loop != 0;
    if (!check_times(r, "tank_motion", motion) || !check_loop(r, "tank_motion", motion)) {
        return false;
    }
    if (fitted->keyframe_count > 0 && fitted->keyframes[0].time_s <= 0) { // it needn't get there first
        tarn_scene_tank_pose(&d->scene, 0, &d->scene.tank.start_pose);
    }
    find_fastest(fitted, &d->scene.tank);
    find_jumps(&d->scene, &d->scene.tank);
    return true;
}

// ---- probes ----
// What a scene measures.

typedef struct probe_draft {
    const char *name; ///< borrowed
    uint32_t shows;
    double at_m[3], to_m[3];
    uint32_t solid;
} probe_draft;

enum { FIELD_NAME, FIELD_KIND, FIELD_AT, FIELD_TO, FIELD_SOLID };

static bool read_probe(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    static const scene_range solids = {0, TARN_TANK_SOLIDS_MAX - 1, NULL, false, true};
    static const scene_choice kinds = {tarn_probe_shows_names, TARN_SHOWS_COUNT};
    static const scene_field fields[] = {
        [FIELD_NAME] = {"name", false, read_identifier, offsetof(probe_draft, name), NULL},
        [FIELD_KIND] = {"kind", true, scene_read_choice, offsetof(probe_draft, shows), &kinds},
        [FIELD_AT] = {"at_m", false, scene_read_vector, offsetof(probe_draft, at_m), &places},
        [FIELD_TO] = {"to_m", false, scene_read_vector, offsetof(probe_draft, to_m), &places},
        [FIELD_SOLID] = {"solid", false, scene_read_whole, offsetof(probe_draft, solid), &solids},
    };
    probe_draft draft = {.name = NULL};
    tarn_probe_spec *spec = into;
    uint32_t given = 0;
    (void)rule;
    if (!SCENE_READ_OBJECT(r, path, value, &draft, fields, &given)) {
        return false;
    }
    const bool has_at = (given >> FIELD_AT & 1) != 0, is_force = draft.shows == TARN_SHOWS_FORCE;
    if (has_at == is_force) {
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s.at_m", path);
        return scene_refuse(r, TARN_E_MALFORMED, inner,
                            is_force ? "a force has none; where it is its solid says"
                                     : "the field is missing, and it has no default");
    }
    memset(spec, 0, sizeof *spec);
    snprintf(spec->name, sizeof spec->name, "%s", draft.name != NULL ? draft.name : "");
    spec->shows = draft.shows;
    spec->has_to = (given >> FIELD_TO & 1) != 0;
    spec->has_solid = (given >> FIELD_SOLID & 1) != 0;
    spec->solid = draft.solid;
    memcpy(spec->at_m, draft.at_m, sizeof spec->at_m);
    memcpy(spec->to_m, draft.to_m, sizeof spec->to_m);
    return true;
}

const scene_list scene_probe_list = {
    .what = "probes",
    .min = 1,
    .max = TARN_PROBES_MAX,
    .item = read_probe,
    .items_offset = offsetof(scene_draft, scene.probes),
    .item_bytes = sizeof(tarn_probe_spec),
    .count_offset = offsetof(scene_draft, scene.probe_count),
};

bool scene_fit_probes(scene_reader *r, scene_draft *d)
{
    tarn_scene *scene = &d->scene;
    for (uint32_t i = 0; i < scene->probe_count; i++) {
        char path[SCENE_PATH_BYTES], why[TARN_SCENE_WHY_BYTES / 2];
        tarn_probe probe;
        scene_write_path(path, "probes[%u]", i);
        tarn_probe_spec_name(&scene->probes[i], i + 1);
        if (!tarn_probe_spec_fit(&scene->probes[i], &scene->tank, &probe, why, sizeof why)) {
            return scene_refuse(r, TARN_E_LIMIT, path, "%s", why);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(scene->probes[k].name, scene->probes[i].name) == 0) {
                return scene_refuse(r, TARN_E_LIMIT, path,
                                    "found the name \"%s\", which probes[%u] has; allowed are different names",
                                    scene->probes[i].name, k);
            }
        }
    }
    return true;
}

// ---- liquids ----

static bool read_liquid(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range densities = {0.01, 20000, "kg/m3", false, false};
    static const scene_range viscosities = {0, 100, "m2/s", false, false};
    static const scene_field fields[] = {
        {"name", false, read_identifier, offsetof(liquid_draft, name), NULL},
        {"density_kg_m3", false, scene_read_float, offsetof(liquid_draft, density_kg_m3), &densities},
        {"viscosity_m2_s", false, scene_read_float, offsetof(liquid_draft, viscosity_m2_s), &viscosities},
        {"colour", false, read_colour, offsetof(liquid_draft, colour), NULL},
    };
    ((liquid_draft *)into)->density_kg_m3 = 1000.0f;
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

const scene_list scene_liquid_list = {"liquids",
                                      1,
                                      TARN_TANK_LIQUIDS_MAX,
                                      read_liquid,
                                      offsetof(scene_draft, liquids),
                                      sizeof(liquid_draft),
                                      offsetof(scene_draft, liquid_count)};

static bool read_liquid_reference(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range indices = {0, TARN_TANK_LIQUIDS_MAX - 1, NULL, false, true};
    liquid_reference *reference = into;
    if (json_is_string(value)) {
        return read_identifier(r, path, value, &reference->name, NULL);
    }
    if (!json_is_number(value)) {
        return scene_refuse_value(r, path, value, "a liquid's name, or its place in liquids, from 0");
    }
    return scene_read_whole(r, path, value, &reference->index, &indices);
}

bool scene_fit_liquids(scene_reader *r, scene_draft *d)
{
    static const uint8_t colours[TARN_TANK_LIQUIDS_MAX][3] = {
        {38, 110, 190}, {222, 165, 55}, {90, 170, 95}, {190, 80, 120}};
    tarn_tank_desc *tank = &d->scene.tank;
    float lightest = INFINITY, heaviest = 0;
    for (uint32_t i = 0; i < d->liquid_count; i++) {
        const liquid_draft *liquid = &d->liquids[i];
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "liquids[%u].name", i);
        for (uint32_t j = 0; j < i && liquid->name != NULL; j++) {
            if (d->liquids[j].name != NULL && strcmp(liquid->name, d->liquids[j].name) == 0) {
                return scene_refuse(r, TARN_E_LIMIT, path, "found \"%s\", which is the name of liquids[%u] already",
                                    liquid->name, j);
            }
        }
        lightest = fminf(lightest, liquid->density_kg_m3);
        heaviest = fmaxf(heaviest, liquid->density_kg_m3);
        tarn_liquid *fitted = &tank->liquids[i];
        fitted->density_kg_m3 = liquid->density_kg_m3;
        fitted->viscosity_m2_s = liquid->viscosity_m2_s;
        memcpy(fitted->colour, liquid->colour[3] != 0 ? liquid->colour : colours[i], 3);
        snprintf(d->scene.liquid_names[i], sizeof d->scene.liquid_names[i], "%s",
                 liquid->name != NULL ? liquid->name : "");
    }
    if (d->liquid_count > 0) {
        tank->liquid_count = d->liquid_count;
    }
    if (heaviest > lightest * TARN_TANK_DENSITY_RATIO_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, "liquids",
                            "found densities from %g to %g kg/m3, allowed is at most %g times the lightest",
                            (double)lightest, (double)heaviest, (double)TARN_TANK_DENSITY_RATIO_MAX);
    }
    return true;
}

static bool fit_reference(scene_reader *r, const scene_draft *d, const char *path, const liquid_reference *reference,
                          uint32_t *liquid)
{
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.liquid", path);
    if (reference->name == NULL) {
        *liquid = reference->index;
        return *liquid < d->scene.tank.liquid_count ||
               scene_refuse(r, TARN_E_LIMIT, inner, "found %u, allowed is 0 to %u: the scene has %u liquid%s", *liquid,
                            d->scene.tank.liquid_count - 1, d->scene.tank.liquid_count,
                            d->scene.tank.liquid_count == 1 ? "" : "s");
    }
    char allowed[SCENE_ALLOWED_BYTES] = "";
    for (uint32_t i = 0; i < d->liquid_count; i++) {
        const char *name = d->scene.liquid_names[i];
        if (strcmp(name, reference->name) == 0) {
            *liquid = i;
            return true;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used > 0 && name[0] != '\0' ? ", " : "", name);
    }
    return scene_refuse(r, TARN_E_LIMIT, inner, "found \"%s\", allowed are the names in liquids: %s", reference->name,
                        allowed[0] != '\0' ? allowed : "there are none");
}

// ---- what particles carry ----

static void carry_initial(const scene_reader *r, float *carried)
{
    for (uint32_t k = 0; k < r->model->carried_count; k++) {
        carried[k] = r->model->carried[k].initial;
    }
}

static bool read_carried(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const tarn_model *model = r->model;
    scene_range ranges[TARN_MODEL_CARRIED_MAX];
    scene_field fields[TARN_MODEL_CARRIED_MAX + 1];
    for (uint32_t k = 0; k < model->carried_count; k++) {
        const tarn_carried_spec *spec = &model->carried[k];
        ranges[k] = (scene_range){(double)spec->min, (double)spec->max, spec->unit, false, false};
        fields[k] = (scene_field){spec->name, false, scene_read_float, k * sizeof(float), &ranges[k]};
    }
    fields[model->carried_count] = (scene_field){"$comment", false, scene_read_remark, 0, NULL};
    return scene_read_object(r, path, value, into, fields, model->carried_count + 1, NULL);
}

// ---- blocks ----

static bool read_block(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range lengths = {0, TARN_SCENE_SIZE_M_MAX, "m", false, false};
    static const scene_field fields[] = {
        {"min_m", true, scene_read_vector, offsetof(block_draft, min_m), &lengths},
        {"max_m", true, scene_read_vector, offsetof(block_draft, max_m), &lengths},
        {"velocity_m_s", false, read_vector_float, offsetof(block_draft, velocity_m_s), &speeds},
        {"liquid", false, read_liquid_reference, offsetof(block_draft, liquid), NULL},
        {"colour", false, read_colour, offsetof(block_draft, colour), NULL},
        {"carries", false, read_carried, offsetof(block_draft, carried), NULL},
    };
    carry_initial(r, ((block_draft *)into)->carried);
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

const scene_list scene_block_list = {"blocks",
                                     1,
                                     TARN_TANK_BLOCKS_MAX,
                                     read_block,
                                     offsetof(scene_draft, blocks),
                                     sizeof(block_draft),
                                     offsetof(scene_draft, block_count)};

static bool fit_block(scene_reader *r, scene_draft *d, uint32_t index)
{
    const block_draft *block = &d->blocks[index];
    tarn_fluid_block *fitted = &d->scene.tank.blocks[index];
    char path[SCENE_PATH_BYTES];
    for (int axis = 0; axis < 3; axis++) {
        double low = block->min_m[axis], high = block->max_m[axis], size = d->size_m[axis];
        scene_write_path(path, "blocks[%u].max_m[%d]", index, axis);
        if (high > size * (1 + 1e-6)) {
            return scene_refuse(r, TARN_E_LIMIT, path, "found %.9g m, allowed is at most the tank's size, %.9g m", high,
                                size);
        }
        if ((float)high <= (float)low) {
            return scene_refuse(r, TARN_E_LIMIT, path, "found %.9g m, allowed is more than min_m[%d], %.9g m", high,
                                axis, low);
        }
        float size_single = (float)d->scene.tank.cells[axis] * d->scene.tank.cell_m;
        fitted->min_m[axis] = (float)low;
        fitted->max_m[axis] = fminf((float)high, size_single);
        fitted->velocity_m_s[axis] = block->velocity_m_s[axis];
    }
    memcpy(fitted->colour, block->colour, sizeof fitted->colour);
    memcpy(fitted->carried, block->carried, sizeof fitted->carried);
    scene_write_path(path, "blocks[%u]", index);
    return fit_reference(r, d, path, &block->liquid, &fitted->liquid);
}

bool scene_fit_blocks(scene_reader *r, scene_draft *d)
{
    for (uint32_t i = 0; i < d->block_count; i++) {
        if (!fit_block(r, d, i)) {
            return false;
        }
    }
    d->scene.tank.block_count = d->block_count;
    return true;
}

// ---- fluids, emitters, drains: shapes somewhere ----

#define REGION_FIELDS                                                                                                  \
    POSE_TABLE(region_draft, pose, true), [REGION_SHAPE] = {"shape", true, read_shape, offsetof(region_draft, shape),  \
                                                            NULL}

enum {
    REGION_SHAPE = POSE_FIELDS,
    REGION_VELOCITY,
    REGION_LIQUID,
    REGION_COLOUR,
    REGION_CARRIED,
    REGION_START,
    REGION_END
};

static bool read_fluid(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        REGION_FIELDS,
        [REGION_VELOCITY] = {"velocity_m_s", false, read_vector_float, offsetof(region_draft, velocity_m_s), &speeds},
        [REGION_LIQUID] = {"liquid", false, read_liquid_reference, offsetof(region_draft, liquid), NULL},
        [REGION_COLOUR] = {"colour", false, read_colour, offsetof(region_draft, colour), NULL},
        [REGION_CARRIED] = {"carries", false, read_carried, offsetof(region_draft, carried), NULL},
    };
    region_draft *region = into;
    uint32_t given = 0;
    carry_initial(r, region->carried);
    return SCENE_READ_OBJECT(r, path, value, into, fields, &given) && note_pose(r, path, given, &region->pose);
}

static bool read_emitter(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        REGION_FIELDS,
        [REGION_VELOCITY] = {"velocity_m_s", true, read_vector_float, offsetof(region_draft, velocity_m_s), &speeds},
        [REGION_LIQUID] = {"liquid", false, read_liquid_reference, offsetof(region_draft, liquid), NULL},
        [REGION_COLOUR] = {"colour", false, read_colour, offsetof(region_draft, colour), NULL},
        [REGION_CARRIED] = {"carries", false, read_carried, offsetof(region_draft, carried), NULL},
        [REGION_START] = {"start_s", false, scene_read_float, offsetof(region_draft, start_s), &times},
        [REGION_END] = {"end_s", false, scene_read_float, offsetof(region_draft, end_s), &times},
    };
    region_draft *region = into;
    uint32_t given = 0;
    carry_initial(r, region->carried);
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    region->has_end = (given & 1u << REGION_END) != 0;
    return note_pose(r, path, given, &region->pose);
}

static bool read_drain(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {REGION_FIELDS};
    region_draft *region = into;
    uint32_t given = 0;
    return SCENE_READ_OBJECT(r, path, value, into, fields, &given) && note_pose(r, path, given, &region->pose);
}

#define REGION_LIST(name, max, read, member, count)                                                                    \
    {                                                                                                                  \
        name, 1, max, read, offsetof(scene_draft, member), sizeof(region_draft), offsetof(scene_draft, count)          \
    }

const scene_list scene_fluid_list = REGION_LIST("fluids", TARN_TANK_FLUIDS_MAX, read_fluid, fluids, fluid_count);
const scene_list scene_emitter_list =
    REGION_LIST("emitters", TARN_TANK_EMITTERS_MAX, read_emitter, emitters, emitter_count);
const scene_list scene_drain_list = REGION_LIST("drains", TARN_TANK_DRAINS_MAX, read_drain, drains, drain_count);

/// Shape and pose of a region, which must reach into the tank: elsewhere it would do nothing in silence.
static bool fit_place(scene_reader *r, scene_draft *d, const char *path, const region_draft *region, tarn_shape *shape,
                      tarn_pose *pose)
{
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.shape", path);
    if (!fit_pose(r, path, &region->pose, pose) || !fit_shape(r, d, inner, &region->shape, shape)) {
        return false;
    }
    if (shape->inverted) {
        return true;
    }
    double low[3], high[3];
    tarn_shape_bounds_m(shape, pose, d->scene.tank.fields, low, high);
    for (int axis = 0; axis < 3; axis++) {
        if (high[axis] <= 0 || low[axis] >= d->size_m[axis]) {
            scene_write_path(inner, "%s.position_m[%d]", path, axis);
            return scene_refuse(r, TARN_E_LIMIT, inner,
                                "the shape reaches from %.6g to %.6g m, allowed is that it reaches into the tank, 0 to "
                                "%.6g m",
                                low[axis], high[axis], d->size_m[axis]);
        }
    }
    return true;
}

static bool fit_fluid(scene_reader *r, scene_draft *d, uint32_t index)
{
    const region_draft *region = &d->fluids[index];
    tarn_fluid_shape *fitted = &d->scene.tank.fluids[index];
    char path[SCENE_PATH_BYTES];
    scene_write_path(path, "fluids[%u]", index);
    memcpy(fitted->velocity_m_s, region->velocity_m_s, sizeof fitted->velocity_m_s);
    memcpy(fitted->colour, region->colour, sizeof fitted->colour);
    memcpy(fitted->carried, region->carried, sizeof fitted->carried);
    return fit_reference(r, d, path, &region->liquid, &fitted->liquid) &&
           fit_place(r, d, path, region, &fitted->shape, &fitted->pose);
}

static bool fit_emitter(scene_reader *r, scene_draft *d, uint32_t index)
{
    const region_draft *region = &d->emitters[index];
    tarn_emitter *fitted = &d->scene.tank.emitters[index];
    char path[SCENE_PATH_BYTES];
    scene_write_path(path, "emitters[%u]", index);
    memcpy(fitted->velocity_m_s, region->velocity_m_s, sizeof fitted->velocity_m_s);
    memcpy(fitted->colour, region->colour, sizeof fitted->colour);
    memcpy(fitted->carried, region->carried, sizeof fitted->carried);
    fitted->start_s = region->start_s;
    fitted->end_s = region->end_s;
    if (region->has_end && region->end_s <= region->start_s) {
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s.end_s", path);
        return scene_refuse(r, TARN_E_LIMIT, inner, "found %g s, allowed is more than start_s, %g s",
                            (double)region->end_s, (double)region->start_s);
    }
    return fit_reference(r, d, path, &region->liquid, &fitted->liquid) &&
           fit_place(r, d, path, region, &fitted->shape, &fitted->pose);
}

bool scene_fit_regions(scene_reader *r, scene_draft *d)
{
    tarn_tank_desc *tank = &d->scene.tank;
    for (uint32_t i = 0; i < d->fluid_count; i++) {
        if (!fit_fluid(r, d, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < d->emitter_count; i++) {
        if (!fit_emitter(r, d, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < d->drain_count; i++) {
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "drains[%u]", i);
        if (!fit_place(r, d, path, &d->drains[i], &tank->drains[i].shape, &tank->drains[i].pose)) {
            return false;
        }
    }
    tank->fluid_count = d->fluid_count;
    tank->emitter_count = d->emitter_count;
    tank->drain_count = d->drain_count;
    return true;
}
