// Any bytes as a scene: what is refused says why, and what is taken is a description that the tank's parts can rely on.
// Sampling meshes and heights is left to fuzz_mesh, since it takes long: here every field is a small cube.
#include "kernels/liquid_parameters.h"
#include "kernels/shapes/voxelize.h"
#include "server/common/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

// What the reader needs of the kernels, which aren't written for clang.

void tarn_tank_desc_default(tarn_tank_desc *desc)
{
    memset(desc, 0, sizeof *desc);
    desc->dt_s = 1.0f / 60.0f;
    desc->particles_per_axis = 2;
    desc->liquid_count = 1;
    desc->liquids[0].density_kg_m3 = 1000.0f;
}

uint64_t tarn_tank_desc_particles(const tarn_tank_desc *desc)
{
    return desc->block_count + desc->fluid_count;
}

tarn_status tarn_voxelize_heights(const tarn_height_map *heights, float bottom_m, float spacing_m,
                                  uint32_t margin_cells, tarn_distance_field *field, char *why, size_t why_bytes)
{
    (void)why;
    (void)why_bytes;
    require(heights->columns >= 2 && heights->columns <= TARN_SCENE_HEIGHTS_MAX);
    require(heights->rows >= 2 && heights->rows <= TARN_SCENE_HEIGHTS_MAX);
    require(spacing_m > 0 && isfinite(spacing_m) && margin_cells > 0);
    float sum = 0;
    for (uint32_t i = 0; i < heights->columns * heights->rows; i++) {
        require(heights->heights_m[i] > bottom_m);
        sum += heights->heights_m[i];
    }
    *field = (tarn_distance_field){{2, 2, 2}, spacing_m, {0, 0, 0}, malloc(8 * sizeof(float))};
    for (int i = 0; i < 8 && field->distance_m != NULL; i++) {
        field->distance_m[i] = sum;
    }
    return field->distance_m != NULL ? TARN_OK : TARN_E_MEMORY;
}

float tarn_voxelize_spacing_m(const tarn_mesh *mesh, uint32_t nodes, uint32_t margin_cells)
{
    (void)mesh;
    (void)nodes;
    (void)margin_cells;
    return 0;
}

/// There is no folder, so no mesh gets here.
tarn_status tarn_voxelize_mesh(const tarn_mesh *mesh, float spacing_m, uint32_t margin_cells,
                               tarn_distance_field *field, char *why, size_t why_bytes)
{
    (void)mesh;
    (void)spacing_m;
    (void)margin_cells;
    (void)field;
    (void)why;
    (void)why_bytes;
    abort();
}

static const tarn_model liquid = {.name = "liquid",
                                  .can = TARN_MODEL_ALL,
                                  .parameter_count = TARN_PARAMETER_COUNT,
                                  .parameters = tarn_liquid_parameters};

uint32_t tarn_model_count(void)
{
    return 1;
}

const tarn_model *tarn_model_at(uint32_t number)
{
    return number == 0 ? &liquid : NULL;
}

const tarn_model *tarn_model_find(const char *name)
{
    return strcmp(name, liquid.name) == 0 ? &liquid : NULL;
}

int tarn_model_parameter_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->parameter_count; i++) {
        if (strcmp(name, model->parameters[i].name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void require_pose(const tarn_pose *pose)
{
    double square = 0;
    for (int i = 0; i < 4; i++) {
        square += (double)pose->rotation[i] * (double)pose->rotation[i];
    }
    require(fabs(square - 1) < 1e-5);
    for (int axis = 0; axis < 3; axis++) {
        require(fabs((double)pose->position_m[axis]) <= TARN_SCENE_SIZE_M_MAX);
    }
}

static void require_shape(const tarn_tank_desc *tank, const tarn_shape *shape, const tarn_pose *pose)
{
    require(tarn_shape_check(shape, tank->fields, tank->field_count, NULL, 0) == TARN_OK);
    require_pose(pose);
}

static void require_solids(const tarn_tank_desc *tank)
{
    uint32_t bodies = 0;
    for (uint32_t i = 0; i < tank->solid_count; i++) {
        const tarn_solid *solid = &tank->solids[i];
        require_shape(tank, &solid->shape, &solid->pose);
        require(solid->motion < TARN_MOTION_COUNT);
        require(solid->keyframe_first <= tank->keyframe_count);
        require(solid->keyframe_count <= tank->keyframe_count - solid->keyframe_first);
        require((solid->motion == TARN_MOTION_KEYFRAMES) == (solid->keyframe_count > 0));
        const tarn_keyframe *frames = &tank->keyframes[solid->keyframe_first];
        for (uint32_t frame = 1; frame < solid->keyframe_count; frame++) {
            require(frames[frame].time_s > frames[frame - 1].time_s);
        }
        bodies += solid->motion != TARN_MOTION_STATIC;
    }
    require(bodies <= TARN_TANK_BODIES_MAX && tank->keyframe_count <= TARN_TANK_KEYFRAMES_MAX);
}

static void require_liquids(const tarn_tank_desc *tank)
{
    require(tank->liquid_count >= 1 && tank->liquid_count <= TARN_TANK_LIQUIDS_MAX);
    for (uint32_t i = 0; i < tank->block_count; i++) {
        const tarn_fluid_block *block = &tank->blocks[i];
        require(block->liquid < tank->liquid_count);
        for (int axis = 0; axis < 3; axis++) {
            require(block->min_m[axis] >= 0 && block->min_m[axis] < block->max_m[axis]);
            require(block->max_m[axis] <= (float)tank->cells[axis] * tank->cell_m);
        }
    }
    for (uint32_t i = 0; i < tank->fluid_count; i++) {
        require(tank->fluids[i].liquid < tank->liquid_count);
        require_shape(tank, &tank->fluids[i].shape, &tank->fluids[i].pose);
    }
    for (uint32_t i = 0; i < tank->emitter_count; i++) {
        const tarn_emitter *emitter = &tank->emitters[i];
        require(emitter->liquid < tank->liquid_count && tank->particles_max > 0);
        require(emitter->end_s == 0 || emitter->end_s > emitter->start_s);
        require_shape(tank, &emitter->shape, &emitter->pose);
    }
    for (uint32_t i = 0; i < tank->drain_count; i++) {
        require_shape(tank, &tank->drains[i].shape, &tank->drains[i].pose);
    }
}

static void require_motion(const tarn_scene *scene)
{
    for (uint64_t step = 0; step < 1000000000; step += step + 17) {
        tarn_step_input input = {0};
        tarn_scene_drive(scene, step, &input);
        require((input.poser != TARN_STEP_POSER_NOBODY) == tarn_scene_moves_tank(scene));
        if (input.poser != TARN_STEP_POSER_NOBODY) {
            require_pose(&input.pose);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static tarn_scene scene;
    char why[TARN_SCENE_WHY_BYTES] = "";
    tarn_status status =
        tarn_scene_read_text("a.json", NULL, "a", (const char *)bytes, byte_count, &scene, why, sizeof why);
    if (status != TARN_OK) {
        require(why[0] != '\0' && memchr(why, '\0', sizeof why) != NULL);
        require(status == TARN_E_MALFORMED || status == TARN_E_LIMIT || status == TARN_E_MEMORY);
        return 0;
    }
    require_liquids(&scene.tank);
    require_solids(&scene.tank);
    require_motion(&scene);
    tarn_scene_free(&scene);
    return 0;
}
