// A worker that is full: tanks come while others end, and each still has its frames.
#include "server/common/clock.h"
#include "server/worker/places.h"
#include "tests/server/test_cmocka.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 200000, TANK_IDS_MAX = 64 };

typedef struct full_worker {
    tarn_device *device;
    tarn_worker_link link;  ///< the worker's end
    tarn_worker_link other; ///< the gateway's
    tarn_worker_options options;
    tarn_places places;
    uint32_t frames[TANK_IDS_MAX]; ///< seen, by tank
    uint8_t *frame;
} full_worker;

static full_worker *worker;

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    (void)user;
    (void)message;
    return TARN_OK;
}

static uint8_t *frame_space(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    (void)tank;
    worker->frame = realloc(worker->frame, frame_bytes);
    return worker->frame;
}

static tarn_status on_frame(void *user, uint32_t tank, uint32_t frame_bytes)
{
    (void)user;
    assert_true(tank < TANK_IDS_MAX && frame_bytes > 0);
    worker->frames[tank]++;
    return TARN_OK;
}

static bool nobody_wants(void *user)
{
    (void)user;
    return false;
}

static int begin(void **state)
{
    (void)state;
    int ends[2];
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = 1};
    const tarn_ipc_sink sink = {.message = on_message, .frame_space = frame_space, .frame = on_frame};
    worker = calloc(1, sizeof *worker);
    assert_non_null(worker);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tarn_device_create(&desc, &worker->device), TARN_OK);
    assert_int_equal(tarn_worker_link_open(&worker->link, ends[0], &sink), TARN_OK);
    assert_int_equal(tarn_worker_link_open(&worker->other, ends[1], &sink), TARN_OK);
    worker->options.fps = 30;
    assert_int_equal(tarn_places_open(&worker->places, worker->device, &worker->link, &worker->options,
                                      TARN_TEST_SCENES, nobody_wants, NULL),
                     TARN_OK);
    return 0;
}

static void say(tarn_ipc_message message)
{
    assert_int_equal(tarn_places_message(&worker->places, &message, tarn_clock_monotonic_ns()), TARN_OK);
}

/// What the worker does in one round of its loop.
static void turn(void)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_places_tell(&worker->places, now_ns);
    assert_int_equal(tarn_worker_link_flush(&worker->link), TARN_OK);
    assert_int_equal(tarn_worker_link_read(&worker->other), TARN_OK);
    if (tarn_places_due_ns(&worker->places, now_ns) > now_ns) {
        usleep(100);
    }
    assert_int_equal(tarn_places_turn(&worker->places), TARN_OK);
}

static int end(void **state)
{
    (void)state;
    for (uint32_t tank = 1; tank < TANK_IDS_MAX; tank++) {
        say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = tank});
    }
    while (tarn_places_due_ns(&worker->places, tarn_clock_monotonic_ns()) != UINT64_MAX) {
        turn();
    }
    assert_true(tarn_places_close(&worker->places));
    tarn_worker_link_close(&worker->link);
    tarn_worker_link_close(&worker->other);
    tarn_device_destroy(worker->device);
    free(worker->frame);
    free(worker);
    return 0;
}

static void load(uint32_t tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_LOAD, .tank = tank, .load = {.epoch = 1, .scene = "small-pool"}};
    say(message);
    say((tarn_ipc_message){.kind = TARN_IPC_AUDIENCE, .tank = tank, .audience = {.viewer_count = 1}});
}

/// Lets the worker work until a tank has so many frames.
static void run_until(uint32_t tank, uint32_t frames)
{
    for (int i = 0; i < TURNS_MAX && worker->frames[tank] < frames; i++) {
        turn();
    }
    assert_true(worker->frames[tank] >= frames);
}

static void test_a_tank_comes_while_another_of_a_full_worker_ends(void **state)
{
    (void)state;
    for (uint32_t tank = 1; tank <= TARN_WORKER_TANKS_MAX; tank++) {
        load(tank);
    }
    for (uint32_t tank = 1; tank <= TARN_WORKER_TANKS_MAX; tank++) {
        run_until(tank, 2);
    }
    for (uint32_t k = 1; k <= 4; k++) { // in one go, so that the place of the old one isn't free yet
        say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = k});
        load(TARN_WORKER_TANKS_MAX + k);
    }
    for (uint32_t k = 1; k <= 4; k++) {
        run_until(TARN_WORKER_TANKS_MAX + k, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_tank_comes_while_another_of_a_full_worker_ends, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
