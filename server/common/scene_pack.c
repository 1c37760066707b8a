// Entries one behind the other. Begin at tarn_scene_pack_next, which trusts nothing.
#include "server/common/scene_pack.h"
#include "protocol/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 2 * sizeof(uint32_t), PATH_BYTES = 4096 };

bool tarn_scene_file_name_valid(const char *name)
{
    for (const char *part = name;; part++) {
        const size_t bytes = strspn(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
        if (bytes == 0 || part[0] == '.') {
            return false;
        }
        part += bytes;
        if (part[0] != '/') {
            return part[0] == '\0';
        }
    }
}

bool tarn_scene_pack_next(const uint8_t *bytes, size_t byte_count, size_t *at, tarn_scene_entry *entry)
{
    uint32_t head[2];
    TARN_ASSERT(*at <= byte_count);
    if (byte_count - *at < HEAD_BYTES) {
        return false;
    }
    memcpy(head, bytes + *at, sizeof head);
    const size_t left = byte_count - *at - HEAD_BYTES;
    if (head[0] == 0 || head[0] > TARN_SCENE_PACK_NAME_BYTES_MAX || head[1] > TARN_SCENE_PACK_ENTRY_BYTES_MAX ||
        (size_t)head[0] + head[1] > left) {
        return false;
    }
    memcpy(entry->name, bytes + *at + HEAD_BYTES, head[0]);
    entry->name[head[0]] = 0;
    entry->bytes = bytes + *at + HEAD_BYTES + head[0];
    entry->byte_count = head[1];
    if (strlen(entry->name) != head[0]) {
        return false;
    }
    *at += HEAD_BYTES + head[0] + head[1];
    return true;
}

bool tarn_scene_pack_find(const tarn_scene_pack *pack, const char *name, tarn_scene_entry *entry)
{
    size_t at = 0;
    while (tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, entry)) {
        if (strcmp(entry->name, name) == 0) {
            return true;
        }
    }
    return false;
}

uint32_t tarn_scene_pack_count(const tarn_scene_pack *pack)
{
    tarn_scene_entry entry;
    size_t at = 0;
    uint32_t count = 0;
    while (tarn_scene_pack_next(pack->bytes, pack->byte_count, &at, &entry)) {
        count++;
    }
    return count;
}

tarn_status tarn_scene_pack_add(tarn_scene_pack *pack, const char *name, const void *bytes, size_t byte_count)
{
    const size_t name_bytes = strlen(name), entry_bytes = HEAD_BYTES + name_bytes + byte_count;
    tarn_scene_entry entry;
    if (tarn_scene_pack_find(pack, name, &entry)) {
        return TARN_OK;
    }
    if (name_bytes == 0 || name_bytes > TARN_SCENE_PACK_NAME_BYTES_MAX ||
        byte_count > TARN_SCENE_PACK_ENTRY_BYTES_MAX || tarn_scene_pack_count(pack) == TARN_SCENE_PACK_ENTRIES_MAX) {
        return TARN_E_LIMIT;
    }
    uint8_t *larger = realloc(pack->bytes, pack->byte_count + entry_bytes);
    if (larger == NULL) {
        return TARN_E_MEMORY;
    }
    const uint32_t head[2] = {(uint32_t)name_bytes, (uint32_t)byte_count};
    pack->bytes = larger;
    uint8_t *to = larger + pack->byte_count;
    memcpy(to, head, sizeof head);
    memcpy(to + HEAD_BYTES, name, name_bytes); // NOLINT(bugprone-not-null-terminated-result): its length is in front
    if (byte_count > 0) {
        memcpy(to + HEAD_BYTES + name_bytes, bytes, byte_count);
    }
    pack->byte_count += entry_bytes;
    TARN_ASSERT(pack->byte_count <= TARN_SCENE_PACK_BYTES_MAX);
    return TARN_OK;
}

bool tarn_scene_pack_names(const tarn_scene_entry *scene, const char *name)
{
    char quoted[TARN_SCENE_PACK_NAME_BYTES_MAX + 3];
    const int bytes = snprintf(quoted, sizeof quoted, "\"%s\"", name);
    return memmem(scene->bytes, scene->byte_count, quoted, (size_t)bytes) != NULL;
}

static bool is_json(const char *name)
{
    const size_t length = strlen(name), end = strlen(".json");
    return length > end && strcmp(name + length - end, ".json") == 0 && strchr(name, '/') == NULL;
}

bool tarn_scene_pack_sound(const uint8_t *bytes, size_t byte_count)
{
    tarn_scene_entry entry, before;
    size_t at = 0;
    uint32_t count = 0;
    while (tarn_scene_pack_next(bytes, byte_count, &at, &entry)) {
        const tarn_scene_pack front = {.bytes = (uint8_t *)bytes, // which is only read
                                       .byte_count = (size_t)(entry.bytes - bytes) - strlen(entry.name) - HEAD_BYTES};
        if (++count > TARN_SCENE_PACK_ENTRIES_MAX || !tarn_scene_file_name_valid(entry.name) ||
            (count == 1 && !is_json(entry.name)) || tarn_scene_pack_find(&front, entry.name, &before)) {
            return false;
        }
    }
    return count > 0 && at == byte_count;
}

bool tarn_scene_pack_is_file(const char *path)
{
    const size_t bytes = strlen(path), ending_bytes = strlen(TARN_SCENE_PACK_ENDING);
    return bytes > ending_bytes && strcmp(path + bytes - ending_bytes, TARN_SCENE_PACK_ENDING) == 0;
}

tarn_status tarn_scene_pack_read_file(const char *path, tarn_scene_pack *pack)
{
    struct stat found;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        if (fd >= 0) {
            close(fd);
        }
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = found.st_size > TARN_SCENE_PACK_BYTES_MAX ? TARN_E_MALFORMED : TARN_OK;
    const size_t byte_count = (size_t)found.st_size;
    if (status == TARN_OK && (pack->bytes = malloc(byte_count > 0 ? byte_count : 1)) == NULL) {
        status = TARN_E_MEMORY;
    }
    while (status == TARN_OK && pack->byte_count < byte_count) {
        const ssize_t got = read(fd, pack->bytes + pack->byte_count, byte_count - pack->byte_count);
        if (got > 0) {
            pack->byte_count += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            status = TARN_E_IO;
        }
    }
    close(fd);
    if (status == TARN_OK && !tarn_scene_pack_sound(pack->bytes, pack->byte_count)) {
        status = TARN_E_MALFORMED;
    }
    return status;
}

static bool is_same(const char *path, const tarn_scene_entry *entry, bool *is_there)
{
    uint8_t piece[16384];
    struct stat found;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *is_there = fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
    bool same = *is_there && (uint64_t)found.st_size == entry->byte_count;
    size_t at = 0;
    while (same && at < entry->byte_count) {
        const ssize_t got = read(fd, piece, sizeof piece);
        same = got > 0 && (size_t)got <= entry->byte_count - at && memcmp(piece, entry->bytes + at, (size_t)got) == 0;
        at += same ? (size_t)got : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    return same;
}

const char *tarn_scene_pack_difference(const uint8_t *bytes, size_t byte_count, const char *path)
{
    const char *slash = strrchr(path, '/');
    const int folder_bytes = slash == NULL ? 0 : (int)(slash + 1 - path);
    tarn_scene_entry entry;
    size_t at = 0;
    for (uint32_t i = 0; tarn_scene_pack_next(bytes, byte_count, &at, &entry); i++) {
        char beside[PATH_BYTES];
        bool is_there;
        if (!tarn_scene_file_name_valid(entry.name)) {
            return "it has changed";
        }
        snprintf(beside, sizeof beside, "%.*s%s", folder_bytes, path, entry.name);
        if (!is_same(i == 0 ? path : beside, &entry, &is_there)) {
            return is_there ? "it has changed" : "it is there no more";
        }
    }
    return NULL;
}

void tarn_scene_pack_free(tarn_scene_pack *pack)
{
    free(pack->bytes);
    *pack = (tarn_scene_pack){0};
}
