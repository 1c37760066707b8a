// The scenes in a session's file, how it becomes smaller, and states that are set aside.
#include "server/log/session_scene.h"
#include "server/base/bytes.h"
#include "server/log/session_file.h"
#include "server/scene/archive.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- scenes ----
// A row of a scene names its files by their hashes; a file's row has what is in it. Begin at tarn_session_scene_put.

enum { LAYOUT = 1 };

typedef struct listed_file {
    char name[TARN_SCENE_PACK_NAME_BYTES_MAX + 1];
    uint32_t byte_count;
    uint8_t hash[TARN_SESSION_HASH_BYTES];
} listed_file;

/// A scene's row.
typedef struct scene_list {
    int64_t state; // the first that is of it
    uint32_t count;
    listed_file files[TARN_SCENE_PACK_ENTRIES_MAX];
} scene_list;

enum { LIST_BYTES_MAX = 16 + TARN_SCENE_PACK_ENTRIES_MAX * (sizeof(listed_file) + 8) };

static bool hash_of(const void *bytes, size_t byte_count, uint8_t hash[TARN_SESSION_HASH_BYTES])
{
    return EVP_Digest(bytes, byte_count, hash, NULL, EVP_sha256(), NULL) == 1;
}

static void list_fields(byte_codec *codec, scene_list *list)
{
    uint32_t layout = LAYOUT;
    uint64_t state = (uint64_t)list->state;
    u32(codec, &layout);
    refuse_when(codec, layout != LAYOUT);
    u64(codec, &state);
    list->state = (int64_t)state;
    count_up_to(codec, &list->count, TARN_SCENE_PACK_ENTRIES_MAX);
    for (uint32_t i = 0; i < list->count && codec->status == TARN_OK; i++) {
        listed_file *file = &list->files[i];
        uint32_t length = (uint32_t)strlen(file->name);
        count_up_to(codec, &length, TARN_SCENE_PACK_NAME_BYTES_MAX);
        uint8_t *name = advance(codec, length);
        if (name != NULL && codec->writing) {
            memcpy(name, file->name, length);
        } else if (name != NULL) {
            memcpy(file->name, name, length);
            file->name[length] = 0;
            refuse_when(codec, strlen(file->name) != length || !tarn_scene_file_name_valid(file->name));
        }
        count_up_to(codec, &file->byte_count, TARN_SCENE_PACK_ENTRY_BYTES_MAX);
        integer(codec, file->hash, sizeof file->hash);
    }
}

/// @return false: there is no memory
static bool make_list(const tarn_box_bytes *pack, int64_t state, scene_list *list)
{
    tarn_scene_entry entry;
    size_t at = 0;
    memset(list, 0, sizeof *list);
    list->state = state;
    while (list->count < TARN_SCENE_PACK_ENTRIES_MAX && tarn_scene_pack_next(pack->bytes, pack->count, &at, &entry)) {
        listed_file *file = &list->files[list->count++];
        memcpy(file->name, entry.name, sizeof file->name);
        file->byte_count = (uint32_t)entry.byte_count;
        if (!hash_of(entry.bytes, entry.byte_count, file->hash)) {
            return false;
        }
    }
    return true;
}

static bool are_same(const scene_list *a, const scene_list *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = strcmp(a->files[i].name, b->files[i].name) == 0 && a->files[i].byte_count == b->files[i].byte_count &&
               memcmp(a->files[i].hash, b->files[i].hash, sizeof a->files[i].hash) == 0;
    }
    return same;
}

/// The newest scene of a state or one before it.
/// @return TARN_OK, TARN_E_NOT_FOUND: there is none, TARN_E_MALFORMED, TARN_E_IO or TARN_E_MEMORY
static tarn_status read_list(tarn_session_file *file, int64_t state, scene_list *list, tarn_text why)
{
    static const char sql[] = "SELECT state, frame FROM scenes WHERE state <= ?1 ORDER BY id DESC LIMIT 1";
    sqlite3_stmt *row = NULL;
    tarn_status status = TARN_E_NOT_FOUND;
    int code = sqlite3_prepare_v2(file->db, sql, -1, &row, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_int64(row, 1, state);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    if (code == SQLITE_ROW) {
        status = tarn_session_part_unpack(file, row, 1);
        if (status == TARN_OK) {
            byte_codec codec = {.at = file->plain.bytes, .end = file->plain.bytes + file->plain.count};
            memset(list, 0, sizeof *list);
            list_fields(&codec, list);
            refuse_when(&codec, codec.at != codec.end || list->state != sqlite3_column_int64(row, 0));
            status = codec.status == TARN_OK ? TARN_OK : TARN_E_MALFORMED;
        }
    } else if (code != SQLITE_DONE) {
        status = tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(row);
    return status;
}

// ---- writing ----

/// @param is_there  whether the file has a content already
static tarn_status look_for(tarn_session_file *file, const listed_file *listed, bool *is_there, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(file->db, "SELECT 1 FROM files WHERE hash = ?1", -1, &row, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_blob(row, 1, listed->hash, sizeof listed->hash, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    *is_there = code == SQLITE_ROW;
    const tarn_status status =
        code == SQLITE_ROW || code == SQLITE_DONE ? TARN_OK : tarn_session_part_failed(file, why);
    sqlite3_finalize(row);
    return status;
}

/// Takes a content out of the file that is damaged or that no scene has.
static tarn_status remove_file(tarn_session_file *file, const uint8_t hash[TARN_SESSION_HASH_BYTES], tarn_text why)
{
    sqlite3_stmt *row = NULL;
    const bool is_gone =
        sqlite3_prepare_v2(file->db, "DELETE FROM files WHERE hash = ?1", -1, &row, NULL) == SQLITE_OK &&
        sqlite3_bind_blob(row, 1, hash, TARN_SESSION_HASH_BYTES, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_DONE;
    const tarn_status status = is_gone ? TARN_OK : tarn_session_part_failed(file, why);
    sqlite3_finalize(row);
    return status;
}

/// Puts bytes into `plain`.
static tarn_status take(tarn_session_file *file, const void *bytes, size_t byte_count, tarn_text why)
{
    if (tarn_box_bytes_make_room(&file->plain, byte_count + 1) != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s: out of memory", file->path);
        return TARN_E_MEMORY;
    }
    if (byte_count > 0) {
        memcpy(file->plain.bytes, bytes, byte_count);
    }
    file->plain.count = byte_count;
    return TARN_OK;
}

static tarn_status put_file(tarn_session_file *file, const listed_file *listed, const tarn_scene_entry *entry,
                            tarn_text why)
{
    char sql[160] = "INSERT INTO files(hash, frame) SELECT x'";
    bool is_there = false;
    tarn_status status = look_for(file, listed, &is_there, why);
    if (status != TARN_OK || is_there) {
        return status;
    }
    size_t at = strlen(sql);
    for (size_t i = 0; i < sizeof listed->hash; i++) {
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%02x", listed->hash[i]);
    }
    snprintf(sql + at, sizeof sql - at, "', ?3 WHERE ?1 = ?2");
    status = take(file, entry->bytes, entry->byte_count, why);
    return status == TARN_OK ? tarn_session_part_insert(file, sql, 0, 0, why) : status;
}

tarn_status tarn_session_scene_put(tarn_session_file *file, int64_t state, const tarn_box_bytes *pack, tarn_text why)
{
    static const char insert[] = "INSERT INTO scenes(state, frame) SELECT ?1, ?3 WHERE ?2 = ?1";
    scene_list list, newest;
    uint8_t bytes[LIST_BYTES_MAX];
    tarn_status status = read_list(file, INT64_MAX, &newest, why);
    if (!make_list(pack, state, &list)) {
        snprintf(why, sizeof(tarn_text), "%.300s: out of memory", file->path);
        return TARN_E_MEMORY;
    }
    if (status == TARN_E_IO || status == TARN_E_MEMORY || (status == TARN_OK && are_same(&list, &newest)) ||
        (status == TARN_E_NOT_FOUND && list.count == 0)) {
        return status == TARN_E_NOT_FOUND ? TARN_OK : status;
    }
    tarn_scene_entry entry;
    size_t at = 0;
    status = TARN_OK;
    for (uint32_t i = 0; status == TARN_OK && i < list.count; i++) {
        (void)tarn_scene_pack_next(pack->bytes, pack->count, &at, &entry);
        status = put_file(file, &list.files[i], &entry, why);
    }
    byte_codec codec = {.at = bytes, .end = bytes + sizeof bytes, .writing = true};
    list_fields(&codec, &list);
    TARN_ASSERT(codec.status == TARN_OK);
    if (status == TARN_OK) {
        status = take(file, bytes, (size_t)(codec.at - bytes), why);
    }
    return status == TARN_OK ? tarn_session_part_insert(file, insert, state, state, why) : status;
}

/// Whether some scene that can be read has a content.
static bool is_listed(const scene_list *lists, size_t count, const void *hash)
{
    for (size_t i = 0; i < count; i++) {
        for (uint32_t f = 0; f < lists[i].count; f++) {
            if (memcmp(lists[i].files[f].hash, hash, TARN_SESSION_HASH_BYTES) == 0) {
                return true;
            }
        }
    }
    return false;
}

/// All scenes that are there. @param lists  the caller frees them
static tarn_status read_lists(tarn_session_file *file, scene_list **lists, size_t *count, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    size_t room = 0;
    tarn_status status = TARN_OK;
    *lists = NULL;
    *count = 0;
    int code = sqlite3_prepare_v2(file->db, "SELECT frame FROM scenes", -1, &row, NULL);
    while (code == SQLITE_OK && status == TARN_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
        code = SQLITE_OK;
        if (*count == room) {
            room = 2 * room + 4;
            scene_list *more = realloc(*lists, room * sizeof *more);
            status = more != NULL ? TARN_OK : TARN_E_MEMORY;
            *lists = more != NULL ? more : *lists;
        }
        if (status == TARN_OK && tarn_session_part_unpack(file, row, 0) == TARN_OK) {
            scene_list *list = &(*lists)[*count];
            byte_codec codec = {.at = file->plain.bytes, .end = file->plain.bytes + file->plain.count};
            memset(list, 0, sizeof *list);
            list_fields(&codec, list);
            *count += codec.status == TARN_OK;
        }
    }
    if (status == TARN_OK && code != SQLITE_DONE) {
        status = tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(row);
    return status;
}

static tarn_status drop_files(tarn_session_file *file, tarn_text why)
{
    scene_list *lists = NULL;
    size_t count = 0;
    sqlite3_stmt *row = NULL;
    tarn_status status = read_lists(file, &lists, &count, why);
    if (status == TARN_OK && sqlite3_prepare_v2(file->db, "SELECT hash FROM files", -1, &row, NULL) != SQLITE_OK) {
        status = tarn_session_part_failed(file, why);
    }
    while (status == TARN_OK && sqlite3_step(row) == SQLITE_ROW) {
        const void *hash = sqlite3_column_blob(row, 0);
        if (sqlite3_column_bytes(row, 0) == TARN_SESSION_HASH_BYTES && !is_listed(lists, count, hash)) {
            uint8_t gone[TARN_SESSION_HASH_BYTES];
            memcpy(gone, hash, sizeof gone);
            status = remove_file(file, gone, why);
        }
    }
    sqlite3_finalize(row);
    free(lists);
    return status;
}

/// Scenes that no state has any more go, and their files, within a transaction. @param oldest  the oldest state
static tarn_status session_scene_drop(tarn_session_file *file, int64_t oldest, tarn_text why)
{
    char sql[200];
    const int before = sqlite3_total_changes(file->db);
    snprintf(sql, sizeof sql, "DELETE FROM scenes WHERE id < (SELECT max(id) FROM scenes WHERE state <= %lld)",
             (long long)oldest);
    const tarn_status status = tarn_session_part_run(file, sql, why);
    return status == TARN_OK && sqlite3_total_changes(file->db) != before ? drop_files(file, why) : status;
}

// ---- reading ----

static tarn_status read_file(tarn_session_file *file, const listed_file *listed, tarn_scene_pack *pack, tarn_text why)
{
    sqlite3_stmt *row = NULL;
    uint8_t hash[TARN_SESSION_HASH_BYTES];
    tarn_status status = TARN_E_MALFORMED;
    int code = sqlite3_prepare_v2(file->db, "SELECT frame FROM files WHERE hash = ?1", -1, &row, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_bind_blob(row, 1, listed->hash, sizeof listed->hash, SQLITE_STATIC);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(row);
    }
    if (code == SQLITE_ROW) {
        const void *packed = sqlite3_column_blob(row, 0);
        const size_t packed_bytes = (size_t)sqlite3_column_bytes(row, 0);
        const unsigned long long bytes = packed != NULL ? ZSTD_getFrameContentSize(packed, packed_bytes) : 0;
        status = bytes == listed->byte_count ? tarn_session_part_unpack(file, row, 0) : TARN_E_MALFORMED;
        if (status == TARN_OK &&
            (!hash_of(file->plain.bytes, file->plain.count, hash) || memcmp(hash, listed->hash, sizeof hash) != 0)) {
            status = TARN_E_MALFORMED;
        }
        if (status == TARN_OK) {
            status = tarn_scene_pack_add(pack, listed->name, file->plain.bytes, file->plain.count);
        }
    } else if (code != SQLITE_DONE) {
        status = tarn_session_part_failed(file, why);
    }
    sqlite3_finalize(row);
    return status;
}

tarn_status tarn_session_scene_read(tarn_session_file *file, int64_t state, tarn_box_bytes *pack, tarn_text why)
{
    scene_list list;
    tarn_scene_pack made = {0};
    pack->count = 0;
    if (!file->has_scenes) {
        return TARN_OK;
    }
    tarn_status status = read_list(file, state, &list, why);
    if (status == TARN_E_NOT_FOUND) {
        return TARN_OK;
    }
    for (uint32_t i = 0; status == TARN_OK && i < list.count; i++) {
        status = read_file(file, &list.files[i], &made, why);
    }
    if (status == TARN_OK && list.count > 0 && !tarn_scene_pack_sound(made.bytes, made.byte_count)) {
        status = TARN_E_MALFORMED;
    }
    if (status == TARN_OK) {
        status = tarn_box_bytes_make_room(pack, made.byte_count);
    }
    if (status == TARN_OK && made.byte_count > 0) {
        memcpy(pack->bytes, made.bytes, made.byte_count);
        pack->count = made.byte_count;
    }
    tarn_scene_pack_free(&made);
    return status;
}

// ---- smaller files ----
// States first, then pages. Begin at tarn_session_shrink.

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
    return status == TARN_OK ? session_scene_drop(file, last + 1, why) : status;
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

// ---- states set aside ----
// Rows move from one table to another as they are: batch 0 is the state, with the reason; the others are its log.

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
