// tarnd's options by argp; what they say together is checked at the end of parsing. Start at option_list.
#include "server/gateway/gateway_options.h"
#include "server/common/option_number.h"
#include "server/common/role_word.h"
#include "server/gateway/gateway_help.h"
#include "server/gateway/reach.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_PORT = 256,
    OPTION_HOST,
    OPTION_SCENE,
    OPTION_SCENES,
    OPTION_CLIENT,
    OPTION_WORKER,
    OPTION_THREADS,
    OPTION_DEVICES,
    OPTION_FPS,
    OPTION_ORIGIN,
    OPTION_PROXY,
    OPTION_NAME,
    OPTION_OPEN,
    OPTION_TIMEOUT,
    OPTION_GUESTS,
    OPTION_SESSIONS,
    OPTION_KEEP,
    OPTION_STORE,
    OPTION_DURABILITY,
    OPTION_HISTORY,
    OPTION_STORE_MAX,
    OPTION_STORE_AGE,
    OPTION_CREATE,
    OPTION_TOKEN_KEYS,
    OPTION_DRAIN,
    OPTION_LOG,
    OPTION_LOG_FORMAT,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_TLS_SELF_SIGNED,
    OPTION_TLS_DIR,
    OPTION_REDIRECT_PORT,
};

static const struct argp_option option_list[] = {
    {"host", OPTION_HOST, "ADDRESS", 0, "Address to listen on (default 127.0.0.1; 0.0.0.0 for every network)", 0},
    {"port", OPTION_PORT, "N", 0, "Port to listen on (default 8080; 0: any free one)", 0},
    {"origin", OPTION_ORIGIN, "URL", 0,
     "Also accept viewers from pages of this origin, and let them read scenes; may be repeated", 0},
    {"name", OPTION_NAME, "HOST", 0,
     "A name or address, besides this machine's own, by which it is reached; requests that name another host are "
     "refused; may be given 16 times",
     0},
    {"open", OPTION_OPEN, NULL, 0,
     "Whoever reaches the address may do everything, as on this machine: beyond it --guests own needs this", 0},
    {"tls-cert", OPTION_TLS_CERT, "FILE", 0,
     "Speak https with this certificate (PEM: its own first, then those that it was issued by); SIGHUP reads it again",
     0},
    {"tls-key", OPTION_TLS_KEY, "FILE", 0, "The certificate's private key (PEM, without a password)", 0},
    {"tls-self-signed", OPTION_TLS_SELF_SIGNED, NULL, 0,
     "Speak https with a certificate made for this machine's names and addresses, about which browsers ask once", 0},
    {"tls-dir", OPTION_TLS_DIR, "DIR", 0,
     "Where that one is kept (default: tarn in $XDG_STATE_HOME or in ~/.local/state)", 0},
    {"redirect-port", OPTION_REDIRECT_PORT, "N", 0,
     "With TLS: a port where requests without it are sent on to https (0: any free one)", 0},
    {"trusted-proxy", OPTION_PROXY, "ADDRESS|NETWORK", 0,
     "A proxy, or a network of them such as 10.0.0.0/8, whose X-Forwarded-For and X-Forwarded-Proto count; may be "
     "repeated (default: none)",
     0},
    {"client", OPTION_CLIENT, "DIR", 0, "The page's files (default: ../share/tarn/client next to the program)", 0},
    {"scene", OPTION_SCENE, "NAME|FILE", 0, "What the session starts with (default dam-break)", 1},
    {"guests", OPTION_GUESTS, "watch|play|own", 0,
     "What those may who come without a key (default own; play where "
     "other machines reach the address)",
     1},
    {"create", OPTION_CREATE, "everyone|owners|nobody", 0,
     "Who may make more tanks; owners: with the key by which one is owned (default everyone; owners where other "
     "machines reach the address)",
     1},
    {"token-keys", OPTION_TOKEN_KEYS, "FILE", 0,
     "Keys of those who issue tokens (tarn token), at most 16 lines of a name and 32 to 64 bytes in base64url; a token "
     "has at most 512 bytes (default with --store DIR: DIR/secret)",
     1},
    {"sessions-max", OPTION_SESSIONS, "N", 0, "Tanks at once, 1 to 64 (default 8); each worker takes 16", 1},
    {"keep-empty", OPTION_KEEP, "S", 0,
     "Seconds, 1 to 86400, that a tank lasts with nobody in it; the first one stays (default 600)", 1},
    {"store", OPTION_STORE, "DIR", 0,
     "Keep tanks and links in this folder, so that they outlive the program (default: nowhere)", 1},
    {"durability", OPTION_DURABILITY, "MS", 0,
     "Milliseconds of what happens, 10 to 10000, that a power cut may cost (default 100); with --store", 1},
    {"history", OPTION_HISTORY, "MINUTES", 0,
     "Minutes of each tank's time, 0 to 1440, that owners can go back; all tanks' pasts take at most 80 % of "
     "--store-max "
     "(default 60); with --store",
     1},
    {"store-max", OPTION_STORE_MAX, "SIZE", 0,
     "Bytes, or with k, M or G, that the folder may take; where it takes more, the oldest .damaged files go (default "
     "2G)",
     1},
    {"store-age", OPTION_STORE_AGE, "AGE", 0,
     "How long a file stays there that no tank of this server uses, at least 1h, as 12h or 30d (default 30d)", 1},
    {"scenes", OPTION_SCENES, "DIR", 0, "Scenes that viewers may load (default: ../share/tarn/scenes)", 1},
    {"devices", OPTION_DEVICES, "LIST", 0,
     "Where to simulate, a worker for each: cpu, cuda, cuda:0, cuda:1 ... with commas between them, at most 16, such "
     "as "
     "cuda:0,cuda:1 or cpu,cpu; auto takes a GPU where there is one (default)",
     2},
    {"device", OPTION_DEVICES, NULL, OPTION_ALIAS, NULL, 2},
    {"threads", OPTION_THREADS, "N", 0,
     "Threads of each CPU worker; 0: the processors, divided among the CPU workers (default)", 2},
    {"fps", OPTION_FPS, "N", 0,
     "Frames sent per second, 1 to 120 (default: 30, and of every step while somebody acts); steps are not affected",
     2},
    {"worker", OPTION_WORKER, "FILE", 0, "The program that simulates (default: tarn-worker next to this one)", 3},
    {"worker-timeout", OPTION_TIMEOUT, "S", 0,
     "Seconds without an answer before it is killed, 1 to 600 (default: 0.8 and eight steps of its slowest tank)", 3},
    {"drain", OPTION_DRAIN, "S", 0,
     "Seconds, 0 to 20, that SIGTERM leaves for balancers to notice: newcomers are refused meanwhile (default 0)", 3},
    {"log", OPTION_LOG, "error|warn|info|debug", 0, "How much to log on stderr (default info)", 3},
    {"log-format", OPTION_LOG_FORMAT, "text|json", 0,
     "What log lines are: sentences (default), or JSON objects with ts, level, program, msg and what they are about",
     3},
    {0},
};

/// scheme://host or scheme://host:port, as browsers write it.
static bool is_origin(const char *text)
{
    const char *host = strstr(text, "://");
    return host != NULL && host > text && host[3] && strpbrk(host + 3, "/?# *") == NULL;
}

static void add_origin(struct argp_state *state, tarn_gateway_options *options, const char *origin)
{
    if (options->origin_count == TARN_GATEWAY_ORIGINS_MAX) {
        argp_error(state, "--origin: given more than %d times", TARN_GATEWAY_ORIGINS_MAX);
    } else if (!is_origin(origin)) {
        argp_error(state, "--origin: found \"%s\", allowed is scheme://host or scheme://host:port", origin);
    } else {
        options->origins[options->origin_count++] = origin;
    }
}

static void add_proxy(struct argp_state *state, tarn_gateway_options *options, const char *text)
{
    tarn_text why;
    if (tarn_proxies_add(&options->proxies, text, why) != TARN_OK) {
        argp_error(state, "--trusted-proxy: %s", why);
    }
}

static void add_name(struct argp_state *state, tarn_gateway_options *options, const char *name)
{
    if (options->name_count == TARN_GATEWAY_NAMES_MAX) {
        argp_error(state, "--name: given more than %d times", TARN_GATEWAY_NAMES_MAX);
    } else if (!tarn_reach_name_valid(name)) {
        argp_error(state, "--name: found \"%s\", allowed is a host's name or an address, without a port", name);
    } else {
        options->names[options->name_count++] = name;
    }
}

// Whether these were said: what isn't depends on the address.
static bool guests_are_given, creators_are_given;

static void parse_creators(const char *text, struct argp_state *state)
{
    static const char *const words[] = {"nobody", "owners", "everyone"};
    tarn_gateway_options *options = state->input;
    for (int i = 0; i <= TARN_CREATORS_EVERYONE; i++) {
        if (strcmp(text, words[i]) == 0) {
            options->creators = (tarn_creators)i;
            creators_are_given = true;
            return;
        }
    }
    argp_error(state, "--create: found \"%s\", allowed are everyone, owners and nobody", text);
}

/// Beyond this machine everybody plays and nobody owns, unless somebody says so.
static void settle_rights(struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    options->is_local = tarn_reach_is_local(options->host);
    const bool is_free = options->is_local || options->is_open;
    options->guests_max = is_free ? TARN_ROLE_OWN : TARN_ROLE_PLAY;
    if (!guests_are_given) {
        options->guests = options->guests_max;
    } else if (options->guests > options->guests_max) {
        argp_error(state,
                   "--guests: found own with --host %s, where whoever reaches this machine could then change and end "
                   "everything; allowed are watch and play, or own with --open, which says that it is meant so",
                   options->host);
    }
    if (!creators_are_given) {
        options->creators = is_free ? TARN_CREATORS_EVERYONE : TARN_CREATORS_OWNERS;
    }
}

/// @return false: none of these
static bool parse_session_option(int key, const char *text, struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    switch (key) {
    case OPTION_GUESTS: {
        int role = tarn_role_find(text);
        if (role < 0) {
            argp_error(state, "--guests: found \"%s\", allowed are watch, play and own", text);
        }
        options->guests = (tarn_role)role;
        guests_are_given = true;
        return true;
    }
    case OPTION_CREATE:
        parse_creators(text, state);
        return true;
    case OPTION_SESSIONS:
        options->sessions_max = (uint32_t)tarn_option_number(state, "sessions-max", text, 1, TARN_GATEWAY_SESSIONS_MAX);
        return true;
    case OPTION_KEEP:
        options->keep_empty_s = (uint32_t)tarn_option_number(state, "keep-empty", text, 1, 86400);
        return true;
    case OPTION_TOKEN_KEYS:
        options->token_keys = text;
        return true;
    case OPTION_STORE:
        options->store = text;
        return true;
    case OPTION_DURABILITY:
        options->durability_ms = (uint32_t)tarn_option_number(state, "durability", text, 10, 10000);
        return true;
    case OPTION_HISTORY:
        options->history_minutes =
            (uint32_t)tarn_option_number(state, "history", text, 0, TARN_GATEWAY_HISTORY_MINUTES_MAX);
        return true;
    case OPTION_STORE_MAX:
        options->store_limit.bytes_max = tarn_option_bytes(state, "store-max", text);
        return true;
    case OPTION_STORE_AGE:
        options->store_limit.age_max_s = tarn_option_age_s(state, "store-age", text);
        if (options->store_limit.age_max_s < TARN_GATEWAY_STORE_AGE_S_MIN) {
            argp_error(state, "--store-age: found \"%s\", allowed is 1h and more", text);
        }
        return true;
    default:
        return false;
    }
}

/// @return false: none of these
static bool parse_tls_option(int key, const char *text, struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    switch (key) {
    case OPTION_TLS_CERT:
        options->tls_certificate = text;
        return true;
    case OPTION_TLS_KEY:
        options->tls_key = text;
        return true;
    case OPTION_TLS_SELF_SIGNED:
        options->tls_self_signed = true;
        return true;
    case OPTION_TLS_DIR:
        options->tls_dir = text;
        return true;
    case OPTION_REDIRECT_PORT:
        options->redirect_port = (int32_t)tarn_option_number(state, "redirect-port", text, 0, 65535);
        return true;
    default:
        return false;
    }
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

static void check_tls_options(struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    const bool has_tls = options->tls_certificate != NULL || options->tls_self_signed;
    if ((options->tls_certificate == NULL) != (options->tls_key == NULL)) {
        argp_error(state, "found %s alone, allowed are --tls-cert and --tls-key together",
                   options->tls_key != NULL ? "--tls-key" : "--tls-cert");
    }
    if (options->tls_certificate != NULL && options->tls_self_signed) {
        argp_error(state, "found --tls-cert and --tls-self-signed, allowed is one of them");
    }
    if (options->tls_dir != NULL && !options->tls_self_signed) {
        argp_error(state, "found --tls-dir, allowed only with --tls-self-signed, which keeps its certificate there");
    }
    if (options->redirect_port >= 0 && !has_tls) {
        argp_error(state, "found --redirect-port, allowed only with --tls-cert or --tls-self-signed");
    }
    if (options->redirect_port > 0 && options->redirect_port == options->port) {
        argp_error(state, "--redirect-port: found %d, which is --port; allowed is another one", options->redirect_port);
    }
    if (options->tls_self_signed && options->tls_dir == NULL) {
        options->tls_dir = default_tls_dir();
        if (options->tls_dir == NULL) {
            argp_error(state,
                       "--tls-self-signed: neither $XDG_STATE_HOME nor $HOME says where to keep the certificate; "
                       "name a folder with --tls-dir");
        }
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    if (parse_session_option(key, text, state) || parse_tls_option(key, text, state)) {
        return 0;
    }
    switch (key) {
    case ARGP_KEY_END:
        check_tls_options(state);
        settle_rights(state);
        return 0;
    case OPTION_PORT:
        options->port = (uint16_t)tarn_option_number(state, "port", text, 0, 65535);
        return 0;
    case OPTION_HOST:
        options->host = text;
        return 0;
    case OPTION_SCENE:
        options->scene = text;
        return 0;
    case OPTION_SCENES:
        options->scenes = text;
        return 0;
    case OPTION_CLIENT:
        options->client = text;
        return 0;
    case OPTION_WORKER:
        options->worker = text;
        return 0;
    case OPTION_THREADS:
        options->threads = (uint32_t)tarn_option_number(state, "threads", text, 0, 256);
        return 0;
    case OPTION_DEVICES: {
        char why[TARN_DEVICE_WHY_BYTES];
        if (!tarn_device_list_read(text, &options->devices, why)) {
            argp_error(state, "--devices: %s", why);
        }
        return 0;
    }
    case OPTION_FPS:
        options->fps = (uint32_t)tarn_option_number(state, "fps", text, 1, 120);
        return 0;
    case OPTION_ORIGIN:
        add_origin(state, options, text);
        return 0;
    case OPTION_PROXY:
        add_proxy(state, options, text);
        return 0;
    case OPTION_NAME:
        add_name(state, options, text);
        return 0;
    case OPTION_OPEN:
        options->is_open = true;
        return 0;
    case OPTION_TIMEOUT:
        options->worker_timeout_s = (uint32_t)tarn_option_number(state, "worker-timeout", text, 1, 600);
        return 0;
    case OPTION_DRAIN:
        options->drain_s = (uint32_t)tarn_option_number(state, "drain", text, 0, TARN_GATEWAY_DRAIN_S_MAX);
        return 0;
    case OPTION_LOG: {
        int level = tarn_log_level_find(text);
        if (level < 0) {
            argp_error(state, "--log: found \"%s\", allowed are error, warn, info and debug", text);
        }
        options->log_level = (tarn_log_level)level;
        return 0;
    }
    case OPTION_LOG_FORMAT: {
        int format = tarn_log_format_find(text);
        if (format < 0) {
            argp_error(state, "--log-format: found \"%s\", allowed are text and json", text);
        }
        options->log_format = (tarn_log_format)format;
        return 0;
    }
    case ARGP_KEY_ARG:
        argp_error(state, "found \"%s\", allowed are options only", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void tarn_gateway_options_parse(int argc, char **argv, tarn_gateway_options *options)
{
    static const struct argp argp = {option_list, parse_option, NULL, tarn_gateway_help, NULL, NULL, NULL};
    argp_program_version = "tarnd " TARN_VERSION;
    argp_err_exit_status = TARN_EXIT_USAGE;
    if (argc > 0) {
        argv[0] = program_invocation_short_name; // the C library's sentences would begin with the whole path
    }
    *options = (tarn_gateway_options){.host = "127.0.0.1",
                                      .port = 8080,
                                      .redirect_port = -1,
                                      .scene = "dam-break",
                                      .devices = {1, {{TARN_DEVICE_CHOOSE_AUTO, 0}}},
                                      .worker_timeout_s = TARN_GATEWAY_WORKER_TIMEOUT_S,
                                      .sessions_max = TARN_GATEWAY_SESSIONS,
                                      .history_minutes = TARN_GATEWAY_HISTORY_MINUTES,
                                      .durability_ms = TARN_GATEWAY_STORE_DURABILITY_MS,
                                      .keep_empty_s = TARN_GATEWAY_KEEP_EMPTY_S,
                                      .log_level = TARN_LOG_INFO,
                                      .log_format = TARN_LOG_TEXT};
    options->store_limit.bytes_max = TARN_GATEWAY_STORE_MAX_MB * (uint64_t)1000000;
    options->store_limit.age_max_s = TARN_GATEWAY_STORE_AGE_S;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
