// Preloaded into a program whose memory is to fail: what gives memory out, in front of the C library's own.
#include "tests/faults/failing_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library's, under names that it keeps for those who stand in front of it.
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

enum { FRAMES_MAX = 32 };

static failing_memory *shared;
static failing_program program;
static _Atomic int64_t live_before; // until there is a file
static __thread int is_inside;

static _Atomic int64_t *live(void)
{
    return shared != NULL ? &shared->live[program] : &live_before;
}

__attribute__((constructor)) static void find_it(void)
{
    void *frames[2];
    const char *path = getenv(FAILING_MEMORY_VARIABLE);
    const int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    (void)backtrace(frames, 2); // it loads what it needs, once
    if (fd < 0) {
        return;
    }
    void *memory = (void *)syscall(SYS_mmap, NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        return;
    }
    program = strcmp(program_invocation_short_name, "tarnd") == 0 ? FAILING_GATEWAY : FAILING_WORKER;
    failing_memory *found = memory;
    atomic_store(&found->live[program], atomic_load(&live_before));
    shared = found;
}

/// Whether a failure is the library's death, and nobody's who calls it: OpenSSL's, which sets itself up when it is
/// first used, and goes on without what it got no memory for.
static int is_spared(const Dl_info *info)
{
    return info->dli_sname != NULL && strcmp(info->dli_sname, "CRYPTO_THREAD_run_once") == 0;
}

/// Who called, for people. @return whether the call is to be spared
static int note_where(void)
{
    int spared = 0;
    void *frames[FRAMES_MAX];
    const int count = backtrace(frames, FRAMES_MAX);
    size_t at = 0;
    for (int i = 2; i < count && at < sizeof shared->where; i++) {
        Dl_info info;
        if (dladdr(frames[i], &info) == 0 || info.dli_fname == NULL) {
            continue;
        }
        spared |= is_spared(&info);
        const char *file = strrchr(info.dli_fname, '/');
        const int length =
            snprintf(shared->where + at, sizeof shared->where - at, "%s%s(%s)+0x%tx", at > 0 ? " < " : "",
                     file != NULL ? file + 1 : info.dli_fname, info.dli_sname != NULL ? info.dli_sname : "",
                     (char *)frames[i] - (char *)info.dli_fbase);
        at += length > 0 ? (size_t)length : 0;
    }
    return spared;
}

/// Counts a call. @return whether it is to fail
static int fails(void)
{
    if (shared == NULL || is_inside || !atomic_load(&shared->is_armed) || shared->program != program) {
        return 0;
    }
    if (shared->threads != FAILING_ALL && (gettid() == getpid()) != (shared->threads == FAILING_FIRST)) {
        return 0;
    }
    if (atomic_fetch_add(&shared->calls, 1) + 1 != shared->fails_at) {
        return 0;
    }
    is_inside = 1;
    const int spared = note_where();
    is_inside = 0;
    atomic_fetch_add(&shared->failed, 1);
    errno = spared ? errno : ENOMEM;
    return !spared;
}

static void *count(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_add(live(), 1);
    }
    return memory;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : count(__libc_malloc(bytes));
}

void *calloc(size_t number, size_t bytes)
{
    return fails() ? NULL : count(__libc_calloc(number, bytes));
}

void *realloc(void *memory, size_t bytes)
{
    if (memory != NULL && bytes == 0) {
        free(memory);
        return NULL;
    }
    if (fails()) {
        return NULL;
    }
    void *larger = __libc_realloc(memory, bytes);
    return memory == NULL ? count(larger) : larger;
}

void *memalign(size_t alignment, size_t bytes)
{
    return fails() ? NULL : count(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *made = memalign(alignment, bytes);
    if (made == NULL) {
        return ENOMEM;
    }
    *memory = made;
    return 0;
}

void free(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub(live(), 1);
    }
    __libc_free(memory);
}

/// Mappings count as calls, and not as pieces: where one ends isn't where it began.
void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails()) {
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return mmap(address, bytes, protection, flags, fd, offset);
}

static void look_at(const char *path)
{
    const size_t length = strlen(path), end = sizeof ".tank" - 1;
    if (shared != NULL && program == FAILING_GATEWAY && gettid() == getpid() && length > end &&
        strcmp(path + length - end, ".tank") == 0 && atomic_exchange(&shared->arms_on_tank, 0)) {
        atomic_store(&shared->is_armed, 1);
    }
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    va_end(rest);
    look_at(path);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
    va_end(rest);
    return open(path, flags, mode);
}
