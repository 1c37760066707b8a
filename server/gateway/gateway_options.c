#include "server/gateway/gateway_options.h"
#include "server/common/option_number.h"
#include "server/gateway/gateway_help.h"

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
    OPTION_DEVICE,
    OPTION_FPS,
    OPTION_ORIGIN,
    OPTION_TIMEOUT,
    OPTION_LOG,
};

static const struct argp_option option_list[] = {
    {"host", OPTION_HOST, "ADDRESS", 0, "Address to listen on (default 127.0.0.1; 0.0.0.0 for every network)", 0},
    {"port", OPTION_PORT, "N", 0, "Port to listen on (default 8080; 0: any free one)", 0},
    {"origin", OPTION_ORIGIN, "URL", 0, "Also accept viewers from pages of this origin; may be repeated", 0},
    {"client", OPTION_CLIENT, "DIR", 0, "The page's files (default: ../share/tarn/client next to the program)", 0},
    {"scene", OPTION_SCENE, "NAME|FILE", 0, "What the session starts with (default dam-break)", 1},
    {"scenes", OPTION_SCENES, "DIR", 0, "Scenes that viewers may load (default: ../share/tarn/scenes)", 1},
    {"device", OPTION_DEVICE, "cpu|cuda|auto", 0, "Where to simulate; auto takes a GPU where there is one (default)",
     2},
    {"threads", OPTION_THREADS, "N", 0, "Threads of the CPU device; 0: one per processor (default)", 2},
    {"fps", OPTION_FPS, "N", 0, "Frames sent per second, 1 to 120 (default 30); steps are not affected", 2},
    {"worker", OPTION_WORKER, "FILE", 0, "The program that simulates (default: tarn-worker next to this one)", 3},
    {"worker-timeout", OPTION_TIMEOUT, "S", 0, "Seconds without an answer before it is killed, 1 to 600 (default 10)",
     3},
    {"log", OPTION_LOG, "error|warn|info|debug", 0, "How much to log on stderr (default info)", 3},
    {0},
};

static void add_origin(struct argp_state *state, tarn_gateway_options *options, const char *origin)
{
    if (options->origin_count == TARN_GATEWAY_ORIGINS_MAX)
        argp_error(state, "--origin: given more than %d times", TARN_GATEWAY_ORIGINS_MAX);
    else if (!strstr(origin, "://"))
        argp_error(state, "--origin: found \"%s\"; allowed: scheme://host or scheme://host:port", origin);
    else
        options->origins[options->origin_count++] = origin;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    tarn_gateway_options *options = state->input;
    switch (key) {
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
    case OPTION_DEVICE:
        if (strcmp(text, "cpu") && strcmp(text, "cuda") && strcmp(text, "auto"))
            argp_error(state, "--device: found \"%s\"; allowed: cpu, cuda, auto", text);
        options->device = text;
        return 0;
    case OPTION_FPS:
        options->fps = (uint32_t)tarn_option_number(state, "fps", text, 1, 120);
        return 0;
    case OPTION_ORIGIN:
        add_origin(state, options, text);
        return 0;
    case OPTION_TIMEOUT:
        options->worker_timeout_s = (uint32_t)tarn_option_number(state, "worker-timeout", text, 1, 600);
        return 0;
    case OPTION_LOG: {
        int level = tarn_log_level_find(text);
        if (level < 0)
            argp_error(state, "--log: found \"%s\"; allowed: error, warn, info, debug", text);
        options->log_level = (tarn_log_level)level;
        return 0;
    }
    case ARGP_KEY_ARG:
        argp_error(state, "found \"%s\"; there are only options", text);
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
    if (argc > 0)
        argv[0] = program_invocation_short_name; // the C library's sentences would begin with the whole path
    *options = (tarn_gateway_options){.host = "127.0.0.1",
                                      .port = 8080,
                                      .scene = "dam-break",
                                      .device = "auto",
                                      .fps = 30,
                                      .worker_timeout_s = TARN_GATEWAY_WORKER_TIMEOUT_S,
                                      .log_level = TARN_LOG_INFO};
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
