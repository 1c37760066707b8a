// Probes from texts, into tanks, and to columns of tables.
#include "server/scene/probe.h"
#include "server/scene/scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static bool refuse(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

// ---- from texts ----

static bool parse_kind(const char *text, size_t bytes, uint32_t *shows)
{
    for (*shows = 0; *shows < TARN_SHOWS_COUNT; (*shows)++) {
        const char *name = tarn_probe_shows_names[*shows];
        if (strlen(name) == bytes && strncmp(name, text, bytes) == 0) {
            return true;
        }
    }
    return false;
}

/// @return how many numbers there are, with commas between them, at most `most`; -1: it is something else
static int parse_numbers(const char *text, double *numbers, int most)
{
    for (int i = 0; i < most; i++) {
        char *end = NULL;
        numbers[i] = strtod(text, &end);
        if (end == text || !isfinite(numbers[i])) {
            return -1;
        }
        if (*end == '\0') {
            return i + 1;
        }
        if (*end != ',') {
            return -1;
        }
        text = end + 1;
    }
    return -1;
}

bool tarn_probe_spec_parse(const char *text, tarn_probe_spec *spec, char *why, size_t why_bytes)
{
    const char *equals = strchr(text, '='), *kind = equals != NULL ? equals + 1 : text, *colon = strchr(kind, ':');
    double numbers[6] = {0.0};
    memset(spec, 0, sizeof *spec);
    if (equals != NULL) {
        char name[TARN_NAME_BYTES_MAX + 2];
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        if (!tarn_scene_name_valid(name)) {
            return refuse(why, why_bytes, "found the name \"%.*s\", allowed are 1 to %d of a-z, 0-9 and '-'",
                          (int)(equals - text), text, TARN_NAME_BYTES_MAX);
        }
        memcpy(spec->name, name, strlen(name) + 1);
    }
    if (colon == NULL || !parse_kind(kind, (size_t)(colon - kind), &spec->shows)) {
        return refuse(why, why_bytes,
                      "found \"%s\", allowed is [NAME=]KIND:X,Y,Z in metres, with a KIND of point, pressure, velocity, "
                      "liquid, gauge, flux, force (:SOLID, by its number in the scene) and wall",
                      text);
    }
    const int count = parse_numbers(colon + 1, numbers, 6);
    if (spec->shows == TARN_SHOWS_FORCE) {
        if (count != 1 || !(numbers[0] >= 0 && numbers[0] < TARN_TANK_SOLIDS_MAX) || numbers[0] != floor(numbers[0])) {
            return refuse(why, why_bytes, "found \"%s\", allowed is force:SOLID, a number of the scene's solids from 0",
                          text);
        }
        spec->has_solid = true;
        spec->solid = (uint32_t)numbers[0];
        return true;
    }
    if (count != 3 && count != 6) {
        return refuse(why, why_bytes,
                      "found \"%s\", allowed are three numbers, or six of a gauge, flux or wall: X,Y,Z in "
                      "metres",
                      text);
    }
    spec->has_to = count == 6;
    memcpy(spec->at_m, numbers, sizeof spec->at_m);
    memcpy(spec->to_m, numbers + 3, sizeof spec->to_m);
    return true;
}

void tarn_probe_spec_name(tarn_probe_spec *spec, uint32_t number)
{
    if (spec->name[0] == '\0') {
        snprintf(spec->name, sizeof spec->name, "%s%u", tarn_probe_shows_names[spec->shows], number);
    }
}

// ---- into tanks ----

static bool has_pressure(const tarn_model *model)
{
    return tarn_model_channel_find(model, "pressure") >= 0;
}

static bool has_liquids(const tarn_model *model)
{
    return (model->can & TARN_MODEL_LIQUIDS) != 0;
}

static void put(float *to, const double *from)
{
    for (int a = 0; a < 3; a++) {
        to[a] = (float)from[a];
    }
}

/// The rectangle between two corners: its sides along the axes that come behind the one across it, so that it looks
/// forward along that.
static bool fit_rectangle(const tarn_probe_spec *spec, tarn_probe *probe, char *why, size_t why_bytes)
{
    int across = -1, flat = 0;
    double low[3], high[3];
    for (int a = 0; a < 3; a++) {
        low[a] = fmin(spec->at_m[a], spec->to_m[a]);
        high[a] = fmax(spec->at_m[a], spec->to_m[a]);
        flat += low[a] == high[a];
        across = low[a] == high[a] ? a : across;
    }
    if (flat != 1) {
        return refuse(
            why, why_bytes,
            "found corners at %g, %g, %g and %g, %g, %g, which have %d coordinates in common; allowed is one: "
            "the rectangle lies across that axis",
            spec->at_m[0], spec->at_m[1], spec->at_m[2], spec->to_m[0], spec->to_m[1], spec->to_m[2], flat);
    }
    for (int i = 0; i < 3; i++) {
        put(probe->points_m[i], low);
    }
    const int first = (across + 1) % 3, second = (across + 2) % 3;
    probe->points_m[1][first] = (float)high[first];
    probe->points_m[2][second] = (float)high[second];
    return true;
}

bool tarn_probe_spec_fit(const tarn_probe_spec *spec, const tarn_tank_desc *desc, tarn_probe *probe, char *why,
                         size_t why_bytes)
{
    const char *kind = tarn_probe_shows_names[spec->shows];
    static const tarn_probe_kind kinds[TARN_SHOWS_COUNT] = {
        [TARN_SHOWS_GAUGE] = TARN_PROBE_GAUGE,
        [TARN_SHOWS_FLUX] = TARN_PROBE_FLUX,
        [TARN_SHOWS_FORCE] = TARN_PROBE_FORCE,
        [TARN_SHOWS_WALL] = TARN_PROBE_WALL,
    };
    memset(probe, 0, sizeof *probe);
    probe->kind = kinds[spec->shows];
    const bool is_rectangle = probe->kind == TARN_PROBE_FLUX || probe->kind == TARN_PROBE_WALL;
    if (spec->has_to && probe->kind == TARN_PROBE_POINT) {
        return refuse(why, why_bytes, "found two places, allowed is one of a %s; gauge, flux and wall have two", kind);
    }
    if (!spec->has_to && is_rectangle) {
        return refuse(why, why_bytes, "found one place, allowed are two of a %s: corners of a rectangle", kind);
    }
    if (spec->has_solid != (probe->kind == TARN_PROBE_FORCE)) {
        return spec->has_solid ? refuse(why, why_bytes, "found a solid, allowed is one of a force alone")
                               : refuse(why, why_bytes, "found no solid, allowed is a number of the scene's solids");
    }
    probe->solid = spec->solid;
    const tarn_model *model = tarn_model_at(desc->model);
    if (spec->shows == TARN_SHOWS_PRESSURE && !has_pressure(model)) {
        return refuse(why, why_bytes, "found a pressure, which %s don't have; allowed are point and velocity",
                      model->name);
    }
    if (spec->shows == TARN_SHOWS_LIQUID && !has_liquids(model)) {
        return refuse(why, why_bytes, "found a liquid in %s; allowed is a point", model->name);
    }
    put(probe->points_m[0], spec->at_m);
    put(probe->points_m[1], spec->to_m);
    if (probe->kind == TARN_PROBE_GAUGE && !spec->has_to) {
        put(probe->points_m[1], spec->at_m);
        probe->points_m[1][1] = (float)desc->cells[1] * desc->cell_m;
    }
    return (!is_rectangle || fit_rectangle(spec, probe, why, why_bytes)) &&
           tarn_probe_check(desc, probe, why, why_bytes) == TARN_OK;
}

// ---- to columns of tables ----

typedef struct column {
    const char *name;
    float value;
} column;

static uint32_t list_columns(const tarn_probe_spec *spec, const tarn_model *model, const tarn_probe_reading *r,
                             column columns[TARN_PROBE_COLUMNS_MAX])
{
    const bool is_all = spec->shows == TARN_SHOWS_POINT;
    uint32_t count = 0;
    if ((is_all && has_pressure(model)) || spec->shows == TARN_SHOWS_PRESSURE) {
        columns[count++] = (column){"pressure_pa", r->pressure_pa};
    }
    if (is_all || spec->shows == TARN_SHOWS_VELOCITY) {
        columns[count++] = (column){"velocity_x_m_s", r->velocity_m_s[0]};
        columns[count++] = (column){"velocity_y_m_s", r->velocity_m_s[1]};
        columns[count++] = (column){"velocity_z_m_s", r->velocity_m_s[2]};
    }
    if ((is_all && has_liquids(model)) || spec->shows == TARN_SHOWS_LIQUID) {
        columns[count++] = (column){"share", r->share};
        columns[count++] = (column){"density_kg_m3", r->density_kg_m3};
    }
    for (uint32_t k = 0; k < model->carried_count && is_all; k++) {
        columns[count++] = (column){model->carried[k].name, r->carried[k]};
    }
    if (spec->shows == TARN_SHOWS_GAUGE) {
        columns[count++] = (column){"depth_m", r->depth_m};
        columns[count++] = (column){"surface_m", r->surface_m};
    }
    if (spec->shows == TARN_SHOWS_FLUX) {
        columns[count++] = (column){"flux_m3_s", r->flux_m3_s};
    }
    if (spec->shows == TARN_SHOWS_FORCE || spec->shows == TARN_SHOWS_WALL) {
        columns[count++] = (column){"force_x_n", r->force_n[0]};
        columns[count++] = (column){"force_y_n", r->force_n[1]};
        columns[count++] = (column){"force_z_n", r->force_n[2]};
        columns[count++] = (column){"torque_x_n_m", r->torque_n_m[0]};
        columns[count++] = (column){"torque_y_n_m", r->torque_n_m[1]};
        columns[count++] = (column){"torque_z_n_m", r->torque_n_m[2]};
    }
    return count;
}

uint32_t tarn_probe_spec_columns(const tarn_probe_spec *spec, const tarn_model *model,
                                 char names[TARN_PROBE_COLUMNS_MAX][TARN_PROBE_COLUMN_BYTES])
{
    static const tarn_probe_reading none;
    column columns[TARN_PROBE_COLUMNS_MAX];
    const uint32_t count = list_columns(spec, model, &none, columns);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(names[i], TARN_PROBE_COLUMN_BYTES, "%s%s%s", spec->name, spec->name[0] != '\0' ? "_" : "",
                 columns[i].name);
    }
    return count;
}

uint32_t tarn_probe_spec_values(const tarn_probe_spec *spec, const tarn_model *model, const tarn_probe_reading *reading,
                                float values[TARN_PROBE_COLUMNS_MAX])
{
    column columns[TARN_PROBE_COLUMNS_MAX];
    const uint32_t count = list_columns(spec, model, reading, columns);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = columns[i].value;
    }
    return count;
}
