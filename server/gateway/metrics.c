// Figures of processes, the time between an input and its picture, and the text for Prometheus, in which all samples of
// a metric stand together below its HELP and TYPE: begin at tarn_metrics_write.
#include "server/gateway/metrics.h"
#include "protocol/assert.h"
#include "server/base/limits.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- what processes take ----
// Figures out of /proc, of which only the processes' own folders are looked at: a sandbox may hide the rest.

enum {
    STAT_BYTES = 1024,
    START_FIELD = 20, // of /proc/self/stat, counted from behind the program's name
};

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

/// What a process' `stat` has behind its name, which may have anything in it; from the ')' on. NULL: it can't be read
static const char *read_stat(const char *folder, char text[STAT_BYTES])
{
    char path[96];
    snprintf(path, sizeof path, "%s/stat", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return NULL;
    }
    const size_t bytes = fread(text, 1, STAT_BYTES - 1, file);
    fclose(file);
    text[bytes] = '\0';
    return strrchr(text, ')');
}

static double read_start_s(void)
{
    char text[STAT_BYTES];
    unsigned long long ticks = 0;
    const char *rest = read_stat("/proc/self", text);
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
    char text[STAT_BYTES];
    const char *behind = read_stat(folder, text);
    return behind != NULL && behind[1] == ' ' && (behind[2] == 'T' || behind[2] == 't');
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

// ---- the time between an input and its picture ----
// As running means and sums.

void tarn_stages_note(tarn_stages *stages, tarn_stage stage, double seconds)
{
    if (!(seconds >= 0 && seconds <= TARN_STAGE_S_MAX)) {
        return;
    }
    const uint64_t count = ++stages->count[stage];
    stages->recent_s[stage] += (seconds - stages->recent_s[stage]) / (double)(count < 16 ? count : 16);
    stages->sum_s[stage] += seconds;
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return 1e-9 * (double)(int64_t)(to_ns - from_ns);
}

void tarn_stages_frame(tarn_stages *stages, const tarn_ipc_stamps *stamps, uint64_t now_ns)
{
    if (stamps->latched_ns > stamps->stepped_ns || stamps->stepped_ns > stamps->encoded_ns ||
        stamps->encoded_ns > now_ns) {
        return;
    }
    tarn_stages_note(stages, TARN_STAGE_STEP, seconds_between(stamps->latched_ns, stamps->stepped_ns));
    tarn_stages_note(stages, TARN_STAGE_ENCODE, seconds_between(stamps->stepped_ns, stamps->encoded_ns));
    tarn_stages_note(stages, TARN_STAGE_PASS, seconds_between(stamps->encoded_ns, now_ns));
}

// ---- the page ----

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "GCC " __VERSION__
#endif

/// The labels of a session as they are written: its name, escaped, and its worker.
typedef char session_labels[2 * sizeof(tarn_name) + 64];

static const double latency_bounds_s[TARN_METRICS_LATENCY_BUCKETS] = {0.005, 0.01, 0.02, 0.03, 0.05,
                                                                      0.075, 0.1,  0.2,  0.5,  1.0};

typedef struct metrics_text {
    char *at;
    size_t left;
} metrics_text;

static void put(metrics_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(metrics_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= text->left) {
        *text->at = 0;
        text->left = 0;
        return;
    }
    text->at += length;
    text->left -= (size_t)length;
}

static void put_metric(metrics_text *text, const char *name, const char *type, const char *help, double value)
{
    if (text->left) {
        put(text, "# HELP tarn_%s %s\n# TYPE tarn_%s %s\ntarn_%s %.17g\n", name, help, name, type, name, value);
    }
}

void tarn_latency_note(tarn_latency *latency, double seconds)
{
    int bucket = 0;
    while (bucket < TARN_METRICS_LATENCY_BUCKETS && seconds > latency_bounds_s[bucket]) {
        bucket++;
    }
    latency->buckets[bucket]++;
    latency->count++;
    latency->sum_s += seconds;
}

static void put_head(metrics_text *text, const char *name, const char *type, const char *help)
{
    if (text->left) {
        put(text, "# HELP tarn_%s %s\n# TYPE tarn_%s %s\n", name, help, name, type);
    }
}

/// A counter of each kind of frames.
static void put_kinds(metrics_text *text, const char *name, const char *help, const uint64_t *values)
{
    static const char *const kinds[TARN_METRICS_KINDS] = {"key", "base", "extra"};
    put_head(text, name, "counter", help);
    for (int kind = 0; kind < TARN_METRICS_KINDS && text->left; kind++) {
        put(text, "tarn_%s{kind=\"%s\"} %" PRIu64 "\n", name, kinds[kind], values[kind]);
    }
}

static void put_layers(metrics_text *text, const tarn_metrics *metrics)
{
    put_head(text, "viewers_by_layers", "gauge", "Viewers that get so many layers of the frames");
    for (int i = 0; i < TARN_STREAM_LAYERS_MAX && text->left; i++) {
        put(text, "tarn_viewers_by_layers{layers=\"%d\"} %" PRIu32 "\n", i + 1, metrics->viewers_by_layers[i]);
    }
}

/// The samples of a histogram. @param labels  that they have besides, with a comma behind each; may be empty
static void put_latency(metrics_text *text, const char *name, const char *labels, const tarn_latency *latency)
{
    uint64_t below = 0;
    const int bytes = (int)strlen(labels) - 1; // without the last comma
    for (int i = 0; i < TARN_METRICS_LATENCY_BUCKETS && text->left; i++) {
        below += latency->buckets[i];
        put(text, "tarn_%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, labels, latency_bounds_s[i], below);
    }
    if (text->left) {
        put(text, "tarn_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, latency->count);
    }
    const char *open = bytes > 0 ? "{" : "", *close = bytes > 0 ? "}" : "";
    if (text->left) {
        put(text, "tarn_%s_sum%s%.*s%s %.17g\n", name, open, bytes > 0 ? bytes : 0, labels, close, latency->sum_s);
    }
    if (text->left) {
        put(text, "tarn_%s_count%s%.*s%s %" PRIu64 "\n", name, open, bytes > 0 ? bytes : 0, labels, close,
            latency->count);
    }
}

static void put_stages(metrics_text *text, const tarn_stages *stages)
{
    static const char *const names[TARN_STAGE_COUNT] = {"wait", "step", "encode", "pass", "write"};
    put_head(text, "stage_seconds", "summary", "Stages between an input and the frame that shows it");
    for (int i = 0; i < TARN_STAGE_COUNT && text->left; i++) {
        put(text, "tarn_stage_seconds_sum{stage=\"%s\"} %.17g\ntarn_stage_seconds_count{stage=\"%s\"} %" PRIu64 "\n",
            names[i], stages->sum_s[i], names[i], stages->count[i]);
    }
}

typedef struct metric_text {
    const char *name, *type, *help;
} metric_text;

static const metric_text worker_metrics[TARN_WORKER_METRIC_COUNT] = {
    [TARN_WORKER_METRIC_READY] = {"worker_ready", "gauge", "Whether the worker simulates"},
    [TARN_WORKER_METRIC_STARTS] = {"worker_starts_total", "counter", "Starts of the worker"},
    [TARN_WORKER_METRIC_FAILURES] = {"worker_failures_total", "counter", "Ends of the worker that nobody asked for"},
    [TARN_WORKER_METRIC_RETRY] = {"worker_retry_seconds", "gauge",
                                  "Until the worker is started again; 0: it runs, or is being started"},
    [TARN_WORKER_METRIC_TANKS] = {"worker_tanks", "gauge", "Tanks that the worker has"},
    [TARN_WORKER_METRIC_LOAD] = {"worker_load", "gauge",
                                 "Part of the worker's time that its tanks take, all watched and in real time"},
    [TARN_WORKER_METRIC_PID] = {"worker_pid", "gauge", "The worker's process; 0: there is none"},
    [TARN_WORKER_METRIC_MEMORY] = {"worker_resident_memory_bytes", "gauge", "Memory that the worker's process takes"},
    [TARN_WORKER_METRIC_QUEUE] = {"worker_queue_messages", "gauge", "Messages that wait for the worker to read them"},
    [TARN_WORKER_METRIC_HELD] = {"worker_held_messages", "gauge",
                                 "Messages that wait until its tanks are brought back"},
};

static const metric_text session_metrics[TARN_SESSION_METRIC_COUNT] = {
    [TARN_SESSION_METRIC_VIEWERS] = {"session_viewers", "gauge", "Viewers in the session"},
    [TARN_SESSION_METRIC_FRAMES_RECEIVED] = {"session_frames_received_total", "counter", "Frames of its tank"},
    [TARN_SESSION_METRIC_FRAMES_SENT] = {"session_frames_sent_total", "counter", "Frames sent to its viewers"},
    [TARN_SESSION_METRIC_FRAMES_SKIPPED] = {"session_frames_skipped_total", "counter",
                                            "Frames that one of them was not sent, while it looked"},
    [TARN_SESSION_METRIC_BYTES_SENT] = {"session_bytes_sent_total", "counter",
                                        "Bytes of frames and messages sent to its viewers"},
    [TARN_SESSION_METRIC_REALTIME_FACTOR] = {"session_realtime_factor", "gauge",
                                             "Simulated seconds per second; 0 while resting or paused"},
    [TARN_SESSION_METRIC_STEP_S] = {"session_step_seconds", "gauge", "Mean time of a step over the last second"},
    [TARN_SESSION_METRIC_ENCODE_S] = {"session_encode_seconds", "gauge", "Mean time to encode a frame"},
    [TARN_SESSION_METRIC_ENCODER_BYTES] = {"session_encoder_bytes", "gauge",
                                           "Device memory that the encoder of its frames takes"},
    [TARN_SESSION_METRIC_PARTICLES] = {"session_particles", "gauge", "Particles in its tank"},
    [TARN_SESSION_METRIC_STEPS] = {"session_steps", "gauge", "Steps since its tank started afresh"},
    [TARN_SESSION_METRIC_UNCONVERGED] = {"session_unconverged", "gauge",
                                         "Substeps since its tank started afresh whose pressure did not converge"},
    [TARN_SESSION_METRIC_INPUTS_WAITING] = {"session_inputs_waiting", "gauge",
                                            "Inputs of its viewers that wait for the worker to read them"},
    [TARN_SESSION_METRIC_FRAMES_IN_FLIGHT] = {"session_frames_in_flight", "gauge",
                                              "Frames sent to its viewers and not acknowledged"},
    [TARN_SESSION_METRIC_WORKER_LOSSES] = {"session_worker_losses_total", "counter",
                                           "Times that the worker of its tank ended"},
    [TARN_SESSION_METRIC_RESUMES] = {"session_resumes_total", "counter",
                                     "Times that its tank then went on where it was"},
    [TARN_SESSION_METRIC_RESTARTS] = {"session_restarts_total", "counter", "Times that its tank then started afresh"},
    [TARN_SESSION_METRIC_SET_BACKS] = {"session_set_backs_total", "counter",
                                       "Times that its tank was set back because the simulation failed"},
};

/// A label's value, whatever is in it.
static void escape(const char *value, char *escaped, size_t escaped_bytes)
{
    size_t used = 0;
    for (; *value != '\0' && used + 2 < escaped_bytes; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n') {
            escaped[used++] = '\\';
        }
        escaped[used++] = *value == '\n' ? 'n' : *value;
    }
    escaped[used] = '\0';
}

static void put_workers(metrics_text *text, const tarn_metrics_page *page)
{
    char device[2 * sizeof(tarn_name)];
    put_head(text, "worker_info", "gauge", "What the worker simulates on");
    for (uint32_t i = 0; i < page->worker_count && text->left > 0; i++) {
        escape(page->workers[i].device, device, sizeof device);
        put(text, "tarn_worker_info{worker=\"%" PRIu32 "\",device=\"%s\"} 1\n", i, device);
    }
    for (int metric = 0; metric < TARN_WORKER_METRIC_COUNT; metric++) {
        const metric_text *of = &worker_metrics[metric];
        put_head(text, of->name, of->type, of->help);
        for (uint32_t i = 0; i < page->worker_count && text->left > 0; i++) {
            put(text, "tarn_%s{worker=\"%" PRIu32 "\"} %.17g\n", of->name, i, page->workers[i].values[metric]);
        }
    }
}

/// The labels of a session, with a comma behind each.
static void label_session(const tarn_metrics_session *session, session_labels labels)
{
    char label[2 * sizeof(tarn_name)];
    escape(session->label, label, sizeof label);
    if (session->worker >= 0) {
        snprintf(labels, sizeof(session_labels), "session=\"%s\",worker=\"%d\",", label, session->worker);
    } else {
        snprintf(labels, sizeof(session_labels), "session=\"%s\",worker=\"none\",", label);
    }
}

static void put_sessions(metrics_text *text, const tarn_metrics_page *page)
{
    session_labels labels[TARN_GATEWAY_SESSIONS_MAX];
    TARN_ASSERT(page->session_count <= TARN_GATEWAY_SESSIONS_MAX);
    for (uint32_t i = 0; i < page->session_count; i++) {
        label_session(&page->sessions[i], labels[i]);
    }
    for (int metric = 0; metric < TARN_SESSION_METRIC_COUNT; metric++) {
        const metric_text *of = &session_metrics[metric];
        put_head(text, of->name, of->type, of->help);
        for (uint32_t i = 0; i < page->session_count && text->left > 0; i++) {
            put(text, "tarn_%s{%.*s} %.17g\n", of->name, (int)strlen(labels[i]) - 1, labels[i],
                page->sessions[i].values[metric]);
        }
    }
    put_head(text, "session_step_time_seconds", "summary", "Time of the steps of its tank");
    for (uint32_t i = 0; i < page->session_count && text->left > 0; i++) {
        const int bytes = (int)strlen(labels[i]) - 1;
        put(text,
            "tarn_session_step_time_seconds_sum{%.*s} %.17g\ntarn_session_step_time_seconds_count{%.*s} %" PRIu64 "\n",
            bytes, labels[i], page->sessions[i].steps_s, bytes, labels[i], page->sessions[i].steps);
    }
    put_head(text, "session_input_to_frame_seconds", "histogram",
             "From an input's arrival to the first frame that contains it");
    for (uint32_t i = 0; i < page->session_count && text->left > 0; i++) {
        if (page->sessions[i].latency != NULL) {
            put_latency(text, "session_input_to_frame_seconds", labels[i], page->sessions[i].latency);
        }
    }
}

/// Under the names that all programs tell these by.
static void put_process(metrics_text *text, const tarn_process_usage *usage)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } all[] = {
        {"open_fds", "gauge", "Descriptors that are open", (double)usage->open_fds},
        {"max_fds", "gauge", "Descriptors that may be open", (double)usage->max_fds},
        {"resident_memory_bytes", "gauge", "Memory in use", (double)usage->resident_bytes},
        {"virtual_memory_bytes", "gauge", "Addresses in use", (double)usage->virtual_bytes},
        {"cpu_seconds_total", "counter", "Processor time", usage->cpu_s},
        {"start_time_seconds", "gauge", "When it began, in seconds since 1970", usage->start_s},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0] && text->left > 0; i++) {
        put(text, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.17g\n", all[i].name, all[i].help,
            all[i].name, all[i].type, all[i].name, all[i].value);
    }
}

static void put_server(metrics_text *text, const tarn_metrics_page *page)
{
    const tarn_metrics *m = page->metrics;
    put_head(text, "build_info", "gauge", "Which tarnd this is");
    if (text->left) {
        put(text, "tarn_build_info{version=\"" TARN_VERSION "\",compiler=\"" COMPILER "\"} 1\n");
    }
    put_head(text, "scrape_seconds", "summary", "What this text took of the loop, those before this one");
    if (text->left) {
        put(text, "tarn_scrape_seconds_sum %.17g\ntarn_scrape_seconds_count %" PRIu64 "\n", m->scrapes_s, m->scrapes);
    }
}

static void put_store(metrics_text *text, const tarn_store_counts *counts)
{
    put_metric(text, "store_failing", "gauge", "Sessions that can't be kept just now", counts->failing);
    put_metric(text, "store_vanished_total", "counter", "Files that somebody removed or moved while they were written",
               (double)counts->vanished);
    put_metric(text, "store_held_back", "gauge", "Sessions that began anew too often to be kept just now",
               counts->held);
    put_metric(text, "store_failures_total", "counter", "Commits that failed", (double)counts->failures);
    put_metric(text, "store_commits_total", "counter", "Commits of sessions' files", (double)counts->commits);
    put_metric(text, "store_state_bytes_total", "counter", "Bytes of tanks' states that were put, compressed",
               (double)counts->state_bytes);
    put_metric(text, "store_slowest_commit_seconds", "gauge", "What the slowest commit took", counts->commit_s);
    put_metric(text, "store_slowest_age_seconds", "gauge", "The most that a tank had to wait for its next commit",
               counts->age_s);
    put_metric(text, "store_unkept_seconds", "gauge",
               "The most of the newest past that a power cut would cost a tank now", counts->unkept_s);
    put_metric(text, "store_late_total", "counter", "Commits that came later than --durability", (double)counts->late);
    put_metric(text, "store_states_set_aside_total", "counter",
               "States that ended their workers, set aside in the files", (double)counts->states_aside);
    put_metric(text, "store_set_aside", "gauge", "Files of sessions that could not be read at the start",
               counts->set_aside);
}

size_t tarn_metrics_write(const tarn_metrics_page *page, char *bytes, size_t text_bytes)
{
    metrics_text text = {bytes, text_bytes};
    const tarn_metrics *m = page->metrics;
    put_metric(&text, "viewers", "gauge", "Viewers in sessions", (double)m->viewers);
    put_metric(&text, "connections_total", "counter", "Connections accepted", (double)m->connections_total);
    put_metric(&text, "connections_refused_total", "counter", "Connections refused by a limit",
               (double)m->connections_refused_total);
    put_metric(&text, "connections_dropped_total", "counter", "Idle connections ended, to make room or after a time",
               (double)m->connections_dropped_total);
    put_metric(&text, "messages_total", "counter", "Messages from viewers", (double)m->messages_total);
    put_metric(&text, "messages_unknown_total", "counter", "Messages of unknown kinds, ignored",
               (double)m->messages_unknown_total);
    put_metric(&text, "messages_refused_total", "counter", "Messages answered with an error",
               (double)m->messages_refused_total);
    put_metric(&text, "inputs_total", "counter", "Inputs handed to workers", (double)m->inputs_total);
    put_metric(&text, "inputs_coalesced_total", "counter", "Inputs replaced by newer ones on their way",
               (double)m->inputs_coalesced_total);
    put_metric(&text, "frames_received_total", "counter", "Frames from workers", (double)m->frames_received_total);
    put_metric(&text, "keys_asked_total", "counter", "Key frames asked for because a viewer needed one",
               (double)m->keys_asked_total);
    put_metric(&text, "moves_total", "counter", "Tanks that went to another worker", (double)m->moves_total);
    put_metric(&text, "moves_failed_total", "counter", "Tanks that were to go, and stayed",
               (double)m->moves_failed_total);
    if (page->store != NULL) {
        put_store(&text, page->store);
    }
    put_metric(&text, "frames_sent_total", "counter", "Frames sent to viewers", (double)m->frames_sent_total);
    put_kinds(&text, "frames_by_kind_total", "Frames sent to viewers, by kind", m->frames_by_kind_total);
    put_kinds(&text, "frame_bytes_by_kind_total", "Bytes of frames sent to viewers, by kind",
              m->frame_bytes_by_kind_total);
    put_layers(&text, m);
    put_metric(&text, "frames_skipped_total", "counter", "Frames that a viewer was not sent, while it looked",
               (double)m->frames_skipped_total);
    put_metric(&text, "bytes_sent_total", "counter", "Bytes of frames and messages sent to viewers",
               (double)m->bytes_sent_total);
    put_head(&text, "input_to_frame_seconds", "histogram",
             "From an input's arrival to the first frame that contains it");
    put_latency(&text, "input_to_frame_seconds", "", &m->latency);
    put_stages(&text, &m->stages);
    put_workers(&text, page);
    put_sessions(&text, page);
    put_server(&text, page);
    put_process(&text, &page->usage);
    return (size_t)(text.at - bytes);
}
