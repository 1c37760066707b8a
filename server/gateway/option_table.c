// The rows in the order in which --print-config shows them. A number whose default lies outside its range is one that
// nobody said.
#include "server/gateway/option_table.h"
#include "server/gateway/reach.h"

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

const tarn_option *tarn_option_find(const char *name)
{
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        if (strcmp(tarn_option_table[i].name, name) == 0) {
            return &tarn_option_table[i];
        }
    }
    return NULL;
}

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
