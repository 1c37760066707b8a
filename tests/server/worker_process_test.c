// A worker that reads nothing for a while, which is the other end of a socketpair here: what it must hear of isn't
// lost.
#include "server/base/clock.h"
#include "server/gateway/worker/process.h"
#include "tests/server/test_cmocka.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

static uint32_t losses, givings_up;
static char said[600];

static void on_lost(void *user, tarn_worker_process *lost, const char *sentence, bool given_up)
{
    (void)user;
    (void)lost;
    losses++;
    givings_up += given_up;
    snprintf(said, sizeof said, "%s", sentence);
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

static const char how_it_ends[] = "TARN_TEST_ENDS_BY"; // a signal, or an exit status below zero

static void set_end(int how)
{
    char text[16];
    snprintf(text, sizeof text, "%d", how);
    assert_int_equal(setenv(how_it_ends, text, 1), 0);
}

/// Ticks, an hour ahead, until the worker is lost once more.
static void lose_next(int how)
{
    const uint32_t before = losses;
    set_end(how);
    for (int i = 0; i < 2000 && losses == before; i++) {
        if (worker->phase == TARN_WORKER_WAITING || worker->phase == TARN_WORKER_GIVEN_UP) {
            tarn_worker_process_tick(worker, tarn_clock_monotonic_ns() + (uint64_t)3600 * 1000000000);
        }
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_int_equal(losses, before + 1);
}

/// A worker that ends at once, which is this program: it never says hello.
static void start_mortal(int how)
{
    static const tarn_worker_events events = {.lost = on_lost};
    const tarn_worker_config config = {.program = "/proc/self/exe", .log_level = "error"};
    tarn_text why;
    losses = givings_up = 0;
    set_end(how);
    worker = calloc(1, sizeof *worker);
    assert_non_null(worker);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(tarn_worker_process_start(worker, 0, &loop, &config, &events, why), TARN_OK);
    for (int i = 0; i < 5000 && losses == 0; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_int_equal(losses, 1);
}

static void end_mortal(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(tarn_worker_process_is_gone(worker));
    assert_int_equal(uv_loop_close(&loop), 0);
    free(worker);
}

static uint64_t pause_ms(void)
{
    return (worker->retry_ns - worker->phase_since_ns + 500000) / 1000000;
}

/// It is tried for ever, once a minute at last.
static void test_one_that_was_given_up_is_tried_again(void **state)
{
    static const uint64_t pauses_ms[] = {0,     100,   200,   400,   800,   1600,  3200, // before it is given up
                                         10000, 20000, 40000, 60000, 60000, 60000, 60000};
    (void)state;
    start_mortal(SIGABRT);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        const bool is_given_up = i >= TARN_GATEWAY_WORKER_FAILURES_MAX - 1;
        assert_int_equal(pause_ms(), pauses_ms[i]);
        assert_int_equal(worker->phase, is_given_up ? TARN_WORKER_GIVEN_UP : TARN_WORKER_WAITING);
        assert_int_equal(worker->failures, i + 1);
        assert_non_null(strstr(said, "the worker ended by signal 6"));
        assert_true(tarn_worker_process_retry_ms(worker, worker->phase_since_ns) == pauses_ms[i]);
        lose_next(SIGABRT);
    }
    tarn_worker_process_retry(worker); // somebody wants it now
    assert_int_equal(worker->phase, TARN_WORKER_WAITING);
    lose_next(-3);
    assert_int_equal(worker->failures, 1);
    assert_non_null(strstr(said, "exit status 3"));
    end_mortal();
}

/// What somebody else ends is started again as often as that.
static void test_ends_from_outside_are_no_failures(void **state)
{
    static const uint64_t pauses_ms[] = {0, 100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000};
    static const int kills[] = {SIGKILL, SIGTERM, SIGUSR1};
    int how = SIGKILL;
    (void)state;
    start_mortal(SIGKILL);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        assert_int_equal(pause_ms(), pauses_ms[i]);
        assert_int_equal(worker->failures, 0);
        assert_int_equal(worker->last_end, how == SIGKILL ? TARN_WORKER_END_KILLED : TARN_WORKER_END_OUTSIDE);
        assert_non_null(strstr(said, "somebody ended the worker by signal "));
        how = kills[i % 3];
        lose_next(how);
    }
    assert_int_equal(givings_up, 0);
    assert_int_equal(worker->failures_total, sizeof pauses_ms / sizeof pauses_ms[0] + 1);
    end_mortal();
}

/// A socket's end is told before its process': until that is, nobody knows whose doing it is.
static void test_a_closed_socket_leaves_the_exit_time_to_come(void **state)
{
    (void)state;
    losses = 0;
    worker->events.lost = on_lost;
    fill(); // so that it is looked at
    assert_int_equal(close(other_fd), 0);
    other_fd = dup(worker->fd); // for the end
    while (worker->closed_ns == 0) {
        uv_run(&loop, UV_RUN_ONCE);
    }
    const uint64_t longest_ns = TARN_GATEWAY_WORKER_CLOSED_MS * (uint64_t)1000000;
    tarn_worker_process_tick(worker, worker->closed_ns + longest_ns);
    assert_int_equal(losses, 0);
    tarn_worker_process_tick(worker, worker->closed_ns + longest_ns + 1);
    assert_int_equal(losses, 1);
    assert_int_equal(worker->last_end, TARN_WORKER_END_OWN);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(worker->fd, -1);
}

static void pin(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/// Two that want one processor wait for it; one that is stopped does neither.
static void test_what_a_process_does_is_told(void **state)
{
    tarn_process_work before, now;
    cpu_set_t all;
    const uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)60 * 1000000000;
    (void)state;
    if (!tarn_process_work_read(0, &before)) {
        print_message("skipped: this kernel doesn't tell how long a thread waits for a processor\n");
        skip();
    }
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    pin();
    const pid_t child = fork();
    assert_true(child >= 0);
    while (child == 0 && getppid() != 1) {
    }
    do {
        assert_true(tarn_process_work_read(0, &now));
    } while ((now.waited_ns < before.waited_ns + 50000000 || now.ran_ns < before.ran_ns + 50000000) &&
             tarn_clock_monotonic_ns() < until_ns);
    assert_true(now.waited_ns >= before.waited_ns + 50000000 && now.ran_ns >= before.ran_ns + 50000000);
    assert_true(tarn_process_thread_waited_ns() >= now.waited_ns);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_true(tarn_process_work_read(child, &now) && !now.is_stopped && now.ran_ns > 0);
    assert_int_equal(kill(child, SIGSTOP), 0);
    while (!now.is_stopped && tarn_clock_monotonic_ns() < until_ns) {
        assert_true(tarn_process_work_read(child, &now));
    }
    assert_true(now.is_stopped);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(tarn_process_work_read(child, &now));
}

static void test_a_standstill_has_a_cause(void **state)
{
    const uint64_t s = 1000000000;
    const tarn_standstill_clocks from = {.at_ns = 10 * s, .ran_ns = 3 * s, .waited_ns = s}, none = {0};
    tarn_standstill_clocks to = {.at_ns = 12 * s, .ran_ns = 3 * s, .waited_ns = s};
    (void)state;
    assert_non_null(strstr(tarn_standstill_cause(&from, &to, 2 * s), "stopped by a signal, waited for a disk, or"));
    to.waited_ns += s;
    assert_string_equal(tarn_standstill_cause(&from, &to, 2 * s), "others took the processors");
    to.ran_ns += s;
    assert_string_equal(tarn_standstill_cause(&from, &to, 2 * s), "it was busy itself");
    assert_string_equal(tarn_standstill_cause(&none, &to, 2 * s), "nobody saw why");
    assert_int_equal(tarn_standstill_suspended_ns(&from, &to), 0);
    to.suspended_ns = from.suspended_ns + 5 * s;
    assert_true(tarn_standstill_suspended_ns(&from, &to) == 5 * s);
    assert_int_equal(tarn_standstill_suspended_ns(&none, &to), 0);
    tarn_standstill_watch watch = {0};
    assert_int_equal(tarn_standstill_tick(&watch), 0);
    assert_true(watch.clocks.at_ns > 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_full_queue_loses_no_end_of_a_tank, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_owed_has_a_limit_and_ends_with_the_worker, begin, end),
        cmocka_unit_test_setup_teardown(test_a_closed_socket_leaves_the_exit_time_to_come, begin, end),
        cmocka_unit_test(test_one_that_was_given_up_is_tried_again),
        cmocka_unit_test(test_ends_from_outside_are_no_failures),
        cmocka_unit_test(test_what_a_process_does_is_told),
        cmocka_unit_test(test_a_standstill_has_a_cause),
    };
    const char *how = getenv(how_it_ends);
    if (how != NULL && argc > 1) { // as a worker
        return atoi(how) > 0 ? raise(atoi(how)) : -atoi(how);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
