// `tarn load`: its command line. The work is done in run.c.
#include "server/base/options.h"
#include "server/tool/load/run.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_PUSHERS = 256,
    OPTION_SLOW,
    OPTION_STALLED,
    OPTION_HALF_OPEN,
    OPTION_RECONNECTING,
    OPTION_SLOW_RATE,
    OPTION_RECONNECT,
    OPTION_INPUTS,
    OPTION_CHECK,
    OPTION_PID,
    OPTION_SESSION,
    OPTION_KEY,
    OPTION_SEED,
    OPTION_JSON,
    OPTION_REMOTE,
};

/// How many viewers are of a kind: a number, or a share of all.
typedef struct kind_share {
    const char *text; ///< NULL: none
    long value;
    bool is_percent;
} kind_share;

typedef struct load_arguments {
    load_options options;
    const char *server;
    uint32_t viewers;
    kind_share shares[LOAD_KIND_COUNT];
    bool allow_remote;
} load_arguments;

static const struct argp_option option_list[] = {
    {"viewers", 'n', "N", 0, "Viewers, 1 to 1024 with the pushers (default 8)", 0},
    {"pushers", OPTION_PUSHERS, "N", 0, "Further viewers that drag a pointer through the tank, 0 to 256 (default 1)",
     0},
    {"seconds", 's', "N", 0, "Seconds to measure, 1 to 86400 (default 10)", 0},
    {"slow", OPTION_SLOW, "N|N%", 0, "So many of the viewers read slowly", 1},
    {"stalled", OPTION_STALLED, "N|N%", 0, "So many read nothing after their first frame, but give signs of life", 1},
    {"half-open", OPTION_HALF_OPEN, "N|N%", 0, "So many go silent after their first frame, as if the cable were cut",
     1},
    {"reconnecting", OPTION_RECONNECTING, "N|N%", 0, "So many leave again and again, every other time without a word",
     1},
    {"slow-rate", OPTION_SLOW_RATE, "MBIT", 0, "What slow viewers read, 1 to 10000 Mbit/s (default 2)", 1},
    {"reconnect-after", OPTION_RECONNECT, "S", 0, "Seconds after which they leave, 1 to 3600 (default 2)", 1},
    {"inputs", OPTION_INPUTS, "N", 0, "Inputs per second of each pusher, 1 to 200 (default 30)", 1},
    {"check", OPTION_CHECK, "N", 0, "Decode one frame of N, by one viewer at a time, 0 (none) to 1000000 (default 100)",
     2},
    {"server-pid", OPTION_PID, "PID", 0, "Measure processor time and memory of this tarnd and the tank's worker", 2},
    {"session", OPTION_SESSION, "NAME", 0, "The session to join (default: the server's default session)", 2},
    {"key", OPTION_KEY, "KEY", 0,
     "The key of a link, or a token, to join with; an owner's for a tarnd with --metrics owners. Without it a guest's "
     "role counts",
     2},
    {"seed", OPTION_SEED, "N", 0, "Of everything random, 0 to 2147483647 (default 1)", 2},
    {"json", OPTION_JSON, NULL, 0, "Print one JSON object instead of tables", 3},
    {"quiet", 'q', NULL, 0, "No progress on standard error", 3},
    {"allow-remote", OPTION_REMOTE, NULL, 0, "Load a server that isn't on this machine: only one that is yours", 3},
    {0},
};

static void read_share(struct argp_state *state, const char *option, char *text, kind_share *share)
{
    char *end;
    errno = 0;
    share->text = text;
    share->value = strtol(text, &end, 10);
    share->is_percent = end != text && strcmp(end, "%") == 0;
    if (end == text || errno != 0 || (*end != '\0' && !share->is_percent) || share->value < 0 ||
        share->value > (share->is_percent ? 100 : LOAD_CONNECTIONS_MAX)) {
        argp_error(state, "--%s: found \"%s\", allowed is a whole number from 0 to %d, or 0%% to 100%%", option, text,
                   LOAD_CONNECTIONS_MAX);
    }
}

/// Options that say how many behave how. @return whether it was one
static bool parse_kind(int key, char *text, struct argp_state *state, load_arguments *arguments)
{
    switch (key) {
    case OPTION_SLOW:
        read_share(state, "slow", text, &arguments->shares[LOAD_SLOW]);
        return true;
    case OPTION_STALLED:
        read_share(state, "stalled", text, &arguments->shares[LOAD_STALLED]);
        return true;
    case OPTION_HALF_OPEN:
        read_share(state, "half-open", text, &arguments->shares[LOAD_HALF_OPEN]);
        return true;
    case OPTION_RECONNECTING:
        read_share(state, "reconnecting", text, &arguments->shares[LOAD_RECONNECTING]);
        return true;
    default:
        return false;
    }
}

/// Other processes' time and memory would pass for the server's.
static void read_server_pid(struct argp_state *state, const char *text, load_options *options)
{
    char name[LOAD_PROCESS_NAME_BYTES];
    options->server_pid = (pid_t)tarn_option_number(state, "server-pid", text, 1, INT32_MAX);
    if (!load_process_name(options->server_pid, name)) {
        argp_error(state, "--server-pid: found no process %d, allowed is a tarnd", (int)options->server_pid);
    } else if (strcmp(name, "tarnd") != 0) {
        argp_error(state, "--server-pid: found process %d, \"%s\"; allowed is a tarnd", (int)options->server_pid, name);
    }
}

static void read_session(struct argp_state *state, const char *text, load_options *options)
{
    if (text[0] == '\0' || strlen(text) > TARN_NAME_BYTES_MAX) {
        argp_error(state, "--session: found \"%s\", allowed are 1 to %d bytes", text, TARN_NAME_BYTES_MAX);
    }
    snprintf(options->session, sizeof options->session, "%s", text);
}

static void read_key(struct argp_state *state, const char *text, load_options *options)
{
    if (text[0] == '\0' || strlen(text) >= sizeof options->key || text[strcspn(text, " \t\r\n")] != '\0') {
        argp_error(state, "--key: allowed are 1 to %zu characters without blanks", sizeof options->key - 1);
    }
    snprintf(options->key, sizeof options->key, "%s", text);
}

/// Divides the viewers among the kinds.
static void count_kinds(struct argp_state *state, load_arguments *arguments)
{
    uint32_t *counts = arguments->options.counts, others = 0;
    for (int kind = LOAD_SLOW; kind < LOAD_KIND_COUNT; kind++) {
        const kind_share *share = &arguments->shares[kind];
        counts[kind] =
            (uint32_t)(share->is_percent ? lround((double)share->value * arguments->viewers / 100) : share->value);
        others += counts[kind];
    }
    if (others > arguments->viewers) {
        argp_error(state, "%u slow, stalled, half-open and reconnecting viewers are more than the %u of --viewers",
                   others, arguments->viewers);
    }
    counts[LOAD_STEADY] = arguments->viewers - others;
    if (arguments->viewers + counts[LOAD_PUSHER] > LOAD_CONNECTIONS_MAX) {
        argp_error(state, "found %u viewers and pushers, allowed are %d", arguments->viewers + counts[LOAD_PUSHER],
                   LOAD_CONNECTIONS_MAX);
    }
}

static void find_target(struct argp_state *state, load_arguments *arguments)
{
    char why[LOAD_TARGET_WHY_BYTES];
    load_target *target = &arguments->options.target;
    if (!load_target_find(arguments->server, target, why)) {
        argp_error(state, "%s", why);
    } else if (!target->loopback && !arguments->allow_remote) {
        argp_error(state,
                   "%s is not this machine, and load that its owner doesn't expect is an attack; "
                   "--allow-remote says that the server is yours",
                   target->host);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    load_arguments *arguments = state->input;
    load_options *options = &arguments->options;
    if (parse_kind(key, text, state, arguments)) {
        return 0;
    }
    switch (key) {
    case 'n':
        arguments->viewers = (uint32_t)tarn_option_number(state, "viewers", text, 1, LOAD_CONNECTIONS_MAX);
        return 0;
    case 's':
        options->seconds = (uint32_t)tarn_option_number(state, "seconds", text, 1, LOAD_SECONDS_MAX);
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case OPTION_PUSHERS:
        options->counts[LOAD_PUSHER] = (uint32_t)tarn_option_number(state, "pushers", text, 0, LOAD_PUSHERS_MAX);
        return 0;
    case OPTION_SLOW_RATE:
        options->slow_mbit_s = (uint32_t)tarn_option_number(state, "slow-rate", text, 1, 10000);
        return 0;
    case OPTION_RECONNECT:
        options->reconnect_s = (uint32_t)tarn_option_number(state, "reconnect-after", text, 1, 3600);
        return 0;
    case OPTION_INPUTS:
        options->inputs_per_s = (uint32_t)tarn_option_number(state, "inputs", text, 1, LOAD_INPUTS_PER_S_MAX);
        return 0;
    case OPTION_CHECK:
        options->check_every = (uint32_t)tarn_option_number(state, "check", text, 0, 1000000);
        return 0;
    case OPTION_PID:
        read_server_pid(state, text, options);
        return 0;
    case OPTION_SESSION:
        read_session(state, text, options);
        return 0;
    case OPTION_KEY:
        read_key(state, text, options);
        return 0;
    case OPTION_SEED:
        options->seed = (uint32_t)tarn_option_number(state, "seed", text, 0, INT32_MAX);
        return 0;
    case OPTION_JSON:
        options->json = true;
        return 0;
    case OPTION_REMOTE:
        arguments->allow_remote = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "found a second server, \"%s\", allowed is one", text);
        }
        arguments->server = text;
        return 0;
    case ARGP_KEY_END:
        count_kinds(state, arguments);
        find_target(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void say_failures(const load_options *options, const load_results *results)
{
    for (uint32_t i = 0; i < results->failure_count; i++) {
        fprintf(stderr, "%s: %s", options->command, results->failures[i].text);
        fprintf(stderr, results->failures[i].count > 1 ? " (%llu times)\n" : "\n",
                (unsigned long long)results->failures[i].count);
    }
    if (results->failures_untold > 0) {
        fprintf(stderr, "%s: and %llu other failures\n", options->command,
                (unsigned long long)results->failures_untold);
    }
    if (results->seconds == 0) {
        fprintf(stderr, "%s: nothing was measured\n", options->command);
    }
}

static int report(const load_options *options, const load_results *results)
{
    if (options->json && !load_report_json(options, results)) {
        fprintf(stderr, "%s: out of memory for the report\n", options->command);
        return EXIT_FAILURE;
    }
    if (!options->json && results->seconds > 0) {
        load_report_text(options, results);
    }
    // After what was measured, or it scrolls away.
    fflush(stdout);
    say_failures(options, results);
    if (results->interrupted) {
        return TOOL_EXIT_INTERRUPTED;
    }
    return load_results_good(results) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int tool_load(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .args_doc = "[SERVER]",
        .doc =
            "Opens viewers to a running server, by the hundred, and measures what they receive.\v"
            "SERVER is HOST, HOST:PORT, http://HOST:PORT/ or https://HOST:PORT/; the default is 127.0.0.1:8080. "
            "Measuring begins a second "
            "after the last viewer's first frame. Slow, stalled, half-open and reconnecting viewers are numbers or "
            "shares of --viewers. --check looks at the heads of all frames besides, unless it is 0. The exit status is "
            "0, "
            "or 1 where a frame was wrong or a viewer was refused or "
            "lost, 2 for wrong options, and 130 after an interrupt.",
    };
    load_arguments arguments = {
        .options = {.command = argv[0],
                    .counts = {[LOAD_PUSHER] = 1},
                    .seconds = 10,
                    .inputs_per_s = 30,
                    .slow_mbit_s = 2,
                    .reconnect_s = 2,
                    .check_every = 100,
                    .seed = 1,
                    .interrupted = tool_interrupted},
        .server = "127.0.0.1",
        .viewers = 8,
    };
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    load_results *results = calloc(1, sizeof *results);
    if (results == NULL) {
        fprintf(stderr, "%s: out of memory\n", arguments.options.command);
        return EXIT_FAILURE;
    }
    tool_catch_interrupts();
    signal(SIGPIPE, SIG_IGN);
    int status = load_run(&arguments.options, results) ? report(&arguments.options, results) : EXIT_FAILURE;
    free(results);
    return status;
}
