// States first, then pages. Begin at tarn_session_shrink.
#include "server/common/session_shrink.h"
#include "server/common/session_parts.h"
#include "server/common/session_scene.h"

#include <stdio.h>

enum {
    STATES_AT_ONCE = 8,
    PAGES_AT_ONCE = 512,
    SPARE_SHARE = 4,   // a quarter of the pages may be free: what is put next takes them
    SPARE_PAGES = 256, // and some of a small file
};

/// @param is_done  receives whether all went that may
static tarn_status drop_old(tarn_session_file *file, bool *is_done, tarn_text why)
{
    char sql[512];
    int64_t first = 0;
    const int64_t newest = file->state - TARN_SESSION_FILE_STATES,
                  most = file->oldest - 1 < newest ? file->oldest - 1 : newest;
    tarn_status status = tarn_session_part_ask(file, "SELECT min(id) FROM states", &first, why);
    *is_done = most < first + STATES_AT_ONCE;
    const int64_t last = *is_done ? most : first + STATES_AT_ONCE - 1;
    if (status != TARN_OK || last < first) {
        return status;
    }
    snprintf(sql, sizeof sql,
             "DELETE FROM log WHERE state <= %lld; DELETE FROM states WHERE id <= %lld; "
             "DELETE FROM moments WHERE state <= %lld; "
             "DELETE FROM marks WHERE at_ns < (SELECT min(at_ns) FROM moments);",
             (long long)last, (long long)last, (long long)last);
    status = tarn_session_part_run(file, sql, why);
    return status == TARN_OK ? tarn_session_scene_drop(file, last + 1, why) : status;
}

/// Does nothing to a file that was made without TARN_SESSION_SHRINKS.
static tarn_status give_back(tarn_session_file *file, bool *is_done, tarn_text why)
{
    char sql[64];
    int64_t pages = 0, unused = 0, kind = 0;
    tarn_status status = tarn_session_part_ask(file, "PRAGMA page_count", &pages, why);
    if (status == TARN_OK) {
        status = tarn_session_part_ask(file, "PRAGMA freelist_count", &unused, why);
    }
    const int64_t surplus = unused - pages / SPARE_SHARE - SPARE_PAGES;
    if (status != TARN_OK || surplus <= 0) {
        return status;
    }
    status = tarn_session_part_ask(file, "PRAGMA auto_vacuum", &kind, why);
    if (status != TARN_OK || kind == 0) {
        return status;
    }
    *is_done = *is_done && surplus <= PAGES_AT_ONCE;
    snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%lld)",
             (long long)(surplus < PAGES_AT_ONCE ? surplus : PAGES_AT_ONCE));
    return tarn_session_part_run(file, sql, why);
}

tarn_status tarn_session_shrink(tarn_session_file *file, bool *is_done, tarn_text why)
{
    const tarn_status status = drop_old(file, is_done, why);
    return status == TARN_OK ? give_back(file, is_done, why) : status;
}

tarn_status tarn_session_shrink_can(tarn_session_file *file, bool *can, tarn_text why)
{
    int64_t kind = 0;
    const tarn_status status = tarn_session_part_ask(file, "PRAGMA auto_vacuum", &kind, why);
    *can = kind != 0;
    return status;
}

tarn_status tarn_session_shrink_enable(tarn_session_file *file, tarn_text why)
{
    tarn_text ignored;
    file->work_left = INT64_MAX;                                            // it takes as long as the file is large
    const int attached = sqlite3_limit(file->db, SQLITE_LIMIT_ATTACHED, 1); // the copy is one
    const tarn_status status =
        tarn_session_part_run(file, "PRAGMA temp_store = FILE; " TARN_SESSION_SHRINKS "; VACUUM", why);
    (void)tarn_session_part_run(file, "PRAGMA temp_store = MEMORY", ignored);
    (void)sqlite3_limit(file->db, SQLITE_LIMIT_ATTACHED, attached);
    file->work_left = TARN_SESSION_WORK_MAX;
    return status;
}
