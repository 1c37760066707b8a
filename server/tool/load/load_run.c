// The order of a run:
//
//     open all viewers -> let them settle -> metrics -> measure -> metrics -> close all
//
// What takes time of its own (the metrics page) happens outside the measurement.
#include "server/common/clock.h"
#include "server/tool/load/load_viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    MS = 1000000,
    AFTER_METRICS_MS = 200, ///< before the measurement begins
    CLOSE_MS_MAX = 3000,    ///< for all connections to be closed
    SPARE_DESCRIPTORS = 64, ///< for everything but viewers
};

typedef enum run_phase { RUN_OPENING, RUN_SETTLING, RUN_STARTING, RUN_MEASURING, RUN_CLOSING } run_phase;

typedef struct load_runner {
    load_crowd crowd;
    uv_timer_t tick;
    run_phase phase;
    uint64_t began_ns, since_ns, ticked_ns;
    double own_cpu_s;
} load_runner;

static void on_checked(void *user, tarn_status status)
{
    load_results *results = ((load_crowd *)user)->results;
    char text[128];
    results->checked++;
    if (status != TARN_OK) {
        results->checked_wrong++;
        snprintf(text, sizeof text, "a frame could not be decoded: %s", tarn_status_text(status));
        load_fail(results, text);
    }
}

/// Viewers in turn, of those that listen.
static const void *choose_checked(void *user)
{
    load_crowd *crowd = user;
    for (uint32_t i = 0; i < crowd->viewer_count; i++) {
        const load_viewer *viewer = &crowd->viewers[crowd->turn++ % crowd->viewer_count];
        if (load_viewer_listens(viewer)) {
            return viewer;
        }
    }
    return NULL;
}

static double own_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void enter(load_runner *runner, run_phase phase, uint64_t now_ns)
{
    runner->phase = phase;
    runner->since_ns = now_ns;
}

static void look_at_server(load_runner *runner, int moment)
{
    load_results *results = runner->crowd.results;
    pid_t pid = runner->crowd.options->server_pid;
    if (pid > 0 && load_process_look(pid, &results->gateway[moment])) {
        load_process_look(load_process_child(pid, results->metrics[0].worker_pid), &results->worker[moment]);
    }
}

// ---- the measurement ----

static void begin(load_runner *runner, uint64_t now_ns)
{
    look_at_server(runner, 0);
    runner->own_cpu_s = own_cpu_s();
    for (uint32_t i = 0; i < runner->crowd.viewer_count; i++) {
        load_viewer_measure(&runner->crowd.viewers[i]);
    }
    runner->crowd.measuring = true;
    runner->ticked_ns = 0;
    enter(runner, RUN_MEASURING, now_ns);
}

static void note_viewer(load_group *group, double mbit_s)
{
    if (group->mbit_s_max == 0 && group->mbit_s_min == 0) {
        group->mbit_s_min = mbit_s;
    }
    group->mbit_s_min = mbit_s < group->mbit_s_min ? mbit_s : group->mbit_s_min;
    group->mbit_s_max = mbit_s > group->mbit_s_max ? mbit_s : group->mbit_s_max;
}

static void finish(load_runner *runner, uint64_t now_ns)
{
    load_results *results = runner->crowd.results;
    look_at_server(runner, 1);
    results->own_cpu_s = own_cpu_s() - runner->own_cpu_s;
    results->seconds = 1e-9 * (double)(now_ns - runner->since_ns);
    for (uint32_t i = 0; i < runner->crowd.viewer_count; i++) {
        load_viewer *viewer = &runner->crowd.viewers[i];
        load_viewer_measure(viewer);
        note_viewer(&results->groups[viewer->kind], 8e-6 * (double)viewer->bytes / results->seconds);
        results->inputs_unseen += load_viewer_inputs_unseen(viewer, now_ns);
    }
    runner->crowd.measuring = false;
    load_metrics_fetch(&runner->crowd.options->target, results->session, runner->crowd.options->key,
                       &results->metrics[1]);
}

static void leave(load_runner *runner, uint64_t now_ns)
{
    runner->crowd.ending = true;
    for (uint32_t i = 0; i < runner->crowd.viewer_count; i++) {
        load_viewer_leave(&runner->crowd.viewers[i]);
    }
    enter(runner, RUN_CLOSING, now_ns);
}

// ---- the loop ----

static uint32_t count_settled(const load_runner *runner)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < runner->crowd.viewer_count; i++) {
        count += load_viewer_settled(&runner->crowd.viewers[i]);
    }
    return count;
}

static bool all_gone(const load_runner *runner)
{
    for (uint32_t i = 0; i < runner->crowd.viewer_count; i++) {
        if (runner->crowd.viewers[i].phase != LOAD_GONE) {
            return false;
        }
    }
    return true;
}

static void say(const load_runner *runner, const char *text)
{
    const load_options *options = runner->crowd.options;
    if (!options->quiet) {
        fprintf(stderr, "%s: %s\n", options->command, text);
    }
}

static void say_measuring(const load_runner *runner, uint64_t now_ns)
{
    char text[128];
    snprintf(text, sizeof text, "%u connections after %.1f s; measuring for %u s", runner->crowd.viewer_count,
             1e-9 * (double)(now_ns - runner->began_ns), runner->crowd.options->seconds);
    say(runner, text);
}

/// Goes from phase to phase when it is time.
static void advance(load_runner *runner, uint64_t now_ns)
{
    uint64_t since_ms = (now_ns - runner->since_ns) / MS;
    switch (runner->phase) {
    case RUN_OPENING:
        if (all_gone(runner)) {
            leave(runner, now_ns); // nobody got in
        } else if (count_settled(runner) == runner->crowd.viewer_count || since_ms > LOAD_OPENING_ALL_MS) {
            enter(runner, RUN_SETTLING, now_ns);
        }
        break;
    case RUN_SETTLING:
        if (since_ms >= LOAD_SETTLE_MS) {
            load_results *results = runner->crowd.results;
            load_metrics_fetch(&runner->crowd.options->target, results->session, runner->crowd.options->key,
                               &results->metrics[0]);
            enter(runner, RUN_STARTING, tarn_clock_monotonic_ns());
        }
        break;
    case RUN_STARTING:
        if (since_ms >= AFTER_METRICS_MS) {
            say_measuring(runner, now_ns);
            begin(runner, now_ns);
        }
        break;
    case RUN_MEASURING:
        if (since_ms >= (uint64_t)runner->crowd.options->seconds * 1000 || all_gone(runner)) {
            finish(runner, now_ns);
            leave(runner, now_ns);
        }
        break;
    case RUN_CLOSING:
        if (all_gone(runner) || since_ms > CLOSE_MS_MAX) {
            uv_close((uv_handle_t *)&runner->tick, NULL);
        }
        break;
    }
}

static void on_tick(uv_timer_t *timer)
{
    load_runner *runner = timer->data;
    uint64_t now_ns = tarn_clock_monotonic_ns();
    if (runner->phase == RUN_MEASURING) {
        uint64_t took_ns = runner->ticked_ns != 0 ? now_ns - runner->ticked_ns : 0;
        load_histogram_add(&runner->crowd.results->own_delay,
                           took_ns > LOAD_TICK_MS * (uint64_t)MS ? took_ns - LOAD_TICK_MS * (uint64_t)MS : 0);
        runner->ticked_ns = now_ns;
    }
    if (runner->crowd.options->interrupted() && runner->phase != RUN_CLOSING) {
        runner->crowd.results->interrupted = true;
        if (runner->phase == RUN_MEASURING) {
            finish(runner, now_ns);
        }
        leave(runner, now_ns);
    }
    for (uint32_t i = 0; i < runner->crowd.viewer_count; i++) {
        load_viewer_tick(&runner->crowd.viewers[i], now_ns);
    }
    advance(runner, now_ns);
}

/// As many descriptors as the system lets us have.
static bool make_descriptors(const load_options *options, uint32_t connections)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= connections + SPARE_DESCRIPTORS) {
        return true;
    }
    fprintf(stderr, "%s: %u connections need %u descriptors; allowed here are %llu (ulimit -n)\n", options->command,
            connections, connections + SPARE_DESCRIPTORS, (unsigned long long)limit.rlim_cur);
    return false;
}

static bool has_server(const load_options *options)
{
    const load_target *target = &options->target;
    if (!load_server_refuses(target)) {
        return true;
    }
    fprintf(stderr, "%s: nothing listens on %s", options->command, target->authority);
    if (target->loopback && target->address.ss_family == AF_INET) {
        fprintf(stderr, "; start it with deploy/run --port %u", target->port);
    }
    fprintf(stderr, "\n");
    return false;
}

static void make_viewers(load_runner *runner)
{
    uint32_t index = 0;
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        for (uint32_t i = 0; i < runner->crowd.options->counts[kind]; i++, index++) {
            load_viewer_init(&runner->crowd.viewers[index], &runner->crowd, (load_kind)kind, index);
        }
    }
}

bool load_run(const load_options *options, load_results *results)
{
    uint32_t connections = 0;
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        connections += options->counts[kind];
    }
    if (!make_descriptors(options, connections)) {
        return false;
    }
    load_process_look(options->server_pid, &results->gateway_alone);
    if (!has_server(options)) {
        return false;
    }
    load_runner *runner = calloc(1, sizeof *runner);
    load_viewer *viewers = calloc(connections, sizeof *viewers);
    if (runner == NULL || viewers == NULL || uv_loop_init(&runner->crowd.loop) != 0) {
        fprintf(stderr, "%s: out of memory for %u connections\n", options->command, connections);
        free(viewers);
        free(runner);
        return false;
    }
    load_crowd *crowd = &runner->crowd;
    crowd->options = options;
    crowd->results = results;
    crowd->viewers = viewers;
    crowd->viewer_count = connections;
    runner->began_ns = runner->since_ns = tarn_clock_monotonic_ns();
    crowd->checks = (load_checks){.loop = &crowd->loop,
                                  .every = options->check_every,
                                  .choose = choose_checked,
                                  .done = on_checked,
                                  .user = crowd};
    load_checks_init(&crowd->checks);
    make_viewers(runner);
    uv_timer_init(&crowd->loop, &runner->tick);
    runner->tick.data = runner;
    uv_timer_start(&runner->tick, on_tick, 0, LOAD_TICK_MS);
    uv_run(&crowd->loop, UV_RUN_DEFAULT);
    results->checks_left_out = crowd->checks.left_out;
    load_checks_free(&crowd->checks);
    uv_loop_close(&crowd->loop);
    free(viewers);
    free(runner);
    return true;
}
