// Opens a session's file in three ways, and makes it. Begin at `schemas`, then set_up for one that is written and
// begin_to_read for one that is read.
#include "server/common/file_bytes.h"
#include "server/common/session_moments.h"
#include "server/common/session_parts.h"
#include "server/common/session_shrink.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x5441524e,
    VERSION = 2,
    LEVEL = 1,     // of compression: a higher one takes many times as long for a few percent
    BUSY_MS = 200, // for whoever reads it by another program; other tanks wait meanwhile
};

#define SCHEMA_1                                                                                                       \
    "CREATE TABLE about(id INTEGER PRIMARY KEY CHECK(id = 1), frame BLOB NOT NULL);"                                   \
    "CREATE TABLE states(id INTEGER PRIMARY KEY AUTOINCREMENT, follows INTEGER NOT NULL, frame BLOB NOT NULL);"        \
    "CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, frame BLOB NOT NULL);"             \
    "CREATE INDEX log_of_state ON log(state);"
#define SINCE_2                                                                                                        \
    "CREATE TABLE scenes(id INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, frame BLOB NOT NULL);"          \
    "CREATE TABLE files(id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, frame BLOB NOT NULL);"        \
    "CREATE TABLE aside(state INTEGER NOT NULL, batch INTEGER NOT NULL, reason TEXT NOT NULL, frame BLOB NOT "         \
    "NULL);" TARN_SESSION_HISTORY_SCHEMA

/// By version, the first of which has none of what came later.
static const char *const schemas[VERSION] = {SCHEMA_1, SCHEMA_1 SINCE_2};

static tarn_status check_kind(tarn_session_file *file, bool *is_new, tarn_text why)
{
    int64_t tables = 0, application = 0, version = 0;
    tarn_status status = tarn_session_part_ask(file, "SELECT count(*) FROM sqlite_master", &tables, why);
    *is_new = tables == 0;
    if (status == TARN_OK && !*is_new) {
        status = tarn_session_part_ask(file, "PRAGMA application_id", &application, why);
    }
    if (status == TARN_OK && !*is_new) {
        status = tarn_session_part_ask(file, "PRAGMA user_version", &version, why);
    }
    if (status != TARN_OK || *is_new) {
        return status;
    }
    if (application != APPLICATION_ID) {
        snprintf(why, sizeof(tarn_text), "%.300s: it is no session's file", file->path);
        return TARN_E_MALFORMED;
    }
    if (version < 1 || version > VERSION) {
        snprintf(why, sizeof(tarn_text), "%.300s: found version %lld of a session's file, allowed are 1 to %d",
                 file->path, (long long)version, VERSION);
        return TARN_E_VERSION;
    }
    file->has_scenes = version >= 2;
    return tarn_session_guard_schema(file->db, schemas[version - 1], file->path, why);
}

/// Where there can be no write-ahead log, as on some network file systems, a commit lasts only if the folder is synced
/// too.
static tarn_status check_journal(const tarn_session_file *file, tarn_text why)
{
    sqlite3_stmt *statement = NULL;
    bool is_wal = false;
    if (sqlite3_prepare_v2(file->db, "PRAGMA journal_mode", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        is_wal = strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
    }
    sqlite3_finalize(statement);
    return is_wal ? TARN_OK : tarn_session_part_run(file, "PRAGMA synchronous = EXTRA", why);
}

/// Lays a file out, or brings one of an earlier version up to this one. All of it or nothing.
static tarn_status lay_schema(tarn_session_file *file, const char *schema, tarn_text why)
{
    char sql[2048];
    tarn_text ignored;
    snprintf(sql, sizeof sql, "BEGIN IMMEDIATE; PRAGMA application_id = %d; PRAGMA user_version = %d; %s COMMIT",
             APPLICATION_ID, VERSION, schema);
    const tarn_status status = tarn_session_part_run(file, sql, why);
    if (status != TARN_OK) {
        (void)tarn_session_part_run(file, "ROLLBACK", ignored);
    }
    file->has_scenes = status == TARN_OK;
    return status;
}

static tarn_status set_up(tarn_session_file *file, tarn_text why)
{
    char sql[512];
    bool is_new = false;
    sqlite3_busy_timeout(file->db, BUSY_MS);
    tarn_session_guard_connection(file->db, &file->work_left);
    tarn_status status = check_kind(file, &is_new, why);
    snprintf(sql, sizeof sql,
             "PRAGMA cache_size = -%d; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
             "PRAGMA journal_size_limit = 16777216;",
             TARN_SESSION_FILE_CACHE_KIB);
    if (status == TARN_OK && is_new) {
        status = tarn_session_part_run(file, TARN_SESSION_SHRINKS, why); // before there is a page
    }
    if (status == TARN_OK) {
        status = tarn_session_part_run(file, sql, why);
    }
    if (status == TARN_OK) {
        status = check_journal(file, why);
    }
    if (status == TARN_OK && !file->has_scenes) {
        status = lay_schema(file, is_new ? schemas[VERSION - 1] : SINCE_2, why);
    }
    // The number of one that was set aside isn't given again.
    return status == TARN_OK ? tarn_session_part_ask(
                                   file,
                                   "SELECT max(id) FROM (SELECT max(id) AS id FROM states UNION ALL SELECT max(state) "
                                   "FROM aside)",
                                   &file->state, why)
                             : status;
}

/// Where it can't be read, what is asked for later says so.
static void find_newest(tarn_session_file *file)
{
    tarn_text ignored;
    (void)tarn_session_part_ask(file, "SELECT max(id) FROM states", &file->state, ignored);
}

/// What every reader looks at first.
static tarn_status begin_to_read(tarn_session_file *file, tarn_text why)
{
    bool is_new = false;
    tarn_session_guard_connection(file->db, &file->work_left);
    tarn_status status = tarn_session_part_run(file, "BEGIN", why);
    if (status == TARN_OK) {
        status = check_kind(file, &is_new, why); // reads, so that the moment is this one
    }
    if (status == TARN_OK && is_new) {
        snprintf(why, sizeof(tarn_text), "%.300s: it is no session's file: it is empty%s", file->path,
                 file->lacks_log
                     ? ", as one is that was just made, of which all lies in its -wal beside it, and that is "
                       "missing"
                     : "");
        status = TARN_E_MALFORMED;
    }
    if (status == TARN_OK) {
        find_newest(file);
    }
    return status;
}

/// What another program has of the file lies beside it, else nothing may be made there: `-wal` says so. Where there is
/// none the file is taken as one that doesn't change, which a program that opens it then lets be until its log is full.
static tarn_status open_to_read(tarn_session_file *file, tarn_text why)
{
    enum { ESCAPED = 3 };
    static const char digits[] = "0123456789abcdef", plain[] = "/-._";
    char uri[ESCAPED * sizeof file->path + 32] = "file:", wal[sizeof file->path + 8];
    size_t at = strlen(uri);
    snprintf(wal, sizeof wal, "%s-wal", file->path);
    for (const char *from = file->path; *from != 0; from++) {
        const unsigned char letter = (unsigned char)*from;
        if (isalnum(letter) || strchr(plain, letter) != NULL) {
            uri[at++] = (char)letter;
        } else {
            uri[at++] = '%';
            uri[at++] = digits[letter >> 4];
            uri[at++] = digits[letter & 15];
        }
    }
    const bool has_wal = access(wal, F_OK) == 0;
    file->lacks_log = file->was_left_open && !has_wal;
    snprintf(uri + at, sizeof uri - at, "%s", has_wal ? "" : "?immutable=1");
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    if (sqlite3_open_v2(uri, &file->db, flags, NULL) != SQLITE_OK) {
        return tarn_session_part_failed(file, why);
    }
    sqlite3_busy_timeout(file->db, BUSY_MS);
    const tarn_status status = begin_to_read(file, why);
    if (status != TARN_OK && has_wal && sqlite3_errcode(file->db) == SQLITE_CANTOPEN) {
        snprintf(why, sizeof(tarn_text),
                 "%.300s: to read what lies beside it in %.16s, a %.16s must be made there, which can't be; copy both "
                 "elsewhere",
                 file->path, "-wal", "-shm");
    }
    return status;
}

/// Nobody else makes or removes the log, and SQLite does so at both ends of the file's time alone.
static bool has_log_vanished(tarn_session_file *file)
{
    char path[sizeof file->path + 8];
    struct stat found;
    snprintf(path, sizeof path, "%s-wal", file->path);
    const bool is_there = stat(path, &found) == 0;
    if (file->wal_ino == 0 && is_there) {
        file->wal_dev = (uint64_t)found.st_dev;
        file->wal_ino = (uint64_t)found.st_ino;
    }
    return file->wal_ino != 0 &&
           (!is_there || file->wal_dev != (uint64_t)found.st_dev || file->wal_ino != (uint64_t)found.st_ino);
}

static tarn_status open_to_write(tarn_session_file *file, tarn_text why)
{
    if (sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                        NULL) != SQLITE_OK) {
        return tarn_session_part_failed(file, why);
    }
    const tarn_status status = set_up(file, why);
    (void)has_log_vanished(file);         // which is seen first here
    file->is_written = status == TARN_OK; // nothing is done to what is no session's
    return status;
}

/// @return TARN_OK or TARN_E_MEMORY
static tarn_status make(tarn_session_file **file, tarn_text why)
{
    tarn_session_file *made = calloc(1, sizeof *made);
    *file = NULL;
    if (made == NULL || (made->compressor = ZSTD_createCCtx()) == NULL) {
        free(made);
        snprintf(why, sizeof(tarn_text), "out of memory");
        return TARN_E_MEMORY;
    }
    made->oldest = INT64_MAX;
    ZSTD_CCtx_setParameter(made->compressor, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(made->compressor, ZSTD_c_checksumFlag, 1);
    *file = made;
    return TARN_OK;
}

/// Whether SQLite's head says that there is a write-ahead log: so it is while the file is written, and once it was
/// closed no more.
static bool names_log(int fd)
{
    enum { AT = 18, WITH_LOG = 2 };
    uint8_t version = 0;
    return pread(fd, &version, 1, AT) == 1 && version == WITH_LOG;
}

/// @param flags  of open(), for the file's kind and mode
static tarn_status open_with(const char *path, int flags,
                             tarn_status (*open_database)(tarn_session_file *file, tarn_text why),
                             tarn_session_file **file, tarn_text why)
{
    tarn_session_file *made;
    struct stat found;
    tarn_status status = make(&made, why);
    *file = NULL;
    if (status != TARN_OK) {
        return status;
    }
    const bool fits = (size_t)snprintf(made->path, sizeof made->path, "%s", path) < sizeof made->path;
    const int fd = fits ? open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600) : -1;
    if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        snprintf(why, sizeof(tarn_text), "%.300s: %s", path,
                 fd >= 0 ? "it is no regular file" : strerror(fits ? errno : ENAMETOOLONG));
        status = TARN_E_IO;
    }
    if (fd >= 0) {
        made->was_left_open = status == TARN_OK && names_log(fd);
        close(fd);
    }
    if (status == TARN_OK) {
        status = tarn_session_guard_logs(path, why);
    }
    if (status == TARN_OK) {
        status = open_database(made, why);
    }
    if (status != TARN_OK) {
        tarn_session_file_close(made);
        return status;
    }
    *file = made;
    return TARN_OK;
}

tarn_status tarn_session_file_open(const char *path, tarn_session_file **file, tarn_text why)
{
    return open_with(path, O_RDWR | O_CREAT | O_NOFOLLOW, open_to_write, file, why);
}

tarn_status tarn_session_file_open_to_read(const char *path, tarn_session_file **file, tarn_text why)
{
    char real[PATH_MAX];
    struct stat found;
    const bool is_link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode) && realpath(path, real) != NULL;
    return open_with(is_link ? real : path, O_RDONLY, open_to_read, file, why); // its log lies where it leads to
}

tarn_status tarn_session_file_open_image(const void *bytes, size_t byte_count, tarn_session_file **file, tarn_text why)
{
    enum { VERSIONS_AT = 18, HEAD_BYTES = 100 }; // of SQLite's head: 2, 2 says that there is a write-ahead log
    tarn_session_file *made;
    tarn_status status = make(&made, why);
    *file = NULL;
    if (status != TARN_OK) {
        return status;
    }
    snprintf(made->path, sizeof made->path, "the image");
    unsigned char *copy = byte_count >= HEAD_BYTES ? sqlite3_malloc64(byte_count) : NULL;
    if (copy != NULL) {
        memcpy(copy, bytes, byte_count);
        copy[VERSIONS_AT] = copy[VERSIONS_AT + 1] = 1;
    }
    if (copy == NULL ||
        sqlite3_open_v2(":memory:", &made->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != 0) {
        sqlite3_free(copy);
        snprintf(why, sizeof(tarn_text), "the image: found %zu bytes, or there is no memory for them", byte_count);
        status = byte_count < HEAD_BYTES ? TARN_E_MALFORMED : TARN_E_MEMORY;
    } else if (sqlite3_deserialize(made->db, "main", copy, (sqlite3_int64)byte_count, (sqlite3_int64)byte_count,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
        status = tarn_session_part_failed(made, why);
    } else {
        status = begin_to_read(made, why);
    }
    if (status != TARN_OK) {
        tarn_session_file_close(made);
        return status;
    }
    *file = made;
    return TARN_OK;
}

bool tarn_session_file_has_vanished(tarn_session_file *file, tarn_text why)
{
    int has_moved = 0;
    if (sqlite3_file_control(file->db, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved) != SQLITE_OK) {
        has_moved = 0; // this file system can't say
    }
    const bool has_vanished = has_moved != 0 || has_log_vanished(file);
    if (has_vanished) {
        snprintf(why, sizeof(tarn_text), "%.300s%s: somebody removed or moved it while this program writes it",
                 file->path, has_moved != 0 ? "" : "-wal");
    }
    return has_vanished;
}

bool tarn_session_file_lacks_log(const tarn_session_file *file)
{
    return file->lacks_log;
}

/// Takes what lies in the log over, and the log away: so a copy that was made before is told from one made behind.
/// Where somebody reads the file it stays as it is, with its log; where its path leads elsewhere, so does what is
/// there.
static void settle(tarn_session_file *file)
{
    tarn_text ignored;
    if (!tarn_session_file_has_vanished(file, ignored)) {
        (void)tarn_session_part_run(file, "PRAGMA journal_mode = DELETE", ignored);
    }
}

static tarn_status copy_pages(const tarn_session_file *file, const char *part, tarn_text why)
{
    sqlite3 *copy = NULL;
    int code = sqlite3_open_v2(part, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    sqlite3_backup *backup = code == SQLITE_OK ? sqlite3_backup_init(copy, "main", file->db, "main") : NULL;
    if (backup != NULL) {
        const int step = sqlite3_backup_step(backup, -1), end = sqlite3_backup_finish(backup);
        code = step == SQLITE_DONE ? end : step; // the end says nothing of a file that is busy
    } else if (code == SQLITE_OK) {
        code = sqlite3_errcode(copy);
    }
    if (code == SQLITE_OK) { // one file, that lacks nothing
        code = sqlite3_exec(copy, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s: %.150s", part, copy != NULL ? sqlite3_errmsg(copy) : "out of memory");
    }
    sqlite3_close(copy);
    return code == SQLITE_OK ? TARN_OK : code == SQLITE_NOMEM ? TARN_E_MEMORY : TARN_E_IO;
}

static tarn_status sync_file(const char *path, tarn_text why)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool is_synced = fd >= 0 && fsync(fd) == 0;
    if (!is_synced) {
        snprintf(why, sizeof(tarn_text), "%.300s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_synced ? TARN_OK : TARN_E_IO;
}

/// What lies there under a name that SQLite would take for the copy's, or for its logs.
static tarn_status check_free(const char *to, tarn_text why)
{
    static const char *const besides[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof besides / sizeof besides[0]; i++) {
        char beside[4200];
        struct stat found;
        snprintf(beside, sizeof beside, "%s%s", to, besides[i]);
        if (lstat(beside, &found) == 0) {
            snprintf(why, sizeof(tarn_text), "%.300s: it is there already, allowed is a name that is free", beside);
            return TARN_E_IO;
        }
    }
    return TARN_OK;
}

tarn_status tarn_session_file_copy(tarn_session_file *file, const char *to, tarn_text why)
{
    char part[4096];
    tarn_status status = check_free(to, why);
    if (status != TARN_OK) {
        return status;
    }
    const bool fits = (size_t)snprintf(part, sizeof part, "%s.part", to) < sizeof part;
    const int fd = fits ? open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd < 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: %s", fits ? part : to, strerror(fits ? errno : ENAMETOOLONG));
        return TARN_E_IO;
    }
    close(fd);
    status = copy_pages(file, part, why);
    if (status == TARN_OK) {
        status = sync_file(part, why);
    }
    if (status == TARN_OK && renameat2(AT_FDCWD, part, AT_FDCWD, to, RENAME_NOREPLACE) != 0 &&
        (errno != EINVAL || rename(part, to) != 0)) { // not every file system can
        snprintf(why, sizeof(tarn_text), "%.300s: %s", to, strerror(errno));
        status = TARN_E_IO;
    }
    if (status == TARN_OK) {
        tarn_file_sync_folder(to);
    } else {
        (void)unlink(part);
    }
    return status;
}

void tarn_session_file_close(tarn_session_file *file)
{
    if (file == NULL) {
        return;
    }
    if (file->is_written) {
        settle(file);
    }
    sqlite3_close(file->db);
    ZSTD_freeCCtx(file->compressor);
    tarn_box_bytes_free(&file->plain);
    tarn_box_bytes_free(&file->packed);
    free(file);
}
