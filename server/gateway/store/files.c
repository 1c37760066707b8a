// Removed, renamed and counted together: begin at tarn_tank_files_set_aside and tarn_store_limit_apply.
#include "server/base/files.h"
#include "server/base/log.h"
#include "server/gateway/store/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A database and what SQLite keeps beside it, which says nothing without it.
static const char *const parts[] = {"", "-wal", "-shm"};

enum { PARTS = sizeof parts / sizeof parts[0] };

/// The session's name in a path. @return how many bytes it has
static size_t name_in(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    return strlen(*name) - (sizeof TARN_TANK_FILES_SUFFIX - 1);
}

void tarn_tank_files_remove(const char *path, const char *label)
{
    const char *name;
    const size_t name_bytes = name_in(path, &name);
    char beside[4200];
    for (size_t i = 0; i < PARTS; i++) {
        snprintf(beside, sizeof beside, "%.4096s%s", path, parts[i]);
        if (unlink(beside) != 0 && errno != ENOENT) {
            tarn_store_log(TARN_LOG_WARN, name, name_bytes, label, "%s: %s", beside, strerror(errno));
        }
    }
    tarn_file_sync_folder(path);
}

bool tarn_tank_files_set_aside(const char *path, const char *label, const char *why)
{
    char aside[4096], from[4200], to[4200];
    const char *name;
    const size_t name_bytes = name_in(path, &name);
    const int length = (int)(strlen(path) - (sizeof TARN_TANK_FILES_SUFFIX - 1));
    for (uint32_t i = 0;; i++) {
        snprintf(aside, sizeof aside, i == 0 ? "%.*s.damaged" : "%.*s-%u.damaged", length, path, i);
        if (access(aside, F_OK) != 0) {
            break;
        }
    }
    for (size_t i = PARTS; i > 0; i--) { // the database last: what is beside it must not be left to another one
        snprintf(from, sizeof from, "%.4096s%s", path, parts[i - 1]);
        snprintf(to, sizeof to, "%s%s", aside, parts[i - 1]);
        if (rename(from, to) != 0 && errno != ENOENT) {
            tarn_store_log(TARN_LOG_ERROR, name, name_bytes, label, "%s; it can't be set aside as %s: %s", why, to,
                           strerror(errno));
            return false;
        }
    }
    (void)utimensat(AT_FDCWD, aside, NULL, 0); // --store-age counts from now on
    tarn_store_log(TARN_LOG_ERROR, name, name_bytes, label, "%s; it is set aside as %s", why, aside);
    tarn_file_sync_folder(path);
    return true;
}

// ---- what the log calls them ----

enum { LETTERS = 2 };

void tarn_store_label(const char *name, size_t name_bytes, bool is_listed, uint32_t number, tarn_name label)
{
    if (is_listed) {
        snprintf(label, sizeof(tarn_name), "%.*s", (int)name_bytes, name);
    } else if (number > 0) {
        snprintf(label, sizeof(tarn_name), "unlisted-%u", number);
    } else {
        snprintf(label, sizeof(tarn_name), "%.*s...", name_bytes < LETTERS ? (int)name_bytes : LETTERS, name);
    }
}

void tarn_store_hide(tarn_text sentence, const char *name, size_t name_bytes, const char *label)
{
    tarn_text before;
    tarn_name whole;
    snprintf(before, sizeof before, "%s", sentence);
    snprintf(whole, sizeof whole, "%.*s", (int)name_bytes, name);
    size_t at = 0;
    for (const char *from = before; *from != 0 && at + 1 < sizeof(tarn_text);) {
        const bool is_name = name_bytes > 0 && strncmp(from, whole, name_bytes) == 0 &&
                             strchr(".-", from[name_bytes]) != NULL && (from == before || from[-1] == '/');
        if (is_name) {
            at += (size_t)snprintf(sentence + at, sizeof(tarn_text) - at, "%s", label);
            at = at < sizeof(tarn_text) ? at : sizeof(tarn_text) - 1;
            from += name_bytes;
        } else {
            sentence[at++] = *from++;
        }
    }
    sentence[at] = 0;
}

void tarn_store_log(tarn_log_level level, const char *name, size_t name_bytes, const char *label, const char *format,
                    ...)
{
    tarn_text sentence;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    tarn_store_hide(sentence, name, name_bytes, label);
    tarn_log_of(level, (tarn_log_subject){0}, "%s", sentence);
}

// ---- which of them go ----
// All files by age, then those that may go. Begin at tarn_store_limit_apply.

typedef struct limited_file {
    const char *name;  // of the entry
    size_t name_bytes; // of the session's name in it
    uint64_t bytes;
    int64_t age_s;
    bool is_aside, is_used;
} limited_file;

/// @return the bytes of a session's name in front of an ending; 0: it is no session's file
static size_t name_bytes_of(const char *file_name, bool *is_aside)
{
    const char *ending = strrchr(file_name, '.');
    if (ending == NULL || (strcmp(ending, ".tank") != 0 && strcmp(ending, ".damaged") != 0)) {
        return 0;
    }
    *is_aside = ending[1] == 'd';
    return (size_t)(ending - file_name);
}

static int is_tank_file(const struct dirent *entry)
{
    bool is_aside;
    return name_bytes_of(entry->d_name, &is_aside) > 0;
}

static int by_age(const void *a, const void *b)
{
    const int64_t first = ((const limited_file *)a)->age_s, second = ((const limited_file *)b)->age_s;
    return (first < second) - (first > second);
}

/// What SQLite keeps beside a database is part of it.
static void measure(const char *dir, int64_t opened_s, int64_t now_s, limited_file *file)
{
    int64_t changed_s = file->is_aside ? 0 : opened_s; // a tank that was left out may be wanted by the next server
    for (size_t i = 0; i < PARTS; i++) {
        char path[4096];
        struct stat found;
        snprintf(path, sizeof path, "%s/%s%s", dir, file->name, parts[i]);
        if (lstat(path, &found) == 0) {
            file->bytes += (uint64_t)found.st_size;
            changed_s = found.st_mtime > changed_s ? found.st_mtime : changed_s;
        }
    }
    file->age_s = now_s - changed_s;
}

/// @return whether it is gone
static bool drop(const char *dir, const limited_file *file, const char *why)
{
    tarn_name label;
    tarn_store_label(file->name, file->name_bytes, false, 0, label);
    for (size_t i = PARTS; i > 0; i--) { // the database last: without it nobody would look for the others
        char path[4096];
        snprintf(path, sizeof path, "%s/%s%s", dir, file->name, parts[i - 1]);
        if (unlink(path) != 0 && errno != ENOENT) {
            tarn_store_log(TARN_LOG_WARN, file->name, file->name_bytes, label, "%s: %s", path, strerror(errno));
            return false;
        }
    }
    tarn_store_log(TARN_LOG_WARN, file->name, file->name_bytes, label,
                   "%s/%s: deleted: %s; no session uses it, and it last changed %" PRId64 " h ago", dir, file->name,
                   why, file->age_s / 3600);
    return true;
}

bool tarn_store_limit_apply(const char *dir, const tarn_store_limit *limit, int64_t opened_s, int64_t now_s,
                            bool (*is_used)(void *user, const char *name, size_t name_bytes), void *user,
                            tarn_store_use *use)
{
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, is_tank_file, NULL);
    limited_file *files = count > 0 ? calloc((size_t)count, sizeof *files) : NULL;
    memset(use, 0, sizeof *use);
    for (int i = 0; i < count && files != NULL; i++) {
        limited_file *file = &files[i];
        file->name = entries[i]->d_name;
        file->name_bytes = name_bytes_of(file->name, &file->is_aside);
        file->is_used = !file->is_aside && is_used(user, file->name, file->name_bytes);
        measure(dir, opened_s, now_s, file);
        use->bytes += file->bytes;
    }
    if (files != NULL) {
        qsort(files, (size_t)count, sizeof *files, by_age);
    }
    for (int i = 0; i < count && files != NULL; i++) {
        const limited_file *file = &files[i];
        const bool is_old = !file->is_used && file->age_s > 0 && (uint64_t)file->age_s > limit->age_max_s;
        const bool is_too_much = file->is_aside && use->bytes > limit->bytes_max;
        if ((is_old || is_too_much) && drop(dir, file, is_old ? "older than --store-age" : "more than --store-max")) {
            use->bytes -= file->bytes;
            use->dropped++;
        }
    }
    use->is_too_large = use->bytes > limit->bytes_max;
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    free(files);
    return count == 0 || files != NULL;
}
