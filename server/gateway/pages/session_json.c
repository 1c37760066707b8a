// JSON in and out by jansson, field by field, with a sentence for what isn't allowed.
#include "server/gateway/pages/session_json.h"
#include "protocol/message_text.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/// A name out of JSON. @return TARN_OK or TARN_E_MALFORMED
static tarn_status read_name(const json_t *value, const char *field, tarn_name name, tarn_text why)
{
    if (!json_is_string(value)) {
        snprintf(why, sizeof(tarn_text), "%s: found no string, allowed is a string of up to %d bytes", field,
                 TARN_NAME_BYTES_MAX);
        return TARN_E_MALFORMED;
    }
    const size_t length = json_string_length(value);
    const char *text = json_string_value(value);
    if (length > TARN_NAME_BYTES_MAX) {
        snprintf(why, sizeof(tarn_text), "%s: found %zu bytes, allowed are up to %d", field, length,
                 TARN_NAME_BYTES_MAX);
        return TARN_E_MALFORMED;
    }
    const char *fault = tarn_text_fault((const uint8_t *)text, length);
    if (fault != NULL) {
        snprintf(why, sizeof(tarn_text), "%s: %s", field, fault);
        return TARN_E_MALFORMED;
    }
    memcpy(name, text, length);
    name[length] = 0;
    return TARN_OK;
}

enum { FOUND_BYTES_MAX = 40 };

/// A value as JSON, in ASCII, as far as a sentence has room for it.
static void write_found(const json_t *value, char found[FOUND_BYTES_MAX + 1])
{
    const size_t count = json_dumpb(value, found, FOUND_BYTES_MAX, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    found[count <= FOUND_BYTES_MAX ? count : 0] = 0;
    if (found[0] == 0) {
        snprintf(found, FOUND_BYTES_MAX + 1, "something long");
    }
}

/// "FIELD: found VALUE, allowed is ..." @return TARN_E_MALFORMED
static tarn_status refuse_value(const char *field, const json_t *value, const char *allowed, tarn_text why)
{
    char found[FOUND_BYTES_MAX + 1];
    write_found(value, found);
    snprintf(why, sizeof(tarn_text), "%s: found %s, allowed is %s", field, found, allowed);
    return TARN_E_MALFORMED;
}

tarn_status tarn_session_field_refuse(const char *field, const char *allowed, tarn_text why)
{
    char found[FOUND_BYTES_MAX + 1];
    json_t *name = json_string(field);
    write_found(name, found);
    json_decref(name);
    snprintf(why, sizeof(tarn_text), "found the unknown field %s, allowed %s", found, allowed);
    return TARN_E_MALFORMED;
}

json_t *tarn_session_body_load(const char *bytes, size_t byte_count, const char *allowed, tarn_text why)
{
    json_error_t error;
    json_t *object = json_loadb(bytes, byte_count, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(object)) {
        return object;
    }
    if (object != NULL) {
        snprintf(why, sizeof(tarn_text), "the body is no JSON object; allowed is %s", allowed);
    } else if (json_error_code(&error) == json_error_duplicate_key) {
        snprintf(why, sizeof(tarn_text), "the body has a field twice, the second time up to its byte %d; allowed is %s",
                 error.position, allowed);
    } else if (json_error_code(&error) == json_error_premature_end_of_input) {
        snprintf(why, sizeof(tarn_text), "the body is no JSON object: it ends too early; allowed is %s", allowed);
    } else { // jansson's own words may have bytes of the body in them that aren't UTF-8
        snprintf(why, sizeof(tarn_text), "the body is no JSON object: what is wrong ends at its byte %d; allowed is %s",
                 error.position, allowed);
    }
    json_decref(object);
    return NULL;
}

static tarn_status read_fields(json_t *object, tarn_session_request *request, tarn_text why)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        tarn_status status = TARN_OK;
        if (strcmp(key, "scene") == 0) {
            status = read_name(value, "scene", request->scene, why);
        } else if (strcmp(key, "name") == 0) {
            status = read_name(value, "name", request->name, why);
        } else if (strcmp(key, "listed") == 0 && json_is_boolean(value)) {
            request->listed = json_is_true(value);
        } else if (strcmp(key, "listed") == 0) {
            status = refuse_value(key, value, "true or false", why);
        } else {
            status = tarn_session_field_refuse(key, "are scene, name and listed", why);
        }
        if (status != TARN_OK) {
            return status;
        }
    }
    return TARN_OK;
}

tarn_status tarn_session_request_read(const char *bytes, size_t byte_count, tarn_session_request *request,
                                      tarn_text why)
{
    memset(request, 0, sizeof *request);
    request->listed = true;
    json_t *object = tarn_session_body_load(bytes, byte_count, "one such as {\"scene\": \"dam-break\"}", why);
    if (object == NULL) {
        return TARN_E_MALFORMED;
    }
    tarn_status status = read_fields(object, request, why);
    json_decref(object);
    if (status == TARN_OK && request->scene[0] == 0) {
        snprintf(why, sizeof(tarn_text), "scene: found none, allowed is the name of a scene");
        status = TARN_E_MALFORMED;
    }
    return status;
}

tarn_status tarn_session_move_read(const char *bytes, size_t byte_count, uint32_t worker_count, int *worker,
                                   tarn_text why)
{
    *worker = -1;
    if (byte_count == 0) {
        return TARN_OK;
    }
    json_t *object =
        tarn_session_body_load(bytes, byte_count, "one such as {\"worker\": 1}; it may also be left out", why);
    if (object == NULL) {
        return TARN_E_MALFORMED;
    }
    const json_t *found = json_object_get(object, "worker");
    const json_int_t value = json_is_integer(found) ? json_integer_value(found) : -1;
    tarn_status status = TARN_OK;
    const char *key;
    json_t *any;
    json_object_foreach(object, key, any)
    {
        if (any != found && status == TARN_OK) {
            status = tarn_session_field_refuse(key, "is worker", why);
        }
    }
    if (status != TARN_OK) {
        json_decref(object);
        return status;
    }
    if (found != NULL && (value < 0 || value >= (json_int_t)worker_count)) {
        char allowed[32];
        snprintf(allowed, sizeof allowed, "0 to %u", worker_count - 1);
        status = refuse_value("worker", found, allowed, why);
    } else {
        *worker = (int)value;
    }
    json_decref(object);
    return status;
}

/// Writes and lets go of a value, which may be NULL.
static size_t write_value(json_t *value, char *text, size_t text_bytes)
{
    size_t count = value != NULL ? json_dumpb(value, text, text_bytes, JSON_COMPACT | JSON_REAL_PRECISION(4)) : 0;
    json_decref(value);
    return count <= text_bytes ? count : 0;
}

size_t tarn_session_list_write(const tarn_session_info *infos, uint32_t count, const tarn_name *scenes,
                               uint32_t scene_count, bool may_create, char *text, size_t text_bytes)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *remarks = json_array();
        for (uint32_t k = 0; infos[i].state != NULL && k < infos[i].state->remark_count; k++) {
            json_array_append_new(remarks, json_string(infos[i].state->remarks[k]));
        }
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:f, s:f, s:I, s:i, s:s, s:o}", "session",
                                              infos[i].session, "title", infos[i].title, "scene", infos[i].scene,
                                              "scene_is_own", infos[i].scene_is_own, "viewers", (int)infos[i].viewers,
                                              "particles", (int)infos[i].particles, "realtime_factor",
                                              infos[i].realtime_factor, "load", infos[i].load, "unconverged",
                                              (json_int_t)infos[i].unconverged, "worker", infos[i].worker, "device",
                                              infos[i].device, "remarks", remarks));
    }
    json_t *names = json_array();
    for (uint32_t i = 0; i < scene_count; i++) {
        json_array_append_new(names, json_string(scenes[i]));
    }
    return write_value(json_pack("{s:o, s:o, s:b}", "sessions", list, "scenes", names, "create", may_create), text,
                       text_bytes);
}

size_t tarn_session_made_write(const char *session, const tarn_role_keys *keys, char *text, size_t text_bytes)
{
    return write_value(json_pack("{s:s, s:{s:s, s:s, s:s}}", "session", session, "keys", "watch",
                                 keys->keys[TARN_ROLE_WATCH], "play", keys->keys[TARN_ROLE_PLAY], "own",
                                 keys->keys[TARN_ROLE_OWN]),
                       text, text_bytes);
}

size_t tarn_session_move_write(const char *session, uint32_t worker, char *text, size_t text_bytes)
{
    return write_value(json_pack("{s:s, s:i}", "session", session, "worker", (int)worker), text, text_bytes);
}

size_t tarn_session_error_write(const char *sentence, char *text, size_t text_bytes)
{
    return write_value(json_pack("{s:s}", "error", sentence), text, text_bytes);
}
