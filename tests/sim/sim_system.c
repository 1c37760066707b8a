// The rest of the system under the gateway: clocks, random numbers, memory, descriptors of files. Calls of the
// gateway's come here by the linker's --wrap; what it has taken is noted, so that it can be dropped or missed. Also its
// life: begin at sim_gateway_run.
#include "tests/sim/sim.h"
#include "tests/sim/sim_entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { WALL_START_S = 1900000000, FDS_MAX = 1000, TABLE_START = 1024 };

/// A set of addresses, open addressing; sizes behind them.
typedef struct address_set {
    void **of;
    size_t *sizes;
    size_t room, count;
} address_set;

static address_set blocks, maps;
static bool is_file[FDS_MAX];
static struct tarn_gateway *running;
static jmp_buf outside;
static int exit_status;
static bool is_dead;
static long wall_offset_s;
static uint32_t descriptors_to_fail;
static uint64_t lacked_ns; // when one was lacking last

bool sim_socket_close(int fd);

// -------------------------------------------------------------------------------------------------------------- notes

static size_t slot_of(const address_set *set, const void *address)
{
    size_t at = (size_t)(((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15 >> 20) % set->room;
    while (set->of[at] != NULL && set->of[at] != address) {
        at = (at + 1) % set->room;
    }
    return at;
}

static void put(address_set *set, void *address, size_t byte_count)
{
    if (2 * set->count >= set->room) {
        const address_set old = *set;
        set->room = old.room == 0 ? TABLE_START : 2 * old.room;
        set->count = 0;
        set->of = sim_make(set->room * sizeof *set->of);
        set->sizes = sim_make(set->room * sizeof *set->sizes);
        for (size_t i = 0; i < old.room; i++) {
            if (old.of[i] != NULL) {
                put(set, old.of[i], old.sizes[i]);
            }
        }
        free(old.of);
        free(old.sizes);
    }
    const size_t at = slot_of(set, address);
    set->of[at] = address;
    set->sizes[at] = byte_count;
    set->count++;
}

static void take_out(address_set *set, const void *address)
{
    size_t at = set->room > 0 ? slot_of(set, address) : 0;
    if (set->room == 0 || set->of[at] == NULL) {
        return; // a library's
    }
    set->of[at] = NULL;
    set->count--;
    for (size_t next = (at + 1) % set->room; set->of[next] != NULL; next = (next + 1) % set->room) {
        void *moved = set->of[next];
        const size_t size = set->sizes[next];
        set->of[next] = NULL;
        at = slot_of(set, moved);
        set->of[at] = moved;
        set->sizes[at] = size;
    }
}

sim_held sim_system_held(void)
{
    sim_held held = {(uint32_t)blocks.count, (uint32_t)maps.count, 0, sim_sockets_open()};
    for (int i = 0; i < FDS_MAX; i++) {
        held.descriptors += is_file[i];
    }
    return held;
}

void sim_system_drop(void)
{
    for (size_t i = 0; i < blocks.room; i++) {
        free(blocks.of[i]);
        blocks.of[i] = NULL;
    }
    for (size_t i = 0; i < maps.room; i++) {
        if (maps.of[i] != NULL) {
            munmap(maps.of[i], maps.sizes[i]);
        }
        maps.of[i] = NULL;
    }
    blocks.count = maps.count = 0;
    for (int i = 0; i < FDS_MAX; i++) {
        if (is_file[i]) {
            close(i);
        }
        is_file[i] = false;
    }
    sim_sockets_drop();
}

// ------------------------------------------------------------------------------------------------------------- its
// life

struct tarn_gateway *sim_gateway(void)
{
    return running;
}

void sim_gateway_is(struct tarn_gateway *gateway)
{
    running = gateway;
}

bool sim_gateway_is_dead(void)
{
    return is_dead;
}

void sim_gateway_kill(void)
{
    SIM_NEED(running != NULL);
    is_dead = true;
    running = NULL;
    sim_loop_drop();
    sim_web_drop();
    sim_thread_drop();
    sim_system_drop();
    sim_workers_drop();
}

void sim_gateway_exit(int status)
{
    exit_status = status;
    longjmp(outside, 1);
}

int sim_gateway_run(int argc, char **argv)
{
    void *library = dlopen(SIM_GATEWAY_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
    }
    SIM_NEED(library != NULL && running == NULL);
    const sim_entry *entry = dlsym(library, "sim_gateway_entry");
    SIM_NEED(entry != NULL);
    sim_entry_now = entry;
    is_dead = false;
    if (setjmp(outside) == 0) {
        exit_status = entry->main(argc, argv);
    }
    running = NULL;
    if (!is_dead) {
        sim_workers_drop();
    }
    dlclose(library);
    return exit_status;
}

const sim_entry *sim_entry_now;

long sim_wall_offset_s(void)
{
    return wall_offset_s;
}

void sim_wall_jump(long seconds)
{
    wall_offset_s += seconds;
}

void sim_system_fail_descriptors(uint32_t count)
{
    descriptors_to_fail = count;
}

bool sim_system_lacks_descriptors(void)
{
    return lacked_ns != 0 && (descriptors_to_fail > 0 || sim_now() - lacked_ns < 2 * SIM_S);
}

// ----------------------------------------------------------------------------------------------------- what is called

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
time_t __wrap_time(time_t *to);
ssize_t __wrap_getrandom(void *bytes, size_t byte_count, unsigned flags);
void *__wrap_malloc(size_t byte_count);
void *__wrap_calloc(size_t count, size_t byte_count);
void *__wrap_realloc(void *old, size_t byte_count);
void __wrap_free(void *block);
void *__wrap_mmap(void *at, size_t byte_count, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t byte_count);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_close(int fd);
FILE *__wrap_fdopen(int fd, const char *mode);
ssize_t __wrap_write(int fd, const void *bytes, size_t byte_count);
int __wrap_printf(const char *format, ...);
int __wrap_puts(const char *text);
int __wrap_putchar(int letter);
int __wrap_fprintf(FILE *file, const char *format, ...);
// What these two become by -D_FORTIFY_SOURCE.
int __wrap___printf_chk(int flag, const char *format, ...);
int __wrap___fprintf_chk(FILE *file, int flag, const char *format, ...);
int __wrap_getrlimit(int what, struct rlimit *limit);
void __wrap__exit(int status) __attribute__((noreturn));

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    const uint64_t now_ns = sim_now();
    time->tv_sec = (time_t)(now_ns / SIM_S);
    time->tv_nsec = (long)(now_ns % SIM_S);
    if (clock == CLOCK_REALTIME) {
        time->tv_sec += WALL_START_S + wall_offset_s;
    }
    return 0;
}

time_t __wrap_time(time_t *to)
{
    const time_t now = (time_t)(sim_now() / SIM_S) + WALL_START_S + wall_offset_s;
    if (to != NULL) {
        *to = now;
    }
    return now;
}

ssize_t __wrap_getrandom(void *bytes, size_t byte_count, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < byte_count; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)sim_random();
    }
    return (ssize_t)byte_count;
}

void *__wrap_malloc(size_t byte_count)
{
    void *made = malloc(byte_count);
    put(&blocks, made, byte_count);
    return made;
}

void *__wrap_calloc(size_t count, size_t byte_count)
{
    void *made = calloc(count, byte_count);
    put(&blocks, made, byte_count);
    return made;
}

void *__wrap_realloc(void *old, size_t byte_count)
{
    if (old != NULL) {
        take_out(&blocks, old);
    }
    void *made = realloc(old, byte_count);
    put(&blocks, made, byte_count);
    return made;
}

void __wrap_free(void *block)
{
    if (block != NULL) {
        take_out(&blocks, block);
    }
    free(block);
}

void *__wrap_mmap(void *at, size_t byte_count, int protection, int flags, int fd, off_t offset)
{
    void *made = mmap(at, byte_count, protection, flags, fd, offset);
    if (made != MAP_FAILED) {
        put(&maps, made, byte_count);
    }
    return made;
}

int __wrap_munmap(void *at, size_t byte_count)
{
    take_out(&maps, at);
    return munmap(at, byte_count);
}

static int note_fd(int fd)
{
    SIM_NEED(fd < FDS_MAX);
    if (fd >= 0) {
        is_file[fd] = true;
    }
    return fd;
}

/// @return whether there is no descriptor now
static bool lacks_descriptor(void)
{
    if (descriptors_to_fail == 0 || running == NULL) {
        return false;
    }
    descriptors_to_fail--;
    lacked_ns = sim_now();
    errno = EMFILE;
    return true;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (strcmp(path, "/dev/tty") == 0) {
        errno = ENXIO;
        return -1;
    }
    return note_fd(open(path, flags, mode));
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    return note_fd(openat(folder, path, flags, 0600));
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
    return lacks_descriptor() ? -1 : note_fd(memfd_create(name, flags));
}

int __wrap_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    const int argument = va_arg(arguments, int);
    va_end(arguments);
    SIM_NEED(command == F_DUPFD_CLOEXEC);
    return lacks_descriptor() ? -1 : note_fd(fcntl(fd, command, argument));
}

int __wrap_close(int fd)
{
    if (sim_socket_close(fd)) {
        return 0;
    }
    SIM_CHECK(RELEASED, fd >= 0 && fd < FDS_MAX && is_file[fd], "the gateway closes descriptor %d, which it hasn't",
              fd);
    is_file[fd] = false;
    return close(fd);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    is_file[fd] = false; // the stream closes it
    return fdopen(fd, mode);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t byte_count)
{
    if (fd == STDERR_FILENO || fd == STDOUT_FILENO) {
        sim_trace("tarnd says: %.*s", (int)(byte_count > 0 ? byte_count - 1 : 0), (const char *)bytes);
        return (ssize_t)byte_count;
    }
    return write(fd, bytes, byte_count);
}

int __wrap_printf(const char *format, ...)
{
    (void)format;
    return 1;
}

int __wrap_puts(const char *text)
{
    (void)text;
    return 1;
}

int __wrap_putchar(int letter)
{
    return letter;
}

int __wrap_fprintf(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int written = file == stderr && !sim_traces ? 1 : vfprintf(file, format, arguments);
    va_end(arguments);
    return written;
}

int __wrap___printf_chk(int flag, const char *format, ...)
{
    (void)flag;
    (void)format;
    return 1;
}

int __wrap___fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int written = flag >= 0 && file == stderr && !sim_traces ? 1 : vfprintf(file, format, arguments);
    va_end(arguments);
    return written;
}

int __wrap_getrlimit(int what, struct rlimit *limit)
{
    (void)what;
    limit->rlim_cur = limit->rlim_max = 4096;
    return 0;
}

void __wrap__exit(int status)
{
    sim_gateway_kill();
    sim_gateway_exit(status);
}
