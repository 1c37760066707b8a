// `tarn replay`: makes the steps of a kept session again, and compares where they lead to with what was kept, or writes
// what they make (export.c). Begin at replay. Also the inputs of `tarn run`, from a file and into one.
//
//     state 1 + log 1 -> the bytes of state 2?   state 2 + log 2 -> the bytes of state 3?   ...
#include "server/tool/run/replay.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/tool/film/export.h"
#include "server/tool/session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the inputs of a run ----
// From the scene or from a file, and into a file.

static bool say(const tool_inputs *inputs, const char *why)
{
    fprintf(stderr, "%s: %s\n", inputs->command, why);
    return false;
}

/// Gives the log up where it couldn't be written.
static bool look_at_log(tool_inputs *inputs, tarn_status status)
{
    char why[EXPORT_WHY_BYTES];
    if (status == TARN_OK) {
        return true;
    }
    if (status == TARN_E_IO) {
        (void)part_file_fail(&inputs->file, why);
    } else {
        snprintf(why, sizeof why, "%s: more inputs than the file may hold, allowed are %" PRId64 " bytes and %d steps",
                 inputs->file.path, TARN_INPUT_LOG_BYTES_MAX, (int)TARN_INPUT_LOG_STEPS_MAX);
        part_file_drop(&inputs->file);
    }
    inputs->records = false;
    inputs->failed = true;
    return say(inputs, why);
}

bool tool_inputs_open(tool_inputs *inputs, const char *command, const char *replay, const char *record, tool_tank *tank)
{
    char why[EXPORT_WHY_BYTES];
    tarn_input_log_head head;
    inputs->command = command;
    inputs->replays = inputs->records = inputs->failed = inputs->is_same = false;
    if (replay == NULL && record == NULL) {
        return true;
    }
    const tarn_status status = tarn_input_log_head_of(tank->tank, &tank->scene.tank, tank->scene.name, &head);
    if (status != TARN_OK) {
        return say(inputs, tarn_status_text(status));
    }
    if (replay != NULL) {
        inputs->replays = tarn_input_replay_open(&inputs->replay, replay, NULL) == TARN_OK;
        if (!inputs->replays) {
            return say(inputs, inputs->replay.why);
        }
        if (tarn_input_replay_fits(&inputs->replay, &head) != TARN_OK) {
            tarn_input_replay_close(&inputs->replay);
            return say(inputs, inputs->replay.why);
        }
        return true;
    }
    if (part_file_open(&inputs->file, record, why) != TARN_OK) {
        return say(inputs, why);
    }
    inputs->records = true;
    const tarn_status begun = tarn_input_log_begin(&inputs->log, inputs->file.file, &head);
    // A full disk is found now, not when the first buffer is full.
    return look_at_log(inputs, begun == TARN_OK && fflush(inputs->file.file) != 0 ? TARN_E_IO : begun);
}

bool tool_inputs_skip(tool_inputs *inputs, uint32_t steps)
{
    return !inputs->replays || tarn_input_replay_skip(&inputs->replay, steps) == TARN_OK ||
           say(inputs, inputs->replay.why);
}

bool tool_inputs_step(tool_inputs *inputs, tool_tank *tank, uint32_t step, progress *bar)
{
    tarn_step_input input = {0};
    if (inputs->replays) {
        if (tarn_input_replay_step(&inputs->replay, tank->tank) == TARN_OK) {
            return true;
        }
        progress_end(bar);
        return say(inputs, inputs->replay.why);
    }
    tarn_scene_drive(&tank->scene, step, &input);
    if (inputs->records) {
        const tarn_status kept = tarn_input_log_step(&inputs->log, &input);
        if (kept != TARN_OK) {
            progress_end(bar);
            (void)look_at_log(inputs, kept);
        }
    }
    const tarn_status status = tarn_tank_step(tank->tank, &input);
    if (status != TARN_OK) {
        progress_end(bar);
        fprintf(stderr, "%s: step %u: %s\n", inputs->command, step + 1, tarn_status_text(status));
    }
    return status == TARN_OK;
}

static bool end_replay(tool_inputs *inputs, tool_tank *tank)
{
    tarn_input_replay *replay = &inputs->replay;
    const tarn_tank_hash end = replay->end;
    tarn_tank_hash hash;
    if (tarn_input_replay_finish(replay, tank->tank) != TARN_OK) {
        return say(inputs, replay->why);
    }
    const tarn_status status = tarn_tank_hash_get(tank->tank, &hash);
    if (status != TARN_OK) {
        return say(inputs, tarn_status_text(status));
    }
    if ((end.lo != 0 || end.hi != 0) && (end.lo != hash.lo || end.hi != hash.hi)) {
        fprintf(stderr,
                "%s: %s: found the hash %016" PRIx64 "%016" PRIx64 " at the end, recorded is %016" PRIx64 "%016" PRIx64
                "\n",
                inputs->command, replay->path, hash.hi, hash.lo, end.hi, end.lo);
        return false;
    }
    inputs->is_same = end.lo != 0 || end.hi != 0;
    return true;
}

void tool_inputs_print(const tool_inputs *inputs, FILE *file)
{
    if (inputs->replays) {
        fprintf(file, "%s: %s\n", inputs->replay.path,
                inputs->is_same ? "the hash at the end is the recorded one"
                                : "not replayed to a recorded hash: nothing was compared");
    } else if (inputs->records) {
        fprintf(file, "inputs of %" PRIu64 " steps in %s\n", inputs->log.at.steps, inputs->file.path);
    }
}

bool tool_inputs_close(tool_inputs *inputs, tool_tank *tank, bool stepped)
{
    char why[EXPORT_WHY_BYTES];
    bool succeeded = true;
    if (inputs->replays) {
        succeeded = !stepped || inputs->replay.at.steps < inputs->replay.steps || end_replay(inputs, tank);
        tarn_input_replay_close(&inputs->replay);
    }
    if (inputs->records) {
        tarn_tank_hash hash;
        const bool has_hash = stepped && tarn_tank_hash_get(tank->tank, &hash) == TARN_OK;
        if (look_at_log(inputs, tarn_input_log_end(&inputs->log, has_hash ? &hash : NULL)) &&
            part_file_close(&inputs->file, why) != TARN_OK) {
            succeeded = say(inputs, why);
        }
    }
    return succeeded && !inputs->failed;
}

void tool_inputs_drop(tool_inputs *inputs)
{
    if (inputs->replays) {
        tarn_input_replay_close(&inputs->replay);
    }
    if (inputs->records) {
        part_file_drop(&inputs->file);
    }
}

// ---- the command ----

enum { KEY_VERIFY = 256 + 64, KEY_SCENES, KEY_FROM, KEY_TO, KEY_HASH = 'x', KEY_QUIET = 'q' };

typedef struct replay_arguments {
    const char *command, *file, *scenes_dir;
    double from_s, to_s; // below 0: not given
    bool verifies, hash, quiet;
    tool_device device;
    tool_export_options exports;
    tool_probe_options probes;
} replay_arguments;

static double parse_moment(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    const double moment_s = strtod(text, &end);
    if (end == text || *end != '\0' || !(moment_s >= 0.0 && isfinite(moment_s))) {
        argp_error(state, "--%s: found \"%s\", allowed are seconds of the session's time, such as 12.5", option, text);
    }
    return moment_s;
}

/// Whether something is written, instead of compared.
static bool does_write(const replay_arguments *arguments)
{
    return arguments->exports.file_count > 0 || arguments->probes.path != NULL || arguments->hash;
}

/// Options that don't go together.
static void check(struct argp_state *state, const replay_arguments *arguments)
{
    const bool writes = does_write(arguments);
    if (arguments->verifies && writes) {
        argp_error(state, "found both --verify and something to write, allowed is one of them");
    }
    if (!writes && (arguments->from_s >= 0.0 || arguments->to_s >= 0.0 || arguments->quiet)) {
        argp_error(state, "--%s needs --export, --render, --ply, --probes or --hash",
                   arguments->from_s >= 0.0 ? "from"
                   : arguments->to_s >= 0.0 ? "to"
                                            : "quiet");
    }
    if (arguments->from_s >= 0.0 && arguments->to_s >= 0.0 && arguments->to_s < arguments->from_s) {
        argp_error(state, "--to: found %g, allowed is nothing before --from, which is %g", arguments->to_s,
                   arguments->from_s);
    }
    if (arguments->hash && arguments->exports.uses_standard_output) {
        argp_error(state, "found both --hash and --render -, allowed is one of them on standard output");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    replay_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->exports;
        state->child_inputs[1] = &arguments->probes;
        state->child_inputs[2] = &arguments->device;
        return 0;
    case KEY_FROM:
        arguments->from_s = parse_moment(state, "from", argument);
        return 0;
    case KEY_TO:
        arguments->to_s = parse_moment(state, "to", argument);
        return 0;
    case KEY_HASH:
        arguments->hash = true;
        return 0;
    case KEY_QUIET:
        arguments->quiet = true;
        return 0;
    case KEY_VERIFY:
        arguments->verifies = true;
        return 0;
    case KEY_SCENES:
        arguments->scenes_dir = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            argp_error(state, "found a second file, \"%s\", allowed is one", argument);
        }
        arguments->file = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the file of a kept session is missing");
        return 0;
    case ARGP_KEY_END:
        check(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/// Where the way from a state has come to.
typedef struct replay_way {
    bool is_going; // from a state that is whole, with nothing missing since
    int64_t from;  // that state
    uint64_t from_step, step;
    tarn_status ended; // TARN_OK, or what the last step returned
    kept_hashes hashes;
} replay_way;

/// Compares where the way leads to with a state. @return whether they are the same
static bool compare(tarn_tank *tank, const replay_way *way, const kept_stretch *stretch)
{
    const tarn_box_bytes *kept = &stretch->state.bytes;
    const size_t room = tarn_tank_save_bytes_max(tank);
    uint8_t *bytes = malloc(room);
    size_t byte_count = 0, at = 0;
    const tarn_status status = bytes != NULL ? tarn_tank_save(tank, bytes, room, &byte_count) : TARN_E_MEMORY;
    const size_t both = byte_count < kept->count ? byte_count : kept->count;
    while (status == TARN_OK && at < both && bytes[at] == kept->bytes[at]) {
        at++;
    }
    free(bytes);
    const bool is_same = status == TARN_OK && at == byte_count && at == kept->count && way->step == stretch->state.step;
    printf("state %" PRId64 " (step %" PRIu64 ") to state %" PRId64 " (step %" PRIu64 "): ", way->from, way->from_step,
           stretch->id, stretch->state.step);
    if (status != TARN_OK) {
        printf("not compared: %s\n", tarn_status_text(status));
    } else if (way->ended != TARN_OK) {
        printf("they part at step %" PRIu64 ", which ends with: %s\n", way->step + 1, tarn_status_text(way->ended));
    } else if (way->step != stretch->state.step) {
        printf("they part: the log leads to step %" PRIu64 "\n", way->step);
    } else if (!is_same) {
        printf("they part between these steps: byte %zu of %zu is the first that differs\n", at, kept->count);
    } else {
        printf("the same %zu bytes\n", byte_count);
    }
    return is_same;
}

/// Where nothing is compared.
static void tell(tarn_tank *tank, const replay_way *way)
{
    tarn_tank_hash hash = {0};
    printf("state %" PRId64 " (step %" PRIu64 ") to step %" PRIu64, way->from, way->from_step, way->step);
    if (way->ended != TARN_OK) {
        printf(", whose next ends with: %s\n", tarn_status_text(way->ended));
    } else if (tarn_tank_hash_get(tank, &hash) == TARN_OK) {
        printf(": hash %016" PRIx64 "%016" PRIx64 "\n", hash.hi, hash.lo);
    }
}

static bool go_on(void *user, uint64_t step)
{
    (void)user;
    (void)step;
    return !tool_interrupted();
}

/// A state: what leads to it is compared, and it is begun from. @return false: they aren't the same, or it failed
static bool arrive(const replay_arguments *arguments, const kept_stretch *stretch, replay_way *way, tool_tank *tank,
                   char made[TARN_IPC_SCENE_BYTES_MAX + 1])
{
    bool is_same = true;
    if (way->is_going && stretch->follows && stretch->is_whole && arguments->verifies) {
        is_same = compare(tank->tank, way, stretch);
    } else if (way->is_going && (stretch->is_whole || !stretch->follows)) {
        tell(tank->tank, way);
    }
    if (!stretch->is_whole) {
        printf("state %" PRId64 " is damaged%s\n", stretch->id,
               stretch->follows ? "" : "; nothing before it leads further, and nothing is compared until the next");
        way->is_going = way->is_going && stretch->follows;
        return is_same;
    }
    *way = (replay_way){.from = stretch->id, .from_step = stretch->state.step, .step = stretch->state.step};
    way->is_going = tool_kept_put(arguments->command, arguments->scenes_dir, &arguments->device, stretch, tank, made);
    return is_same && way->is_going;
}

/// Where a replay has come to, with all that it needs to go on.
typedef struct replay_run {
    char made[TARN_IPC_SCENE_BYTES_MAX + 1];
    tool_tank tank;
    replay_way way;
    uint64_t hash_count; // that were compared
    bool is_right;
} replay_run;

/// The steps of a log, and whether they come to the hashes in it.
static void make_steps(const replay_arguments *arguments, const tarn_box_bytes *log, replay_run *run)
{
    replay_way *way = &run->way;
    const kept_hashes *hashes = &way->hashes;
    way->ended = kept_replay(run->tank.tank, log, &way->step, arguments->verifies ? &way->hashes : NULL, go_on, NULL);
    run->hash_count += hashes->count;
    if (hashes->differs) {
        run->is_right = false;
        printf("state %" PRId64 " (step %" PRIu64 "): they part behind step %" PRIu64 ", at step %" PRIu64
               " at the latest: hash %016" PRIx64 "%016" PRIx64 " in the log, %016" PRIx64 "%016" PRIx64 " here\n",
               way->from, way->from_step, hashes->same_step > way->from_step ? hashes->same_step : way->from_step,
               hashes->step, hashes->in_log.hi, hashes->in_log.lo, hashes->of_tank.hi, hashes->of_tank.lo);
    }
}

static void replay_some(const replay_arguments *arguments, const kept_copy *copy, replay_run *run)
{
    replay_way *way = &run->way;
    for (int i = 0; i < copy->count && !tool_interrupted(); i++) {
        const kept_stretch *stretch = &copy->stretches[i];
        run->is_right = arrive(arguments, stretch, way, &run->tank, run->made) && run->is_right;
        if (way->is_going && way->ended == TARN_OK) {
            make_steps(arguments, &stretch->log, run);
        }
        if (stretch->is_cut) {
            printf("the log behind state %" PRId64 " is damaged behind step %" PRIu64
                   "; nothing is compared until the next state\n",
                   stretch->id, way->step);
            way->is_going = run->is_right = false;
        }
        run->is_right = run->is_right && stretch->is_whole;
    }
}

/// A few states at a time. Those that went from a file in use meanwhile are a gap.
static int replay(const replay_arguments *arguments, kept_copy *copy)
{
    static replay_run run; // large
    tarn_text why;
    tarn_status status = kept_copy_read(arguments->file, 0, copy, why);
    run = (replay_run){.is_right = status == TARN_OK};
    while (status == TARN_OK && !tool_interrupted()) {
        const int64_t last = copy->stretches[copy->count - 1].id;
        replay_some(arguments, copy, &run);
        status = kept_copy_read(arguments->file, last, copy, why);
    }
    const bool is_interrupted = tool_interrupted();
    if (run.way.is_going && !is_interrupted) {
        tell(run.tank.tank, &run.way);
    }
    if (arguments->verifies && !is_interrupted) {
        printf("%" PRIu64 " hash%s in the log compared\n", run.hash_count, run.hash_count == 1 ? "" : "es");
    }
    run.is_right = run.is_right && status == TARN_E_NOT_FOUND;
    if (status != TARN_OK && (status != TARN_E_NOT_FOUND || run.way.from == 0)) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", arguments->command, why);
        run.is_right = false;
    }
    tool_kept_close(&run.tank);
    if (is_interrupted) {
        fprintf(stderr, "%s: interrupted\n", arguments->command);
        return TOOL_EXIT_INTERRUPTED;
    }
    return run.is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

int tool_replay(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"verify", KEY_VERIFY, 0, 0,
         "compare each state that is kept, and each hash in the log, with where the state before it leads to", 0},
        {"from", KEY_FROM, "S", 0,
         "where what is written begins, in seconds of the session's time, as the page's time line has them; default: "
         "the oldest state",
         0},
        {"to", KEY_TO, "S", 0, "where it ends; default: the end of the log", 0},
        {"hash", KEY_HASH, 0, 0, "print the 128-bit hash of the state there as the last line, in hexadecimal", 0},
        {"quiet", KEY_QUIET, 0, 0, "no progress and no report of what is written", 0},
        {"scenes", KEY_SCENES, "DIR", 0, "where the server had its scenes; default: those that came with Tarn", 0},
        {0},
    };
    static const struct argp_child children[] = {
        {&tool_export_argp, 0, "What it writes, as `tarn run` does:", 1},
        {&tool_probe_argp, 0, "What it measures:", 2},
        {&tool_device_argp, 0, "Where it runs:", 3},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE",
        .doc = "Makes the steps of a kept session again: from each state in FILE through the log behind it.\v"
               "FILE is a .tank of tarnd's --store, which may be in use, or a .damaged one. Prints a line for each "
               "state; without --verify, and where no other state follows, with the hash of what it leads to. The "
               "status is 1 where something differs or is damaged. With --export, --render, --ply, --probes or --hash "
               "nothing is compared: the steps from --from to --to are written, and numbered from there. For inputs of "
               "`tarn run` "
               "see `tarn run --inputs`.",
        .children = children,
    };
    replay_arguments arguments = {.command = argv[0], .from_s = -1.0, .to_s = -1.0};
    static kept_copy copy;
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    signal(SIGPIPE, SIG_IGN); // a write error, which is reported with the file's name
    tool_catch_interrupts();
    if (arguments.hash && !tool_output_is_open(arguments.command)) {
        return EXIT_FAILURE;
    }
    if (does_write(&arguments)) {
        return tool_replay_export(&(tool_replay_span){
            .command = arguments.command,
            .file = arguments.file,
            .scenes_dir = arguments.scenes_dir,
            .from_s = arguments.from_s,
            .to_s = arguments.to_s,
            .hash = arguments.hash,
            .quiet = arguments.quiet,
            .device = &arguments.device,
            .exports = &arguments.exports,
            .probes = &arguments.probes,
        });
    }
    const int status = replay(&arguments, &copy);
    kept_copy_free(&copy);
    return status;
}
