/// The server that `tarn load` is pointed at.
#ifndef TARN_SERVER_TOOL_LOAD_TARGET_H
#define TARN_SERVER_TOOL_LOAD_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

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

#endif
