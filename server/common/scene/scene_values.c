// Values of single fields: numbers in ranges, vectors, choices, colours, names.
#include "server/common/scene/scene_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

bool scene_read_vector_float(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
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

bool scene_read_colour(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
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

bool scene_read_remark(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)into;
    (void)rule;
    return json_is_string(value) || scene_refuse_value(r, path, value, "a string");
}

bool scene_read_identifier(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
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

size_t scene_characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}
