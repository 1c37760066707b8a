// A worker that reads nothing for a while, which is the other end of a socketpair here: what it must hear of isn't
// lost.
#include "server/common/clock.h"
#include "server/gateway/worker_process.h"
#include "tests/server/test_cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 1000, TANKS = 5 };

static tarn_worker_process *worker;
static uv_loop_t loop;
static int other_fd;
static uint32_t unloaded[64], unloaded_count, others;

static int begin(void **state)
{
    int ends[2], bytes = 4096;
    (void)state;
    worker = calloc(1, sizeof *worker);
    assert_non_null(worker);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    other_fd = ends[1];
    worker->loop = &loop;
    worker->fd = ends[0];
    assert_int_equal(uv_poll_init(&loop, &worker->poll, ends[0]), 0);
    worker->poll.data = worker;
    worker->poll_open = true;
    worker->phase = TARN_WORKER_READY;
    worker->answered_ns = worker->ping_ns = tarn_clock_monotonic_ns() + (uint64_t)1000000000 * 3600; // no pings
    unloaded_count = others = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (worker->poll_open) {
        uv_close((uv_handle_t *)&worker->poll, NULL);
        close(worker->fd);
    }
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_loop_close(&loop), 0);
    tarn_worker_queue_clear(&worker->queue);
    close(other_fd);
    free(worker);
    return 0;
}

static tarn_status send_own(tarn_ipc_kind kind, uint32_t tank)
{
    const tarn_ipc_message message = {.kind = kind, .tank = tank};
    return tarn_worker_process_send(worker, &message, (tarn_worker_queue_key){.kind = (uint16_t)kind}, false);
}

/// Until nothing more fits.
static void fill(void)
{
    for (uint32_t i = 0; i < 100000; i++) {
        if (send_own(TARN_IPC_GO_ON, 1) == TARN_E_LIMIT) {
            return;
        }
        others++;
    }
    fail_msg("the queue takes everything");
}

static tarn_status on_message(void *user, const tarn_ipc_message *message)
{
    (void)user;
    if (message->kind == TARN_IPC_UNLOAD) {
        assert_true(unloaded_count < 64);
        unloaded[unloaded_count++] = message->tank;
    } else {
        assert_int_equal(message->kind, TARN_IPC_GO_ON);
        others--;
    }
    return TARN_OK;
}

/// The worker reads again. @return when nothing comes any more
static void read_all(void)
{
    static tarn_ipc_reader reader;
    const tarn_ipc_sink sink = {.message = on_message};
    tarn_ipc_reader_init(&reader, &sink);
    for (int i = 0; i < TURNS; i++) {
        size_t bytes_max;
        uint8_t *space = tarn_ipc_reader_space(&reader, &bytes_max);
        const ssize_t got = recv(other_fd, space, bytes_max, MSG_DONTWAIT);
        if (got > 0) {
            assert_int_equal(tarn_ipc_reader_commit(&reader, (size_t)got), TARN_OK);
        }
        uv_run(&loop, UV_RUN_NOWAIT);
        tarn_worker_process_tick(worker, tarn_clock_monotonic_ns());
    }
}

static void test_a_full_queue_loses_no_end_of_a_tank(void **state)
{
    (void)state;
    fill();
    for (uint32_t tank = 10; tank < 10 + TANKS; tank++) {
        assert_int_equal(send_own(TARN_IPC_UNLOAD, tank), TARN_OK);
        assert_int_equal(send_own(TARN_IPC_UNLOAD, tank), TARN_OK); // by two ways, but once
        tarn_worker_process_tick(worker, tarn_clock_monotonic_ns());
    }
    read_all();
    assert_int_equal(others, 0);
    assert_int_equal(unloaded_count, TANKS);
    for (uint32_t i = 0; i < TANKS; i++) {
        assert_int_equal(unloaded[i], 10 + i);
    }
}

static void on_lost(void *user, tarn_worker_process *lost, const char *sentence, bool given_up)
{
    (void)user;
    (void)lost;
    (void)sentence;
    (void)given_up;
}

/// There is a limit, and the next worker, which has none of these tanks, isn't told.
static void test_what_is_owed_has_a_limit_and_ends_with_the_worker(void **state)
{
    (void)state;
    fill();
    for (uint32_t tank = 100; worker->unload_count < TARN_IPC_TANKS_MAX; tank++) {
        assert_int_equal(send_own(TARN_IPC_UNLOAD, tank), TARN_OK);
    }
    assert_int_equal(send_own(TARN_IPC_UNLOAD, 5), TARN_E_LIMIT);
    worker->events.lost = on_lost;
    worker->answered_ns = 1;
    tarn_worker_process_tick(worker, tarn_clock_monotonic_ns());
    assert_int_equal(worker->phase, TARN_WORKER_WAITING);
    assert_int_equal(worker->unload_count, 0);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(worker->fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_full_queue_loses_no_end_of_a_tank, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_owed_has_a_limit_and_ends_with_the_worker, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
