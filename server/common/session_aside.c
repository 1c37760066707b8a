// Rows move from one table to another as they are: batch 0 is the state, with the reason; the others are its log.
#include "server/common/session_aside.h"
#include "server/common/session_parts.h"

#include <stdio.h>
#include <string.h>

/// Runs a statement whose parameters are a number and a text.
static tarn_status run_with(tarn_session_file *file, const char *sql, int64_t number, const char *text, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    const bool is_run = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL) == SQLITE_OK &&
                        sqlite3_bind_int64(row, 1, number) == SQLITE_OK &&
                        (text == NULL || sqlite3_bind_text(row, 2, text, -1, SQLITE_STATIC) == SQLITE_OK) &&
                        sqlite3_step(row) == SQLITE_DONE;
    const tarn_status status = is_run ? TARN_OK : tarn_session_part_failed(file, why);
    sqlite3_finalize(row);
    return status;
}

tarn_status tarn_session_aside_put(tarn_session_file *file, int64_t down_to, const char *reason, tarn_text why)
{
    static const char *const moves[] = {
        "INSERT INTO aside(state, batch, reason, frame) SELECT id, 0, ?2, frame FROM states WHERE id >= ?1 ORDER BY id",
        "INSERT INTO aside SELECT state, id, '', frame FROM log WHERE state >= ?1 ORDER BY id",
        "DELETE FROM log WHERE state >= ?1",
        "DELETE FROM states WHERE id >= ?1",
        "DELETE FROM moments WHERE state >= ?1",
    };
    char limit[200];
    tarn_text ignored;
    file->work_left = TARN_SESSION_WORK_MAX;
    tarn_status status = tarn_session_part_run(file, "BEGIN IMMEDIATE", why);
    if (status != TARN_OK) {
        return status;
    }
    for (size_t i = 0; status == TARN_OK && i < sizeof moves / sizeof moves[0]; i++) {
        status = run_with(file, moves[i], down_to, i == 0 ? reason : NULL, why);
    }
    snprintf(limit, sizeof limit,
             "DELETE FROM aside WHERE state NOT IN (SELECT DISTINCT state FROM aside ORDER BY state DESC LIMIT %d)",
             TARN_SESSION_ASIDE_MAX);
    if (status == TARN_OK) {
        status = tarn_session_part_run(file, limit, why);
    }
    if (status == TARN_OK) {
        status = tarn_session_part_run(file, "COMMIT", why);
    }
    if (status != TARN_OK) {
        (void)tarn_session_part_run(file, "ROLLBACK", ignored);
    }
    return status;
}

tarn_status tarn_session_aside_next(tarn_session_file *file, tarn_session_aside *aside, tarn_text why)
{
    static const char sql[] =
        "SELECT state, reason, frame, (SELECT count(*) FROM aside AS a WHERE a.state = s.state AND "
        "a.batch > 0) FROM aside AS s WHERE state > ?1 AND batch = 0 ORDER BY state LIMIT 1";
    sqlite3_stmt *row = NULL;
    tarn_status status = TARN_E_NOT_FOUND;
    if (!file->has_scenes) {
        return status;
    }
    file->work_left = TARN_SESSION_WORK_MAX;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_int64(row, 1, aside->state);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    if (code == SQLITE_ROW && sqlite3_column_int64(row, 0) > aside->state) {
        const char *reason = (const char *)sqlite3_column_text(row, 1);
        tarn_session_head head = {0};
        const uint8_t *content;
        size_t content_bytes;
        aside->state = sqlite3_column_int64(row, 0);
        aside->batch_count = (uint32_t)sqlite3_column_int64(row, 3);
        snprintf(aside->reason, sizeof aside->reason, "%s", reason != NULL ? reason : "");
        status = tarn_session_part_unpack(file, row, 2);
        aside->is_whole =
            status == TARN_OK && tarn_session_state_read(file->plain.bytes, file->plain.count, aside->state, &head,
                                                         &content, &content_bytes) == TARN_OK;
        aside->step = aside->is_whole ? head.step : 0;
        status = status == TARN_E_MEMORY ? status : TARN_OK;
    } else if (code != SQLITE_ROW && code != SQLITE_DONE) {
        status = tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(row);
    return status;
}

bool tarn_session_aside_has(tarn_session_file *file, bool are_batches, int64_t first, int64_t last)
{
    sqlite3_stmt *row = NULL;
    int64_t count = 0;
    if (!file->has_scenes || first > last) {
        return false;
    }
    file->work_left = TARN_SESSION_WORK_MAX;
    if (sqlite3_prepare_v2(file->db,
                           are_batches
                               ? "SELECT count(DISTINCT batch) FROM aside WHERE batch BETWEEN ?1 AND ?2"
                               : "SELECT count(DISTINCT state) FROM aside WHERE state BETWEEN ?1 AND ?2 AND batch = 0",
                           -1, &row, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(row, 1, first) == SQLITE_OK && sqlite3_bind_int64(row, 2, last) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
        count = sqlite3_column_int64(row, 0);
    }
    sqlite3_finalize(row);
    return count > 0 && count - 1 == last - first;
}
