// The order of a run:
//
//     open all viewers -> let them settle -> metrics -> measure -> metrics -> close all
//
// What takes time of its own (the metrics page) happens outside the measurement. Begin at load_run.
#include "server/tool/load/run.h"
#include "server/base/clock.h"
#include "server/base/text.h"
#include "server/tool/load/socket.h"
#include "server/tool/load/viewer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// ---- results ----
// What everybody notes and reads of a run: kinds of viewers, failures, whether all went well.

static const struct {
    const char *name; ///< for people
    const char *key;  ///< in JSON
} kinds[LOAD_KIND_COUNT] = {
    [LOAD_STEADY] = {"steady", "steady"},
    [LOAD_PUSHER] = {"pushing", "pushing"},
    [LOAD_SLOW] = {"slow", "slow"},
    [LOAD_STALLED] = {"stalled", "stalled"},
    [LOAD_HALF_OPEN] = {"half-open", "half_open"},
    [LOAD_RECONNECTING] = {"reconnecting", "reconnecting"},
};

const char *load_kind_name(load_kind kind)
{
    return kinds[kind].name;
}

static uint32_t connections_of(const load_options *options)
{
    uint32_t count = 0;
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        count += options->counts[kind];
    }
    return count;
}

void load_fail(load_results *results, const char *text)
{
    for (uint32_t i = 0; i < results->failure_count; i++) {
        if (strcmp(results->failures[i].text, text) == 0) {
            results->failures[i].count++;
            return;
        }
    }
    if (results->failure_count == LOAD_FAILURES_MAX) {
        results->failures_untold++;
        return;
    }
    load_failure *failure = &results->failures[results->failure_count++];
    failure->count = 1;
    snprintf(failure->text, sizeof failure->text, "%s", text);
}

bool load_results_good(const load_results *results)
{
    return results->seconds > 0 && results->failure_count == 0 && results->checked_wrong == 0 &&
           results->chains_wrong == 0;
}

// ---- the server's metrics page ----

enum { PAGE_BYTES_MAX = 512 * 1024, LINE_BYTES_MAX = 192 };

/// All of a page comes until then, or doesn't count.
static uint64_t deadline_ns(void)
{
    return tarn_clock_monotonic_ns() + LOAD_SERVER_WAIT_MS * (uint64_t)1000000;
}

static bool wait_for(int fd, short events, uint64_t until_ns)
{
    struct pollfd pollfd = {.fd = fd, .events = events};
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    return now_ns < until_ns && poll(&pollfd, 1, (int)((until_ns - now_ns) / 1000000)) > 0;
}

/// @return a descriptor, or -1 with errno
static int connect_within(const load_target *target, uint64_t until_ns)
{
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    socklen_t bytes = sizeof error;
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, (const struct sockaddr *)&target->address, target->address_bytes) != 0 && errno != EINPROGRESS) {
        error = errno;
    } else if (!wait_for(fd, POLLOUT, until_ns)) {
        error = ETIMEDOUT;
    } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) {
        error = errno;
    }
    if (error == 0) {
        return fd;
    }
    close(fd);
    errno = error;
    return -1;
}

/// Whether connections to the address are refused, so that nothing listens there. Waits at most LOAD_SERVER_WAIT_MS.
static bool load_server_refuses(const load_target *target)
{
    int fd = connect_within(target, deadline_ns());
    if (fd >= 0) {
        close(fd);
        return false;
    }
    return errno == ECONNREFUSED;
}

/// @return the length of the answer, which is terminated
static size_t ask(load_channel *channel, const load_target *target, const char *key, uint64_t until_ns, char *answer,
                  size_t answer_bytes)
{
    char request[LOAD_TARGET_HOST_BYTES + TARN_PASS_BYTES_MAX + 160];
    size_t have = 0;
    int length =
        snprintf(request, sizeof request, "GET /metrics HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%s%s\r\n",
                 target->authority, key[0] != 0 ? "Authorization: Bearer " : "", key, key[0] != 0 ? "\r\n" : "");
    for (ssize_t sent; (sent = load_channel_send(channel, request, (size_t)length)) != length;) {
        if (sent >= 0 || errno != EAGAIN ||
            !wait_for(channel->fd, channel->waits_for_peer ? POLLIN : POLLOUT, until_ns)) {
            return 0; // so little is taken as a whole
        }
    }
    while (have < answer_bytes - 1 && (load_channel_has_more(channel) || wait_for(channel->fd, POLLIN, until_ns))) {
        ssize_t got = load_channel_receive(channel, answer + have, answer_bytes - 1 - have);
        if (got < 0 && errno == EAGAIN) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
    }
    answer[have] = '\0';
    return have;
}

/// What follows a line's beginning, where the page has such a line; NULL: it hasn't.
/// @param beginning  with the newline in front of it
static const char *find_line(const char *page, const char *beginning)
{
    const char *found = strstr(page, beginning);
    return found != NULL ? found + strlen(beginning) : NULL;
}

static double number_at(const char *text)
{
    const double value = text != NULL ? strtod(text, NULL) : 0;
    return isfinite(value) ? value : 0;
}

/// Of a session's series; what follows its name in the labels doesn't count.
static double value_of(const char *page, const char *name, const char *session)
{
    char beginning[LINE_BYTES_MAX];
    snprintf(beginning, sizeof beginning, "\ntarn_session_%s{session=\"%s\",", name, session);
    const char *labels = find_line(page, beginning), *end = labels != NULL ? strstr(labels, "} ") : NULL;
    return end != NULL ? number_at(end + 2) : 0;
}

/// Which worker has a session's tank, and its process.
static void find_worker(const char *page, const char *session, load_metrics *metrics)
{
    char beginning[LINE_BYTES_MAX];
    snprintf(beginning, sizeof beginning, "\ntarn_session_viewers{session=\"%s\",worker=\"", session);
    const char *worker = find_line(page, beginning);
    metrics->has_session = worker != NULL;
    metrics->worker = worker != NULL && worker[0] >= '0' && worker[0] <= '9' ? atoi(worker) : -1;
    snprintf(beginning, sizeof beginning, "\ntarn_worker_pid{worker=\"%d\"} ", metrics->worker);
    const double pid = number_at(find_line(page, beginning));
    metrics->worker_pid = pid >= 1 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/// Reads the page. Pure.
static void load_metrics_read(const char *page, const char *session, load_metrics *metrics)
{
    find_worker(page, session, metrics);
    metrics->viewers = value_of(page, "viewers", session);
    metrics->frames_received_total = value_of(page, "frames_received_total", session);
    metrics->frames_sent_total = value_of(page, "frames_sent_total", session);
    metrics->frames_skipped_total = value_of(page, "frames_skipped_total", session);
    metrics->bytes_sent_total = value_of(page, "bytes_sent_total", session);
    metrics->realtime_factor = value_of(page, "realtime_factor", session);
    metrics->step_seconds = value_of(page, "step_seconds", session);
    metrics->encode_seconds = value_of(page, "encode_seconds", session);
    metrics->particles = value_of(page, "particles", session);
}

bool load_metrics_fetch(const load_target *target, const char *session, const char *key, load_metrics *metrics)
{
    *metrics = (load_metrics){0};
    char *page = malloc(PAGE_BYTES_MAX);
    const uint64_t until_ns = deadline_ns();
    int fd = page != NULL ? connect_within(target, until_ns) : -1;
    load_channel channel = {0};
    if (fd >= 0) {
        size_t have = load_channel_open(&channel, fd, target) == TARN_OK
                          ? ask(&channel, target, key, until_ns, page, PAGE_BYTES_MAX)
                          : 0;
        load_channel_close(&channel);
        close(fd);
        if (have > 0 && strncmp(page, "HTTP/1.1 200", 12) == 0 && strstr(page, "\ntarn_viewers ") != NULL) {
            metrics->at_ns = tarn_clock_monotonic_ns();
            load_metrics_read(page, session, metrics);
        }
    }
    free(page);
    return metrics->at_ns != 0;
}

// ---- the server's processes ----
// /proc for processor time and memory.

/// The first line of a file of /proc that begins so, without that beginning. @return whether it is there
static bool read_line(const char *path, const char *beginning, char *text, int text_bytes)
{
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file != NULL && !found && fgets(text, text_bytes, file) != NULL) {
        size_t length = strlen(beginning);
        found = strncmp(text, beginning, length) == 0;
        if (found) {
            memmove(text, text + length, strlen(text + length) + 1);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/// Seconds that a process ran, from its threads' schedstat, which counts nanoseconds where stat has ticks.
static double cpu_of(pid_t pid)
{
    char path[96], text[128];
    uint64_t sum_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL) {
        return 0;
    }
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        long tid = strtol(task->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%d/task/%ld/schedstat", (int)pid, tid);
        if (tid > 0 && read_line(path, "", text, sizeof text)) {
            sum_ns += strtoull(text, NULL, 10);
        }
    }
    closedir(tasks);
    return 1e-9 * (double)sum_ns;
}

bool load_process_name(pid_t pid, char name[LOAD_PROCESS_NAME_BYTES])
{
    char path[64], line[LOAD_PROCESS_NAME_BYTES + 1];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (!read_line(path, "", line, sizeof line)) {
        return false;
    }
    snprintf(name, LOAD_PROCESS_NAME_BYTES, "%.*s", (int)strcspn(line, "\n"), line);
    tarn_make_printable(name);
    return true;
}

/// @return whether the process is there
static bool load_process_look(pid_t pid, load_process *process)
{
    char path[64], text[128];
    *process = (load_process){.pid = pid};
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (pid <= 0 || !read_line(path, "VmRSS:", text, sizeof text)) {
        return false;
    }
    process->rss_bytes = strtoull(text, NULL, 10) * 1024;
    process->cpu_s = cpu_of(pid);
    process->at_ns = tarn_clock_monotonic_ns();
    return true;
}

/// A child of a process: the wanted one where it is one, else the first; 0 where there is none.
static pid_t load_process_child(pid_t pid, pid_t wanted)
{
    char path[96], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (!read_line(path, "", text, sizeof text)) {
        return 0;
    }
    const pid_t first = (pid_t)strtol(text, NULL, 10);
    char *end = text;
    for (long child; (child = strtol(end, &end, 10)) > 0;) {
        if (child == wanted) {
            return wanted;
        }
    }
    return first;
}

// ---- the run ----

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

// ---- the run: the measurement ----

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

// ---- the run: the loop ----

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
    const uint32_t connections = connections_of(options);
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

// ---- the report ----
// Of each group of viewers, and of what the server said of itself: start at load_report_text and load_report_json.

static double ms_at(const load_histogram *histogram, double share)
{
    return 1e-6 * (double)load_histogram_at(histogram, share);
}

static double mbit_s(const load_results *results)
{
    uint64_t bytes = 0;
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        bytes += results->groups[kind].bytes;
    }
    return 8e-6 * (double)bytes / results->seconds;
}

/// Per second, between two looks at the metrics page.
static double metric_rate(const load_results *results, double before, double after)
{
    return (after - before) / (1e-9 * (double)(results->metrics[1].at_ns - results->metrics[0].at_ns));
}

/// Of one core, in percent.
static double cpu_percent(const load_process process[2])
{
    return 100 * (process[1].cpu_s - process[0].cpu_s) / (1e-9 * (double)(process[1].at_ns - process[0].at_ns));
}

static bool process_seen(const load_process process[2])
{
    return process[0].at_ns != 0 && process[1].at_ns != 0 && process[0].pid == process[1].pid;
}

/// What a connection adds to the gateway's own memory.
static double bytes_per_viewer(const load_options *options, const load_results *results)
{
    return ((double)results->gateway[1].rss_bytes - (double)results->gateway_alone.rss_bytes) / connections_of(options);
}

static bool metrics_seen(const load_results *results)
{
    const load_metrics *m = results->metrics;
    return m[0].at_ns != 0 && m[1].at_ns != 0 && m[0].has_session && m[1].has_session;
}

static uint64_t frames_of(const load_group *group)
{
    uint64_t count = 0;
    for (int kind = 0; kind < LOAD_FRAME_KINDS; kind++) {
        count += group->frames[kind];
    }
    return count;
}

static double mean(uint64_t sum, uint64_t count)
{
    return count > 0 ? (double)sum / (double)count : 0;
}

// ---- the report: for people ----

static void print_group(const load_options *options, const load_results *results, load_kind kind)
{
    const load_group *group = &results->groups[kind];
    uint32_t count = options->counts[kind];
    if (count == 0) {
        return;
    }
    printf("%-13s %5u %9.1f %8.2f %7.2f %7.2f", load_kind_name(kind), count,
           (double)frames_of(group) / results->seconds / count, 8e-6 * (double)group->bytes / results->seconds / count,
           group->mbit_s_min, group->mbit_s_max);
    if (group->interval.count > 0) {
        printf(" %7.1f %7.1f %7.1f", ms_at(&group->interval, 0.5), ms_at(&group->interval, 0.99),
               ms_at(&group->interval, 0.999));
    } else {
        printf(" %7s %7s %7s", "-", "-", "-");
    }
    printf(" %8llu %5llu %7.0f %7.0f\n", (unsigned long long)group->dropped, (unsigned long long)group->lost,
           ms_at(&group->first_frame, 0.5), ms_at(&group->first_frame, 0.99));
}

/// Which frames those were.
static void print_frames(const load_options *options, const load_results *results, load_kind kind)
{
    const load_group *group = &results->groups[kind];
    uint32_t count = options->counts[kind];
    if (count == 0) {
        return;
    }
    printf("%-13s %5s", load_kind_name(kind), "");
    for (int frame = 0; frame < LOAD_FRAME_KINDS; frame++) {
        printf(" %7.1f", (double)group->frames[frame] / results->seconds / count);
    }
    printf("  ");
    for (int frame = 0; frame < LOAD_FRAME_KINDS; frame++) {
        printf(" %7.1f", 1e-3 * mean(group->frame_bytes[frame], group->frames[frame]));
    }
    printf(" %9.2f\n", mean(group->layers, frames_of(group)));
}

static void print_delays(const char *what, const load_histogram *histogram)
{
    if (histogram->count == 0) {
        printf("%-46s %7s %7s %7s\n", what, "-", "-", "-");
        return;
    }
    printf("%-46s %7.1f %7.1f %7.1f\n", what, ms_at(histogram, 0.5), ms_at(histogram, 0.99),
           1e-6 * (double)histogram->max_ns);
}

static void print_inputs(const load_options *options, const load_results *results)
{
    if (options->counts[LOAD_PUSHER] == 0) {
        return;
    }
    printf("\n%-46s %7s %7s %7s\n", "input to frame, ms", "p50", "p99", "max");
    print_delays("  until the first bytes of a frame that has it", &results->input_to_head);
    print_delays("  until that frame is there as a whole", &results->input_to_frame);
    printf("  %llu inputs sent, %llu in no frame after a second, %llu refused\n",
           (unsigned long long)results->inputs_sent, (unsigned long long)results->inputs_unseen,
           (unsigned long long)results->inputs_refused);
}

static void print_process(const char *name, const load_process process[2])
{
    if (process_seen(process)) {
        printf("  %-8s %6.1f %% of a core, %.1f MB of memory\n", name, cpu_percent(process),
               1e-6 * (double)process[1].rss_bytes);
    }
}

static void print_server(const load_options *options, const load_results *results)
{
    const load_metrics *m = results->metrics;
    printf("\nserver, tank \"%s\"\n", results->session);
    if (m[0].at_ns == 0 || m[1].at_ns == 0) {
        printf("  it shows no page /metrics%s\n",
               options->key[0] != 0 ? "" : "; one that is kept to owners needs --key");
    } else if (!metrics_seen(results)) {
        printf("  its page /metrics tells nothing of this tank by name: it isn't listed\n");
    } else {
        printf("  frames a second: %.1f made, %.1f sent, %.1f skipped; %.0f viewers at the end\n",
               metric_rate(results, m[0].frames_received_total, m[1].frames_received_total),
               metric_rate(results, m[0].frames_sent_total, m[1].frames_sent_total),
               metric_rate(results, m[0].frames_skipped_total, m[1].frames_skipped_total), m[1].viewers);
        printf("  %.0f particles, %.2f times real time, %.2f ms a step, %.2f ms to encode a frame\n", m[1].particles,
               m[1].realtime_factor, 1e3 * m[1].step_seconds, 1e3 * m[1].encode_seconds);
    }
    print_process("gateway", results->gateway);
    print_process("worker", results->worker);
    if (process_seen(results->gateway) && results->gateway_alone.at_ns != 0) {
        printf("  memory of the gateway per connection: %.1f kB\n", 1e-3 * bytes_per_viewer(options, results));
    } else {
        printf("  --server-pid would show processor time and memory%s\n",
               options->server_pid > 0 ? ", but that process isn't there" : "");
    }
}

void load_report_text(const load_options *options, const load_results *results)
{
    printf("%u connections to %s, %.1f s%s: %.1f Mbit/s, %.1f frames a second that reached anybody\n\n",
           connections_of(options), options->target.authority, results->seconds,
           results->interrupted ? " (interrupted)" : "", mbit_s(results), (double)results->frames / results->seconds);
    printf("%-13s %5s %9s %24s %23s %8s %5s %15s\n", "", "", "frames/s", "Mbit/s of each        ",
           "interval, ms       ", "frames", "", "first frame, ms");
    printf("%-13s %5s %9s %8s %7s %7s %7s %7s %7s %8s %5s %7s %7s\n", "viewers", "count", "of each", "mean", "min",
           "max", "p50", "p99", "p99.9", "dropped", "lost", "p50", "p99");
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        print_group(options, results, (load_kind)kind);
    }
    printf("\n%-13s %5s %23s   %23s\n", "", "", "frames/s of each     ", "kB of a frame      ");
    printf("%-13s %5s %7s %7s %7s   %7s %7s %7s %9s\n", "frames", "", "key", "base", "extra", "key", "base", "extra",
           "layers");
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        print_frames(options, results, (load_kind)kind);
    }
    print_inputs(options, results);
    print_server(options, results);
    printf("\n%llu frames decoded, %llu wrong, %llu left out because the decoder was busy; %llu out of their order\n",
           (unsigned long long)results->checked, (unsigned long long)results->checked_wrong,
           (unsigned long long)results->checks_left_out, (unsigned long long)results->chains_wrong);
    printf("this program: %.1f %% of a core, its clock late by %.1f ms (p99)\n",
           100 * results->own_cpu_s / results->seconds, ms_at(&results->own_delay, 0.99));
}

// ---- the report: for programs ----

static json_t *times(const load_histogram *histogram)
{
    if (histogram->count == 0) {
        return json_null();
    }
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)histogram->count, "mean_ms",
                     1e-6 * (double)histogram->sum_ns / (double)histogram->count, "p50_ms", ms_at(histogram, 0.5),
                     "p99_ms", ms_at(histogram, 0.99), "p999_ms", ms_at(histogram, 0.999), "max_ms",
                     1e-6 * (double)histogram->max_ns);
}

static json_t *frames_json(const load_group *group)
{
    static const char *const names[LOAD_FRAME_KINDS] = {"key", "base", "extra"};
    json_t *frames = json_object();
    for (int kind = 0; kind < LOAD_FRAME_KINDS; kind++) {
        json_object_set_new(frames, names[kind],
                            json_pack("{s:I, s:I}", "frames", (json_int_t)group->frames[kind], "bytes",
                                      (json_int_t)group->frame_bytes[kind]));
    }
    return frames;
}

static json_t *group_json(const load_options *options, const load_results *results, load_kind kind)
{
    const load_group *group = &results->groups[kind];
    double count = options->counts[kind], seconds = results->seconds;
    return json_pack("{s:i, s:I, s:I, s:I, s:o, s:f, s:I, s:f, s:f, s:f, s:f, s:o, s:o}", "viewers",
                     (int)options->counts[kind], "connections", (json_int_t)group->connections, "lost",
                     (json_int_t)group->lost, "frames", (json_int_t)frames_of(group), "frames_by_kind",
                     frames_json(group), "layers", mean(group->layers, frames_of(group)), "frames_dropped",
                     (json_int_t)group->dropped, "frames_per_s_each", (double)frames_of(group) / seconds / count,
                     "mbit_s_each", 8e-6 * (double)group->bytes / seconds / count, "mbit_s_min", group->mbit_s_min,
                     "mbit_s_max", group->mbit_s_max, "interval", times(&group->interval), "first_frame",
                     times(&group->first_frame));
}

static json_t *groups_json(const load_options *options, const load_results *results)
{
    json_t *groups = json_object();
    for (int kind = 0; kind < LOAD_KIND_COUNT; kind++) {
        if (options->counts[kind] > 0) {
            json_object_set_new(groups, kinds[kind].key, group_json(options, results, (load_kind)kind));
        }
    }
    return groups;
}

static json_t *metrics_json(const load_results *results)
{
    const load_metrics *m = results->metrics;
    if (!metrics_seen(results)) {
        return json_null();
    }
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "session", results->session, "worker",
                     m[1].worker, "viewers", m[1].viewers, "frames_made_per_s",
                     metric_rate(results, m[0].frames_received_total, m[1].frames_received_total), "frames_sent_per_s",
                     metric_rate(results, m[0].frames_sent_total, m[1].frames_sent_total), "frames_skipped_per_s",
                     metric_rate(results, m[0].frames_skipped_total, m[1].frames_skipped_total), "bytes_sent_per_s",
                     metric_rate(results, m[0].bytes_sent_total, m[1].bytes_sent_total), "realtime_factor",
                     m[1].realtime_factor, "step_s", m[1].step_seconds, "encode_s", m[1].encode_seconds, "particles",
                     m[1].particles);
}

static json_t *process_json(const load_process process[2])
{
    if (!process_seen(process)) {
        return json_null();
    }
    return json_pack("{s:i, s:f, s:f, s:I}", "pid", (int)process[1].pid, "cpu_s", process[1].cpu_s - process[0].cpu_s,
                     "cpu_share", 0.01 * cpu_percent(process), "rss_bytes", (json_int_t)process[1].rss_bytes);
}

static json_t *server_json(const load_options *options, const load_results *results)
{
    bool memory = process_seen(results->gateway) && results->gateway_alone.at_ns != 0;
    return json_pack("{s:o, s:o, s:o, s:o}", "metrics", metrics_json(results), "gateway",
                     process_json(results->gateway), "worker", process_json(results->worker),
                     "gateway_bytes_per_connection",
                     memory ? json_real(bytes_per_viewer(options, results)) : json_null());
}

static json_t *failures_json(const load_results *results)
{
    json_t *failures = json_array();
    for (uint32_t i = 0; i < results->failure_count; i++) {
        json_array_append_new(failures, json_pack("{s:s, s:I}", "text", results->failures[i].text, "count",
                                                  (json_int_t)results->failures[i].count));
    }
    return failures;
}

bool load_report_json(const load_options *options, const load_results *results)
{
    json_t *report = json_pack("{s:s, s:f, s:b, s:b, s:o}", "server_address", options->target.authority, "seconds",
                               results->seconds, "interrupted", results->interrupted, "good",
                               load_results_good(results), "failures", failures_json(results));
    if (report != NULL && results->seconds > 0) {
        json_t *measured = json_pack(
            "{s:f, s:I, s:o, s:{s:I, s:I, s:I, s:o, s:o}, s:o, s:{s:I, s:I, s:I, s:I}, s:{s:f, s:o}}", "mbit_s",
            mbit_s(results), "frames", (json_int_t)results->frames, "viewers", groups_json(options, results), "inputs",
            "sent", (json_int_t)results->inputs_sent, "unseen", (json_int_t)results->inputs_unseen, "refused",
            (json_int_t)results->inputs_refused, "to_first_bytes", times(&results->input_to_head), "to_frame",
            times(&results->input_to_frame), "server", server_json(options, results), "checks", "decoded",
            (json_int_t)results->checked, "wrong", (json_int_t)results->checked_wrong, "left_out",
            (json_int_t)results->checks_left_out, "out_of_order", (json_int_t)results->chains_wrong, "this_program",
            "cpu_share", results->own_cpu_s / results->seconds, "delay", times(&results->own_delay));
        json_object_update(report, measured);
        json_decref(measured);
    }
    int error = report != NULL ? json_dumpf(report, stdout, JSON_INDENT(2)) : -1;
    json_decref(report);
    putchar('\n');
    return error == 0;
}
