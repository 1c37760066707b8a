// Reads a scene. Tables name the fields of each object; one function per field checks it and fills a draft; then the
// draft is checked as a whole and copied to the caller.
//
//     bytes -> JSON -> tables: names, types, ranges (the schema's part) -> the fields together -> tarn_scene
#include "server/common/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 96,     // of a field's path in a sentence
    FOUND_BYTES = 64,    // of a value that is quoted in a sentence
    ORIGIN_BYTES = 160,  // of a file's name in a sentence
    ALLOWED_BYTES = 256, // of a list of names
};

/// What is being read; blocks and sizes in the precision of the file.
typedef struct draft {
    tarn_scene scene;
    double size_m[3];
    double cell_m;
    uint32_t block_at;
    struct {
        double min_m[3], max_m[3], velocity_m_s[3];
    } blocks[TARN_TANK_BLOCKS_MAX];
} draft;

typedef struct reader {
    const char *origin;
    char *why;
    size_t why_bytes;
    tarn_status status;
    draft *draft;
} reader;

typedef struct field {
    const char *name;
    bool required;
    bool (*read)(reader *r, const char *path, const json_t *value, int argument);
    int argument;
} field;

typedef struct range {
    double min, max;
    bool above_min; // the minimum itself is refused
    const char *unit;
} range;

// ---- sentences ----

/// Bytes of the UTF-8 character at `text`, 0 where there is none.
static size_t utf8_bytes(const unsigned char *text)
{
    size_t bytes = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return text[0] < 0xf5 ? bytes : 0;
}

/// Sentences and titles go to terminals and over the wire: no control characters, no halves of characters.
static void make_printable(char *text)
{
    unsigned char *c = (unsigned char *)text;
    while (*c != '\0') {
        size_t bytes = utf8_bytes(c);
        // Besides the controls of ASCII: those of Latin-1 (C2 80..9F), and marks of line and direction (E2 80 A8..AE).
        bool is_control = *c < 32 || *c == 127 || (c[0] == 0xc2 && c[1] < 0xa0) ||
                          (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae);
        if (bytes == 0 || is_control) {
            *c = '?';
            bytes = 1;
        }
        c += bytes;
    }
}

__attribute__((format(printf, 4, 5))) static bool refuse(reader *r, tarn_status status, const char *path,
                                                         const char *format, ...)
{
    r->status = status;
    if (r->why == NULL || r->why_bytes == 0) {
        return false;
    }
    // The end of a long name says more than its beginning.
    size_t origin_bytes = strlen(r->origin);
    bool cut = origin_bytes > ORIGIN_BYTES;
    int bytes = snprintf(r->why, r->why_bytes, "%s%s: %s%s", cut ? "..." : "",
                         cut ? r->origin + origin_bytes - ORIGIN_BYTES : r->origin, path, path[0] ? ": " : "");
    if (bytes >= 0 && (size_t)bytes < r->why_bytes) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(r->why + bytes, r->why_bytes - (size_t)bytes, format, arguments);
        va_end(arguments);
    }
    make_printable(r->why);
    return false;
}

/// Quotes a value in at most FOUND_BYTES.
static void describe(const json_t *value, char *text)
{
    if (json_is_object(value)) {
        snprintf(text, FOUND_BYTES, "an object");
    } else if (json_is_array(value)) {
        snprintf(text, FOUND_BYTES, "an array of %zu", json_array_size(value));
    } else if (json_is_real(value)) {
        snprintf(text, FOUND_BYTES, "%.9g", json_real_value(value));
    } else {
        char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        bool cut = dump != NULL && strlen(dump) > 40;
        snprintf(text, FOUND_BYTES, "%.40s%s", dump == NULL ? "a value" : dump, cut ? "...\"" : "");
        free(dump);
    }
}

static bool refuse_value(reader *r, const char *path, const json_t *value, const char *allowed)
{
    char found[FOUND_BYTES];
    describe(value, found);
    return refuse(r, TARN_E_MALFORMED, path, "found %s, allowed is %s", found, allowed);
}

static void format_range(range allowed, const char *what, char *text, size_t text_bytes)
{
    if (allowed.above_min) {
        snprintf(text, text_bytes, "%s above %.7g and up to %.9g%s", what, allowed.min, allowed.max, allowed.unit);
    } else {
        snprintf(text, text_bytes, "%s from %.7g to %.9g%s", what, allowed.min, allowed.max, allowed.unit);
    }
}

/// Writes a field's path; paths are short, and a longer one is cut.
__attribute__((format(printf, 2, 3))) static void write_path(char path[PATH_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, PATH_BYTES, format, arguments);
    va_end(arguments);
}

// ---- values ----

static bool read_number(reader *r, const char *path, const json_t *value, range allowed, double *number)
{
    // Compared as floats, which is what the tank computes with: 0.1 is then the 0.1f of a limit.
    double found = json_number_value(value);
    float single = (float)found;
    bool inside = single <= (float)allowed.max &&
                  (allowed.above_min ? single > (float)allowed.min : single >= (float)allowed.min);
    if (!json_is_number(value) || !inside) {
        char text[ALLOWED_BYTES];
        format_range(allowed, "a number", text, sizeof text);
        return refuse_value(r, path, value, text);
    }
    *number = found;
    return true;
}

static bool read_integer(reader *r, const char *path, const json_t *value, uint32_t min, uint32_t max,
                         uint32_t *integer)
{
    double found = json_number_value(value);
    if (!json_is_number(value) || found != floor(found) || found < min || found > max) {
        char text[ALLOWED_BYTES];
        snprintf(text, sizeof text, "a whole number from %u to %u", min, max);
        return refuse_value(r, path, value, text);
    }
    *integer = (uint32_t)found;
    return true;
}

static bool read_vector(reader *r, const char *path, const json_t *value, range allowed, double vector[3])
{
    if (!json_is_array(value) || json_array_size(value) != 3) {
        return refuse_value(r, path, value, "an array of 3 numbers: x, y, z");
    }
    for (size_t axis = 0; axis < 3; axis++) {
        char element[PATH_BYTES];
        write_path(element, "%s[%zu]", path, axis);
        if (!read_number(r, element, json_array_get(value, axis), allowed, &vector[axis])) {
            return false;
        }
    }
    return true;
}

static bool read_object(reader *r, const char *path, const json_t *value, const field *fields, size_t field_count)
{
    if (!json_is_object(value)) {
        return refuse_value(r, path, value, "an object");
    }
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)value, key, member)
    {
        size_t i = 0;
        while (i < field_count && strcmp(fields[i].name, key) != 0) {
            i++;
        }
        if (i < field_count) {
            continue;
        }
        char allowed[ALLOWED_BYTES] = "";
        size_t used = 0;
        for (i = 0; i < field_count && used < sizeof allowed; i++) {
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", i == 0 ? "" : ", ", fields[i].name);
        }
        return refuse(r, TARN_E_MALFORMED, path, "found the unknown field \"%.40s\", allowed are %s", key, allowed);
    }
    for (size_t i = 0; i < field_count; i++) {
        member = json_object_get(value, fields[i].name);
        char inner[PATH_BYTES];
        write_path(inner, "%s%s%s", path, path[0] ? "." : "", fields[i].name);
        if (member == NULL && fields[i].required) {
            return refuse(r, TARN_E_MALFORMED, inner, "the field is missing, and it has no default");
        }
        if (member != NULL && !fields[i].read(r, inner, member, fields[i].argument)) {
            return false;
        }
    }
    return true;
}

#define READ_OBJECT(r, path, value, fields) read_object(r, path, value, fields, sizeof(fields) / sizeof((fields)[0]))

// ---- fields ----

static bool read_remark(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    return json_is_string(value) || refuse_value(r, path, value, "a string");
}

static bool read_title(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    const char *text = json_string_value(value);
    size_t characters = 0;
    for (const char *c = text; c != NULL && *c != '\0'; c++) {
        characters += ((unsigned char)*c & 0xc0) != 0x80;
    }
    if (text == NULL || characters > TARN_SCENE_TITLE_MAX) {
        char allowed[ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "a string of up to %d characters", TARN_SCENE_TITLE_MAX);
        return refuse_value(r, path, value, allowed);
    }
    snprintf(r->draft->scene.title, sizeof r->draft->scene.title, "%s", text);
    make_printable(r->draft->scene.title);
    return true;
}

static bool read_size(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    return read_vector(r, path, value, (range){0, TARN_SCENE_SIZE_M_MAX, true, " m"}, r->draft->size_m);
}

static bool read_cell(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    range allowed = {TARN_SCENE_CELL_M_MIN, TARN_SCENE_CELL_M_MAX, false, " m"};
    return read_number(r, path, value, allowed, &r->draft->cell_m);
}

static bool read_dt(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    double dt_s = 0;
    if (!read_number(r, path, value, (range){TARN_SCENE_DT_S_MIN, TARN_SCENE_DT_S_MAX, false, " s"}, &dt_s)) {
        return false;
    }
    r->draft->scene.tank.dt_s = (float)dt_s;
    return true;
}

static bool read_jitter(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    double jitter = 0;
    if (!read_number(r, path, value, (range){0, 1, false, ""}, &jitter)) {
        return false;
    }
    r->draft->scene.tank.jitter = (float)jitter;
    return true;
}

static bool read_seed(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    return read_integer(r, path, value, 0, UINT32_MAX, &r->draft->scene.tank.seed);
}

static bool read_per_axis(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    return read_integer(r, path, value, 1, TARN_SCENE_PER_AXIS_MAX, &r->draft->scene.tank.particles_per_axis);
}

static bool read_particles_max(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    return read_integer(r, path, value, 1, TARN_TANK_PARTICLES_MAX, &r->draft->scene.tank.particles_max);
}

static bool read_parameter(reader *r, const char *path, const json_t *value, int id)
{
    const tarn_parameter_spec *spec = tarn_tank_parameter_spec((tarn_parameter)id);
    double number = 0;
    if (!read_number(r, path, value, (range){(double)spec->min, (double)spec->max, false, ""}, &number)) {
        return false;
    }
    r->draft->scene.tank.parameters[id] = (float)number;
    return true;
}

static bool read_count_parameter(reader *r, const char *path, const json_t *value, int id)
{
    const tarn_parameter_spec *spec = tarn_tank_parameter_spec((tarn_parameter)id);
    uint32_t number = 0;
    if (!read_integer(r, path, value, (uint32_t)spec->min, (uint32_t)spec->max, &number)) {
        return false;
    }
    r->draft->scene.tank.parameters[id] = (float)number;
    return true;
}

static bool read_solver(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    static const field fields[] = {
        {"flip_ratio", false, read_parameter, TARN_PARAMETER_FLIP},
        {"pressure_tolerance", false, read_parameter, TARN_PARAMETER_TOLERANCE},
        {"pressure_iterations", false, read_count_parameter, TARN_PARAMETER_ITERATIONS},
        {"cfl", false, read_parameter, TARN_PARAMETER_CFL},
        {"substeps_max", false, read_count_parameter, TARN_PARAMETER_SUBSTEPS},
        {"density_correction", false, read_parameter, TARN_PARAMETER_DENSITY},
    };
    return READ_OBJECT(r, path, value, fields);
}

enum { BLOCK_MIN, BLOCK_MAX, BLOCK_VELOCITY };

static bool read_block_vector(reader *r, const char *path, const json_t *value, int which)
{
    draft *d = r->draft;
    if (which == BLOCK_VELOCITY) {
        range speeds = {-TARN_SCENE_SPEED_MAX_M_S, TARN_SCENE_SPEED_MAX_M_S, false, " m/s"};
        return read_vector(r, path, value, speeds, d->blocks[d->block_at].velocity_m_s);
    }
    range lengths = {0, TARN_SCENE_SIZE_M_MAX, false, " m"};
    double *corner = which == BLOCK_MIN ? d->blocks[d->block_at].min_m : d->blocks[d->block_at].max_m;
    return read_vector(r, path, value, lengths, corner);
}

static bool read_blocks(reader *r, const char *path, const json_t *value, int argument)
{
    (void)argument;
    static const field fields[] = {
        {"min_m", true, read_block_vector, BLOCK_MIN},
        {"max_m", true, read_block_vector, BLOCK_MAX},
        {"velocity_m_s", false, read_block_vector, BLOCK_VELOCITY},
    };
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count < 1 || count > TARN_TANK_BLOCKS_MAX) {
        char allowed[ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "an array of 1 to %d blocks", TARN_TANK_BLOCKS_MAX);
        return refuse_value(r, path, value, allowed);
    }
    for (size_t i = 0; i < count; i++) {
        char element[PATH_BYTES];
        write_path(element, "%s[%zu]", path, i);
        r->draft->block_at = (uint32_t)i;
        if (!READ_OBJECT(r, element, json_array_get(value, i), fields)) {
            return false;
        }
    }
    r->draft->scene.tank.block_count = (uint32_t)count;
    return true;
}

static bool read_scene(reader *r, const json_t *value)
{
    static const field fields[] = {
        {"$schema", false, read_remark, 0},
        {"title", false, read_title, 0},
        {"description", false, read_remark, 0},
        {"size_m", true, read_size, 0},
        {"cell_m", true, read_cell, 0},
        {"dt_s", false, read_dt, 0},
        {"gravity_m_s2", false, read_parameter, TARN_PARAMETER_GRAVITY},
        {"particles_per_axis", false, read_per_axis, 0},
        {"jitter", false, read_jitter, 0},
        {"seed", false, read_seed, 0},
        {"particles_max", false, read_particles_max, 0},
        {"blocks", true, read_blocks, 0},
        {"solver", false, read_solver, 0},
    };
    return READ_OBJECT(r, "", value, fields);
}

// ---- the fields together ----

/// The size in cells. A size that isn't a whole number of cells is refused, never rounded in silence.
static bool fit_cells(reader *r)
{
    draft *d = r->draft;
    double product = 1;
    for (int axis = 0; axis < 3; axis++) {
        char path[PATH_BYTES];
        write_path(path, "size_m[%d]", axis);
        double cells = d->size_m[axis] / d->cell_m, whole = round(cells);
        double nearest = fmin(fmax(whole, TARN_TANK_CELLS_MIN), TARN_TANK_CELLS_MAX);
        if (fabs(cells - whole) > 1e-4 || whole != nearest) {
            return refuse(r, TARN_E_LIMIT, path,
                          "found %.9g m, which is %.7g cells of %.9g m; allowed is a whole number of cells from %d to "
                          "%d; the nearest is %.9g m (%.0f cells)",
                          d->size_m[axis], cells, d->cell_m, TARN_TANK_CELLS_MIN, TARN_TANK_CELLS_MAX,
                          nearest * d->cell_m, nearest);
        }
        d->scene.tank.cells[axis] = (uint16_t)whole;
        product *= whole;
    }
    if (product > TARN_TANK_CELL_COUNT_MAX) {
        return refuse(r, TARN_E_LIMIT, "cell_m", "found %.9g m, which makes %.0f cells; allowed are %d cells in all",
                      d->cell_m, product, TARN_TANK_CELL_COUNT_MAX);
    }
    d->scene.tank.cell_m = (float)d->cell_m;
    return true;
}

static bool fit_blocks(reader *r)
{
    draft *d = r->draft;
    for (uint32_t i = 0; i < d->scene.tank.block_count; i++) {
        tarn_fluid_block *block = &d->scene.tank.blocks[i];
        for (int axis = 0; axis < 3; axis++) {
            double low = d->blocks[i].min_m[axis], high = d->blocks[i].max_m[axis], size = d->size_m[axis];
            char path[PATH_BYTES];
            write_path(path, "blocks[%u].max_m[%d]", i, axis);
            if (high > size * (1 + 1e-6)) {
                return refuse(r, TARN_E_LIMIT, path, "found %.9g m, allowed is at most the tank's size, %.9g m", high,
                              size);
            }
            if ((float)high <= (float)low) {
                return refuse(r, TARN_E_LIMIT, path, "found %.9g m, allowed is more than min_m[%d], %.9g m", high, axis,
                              low);
            }
            float size_single = (float)d->scene.tank.cells[axis] * d->scene.tank.cell_m;
            block->min_m[axis] = (float)low;
            block->max_m[axis] = fminf((float)high, size_single);
            block->velocity_m_s[axis] = (float)d->blocks[i].velocity_m_s[axis];
        }
    }
    return true;
}

static bool fit_particles(reader *r)
{
    const tarn_tank_desc *tank = &r->draft->scene.tank;
    uint64_t particles = tarn_tank_desc_particles(tank);
    uint32_t max = tank->particles_max != 0 ? tank->particles_max : TARN_TANK_PARTICLES_MAX;
    if (particles == 0) {
        return refuse(r, TARN_E_LIMIT, "blocks",
                      "found blocks too thin to hold a particle; allowed is at least one, with cells of %.9g m",
                      r->draft->cell_m);
    }
    if (particles > max) {
        return refuse(r, TARN_E_LIMIT, tank->particles_max != 0 ? "particles_max" : "blocks",
                      "the blocks need %llu particles with particles_per_axis %u, allowed are %u",
                      (unsigned long long)particles, tank->particles_per_axis, max);
    }
    return true;
}

// ---- whole files ----

tarn_status tarn_scene_read_text(const char *origin, const char *name, const char *text, size_t text_bytes,
                                 tarn_scene *scene, char *why, size_t why_bytes)
{
    reader r = {.origin = origin, .why = why, .why_bytes = why_bytes, .status = TARN_E_MEMORY};
    json_t *json = NULL;
    if (text_bytes > TARN_SCENE_BYTES_MAX) {
        refuse(&r, TARN_E_LIMIT, "", "found %zu bytes, allowed are %d", text_bytes, TARN_SCENE_BYTES_MAX);
        return r.status;
    }
    if (!tarn_scene_name_valid(name)) {
        refuse(&r, TARN_E_MALFORMED, "",
               "found the name \"%.63s\", allowed are 1 to %d of a-z, 0-9 and '-', followed by .json for a file", name,
               TARN_NAME_BYTES_MAX);
        return r.status;
    }
    r.draft = calloc(1, sizeof *r.draft);
    if (r.draft == NULL) {
        refuse(&r, TARN_E_MEMORY, "", "out of memory");
        return r.status;
    }
    tarn_tank_desc_default(&r.draft->scene.tank);
    snprintf(r.draft->scene.name, sizeof r.draft->scene.name, "%s", name);
    snprintf(r.draft->scene.title, sizeof r.draft->scene.title, "%s", name);

    json_error_t error;
    json = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        refuse(&r, TARN_E_MALFORMED, "", "line %d, column %d: this isn't JSON: %s", error.line, error.column,
               error.text);
    } else if (read_scene(&r, json) && fit_cells(&r) && fit_blocks(&r) && fit_particles(&r)) {
        *scene = r.draft->scene;
        r.status = TARN_OK;
    }
    json_decref(json);
    free(r.draft);
    return r.status;
}

/// Reads at most TARN_SCENE_BYTES_MAX + 1 bytes of a regular file.
static bool read_bytes(reader *r, const char *path, char *text, size_t *text_bytes)
{
    bool done = false;
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        refuse(r, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, "", "%s", strerror(errno));
        goto end;
    }
    if (!S_ISREG(status.st_mode)) {
        refuse(r, TARN_E_IO, "", "found something that isn't a file, allowed is a scene file");
        goto end;
    }
    *text_bytes = 0;
    while (*text_bytes <= TARN_SCENE_BYTES_MAX) {
        ssize_t bytes = read(file, text + *text_bytes, TARN_SCENE_BYTES_MAX + 1 - *text_bytes);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0) {
            refuse(r, TARN_E_IO, "", "%s", strerror(errno));
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

tarn_status tarn_scene_read_file(const char *path, tarn_scene *scene, char *why, size_t why_bytes)
{
    reader r = {.origin = path, .why = why, .why_bytes = why_bytes, .status = TARN_E_MEMORY};
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    size_t name_bytes = strlen(file);
    if (name_bytes < 5 || strcmp(file + name_bytes - 5, ".json") != 0) {
        refuse(&r, TARN_E_MALFORMED, "", "found a file name without .json, allowed is NAME.json");
        return r.status;
    }
    char name[TARN_NAME_BYTES_MAX + 2];
    snprintf(name, sizeof name, "%.*s", (int)(name_bytes - 5), file);
    char *text = malloc(TARN_SCENE_BYTES_MAX + 1);
    if (text == NULL) {
        refuse(&r, TARN_E_MEMORY, "", "out of memory");
        return r.status;
    }
    size_t text_bytes = 0;
    if (read_bytes(&r, path, text, &text_bytes)) {
        r.status = tarn_scene_read_text(path, name, text, text_bytes, scene, why, why_bytes);
    }
    free(text);
    return r.status;
}
