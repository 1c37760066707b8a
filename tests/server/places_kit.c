// A worker's loop, a round at a time.
#include "tests/server/places_kit.h"
#include "server/base/clock.h"
#include "tests/server/test_cmocka.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

places_worker *worker;

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    (void)user;
    if (message->kind == TARN_IPC_REFUSED) {
        worker->refused = message->refused;
    } else if (message->kind == TARN_IPC_REPLAY_WANTED) {
        worker->wanted = message->replay_wanted;
    }
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

int begin_with(uint32_t threads)
{
    int ends[2];
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = threads};
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

int begin(void **state)
{
    (void)state;
    return begin_with(1);
}

void say(tarn_ipc_message message)
{
    assert_int_equal(tarn_places_message(&worker->places, &message, tarn_clock_monotonic_ns()), TARN_OK);
}

void turn(void)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    tarn_places_tell(&worker->places, now_ns);
    assert_int_equal(tarn_worker_link_flush(&worker->link), TARN_OK);
    assert_int_equal(tarn_worker_link_read(&worker->other), TARN_OK);
    if (tarn_places_due_ns(&worker->places, now_ns) > now_ns) {
        tarn_jobs_give(&worker->places.jobs);
        usleep(100);
        tarn_jobs_take(&worker->places.jobs);
    }
    assert_int_equal(tarn_places_turn(&worker->places), TARN_OK);
}

int end(void **state)
{
    (void)state;
    for (uint32_t tank = 1; tank < TANK_IDS_MAX; tank++) {
        say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = tank});
    }
    while (worker->places.lanes_taken > 0 ||
           tarn_places_due_ns(&worker->places, tarn_clock_monotonic_ns()) != UINT64_MAX) {
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

void run_until(uint32_t tank, uint32_t frames)
{
    for (int i = 0; i < TURNS_MAX && worker->frames[tank] < frames; i++) {
        turn();
    }
    assert_true(worker->frames[tank] >= frames);
}
