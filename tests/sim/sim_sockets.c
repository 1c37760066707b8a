// The system's sockets, as far as the gateway uses them: a table of descriptors behind which bytes lie. What goes to
// clients is the network's (sim_net.c); what goes between processes stays here.
#include "tests/sim/sim.h"
#include "tests/sim/sim_net.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_FD = 1000, FD_COUNT = 1000, PAIR_BYTES = 212992 };

static sim_socket *table[FD_COUNT];
static sim_socket *listening;

sim_socket *sim_socket_of(int fd)
{
    return fd >= FIRST_FD && fd < FIRST_FD + FD_COUNT ? table[fd - FIRST_FD] : NULL;
}

int sim_socket_open(sim_socket *of)
{
    for (int i = 0; i < FD_COUNT; i++) {
        if (table[i] == NULL) {
            table[i] = of;
            of->references++;
            return FIRST_FD + i;
        }
    }
    errno = EMFILE;
    return -1;
}

uint32_t sim_sockets_open(void)
{
    uint32_t count = 0;
    for (int i = 0; i < FD_COUNT; i++) {
        count += table[i] != NULL;
    }
    return count;
}

sim_socket *sim_socket_listener(void)
{
    return listening;
}

bool sim_socket_is_readable(const sim_socket *of)
{
    return of->is_listener ? of->waiting_count > 0 : of->in_count > 0 || of->has_ended || of->is_reset;
}

bool sim_socket_is_writable(const sim_socket *of)
{
    if (of->client != NULL) {
        return sim_net_has_room(of->client);
    }
    return of->peer == NULL || of->peer->references == 0 || of->peer->in_count < of->peer->in_max;
}

void sim_socket_changed(sim_socket *of)
{
    if (of->poll != NULL) {
        sim_loop_socket_changed(of);
    }
    if (of->wsi != NULL) {
        sim_web_socket_changed(of);
    }
    if (of->changed != NULL) {
        of->changed(of->changed_of);
    }
}

void sim_socket_put(sim_socket *to, const void *bytes, size_t byte_count)
{
    if (to->in_count + byte_count > to->in_room) {
        to->in_room = 2 * (to->in_count + byte_count);
        to->in = realloc(to->in, to->in_room);
        SIM_NEED(to->in != NULL);
    }
    memcpy(to->in + to->in_count, bytes, byte_count);
    to->in_count += byte_count;
    to->in_total += byte_count;
    sim_socket_changed(to);
}

size_t sim_socket_take(sim_socket *from, void *bytes, size_t byte_count)
{
    const size_t taken = byte_count < from->in_count ? byte_count : from->in_count;
    memcpy(bytes, from->in, taken);
    memmove(from->in, from->in + taken, from->in_count - taken);
    from->in_count -= taken;
    from->in_taken += taken;
    if (from->peer != NULL && taken > 0) {
        sim_socket_changed(from->peer); // which may write again
    }
    return taken;
}

/// The last descriptor of an end is closed.
void sim_socket_let_go(sim_socket *of)
{
    if (--of->references > 0) {
        return;
    }
    for (uint32_t i = 0; i < of->right_count; i++) {
        close(of->rights[i].fd);
    }
    of->right_count = 0;
    of->poll = NULL;
    of->wsi = NULL;
    if (of == listening) {
        listening = NULL;
        for (uint32_t i = 0; i < of->waiting_count; i++) {
            sim_net_gateway_closed(of->waiting[i], true);
        }
    }
    if (of->peer != NULL) {
        of->peer->has_ended = true;
        sim_socket_changed(of->peer);
    }
    if (of->client != NULL) {
        sim_net_gateway_closed(of->client, of->in_count > 0);
    }
}

/// @return whether it was one of these
static bool close_fd(int fd)
{
    sim_socket *found = sim_socket_of(fd);
    if (found != NULL) {
        table[fd - FIRST_FD] = NULL;
        sim_socket_let_go(found);
    }
    return found != NULL;
}

void sim_sockets_drop(void)
{
    for (int i = 0; i < FD_COUNT; i++) {
        (void)close_fd(FIRST_FD + i);
    }
}

// ----------------------------------------------------------------------------------------------------- what is called

bool sim_socket_close(int fd);
bool sim_socket_close(int fd)
{
    return close_fd(fd);
}

int __wrap_socket(int family, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t address_bytes);
int __wrap_listen(int fd, int backlog);
int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *address_bytes);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t value_bytes);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *value_bytes);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *address_bytes, int flags);
int __wrap_shutdown(int fd, int how);
ssize_t __wrap_send(int fd, const void *bytes, size_t byte_count, int flags);
ssize_t __wrap_recvfrom(int fd, void *bytes, size_t byte_count, int flags, struct sockaddr *from,
                        socklen_t *from_bytes);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
int __wrap_socketpair(int family, int type, int protocol, int ends[2]);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_socket(int family, int type, int protocol)
{
    (void)family;
    (void)type;
    (void)protocol;
    return sim_socket_open(sim_make(sizeof(sim_socket)));
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t address_bytes)
{
    (void)fd;
    (void)address;
    (void)address_bytes;
    return 0;
}

int __wrap_listen(int fd, int backlog)
{
    (void)backlog;
    listening = sim_socket_of(fd);
    listening->is_listener = true;
    return 0;
}

int __wrap_getsockname(int fd, struct sockaddr *address, socklen_t *address_bytes)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_port = htons(8080), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)fd;
    memcpy(address, &own, sizeof own);
    *address_bytes = sizeof own;
    return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t value_bytes)
{
    sim_socket *of = sim_socket_of(fd);
    (void)value_bytes;
    if (of != NULL && of->peer != NULL && level == SOL_SOCKET && name == SO_SNDBUF) {
        of->peer->in_max = (size_t) * (const int *)value;
    }
    return 0;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *value_bytes)
{
    (void)fd;
    (void)level;
    (void)name;
    (void)value;
    (void)value_bytes;
    errno = ENOPROTOOPT;
    return -1;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *address_bytes, int flags)
{
    sim_socket *of = sim_socket_of(fd);
    (void)flags;
    if (of->waiting_count == 0) {
        errno = EAGAIN;
        return -1;
    }
    struct sim_client *client = of->waiting[0];
    sim_socket *made = sim_make(sizeof *made);
    const int number = sim_socket_open(made);
    if (number < 0) {
        return -1;
    }
    memmove(of->waiting, of->waiting + 1, --of->waiting_count * sizeof of->waiting[0]);
    made->client = client;
    if (address != NULL) {
        const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(sim_net_address(client))};
        memcpy(address, &from, sizeof from);
        *address_bytes = sizeof from;
    }
    sim_net_accepted(client, made);
    return number;
}

int __wrap_shutdown(int fd, int how)
{
    sim_socket *of = sim_socket_of(fd);
    if (how == SHUT_RD) {
        of->has_ended = true;
        sim_socket_changed(of);
    } else if (of->client != NULL && !of->is_shut) {
        of->is_shut = true;
        sim_net_gateway_shut(of->client);
    }
    return 0;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t byte_count, int flags)
{
    sim_socket *of = sim_socket_of(fd);
    (void)flags;
    SIM_NEED(of != NULL && of->client != NULL);
    sim_net_send(of->client, SIM_NET_RAW, bytes, byte_count);
    return (ssize_t)byte_count;
}

ssize_t __wrap_recvfrom(int fd, void *bytes, size_t byte_count, int flags, struct sockaddr *from, socklen_t *from_bytes)
{
    sim_socket *of = sim_socket_of(fd);
    (void)flags;
    (void)from;
    (void)from_bytes;
    SIM_NEED(of != NULL);
    if (of->is_reset) {
        errno = ECONNRESET;
        return -1;
    }
    if (of->in_count > 0) {
        return (ssize_t)sim_socket_take(of, bytes, byte_count);
    }
    errno = EAGAIN;
    return of->has_ended ? 0 : -1;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    sim_socket *of = sim_socket_of(fd);
    (void)flags;
    SIM_NEED(of != NULL && of->peer != NULL && message->msg_iovlen == 1);
    if (of->peer->references == 0) {
        errno = EPIPE;
        return -1;
    }
    const size_t room = of->peer->in_max - of->peer->in_count;
    if (of->peer->in_count >= of->peer->in_max) {
        errno = EAGAIN;
        return -1;
    }
    const size_t wanted = message->msg_iov->iov_len, put = wanted < room ? wanted : room;
    const struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (control != NULL) {
        int given;
        memcpy(&given, CMSG_DATA(control), sizeof given);
        SIM_NEED(of->peer->right_count < sizeof of->peer->rights / sizeof of->peer->rights[0]);
        of->peer->rights[of->peer->right_count++] = (sim_right){of->peer->in_total, dup(given)};
    }
    sim_socket_put(of->peer, message->msg_iov->iov_base, put);
    return (ssize_t)put;
}

int __wrap_socketpair(int family, int type, int protocol, int ends[2])
{
    sim_socket *pair[2] = {sim_make(sizeof(sim_socket)), sim_make(sizeof(sim_socket))};
    (void)family;
    (void)type;
    (void)protocol;
    for (int i = 0; i < 2; i++) {
        pair[i]->peer = pair[1 - i];
        pair[i]->in_max = PAIR_BYTES;
        ends[i] = sim_socket_open(pair[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0 ? 0 : -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int found = 0;
    (void)timeout;
    for (nfds_t i = 0; i < count; i++) {
        const sim_socket *of = sim_socket_of(fds[i].fd);
        const bool is_writable = of == NULL || sim_socket_is_writable(of);
        fds[i].revents = (short)((is_writable ? POLLOUT : 0) | (of != NULL && of->is_reset ? POLLHUP | POLLERR : 0));
        found += fds[i].revents != 0;
    }
    return found;
}
