// Reads a scene. Tables name the fields of each object; one function per kind of field checks it and fills a draft;
// then the draft is fitted together and copied to the caller. Begin at read_json and fill_draft.
//
//     bytes -> JSON -> tables: names, types, ranges (the schema's part) -> the fields together -> tarn_scene
//                      reader.c: the core                                  fit_... here: the tank itself
//                      here, contents.c: one part of a scene each          scene_fit_... of contents.c: the rest
#include "server/scene/scene.h"
#include "server/base/text.h"
#include "server/scene/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- settings ----
// Fields that are set otherwise than the file says, before the scene is read.
//
//     blocks[0].max_m[1]=0.5     a member, an item, a member, an item: what isn't there is made on the way

enum { STEPS_MAX = 8, NAME_BYTES = 64 };
static const char NAME_CHARACTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789_$";

typedef struct setting {
    scene_reader *r;
    const char *text; ///< all of it
    json_t *to;       ///< owned: what stands behind its first '='
} setting;

static bool is_end(char c)
{
    return c == '=' || c == '.' || c == '[';
}

/// Where a step of a path, a member or an item, ends. @return NULL: it isn't one
static const char *step_end(const char *at)
{
    if (*at == '[') {
        const size_t digits = strspn(at + 1, "0123456789");
        return digits > 0 && digits <= 6 && at[1 + digits] == ']' && is_end(at[2 + digits]) ? at + 2 + digits : NULL;
    }
    const size_t bytes = strspn(at, NAME_CHARACTERS);
    return bytes > 0 && bytes < NAME_BYTES && is_end(at[bytes]) ? at + bytes : NULL;
}

/// What stands behind the first '=': JSON, or else a word. @return owned; NULL: a word that isn't UTF-8
static json_t *value_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value != NULL ? value : json_string(text);
}

bool tarn_scene_setting_is_well_formed(const char *text)
{
    const char *at = text;
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        at = step_end(at);
        if (at == NULL || *at == '=') {
            break;
        }
        at += *at == '.';
    }
    json_t *value = at != NULL && *at == '=' ? value_of(at + 1) : NULL;
    json_decref(value);
    return value != NULL;
}

static bool refuse_place(const setting *s, const char *end, const char *what, const json_t *found)
{
    static const char *const types[] = {"an object", "a list", "a string", "a number",
                                        "a number",  "a bool", "a bool",   "null"};
    char path[SCENE_PATH_BYTES];
    scene_write_path(path, "%.*s", (int)(end - s->text), s->text);
    return scene_refuse(s->r, TARN_E_MALFORMED, path, "set is %s of %s", what, types[json_typeof(found)]);
}

/// What `at` goes on with is a list's item or an object's member.
static json_t *made_for(const char *at)
{
    return *at == '[' ? json_array() : json_object();
}

static bool set_in(setting *s, json_t *in, const char *at);

/// Puts the value there, or goes on in what is there. @param found  borrowed; NULL: nothing  @param made  owned, where
/// something had to be; to be put there
static bool go_on(setting *s, json_t *found, json_t **made, const char *at)
{
    if (*at == '=') {
        *made = json_incref(s->to);
        return true;
    }
    at += *at == '.';
    if (found == NULL) {
        found = *made = made_for(at);
        if (found == NULL) {
            return scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
        }
    }
    return set_in(s, found, at);
}

static bool set_item(setting *s, json_t *in, const char *at)
{
    if (!json_is_array(in)) {
        return refuse_place(s, at, "an item", in);
    }
    const size_t count = json_array_size(in);
    const unsigned long item = strtoul(at + 1, NULL, 10);
    if (item > count) {
        return scene_refuse(s->r, TARN_E_MALFORMED, "", "found the setting \"%.100s\", allowed is at most [%zu] there",
                            s->text, count);
    }
    json_t *made = NULL;
    const bool done = go_on(s, json_array_get(in, item), &made, step_end(at));
    if (made != NULL) {
        const int failed = item < count ? json_array_set_new(in, item, made) : json_array_append_new(in, made);
        return failed == 0 ? done : scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
    }
    return done;
}

static bool set_member(setting *s, json_t *in, const char *at)
{
    char name[NAME_BYTES];
    const size_t bytes = (size_t)(step_end(at) - at);
    if (!json_is_object(in)) {
        return refuse_place(s, at + bytes, "a field", in);
    }
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    json_t *made = NULL;
    const bool done = go_on(s, json_object_get(in, name), &made, at + bytes);
    if (made != NULL && json_object_set_new(in, name, made) != 0) {
        return scene_refuse(s->r, TARN_E_MEMORY, "", "out of memory");
    }
    return done;
}

static bool set_in(setting *s, json_t *in, const char *at)
{
    return *at == '[' ? set_item(s, in, at) : set_member(s, in, at);
}

/// Sets fields of a scene as r->settings say. @return false: one of them was refused
static bool apply_settings(scene_reader *r, json_t *scene)
{
    for (uint32_t i = 0; r->settings != NULL && i < r->settings->count; i++) {
        setting s = {.r = r, .text = r->settings->text[i]};
        if (!tarn_scene_setting_is_well_formed(s.text)) {
            return scene_refuse(s.r, TARN_E_MALFORMED, "", "found the setting \"%.100s\", allowed are %s", s.text,
                                TARN_SCENE_SETTING_FORM);
        }
        s.to = value_of(strchr(s.text, '=') + 1);
        if (s.to == NULL) {
            return scene_refuse(s.r, TARN_E_MEMORY, "", "out of memory");
        }
        const bool done = set_in(&s, scene, s.text);
        json_decref(s.to);
        if (!done) {
            return false;
        }
    }
    return true;
}

// ---- the tank itself ----
// Its size, step, solver, and what must hold of a scene as a whole.

/// Of a text in UTF-8.
static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}

static bool read_title(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const char *text = json_string_value(value);
    if (text == NULL || characters(text) > TARN_SCENE_TITLE_MAX || !tarn_is_printable(text)) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "a string of up to %d characters in one line, none that steers a terminal",
                 TARN_SCENE_TITLE_MAX);
        return scene_refuse_value(r, path, value, allowed);
    }
    snprintf(into, sizeof(tarn_text), "%s", text);
    return true;
}

static bool read_description(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const char *text = json_string_value(value);
    if (text == NULL || characters(text) > TARN_SCENE_DESCRIPTION_MAX) {
        char allowed[SCENE_ALLOWED_BYTES];
        snprintf(allowed, sizeof allowed, "a string of up to %d characters", TARN_SCENE_DESCRIPTION_MAX);
        return scene_refuse_value(r, path, value, allowed);
    }
    snprintf(into, TARN_SCENE_DESCRIPTION_MAX * 4 + 1, "%s", text);
    tarn_make_printable(into); // it may have several lines
    return true;
}

static bool read_lesson(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    static const scene_field fields[] = {
        {"text", true, read_description, offsetof(tarn_scene_lesson, text), NULL},
        {"task", true, read_description, offsetof(tarn_scene_lesson, task), NULL},
        {"answer", true, read_description, offsetof(tarn_scene_lesson, answer), NULL},
    };
    (void)rule;
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

enum { FIELDS_MAX = 32 };

/// A table of fields that is put together: what any scene has, and what the model adds.
typedef struct field_table {
    const tarn_model *model;
    scene_field fields[FIELDS_MAX];
    scene_range ranges[TARN_MODEL_PARAMETERS_MAX];
    uint32_t count;
    const char *lacks[FIELDS_MAX]; ///< fields that the model doesn't have
    uint32_t lack_count;
} field_table;

/// Fields that take what a model can; 0: any has them.
static void add_fields(field_table *table, uint32_t needs, const scene_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((table->model->can & needs) == needs) {
            table->fields[table->count++] = fields[i];
        } else {
            table->lacks[table->lack_count++] = fields[i].name;
        }
    }
}

/// The model's parameter for gravity, or NULL.
static const tarn_parameter_spec *gravity_of(scene_draft *d, float **strength)
{
    const tarn_model *model = tarn_model_at(d->scene.tank.model);
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        if (model->parameters[id].role == TARN_PLAYS_GRAVITY) {
            *strength = &d->scene.tank.parameters[id];
            return &model->parameters[id];
        }
    }
    return NULL;
}

/// A strength, or a vector whose parts are no stronger. Rule: scene_range of the strength; reads into the draft.
static bool read_gravity(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    scene_draft *d = into;
    const scene_range *strengths = rule;
    const scene_range parts = {-strengths->max, strengths->max, strengths->unit, false, false};
    float *strength = NULL;
    d->has_gravity_vector = json_is_array(value);
    return d->has_gravity_vector ? scene_read_vector(r, path, value, d->gravity_m_s2, &parts)
                                 : gravity_of(d, &strength) != NULL && scene_read_float(r, path, value, strength, rule);
}

/// Makes a vector one of length 1, unless it is zero. Squares of the smallest parts would vanish: so over the largest.
/// @return its length
static double normalise(double v[3])
{
    const double largest = fmax(fmax(fabs(v[0]), fabs(v[1])), fabs(v[2]));
    if (largest <= 0.0) {
        return 0.0;
    }
    const double x = v[0] / largest, y = v[1] / largest, z = v[2] / largest, over = sqrt(x * x + y * y + z * z);
    v[0] = x / over;
    v[1] = y / over;
    v[2] = z / over;
    return largest * over;
}

static bool fit_gravity(scene_reader *r, scene_draft *d)
{
    double g[3] = {d->gravity_m_s2[0], d->gravity_m_s2[1], d->gravity_m_s2[2]};
    const double length = normalise(g);
    float *strength = NULL;
    const tarn_parameter_spec *spec = gravity_of(d, &strength);
    if (spec == NULL || !d->has_gravity_vector) {
        return true;
    }
    if ((float)length > spec->max) {
        return scene_refuse(r, TARN_E_LIMIT, spec->name, "found a vector of the length %.9g %s, allowed is up to %g",
                            length, spec->unit, (double)spec->max);
    }
    *strength = (float)length;
    for (int axis = 0; axis < 3 && length > 0; axis++) {
        d->scene.tank.gravity_direction[axis] = (float)g[axis];
    }
    return true;
}

/// The model's parameters that stand in "solver", or those that don't.
static void add_parameters(field_table *table, bool in_solver)
{
    for (uint32_t id = 0; id < table->model->parameter_count; id++) {
        const tarn_parameter_spec *spec = &table->model->parameters[id];
        if (((spec->traits & TARN_PARAMETER_IS_SOLVER) != 0) == in_solver) {
            const bool is_whole = (spec->traits & TARN_PARAMETER_IS_WHOLE) != 0;
            table->ranges[id] = (scene_range){(double)spec->min, (double)spec->max, spec->unit, false, is_whole};
            const size_t offset = offsetof(scene_draft, scene.tank.parameters) + id * sizeof(float);
            table->fields[table->count++] =
                spec->role == TARN_PLAYS_GRAVITY
                    ? (scene_field){spec->name, false, read_gravity, 0, &table->ranges[id]}
                    : (scene_field){spec->name, false, scene_read_float, offset, &table->ranges[id]};
        }
    }
}

/// Whether a field is one of other models only.
static bool is_foreign(const field_table *table, const char *name)
{
    bool known = false, foreign = false;
    for (uint32_t i = 0; i < table->count; i++) {
        known = known || strcmp(table->fields[i].name, name) == 0;
    }
    for (uint32_t i = 0; i < table->lack_count; i++) {
        foreign = foreign || strcmp(table->lacks[i], name) == 0;
    }
    for (uint32_t i = 0; i < tarn_model_count(); i++) {
        foreign = foreign || tarn_model_parameter_find(tarn_model_at(i), name) >= 0;
    }
    return foreign && !known;
}

/// Reads an object by a table.
static bool read_table(scene_reader *r, const char *path, const json_t *value, void *into, const field_table *table)
{
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)value, key, member)
    {
        if (is_foreign(table, key)) {
            return scene_refuse(r, TARN_E_MALFORMED, path,
                                "found the field \"%s\", which the model \"%s\" doesn't have", key, table->model->name);
        }
    }
    return scene_read_object(r, path, value, into, table->fields, table->count, NULL);
}

#define ADD_FIELDS(table, needs, fields) add_fields(table, needs, fields, sizeof(fields) / sizeof((fields)[0]))

static bool read_solver(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    static const char *const kinds[TARN_SOLVER_COUNT] = {"multigrid", "jacobi", "gauss-seidel"};
    static const char *const transfers[TARN_TRANSFER_COUNT] = {"flip", "apic"};
    static const char *const weights[TARN_WEIGHTS_COUNT] = {"linear", "quadratic", "cubic"};
    static const scene_choice kind = {kinds, TARN_SOLVER_COUNT}, transfer = {transfers, TARN_TRANSFER_COUNT},
                              weight = {weights, TARN_WEIGHTS_COUNT};
    static const scene_field fields[] = {
        {"kind", false, scene_read_choice, offsetof(scene_draft, solver), &kind},
        {"transfer", false, scene_read_choice, offsetof(scene_draft, transfer), &transfer},
        {"weights", false, scene_read_choice, offsetof(scene_draft, weights), &weight},
        {"p2g_weights", false, scene_read_choice, offsetof(scene_draft, p2g_weights), &weight},
        {"g2p_weights", false, scene_read_choice, offsetof(scene_draft, g2p_weights), &weight},
        {"reseed", false, scene_read_flag, offsetof(scene_draft, scene.tank.reseed), NULL},
    };
    const field_table *scene = rule;
    field_table table = {.model = scene->model};
    ADD_FIELDS(&table, TARN_MODEL_SOLVER, fields);
    add_parameters(&table, true);
    return read_table(r, path, value, into, &table);
}

/// Which model a scene chooses, before its fields are read: these follow from it.
static const tarn_model *read_model(scene_reader *r, const json_t *scene)
{
    const json_t *value = json_object_get(scene, "model");
    const char *name = json_string_value(value);
    const tarn_model *model = value == NULL ? tarn_model_at(0) : name != NULL ? tarn_model_find(name) : NULL;
    if (model == NULL) {
        char allowed[SCENE_ALLOWED_BYTES] = "";
        for (uint32_t i = 0; i < tarn_model_count(); i++) {
            const size_t at = strlen(allowed);
            snprintf(allowed + at, sizeof allowed - at, "%s\"%s\"", i > 0 ? ", " : "", tarn_model_at(i)->name);
        }
        scene_refuse_value(r, "model", value, allowed);
    }
    return model;
}

/// The whole file's fields.
static bool read_scene(scene_reader *r, const json_t *value, scene_draft *d)
{
    static const scene_range sizes = {0, TARN_SCENE_SIZE_M_MAX, "m", true, false};
    static const scene_range cells = {TARN_SCENE_CELL_M_MIN, TARN_SCENE_CELL_M_MAX, "m", false, false};
    static const scene_range steps = {TARN_SCENE_DT_S_MIN, TARN_SCENE_DT_S_MAX, "s", false, false};
    static const scene_range shares = {0, 1, NULL, false, false};
    static const scene_range seeds = {0, UINT32_MAX, NULL, false, true};
    static const scene_range per_axis = {1, TARN_SCENE_PER_AXIS_MAX, NULL, false, true};
    static const scene_range particles = {1, TARN_TANK_PARTICLES_MAX, NULL, false, true};
    static const char *const look_names[] = {"water", "ink", "lava", "smoke", "aurora"};
    static const scene_choice looks = {look_names, sizeof look_names / sizeof look_names[0]};
#define TANK(member) offsetof(scene_draft, scene.tank.member)
    static const scene_field all[] = {
        {"$schema", false, scene_read_remark, 0, NULL},
        {"model", false, scene_read_remark, 0, NULL},
        {"title", false, read_title, offsetof(scene_draft, scene.title), NULL},
        {"description", false, read_description, offsetof(scene_draft, scene.description), NULL},
        {"lesson", false, read_lesson, offsetof(scene_draft, scene.lesson), NULL},
        {"look", false, scene_read_choice, offsetof(scene_draft, look), &looks},
        {"size_m", true, scene_read_vector, offsetof(scene_draft, size_m), &sizes},
        {"cell_m", true, scene_read_double, offsetof(scene_draft, cell_m), &cells},
        {"dt_s", false, scene_read_float, TANK(dt_s), &steps},
        {"particles_per_axis", false, scene_read_whole, TANK(particles_per_axis), &per_axis},
        {"jitter", false, scene_read_float, TANK(jitter), &shares},
        {"seed", false, scene_read_whole, TANK(seed), &seeds},
        {"particles_max", false, scene_read_whole, TANK(particles_max), &particles},
        {"blocks", false, scene_read_list, 0, &scene_block_list},
        {"fluids", false, scene_read_list, 0, &scene_fluid_list},
        {"probes", false, scene_read_list, 0, &scene_probe_list},
    };
    static const scene_field liquids[] = {{"liquids", false, scene_read_list, 0, &scene_liquid_list},
                                          {"particles", false, scene_read_list, 0, &scene_particle_file_list}};
    static const scene_field solids[] = {{"solids", false, scene_read_list, 0, &scene_solid_list}};
    static const scene_field rubs[] = {{"wall_friction", false, scene_read_float, TANK(wall_friction), &shares}};
    static const scene_field pours[] = {{"emitters", false, scene_read_list, 0, &scene_emitter_list}};
    static const scene_field drains[] = {{"drains", false, scene_read_list, 0, &scene_drain_list}};
    static const scene_field motion[] = {
        {"tank_motion", false, scene_read_tank_motion, offsetof(scene_draft, tank_motion), NULL}};
#undef TANK
    field_table table = {.model = NULL};
    const tarn_model *model = json_is_object(value) ? read_model(r, value) : tarn_model_at(0);
    if (model == NULL) {
        return false;
    }
    table.model = r->model = model;
    tarn_tank_desc *tank = &d->scene.tank;
    tank->model = model->number;
    d->p2g_weights = d->g2p_weights = TARN_WEIGHTS_COUNT;
    for (uint32_t id = 0; id < model->parameter_count; id++) {
        tank->parameters[id] = model->parameters[id].initial;
    }
    const scene_field solver = {"solver", false, read_solver, 0, &table};
    ADD_FIELDS(&table, 0, all);
    add_parameters(&table, false);
    ADD_FIELDS(&table, TARN_MODEL_LIQUIDS, liquids);
    ADD_FIELDS(&table, TARN_MODEL_RUBS, rubs);
    ADD_FIELDS(&table, TARN_MODEL_SOLIDS, solids);
    ADD_FIELDS(&table, TARN_MODEL_POURS, pours);
    ADD_FIELDS(&table, TARN_MODEL_DRAINS, drains);
    ADD_FIELDS(&table, TARN_MODEL_TURNS, motion);
    add_fields(&table, 0, &solver, 1);
    return read_table(r, "", value, d, &table);
}

// ---- its fields together ----

/// The nearest number of cells that an axis may have.
static double allowed_cells(int axis, double cells)
{
    // A single layer of cells in z makes the tank two-dimensional.
    if (axis == 2 && cells < 0.5 * (1 + TARN_TANK_CELLS_MIN)) {
        return 1;
    }
    return fmin(fmax(round(cells), TARN_TANK_CELLS_MIN), TARN_TANK_CELLS_MAX);
}

/// The size in cells. A size that isn't a whole number of cells is refused, never rounded in silence.
static bool fit_cells(scene_reader *r, scene_draft *d)
{
    double product = 1;
    for (int axis = 0; axis < 3; axis++) {
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "size_m[%d]", axis);
        double cells = d->size_m[axis] / d->cell_m, nearest = allowed_cells(axis, cells);
        if (fabs(cells - round(cells)) > 1e-4 || round(cells) != nearest) {
            return scene_refuse(r, TARN_E_LIMIT, path,
                                "found %.9g m, which is %.7g cells of %.9g m; allowed is a whole number of cells from "
                                "%d to %d%s; the nearest is %.9g m (%.0f cell%s)",
                                d->size_m[axis], cells, d->cell_m, TARN_TANK_CELLS_MIN, TARN_TANK_CELLS_MAX,
                                axis == 2 ? ", or one in a two-dimensional tank" : "", nearest * d->cell_m, nearest,
                                nearest == 1 ? "" : "s");
        }
        d->scene.tank.cells[axis] = (uint16_t)nearest;
        product *= nearest;
    }
    if (product > TARN_TANK_CELL_COUNT_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, "cell_m",
                            "found %.9g m, which makes %.0f cells; allowed are %d cells in all", d->cell_m, product,
                            TARN_TANK_CELL_COUNT_MAX);
    }
    tarn_tank_desc *tank = &d->scene.tank;
    tank->cell_m = (float)d->cell_m;
    tank->transfer = (tarn_transfer)d->transfer;
    tank->p2g_weights = (tarn_weights)(d->p2g_weights < TARN_WEIGHTS_COUNT ? d->p2g_weights : d->weights);
    tank->g2p_weights = (tarn_weights)(d->g2p_weights < TARN_WEIGHTS_COUNT ? d->g2p_weights : d->weights);
    tank->solver = (tarn_solver)d->solver;
    const int relaxation = tarn_model_parameter_find(r->model, "relaxation");
    if (tank->solver == TARN_SOLVER_JACOBI && relaxation >= 0 && tank->parameters[relaxation] > 1.0f) {
        return scene_refuse(r, TARN_E_LIMIT, "solver.relaxation",
                            "found %g, allowed is at most 1 with \"jacobi\": beyond that it doesn't converge",
                            (double)tank->parameters[relaxation]);
    }
    return true;
}

/// There would be liquid, were it not for the solids: says which of them is the largest, and how large it is. Files
/// tell no units, so that what was meant in millimetres swallows whole tanks.
static bool refuse_swallowed(scene_reader *r, const scene_draft *d, const char *where)
{
    const tarn_tank_desc *tank = &d->scene.tank;
    double size_m[3] = {0.0, 0.0, 0.0}, most = -1.0;
    uint32_t which = 0;
    for (uint32_t i = 0; i < tank->solid_count; i++) {
        const tarn_solid *solid = &tank->solids[i];
        double low[3], high[3];
        tarn_shape_bounds_m(&solid->shape, &solid->pose, tank->fields, low, high);
        const double volume = (high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]);
        const double room = solid->shape.inverted != 0 ? INFINITY : volume; // outside of it all is solid
        if (room > most) {
            most = room;
            which = i;
            for (int a = 0; a < 3; a++) {
                size_m[a] = high[a] - low[a];
            }
        }
    }
    const char *mesh = d->solids[which].shape.kind == SHAPE_MESH ? d->solids[which].shape.file : NULL;
    return scene_refuse(r, TARN_E_LIMIT, where,
                        "found all liquid within solids, where nothing is: solids[%u]%s%s%s is %.6g x %.6g x %.6g m%s, "
                        "the tank %.6g x %.6g x %.6g m%s",
                        which, mesh != NULL ? " (" : "", mesh != NULL ? mesh : "", mesh != NULL ? ")" : "", size_m[0],
                        size_m[1], size_m[2], tank->solids[which].shape.inverted != 0 ? ", solid outside" : "",
                        d->size_m[0], d->size_m[1], d->size_m[2],
                        mesh != NULL ? "; is 1 in the file 1 m or 1 mm? \"scale\": 0.001 reads it as millimetres" : "");
}

/// What the scene would hold without its solids.
static uint64_t particles_without_solids(const scene_draft *d)
{
    tarn_tank_desc *bare = malloc(sizeof *bare);
    uint64_t particles = 0;
    if (bare != NULL) {
        *bare = d->scene.tank;
        bare->solid_count = 0;
        particles = tarn_tank_desc_particles(bare);
    }
    free(bare);
    return particles;
}

static bool fit_particles(scene_reader *r, scene_draft *d)
{
    const tarn_tank_desc *tank = &d->scene.tank;
    if (tank->block_count + tank->fluid_count + tank->emitter_count + d->particle_file_count == 0) {
        return scene_refuse(r, TARN_E_LIMIT, "blocks",
                            "found no liquid in the scene; allowed is at least one of blocks, fluids, particles and "
                            "emitters");
    }
    if (tank->emitter_count > 0 && tank->particles_max == 0) {
        return scene_refuse(r, TARN_E_LIMIT, "particles_max",
                            "the field is missing; a scene with emitters needs it, as room for what they bring");
    }
    const char *where = tank->block_count > 0 ? "blocks" : d->particle_file_count > 0 ? "particles" : "fluids";
    uint64_t particles = tarn_tank_desc_particles(tank);
    uint32_t max = tank->particles_max != 0 ? tank->particles_max : TARN_TANK_PARTICLES_MAX;
    if (particles == 0 && tank->emitter_count == 0 && d->particle_file_count == 0) {
        if (tank->solid_count > 0 && particles_without_solids(d) > 0) {
            return refuse_swallowed(r, d, where);
        }
        return scene_refuse(r, TARN_E_LIMIT, where,
                            "found %s too thin to hold a particle, or outside the tank; allowed is at least one, with "
                            "cells of %.9g m",
                            where, d->cell_m);
    }
    if (particles > max) {
        return scene_refuse(r, TARN_E_LIMIT, tank->particles_max != 0 ? "particles_max" : where,
                            "the scene's liquid needs %llu particles with particles_per_axis %u, allowed are %u",
                            (unsigned long long)particles, tank->particles_per_axis, max);
    }
    return true;
}

// ---- from a file to a scene ----

void tarn_scene_free(tarn_scene *scene)
{
    if (scene == NULL) {
        return;
    }
    for (uint32_t i = 0; i < TARN_TANK_FIELDS_MAX; i++) {
        tarn_distance_field_free(&scene->tank.fields[i]);
    }
    scene->tank.field_count = 0;
    free((void *)(uintptr_t)scene->tank.particles);
    scene->tank.particles = NULL;
    scene->tank.particle_count = 0;
}

/// From JSON to the draft's scene.
static bool fill_draft(scene_reader *r, const json_t *json, scene_draft *d)
{
    return read_scene(r, json, d) && fit_cells(r, d) && fit_gravity(r, d) && scene_fit_liquids(r, d) &&
           scene_fit_blocks(r, d) && scene_fit_particle_files(r, d) && scene_fit_tank_motion(r, d) &&
           scene_fit_solids(r, d) && scene_fit_regions(r, d) && fit_particles(r, d) && scene_fit_probes(r, d);
}

static bool check_name(scene_reader *r, const char *name)
{
    return tarn_scene_name_valid(name) ||
           scene_refuse(
               r, TARN_E_MALFORMED, "",
               "found the name \"%.63s\", allowed are 1 to %d of a-z, 0-9 and '-', followed by .json for a file", name,
               TARN_NAME_BYTES_MAX);
}

/// Ours lies beside the scenes and has a scene's ending: its name and its fields would be the wrong things to complain
/// of.
static bool check_is_no_schema(scene_reader *r, const json_t *json)
{
    const char *dialect = json_string_value(json_object_get(json, "$schema"));
    return dialect == NULL || strstr(dialect, "json-schema.org/") == NULL || json_object_get(json, "size_m") != NULL ||
           scene_refuse(r, TARN_E_MALFORMED, "",
                        "this isn't a scene but a JSON schema, which tells editors what a scene may hold; allowed is a "
                        "scene, which has size_m, cell_m and some liquid");
}

/// Begins the fingerprint with the JSON, without what the water doesn't depend on.
static bool fingerprint_json(scene_reader *r, const json_t *json)
{
    static const char *const IDLE[] = {"$schema", "title", "description", "lesson", "look", "probes"};
    json_t *acting = json_copy((json_t *)json);
    for (size_t i = 0; i < sizeof IDLE / sizeof IDLE[0]; i++) {
        json_object_del(acting, IDLE[i]);
    }
    char *text = acting != NULL ? json_dumps(acting, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(acting);
    if (text == NULL) {
        return scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
    }
    r->fingerprint = 0xcbf29ce484222325u;
    scene_fingerprint(r, text, strlen(text));
    free(text);
    return true;
}

static bool is_blank(const char *text, size_t text_bytes)
{
    size_t at = 0;
    while (at < text_bytes && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    return at == text_bytes;
}

static tarn_status read_json(scene_reader *r, const char *name, const char *text, size_t text_bytes, scene_draft *d)
{
    tarn_tank_desc_default(&d->scene.tank);
    snprintf(d->scene.name, sizeof d->scene.name, "%s", name);
    snprintf(d->scene.title, sizeof d->scene.title, "%s", name);
    json_error_t error;
    text = tarn_text_begin_at(text, &text_bytes);
    if (text == NULL) {
        scene_refuse(r, TARN_E_MALFORMED, "", TARN_TEXT_WIDE);
        return r->status;
    }
    json_t *json = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL && is_blank(text, text_bytes)) {
        scene_refuse(r, TARN_E_MALFORMED, "", "the file is empty");
    } else if (json == NULL && error.text[0] == '\0') { // jansson says nothing of what it had no memory for
        scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
    } else if (json == NULL) {
        scene_refuse(r, TARN_E_MALFORMED, "", "line %d, column %d: this isn't JSON: %s", error.line, error.column,
                     error.text);
    } else if (check_is_no_schema(r, json) && check_name(r, name) && apply_settings(r, json) &&
               fingerprint_json(r, json) && fill_draft(r, json, d)) {
        d->scene.fingerprint = r->fingerprint;
        r->status = TARN_OK;
    }
    json_decref(json);
    return r->status;
}

/// @param r  what it is read with; its status becomes the result
static tarn_status read_text(scene_reader *r, const char *name, const char *text, size_t text_bytes, tarn_scene *scene)
{
    r->status = TARN_E_MEMORY;
    if (text_bytes > TARN_SCENE_BYTES_MAX) {
        scene_refuse(r, TARN_E_LIMIT, "", "found %zu bytes, allowed are %d", text_bytes, TARN_SCENE_BYTES_MAX);
        return r->status;
    }
    scene_draft *d = calloc(1, sizeof *d);
    if (d == NULL) {
        scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
        return r->status;
    }
    if (read_json(r, name, text, text_bytes, d) == TARN_OK) {
        *scene = d->scene;
    } else {
        tarn_scene_free(&d->scene);
    }
    free(d);
    return r->status;
}

tarn_status tarn_scene_read_text(const char *origin, const char *folder, const char *name, const char *text,
                                 size_t text_bytes, tarn_scene *scene, char *why, size_t why_bytes)
{
    scene_reader r = {.origin = origin, .folder = folder, .why = why, .why_bytes = why_bytes};
    return read_text(&r, name, text, text_bytes, scene);
}

tarn_status tarn_scene_read_kept(tarn_scene_pack *pack, tarn_scene *scene, char *why, size_t why_bytes)
{
    scene_reader r = {
        .origin = "the scene that was kept", .pack = pack, .why = why, .why_bytes = why_bytes, .status = TARN_OK};
    tarn_scene_entry entry;
    size_t at = 0;
    char name[sizeof entry.name];
    if (!tarn_scene_pack_sound(pack->bytes, pack->byte_count) ||
        !tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &entry)) {
        scene_refuse(&r, TARN_E_MALFORMED, "", "found no scene in it");
        return r.status;
    }
    snprintf(name, sizeof name, "%.*s", (int)(strlen(entry.name) - strlen(".json")), entry.name);
    r.origin = entry.name;
    return read_text(&r, name, (const char *)entry.bytes, entry.byte_count, scene);
}

/// Reads at most TARN_SCENE_BYTES_MAX + 1 bytes of a regular file.
static bool read_bytes(scene_reader *r, const char *path, char *text, size_t *text_bytes)
{
    bool done = false;
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0) {
        scene_refuse(r, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, "", "%s", strerror(errno));
        goto end;
    }
    if (!S_ISREG(status.st_mode)) {
        scene_refuse(r, TARN_E_IO, "", "found something that isn't a file, allowed is a scene file");
        goto end;
    }
    *text_bytes = 0;
    while (*text_bytes <= TARN_SCENE_BYTES_MAX) {
        ssize_t bytes = read(file, text + *text_bytes, TARN_SCENE_BYTES_MAX + 1 - *text_bytes);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0) {
            scene_refuse(r, TARN_E_IO, "", "%s", strerror(errno));
            goto end;
        }
        if (bytes == 0) {
            break;
        }
        *text_bytes += (size_t)bytes;
    }
    done = true;
end:
    if (file >= 0) {
        close(file);
    }
    return done;
}

/// @param r  without a folder, which is the file's
static tarn_status read_file(scene_reader *r, const char *path, tarn_scene *scene)
{
    r->origin = path;
    r->status = TARN_E_MEMORY;
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    size_t name_bytes = strlen(file);
    if (name_bytes < 5 || strcmp(file + name_bytes - 5, ".json") != 0) {
        scene_refuse(r, TARN_E_MALFORMED, "", "found a file name without .json, allowed is NAME.json");
        return r->status;
    }
    char name[TARN_NAME_BYTES_MAX + 2], folder[PATH_MAX];
    snprintf(name, sizeof name, "%.*s", (int)(name_bytes - 5), file);
    // "a.json" lies in ".", "/a.json" in "/".
    snprintf(folder, sizeof folder, "%.*s",
             slash == NULL   ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash == NULL ? "." : path);
    r->folder = folder;
    char *text = malloc(TARN_SCENE_BYTES_MAX + 1);
    if (text == NULL) {
        scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
        return r->status;
    }
    size_t text_bytes = 0;
    if (read_bytes(r, path, text, &text_bytes)) {
        // One that is too long isn't kept, and refused like any other.
        if (r->pack != NULL && tarn_scene_pack_add(r->pack, file, text, text_bytes) == TARN_E_MEMORY) {
            scene_refuse(r, TARN_E_MEMORY, "", "out of memory");
        } else {
            read_text(r, name, text, text_bytes, scene);
        }
    }
    free(text);
    r->folder = NULL; // was this function's
    return r->status;
}

tarn_status tarn_scene_read_file(const char *path, tarn_scene *scene, char *why, size_t why_bytes)
{
    return tarn_scene_read_file_set(path, NULL, scene, why, why_bytes);
}

tarn_status tarn_scene_read_file_set(const char *path, const tarn_scene_settings *settings, tarn_scene *scene,
                                     char *why, size_t why_bytes)
{
    scene_reader r = {.settings = settings, .why = why, .why_bytes = why_bytes};
    return read_file(&r, path, scene);
}

tarn_status tarn_scene_read_file_to_keep(const char *path, tarn_scene *scene, tarn_scene_pack *pack, char *why,
                                         size_t why_bytes)
{
    scene_reader r = {.pack = pack, .why = why, .why_bytes = why_bytes};
    return read_file(&r, path, scene);
}
