#include "tests/faults/process_watch.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_status(pid_t pid, process_look *look)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {
        {"VmRSS:", offsetof(process_look, rss_bytes)},
        {"RssAnon:", offsetof(process_look, anon_bytes)},
        {"RssShmem:", offsetof(process_look, shared_bytes)},
    };
    char path[64], line[256];
    unsigned found = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            unsigned long long kib;
            const size_t length = strlen(fields[i].name);
            if (strncmp(line, fields[i].name, length) == 0 && sscanf(line + length, "%llu", &kib) == 1) {
                *(uint64_t *)(void *)((char *)look + fields[i].offset) = 1024 * (uint64_t)kib;
                found++;
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found == sizeof fields / sizeof fields[0];
}

static double read_cpu_s(pid_t pid)
{
    char path[64], line[1024];
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(line, sizeof line, file) != NULL && strrchr(line, ')') != NULL) {
        (void)sscanf(strrchr(line, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
    }
    if (file != NULL) {
        fclose(file);
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static unsigned count_descriptors(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *opened = opendir(path);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (opened != NULL) {
        closedir(opened);
    }
    return count;
}

bool process_look_at(pid_t pid, process_look *look)
{
    *look = (process_look){0};
    if (pid <= 0 || !read_status(pid, look)) {
        return false;
    }
    look->cpu_s = read_cpu_s(pid);
    look->descriptors = count_descriptors(pid);
    return true;
}

double slope_of(const double *times, const double *values, unsigned count)
{
    double time = 0, value = 0, above = 0, below = 0;
    for (unsigned i = 0; i < count; i++) {
        time += times[i] / count;
        value += values[i] / count;
    }
    for (unsigned i = 0; i < count; i++) {
        above += (times[i] - time) * (values[i] - value);
        below += (times[i] - time) * (times[i] - time);
    }
    return below > 0 ? above / below : 0;
}
