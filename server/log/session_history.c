// A session's past: when its states were, marks, and what was done to its tank once.
#include "server/log/session_history.h"
#include "protocol/assert.h"
#include "protocol/message_text.h"
#include "server/log/black_box.h"
#include "server/log/session_file.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

// ---- moments and marks ----
// In tables of their own beside the states. Begin at tarn_session_history_rest.

// A file from elsewhere may date states that it hasn't.
#define IS_THERE "state IN (SELECT id FROM states)"

bool tarn_session_moment_put(sqlite3 *db, const tarn_session_moment *moment)
{
    sqlite3_stmt *statement = NULL;
    const bool is_put =
        sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO moments(state, at_ns, dt_ns, bytes) VALUES(?1, ?2, ?3, ?4)", -1,
                           &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 1, moment->state) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 2, (int64_t)(moment->at_ns & TARN_SESSION_MOMENT_NS_MAX)) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 3, moment->dt_ns) == SQLITE_OK &&
        sqlite3_bind_int64(statement, 4, (int64_t)moment->bytes) == SQLITE_OK && sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return is_put;
}

/// A statement with up to two numbers, stepped once. @return SQLITE_ROW, SQLITE_DONE or what failed
static int ask(tarn_session_file *file, const char *sql, int64_t first, int64_t second, sqlite3_stmt **statement)
{
    *statement = NULL;
    int code = sqlite3_prepare_v2(file->db, sql, -1, statement, NULL);
    const int count = code == SQLITE_OK ? sqlite3_bind_parameter_count(*statement) : 0;
    if (code == SQLITE_OK && count > 0) {
        code = sqlite3_bind_int64(*statement, 1, first);
    }
    if (code == SQLITE_OK && count > 1) {
        code = sqlite3_bind_int64(*statement, 2, second);
    }
    return code == SQLITE_OK ? sqlite3_step(*statement) : code;
}

/// A row that was asked for is done with. @return TARN_OK, TARN_E_NOT_FOUND: there was none, or what failed
static tarn_status finish(tarn_session_file *file, sqlite3_stmt *statement, int code, tarn_text why)
{
    const tarn_status status = code == SQLITE_ROW    ? TARN_OK
                               : code == SQLITE_DONE ? TARN_E_NOT_FOUND
                                                     : tarn_session_part_failed(file, why);
    sqlite3_finalize(statement);
    return status;
}

/// How long a step is behind a state whose box didn't say so.
static uint64_t dt_of(int64_t found)
{
    return found > 0 && found <= UINT32_MAX ? (uint64_t)found : TARN_SESSION_DT_NS_GUESS;
}

/// @param sql  gives a state, its moment and its step's length; ?1 is the bound
static tarn_status find_moment(tarn_session_file *file, const char *sql, int64_t bound, tarn_session_moment *moment,
                               tarn_text why)
{
    sqlite3_stmt *row;
    const int code = ask(file, sql, bound, 0, &row);
    if (code == SQLITE_ROW) {
        moment->state = sqlite3_column_int64(row, 0);
        moment->at_ns = (uint64_t)sqlite3_column_int64(row, 1) & TARN_SESSION_MOMENT_NS_MAX;
        moment->dt_ns = (uint32_t)dt_of(sqlite3_column_int64(row, 2));
    }
    return finish(file, row, code, why);
}

/// A mark's name, of which no more is read than one may have. @return false: it is damaged
static bool read_name(sqlite3 *db, int64_t id, char name[TARN_SESSION_MARK_BYTES_MAX + 1])
{
    sqlite3_blob *blob = NULL;
    const bool is_there = sqlite3_blob_open(db, "main", "marks", "name", id, 0, &blob) == SQLITE_OK;
    const int byte_count = is_there ? sqlite3_blob_bytes(blob) : 0;
    const bool is_read = byte_count > 0 && byte_count <= TARN_SESSION_MARK_BYTES_MAX &&
                         sqlite3_blob_read(blob, name, byte_count, 0) == SQLITE_OK;
    sqlite3_blob_close(blob);
    name[is_read ? byte_count : 0] = 0;
    return is_read && tarn_text_fault((const uint8_t *)name, (size_t)byte_count) == NULL;
}

static tarn_status read_marks(tarn_session_file *file, tarn_session_span *span, tarn_text why)
{
    static const char sql[] = "SELECT id, at_ns FROM marks ORDER BY at_ns, id LIMIT ?1";
    sqlite3_stmt *row;
    int code = ask(file, sql, TARN_SESSION_MARKS_MAX, 0, &row);
    span->mark_count = 0;
    for (; code == SQLITE_ROW && span->mark_count < TARN_SESSION_MARKS_MAX; code = sqlite3_step(row)) {
        tarn_session_mark *mark = &span->marks[span->mark_count];
        const int64_t id = sqlite3_column_int64(row, 0);
        if (id <= 0 || id > UINT32_MAX || !read_name(file->db, id, mark->name)) {
            continue;
        }
        mark->id = (uint32_t)id;
        mark->at_ns = (uint64_t)sqlite3_column_int64(row, 1) & TARN_SESSION_MOMENT_NS_MAX;
        span->mark_count++;
    }
    return finish(file, row, code == SQLITE_DONE ? SQLITE_ROW : code, why);
}

/// Counts the steps behind a state. @return TARN_OK, or what failed
static tarn_status count_steps(tarn_session_file *file, int64_t state, uint64_t *steps, tarn_text why)
{
    tarn_session_row row = {0};
    sqlite3_stmt *first;
    const int code = ask(file, "SELECT min(id) FROM log WHERE state = ?1", state, 0, &first);
    row.id = code == SQLITE_ROW ? sqlite3_column_int64(first, 0) - 1 : 0;
    tarn_status status = finish(file, first, code, why);
    *steps = 0;
    while (status == TARN_OK && row.id >= 0 && (status = tarn_session_file_next_batch(file, &row, why)) == TARN_OK) {
        *steps += row.is_whole && row.state == state ? tarn_box_log_steps(row.content, row.content_bytes) : 0;
    }
    return status == TARN_E_NOT_FOUND ? TARN_OK : status;
}

tarn_status tarn_session_history_span(tarn_session_file *file, tarn_session_span *span, tarn_text why)
{
    tarn_session_moment newest = {.dt_ns = TARN_SESSION_DT_NS_GUESS};
    sqlite3_stmt *row;
    uint64_t steps = 0;
    memset(span, 0, sizeof *span);
    // No size of a state is too odd to be summed: a sum that overflows would be an error.
    int code = ask(file, "SELECT count(*), min(at_ns), sum(min(max(bytes, 0), 1 << 40)) FROM moments", 0, 0, &row);
    if (code == SQLITE_ROW) {
        span->state_count = (uint32_t)sqlite3_column_int64(row, 0);
        span->from_ns = (uint64_t)sqlite3_column_int64(row, 1) & TARN_SESSION_MOMENT_NS_MAX;
        span->bytes = (uint64_t)sqlite3_column_int64(row, 2);
    }
    tarn_status status = finish(file, row, code, why);
    if (status == TARN_OK && span->state_count > 0) {
        status =
            find_moment(file, "SELECT state, at_ns, dt_ns FROM moments WHERE " IS_THERE " ORDER BY state DESC LIMIT 1",
                        0, &newest, why);
        status = status == TARN_E_NOT_FOUND ? TARN_OK : status;
    }
    if (status == TARN_OK && newest.state != 0 && newest.state == tarn_session_file_newest(file)) {
        status = count_steps(file, newest.state, &steps, why);
    }
    span->until_ns = newest.at_ns + steps * newest.dt_ns;
    return status == TARN_OK ? read_marks(file, span, why) : status;
}

/// The oldest state that is kept by its bytes. @return 0: all are
static tarn_status oldest_by_bytes(tarn_session_file *file, const tarn_session_keep_rule *rule, int64_t *state,
                                   tarn_text why)
{
    sqlite3_stmt *row;
    uint64_t bytes = 0;
    uint32_t count = 0;
    int code = ask(file, "SELECT state, bytes FROM moments ORDER BY state DESC", 0, 0, &row);
    *state = 0;
    for (; code == SQLITE_ROW && *state == 0; code = *state == 0 ? sqlite3_step(row) : SQLITE_ROW) {
        bytes += (uint64_t)sqlite3_column_int64(row, 1);
        if (bytes > rule->bytes_max || ++count >= TARN_SESSION_STATES_MAX) {
            *state = sqlite3_column_int64(row, 0);
        }
    }
    return finish(file, row, code == SQLITE_DONE ? SQLITE_ROW : code, why);
}

tarn_status tarn_session_history_keep(tarn_session_file *file, const tarn_session_keep_rule *rule, uint64_t now_ns,
                                      tarn_text why)
{
    tarn_session_moment oldest = {0};
    int64_t by_bytes = 0;
    const uint64_t from_ns = now_ns > rule->ns_max ? now_ns - rule->ns_max : 0;
    tarn_status status = find_moment(
        file, "SELECT state, at_ns, dt_ns FROM moments WHERE at_ns <= ?1 AND " IS_THERE " ORDER BY state DESC LIMIT 1",
        (int64_t)from_ns, &oldest, why);
    if (status == TARN_OK || status == TARN_E_NOT_FOUND) {
        status = oldest_by_bytes(file, rule, &by_bytes, why);
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_session_file_keep_from(file, by_bytes > oldest.state ? by_bytes : oldest.state);
    return TARN_OK;
}

tarn_status tarn_session_history_rest(tarn_session_file *file, uint64_t *at_ns, tarn_session_rest *rest, tarn_text why)
{
    static const char sql[] = "SELECT state, at_ns, dt_ns FROM moments WHERE at_ns - dt_ns / 2 <= ?1 AND " IS_THERE
                              " ORDER BY state DESC LIMIT 1";
    tarn_session_moment moment = {0};
    tarn_status status = find_moment(file, sql, (int64_t)*at_ns, &moment, why);
    if (status == TARN_E_NOT_FOUND) {
        snprintf(why, sizeof(tarn_text), "nothing is kept that is as old");
    }
    if (status != TARN_OK) {
        return status;
    }
    TARN_ASSERT(moment.dt_ns > 0);
    const uint64_t behind_ns = *at_ns > moment.at_ns ? *at_ns - moment.at_ns : 0,
                   steps = (behind_ns + moment.dt_ns / 2) / moment.dt_ns;
    status = tarn_session_file_rest_of(file, moment.state, steps, rest, why);
    if (status == TARN_OK) {
        rest->log.count = tarn_box_log_let_go(rest->log.bytes, rest->log.count);
        *at_ns = moment.at_ns + tarn_box_log_steps(rest->log.bytes, rest->log.count) * moment.dt_ns;
    }
    return status;
}

tarn_status tarn_session_history_before_newest(tarn_session_file *file, uint32_t count, int64_t *id, tarn_text why)
{
    sqlite3_stmt *row;
    const int code = ask(file, "SELECT id FROM states ORDER BY id DESC LIMIT 1 OFFSET ?1", count, 0, &row);
    *id = code == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    return finish(file, row, code == SQLITE_DONE ? SQLITE_ROW : code, why);
}

tarn_status tarn_session_history_mark(tarn_session_file *file, uint64_t at_ns, const char *name, uint32_t *id,
                                      tarn_text why)
{
    sqlite3 *db = file->db;
    sqlite3_stmt *row;
    int code = ask(file, "SELECT count(*) FROM marks", 0, 0, &row);
    const int64_t count = code == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
    tarn_status status = finish(file, row, code, why);
    if (status == TARN_OK && count >= TARN_SESSION_MARKS_MAX) {
        snprintf(why, sizeof(tarn_text), "there are %d marks, which is all that are kept; take one away first",
                 TARN_SESSION_MARKS_MAX);
        status = TARN_E_LIMIT;
    }
    if (status != TARN_OK) {
        return status;
    }
    code = sqlite3_prepare_v2(db, "INSERT INTO marks(at_ns, name) VALUES(?1, ?2)", -1, &row, NULL);
    if (code == SQLITE_OK && (code = sqlite3_bind_int64(row, 1, (int64_t)at_ns)) == SQLITE_OK &&
        (code = sqlite3_bind_text(row, 2, name, -1, SQLITE_STATIC)) == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    *id = (uint32_t)sqlite3_last_insert_rowid(db);
    return finish(file, row, code == SQLITE_DONE ? SQLITE_ROW : code, why);
}

tarn_status tarn_session_history_unmark(tarn_session_file *file, uint32_t id, tarn_text why)
{
    sqlite3_stmt *row;
    const int code = ask(file, "DELETE FROM marks WHERE id = ?1", id, 0, &row);
    const tarn_status status = finish(file, row, code == SQLITE_DONE ? SQLITE_ROW : code, why);
    if (status == TARN_OK && sqlite3_changes(file->db) == 0) {
        snprintf(why, sizeof(tarn_text), "there is no mark %u", id);
        return TARN_E_NOT_FOUND;
    }
    return status;
}

// ---- stretches ----
// Batches in a row, one at a time. Begin at tarn_session_stretch_read.

enum { SQL_BYTES = 160 };

static tarn_status gone(tarn_text why)
{
    snprintf(why, sizeof(tarn_text), "what was done to the tank then isn't kept any more");
    return TARN_E_NOT_FOUND;
}

static tarn_status damaged(tarn_text why)
{
    snprintf(why, sizeof(tarn_text), "what was done to the tank then can't be read: its log is damaged");
    return TARN_E_MALFORMED;
}

/// The state that no log leads to, behind one. @param state  receives it; INT64_MAX: all follow
static tarn_status find_break(tarn_session_file *file, int64_t behind, int64_t *state, tarn_text why)
{
    char sql[SQL_BYTES];
    *state = 0;
    snprintf(sql, sizeof sql, "SELECT min(id) FROM states WHERE id > %" PRId64 " AND NOT follows", behind);
    const tarn_status status = tarn_session_part_ask(file, sql, state, why);
    *state = *state > 0 ? *state : INT64_MAX;
    return status;
}

/// The batch before the first one behind a state.
static tarn_status find_first(tarn_session_file *file, int64_t state, int64_t *before, tarn_text why)
{
    char sql[SQL_BYTES];
    *before = 0;
    snprintf(sql, sizeof sql, "SELECT min(id) FROM log WHERE state >= %" PRId64, state);
    const tarn_status status = tarn_session_part_ask(file, sql, before, why);
    *before = *before > 0 ? *before - 1 : INT64_MAX - 1; // where there is none nothing comes behind it
    return status;
}

/// Counts the steps behind a state, up to the next one.
static tarn_status steps_until(tarn_session_file *file, int64_t state, uint64_t *steps, tarn_text why)
{
    tarn_session_row row = {0};
    tarn_status status = find_first(file, state, &row.id, why);
    while (status == TARN_OK && (status = tarn_session_file_next_batch(file, &row, why)) == TARN_OK) {
        if (row.state != state) {
            return TARN_OK;
        }
        if (!row.is_whole) {
            return damaged(why);
        }
        *steps += tarn_box_log_steps(row.content, row.content_bytes);
    }
    return status == TARN_E_NOT_FOUND ? TARN_OK : status;
}

tarn_status tarn_session_stretch_find(tarn_session_file *file, int64_t state, uint64_t step,
                                      tarn_session_stretch *stretch, tarn_text why)
{
    char sql[SQL_BYTES];
    int64_t end = 0, last = 0;
    tarn_session_row row = {0};
    *stretch = (tarn_session_stretch){.state = state, .step = step, .until = step};
    tarn_status status = find_break(file, state, &end, why);
    if (status == TARN_OK) {
        snprintf(sql, sizeof sql, "SELECT max(id) FROM states WHERE id < %" PRId64, end);
        status = tarn_session_part_ask(file, sql, &last, why);
    }
    if (status == TARN_OK && last < state) {
        return gone(why);
    }
    if (status == TARN_OK && last > state) {
        row.id = last - 1;
        status = tarn_session_file_next_state(file, &row, why);
        if (status == TARN_OK && !row.is_whole) {
            return damaged(why);
        }
        stretch->until = row.head.step;
    }
    return status == TARN_OK ? steps_until(file, last, &stretch->until, why) : status;
}

/// The newest place that is known and isn't behind a step; else the stretch's beginning.
static tarn_status find_place(tarn_session_file *file, const tarn_session_stretch_reader *reader, uint64_t from,
                              tarn_session_stretch_place *place, tarn_text why)
{
    const uint32_t count = reader->place_count,
                   known = count < TARN_SESSION_STRETCH_PLACES ? count : TARN_SESSION_STRETCH_PLACES;
    for (uint32_t i = 1; i <= known; i++) {
        *place = reader->places[(count - i) % TARN_SESSION_STRETCH_PLACES];
        if (place->from <= from) {
            return TARN_OK;
        }
    }
    char sql[SQL_BYTES];
    int64_t is_there = 0;
    *place = (tarn_session_stretch_place){.step = reader->of.step};
    snprintf(sql, sizeof sql, "SELECT count(*) FROM states WHERE id = %" PRId64, reader->of.state);
    const tarn_status status = tarn_session_part_ask(file, sql, &is_there, why);
    if (status == TARN_OK && is_there == 0) {
        return gone(why);
    }
    return status == TARN_OK ? find_first(file, reader->of.state, &place->batch, why) : status;
}

static void note_place(tarn_session_stretch_reader *reader, const tarn_session_stretch_place *place)
{
    reader->places[reader->place_count++ % TARN_SESSION_STRETCH_PLACES] = *place;
    if (reader->place_count == UINT32_MAX) { // as many are known, and which is the next stays
        reader->place_count = TARN_SESSION_STRETCH_PLACES + reader->place_count % TARN_SESSION_STRETCH_PLACES;
    }
}

/// Appends a record without what viewers held. @return TARN_OK, TARN_E_LIMIT: it is too large, or TARN_E_MEMORY
static tarn_status append(const tarn_black_box_record *record, tarn_box_bytes *records)
{
    const tarn_black_box_record_head head = {record->input_bytes, record->is_hash ? TARN_BLACK_BOX_IS_HASH : 0};
    const uint64_t end = tarn_black_box_record_end(records->count, &head);
    if (end > TARN_IPC_REPLAY_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    if (tarn_box_bytes_make_room(records, TARN_IPC_REPLAY_BYTES_MAX) != TARN_OK) {
        return TARN_E_MEMORY;
    }
    uint8_t *to = records->bytes + records->count;
    memset(to, 0, (size_t)end - records->count);
    memcpy(to, &head, sizeof head);
    if (record->is_hash) {
        memcpy(to + sizeof head, &record->hash, sizeof record->hash);
    } else {
        memcpy(to + sizeof head, record->input, record->input_bytes);
    }
    records->count = (size_t)end;
    return TARN_OK;
}

/// How far a piece has come.
typedef struct stretch_piece {
    uint64_t from, step, until; ///< asked for; that the records so far lead to, left out or taken; the stretch's end
    uint32_t held;              ///< records behind `from` that are still to be left out
    tarn_box_bytes *records;
} stretch_piece;

static bool is_full(const stretch_piece *piece)
{
    return piece->step >= piece->until || piece->records->count >= TARN_IPC_REPLAY_BYTES;
}

/// Takes what of a batch belongs to the piece.
static tarn_status take_batch(const tarn_session_row *row, stretch_piece *piece, tarn_text why)
{
    size_t at = 0;
    tarn_black_box_record record;
    tarn_status status = TARN_OK;
    while (status == TARN_OK && !is_full(piece) &&
           tarn_black_box_record_next(row->content, row->content_bytes, &at, &record)) {
        const bool is_wanted = piece->step >= piece->from && (record.is_hash || record.input_bytes > 0);
        if (is_wanted && piece->held == 0) {
            status = append(&record, piece->records);
        }
        piece->held -= is_wanted && piece->held > 0;
        piece->step += tarn_black_box_record_steps(&record);
    }
    if (status == TARN_E_LIMIT) {
        return damaged(why);
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "there is no memory for what was done to the tank then");
    }
    return status;
}

tarn_status tarn_session_stretch_read(tarn_session_file *file, tarn_session_stretch_reader *reader,
                                      const tarn_session_stretch *stretch, uint64_t from, uint32_t held,
                                      tarn_box_bytes *records, bool *is_last, tarn_text why)
{
    tarn_session_stretch_place place;
    int64_t end = 0;
    TARN_ASSERT(stretch->state > 0 && from >= stretch->step && from <= stretch->until);
    if (reader->of.state != stretch->state || reader->of.step != stretch->step || reader->of.until != stretch->until) {
        *reader = (tarn_session_stretch_reader){.of = *stretch};
    }
    stretch_piece piece = {.from = from, .until = stretch->until, .held = held, .records = records};
    records->count = 0;
    *is_last = false;
    tarn_status status = find_break(file, stretch->state, &end, why);
    if (status == TARN_OK) {
        status = find_place(file, reader, from, &place, why);
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_session_row row = {.id = place.batch};
    piece.step = place.step;
    place.from = from;
    while (status == TARN_OK && !is_full(&piece)) {
        const tarn_session_stretch_place before = {.batch = row.id, .step = piece.step, .from = from};
        status = tarn_session_file_next_batch(file, &row, why);
        if (status == TARN_E_NOT_FOUND || (status == TARN_OK && row.state >= end)) {
            *is_last = true; // the log ends sooner than it seemed
            return TARN_OK;
        }
        if (status == TARN_OK && row.id != before.batch + 1) {
            return gone(why); // old ones go from the front
        }
        if (status == TARN_OK && !row.is_whole) {
            return damaged(why);
        }
        place = piece.step < from ? before : place; // what is behind that very step may lie in the one before
        status = status == TARN_OK ? take_batch(&row, &piece, why) : status;
    }
    if (status == TARN_OK) {
        note_place(reader, &place);
        *is_last = piece.step >= piece.until;
    }
    return status;
}
