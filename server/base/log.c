// A line is put together on the stack and written with one call: start at write_line.
#include "server/base/log.h"
#include "protocol/assert.h"
#include "server/base/text.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TIME_BYTES = 32,
    SUBJECT_BYTES_MAX = 512, ///< of a line, up to its sentence
    ESCAPE_BYTES = sizeof "\\u0000" - 1,
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const format_names[] = {"text", "json"};
static const char *log_program = "tarn";
static _Atomic tarn_log_level log_level = TARN_LOG_INFO;
static tarn_log_format log_format = TARN_LOG_TEXT;
static int log_worker = -1;

static int find(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

void tarn_log_open(const char *program, tarn_log_level level)
{
    log_program = program;
    log_level = level;
}

void tarn_log_set_format(tarn_log_format format, int worker)
{
    log_format = format;
    log_worker = worker;
}

int tarn_log_level_find(const char *name)
{
    return find(name, level_names, sizeof level_names / sizeof level_names[0]);
}

const char *tarn_log_level_name(tarn_log_level level)
{
    return level_names[level];
}

int tarn_log_format_find(const char *name)
{
    return find(name, format_names, sizeof format_names / sizeof format_names[0]);
}

const char *tarn_log_format_name(tarn_log_format format)
{
    return format_names[format];
}

/// RFC 3339, in UTC, to the millisecond.
static void write_time(char text[TIME_BYTES])
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    const size_t used = strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + used, TIME_BYTES - used, ".%03ldZ", now.tv_nsec / 1000000);
}

/// The number of a character that takes two or three bytes, as all do that steer something.
static unsigned number_of(const unsigned char *c, size_t bytes)
{
    return bytes == 1   ? c[0]
           : bytes == 2 ? (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu)
                        : (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
}

/// Writes what stands between the quotes of a JSON string, as many whole characters as there is room for.
/// @return bytes written, without a NUL
static size_t write_escaped(char *at, size_t room, const char *text)
{
    const char *const begin = at;
    while (*text != '\0') {
        char escape[ESCAPE_BYTES + 1];
        bool steers;
        size_t bytes = tarn_character_bytes(text, &steers), written = bytes;
        const char *from = text;
        if (bytes == 0) {
            written = (size_t)snprintf(escape, sizeof escape, "\\ufffd");
            from = escape;
            bytes = 1;
        } else if (steers) {
            TARN_ASSERT(bytes <= 3);
            written = (size_t)snprintf(escape, sizeof escape, "\\u%04x", number_of((const unsigned char *)text, bytes));
            from = escape;
        } else if (*text == '"' || *text == '\\') {
            written = (size_t)snprintf(escape, sizeof escape, "\\%c", *text);
            from = escape;
        }
        if (written > room) {
            break;
        }
        memcpy(at, from, written);
        at += written;
        room -= written;
        text += bytes;
    }
    return (size_t)(at - begin);
}

/// @return bytes of the line
static size_t make_json(char *line, size_t line_bytes, tarn_log_level level, const tarn_log_subject *subject,
                        const char *time, const char *sentence)
{
    static const char end[] = "\"}\n";
    size_t used = (size_t)snprintf(line, SUBJECT_BYTES_MAX, "{\"ts\":\"%s\",\"level\":\"%s\",\"program\":\"%s\"", time,
                                   level_names[level], log_program);
    const int worker = subject->worker > 0 ? subject->worker - 1 : log_worker;
    if (worker >= 0) {
        used += (size_t)snprintf(line + used, SUBJECT_BYTES_MAX - used, ",\"worker\":%d", worker);
    }
    if (subject->tank > 0) {
        used += (size_t)snprintf(line + used, SUBJECT_BYTES_MAX - used, ",\"tank\":%u", subject->tank);
    }
    if (subject->viewer > 0) {
        used += (size_t)snprintf(line + used, SUBJECT_BYTES_MAX - used, ",\"viewer\":%u", subject->viewer);
    }
    TARN_ASSERT(used < SUBJECT_BYTES_MAX / 2);
    if (subject->session != NULL) {
        used += (size_t)snprintf(line + used, SUBJECT_BYTES_MAX - used, ",\"session\":\"");
        used += write_escaped(line + used, SUBJECT_BYTES_MAX - used, subject->session);
        line[used++] = '"';
    }
    used += (size_t)snprintf(line + used, line_bytes - used, ",\"msg\":\"");
    used += write_escaped(line + used, line_bytes - used - (sizeof end - 1), sentence);
    memcpy(line + used, end, sizeof end - 1);
    return used + sizeof end - 1;
}

static size_t make_text(char *line, size_t line_bytes, tarn_log_level level, const char *time, const char *sentence)
{
    const size_t used = (size_t)snprintf(line, line_bytes, "%s %-5s %s: ", time, level_names[level], log_program);
    snprintf(line + used, line_bytes - used - 1, "%s", sentence);
    tarn_make_printable(line + used);
    const size_t end = strlen(line);
    line[end] = '\n';
    return end + 1;
}

static void write_line(tarn_log_level level, const tarn_log_subject *subject, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void write_line(tarn_log_level level, const tarn_log_subject *subject, const char *format, va_list arguments)
{
    char time[TIME_BYTES], sentence[TARN_LOG_LINE_BYTES_MAX], line[TARN_LOG_LINE_BYTES_MAX];
    if (level > log_level) {
        return;
    }
    write_time(time);
    if (vsnprintf(sentence, sizeof sentence, format, arguments) < 0) {
        sentence[0] = '\0';
    }
    const size_t bytes = log_format == TARN_LOG_JSON ? make_json(line, sizeof line, level, subject, time, sentence)
                                                     : make_text(line, sizeof line, level, time, sentence);
    TARN_ASSERT(bytes <= sizeof line);
    // A log that cannot be written has nowhere to be reported, and a reader that has stopped, such as a terminal after
    // Ctrl-S, stops nobody else.
    struct pollfd pollfd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&pollfd, 1, 0) == 1 && (pollfd.revents & POLLOUT)) {
        ssize_t written = write(STDERR_FILENO, line, bytes);
        (void)written;
    }
}

void tarn_log(tarn_log_level level, const char *format, ...)
{
    const tarn_log_subject nothing = {0};
    va_list arguments;
    va_start(arguments, format);
    write_line(level, &nothing, format, arguments);
    va_end(arguments);
}

void tarn_log_of(tarn_log_level level, tarn_log_subject subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(level, &subject, format, arguments);
    va_end(arguments);
}
