// Fields that are set otherwise than the file says, before the scene is read.
//
//     blocks[0].max_m[1]=0.5     a member, an item, a member, an item: what isn't there is made on the way
#include "server/common/scene/scene_reader.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 8, NAME_BYTES = 64 };
static const char NAME_CHARACTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789_$";

typedef struct setting {
    scene_reader *r;
    const char *text; ///< all of it
    json_t *to;       ///< owned: what stands behind its first '='
} setting;

static bool is_end(char c)
{
    return c == '=' || c == '.' || c == '[';
}

/// Where a step of a path, a member or an item, ends. @return NULL: it isn't one
static const char *step_end(const char *at)
{
    if (*at == '[') {
        const size_t digits = strspn(at + 1, "0123456789");
        return digits > 0 && digits <= 6 && at[1 + digits] == ']' && is_end(at[2 + digits]) ? at + 2 + digits : NULL;
    }
    const size_t bytes = strspn(at, NAME_CHARACTERS);
    return bytes > 0 && bytes < NAME_BYTES && is_end(at[bytes]) ? at + bytes : NULL;
}

/// What stands behind the first '=': JSON, or else a word. @return owned; NULL: a word that isn't UTF-8
static json_t *value_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value != NULL ? value : json_string(text);
}

bool tarn_scene_setting_is_well_formed(const char *text)
{
    const char *at = text;
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        at = step_end(at);
        if (at == NULL || *at == '=') {
            break;
        }
        at += *at == '.';
    }
    json_t *value = at != NULL && *at == '=' ? value_of(at + 1) : NULL;
    json_decref(value);
    return value != NULL;
}

static bool refuse_place(const setting *s, const char *end, const char *what, const json_t *found)
{
    static const char *const types[] = {"an object", "a list", "a string", "a number",
                                        "a number",  "a bool", "a bool",   "null"};
    char path[SCENE_PATH_BYTES];
    scene_write_path(path, "%.*s", (int)(end - s->text), s->text);
    return scene_refuse(s->r, TARN_E_MALFORMED, path, "set is %s of %s", what, types[json_typeof(found)]);
}

/// What `at` goes on with is a list's item or an object's member.
static json_t *made_for(const char *at)
{
    return *at == '[' ? json_array() : json_object();
}

static bool set_in(setting *s, json_t *in, const char *at);

/// Puts the value there, or goes on in what is there. @param found  borrowed; NULL: nothing  @param made  owned, where
/// something had to be; to be put there
static bool go_on(setting *s, json_t *found, json_t **made, const char *at)
{
    if (*at == '=') {
        *made = json_incref(s->to);
        return true;
    }
    at += *at == '.';
    if (found == NULL) {
        found = *made = made_for(at);
    }
    return (found != NULL || scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory")) && set_in(s, found, at);
}

static bool set_item(setting *s, json_t *in, const char *at)
{
    if (!json_is_array(in)) {
        return refuse_place(s, at, "an item", in);
    }
    const size_t count = json_array_size(in);
    const unsigned long item = strtoul(at + 1, NULL, 10);
    if (item > count) {
        return scene_refuse(s->r, TARN_E_MALFORMED, "", "found the setting \"%.100s\", allowed is at most [%zu] there",
                            s->text, count);
    }
    json_t *made = NULL;
    const bool done = go_on(s, json_array_get(in, item), &made, step_end(at));
    if (made != NULL) {
        const int failed = item < count ? json_array_set_new(in, item, made) : json_array_append_new(in, made);
        return failed == 0 ? done : scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
    }
    return done;
}

static bool set_member(setting *s, json_t *in, const char *at)
{
    char name[NAME_BYTES];
    const size_t bytes = (size_t)(step_end(at) - at);
    if (!json_is_object(in)) {
        return refuse_place(s, at + bytes, "a field", in);
    }
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    json_t *made = NULL;
    const bool done = go_on(s, json_object_get(in, name), &made, at + bytes);
    if (made != NULL && json_object_set_new(in, name, made) != 0) {
        return scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
    }
    return done;
}

static bool set_in(setting *s, json_t *in, const char *at)
{
    return *at == '[' ? set_item(s, in, at) : set_member(s, in, at);
}

bool scene_apply_settings(scene_reader *r, json_t *scene)
{
    for (uint32_t i = 0; r->settings != NULL && i < r->settings->count; i++) {
        setting s = {.r = r, .text = r->settings->text[i]};
        if (!tarn_scene_setting_is_well_formed(s.text)) {
            return scene_refuse(s.r, TARN_E_MALFORMED, "", "found the setting \"%.100s\", allowed are %s", s.text,
                                TARN_SCENE_SETTING_FORM);
        }
        s.to = value_of(strchr(s.text, '=') + 1);
        if (s.to == NULL) {
            return scene_refuse(s.r, TARN_E_MEMORY, "", "out of memory");
        }
        const bool done = set_in(&s, scene, s.text);
        json_decref(s.to);
        if (!done) {
            return false;
        }
    }
    return true;
}
