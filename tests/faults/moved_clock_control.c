// The test's end of moved_clock.h.
#include "tests/faults/moved_clock.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char path[64];

moved_clock *moved_clock_begin(void)
{
    snprintf(path, sizeof path, "/tmp/tarn-clock-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(moved_clock)), 0);
    moved_clock *clock = mmap(NULL, sizeof *clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(clock != MAP_FAILED);
    close(fd);
    setenv(MOVED_CLOCK_VARIABLE, path, 1);
    setenv("LD_PRELOAD", TARN_TEST_MOVED_CLOCK_LIBRARY, 1);
    return clock;
}

void moved_clock_leave(void)
{
    unsetenv(MOVED_CLOCK_VARIABLE);
    unsetenv("LD_PRELOAD");
}

void moved_clock_end(moved_clock *clock)
{
    moved_clock_leave();
    munmap(clock, sizeof *clock);
    unlink(path);
}

void moved_clock_jump(moved_clock *clock, int64_t wall_ns, int64_t since_start_ns)
{
    assert_true(since_start_ns >= 0);
    __atomic_fetch_add(&clock->wall_ns, wall_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&clock->since_start_ns, since_start_ns, __ATOMIC_RELAXED);
}
