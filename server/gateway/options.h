/// What tarnd is told: by its command line, else by the environment, else by the file of --config, else by default.
/// Start at option_table.h, which has a row for each option.
#ifndef TARN_SERVER_GATEWAY_OPTIONS_H
#define TARN_SERVER_GATEWAY_OPTIONS_H

#include "server/base/devices.h"
#include "server/base/limits.h"
#include "server/base/log.h"
#include "server/gateway/store/files.h"
#include "server/net/proxies.h"

#include <stdbool.h>
#include <stdint.h>

/// Who may make tanks.
typedef enum tarn_creators {
    TARN_CREATORS_NOBODY = 0,
    TARN_CREATORS_OWNERS = 1, ///< who owns one
    TARN_CREATORS_EVERYONE = 2,
    TARN_CREATORS_COUNT
} tarn_creators;

/// Who may read /metrics. This machine always may.
typedef enum tarn_metrics_readers {
    TARN_METRICS_EVERYONE = 0,
    TARN_METRICS_OWNERS = 1, ///< who owns a tank
    TARN_METRICS_LOCAL = 2,  ///< nobody else
} tarn_metrics_readers;

enum { TARN_OPTION_TEXT_BYTES_MAX = 4000 }; ///< of a path or a name

/// Values of an option that may be given several times.
typedef struct tarn_option_texts {
    uint32_t count;
    char texts[TARN_GATEWAY_NAMES_MAX][256];
} tarn_option_texts;

_Static_assert((int)TARN_GATEWAY_NAMES_MAX >= (int)TARN_GATEWAY_ORIGINS_MAX, "lists hold either");

typedef struct tarn_gateway_options {
    const char *host;
    bool is_local; ///< only this machine reaches that
    bool is_open;  ///< or whoever reaches it may do everything
    tarn_option_texts names;
    uint32_t port;                         ///< 0: any free one
    const char *tls_certificate, *tls_key; ///< files, both or none; NULL: none
    bool tls_self_signed;                  ///< instead of them one that is made and kept in
    const char *tls_dir;                   ///< this folder
    int32_t redirect_port;                 ///< on which requests are sent on to https; 0: any free one, -1: none
    const char *scene;                     ///< name, or path of a scene file
    uint64_t uploads_bytes;                ///< that uploaded scenes may take; 0: none are taken
    const char *scenes;                    ///< NULL: those that came with the program
    const char *client;                    ///< NULL: next to the program
    const char *worker;                    ///< NULL: next to the program
    tarn_device_list devices;              ///< one worker for each
    uint32_t threads;                      ///< of each CPU worker; 0: its share of the processors
    uint32_t fps;                          ///< 0: the worker's own
    uint32_t worker_timeout_s;
    tarn_role guests;         ///< what those may who come without a key
    tarn_role guests_max;     ///< in tanks of an earlier start, too
    uint32_t load_max;        ///< percent of a worker's time; 1..TARN_GATEWAY_LOAD_MAX
    uint32_t sessions_max;    ///< 1..TARN_GATEWAY_SESSIONS_MAX
    uint32_t viewers_max;     ///< of a session, 1..TARN_VIEWERS_MAX
    const char *token_keys;   ///< file that tokens are checked with; NULL: the store's secret, where there is a store
    const char *store;        ///< where sessions are kept; NULL: nowhere
    uint32_t history_minutes; ///< of tanks' pasts that are kept
    uint32_t durability_ms;   ///< of what happens, that a power cut may cost
    uint32_t keep_empty_s;    ///< that a tank lasts with nobody in it
    tarn_creators creators;
    tarn_metrics_readers metrics_readers;
    uint32_t drain_s; ///< 0..TARN_GATEWAY_DRAIN_S_MAX, from SIGTERM on
    tarn_option_texts origins;
    tarn_proxies proxies;
    tarn_log_level log_level;
    tarn_log_format log_format;

    tarn_store_limit store_limit; ///< of the folder in which sessions are kept

    const char *config;       ///< the file that the rest may come from, which a reload reads again; NULL: none
    struct json_t *file_text; ///< owned: what texts from there lie in
} tarn_gateway_options;

/// Fills the options or ends the program with a sentence on stderr, as --help, --version, --print-config and
/// --print-schema do. To be called once; argv and the environment must outlive the options.
void tarn_gateway_options_parse(int argc, char **argv, tarn_gateway_options *options);

/// Forgets the command line, which reloads begin with: there are no more.
void tarn_gateway_options_forget(void);

/// Reads the file again, below the environment and the command line.
/// @param now    those in force
/// @param fresh  on success all that holds then: what is live (option_table.h) as it is said now, the rest as in `now`
/// @param stays  by place in the table: those that were said otherwise, but aren't live
/// @param why    on failure a sentence; `fresh` isn't to be used
tarn_status tarn_gateway_options_reload(const tarn_gateway_options *now, tarn_gateway_options *fresh, bool *stays,
                                        tarn_text why);

/// Takes over what a reload has read, and gives back what texts of the reload before lay in.
void tarn_gateway_options_adopt(tarn_gateway_options *options, const tarn_gateway_options *fresh);

#endif
