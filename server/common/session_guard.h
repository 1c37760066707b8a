/// What lets a session's file be opened that somebody else has made: it may be no file, lead elsewhere, or be a
/// database that does what a session's doesn't. Nothing here reads a session.
#ifndef TARN_SERVER_COMMON_SESSION_GUARD_H
#define TARN_SERVER_COMMON_SESSION_GUARD_H

#include "protocol/message.h"
#include "protocol/status.h"

#include <sqlite3.h>
#include <stdint.h>

enum {
    TARN_SESSION_WORK_MAX = 50000000,         ///< of SQLite's instructions for one call, which takes seconds
    TARN_SESSION_BLOB_BYTES_MAX = 1000000000, ///< of a frame: SQLite's own limit
};

/// Looks at what SQLite would take for a database's logs: what lies beside it under their names is a regular file of
/// that name alone, or isn't there. A rollback journal that names another file, which SQLite would delete, is refused.
/// @param path  of the database  @return TARN_OK or TARN_E_IO, with a sentence
tarn_status tarn_session_guard_logs(const char *path, tarn_text why);

/// Takes from a connection what a session needs none of, before anything is read by it. @param left  counts what is
/// left of TARN_SESSION_WORK_MAX, which the caller renews; it must outlive the connection
void tarn_session_guard_connection(sqlite3 *db, int64_t *left);

/// Whether a database is made up of what a schema says and nothing else, and counts its rows as one that was filled
/// row by row. @param path  for the sentence
/// @return TARN_OK, TARN_E_MALFORMED or TARN_E_MEMORY, with a sentence
tarn_status tarn_session_guard_schema(sqlite3 *db, const char *schema, const char *path, tarn_text why);

#endif
