// `tarn bench`: where the time of a scene goes. The same steps are taken three times from the scene's start: once
// plainly, once with a frame encoded after each step, once with that and the stages timed, so that the figures compare.
#include "kernels/encoder.h"
#include "server/base/ipc.h"
#include "server/base/options.h"
#include "server/tool/run/replay.h"
#include "server/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct bench_arguments {
    const char *command, *scene;
    const char *inputs; ///< file; NULL: none
    uint32_t steps;     ///< 0: not said
    tool_device device;
    tarn_scene_settings settings;
} bench_arguments;

enum { KEY_INPUTS = 256 };

static const struct argp_option bench_options[] = {
    {"steps", 's', "N", 0, "steps to measure, 1 to 100000000; default: 120, or as many as --inputs has", 0},
    {"inputs", KEY_INPUTS, "FILE", 0,
     "do to the tank what a file of tarn run --record-inputs says, in place of what the scene does", 0},
    {0},
};
_Static_assert(TOOL_STEPS_BENCH == 120, "the help text above names the default");

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bench_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->device;
        state->child_inputs[1] = &arguments->settings;
        return 0;
    case 's':
        arguments->steps = (uint32_t)tarn_option_number(state, "steps", argument, 1, TOOL_STEPS_MAX);
        return 0;
    case KEY_INPUTS:
        arguments->inputs = argument;
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
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/// What one pass over the steps took.
typedef struct bench_pass {
    double seconds;
    uint64_t frame_bytes; ///< of all frames
    uint64_t substeps;
    uint64_t particles; ///< summed over the steps
    uint32_t iterations_max, substeps_max;
} bench_pass;

enum { FRAME_BYTES_MAX = TARN_IPC_FRAME_BYTES_MAX, STEPS_OF_A_KEY = 60 };

/// Encodes the frame of a step: a key frame once a second or so, and base and extra frames in turn.
static tarn_status encode(tarn_encoder *encoder, uint32_t step, uint8_t *frame, bench_pass *pass)
{
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    const tarn_stream_kind kind = step % STEPS_OF_A_KEY == 0 ? TARN_STREAM_KEY
                                  : step % 2 == 0            ? TARN_STREAM_BASE
                                                             : TARN_STREAM_EXTRA;
    tarn_stream_head head;
    const tarn_status status = tarn_encoder_encode(encoder, kind, &info, frame, FRAME_BYTES_MAX, &head);
    pass->frame_bytes += status == TARN_OK ? head.frame_bytes : 0;
    return status;
}

/// Opens the file of inputs, or settles for what the scene does. @return how many steps there are to take, 0: a
/// sentence went to stderr
static uint32_t open_inputs(const bench_arguments *arguments, tool_tank *tank, tool_inputs *inputs)
{
    if (!tool_inputs_open(inputs, arguments->command, arguments->inputs, NULL, tank)) {
        return 0;
    }
    const uint32_t wanted = arguments->steps > 0 ? arguments->steps : TOOL_STEPS_BENCH;
    if (!inputs->replays) {
        return wanted;
    }
    const uint64_t steps = inputs->replay.steps;
    if (arguments->steps > steps || steps == 0) {
        fprintf(stderr, "%s: --steps: found %u, allowed are at most %llu, which \"%s\" has\n", arguments->command,
                wanted, (unsigned long long)steps, arguments->inputs);
        tool_inputs_drop(inputs);
        return 0;
    }
    return arguments->steps > 0 ? arguments->steps : (uint32_t)steps;
}

/// @param encoder  where not NULL: encodes each step into `frame`
/// @return the steps taken; 0: a sentence went to stderr
static uint32_t run_steps(const bench_arguments *arguments, tool_tank *tank, tarn_encoder *encoder, uint8_t *frame,
                          bench_pass *pass)
{
    static tool_inputs inputs; // large
    progress none = {.quiet = true};
    *pass = (bench_pass){0};
    tarn_tank_report report;
    tarn_status status = tarn_tank_reset(tank->tank);
    if (status == TARN_OK) {
        status = tarn_tank_report_get(tank->tank, &report); // the reset is over before the clock starts
    }
    const uint32_t steps = status == TARN_OK ? open_inputs(arguments, tank, &inputs) : 0;
    double start_s = tool_now_s();
    for (uint32_t step = 0; status == TARN_OK && step < steps && !tool_interrupted(); step++) {
        if (!tool_inputs_step(&inputs, tank, step, &none)) {
            tool_inputs_drop(&inputs);
            return 0;
        }
        if (encoder != NULL) {
            status = encode(encoder, step, frame, pass);
        }
        tarn_tank_report_light(tank->tank, &report);
        if (report.pressure_iterations > pass->iterations_max) {
            pass->iterations_max = report.pressure_iterations;
        }
        pass->substeps += report.substeps;
        pass->particles += report.particle_count;
        if (report.substeps > pass->substeps_max) {
            pass->substeps_max = report.substeps;
        }
    }
    pass->seconds = tool_now_s() - start_s;
    if (steps > 0) {
        tool_inputs_drop(&inputs);
    }
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", arguments->command, tarn_status_text(status));
    }
    return status == TARN_OK ? steps : 0;
}

static void print_stages(tool_tank *tank, uint32_t steps)
{
    const char *names[TARN_TANK_STAGES_MAX];
    double seconds[TARN_TANK_STAGES_MAX] = {0}, sum_s = 0;
    uint32_t count = tarn_tank_profile_get(tank->tank, names, seconds, true);
    for (uint32_t i = 0; i < count; i++) {
        sum_s += seconds[i];
    }
    printf("\n%-28s %10s %8s\n", "stage", "ms/step", "share");
    for (uint32_t i = 0; i < count; i++) {
        printf("%-28s %10.3f %6.1f %%\n", names[i], 1e3 * seconds[i] / steps, sum_s > 0 ? 100 * seconds[i] / sum_s : 0);
    }
    printf("%-28s %10.3f %6.1f %%\n", "all stages", 1e3 * sum_s / steps, 100.0);
}

static void print_pass(const char *name, const bench_pass *pass, uint32_t steps, double dt_s)
{
    printf("%-28s %10.3f %10.1f %12.2f %20.2f\n", name, 1e3 * pass->seconds / steps, steps / pass->seconds,
           steps * dt_s / pass->seconds, 1e-6 * (double)pass->particles / pass->seconds);
}

/// The three passes. The plain one comes first: a tank that has an encoder does a little more in each step.
/// @return the steps of each; 0: a sentence went to stderr
static uint32_t run_passes(const bench_arguments *arguments, tool_tank *tank, bench_pass *plain, bench_pass *encoded)
{
    bench_pass staged;
    tarn_encoder_desc desc;
    tarn_encoder *encoder = NULL;
    uint8_t *frame = malloc(FRAME_BYTES_MAX);
    tarn_encoder_desc_default(&desc);
    uint32_t steps = frame != NULL ? run_steps(arguments, tank, NULL, NULL, plain) : 0;
    const tarn_status status = frame != NULL ? tarn_encoder_create(tank->tank, &desc, &encoder) : TARN_E_MEMORY;
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", arguments->command, tarn_status_text(status));
        steps = 0;
    }
    steps = steps > 0 ? run_steps(arguments, tank, encoder, frame, encoded) : 0;
    tarn_tank_profile(tank->tank, TARN_PROFILE_WAITS);
    steps = steps > 0 ? run_steps(arguments, tank, encoder, frame, &staged) : 0;
    tarn_tank_profile(tank->tank, TARN_PROFILE_OFF);
    tarn_encoder_destroy(encoder);
    free(frame);
    return steps;
}

static int measure(const bench_arguments *arguments, tool_tank *tank)
{
    const tarn_tank_desc *desc = &tank->scene.tank;
    bench_pass plain, encoded;
    const uint32_t steps = run_passes(arguments, tank, &plain, &encoded);
    if (steps == 0) {
        return EXIT_FAILURE;
    }
    if (tool_interrupted()) {
        fprintf(stderr, "%s: interrupted; nothing measured\n", arguments->command);
        return TOOL_EXIT_INTERRUPTED;
    }
    printf("%s: %.0f particles on average, %ux%ux%u cells, %u steps of %.6g s; %s\n", tank->scene.name,
           (double)plain.particles / steps, desc->cells[0], desc->cells[1], desc->cells[2], steps, (double)desc->dt_s,
           tarn_device_name(tank->device));
    print_stages(tank, steps);
    printf("\n%-28s %10s %10s %12s %20s\n", "", "ms/step", "steps/s", "x real time", "M particle-steps/s");
    print_pass("steps", &plain, steps, (double)desc->dt_s);
    print_pass("steps and encoding", &encoded, steps, (double)desc->dt_s);
    double frame_bytes = (double)encoded.frame_bytes / steps;
    printf("\nframe: %.1f kB on average, %.2f bits per particle, %.1f Mbit/s at one per step; %.2f substeps a step, at "
           "most %u, and at most %u pressure iterations\n",
           1e-3 * frame_bytes,
           encoded.particles > 0 ? 8 * (double)encoded.frame_bytes / (double)encoded.particles : 0.0,
           8e-6 * frame_bytes / (double)desc->dt_s, (double)plain.substeps / steps, plain.substeps_max,
           plain.iterations_max);
    return EXIT_SUCCESS;
}

int tool_bench(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&tool_device_argp, 0, "Where it runs:", 0},
        {&tool_settings_argp, 0, NULL, 0},
        {0},
    };
    static const struct argp argp = {
        .options = bench_options,
        .parser = parse,
        .args_doc = "SCENE",
        .doc = "Measures a scene: time per stage, steps per second, and what encoding adds.\v"
               "SCENE is a path to a .json file or the name of a shipped scene. The steps are taken three times from "
               "the scene's start. Compare figures of one machine only.",
        .children = children,
    };
    bench_arguments arguments = {.command = argv[0]};
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    tool_tank tank;
    tool_catch_interrupts();
    if (!tool_tank_open(&tank, arguments.command, arguments.scene, &arguments.settings, &arguments.device)) {
        return EXIT_FAILURE;
    }
    int status = measure(&arguments, &tank);
    tool_tank_close(&tank);
    return status;
}
