// A row of a scene names its files by their hashes; a file's row has what is in it. Begin at tarn_session_scene_put.
#include "server/common/session_scene.h"
#include "server/common/byte_codec.h"
#include "server/common/scene_pack.h"
#include "server/common/session_parts.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// ------------------------------------------------------------------------------------------------------------ writing

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

tarn_status tarn_session_scene_drop(tarn_session_file *file, int64_t oldest, tarn_text why)
{
    char sql[200];
    const int before = sqlite3_total_changes(file->db);
    snprintf(sql, sizeof sql, "DELETE FROM scenes WHERE id < (SELECT max(id) FROM scenes WHERE state <= %lld)",
             (long long)oldest);
    const tarn_status status = tarn_session_part_run(file, sql, why);
    return status == TARN_OK && sqlite3_total_changes(file->db) != before ? drop_files(file, why) : status;
}

// ------------------------------------------------------------------------------------------------------------ reading

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
