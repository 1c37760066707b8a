// A number that is none, or is larger than any can be, in one particle: the very step says so, whatever carries it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/step_input.h"
#include "kernels/tank/tank_internal.h"
#include "tests/tank/liquid_tank.h"
#include "tests/tank/plain_tank.h"
#include <cmocka.h> // needs those above

#include <math.h>

/// Each array of floats that a step begins with, in its turn; NULL behind the last. Where the grid keeps the velocity
/// that of particles is only for show.
static float *array_of(const store_memory *store, int number)
{
    float *const arrays[] = {store->velocity[0], store->velocity[1], store->velocity[2], store->affine[0],
                             store->affine[4],   store->affine[8],   store->carried[0],  store->carried[1],
                             store->carried[2],  store->carried[3]};
    for (size_t i = store->kept[0] != NULL ? 3 : 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        if (arrays[i] != NULL && number-- == 0) {
            return arrays[i];
        }
    }
    return NULL;
}

/// @return how many arrays there were
static int break_each(tarn_tank *tank, const char *name)
{
    static const float bad[] = {NAN, -NAN, INFINITY, -3e38f};
    int arrays = 0;
    for (; array_of(&tank->args->store, arrays) != NULL; arrays++) {
        for (int i = 0; i < 12; i++) {
            assert_int_equal(tarn_tank_reset(tank), TARN_OK);
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
            const uint32_t last = tank->particle_count - 1, particles[] = {0, last / 2, last};
            array_of(&tank->args->store, arrays)[particles[i / 4]] = bad[i % 4];
            const tarn_status status = tarn_tank_step(tank, NULL);
            if (status != TARN_E_UNSTABLE) {
                fail_msg("%s: %g in particle %u, array %d: %s", name, (double)bad[i % 4], particles[i / 4], arrays,
                         tarn_status_text(status));
            }
        }
    }
    assert_int_equal(tarn_tank_reset(tank), TARN_OK);
    assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
    return arrays;
}

static void liquids_say_so(void **state)
{
    (void)state;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        const uint16_t cells[] = {16, 16, 16};
        const tarn_tank_desc desc = block_desc(&variants[v], cells, (int[]){2, 0, 2}, (int[]){7, 5, 11});
        tarn_tank *tank = open_tank(&desc);
        const int arrays = break_each(tank, variants[v].name);
        assert_int_equal(arrays, variants[v].transfer == TARN_TRANSFER_APIC ? 6 : 3);
        tarn_tank_destroy(tank);
    }
}

/// What a model's particles carry besides.
static void other_models_say_so(void **state)
{
    (void)state;
    static const char *const models[] = {"smoke", "vortons"};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        tarn_device *device = plain_tank_device(1, NULL);
        tarn_tank_desc desc;
        const tarn_model *model = tarn_model_find(models[m]);
        tarn_tank_desc_default_of(&desc, model);
        desc.fluid_count = 1;
        desc.fluids[0].shape = (tarn_shape){.kind = TARN_SHAPE_SPHERE, .half_m = {4.0f * desc.cell_m}};
        desc.fluids[0].pose = (tarn_pose){.rotation = {0.0f, 0.0f, 0.0f, 1.0f}};
        for (int a = 0; a < 3; a++) {
            desc.cells[a] = 16;
            desc.fluids[0].pose.position_m[a] = 8.0f * desc.cell_m;
        }
        for (uint32_t k = 0; k < model->carried_count; k++) {
            desc.fluids[0].carried[k] = 0.5f;
        }
        tarn_tank *tank = plain_tank_open(device, &desc);
        assert_true(break_each(tank, models[m]) >= 2);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(liquids_say_so),
        cmocka_unit_test(other_models_say_so),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
