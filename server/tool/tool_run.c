// `tarn run`: steps a scene without a server.
//
//     scene -> tank -> step 1..N -> (every K steps: particles -> PLY) -> report -> hash
#include "server/tool/ply_file.h"
#include "server/tool/progress.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct run_arguments {
    const char *command, *scene, *ply;
    uint32_t steps, ply_every;
    bool hash, quiet;
    tarn_device_desc device;
} run_arguments;

enum { KEY_STEPS = 's', KEY_PLY = 'p', KEY_HASH = 'x', KEY_QUIET = 'q', KEY_PLY_EVERY = 256 };

static const struct argp_option run_options[] = {
    {"steps", KEY_STEPS, "N", 0, "steps to take, 0 to 100000000; default: 300", 0},
    {"hash", KEY_HASH, 0, 0, "print the 128-bit hash of the state as the last line, in hexadecimal", 0},
    {"ply", KEY_PLY, "DIR", 0, "write particles to DIR as binary PLY files; DIR is made if it isn't there", 0},
    {"ply-every", KEY_PLY_EVERY, "K", 0, "a PLY file every K steps, and one of the start; default: 1", 0},
    {"quiet", KEY_QUIET, 0, 0, "no progress and no report", 0},
    {0},
};
_Static_assert(TOOL_STEPS_MAX == 100000000 && TOOL_STEPS_RUN == 300, "the help text above names the limits");

static error_t parse(int key, char *argument, struct argp_state *state)
{
    run_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->device;
        return 0;
    case KEY_STEPS:
        arguments->steps = tool_parse_count(state, "steps", argument, 0, TOOL_STEPS_MAX);
        return 0;
    case KEY_PLY_EVERY:
        arguments->ply_every = tool_parse_count(state, "ply-every", argument, 1, TOOL_STEPS_MAX);
        return 0;
    case KEY_PLY:
        arguments->ply = argument;
        return 0;
    case KEY_HASH:
        arguments->hash = true;
        return 0;
    case KEY_QUIET:
        arguments->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->scene != NULL) {
            argp_error(state, "found a second scene, \"%s\"; allowed is one", argument);
        }
        arguments->scene = argument;
        return 0;
    case ARGP_KEY_END:
        if (arguments->scene == NULL) {
            argp_error(state, "the scene is missing");
        }
        if (arguments->ply_every != 0 && arguments->ply == NULL) {
            argp_error(state, "--ply-every needs --ply DIR");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/// Where exports go, and room for the particles.
typedef struct ply_export {
    const char *directory;
    uint32_t every, capacity, files;
    float *positions_m, *velocities_m_s;
} ply_export;

static bool export_open(ply_export *out, const run_arguments *arguments, const tarn_scene *scene)
{
    *out = (ply_export){.directory = arguments->ply, .every = arguments->ply_every != 0 ? arguments->ply_every : 1};
    if (arguments->ply == NULL) {
        return true;
    }
    if (mkdir(arguments->ply, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "%s: --ply %s: %s\n", arguments->command, arguments->ply, strerror(errno));
        return false;
    }
    uint64_t particles = tarn_tank_desc_particles(&scene->tank);
    out->capacity = scene->tank.particles_max > particles ? scene->tank.particles_max : (uint32_t)particles;
    out->positions_m = malloc(out->capacity * 3 * sizeof(float));
    out->velocities_m_s = malloc(out->capacity * 3 * sizeof(float));
    if (out->positions_m == NULL || out->velocities_m_s == NULL) {
        fprintf(stderr, "%s: out of memory for %u particles\n", arguments->command, out->capacity);
        return false;
    }
    return true;
}

static void export_close(ply_export *out)
{
    free(out->positions_m);
    free(out->velocities_m_s);
}

static bool export_step(ply_export *out, const char *command, tool_tank *tank, uint32_t step, progress *bar)
{
    if (out->directory == NULL || step % out->every != 0) {
        return true;
    }
    uint32_t count = 0;
    tarn_status status =
        tarn_tank_particles(tank->tank, out->positions_m, out->velocities_m_s, NULL, out->capacity, &count);
    if (status != TARN_OK) {
        progress_end(bar);
        fprintf(stderr, "%s: reading the particles of step %u: %s\n", command, step, tarn_status_text(status));
        return false;
    }
    char path[PATH_MAX], comment[128], why[PATH_MAX + 128];
    snprintf(path, sizeof path, "%s/%s-%06u.ply", out->directory, tank->scene.name, step);
    snprintf(comment, sizeof comment, "tarn %s, scene %s, step %u", TARN_VERSION, tank->scene.name, step);
    if (ply_file_write(path, comment, out->positions_m, out->velocities_m_s, count, why, sizeof why) != TARN_OK) {
        progress_end(bar);
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    out->files++;
    return true;
}

/// @return steps taken; fewer than asked for after an interrupt. `failed` says that a sentence went to stderr.
static uint32_t run_steps(const run_arguments *arguments, tool_tank *tank, ply_export *out, bool *failed)
{
    progress bar;
    progress_start(&bar, arguments->steps, (double)tank->scene.tank.dt_s, arguments->quiet);
    *failed = !export_step(out, arguments->command, tank, 0, &bar);
    uint32_t step = 0;
    while (!*failed && step < arguments->steps && !tool_interrupted()) {
        tarn_status status = tarn_tank_step(tank->tank, NULL, 0);
        if (status != TARN_OK) {
            progress_end(&bar);
            fprintf(stderr, "%s: step %u: %s\n", arguments->command, step + 1, tarn_status_text(status));
            *failed = true;
            break;
        }
        step++;
        *failed = !export_step(out, arguments->command, tank, step, &bar);
        progress_show(&bar, step);
    }
    progress_end(&bar);
    return step;
}

static void print_report(const run_arguments *arguments, tool_tank *tank, const ply_export *out, double elapsed_s)
{
    tarn_tank_report report;
    if (tarn_tank_report_get(tank->tank, &report) != TARN_OK) {
        return;
    }
    printf("%s: %" PRIu64 " steps, %.3f s simulated in %.3f s (%.2f x real time), %u particles; %s\n", tank->scene.name,
           report.step, report.sim_time_s, elapsed_s, elapsed_s > 0 ? report.sim_time_s / elapsed_s : 0.0,
           report.particle_count, tarn_device_name(tank->device));
    printf("kinetic energy %.6g J/kg, potential %.6g J/kg, top speed %.4g m/s, residual %.3g\n", report.kinetic_j_kg,
           report.potential_j_kg, (double)report.speed_max_m_s, (double)report.residual);
    if (arguments->ply != NULL) {
        printf("%u PLY files in %s\n", out->files, arguments->ply);
    }
}

static int finish(const run_arguments *arguments, tool_tank *tank, const ply_export *out, uint32_t step,
                  double elapsed_s)
{
    if (!arguments->quiet) {
        print_report(arguments, tank, out, elapsed_s);
        fflush(stdout);
    }
    if (step < arguments->steps) {
        fprintf(stderr, "%s: interrupted after step %u of %u", arguments->command, step, arguments->steps);
        if (arguments->ply != NULL) {
            fprintf(stderr, "; the %u PLY files in %s are complete, the rest is missing", out->files, arguments->ply);
        }
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

int tool_run(int argc, char **argv)
{
    static const struct argp_child children[] = TOOL_DEVICE_CHILDREN;
    static const struct argp argp = {
        .options = run_options,
        .parser = parse,
        .args_doc = "SCENE",
        .doc = "Simulates a scene without a server.\v"
               "SCENE is a path to a .json file or the name of a shipped scene. The hash is the same on every device "
               "and for any number of threads. Ctrl-C ends after the current step with status 130.",
        .children = children,
    };
    run_arguments arguments = {.command = argv[0], .steps = TOOL_STEPS_RUN};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);

    int status = EXIT_FAILURE;
    ply_export out = {0};
    tool_tank tank;
    tool_catch_interrupts();
    if (!tool_tank_open(&tank, arguments.command, arguments.scene, &arguments.device)) {
        return EXIT_FAILURE;
    }
    if (export_open(&out, &arguments, &tank.scene)) {
        bool failed = false;
        double start_s = tool_now_s();
        uint32_t step = run_steps(&arguments, &tank, &out, &failed);
        if (!failed) {
            status = finish(&arguments, &tank, &out, step, tool_now_s() - start_s);
        }
    }
    export_close(&out);
    tool_tank_close(&tank);
    return status;
}
