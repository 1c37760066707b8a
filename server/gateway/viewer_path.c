// How long a viewer's bytes wait in the kernel, from tcp_info.
#include "server/gateway/viewer_path.h"

#include <linux/tcp.h> // the C library's own lacks the newer figures
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

uint64_t tarn_viewer_path_queue_ns(int fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        bytes < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate) {
        return TARN_VIEWER_PATH_UNKNOWN;
    }
    const uint64_t rtt_us = info.tcpi_rtt > info.tcpi_min_rtt ? info.tcpi_rtt - info.tcpi_min_rtt : 0;
    if (info.tcpi_notsent_bytes == 0) {
        return rtt_us * 1000;
    }
    if (info.tcpi_delivery_rate == 0) {
        return TARN_VIEWER_PATH_UNKNOWN;
    }
    return rtt_us * 1000 + info.tcpi_notsent_bytes * (uint64_t)1000000000 / info.tcpi_delivery_rate;
}
