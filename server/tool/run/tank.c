// A tank from a command line, and what is read of it: the grid, probes.
#include "server/tool/run/tank.h"
#include "server/base/device.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/tool/film/export.h"
#include "server/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- the tank ----
// From a command line: device options, scene, and the signals and clock of the loops that step it.

static error_t parse_device(int key, char *argument, struct argp_state *state)
{
    tool_device *device = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        device->word.choice = TARN_DEVICE_CHOOSE_CPU;
        return 0;
    case 't':
        device->cpu.threads = (uint32_t)tarn_option_number(state, "threads", argument, 1, TARN_DEVICE_THREADS_MAX);
        return 0;
    case 'd':
        if (!tarn_device_word_read(argument, strlen(argument), &device->word)) {
            argp_error(state, "--device: found \"%s\", allowed are cpu, cuda, cuda:0 to cuda:%d and auto", argument,
                       TARN_DEVICE_GPUS_MAX - 1);
        }
        return 0;
    case 'i':
        if (strcmp(argument, "v2") != 0 && strcmp(argument, "v3") != 0 && strcmp(argument, "v4") != 0) {
            argp_error(state, "--isa: found \"%s\", allowed are v2, v3 and v4", argument);
        }
        device->cpu.isa = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option device_options[] = {
    {"device", 'd', "cpu|cuda[:N]|auto", 0, "cpu (the default), a GPU, or one where there is one", 0},
    {"threads", 't', "N", 0, "threads of the CPU device, 1 to 256; default: one per processor", 0},
    {"isa", 'i', "LEVEL", 0, "x86-64 level of the CPU device: v2, v3, v4; default: the best this processor has", 0},
    {0},
};
const struct argp tool_device_argp = {device_options, parse_device, NULL, NULL, NULL, NULL, NULL};
_Static_assert(TARN_DEVICE_THREADS_MAX == 256, "the help text above names the limit");

enum { KEY_SET = 512 };

static error_t parse_setting(int key, char *argument, struct argp_state *state)
{
    tarn_scene_settings *settings = state->input;
    if (key != KEY_SET) {
        return ARGP_ERR_UNKNOWN;
    }
    if (settings->count == TARN_SCENE_SETTINGS_MAX) {
        argp_error(state, "--set: found more than %d", TARN_SCENE_SETTINGS_MAX);
    }
    if (!tarn_scene_setting_is_well_formed(argument)) {
        argp_error(state, "--set: found the setting \"%.100s\", allowed are %s", argument, TARN_SCENE_SETTING_FORM);
    }
    settings->text[settings->count++] = argument;
    return 0;
}

static const struct argp_option setting_options[] = {
    {"set", KEY_SET, "FIELD=VALUE", 0,
     "set a field of the scene otherwise, as solver.cfl=2 or blocks[0].max_m=[1,0.5,1]; may be given 32 times", 0},
    {0},
};
const struct argp tool_settings_argp = {setting_options, parse_setting, NULL, NULL, NULL, NULL, NULL};
_Static_assert(TARN_SCENE_SETTINGS_MAX == 32, "the help text above names the limit");

/// Says why, where it isn't what was asked for.
static tarn_status open_device(const char *command, const tool_device *device, tarn_device **out)
{
    char why[TARN_DEVICE_WHY_BYTES];
    const tarn_status status = tarn_device_open(&device->word, &device->cpu, "", out, why);
    if (why[0] != '\0') {
        fprintf(stderr, "%s: %s\n", command, why);
    }
    return status;
}

bool tool_tank_open(tool_tank *tank, const char *command, const char *scene, const tarn_scene_settings *settings,
                    const tool_device *device)
{
    tarn_scene read = {0};
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    *tank = (tool_tank){0};
    if (tarn_scene_resolve(scene, NULL, path, sizeof path, why, sizeof why) != TARN_OK ||
        tarn_scene_read_file_set(path, settings, &read, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: %s\n", command, why);
        return false;
    }
    return tool_tank_open_read(tank, command, path, &read, device);
}

bool tool_tank_open_read(tool_tank *tank, const char *command, const char *origin, const tarn_scene *scene,
                         const tool_device *device)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    *tank = (tool_tank){.scene = *scene};
    snprintf(path, sizeof path, "%s", origin);
    tarn_status status = open_device(command, device, &tank->device);
    if (status != TARN_OK) {
        tarn_scene_free(&tank->scene);
        return false;
    }
    status = tarn_tank_create(tank->device, &tank->scene.tank, &tank->tank, why, sizeof why);
    if (status != TARN_OK) {
        tarn_make_printable(path);
        fprintf(stderr, "%s: %s: %s\n", command, path, why[0] != '\0' ? why : tarn_status_text(status));
        tarn_device_destroy(tank->device);
        tarn_scene_free(&tank->scene);
        return false;
    }
    return true;
}

void tool_tank_close(tool_tank *tank)
{
    tarn_tank_destroy(tank->tank);
    tarn_device_destroy(tank->device);
    tarn_scene_free(&tank->scene);
}

static bool is_noted(const tool_remarks *remarks, const char *remark)
{
    bool is_noted = false;
    for (uint32_t i = 0; i < remarks->count; i++) {
        is_noted |= strcmp(remarks->of[i], remark) == 0;
    }
    return is_noted;
}

void tool_remarks_note(tool_remarks *remarks, const tarn_tank *tank)
{
    enum { MOST = sizeof remarks->of / sizeof remarks->of[0] };
    tarn_remark now[MOST];
    const uint32_t count = tarn_tank_remarks(tank, now, MOST);
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        if (remarks->count < MOST && !is_noted(remarks, now[i])) {
            memcpy(remarks->of[remarks->count++], now[i], sizeof now[i]);
        }
    }
    remarks->more = count > MOST ? count - MOST : remarks->more;
}

void tool_remarks_print(const tool_remarks *remarks, FILE *file, const char *before)
{
    for (uint32_t i = 0; i < remarks->count; i++) {
        fprintf(file, "%s%s\n", before, remarks->of[i]);
    }
    if (remarks->more > 0) {
        fprintf(file, "%sand %u more of this kind\n", before, remarks->more);
    }
}

double tool_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void tool_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    // A closed terminal as well, except under nohup, which has the signal ignored.
    struct sigaction found;
    if (sigaction(SIGHUP, NULL, &found) == 0 && found.sa_handler != SIG_IGN) {
        sigaction(SIGHUP, &action, NULL);
    }
}

bool tool_output_is_open(const char *command)
{
    const bool is_open = write(STDOUT_FILENO, "", 0) == 0; // which a full disk and a closed descriptor refuse
    if (!is_open) {
        fprintf(stderr, "%s: standard output: %s\n", command, strerror(errno));
    }
    return is_open;
}

bool tool_interrupted(void)
{
    return interrupted != 0;
}

// ---- the grid ----
// Pressure comes from the tank's grid; liquid and smoke from the particles, which have them; solids from their shapes.

/// Marks the cells whose centres are in a solid.
static void mark_solid(const tarn_tank_desc *desc, const tarn_shape *shape, const tarn_pose *pose, uint8_t *cells)
{
    double min_m[3], max_m[3];
    int64_t from[3], to[3];
    const double cell_m = (double)desc->cell_m;
    tarn_shape_bounds_m(shape, pose, desc->fields, min_m, max_m);
    for (int a = 0; a < 3; a++) {
        const double last = desc->cells[a];
        const bool is_all = shape->inverted != 0; // beyond its surface all is solid
        from[a] = is_all ? 0 : (int64_t)fmin(fmax(floor(min_m[a] / cell_m), 0.0), last);
        to[a] = is_all ? (int64_t)last : (int64_t)fmin(fmax(ceil(max_m[a] / cell_m), 0.0), last);
    }
    for (int64_t z = from[2]; z < to[2]; z++) {
        for (int64_t y = from[1]; y < to[1]; y++) {
            for (int64_t x = from[0]; x < to[0]; x++) {
                double at_m[3] = {((double)x + 0.5) * cell_m, ((double)y + 0.5) * cell_m, ((double)z + 0.5) * cell_m};
                uint8_t *cell = &cells[(z * desc->cells[1] + y) * desc->cells[0] + x];
                if (*cell == 0) {
                    tarn_pose_to_shape(pose, at_m, at_m);
                    *cell = tarn_shape_distance_m(shape, desc->fields, at_m) < 0.0;
                }
            }
        }
    }
}

/// The solids that stay where they are: found once.
static void mark_still(tool_grid *grid, const tarn_tank_desc *desc)
{
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        const tarn_solid *solid = &desc->solids[i];
        if (solid->motion == TARN_MOTION_STATIC) {
            mark_solid(desc, &solid->shape, &solid->pose, grid->still_cells);
        }
    }
}

/// The others where they are now, and what was thrown and put in.
static void mark_moving(tool_grid *grid, const tool_tank *tank, const export_frame *frame)
{
    static tarn_added_solid added[TARN_TANK_ADDED_MAX]; // large
    const tarn_tank_desc *desc = &tank->scene.tank;
    const uint32_t added_count = tarn_tank_added(tank->tank, added);
    memcpy(grid->solid_cells, grid->still_cells, grid->cell_count);
    for (uint32_t b = 0; b < frame->body_count; b++) {
        const tarn_body_state *body = &frame->bodies[b];
        const tarn_shape *shape = body->solid < desc->solid_count ? &desc->solids[body->solid].shape : NULL;
        for (uint32_t i = 0; i < added_count && body->solid >= TARN_TANK_THROWN_FIRST; i++) {
            shape = added[i].number == body->solid ? &added[i].solid.shape : shape;
        }
        if (shape != NULL) {
            mark_solid(desc, shape, &body->pose, grid->solid_cells);
        }
    }
    for (uint32_t i = 0; i < added_count; i++) {
        if (added[i].number == 0) {
            mark_solid(desc, &added[i].solid.shape, &added[i].solid.pose, grid->solid_cells);
        }
    }
}

bool tool_grid_open(tool_grid *grid, const tool_tank *tank)
{
    const uint16_t *cells = tank->scene.tank.cells;
    const tarn_model *model = tarn_tank_model(tank->tank);
    const bool has_pressure = tarn_tank_pressure_density(tank->tank) > 0.0F,
               has_liquids = (model->can & TARN_MODEL_LIQUIDS) != 0;
    *grid = (tool_grid){.cell_count = (size_t)cells[0] * cells[1] * cells[2],
                        .amount_name = has_liquids ? "density" : "smoke",
                        .channel = has_liquids ? -1 : tarn_model_channel_find(model, "smoke")};
    const bool has_amounts = has_liquids || grid->channel >= 0;
    grid->pressure_pa = has_pressure ? malloc(grid->cell_count * sizeof(float)) : NULL;
    grid->amounts = has_amounts ? malloc((size_t)tarn_tank_particles_max(tank->tank) * sizeof(float)) : NULL;
    grid->solid_cells = malloc(grid->cell_count);
    grid->still_cells = calloc(grid->cell_count, 1);
    if ((has_pressure && grid->pressure_pa == NULL) || (has_amounts && grid->amounts == NULL) ||
        grid->solid_cells == NULL || grid->still_cells == NULL) {
        tool_grid_close(grid);
        return false;
    }
    mark_still(grid, &tank->scene.tank);
    return true;
}

void tool_grid_close(tool_grid *grid)
{
    free(grid->pressure_pa);
    free(grid->amounts);
    free(grid->solid_cells);
    free(grid->still_cells);
    *grid = (tool_grid){.cell_count = 0};
}

/// The pressure of the last substep; there is none before the first.
static tarn_status read_pressure(tool_grid *grid, const tool_tank *tank)
{
    const float density_kg_m3 = tarn_tank_pressure_density(tank->tank);
    const tarn_status status = tarn_tank_pressure(tank->tank, grid->pressure_pa, grid->cell_count);
    if (status == TARN_E_STATE) {
        memset(grid->pressure_pa, 0, grid->cell_count * sizeof(float));
        return TARN_OK;
    }
    for (size_t i = 0; i < grid->cell_count && status == TARN_OK; i++) {
        grid->pressure_pa[i] *= density_kg_m3;
    }
    return status;
}

static tarn_status read_amounts(tool_grid *grid, const tool_tank *tank, const export_frame *frame)
{
    if (grid->channel >= 0) {
        uint32_t count = 0;
        return tarn_tank_channel(tank->tank, (uint32_t)grid->channel, grid->amounts, frame->particle_count, &count,
                                 NULL);
    }
    for (uint32_t i = 0; i < frame->particle_count; i++) {
        grid->amounts[i] = tank->scene.tank.liquids[frame->liquids != NULL ? frame->liquids[i] : 0].density_kg_m3;
    }
    return TARN_OK;
}

tarn_status tool_grid_read(tool_grid *grid, const tool_tank *tank, export_frame *frame)
{
    tarn_status status = grid->pressure_pa != NULL ? read_pressure(grid, tank) : TARN_OK;
    if (status == TARN_OK && grid->amounts != NULL) {
        status = read_amounts(grid, tank, frame);
    }
    mark_moving(grid, tank, frame);
    frame->pressure_pa = grid->pressure_pa;
    frame->solid_cells = grid->solid_cells;
    frame->amounts = grid->amounts;
    frame->amount_name = grid->amount_name;
    return status;
}

// ---- probes ----
// `tarn run --probe`: a table of what probes say, as CSV.

enum { KEY_PROBE = 256, KEY_PROBES };

static const struct argp_option options[] = {
    {"probe", KEY_PROBE, "[NAME=]KIND:X,Y,Z", 0,
     "measure there after every step, with --probes: point, pressure, velocity, liquid (share and density); gauge, a "
     "rod from there to the ceiling, or to a second place behind it, as X,Y,Z,X2,Y2,Z2; flux through the rectangle "
     "between two corners; wall, the liquid's force and torque on that part of a wall of the tank; force:SOLID, those "
     "on "
     "a solid by its number in the scene. In metres; up to 64",
     0},
    {"probes", KEY_PROBES, "FILE.csv", 0, "write what --probe and the scene's probes say, a row for each step", 0},
    {0},
};
_Static_assert((int)TARN_PROBES_MAX == 64, "the help text names the limit");

static error_t parse(int key, char *argument, struct argp_state *state)
{
    tool_probe_options *to = state->input;
    const size_t bytes = argument != NULL ? strlen(argument) : 0;
    char why[TARN_SCENE_WHY_BYTES];
    switch (key) {
    case KEY_PROBE:
        if (to->count == TARN_PROBES_MAX) {
            argp_error(state, "--probe: found more than %d, allowed are %d", TARN_PROBES_MAX, TARN_PROBES_MAX);
            return 0;
        }
        if (!tarn_probe_spec_parse(argument, &to->spec[to->count], why, sizeof why)) {
            argp_error(state, "--probe: %s", why);
            return 0;
        }
        to->count++;
        return 0;
    case KEY_PROBES:
        if (bytes < 5 || strcmp(argument + bytes - 4, ".csv") != 0) {
            argp_error(state, "--probes: found \"%s\", allowed is a name that ends in .csv", argument);
        }
        to->path = argument;
        return 0;
    case ARGP_KEY_END:
        if (to->count > 0 && to->path == NULL) {
            argp_error(state, "--probe needs --probes FILE.csv");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tool_probe_argp = {.options = options, .parser = parse};

struct tool_probes {
    const char *command;
    const tool_tank *tank;
    uint32_t count, columns;
    uint64_t rows;
    tarn_probe_spec spec[TARN_PROBES_MAX];
    tarn_probe_reading reading[TARN_PROBES_MAX];
    tarn_probes *probes; ///< NULL: nothing is measured
    part_file file;
    bool failed;
};

static bool say(const tool_probes *p, const char *where, const char *what)
{
    fprintf(stderr, "%s: %s%s%s\n", p->command, where, where[0] != '\0' ? ": " : "", what);
    return false;
}

// ---- which probes there are ----

/// The scene's, then those of the options.
static bool collect(tool_probes *p, const tool_probe_options *from)
{
    char why[TARN_SCENE_WHY_BYTES];
    const tarn_scene *scene = &p->tank->scene;
    memcpy(p->spec, scene->probes, scene->probe_count * sizeof *p->spec);
    p->count = scene->probe_count;
    for (uint32_t i = 0; i < from->count; i++) {
        if (p->count == TARN_PROBES_MAX) {
            snprintf(why, sizeof why, "found %u besides %u of the scene, allowed are %d in all", from->count,
                     scene->probe_count, TARN_PROBES_MAX);
            return say(p, "--probe", why);
        }
        p->spec[p->count] = from->spec[i];
        tarn_probe_spec_name(&p->spec[p->count], p->count + 1);
        for (uint32_t k = 0; k < p->count; k++) {
            if (strcmp(p->spec[k].name, p->spec[p->count].name) == 0) {
                snprintf(why, sizeof why, "found the name \"%.*s\" twice, allowed are different names",
                         TARN_NAME_BYTES_MAX, p->spec[k].name);
                return say(p, "--probe", why);
            }
        }
        p->count++;
    }
    return p->count > 0 || say(p, "--probes", "found none to write, allowed is with --probe, or a scene that has some");
}

static bool place(tool_probes *p)
{
    char why[TARN_SCENE_WHY_BYTES], where[TARN_SCENE_WHY_BYTES];
    tarn_probe probe[TARN_PROBES_MAX];
    for (uint32_t i = 0; i < p->count; i++) {
        if (!tarn_probe_spec_fit(&p->spec[i], &p->tank->scene.tank, &probe[i], why, sizeof why)) {
            snprintf(where, sizeof where, "probe \"%.*s\"", TARN_NAME_BYTES_MAX, p->spec[i].name);
            return say(p, where, why);
        }
    }
    const tarn_status status = tarn_probes_create(p->tank->tank, probe, p->count, &p->probes);
    return status == TARN_OK || say(p, "--probes", tarn_status_text(status));
}

// ---- the table of probes ----

static bool fail_file(tool_probes *p)
{
    char why[EXPORT_WHY_BYTES];
    (void)part_file_fail(&p->file, why);
    p->failed = true;
    return say(p, "", why);
}

static bool write_head(tool_probes *p)
{
    fputs("time_s", p->file.file);
    for (uint32_t i = 0; i < p->count; i++) {
        char names[TARN_PROBE_COLUMNS_MAX][TARN_PROBE_COLUMN_BYTES];
        const uint32_t count = tarn_probe_spec_columns(&p->spec[i], tarn_tank_model(p->tank->tank), names);
        for (uint32_t k = 0; k < count; k++) {
            fprintf(p->file.file, ",%s", names[k]);
        }
        p->columns += count;
    }
    // A full disk is found now, not when the first buffer is full.
    return (fputc('\n', p->file.file) != EOF && fflush(p->file.file) == 0) || fail_file(p);
}

tool_probes *tool_probes_open(const char *command, const tool_probe_options *from, const tool_tank *tank)
{
    char why[EXPORT_WHY_BYTES];
    tool_probes *p = calloc(1, sizeof *p);
    if (p == NULL) {
        fprintf(stderr, "%s: out of memory\n", command);
        return NULL;
    }
    p->command = command;
    p->tank = tank;
    if (from->path == NULL) {
        return p;
    }
    bool opened = collect(p, from) && place(p);
    if (opened && !part_file_make_folder(from->path, false)) {
        export_why_errno(from->path, why);
        opened = say(p, "", why);
    } else if (opened && part_file_open(&p->file, from->path, why) != TARN_OK) {
        opened = say(p, "", why);
    }
    if (!opened || !write_head(p)) {
        tool_probes_free(p);
        return NULL;
    }
    return p;
}

bool tool_probes_step(tool_probes *p, progress *bar)
{
    if (p->probes == NULL || p->failed) {
        return !p->failed;
    }
    tarn_tank_report report;
    tarn_tank_report_light(p->tank->tank, &report);
    const tarn_status status = tarn_probes_read(p->probes, p->reading);
    if (status != TARN_OK) {
        progress_end(bar);
        return say(p, "the probes", tarn_status_text(status));
    }
    char time[EXPORT_TIME_BYTES];
    fprintf(p->file.file, "%s", export_time_text(report.sim_time_s, time));
    for (uint32_t i = 0; i < p->count; i++) {
        float values[TARN_PROBE_COLUMNS_MAX];
        const uint32_t count =
            tarn_probe_spec_values(&p->spec[i], tarn_tank_model(p->tank->tank), &p->reading[i], values);
        for (uint32_t k = 0; k < count; k++) {
            fprintf(p->file.file, ",%.7g", (double)values[k]);
        }
    }
    p->rows++;
    if (fputc('\n', p->file.file) == EOF || ferror(p->file.file)) {
        progress_end(bar);
        return fail_file(p);
    }
    return true;
}

bool tool_probes_finish(tool_probes *p, bool failed)
{
    char why[EXPORT_WHY_BYTES];
    if (p->probes == NULL || p->failed) {
        return !p->failed;
    }
    if (failed) {
        part_file_drop(&p->file);
        return true;
    }
    if (part_file_close(&p->file, why) != TARN_OK) {
        p->failed = true;
        return say(p, "", why);
    }
    return true;
}

void tool_probes_print(const tool_probes *p, FILE *file)
{
    if (p->probes != NULL && !p->failed) {
        fprintf(file, "%u column%s of %" PRIu64 " steps in %s\n", p->columns, p->columns == 1 ? "" : "s", p->rows,
                p->file.path);
    }
}

void tool_probes_free(tool_probes *p)
{
    if (p == NULL) {
        return;
    }
    part_file_drop(&p->file);
    tarn_probes_destroy(p->probes);
    free(p);
}
