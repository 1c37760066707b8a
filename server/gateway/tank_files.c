// Removed and renamed together.
#include "server/gateway/tank_files.h"
#include "server/common/file_bytes.h"
#include "server/common/log.h"
#include "server/gateway/store_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const besides[] = {"", "-wal", "-shm"};

enum { BESIDES = sizeof besides / sizeof besides[0] };

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
    for (size_t i = 0; i < BESIDES; i++) {
        snprintf(beside, sizeof beside, "%.4096s%s", path, besides[i]);
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
    for (size_t i = BESIDES; i > 0; i--) { // the database last: what is beside it must not be left to another one
        snprintf(from, sizeof from, "%.4096s%s", path, besides[i - 1]);
        snprintf(to, sizeof to, "%s%s", aside, besides[i - 1]);
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
