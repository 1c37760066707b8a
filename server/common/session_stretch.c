// Batches in a row, one at a time. Begin at tarn_session_stretch_read.
#include "server/common/session_stretch.h"
#include "protocol/assert.h"
#include "server/common/black_box_layout.h"
#include "server/common/session_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
static tarn_status count_steps(tarn_session_file *file, int64_t state, uint64_t *steps, tarn_text why)
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
    return status == TARN_OK ? count_steps(file, last, &stretch->until, why) : status;
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
