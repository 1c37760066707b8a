// A value is a text first, whatever it comes from: one reader for the command line, the environment and the file, which
// besides must have the right JSON type.
#include "server/gateway/option_value.h"
#include "server/common/option_number.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *place(const tarn_option *option, tarn_gateway_options *options)
{
    return (char *)options + option->offset;
}

static const void *place_of(const tarn_option *option, const tarn_gateway_options *options)
{
    return (const char *)options + option->offset;
}

bool tarn_option_is_list(const tarn_option *option)
{
    return option->kind == TARN_OPTION_LIST || option->kind == TARN_OPTION_PROXIES;
}

static size_t size_of(const tarn_option *option)
{
    static const size_t sizes[] = {
        [TARN_OPTION_TEXT] = sizeof(const char *),        [TARN_OPTION_FLAG] = sizeof(bool),
        [TARN_OPTION_NUMBER] = sizeof(uint32_t),          [TARN_OPTION_WORD] = sizeof(int),
        [TARN_OPTION_BYTES] = sizeof(uint64_t),           [TARN_OPTION_AGE] = sizeof(uint64_t),
        [TARN_OPTION_DEVICES] = sizeof(tarn_device_list), [TARN_OPTION_LIST] = sizeof(tarn_option_texts),
        [TARN_OPTION_PROXIES] = sizeof(tarn_proxies)};
    return sizes[option->kind];
}

void tarn_option_clear(const tarn_option *option, tarn_gateway_options *options)
{
    memset(place(option, options), 0, size_of(option));
}

void tarn_option_copy(const tarn_option *option, const tarn_gateway_options *from, tarn_gateway_options *to)
{
    memcpy(place(option, to), place_of(option, from), size_of(option));
}

bool tarn_option_same(const tarn_option *option, const tarn_gateway_options *a, const tarn_gateway_options *b)
{
    json_t *first = tarn_option_json(option, a), *second = tarn_option_json(option, b);
    const bool same = first == NULL ? second == NULL : second != NULL && json_equal(first, second);
    json_decref(first);
    json_decref(second);
    return same;
}

/// "everyone, owners and nobody": the widest first.
static void list_words(const char *const *words, tarn_text text)
{
    size_t count = 0, at = 0;
    while (words[count] != NULL) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        const char *between = i == 0 ? "" : i + 1 < count ? ", " : " and ";
        at += (size_t)snprintf(text + at, sizeof(tarn_text) - at, "%s%s", between, words[i]);
    }
}

void tarn_option_allowed(const tarn_option *option, tarn_text text)
{
    tarn_text words;
    switch (option->kind) {
    case TARN_OPTION_FLAG:
        snprintf(text, sizeof(tarn_text), "allowed are true and false");
        break;
    case TARN_OPTION_NUMBER:
        snprintf(text, sizeof(tarn_text), "allowed is a whole number from %" PRIu64 " to %" PRIu64, option->min,
                 option->max);
        break;
    case TARN_OPTION_WORD:
        list_words(option->words, words);
        snprintf(text, sizeof(tarn_text), "allowed are %.400s", words);
        break;
    case TARN_OPTION_BYTES:
        snprintf(text, sizeof(tarn_text), "allowed is %sa whole number from 1 to 1000000 and nothing, k, M or G",
                 option->min == 0 ? "0, or " : "");
        break;
    case TARN_OPTION_AGE:
        snprintf(text, sizeof(tarn_text), "allowed is a whole number from 1 to 1000000 and s, m, h or d");
        break;
    case TARN_OPTION_DEVICES:
        snprintf(text, sizeof(tarn_text),
                 "allowed are cpu, cuda, cuda:0, cuda:1 ... with commas between them, and auto");
        break;
    case TARN_OPTION_LIST:
    case TARN_OPTION_PROXIES:
        snprintf(text, sizeof(tarn_text), "allowed is %s", option->allowed);
        break;
    case TARN_OPTION_TEXT:
        snprintf(text, sizeof(tarn_text), "allowed is a text of 1 to %d bytes", TARN_OPTION_TEXT_BYTES_MAX);
        break;
    }
}

static tarn_status refuse(const tarn_option *option, const char *text, tarn_text why)
{
    tarn_text allowed;
    tarn_option_allowed(option, allowed);
    snprintf(why, sizeof(tarn_text), "found \"%.100s\", %.380s", text, allowed);
    return TARN_E_MALFORMED;
}

static tarn_status set_amount(const tarn_option *option, uint64_t *value, const char *text, tarn_text why)
{
    const bool is_age = option->kind == TARN_OPTION_AGE;
    const uint64_t found = is_age ? tarn_number_age_s(text) : tarn_number_bytes(text);
    const bool is_none = option->min == 0 && strcmp(text, "0") == 0;
    if (found == 0 && !is_none) {
        return refuse(option, text, why);
    }
    if (found < option->min) {
        snprintf(why, sizeof(tarn_text), "found \"%.100s\", allowed is %s", text, option->allowed);
        return TARN_E_MALFORMED;
    }
    *value = found;
    return TARN_OK;
}

static tarn_status set_word(const tarn_option *option, int *value, const char *text, tarn_text why)
{
    for (int i = 0; option->words[i] != NULL; i++) {
        if (strcmp(option->words[i], text) == 0) {
            *value = i;
            return TARN_OK;
        }
    }
    return refuse(option, text, why);
}

static tarn_status add_text(const tarn_option *option, tarn_option_texts *texts, const char *text, tarn_text why)
{
    if (texts->count == option->max) {
        snprintf(why, sizeof(tarn_text), "given more than %" PRIu64 " times", option->max);
        return TARN_E_LIMIT;
    }
    if (strlen(text) >= sizeof texts->texts[0] || !option->is_item(text)) {
        return refuse(option, text, why);
    }
    memcpy(texts->texts[texts->count++], text, strlen(text) + 1);
    return TARN_OK;
}

tarn_status tarn_option_set(const tarn_option *option, tarn_gateway_options *options, const char *text, tarn_text why)
{
    void *at = place(option, options);
    char device_why[TARN_DEVICE_WHY_BYTES];
    uint64_t number;
    switch (option->kind) {
    case TARN_OPTION_TEXT:
        if (strlen(text) > TARN_OPTION_TEXT_BYTES_MAX) {
            return refuse(option, text, why);
        }
        *(const char **)at = text;
        return TARN_OK;
    case TARN_OPTION_FLAG:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            return refuse(option, text, why);
        }
        *(bool *)at = text[0] == 't';
        return TARN_OK;
    case TARN_OPTION_NUMBER:
        if (!tarn_number_read(text, option->min, option->max, &number)) {
            return refuse(option, text, why);
        }
        *(uint32_t *)at = (uint32_t)number;
        return TARN_OK;
    case TARN_OPTION_WORD:
        return set_word(option, at, text, why);
    case TARN_OPTION_BYTES:
    case TARN_OPTION_AGE:
        return set_amount(option, at, text, why);
    case TARN_OPTION_DEVICES:
        if (!tarn_device_list_read(text, at, device_why)) {
            snprintf(why, sizeof(tarn_text), "%s", device_why);
            return TARN_E_MALFORMED;
        }
        return TARN_OK;
    case TARN_OPTION_LIST:
        return add_text(option, at, text, why);
    case TARN_OPTION_PROXIES:
        return tarn_proxies_add(at, text, why);
    }
    return TARN_E_MALFORMED;
}

/// A wrong type is quoted as the file has it, cut where it is long.
static tarn_status refuse_type(const tarn_option *option, const json_t *value, bool is_item, tarn_text why)
{
    tarn_text allowed;
    char *found = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    tarn_option_allowed(option, allowed);
    snprintf(why, sizeof(tarn_text), "found %.60s, %s%.380s", found != NULL ? found : "a value",
             tarn_option_is_list(option) && !is_item ? "allowed is a list, of which each: " : "", allowed);
    free(found);
    return TARN_E_MALFORMED;
}

static tarn_status set_list(const tarn_option *option, tarn_gateway_options *options, const json_t *list, tarn_text why)
{
    tarn_status status = TARN_OK;
    if (!json_is_array(list)) {
        return refuse_type(option, list, false, why);
    }
    tarn_option_clear(option, options);
    for (size_t i = 0; i < json_array_size(list) && status == TARN_OK; i++) {
        const json_t *item = json_array_get(list, i);
        status = json_is_string(item) ? tarn_option_set(option, options, json_string_value(item), why)
                                      : refuse_type(option, item, true, why);
    }
    return status;
}

tarn_status tarn_option_set_json(const tarn_option *option, tarn_gateway_options *options, const json_t *value,
                                 tarn_text why)
{
    char digits[24];
    if (tarn_option_is_list(option)) {
        return set_list(option, options, value, why);
    }
    if (option->kind == TARN_OPTION_FLAG) {
        return json_is_boolean(value) ? tarn_option_set(option, options, json_is_true(value) ? "true" : "false", why)
                                      : refuse_type(option, value, false, why);
    }
    if (option->kind == TARN_OPTION_NUMBER) {
        snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (!json_is_integer(value) || tarn_option_set(option, options, digits, why) != TARN_OK) {
            return refuse_type(option, value, false, why);
        }
        return TARN_OK;
    }
    if (!json_is_string(value) || json_string_length(value) == 0) {
        return refuse_type(option, value, false, why);
    }
    return tarn_option_set(option, options, json_string_value(value), why);
}

/// With the largest unit that leaves nothing over.
static json_t *amount_json(uint64_t value, const char *letters, const uint32_t *times)
{
    char text[32];
    int unit = value == 0 ? 0 : 3;
    while (unit > 0 && value % times[unit] != 0) {
        unit--;
    }
    snprintf(text, sizeof text, "%" PRIu64 "%.1s", value / times[unit], letters[unit] == ' ' ? "" : letters + unit);
    return json_string(text);
}

static json_t *devices_json(const tarn_device_list *list)
{
    char text[TARN_DEVICE_LIST_MAX * TARN_DEVICE_WORD_BYTES] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        char word[TARN_DEVICE_WORD_BYTES];
        tarn_device_word_write(&list->devices[i], word);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? "," : "", word);
    }
    return json_string(text);
}

static json_t *list_json(const tarn_option *option, const tarn_gateway_options *options)
{
    char text[TARN_PROXIES_TEXT_BYTES];
    const tarn_option_texts *texts = place_of(option, options);
    const tarn_proxies *proxies = place_of(option, options);
    const bool is_texts = option->kind == TARN_OPTION_LIST;
    const uint32_t count = is_texts ? texts->count : proxies->count;
    json_t *list = count > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_texts) {
            tarn_proxies_text(proxies, i, text);
        }
        json_array_append_new(list, json_string(is_texts ? texts->texts[i] : text));
    }
    return list;
}

json_t *tarn_option_json(const tarn_option *option, const tarn_gateway_options *options)
{
    static const uint32_t bytes_times[] = {1, 1000, 1000000, 1000000000}, age_times[] = {1, 60, 3600, 86400};
    const void *at = place_of(option, options);
    const char *text;
    int word;
    uint32_t number;
    switch (option->kind) {
    case TARN_OPTION_TEXT:
        text = *(const char *const *)at;
        return text != NULL ? json_string(text) : NULL;
    case TARN_OPTION_FLAG:
        return json_boolean(*(const bool *)at);
    case TARN_OPTION_NUMBER:
        number = *(const uint32_t *)at;
        return number >= option->min && number <= option->max ? json_integer(number) : NULL;
    case TARN_OPTION_WORD:
        word = *(const int *)at;
        for (int i = 0; option->words[i] != NULL; i++) {
            if (i == word) {
                return json_string(option->words[i]);
            }
        }
        return NULL;
    case TARN_OPTION_BYTES:
        return amount_json(*(const uint64_t *)at, " kMG", bytes_times);
    case TARN_OPTION_AGE:
        return amount_json(*(const uint64_t *)at, "smhd", age_times);
    case TARN_OPTION_DEVICES:
        return devices_json(at);
    case TARN_OPTION_LIST:
    case TARN_OPTION_PROXIES:
        return list_json(option, options);
    }
    return NULL;
}
