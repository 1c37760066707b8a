// `tarn check`: validates scene files, every one that is named.
#include "protocol/message.h"
#include "server/common/option_names.h"
#include "server/common/printable.h"
#include "server/tool/scene_doubts.h"
#include "server/tool/tool.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

typedef struct counted {
    uint32_t count;
    const char *what;
} counted;

/// " 2 blocks, 1 shape": what there is none of is left out. @return whether there is anything
static bool print_counts(const counted *parts, size_t part_count, bool has_plural)
{
    const char *separator = " ";
    for (size_t i = 0; i < part_count; i++) {
        if (parts[i].count > 0) {
            printf("%s%u %s%s", separator, parts[i].count, parts[i].what, has_plural ? plural(parts[i].count) : "");
            separator = ", ";
        }
    }
    return separator[0] == ',';
}

/// What holds for any tank of the model, and what of it the scene has set otherwise.
static void print_model(const tarn_tank_desc *tank)
{
    const tarn_model *model = tarn_model_at(tank->model);
    printf("    model: %s, %s\n", model->name, model->text);
    printf("    tools:");
    const char *separator = " ";
    for (int tool = 0; tool < TARN_TOOL_COUNT; tool++) {
        if ((model->tools >> tool & 1) != 0) {
            printf("%s%s", separator, tarn_tool_name((tarn_tool)tool));
            separator = ", ";
        }
    }
    printf("%s\n", model->tools == 0 ? " none" : "");
    separator = "    colours: ";
    for (uint32_t i = 0; i < model->channel_count; i++) {
        printf("%s%s", separator, model->channels[i].name);
        separator = ", ";
    }
    printf("%s", model->channel_count > 0 ? "\n" : "");
    separator = "    parameters: ";
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        const tarn_parameter_spec *spec = &model->parameters[id];
        if (tank->parameters[id] != spec->initial) {
            printf("%s%s %g", separator, spec->name, (double)tank->parameters[id]);
            separator = ", ";
        }
    }
    printf("%s", separator[0] == ',' ? "\n" : "");
}

/// What is otherwise than in most tanks: where gravity pulls, and walls that rub.
static void print_forces(const tarn_tank_desc *tank)
{
    const float *down = tank->gravity_direction;
    if (down[0] != 0.0F || down[2] != 0.0F || down[1] > 0.0F) {
        printf("    gravity pulls towards %.4g, %.4g, %.4g\n", (double)down[0], (double)down[1], (double)down[2]);
    }
    if (tank->wall_friction > 0.0F) {
        printf("    friction of the tank's walls: %g\n", (double)tank->wall_friction);
    }
}

/// What there is at the start, and of what.
static void print_fluid(const tarn_scene *scene)
{
    const tarn_tank_desc *tank = &scene->tank;
    const counted parts[] = {{tank->block_count, "block"}, {tank->fluid_count, "shape"}};
    const bool has_liquids = (tarn_model_at(tank->model)->can & TARN_MODEL_LIQUIDS) != 0;
    if (!has_liquids && tank->block_count + tank->fluid_count == 0) {
        return;
    }
    printf(has_liquids ? "    liquid:" : "    fluid:");
    const char *before = print_counts(parts, 2, true) ? " of " : " ";
    for (uint32_t i = 0; i < tank->liquid_count && has_liquids; i++) {
        const tarn_liquid *liquid = &tank->liquids[i];
        const char *name = scene->liquid_names[i];
        printf("%s%s%s%g kg/m3", i == 0 ? before : ", ", name, name[0] != '\0' ? " " : "",
               (double)liquid->density_kg_m3);
        if (liquid->viscosity_m2_s > 0) {
            printf(" and %g m2/s", (double)liquid->viscosity_m2_s);
        }
    }
    printf("\n");
}

static void print_sources(const tarn_tank_desc *tank)
{
    if (tank->emitter_count + tank->drain_count > 0) {
        const counted sources[] = {{tank->emitter_count, "emitter"}, {tank->drain_count, "drain"}};
        printf("    sources:");
        print_counts(sources, 2, true);
        if (tank->emitter_count > 0) {
            printf(", room for %u particles", tank->particles_max);
        }
        printf("\n");
    }
}

static void print_solids(const tarn_scene *scene)
{
    const tarn_tank_desc *tank = &scene->tank;
    if (tank->solid_count > 0) {
        uint32_t counts[TARN_MOTION_COUNT] = {0};
        for (uint32_t i = 0; i < tank->solid_count; i++) {
            counts[tank->solids[i].motion]++;
        }
        const counted solids[] = {{counts[TARN_MOTION_STATIC], "static"},
                                  {counts[TARN_MOTION_KEYFRAMES], "on key frames"},
                                  {counts[TARN_MOTION_FREE], "free"}};
        printf("    solids:");
        print_counts(solids, 3, false);
        printf("\n");
    }
    for (uint32_t i = 0; i < tank->field_count; i++) {
        const tarn_distance_field *field = &tank->fields[i];
        printf("    distance field: %ux%ux%u nodes of %.4g m\n", field->nodes[0], field->nodes[1], field->nodes[2],
               (double)field->spacing_m);
    }
    if (tarn_scene_moves_tank(scene)) {
        const tarn_scene_motion *motion = &scene->tank_motion;
        printf("    the tank moves for %g s%s\n", motion->keyframes[motion->keyframe_count - 1].time_s,
               motion->is_loop ? ", again and again" : "");
    }
}

static void print_solver(const tarn_tank_desc *tank)
{
    static const char *const solvers[TARN_SOLVER_COUNT] = {"multigrid", "Jacobi", "Gauss-Seidel"};
    static const char *const weights[TARN_WEIGHTS_COUNT] = {"linear", "quadratic", "cubic"};
    const tarn_model *model = tarn_model_at(tank->model);
    const int iterations = tarn_model_parameter_find(model, "pressure_iterations"),
              flip = tarn_model_parameter_find(model, "flip_ratio");
    printf("    solver: %s", solvers[tank->solver]);
    if (iterations >= 0) {
        printf(", at most %g iterations", (double)tank->parameters[iterations]);
    }
    if (flip >= 0) {
        tank->transfer == TARN_TRANSFER_APIC ? printf("; APIC") : printf("; FLIP %g", (double)tank->parameters[flip]);
        printf(", %s weights", weights[tank->p2g_weights]);
        if (tank->g2p_weights != tank->p2g_weights) {
            printf(" to the grid and %s ones back", weights[tank->g2p_weights]);
        }
        printf("%s", tank->reseed ? ", reseeded" : "");
    }
    printf("\n");
}

static void print_probes(const tarn_scene *scene)
{
    const char *separator = "    probes: ";
    for (uint32_t i = 0; i < scene->probe_count; i++) {
        printf("%s%s, a %s", separator, scene->probes[i].name, tarn_probe_shows_names[scene->probes[i].shows]);
        separator = "; ";
    }
    printf("%s", scene->probe_count > 0 ? "\n" : "");
}

/// What the scene holds, so that a person sees whether it was read as it was meant.
static void print_scene(const char *path, const tarn_scene *scene)
{
    const tarn_tank_desc *tank = &scene->tank;
    printf("%s: right: %ux%ux%u cells of %.6g m, %" PRIu64 " particles, step %.6g s\n", path, tank->cells[0],
           tank->cells[1], tank->cells[2], (double)tank->cell_m, tarn_tank_desc_particles(tank), (double)tank->dt_s);
    printf("    %s%s%s\n", scene->title, scene->description[0] != '\0' ? ": " : "", scene->description);
    if (scene->lesson.task[0] != '\0') {
        printf("    lesson: %s\n", scene->lesson.task);
    }
    print_model(tank);
    print_forces(tank);
    print_fluid(scene);
    print_sources(tank);
    print_solids(scene);
    if ((tarn_model_at(tank->model)->can & TARN_MODEL_SOLVER) != 0) {
        print_solver(tank);
    }
    print_probes(scene);
}

/// Whether a tank can be made of the scene: some things show only then, such as an emitter outside of it. Warns of what
/// acts less than the scene asks, and of what nobody may have meant.
static bool check_tank(const char *command, const tarn_scene *scene, const tarn_scene_pack *pack, const char *path)
{
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = 1};
    char why[TARN_SCENE_WHY_BYTES] = "";
    tarn_device *device = NULL;
    tarn_tank *tank = NULL;
    tarn_status status = tarn_device_create(&desc, &device);
    if (status == TARN_OK) {
        status = tarn_tank_create(device, &scene->tank, &tank, why, sizeof why);
    }
    if (status == TARN_OK) {
        char before[PATH_MAX + 32];
        snprintf(before, sizeof before, "%s: %s: warning: ", command, path);
        static tool_remarks remarks;
        memset(&remarks, 0, sizeof remarks);
        tool_remarks_note(&remarks, tank);
        tool_remarks_print(&remarks, stderr, before);
        scene_doubts_tell(stderr, before, scene, pack);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    if (status != TARN_OK) {
        fprintf(stderr, "%s: %s: %s\n", command, path, why[0] != '\0' ? why : tarn_status_text(status));
    }
    return status == TARN_OK;
}

static bool check_scene(const char *command, const char *argument, bool quiet)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    tarn_scene_pack pack = {0};
    tarn_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        fprintf(stderr, "%s: out of memory\n", command);
        return false;
    }
    bool right = tarn_scene_resolve(argument, NULL, path, sizeof path, why, sizeof why) == TARN_OK &&
                 tarn_scene_read_file_to_keep(path, scene, &pack, why, sizeof why) == TARN_OK;
    if (!right) {
        fprintf(stderr, "%s: %s\n", command, why);
    }
    tarn_make_printable(path); // from here on it is only shown
    right = right && check_tank(command, scene, &pack, path);
    if (right && !quiet) {
        print_scene(path, scene);
    }
    tarn_scene_pack_free(&pack);
    tarn_scene_free(scene);
    free(scene);
    return right;
}

int tool_check(int argc, char **argv)
{
    static const struct argp argp = {
        .options = check_options,
        .parser = parse,
        .args_doc = "SCENE...",
        .doc = "Validates scenes: paths to .json files or names of shipped scenes.\v"
               "The status is 0 when all are right and 1 otherwise; what is right and was hardly meant gets a "
               "warning. scene.schema.json, next to the shipped scenes, "
               "describes the format to editors.",
    };
    check_arguments arguments = {0};
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    bool right = true;
    for (int i = 0; i < arguments.scene_count; i++) {
        right = check_scene(argv[0], arguments.scenes[i], arguments.quiet) && right;
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
