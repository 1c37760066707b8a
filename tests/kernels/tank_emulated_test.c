// A tank on the emulated CUDA device, with lanes and blocks in both orders, has the state that it has on the CPU.
#include "kernels/liquid/kernels.h"
#include "kernels/tank.h"
#include "tests/kernels/tank_fixtures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STEPS = 3 };

int emulated_has_run(const char *kernel); // cuda_on_cpu.cpp, which is C++

typedef struct outcome {
    tarn_tank_hash hash[STEPS + 2];
    uint8_t *frame;
    size_t frame_bytes;
} outcome;

/// Steps a tank; changes a parameter on the way, which a replay must notice, and encodes a frame at the end.
static outcome play(tarn_device_desc on, const tank_fixture *fixture)
{
    outcome out = {.frame = NULL};
    tarn_device *device;
    tarn_tank *tank;
    tarn_tank_desc desc;
    char why[256] = "";
    fixture->describe(&desc);
    assert_int_equal(tarn_device_create(&on, &device), TARN_OK);
    if (tarn_tank_create(device, &desc, &tank, why, sizeof why) != TARN_OK)
        fail_msg("%s", why);
    assert_int_equal(tarn_tank_hash_get(tank, &out.hash[0]), TARN_OK);
    for (uint32_t step = 0; step <= STEPS; step++) {
        tarn_push push;
        const uint32_t pushes = tank_fixture_push(fixture, &desc, step, &push);
        if (step == 1) {
            assert_int_equal(tarn_tank_set_parameter(tank, TARN_PARAMETER_ITERATIONS, 3.0f), TARN_OK);
            assert_int_equal(tarn_tank_set_parameter(tank, TARN_PARAMETER_FLIP, 0.9f), TARN_OK);
        }
        assert_int_equal(tarn_tank_step(tank, &push, pushes), TARN_OK);
        assert_int_equal(tarn_tank_hash_get(tank, &out.hash[step + 1]), TARN_OK);
    }
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    const size_t bytes_max = tarn_tank_frame_bytes_max(tank);
    out.frame = malloc(bytes_max);
    assert_non_null(out.frame);
    assert_int_equal(tarn_tank_encode(tank, &info, out.frame, bytes_max, &out.frame_bytes), TARN_OK);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return out;
}

static void compare_fixture(int order, const tank_fixture *fixture)
{
    const outcome cpu = play((tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2}, fixture);
    const outcome cuda = play((tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = order}, fixture);
    for (uint32_t step = 0; step < STEPS + 2; step++)
        if (cpu.hash[step].lo != cuda.hash[step].lo || cpu.hash[step].hi != cuda.hash[step].hi)
            fail_msg("%s: after %u steps the state differs from the CPU's", fixture->name, step);
    assert_int_equal(cpu.frame_bytes, cuda.frame_bytes);
    assert_memory_equal(cpu.frame, cuda.frame, cpu.frame_bytes);
    free(cpu.frame);
    free(cuda.frame);
}

static void compare(void **state)
{
    for (int i = 0; i < TANK_FIXTURE_TINY; i++)
        compare_fixture(*(const int *)*state, &tank_fixtures[i]);
}

/// After the others: the fixtures are what a GPU is compared with, so that no kernel may be missing from them.
static void reach_all(void **state)
{
    (void)state;
    for (int id = 0; id < LIQUID_KERNEL_COUNT; id++)
        if (!emulated_has_run(tarn_liquid_kernels[id].name))
            fail_msg("no fixture reaches the kernel %s", tarn_liquid_kernels[id].name);
}

int main(void)
{
    static int ascending = 0, descending = 1;
    const struct CMUnitTest tests[] = {
        {"a tank with ascending lanes equals the CPU's", compare, NULL, NULL, &ascending},
        {"a tank with descending lanes equals the CPU's", compare, NULL, NULL, &descending},
        {"the fixtures reach every kernel", reach_all, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("emulated tank", tests, NULL, NULL);
}
