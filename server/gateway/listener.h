/// The listening socket. Connections are counted here, in all and by address, before libwebsockets sees them; those
/// above a limit get an HTTP 503, and so do those that come when the process has no descriptor left.
///
/// Whoever just holds a connection keeps nobody out: when few places are left, each that comes ends the one in which
/// nothing has happened for the longest time. Those of viewers that have joined stay, unless there is no other, and
/// nobody looks by them (viewer/room.h).
#ifndef TARN_SERVER_GATEWAY_LISTENER_H
#define TARN_SERVER_GATEWAY_LISTENER_H

#include "protocol/status.h"
#include "server/base/limits.h"
#include "server/gateway/service_manager.h"
#include "server/net/gate.h"
#include "server/net/proxies.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <uv.h>

struct lws;

typedef struct tarn_connection {
    bool used;
    bool is_joined;          ///< it is a viewer's who takes part
    bool is_dropped;         ///< it is about to end
    bool is_proxied;         ///< its request named whom it came for
    bool is_plain;           ///< it came to a port that has no TLS beside one that has it
    struct lws *wsi;         ///< NULL until it is adopted
    uint64_t moved_ns;       ///< when something happened in it last that a connection is for
    struct in6_addr address; ///< of the peer, IPv4 ones mapped
    struct in6_addr client;  ///< whom its newest request comes from: the peer, or whom a trusted proxy names
    tarn_gate gate;
} tarn_connection;

typedef struct tarn_listener {
    int fd;
    uv_poll_t poll;
    bool open;
    uint16_t port;     ///< the one that was bound
    bool is_encrypted; ///< whoever is refused is told nothing: it would have to be by TLS
    void *user;
    /// Takes over the descriptor; the connection is given back with tarn_listener_release.
    void (*accepted)(void *user, int fd, tarn_connection *connection);
    /// Ends a connection soon, but not at once.
    void (*drop)(tarn_connection *connection);
    /// Asked for so many more places, has viewers go that nobody looks by; NULL: there are none.
    void (*make_room)(uint32_t wanted);
    int spare_fd; ///< given up for a moment to turn a connection away when descriptors have run out
    uint64_t accepted_total, refused_total, dropped_total;
    const tarn_proxies *proxies; ///< which each may have all places; NULL: none
    uint32_t connections_max;    ///< 1..TARN_GATEWAY_CONNECTIONS_MAX, all of these unless set after binding
    tarn_connection connections[TARN_GATEWAY_CONNECTIONS_MAX];
} tarn_listener;

/// Binds the address, without listening yet: whether it is free is known before anything else starts.
/// @param option  that names the port, for the sentence
/// @param why     on failure a sentence  @return TARN_OK or TARN_E_IO
tarn_status tarn_listener_bind(tarn_listener *listener, const char *host, uint16_t port, const char *option,
                               tarn_text why);

/// Accepts from now on. @return TARN_OK or TARN_E_IO
tarn_status tarn_listener_start(tarn_listener *listener, uv_loop_t *loop,
                                void (*accepted)(void *user, int fd, tarn_connection *connection),
                                void (*drop_one)(tarn_connection *connection), void *user, tarn_text why);

/// A place for a connection from this address; NULL where a limit is reached.
tarn_connection *tarn_listener_place(tarn_listener *listener, const struct in6_addr *address);

/// Gives the place back.
void tarn_listener_release(tarn_connection *connection);

/// Drops connections in which nothing has happened for TARN_GATEWAY_CONNECTION_IDLE_S, but for those that have joined,
/// and ends what takes too long (net/gate.h).
void tarn_listener_tick(tarn_listener *listener, uint64_t now_ns);

/// The gateway stood: connections have their time again.
void tarn_listener_stood(tarn_listener *listener, const tarn_standstill *stood);

/// Stops accepting and closes the socket.
void tarn_listener_stop(tarn_listener *listener);

#endif
