// Figures out of /proc, of which only the processes' own folders are looked at: a sandbox may hide the rest.
#include "server/gateway/process_usage.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { START_FIELD = 20 }; // of /proc/self/stat, counted from behind the program's name

static uint64_t count_fds(void)
{
    struct stat status;
    uint64_t count = 0;
    if (stat("/proc/self/fd", &status) == 0 && status.st_size > 0) {
        return (uint64_t)status.st_size; // the kernel counts them, since version 6.2
    }
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return 0;
    }
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count > 3 ? count - 3 : 0; // without . and .. and the folder's own
}

static void read_pages(const char *path, unsigned long *virtual_pages, unsigned long *resident_pages)
{
    FILE *file = fopen(path, "re");
    *virtual_pages = *resident_pages = 0;
    if (file == NULL) {
        return;
    }
    if (fscanf(file, "%lu %lu", virtual_pages, resident_pages) != 2) {
        *virtual_pages = *resident_pages = 0;
    }
    fclose(file);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double read_start_s(void)
{
    char text[1024] = "";
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file == NULL) {
        return 0;
    }
    const size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    char *rest = strrchr(text, ')'); // the name may have anything in it
    for (int field = 0; field < START_FIELD && rest != NULL; field++) {
        rest = strchr(rest + 1, ' ');
    }
    if (rest == NULL || sscanf(rest, "%llu", &ticks) != 1) {
        return 0;
    }
    const double since_boot_s = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME) + since_boot_s;
}

void tarn_process_usage_read(tarn_process_usage *usage)
{
    static double start_s; // doesn't change but for the clock's being set
    struct rlimit limit = {0};
    struct rusage used = {0};
    unsigned long virtual_pages, resident_pages;
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if (start_s == 0) {
        start_s = read_start_s();
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    getrusage(RUSAGE_SELF, &used);
    read_pages("/proc/self/statm", &virtual_pages, &resident_pages);
    *usage = (tarn_process_usage){
        .open_fds = count_fds(),
        .max_fds = limit.rlim_cur,
        .resident_bytes = resident_pages * page_bytes,
        .virtual_bytes = virtual_pages * page_bytes,
        .cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
        .start_s = start_s,
    };
}

uint64_t tarn_process_resident_bytes(int pid)
{
    char path[64];
    unsigned long virtual_pages, resident_pages;
    if (pid <= 0) {
        return 0;
    }
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    read_pages(path, &virtual_pages, &resident_pages);
    return resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool is_stopped(const char *folder)
{
    char path[96], text[512] = "";
    snprintf(path, sizeof path, "%s/stat", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    const char *behind = strrchr(text, ')'); // the name may have anything in it
    return behind != NULL && (behind[1] == ' ') && (behind[2] == 'T' || behind[2] == 't');
}

static bool add_thread(const char *folder, const char *thread, tarn_process_work *work)
{
    char path[400];
    uint64_t ran_ns, waited_ns;
    snprintf(path, sizeof path, "%s/task/%s/schedstat", folder, thread);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    const bool is_read = fscanf(file, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) == 2;
    fclose(file);
    work->ran_ns += is_read ? ran_ns : 0;
    work->waited_ns += is_read ? waited_ns : 0;
    return is_read;
}

bool tarn_process_work_read(int pid, tarn_process_work *work)
{
    char folder[32] = "/proc/self", path[64];
    bool is_read = false;
    *work = (tarn_process_work){0};
    if (pid > 0) {
        snprintf(folder, sizeof folder, "/proc/%d", pid);
    }
    snprintf(path, sizeof path, "%s/task", folder);
    DIR *threads = opendir(path);
    for (const struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
        is_read |= entry->d_name[0] != '.' && add_thread(folder, entry->d_name, work);
    }
    if (threads != NULL) {
        closedir(threads);
    }
    work->is_stopped = is_read && is_stopped(folder);
    return is_read;
}

uint64_t tarn_process_thread_waited_ns(void)
{
    tarn_process_work work = {0};
    char id[16];
    snprintf(id, sizeof id, "%d", (int)gettid());
    (void)add_thread("/proc/self", id, &work);
    return work.waited_ns;
}

/// The number behind a word at the beginning of a line. @return false: there is none
static bool read_number(const char *path, const char *word, uint64_t *number)
{
    char line[256];
    bool is_found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        const size_t length = strlen(word);
        is_found =
            strncmp(line, word, length) == 0 && line[length] == ' ' && sscanf(line + length, "%" SCNu64, number) == 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_found;
}

/// Where the kernel counts for this process' group of control. Empty: nowhere
static void find_group(char *path, size_t path_bytes)
{
    char line[3000];
    FILE *file = fopen("/proc/self/cgroup", "re");
    path[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        uint64_t ignored;
        char found[4096], *memory = strstr(line, ":memory:");
        line[strcspn(line, "\n")] = '\0';
        snprintf(found, sizeof found,
                 memory != NULL ? "/sys/fs/cgroup/memory%s/memory.oom_control" : "/sys/fs/cgroup%s/memory.events",
                 memory != NULL               ? memory + strlen(":memory:")
                 : strstr(line, "::") != NULL ? strstr(line, "::") + 2
                                              : "?");
        if (read_number(found, "oom_kill", &ignored)) {
            snprintf(path, path_bytes, "%s", found);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

uint64_t tarn_process_oom_kills(void)
{
    static char path[4096];
    static bool is_known;
    uint64_t count = 0;
    if (!is_known) {
        find_group(path, sizeof path);
        is_known = true;
    }
    if (path[0] == '\0' || !read_number(path, "oom_kill", &count)) {
        (void)read_number("/proc/vmstat", "oom_kill", &count);
    }
    return count;
}
