// `tarn check`: validates scene files, every one that is named.
#include "server/tool/tool.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct check_arguments {
    char **scenes;
    int scene_count;
    bool quiet;
} check_arguments;

static const struct argp_option check_options[] = {
    {"quiet", 'q', 0, 0, "say nothing about the scenes that are right", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    check_arguments *arguments = state->input;
    switch (key) {
    case 'q':
        arguments->quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->scenes = state->argv + state->next;
        arguments->scene_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the scene is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool check_scene(const char *command, const char *argument, bool quiet)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    tarn_scene scene;
    if (tarn_scene_resolve(argument, NULL, path, sizeof path, why, sizeof why) != TARN_OK ||
        tarn_scene_read_file(path, &scene, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    if (!quiet) {
        const tarn_tank_desc *tank = &scene.tank;
        printf("%s: right: %ux%ux%u cells of %.6g m, %u block%s, %" PRIu64 " particles, step %.6g s\n", path,
               tank->cells[0], tank->cells[1], tank->cells[2], (double)tank->cell_m, tank->block_count,
               tank->block_count == 1 ? "" : "s", tarn_tank_desc_particles(tank), (double)tank->dt_s);
    }
    return true;
}

int tool_check(int argc, char **argv)
{
    static const struct argp argp = {
        .options = check_options,
        .parser = parse,
        .args_doc = "SCENE...",
        .doc = "Validates scenes: paths to .json files or names of shipped scenes.\v"
               "The status is 0 when all are right and 1 otherwise. scene.schema.json, next to the shipped scenes, "
               "describes the format to editors.",
    };
    check_arguments arguments = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    bool right = true;
    for (int i = 0; i < arguments.scene_count; i++) {
        right = check_scene(argv[0], arguments.scenes[i], arguments.quiet) && right;
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
