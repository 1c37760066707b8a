// The tank itself: its size, step, solver, and what must hold of a scene as a whole.
#include "server/common/printable.h"
#include "server/common/scene/scene_draft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_title(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const char *text = json_string_value(value);
    if (text == NULL || scene_characters(text) > TARN_SCENE_TITLE_MAX || !tarn_is_printable(text)) {
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
    if (text == NULL || scene_characters(text) > TARN_SCENE_DESCRIPTION_MAX) {
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

bool scene_fit_gravity(scene_reader *r, scene_draft *d)
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

bool scene_read_scene(scene_reader *r, const json_t *value, scene_draft *d)
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

// ---- the fields together ----

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
bool scene_fit_cells(scene_reader *r, scene_draft *d)
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

bool scene_fit_particles(scene_reader *r, scene_draft *d)
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
