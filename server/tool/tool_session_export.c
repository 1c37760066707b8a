// `tarn session export`: the newest state that is whole, the steps of its log, and what `tarn run` can write of them.
#include "server/common/option_names.h"
#include "server/common/printable.h"
#include "server/tool/export/part_file.h"
#include "server/tool/kept/kept_look.h"
#include "server/tool/tool_export.h"
#include "server/tool/tool_kept.h"
#include "server/tool/tool_session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_TO = 256 + 64, KEY_STATE, KEY_SCENES, KEY_HASH = 'x', KEY_QUIET = 'q' };

typedef struct export_arguments {
    const char *command, *file, *scenes_dir, *state, *to;
    bool hash, quiet;
    tool_device device;
    tool_export_options exports;
} export_arguments;

static error_t parse(int key, char *argument, struct argp_state *state)
{
    export_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->exports;
        state->child_inputs[1] = &arguments->device;
        return 0;
    case KEY_TO:
        arguments->to = argument;
        return 0;
    case KEY_STATE:
        arguments->state = argument;
        return 0;
    case KEY_SCENES:
        arguments->scenes_dir = argument;
        return 0;
    case KEY_QUIET:
        arguments->quiet = true;
        return 0;
    case KEY_HASH:
        arguments->hash = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "found a second file, \"%s\", allowed is one", argument);
        }
        arguments->file = argument;
        return 0;
    case ARGP_KEY_END:
        if (arguments->file == NULL) {
            argp_error(state, "the file of a kept session is missing");
        }
        if (arguments->to == NULL && arguments->state == NULL && !arguments->hash &&
            arguments->exports.file_count == 0) {
            argp_error(state, "nothing says what to write: --to, --state, --hash, --export, --render or --ply");
        }
        if (arguments->to != NULL && arguments->exports.file_count == TOOL_EXPORTS_MAX) {
            argp_error(state, "found more than %d files to write, allowed are %d", TOOL_EXPORTS_MAX, TOOL_EXPORTS_MAX);
        }
        if (arguments->hash && arguments->exports.uses_standard_output) {
            argp_error(state, "found both --hash and --render -, allowed is one of them on standard output");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/// Writes the tank's state as its bytes.
static bool write_state(const export_arguments *arguments, tarn_tank *tank, const char *path)
{
    char why[EXPORT_WHY_BYTES];
    const size_t room = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(room);
    size_t byte_count = 0;
    part_file file;
    bool is_written = false;
    const tarn_status status = bytes != NULL ? tarn_tank_save(tank, bytes, room, &byte_count) : TARN_E_MEMORY;
    if (status != TARN_OK) {
        snprintf(why, sizeof why, "%.200s: the state: %s", path, tarn_status_text(status));
    } else if (part_file_open(&file, path, why) == TARN_OK) {
        is_written = fwrite(bytes, 1, byte_count, file.file) == byte_count ? part_file_close(&file, why) == TARN_OK
                                                                           : part_file_fail(&file, why) == TARN_OK;
    }
    free(bytes);
    if (!is_written) {
        fprintf(stderr, "%s: %s\n", arguments->command, why);
    }
    return is_written;
}

typedef struct export_steps {
    tool_exports *exports;
    progress bar;
    uint64_t begin;
    bool is_film; // else the last step alone
    bool failed;
} export_steps;

static bool on_step(void *user, uint64_t step)
{
    export_steps *steps = user;
    if (steps->is_film) {
        steps->failed = !tool_exports_step(steps->exports, (uint32_t)step, &steps->bar);
    }
    progress_show(&steps->bar, (uint32_t)(step - steps->begin));
    return !steps->failed && !tool_interrupted();
}

/// @return the exit status
static int run_steps(const export_arguments *arguments, const kept_copy *copy, int first, tool_tank *tank,
                     export_steps *steps)
{
    uint64_t step = steps->begin;
    tarn_status status = TARN_OK;
    for (int i = first; i < copy->count && status == TARN_OK && !steps->failed && !tool_interrupted(); i++) {
        const kept_stretch *stretch = &copy->stretches[i];
        if (i > first && !stretch->follows) {
            break;
        }
        status = kept_replay(tank->tank, &stretch->log, &step, NULL, on_step, steps);
        if (stretch->is_cut) {
            fprintf(stderr,
                    "%s: the log behind state %" PRId64 " is damaged; step %" PRIu64 " is the last that it has\n",
                    arguments->command, stretch->id, step);
            break;
        }
    }
    if (status == TARN_OK && !steps->failed && !tool_interrupted() && !steps->is_film) {
        steps->failed = !tool_exports_step(steps->exports, (uint32_t)step, &steps->bar);
    }
    progress_end(&steps->bar);
    const bool is_written = tool_exports_finish(steps->exports, steps->failed || status != TARN_OK);
    if (status != TARN_OK) {
        fprintf(stderr, "%s: the step behind %" PRIu64 ": %s\n", arguments->command, step, tarn_status_text(status));
    } else if (tool_interrupted()) {
        fprintf(stderr, "%s: interrupted after step %" PRIu64 "\n", arguments->command, step);
        return TOOL_EXIT_INTERRUPTED;
    }
    if (status != TARN_OK || steps->failed || !is_written) {
        return EXIT_FAILURE;
    }
    if (arguments->quiet) {
        return EXIT_SUCCESS;
    }
    FILE *file = arguments->exports.uses_standard_output ? stderr : stdout;
    fprintf(file, "step %" PRIu64 ", %.2f s, from a state of step %" PRIu64 "\n", step,
            (double)step * (double)tank->scene.tank.dt_s, steps->begin);
    tool_exports_print(steps->exports, file);
    return EXIT_SUCCESS;
}

static int write_rest(const export_arguments *arguments, tarn_tank *tank, const char *state_path)
{
    if ((arguments->state != NULL && !write_state(arguments, tank, arguments->state)) ||
        (arguments->to != NULL && !write_state(arguments, tank, state_path))) {
        return EXIT_FAILURE;
    }
    if (arguments->hash) {
        tarn_tank_hash hash;
        const tarn_status status = tarn_tank_hash_get(tank, &hash);
        if (status != TARN_OK) {
            fprintf(stderr, "%s: the hash: %s\n", arguments->command, tarn_status_text(status));
            return EXIT_FAILURE;
        }
        printf("%016" PRIx64 "%016" PRIx64 "\n", hash.hi, hash.lo);
    }
    return EXIT_SUCCESS;
}

/// Asks before the steps are made: the states are written behind them. @param state_path  of --to, whose folder is
/// there
static bool can_write_states(const export_arguments *arguments, const char *state_path)
{
    char why[EXPORT_WHY_BYTES];
    if ((arguments->state != NULL && part_file_try(arguments->state, why) != TARN_OK) ||
        (arguments->to != NULL && part_file_try(state_path, why) != TARN_OK)) {
        fprintf(stderr, "%s: %s\n", arguments->command, why);
        return false;
    }
    return true;
}

/// --to is PLY files in a folder, and the state beside them.
static bool settle_to(export_arguments *arguments, char state_path[PATH_MAX])
{
    if (arguments->to == NULL) {
        return true;
    }
    const char *name = strrchr(arguments->file, '/');
    name = name != NULL ? name + 1 : arguments->file;
    if ((size_t)snprintf(state_path, PATH_MAX, "%s/%.*s.state", arguments->to, (int)strcspn(name, "."), name) >=
        PATH_MAX) {
        fprintf(stderr, "%s: --to %.200s...: %s\n", arguments->command, arguments->to, strerror(ENAMETOOLONG));
        return false;
    }
    tool_export_options *exports = &arguments->exports;
    exports->files[exports->file_count].path = arguments->to;
    exports->files[exports->file_count++].format = &export_ply;
    return true;
}

static int run(export_arguments *arguments, const kept_copy *copy)
{
    char made[TARN_IPC_SCENE_BYTES_MAX + 1] = "", state_path[PATH_MAX] = "";
    tool_tank tank = {0};
    export_steps steps = {.is_film = arguments->exports.every != 0 || arguments->exports.fps > 0.0 ||
                                     arguments->exports.ply_every != 0};
    int first = copy->count - 1, status = EXIT_FAILURE;
    while (first >= 0 && !copy->stretches[first].is_whole) {
        fprintf(stderr, "%s: state %" PRId64 " is damaged\n", arguments->command, copy->stretches[first].id);
        first--;
    }
    if (first < 0) {
        fprintf(stderr, "%s: none of the states can be read\n", arguments->command);
        return EXIT_FAILURE;
    }
    steps.begin = copy->stretches[first].state.step;
    uint64_t log_steps = 0;
    if (!settle_to(arguments, state_path) || !tool_kept_put(arguments->command, arguments->scenes_dir,
                                                            &arguments->device, &copy->stretches[first], &tank, made)) {
        tool_kept_close(&tank);
        return EXIT_FAILURE;
    }
    if (!steps.is_film) {
        arguments->exports.every = 1; // whichever step the last is
    }
    steps.exports = tool_exports_open(arguments->command, &arguments->exports, &tank, arguments->device.cpu.threads);
    if (steps.exports != NULL && can_write_states(arguments, state_path)) {
        for (int i = first; i < copy->count; i++) {
            uint64_t more = 0;
            (void)kept_log_steps(copy->stretches[i].log.bytes, copy->stretches[i].log.count, &more);
            log_steps += more;
        }
        progress_start(&steps.bar, 0, (uint32_t)log_steps, (double)tank.scene.tank.dt_s, arguments->quiet);
        status = run_steps(arguments, copy, first, &tank, &steps);
    }
    if (status == EXIT_SUCCESS) {
        status = write_rest(arguments, tank.tank, state_path);
    }
    tool_exports_free(steps.exports);
    tool_kept_close(&tank);
    return status;
}

int tool_session_export(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", KEY_TO, "DIR", 0, "the particles as a PLY file and the state, into DIR", 0},
        {"state", KEY_STATE, "FILE", 0, "write the tank's state as its bytes", 0},
        {"hash", KEY_HASH, 0, 0, "print the 128-bit hash of the state as the last line, in hexadecimal", 0},
        {"quiet", KEY_QUIET, 0, 0, "no progress and no report", 0},
        {"scenes", KEY_SCENES, "DIR", 0, "where the server had its scenes; default: those that came with Tarn", 0},
        {0},
    };
    static const struct argp_child children[] = {
        {&tool_export_argp, 0, "What it writes, as `tarn run` does:", 1},
        {&tool_device_argp, 0, "Where it runs:", 2},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE",
        .doc = "Simulates a kept session from its newest state to the end of its log, and writes that.\v"
               "FILE is a .tank of tarnd's --store, which may be in use, or a .damaged one. Files get the last step "
               "alone, or with --every or --fps all steps since the newest state.",
        .children = children,
    };
    export_arguments arguments = {.command = argv[0]};
    static kept_copy copy;
    tarn_text why;
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    signal(SIGPIPE, SIG_IGN); // a write error, which is reported with the file's name
    tool_catch_interrupts();
    if (arguments.hash && !tool_output_is_open(arguments.command)) {
        return EXIT_FAILURE;
    }
    if (kept_copy_read_newest(arguments.file, &copy, why) != TARN_OK) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", arguments.command, why);
        return EXIT_FAILURE;
    }
    const int status = run(&arguments, &copy);
    kept_copy_free(&copy);
    return status;
}
