// V8: a mirrored scene gives the mirrored state, to the last bit, where the tiles pair up the same way on every level
// of the multigrid: along axes whose number of tiles is a power of two.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid_parameters.h"
#include "kernels/step_input.h"
#include <cmocka.h> // needs those above

#include <stdlib.h>
#include <string.h>

enum { STEPS = 60 };

/// Blocks of no symmetry that fall, spread and meet.
static tarn_tank_desc scene(void)
{
    static const tarn_fluid_block blocks[] = {
        {.min_m = {0.0f, 0.0f, 0.0f}, .max_m = {0.5f, 0.75f, 0.625f}},
        {.min_m = {1.25f, 0.0f, 0.25f}, .max_m = {1.75f, 0.25f, 1.0f}, .velocity_m_s = {-0.5f, 0.0f, 0.25f}},
        {.min_m = {0.75f, 0.5f, 0.375f}, .max_m = {1.0f, 0.875f, 0.75f}, .velocity_m_s = {1.0f, -0.5f, 0.0f}},
        {.min_m = {1.8125f, 0.5f, 0.0f}, .max_m = {2.0f, 0.6875f, 0.125f}},
    };
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = 64;
    desc.cells[1] = desc.cells[2] = 32;
    desc.jitter = 0.0f;
    desc.block_count = sizeof blocks / sizeof blocks[0];
    memcpy(desc.blocks, blocks, sizeof blocks);
    return desc;
}

static void mirror(tarn_tank_desc *desc, int axis)
{
    const float size_m = (float)desc->cells[axis] * desc->cell_m;
    for (uint32_t i = 0; i < desc->block_count; i++) {
        tarn_fluid_block *block = &desc->blocks[i];
        const float min_m = block->min_m[axis];
        block->min_m[axis] = size_m - block->max_m[axis];
        block->max_m[axis] = size_m - min_m;
        block->velocity_m_s[axis] = -block->velocity_m_s[axis];
    }
}

typedef struct particle {
    uint32_t position[3];
} particle;

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(particle)); // any order will do
}

/// The particles' positions in fixed point after some steps, sorted; mirrored along `axis`, or as they are where it is
/// -1. The caller frees them.
static particle *play(const tarn_tank_desc *desc, int axis, uint32_t *count)
{
    tarn_device *device;
    tarn_tank *tank;
    char why[256] = "";
    const tarn_device_desc on = {.kind = TARN_DEVICE_CPU, .threads = 2};
    assert_int_equal(tarn_device_create(&on, &device), TARN_OK);
    if (tarn_tank_create(device, desc, &tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    }
    *count = tank->particle_count;
    particle *particles = malloc(*count * sizeof *particles);
    uint32_t *field = malloc(*count * sizeof *field);
    assert_true(particles != NULL && field != NULL);
    for (int a = 0; a < 3; a++) {
        const uint32_t last = ((uint32_t)desc->cells[a] << POSITION_BITS) - 1;
        assert_int_equal(
            tarn_queue_download(tank->grid.queue, field, tank->args->store.position[a], *count * sizeof *field),
            TARN_OK);
        for (uint32_t i = 0; i < *count; i++) {
            particles[i].position[a] = a == axis ? last - field[i] : field[i];
        }
    }
    free(field);
    qsort(particles, *count, sizeof *particles, compare);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return particles;
}

typedef struct mirror_case {
    int axis;
    float tension_n_m;
} mirror_case;

static void mirrored_scene_gives_the_mirrored_state(void **state)
{
    const mirror_case *it = *state;
    const int axis = it->axis;
    uint32_t count, other_count;
    tarn_tank_desc desc = scene();
    desc.parameters[TARN_PARAMETER_SURFACE_TENSION] = it->tension_n_m;
    particle *particles = play(&desc, -1, &count);
    mirror(&desc, axis);
    particle *others = play(&desc, axis, &other_count);
    assert_true(count > 10000);
    assert_int_equal(count, other_count);
    uint32_t different = 0;
    for (uint32_t i = 0; i < count; i++) {
        different += compare(&particles[i], &others[i]) != 0;
    }
    if (different > 0) {
        fail_msg("%u of %u particles have no mirror image", different, count);
    }
    free(particles);
    free(others);
}

int main(void)
{
    static mirror_case x = {0, 0.0f}, z = {2, 0.0f}, tension = {0, 10.0f};
    const struct CMUnitTest tests[] = {
        {"mirrored in x", mirrored_scene_gives_the_mirrored_state, NULL, NULL, &x},
        {"mirrored in z", mirrored_scene_gives_the_mirrored_state, NULL, NULL, &z},
        {"mirrored in x, with surface tension", mirrored_scene_gives_the_mirrored_state, NULL, NULL, &tension},
    };
    return cmocka_run_group_tests_name("mirror", tests, NULL, NULL);
}
