// Devices: what creation accepts and refuses, and the CPU device's threads under stress.
#include "kernels/device/arena.h"
#include "tests/kernels/dialect.h"
#include "tests/kernels/dialect_kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static tarn_device *create_cpu(uint32_t threads)
{
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = threads};
    tarn_device *device;
    assert_int_equal(tarn_device_create(&desc, &device), TARN_OK);
    assert_non_null(device);
    return device;
}

static tarn_queue *create_queue(tarn_device *device)
{
    tarn_queue *queue;
    assert_int_equal(tarn_queue_create(device, &queue), TARN_OK);
    assert_ptr_equal(tarn_queue_device(queue), device);
    return queue;
}

static tarn_status create_fails(tarn_device_desc desc)
{
    tarn_device *device = (tarn_device *)&desc;
    const tarn_status status = tarn_device_create(&desc, &device);
    assert_null(device);
    return status;
}

static void there_is_one_cpu(void **state)
{
    (void)state;
    assert_int_equal(tarn_device_count(TARN_DEVICE_CPU), 1);
    assert_int_equal(tarn_device_count((tarn_device_kind)7), 0);
}

static void creation_takes_every_number_of_threads(void **state)
{
    (void)state;
    const uint32_t threads[] = {0, 1, 2, 3, TARN_DEVICE_THREADS_MAX};
    for (int i = 0; i < 5; i++) {
        tarn_device *device = create_cpu(threads[i]);
        assert_non_null(strstr(tarn_device_name(device), "CPU, "));
        assert_string_equal(tarn_device_error(device), "");
        tarn_device_destroy(device);
    }
    tarn_device *one = create_cpu(1);
    assert_non_null(strstr(tarn_device_name(one), "CPU, 1 thread, "));
    tarn_device_destroy(one);
}

static void creation_refuses_too_many_threads(void **state)
{
    (void)state;
    assert_int_equal(create_fails((tarn_device_desc){.threads = TARN_DEVICE_THREADS_MAX + 1}), TARN_E_ARGUMENT);
    assert_int_equal(create_fails((tarn_device_desc){.threads = UINT32_MAX}), TARN_E_ARGUMENT);
}

static void creation_refuses_unknown_instruction_sets(void **state)
{
    (void)state;
    assert_int_equal(create_fails((tarn_device_desc){.isa = "v5"}), TARN_E_ARGUMENT);
    assert_int_equal(create_fails((tarn_device_desc){.isa = ""}), TARN_E_ARGUMENT);
    assert_int_equal(create_fails((tarn_device_desc){.isa = "V3"}), TARN_E_ARGUMENT);
}

static void creation_refuses_unknown_kinds(void **state)
{
    (void)state;
    assert_int_equal(create_fails((tarn_device_desc){.kind = (tarn_device_kind)7}), TARN_E_ARGUMENT);
}

static void cuda_is_unavailable_without_a_device(void **state)
{
    (void)state;
    const int count = tarn_device_count(TARN_DEVICE_CUDA);
    const tarn_device_desc beyond = {.kind = TARN_DEVICE_CUDA, .index = count};
    assert_int_equal(create_fails(beyond), count == 0 ? TARN_E_UNAVAILABLE : TARN_E_ARGUMENT);
    if (!tarn_device_has_cuda()) {
        assert_int_equal(count, 0);
    }
}

static void destroy_and_free_take_null(void **state)
{
    (void)state;
    tarn_device_destroy(NULL);
    tarn_queue_destroy(NULL);
    tarn_device *device = create_cpu(2);
    tarn_queue *queue = create_queue(device);
    tarn_device_free(device, NULL);
    tarn_queue_replay_destroy(queue, NULL);
    tarn_queue_destroy(queue);
    tarn_device_destroy(device);
}

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    tarn_device *device = create_cpu(1);
    assert_true(tarn_device_is_host(device));
    for (size_t bytes = 0; bytes < 300; bytes += 7) {
        unsigned char *memory = tarn_device_alloc(device, bytes);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xa5, bytes);
        tarn_device_free(device, memory);
    }
    tarn_device_destroy(device);
}

#if defined(__SANITIZE_ADDRESS__)
int __asan_address_is_poisoned(const volatile void *address); // NOLINT: the sanitizer's name
#define IS_BARRED(address) (__asan_address_is_poisoned(address) != 0)
#else
#define IS_BARRED(address) true // nobody looks
#endif

/// Pieces begin where they were measured, zeroed, with a gap behind each; what shifts one shifts those behind it.
static void an_arena_is_one_piece_of_memory(void **state)
{
    (void)state;
    enum { PIECES = 40 };
    tarn_device *device = create_cpu(1);
    uint64_t scale = 1;
    for (int round = 0; round < 5; round++, scale *= 13) { // from the heap, and mapped
        tarn_arena arena = {0};
        unsigned char *piece[PIECES];
        for (int pass = 0; pass < 2; pass++) {
            for (uint64_t i = 0; i < PIECES; i++) {
                piece[i] = tarn_arena_piece(&arena, i * scale);
                assert_true((piece[i] != NULL) == (pass == 1));
            }
            if (pass == 0) {
                assert_int_equal(tarn_arena_take(&arena, device, (tarn_arena_kind)(round % 2)), TARN_OK);
            }
        }
        assert_true(piece[0] == arena.memory && arena.used == arena.bytes);
        for (uint64_t i = 0; i < PIECES; i++) {
            const unsigned char *next = i + 1 < PIECES ? piece[i + 1] : arena.memory + arena.bytes;
            assert_true(next >= piece[i] + i * scale + TARN_ARENA_GAP_BYTES);
            assert_true(next < piece[i] + i * scale + 2 * TARN_ARENA_GAP_BYTES);
            assert_int_equal((piece[i] - arena.memory) % TARN_ARENA_GAP_BYTES, 0);
            for (uint64_t b = 0; b < i * scale; b++) {
                assert_int_equal(piece[i][b], 0);
            }
            memset(piece[i], 0xa5, i * scale);
            assert_true(IS_BARRED(piece[i] + i * scale) && IS_BARRED(next - 1));
        }
        tarn_arena_give(&arena);
        assert_true(arena.memory == NULL && arena.bytes == 0);
    }
    tarn_arena huge = {.bytes = SIZE_MAX / 2 + 1};
    assert_int_equal(tarn_arena_take(&huge, device, TARN_ARENA_DEVICE), TARN_E_MEMORY);
    assert_true(huge.memory == NULL && huge.bytes == 0);
    tarn_arena_give(&huge);
    tarn_device_destroy(device);
}

/// Launches of every small size, some close together and some after the helpers went to sleep: every tile runs once.
static void stress(uint32_t threads, uint32_t launches)
{
    enum { TILES_MAX = 67 };
    tarn_device *device = create_cpu(threads);
    tarn_queue *queue = create_queue(device);
    uint32_t *runs = tarn_device_alloc(device, TILES_MAX * sizeof *runs);
    assert_non_null(runs);
    uint32_t wanted[TILES_MAX] = {0};
    const dialect_args args = {.u = runs};
    uint32_t seed = threads;
    for (uint32_t n = 0; n < launches; n++) {
        seed = seed * 1664525u + 1013904223u;
        const uint32_t tiles = (seed >> 16) % (TILES_MAX + 1);
        tarn_queue_launch(queue, &kernel_dialect_count, &args, NULL, tiles);
        for (uint32_t t = 0; t < tiles; t++) {
            wanted[t]++;
        }
        if (n % 2000 == 1999) {
            assert_memory_equal(runs, wanted, sizeof wanted);
            usleep(n % 3 * 200);
        }
    }
    assert_memory_equal(runs, wanted, sizeof wanted);
    tarn_device_free(device, runs);
    tarn_queue_destroy(queue);
    tarn_device_destroy(device);
}

static void a_hundred_thousand_launches_run_every_tile_once(void **state)
{
    (void)state;
    stress(2, 100000);
    stress(3, 20000);
    stress(16, 5000);
}

/// Another queue's launches in the middle of a queue's own, as often as asked.
typedef struct intruder {
    tarn_queue *queue;
    uint32_t *runs;
    uint32_t seed, launches, depth;
} intruder;

static bool intrudes(void *context)
{
    intruder *in = context;
    in->seed = in->seed * 1664525u + 1013904223u;
    return in->depth == 0 && in->seed >> 31 == 0;
}

static void intrude(void *context, bool is_waiting)
{
    intruder *in = context;
    const dialect_args args = {.u = in->runs};
    assert_false(is_waiting);
    in->depth++;
    tarn_queue_launch(in->queue, &kernel_dialect_count, &args, NULL, 16);
    in->depth--;
    in->launches++;
}

/// Whatever is withdrawn and given out again: every tile of both queues runs once per launch.
static void launches_give_way_in_the_middle(void **state)
{
    (void)state;
    enum { TILES = 301, LAUNCHES = 1500 };
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        tarn_device *device = create_cpu(threads);
        tarn_queue *queue = create_queue(device);
        uint32_t *runs = tarn_device_alloc(device, TILES * sizeof *runs);
        intruder in = {create_queue(device), tarn_device_alloc(device, 16 * sizeof *runs), threads, 0, 0};
        const tarn_yield yield = {intrudes, intrude, &in};
        const dialect_args args = {.u = runs};
        tarn_device_set_yield(device, &yield);
        for (uint32_t n = 0; n < LAUNCHES; n++) {
            tarn_queue_launch(queue, &kernel_dialect_count, &args, NULL, 1 + n % TILES);
        }
        tarn_device_set_yield(device, NULL);
        for (uint32_t t = 0; t < TILES; t++) {
            assert_int_equal(runs[t],
                             LAUNCHES - t * (LAUNCHES / TILES) - (t < LAUNCHES % TILES ? t : LAUNCHES % TILES));
        }
        for (uint32_t t = 0; t < 16; t++) {
            assert_int_equal(in.runs[t], in.launches);
        }
        assert_true(in.launches > LAUNCHES); // in the middle, not only between two
        tarn_device_free(device, runs);
        tarn_device_free(device, in.runs);
        tarn_queue_destroy(in.queue);
        tarn_queue_destroy(queue);
        tarn_device_destroy(device);
    }
}

static void devices_come_and_go(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        tarn_device *device = create_cpu(1 + i % 5);
        tarn_queue *queue = create_queue(device);
        uint32_t *runs = tarn_device_alloc(device, 9 * sizeof *runs);
        const dialect_args args = {.u = runs};
        for (uint32_t n = 0; n < i % 3; n++) {
            tarn_queue_launch(queue, &kernel_dialect_count, &args, NULL, 9);
        }
        for (uint32_t t = 0; t < 9; t++) {
            assert_int_equal(runs[t], i % 3);
        }
        tarn_device_free(device, runs);
        tarn_queue_destroy(queue);
        tarn_device_destroy(device);
    }
}

static void two_devices_work_side_by_side(void **state)
{
    (void)state;
    tarn_device *devices[2] = {create_cpu(2), create_cpu(3)};
    tarn_queue *queues[2];
    uint32_t *runs[2];
    for (int d = 0; d < 2; d++) {
        queues[d] = create_queue(devices[d]);
        runs[d] = tarn_device_alloc(devices[d], 16 * sizeof(uint32_t));
    }
    for (uint32_t n = 0; n < 1000; n++) {
        const dialect_args args = {.u = runs[n % 2]};
        tarn_queue_launch(queues[n % 2], &kernel_dialect_count, &args, NULL, 16);
    }
    for (int d = 0; d < 2; d++) {
        for (uint32_t t = 0; t < 16; t++) {
            assert_int_equal(runs[d][t], 500);
        }
        tarn_device_free(devices[d], runs[d]);
        tarn_queue_destroy(queues[d]);
        tarn_device_destroy(devices[d]);
    }
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/// Processor time, not elapsed time: eight spinning helpers would take at least a whole processor.
static void idle_helpers_take_no_processor_time(void **state)
{
    (void)state;
    tarn_device *device = create_cpu(9);
    tarn_queue *queue = create_queue(device);
    uint32_t *runs = tarn_device_alloc(device, 64 * sizeof *runs);
    const dialect_args args = {.u = runs};
    tarn_queue_launch(queue, &kernel_dialect_count, &args, NULL, 64);
    usleep(50000);
    const double before = processor_s();
    usleep(400000);
    assert_true(processor_s() - before < 0.1);
    tarn_device_free(device, runs);
    tarn_queue_destroy(queue);
    tarn_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_one_cpu),
        cmocka_unit_test(creation_takes_every_number_of_threads),
        cmocka_unit_test(creation_refuses_too_many_threads),
        cmocka_unit_test(creation_refuses_unknown_instruction_sets),
        cmocka_unit_test(creation_refuses_unknown_kinds),
        cmocka_unit_test(cuda_is_unavailable_without_a_device),
        cmocka_unit_test(destroy_and_free_take_null),
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(an_arena_is_one_piece_of_memory),
        cmocka_unit_test(a_hundred_thousand_launches_run_every_tile_once),
        cmocka_unit_test(launches_give_way_in_the_middle),
        cmocka_unit_test(devices_come_and_go),
        cmocka_unit_test(two_devices_work_side_by_side),
        cmocka_unit_test(idle_helpers_take_no_processor_time),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
