// Names first, then the connection, then the schema, in the order in which a stranger's file could do harm.
#include "server/common/session_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WORK_STEP = 10000,      // instructions between two looks at what is left
    SEQUENCE_MAX_BITS = 53, // of a row's number: nobody fills more by hand
};

/// The last bytes of a rollback journal that names another file.
static const unsigned char journal_mark[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

/// @return whether there is no such file, or it is one of its own
static bool is_plain(const char *path, tarn_text why)
{
    struct stat found;
    if (lstat(path, &found) != 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: %s", path, strerror(errno));
        return errno == ENOENT;
    }
    const char *what = S_ISLNK(found.st_mode)    ? "a link"
                       : !S_ISREG(found.st_mode) ? "no regular file"
                       : found.st_nlink > 1      ? "a file that has another name too"
                                                 : NULL;
    if (what != NULL) {
        snprintf(why, sizeof(tarn_text), "%.300s: it is %s, allowed is a regular file of this name alone", path, what);
    }
    return what == NULL;
}

static bool names_another(const char *journal)
{
    unsigned char end[sizeof journal_mark];
    bool is_named = false;
    const int fd = open(journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0) {
        const off_t size = lseek(fd, 0, SEEK_END);
        is_named = size >= (off_t)sizeof end && pread(fd, end, sizeof end, size - (off_t)sizeof end) == sizeof end &&
                   memcmp(end, journal_mark, sizeof end) == 0;
        close(fd);
    }
    return is_named;
}

tarn_status tarn_session_guard_logs(const char *path, tarn_text why)
{
    static const char *const besides[] = {"-wal", "-shm", "-journal"};
    char beside[4200] = "";
    for (size_t i = 0; i < sizeof besides / sizeof besides[0]; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, besides[i]);
        if (!is_plain(beside, why)) {
            return TARN_E_IO;
        }
    }
    if (names_another(beside)) {
        snprintf(why, sizeof(tarn_text), "%.300s: it names another file, allowed is a journal of this database alone",
                 beside);
        return TARN_E_IO;
    }
    return TARN_OK;
}

static int on_progress(void *user)
{
    int64_t *left = user;
    *left -= WORK_STEP;
    return *left < 0;
}

void tarn_session_guard_connection(sqlite3 *db, int64_t *left)
{
    static const struct {
        int what, most;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, TARN_SESSION_BLOB_BYTES_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, 16384},
        {SQLITE_LIMIT_COLUMN, 32},
        {SQLITE_LIMIT_EXPR_DEPTH, 50},
        {SQLITE_LIMIT_COMPOUND_SELECT, 8},
        {SQLITE_LIMIT_VDBE_OP, 100000},
        {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 32},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    static const struct {
        int what, value;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        (void)sqlite3_limit(db, limits[i].what, limits[i].most);
    }
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        (void)sqlite3_db_config(db, settings[i].what, settings[i].value, NULL);
    }
    *left = TARN_SESSION_WORK_MAX;
    sqlite3_progress_handler(db, WORK_STEP, on_progress, left);
    // None of them reads the file.
    (void)sqlite3_exec(db, "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", NULL, NULL,
                       NULL);
}

static bool is_same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    const char *first = (const char *)sqlite3_column_text(a, column),
               *second = (const char *)sqlite3_column_text(b, column);
    return first == NULL || second == NULL ? first == second : strcmp(first, second) == 0;
}

/// @return SQLITE_OK: they are the same, SQLITE_MISMATCH, or what kept it from being seen
static int compare(sqlite3 *db, sqlite3 *model)
{
    static const char sql[] = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name";
    enum { COLUMNS = 4 };
    sqlite3_stmt *found = NULL, *expected = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &found, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_prepare_v2(model, sql, -1, &expected, NULL);
    }
    while (code == SQLITE_OK) {
        const int is_more = sqlite3_step(found), was_more = sqlite3_step(expected);
        if (is_more != SQLITE_ROW && is_more != SQLITE_DONE) {
            code = is_more;
        } else if (is_more != was_more) {
            code = SQLITE_MISMATCH;
        } else if (is_more == SQLITE_DONE) {
            break;
        }
        for (int i = 0; i < COLUMNS && code == SQLITE_OK; i++) {
            code = is_same_text(found, expected, i) ? SQLITE_OK : SQLITE_MISMATCH;
        }
    }
    sqlite3_finalize(found);
    sqlite3_finalize(expected);
    return code;
}

/// Whether a row that is put next gets a number. What can't be read says so when it is needed.
static bool has_numbers_left(sqlite3 *db)
{
    sqlite3_stmt *row = NULL;
    bool is_left = true;
    if (sqlite3_prepare_v2(db, "SELECT typeof(seq) = 'integer' AND seq >= 0 AND seq >> ?1 = 0 FROM sqlite_sequence", -1,
                           &row, NULL) == SQLITE_OK &&
        sqlite3_bind_int(row, 1, SEQUENCE_MAX_BITS) == SQLITE_OK) {
        while (is_left && sqlite3_step(row) == SQLITE_ROW) {
            is_left = sqlite3_column_int(row, 0) != 0;
        }
    }
    sqlite3_finalize(row);
    return is_left;
}

tarn_status tarn_session_guard_schema(sqlite3 *db, const char *schema, const char *path, tarn_text why)
{
    sqlite3 *model = NULL;
    tarn_status status = TARN_E_MEMORY;
    snprintf(why, sizeof(tarn_text), "%.300s: out of memory", path);
    if (sqlite3_open_v2(":memory:", &model, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        sqlite3_exec(model, schema, NULL, NULL, NULL) == SQLITE_OK) {
        const int code = compare(db, model);
        status = code == SQLITE_OK ? TARN_OK : code == SQLITE_NOMEM ? TARN_E_MEMORY : TARN_E_MALFORMED;
        if (code == SQLITE_MISMATCH) {
            snprintf(why, sizeof(tarn_text), "%.300s: it isn't made up as a session's file: it has other tables", path);
        } else if (status == TARN_E_MALFORMED) {
            snprintf(why, sizeof(tarn_text), "%.300s: what it is made up of can't be read: %s", path,
                     sqlite3_errstr(code));
        }
    }
    sqlite3_close(model);
    if (status == TARN_OK && !has_numbers_left(db)) {
        snprintf(why, sizeof(tarn_text), "%.300s: the numbers of its rows are used up", path);
        status = TARN_E_MALFORMED;
    }
    return status;
}
