// A WebSocket client from the server's name to its messages: start at load_socket_read.
#include "server/tool/load/socket.h"
#include "server/tool/load/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

// ---- the target ----
// A URL taken apart, looked up, and whether it is this machine: start at load_target_find.

enum { PORT_DEFAULT = 8080, PORT_HTTP = 80, PORT_HTTPS = 443 };

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    }
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

static bool scheme_is(const char *text, size_t length, const char *scheme)
{
    return strlen(scheme) == length && strncasecmp(text, scheme, length) == 0;
}

static bool read_scheme(const char **at, load_target *target, char *why)
{
    const char *end = strstr(*at, "://");
    target->port = PORT_DEFAULT;
    if (end == NULL) {
        return true;
    }
    const size_t length = (size_t)(end - *at);
    target->is_tls = scheme_is(*at, length, "https") || scheme_is(*at, length, "wss");
    if (!target->is_tls && !scheme_is(*at, length, "http") && !scheme_is(*at, length, "ws")) {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "found the scheme \"%.*s\", allowed are http, https, ws and wss",
                 (int)(length < 32 ? length : 32), *at);
        return false;
    }
    target->port = target->is_tls ? PORT_HTTPS : PORT_HTTP;
    *at = end + 3;
    return true;
}

static bool read_path(const char *path, char *why)
{
    if (path[0] == '\0' || strcmp(path, "/") == 0 || strcmp(path, "/ws") == 0) {
        return true;
    }
    snprintf(why, LOAD_TARGET_WHY_BYTES, "found the path \"%.100s\", allowed are / and /ws", path);
    return false;
}

static bool read_port(const char *text, size_t length, uint16_t *port, char *why)
{
    char digits[8] = "", *end = digits;
    long value = -1;
    if (length > 0 && length < sizeof digits) {
        memcpy(digits, text, length);
        errno = 0;
        value = strtol(digits, &end, 10);
    }
    if (value < 1 || value > 65535 || *end != '\0' || digits[0] < '0' || digits[0] > '9') {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "found the port \"%.*s\", allowed is a number from 1 to 65535",
                 (int)(length < 32 ? length : 32), text);
        return false;
    }
    *port = (uint16_t)value;
    return true;
}

/// HOST, HOST:PORT, [V6] or [V6]:PORT; `length` characters of it.
static bool read_authority(const char *text, size_t length, load_target *target, char *why)
{
    const char *end = text + length, *host = text, *host_end, *colon;
    if (length > 0 && text[0] == '[') {
        host = text + 1;
        host_end = memchr(text, ']', length);
        colon = host_end != NULL ? host_end + 1 : end;
    } else {
        colon = memchr(text, ':', length);
        colon = host_end = colon != NULL ? colon : end;
    }
    if (host_end == NULL || host_end == host || (size_t)(host_end - host) >= sizeof target->host ||
        (colon < end && *colon != ':')) {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "found \"%.*s\", allowed are HOST, HOST:PORT and [ADDRESS]:PORT",
                 (int)(length < 200 ? length : 200), text);
        return false;
    }
    if (colon < end && !read_port(colon + 1, (size_t)(end - colon - 1), &target->port, why)) {
        return false;
    }
    snprintf(target->host, sizeof target->host, "%.*s", (int)(host_end - host), host);
    bool v6 = strchr(target->host, ':') != NULL;
    snprintf(target->authority, sizeof target->authority, "%s%s%s:%u", v6 ? "[" : "", target->host, v6 ? "]" : "",
             target->port);
    return true;
}

static bool resolve(load_target *target, char *why)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", target->port);
    int error = getaddrinfo(target->host, service, &wanted, &found);
    if (error != 0 || found == NULL) {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "the server \"%s\" was not found: %s", target->host, gai_strerror(error));
        return false;
    }
    // A name such as localhost has addresses of both kinds, and tarnd listens on 127.0.0.1 unless told otherwise.
    const struct addrinfo *taken = found;
    while (taken != NULL && taken->ai_family != AF_INET) {
        taken = taken->ai_next;
    }
    taken = taken != NULL ? taken : found;
    memcpy(&target->address, taken->ai_addr, taken->ai_addrlen);
    target->address_bytes = taken->ai_addrlen;
    target->loopback = is_loopback(&target->address);
    freeaddrinfo(found);
    return true;
}

bool load_target_find(const char *text, load_target *target, char why[LOAD_TARGET_WHY_BYTES])
{
    *target = (load_target){0};
    if (!read_scheme(&text, target, why)) {
        return false;
    }
    size_t length = strcspn(text, "/");
    return read_path(text + length, why) && read_authority(text, length, target, why) && resolve(target, why);
}

// ---- the channel ----
// OpenSSL's results turned into those of sockets, so that whoever sends and receives needs to know of TLS only whom to
// wait for: start at as_socket. There is one context for all, and the handshake happens in the first sends and
// receives.

static SSL_CTX *context; // of all connections; NULL: there is no memory for it
static pthread_once_t context_once = PTHREAD_ONCE_INIT;

static void make_context(void)
{
    context = SSL_CTX_new(TLS_client_method());
    if (context != NULL) {
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
        SSL_CTX_set_default_verify_paths(context);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF); // a WebSocket says by itself when it ends
    }
}

/// Whom the server must be. @return false: there is no memory
static bool name_peer(SSL *ssl, const load_target *target)
{
    unsigned char address[sizeof(struct in6_addr)];
    const bool is_address =
        inet_pton(AF_INET, target->host, address) == 1 || inet_pton(AF_INET6, target->host, address) == 1;
    SSL_set_verify(ssl, target->loopback ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (is_address) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), target->host) == 1;
    }
    return SSL_set_tlsext_host_name(ssl, target->host) == 1 && SSL_set1_host(ssl, target->host) == 1;
}

tarn_status load_channel_open(load_channel *channel, int fd, const load_target *target)
{
    static const unsigned char http[] = "\10http/1.1";
    *channel = (load_channel){.fd = fd};
    if (!target->is_tls) {
        return TARN_OK;
    }
    pthread_once(&context_once, make_context);
    SSL *ssl = context != NULL ? SSL_new(context) : NULL;
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || SSL_set_alpn_protos(ssl, http, sizeof http - 1) != 0 ||
        !name_peer(ssl, target)) {
        ERR_clear_error();
        SSL_free(ssl);
        return TARN_E_MEMORY;
    }
    SSL_set_connect_state(ssl);
    channel->ssl = ssl;
    return TARN_OK;
}

void load_channel_close(load_channel *channel)
{
    SSL_free(channel->ssl);
    channel->ssl = NULL;
}

/// What a call of OpenSSL's that gave no bytes is as one of the socket's.
static ssize_t as_socket(load_channel *channel, int result)
{
    const int error = errno;
    const int kind = SSL_get_error(channel->ssl, result);
    switch (kind) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        channel->waits_for_peer = kind == SSL_ERROR_WANT_READ;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        errno = error;
        return error != 0 ? -1 : 0;
    default:
        errno = EPROTO;
        return -1;
    }
}

ssize_t load_channel_send(load_channel *channel, const void *bytes, size_t byte_count)
{
    if (channel->ssl == NULL) {
        return send(channel->fd, bytes, byte_count, MSG_NOSIGNAL);
    }
    ERR_clear_error();
    errno = 0;
    channel->waits_for_peer = false;
    const int sent = SSL_write(channel->ssl, bytes, (int)byte_count);
    return sent > 0 ? sent : as_socket(channel, sent);
}

ssize_t load_channel_receive(load_channel *channel, void *bytes, size_t byte_count)
{
    char nowhere[16384];
    if (channel->ssl == NULL) {
        // Linux: with MSG_TRUNC a TCP socket lets go of the bytes without copying them.
        return recv(channel->fd, bytes, byte_count, bytes != NULL ? 0 : MSG_TRUNC);
    }
    if (bytes == NULL) {
        bytes = nowhere;
        byte_count = byte_count < sizeof nowhere ? byte_count : sizeof nowhere;
    }
    const bool waited_for_peer = channel->waits_for_peer;
    ERR_clear_error();
    errno = 0;
    const int got = SSL_read(channel->ssl, bytes, (int)byte_count);
    const ssize_t result = got > 0 ? got : as_socket(channel, got);
    channel->waits_for_peer = waited_for_peer && !SSL_is_init_finished(channel->ssl);
    return result;
}

bool load_channel_has_more(const load_channel *channel)
{
    return channel->ssl != NULL && SSL_pending(channel->ssl) > 0;
}

void load_channel_why(const load_channel *channel, char why[LOAD_CHANNEL_WHY_BYTES])
{
    if (errno != EPROTO || channel->ssl == NULL) {
        snprintf(why, LOAD_CHANNEL_WHY_BYTES, "%s", strerror(errno));
        return;
    }
    const long verified = SSL_get_verify_result(channel->ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    if (verified != X509_V_OK && SSL_get_verify_mode(channel->ssl) != SSL_VERIFY_NONE) {
        snprintf(why, LOAD_CHANNEL_WHY_BYTES,
                 "its certificate isn't trusted: %s; SSL_CERT_FILE=FILE in the environment names one that is",
                 X509_verify_cert_error_string(verified));
    } else {
        snprintf(why, LOAD_CHANNEL_WHY_BYTES, "its TLS can't be understood: %s", reason != NULL ? reason : "no reason");
    }
    ERR_clear_error();
}

// ---- the socket ----
// Receiving: `in` holds what isn't understood yet and is read into in small pieces, so that little of a frame passes
// through it; once a frame's head is known, the rest of the frame goes past it.
//
//     recv 4 kB -> header -> message: wait for all of it, hand it out
//                         -> frame: wait for its head, hand that out -> recv the rest into its room, or discard it

enum {
    PIECE_BYTES = 4096, ///< read at once while a header is due
    OPCODE_BINARY = 2,
    OPCODE_CLOSE = 8,
    OPCODE_PING = 9,
    OPCODE_PONG = 10,
    FINAL = 0x80,
    MASKED = 0x80,
    CONTROL_BYTES_MAX = 125,
    HTTP_SWITCHING = 101,
    HTTP_REDIRECT = 308,
};

// A nonce that never changes and its answer, from RFC 6455, section 1.3: it only tells a WebSocket server from others.
#define UPGRADE_KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define UPGRADE_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

/// The head of a WebSocket frame.
typedef struct wire_header {
    uint8_t first;
    size_t header_bytes;
    uint64_t payload_bytes;
} wire_header;

tarn_status load_socket_open(load_socket *socket_, const load_target *target, int receive_bytes,
                             const load_socket_events *events, void *user, uint64_t seed)
{
    int on = 1;
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return errno == EMFILE || errno == ENFILE ? TARN_E_LIMIT : TARN_E_IO;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (receive_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    if (connect(fd, (const struct sockaddr *)&target->address, target->address_bytes) != 0 && errno != EINPROGRESS) {
        close(fd);
        return TARN_E_IO;
    }
    const tarn_status status = load_channel_open(&socket_->channel, fd, target);
    if (status != TARN_OK) {
        close(fd);
        return TARN_E_IO;
    }
    socket_->fd = fd;
    socket_->phase = LOAD_SOCKET_CONNECTING;
    socket_->events = events;
    socket_->user = user;
    socket_->body_left = 0;
    socket_->body_at = NULL;
    socket_->in_count = socket_->out_count = 0;
    socket_->mask_state = seed;
    socket_->bytes_received = 0;
    socket_->why[0] = '\0';
    return TARN_OK;
}

void load_socket_close(load_socket *socket, bool abrupt)
{
    if (socket->fd < 0) {
        return;
    }
    if (abrupt) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        setsockopt(socket->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    load_channel_close(&socket->channel);
    close(socket->fd);
    socket->fd = -1;
}

bool load_socket_wants_write(const load_socket *socket)
{
    return socket->phase == LOAD_SOCKET_CONNECTING || (socket->out_count > 0 && !socket->channel.waits_for_peer);
}

static tarn_status fail(load_socket *socket, tarn_status status, const char *why)
{
    snprintf(socket->why, sizeof socket->why, "%s", why);
    return status;
}

/// @param result  of a call of the channel's: 0 or -1
static tarn_status fail_channel(load_socket *socket, ssize_t result)
{
    if (result == 0) {
        return fail(socket, TARN_E_IO, "it ended the connection");
    }
    load_channel_why(&socket->channel, socket->why);
    return TARN_E_IO;
}

// ---- the socket: sending ----

static tarn_status flush(load_socket *socket)
{
    while (socket->out_count > 0) {
        ssize_t sent = load_channel_send(&socket->channel, socket->out, socket->out_count);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? TARN_OK : fail_channel(socket, sent);
        }
        memmove(socket->out, socket->out + sent, socket->out_count - (size_t)sent);
        socket->out_count -= (size_t)sent;
    }
    return TARN_OK;
}

tarn_status load_socket_write(load_socket *socket, const load_target *target)
{
    if (socket->phase == LOAD_SOCKET_CONNECTING) {
        int error = 0;
        socklen_t bytes = sizeof error;
        getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
        if (error != 0) {
            return fail(socket, TARN_E_IO, strerror(error));
        }
        socket->phase = LOAD_SOCKET_UPGRADING;
        socket->out_count =
            (size_t)snprintf((char *)socket->out, sizeof socket->out,
                             "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: " UPGRADE_KEY "\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Protocol: " TARN_PROTOCOL_SUBPROTOCOL "\r\n\r\n",
                             target->authority);
    }
    return flush(socket);
}

static uint32_t next_mask(load_socket *socket)
{
    socket->mask_state = socket->mask_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(socket->mask_state >> 32);
}

/// Puts a frame behind what waits. The payload is at most as long as a message from a client may be.
static tarn_status send_wire(load_socket *socket, uint8_t opcode, const uint8_t *payload, size_t count)
{
    size_t header = count <= CONTROL_BYTES_MAX ? 6 : 8;
    if (count > UINT16_MAX || header + count > sizeof socket->out - socket->out_count) {
        return fail(socket, TARN_E_SPACE, "the server takes no messages any more");
    }
    uint8_t *at = socket->out + socket->out_count;
    uint32_t mask = next_mask(socket);
    at[0] = FINAL | opcode;
    if (header == 6) {
        at[1] = (uint8_t)(MASKED | count);
    } else {
        at[1] = MASKED | 126;
        at[2] = (uint8_t)(count >> 8);
        at[3] = (uint8_t)count;
    }
    uint8_t *keys = at + header - 4;
    memcpy(keys, &mask, 4);
    for (size_t i = 0; i < count; i++) {
        at[header + i] = payload[i] ^ keys[i % 4];
    }
    socket->out_count += header + count;
    return flush(socket);
}

tarn_status load_socket_tell(load_socket *socket, const tarn_message *message)
{
    uint8_t bytes[TARN_MESSAGE_BYTES_MAX];
    size_t count;
    tarn_status status = tarn_message_write(message, bytes, sizeof bytes, &count);
    return status == TARN_OK ? send_wire(socket, OPCODE_BINARY, bytes, count) : status;
}

tarn_status load_socket_say_close(load_socket *socket, uint16_t code)
{
    const uint8_t bytes[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    return send_wire(socket, OPCODE_CLOSE, bytes, sizeof bytes);
}

// ---- the socket: receiving ----

static void drop(load_socket *socket, size_t count)
{
    memmove(socket->in, socket->in + count, socket->in_count - count);
    socket->in_count -= count;
}

/// A header's value, without blanks around it, in an answer that ends in an empty line; NULL where it isn't there.
static const char *find_header(const char *answer, const char *name, size_t *length)
{
    for (const char *line = strstr(answer, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, strlen(name)) == 0 && line[2 + strlen(name)] == ':') {
            const char *value = line + 3 + strlen(name);
            value += strspn(value, " \t");
            *length = strcspn(value, " \t\r");
            return value;
        }
    }
    return NULL;
}

static bool header_is(const char *answer, const char *name, const char *wanted)
{
    size_t length;
    const char *value = find_header(answer, name, &length);
    return value != NULL && length == strlen(wanted) && strncmp(value, wanted, length) == 0;
}

/// @return TARN_OK; *done where the upgrade is through
static tarn_status read_upgrade(load_socket *socket, bool *done)
{
    int status = 0;
    *done = false;
    uint8_t *end = memmem(socket->in, socket->in_count, "\r\n\r\n", 4);
    if (end == NULL) {
        return socket->in_count < PIECE_BYTES ? TARN_OK : fail(socket, TARN_E_MALFORMED, "its answer is too long");
    }
    end[2] = '\0';
    const char *answer = (const char *)socket->in;
    if (sscanf(answer, "HTTP/1.%*1d %3d", &status) != 1) {
        return fail(socket, TARN_E_MALFORMED, "it answers, but not by HTTP");
    }
    if (status == HTTP_REDIRECT) {
        return fail(socket, TARN_E_MALFORMED, "it speaks TLS only: name it with https://");
    }
    if (status != HTTP_SWITCHING) {
        snprintf(socket->why, sizeof socket->why, "it refused the WebSocket with HTTP status %d", status);
        return TARN_E_MALFORMED;
    }
    if (!header_is(answer, "Sec-WebSocket-Accept", UPGRADE_ACCEPT) ||
        !header_is(answer, "Sec-WebSocket-Protocol", TARN_PROTOCOL_SUBPROTOCOL)) {
        return fail(socket, TARN_E_MALFORMED, "its WebSocket doesn't speak " TARN_PROTOCOL_SUBPROTOCOL);
    }
    drop(socket, (size_t)(end + 4 - socket->in));
    socket->phase = LOAD_SOCKET_OPEN;
    *done = true;
    return TARN_OK;
}

/// @return whether the whole header is there
static bool find_header_bytes(const load_socket *socket, wire_header *header)
{
    if (socket->in_count < 2) {
        return false;
    }
    uint8_t length = socket->in[1] & 0x7f;
    *header = (wire_header){socket->in[0], length == 126 ? 4 : length == 127 ? 10 : 2, length};
    if (socket->in_count < header->header_bytes) {
        return false;
    }
    if (header->header_bytes > 2) {
        header->payload_bytes = 0;
        for (size_t i = 2; i < header->header_bytes; i++) {
            header->payload_bytes = header->payload_bytes << 8 | socket->in[i];
        }
    }
    return true;
}

static tarn_status check_header(load_socket *socket, const wire_header *header)
{
    uint8_t opcode = header->first & 0x0f;
    bool control = opcode == OPCODE_CLOSE || opcode == OPCODE_PING || opcode == OPCODE_PONG;
    if ((header->first & 0x70) != 0 || (socket->in[1] & MASKED) != 0 || (opcode != OPCODE_BINARY && !control)) {
        return fail(socket, TARN_E_MALFORMED, "it sent a WebSocket frame that may not be");
    }
    if ((header->first & FINAL) == 0) {
        return fail(socket, TARN_E_MALFORMED, "it sent a message in fragments, which this program doesn't read");
    }
    if (header->payload_bytes > (control ? (uint64_t)CONTROL_BYTES_MAX : (uint64_t)LOAD_FRAME_BYTES_MAX)) {
        snprintf(socket->why, sizeof socket->why, "it sent %llu bytes at once; allowed are %d",
                 (unsigned long long)header->payload_bytes, control ? CONTROL_BYTES_MAX : LOAD_FRAME_BYTES_MAX);
        return TARN_E_MALFORMED;
    }
    return TARN_OK;
}

static tarn_status on_control(load_socket *socket, const wire_header *header, bool *go_on)
{
    const uint8_t *payload = socket->in + header->header_bytes;
    size_t count = (size_t)header->payload_bytes;
    uint8_t opcode = header->first & 0x0f;
    if (opcode == OPCODE_PING) {
        return send_wire(socket, OPCODE_PONG, payload, count);
    }
    if (opcode == OPCODE_CLOSE) {
        char reason[CONTROL_BYTES_MAX + 1] = "";
        if (count > 2) {
            snprintf(reason, sizeof reason, "%.*s", (int)count - 2, (const char *)payload + 2);
        }
        *go_on = socket->events->closed(socket->user,
                                        count >= 2 ? (uint16_t)(payload[0] << 8 | payload[1]) : (uint16_t)1005, reason);
    }
    return TARN_OK;
}

/// Hands out a frame's head and arranges for the rest. @return whether to go on
static bool begin_frame(load_socket *socket, const wire_header *header, size_t head_bytes)
{
    uint8_t *room = NULL;
    const uint8_t *payload = socket->in + header->header_bytes;
    bool go_on = socket->events->frame(socket->user, payload, head_bytes, header->payload_bytes, &room);
    size_t have = socket->in_count - header->header_bytes;
    if (have > header->payload_bytes) {
        have = (size_t)header->payload_bytes;
    }
    if (room != NULL) {
        memcpy(room, payload, have);
    }
    socket->body_at = room != NULL ? room + have : NULL;
    socket->body_left = header->payload_bytes - have;
    drop(socket, header->header_bytes + have);
    return go_on && (socket->body_left > 0 || socket->events->frame_end(socket->user));
}

/// Takes what is whole out of `in`.
/// @param wanted  receives how many bytes `in` must hold before the next can be taken
static tarn_status understand(load_socket *socket, size_t *wanted, bool *go_on)
{
    wire_header header;
    tarn_status status = TARN_OK;
    *wanted = 2;
    while (status == TARN_OK && *go_on && socket->body_left == 0) {
        if (!find_header_bytes(socket, &header)) {
            *wanted = socket->in_count < 2 ? 2 : 10;
            return TARN_OK;
        }
        status = check_header(socket, &header);
        if (status != TARN_OK) {
            return status;
        }
        bool control = (header.first & 0x0f) != OPCODE_BINARY;
        size_t have = socket->in_count - header.header_bytes, needed = (size_t)header.payload_bytes;
        bool may_be_frame = !control && header.payload_bytes >= LOAD_FRAME_MAGIC_BYTES;
        if (may_be_frame && have < LOAD_FRAME_MAGIC_BYTES) {
            needed = LOAD_FRAME_MAGIC_BYTES;
        } else if (may_be_frame && load_frame_begins(socket->in + header.header_bytes)) {
            needed = needed < LOAD_FRAME_HEAD_BYTES_MAX ? needed : LOAD_FRAME_HEAD_BYTES_MAX;
            if (have >= needed) {
                *go_on = begin_frame(socket, &header, needed);
                continue;
            }
        } else if (needed > TARN_MESSAGE_SERVER_BYTES_MAX) {
            return fail(socket, TARN_E_MALFORMED, "it sent a message that is neither a frame nor short enough");
        } else if (have >= needed) {
            if (control) {
                status = on_control(socket, &header, go_on);
            } else {
                *go_on = socket->events->message(socket->user, socket->in + header.header_bytes, needed);
            }
            drop(socket, header.header_bytes + needed);
            continue;
        }
        *wanted = header.header_bytes + needed;
        return TARN_OK;
    }
    return status;
}

/// Reads the rest of a frame. @return as recv
static ssize_t receive_body(load_socket *socket, size_t budget)
{
    size_t count = socket->body_left < budget ? (size_t)socket->body_left : budget;
    ssize_t got = load_channel_receive(&socket->channel, socket->body_at, count);
    if (got > 0) {
        socket->body_left -= (uint64_t)got;
        socket->body_at = socket->body_at != NULL ? socket->body_at + got : NULL;
    }
    return got;
}

static ssize_t receive_piece(load_socket *socket, size_t wanted)
{
    size_t count = wanted > PIECE_BYTES ? wanted : PIECE_BYTES;
    ssize_t got = load_channel_receive(&socket->channel, socket->in + socket->in_count, count - socket->in_count);
    if (got > 0) {
        socket->in_count += (size_t)got;
    }
    return got;
}

/// What has come in is understood as far as it goes.
static tarn_status digest(load_socket *socket, bool body, size_t *wanted, bool *go_on)
{
    tarn_status status = TARN_OK;
    if (socket->phase == LOAD_SOCKET_UPGRADING) {
        bool done;
        status = read_upgrade(socket, &done);
        *go_on = !done || socket->events->open(socket->user);
    }
    if (body && socket->body_left == 0) {
        *go_on = socket->events->frame_end(socket->user);
    }
    if (status == TARN_OK && *go_on && socket->phase == LOAD_SOCKET_OPEN) {
        status = understand(socket, wanted, go_on);
    }
    return status;
}

tarn_status load_socket_read(load_socket *socket, size_t budget)
{
    size_t wanted = 2;
    bool go_on = true;
    // What a reader that stopped left behind comes first.
    tarn_status status = digest(socket, false, &wanted, &go_on);
    // What TLS has taken from the descriptor goes beyond the budget: nothing would tell of it later.
    for (size_t total = 0; status == TARN_OK && go_on && (total < budget || load_channel_has_more(&socket->channel));) {
        bool body = socket->body_left > 0;
        size_t room = total < budget ? budget - total : PIECE_BYTES;
        ssize_t got = body ? receive_body(socket, room) : receive_piece(socket, wanted);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return socket->out_count > 0 ? flush(socket) : TARN_OK; // the handshake may have waited for this
        }
        if (got <= 0) {
            return fail_channel(socket, got);
        }
        total += (size_t)got;
        socket->bytes_received += (uint64_t)got;
        status = digest(socket, body, &wanted, &go_on);
    }
    return status;
}
