// `tarn top`: its command line, and a table a second. Reading and drawing are done in top/.
#include "server/common/clock.h"
#include "server/common/option_names.h"
#include "server/common/printable.h"
#include "server/tool/tool.h"
#include "server/tool/top/top_fetch.h"
#include "server/tool/top/top_screen.h"
#include "server/tool/top/top_table.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_ONCE = 256,
    OPTION_KEY,
    INTERVAL_MS = 1000,
    SAMPLES_KEPT = 11, ///< the newest, and ten seconds before it
    ROWS_MIN = 6,
};

typedef struct top_arguments {
    load_target target;
    const char *command, *server, *key;
    bool once;
} top_arguments;

static top_sample samples[SAMPLES_KEPT]; // a ring
static uint32_t sample_next, sample_count;
static top_page page;

static error_t parse(int key, char *text, struct argp_state *state)
{
    top_arguments *arguments = state->input;
    char why[LOAD_TARGET_WHY_BYTES];
    switch (key) {
    case OPTION_ONCE:
        arguments->once = true;
        return 0;
    case OPTION_KEY:
        if (strlen(text) > TOP_KEY_BYTES_MAX || text[strcspn(text, " \t\r\n")] != 0) {
            argp_error(state, "--key: allowed are at most %d characters without blanks", TOP_KEY_BYTES_MAX);
        }
        arguments->key = text;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "found a second server, \"%s\", allowed is one", text);
        }
        arguments->server = text;
        return 0;
    case ARGP_KEY_END:
        if (!load_target_find(arguments->server, &arguments->target, why)) {
            tarn_make_printable(why);
            argp_error(state, "%s", why);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const top_sample *sample_ago(uint32_t ago)
{
    return ago < sample_count ? &samples[(sample_next + SAMPLES_KEPT - 1 - ago) % SAMPLES_KEPT] : NULL;
}

/// Asks the server how it is. @return false: it can't be reached, or is no tarnd
static bool take_sample(const top_arguments *arguments, char why[TOP_WHY_BYTES])
{
    top_sample *sample = &samples[sample_next];
    if (!top_fetch(&arguments->target, "/metrics", arguments->key, top_screen_is_interrupted, &page, why)) {
        return false;
    }
    sample->when_ns = tarn_clock_monotonic_ns();
    if (!top_sample_read_metrics(sample, page.body)) {
        snprintf(why, TOP_WHY_BYTES, "what answers isn't tarnd");
        return false;
    }
    // Without it there are no scenes to show, but all the rest.
    const bool has_sessions =
        top_fetch(&arguments->target, "/sessions", arguments->key, top_screen_is_interrupted, &page, why);
    top_sample_read_sessions(sample, has_sessions ? page.body : "", has_sessions ? page.body_bytes : 0);
    const top_sample *before = sample_ago(0);
    if (before != NULL && sample->bytes_sent < before->bytes_sent) {
        sample_count = 0; // another server, or the same one after a new start
    }
    sample_next = (sample_next + 1) % SAMPLES_KEPT;
    sample_count = sample_count < SAMPLES_KEPT ? sample_count + 1 : SAMPLES_KEPT;
    return true;
}

static void show(const top_arguments *arguments)
{
    static char text[TOP_TABLE_BYTES];
    const uint32_t found = top_screen_rows(), rows = found > 1 ? found - 1 : UINT32_MAX;
    const top_sample *long_ago = arguments->once ? NULL : sample_ago(sample_count - 1);
    const bool has_before = sample_count > 1;
    top_table_write(arguments->target.authority, sample_ago(1), has_before ? long_ago : NULL, sample_ago(0),
                    rows < ROWS_MIN ? ROWS_MIN : rows, text);
    top_screen_show(text);
}

static void say_unreachable(const top_arguments *arguments, const char *why, uint64_t since_ns)
{
    char text[2 * TOP_WHY_BYTES + 200];
    const unsigned long long seconds = (tarn_clock_monotonic_ns() - since_ns) / 1000000000;
    snprintf(text, sizeof text, "%.100s can't be reached: %.200s\n%s (for %llu s)\n", arguments->target.authority, why,
             "Trying again each second; q or Ctrl-C ends this.", seconds);
    if (top_screen_is_terminal()) {
        top_screen_show(text);
    } else if (seconds == 0) {
        fprintf(stderr, "%s: %s can't be reached: %s; trying again each second\n", arguments->command,
                arguments->target.authority, why);
    }
}

/// Signals end it as they end any program.
static int run_once(const top_arguments *arguments)
{
    char why[TOP_WHY_BYTES];
    for (int i = 0; i < 2; i++) {
        if (i > 0) {
            (void)top_screen_wait(INTERVAL_MS);
        }
        if (!take_sample(arguments, why)) {
            fprintf(stderr, "%s: %s can't be reached: %s\n", arguments->command, arguments->target.authority, why);
            return EXIT_FAILURE;
        }
    }
    show(arguments);
    return EXIT_SUCCESS;
}

static int run_on(const top_arguments *arguments)
{
    char why[TOP_WHY_BYTES];
    uint64_t lost_ns = 0;
    top_screen_event event = TOP_SCREEN_TIME;
    while (event == TOP_SCREEN_TIME) {
        const uint64_t begin_ns = tarn_clock_monotonic_ns();
        if (take_sample(arguments, why)) {
            lost_ns = 0;
            show(arguments);
        } else if (!top_screen_is_interrupted()) {
            lost_ns = lost_ns != 0 ? lost_ns : tarn_clock_monotonic_ns();
            sample_count = 0;
            say_unreachable(arguments, why, lost_ns);
        }
        const uint64_t took_ms = (tarn_clock_monotonic_ns() - begin_ns) / 1000000;
        event = top_screen_wait(took_ms < INTERVAL_MS ? INTERVAL_MS - (uint32_t)took_ms : 1);
    }
    return event == TOP_SCREEN_QUIT ? EXIT_SUCCESS : TOOL_EXIT_INTERRUPTED;
}

int tool_top(int argc, char **argv)
{
    static const struct argp_option option_list[] = {
        {"once", OPTION_ONCE, NULL, 0, "Print one table and end", 0},
        {"key", OPTION_KEY, "KEY", 0, "The key of an owners' link, or a token: for a tarnd with --metrics owners", 0},
        {0},
    };
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .args_doc = "[SERVER]",
        .doc =
            "Shows the tanks of a running server, anew each second, until q or Ctrl-C.\v"
            "SERVER is HOST, HOST:PORT, http://HOST:PORT/ or https://HOST:PORT/; the default is 127.0.0.1:8080. "
            "Columns: the worker (W), "
            "viewers, the mean time of a step over the last second, simulated seconds per second, what is sent to "
            "viewers, frames that they were not sent, the time from an input to its frame in the last ten seconds, by "
            "which half of them and 99 % had come (with --once, of all since the tank began), and how often the "
            "worker ended with the tank (RST). --once takes a second, which rates are counted in. Names come from the "
            "server; what could steer a terminal in them is shown as '?'. Exit status: 0, 1 where --once can't reach "
            "the server, 2 for wrong options, 130 after an interrupt.",
    };
    top_arguments arguments = {.command = argv[0], .server = "127.0.0.1", .key = ""};
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    signal(SIGPIPE, SIG_IGN); // of connections by TLS
    if (arguments.once) {
        return run_once(&arguments);
    }
    top_screen_open();
    const int status = run_on(&arguments);
    top_screen_close();
    return status;
}
