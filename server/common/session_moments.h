/// The rows of a session's file that say when a state was; for session_file and session_history.
#ifndef TARN_SERVER_COMMON_SESSION_MOMENTS_H
#define TARN_SERVER_COMMON_SESSION_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

typedef struct tarn_session_moment {
    int64_t state;
    uint64_t at_ns; ///< of the session's time
    uint32_t dt_ns; ///< that a step takes of it; 0: not known
    uint64_t bytes; ///< that the state takes, and the log before it
} tarn_session_moment;

#define TARN_SESSION_HISTORY_SCHEMA                                                                                    \
    "CREATE TABLE moments(state INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL CHECK(at_ns >= 0), "                       \
    "dt_ns INTEGER NOT NULL, bytes INTEGER NOT NULL);"                                                                 \
    "CREATE TABLE marks(id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INTEGER NOT NULL CHECK(at_ns >= 0), "              \
    "name TEXT NOT NULL);"

/// @return false: SQLite says why
bool tarn_session_moment_put(struct sqlite3 *db, const tarn_session_moment *moment);

#endif
