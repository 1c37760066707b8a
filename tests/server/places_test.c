// A worker that is full: tanks come while others end, and each still has its frames.
#include "tests/server/places_kit.h"
#include "tests/server/test_cmocka.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { TANKS_MAX = 16, MANY = 12 };

static bool lacks_memory; ///< for what is as large as a frame may be

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    const bool is_lacking = lacks_memory && bytes >= TARN_IPC_FRAME_BYTES_MAX;
    return is_lacking ? MAP_FAILED : __real_mmap(at, bytes, protection, flags, fd, from);
}

static int begin_with_lanes(void **state)
{
    (void)state;
    return begin_with(2);
}

static void load(uint32_t tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_LOAD, .tank = tank, .load = {.epoch = 1, .scene = "small-pool"}};
    say(message);
    say((tarn_ipc_message){.kind = TARN_IPC_AUDIENCE, .tank = tank, .audience = {.viewer_count = 1}});
}

static void test_a_tank_comes_while_another_of_a_full_worker_ends(void **state)
{
    (void)state;
    worker->places.tanks_max = TANKS_MAX;
    for (uint32_t tank = 1; tank <= TANKS_MAX; tank++) {
        load(tank);
    }
    for (uint32_t tank = 1; tank <= TANKS_MAX; tank++) {
        run_until(tank, 2);
    }
    for (uint32_t k = 1; k <= 4; k++) { // in one go, so that the place of the old one isn't free yet
        say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = k});
        load(TANKS_MAX + k);
    }
    for (uint32_t k = 1; k <= 4; k++) {
        run_until(TANKS_MAX + k, 2);
    }
}

/// A load that is refused has its answer, also where nobody reads all the refusals of inputs that are in front of it.
static void test_a_refused_load_is_answered_behind_refused_inputs(void **state)
{
    (void)state;
    tarn_status status = TARN_OK;
    for (int i = 0; i < TURNS_MAX && status == TARN_OK; i++) {
        status = tarn_worker_link_refuse(&worker->link, 1, 7, 1, TARN_ERROR_INPUT, "this tank has no such tool");
    }
    assert_int_equal(status, TARN_E_SPACE);
    say((tarn_ipc_message){.kind = TARN_IPC_LOAD, .tank = 2, .load = {.epoch = 1, .scene = "nowhere"}});
    for (int i = 0; i < TURNS_MAX && worker->places.of[0].tank.id != 0; i++) {
        assert_int_equal(tarn_places_turn(&worker->places), TARN_OK);
    }
    for (int i = 0; i < TURNS_MAX && worker->refused.code != TARN_ERROR_SESSION; i++) {
        turn();
    }
    assert_int_equal(worker->refused.code, TARN_ERROR_SESSION);
}

static tarn_worker_link flooded, flooding;
static uint32_t refused_count, told_count, answered_count;

static tarn_status on_flood(void *user, const tarn_ipc_message *message)
{
    static char why[TARN_TEXT_BYTES_MAX + 1];
    (void)user;
    memset(why, 'x', sizeof why - 1);
    assert_int_equal(message->kind, TARN_IPC_PING);
    assert_int_equal(tarn_worker_link_refuse(&flooded, 1, 7, 1, TARN_ERROR_INPUT, why), TARN_OK);
    refused_count++;
    return TARN_OK;
}

static tarn_status on_told(void *user, const tarn_ipc_message *message)
{
    (void)user;
    assert_int_equal(message->kind, TARN_IPC_REFUSED);
    told_count += message->refused.code == TARN_ERROR_INPUT;
    answered_count += message->refused.code == TARN_ERROR_SCENE;
    return TARN_OK;
}

/// However much is refused while the gateway doesn't read: each is told, since what would be refused waits as well.
static void test_no_refusal_is_lost_where_nobody_reads(void **state)
{
    enum { MESSAGES = 100000, TURNS = 2000 };
    int ends[2];
    const tarn_ipc_sink worker_sink = {.message = on_flood}, gateway_sink = {.message = on_told};
    uint32_t said = 0;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(tarn_worker_link_open(&flooded, ends[0], &worker_sink), TARN_OK);
    assert_int_equal(tarn_worker_link_open(&flooding, ends[1], &gateway_sink), TARN_OK);
    for (int i = 0; i < 2 * TURNS; i++) {
        const tarn_ipc_message ping = {.kind = TARN_IPC_PING};
        while (said < MESSAGES && flooding.out_bytes < 1000 && tarn_worker_link_put(&flooding, &ping) == TARN_OK) {
            said++;
        }
        assert_int_equal(tarn_worker_link_flush(&flooding), TARN_OK);
        assert_int_equal(tarn_worker_link_read(&flooded), TARN_OK);
        assert_int_equal(tarn_worker_link_flush(&flooded), TARN_OK);
        if (i >= TURNS) { // it reads again
            assert_int_equal(tarn_worker_link_read(&flooding), TARN_OK);
        } else if (i == TURNS - 1) {
            assert_true(refused_count > 100 && refused_count < MESSAGES / 2);
            assert_false(tarn_worker_link_reads(&flooded));
            // What isn't a refusal of inputs has room all the same.
            assert_int_equal(tarn_worker_link_refuse(&flooded, 1, 7, 1, TARN_ERROR_SCENE, "no"), TARN_OK);
        }
    }
    assert_int_equal(said, MESSAGES);
    assert_int_equal(refused_count, MESSAGES);
    assert_int_equal(told_count, MESSAGES);
    assert_int_equal(answered_count, 1);
    tarn_worker_link_close(&flooded);
    tarn_worker_link_close(&flooding);
}

/// That frames don't fit is no answer to a scene that somebody loads meanwhile.
static void test_frames_that_dont_fit_are_no_refused_load(void **state)
{
    (void)state;
    lacks_memory = true;
    load(1);
    for (int i = 0; i < TURNS_MAX && worker->refused.code == 0; i++) {
        turn();
    }
    lacks_memory = false;
    assert_int_equal(worker->refused.code, TARN_ERROR_LIMIT);
    assert_int_equal(worker->refused.viewer_id, 0);
    assert_non_null(strstr(worker->refused.text, "a frame of it"));
    run_until(1, 2);
}

/// Those that are short have lanes of their own. They end, come and are watched anew meanwhile.
static void test_many_tanks_run_beside_each_other(void **state)
{
    (void)state;
    uint32_t in_lanes_max = 0;
    worker->places.alone_ns_max = UINT64_MAX; // however slow a sanitizer makes them
    for (uint32_t tank = 1; tank <= MANY; tank++) {
        load(tank);
    }
    for (uint32_t tank = 1; tank <= MANY; tank++) {
        run_until(tank, 2);
    }
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t tank = 1; tank <= MANY; tank++) {
            if (tank % 2 == round) {
                say((tarn_ipc_message){.kind = TARN_IPC_UNLOAD, .tank = tank});
                worker->frames[tank] = 0;
                load(tank);
            }
            turn();
            in_lanes_max = worker->places.lanes_taken > in_lanes_max ? worker->places.lanes_taken : in_lanes_max;
        }
        for (uint32_t tank = 1; tank <= MANY; tank++) {
            run_until(tank, worker->frames[tank] + 2);
        }
    }
    for (int i = 0; i < TURNS_MAX && in_lanes_max < 2; i++) { // which a fast step leaves before it is looked at
        turn();
        in_lanes_max = worker->places.lanes_taken > in_lanes_max ? worker->places.lanes_taken : in_lanes_max;
    }
    assert_int_equal(in_lanes_max, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_tank_comes_while_another_of_a_full_worker_ends, begin_with_lanes, end),
        cmocka_unit_test_setup_teardown(test_a_refused_load_is_answered_behind_refused_inputs, begin, end),
        cmocka_unit_test(test_no_refusal_is_lost_where_nobody_reads),
        cmocka_unit_test_setup_teardown(test_frames_that_dont_fit_are_no_refused_load, begin, end),
        cmocka_unit_test_setup_teardown(test_many_tanks_run_beside_each_other, begin_with_lanes, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
