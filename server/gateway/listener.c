// Accepts, counts by address, and hands the socket to libwebsockets: start at on_acceptable.
#include "server/gateway/listener.h"
#include "server/base/clock.h"
#include "server/net/addresses.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void normalise(const struct sockaddr_storage *from, struct in6_addr *address)
{
    *address = from->ss_family == AF_INET6  ? ((const struct sockaddr_in6 *)from)->sin6_addr
               : from->ss_family == AF_INET ? tarn_address_map(&((const struct sockaddr_in *)from)->sin_addr)
                                            : (struct in6_addr){0};
}

tarn_connection *tarn_listener_place(tarn_listener *listener, const struct in6_addr *address)
{
    tarn_connection *free_place = NULL;
    uint32_t same = 0, used = 0;
    for (int i = 0; i < TARN_GATEWAY_CONNECTIONS_MAX; i++) {
        tarn_connection *connection = &listener->connections[i];
        if (!connection->used) {
            free_place = connection;
        } else {
            used++;
            same += tarn_client_is_one(&connection->address, address);
        }
    }
    if (used >= listener->connections_max) {
        return NULL;
    }
    const bool is_free = tarn_address_is_loopback(address) ||
                         (listener->proxies != NULL && tarn_proxies_trust(listener->proxies, address));
    return same < TARN_GATEWAY_CONNECTIONS_PER_IP_MAX || is_free ? free_place : NULL;
}

static void drop(tarn_listener *listener, tarn_connection *connection)
{
    connection->is_dropped = true;
    listener->dropped_total++;
    listener->drop(connection);
}

static bool is_served(const tarn_connection *connection)
{
    return connection->used && !connection->is_dropped && connection->wsi != NULL;
}

static bool may_drop(const tarn_connection *connection)
{
    return is_served(connection) && !connection->is_joined;
}

/// Drops the connection in which nothing has happened for the longest time, unless there are places enough.
static void make_room(tarn_listener *listener)
{
    tarn_connection *oldest = NULL;
    uint32_t used = 0;
    for (int i = 0; i < TARN_GATEWAY_CONNECTIONS_MAX; i++) {
        tarn_connection *connection = &listener->connections[i];
        used += connection->used && !connection->is_dropped;
        if (may_drop(connection) && (oldest == NULL || connection->moved_ns < oldest->moved_ns)) {
            oldest = connection;
        }
    }
    const uint32_t spare = listener->connections_max / TARN_GATEWAY_CONNECTIONS_SPARE + 1;
    if (used + spare <= listener->connections_max) {
        return;
    }
    if (oldest != NULL) {
        drop(listener, oldest);
    } else if (listener->make_room != NULL) {
        listener->make_room(used + spare - listener->connections_max);
    }
}

static void refuse(const tarn_listener *listener, int fd)
{
#define SENTENCE "there are too many connections, in all or from this address; try again in a moment\n"
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n"
                                 "Content-Type: text/plain; charset=utf-8\r\n"
                                 "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
                                 "Cross-Origin-Opener-Policy: same-origin\r\n"
                                 "Cross-Origin-Embedder-Policy: require-corp\r\n"
                                 "Cross-Origin-Resource-Policy: same-origin\r\n"
                                 "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
                                 "Cache-Control: no-store\r\nContent-Length: 83\r\nConnection: close\r\n\r\n" SENTENCE;
    _Static_assert(sizeof SENTENCE - 1 == 83, "the answer states its length");
#undef SENTENCE
    if (!listener->is_encrypted) { // who gets no handshake could not read it
        ssize_t sent = send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)sent; // whoever does not get it is refused all the same
    }
    close(fd);
}

/// Accepts and refuses a connection although there is no descriptor left: one that stayed in the backlog would wake the
/// loop again and again. @return whether there was one
static bool turn_away(tarn_listener *listener)
{
    if (listener->spare_fd >= 0) {
        close(listener->spare_fd);
    }
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        listener->refused_total++;
        refuse(listener, fd);
    }
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

static void set_options(int fd)
{
    int on = 1, notsent = TARN_GATEWAY_NOTSENT_BYTES;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &notsent, sizeof notsent);
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    tarn_listener *listener = poll->data;
    (void)events;
    if (status < 0) {
        return;
    }
    for (int i = 0; i < TARN_GATEWAY_BACKLOG; i++) {
        struct sockaddr_storage from = {0};
        socklen_t from_bytes = sizeof from;
        int fd = accept4(listener->fd, (struct sockaddr *)&from, &from_bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && turn_away(listener)) {
            continue;
        }
        if (fd < 0) {
            return;
        }
        struct in6_addr address;
        normalise(&from, &address);
        tarn_connection *connection = tarn_listener_place(listener, &address);
        if (connection == NULL) {
            listener->refused_total++;
            refuse(listener, fd);
            make_room(listener); // for when it tries again
            continue;
        }
        listener->accepted_total++;
        *connection = (tarn_connection){
            .used = true, .address = address, .client = address, .moved_ns = tarn_clock_monotonic_ns()};
        set_options(fd);
        make_room(listener);
        listener->accepted(listener->user, fd, connection);
    }
}

static tarn_status bind_to(tarn_listener *listener, const struct addrinfo *found)
{
    int on = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return TARN_E_IO;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Listening at once as well: with SO_REUSEADDR two programs may bind a port, but only one may listen on it.
    if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, TARN_GATEWAY_BACKLOG) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return TARN_E_IO;
    }
    struct sockaddr_storage bound;
    socklen_t bound_bytes = sizeof bound;
    getsockname(fd, (struct sockaddr *)&bound, &bound_bytes);
    listener->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                       : ((struct sockaddr_in *)&bound)->sin_port);
    listener->fd = fd;
    return TARN_OK;
}

tarn_status tarn_listener_bind(tarn_listener *listener, const char *host, uint16_t port, const char *option,
                               tarn_text why)
{
    char service[8];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    memset(listener, 0, sizeof *listener);
    listener->fd = -1;
    listener->spare_fd = -1;
    listener->connections_max = TARN_GATEWAY_CONNECTIONS_MAX;
    snprintf(service, sizeof service, "%u", port);
    int error = getaddrinfo(host, service, &wanted, &found);
    if (error) {
        snprintf(why, sizeof(tarn_text),
                 "--host %.200s: %s; allowed is an address of this machine, or a name that leads to one", host,
                 gai_strerror(error));
        return TARN_E_IO;
    }
    tarn_status status = bind_to(listener, found);
    if (status != TARN_OK && errno == EADDRINUSE) {
        snprintf(why, sizeof(tarn_text), "port %u on %.200s is in use by another program; choose another with %s", port,
                 host, option);
    } else if (status != TARN_OK && errno == EADDRNOTAVAIL) {
        snprintf(why, sizeof(tarn_text),
                 "--host %.200s is no address of this machine, allowed is one that it has, or 0.0.0.0 for all of them",
                 host);
    } else if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "port %u on %.200s cannot be opened: %s", port, host, strerror(errno));
    }
    freeaddrinfo(found);
    return status;
}

tarn_status tarn_listener_start(tarn_listener *listener, uv_loop_t *loop,
                                void (*accepted)(void *user, int fd, tarn_connection *connection),
                                void (*drop_one)(tarn_connection *connection), void *user, tarn_text why)
{
    listener->accepted = accepted;
    listener->drop = drop_one;
    listener->user = user;
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    listener->poll.data = listener;
    int error = uv_poll_init(loop, &listener->poll, listener->fd);
    listener->open = error == 0;
    if (!error) {
        error = uv_poll_start(&listener->poll, UV_READABLE, on_acceptable);
    }
    if (!error) {
        return TARN_OK;
    }
    snprintf(why, sizeof(tarn_text), "connections cannot be accepted: %s", uv_strerror(error));
    return TARN_E_IO;
}

void tarn_listener_release(tarn_connection *connection)
{
    connection->used = false;
}

/// Ends the wait for a request; libwebsockets reads then, and its answer is that it came too late.
static void cut(tarn_connection *connection)
{
    tarn_gate_cut(&connection->gate);
    shutdown(connection->gate.fd, SHUT_RD);
}

/// Throws away what a peer goes on to send after its last answer. @return whether it has ended
static bool drain(const tarn_gate *gate)
{
    // Nothing is copied, also of what is encrypted.
    const ssize_t got = recv(gate->fd, NULL, TARN_GATEWAY_DRAINED_BYTES, MSG_TRUNC | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static void look_at_deadline(tarn_listener *listener, tarn_connection *connection, uint64_t now_ns)
{
    switch (tarn_gate_tick(&connection->gate, now_ns)) {
    case TARN_GATE_STAYS:
        return;
    case TARN_GATE_IS_LATE:
        cut(connection);
        return;
    case TARN_GATE_ENDS:
        drop(listener, connection);
        return;
    }
}

/// Requests that come slowly hold memory: of too many the oldest end.
static void limit_partial(tarn_listener *listener)
{
    for (;;) {
        tarn_connection *oldest = NULL;
        int count = 0;
        for (int i = 0; i < TARN_GATEWAY_CONNECTIONS_MAX; i++) {
            tarn_connection *connection = &listener->connections[i];
            if (is_served(connection) && tarn_gate_is_partial(&connection->gate)) {
                count++;
                if (oldest == NULL || connection->gate.since_ns < oldest->gate.since_ns) {
                    oldest = connection;
                }
            }
        }
        if (count <= TARN_GATEWAY_PARTIAL_MAX) {
            return;
        }
        cut(oldest);
    }
}

void tarn_listener_tick(tarn_listener *listener, uint64_t now_ns)
{
    limit_partial(listener);
    for (int i = 0; i < TARN_GATEWAY_CONNECTIONS_MAX; i++) {
        tarn_connection *connection = &listener->connections[i];
        if (is_served(connection) && connection->gate.is_drained && drain(&connection->gate)) {
            drop(listener, connection);
        }
        if (is_served(connection)) {
            look_at_deadline(listener, connection, now_ns);
        }
        if (may_drop(connection) &&
            now_ns - connection->moved_ns > TARN_GATEWAY_CONNECTION_IDLE_S * (uint64_t)1000000000) {
            drop(listener, connection);
        }
    }
}

void tarn_listener_stood(tarn_listener *listener, const tarn_standstill *stood)
{
    for (int i = 0; i < TARN_GATEWAY_CONNECTIONS_MAX; i++) {
        tarn_standstill_move(stood, &listener->connections[i].moved_ns);
        tarn_standstill_move(stood, &listener->connections[i].gate.since_ns);
        listener->connections[i].gate.upload_due_ns += stood->ns;
    }
}

static void on_closed(uv_handle_t *handle)
{
    tarn_listener *listener = handle->data;
    close(listener->fd);
    listener->fd = -1;
}

void tarn_listener_stop(tarn_listener *listener)
{
    if (listener->open) {
        uv_close((uv_handle_t *)&listener->poll, on_closed);
    } else if (listener->fd >= 0) {
        close(listener->fd);
    }
    if (listener->spare_fd >= 0) {
        close(listener->spare_fd);
    }
    listener->spare_fd = -1;
    listener->open = false;
}
