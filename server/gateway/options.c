// Where values come from, lowest first: defaults, the file of --config, the environment, the command line. Then what
// they say together is checked. argp only gathers: a value is read where all are, and again at each reload. Begin at
// gather, then tarn_gateway_options_parse.
#include "server/base/options.h"
#include "server/base/token.h"
#include "server/gateway/option_table.h"
#include "server/gateway/options.h"
#include "server/gateway/reach.h"
#include "server/gateway/viewer/rate.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the command line ----

enum {
    KEY_FIRST = 256, // then places in the table
    KEY_CONFIG = KEY_FIRST + TARN_OPTIONS_MAX,
    KEY_PRINT_CONFIG,
    KEY_PRINT_SCHEMA,
};

static const struct argp_option option_own[] = {
    {"config", KEY_CONFIG, "FILE", 0,
     "Options from a JSON file, {\"port\": 80, \"name\": [\"tank.example\"]}; the environment (TARN_PORT) and this "
     "command line come before it. SIGHUP reads it again",
     4},
    {"print-config", KEY_PRINT_CONFIG, NULL, 0, "Print what holds as such a file, and end", 4},
    {"print-schema", KEY_PRINT_SCHEMA, NULL, 0, "Print the schema of such files (JSON Schema 2020-12), and end", 4},
};

enum { OWN_COUNT = sizeof option_own / sizeof option_own[0] };

/// The command line as it was given, which stands above what a reload reads.
static struct {
    const char *config;
    uint32_t count;
    struct {
        const tarn_option *option;
        const char *text;
    } *given;
    bool prints_config, prints_schema;
} command_line;

/// What was said at the start; what isn't live is compared with it.
static tarn_gateway_options said_first;

// ---- gathering what is said ----

/// Puts in front of a sentence whose it is.
static tarn_status blame(const char *whose, tarn_status status, tarn_text why)
{
    tarn_text sentence;
    if (status != TARN_OK) {
        snprintf(sentence, sizeof sentence, "%.50s: %.455s", whose, why);
        memcpy(why, sentence, sizeof sentence);
    }
    return status;
}

/// What the environment says of an option. @param name  TARN_NAME  @return NULL: nothing
static const char *in_environment(const char *option, char name[64])
{
    size_t at = (size_t)snprintf(name, 64, "TARN_");
    for (; *option != 0 && at < 63; option++, at++) {
        name[at] = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
    }
    name[at] = 0;
    const char *value = getenv(name);
    return value != NULL && value[0] != 0 ? value : NULL;
}

/// Items with commas between them.
static tarn_status set_items(const tarn_option *option, tarn_gateway_options *options, const char *text, tarn_text why)
{
    tarn_status status = TARN_OK;
    tarn_option_clear(option, options);
    for (const char *end = text; status == TARN_OK && *end != 0; text = end + 1) {
        char item[512];
        end = text + strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)(end - text < 511 ? end - text : 511), text);
        status = tarn_option_set(option, options, item, why);
    }
    return status;
}

static tarn_status take_environment(tarn_gateway_options *options, tarn_text why)
{
    char name[64];
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < tarn_option_count && status == TARN_OK; i++) {
        const tarn_option *option = &tarn_option_table[i];
        const char *text = in_environment(option->name, name);
        if (text != NULL) {
            status = tarn_option_is_list(option) ? set_items(option, options, text, why)
                                                 : tarn_option_set(option, options, text, why);
            blame(name, status, why);
        }
    }
    return status;
}

static tarn_status take_command_line(tarn_gateway_options *options, tarn_text why)
{
    bool was_given[TARN_OPTIONS_MAX] = {false};
    char name[64];
    for (uint32_t i = 0; i < command_line.count; i++) {
        const tarn_option *option = command_line.given[i].option;
        bool *before = &was_given[option - tarn_option_table];
        if (tarn_option_is_list(option) && !*before) {
            tarn_option_clear(option, options); // those of the file and the environment
        }
        *before = true;
        const tarn_status status = tarn_option_set(option, options, command_line.given[i].text, why);
        if (status != TARN_OK) {
            snprintf(name, sizeof name, "--%s", option->name);
            return blame(name, status, why);
        }
    }
    return TARN_OK;
}

/// @param options  whose file_text is the caller's in any case
static tarn_status gather(tarn_gateway_options *options, tarn_text why)
{
    char name[64];
    tarn_option_defaults(options);
    options->config = command_line.config != NULL ? command_line.config : in_environment("config", name);
    tarn_status status = TARN_OK;
    if (options->config != NULL) {
        status = blame(command_line.config != NULL ? "--config" : "TARN_CONFIG",
                       tarn_config_file_read(options->config, options, &options->file_text, why), why);
    }
    if (status == TARN_OK) {
        status = take_environment(options, why);
    }
    return status == TARN_OK ? take_command_line(options, why) : status;
}

// ---- what it says together ----

/// Beyond this machine everybody plays and nobody owns, unless somebody says so.
static bool settle_rights(tarn_gateway_options *options, tarn_text why)
{
    options->is_local = tarn_reach_is_local(options->host);
    const bool is_free = options->is_local || options->is_open;
    options->guests_max = is_free ? TARN_ROLE_OWN : TARN_ROLE_PLAY;
    if (options->guests == TARN_ROLE_COUNT) {
        options->guests = options->guests_max;
    } else if (options->guests > options->guests_max) {
        snprintf(why, sizeof(tarn_text),
                 "--guests: found own with --host %.200s, where whoever reaches this machine could then change and end "
                 "everything; allowed are watch and play, or own with --open, which says that it is meant so",
                 options->host);
        return false;
    }
    if (options->creators == TARN_CREATORS_COUNT) {
        options->creators = is_free ? TARN_CREATORS_EVERYONE : TARN_CREATORS_OWNERS;
    }
    return true;
}

/// Where a self-signed certificate is kept unless --tls-dir says so. @return NULL: nothing tells
static const char *default_tls_dir(void)
{
    static char path[4096];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (state != NULL && state[0] == '/') {
        length = snprintf(path, sizeof path, "%s/tarn", state);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, sizeof path, "%s/.local/state/tarn", home);
    }
    return length > 0 && (size_t)length < sizeof path ? path : NULL;
}

/// @return what is wrong; NULL: nothing
static const char *tls_fault(tarn_gateway_options *options)
{
    const bool has_tls = options->tls_certificate != NULL || options->tls_self_signed;
    if (options->tls_certificate == NULL && options->tls_key != NULL) {
        return "found --tls-key alone, allowed are --tls-cert and --tls-key together";
    }
    if (options->tls_certificate != NULL && options->tls_key == NULL) {
        return "found --tls-cert alone, allowed are --tls-cert and --tls-key together";
    }
    if (options->tls_certificate != NULL && options->tls_self_signed) {
        return "found --tls-cert and --tls-self-signed, allowed is one of them";
    }
    if (options->tls_dir != NULL && !options->tls_self_signed) {
        return "found --tls-dir, allowed only with --tls-self-signed, which keeps its certificate there";
    }
    if (options->redirect_port >= 0 && !has_tls) {
        return "found --redirect-port, allowed only with --tls-cert or --tls-self-signed";
    }
    if (options->tls_self_signed && options->tls_dir == NULL) {
        options->tls_dir = default_tls_dir();
        if (options->tls_dir == NULL) {
            return "--tls-self-signed: neither $XDG_STATE_HOME nor $HOME says where to keep the certificate; "
                   "name a folder with --tls-dir";
        }
    }
    return NULL;
}

static tarn_status settle(tarn_gateway_options *options, tarn_text why)
{
    const char *fault = tls_fault(options);
    if (fault != NULL) {
        snprintf(why, sizeof(tarn_text), "%s", fault);
        return TARN_E_MALFORMED;
    }
    if (options->redirect_port > 0 && (uint32_t)options->redirect_port == options->port) {
        snprintf(why, sizeof(tarn_text), "--redirect-port: found %d, which is --port; allowed is another one",
                 options->redirect_port);
        return TARN_E_MALFORMED;
    }
    return settle_rights(options, why) ? TARN_OK : TARN_E_MALFORMED;
}

// ---- the text around the options of --help ----

static const char help[] =
    "Serves live tanks of fluid to browsers.\v"
    "Limits: 512 connections, or as many as the limit of open files leaves beside what workers need, 32 from one "
    "address (this machine excepted), 256 viewers in a session; a message from a viewer 16384 bytes, 1000 messages a "
    "second; 2 frames sent and not acknowledged, 4 to 8 where later ones refer to them. One address may have a "
    "quarter of the viewers' places and of the tanks (this machine excepted), and make 10 tanks a minute; 256 of its "
    "viewers may join at once, then 20 a second. A tank that nobody watches rests after 3 seconds. A new tank goes "
    "to the worker whose tanks take the least of its time. A worker takes 16 tanks whatever they cost, and up to 256 "
    "within --load-max. A worker that fails is started again at once, then after 0.1 s and ever more slowly, after 8 "
    "times in a row once in 10 s and at last once a minute; its tanks go on where they were, the others' aren't "
    "touched.\n\n"
    "/healthz answers 200 while a worker is ready and tanks that are watched make frames, /readyz while newcomers "
    "are welcome besides, /metrics is for Prometheus. SIGINT and SIGHUP end the program within 2 seconds; a second "
    "one ends it at once. SIGTERM lets viewers go first, which takes 2.5 seconds and those of --drain at most. Where "
    "there is a file of options, TLS, or keys for tokens (--store has one), SIGHUP reads these and the certificate "
    "again instead, and viewers stay; options that need a new start are named in the log. A file of options has at "
    "most 65536 bytes. Of uploaded scenes (--uploads) each has at most 32 MiB and 17 files of 8 MiB, one owner 16 of "
    "them and 10 a minute, all together 256; two come at once. A certificate's file has at most 1 MiB and 8 "
    "certificates behind the first; the port of --redirect-port takes 64 connections. Exit status: 0 it was ended, 1 "
    "it failed, 2 wrong options.";

_Static_assert(TARN_GATEWAY_CONNECTIONS_MAX == 512 && TARN_GATEWAY_CONNECTIONS_PER_IP_MAX == 32 &&
                   TARN_VIEWERS_MAX == 256 && TARN_MESSAGE_BYTES_MAX == 16384 &&
                   TARN_GATEWAY_MESSAGES_PER_S_MAX == 1000 && TARN_FRAMES_UNACKNOWLEDGED_MAX == 2 &&
                   TARN_VIEWER_RATE_IN_FLIGHT_MIN == 4 && TARN_VIEWER_RATE_IN_FLIGHT_MAX == 8 &&
                   TARN_GATEWAY_CREATE_PER_MINUTE == 10 && TARN_GATEWAY_JOIN_ADDRESS_BURST == 256 &&
                   TARN_GATEWAY_JOIN_ADDRESS_MS == 50 && TARN_GATEWAY_SHARE == 4 && TARN_GATEWAY_SESSIONS_MAX == 512 &&
                   TARN_GATEWAY_SESSIONS == 8 && TARN_GATEWAY_LOAD == 90 && TARN_GATEWAY_LOAD_MAX == 1000 &&
                   TARN_GATEWAY_WORKER_TANKS_ANYHOW == 16 && TARN_GATEWAY_KEEP_EMPTY_S == 600 &&
                   TARN_GATEWAY_IDLE_MS == 3000 && TARN_GATEWAY_WORKER_BACKOFF_MS == 100 &&
                   TARN_GATEWAY_WORKER_FAILURES_MAX == 8 && TARN_GATEWAY_WORKER_REST_MS == 10000 &&
                   TARN_GATEWAY_WORKER_REST_MS_MAX == 60000 && TARN_GATEWAY_WORKERS_MAX == 16 &&
                   TARN_GATEWAY_DRAIN_VIEWERS_MS_MAX == 2500 && TARN_GATEWAY_DRAIN_S_MAX == 20 &&
                   TARN_GATEWAY_TLS_FILE_BYTES_MAX == 1 << 20 && TARN_GATEWAY_TLS_CHAIN_MAX == 8 &&
                   TARN_GATEWAY_REDIRECTS_MAX == 64 && TARN_GATEWAY_NAMES_MAX == 16 && TARN_TOKEN_KEYS_MAX == 16 &&
                   TARN_PASS_BYTES_MAX == 512 && TARN_GATEWAY_HISTORY_MINUTES == 60 &&
                   TARN_GATEWAY_HISTORY_MINUTES_MAX == 1440 && TARN_GATEWAY_HISTORY_SHARE == 80 &&
                   TARN_GATEWAY_STORE_MAX_MB == 2000 && TARN_GATEWAY_STORE_AGE_S == 30 * 86400 &&
                   TARN_GATEWAY_STORE_AGE_S_MIN == 3600 && TARN_GATEWAY_CONFIG_BYTES_MAX == 65536,
               "the help text states these limits");
_Static_assert(TARN_GATEWAY_UPLOAD_BYTES_MAX == 32 << 20 && TARN_GATEWAY_UPLOADS_OWN_MAX == 16 &&
                   TARN_GATEWAY_UPLOADS_PER_MINUTE == 10 && TARN_GATEWAY_UPLOADS_MAX == 256 &&
                   TARN_GATEWAY_UPLOADING_MAX == 2,
               "the help text states these, too");
_Static_assert(1000 * TARN_GATEWAY_DRAIN_S_MAX + TARN_GATEWAY_DRAIN_VIEWERS_MS_MAX + TARN_GATEWAY_END_MS_MAX +
                       TARN_GATEWAY_STORE_END_MS_MAX <
                   30000,
               "deploy/tarnd.service leaves 30 seconds");

// ---- at the start, and again at each reload ----

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    tarn_text why;
    switch (key) {
    case KEY_CONFIG:
        command_line.config = text;
        return 0;
    case KEY_PRINT_CONFIG:
        command_line.prints_config = true;
        return 0;
    case KEY_PRINT_SCHEMA:
        command_line.prints_schema = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "found \"%s\", allowed are options only", text);
        return 0;
    case ARGP_KEY_END:
        if (gather(options, why) != TARN_OK) {
            argp_error(state, "%s", why);
        }
        said_first = *options;
        if (settle(options, why) != TARN_OK) {
            argp_error(state, "%s", why);
        }
        return 0;
    default:
        if (key < KEY_FIRST || key >= KEY_FIRST + (int)tarn_option_count) {
            return ARGP_ERR_UNKNOWN;
        }
        command_line.given[command_line.count].option = &tarn_option_table[key - KEY_FIRST];
        command_line.given[command_line.count++].text = text != NULL ? text : "true";
        return 0;
    }
}

/// @param list  with room for the table, its aliases, those of one's own and the end
static void list_options(struct argp_option *list)
{
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        const tarn_option *option = &tarn_option_table[i];
        const int flags = option->argument == NULL ? OPTION_ARG_OPTIONAL : 0;
        *list++ = (struct argp_option){.name = option->name,
                                       .key = KEY_FIRST + (int)i,
                                       .arg = option->argument == NULL ? "true|false" : option->argument,
                                       .flags = flags,
                                       .doc = option->help,
                                       .group = option->group};
        if (option->alias != NULL) {
            *list++ = (struct argp_option){.name = option->alias, .flags = OPTION_ALIAS, .group = option->group};
        }
    }
    memcpy(list, option_own, sizeof option_own);
    list[OWN_COUNT] = (struct argp_option){0};
}

/// Prints a text that was made, and ends the program.
static void print(char *text)
{
    const bool is_printed = text != NULL && fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    free(text);
    exit(is_printed ? 0 : 1);
}

void tarn_gateway_options_parse(int argc, char **argv, tarn_gateway_options *options)
{
    static struct argp_option list[2 * TARN_OPTIONS_MAX + OWN_COUNT + 1];
    static struct argp argp = {list, parse_option, NULL, help, NULL, NULL, NULL};
    // deploy/run passes on what isn't its own, under its own name where it only asks what is wrong with it.
    static const char run[] = "deploy/run", *const of_run[] = {"build-only", "no-install", NULL},
                      *const none[] = {NULL};
    const bool is_run = argc > 0 && strcmp(argv[0], run) == 0;
    argp_program_version = "tarnd " TARN_VERSION;
    argp_err_exit_status = TARN_EXIT_USAGE;
    if (argc > 0) {
        argv[0] = is_run ? "tarnd"
                         : program_invocation_short_name; // the C library's sentences would begin with the whole path
    }
    list_options(list);
    command_line.given = calloc((size_t)argc + 1, sizeof *command_line.given);
    if (command_line.given == NULL) {
        fprintf(stderr, "tarnd: out of memory\n");
        exit(1);
    }
    tarn_options_check(&argp, argc, argv, 0, is_run ? run : program_invocation_short_name, is_run ? of_run : none);
    argp_parse(&argp, argc, argv, 0, NULL, options);
    if (command_line.prints_schema) {
        print(tarn_config_schema());
    } else if (command_line.prints_config) {
        print(tarn_config_write(options));
    }
}

void tarn_gateway_options_forget(void)
{
    free(command_line.given);
    command_line.given = NULL;
    command_line.count = 0;
}

tarn_status tarn_gateway_options_reload(const tarn_gateway_options *now, tarn_gateway_options *fresh, bool *stays,
                                        tarn_text why)
{
    tarn_status status = gather(fresh, why);
    for (uint32_t i = 0; i < tarn_option_count && status == TARN_OK; i++) {
        const tarn_option *option = &tarn_option_table[i];
        stays[i] = !option->is_live && !tarn_option_same(option, fresh, &said_first);
        if (!option->is_live) {
            tarn_option_copy(option, now, fresh);
        }
    }
    if (status == TARN_OK) {
        status = settle(fresh, why);
    }
    if (status != TARN_OK) {
        json_decref(fresh->file_text);
        fresh->file_text = NULL;
    }
    return status;
}

void tarn_gateway_options_adopt(tarn_gateway_options *options, const tarn_gateway_options *fresh)
{
    if (options->file_text != said_first.file_text) { // there lies for ever what isn't live
        json_decref(options->file_text);
    }
    *options = *fresh;
}
