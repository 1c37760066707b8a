/// By which names the server is reached. A page elsewhere whose own name leads here (DNS rebinding) has this server's
/// pages and sockets for its own, as the browser sees it: what gives it away is the Host that its requests name.
#ifndef TARN_SERVER_GATEWAY_REACH_H
#define TARN_SERVER_GATEWAY_REACH_H

#include "server/gateway/gateway_options.h"
#include "server/gateway/own_names.h"

#include <stdbool.h>

typedef struct tarn_reach {
    const tarn_gateway_options *options; ///< whose --host, --name and --origin count
    tarn_own_names own;
} tarn_reach;

/// Whether only this machine reaches what listens there: 127.0.0.0/8, ::1, localhost.
bool tarn_reach_is_local(const char *host);

/// A name of DNS or an address, without a port. @return whether --name takes it
bool tarn_reach_name_valid(const char *name);

/// Finds the names of this machine. @param options  that outlive it
void tarn_reach_find(tarn_reach *reach, const tarn_gateway_options *options);

/// Whether a Host header, with a port or without, names this server: this machine by a loopback name, --host, the
/// machine's own names and addresses, --name, or the host of an --origin.
/// @param fd  the connection's socket, whose own address counts, too; -1: none
bool tarn_reach_takes(const tarn_reach *reach, const char *host, int fd);

#endif
