// What races.h finds in kernels that have a mistake, and that it finds nothing in the same kernels without it.
#include "kernels/device/arena.h"
#include "tests/kernels/races.h"
#include "tests/kernels/racy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TILES = 3, ORDERS = 4 };

typedef struct racy_case {
    int kernel;
    race_kind kind;
} racy_case;

/// Launches a kernel in an order of lanes and blocks.
static void run(int kernel, bool is_wrong, int order)
{
    tarn_device *device;
    tarn_queue *queue;
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA, .index = order}, &device),
                     TARN_OK);
    assert_int_equal(tarn_queue_create(device, &queue), TARN_OK);
    racy_args args = {.is_wrong = is_wrong};
    args.from = tarn_device_alloc(device, TILES * RACY_LANES * sizeof *args.from);
    args.to = tarn_device_alloc(device, TILES * RACY_LANES * sizeof *args.to);
    args.bytes = tarn_device_alloc(device, TILES * RACY_LANES);
    assert_true(args.from != NULL && args.to != NULL && args.bytes != NULL);
    tarn_queue_launch(queue, &racy_kernels[kernel], &args, NULL, TILES);
    tarn_device_free(device, args.from);
    tarn_device_free(device, args.to);
    tarn_device_free(device, args.bytes);
    tarn_queue_destroy(queue);
    tarn_device_destroy(device);
}

static void expect(const racy_case *c, int order)
{
    char text[RACES_TEXT_BYTES];
    races_forget();
    run(c->kernel, false, order);
    if (races_count() > 0) {
        races_text(0, text);
        fail_msg("without its mistake, order %d: %s", order, text);
    }
    run(c->kernel, true, order);
    uint32_t found = 0;
    for (uint32_t i = 0; i < races_count(); i++) {
        races_text(i, text);
        found += races_kind(i) == c->kind;
        // What one lane reads before another has written it isn't written either.
        const bool is_known = races_kind(i) == c->kind || races_kind(i) == RACE_UNWRITTEN;
        if (!is_known || strstr(text, racy_kernels[c->kernel].name) == NULL || strstr(text, "racy.tile.c:") == NULL) {
            fail_msg("order %d: %s", order, text);
        }
    }
    if (found == 0) {
        fail_msg("%s, order %d: nothing is found", racy_kernels[c->kernel].name, order);
    }
    races_forget();
}

static void mistakes_are_found(void **state)
{
    (void)state;
    static const racy_case cases[] = {
        {RACY_BARRIER, RACE_LANES},       {RACY_REUSE, RACE_LANES},   {RACY_WARP, RACE_LANES},
        {RACY_TILES, RACE_TILES},         {RACY_ATOMICS, RACE_LANES}, {RACY_BYTES, RACE_LANES},
        {RACY_UNWRITTEN, RACE_UNWRITTEN}, {RACY_BOUNDS, RACE_BOUNDS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int order = 0; order < ORDERS; order++) {
            expect(&cases[i], order);
        }
    }
}

/// Memory that has been freed is no longer the device's.
static void freed_memory_is_found(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_queue *queue;
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA}, &device), TARN_OK);
    assert_int_equal(tarn_queue_create(device, &queue), TARN_OK);
    racy_args args = {.from = tarn_device_alloc(device, 4096), .to = tarn_device_alloc(device, 4096)};
    tarn_device_free(device, args.from);
    races_forget();
    tarn_queue_launch(queue, &racy_kernels[RACY_BARRIER], &args, NULL, 1);
    assert_true(races_count() > 0);
    assert_int_equal(races_kind(0), RACE_BOUNDS);
    races_forget();
    tarn_device_free(device, args.to);
    tarn_queue_destroy(queue);
    tarn_device_destroy(device);
}

/// Pieces of an arena have bounds as allocations have: what one too few is measured for reads beyond, by its last lane.
static void pieces_of_an_arena_have_bounds(void **state)
{
    (void)state;
    tarn_device *device;
    tarn_queue *queue;
    assert_int_equal(tarn_device_create(&(tarn_device_desc){.kind = TARN_DEVICE_CUDA}, &device), TARN_OK);
    assert_int_equal(tarn_queue_create(device, &queue), TARN_OK);
    for (int lacking = 0; lacking < 2; lacking++) {
        const uint64_t all = TILES * RACY_LANES * sizeof(uint32_t), bytes = all - (uint64_t)lacking;
        tarn_arena arena = {0};
        racy_args args = {0};
        for (int pass = 0; pass < 2; pass++) {
            args.from = tarn_arena_piece(&arena, all);
            args.to = tarn_arena_piece(&arena, bytes);
            args.bytes = tarn_arena_piece(&arena, all);
            assert_int_equal(pass == 0 ? tarn_arena_take(&arena, device, TARN_ARENA_DEVICE) : TARN_OK, TARN_OK);
        }
        races_forget();
        tarn_queue_launch(queue, &racy_kernels[RACY_BARRIER], &args, NULL, TILES);
        assert_int_equal(races_count(), lacking);
        assert_true(lacking == 0 || races_kind(0) == RACE_BOUNDS);
        tarn_arena_give(&arena);
        races_forget();
        tarn_queue_launch(queue, &racy_kernels[RACY_BARRIER], &args, NULL, TILES);
        assert_true(races_count() > 0 && races_kind(0) == RACE_BOUNDS);
    }
    races_forget();
    tarn_queue_destroy(queue);
    tarn_device_destroy(device);
}

/// Of two barriers in a row none is needed by itself; one between accesses of two lanes is.
static void needless_barriers_are_known(void **state)
{
    (void)state;
    uint32_t needed = 0, needless = 0;
    const uint32_t before = races_barrier_count();
    run(RACY_TWICE, false, 0);
    assert_int_equal(races_count(), 0);
    for (uint32_t i = before; i < races_barrier_count(); i++) {
        const race_barrier *b = races_barrier(i);
        assert_int_equal(b->crossed, TILES);
        *(b->is_needed ? &needed : &needless) += 1;
    }
    assert_int_equal(needed, 1);
    assert_int_equal(needless, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_found),
        cmocka_unit_test(freed_memory_is_found),
        cmocka_unit_test(pieces_of_an_arena_have_bounds),
        cmocka_unit_test(needless_barriers_are_known),
    };
    return cmocka_run_group_tests_name("races", tests, NULL, NULL);
}
