// A descriptor of memory.
#include "server/gateway/session/box.h"
#include "server/base/log.h"
#include "server/log/follow.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void tarn_session_box_open(int *fd)
{
    if (*fd > 0) {
        return;
    }
    const int made = memfd_create("tarn-tank", MFD_CLOEXEC);
    if (made <= 0) {
        tarn_log_warn("there is no descriptor for a tank's black box: if its worker ends, it starts afresh");
    }
    *fd = made > 0 ? made : 0;
}

void tarn_session_box_copy_scene(int from, int to)
{
    if (from > 0 && to > 0) {
        tarn_box_copy_scene(from, to);
    }
}

void tarn_session_box_close(int *fd)
{
    if (*fd > 0) {
        close(*fd);
    }
    *fd = 0;
}

bool tarn_session_box_can_go(int fd)
{
    const int copy = fd > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 1) : 0;
    if (copy > 0) {
        close(copy);
    }
    return copy >= 0;
}
