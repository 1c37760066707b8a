// From options to open writers, and each step to those that want it: start at tool_exports_open. Behind that what kept
// sessions are written by: parts of them as films, their newest state.
#include "server/tool/run/export.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/log/session_history.h"
#include "server/tool/film/export.h"
#include "server/tool/film/liquid.h"
#include "server/tool/film/render.h"
#include "server/tool/run/channel.h"
#include "server/tool/run/replay.h"
#include "server/tool/run/tank.h"
#include "server/tool/session.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double RENDER_FPS = 30.0, FPS_MAX = 10000.0, TELLING_S = 0.1;
enum { WIDTH = 960, HEIGHT = 540 };

// ---- options ----

enum {
    KEY_PLY = 'p',
    KEY_EXPORT = 'e',
    KEY_RENDER = 'r',
    KEY_PLY_EVERY = 256,
    KEY_EVERY,
    KEY_FPS,
    KEY_SIZE,
    KEY_CHANNEL,
    KEY_SURFACE,
    KEY_SURFACE_DETAIL
};

static const struct argp_option export_options[] = {
    {"export", KEY_EXPORT, "FILE", 0,
     "write particles to FILE: .pvd for ParaView (a .vtp for each frame beside it; .vti: the grid's pressure, "
     "velocity and density instead), .usda for USD as text, .usdc and "
     ".usd as binary",
     0},
    {"render", KEY_RENDER, "FILE", 0,
     "draw pictures: .apng is an animation that browsers play, .png a picture for each frame with the step in its "
     "name, .y4m a video for other programs, - the same on standard output",
     0},
    {"surface", KEY_SURFACE, "FILE", 0,
     "write the liquid's surface, a closed mesh: .obj is a text for each frame with the step in its name, .ply the "
     "same as binary, with velocities; .usda, .usdc and .usd are USD with the tank's solids and bodies",
     0},
    {"surface-detail", KEY_SURFACE_DETAIL, "N", 0,
     "nodes of the surface's grid between two particles at rest, 1 to 4; default: 2", 0},
    {"size", KEY_SIZE, "WxH", 0, "pixels of the pictures, 16x16 to 4096x4096; default: 960x540", 0},
    {"every", KEY_EVERY, "K", 0,
     "a frame every K steps, and one of the start; default: 1, for pictures and surfaces --fps 30", 0},
    {"fps", KEY_FPS, "F", 0, "F frames in a second of the tank's time, as far as there are steps; at most 10000", 0},
    {"ply", KEY_PLY, "DIR", 0, "write particles to DIR as binary PLY files", 0},
    {"ply-every", KEY_PLY_EVERY, "K", 0, "a PLY file every K steps, and one of the start; default: as --every", 0},
    {"channel", KEY_CHANNEL, "NAME", 0,
     "what particles can be coloured by, as \"speed\": pictures show it, and its values go with the particles into "
     "PLY, .pvd and USD files",
     0},
    {0},
};
_Static_assert(MESH_DETAIL_MIN == 1 && MESH_DETAIL_MAX == 4 && MESH_DETAIL == 2, "the help text names these");
_Static_assert(WIDTH == 960 && HEIGHT == 540 && RENDER_PIXELS_MIN == 16 && RENDER_PIXELS_MAX == 4096,
               "the help text names these");

static void add_file(struct argp_state *state, tool_export_options *to, const char *path, const export_format *format)
{
    for (uint32_t i = 0; i < to->file_count; i++) {
        if (strcmp(to->files[i].path, path) == 0) {
            argp_error(state, "found \"%s\" twice, allowed are different files", path);
        }
    }
    if (to->file_count == TOOL_EXPORTS_MAX) {
        argp_error(state, "found more than %d files to write, allowed are %d", TOOL_EXPORTS_MAX, TOOL_EXPORTS_MAX);
        return;
    }
    to->files[to->file_count].path = path;
    to->files[to->file_count++].format = format;
    to->uses_standard_output |= strcmp(path, "-") == 0;
}

static void parse_file(struct argp_state *state, tool_export_options *to, const char *option, const char *path,
                       export_kind kind)
{
    char allowed[128] = "";
    const export_format *format = export_format_find(path, kind, allowed, sizeof allowed);
    if (format == NULL) {
        argp_error(state, "--%s: found \"%s\", allowed is a name that ends in one of %s%s", option, path, allowed,
                   kind == EXPORT_PICTURE ? ", or -" : "");
        return;
    }
    add_file(state, to, path, format);
}

static double parse_fps(struct argp_state *state, const char *text)
{
    char *end = NULL;
    double fps = strtod(text, &end);
    if (end == text || *end != '\0' || !(fps > 0.0 && fps <= FPS_MAX)) {
        argp_error(state, "--fps: found \"%s\", allowed is a number above 0, at most %g", text, FPS_MAX);
    }
    return fps;
}

static void parse_size(struct argp_state *state, tool_export_options *to, const char *text)
{
    unsigned width = 0, height = 0;
    char rest = 0;
    if (strspn(text, "0123456789x") != strlen(text) || strlen(text) > 9 ||
        sscanf(text, "%ux%u%c", &width, &height, &rest) != 2 || width < RENDER_PIXELS_MIN ||
        width > RENDER_PIXELS_MAX || height < RENDER_PIXELS_MIN || height > RENDER_PIXELS_MAX) {
        argp_error(state, "--size: found \"%s\", allowed is a width and a height from %d to %d, such as 1280x720", text,
                   RENDER_PIXELS_MIN, RENDER_PIXELS_MAX);
    }
    to->width = width;
    to->height = height;
}

/// Options that ask for something of files that nobody asked for.
static void check(struct argp_state *state, const tool_export_options *to)
{
    bool has_ply = false, has_picture = false, has_surface = false, has_other = false, has_values = false;
    for (uint32_t i = 0; i < to->file_count; i++) {
        const export_format *format = to->files[i].format;
        has_ply |= format == &export_ply;
        has_picture |= format->kind == EXPORT_PICTURE;
        has_surface |= format->kind == EXPORT_SURFACE;
        has_values |= format != &export_vti && format != &export_surface_obj;
        has_other |= format != &export_ply;
    }
    if (to->ply_every != 0 && !has_ply) {
        argp_error(state, "--ply-every needs --ply DIR");
    }
    if (to->channel != NULL && !has_values) {
        argp_error(state, "--channel needs --render FILE, --export FILE.pvd, .usd, .usda or .usdc, --surface FILE.ply, "
                          ".usd, .usda or .usdc, "
                          "or --ply DIR");
    }
    if (to->width != 0 && !has_picture) {
        argp_error(state, "--size needs --render FILE");
    }
    if (to->surface_detail != 0 && !has_surface) {
        argp_error(state, "--surface-detail needs --surface FILE");
    }
    if ((to->every != 0 || to->fps > 0.0) && !has_ply && !has_other) {
        argp_error(state, "--%s needs --export, --render, --surface or --ply", to->every != 0 ? "every" : "fps");
    }
    if (to->every != 0 && to->fps > 0.0) {
        argp_error(state, "found both --every and --fps, allowed is one of them");
    }
}

static error_t parse_export(int key, char *argument, struct argp_state *state)
{
    tool_export_options *to = state->input;
    switch (key) {
    case KEY_EXPORT:
        parse_file(state, to, "export", argument, EXPORT_PARTICLES);
        return 0;
    case KEY_RENDER:
        parse_file(state, to, "render", argument, EXPORT_PICTURE);
        return 0;
    case KEY_SURFACE:
        parse_file(state, to, "surface", argument, EXPORT_SURFACE);
        return 0;
    case KEY_SURFACE_DETAIL:
        to->surface_detail =
            (uint32_t)tarn_option_number(state, "surface-detail", argument, MESH_DETAIL_MIN, MESH_DETAIL_MAX);
        return 0;
    case KEY_PLY:
        add_file(state, to, argument, &export_ply);
        return 0;
    case KEY_PLY_EVERY:
        to->ply_every = (uint32_t)tarn_option_number(state, "ply-every", argument, 1, TOOL_STEPS_MAX);
        return 0;
    case KEY_EVERY:
        to->every = (uint32_t)tarn_option_number(state, "every", argument, 1, TOOL_STEPS_MAX);
        return 0;
    case KEY_FPS:
        to->fps = parse_fps(state, argument);
        return 0;
    case KEY_SIZE:
        parse_size(state, to, argument);
        return 0;
    case KEY_CHANNEL:
        to->channel = argument;
        return 0;
    case ARGP_KEY_END:
        check(state, to);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tool_export_argp = {export_options, parse_export, NULL, NULL, NULL, NULL, NULL};

// ---- files, opened ----

/// One of the files, or one folder of PLY files.
typedef struct tool_output {
    const char *path;
    const export_format *format;
    void *writer; // NULL: closed
    bool has_failed;
    uint32_t every; // steps; 0: by fps
    double fps;
    uint32_t frame_count;
    double took_s;
} tool_output;

struct tool_exports {
    const char *command;
    const tool_tank *tank;
    double dt_s;
    tool_output outputs[TOOL_EXPORTS_MAX];
    uint32_t output_count;
    uint32_t particles_max;
    float *positions_m, *velocities_m_s;
    uint32_t *ids;
    uint8_t *liquids, *colours; // NULL where particles have none of their own
    bool has_grid;              // somebody wants it
    tool_grid grid;
    tool_channel channel;
    mesh_liquid *mesher; // NULL where nobody wants surfaces
    mesh surface;        // of the frame that is being written, for all files of surfaces
    bool has_surface;
    uint8_t *scaled; // its colours, for pictures; NULL where nobody wants them
    tarn_body_state bodies[TARN_TANK_BODIES_MAX];
};

static void choose_steps(tool_output *out, const tool_export_options *from)
{
    if (out->format == &export_ply && from->ply_every != 0) {
        out->every = from->ply_every;
    } else if (from->every != 0) {
        out->every = from->every;
    } else if (from->fps > 0.0) {
        out->fps = from->fps;
    } else if (out->format->kind != EXPORT_PARTICLES) {
        out->fps = RENDER_FPS;
    } else {
        out->every = 1;
    }
}

static bool is_due(const tool_exports *exports, const tool_output *out, uint32_t step)
{
    if (step == 0 || out->every != 0) {
        return step == 0 || step % out->every == 0;
    }
    // The first step at or after each multiple of 1 / fps. A step that falls on one may be a rounding short of it.
    const double rounding = 1e-3;
    double frames = exports->dt_s * out->fps;
    return floor(step * frames + rounding) > floor((step - 1) * frames + rounding);
}

/// The box around all places that the scene takes its tank to.
static void find_reach(const tarn_scene *scene, export_info *info)
{
    enum { TIMES = 2000 };
    if (!tarn_scene_moves_tank(scene)) {
        return;
    }
    const tarn_scene_motion *motion = &scene->tank_motion;
    const double end_s = motion->keyframes[motion->keyframe_count - 1].time_s;
    for (int axis = 0; axis < 3; axis++) {
        info->reach_max_m[axis] = info->size_m[axis];
    }
    for (int i = 0; i <= TIMES; i++) {
        tarn_pose pose;
        double turn[3][3];
        tarn_scene_tank_pose(scene, end_s * i / TIMES, &pose);
        tarn_pose_matrix(&pose, turn);
        for (int axis = 0; axis < 3; axis++) {
            double half_m = 0.0, middle_m = 0.5 * (double)info->size_m[axis] + (double)pose.position_m[axis];
            for (int k = 0; k < 3; k++) {
                half_m += 0.5 * (double)info->size_m[k] * fabs(turn[axis][k]);
            }
            info->reach_min_m[axis] = fminf(info->reach_min_m[axis], (float)(middle_m - half_m));
            info->reach_max_m[axis] = fmaxf(info->reach_max_m[axis], (float)(middle_m + half_m));
        }
    }
}

/// As web-client/src/state/drawing.ts does it.
static export_drawing drawing_of(const char *model)
{
    return strcmp(model, "smoke") == 0 ? EXPORT_SMOKE : strcmp(model, "vortons") == 0 ? EXPORT_DYE : EXPORT_WATER;
}

static export_info describe(const tool_export_options *from, const tool_exports *exports, const tool_output *out,
                            uint32_t threads)
{
    const tarn_tank_desc *desc = &exports->tank->scene.tank;
    double per_s = 1.0 / exports->dt_s;
    export_info info = {
        .scene = exports->tank->scene.name,
        .spacing_m = desc->cell_m / (float)desc->particles_per_axis,
        .frames_per_s = out->every != 0 ? per_s / out->every : fmin(out->fps, per_s),
        .width = from->width != 0 ? from->width : WIDTH,
        .height = from->height != 0 ? from->height : HEIGHT,
        .threads = threads,
        .drawing = drawing_of(tarn_tank_model(exports->tank->tank)->name),
        .cell_m = desc->cell_m,
        .cell_particles = (float)(desc->particles_per_axis * desc->particles_per_axis * desc->particles_per_axis),
        .is_flat = desc->cells[2] == 1,
        .solid_count = desc->solid_count,
        .solids = desc->solids,
        .fields = desc->fields,
    };
    for (int axis = 0; axis < 3; axis++) {
        info.cells[axis] = desc->cells[axis];
        info.size_m[axis] = (float)desc->cells[axis] * desc->cell_m;
    }
    find_reach(&exports->tank->scene, &info);
    return info;
}

/// Asks where it would be late: the first of a replay's frames may come after many steps.
static bool can_write_frames(const tool_output *out, char *why)
{
    if (!out->format->is_numbered || out->format == &export_ply) { // which knows the names in its folder
        return true;
    }
    char path[PATH_MAX + 32]; // a name that is too long is refused by part_file_try
    const char *ending = out->format->ending;
    snprintf(path, sizeof path, "%.*s-%06u%s", (int)(strlen(out->path) - strlen(ending)), out->path, 0, ending);
    return part_file_try(path, why) == TARN_OK;
}

static bool open_output(const tool_export_options *from, tool_exports *exports, tool_output *out, uint32_t threads)
{
    const char *model = tarn_tank_model(exports->tank->tank)->name;
    if (out->format->kind == EXPORT_SURFACE && drawing_of(model) != EXPORT_WATER) {
        fprintf(stderr, "%s: --surface %s: found a tank of %s, allowed is one of liquid\n", exports->command, out->path,
                model);
        return false;
    }
    choose_steps(out, from);
    if (!part_file_make_folder(out->path, out->format == &export_ply)) {
        fprintf(stderr, "%s: %s%s: %s\n", exports->command, out->format == &export_ply ? "--ply " : "", out->path,
                strerror(errno));
        return false;
    }
    char why[EXPORT_WHY_BYTES] = "";
    if (!can_write_frames(out, why)) {
        fprintf(stderr, "%s: %s\n", exports->command, why);
        return false;
    }
    export_info info = describe(from, exports, out, threads);
    if (out->format->kind == EXPORT_SURFACE && exports->mesher == NULL &&
        mesh_liquid_create(&info, from->surface_detail != 0 ? from->surface_detail : MESH_DETAIL, &exports->mesher) !=
            TARN_OK) {
        fprintf(stderr, "%s: %s: out of memory\n", exports->command, out->path);
        return false;
    }
    if (out->format->open(out->path, &info, &out->writer, why) != TARN_OK) {
        out->writer = NULL;
        fprintf(stderr, "%s: %s\n", exports->command, why);
        return false;
    }
    return true;
}

static bool allocate(const tool_export_options *from, tool_exports *exports)
{
    exports->particles_max = tarn_tank_particles_max(exports->tank->tank);
    exports->positions_m = malloc((size_t)exports->particles_max * 3 * sizeof(float));
    exports->velocities_m_s = malloc((size_t)exports->particles_max * 3 * sizeof(float));
    exports->ids = malloc((size_t)exports->particles_max * sizeof(uint32_t));
    const bool coloured = tarn_tank_has_colours(exports->tank->tank);
    exports->liquids = coloured ? malloc((size_t)exports->particles_max) : NULL;
    exports->colours = coloured ? malloc((size_t)exports->particles_max * 3) : NULL;
    bool wants_grid = false, wants_scaled = false;
    for (uint32_t i = 0; i < from->file_count; i++) {
        wants_grid |= from->files[i].format == &export_vti;
        wants_scaled |= from->files[i].format->kind == EXPORT_PICTURE && from->channel != NULL;
    }
    exports->scaled = wants_scaled ? malloc((size_t)exports->particles_max * 3) : NULL;
    exports->has_grid = wants_grid && tool_grid_open(&exports->grid, exports->tank);
    if (wants_grid != exports->has_grid || (wants_scaled && exports->scaled == NULL) || exports->positions_m == NULL ||
        exports->velocities_m_s == NULL || exports->ids == NULL ||
        (coloured && (exports->liquids == NULL || exports->colours == NULL))) {
        fprintf(stderr, "%s: out of memory for %u particles\n", exports->command, exports->particles_max);
        return false;
    }
    return true;
}

tool_exports *tool_exports_open(const char *command, const tool_export_options *from, const tool_tank *tank,
                                uint32_t threads)
{
    tool_exports *exports = calloc(1, sizeof *exports);
    if (exports == NULL) {
        fprintf(stderr, "%s: out of memory\n", command);
        return NULL;
    }
    *exports = (tool_exports){.command = command, .tank = tank, .dt_s = (double)tank->scene.tank.dt_s};
    if (from->file_count > 0 &&
        !((from->channel == NULL || tool_channel_open(&exports->channel, command, from->channel, tank)) &&
          allocate(from, exports))) {
        tool_exports_free(exports);
        return NULL;
    }
    for (uint32_t i = 0; i < from->file_count; i++) {
        tool_output *out = &exports->outputs[exports->output_count++];
        *out = (tool_output){.path = from->files[i].path, .format = from->files[i].format};
        if (!open_output(from, exports, out, threads)) {
            tool_exports_free(exports);
            return NULL;
        }
    }
    return exports;
}

// ---- files, written step by step ----

/// The one place where a frame gets its attributes from the tank.
static tarn_status read_frame(tool_exports *exports, uint32_t step, export_frame *frame)
{
    *frame = (export_frame){
        .step = step,
        .time_s = step * exports->dt_s,
        .positions_m = exports->positions_m,
        .velocities_m_s = exports->velocities_m_s,
        .ids = exports->ids,
        .liquids = exports->liquids,
        .colours = exports->colours,
        .channel = exports->channel.values,
        .channel_name = exports->channel.name,
        .scaled = exports->scaled,
        .body_count = tarn_tank_bodies(exports->tank->tank, exports->bodies),
        .bodies = exports->bodies,
    };
    tarn_tank_pose(exports->tank->tank, &frame->pose);
    tarn_status status = tarn_tank_particles(exports->tank->tank, exports->positions_m, exports->velocities_m_s,
                                             exports->ids, exports->particles_max, &frame->particle_count);
    if (status == TARN_OK) {
        status = tarn_tank_particle_colours(exports->tank->tank, exports->liquids, exports->colours,
                                            exports->particles_max, &frame->particle_count);
    }
    if (status == TARN_OK && exports->has_grid) {
        status = tool_grid_read(&exports->grid, exports->tank, frame);
    }
    if (status == TARN_OK && exports->channel.values != NULL) {
        status = tool_channel_read(&exports->channel, exports->tank, exports->positions_m, exports->velocities_m_s,
                                   frame->particle_count);
    }
    if (status == TARN_OK && exports->scaled != NULL) {
        tool_channel_colours(&exports->channel, frame->particle_count, exports->scaled);
    }
    return status;
}

/// Says why a file is given up, and removes what isn't whole of it.
static void give_up(tool_exports *exports, tool_output *out, const char *why)
{
    char unused[EXPORT_WHY_BYTES] = "";
    fprintf(stderr, "%s: %s\n", exports->command, why);
    out->has_failed = true;
    if (out->writer != NULL) {
        out->format->close(out->writer, false, unused);
        out->writer = NULL;
    }
}

/// Writes a frame, for which a surface is found once, however many files it goes into.
static tarn_status write_frame(tool_exports *exports, const tool_output *out, export_frame *frame, char *why)
{
    if (out->format->kind == EXPORT_SURFACE && !exports->has_surface) {
        const tarn_status status = mesh_liquid_make(exports->mesher, frame, &exports->surface);
        if (status != TARN_OK) {
            return mesh_liquid_why(status, out->path, why);
        }
        exports->has_surface = true;
    }
    frame->surface = exports->has_surface ? &exports->surface : NULL;
    return out->format->frame(out->writer, frame, why);
}

static void drop_surface(tool_exports *exports)
{
    if (exports->has_surface) {
        mesh_free(&exports->surface);
        exports->has_surface = false;
    }
}

bool tool_exports_step(tool_exports *exports, uint32_t step, progress *bar)
{
    export_frame frame;
    bool has_frame = false, has_left = exports->output_count == 0;
    char why[EXPORT_WHY_BYTES] = "";
    for (uint32_t i = 0; i < exports->output_count; i++) {
        tool_output *out = &exports->outputs[i];
        if (out->has_failed || !is_due(exports, out, step)) {
            has_left |= !out->has_failed;
            continue;
        }
        const double start_s = tool_now_s();
        tarn_status status = has_frame ? TARN_OK : read_frame(exports, step, &frame);
        has_frame = status == TARN_OK;
        if (!has_frame) {
            progress_end(bar);
            fprintf(stderr, "%s: reading the particles of step %u: %s\n", exports->command, step,
                    tarn_status_text(status));
            return false;
        }
        status = write_frame(exports, out, &frame, why);
        const double took_s = tool_now_s() - start_s;
        out->took_s += took_s;
        bar->aside_s += took_s;
        if (status != TARN_OK) {
            progress_end(bar);
            give_up(exports, out, why);
            continue;
        }
        out->frame_count++;
        has_left = true;
    }
    drop_surface(exports);
    return has_left;
}

bool tool_exports_finish(tool_exports *exports, bool failed)
{
    bool finished = true;
    for (uint32_t i = 0; i < exports->output_count; i++) {
        tool_output *out = &exports->outputs[i];
        char why[EXPORT_WHY_BYTES] = "";
        void *writer = out->writer;
        const double start_s = tool_now_s();
        out->writer = NULL;
        if (writer != NULL && out->format->close(writer, !failed, why) != TARN_OK) {
            give_up(exports, out, why);
        }
        out->took_s += tool_now_s() - start_s;
        finished &= !out->has_failed;
    }
    return finished;
}

// ---- what is said of them ----

double tool_exports_took_s(const tool_exports *exports)
{
    double took_s = 0.0;
    for (uint32_t i = 0; i < exports->output_count; i++) {
        took_s += exports->outputs[i].took_s;
    }
    return took_s;
}

void tool_exports_print_time(const tool_exports *exports, FILE *file)
{
    static const struct {
        export_kind kind;
        const char *name;
    } kinds[] = {{EXPORT_PICTURE, "pictures"}, {EXPORT_SURFACE, "surfaces"}, {EXPORT_PARTICLES, "frames of particles"}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        uint32_t count = 0;
        double took_s = 0.0;
        for (uint32_t i = 0; i < exports->output_count; i++) {
            const tool_output *out = &exports->outputs[i];
            if (out->format->kind == kinds[k].kind) {
                count += out->frame_count;
                took_s += out->took_s;
            }
        }
        if (count > 0 && (kinds[k].kind != EXPORT_PARTICLES || took_s >= TELLING_S)) {
            fprintf(file, ", %u %s in %.3f s", count, kinds[k].name, took_s);
        }
    }
    const tool_channel *channel = &exports->channel;
    if (exports->scaled != NULL) {
        fprintf(file, "; colours from violet to yellow: %s, %.3g to %.3g%s%s", channel->name, (double)channel->low,
                (double)channel->high, channel->unit != NULL ? " " : "", channel->unit != NULL ? channel->unit : "");
    }
}

/// "3 PLY files in out", where pictures are numbered with their pattern.
static void print_output(const tool_output *out, FILE *file)
{
    const bool is_numbered = out->format->is_numbered;
    int length = (int)(strlen(out->path) - (is_numbered ? strlen(out->format->ending) : 0));
    fprintf(file, "%u %s in ", out->frame_count, out->format->unit);
    if (strcmp(out->path, "-") == 0) {
        fprintf(file, "standard output");
    } else {
        fprintf(file, "%.*s%s%s", length, out->path, is_numbered ? "-*" : "", is_numbered ? out->format->ending : "");
    }
}

void tool_exports_print(const tool_exports *exports, FILE *file)
{
    for (uint32_t i = 0; i < exports->output_count; i++) {
        if (!exports->outputs[i].has_failed) {
            print_output(&exports->outputs[i], file);
            fprintf(file, "\n");
        }
    }
}

void tool_exports_print_cut(const tool_exports *exports, FILE *file)
{
    for (uint32_t i = 0; i < exports->output_count; i++) {
        if (!exports->outputs[i].has_failed) {
            fprintf(file, "; the ");
            print_output(&exports->outputs[i], file);
            fprintf(file, " are complete, the rest is missing");
        }
    }
}

void tool_exports_free(tool_exports *exports)
{
    if (exports != NULL) {
        tool_exports_finish(exports, true);
        free(exports->positions_m);
        free(exports->velocities_m_s);
        free(exports->ids);
        free(exports->liquids);
        free(exports->colours);
        tool_grid_close(&exports->grid);
        free(exports->scaled);
        tool_channel_close(&exports->channel);
        mesh_liquid_destroy(exports->mesher);
        free(exports);
    }
}

// ---- a part of a kept session ----
// `tarn replay --export`: from the newest state before a moment to that moment, and from there on a frame where one is
// due.
//
//     state, log: steps that nobody sees | --from: frame 0 | log, state, log ... | --to
//
// A state that the log before it doesn't lead to is where the tank was set back, or gone back with: its moment is that
// of the step before, so the film goes on there.

typedef struct replay_film {
    const tool_replay_span *span;
    kept_copy copy;
    char made[TARN_IPC_SCENE_BYTES_MAX + 1];
    tool_tank tank;
    tool_exports *exports; // NULL: the first state isn't there yet
    tool_probes *probes;   // the same
    progress bar;
    int64_t after;            // the state before the first that is needed
    uint64_t skipped, count;  // steps that are still to be made unseen; those behind the first moment
    uint64_t from_ns, to_ns;  // of the session's time
    uint64_t count_max, step; // of the tank
    bool has_moments, has_begun, is_over, failed;
} replay_film;

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

/// @return whether a moment that is asked for is one that the file has; else a sentence went to stderr
static bool is_kept(const tool_replay_span *span, const char *option, double asked_s, const tarn_session_span *kept)
{
    const double rounding_s = 5e-4; // of what a page shows
    if (asked_s < 0.0 ||
        (asked_s >= seconds(kept->from_ns) - rounding_s && asked_s <= seconds(kept->until_ns) + rounding_s)) {
        return true;
    }
    fprintf(stderr, "%s: --%s: found %g, allowed are %.3f to %.3f, the seconds that \"%s\" has\n", span->command,
            option, asked_s, seconds(kept->from_ns), seconds(kept->until_ns), span->file);
    return false;
}

/// Which state is gone on from, and how many steps behind it.
static tarn_status find_begin(replay_film *film, tarn_session_file *file, bool *is_said, tarn_text why)
{
    static tarn_session_span kept; // large
    const tool_replay_span *span = film->span;
    tarn_session_rest rest = {0};
    tarn_status status = tarn_session_history_span(file, &kept, why);
    if (span->from_s < 0.0 && span->to_s < 0.0 && (status != TARN_OK || kept.state_count == 0)) {
        return TARN_OK; // an earlier version's, which has no moments: all of it
    }
    if (status != TARN_OK) {
        return status;
    }
    if (!is_kept(span, "from", span->from_s, &kept) || !is_kept(span, "to", span->to_s, &kept)) {
        *is_said = true;
        return TARN_E_ARGUMENT;
    }
    film->from_ns = span->from_s >= 0.0 ? (uint64_t)(span->from_s * 1e9 + 0.5) : kept.from_ns;
    film->from_ns = film->from_ns < kept.from_ns ? kept.from_ns : film->from_ns;
    film->to_ns = span->to_s >= 0.0 ? (uint64_t)(span->to_s * 1e9 + 0.5) : kept.until_ns;
    film->has_moments = true;
    status = tarn_session_history_rest(file, &film->from_ns, &rest, why);
    if (status == TARN_OK) {
        film->after = rest.id - 1;
        film->skipped = tarn_box_log_steps(rest.log.bytes, rest.log.count);
    }
    tarn_session_rest_free(&rest);
    return status;
}

static bool begin(replay_film *film)
{
    tarn_session_file *file;
    tarn_text why = "";
    bool is_said = false;
    tarn_status status = tarn_session_file_open_to_read(film->span->file, &file, why);
    if (status == TARN_OK) {
        status = find_begin(film, file, &is_said, why);
        tarn_session_file_close(file);
    }
    if (status != TARN_OK && !is_said) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", film->span->command, why);
    }
    return status == TARN_OK;
}

/// A frame of the step that the tank is at, where one is due.
static void show(replay_film *film)
{
    film->has_begun = true;
    film->failed = !tool_exports_step(film->exports, (uint32_t)film->count, &film->bar) ||
                   (film->count > 0 && !tool_probes_step(film->probes, &film->bar));
    film->is_over = film->failed || film->count >= film->count_max;
}

static bool film_step(void *user, uint64_t step)
{
    replay_film *film = user;
    (void)step;
    if (film->skipped > 0) {
        film->skipped--;
    } else {
        film->count++;
        progress_show(&film->bar, (uint32_t)film->count);
    }
    if (film->skipped == 0) {
        show(film);
    }
    return !film->is_over && !tool_interrupted();
}

/// The tank is that of the first state: opens what is written of it.
static bool open_exports(replay_film *film)
{
    const tool_replay_span *span = film->span;
    const double dt_s = (double)film->tank.scene.tank.dt_s,
                 steps = film->to_ns > film->from_ns ? round(seconds(film->to_ns - film->from_ns) / dt_s) : 0.0;
    film->count_max = film->has_moments ? (uint64_t)fmin(steps, TOOL_STEPS_MAX) : TOOL_STEPS_MAX;
    film->exports = tool_exports_open(span->command, span->exports, &film->tank, span->device->cpu.threads);
    film->probes = film->exports != NULL ? tool_probes_open(span->command, span->probes, &film->tank) : NULL;
    if (film->probes == NULL) {
        return false;
    }
    progress_start(&film->bar, 0, film->count_max > 0 ? (uint32_t)film->count_max : 1, dt_s,
                   span->quiet || !film->has_moments);
    if (film->skipped == 0) {
        show(film);
    }
    return true;
}

/// Where the film comes to a state. @return false: it ends here, with a sentence
static bool arrive(replay_film *film, const kept_stretch *stretch)
{
    const tool_replay_span *span = film->span;
    if (film->exports != NULL && stretch->follows) {
        return true; // the log leads to it
    }
    const double at_s = seconds(film->from_ns) + (double)film->count * (double)film->tank.scene.tank.dt_s;
    if (!stretch->is_whole) {
        fprintf(stderr, "%s: state %" PRId64 ", which nothing before it leads to, is damaged\n", span->command,
                stretch->id);
        return false;
    }
    if (film->exports != NULL && !tool_kept_is_of(stretch, film->made)) {
        char scene[sizeof stretch->state.scene];
        memcpy(scene, stretch->state.scene, sizeof scene);
        tarn_make_printable(scene);
        fprintf(stderr, "%s: at %.3f s the tank becomes one of the scene \"%s\", where --to or --from must be\n",
                span->command, at_s, scene);
        return false;
    }
    if (!tool_kept_put(span->command, span->scenes_dir, span->device, stretch, &film->tank, film->made)) {
        return false;
    }
    film->step = stretch->state.step;
    return film->exports != NULL || open_exports(film);
}

/// @return false: it failed, with a sentence
static bool go_on(replay_film *film)
{
    const char *command = film->span->command;
    for (int i = 0; i < film->copy.count && !film->is_over && !tool_interrupted(); i++) {
        const kept_stretch *stretch = &film->copy.stretches[i];
        if (!arrive(film, stretch)) {
            return false;
        }
        const tarn_status status =
            film->is_over ? TARN_OK : kept_replay(film->tank.tank, &stretch->log, &film->step, NULL, film_step, film);
        if (status != TARN_OK) {
            fprintf(stderr, "%s: the step behind %" PRIu64 ": %s\n", command, film->step, tarn_status_text(status));
            return false;
        }
        if (stretch->is_cut && !film->is_over) {
            fprintf(stderr, "%s: the log behind state %" PRId64 " is damaged behind step %" PRIu64 "\n", command,
                    stretch->id, film->step);
            return false;
        }
    }
    return !film->failed;
}

static int finish(replay_film *film, bool is_whole)
{
    const tool_replay_span *span = film->span;
    progress_end(&film->bar);
    const bool has_failed = film->failed || !film->has_begun;
    const bool is_written =
        tool_probes_finish(film->probes, has_failed) & tool_exports_finish(film->exports, has_failed);
    if (tool_interrupted()) {
        fprintf(stderr, "%s: interrupted after step %" PRIu64, span->command, film->count);
        tool_exports_print_cut(film->exports, stderr);
        fprintf(stderr, "%s\n", span->hash ? "; no hash" : "");
        return TOOL_EXIT_INTERRUPTED;
    }
    if (!is_whole || !is_written || !film->has_begun) {
        tool_exports_print_cut(film->exports, stderr);
        fprintf(stderr, "\n");
        return EXIT_FAILURE;
    }
    if (!span->quiet) {
        FILE *file = span->exports->uses_standard_output ? stderr : stdout;
        fprintf(file, "%s: %" PRIu64 " steps, %.3f s to %.3f s of the session's time\n", film->tank.scene.name,
                film->count, seconds(film->from_ns),
                seconds(film->from_ns) + (double)film->count * (double)film->tank.scene.tank.dt_s);
        tool_exports_print(film->exports, file);
        tool_probes_print(film->probes, file);
    }
    tarn_tank_hash hash = {0};
    const tarn_status status = span->hash ? tarn_tank_hash_get(film->tank.tank, &hash) : TARN_OK;
    if (status != TARN_OK) {
        fprintf(stderr, "%s: the hash: %s\n", span->command, tarn_status_text(status));
        return EXIT_FAILURE;
    }
    if (span->hash) {
        printf("%016" PRIx64 "%016" PRIx64 "\n", hash.hi, hash.lo);
    }
    return EXIT_SUCCESS;
}

int tool_replay_export(const tool_replay_span *span)
{
    static replay_film film; // large
    tarn_text why = "";
    film = (replay_film){.span = span};
    if (!begin(&film)) {
        return EXIT_FAILURE;
    }
    tarn_status status = kept_copy_read(span->file, film.after, &film.copy, why);
    bool is_whole = true;
    while (status == TARN_OK && is_whole && !film.is_over && !tool_interrupted()) {
        const int64_t last = film.copy.stretches[film.copy.count - 1].id;
        is_whole = go_on(&film);
        if (is_whole && !film.is_over) {
            status = kept_copy_read(span->file, last, &film.copy, why);
        }
    }
    if (status != TARN_OK && (status != TARN_E_NOT_FOUND || !film.has_begun)) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", span->command, why);
        is_whole = false;
    }
    const int result = film.probes != NULL ? finish(&film, is_whole) : EXIT_FAILURE;
    tool_probes_free(film.probes);
    tool_exports_free(film.exports);
    tool_kept_close(&film.tank);
    kept_copy_free(&film.copy);
    return result;
}

// ---- a kept session's newest state ----
// `tarn session export`: the newest state that is whole, the steps of its log, and what `tarn run` can write of them.

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
