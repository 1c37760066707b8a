/// Log lines of the server's programs, on stderr. One write per line, so that lines of the gateway and its workers,
/// which share stderr, do not mix. As text a line has time, level, program and sentence; as JSON it is one object:
///
///     {"ts":"2026-01-31T12:00:00.000Z","level":"info","program":"tarnd","worker":0,"tank":256,"session":"main",
///      "viewer":3,"msg":"..."}
///
/// in which worker, tank, session and viewer are there where the line is about one. What could steer a terminal in a
/// line, which may quote what a client sent, is written as '?' in text (text.h) and escaped in JSON. A line is at
/// most TARN_LOG_LINE_BYTES_MAX long; what is too much is left out of the sentence.
#ifndef TARN_SERVER_BASE_LOG_H
#define TARN_SERVER_BASE_LOG_H

#include <stdint.h>

enum { TARN_LOG_LINE_BYTES_MAX = 1024 };

typedef enum tarn_log_level {
    TARN_LOG_ERROR = 0,
    TARN_LOG_WARN = 1,
    TARN_LOG_INFO = 2,
    TARN_LOG_DEBUG = 3,
} tarn_log_level;

typedef enum tarn_log_format {
    TARN_LOG_TEXT = 0,
    TARN_LOG_JSON = 1,
} tarn_log_format;

/// What a line is about. Text doesn't show it: there the sentence says it.
typedef struct tarn_log_subject {
    const char *session; ///< its name; NULL: none
    uint32_t tank;       ///< 0: none
    uint32_t viewer;     ///< its id; 0: none
    int worker;          ///< its index and one more; 0: none, or the one that this program is
} tarn_log_subject;

/// Sets the program's name (a literal) and the least important level that is written. Called again it changes the
/// level.
void tarn_log_open(const char *program, tarn_log_level level);

/// "error", "warn", "info" or "debug" -> level; -1 for anything else.
int tarn_log_level_find(const char *name);
const char *tarn_log_level_name(tarn_log_level level);

/// Sets the format of all lines. Before it is called they are text.
/// @param worker  the index of the worker that this program is; -1: it is none
void tarn_log_set_format(tarn_log_format format, int worker);

/// "text" or "json" -> format; -1 for anything else.
int tarn_log_format_find(const char *name);
const char *tarn_log_format_name(tarn_log_format format);

void tarn_log(tarn_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tarn_log_of(tarn_log_level level, tarn_log_subject subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define tarn_log_error(...) tarn_log(TARN_LOG_ERROR, __VA_ARGS__)
#define tarn_log_warn(...) tarn_log(TARN_LOG_WARN, __VA_ARGS__)
#define tarn_log_info(...) tarn_log(TARN_LOG_INFO, __VA_ARGS__)
#define tarn_log_debug(...) tarn_log(TARN_LOG_DEBUG, __VA_ARGS__)

#endif
