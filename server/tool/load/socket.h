/// A WebSocket client (RFC 6455) that costs little per connection: of a frame only the head is kept, the rest is
/// discarded by the kernel or received straight to where its owner wants it. Hundreds of them fit beside the server on
/// two cores, where a client that copies every byte would be what is measured.
///
/// It owns its descriptor and its TLS; the owner waits for it to be readable or writable. No extensions, no fragmented
/// messages from the server.
#ifndef TARN_SERVER_TOOL_LOAD_SOCKET_H
#define TARN_SERVER_TOOL_LOAD_SOCKET_H

#include "protocol/message.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

// ---- the target ----
// The server that `tarn load` is pointed at.

enum { LOAD_TARGET_HOST_BYTES = 256, LOAD_TARGET_WHY_BYTES = 512 };

typedef struct load_target {
    char host[LOAD_TARGET_HOST_BYTES]; ///< as it was named, without brackets
    uint16_t port;
    char authority[LOAD_TARGET_HOST_BYTES + 16]; ///< host and port, as in a Host header
    struct sockaddr_storage address;
    socklen_t address_bytes;
    bool loopback; ///< the address is this machine's own
    bool is_tls;
} load_target;

/// Takes a server apart: HOST, HOST:PORT, [V6]:PORT, http://HOST:PORT/ or ws://HOST:PORT/ws, https and wss for TLS; the
/// port is 8080 without a scheme and else 80, with TLS 443, where none is named. Asks the resolver for the address;
/// IPv4 comes first.
/// @param why  receives a sentence where the result is false
bool load_target_find(const char *text, load_target *target, char why[LOAD_TARGET_WHY_BYTES]);

// ---- the channel ----
// The bytes of a connection, by TLS or not: send and recv as for a socket that doesn't block.
//
// By TLS the server's certificate is checked against those that the system trusts, or those of the file that the
// environment's SSL_CERT_FILE names; not on the way to this machine itself, where nobody is between.

enum { LOAD_CHANNEL_WHY_BYTES = 256 };

typedef struct load_channel {
    int fd;              ///< not its own
    struct ssl_st *ssl;  ///< NULL: without TLS
    bool waits_for_peer; ///< the newest send waits for what the server has to say, not for room
} load_channel;

/// Makes a channel of a connection; the handshake is part of what is sent and received then. A program that uses TLS
/// ignores SIGPIPE.
/// @return TARN_OK or TARN_E_MEMORY
tarn_status load_channel_open(load_channel *channel, int fd, const load_target *target);

/// Gives back what it holds. Takes one that was never opened but zeroed.
void load_channel_close(load_channel *channel);

/// As send without flags. @return the bytes that were taken, or -1 with errno; EPROTO: load_channel_why says what is
/// wrong
ssize_t load_channel_send(load_channel *channel, const void *bytes, size_t byte_count);

/// As recv. @param bytes  NULL: what comes is discarded
ssize_t load_channel_receive(load_channel *channel, void *bytes, size_t byte_count);

/// Whether there are bytes that were taken from the descriptor already: it won't tell of them.
bool load_channel_has_more(const load_channel *channel);

/// What was wrong, after -1. Reads errno.
void load_channel_why(const load_channel *channel, char why[LOAD_CHANNEL_WHY_BYTES]);

// ---- the socket ----

enum {
    LOAD_SOCKET_IN_BYTES = TARN_MESSAGE_SERVER_BYTES_MAX + 16,
    LOAD_SOCKET_OUT_BYTES = TARN_MESSAGE_BYTES_MAX + 1024, ///< that may wait to be sent: the longest message, and some
    LOAD_SOCKET_WHY_BYTES = 256,
    LOAD_CLOSE_NORMAL = 1000,
};

/// Each returns whether to go on reading.
typedef struct load_socket_events {
    bool (*open)(void *user); ///< the upgrade is done
    bool (*message)(void *user, const uint8_t *bytes, size_t byte_count);
    /// The head of a frame: its first min(frame_bytes, LOAD_FRAME_HEAD_BYTES_MAX) bytes.
    /// @param room  receives where the whole frame is to be put, or NULL: it is discarded
    bool (*frame)(void *user, const uint8_t *head, size_t head_bytes, uint64_t frame_bytes, uint8_t **room);
    bool (*frame_end)(void *user);
    bool (*closed)(void *user, uint16_t code, const char *reason); ///< the server says that it closes
} load_socket_events;

typedef enum load_socket_phase {
    LOAD_SOCKET_CONNECTING = 0,
    LOAD_SOCKET_UPGRADING = 1,
    LOAD_SOCKET_OPEN = 2,
} load_socket_phase;

typedef struct load_socket {
    int fd;
    load_channel channel;
    load_socket_phase phase;
    const load_socket_events *events;
    void *user;
    uint64_t body_left;  ///< of the frame that is being received
    uint8_t *body_at;    ///< where its next byte goes, or NULL
    size_t in_count;     ///< bytes received and not yet understood
    size_t out_count;    ///< bytes that wait to be sent
    uint64_t mask_state; ///< of the generator of masks
    uint64_t bytes_received;
    char why[LOAD_SOCKET_WHY_BYTES]; ///< what was wrong, after a status that isn't TARN_OK
    uint8_t in[LOAD_SOCKET_IN_BYTES];
    uint8_t out[LOAD_SOCKET_OUT_BYTES];
} load_socket;

/// Begins to connect.
/// @param receive_bytes  that the kernel may hold for it, or 0: as many as it likes
/// @return TARN_OK, TARN_E_IO or TARN_E_LIMIT (no descriptor left); then there is nothing to close
tarn_status load_socket_open(load_socket *socket, const load_target *target, int receive_bytes,
                             const load_socket_events *events, void *user, uint64_t seed);

/// @param abrupt  by a reset, as when a machine is gone for good
void load_socket_close(load_socket *socket, bool abrupt);

/// Whether it waits to be writable.
bool load_socket_wants_write(const load_socket *socket);

/// It is writable. @return TARN_OK or TARN_E_IO
tarn_status load_socket_write(load_socket *socket, const load_target *target);

/// It is readable: reads, and calls the events.
/// @param budget  bytes to read at most, roughly
/// @return TARN_OK, TARN_E_IO (the connection ended) or TARN_E_MALFORMED
tarn_status load_socket_read(load_socket *socket, size_t budget);

/// Sends a message, or the part of it that the connection doesn't take later.
/// @return TARN_OK, TARN_E_SPACE (too much waits already) or TARN_E_IO
tarn_status load_socket_tell(load_socket *socket, const tarn_message *message);

/// Sends a close frame.
tarn_status load_socket_say_close(load_socket *socket, uint16_t code);

#endif
