// Liquids and where they are: blocks, fluid shapes, emitters and drains.
#include "server/common/scene/scene_draft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- liquids ----

static bool read_liquid(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range densities = {0.01, 20000, "kg/m3", false, false};
    static const scene_range viscosities = {0, 100, "m2/s", false, false};
    static const scene_field fields[] = {
        {"name", false, scene_read_identifier, offsetof(liquid_draft, name), NULL},
        {"density_kg_m3", false, scene_read_float, offsetof(liquid_draft, density_kg_m3), &densities},
        {"viscosity_m2_s", false, scene_read_float, offsetof(liquid_draft, viscosity_m2_s), &viscosities},
        {"colour", false, scene_read_colour, offsetof(liquid_draft, colour), NULL},
    };
    ((liquid_draft *)into)->density_kg_m3 = 1000.0f;
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

const scene_list scene_liquid_list = {"liquids",
                                      1,
                                      TARN_TANK_LIQUIDS_MAX,
                                      read_liquid,
                                      offsetof(scene_draft, liquids),
                                      sizeof(liquid_draft),
                                      offsetof(scene_draft, liquid_count)};

static bool read_liquid_reference(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range indices = {0, TARN_TANK_LIQUIDS_MAX - 1, NULL, false, true};
    liquid_reference *reference = into;
    if (json_is_string(value)) {
        return scene_read_identifier(r, path, value, &reference->name, NULL);
    }
    if (!json_is_number(value)) {
        return scene_refuse_value(r, path, value, "a liquid's name, or its place in liquids, from 0");
    }
    return scene_read_whole(r, path, value, &reference->index, &indices);
}

bool scene_fit_liquids(scene_reader *r, scene_draft *d)
{
    static const uint8_t colours[TARN_TANK_LIQUIDS_MAX][3] = {
        {38, 110, 190}, {222, 165, 55}, {90, 170, 95}, {190, 80, 120}};
    tarn_tank_desc *tank = &d->scene.tank;
    float lightest = INFINITY, heaviest = 0;
    for (uint32_t i = 0; i < d->liquid_count; i++) {
        const liquid_draft *liquid = &d->liquids[i];
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "liquids[%u].name", i);
        for (uint32_t j = 0; j < i && liquid->name != NULL; j++) {
            if (d->liquids[j].name != NULL && strcmp(liquid->name, d->liquids[j].name) == 0) {
                return scene_refuse(r, TARN_E_LIMIT, path, "found \"%s\", which is the name of liquids[%u] already",
                                    liquid->name, j);
            }
        }
        lightest = fminf(lightest, liquid->density_kg_m3);
        heaviest = fmaxf(heaviest, liquid->density_kg_m3);
        tarn_liquid *fitted = &tank->liquids[i];
        fitted->density_kg_m3 = liquid->density_kg_m3;
        fitted->viscosity_m2_s = liquid->viscosity_m2_s;
        memcpy(fitted->colour, liquid->colour[3] != 0 ? liquid->colour : colours[i], 3);
        snprintf(d->scene.liquid_names[i], sizeof d->scene.liquid_names[i], "%s",
                 liquid->name != NULL ? liquid->name : "");
    }
    if (d->liquid_count > 0) {
        tank->liquid_count = d->liquid_count;
    }
    if (heaviest > lightest * TARN_TANK_DENSITY_RATIO_MAX) {
        return scene_refuse(r, TARN_E_LIMIT, "liquids",
                            "found densities from %g to %g kg/m3, allowed is at most %g times the lightest",
                            (double)lightest, (double)heaviest, (double)TARN_TANK_DENSITY_RATIO_MAX);
    }
    return true;
}

static bool fit_reference(scene_reader *r, const scene_draft *d, const char *path, const liquid_reference *reference,
                          uint32_t *liquid)
{
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.liquid", path);
    if (reference->name == NULL) {
        *liquid = reference->index;
        return *liquid < d->scene.tank.liquid_count ||
               scene_refuse(r, TARN_E_LIMIT, inner, "found %u, allowed is 0 to %u: the scene has %u liquid%s", *liquid,
                            d->scene.tank.liquid_count - 1, d->scene.tank.liquid_count,
                            d->scene.tank.liquid_count == 1 ? "" : "s");
    }
    char allowed[SCENE_ALLOWED_BYTES] = "";
    for (uint32_t i = 0; i < d->liquid_count; i++) {
        const char *name = d->scene.liquid_names[i];
        if (strcmp(name, reference->name) == 0) {
            *liquid = i;
            return true;
        }
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", used > 0 && name[0] != '\0' ? ", " : "", name);
    }
    return scene_refuse(r, TARN_E_LIMIT, inner, "found \"%s\", allowed are the names in liquids: %s", reference->name,
                        allowed[0] != '\0' ? allowed : "there are none");
}

// ---- what particles carry ----

static void carry_initial(const scene_reader *r, float *carried)
{
    for (uint32_t k = 0; k < r->model->carried_count; k++) {
        carried[k] = r->model->carried[k].initial;
    }
}

static bool read_carried(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    const tarn_model *model = r->model;
    scene_range ranges[TARN_MODEL_CARRIED_MAX];
    scene_field fields[TARN_MODEL_CARRIED_MAX + 1];
    for (uint32_t k = 0; k < model->carried_count; k++) {
        const tarn_carried_spec *spec = &model->carried[k];
        ranges[k] = (scene_range){(double)spec->min, (double)spec->max, spec->unit, false, false};
        fields[k] = (scene_field){spec->name, false, scene_read_float, k * sizeof(float), &ranges[k]};
    }
    fields[model->carried_count] = (scene_field){"$comment", false, scene_read_remark, 0, NULL};
    return scene_read_object(r, path, value, into, fields, model->carried_count + 1, NULL);
}

// ---- blocks ----

static bool read_block(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_range lengths = {0, TARN_SCENE_SIZE_M_MAX, "m", false, false};
    static const scene_field fields[] = {
        {"min_m", true, scene_read_vector, offsetof(block_draft, min_m), &lengths},
        {"max_m", true, scene_read_vector, offsetof(block_draft, max_m), &lengths},
        {"velocity_m_s", false, scene_read_vector_float, offsetof(block_draft, velocity_m_s), &scene_speeds},
        {"liquid", false, read_liquid_reference, offsetof(block_draft, liquid), NULL},
        {"colour", false, scene_read_colour, offsetof(block_draft, colour), NULL},
        {"carries", false, read_carried, offsetof(block_draft, carried), NULL},
    };
    carry_initial(r, ((block_draft *)into)->carried);
    return SCENE_READ_OBJECT(r, path, value, into, fields, NULL);
}

const scene_list scene_block_list = {"blocks",
                                     1,
                                     TARN_TANK_BLOCKS_MAX,
                                     read_block,
                                     offsetof(scene_draft, blocks),
                                     sizeof(block_draft),
                                     offsetof(scene_draft, block_count)};

static bool fit_block(scene_reader *r, scene_draft *d, uint32_t index)
{
    const block_draft *block = &d->blocks[index];
    tarn_fluid_block *fitted = &d->scene.tank.blocks[index];
    char path[SCENE_PATH_BYTES];
    for (int axis = 0; axis < 3; axis++) {
        double low = block->min_m[axis], high = block->max_m[axis], size = d->size_m[axis];
        scene_write_path(path, "blocks[%u].max_m[%d]", index, axis);
        if (high > size * (1 + 1e-6)) {
            return scene_refuse(r, TARN_E_LIMIT, path, "found %.9g m, allowed is at most the tank's size, %.9g m", high,
                                size);
        }
        if ((float)high <= (float)low) {
            return scene_refuse(r, TARN_E_LIMIT, path, "found %.9g m, allowed is more than min_m[%d], %.9g m", high,
                                axis, low);
        }
        float size_single = (float)d->scene.tank.cells[axis] * d->scene.tank.cell_m;
        fitted->min_m[axis] = (float)low;
        fitted->max_m[axis] = fminf((float)high, size_single);
        fitted->velocity_m_s[axis] = block->velocity_m_s[axis];
    }
    memcpy(fitted->colour, block->colour, sizeof fitted->colour);
    memcpy(fitted->carried, block->carried, sizeof fitted->carried);
    scene_write_path(path, "blocks[%u]", index);
    return fit_reference(r, d, path, &block->liquid, &fitted->liquid);
}

bool scene_fit_blocks(scene_reader *r, scene_draft *d)
{
    for (uint32_t i = 0; i < d->block_count; i++) {
        if (!fit_block(r, d, i)) {
            return false;
        }
    }
    d->scene.tank.block_count = d->block_count;
    return true;
}

// ---- fluids, emitters, drains: shapes somewhere ----

#define REGION_FIELDS                                                                                                  \
    SCENE_POSE_FIELDS(region_draft, pose, true), [REGION_SHAPE] = {"shape", true, scene_read_shape,                    \
                                                                   offsetof(region_draft, shape), NULL}

enum {
    REGION_SHAPE = POSE_FIELDS,
    REGION_VELOCITY,
    REGION_LIQUID,
    REGION_COLOUR,
    REGION_CARRIED,
    REGION_START,
    REGION_END
};

static const scene_range tap_times = {0, TARN_SCENE_TIME_S_MAX, "s", false, false};

static bool read_fluid(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        REGION_FIELDS,
        [REGION_VELOCITY] = {"velocity_m_s", false, scene_read_vector_float, offsetof(region_draft, velocity_m_s),
                             &scene_speeds},
        [REGION_LIQUID] = {"liquid", false, read_liquid_reference, offsetof(region_draft, liquid), NULL},
        [REGION_COLOUR] = {"colour", false, scene_read_colour, offsetof(region_draft, colour), NULL},
        [REGION_CARRIED] = {"carries", false, read_carried, offsetof(region_draft, carried), NULL},
    };
    region_draft *region = into;
    uint32_t given = 0;
    carry_initial(r, region->carried);
    return SCENE_READ_OBJECT(r, path, value, into, fields, &given) && scene_note_pose(r, path, given, &region->pose);
}

static bool read_emitter(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {
        REGION_FIELDS,
        [REGION_VELOCITY] = {"velocity_m_s", true, scene_read_vector_float, offsetof(region_draft, velocity_m_s),
                             &scene_speeds},
        [REGION_LIQUID] = {"liquid", false, read_liquid_reference, offsetof(region_draft, liquid), NULL},
        [REGION_COLOUR] = {"colour", false, scene_read_colour, offsetof(region_draft, colour), NULL},
        [REGION_CARRIED] = {"carries", false, read_carried, offsetof(region_draft, carried), NULL},
        [REGION_START] = {"start_s", false, scene_read_float, offsetof(region_draft, start_s), &tap_times},
        [REGION_END] = {"end_s", false, scene_read_float, offsetof(region_draft, end_s), &tap_times},
    };
    region_draft *region = into;
    uint32_t given = 0;
    carry_initial(r, region->carried);
    if (!SCENE_READ_OBJECT(r, path, value, into, fields, &given)) {
        return false;
    }
    region->has_end = (given & 1u << REGION_END) != 0;
    return scene_note_pose(r, path, given, &region->pose);
}

static bool read_drain(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    (void)rule;
    static const scene_field fields[] = {REGION_FIELDS};
    region_draft *region = into;
    uint32_t given = 0;
    return SCENE_READ_OBJECT(r, path, value, into, fields, &given) && scene_note_pose(r, path, given, &region->pose);
}

#define REGION_LIST(name, max, read, member, count)                                                                    \
    {                                                                                                                  \
        name, 1, max, read, offsetof(scene_draft, member), sizeof(region_draft), offsetof(scene_draft, count)          \
    }

const scene_list scene_fluid_list = REGION_LIST("fluids", TARN_TANK_FLUIDS_MAX, read_fluid, fluids, fluid_count);
const scene_list scene_emitter_list =
    REGION_LIST("emitters", TARN_TANK_EMITTERS_MAX, read_emitter, emitters, emitter_count);
const scene_list scene_drain_list = REGION_LIST("drains", TARN_TANK_DRAINS_MAX, read_drain, drains, drain_count);

/// Shape and pose of a region, which must reach into the tank: elsewhere it would do nothing in silence.
static bool fit_place(scene_reader *r, scene_draft *d, const char *path, const region_draft *region, tarn_shape *shape,
                      tarn_pose *pose)
{
    char inner[SCENE_PATH_BYTES];
    scene_write_path(inner, "%s.shape", path);
    if (!scene_fit_pose(r, path, &region->pose, pose) || !scene_fit_shape(r, d, inner, &region->shape, shape)) {
        return false;
    }
    if (shape->inverted) {
        return true;
    }
    double low[3], high[3];
    tarn_shape_bounds_m(shape, pose, d->scene.tank.fields, low, high);
    for (int axis = 0; axis < 3; axis++) {
        if (high[axis] <= 0 || low[axis] >= d->size_m[axis]) {
            scene_write_path(inner, "%s.position_m[%d]", path, axis);
            return scene_refuse(r, TARN_E_LIMIT, inner,
                                "the shape reaches from %.6g to %.6g m, allowed is that it reaches into the tank, 0 to "
                                "%.6g m",
                                low[axis], high[axis], d->size_m[axis]);
        }
    }
    return true;
}

static bool fit_fluid(scene_reader *r, scene_draft *d, uint32_t index)
{
    const region_draft *region = &d->fluids[index];
    tarn_fluid_shape *fitted = &d->scene.tank.fluids[index];
    char path[SCENE_PATH_BYTES];
    scene_write_path(path, "fluids[%u]", index);
    memcpy(fitted->velocity_m_s, region->velocity_m_s, sizeof fitted->velocity_m_s);
    memcpy(fitted->colour, region->colour, sizeof fitted->colour);
    memcpy(fitted->carried, region->carried, sizeof fitted->carried);
    return fit_reference(r, d, path, &region->liquid, &fitted->liquid) &&
           fit_place(r, d, path, region, &fitted->shape, &fitted->pose);
}

static bool fit_emitter(scene_reader *r, scene_draft *d, uint32_t index)
{
    const region_draft *region = &d->emitters[index];
    tarn_emitter *fitted = &d->scene.tank.emitters[index];
    char path[SCENE_PATH_BYTES];
    scene_write_path(path, "emitters[%u]", index);
    memcpy(fitted->velocity_m_s, region->velocity_m_s, sizeof fitted->velocity_m_s);
    memcpy(fitted->colour, region->colour, sizeof fitted->colour);
    memcpy(fitted->carried, region->carried, sizeof fitted->carried);
    fitted->start_s = region->start_s;
    fitted->end_s = region->end_s;
    if (region->has_end && region->end_s <= region->start_s) {
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s.end_s", path);
        return scene_refuse(r, TARN_E_LIMIT, inner, "found %g s, allowed is more than start_s, %g s",
                            (double)region->end_s, (double)region->start_s);
    }
    return fit_reference(r, d, path, &region->liquid, &fitted->liquid) &&
           fit_place(r, d, path, region, &fitted->shape, &fitted->pose);
}

bool scene_fit_regions(scene_reader *r, scene_draft *d)
{
    tarn_tank_desc *tank = &d->scene.tank;
    for (uint32_t i = 0; i < d->fluid_count; i++) {
        if (!fit_fluid(r, d, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < d->emitter_count; i++) {
        if (!fit_emitter(r, d, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < d->drain_count; i++) {
        char path[SCENE_PATH_BYTES];
        scene_write_path(path, "drains[%u]", i);
        if (!fit_place(r, d, path, &d->drains[i], &tank->drains[i].shape, &tank->drains[i].pose)) {
            return false;
        }
    }
    tank->fluid_count = d->fluid_count;
    tank->emitter_count = d->emitter_count;
    tank->drain_count = d->drain_count;
    return true;
}
