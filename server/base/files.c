// A whole file into memory, refused before it is read where it is too large or no regular file; and one out of it.
#include "server/base/files.h"
#include "server/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// Reads until the end or until the room is full: a file may grow while it's read.
static int read_all(int file, char *bytes, size_t room, size_t *byte_count)
{
    *byte_count = 0;
    while (*byte_count < room) {
        const ssize_t count = read(file, bytes + *byte_count, room - *byte_count);
        if (count == 0) {
            break;
        }
        if (count > 0) {
            *byte_count += (size_t)count;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

tarn_status tarn_file_bytes_read(const char *path, size_t bytes_max, const char *what, char **bytes, size_t *byte_count,
                                 char *why, size_t why_bytes)
{
    const tarn_text_cursor to = {.origin = path, .why = why, .why_bytes = why_bytes};
    struct stat about;
    char *space = NULL;
    tarn_status status = TARN_E_IO;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &about) != 0) {
        status = tarn_text_refuse(&to, errno == ENOENT ? TARN_E_NOT_FOUND : TARN_E_IO, "%s", strerror(errno));
        goto end;
    }
    if (!S_ISREG(about.st_mode)) {
        tarn_text_refuse(&to, status, "found something that isn't a file, allowed is %s", what);
        goto end;
    }
    if ((uint64_t)about.st_size > bytes_max) {
        status = tarn_text_refuse(&to, TARN_E_LIMIT, "found %lld bytes, allowed are %zu", (long long)about.st_size,
                                  bytes_max);
        goto end;
    }
    const size_t room = (size_t)about.st_size + 1; // one more shows that it grew
    space = malloc(room);
    if (space == NULL) {
        status = tarn_text_refuse(&to, TARN_E_MEMORY, "out of memory for %zu bytes", room);
        goto end;
    }
    if (read_all(file, space, room, byte_count) != 0) {
        tarn_text_refuse(&to, status, "%s", strerror(errno));
    } else if (*byte_count == room) {
        tarn_text_refuse(&to, status, "the file grew while it was read, allowed is %s that nobody writes to", what);
    } else {
        *bytes = space;
        space = NULL;
        status = TARN_OK;
    }
end:
    free(space);
    if (file >= 0) {
        close(file);
    }
    return status;
}

static bool write_all(int fd, const char *bytes, size_t byte_count)
{
    while (byte_count > 0) {
        const ssize_t written = write(fd, bytes, byte_count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        bytes += written;
        byte_count -= (size_t)written;
    }
    return fsync(fd) == 0;
}

tarn_status tarn_file_bytes_put(const char *path, unsigned mode, const void *bytes, size_t byte_count)
{
    char aside[PATH_MAX + 4];
    if ((size_t)snprintf(aside, sizeof aside, "%s.new", path) >= sizeof aside) {
        errno = ENAMETOOLONG;
        return TARN_E_IO;
    }
    (void)unlink(aside); // of a program that was killed
    const int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return TARN_E_IO;
    }
    const bool is_put = fchmod(fd, (mode_t)mode) == 0 && write_all(fd, bytes, byte_count) && rename(aside, path) == 0;
    const int error = errno;
    close(fd);
    if (!is_put) {
        (void)unlink(aside);
        errno = error;
        return TARN_E_IO;
    }
    tarn_file_sync_folder(path);
    return TARN_OK;
}

void tarn_file_sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    snprintf(folder, sizeof folder, "%.*s", length, slash == NULL ? "." : path);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}
