/// The listening socket. Connections are counted here, in all and by address, before libwebsockets sees them; those
/// above a limit get an HTTP 503, and so do those that come when the process has no descriptor left.
#ifndef TARN_SERVER_GATEWAY_LISTENER_H
#define TARN_SERVER_GATEWAY_LISTENER_H

#include "protocol/status.h"
#include "server/gateway/gateway_limits.h"

#include <netinet/in.h>
#include <uv.h>

typedef struct tarn_connection {
    uint8_t used;
    uint8_t is_proxied;      ///< its request named whom it came for
    struct in6_addr address; ///< IPv4 addresses as mapped ones
} tarn_connection;

typedef struct tarn_listener {
    int fd;
    uv_poll_t poll;
    int open;
    uint16_t port; ///< the one that was bound
    void *user;
    /// Takes over the descriptor; the connection is to be given back with tarn_listener_release.
    void (*accepted)(void *user, int fd, tarn_connection *connection);
    int spare_fd; ///< given up for a moment to turn a connection away when descriptors have run out
    uint64_t accepted_total, refused_total;
    tarn_connection connections[TARN_GATEWAY_CONNECTIONS_MAX];
} tarn_listener;

/// Binds the address, without listening yet: whether it is free is known before anything else starts.
/// @param why  on failure a sentence  @return TARN_OK or TARN_E_IO
tarn_status tarn_listener_bind(tarn_listener *listener, const char *host, uint16_t port, tarn_text why);

/// Accepts from now on. @return TARN_OK or TARN_E_IO
tarn_status tarn_listener_start(tarn_listener *listener, uv_loop_t *loop,
                                void (*accepted)(void *user, int fd, tarn_connection *connection), void *user,
                                tarn_text why);

void tarn_listener_release(tarn_connection *connection);

/// Stops accepting and closes the socket.
void tarn_listener_stop(tarn_listener *listener);

#endif
