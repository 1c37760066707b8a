// A scene in one piece, as a pack and as an archive; and where scenes lie as files (scene.h).
#include "server/scene/archive.h"
#include "protocol/assert.h"
#include "server/base/text.h"
#include "server/scene/scene.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- packs ----
// Entries one behind the other. Begin at tarn_scene_pack_next, which trusts nothing.

enum { HEAD_BYTES = 2 * sizeof(uint32_t), PACK_PATH_BYTES = 4096 };

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

static bool is_scene(const char *name)
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
            (count == 1 && !is_scene(entry.name)) || tarn_scene_pack_find(&front, entry.name, &before)) {
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
        char beside[PACK_PATH_BYTES];
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

// ---- where scenes lie ----
// The shipped directory, its listing, and what a person's argument means.

#define SCENE_SUFFIX ".json"
#define SCENE_SHARE "/../share/tarn/scenes"

bool tarn_scene_name_valid(const char *name)
{
    size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return bytes > 0 && name[bytes] == '\0' && bytes <= TARN_NAME_BYTES_MAX;
}

/// @return 0, or why there is none that can be read, as errno says it
static int directory_error(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return errno;
    }
    return !S_ISDIR(status.st_mode) ? ENOTDIR : access(path, R_OK | X_OK) != 0 ? errno : 0;
}

/// The directory of the running executable, without a slash at the end.
static bool executable_directory(char *path, size_t path_bytes)
{
    ssize_t bytes = readlink("/proc/self/exe", path, path_bytes - 1);
    if (bytes <= 0 || (size_t)bytes >= path_bytes - 1) {
        return false;
    }
    path[bytes] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

/// Says why there is no directory.
static void say_no_directory(const char *by, const char *directory, int error, char *why, size_t why_bytes)
{
    if (why == NULL || why_bytes == 0) {
        return;
    }
    if (by != NULL) {
        snprintf(why, why_bytes, "%s names %.160s, which cannot be read: %s", by, directory, strerror(error));
    } else {
        snprintf(why, why_bytes, "the scenes that come with Tarn are not in %.120s; TARN_SCENES names another folder",
                 directory);
    }
    tarn_make_printable(why);
}

tarn_status tarn_scene_directory(const char *option, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    // A directory that somebody named is the only one tried: falling back would hide the mistake.
    const char *variable = getenv("TARN_SCENES"), *named = option;
    if (option != NULL && variable != NULL && strcmp(option, variable) == 0) {
        option = NULL; // a program whose options come from the environment, too, was told the same by that
    }
    if (option == NULL && variable != NULL && variable[0] != '\0') {
        named = variable;
    }
    char beside[PATH_MAX + sizeof SCENE_SHARE] = "", real[PATH_MAX];
    if (named == NULL && executable_directory(beside, PATH_MAX)) {
        strcat(beside, SCENE_SHARE);
    }
    const char *candidate = named != NULL ? named : beside;
    const int error = directory_error(candidate);
    const char *found = error != 0 ? NULL : option != NULL ? option : realpath(candidate, real);
    if (found != NULL && strlen(found) < path_bytes) {
        strcpy(path, found);
        return TARN_OK;
    }
    say_no_directory(named == NULL    ? NULL
                     : option != NULL ? "--scenes"
                                      : "TARN_SCENES",
                     candidate, error, why, why_bytes);
    return TARN_E_NOT_FOUND;
}

/// Cuts the suffix off a scene's file name. The schema and hidden files aren't scenes, by their names.
static bool scene_name_of(const char *file, tarn_name name)
{
    size_t bytes = strlen(file), suffix = strlen(SCENE_SUFFIX);
    if (bytes <= suffix || bytes - suffix > TARN_NAME_BYTES_MAX || strcmp(file + bytes - suffix, SCENE_SUFFIX) != 0) {
        return false;
    }
    memcpy(name, file, bytes - suffix);
    name[bytes - suffix] = '\0';
    return tarn_scene_name_valid(name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

tarn_status tarn_scene_list(const char *directory, tarn_name *names, uint32_t names_max, uint32_t *name_count)
{
    DIR *stream = opendir(directory);
    if (stream == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? TARN_E_NOT_FOUND : TARN_E_IO;
    }
    if (names_max > TARN_SCENES_MAX) {
        names_max = TARN_SCENES_MAX;
    }
    // A directory comes in no order: with more scenes than fit, the first by name are kept.
    uint32_t count = 0;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        tarn_name name = {0};
        if (!scene_name_of(entry->d_name, name)) {
            continue;
        }
        if (count < names_max) {
            memcpy(names[count++], name, sizeof name);
        } else if (count > 0 && strcmp(name, names[count - 1]) < 0) {
            memcpy(names[count - 1], name, sizeof name);
        } else {
            continue;
        }
        qsort(names, count, sizeof names[0], compare_names);
    }
    closedir(stream);
    *name_count = count;
    return TARN_OK;
}

/// Says which scenes there are; for the sentence about one that isn't.
static void say_not_found(const char *argument, const char *directory, char *why, size_t why_bytes)
{
    if (why == NULL || why_bytes == 0) {
        return;
    }
    size_t used = 0;
    int bytes = snprintf(why, why_bytes, "scene %.100s: no such file%s%.200s", argument,
                         directory != NULL ? ", and none of that name in " : "", directory != NULL ? directory : "");
    used = bytes < 0 ? 0 : (size_t)bytes;
    tarn_name *names = calloc(TARN_SCENES_MAX, sizeof *names);
    uint32_t count = 0;
    if (names != NULL && directory != NULL) {
        tarn_scene_list(directory, names, TARN_SCENES_MAX, &count);
    }
    const char *near = names != NULL ? tarn_near_name(argument, names[0], count, sizeof names[0]) : NULL;
    if (near != NULL && used < why_bytes) {
        bytes = snprintf(why + used, why_bytes - used, "; did you mean \"%s\"?", near);
        used += bytes < 0 ? 0 : (size_t)bytes;
    }
    for (uint32_t i = 0; i < count && used < why_bytes; i++) {
        bytes = snprintf(why + used, why_bytes - used, "%s%s",
                         i > 0          ? ", "
                         : near != NULL ? " Allowed is a path to a .json file or one of: "
                                        : "; allowed is a path to a .json file or one of: ",
                         names[i]);
        used += bytes < 0 ? 0 : (size_t)bytes;
    }
    free(names);
    tarn_make_printable(why);
}

/// Whether a file is there, or may be: where the system says anything else than that there is none, so does who reads
/// it.
static bool may_be_there(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

tarn_status tarn_scene_resolve(const char *argument, const char *directory, char *path, size_t path_bytes, char *why,
                               size_t why_bytes)
{
    char own[PATH_MAX];
    if (directory == NULL && tarn_scene_directory(NULL, own, sizeof own, NULL, 0) == TARN_OK) {
        directory = own;
    }
    tarn_name name = {0};
    bool is_name = tarn_scene_name_valid(argument);
    if (is_name) {
        snprintf(name, sizeof name, "%s", argument);
    }
    int bytes = snprintf(path, path_bytes, "%s", argument);
    if (bytes < 0 || (size_t)bytes >= path_bytes) {
        say_not_found(argument, directory, why, why_bytes);
        return TARN_E_NOT_FOUND;
    }
    // A bare name means the shipped scene; a file of that name here is meant only when its path says so.
    if (!is_name && may_be_there(path)) {
        return TARN_OK;
    }
    if (!is_name && strchr(argument, '/') == NULL) {
        is_name = scene_name_of(argument, name);
    }
    if (is_name && directory == NULL) {
        tarn_scene_directory(NULL, own, sizeof own, why, why_bytes);
        return TARN_E_NOT_FOUND;
    }
    if (is_name) {
        bytes = snprintf(path, path_bytes, "%s/%s" SCENE_SUFFIX, directory, name);
        if (bytes > 0 && (size_t)bytes < path_bytes && may_be_there(path)) {
            return TARN_OK;
        }
    }
    say_not_found(argument, directory, why, why_bytes);
    return TARN_E_NOT_FOUND;
}

// ---- archives, read ----
// Block by block, in one go and without going back: begin at tarn_scene_archive_read. What a block says is checked
// before it is used, and nothing but names and contents is used: neither owners nor modes, dates or links.
//
//     block of 512 bytes: name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | type 1 | link 100 |
//                         magic 6 | version 2 | user 32 | group 32 | device 16 | prefix 155
//                         (numbers are octal text)
//     content, filled up to whole blocks; at the end two blocks of zeros

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

static tarn_status refuse_other(archive_reader *r)
{
    return refuse(r, TARN_E_MALFORMED,
                  "found something that isn't a tar archive; allowed is one with the scene's .json and the files that "
                  "it names, uncompressed: tar cf scene.tar scene.json duck.obj");
}

/// As tar's notes may say otherwise than a block.
static tarn_status refuse_long(archive_reader *r)
{
    return refuse(r, TARN_E_MALFORMED,
                  "the archive has a file with a name or a size that its block doesn't hold; allowed are names of at "
                  "most 100 letters, digits, '.', '_' and '-' (tar --format=ustar)");
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
        if (got == 0 && r->read_bytes < BLOCK) {
            return refuse_other(r); // something small: compressed, it may be
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
            return refuse_long(r);
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
        return r->read_bytes == BLOCK ? refuse_other(r)
                                      : refuse(r, TARN_E_MALFORMED, "the archive is damaged: a checksum is wrong");
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
    case 'K':
    case 'L': // GNU's, of the next file
        return refuse_long(r);
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

// ---- archives, written ----

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
