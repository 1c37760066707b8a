/// The bytes of a connection, by TLS or not: send and recv as for a socket that doesn't block.
///
/// By TLS the server's certificate is checked against those that the system trusts, or those of the file that the
/// environment's SSL_CERT_FILE names; not on the way to this machine itself, where nobody is between.
#ifndef TARN_SERVER_TOOL_LOAD_CHANNEL_H
#define TARN_SERVER_TOOL_LOAD_CHANNEL_H

#include "protocol/status.h"
#include "server/tool/load/load_target.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

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

#endif
