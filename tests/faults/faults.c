// What goes wrong while people play, against the real programs: a table, a row for each fault, and a status that says
// whether every row holds. Begin at `rows`.
#include "tests/faults/lockstep.h"
#include "tests/faults/networks.h"
#include "tests/faults/outage.h"
#include "tests/faults/reconnects.h"
#include "tests/faults/starved.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTAGE_LOST_MS_MAX = 100, NAMES_MAX = 32 };

typedef struct fault_row {
    const char *name, *what;
    server_fault fault; ///< without a strike the server is killed
    int moments;        ///< in the long run
    double back_s;      ///< frames come again within
} fault_row;

static const char *const spinning[] = {"--worker", TARN_TEST_SPINNING_WORKER, NULL};
static const char *const poisoned[] = {"--worker", TARN_TEST_POISONED_WORKER, "--devices", "cpu", NULL};
static const char *const failing[] = {"--worker", TARN_TEST_FAILING_DEVICE_WORKER, NULL};

/// Calls of the device for some steps of all three tanks and their frames, and to make and restore all three.
enum { CALLS_MAX = 600, RESTORING_CALLS_MAX = 2000 };

static const fault_row rows[] = {
    {"killed", "worker: kill -9", {.strike = strike_worker, .signal = SIGKILL}, 200, 1},
    {"stopped", "worker: SIGSTOP", {.strike = strike_worker, .signal = SIGSTOP}, 20, 2},
    {"spinning", "worker: spins in a step", {.options = spinning, .strike = strike_worker, .signal = SIGUSR1}, 20, 2},
    {"poisoned",
     "a velocity that is no number",
     {.options = poisoned, .strike = strike_worker, .signal = SIGUSR1, .spares_workers = true},
     40,
     1},
    {"device",
     "worker: device error, Nth call",
     {.options = failing, .strike = strike_worker, .signal = SIGUSR1, .value_max = CALLS_MAX},
     200,
     1},
    {"again",
     "worker: kill -9, next: device error",
     {.options = failing,
      .strike = strike_next_worker,
      .begin = strike_next_worker_begin,
      .end = strike_next_worker_end,
      .value_max = RESTORING_CALLS_MAX},
     50,
     2},
    {"suspended", "all stopped for 3 s, go on", {.strike = strike_all, .stop_ms = 3000, .spares_workers = true}, 20, 1},
    {"asleep", "all stopped for 31 s, go on", {.strike = strike_all, .stop_ms = 31000, .spares_workers = true}, 2, 1},
    {"clocks",
     "clocks jump: hours to years",
     {.strike = strike_clocks, .begin = strike_clocks_begin, .end = strike_clocks_end, .spares_workers = true},
     28,
     1},
    {"outage", "server: kill -9, --store", {0}, 100, 5},
    {"slow-disk", "the same, a sync takes up to 0.25 s", {.begin = strike_disk_begin, .end = strike_disk_end}, 20, 10},
    {"hunted", "server and workers: kill -9", {.worker_kills = 35}, 20, 5},
    {"crowded", "the same on a busy machine", {.worker_kills = 35, .busy = 2}, 20, 20},
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// What a row came to.
typedef struct row_outcome {
    bool holds;
    int moments;
    unsigned long long inputs;
    unsigned viewers_gone, tanks_differ;
    char lost[64];
    double *back_s; ///< by moment
} row_outcome;

/// A time that is too long is told, and not held against the row.
static void print_row(const fault_row *row, const row_outcome *outcome)
{
    qsort(outcome->back_s, (size_t)outcome->moments, sizeof *outcome->back_s, compare);
    const double p50_s = outcome->back_s[outcome->moments / 2], max_s = outcome->back_s[outcome->moments - 1];
    printf("| %s | %d | %llu | %s | %u | %u | %.2f, %.2f (%.0f) | %s |\n", row->what, outcome->moments, outcome->inputs,
           outcome->lost, outcome->viewers_gone, outcome->tanks_differ, p50_s, max_s, row->back_s,
           !outcome->holds        ? "FAIL"
           : max_s <= row->back_s ? "ok"
                                  : "ok, but late");
    fflush(stdout);
}

/// What a worker, or all, go through while people play. @return whether the row holds
static bool run_lockstep(const fault_row *row, int moments, unsigned seed)
{
    lockstep_result result;
    lockstep_run(&row->fault, moments, seed, &result);
    row_outcome outcome = {.holds = result.viewers_gone == 0 && result.inputs_lost == 0 && result.tanks_differ == 0 &&
                                    (row->fault.spares_workers ? result.workers_lost == 0
                                                               : result.workers_lost >= (uint32_t)result.moments),
                           .moments = result.moments,
                           .inputs = result.inputs,
                           .viewers_gone = result.viewers_gone,
                           .tanks_differ = result.tanks_differ,
                           .back_s = result.back_s};
    snprintf(outcome.lost, sizeof outcome.lost, row->fault.spares_workers ? "%u, and %u workers" : "%u",
             result.inputs_lost, result.workers_lost);
    print_row(row, &outcome);
    lockstep_free(&result);
    return outcome.holds;
}

/// The server's end. @return whether the row holds
static bool run_outage(const fault_row *row, int moments, unsigned seed)
{
    outage_result result;
    outage_run(&row->fault, moments, seed, &result);
    row_outcome outcome = {.holds = result.viewers_gone == 0 && result.tanks_afresh == 0 && result.files_damaged == 0 &&
                                    result.set_backs == 0 && result.lost_unsaid == 0,
                           .moments = result.moments,
                           .inputs = result.inputs,
                           .viewers_gone = result.viewers_gone,
                           .tanks_differ = result.tanks_afresh + result.files_damaged + result.set_backs,
                           .back_s = result.back_s};
    snprintf(outcome.lost, sizeof outcome.lost, "at most %.0f ms (%d), said %.0f%s", result.lost_ms, OUTAGE_LOST_MS_MAX,
             result.said_ms, result.lost_unsaid > 0 ? ", unsaid" : "");
    print_row(row, &outcome);
    outage_free(&result);
    return outcome.holds;
}

/// Allocations that fail. @return whether the row holds
static bool run_starved(const starved_act *act, bool is_short, unsigned seed)
{
    starved_result result;
    starved_run(act, is_short ? act->stride_short : act->stride, seed, &result);
    const bool holds = starved_holds(&result);
    printf("| %s | %u | %u | %u | %u | %lld, %lld | %u | %s |\n", act->what, result.calls, result.refused,
           result.unserved, result.crashes, (long long)result.pieces_left, (long long)result.libraries_left,
           result.others_hurt, holds ? "ok" : "FAIL");
    fflush(stdout);
    return holds;
}

static const char *starved_name(unsigned index)
{
    return index < starved_act_count ? starved_acts[index].name : NULL;
}

static const char *names[NAMES_MAX]; // on the command line
static int name_count;

static bool is_wanted(const char *row)
{
    for (int i = 0; i < name_count; i++) {
        if (strcmp(names[i], row) == 0) {
            return true;
        }
    }
    return name_count == 0;
}

/// The name of a row of any table; NULL behind the last one.
static const char *row_name(unsigned index)
{
    static const char *(*const others[])(unsigned index) = {starved_name, networks_name, reconnects_name};
    const unsigned own = sizeof rows / sizeof rows[0];
    if (index < own) {
        return rows[index].name;
    }
    index -= own;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (unsigned j = 0; others[i](j) != NULL; j++) {
            if (index-- == 0) {
                return others[i](j);
            }
        }
    }
    return NULL;
}

/// @return whether there is such a row, and room for its name
static bool take_name(const char *name)
{
    for (unsigned i = 0; row_name(i) != NULL; i++) {
        if (strcmp(name, row_name(i)) == 0 && name_count < NAMES_MAX) {
            names[name_count++] = name;
            return true;
        }
    }
    return false;
}

static int wrong(const char *found)
{
    fprintf(stderr, "faults: found \"%s\", allowed are rows (", found);
    for (unsigned i = 0; row_name(i) != NULL; i++) {
        fprintf(stderr, "%s%s", i > 0 ? ", " : "", row_name(i));
    }
    fprintf(stderr, "), --moments N of 1 to 1000 and --seed N\n");
    return 2;
}

int main(int argc, char **argv)
{
    long moments = 0, seed = 17;
    for (int i = 1; i < argc; i++) {
        char *end = "";
        if (strcmp(argv[i], "--moments") == 0 && i + 1 < argc) {
            moments = strtol(argv[++i], &end, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtol(argv[++i], &end, 10);
        } else if (!take_name(argv[i])) {
            return wrong(argv[i]);
        }
        if (*end != 0 || moments < 0 || moments > 1000 || seed < 0) {
            return wrong(argv[i]);
        }
    }
    int ran = 0, failed = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_wanted(rows[i].name)) {
            const int count = moments > 0 && moments < rows[i].moments ? (int)moments : rows[i].moments;
            if (ran++ == 0) {
                printf(
                    "| fault | moments | inputs | lost | viewers gone | tanks that differ | frames again: s, p50, max "
                    "(asked) | |\n|---|---|---|---|---|---|---|---|\n");
            }
            failed += !(rows[i].fault.strike != NULL ? run_lockstep : run_outage)(&rows[i], count, (unsigned)seed);
        }
    }
    int others = 0;
    for (uint32_t i = 0; i < starved_act_count; i++) {
        if (is_wanted(starved_acts[i].name)) {
            if (others++ == 0) {
                printf("\n| an allocation fails | calls | refused | not served after | crashes | pieces left: ours, "
                       "libraries' | others hurt | |\n|---|---|---|---|---|---|---|---|\n");
            }
            failed += !run_starved(&starved_acts[i], moments > 0, (unsigned)seed);
        }
    }
    ran += others;
    failed += networks_run(is_wanted, moments > 0 ? (int)moments : NETWORKS_TURNS, &others);
    ran += others;
    failed += reconnects_run(is_wanted, moments > 0 ? (int)moments * RECONNECTS_OF_A_MOMENT : RECONNECTS, &others);
    ran += others;
    printf("%d faults, %d failed\n", ran, failed);
    return failed > 0;
}
