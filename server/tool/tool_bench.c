// `tarn bench`: where the time of a scene goes. The same steps are taken three times from the scene's start: once
// plainly, once with a frame encoded after each step, once with that and the stages timed, so that the figures compare.
#include "kernels/encoder.h"
#include "server/common/ipc.h"
#include "server/common/option_number.h"
#include "server/tool/tool.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct bench_arguments {
    const char *command, *scene;
    uint32_t steps;
    tool_device device;
} bench_arguments;

static const struct argp_option bench_options[] = {
    {"steps", 's', "N", 0, "steps to measure, 1 to 100000000; default: 120", 0},
    {0},
};
_Static_assert(TOOL_STEPS_BENCH == 120, "the help text above names the default");

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bench_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->device;
        return 0;
    case 's':
        arguments->steps = (uint32_t)tarn_option_number(state, "steps", argument, 1, TOOL_STEPS_MAX);
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

/// @param encoder  where not NULL: encodes each step into `frame`
static tarn_status run_steps(tool_tank *tank, uint32_t steps, tarn_encoder *encoder, uint8_t *frame, bench_pass *pass)
{
    *pass = (bench_pass){0};
    tarn_tank_report report;
    tarn_status status = tarn_tank_reset(tank->tank);
    if (status == TARN_OK) {
        status = tarn_tank_report_get(tank->tank, &report); // the reset is over before the clock starts
    }
    double start_s = tool_now_s();
    for (uint32_t step = 0; status == TARN_OK && step < steps && !tool_interrupted(); step++) {
        tarn_step_input input = {0};
        tarn_scene_drive(&tank->scene, step, &input);
        status = tarn_tank_step(tank->tank, &input);
        if (status == TARN_OK && encoder != NULL) {
            status = encode(encoder, step, frame, pass);
        }
        tarn_tank_report_light(tank->tank, &report);
        if (report.pressure_iterations > pass->iterations_max) {
            pass->iterations_max = report.pressure_iterations;
        }
        if (report.substeps > pass->substeps_max) {
            pass->substeps_max = report.substeps;
        }
    }
    pass->seconds = tool_now_s() - start_s;
    return status;
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

static void print_pass(const char *name, const bench_pass *pass, uint32_t steps, uint64_t particles, double dt_s)
{
    printf("%-28s %10.3f %10.1f %12.2f %20.2f\n", name, 1e3 * pass->seconds / steps, steps / pass->seconds,
           steps * dt_s / pass->seconds, 1e-6 * (double)particles * steps / pass->seconds);
}

/// The three passes. The plain one comes first: a tank that has an encoder does a little more in each step.
static tarn_status run_passes(tool_tank *tank, uint32_t steps, bench_pass *plain, bench_pass *encoded)
{
    bench_pass staged;
    tarn_encoder_desc desc;
    tarn_encoder *encoder = NULL;
    uint8_t *frame = malloc(FRAME_BYTES_MAX);
    tarn_encoder_desc_default(&desc);
    tarn_status status = frame != NULL ? run_steps(tank, steps, NULL, NULL, plain) : TARN_E_MEMORY;
    if (status == TARN_OK) {
        status = tarn_encoder_create(tank->tank, &desc, &encoder);
    }
    if (status == TARN_OK) {
        status = run_steps(tank, steps, encoder, frame, encoded);
    }
    tarn_tank_profile(tank->tank, true);
    if (status == TARN_OK) {
        status = run_steps(tank, steps, encoder, frame, &staged);
    }
    tarn_tank_profile(tank->tank, false);
    tarn_encoder_destroy(encoder);
    free(frame);
    return status;
}

static int measure(const bench_arguments *arguments, tool_tank *tank)
{
    const tarn_tank_desc *desc = &tank->scene.tank;
    bench_pass plain, encoded;
    const tarn_status status = run_passes(tank, arguments->steps, &plain, &encoded);
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s\n", arguments->command, tarn_status_text(status));
        return EXIT_FAILURE;
    }
    if (tool_interrupted()) {
        fprintf(stderr, "%s: interrupted; nothing measured\n", arguments->command);
        return TOOL_EXIT_INTERRUPTED;
    }
    uint64_t particles = tarn_tank_desc_particles(desc);
    printf("%s: %llu particles, %ux%ux%u cells, %u steps of %.6g s; %s\n", tank->scene.name,
           (unsigned long long)particles, desc->cells[0], desc->cells[1], desc->cells[2], arguments->steps,
           (double)desc->dt_s, tarn_device_name(tank->device));
    print_stages(tank, arguments->steps);
    printf("\n%-28s %10s %10s %12s %20s\n", "", "ms/step", "steps/s", "x real time", "M particle-steps/s");
    print_pass("steps", &plain, arguments->steps, particles, (double)desc->dt_s);
    print_pass("steps and encoding", &encoded, arguments->steps, particles, (double)desc->dt_s);
    double frame_bytes = (double)encoded.frame_bytes / arguments->steps;
    printf("\nframe: %.1f kB on average, %.2f bits per particle, %.1f Mbit/s at one per step; at most %u substeps and "
           "%u pressure "
           "iterations\n",
           1e-3 * frame_bytes, 8 * frame_bytes / (double)particles, 8e-6 * frame_bytes / (double)desc->dt_s,
           plain.substeps_max, plain.iterations_max);
    return EXIT_SUCCESS;
}

int tool_bench(int argc, char **argv)
{
    static const struct argp_child children[] = TOOL_DEVICE_CHILDREN;
    static const struct argp argp = {
        .options = bench_options,
        .parser = parse,
        .args_doc = "SCENE",
        .doc = "Measures a scene: time per stage, steps per second, and what encoding adds.\v"
               "SCENE is a path to a .json file or the name of a shipped scene. The steps are taken three times from "
               "the scene's start. Compare figures of one machine only.",
        .children = children,
    };
    bench_arguments arguments = {.command = argv[0], .steps = TOOL_STEPS_BENCH};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    tool_tank tank;
    tool_catch_interrupts();
    if (!tool_tank_open(&tank, arguments.command, arguments.scene, &arguments.device)) {
        return EXIT_FAILURE;
    }
    int status = measure(&arguments, &tank);
    tool_tank_close(&tank);
    return status;
}
