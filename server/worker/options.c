// tarn-worker's options by argp: start at option_list.
#include "server/base/options.h"
#include "kernels/device/device.h"
#include "server/worker/limits.h"
#include "server/worker/options.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(value) TEXT_OF_(value)
#define TEXT_OF_(value) #value

enum {
    OPTION_FD = 256,
    OPTION_DEVICE,
    OPTION_THREADS,
    OPTION_FPS,
    OPTION_SCENES,
    OPTION_READS,
    OPTION_LOG,
    OPTION_LOG_FORMAT,
    OPTION_INDEX,
    OPTION_TAKE_SCENE
};

static const struct argp_option option_list[] = {
    {"fd", OPTION_FD, "N", 0, "Descriptor of the socket to tarnd (required)", 0},
    {"device", OPTION_DEVICE, "cpu|cuda[:N]|auto", 0,
     "Where to simulate; auto takes a GPU where there is one (default)", 0},
    {"threads", OPTION_THREADS, "N", 0, "Threads of the CPU device; 0: one per processor (default)", 0},
    {"fps", OPTION_FPS, "N", 0,
     "Frames sent per second and tank, 1 to 120 (default: 30, and of every step while somebody acts)", 0},
    {"scenes", OPTION_SCENES, "DIR", 0, "Directory of scene files", 0},
    {"reads", OPTION_READS, "DIR", 0, "A folder whose files may be read besides; may be given twice", 0},
    {"log", OPTION_LOG, "error|warn|info|debug", 0, "How much to log", 0},
    {"log-format", OPTION_LOG_FORMAT, "text|json", 0, "What log lines are (default text)", 0},
    {"index", OPTION_INDEX, "N", 0, "Which of tarnd's workers this is, for the log", 0},
    {"take-scene", OPTION_TAKE_SCENE, NULL, 0,
     "Instead of simulating, check a scene that was uploaded: from stdin, as tar, into the file of --fd", 0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    tarn_worker_options *options = state->input;
    switch (key) {
    case OPTION_FD:
        options->fd = (int)tarn_option_number(state, "fd", text, 0, INT_MAX);
        return 0;
    case OPTION_DEVICE:
        if (!tarn_device_word_read(text, strlen(text), &options->device)) {
            argp_error(state, "--device: found \"%s\", allowed are cpu, cuda, cuda:0 to cuda:%d and auto", text,
                       TARN_DEVICE_GPUS_MAX - 1);
        }
        return 0;
    case OPTION_THREADS:
        options->threads = (uint32_t)tarn_option_number(state, "threads", text, 0, TARN_DEVICE_THREADS_MAX);
        return 0;
    case OPTION_FPS:
        options->fps = (uint32_t)tarn_option_number(state, "fps", text, TARN_WORKER_FPS_MIN, TARN_WORKER_FPS_MAX);
        return 0;
    case OPTION_SCENES:
        options->scenes = text;
        return 0;
    case OPTION_READS:
        for (int i = 0; i < TARN_WORKER_READS_MAX; i++) {
            if (options->reads[i] == NULL) {
                options->reads[i] = text;
                return 0;
            }
        }
        argp_error(state, "--reads: found more than %d, allowed are %d", TARN_WORKER_READS_MAX, TARN_WORKER_READS_MAX);
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
    case OPTION_INDEX:
        options->index = (int)tarn_option_number(state, "index", text, 0, TARN_DEVICE_LIST_MAX - 1);
        return 0;
    case OPTION_TAKE_SCENE:
        options->takes_scene = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "found \"%s\", allowed are options only", text);
        return 0;
    case ARGP_KEY_END:
        if (options->fd < 0) {
            argp_error(state, "--fd is missing: tarn-worker is started by tarnd");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void tarn_worker_options_parse(int argc, char **argv, tarn_worker_options *options)
{
    static const struct argp argp = {
        option_list, parse_option, NULL, "Simulates Tarn's tanks on one device, for the tarnd that started it.",
        NULL,        NULL,         NULL};
    argp_program_version = "tarn-worker " TARN_VERSION;
    argp_err_exit_status = TARN_EXIT_USAGE;
    *options = (tarn_worker_options){.fd = -1, .index = -1, .log_level = TARN_LOG_INFO};
    tarn_options_parse(&argp, argc, argv, 0, options);
}
