// Written beside its target and renamed over it; a stream or device is written as it is.
#include "server/tool/export/part_file.h"

#include "server/tool/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 100 };

/// Opens a new file beside `path`; what is there under such a name belongs to somebody else, and is no link to follow.
static tarn_status open_part(part_file *file, const char *path, char *why)
{
    for (int i = 0; i < NAMES_MAX; i++) {
        char number[16] = "";
        if (i > 0) {
            snprintf(number, sizeof number, "-%d", i);
        }
        int bytes = snprintf(file->part, sizeof file->part, "%s.%ld%s.part", path, (long)getpid(), number);
        if (bytes < 0 || (size_t)bytes >= sizeof file->part) {
            errno = ENAMETOOLONG;
            break;
        }
        file->file = fopen(file->part, "w+bex");
        if (file->file != NULL) {
            return TARN_OK;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return export_why_errno(path, why);
}

/// What is there and isn't a file that could be replaced.
static bool is_stream(const char *path)
{
    struct stat found;
    return strcmp(path, "-") == 0 || (stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode));
}

bool part_file_make_folder(const char *path, bool is_folder)
{
    char folder[PATH_MAX];
    const char *end = is_folder ? path + strlen(path) : strrchr(path, '/');
    if (end == NULL || end == path) {
        return true;
    }
    if ((size_t)(end - path) >= sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
    return mkdir(folder, 0777) == 0 || errno == EEXIST;
}

tarn_status part_file_open_whole(part_file *file, const char *path, char *why)
{
    if (!is_stream(path)) {
        return part_file_open(file, path, why);
    }
    file->file = NULL;
    snprintf(why, EXPORT_WHY_BYTES, "%s: found a pipe or a device, allowed is a file; .y4m can go through a pipe",
             path);
    return TARN_E_IO;
}

tarn_status part_file_open(part_file *file, const char *path, char *why)
{
    file->file = NULL;
    file->part[0] = '\0';
    int bytes = snprintf(file->path, sizeof file->path, "%s", path);
    if (bytes < 0 || (size_t)bytes >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return export_why_errno(path, why);
    }
    struct stat found;
    if (strcmp(path, "-") == 0) {
        file->file = stdout;
        return TARN_OK;
    }
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
        file->file = fopen(path, "wbe");
        return file->file != NULL ? TARN_OK : export_why_errno(path, why);
    }
    return open_part(file, path, why);
}

tarn_status part_file_try(const char *path, char *why)
{
    struct stat found;
    part_file file;
    if (strcmp(path, "-") == 0 || (stat(path, &found) == 0 && S_ISFIFO(found.st_mode))) {
        return TARN_OK;
    }
    const tarn_status status = part_file_open(&file, path, why);
    if (status != TARN_OK) {
        return status;
    }
    // A device gets nothing; one that is full refuses that, too.
    if (write(fileno(file.file), "", file.part[0] != '\0' ? 1 : 0) < 0) {
        return part_file_fail(&file, why);
    }
    part_file_drop(&file);
    return TARN_OK;
}

static int close_stream(part_file *file)
{
    FILE *stream = file->file;
    file->file = NULL;
    return stream == stdout ? fflush(stream) : fclose(stream);
}

tarn_status part_file_close(part_file *file, char *why)
{
    if (ferror(file->file)) {
        errno = errno != 0 ? errno : EIO;
        return part_file_fail(file, why);
    }
    if (close_stream(file) != 0 || (file->part[0] != '\0' && rename(file->part, file->path) != 0)) {
        tarn_status status = export_why_errno(file->path, why);
        if (file->part[0] != '\0') {
            unlink(file->part);
        }
        return status;
    }
    return TARN_OK;
}

void part_file_drop(part_file *file)
{
    if (file->file != NULL) {
        close_stream(file);
        if (file->part[0] != '\0') {
            unlink(file->part);
        }
    }
}

tarn_status part_file_fail(part_file *file, char *why)
{
    tarn_status status = export_why_errno(file->path, why);
    part_file_drop(file);
    return status;
}
