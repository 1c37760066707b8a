// All files by age, then those that may go. Begin at tarn_store_limit_apply.
#include "server/gateway/store_limit.h"
#include "server/gateway/store_words.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct limited_file {
    const char *name;  // of the entry
    size_t name_bytes; // of the session's name in it
    uint64_t bytes;
    int64_t age_s;
    bool is_aside, is_used;
} limited_file;

static const char *const besides[] = {"-wal", "-shm", ""}; // the database last: without it the others say nothing

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

static int is_session(const struct dirent *entry)
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
    for (size_t i = 0; i < sizeof besides / sizeof besides[0]; i++) {
        char path[4096];
        struct stat found;
        snprintf(path, sizeof path, "%s/%s%s", dir, file->name, besides[i]);
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
    for (size_t i = 0; i < sizeof besides / sizeof besides[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s%s", dir, file->name, besides[i]);
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
    const int count = scandir(dir, &entries, is_session, NULL);
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
