// The metrics page over HTTP, and /proc for processor time and memory.
#include "server/tool/load/load_server.h"
#include "server/common/clock.h"
#include "server/common/printable.h"
#include "server/tool/load/load_channel.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES_MAX = 512 * 1024, LINE_BYTES_MAX = 192 };

// ---- connections and the metrics page ----

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

bool load_server_refuses(const load_target *target)
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

void load_metrics_read(const char *page, const char *session, load_metrics *metrics)
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

// ---- processes ----

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

bool load_process_look(pid_t pid, load_process *process)
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

pid_t load_process_child(pid_t pid, pid_t wanted)
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
