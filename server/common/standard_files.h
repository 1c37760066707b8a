/// Descriptors 0 to 2, which a program may be started without.
#ifndef TARN_SERVER_COMMON_STANDARD_FILES_H
#define TARN_SERVER_COMMON_STANDARD_FILES_H

#include <fcntl.h>
#include <unistd.h>

/// Opens those of them that are closed, on /dev/null and for reading, so that writing still fails. To be called before
/// anything else is opened: a loop, a socket or a file would take their numbers, and get what is meant for the log.
static inline void tarn_standard_files_open(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

#endif
