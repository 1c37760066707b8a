// What goes wrong while people play, against the real programs: a table, a row for each fault, and a status that says
// whether every row holds. Begin at `rows`.
#include "tests/faults/lockstep.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fault_row {
    const char *name, *what;
    const char *const *options; ///< of tarnd; NULL: none
    int signal;                 ///< that a worker is sent
    int moments;                ///< in the long run
    double back_s;              ///< frames come again within
} fault_row;

static const char *const soon_killed[] = {"--worker-timeout", "1", NULL};

static const fault_row rows[] = {
    {"killed", "worker: kill -9", NULL, SIGKILL, 200, 1},
    {"stopped", "worker: SIGSTOP, --worker-timeout 1", soon_killed, SIGSTOP, 20, 3},
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// @return whether the row holds; a time that is too long is told, and held against it only where asked
static bool run(const fault_row *row, int moments, unsigned seed)
{
    lockstep_result result;
    lockstep_run(row->options, row->signal, moments, seed, &result);
    qsort(result.back_s, (size_t)result.moments, sizeof *result.back_s, compare);
    const double p50_s = result.back_s[result.moments / 2], max_s = result.back_s[result.moments - 1];
    const bool holds = result.viewers_gone == 0 && result.inputs_lost == 0 && result.tanks_differ == 0;
    printf("| %s | %d | %llu | %u | %u | %u | %.2f, %.2f (%.0f) | %s |\n", row->what, result.moments,
           (unsigned long long)result.inputs, result.inputs_lost, result.viewers_gone, result.tanks_differ, p50_s,
           max_s, row->back_s,
           !holds                 ? "FAIL"
           : max_s <= row->back_s ? "ok"
                                  : "ok, but late");
    fflush(stdout);
    lockstep_free(&result);
    return holds;
}

static int wrong(const char *found)
{
    fprintf(stderr, "faults: found \"%s\", allowed are a row (", found);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fprintf(stderr, "%s%s", i > 0 ? ", " : "", rows[i].name);
    }
    fprintf(stderr, "), --moments N of 1 to 1000 and --seed N\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    long moments = 0, seed = 17;
    for (int i = 1; i < argc; i++) {
        char *end = "";
        if (strcmp(argv[i], "--moments") == 0 && i + 1 < argc) {
            moments = strtol(argv[++i], &end, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtol(argv[++i], &end, 10);
        } else {
            only = argv[i];
        }
        if (*end != 0 || moments < 0 || moments > 1000 || seed < 0) {
            return wrong(argv[i]);
        }
    }
    int ran = 0, failed = 0;
    printf(
        "| fault | moments | inputs | lost | viewers gone | tanks that differ | frames again: s, p50, max (asked) | |\n"
        "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (only == NULL || strcmp(only, rows[i].name) == 0) {
            failed += !run(&rows[i], moments > 0 ? (int)moments : rows[i].moments, (unsigned)seed);
            ran++;
        }
    }
    if (ran == 0) {
        return wrong(only);
    }
    printf("%d faults, %d failed\n", ran, failed);
    return failed > 0;
}
