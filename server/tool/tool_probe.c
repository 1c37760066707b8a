// `tarn run --probe`: a table of what probes say, as CSV.
#include "server/tool/tool_probe.h"

#include "server/tool/export/export.h"
#include "server/tool/export/part_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

// ---- which ones ----

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

// ---- the table ----

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
