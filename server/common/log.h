/// Log lines of the server's programs, on stderr: time, level, program, sentence. One write per line, so that lines of
/// the gateway and its workers, which share stderr, do not mix.
///
/// What could steer a terminal in a line, which may quote what a client sent, is written as '?' (printable.h).
#ifndef TARN_SERVER_COMMON_LOG_H
#define TARN_SERVER_COMMON_LOG_H

enum { TARN_LOG_LINE_BYTES_MAX = 1024 };

typedef enum tarn_log_level {
    TARN_LOG_ERROR = 0,
    TARN_LOG_WARN = 1,
    TARN_LOG_INFO = 2,
    TARN_LOG_DEBUG = 3,
} tarn_log_level;

/// Sets the program's name (a literal) and the least important level that is written. Call it once, at the start.
void tarn_log_open(const char *program, tarn_log_level level);

/// "error", "warn", "info" or "debug" -> level; -1 for anything else.
int tarn_log_level_find(const char *name);
const char *tarn_log_level_name(tarn_log_level level);

void tarn_log(tarn_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define tarn_log_error(...) tarn_log(TARN_LOG_ERROR, __VA_ARGS__)
#define tarn_log_warn(...) tarn_log(TARN_LOG_WARN, __VA_ARGS__)
#define tarn_log_info(...) tarn_log(TARN_LOG_INFO, __VA_ARGS__)
#define tarn_log_debug(...) tarn_log(TARN_LOG_DEBUG, __VA_ARGS__)

#endif
