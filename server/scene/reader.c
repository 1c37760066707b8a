// The core of the reader of scenes: sentences, objects and arrays, values. Begin at scene_read_object.
#include "server/scene/reader.h"
#include "server/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOUND_BYTES = 64,   // of a value that is quoted in a sentence
    ORIGIN_BYTES = 160, // of a file's name in a sentence
};

void scene_fingerprint(scene_reader *r, const void *bytes, size_t byte_count)
{
    for (size_t i = 0; i < byte_count; i++) {
        r->fingerprint = (r->fingerprint ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    }
}

// ---- sentences ----

bool scene_refuse(scene_reader *r, tarn_status status, const char *path, const char *format, ...)
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
    tarn_make_printable(r->why);
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

bool scene_refuse_value(scene_reader *r, const char *path, const json_t *value, const char *allowed)
{
    char found[FOUND_BYTES];
    describe(value, found);
    return scene_refuse(r, TARN_E_MALFORMED, path, "found %s, allowed is %s", found, allowed);
}

void scene_write_path(char path[SCENE_PATH_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, SCENE_PATH_BYTES, format, arguments);
    va_end(arguments);
}

// ---- objects and arrays ----

static bool refuse_unknown(scene_reader *r, const char *path, const char *key, const scene_field *fields,
                           size_t field_count)
{
    char allowed[SCENE_ALLOWED_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < field_count && used < sizeof allowed; i++) {
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", i == 0 ? "" : ", ", fields[i].name);
    }
    return scene_refuse(r, TARN_E_MALFORMED, path, "found the unknown field \"%.40s\", allowed are %s", key, allowed);
}

bool scene_read_object(scene_reader *r, const char *path, const json_t *value, void *into, const scene_field *fields,
                       size_t field_count, uint32_t *given)
{
    if (!json_is_object(value)) {
        return scene_refuse_value(r, path, value, "an object");
    }
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)value, key, member)
    {
        size_t i = 0;
        while (i < field_count && strcmp(fields[i].name, key) != 0) {
            i++;
        }
        if (i == field_count) {
            return refuse_unknown(r, path, key, fields, field_count);
        }
    }
    uint32_t found = 0;
    for (size_t i = 0; i < field_count; i++) {
        member = json_object_get(value, fields[i].name);
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s%s%s", path, path[0] ? "." : "", fields[i].name);
        if (member == NULL && fields[i].required) {
            return scene_refuse(r, TARN_E_MALFORMED, inner, "the field is missing, and it has no default");
        }
        if (member != NULL && !fields[i].read(r, inner, member, (char *)into + fields[i].offset, fields[i].rule)) {
            return false;
        }
        found |= member != NULL ? 1u << i : 0;
    }
    if (given != NULL) {
        *given = found;
    }
    return true;
}

bool scene_read_list(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    const scene_list *list = rule;
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count < list->min || count > list->max) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "an array of %u to %u %s", list->min, list->max, list->what);
        return scene_refuse_value(r, path, value, allowed);
    }
    for (size_t i = 0; i < count; i++) {
        char element[SCENE_PATH_BYTES];
        scene_write_path(element, "%s[%zu]", path, i);
        void *item = (char *)into + list->items_offset + i * list->item_bytes;
        if (!list->item(r, element, json_array_get(value, i), item, NULL)) {
            return false;
        }
    }
    *(uint32_t *)((char *)into + list->count_offset) = (uint32_t)count;
    return true;
}

// ---- values ----
// Of single fields: numbers in ranges, vectors, choices.

static bool refuse_number(scene_reader *r, const char *path, const json_t *value, const scene_range *allowed)
{
    char text[SCENE_ALLOWED_BYTES];
    const char *what = allowed->whole ? "a whole number" : "a number";
    const char *unit = allowed->unit != NULL ? allowed->unit : "", *space = unit[0] != '\0' ? " " : "";
    // Limits that are floats are told with the digits that floats have; whole ones with all of theirs.
    int digits = allowed->whole ? 10 : 7;
    snprintf(text, sizeof text, allowed->above_min ? "%s above %.*g and up to %.*g%s%s" : "%s from %.*g to %.*g%s%s",
             what, digits, allowed->min, digits, allowed->max, space, unit);
    return scene_refuse_value(r, path, value, text);
}

bool scene_read_double(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    const scene_range *allowed = rule;
    double found = json_number_value(value);
    bool inside = false;
    if (allowed->whole) {
        inside = found == floor(found) && found >= allowed->min && found <= allowed->max;
    } else {
        // Compared as floats, which is what the tank computes with: 0.1 is then the 0.1f of a limit.
        float single = (float)found;
        inside = single <= (float)allowed->max &&
                 (allowed->above_min ? single > (float)allowed->min : single >= (float)allowed->min);
    }
    if (!json_is_number(value) || !inside) {
        return refuse_number(r, path, value, allowed);
    }
    *(double *)into = found;
    return true;
}

bool scene_read_float(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    double number = 0;
    if (!scene_read_double(r, path, value, &number, rule)) {
        return false;
    }
    *(float *)into = (float)number;
    return true;
}

bool scene_read_whole(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    double number = 0;
    if (!scene_read_double(r, path, value, &number, rule)) {
        return false;
    }
    *(uint32_t *)into = (uint32_t)number;
    return true;
}

bool scene_read_vector(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    double *vector = into;
    if (!json_is_array(value) || json_array_size(value) != 3) {
        return scene_refuse_value(r, path, value, "an array of 3 numbers: x, y, z");
    }
    for (size_t axis = 0; axis < 3; axis++) {
        char element[SCENE_PATH_BYTES];
        scene_write_path(element, "%s[%zu]", path, axis);
        if (!scene_read_double(r, element, json_array_get(value, axis), &vector[axis], rule)) {
            return false;
        }
    }
    return true;
}

bool scene_read_flag(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    if (!json_is_boolean(value)) {
        return scene_refuse_value(r, path, value, "true or false");
    }
    *(uint32_t *)into = json_is_true(value) ? 1 : 0;
    return true;
}

bool scene_read_choice(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    const scene_choice *choice = rule;
    const char *found = json_string_value(value);
    char allowed[SCENE_ALLOWED_BYTES] = "one of ";
    size_t used = strlen(allowed);
    for (uint32_t i = 0; i < choice->name_count && used < sizeof allowed; i++) {
        if (found != NULL && strcmp(found, choice->names[i]) == 0) {
            *(uint32_t *)into = i;
            return true;
        }
        used +=
            (size_t)snprintf(allowed + used, sizeof allowed - used, "%s\"%s\"", i == 0 ? "" : ", ", choice->names[i]);
    }
    return scene_refuse_value(r, path, value, allowed);
}

bool scene_read_remark(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)into;
    (void)rule;
    return json_is_string(value) || scene_refuse_value(r, path, value, "a string");
}
