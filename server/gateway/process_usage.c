// Figures out of /proc, of which only the processes' own folders are looked at: a sandbox may hide the rest.
#include "server/gateway/process_usage.h"

#include <dirent.h>
#include <stdio.h>
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
