// A tank on the emulated CUDA device, with lanes and blocks in both orders, has the state that it has on the CPU.
#include "kernels/liquid/liquid_host.h"
#include "kernels/liquid/liquid_kernels.h"
#include "kernels/liquid_parameters.h"
#include "kernels/smoke/smoke_kernels.h"
#include "kernels/stream/encoder.h"
#include "kernels/vortons/vorton_kernels.h"
#include "tests/gpu/gpu_play.h"
#include "tests/kernels/tank_acts.h"
#include "tests/kernels/tank_outgrow.h"
#include "tests/stream/frames_beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 3, STREAM_FRAMES = STEPS + 1, STREAM_BYTES_MAX = 1 << 20 };

int emulated_has_run(const char *kernel); // cuda_on_cpu.cpp, which is C++
const char *emulated_refused(void);
void emulated_set_chain_tiles(uint32_t tiles);
uint32_t emulated_chains_in_loops(void);

typedef struct outcome {
    tarn_tank_hash hash[STEPS + 2];
    uint8_t *stream[STREAM_FRAMES];
    tarn_stream_head head[STREAM_FRAMES];
} outcome;

/// The step's frame: a key frame, an extra one, base frames.
static void encode_stream(const tarn_tank *tank, tarn_encoder *encoder, uint32_t step, outcome *out)
{
    const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
    const tarn_stream_kind kind = step == 0 ? TARN_STREAM_KEY : step == 1 ? TARN_STREAM_EXTRA : TARN_STREAM_BASE;
    out->stream[step] = malloc(STREAM_BYTES_MAX);
    // Its channels: none, those that aren't in the stream anyway.
    const uint32_t carried = tarn_tank_model(tank)->channel_count - 4;
    assert_int_equal(tarn_encoder_carry(encoder, step % 3 == 0 ? 0 : 5 + step % 3 % carried), TARN_OK);
    // Two of its fields, if it has any: the second one makes its first frame a key frame.
    const uint32_t fields = tarn_tank_model(tank)->field_count, first = tarn_tank_desc_of(tank)->cells[0] + step / 2;
    assert_int_equal(tarn_encoder_carry_field(encoder, fields > 0 ? 1 + first % fields : 0), TARN_OK);
    assert_int_equal(tarn_encoder_encode(encoder, kind, &info, out->stream[step], STREAM_BYTES_MAX, &out->head[step]),
                     TARN_OK);
}

/// Where the tank's model has it.
static void set_parameter(tarn_tank *tank, const char *name, float value)
{
    const int id = tarn_model_parameter_find(tarn_tank_model(tank), name);
    if (id >= 0) {
        assert_int_equal(act_set_parameter(tank, (uint32_t)id, value), TARN_OK);
    }
}

/// Steps a tank; changes a parameter on the way, which a replay must notice, and encodes frames.
static outcome play(tarn_device_desc on, const tank_fixture *fixture)
{
    outcome out = {.stream = {NULL}};
    tarn_device *device;
    tarn_tank *tank;
    tarn_encoder *encoder;
    tarn_encoder_desc how;
    tarn_tank_desc desc;
    char why[256] = "";
    fixture->describe(&desc);
    assert_int_equal(tarn_device_create(&on, &device), TARN_OK);
    if (tarn_tank_create(device, &desc, &tank, why, sizeof why) != TARN_OK) {
        fail_msg("%s", why);
    }
    tarn_encoder_desc_default(&how);
    assert_int_equal(tarn_encoder_create(tank, &how, &encoder), TARN_OK);
    assert_int_equal(tarn_tank_hash_get(tank, &out.hash[0]), TARN_OK);
    for (uint32_t step = 0; step <= STEPS; step++) {
        tarn_step_input input;
        tarn_step_refusals refusals;
        tank_fixture_input(fixture, &desc, step, &input);
        if (step == 1) {
            set_parameter(tank, "pressure_iterations", 3.0f);
            set_parameter(tank, "flip_ratio", 0.9f);
        }
        assert_int_equal(tarn_tank_admit(tank, &input, &refusals), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, &input), TARN_OK);
        assert_int_equal(tarn_tank_hash_get(tank, &out.hash[step + 1]), TARN_OK);
        encode_stream(tank, encoder, step, &out);
    }
    tarn_encoder_destroy(encoder);
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    return out;
}

static void compare_fixture(tarn_device_desc on, const tank_fixture *fixture)
{
    const outcome cpu = play((tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2}, fixture);
    const outcome cuda = play(on, fixture);
    for (uint32_t step = 0; step < STEPS + 2; step++) {
        if (cpu.hash[step].lo != cuda.hash[step].lo || cpu.hash[step].hi != cuda.hash[step].hi) {
            fail_msg("%s: after %u steps the state differs from the CPU's", fixture->name, step);
        }
    }
    for (uint32_t i = 0; i < STREAM_FRAMES; i++) {
        if (cpu.head[i].frame_bytes != cuda.head[i].frame_bytes ||
            memcmp(cpu.stream[i], cuda.stream[i], cpu.head[i].frame_bytes) != 0) {
            fail_msg("%s: frame %u differs from the CPU's", fixture->name, i);
        }
        free(cpu.stream[i]);
        free(cuda.stream[i]);
    }
}

static void compare(void **state)
{
    for (int i = 0; i < TANK_FIXTURE_TINY; i++) {
        compare_fixture((tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = *(const int *)*state}, &tank_fixtures[i]);
    }
}

/// Where a chain has no room for the finest level's tiles, the coarser levels' part is one in each round; and where
/// graphs have no loops, too.
static void chain_coarse_levels(void **state)
{
    static const struct {
        int fixture;
        uint32_t tiles, without;
    } cases[] = {{3, 2, 0}, {3, 2, TARN_DEVICE_WITHOUT_LOOPS}, {8, 2, 0}, {12, 4, 0}, {14, 2, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t before = emulated_chains_in_loops();
        emulated_set_chain_tiles(cases[i].tiles);
        compare_fixture((tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = 2, .without = cases[i].without},
                        &tank_fixtures[cases[i].fixture]);
        emulated_set_chain_tiles(UINT32_MAX);
        if (emulated_chains_in_loops() == before) {
            fail_msg("%s has no chain in a loop", tank_fixtures[cases[i].fixture].name);
        }
    }
}

/// What a queue of the encoder does late, in each order of lanes, is as if it were done at once.
static void steps_beside_change_no_frame(void **state)
{
    for (int f = 0; f < TANK_FIXTURE_TINY; f += 5) { // and the last one, with tools
        const tank_fixture *fixture = &tank_fixtures[f < TANK_FIXTURE_TINY - 5 ? f : TANK_FIXTURE_TINY - 1];
        const tarn_device_desc on = {.kind = TARN_DEVICE_CUDA, .index = *(const int *)*state};
        char why[256];
        if (!frames_beside_same(&on, fixture, 4, true, why)) {
            fail_msg("%s: %s", fixture->name, why);
        }
    }
}

/// What tests/gpu does with a GPU: a state that goes on on the other device, and tanks that take turns.
static void change_places(void **state)
{
    enum { STEPS_EACH = 4, COUNT = 2 };
    static gpu_outcome expected[COUNT], found[COUNT];
    static const uint32_t of[COUNT] = {TANK_FIXTURE_TINY - 1, 3}; // tools, solids
    char why[GPU_WHY_BYTES];
    tarn_device *cpu, *cuda;
    (void)state;
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2}, &cpu), TARN_OK);
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA}, &cuda), TARN_OK);
    gpu_play together[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const tank_fixture *fixture = &tank_fixtures[of[i]];
        const gpu_play there = {.fixture = fixture, .steps = STEPS_EACH, .first = cpu, .then = cuda},
                       back = {.fixture = fixture, .steps = STEPS_EACH, .first = cuda, .then = cpu};
        gpu_play_run(&(gpu_play){.fixture = fixture, .steps = STEPS_EACH, .first = cpu}, &expected[i]);
        gpu_play_run(&there, &found[0]);
        gpu_play_run(&back, &found[1]);
        for (int k = 0; k < 2; k++) {
            if (!gpu_outcomes_same(&expected[i], &found[k], why)) {
                fail_msg("%s, moved: %s", fixture->name, why);
            }
        }
        together[i] = (gpu_play){.fixture = fixture, .steps = STEPS_EACH, .first = cuda};
    }
    assert_true(gpu_play_together(together, found, COUNT));
    for (int i = 0; i < COUNT; i++) {
        if (!gpu_outcomes_same(&expected[i], &found[i], why)) {
            fail_msg("%s, beside another: %s", together[i].fixture->name, why);
        }
    }
    tarn_device_destroy(cpu);
    tarn_device_destroy(cuda);
}

/// So long that spray has come to the walls.
static void come_to_walls(void **state)
{
    enum { LONG = 10 };
    static gpu_outcome expected, found;
    char why[GPU_WHY_BYTES];
    tarn_device *cpu, *cuda;
    (void)state;
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2}, &cpu), TARN_OK);
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA}, &cuda), TARN_OK);
    gpu_play_run(&(gpu_play){.fixture = &tank_fixtures[0], .steps = LONG, .first = cpu}, &expected);
    gpu_play_run(&(gpu_play){.fixture = &tank_fixtures[0], .steps = LONG, .first = cuda}, &found);
    if (!gpu_outcomes_same(&expected, &found, why)) {
        fail_msg("%s: %s", tank_fixtures[0].name, why);
    }
    tarn_device_destroy(cpu);
    tarn_device_destroy(cuda);
}

static double seconds_of(const char *stage, const char *const *names, const double *seconds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], stage) == 0) {
            return seconds[i];
        }
    }
    fail_msg("no stage \"%s\"", stage);
    return 0.0;
}

/// Marks are in what is replayed; a chain has none inside. The tank goes as without.
static void profile_by_marks(void **state)
{
    enum { MARKED_STEPS = 3 };
    tarn_tank_hash hash[2];
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        const char *names[TARN_TANK_STAGES_MAX];
        double seconds[TARN_TANK_STAGES_MAX];
        tarn_device *device;
        tarn_tank *tank;
        tarn_tank_desc desc;
        tank_fixtures[0].describe(&desc);
        assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA}, &device), TARN_OK);
        assert_int_equal(tarn_tank_create(device, &desc, &tank, NULL, 0), TARN_OK);
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK); // so that there is a replay without them
        tarn_tank_profile(tank, is_marked ? TARN_PROFILE_MARKS : TARN_PROFILE_OFF);
        for (int step = 0; step < MARKED_STEPS; step++) {
            assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        }
        const uint32_t count = tarn_tank_profile_get(tank, names, seconds, true);
        assert_true(seconds_of("pressure", names, seconds, count) <= 0.0);
        assert_int_equal(seconds_of("p2g", names, seconds, count) > 0.0, is_marked);
        assert_int_equal(seconds_of("extrapolate", names, seconds, count) > 0.0, is_marked);
        assert_int_equal(seconds_of("sort", names, seconds, count) > 0.0, is_marked);
        assert_int_equal(tarn_tank_hash_get(tank, &hash[is_marked]), TARN_OK);
        tarn_tank_destroy(tank);
        tarn_device_destroy(device);
    }
    assert_memory_equal(&hash[0], &hash[1], sizeof hash[0]);
}

/// Where the finest level comes to have too many tiles for a chain, and fewer again, there are other marks each time.
static void profile_across_chains(void **state)
{
    static const uint32_t tiles[] = {UINT32_MAX, 2, UINT32_MAX, 2};
    tarn_device *device;
    tarn_tank *tank;
    tarn_tank_desc desc;
    (void)state;
    tank_fixtures[3].describe(&desc);
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA}, &device), TARN_OK);
    assert_int_equal(tarn_tank_create(device, &desc, &tank, NULL, 0), TARN_OK);
    tarn_tank_profile(tank, TARN_PROFILE_MARKS);
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        const char *names[TARN_TANK_STAGES_MAX];
        double seconds[TARN_TANK_STAGES_MAX];
        tank->grid.chain_tiles = tiles[i];
        assert_int_equal(tarn_tank_step(tank, NULL), TARN_OK);
        assert_int_equal(tank->grid.chain_level > 0, tiles[i] == 2);
        assert_int_equal(tarn_queue_recorded(tank->grid.queue), i + 1);
        const uint32_t count = tarn_tank_profile_get(tank, names, seconds, true);
        assert_int_equal(seconds_of("matrix", names, seconds, count) > 0.0, tiles[i] == 2);
        assert_int_equal(seconds_of("pressure", names, seconds, count) > 0.0, tiles[i] == 2);
        assert_true(seconds_of("sort", names, seconds, count) > 0.0);
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
}

/// What comes after the tiles ran out in a step must not look for those that there are none of.
static void outgrow_memory(void **state)
{
    (void)state;
    for (int is_active = 0; is_active < 2; is_active++) {
        tank_outgrow((tarn_device_desc){.kind = TARN_DEVICE_CPU, .threads = 2}, is_active);
        tank_outgrow((tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = is_active}, is_active);
    }
}

/// Of tanks of all models; no step launches the kernels of probes, so that they aren't among the lists below.
static void measure_the_same(void **state)
{
    static gpu_outcome cpu_found, cuda_found;
    char why[GPU_WHY_BYTES];
    (void)state;
    for (int i = 0; i < TANK_FIXTURE_TINY; i++) {
        tarn_device *cpu, *cuda;
        gpu_play play = {.fixture = &tank_fixtures[i], .steps = 2};
        assert_int_equal(tarn_device_create(&(tarn_device_desc){.threads = 2}, &cpu), TARN_OK);
        assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = i % 2}, &cuda),
                         TARN_OK);
        play.first = cpu;
        gpu_play_run(&play, &cpu_found);
        play.first = cuda;
        gpu_play_run(&play, &cuda_found);
        if (!gpu_outcomes_same(&cpu_found, &cuda_found, why)) {
            fail_msg("%s: %s", tank_fixtures[i].name, why);
        }
        tarn_device_destroy(cuda);
        tarn_device_destroy(cpu);
    }
    assert_true(emulated_has_run("tank_probe_all"));
}

/// After the others: the fixtures are what a GPU is compared with, so that no kernel may be missing from them.
static void reach_all(void **state)
{
    (void)state;
    const struct {
        const tarn_kernel *kernels;
        int count;
    } parts[] = {{tarn_grid_kernels, GRID_KERNEL_COUNT},     {tarn_tank_kernels, TANK_KERNEL_COUNT},
                 {tarn_liquid_kernels, LIQUID_KERNEL_COUNT}, {tarn_smoke_kernels, SMOKE_KERNEL_COUNT},
                 {tarn_vorton_kernels, VORTON_KERNEL_COUNT}, {tarn_stream_kernels, STREAM_KERNEL_COUNT}};
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        for (int id = 0; id < parts[part].count; id++) {
            const char *name = parts[part].kernels[id].name;
            if (!emulated_has_run(name)) {
                fail_msg("no fixture reaches the kernel %s", name);
            }
        }
    }
}

/// After the others.
static void chain_all(void **state)
{
    (void)state;
    if (emulated_refused() != NULL) {
        fail_msg("a chain of a fixture isn't one launch: %s", emulated_refused());
    }
}

int main(void)
{
    static int ascending = 0, descending = 1;
    const struct CMUnitTest tests[] = {
        {"a tank with ascending lanes equals the CPU's", compare, NULL, NULL, &ascending},
        {"a tank with descending lanes equals the CPU's", compare, NULL, NULL, &descending},
        {"coarse levels are chains in loops", chain_coarse_levels, NULL, NULL, NULL},
        {"steps beside a frame change nothing of it, with ascending lanes", steps_beside_change_no_frame, NULL, NULL,
         &ascending},
        {"steps beside a frame change nothing of it, with descending lanes", steps_beside_change_no_frame, NULL, NULL,
         &descending},
        {"tanks change places and take turns", change_places, NULL, NULL, NULL},
        {"spray comes to walls", come_to_walls, NULL, NULL, NULL},
        {"a profile by marks", profile_by_marks, NULL, NULL, NULL},
        {"a profile by marks of a tank that grows and shrinks", profile_across_chains, NULL, NULL, NULL},
        {"probes say the same", measure_the_same, NULL, NULL, NULL},
        {"a tank that outgrows its memory stops", outgrow_memory, NULL, NULL, NULL},
        {"the fixtures reach every kernel", reach_all, NULL, NULL, NULL},
        {"every chain of theirs is one launch", chain_all, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("emulated tank", tests, NULL, NULL);
}
