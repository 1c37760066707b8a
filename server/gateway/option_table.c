// The rows, in the order in which --print-config shows them, how values are read and written, and files of them. A
// number whose default lies outside its range is one that nobody said.
#include "server/gateway/option_table.h"
#include "server/base/files.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/gateway/reach.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(tarn_gateway_options, member)

static const char *const role_words[] = {"watch", "play", "own", NULL};
static const char *const creator_words[] = {"nobody", "owners", "everyone", NULL};
static const char *const reader_words[] = {"everyone", "owners", "local", NULL};
static const char *const level_words[] = {"error", "warn", "info", "debug", NULL};
static const char *const format_words[] = {"text", "json", NULL};

/// scheme://host or scheme://host:port, as browsers write it.
static bool is_origin(const char *text)
{
    const char *host = strstr(text, "://");
    return host != NULL && host > text && host[3] && strpbrk(host + 3, "/?# *") == NULL;
}

const tarn_option tarn_option_table[] = {
    {.name = "host",
     .argument = "ADDRESS",
     .help = "Address to listen on (default 127.0.0.1; 0.0.0.0 for every network)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(host)},
    {.name = "port",
     .argument = "N",
     .help = "Port to listen on (default 8080; 0: any free one)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(port),
     .max = 65535},
    {.name = "origin",
     .argument = "URL",
     .help = "Also accept viewers from pages of this origin, and let them read scenes; may be given 16 times",
     .kind = TARN_OPTION_LIST,
     .offset = AT(origins),
     .is_live = true,
     .max = TARN_GATEWAY_ORIGINS_MAX,
     .is_item = is_origin,
     .allowed = "scheme://host or scheme://host:port"},
    {.name = "name",
     .argument = "HOST",
     .help = "A name or address, besides this machine's own, by which it is reached; requests that name another host "
             "are refused; may be given 16 times",
     .kind = TARN_OPTION_LIST,
     .offset = AT(names),
     .is_live = true,
     .max = TARN_GATEWAY_NAMES_MAX,
     .is_item = tarn_reach_name_valid,
     .allowed = "a host's name or an address, without a port"},
    {.name = "open",
     .help = "Whoever reaches the address may do everything, as on this machine: beyond it --guests own needs this",
     .kind = TARN_OPTION_FLAG,
     .offset = AT(is_open),
     .is_live = true},
    {.name = "tls-cert",
     .argument = "FILE",
     .help = "Speak https with this certificate (PEM: its own first, then those that it was issued by); SIGHUP reads "
             "it again",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(tls_certificate)},
    {.name = "tls-key",
     .argument = "FILE",
     .help = "The certificate's private key (PEM, without a password)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(tls_key)},
    {.name = "tls-self-signed",
     .help = "Speak https with a certificate made for this machine's names and addresses and those of --name, about "
             "which browsers ask once",
     .kind = TARN_OPTION_FLAG,
     .offset = AT(tls_self_signed)},
    {.name = "tls-dir",
     .argument = "DIR",
     .help = "Where that one is kept (default: tarn in $XDG_STATE_HOME or in ~/.local/state)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(tls_dir)},
    {.name = "redirect-port",
     .argument = "N",
     .help = "With TLS: a port where requests without it are sent on to https (0: any free one)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(redirect_port),
     .max = 65535},
    {.name = "trusted-proxy",
     .argument = "ADDRESS|NETWORK",
     .help = "A proxy, or a network of them such as 10.0.0.0/8, whose X-Forwarded-For and X-Forwarded-Proto count; may "
             "be given 16 times (default: none)",
     .kind = TARN_OPTION_PROXIES,
     .offset = AT(proxies),
     .is_live = true,
     .max = TARN_GATEWAY_PROXIES_MAX,
     .allowed = "an address or a network such as 10.0.0.0/8 or fd00::/8"},
    {.name = "client",
     .argument = "DIR",
     .help = "The page's files (default: ../share/tarn/client next to the program)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(client)},
    {.name = "scene",
     .argument = "NAME|FILE",
     .help = "What the session starts with (default dam-break)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(scene),
     .group = 1},
    {.name = "guests",
     .argument = "watch|play|own",
     .help = "What those may who come without a key (default own; play where other machines reach the address)",
     .kind = TARN_OPTION_WORD,
     .offset = AT(guests),
     .is_live = true,
     .group = 1,
     .words = role_words},
    {.name = "create",
     .argument = "everyone|owners|nobody",
     .help = "Who may make more tanks; owners: with the key by which one is owned (default everyone; owners where "
             "other machines reach the address)",
     .kind = TARN_OPTION_WORD,
     .offset = AT(creators),
     .is_live = true,
     .group = 1,
     .words = creator_words},
    {.name = "token-keys",
     .argument = "FILE",
     .help = "Keys of those who issue tokens (tarn token), at most 16 lines of a name and 32 to 64 bytes in base64url; "
             "a token has at most 512 bytes; SIGHUP reads it again (default with --store DIR: DIR/secret)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(token_keys),
     .is_live = true,
     .group = 1},
    {.name = "sessions-max",
     .argument = "N",
     .help = "Tanks at once, 1 to 512 (default 8); each worker takes 256 where its memory allows",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(sessions_max),
     .is_live = true,
     .group = 1,
     .min = 1,
     .max = TARN_GATEWAY_SESSIONS_MAX},
    {.name = "load-max",
     .argument = "PERCENT",
     .help =
         "Of a worker's time that its tanks may take, all watched and in real time, for it to get one more than 16; 1 "
         "to 1000 (default 90)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(load_max),
     .is_live = true,
     .group = 1,
     .min = 1,
     .max = TARN_GATEWAY_LOAD_MAX},
    {.name = "viewers-max",
     .argument = "N",
     .help = "Viewers of each tank at once, 1 to 256 (default 256)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(viewers_max),
     .is_live = true,
     .group = 1,
     .min = 1,
     .max = TARN_VIEWERS_MAX},
    {.name = "keep-empty",
     .argument = "S",
     .help = "Seconds, 1 to 86400, that a tank lasts with nobody in it; the first one stays (default 600)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(keep_empty_s),
     .is_live = true,
     .group = 1,
     .min = 1,
     .max = 86400},
    {.name = "store",
     .argument = "DIR",
     .help = "Keep tanks and links in this folder, so that they outlive the program (default: nowhere)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(store),
     .group = 1},
    {.name = "durability",
     .argument = "MS",
     .help = "Milliseconds of what happens, 10 to 10000, that a power cut may cost (default 100); with --store",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(durability_ms),
     .is_live = true,
     .group = 1,
     .min = 10,
     .max = 10000},
    {.name = "history",
     .argument = "MINUTES",
     .help = "Minutes of each tank's time, 0 to 1440, that owners can go back; all tanks' pasts take at most 80 % of "
             "--store-max (default 60); with --store",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(history_minutes),
     .group = 1,
     .max = TARN_GATEWAY_HISTORY_MINUTES_MAX},
    {.name = "store-max",
     .argument = "SIZE",
     .help = "Bytes, or with k, M or G, that the folder may take; where it takes more, the oldest .damaged files go "
             "(default 2G)",
     .kind = TARN_OPTION_BYTES,
     .offset = AT(store_limit.bytes_max),
     .is_live = true,
     .group = 1,
     .min = 1},
    {.name = "store-age",
     .argument = "AGE",
     .help = "How long a file stays there that no tank of this server uses, at least 1h, as 12h or 30d (default 30d)",
     .kind = TARN_OPTION_AGE,
     .offset = AT(store_limit.age_max_s),
     .is_live = true,
     .group = 1,
     .min = TARN_GATEWAY_STORE_AGE_S_MIN,
     .allowed = "1h and more"},
    {.name = "scenes",
     .argument = "DIR",
     .help = "Scenes that viewers may load (default: ../share/tarn/scenes)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(scenes),
     .group = 1},
    {.name = "uploads",
     .argument = "SIZE",
     .help = "Bytes, or with k, M or G, that scenes which owners upload may take together, one owner's a quarter of "
             "them; one scene has at most 32M; with --store they outlive the program (default 0: none are taken)",
     .kind = TARN_OPTION_BYTES,
     .offset = AT(uploads_bytes),
     .group = 1},
    {.name = "devices",
     .argument = "LIST",
     .help = "Where to simulate, a worker for each: cpu, cuda, cuda:0, cuda:1 ... with commas between them, at most "
             "16, such as cuda:0,cuda:1 or cpu,cpu; auto takes a GPU where there is one (default)",
     .kind = TARN_OPTION_DEVICES,
     .offset = AT(devices),
     .group = 2,
     .alias = "device"},
    {.name = "threads",
     .argument = "N",
     .help = "Threads of each CPU worker, 0 to 256; 0: the processors, divided among the CPU workers (default)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(threads),
     .group = 2,
     .max = 256},
    {.name = "fps",
     .argument = "N",
     .help = "Frames sent per second, 1 to 120 (default: 30, and of every step while somebody acts); steps are not "
             "affected",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(fps),
     .group = 2,
     .min = 1,
     .max = 120},
    {.name = "worker",
     .argument = "FILE",
     .help = "The program that simulates (default: tarn-worker next to this one)",
     .kind = TARN_OPTION_TEXT,
     .offset = AT(worker),
     .group = 3},
    {.name = "worker-timeout",
     .argument = "S",
     .help = "Seconds without an answer before it is killed, 1 to 600 (default: 0.8 and eight steps of its slowest "
             "tank)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(worker_timeout_s),
     .is_live = true,
     .group = 3,
     .min = 1,
     .max = 600},
    {.name = "drain",
     .argument = "S",
     .help = "Seconds, 0 to 20, that SIGTERM leaves for balancers to notice: newcomers are refused meanwhile (default "
             "0)",
     .kind = TARN_OPTION_NUMBER,
     .offset = AT(drain_s),
     .is_live = true,
     .group = 3,
     .max = TARN_GATEWAY_DRAIN_S_MAX},
    {.name = "metrics",
     .argument = "everyone|owners|local",
     .help =
         "Who may read /metrics: owners need Authorization: Bearer KEY with the key, or a token, by which a tank is "
         "owned; local: only programs on this machine, and no requests that a proxy passes on and marks, as by "
         "X-Forwarded-For (default everyone)",
     .kind = TARN_OPTION_WORD,
     .offset = AT(metrics_readers),
     .is_live = true,
     .group = 3,
     .words = reader_words},
    {.name = "log",
     .argument = "error|warn|info|debug",
     .help = "How much to log on stderr (default info); workers that run keep theirs when it is read again",
     .kind = TARN_OPTION_WORD,
     .offset = AT(log_level),
     .is_live = true,
     .group = 3,
     .words = level_words},
    {.name = "log-format",
     .argument = "text|json",
     .help = "What log lines are: sentences (default), or JSON objects with ts, level, program, msg and what they are "
             "about",
     .kind = TARN_OPTION_WORD,
     .offset = AT(log_format),
     .group = 3,
     .words = format_words},
};

const uint32_t tarn_option_count = sizeof tarn_option_table / sizeof tarn_option_table[0];

_Static_assert(sizeof tarn_option_table / sizeof tarn_option_table[0] <= TARN_OPTIONS_MAX, "lists by option hold all");
_Static_assert(sizeof(tarn_role) == sizeof(int) && sizeof(tarn_creators) == sizeof(int) &&
                   sizeof(tarn_metrics_readers) == sizeof(int) && sizeof(tarn_log_level) == sizeof(int) &&
                   sizeof(tarn_log_format) == sizeof(int),
               "words are set as int");

void tarn_option_defaults(tarn_gateway_options *options)
{
    *options = (tarn_gateway_options){.host = "127.0.0.1",
                                      .port = 8080,
                                      .redirect_port = -1,
                                      .scene = "dam-break",
                                      .devices = {1, {{TARN_DEVICE_CHOOSE_AUTO, 0}}},
                                      .worker_timeout_s = TARN_GATEWAY_WORKER_TIMEOUT_S,
                                      .load_max = TARN_GATEWAY_LOAD,
                                      .sessions_max = TARN_GATEWAY_SESSIONS,
                                      .viewers_max = TARN_VIEWERS_MAX,
                                      .guests = TARN_ROLE_COUNT,
                                      .creators = TARN_CREATORS_COUNT,
                                      .history_minutes = TARN_GATEWAY_HISTORY_MINUTES,
                                      .durability_ms = TARN_GATEWAY_STORE_DURABILITY_MS,
                                      .keep_empty_s = TARN_GATEWAY_KEEP_EMPTY_S,
                                      .log_level = TARN_LOG_INFO,
                                      .log_format = TARN_LOG_TEXT};
    options->store_limit.bytes_max = TARN_GATEWAY_STORE_MAX_MB * (uint64_t)1000000;
    options->store_limit.age_max_s = TARN_GATEWAY_STORE_AGE_S;
}

// ---- values ----
// A value is a text first, whatever it comes from: one reader for the command line, the environment and the file, which
// besides must have the right JSON type.

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

/// What is allowed for an option, in words.
static void option_allowed(const tarn_option *option, tarn_text text)
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
    option_allowed(option, allowed);
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
    option_allowed(option, allowed);
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

/// Sets an option by what a file has for it. As tarn_option_set otherwise; texts lie in the value.
static tarn_status option_set_json(const tarn_option *option, tarn_gateway_options *options, const json_t *value,
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

/// What an option is, as a file would have it. @return the caller's; NULL: nobody said it, or out of memory
static json_t *option_json(const tarn_option *option, const tarn_gateway_options *options)
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

bool tarn_option_same(const tarn_option *option, const tarn_gateway_options *a, const tarn_gateway_options *b)
{
    json_t *first = option_json(option, a), *second = option_json(option, b);
    const bool same = first == NULL ? second == NULL : second != NULL && json_equal(first, second);
    json_decref(first);
    json_decref(second);
    return same;
}

// ---- the file of --config ----
// jansson reads; each member then goes the way of an option on the command line.

static const char SCHEMA_KEY[] = "$schema";

/// By its name. @return NULL: there is none
static const tarn_option *option_find(const char *name)
{
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        if (strcmp(tarn_option_table[i].name, name) == 0) {
            return &tarn_option_table[i];
        }
    }
    return NULL;
}

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
        const tarn_option *option = option_find(key);
        if (option == NULL && strcmp(key, SCHEMA_KEY) == 0) {
            continue;
        }
        if (option == NULL) {
            say_unknown(origin, key, why);
            return TARN_E_MALFORMED;
        }
        const tarn_status status = option_set_json(option, options, value, reason);
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
        json_t *value = option_json(&tarn_option_table[i], options);
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
        json_t *schema = schema_of(option), *value = option_json(option, &defaults);
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
