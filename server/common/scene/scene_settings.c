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

static bool refuse_form(const setting *s)
{
    return scene_refuse(s->r, TARN_E_MALFORMED, "",
                        "found the setting \"%.100s\", allowed are a field's path, '=' and JSON or a word, such as "
                        "solver.cfl=2 or blocks[0].max_m=[1,0.5,1]",
                        s->text);
}

static bool is_end(char c)
{
    return c == '=' || c == '.' || c == '[';
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

static bool set_in(setting *s, json_t *in, const char *at, int steps);

/// Puts the value there, or goes on in what is there. @param found  borrowed; NULL: nothing  @param made  owned, where
/// something had to be; to be put there
static bool go_on(setting *s, json_t *found, json_t **made, const char *at, int steps)
{
    if (*at == '=') {
        *made = json_incref(s->to);
        return true;
    }
    at += *at == '.';
    if (found == NULL) {
        found = *made = made_for(at);
    }
    return (found != NULL || scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory")) && set_in(s, found, at, steps + 1);
}

static bool set_item(setting *s, json_t *in, const char *at, int steps)
{
    if (!json_is_array(in)) {
        return refuse_place(s, at, "an item", in);
    }
    char *end;
    const size_t digits = strspn(at + 1, "0123456789"), count = json_array_size(in);
    const unsigned long item = strtoul(at + 1, &end, 10);
    if (digits == 0 || digits > 6 || *end != ']' || !is_end(end[1])) {
        return refuse_form(s);
    }
    if (item > count) {
        return scene_refuse(s->r, TARN_E_MALFORMED, "", "found the setting \"%.100s\", allowed is at most [%zu] there",
                            s->text, count);
    }
    json_t *made = NULL;
    const bool done = go_on(s, json_array_get(in, item), &made, end + 1, steps);
    if (made != NULL) {
        const int failed = item < count ? json_array_set_new(in, item, made) : json_array_append_new(in, made);
        return failed == 0 ? done : scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
    }
    return done;
}

static bool set_member(setting *s, json_t *in, const char *at, int steps)
{
    char name[NAME_BYTES];
    const size_t bytes = strspn(at, NAME_CHARACTERS);
    if (bytes == 0 || bytes >= sizeof name || !is_end(at[bytes])) {
        return refuse_form(s);
    }
    if (!json_is_object(in)) {
        return refuse_place(s, at + bytes, "a field", in);
    }
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    json_t *made = NULL;
    const bool done = go_on(s, json_object_get(in, name), &made, at + bytes, steps);
    if (made != NULL && json_object_set_new(in, name, made) != 0) {
        return scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
    }
    return done;
}

static bool set_in(setting *s, json_t *in, const char *at, int steps)
{
    return steps == STEPS_MAX ? refuse_form(s) : *at == '[' ? set_item(s, in, at, steps) : set_member(s, in, at, steps);
}

bool scene_apply_settings(scene_reader *r, json_t *scene)
{
    for (uint32_t i = 0; r->settings != NULL && i < r->settings->count; i++) {
        setting s = {.r = r, .text = r->settings->text[i]};
        const char *equals = strchr(s.text, '=');
        if (equals == NULL) {
            return refuse_form(&s);
        }
        s.to = json_loads(equals + 1, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        s.to = s.to != NULL ? s.to : json_string(equals + 1);
        if (s.to == NULL) { // a word that isn't UTF-8
            return refuse_form(&s);
        }
        const bool done = set_in(&s, scene, s.text, 0);
        json_decref(s.to);
        if (!done) {
            return false;
        }
    }
    return true;
}
