/// libwebsockets' reads from sockets, which pass through gates. It has no hook between a socket and its parsers, so
/// this program defines recv() and SSL_read(), which the dynamic linker then gives to libwebsockets in place of the C
/// library's and OpenSSL's: no byte is copied once more, and bytes that TLS has decrypted are looked at like others.
/// All other sockets are read as ever.
///
/// A libwebsockets that is linked into the program, or to its own symbols, would bypass this: gateway/web.c serves no
/// request that didn't come through a gate.
#ifndef TARN_SERVER_NET_SOCKET_READS_H
#define TARN_SERVER_NET_SOCKET_READS_H

#include "server/net/gate.h"

/// From now on what is read from the gate's descriptor passes through it. @return false: the descriptor is too large
bool tarn_socket_reads_begin(tarn_gate *gate);

/// The gate's descriptor is read as ever, where it isn't another gate's by now. Takes one that never began.
void tarn_socket_reads_end(const tarn_gate *gate);

#endif
