// jansson reads; each member then goes the way of an option on the command line (option_value.h).
#include "server/gateway/config_file.h"
#include "server/common/file_bytes.h"
#include "server/common/near_name.h"
#include "server/common/printable.h"
#include "server/common/text_cursor.h"
#include "server/gateway/option_value.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char SCHEMA_KEY[] = "$schema";

static void say_unknown(const char *origin, const char *key, tarn_text why)
{
    const char *names[TARN_OPTIONS_MAX];
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        names[i] = tarn_option_table[i].name;
    }
    const char *near = tarn_nearest_name(key, names, tarn_option_count);
    snprintf(why, sizeof(tarn_text), "%.250s: found \"%.60s\", which is no option; %s%s%s", origin, key,
             near != NULL ? "did you mean \"" : "allowed are those that --help lists", near != NULL ? near : "",
             near != NULL ? "\"?" : "");
}

static tarn_status set_all(json_t *root, const char *origin, tarn_gateway_options *options, tarn_text why)
{
    const char *key;
    json_t *value;
    tarn_text reason;
    if (!json_is_object(root)) {
        snprintf(why, sizeof(tarn_text), "%.250s: allowed is an object, such as {\"port\": 8080}", origin);
        return TARN_E_MALFORMED;
    }
    json_object_foreach(root, key, value)
    {
        const tarn_option *option = tarn_option_find(key);
        if (option == NULL && strcmp(key, SCHEMA_KEY) == 0) {
            continue;
        }
        if (option == NULL) {
            say_unknown(origin, key, why);
            return TARN_E_MALFORMED;
        }
        const tarn_status status = tarn_option_set_json(option, options, value, reason);
        if (status != TARN_OK) {
            snprintf(why, sizeof(tarn_text), "%.100s: %s: %.380s", origin, key, reason);
            return status;
        }
    }
    return TARN_OK;
}

tarn_status tarn_config_read(const char *bytes, size_t byte_count, const char *origin, tarn_gateway_options *options,
                             json_t **text, tarn_text why)
{
    json_error_t error;
    tarn_status status = TARN_E_MALFORMED;
    bytes = tarn_text_begin_at(bytes, &byte_count);
    json_t *root = bytes != NULL ? json_loadb(bytes, byte_count, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (bytes == NULL) {
        snprintf(why, sizeof(tarn_text), "%.250s: " TARN_TEXT_WIDE, origin);
    } else if (root == NULL) {
        snprintf(why, sizeof(tarn_text), "%.250s:%d:%d: %s", origin, error.line, error.column, error.text);
    } else {
        status = set_all(root, origin, options, why);
    }
    if (status != TARN_OK) {
        tarn_make_printable(why);
        json_decref(root);
        return status;
    }
    *text = root;
    return TARN_OK;
}

tarn_status tarn_config_file_read(const char *path, tarn_gateway_options *options, json_t **text, tarn_text why)
{
    char *bytes;
    size_t byte_count;
    tarn_status status = tarn_file_bytes_read(path, TARN_GATEWAY_CONFIG_BYTES_MAX, "a file of options", &bytes,
                                              &byte_count, why, sizeof(tarn_text));
    if (status == TARN_OK) {
        status = tarn_config_read(bytes, byte_count, path, options, text, why);
        free(bytes);
    }
    return status;
}

/// @param root  given away  @return with a line end
static char *dump(json_t *root)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER), *line = NULL;
    json_decref(root);
    if (text != NULL && (line = realloc(text, strlen(text) + 2)) == NULL) {
        free(text);
    } else if (line != NULL) {
        strcat(line, "\n");
    }
    return line;
}

char *tarn_config_write(const tarn_gateway_options *options)
{
    json_t *root = json_object();
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        json_t *value = tarn_option_json(&tarn_option_table[i], options);
        if (value != NULL) {
            json_object_set_new(root, tarn_option_table[i].name, value);
        }
    }
    return dump(root);
}

static json_t *text_schema(const char *pattern)
{
    return pattern != NULL
               ? json_pack("{ssss}", "type", "string", "pattern", pattern)
               : json_pack("{sssisi}", "type", "string", "minLength", 1, "maxLength", TARN_OPTION_TEXT_BYTES_MAX);
}

static json_t *schema_of(const tarn_option *option)
{
    json_t *words;
    switch (option->kind) {
    case TARN_OPTION_FLAG:
        return json_pack("{ss}", "type", "boolean");
    case TARN_OPTION_NUMBER:
        return json_pack("{sssIsI}", "type", "integer", "minimum", (json_int_t)option->min, "maximum",
                         (json_int_t)option->max);
    case TARN_OPTION_WORD:
        words = json_array();
        for (int i = 0; option->words[i] != NULL; i++) {
            json_array_append_new(words, json_string(option->words[i]));
        }
        return json_pack("{so}", "enum", words);
    case TARN_OPTION_BYTES:
        return text_schema("^[0-9]{1,7}[kMG]?$");
    case TARN_OPTION_AGE:
        return text_schema("^[0-9]{1,7}[smhd]$");
    case TARN_OPTION_DEVICES:
        return text_schema("^(auto|(cpu|cuda(:[0-9]{1,2})?)(,(cpu|cuda(:[0-9]{1,2})?)){0,15})$");
    case TARN_OPTION_LIST:
    case TARN_OPTION_PROXIES:
        return json_pack("{sss{ss}sI}", "type", "array", "items", "type", "string", "maxItems",
                         (json_int_t)option->max);
    case TARN_OPTION_TEXT:
        break;
    }
    return text_schema(NULL);
}

char *tarn_config_schema(void)
{
    tarn_gateway_options defaults;
    json_t *members = json_pack("{s{ss}}", SCHEMA_KEY, "type", "string");
    tarn_option_defaults(&defaults);
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        const tarn_option *option = &tarn_option_table[i];
        json_t *schema = schema_of(option), *value = tarn_option_json(option, &defaults);
        char help[1024];
        snprintf(help, sizeof help, "%s.%s", option->help, option->is_live ? " SIGHUP changes it." : "");
        json_object_set_new(schema, "description", json_string(help));
        if (value != NULL) {
            json_object_set_new(schema, "default", value);
        }
        json_object_set_new(members, option->name, schema);
    }
    return dump(json_pack("{sssssssbso}", SCHEMA_KEY, "https://json-schema.org/draft/2020-12/schema", "title",
                          "Options of tarnd: the file of --config", "type", "object", "additionalProperties", 0,
                          "properties", members));
}
