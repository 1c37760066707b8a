/// What the kernel knows of the way to a viewer (tcp(7), TCP_INFO). An acknowledgement comes late for many reasons, a
/// busy processor at either end among them, and only one of them gets better by sending less.
#ifndef TARN_SERVER_GATEWAY_VIEWER_PATH_H
#define TARN_SERVER_GATEWAY_VIEWER_PATH_H

#include <stdint.h>

#define TARN_VIEWER_PATH_UNKNOWN UINT64_MAX

/// How long bytes that are sent now would wait behind others: in the socket, at the rate at which bytes are delivered,
/// and on the way, by what a round trip takes beyond the shortest one.
/// @param fd  a TCP socket
/// @return TARN_VIEWER_PATH_UNKNOWN where the kernel can't tell
uint64_t tarn_viewer_path_queue_ns(int fd);

#endif
