// `tarn run`: steps a scene without a server. Begin at run_all.
//
//     scene -> tank -> step 1..N, by the scene or a file -> (where due: particles -> files) -> report -> hash
#include "server/tool/run/run.h"
#include "server/base/bytes.h"
#include "server/base/files.h"
#include "server/base/options.h"
#include "server/tool/film/export.h"
#include "server/tool/run/export.h"
#include "server/tool/run/replay.h"
#include "server/tool/run/tank.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// ---- checkpoints ----
// A tank's whole state in a file, from which a later run of the same scene goes on to the same bits. A state says
// little of its scene: its solids, its liquids and how its steps are computed come from the file that is run. So the
// scene's fingerprint stands before it.
//
//     "TRNC" - u32 version = 2 - u64 fingerprint of the scene - u64 sum of what follows | what tarn_tank_save gives and
//     tarn_tank_load checks

/// What the command line says of it.
typedef struct tool_checkpoint_options {
    const char *write; ///< file; NULL: none
    const char *read;  ///< the same
    uint32_t every;    ///< steps between two; 0: at the end alone
} tool_checkpoint_options;

enum { KEY_CHECKPOINT = 768, KEY_CHECKPOINT_EVERY, KEY_RESUME };

enum { HEAD_BYTES = 24, MAGIC = 0x434e5254, VERSION = 2 };

static error_t parse_checkpoint(int key, char *argument, struct argp_state *state)
{
    tool_checkpoint_options *checkpoint_options = state->input;
    switch (key) {
    case KEY_CHECKPOINT:
        checkpoint_options->write = argument;
        return 0;
    case KEY_CHECKPOINT_EVERY:
        checkpoint_options->every =
            (uint32_t)tarn_option_number(state, "checkpoint-every", argument, 1, TOOL_STEPS_MAX);
        return 0;
    case KEY_RESUME:
        checkpoint_options->read = argument;
        return 0;
    case ARGP_KEY_END:
        if (checkpoint_options->every > 0 && checkpoint_options->write == NULL) {
            argp_error(state, "--checkpoint-every needs --checkpoint, the file to write to");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option checkpoint_options[] = {
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0,
     "write the tank's state to FILE at the end, and where the run is interrupted", 0},
    {"checkpoint-every", KEY_CHECKPOINT_EVERY, "K", 0, "also every K steps", 0},
    {"resume", KEY_RESUME, "FILE", 0,
     "go on from such a file of the same scene and --set; --steps counts from the scene's start", 0},
    {0},
};
/// --checkpoint, --checkpoint-every, --resume: a child parser whose input is tool_checkpoint_options, zero at first.
static const struct argp tool_checkpoint_argp = {checkpoint_options, parse_checkpoint, NULL, NULL, NULL, NULL, NULL};

static bool say(const char *command, const char *path, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", command, path, why);
    return false;
}

/// Makes the folder of a file to write to where it is missing, so that a long run doesn't fail at its end.
/// @return false: a sentence went to stderr
static bool tool_checkpoint_prepare(const char *command, const char *path)
{
    char why[EXPORT_WHY_BYTES];
    if (!part_file_make_folder(path, false)) {
        return say(command, path, strerror(errno));
    }
    if (part_file_try(path, why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    return true;
}

static bool write_bytes(const char *command, const char *path, const uint8_t *bytes, size_t byte_count)
{
    part_file file;
    char why[EXPORT_WHY_BYTES];
    tarn_status status = part_file_open(&file, path, why);
    if (status == TARN_OK && fwrite(bytes, 1, byte_count, file.file) != byte_count) {
        status = part_file_fail(&file, why);
    } else if (status == TARN_OK) {
        status = part_file_close(&file, why);
    }
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
    }
    return status == TARN_OK;
}

/// FNV-1a: most flipped bits leave a state that can be gone on from, with another result.
static uint64_t sum_of(const uint8_t *bytes, size_t byte_count)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < byte_count; i++) {
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum;
}

/// Writes the head, or reads one. @param sum  of the state behind it @return whether it is one of this version
static bool head_pass(uint8_t *bytes, bool writing, uint64_t *fingerprint, uint64_t *sum)
{
    uint32_t magic = MAGIC, version = VERSION;
    byte_codec codec = {.at = bytes, .end = bytes + HEAD_BYTES, .writing = writing, .status = TARN_OK};
    integer(&codec, &magic, sizeof magic);
    integer(&codec, &version, sizeof version);
    integer(&codec, fingerprint, sizeof *fingerprint);
    integer(&codec, sum, sizeof *sum);
    return codec.status == TARN_OK && magic == MAGIC && version == VERSION;
}

/// Writes the state; the file that was there before goes when the new one is whole.
/// @return false: a sentence went to stderr
static bool tool_checkpoint_write(const char *command, const char *path, tool_tank *tank)
{
    const size_t most = tarn_tank_save_bytes_max(tank->tank);
    size_t byte_count = 0;
    uint8_t *bytes = malloc(HEAD_BYTES + most);
    const tarn_status status =
        bytes != NULL ? tarn_tank_save(tank->tank, bytes + HEAD_BYTES, most, &byte_count) : TARN_E_MEMORY;
    uint64_t sum = status == TARN_OK ? sum_of(bytes + HEAD_BYTES, byte_count) : 0;
    const bool done = status == TARN_OK && head_pass(bytes, true, &tank->scene.fingerprint, &sum)
                          ? write_bytes(command, path, bytes, HEAD_BYTES + byte_count)
                          : say(command, path, tarn_status_text(status));
    free(bytes);
    return done;
}

/// Of bytes that were read. @return a sentence, or NULL
static const char *load(tool_tank *tank, uint8_t *bytes, size_t byte_count)
{
    uint64_t fingerprint = 0, sum = 0;
    if (byte_count < HEAD_BYTES || !head_pass(bytes, false, &fingerprint, &sum)) {
        return "found something else, allowed is a file that --checkpoint of this version wrote";
    }
    if (fingerprint != tank->scene.fingerprint) {
        return "found the state of another scene, or of this one before it was changed; allowed is one of this scene "
               "and --set; texts and probes may differ";
    }
    if (sum != sum_of(bytes + HEAD_BYTES, byte_count - HEAD_BYTES)) {
        return "found a damaged state, allowed is one as --checkpoint wrote it";
    }
    const tarn_status status = tarn_tank_load(tank->tank, bytes + HEAD_BYTES, byte_count - HEAD_BYTES);
    return status == TARN_E_MALFORMED ? "found a damaged state" : status == TARN_OK ? NULL : tarn_status_text(status);
}

/// Loads such a state, unless it is of another scene. @param step  receives the step that it is of  @return false: a
/// sentence went to stderr
static bool tool_checkpoint_read(const char *command, const char *path, tool_tank *tank, uint32_t *step)
{
    char why[EXPORT_WHY_BYTES], *bytes = NULL;
    size_t byte_count = 0;
    const size_t most = HEAD_BYTES + tarn_tank_save_bytes_max(tank->tank);
    const tarn_status status =
        tarn_file_bytes_read(path, most, "a checkpoint of this scene", &bytes, &byte_count, why, sizeof why);
    if (status == TARN_E_LIMIT) {
        return say(command, path, "found more bytes than a state of this scene has, allowed is one of the same scene");
    }
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    const char *wrong = load(tank, (uint8_t *)bytes, byte_count);
    free(bytes);
    if (wrong != NULL) {
        return say(command, path, wrong);
    }
    tarn_tank_report report;
    tarn_tank_report_light(tank->tank, &report);
    *step = (uint32_t)report.step;
    return report.step <= TOOL_STEPS_MAX || say(command, path, "found a state of more steps than a run has");
}

// ---- progress ----
// A line that is drawn over itself on a terminal, and one now and then elsewhere.

enum { BAR_COLUMNS_MAX = 40, TEXT_COLUMNS = 54 };
static const double BAR_INTERVAL_S = 0.1;

void progress_start(progress *p, uint32_t first, uint32_t steps, double dt_s, bool quiet)
{
    double now_s = tool_now_s();
    *p = (progress){.first = first,
                    .steps = steps,
                    .dt_s = dt_s,
                    .start_s = now_s,
                    .shown_tenth = steps > 0 ? (uint32_t)(10.0 * first / steps) : 0,
                    .quiet = quiet,
                    .terminal = isatty(STDERR_FILENO)};
}

static double realtime_factor(const progress *p, uint32_t step, double now_s)
{
    const double spent_s = now_s - p->start_s - p->aside_s;
    return spent_s > 0 ? (step - p->first) * p->dt_s / spent_s : 0;
}

static void draw_bar(progress *p, uint32_t step, double now_s)
{
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
    int bar = columns - TEXT_COLUMNS;
    bar = bar > BAR_COLUMNS_MAX ? BAR_COLUMNS_MAX : bar < 0 ? 0 : bar;
    int full = (int)((double)bar * step / p->steps);
    char done[BAR_COLUMNS_MAX + 1], rest[BAR_COLUMNS_MAX + 1];
    memset(done, '#', sizeof done);
    memset(rest, '.', sizeof rest);
    double left_s = step > p->first ? (now_s - p->start_s) / (step - p->first) * (p->steps - step) : 0;
    // Cut to the terminal: a bar that wraps would scroll.
    char line[160];
    snprintf(line, sizeof line, "[%.*s%.*s] %3d %%  step %u/%u  %.2f x real time  %.0f s left", full, done, bar - full,
             rest, (int)(100.0 * step / p->steps), step, p->steps, realtime_factor(p, step, now_s), left_s);
    fprintf(stderr, "\r%.*s\033[K", columns - 1, line);
    fflush(stderr);
    p->shown_s = now_s;
}

void progress_show(progress *p, uint32_t step)
{
    if (p->quiet) {
        return;
    }
    double now_s = tool_now_s();
    if (p->terminal) {
        if (now_s - p->shown_s >= BAR_INTERVAL_S || step == p->steps) {
            draw_bar(p, step, now_s);
        }
        return;
    }
    uint32_t tenth = (uint32_t)(10.0 * step / p->steps);
    if (tenth > p->shown_tenth) {
        p->shown_tenth = tenth;
        fprintf(stderr, "step %u of %u, %.2f s simulated, %.2f x real time\n", step, p->steps, step * p->dt_s,
                realtime_factor(p, step, now_s));
    }
}

void progress_end(progress *p)
{
    if (!p->quiet && p->terminal) {
        fprintf(stderr, "\r\033[K");
    }
}

// ---- the command ----

typedef struct run_arguments {
    const char *command, *scene;
    const char *inputs, *record; ///< files; NULL: none
    uint32_t steps;
    bool has_steps, hash, quiet;
    tool_device device;
    tarn_scene_settings settings;
    tool_checkpoint_options checkpoint;
    uint32_t first; ///< the step that it goes on from
    tool_export_options exports;
    tool_probe_options probes;
} run_arguments;

/// What of a run goes into files.
typedef struct run_outputs {
    tool_exports *exports;
    tool_probes *probes;
    tool_remarks remarks;
} run_outputs;

enum { REMARKS_STEPS = 10 };

enum { KEY_STEPS = 's', KEY_HASH = 'x', KEY_QUIET = 'q', KEY_INPUTS = 256, KEY_RECORD };

static const struct argp_option run_options[] = {
    {"steps", KEY_STEPS, "N", 0, "steps to take, 0 to 100000000; default: 300, or as many as --inputs has", 0},
    {"record-inputs", KEY_RECORD, "FILE", 0, "write what is done to the tank in each step to FILE", 0},
    {"inputs", KEY_INPUTS, "FILE", 0,
     "do to the tank what a file of --record-inputs says, in place of what the scene does, and compare the hash at its "
     "end",
     0},
    {"hash", KEY_HASH, 0, 0, "print the 128-bit hash of the state as the last line, in hexadecimal", 0},
    {"quiet", KEY_QUIET, 0, 0, "no progress and no report", 0},
    {0},
};
_Static_assert(TOOL_STEPS_MAX == 100000000 && TOOL_STEPS_RUN == 300, "the help text above names the limits");
_Static_assert((int)TOOL_STEPS_MAX == (int)TARN_INPUT_LOG_STEPS_MAX, "every run can be recorded and replayed");

static error_t parse(int key, char *argument, struct argp_state *state)
{
    run_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->exports;
        state->child_inputs[1] = &arguments->device;
        state->child_inputs[2] = &arguments->settings;
        state->child_inputs[3] = &arguments->checkpoint;
        state->child_inputs[4] = &arguments->probes;
        return 0;
    case KEY_STEPS:
        arguments->steps = (uint32_t)tarn_option_number(state, "steps", argument, 0, TOOL_STEPS_MAX);
        arguments->has_steps = true;
        return 0;
    case KEY_INPUTS:
        arguments->inputs = argument;
        return 0;
    case KEY_RECORD:
        arguments->record = argument;
        return 0;
    case KEY_HASH:
        arguments->hash = true;
        return 0;
    case KEY_QUIET:
        arguments->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->scene != NULL) {
            argp_error(state, "found a second scene, \"%s\", allowed is one", argument);
        }
        arguments->scene = argument;
        return 0;
    case ARGP_KEY_END:
        if (arguments->scene == NULL) {
            argp_error(state, "the scene is missing");
        }
        if (arguments->inputs != NULL && arguments->record != NULL) {
            argp_error(state, "found both --inputs and --record-inputs, allowed is one of them");
        }
        if (arguments->record != NULL && strcmp(arguments->record, "-") == 0) {
            argp_error(state, "--record-inputs: found \"-\", allowed is a file");
        }
        if (arguments->hash && arguments->exports.uses_standard_output) {
            argp_error(state, "found both --hash and --render -, allowed is one of them on standard output");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/// Whether one is due behind a step that isn't the last.
static bool is_checkpoint(const run_arguments *arguments, uint32_t step)
{
    const uint32_t every = arguments->checkpoint.every;
    return every > 0 && step % every == 0 && step < arguments->steps;
}

/// @return the step that it came to; less than asked for after an interrupt. `failed` says that a sentence went to
/// stderr.
static uint32_t run_steps(const run_arguments *arguments, tool_tank *tank, tool_inputs *inputs, run_outputs *outputs,
                          bool *failed)
{
    progress bar;
    progress_start(&bar, arguments->first, arguments->steps, (double)tank->scene.tank.dt_s, arguments->quiet);
    uint32_t step = arguments->first;
    *failed = !tool_exports_step(outputs->exports, step, &bar);
    while (!*failed && step < arguments->steps && !tool_interrupted()) {
        *failed = !tool_inputs_step(inputs, tank, step, &bar);
        if (*failed) {
            break;
        }
        step++;
        if (step % REMARKS_STEPS == 0) { // which are about the last second
            tool_remarks_note(&outputs->remarks, tank->tank);
        }
        *failed = !tool_exports_step(outputs->exports, step, &bar) || !tool_probes_step(outputs->probes, &bar) ||
                  (is_checkpoint(arguments, step) &&
                   !tool_checkpoint_write(arguments->command, arguments->checkpoint.write, tank));
        progress_show(&bar, step);
    }
    progress_end(&bar);
    return step;
}

/// @param first  the step that it went on from  @param stepping_s  without what the files took
static void print_report(FILE *file, tool_tank *tank, const tool_exports *exports, tool_remarks *remarks,
                         uint32_t first, double stepping_s)
{
    tarn_tank_report report;
    if (tarn_tank_report_get(tank->tank, &report) != TARN_OK) {
        return;
    }
    const double simulated_s = report.sim_time_s - first * (double)tank->scene.tank.dt_s;
    fprintf(file, "%s: ", tank->scene.name);
    if (first > 0) {
        fprintf(file, "from step %u to ", first);
    }
    fprintf(file, "%" PRIu64 "%s", report.step, first > 0 ? "" : " steps");
    fprintf(file, ", %.3f s simulated in %.3f s (%.2f x real time)", simulated_s, stepping_s,
            stepping_s > 0 ? simulated_s / stepping_s : 0.0);
    tool_exports_print_time(exports, file);
    fprintf(file, ", %u particles; %s\n", report.particle_count, tarn_device_name(tank->device));
    fprintf(file, "kinetic energy %.6g J/kg, potential %.6g J/kg, top speed %.4g m/s, residual %.3g\n",
            report.kinetic_j_kg, report.potential_j_kg, (double)report.speed_max_m_s, (double)report.residual);
    if (report.unconverged > 0) {
        fprintf(file, "the pressure of %" PRIu64 " substeps did not converge: more pressure_iterations may help\n",
                report.unconverged);
    }
    tool_remarks_note(remarks, tank->tank);
    tool_remarks_print(remarks, file, "");
    tool_exports_print(exports, file);
    fflush(file);
}

/// @param inputs  NULL where something was wrong with them
static int finish(const run_arguments *arguments, tool_tank *tank, const tool_inputs *inputs, run_outputs *outputs,
                  uint32_t step, double elapsed_s)
{
    const tool_exports *exports = outputs->exports;
    if (!arguments->quiet) {
        FILE *file = arguments->exports.uses_standard_output ? stderr : stdout;
        print_report(file, tank, exports, &outputs->remarks, arguments->first,
                     elapsed_s - tool_exports_took_s(exports));
        tool_probes_print(outputs->probes, file);
        if (inputs != NULL) {
            tool_inputs_print(inputs, file);
        }
    }
    if (step < arguments->steps) {
        fprintf(stderr, "%s: interrupted after step %u of %u", arguments->command, step, arguments->steps);
        tool_exports_print_cut(exports, stderr);
        fprintf(stderr, "%s\n", arguments->hash ? "; no hash" : "");
        return TOOL_EXIT_INTERRUPTED;
    }
    if (arguments->hash) {
        tarn_tank_hash hash;
        tarn_status status = tarn_tank_hash_get(tank->tank, &hash);
        if (status != TARN_OK) {
            fprintf(stderr, "%s: the hash: %s\n", arguments->command, tarn_status_text(status));
            return EXIT_FAILURE;
        }
        printf("%016" PRIx64 "%016" PRIx64 "\n", hash.hi, hash.lo);
    }
    return EXIT_SUCCESS;
}

/// As many steps as the file has where nobody says how many, and never more.
static bool settle_steps(run_arguments *arguments, const tool_inputs *inputs)
{
    const uint32_t steps = inputs->replays ? (uint32_t)inputs->replay.steps : arguments->steps;
    if (arguments->has_steps && arguments->steps > steps) {
        fprintf(stderr, "%s: --steps: found %u, allowed are at most %u, which \"%s\" has\n", arguments->command,
                arguments->steps, steps, arguments->inputs);
        return false;
    }
    arguments->steps = arguments->has_steps ? arguments->steps : steps;
    return true;
}

/// Steps and writes. @return the exit status
static int run_all(run_arguments *arguments, tool_tank *tank, tool_inputs *inputs, run_outputs *outputs)
{
    bool failed = false;
    const double start_s = tool_now_s();
    const uint32_t step = run_steps(arguments, tank, inputs, outputs, &failed);
    const char *checkpoint = arguments->checkpoint.write;
    failed = failed || (checkpoint != NULL && !tool_checkpoint_write(arguments->command, checkpoint, tank));
    const bool exported = tool_exports_finish(outputs->exports, failed);
    const bool finished = tool_probes_finish(outputs->probes, failed) && exported;
    const bool closed = tool_inputs_close(inputs, tank, !failed);
    if (failed) {
        return EXIT_FAILURE;
    }
    const int status = finish(arguments, tank, closed ? inputs : NULL, outputs, step, tool_now_s() - start_s);
    if (!finished) {
        fprintf(stderr, "%s: not all of the files were written\n", arguments->command);
    }
    return finished && closed ? status : EXIT_FAILURE;
}

/// Goes on from where a file says. @return false: a sentence went to stderr
static bool resume(run_arguments *arguments, tool_tank *tank)
{
    const char *command = arguments->command, *path = arguments->checkpoint.read;
    if (path == NULL) {
        return true;
    }
    if (arguments->record != NULL) {
        fprintf(stderr, "%s: --resume: found --record-inputs too, which begins at the scene's start\n", command);
        return false;
    }
    if (!tool_checkpoint_read(command, path, tank, &arguments->first)) {
        return false;
    }
    if (arguments->first > arguments->steps) {
        fprintf(stderr, "%s: %s: found the state of step %u, allowed is at most --steps, %u\n", command, path,
                arguments->first, arguments->steps);
        return false;
    }
    return true;
}

/// The files of a run, but for those of its inputs.
static bool open_outputs(const run_arguments *arguments, tool_tank *tank, run_outputs *outputs)
{
    const char *checkpoint = arguments->checkpoint.write;
    if (checkpoint != NULL && !tool_checkpoint_prepare(arguments->command, checkpoint)) {
        return false;
    }
    outputs->probes = tool_probes_open(arguments->command, &arguments->probes, tank);
    outputs->exports = outputs->probes == NULL ? NULL
                                               : tool_exports_open(arguments->command, &arguments->exports, tank,
                                                                   arguments->device.cpu.threads);
    return outputs->exports != NULL;
}

static int run(run_arguments *arguments, tool_tank *tank)
{
    static tool_inputs inputs; // large
    int status = EXIT_FAILURE;
    // Inputs belong to the tank as it is at the scene's start, which it no longer is once it was resumed.
    if (!tool_inputs_open(&inputs, arguments->command, arguments->inputs, arguments->record, tank)) {
        return EXIT_FAILURE;
    }
    run_outputs outputs = {.exports = NULL};
    if (settle_steps(arguments, &inputs) && resume(arguments, tank) && tool_inputs_skip(&inputs, arguments->first) &&
        open_outputs(arguments, tank, &outputs)) {
        status = run_all(arguments, tank, &inputs, &outputs);
    } else {
        tool_inputs_drop(&inputs);
    }
    tool_exports_free(outputs.exports);
    tool_probes_free(outputs.probes);
    return status;
}

int tool_run(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&tool_export_argp, 0, "What it writes (folders are made where they are missing):", 1},
        {&tool_device_argp, 0, "Where it runs:", 2},
        {&tool_settings_argp, 0, NULL, 0},
        {&tool_checkpoint_argp, 0, "Long runs:", 4},
        {&tool_probe_argp, 0, "What it measures:", 3},
        {0},
    };
    static const struct argp argp = {
        .options = run_options,
        .parser = parse,
        .args_doc = "SCENE",
        .doc = "Simulates a scene without a server.\v"
               "SCENE is a path to a .json file or the name of a shipped scene. The hash is the same on every device "
               "and for any number of threads. --export and --render may be given several times. Videos play as fast "
               "as the water runs, or slower where that would be more than 60 frames a second. Ctrl-C ends after the "
               "current step with status 130.",
        .children = children,
    };
    run_arguments arguments = {.command = argv[0], .steps = TOOL_STEPS_RUN};
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    // Who reads a video may go away: that is a write error, which is reported with the file's name.
    signal(SIGPIPE, SIG_IGN);

    tool_tank tank;
    tool_catch_interrupts();
    if ((arguments.hash && !tool_output_is_open(arguments.command)) ||
        !tool_tank_open(&tank, arguments.command, arguments.scene, &arguments.settings, &arguments.device)) {
        return EXIT_FAILURE;
    }
    const int status = run(&arguments, &tank);
    tool_tank_close(&tank);
    return status;
}
