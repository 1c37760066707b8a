// A line is put together on the stack and written with one call: start at tarn_log.
#include "server/common/log.h"
#include "server/common/printable.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *log_program = "tarn";
static tarn_log_level log_level = TARN_LOG_INFO;

void tarn_log_open(const char *program, tarn_log_level level)
{
    log_program = program;
    log_level = level;
}

int tarn_log_level_find(const char *name)
{
    for (int i = 0; i <= TARN_LOG_DEBUG; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

const char *tarn_log_level_name(tarn_log_level level)
{
    return level_names[level];
}

void tarn_log(tarn_log_level level, const char *format, ...)
{
    if (level > log_level) {
        return;
    }
    char line[TARN_LOG_LINE_BYTES_MAX];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    size_t used = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    used += (size_t)snprintf(line + used, sizeof line - used, ".%03ldZ %-5s %s: ", now.tv_nsec / 1000000,
                             level_names[level], log_program);
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    va_end(arguments);
    size_t end = used + (wanted > 0 ? strlen(line + used) : 0);
    tarn_make_printable(line + used);
    line[end++] = '\n';
    // A log that cannot be written has nowhere to be reported, and a reader that has stopped, such as a terminal after
    // Ctrl-S, stops nobody else.
    struct pollfd pollfd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLOUT)) {
        ssize_t written = write(STDERR_FILENO, line, end);
        (void)written;
    }
}
