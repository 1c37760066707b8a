// `tarn check`: validates scene files, every one that is named, and warns of what is right and hardly meant. Begin at
// check_scene.
#include "protocol/message.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/scene/archive.h"
#include "server/scene/mesh.h"
#include "server/scene/scene.h"
#include "server/tool/tool.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what is right and hardly meant ----
// Begin at scene_doubts_tell.

enum { SAMPLES = 24 };             ///< of liquid, along each axis
static const double LARGE = 20.0;  ///< times as large as a tank no mesh is meant to be
static const double MOSTLY = 0.75; ///< so much of a block is expected to be there: less is a shore

typedef struct doubts {
    FILE *file;
    const char *before;
    const tarn_tank_desc *tank;
    double size_m[3];
} doubts;

// ---- doubts: solids ----

/// Files tell no units. The field of a mesh is too coarse, too, to be told apart in a tank that is so much smaller.
static void doubt_units(const doubts *d, uint32_t number)
{
    const tarn_solid *solid = &d->tank->solids[number];
    double low[3], high[3], mesh_m = 0.0, tank_m = 0.0;
    tarn_shape_bounds_m(&solid->shape, &solid->pose, d->tank->fields, low, high);
    for (int a = 0; a < 3; a++) {
        mesh_m = fmax(mesh_m, high[a] - low[a]);
        tank_m = fmax(tank_m, d->size_m[a]);
    }
    if (solid->shape.kind == TARN_SHAPE_FIELD && mesh_m > LARGE * tank_m) {
        fprintf(d->file, "%ssolids[%u] is %.4g m large, and the tank %.4g m: is 1 in its file 1 m or 1 mm?\n",
                d->before, number, mesh_m, tank_m);
    }
}

// ---- doubts: meshes ----

/// What was turned round in a mesh, and what is guessed of it since it has no inside.
static void doubt_mesh(const doubts *d, const char *name, tarn_mesh *mesh)
{
    tarn_mesh_surface surface;
    char amiss[TARN_MESH_FILE_WHY_BYTES];
    if (tarn_mesh_face_one_way(mesh, &surface) != TARN_OK) {
        return;
    }
    if (surface.turned > 0) {
        fprintf(d->file, "%s%s: %u of its %u triangles face against the others; they are turned round\n", d->before,
                name, surface.turned, mesh->triangle_count);
    }
    const bool has_inside = surface.one_sided + surface.open_edges + surface.uneven_edges == 0;
    if (!has_inside && tarn_mesh_surface_tell(&surface, amiss, sizeof amiss)) {
        fprintf(d->file, "%s%s %s; what is inside is guessed\n", d->before, name, amiss);
    }
}

static void doubt_meshes(const doubts *d, const tarn_scene_pack *pack)
{
    tarn_scene_entry entry;
    for (size_t at = 0; tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &entry);) {
        tarn_mesh_format format;
        tarn_mesh mesh = {0};
        char why[TARN_MESH_FILE_WHY_BYTES];
        if (tarn_mesh_format_of(entry.name, &format) &&
            tarn_mesh_bytes_read(entry.name, format, entry.bytes, entry.byte_count, &mesh, why, sizeof why) ==
                TARN_OK) {
            doubt_mesh(d, entry.name, &mesh);
            tarn_mesh_free(&mesh);
        }
    }
}

// ---- doubts: liquid ----

typedef struct solid_shapes {
    uint32_t count;
    tarn_shape shapes[TARN_TANK_SOLIDS_MAX];
    tarn_pose poses[TARN_TANK_SOLIDS_MAX];
} solid_shapes;

/// Which share of a box lies in solids, of what `within` (NULL: all of it) holds.
static double share_in_solids(const doubts *d, const solid_shapes *solids, const double low[3], const double high[3],
                              const tarn_shape *within, const tarn_pose *pose)
{
    uint32_t all = 0, in_solids = 0;
    for (uint32_t i = 0; i < SAMPLES * SAMPLES * SAMPLES; i++) {
        const uint32_t at[3] = {i % SAMPLES, i / SAMPLES % SAMPLES, i / (SAMPLES * SAMPLES)};
        double point_m[3];
        for (int a = 0; a < 3; a++) {
            point_m[a] = low[a] + (high[a] - low[a]) * (at[a] + 0.5) / SAMPLES;
        }
        if (within != NULL && tarn_shapes_distance_m(within, pose, 1, d->tank->fields, point_m, NULL) > 0) {
            continue;
        }
        all++;
        in_solids +=
            tarn_shapes_distance_m(solids->shapes, solids->poses, solids->count, d->tank->fields, point_m, NULL) < 0.0;
    }
    return all > 0 ? (double)in_solids / all : 0.0;
}

static void say_in_solids(const doubts *d, const char *list, uint32_t number, double share)
{
    if (share > MOSTLY) {
        fprintf(d->file, "%s%s[%u]: %.0f %% of it lie in solids, where nothing is\n", d->before, list, number,
                100.0 * share);
    }
}

/// Of what a shape holds, the part in the tank.
static void doubt_region(const doubts *d, const solid_shapes *solids, const char *list, uint32_t number,
                         const tarn_shape *shape, const tarn_pose *pose)
{
    double low[3], high[3];
    tarn_shape_bounds_m(shape, pose, d->tank->fields, low, high);
    for (int a = 0; a < 3; a++) {
        low[a] = fmax(low[a], 0.0);
        high[a] = fmin(high[a], d->size_m[a]);
    }
    say_in_solids(d, list, number, share_in_solids(d, solids, low, high, shape, pose));
}

static void doubt_liquids(const doubts *d)
{
    static solid_shapes solids;
    const tarn_tank_desc *tank = d->tank;
    solids.count = tank->solid_count;
    if (solids.count == 0) {
        return;
    }
    for (uint32_t i = 0; i < solids.count; i++) {
        solids.shapes[i] = tank->solids[i].shape;
        solids.poses[i] = tank->solids[i].pose;
    }
    for (uint32_t i = 0; i < tank->block_count; i++) {
        const tarn_fluid_block *block = &tank->blocks[i];
        const double low[3] = {block->min_m[0], block->min_m[1], block->min_m[2]},
                     high[3] = {block->max_m[0], block->max_m[1], block->max_m[2]};
        say_in_solids(d, "blocks", i, share_in_solids(d, &solids, low, high, NULL, NULL));
    }
    for (uint32_t i = 0; i < tank->fluid_count; i++) {
        doubt_region(d, &solids, "fluids", i, &tank->fluids[i].shape, &tank->fluids[i].pose);
    }
    for (uint32_t i = 0; i < tank->emitter_count; i++) {
        doubt_region(d, &solids, "emitters", i, &tank->emitters[i].shape, &tank->emitters[i].pose);
    }
    for (uint32_t i = 0; i < tank->drain_count; i++) {
        doubt_region(d, &solids, "drains", i, &tank->drains[i].shape, &tank->drains[i].pose);
    }
}

// ---- doubts: motion ----

/// Whether a block is a layer from wall to wall, at rest.
static bool is_still_layer(const doubts *d, const tarn_fluid_block *block)
{
    bool is_still = true;
    for (int a = 0; a < 3; a++) {
        const double slack_m = 0.5 * (double)d->tank->cell_m;
        is_still &= block->velocity_m_s[a] == 0.0F;
        is_still &= a == 1 || ((double)block->min_m[a] < slack_m && (double)block->max_m[a] > d->size_m[a] - slack_m);
    }
    return is_still;
}

/// Nothing but what flows could move.
static bool holds_still(const tarn_scene *scene)
{
    const tarn_tank_desc *tank = &scene->tank;
    const float *spin = tank->spin_rad_s;
    bool is_still = !tarn_scene_moves_tank(scene) && spin[0] == 0.0F && spin[1] == 0.0F && spin[2] == 0.0F;
    for (uint32_t i = 0; i < tank->solid_count; i++) {
        is_still &= tank->solids[i].motion == TARN_MOTION_STATIC;
    }
    return is_still;
}

/// Liquid that lies on the floor from wall to wall, and nothing that disturbs it.
static void doubt_liquid_motion(const doubts *d)
{
    const tarn_tank_desc *tank = d->tank;
    const float *down = tank->gravity_direction;
    bool is_still = tank->fluid_count == 0 && tank->emitter_count == 0 && tank->drain_count == 0 && down[0] == 0.0F &&
                    down[2] == 0.0F && down[1] < 0.0F;
    double low_m = d->size_m[1], high_m = 0.0;
    for (uint32_t i = 0; i < tank->block_count; i++) {
        is_still &= is_still_layer(d, &tank->blocks[i]) && tank->blocks[i].liquid == tank->blocks[0].liquid;
        low_m = fmin(low_m, (double)tank->blocks[i].min_m[1]);
        high_m = fmax(high_m, (double)tank->blocks[i].max_m[1]);
    }
    if (is_still && low_m < 0.5 * (double)tank->cell_m) {
        fprintf(d->file,
                "%snothing moves by itself: the liquid lies %g m deep from wall to wall, and no tap, drain or solid "
                "disturbs it\n",
                d->before, high_m);
    }
}

/// Whether what is put into a filled tank neither comes with a velocity nor, where there is gravity, with anything that
/// makes it lighter or heavier.
static bool is_inert(const doubts *d, const float velocity_m_s[3], const float carried[TARN_MODEL_CARRIED_MAX])
{
    const tarn_model *model = tarn_model_at(d->tank->model);
    const int gravity = tarn_model_parameter_find(model, "gravity_m_s2");
    bool is_inert = velocity_m_s[0] == 0.0F && velocity_m_s[1] == 0.0F && velocity_m_s[2] == 0.0F;
    for (uint32_t k = 0; k < model->carried_count && gravity >= 0 && d->tank->parameters[gravity] != 0.0F; k++) {
        is_inert &= carried[k] == 0.0F;
    }
    return is_inert;
}

/// Smoke or dye that nothing carries along.
static void doubt_filled_motion(const doubts *d)
{
    const tarn_tank_desc *tank = d->tank;
    bool is_still = true;
    for (uint32_t i = 0; i < tank->block_count; i++) {
        is_still &= is_inert(d, tank->blocks[i].velocity_m_s, tank->blocks[i].carried);
    }
    for (uint32_t i = 0; i < tank->fluid_count; i++) {
        is_still &= is_inert(d, tank->fluids[i].velocity_m_s, tank->fluids[i].carried);
    }
    for (uint32_t i = 0; i < tank->emitter_count; i++) {
        is_still &= is_inert(d, tank->emitters[i].velocity_m_s, tank->emitters[i].carried);
    }
    if (is_still) {
        fprintf(d->file,
                "%snothing moves by itself: no fluid has a velocity or a weight of its own, and no solid moves\n",
                d->before);
    }
}

// ---- doubts: all of them ----

/// Writes a line for each doubt that the tank itself doesn't remark on (tarn_tank_remarks): meshes that have no inside,
/// or of which triangles were turned round, or that are far larger than the tank; liquid, emitters and drains of which
/// most would lie in solids; fluid that rests, and nothing that moves it.
/// @param before  what each line begins with
/// @param pack    the scene's files
static void scene_doubts_tell(FILE *file, const char *before, const tarn_scene *scene, const tarn_scene_pack *pack)
{
    doubts d = {.file = file, .before = before, .tank = &scene->tank};
    for (int a = 0; a < 3; a++) {
        d.size_m[a] = (double)scene->tank.cells[a] * (double)scene->tank.cell_m;
    }
    for (uint32_t i = 0; i < scene->tank.solid_count; i++) {
        doubt_units(&d, i);
    }
    doubt_meshes(&d, pack);
    doubt_liquids(&d);
    if (holds_still(scene)) {
        (tarn_model_at(scene->tank.model)->can & TARN_MODEL_LIQUIDS) != 0 ? doubt_liquid_motion(&d)
                                                                          : doubt_filled_motion(&d);
    }
}

// ---- the command ----

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
