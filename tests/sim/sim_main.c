// Runs histories, each in a process of its own, some at a time, and tells what came of them. Begin at main.
#include "tests/sim/sim.h"
#include "tests/sim/sim_history.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 16, FAILURES_SHOWN = 20 };

typedef struct job {
    pid_t pid; ///< 0: none
    char dir[64];
    sim_result *told; ///< shared with the process
} job;

static const char *const check_names[] = {
#define X(name, sentence) #name,
    SIM_CHECKS(X)
#undef X
};
static const char *const check_sentences[] = {
#define X(name, sentence) sentence,
    SIM_CHECKS(X)
#undef X
};

static sim_result total;
static uint64_t failure_count, first_failures[FAILURES_SHOWN];

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

static void begin(job *at, uint64_t seed)
{
    memset(at->told, 0, sizeof *at->told);
    at->told->seed = seed;
    at->told->failed = -1;
    snprintf(at->dir, sizeof at->dir, "/dev/shm/tarn-sim-XXXXXX");
    if (mkdtemp(at->dir) == NULL) {
        perror(at->dir);
        exit(1);
    }
    fflush(NULL);
    at->pid = fork();
    if (at->pid == 0) {
        sim_told = at->told;
        sim_history(seed, at->dir);
        fflush(NULL);
        _exit(0);
    }
}

static void end(job *at, int status)
{
    const sim_result *told = at->told;
    at->pid = 0;
    nftw(at->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < SIM_CHECK_COUNT; i++) {
        total.checked[i] += told->checked[i];
    }
    total.events += told->events;
    total.frames += told->frames;
    total.inputs += told->inputs;
    total.deaths += told->deaths;
    total.restarts += told->restarts;
    total.simulated_ms += told->simulated_ms;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return;
    }
    if (failure_count < FAILURES_SHOWN) {
        first_failures[failure_count] = told->seed;
        if (told->failed >= 0) {
            printf("FAILED seed %llu: %s: %s\n", (unsigned long long)told->seed, check_names[told->failed],
                   told->sentence);
        } else {
            printf("FAILED seed %llu: the process ended with status %d, signal %d\n", (unsigned long long)told->seed,
                   WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        }
    }
    failure_count++;
}

/// The seeds of a file that failed once: a number and why it is kept, line by line.
static size_t read_seeds(const char *path, uint64_t *seeds, size_t room)
{
    FILE *file = fopen(path, "r");
    char line[512];
    size_t count = 0;
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    while (fgets(line, sizeof line, file) != NULL && count < room) {
        char *end = NULL;
        const uint64_t seed = strtoull(line, &end, 10);
        if (end != line) {
            seeds[count++] = seed;
        }
    }
    fclose(file);
    return count;
}

/// @param kept  comes first, then as many as `count` from `first` on
static void run_all(const uint64_t *kept, uint64_t kept_count, uint64_t first, uint64_t count, int jobs)
{
    job of[JOBS_MAX];
    uint64_t begun = 0, ended = 0;
    for (int i = 0; i < jobs; i++) {
        of[i].pid = 0;
        of[i].told = mmap(NULL, sizeof *of[i].told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    while (ended < kept_count + count) {
        for (int i = 0; i < jobs && begun < kept_count + count; i++) {
            if (of[i].pid == 0) {
                begin(&of[i], begun < kept_count ? kept[begun] : first + begun - kept_count);
                begun++;
            }
        }
        int status = 0;
        const pid_t pid = wait(&status);
        for (int i = 0; i < jobs; i++) {
            if (of[i].pid == pid) {
                end(&of[i], status);
                ended++;
            }
        }
    }
}

/// Whether the gateway's library finds all that it calls; else a history would end at its first start.
static bool has_doubles(void)
{
    if (dlopen(SIM_GATEWAY_LIBRARY, RTLD_NOW | RTLD_LOCAL) != NULL) {
        return true;
    }
    fprintf(stderr,
            "%s\nThe gateway calls what has no double; libuv's are in sim_loop.c, libwebsockets' in sim_web.c\n",
            dlerror());
    return false;
}

static void usage(void)
{
    printf("sim [--kept FILE] [--first SEED] [--histories N] [--jobs N]   random histories of the gateway, from seeds "
           "that\n"
           "                                                               failed once and from SEED on\n"
           "sim --seed SEED [--trace]                                      one of them\n"
           "sim --doubles                                                  whether the gateway calls nothing else\n");
}

int main(int argc, char **argv)
{
    static uint64_t seeds[4096];
    uint64_t count = 1000, first = 1;
    const char *kept = NULL;
    int jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--trace") == 0) {
            sim_traces = true;
            continue;
        }
        if (strcmp(argv[i], "--doubles") == 0) {
            return has_doubles() ? 0 : 1;
        }
        i++;
        if (strcmp(argv[i - 1], "--histories") == 0) {
            count = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--first") == 0) {
            first = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--jobs") == 0) {
            jobs = atoi(value);
        } else if (strcmp(argv[i - 1], "--kept") == 0) {
            kept = value;
        } else if (strcmp(argv[i - 1], "--seed") == 0) {
            first = strtoull(value, NULL, 10);
            count = 1;
        } else {
            usage();
            return 2;
        }
    }
    jobs = jobs < 1 ? 1 : jobs > JOBS_MAX ? JOBS_MAX : jobs;
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const size_t kept_count = kept != NULL ? read_seeds(kept, seeds, sizeof seeds / sizeof seeds[0]) : 0;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    run_all(seeds, kept_count, first, count, jobs);
    count += kept_count;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    const double s = (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
    for (int i = 0; i < SIM_CHECK_COUNT; i++) {
        printf("%12llu  %-13s %s\n", (unsigned long long)total.checked[i], check_names[i], check_sentences[i]);
    }
    printf("%llu histories of %.1f s each: %llu events, %llu frames, %llu inputs, %llu deaths of workers, %llu of the "
           "gateway; %.1f histories/s\n",
           (unsigned long long)count, 1e-3 * (double)total.simulated_ms / (double)count,
           (unsigned long long)total.events, (unsigned long long)total.frames, (unsigned long long)total.inputs,
           (unsigned long long)total.deaths, (unsigned long long)total.restarts, (double)count / s);
    printf("%llu histories, %llu failed\n", (unsigned long long)count, (unsigned long long)failure_count);
    return failure_count == 0 ? 0 : 1;
}
