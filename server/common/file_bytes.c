// A whole file into memory, refused before it is read where it is too large or no regular file.
#include "server/common/file_bytes.h"

#include "server/common/text_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// Reads until the end or until `bytes_max` + 1 bytes are there: a file may grow while it's read.
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
