/// The client's side of TLS for tests: what a handshake agrees on, and connections that the plain clients of these
/// tests use as if they were sockets.
#ifndef TARN_TESTS_SERVER_TLS_CLIENT_H
#define TARN_TESTS_SERVER_TLS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tls_facts {
    bool is_agreed;       ///< the handshake succeeded, and with it the rest holds
    int version;          ///< TLS1_2_VERSION ...
    char alpn[16];        ///< "": none
    char fingerprint[96]; ///< SHA-256 of the server's certificate, with colons
    int chain_count;      ///< certificates that the server sent
} tls_facts;

/// Does a handshake and ends. @param version  the only one that is offered; 0: all  @param alpn  as on the wire
/// ("\2h2\10http/1.1"), NULL: none
tls_facts tls_probe(uint16_t port, int version, const char *alpn);

/// Bytes that a connection takes at once, so that a server's sends are cut short; 0: as many as the system likes.
extern int tls_receive_bytes;

/// A connection by TLS, whose bytes another process encrypts: fits ws_connect_by. @return a socket or -1
int tls_connect(uint16_t port);

#endif
