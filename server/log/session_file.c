// Rows of zstd frames. Begin at `schemas`, then tarn_session_file_put and tarn_session_file_rest. Before and behind
// these is how a file is opened, also one that somebody else has made.
#include "server/log/session_file.h"
#include "protocol/assert.h"
#include "server/base/files.h"
#include "server/log/black_box.h"
#include "server/log/session_history.h"
#include "server/log/session_scene.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- what a stranger's file may do ----
// Names first, then the connection, then the schema, in the order in which a stranger's file could do harm.

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

/// Looks at what SQLite would take for a database's logs: what lies beside it under their names is a regular file of
/// that name alone, or isn't there. A rollback journal that names another file, which SQLite would delete, is refused.
/// @param path  of the database  @return TARN_OK or TARN_E_IO, with a sentence
static tarn_status session_guard_logs(const char *path, tarn_text why)
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

/// Takes from a connection what a session needs none of, before anything is read by it. @param left  counts what is
/// left of TARN_SESSION_WORK_MAX, which the caller renews; it must outlive the connection
static void session_guard_connection(sqlite3 *db, int64_t *left)
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

/// Whether a database is made up of what a schema says and nothing else, and counts its rows as one that was filled
/// row by row. @param path  for the sentence
/// @return TARN_OK, TARN_E_MALFORMED or TARN_E_MEMORY, with a sentence
static tarn_status session_guard_schema(sqlite3 *db, const char *schema, const char *path, tarn_text why)
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

// ---- SQLite, asked ----

enum {
    ROOM_BYTES_KEPT = 1 << 20, // of each file, for the next frame
    DAMAGED_MAX = 1000,        // states, behind which no whole one is looked for
    SPARE_BYTES = 1 << 20,     // of SQLite's largest row, for what else is in one
};

/// What is asked of the database next may take as long as any.
static void begin(tarn_session_file *file)
{
    file->work_left = TARN_SESSION_WORK_MAX;
}

tarn_status tarn_session_part_failed(const tarn_session_file *file, tarn_text why)
{
    const int code = sqlite3_errcode(file->db);
    if (code == SQLITE_INTERRUPT) {
        snprintf(why, sizeof(tarn_text), "%.300s: reading it takes longer than any session's file does", file->path);
        return TARN_E_MALFORMED;
    }
    snprintf(why, sizeof(tarn_text), "%.300s: %.150s", file->path, sqlite3_errmsg(file->db));
    return code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? TARN_E_MALFORMED
           : code == SQLITE_NOMEM                          ? TARN_E_MEMORY
                                                           : TARN_E_IO;
}

tarn_status tarn_session_part_run(const tarn_session_file *file, const char *sql, tarn_text why)
{
    return sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK ? TARN_OK : tarn_session_part_failed(file, why);
}

tarn_status tarn_session_part_ask(const tarn_session_file *file, const char *sql, int64_t *number, tarn_text why)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
    }
    const tarn_status status =
        code == SQLITE_ROW || code == SQLITE_DONE ? TARN_OK : tarn_session_part_failed(file, why);
    sqlite3_finalize(statement);
    return status;
}

// ---- frames ----

/// Packs what lies in `plain`. @return TARN_OK or TARN_E_MEMORY
static tarn_status pack(tarn_session_file *file)
{
    const size_t bound = ZSTD_compressBound(file->plain.count);
    file->packed.count = 0;
    if (tarn_box_bytes_make_room(&file->packed, bound) != TARN_OK) {
        return TARN_E_MEMORY;
    }
    const size_t packed =
        ZSTD_compress2(file->compressor, file->packed.bytes, file->packed.room, file->plain.bytes, file->plain.count);
    file->packed.count = ZSTD_isError(packed) ? 0 : packed;
    return ZSTD_isError(packed) ? TARN_E_MEMORY : TARN_OK;
}

/// Puts a batch's head and what is behind it into `plain`.
static tarn_status lay_out(tarn_session_file *file, const tarn_session_head *head, const tarn_box_bytes *behind)
{
    if (tarn_box_bytes_make_room(&file->plain, TARN_SESSION_HEAD_BYTES_MAX + behind->count) != TARN_OK) {
        return TARN_E_MEMORY;
    }
    const size_t head_bytes = tarn_session_head_write(head, false, file->plain.bytes);
    if (behind->count > 0) {
        memcpy(file->plain.bytes + head_bytes, behind->bytes, behind->count);
    }
    file->plain.count = head_bytes + behind->count;
    return TARN_OK;
}

tarn_status tarn_session_part_unpack(tarn_session_file *file, sqlite3_stmt *row, int column)
{
    const void *packed = sqlite3_column_blob(row, column);
    return tarn_session_unpack(packed, (size_t)sqlite3_column_bytes(row, column), &file->plain);
}

// ---- writing ----

/// Runs a statement whose parameters are two numbers and what lies in `packed`.
static tarn_status insert_packed(tarn_session_file *file, const char *sql, int64_t first, int64_t second, tarn_text why)
{
    sqlite3_stmt *statement = NULL;
    const tarn_box_bytes *packed = &file->packed;
    if (packed->count > TARN_SESSION_BLOB_BYTES_MAX - SPARE_BYTES) {
        snprintf(
            why, sizeof(tarn_text),
            "%.300s: a state of it takes %zu bytes, compressed, which is more than the %d that a session's file takes",
            file->path, packed->count, TARN_SESSION_BLOB_BYTES_MAX - SPARE_BYTES);
        return TARN_E_LIMIT;
    }
    const bool is_put = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                        sqlite3_bind_int64(statement, 1, first) == SQLITE_OK &&
                        sqlite3_bind_int64(statement, 2, second) == SQLITE_OK &&
                        sqlite3_bind_blob64(statement, 3, packed->bytes, packed->count, SQLITE_STATIC) == SQLITE_OK &&
                        sqlite3_step(statement) == SQLITE_DONE;
    const tarn_status status = is_put ? TARN_OK : tarn_session_part_failed(file, why);
    sqlite3_finalize(statement);
    return status;
}

static tarn_status out_of_memory(const tarn_session_file *file, tarn_text why)
{
    snprintf(why, sizeof(tarn_text), "%.300s: out of memory", file->path);
    return TARN_E_MEMORY;
}

/// The same with what lies in `plain`.
static tarn_status insert(tarn_session_file *file, const char *sql, int64_t first, int64_t second, uint64_t *put_bytes,
                          tarn_text why)
{
    if (pack(file) != TARN_OK) {
        return out_of_memory(file, why);
    }
    *put_bytes = file->packed.count;
    return insert_packed(file, sql, first, second, why);
}

tarn_status tarn_session_part_insert(tarn_session_file *file, const char *sql, int64_t first, int64_t second,
                                     tarn_text why)
{
    uint64_t put_bytes;
    return insert(file, sql, first, second, &put_bytes, why);
}

tarn_status tarn_session_file_put_about(tarn_session_file *file, const tarn_session_about *about, tarn_text why)
{
    uint64_t put_bytes;
    begin(file);
    if (tarn_box_bytes_make_room(&file->plain, TARN_SESSION_ABOUT_BYTES_MAX) != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "out of memory");
        return TARN_E_MEMORY;
    }
    file->plain.count = tarn_session_about_write(about, file->plain.bytes);
    return insert(file, "INSERT OR REPLACE INTO about(id, frame) SELECT ?1, ?3 WHERE ?2 = 1", 1, 1, &put_bytes, why);
}

static tarn_status put_log(tarn_session_file *file, const tarn_box_news *news, const tarn_box_bytes *log, tarn_text why)
{
    const tarn_session_head head = {.state = file->state, .epoch = news->epoch, .number = news->number};
    uint64_t put_bytes = 0;
    if (log->count == 0 || file->state == 0) {
        return TARN_OK;
    }
    tarn_status status = lay_out(file, &head, log);
    if (status == TARN_OK) {
        status = insert(file, "INSERT INTO log(state, frame) SELECT ?1, ?3 WHERE ?2 = ?1", file->state, file->state,
                        &put_bytes, why);
    }
    file->log_bytes += put_bytes;
    return status;
}

void tarn_session_file_keep_from(tarn_session_file *file, int64_t state)
{
    file->oldest = state;
}

static tarn_status put_state(tarn_session_file *file, const tarn_box_news *news, uint64_t *put_bytes, tarn_text why)
{
    tarn_session_head head = {.state = file->state + 1,
                              .epoch = news->epoch,
                              .number = news->number,
                              .step = news->state.step,
                              .state_bytes_max = news->state.state_bytes_max};
    memcpy(head.scene, news->state.scene, sizeof head.scene);
    tarn_status status = news->is_anew ? tarn_session_scene_put(file, head.state, &news->state.pack, why) : TARN_OK;
    if (status != TARN_OK) {
        return status;
    }
    uint8_t bytes[TARN_SESSION_HEAD_BYTES_MAX];
    const size_t head_bytes = tarn_session_head_write(&head, true, bytes);
    if (tarn_session_pack_sorted(file->compressor, bytes, head_bytes, &news->state.bytes, &file->packed) != TARN_OK) {
        return out_of_memory(file, why);
    }
    *put_bytes = file->packed.count;
    status = insert_packed(file, "INSERT INTO states(id, follows, frame) VALUES(?1, ?2, ?3)", head.state,
                           !news->is_anew, why);
    if (status == TARN_OK) {
        const tarn_session_moment moment = {head.state, news->at_ns, news->dt_ns, *put_bytes + file->log_bytes};
        status = tarn_session_moment_put(file->db, &moment) ? TARN_OK : tarn_session_part_failed(file, why);
    }
    if (status == TARN_OK) {
        bool is_done;
        file->state = head.state;
        file->log_bytes = 0;
        status = tarn_session_shrink(file, &is_done, why);
    }
    return status;
}

static tarn_status put_all(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes, tarn_text why)
{
    tarn_status status = put_log(file, news, &news->before, why);
    if (status == TARN_OK && news->has_state) {
        status = put_state(file, news, state_bytes, why);
    }
    return status == TARN_OK ? put_log(file, news, &news->log, why) : status;
}

/// A state's room is needed now and then, a large one's is given back.
static void give_back(tarn_session_file *file)
{
    if (file->plain.room > ROOM_BYTES_KEPT || file->packed.room > ROOM_BYTES_KEPT) {
        tarn_box_bytes_free(&file->plain);
        tarn_box_bytes_free(&file->packed);
    }
}

tarn_status tarn_session_file_put(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes,
                                  tarn_text why)
{
    const int64_t state = file->state;
    const uint64_t log_bytes = file->log_bytes;
    tarn_text ignored;
    *state_bytes = 0;
    begin(file);
    tarn_status status = tarn_session_part_run(file, "BEGIN IMMEDIATE", why);
    if (status != TARN_OK) {
        return status;
    }
    status = put_all(file, news, state_bytes, why);
    if (status == TARN_OK) {
        status = tarn_session_part_run(file, "COMMIT", why);
    }
    if (status != TARN_OK) {
        (void)tarn_session_part_run(file, "ROLLBACK", ignored);
        file->state = state;
        file->log_bytes = log_bytes;
    }
    give_back(file);
    return status;
}

tarn_status tarn_session_file_trim(tarn_session_file *file, bool *is_done, tarn_text why)
{
    tarn_text ignored;
    begin(file);
    tarn_status status = tarn_session_part_run(file, "BEGIN IMMEDIATE", why);
    if (status != TARN_OK) {
        return status;
    }
    status = tarn_session_shrink(file, is_done, why);
    if (status == TARN_OK) {
        status = tarn_session_part_run(file, "COMMIT", why);
    }
    if (status != TARN_OK) {
        (void)tarn_session_part_run(file, "ROLLBACK", ignored);
    }
    return status;
}

tarn_status tarn_session_file_put_epoch(tarn_session_file *file, uint32_t epoch, uint32_t number, tarn_text why)
{
    const tarn_session_head head = {.state = file->state, .epoch = epoch, .number = number};
    const tarn_box_bytes none = {0};
    int64_t newest = 0;
    uint64_t put_bytes;
    begin(file);
    tarn_status status = tarn_session_part_ask(file, "SELECT max(id) FROM states", &newest, why);
    if (status == TARN_OK && (newest == 0 || newest != file->state)) {
        return TARN_E_STATE;
    }
    if (status == TARN_OK) {
        status = lay_out(file, &head, &none);
    }
    return status == TARN_OK ? insert(file, "INSERT INTO log(state, frame) SELECT ?1, ?3 WHERE ?2 = ?1", file->state,
                                      file->state, &put_bytes, why)
                             : status;
}

// ---- reading ----

tarn_status tarn_session_file_about(tarn_session_file *file, tarn_session_about *about, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    tarn_status status = TARN_E_NOT_FOUND;
    begin(file);
    int code = sqlite3_prepare_v2(file->db, "SELECT frame FROM about", -1, &row, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    if (code == SQLITE_ROW) {
        status = tarn_session_part_unpack(file, row, 0);
        if (status == TARN_OK && tarn_session_about_read(file->plain.bytes, file->plain.count, about) != TARN_OK) {
            status = TARN_E_MALFORMED;
        }
        snprintf(why, sizeof(tarn_text), "%.300s: what the session is can't be read: %s", file->path,
                 tarn_status_text(status));
    } else {
        status = code == SQLITE_DONE ? TARN_E_NOT_FOUND : tarn_session_part_failed(file, why);
        if (code == SQLITE_DONE) {
            snprintf(why, sizeof(tarn_text), "%.300s: no session is in it", file->path);
        }
    }
    sqlite3_finalize(row);
    return status;
}

void tarn_session_rest_free(tarn_session_rest *rest)
{
    tarn_box_bytes_free(&rest->state.bytes);
    tarn_box_bytes_free(&rest->state.pack);
    tarn_box_bytes_free(&rest->log);
}

/// One state. @return TARN_OK, TARN_E_MALFORMED or TARN_E_MEMORY
static tarn_status read_state(tarn_session_file *file, sqlite3_stmt *row, tarn_session_rest *rest)
{
    tarn_session_head head;
    const uint8_t *state = NULL;
    size_t byte_count = 0;
    tarn_status status = tarn_session_part_unpack(file, row, 2);
    if (status == TARN_OK) {
        status = tarn_session_state_read(file->plain.bytes, file->plain.count, sqlite3_column_int64(row, 0), &head,
                                         &state, &byte_count);
    }
    if (status == TARN_OK) { // what was unpacked is the rest's
        memmove(file->plain.bytes, state, byte_count);
        tarn_box_bytes_free(&rest->state.bytes);
        rest->state.bytes = file->plain;
        file->plain = (tarn_box_bytes){0};
        memcpy(rest->state.scene, head.scene, sizeof rest->state.scene);
        rest->state.bytes.count = byte_count;
        rest->state.step = head.step;
        rest->state.state_bytes_max = head.state_bytes_max;
        rest->epoch = head.epoch;
        rest->number = head.number;
    }
    return status;
}

/// Takes a batch. @param steps_left  how many steps of it are taken at most; goes on
/// @return TARN_OK, TARN_E_MALFORMED: the log ends before it, TARN_E_LIMIT or TARN_E_MEMORY
static tarn_status read_batch(tarn_session_file *file, sqlite3_stmt *row, uint64_t *steps_left, tarn_session_rest *rest)
{
    tarn_session_head head;
    const uint8_t *log = NULL;
    size_t byte_count = 0;
    tarn_status status = tarn_session_part_unpack(file, row, 2);
    if (status == TARN_OK) {
        status = tarn_session_batch_read(file->plain.bytes, file->plain.count, sqlite3_column_int64(row, 1), &head,
                                         &log, &byte_count);
    }
    if (status == TARN_OK && *steps_left != UINT64_MAX) {
        uint64_t steps = *steps_left;
        byte_count = tarn_box_log_up_to(log, byte_count, &steps);
        *steps_left -= steps;
    }
    if (status == TARN_OK && rest->log.count + byte_count > TARN_BLACK_BOX_LOG_BYTES) {
        status = TARN_E_LIMIT;
    }
    if (status == TARN_OK) {
        status = tarn_box_bytes_make_room(&rest->log, rest->log.count + byte_count);
    }
    if (status == TARN_OK) {
        memcpy(rest->log.bytes + rest->log.count, log, byte_count);
        rest->log.count += byte_count;
        rest->epoch = head.epoch;
        rest->number = head.number;
    }
    return status;
}

/// The log from a state on, past those that could not be read, as far as each follows from the one before.
/// @param steps  at most; UINT64_MAX: all of it
static tarn_status read_log(tarn_session_file *file, int64_t state, uint64_t steps, tarn_session_rest *rest,
                            tarn_text why)
{
    static const char sql[] =
        "SELECT log.id, log.state, log.frame FROM log WHERE log.state >= ?1 AND NOT EXISTS "
        "(SELECT 1 FROM states WHERE id > ?1 AND id <= log.state AND NOT follows) ORDER BY log.id";
    sqlite3_stmt *row = NULL;
    tarn_status status = TARN_OK;
    int64_t last = 0;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_int64(row, 1, state);
    }
    while (code == SQLITE_OK && status == TARN_OK && steps > 0 && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(row, 0);
        status = last != 0 && id != last + 1 ? TARN_E_MALFORMED : read_batch(file, row, &steps, rest);
        last = id;
        code = SQLITE_OK;
    }
    if (status != TARN_OK && status != TARN_E_MEMORY) {
        rest->damaged++; // the tank is as it was before
        status = TARN_OK;
    } else if (code != SQLITE_DONE && steps > 0) {
        rest->damaged++;
        (void)tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(row);
    return status;
}

/// A scene that is damaged is left out.
static tarn_status read_scene(tarn_session_file *file, int64_t state, tarn_session_rest *rest, tarn_text why)
{
    const tarn_status status = tarn_session_scene_read(file, state, &rest->state.pack, why);
    rest->is_scene_damaged = status == TARN_E_MALFORMED;
    return rest->is_scene_damaged ? TARN_OK : status;
}

tarn_status tarn_session_file_rest_of(tarn_session_file *file, int64_t state, uint64_t steps, tarn_session_rest *rest,
                                      tarn_text why)
{
    sqlite3_stmt *row = NULL;
    memset(rest, 0, sizeof *rest);
    begin(file);
    int code = sqlite3_prepare_v2(file->db, "SELECT id, follows, frame FROM states WHERE id = ?1", -1, &row, NULL);
    if (code == SQLITE_OK && (code = sqlite3_bind_int64(row, 1, state)) == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    tarn_status status = code == SQLITE_ROW    ? read_state(file, row, rest)
                         : code == SQLITE_DONE ? TARN_E_NOT_FOUND
                                               : tarn_session_part_failed(file, why);
    sqlite3_finalize(row);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
        snprintf(why, sizeof(tarn_text), "%.300s: state %lld: %s", file->path, (long long)state,
                 tarn_status_text(status));
    }
    if (status == TARN_OK) {
        status = read_scene(file, state, rest, why);
    }
    if (status == TARN_OK) {
        rest->id = state;
        status = read_log(file, state, steps, rest, why);
    }
    if (status == TARN_OK && rest->damaged > 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: the log behind state %lld is damaged", file->path, (long long)state);
        status = TARN_E_MALFORMED;
    }
    if (status != TARN_OK) {
        tarn_session_rest_free(rest);
    }
    give_back(file);
    return status;
}

int64_t tarn_session_file_newest(const tarn_session_file *file)
{
    return file->state;
}

tarn_status tarn_session_file_rest(tarn_session_file *file, tarn_session_rest *rest, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    tarn_status status = TARN_E_NOT_FOUND;
    int64_t state = 0;
    memset(rest, 0, sizeof *rest);
    begin(file);
    snprintf(why, sizeof(tarn_text), "%.300s: no state of the tank is in it", file->path);
    int code = sqlite3_prepare_v2(file->db, "SELECT id, follows, frame FROM states ORDER BY id DESC", -1, &row, NULL);
    while (code == SQLITE_OK && status != TARN_OK && status != TARN_E_MEMORY && rest->damaged < DAMAGED_MAX &&
           (code = sqlite3_step(row)) == SQLITE_ROW) {
        status = read_state(file, row, rest);
        state = sqlite3_column_int64(row, 0);
        rest->damaged += status != TARN_OK;
        code = SQLITE_OK;
    }
    if (code != SQLITE_OK && code != SQLITE_DONE) {
        status = tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(row);
    if (status == TARN_OK) {
        rest->id = state;
        status = read_scene(file, state, rest, why);
    }
    if (status == TARN_OK) {
        status = read_log(file, state, UINT64_MAX, rest, why);
    } else if (status == TARN_E_MALFORMED) {
        snprintf(why, sizeof(tarn_text), "%.300s: none of its %u states can be read", file->path, rest->damaged);
        status = TARN_E_NOT_FOUND;
    }
    if (status != TARN_OK) {
        tarn_session_rest_free(rest);
    }
    return status;
}

// ---- row by row ----

typedef tarn_status read_frame(const uint8_t *bytes, size_t byte_count, int64_t row, tarn_session_head *head,
                               const uint8_t **content, size_t *content_bytes);

/// @param sql  gives the next row: its id, what it is of or follows, and its frame
static tarn_status next_row(tarn_session_file *file, const char *sql, tarn_session_row *row, tarn_text why)
{
    sqlite3_stmt *statement = NULL;
    tarn_status status = TARN_OK;
    begin(file);
    int code = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_int64(statement, 1, row->id);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW && sqlite3_column_int64(statement, 0) <= row->id) { // else it would not end
        snprintf(why, sizeof(tarn_text), "%.300s: its rows are out of order", file->path);
        status = TARN_E_MALFORMED;
        code = SQLITE_CORRUPT;
    } else if (code == SQLITE_ROW) {
        row->id = sqlite3_column_int64(statement, 0);
        row->state = sqlite3_column_int64(statement, 1);
        row->follows = sqlite3_column_int(statement, 2) != 0;
        row->packed_bytes = (size_t)sqlite3_column_bytes(statement, 3);
        status = tarn_session_part_unpack(file, statement, 3);
        row->is_whole = status == TARN_OK;
    } else {
        status = code == SQLITE_DONE ? TARN_E_NOT_FOUND : tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(statement);
    if (status == TARN_E_MEMORY) {
        snprintf(why, sizeof(tarn_text), "%.300s: out of memory", file->path);
    }
    return status == TARN_E_MALFORMED && code == SQLITE_ROW ? TARN_OK : status;
}

static void read_row(const tarn_session_file *file, read_frame *read, tarn_session_row *row)
{
    if (row->is_whole) {
        row->is_whole = read(file->plain.bytes, file->plain.count, row->state, &row->head, &row->content,
                             &row->content_bytes) == TARN_OK;
    }
    if (!row->is_whole) {
        row->head = (tarn_session_head){0};
        row->content = NULL;
        row->content_bytes = 0;
    }
}

tarn_status tarn_session_file_next_state(tarn_session_file *file, tarn_session_row *row, tarn_text why)
{
    const tarn_status status =
        next_row(file, "SELECT id, id, follows, frame FROM states WHERE id > ?1 ORDER BY id LIMIT 1", row, why);
    if (status == TARN_OK) {
        read_row(file, tarn_session_state_read, row);
    }
    return status;
}

tarn_status tarn_session_file_next_batch(tarn_session_file *file, tarn_session_row *row, tarn_text why)
{
    const tarn_status status =
        next_row(file, "SELECT id, state, 0, frame FROM log WHERE id > ?1 ORDER BY id LIMIT 1", row, why);
    if (status == TARN_OK) {
        read_row(file, tarn_session_batch_read, row);
    }
    return status;
}

tarn_status tarn_session_file_check(tarn_session_file *file, void (*found)(void *user, const char *sentence),
                                    void *user, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    begin(file);
    int code = sqlite3_prepare_v2(file->db, "PRAGMA integrity_check(20)", -1, &row, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        const char *sentence = (const char *)sqlite3_column_text(row, 0);
        if (sentence != NULL && strcmp(sentence, "ok") != 0) {
            found(user, sentence);
        }
        code = SQLITE_OK;
    }
    const tarn_status status = code == SQLITE_DONE ? TARN_OK : tarn_session_part_failed(file, why);
    sqlite3_finalize(row);
    return status;
}

// ---- opened and copied ----
// A session's file is opened in three ways, and made. Begin at `schemas`, then set_up for one that is written and
// begin_to_read for one that is read.

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
    return session_guard_schema(file->db, schemas[version - 1], file->path, why);
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
    session_guard_connection(file->db, &file->work_left);
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
    session_guard_connection(file->db, &file->work_left);
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
        status = session_guard_logs(path, why);
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
