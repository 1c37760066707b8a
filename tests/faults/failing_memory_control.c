// The test's end of failing_memory.h.
#include "tests/faults/failing_memory.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char path[64];

failing_memory *failing_memory_begin(void)
{
    snprintf(path, sizeof path, "/tmp/tarn-memory-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(failing_memory)), 0);
    failing_memory *memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    close(fd);
    setenv(FAILING_MEMORY_VARIABLE, path, 1);
    setenv("LD_PRELOAD", TARN_TEST_FAILING_MEMORY_LIBRARY, 1);
    return memory;
}

void failing_memory_leave(void)
{
    unsetenv(FAILING_MEMORY_VARIABLE);
    unsetenv("LD_PRELOAD");
}

void failing_memory_end(failing_memory *memory)
{
    failing_memory_leave();
    munmap(memory, sizeof *memory);
    unlink(path);
}

void failing_memory_arm(failing_memory *memory, failing_program program, failing_threads threads, uint64_t fails_at)
{
    atomic_store(&memory->is_armed, 0);
    memory->program = program;
    memory->threads = threads;
    memory->fails_at = fails_at;
    memory->where[0] = '\0';
    atomic_store(&memory->calls, 0);
    atomic_store(&memory->failed, 0);
    atomic_store(&memory->is_armed, 1);
}

int failing_memory_disarm(failing_memory *memory)
{
    atomic_store(&memory->is_armed, 0);
    return atomic_load(&memory->failed) > 0;
}
