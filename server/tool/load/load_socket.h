/// A WebSocket client (RFC 6455) that costs little per connection: of a frame only the head is kept, the rest is
/// discarded by the kernel or received straight to where its owner wants it. Hundreds of them fit beside the server on
/// two cores, where a client that copies every byte would be what is measured.
///
/// It owns its descriptor and its TLS; the owner waits for it to be readable or writable. No extensions, no fragmented
/// messages from the server.
#ifndef TARN_SERVER_TOOL_LOAD_SOCKET_H
#define TARN_SERVER_TOOL_LOAD_SOCKET_H

#include "protocol/message.h"
#include "server/tool/load/load_channel.h"
#include "server/tool/load/load_target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
