// Any bytes as a scene: what is refused says why, and what is taken is a description that the tank's parts can rely on.
// Sampling meshes and heights is left to fuzz_mesh, since it takes long: here every field is a small cube.
#include "kernels/liquid_parameters.h"
#include "kernels/probe.h"
#include "kernels/shapes/voxelize.h"
#include "server/scene/scene.h"
#include "tests/fuzz/fuzz_parts.h"

#include <jansson.h>
#include <math.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

// What JSON is held in: one block behind the other, all of which are given back with the input. Between them, and in
// what was freed, nothing may be touched, as with the sanitizer's own memory; each one that is taken must be freed.

enum { ARENA_BYTES = 8 << 20, BLOCK_ALIGN = 16 };

static struct {
    _Alignas(BLOCK_ALIGN) uint8_t bytes[ARENA_BYTES];
    size_t used;
    uint32_t taken;
} arena;

static size_t rounded(size_t byte_count)
{
    return (byte_count + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

/// In front of each block, where nobody else may look, stands how large it is.
static void *arena_take(size_t byte_count)
{
    const size_t all_bytes = 2 * BLOCK_ALIGN + rounded(byte_count);
    if (byte_count > ARENA_BYTES || all_bytes > ARENA_BYTES - arena.used) {
        return NULL;
    }
    uint8_t *head = arena.bytes + arena.used, *block = head + BLOCK_ALIGN;
    ASAN_UNPOISON_MEMORY_REGION(head, BLOCK_ALIGN + byte_count);
    memcpy(head, &byte_count, sizeof byte_count);
    ASAN_POISON_MEMORY_REGION(head, BLOCK_ALIGN);
    arena.used += all_bytes;
    arena.taken++;
    return block;
}

static void arena_free(void *memory)
{
    if (memory == NULL) {
        return;
    }
    size_t byte_count;
    uint8_t *block = memory, *head = block - BLOCK_ALIGN;
    require(head >= arena.bytes && block < arena.bytes + arena.used && arena.taken > 0);
    ASAN_UNPOISON_MEMORY_REGION(head, BLOCK_ALIGN);
    memcpy(&byte_count, head, sizeof byte_count);
    require(byte_count != SIZE_MAX); // it was freed before
    const size_t freed = SIZE_MAX;
    memcpy(head, &freed, sizeof freed);
    ASAN_POISON_MEMORY_REGION(head, BLOCK_ALIGN + rounded(byte_count));
    arena.taken--;
}

// A draft is a mebibyte and more of zeros, of which a scene touches a few pages: these alone are made anew. It ends
// where nothing may be read.

enum { POOL_BYTES_MIN = 1 << 20, PAGE_BYTES = 4096 };

static struct {
    uint8_t *pages;
    size_t page_bytes; ///< of all that may be used
    void *given;       ///< NULL: nobody has it
} pool;

void *fuzz_calloc(size_t count, size_t item_bytes);
void fuzz_free(void *memory);

void *fuzz_calloc(size_t count, size_t item_bytes)
{
    const size_t byte_count = count * item_bytes,
                 pages_bytes = (byte_count + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    if (byte_count < POOL_BYTES_MIN) {
        return calloc(count, item_bytes);
    }
    if (pool.pages == NULL) {
        pool.page_bytes = pages_bytes;
        pool.pages = mmap(NULL, pages_bytes + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(pool.pages != MAP_FAILED && mprotect(pool.pages + pages_bytes, PAGE_BYTES, PROT_NONE) == 0);
    }
    require(pool.given == NULL && pages_bytes == pool.page_bytes);
    pool.given = pool.pages + (pages_bytes - (byte_count + 15) / 16 * 16);
    return pool.given;
}

void fuzz_free(void *memory)
{
    if ((uint8_t *)memory >= arena.bytes && (uint8_t *)memory < arena.bytes + ARENA_BYTES) {
        arena_free(memory);
        return;
    }
    if (memory == NULL || memory != pool.given) {
        free(memory);
        return;
    }
    require(madvise(pool.pages, pool.page_bytes, MADV_DONTNEED) == 0);
    pool.given = NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    ASAN_POISON_MEMORY_REGION(arena.bytes, ARENA_BYTES);
    json_set_alloc_funcs(arena_take, arena_free);
    return 0;
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
    *field = (tarn_distance_field){{2, 2, 2}, spacing_m, {0, 0, 0}, malloc(8 * sizeof(float)), 0.0f};
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

tarn_status tarn_probe_check(const tarn_tank_desc *desc, const tarn_probe *probe, char *why, size_t why_bytes)
{
    (void)desc;
    (void)why;
    (void)why_bytes;
    for (int axis = 0; axis < 3; axis++) {
        require(isfinite(probe->points_m[0][axis]));
    }
    return TARN_OK;
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

int tarn_model_channel_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->channel_count; i++) {
        if (strcmp(model->channels[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
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
    arena.used = 0;
    tarn_status status =
        tarn_scene_read_text("a.json", NULL, "a", (const char *)bytes, byte_count, &scene, why, sizeof why);
    require(arena.taken == 0);
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
