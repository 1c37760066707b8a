// Block by block, in one go and without going back: begin at tarn_scene_archive_read. What a block says is checked
// before it is used, and nothing but names and contents is used: neither owners nor modes, dates or links.
//
//     block of 512 bytes: name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | type 1 | link 100 |
//                         magic 6 | version 2 | user 32 | group 32 | device 16 | prefix 155       numbers are octal
//                         text
//     content, filled up to whole blocks; at the end two blocks of zeros
#include "server/common/scene_archive.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = TARN_SCENE_ARCHIVE_BLOCK_BYTES,
    NAME_AT = 0,
    NAME_BYTES = 100,
    MODE_AT = 100,
    UID_AT = 108,
    GID_AT = 116,
    SIZE_AT = 124,
    SIZE_BYTES = 12,
    MTIME_AT = 136,
    SUM_AT = 148,
    SUM_BYTES = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_BYTES = 155,
    PATH_BYTES = NAME_BYTES + PREFIX_BYTES + 2,
    NOTE_BYTES_MAX = 16384, ///< of what tar notes about a file, such as its dates
};

typedef struct archive_file {
    char path[PATH_BYTES]; ///< as in the archive, without "./" in front
    uint8_t *bytes;        ///< owned
    size_t byte_count;
} archive_file;

typedef struct archive_reader {
    tarn_scene_archive_source source;
    void *from;
    size_t read_bytes; ///< so far
    uint32_t file_count;
    archive_file files[TARN_SCENE_PACK_ENTRIES_MAX];
    char *why;
    size_t why_bytes;
} archive_reader;

__attribute__((format(printf, 3, 4))) static tarn_status refuse(const archive_reader *r, tarn_status status,
                                                                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->why, r->why_bytes, format, arguments);
    va_end(arguments);
    return status;
}

/// Reads so many bytes, or none where the archive ends here. @param bytes  NULL: they are passed over
/// @param is_end  receives whether it ends; NULL: it may not
static tarn_status read_bytes(archive_reader *r, uint8_t *bytes, size_t byte_count, bool *is_end)
{
    uint8_t passed_over[4096];
    size_t done = 0;
    while (done < byte_count) {
        const size_t left = byte_count - done;
        const ssize_t got =
            bytes != NULL ? r->source(r->from, bytes + done, left)
                          : r->source(r->from, passed_over, left < sizeof passed_over ? left : sizeof passed_over);
        if (got < 0) {
            return refuse(r, TARN_E_IO, "the archive cannot be read");
        }
        if (got == 0 && done == 0 && is_end != NULL) {
            *is_end = true;
            return TARN_OK;
        }
        if (got == 0) {
            return refuse(r, TARN_E_MALFORMED, "the archive ends amid a file, after %zu bytes: it isn't whole",
                          r->read_bytes);
        }
        done += (size_t)got;
        r->read_bytes += (size_t)got;
        if (r->read_bytes > TARN_SCENE_ARCHIVE_BYTES_MAX) {
            return refuse(r, TARN_E_LIMIT, "the archive has more than %d bytes", TARN_SCENE_ARCHIVE_BYTES_MAX);
        }
    }
    return TARN_OK;
}

static bool is_zeros(const uint8_t *block)
{
    for (int i = 0; i < BLOCK; i++) {
        if (block[i] != 0) {
            return false;
        }
    }
    return true;
}

/// An octal number, with spaces in front and a space or a zero behind. @return false: it isn't one
static bool read_octal(const uint8_t *field, int bytes, uint64_t *number)
{
    int at = 0, digits = 0;
    *number = 0;
    while (at < bytes && field[at] == ' ') {
        at++;
    }
    for (; at < bytes && field[at] >= '0' && field[at] <= '7'; at++, digits++) {
        *number = *number << 3 | (uint64_t)(field[at] - '0'); // 12 digits at most: 36 bits
    }
    return digits > 0 && (at == bytes || field[at] == ' ' || field[at] == 0);
}

/// The sum of a block's bytes, its own field taken for spaces.
static uint64_t sum_of(const uint8_t *block)
{
    uint64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? (uint64_t)' ' : block[i];
    }
    return sum;
}

/// Puts the path together, without any "./" in front.
static void read_path(const uint8_t *block, char *path)
{
    char whole[PATH_BYTES];
    const bool has_prefix =
        memcmp(block + MAGIC_AT, "ustar", 6) == 0 && block[PREFIX_AT] != 0; // GNU's has other things
    snprintf(whole, sizeof whole, "%.*s%s%.*s", has_prefix ? PREFIX_BYTES : 0, (const char *)block + PREFIX_AT,
             has_prefix ? "/" : "", NAME_BYTES, (const char *)block + NAME_AT);
    const char *at = whole;
    while (strncmp(at, "./", 2) == 0) {
        at += 2;
    }
    snprintf(path, PATH_BYTES, "%s", at);
}

/// For sentences: without what could steer a terminal or end a line.
static void make_plain(char *path)
{
    for (; *path != 0; path++) {
        if ((unsigned char)*path < ' ' || (unsigned char)*path >= 0x7f || *path == '"') {
            *path = '?';
        }
    }
}

static bool ends_in(const char *path, const char *const *endings)
{
    const char *dot = strrchr(path, '.');
    for (; dot != NULL && *endings != NULL; endings++) {
        if (strcmp(dot, *endings) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_json(const char *path)
{
    static const char *const endings[] = {".json", NULL};
    return ends_in(path, endings);
}

/// Whether a scene may consist of such a file.
static bool counts(const char *path)
{
    static const char *const endings[] = {".json", ".obj", ".stl", ".ply", ".glb", ".pgm", NULL};
    return path[0] != '.' && strstr(path, "/.") == NULL && ends_in(path, endings);
}

/// Of tar's notes about the next file only those matter that would say otherwise than its block: "LENGTH NAME=VALUE".
static tarn_status read_note(archive_reader *r, size_t byte_count)
{
    static const char *const others[] = {" path=", " size=", " GNU.sparse."};
    char note[NOTE_BYTES_MAX + 1];
    if (byte_count > NOTE_BYTES_MAX) {
        return refuse(r, TARN_E_LIMIT, "the archive has a note of %zu bytes about a file, allowed are %d", byte_count,
                      NOTE_BYTES_MAX);
    }
    const tarn_status status = read_bytes(r, (uint8_t *)note, byte_count, NULL);
    note[byte_count] = 0;
    for (size_t i = 0; status == TARN_OK && i < sizeof others / sizeof others[0]; i++) {
        if (memmem(note, byte_count, others[i], strlen(others[i])) != NULL) {
            return refuse(r, TARN_E_MALFORMED,
                          "the archive has a file with a name or a size that its block doesn't hold; allowed are names "
                          "of at most 100 letters, digits, '.', '_' and '-' (tar --format=ustar)");
        }
    }
    return status;
}

static tarn_status read_file(archive_reader *r, const char *path, size_t byte_count)
{
    if (!tarn_scene_file_name_valid(path) || strlen(path) >= PATH_BYTES) {
        return refuse(r, TARN_E_MALFORMED,
                      "found the file name \"%s\", allowed are letters, digits, '.', '_' and '-', with '/' behind "
                      "folders",
                      path);
    }
    if (byte_count > TARN_SCENE_PACK_ENTRY_BYTES_MAX) {
        return refuse(r, TARN_E_LIMIT, "%s: found %zu bytes, allowed are %d", path, byte_count,
                      TARN_SCENE_PACK_ENTRY_BYTES_MAX);
    }
    if (r->file_count == TARN_SCENE_PACK_ENTRIES_MAX) {
        return refuse(r, TARN_E_LIMIT, "%s: found one file more than the %d that are allowed, the scene's among them",
                      path, TARN_SCENE_PACK_ENTRIES_MAX);
    }
    for (uint32_t i = 0; i < r->file_count; i++) {
        if (strcmp(r->files[i].path, path) == 0) {
            return refuse(r, TARN_E_MALFORMED, "%s: the archive has it twice", path);
        }
        if (is_json(path) && is_json(r->files[i].path)) {
            return refuse(r, TARN_E_MALFORMED, "found %s and %s, allowed is one .json, the scene", r->files[i].path,
                          path);
        }
    }
    archive_file *file = &r->files[r->file_count];
    file->bytes = malloc(byte_count > 0 ? byte_count : 1);
    if (file->bytes == NULL) {
        return refuse(r, TARN_E_MEMORY, "out of memory");
    }
    r->file_count++;
    file->byte_count = byte_count;
    snprintf(file->path, sizeof file->path, "%s", path);
    return read_bytes(r, file->bytes, byte_count, NULL);
}

/// What a block is about, and what follows it. @param is_end  receives whether it was the last
static tarn_status read_head(archive_reader *r, bool *is_end)
{
    uint8_t block[BLOCK];
    char path[PATH_BYTES];
    uint64_t sum, size = 0;
    tarn_status status = read_bytes(r, block, BLOCK, is_end);
    if (status != TARN_OK) {
        return status;
    }
    if (*is_end) {
        return refuse(r, TARN_E_MALFORMED,
                      r->read_bytes == 0 ? "the archive is empty"
                                         : "the archive ends without two blocks of zeros: it isn't whole");
    }
    if (is_zeros(block)) {
        *is_end = true;
        return TARN_OK;
    }
    if (!read_octal(block + SUM_AT, SUM_BYTES, &sum) || sum != sum_of(block)) {
        return refuse(r, TARN_E_MALFORMED,
                      r->read_bytes == BLOCK
                          ? "found something that isn't a tar archive; allowed is one with the scene's .json and the "
                            "files that it names, uncompressed: tar cf scene.tar scene.json duck.obj"
                          : "the archive is damaged: a checksum is wrong");
    }
    read_path(block, path);
    make_plain(path);
    if (!read_octal(block + SIZE_AT, SIZE_BYTES, &size) || size > TARN_SCENE_ARCHIVE_BYTES_MAX) {
        return refuse(r, TARN_E_LIMIT, "%s: it has more bytes than the %d that are allowed for all together", path,
                      TARN_SCENE_ARCHIVE_BYTES_MAX);
    }
    const size_t byte_count = (size_t)size, filling = (BLOCK - byte_count % BLOCK) % BLOCK;
    switch (block[TYPE_AT]) {
    case '0':
    case 0: // as it was before POSIX
        status = counts(path) ? read_file(r, path, byte_count) : read_bytes(r, NULL, byte_count, NULL);
        break;
    case '5': // a folder
        status = read_bytes(r, NULL, byte_count, NULL);
        break;
    case 'g':
    case 'x':
        status = read_note(r, byte_count);
        break;
    default:
        return refuse(r, TARN_E_MALFORMED, "%s: found something that is neither a file nor a folder (a link?)", path);
    }
    return status == TARN_OK ? read_bytes(r, NULL, filling, NULL) : status;
}

/// Behind the end there may be more blocks, which nobody looks at.
static tarn_status read_rest(archive_reader *r)
{
    uint8_t passed_over[4096];
    ssize_t got;
    while ((got = r->source(r->from, passed_over, sizeof passed_over)) > 0) {
        r->read_bytes += (size_t)got;
        if (r->read_bytes > TARN_SCENE_ARCHIVE_BYTES_MAX) {
            return refuse(r, TARN_E_LIMIT, "the archive has more than %d bytes", TARN_SCENE_ARCHIVE_BYTES_MAX);
        }
    }
    return got == 0 ? TARN_OK : refuse(r, TARN_E_IO, "the archive cannot be read");
}

/// The files as a pack, the scene first.
static tarn_status put_together(const archive_reader *r, tarn_scene_pack *pack)
{
    const archive_file *scene = NULL;
    for (uint32_t i = 0; i < r->file_count; i++) {
        scene = is_json(r->files[i].path) ? &r->files[i] : scene;
    }
    if (scene == NULL) {
        return refuse(r, TARN_E_MALFORMED, "found no .json, which would be the scene");
    }
    const char *slash = strrchr(scene->path, '/');
    const size_t folder_bytes = slash != NULL ? (size_t)(slash + 1 - scene->path) : 0;
    tarn_status status = tarn_scene_pack_add(pack, scene->path + folder_bytes, scene->bytes, scene->byte_count);
    for (uint32_t i = 0; status == TARN_OK && i < r->file_count; i++) {
        const archive_file *file = &r->files[i];
        if (file != scene && strncmp(file->path, scene->path, folder_bytes) == 0) {
            status = tarn_scene_pack_add(pack, file->path + folder_bytes, file->bytes, file->byte_count);
        }
        if (status == TARN_E_LIMIT) {
            return refuse(r, status, "%s: its name has more than the %d bytes that are allowed", file->path,
                          TARN_SCENE_PACK_NAME_BYTES_MAX);
        }
    }
    return status == TARN_OK ? TARN_OK : refuse(r, status, "%s", tarn_status_text(status));
}

tarn_status tarn_scene_archive_read(tarn_scene_archive_source source, void *from, tarn_scene_pack *pack, char *why,
                                    size_t why_bytes)
{
    archive_reader reader = {.source = source, .from = from, .why = why, .why_bytes = why_bytes};
    tarn_status status = TARN_OK;
    bool is_end = false;
    for (int i = 0; status == TARN_OK && !is_end; i++) {
        status = i < TARN_SCENE_ARCHIVE_HEADS_MAX ? read_head(&reader, &is_end)
                                                  : refuse(&reader, TARN_E_LIMIT, "the archive has more than %d files",
                                                           TARN_SCENE_ARCHIVE_HEADS_MAX);
    }
    if (status == TARN_OK) {
        status = read_rest(&reader);
    }
    if (status == TARN_OK) {
        status = put_together(&reader, pack);
    }
    for (uint32_t i = 0; i < reader.file_count; i++) {
        free(reader.files[i].bytes);
    }
    return status;
}

static void write_octal(uint8_t *field, int bytes, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%0*llo", bytes - 1, (unsigned long long)number);
    memcpy(field, text, (size_t)bytes);
}

/// @return false: a block doesn't hold this name
static bool write_head(uint8_t *block, const char *name, size_t byte_count)
{
    const size_t name_bytes = strlen(name);
    const char *rest = name;
    memset(block, 0, BLOCK);
    if (name_bytes > NAME_BYTES) { // what stands in front of some slash goes into the prefix
        const char *slash = strchr(name + name_bytes - NAME_BYTES - 1, '/');
        if (slash == NULL || slash - name > PREFIX_BYTES) {
            return false;
        }
        rest = slash + 1;
        memcpy(block + PREFIX_AT, name, (size_t)(slash - name));
    }
    memcpy(block + NAME_AT, rest, strlen(rest)); // NOLINT(bugprone-not-null-terminated-result): it may fill the field
    write_octal(block + MODE_AT, 8, 0644);
    write_octal(block + UID_AT, 8, 0);
    write_octal(block + GID_AT, 8, 0);
    write_octal(block + SIZE_AT, SIZE_BYTES, byte_count);
    write_octal(block + MTIME_AT, 12, 0);
    block[TYPE_AT] = '0';
    memcpy(block + MAGIC_AT, "ustar\00000", 8); // NOLINT(bugprone-not-null-terminated-result): nor does this end
    write_octal(block + SUM_AT, 7, sum_of(block));
    block[SUM_AT + 7] = ' ';
    return true;
}

static size_t whole_blocks(size_t byte_count)
{
    return (byte_count + BLOCK - 1) / BLOCK * BLOCK;
}

tarn_status tarn_scene_archive_write(const uint8_t *pack, size_t pack_bytes, size_t bytes_max, uint8_t **bytes,
                                     size_t *byte_count)
{
    tarn_scene_entry entry;
    size_t all = 2 * (size_t)BLOCK, used = 0;
    for (size_t at = 0; tarn_scene_pack_next(pack, pack_bytes, &at, &entry);) {
        all += BLOCK + whole_blocks(entry.byte_count);
    }
    if (all > bytes_max) {
        return TARN_E_LIMIT;
    }
    uint8_t *made = calloc(1, all);
    if (made == NULL) {
        return TARN_E_MEMORY;
    }
    for (size_t at = 0; tarn_scene_pack_next(pack, pack_bytes, &at, &entry);) {
        if (!write_head(made + used, entry.name, entry.byte_count)) {
            free(made);
            return TARN_E_LIMIT;
        }
        memcpy(made + used + BLOCK, entry.bytes, entry.byte_count);
        used += BLOCK + whole_blocks(entry.byte_count);
    }
    *bytes = made;
    *byte_count = all;
    return TARN_OK;
}
