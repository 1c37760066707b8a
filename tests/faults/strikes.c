#include "tests/faults/strikes.h"
#include "server/base/clock.h"
#include "tests/faults/moved_clock.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t hour_ns = 3600 * (int64_t)1000000000;

static moved_clock *clocks;

uint64_t strike_worker(const server_fault *fault, const strike_moment *at)
{
    const pid_t worker = server_worker(at->server);
    assert_true(worker > 0);
    union sigval value = {.sival_int = fault->value_max > 0 ? 1 + rand_r(at->seed) % fault->value_max : 0};
    assert_int_equal(sigqueue(worker, fault->signal, value), 0);
    return tarn_clock_monotonic_ns();
}

static char fails_path[64];

uint64_t strike_next_worker(const server_fault *fault, const strike_moment *at)
{
    const pid_t worker = server_worker(at->server);
    FILE *file = fopen(fails_path, "we");
    assert_non_null(file);
    fprintf(file, "%d\n", 1 + rand_r(at->seed) % fault->value_max);
    fclose(file);
    assert_true(worker > 0);
    assert_int_equal(kill(worker, SIGKILL), 0);
    return tarn_clock_monotonic_ns();
}

void strike_next_worker_begin(void)
{
    snprintf(fails_path, sizeof fails_path, "/tmp/tarn-device-%d", (int)getpid());
    setenv("TARN_TEST_DEVICE_FAILS", fails_path, 1);
}

void strike_next_worker_end(void)
{
    unsetenv("TARN_TEST_DEVICE_FAILS");
    unlink(fails_path);
}

uint64_t strike_all(const server_fault *fault, const strike_moment *at)
{
    const pid_t worker = server_worker(at->server);
    assert_true(worker > 0);
    const pid_t pids[2] = {at->server->pid, worker};
    const int first = rand_r(at->seed) % 2;
    assert_int_equal(kill(pids[first], SIGSTOP), 0);
    assert_int_equal(kill(pids[!first], SIGSTOP), 0);
    at->wait(fault->stop_ms);
    const int next = rand_r(at->seed) % 2;
    assert_int_equal(kill(pids[next], SIGCONT), 0);
    assert_int_equal(kill(pids[!next], SIGCONT), 0);
    return tarn_clock_monotonic_ns();
}

uint64_t strike_clocks(const server_fault *fault, const strike_moment *at)
{
    static const int64_t hours[] = {-24, 24, 10 * 8766, -10 * 8766, 1};
    const int jump = at->index % 7;
    if (jump < 5) {
        moved_clock_jump(clocks, hours[jump] * hour_ns, 0);
    } else if (jump == 5) { // under everything
        moved_clock_jump(clocks, hour_ns, hour_ns);
    } else { // while everything stands
        const pid_t worker = server_worker(at->server);
        assert_true(worker > 0);
        kill(at->server->pid, SIGSTOP);
        kill(worker, SIGSTOP);
        usleep((useconds_t)(rand_r(at->seed) % 200000));
        moved_clock_jump(clocks, hour_ns, hour_ns);
        kill(worker, SIGCONT);
        kill(at->server->pid, SIGCONT);
    }
    (void)fault;
    return tarn_clock_monotonic_ns();
}

void strike_clocks_begin(void)
{
    clocks = moved_clock_begin();
}

void strike_clocks_end(void)
{
    moved_clock_end(clocks);
}

void strike_disk_begin(void)
{
    setenv("TARN_TEST_SYNC_MS", "250", 1);
    setenv("LD_PRELOAD", TARN_TEST_SLOW_DISK_LIBRARY, 1);
}

void strike_disk_end(void)
{
    unsetenv("TARN_TEST_SYNC_MS");
    unsetenv("LD_PRELOAD");
}
