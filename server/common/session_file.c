// Rows of zstd frames. Begin at the schema in session_open.c, then tarn_session_file_put and tarn_session_file_rest.
#include "server/common/session_file.h"
#include "protocol/assert.h"
#include "server/common/black_box_layout.h"
#include "server/common/session_moments.h"
#include "server/common/session_parts.h"
#include "server/common/session_scene.h"
#include "server/common/session_shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static tarn_status failed(const tarn_session_file *file, tarn_text why)
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

static tarn_status run(const tarn_session_file *file, const char *sql, tarn_text why)
{
    return sqlite3_exec(file->db, sql, NULL, NULL, NULL) == SQLITE_OK ? TARN_OK : failed(file, why);
}

/// A number that a statement gives. @param number  left where it gives none
static tarn_status ask(const tarn_session_file *file, const char *sql, int64_t *number, tarn_text why)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(statement);
    }
    if (code == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
    }
    const tarn_status status = code == SQLITE_ROW || code == SQLITE_DONE ? TARN_OK : failed(file, why);
    sqlite3_finalize(statement);
    return status;
}

// ------------------------------------------------------------------------------------------------------------ frames

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

/// Unpacks a column into `plain`. @return TARN_OK, TARN_E_MALFORMED (it is damaged) or TARN_E_MEMORY
static tarn_status unpack(tarn_session_file *file, sqlite3_stmt *row, int column)
{
    const void *packed = sqlite3_column_blob(row, column);
    return tarn_session_unpack(packed, (size_t)sqlite3_column_bytes(row, column), &file->plain);
}

// ------------------------------------------------------------------------------------------------------------ writing

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
    const tarn_status status = is_put ? TARN_OK : failed(file, why);
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
        status = tarn_session_moment_put(file->db, &moment) ? TARN_OK : failed(file, why);
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
    tarn_status status = run(file, "BEGIN IMMEDIATE", why);
    if (status != TARN_OK) {
        return status;
    }
    status = put_all(file, news, state_bytes, why);
    if (status == TARN_OK) {
        status = run(file, "COMMIT", why);
    }
    if (status != TARN_OK) {
        (void)run(file, "ROLLBACK", ignored);
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
    tarn_status status = run(file, "BEGIN IMMEDIATE", why);
    if (status != TARN_OK) {
        return status;
    }
    status = tarn_session_shrink(file, is_done, why);
    if (status == TARN_OK) {
        status = run(file, "COMMIT", why);
    }
    if (status != TARN_OK) {
        (void)run(file, "ROLLBACK", ignored);
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
    tarn_status status = ask(file, "SELECT max(id) FROM states", &newest, why);
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

// ------------------------------------------------------------------------------------------------------------ reading

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
        status = unpack(file, row, 0);
        if (status == TARN_OK && tarn_session_about_read(file->plain.bytes, file->plain.count, about) != TARN_OK) {
            status = TARN_E_MALFORMED;
        }
        snprintf(why, sizeof(tarn_text), "%.300s: what the session is can't be read: %s", file->path,
                 tarn_status_text(status));
    } else {
        status = code == SQLITE_DONE ? TARN_E_NOT_FOUND : failed(file, why);
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
    tarn_status status = unpack(file, row, 2);
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
    tarn_status status = unpack(file, row, 2);
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
        (void)failed(file, why);
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
                                               : failed(file, why);
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
        status = failed(file, why);
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

// ------------------------------------------------------------------------------------------------------- row by row

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
        status = unpack(file, statement, 3);
        row->is_whole = status == TARN_OK;
    } else {
        status = code == SQLITE_DONE ? TARN_E_NOT_FOUND : failed(file, why);
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
    const tarn_status status = code == SQLITE_DONE ? TARN_OK : failed(file, why);
    sqlite3_finalize(row);
    return status;
}

// --------------------------------------------------------------------------------------------------- for the other
// parts

tarn_status tarn_session_part_failed(const tarn_session_file *file, tarn_text why)
{
    return failed(file, why);
}

tarn_status tarn_session_part_run(const tarn_session_file *file, const char *sql, tarn_text why)
{
    return run(file, sql, why);
}

tarn_status tarn_session_part_insert(tarn_session_file *file, const char *sql, int64_t first, int64_t second,
                                     tarn_text why)
{
    uint64_t put_bytes;
    return insert(file, sql, first, second, &put_bytes, why);
}

tarn_status tarn_session_part_unpack(tarn_session_file *file, sqlite3_stmt *row, int column)
{
    return unpack(file, row, column);
}

tarn_status tarn_session_part_ask(const tarn_session_file *file, const char *sql, int64_t *number, tarn_text why)
{
    return ask(file, sql, number, why);
}
