/// Which requests are meant for this server: by which names it is reached, where a request without TLS is sent, and
/// which refusals are told.
///
/// A page elsewhere whose own name leads here (DNS rebinding) has this server's
/// pages and sockets for its own, as the browser sees it: what gives it away is the Host that its requests name.
#ifndef TARN_SERVER_GATEWAY_REACH_H
#define TARN_SERVER_GATEWAY_REACH_H

#include "server/gateway/options.h"
#include "server/net/http_head.h"
#include "server/net/proxies.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// ---- requests without TLS ----
// Where the server has TLS, what a request without it is answered: 308, the same address with https.

struct lws;

/// Puts an address together.
/// @param host    a request's Host header; one that is no name or address, with or without a port, is refused
/// @param port    goes into the address, where it isn't https' own; 0: the header's
/// @param target  the path and the query, as the request has them; what isn't plain in them is encoded
/// @return false: the header is refused, or there is no room
bool tarn_redirect_location(const char *host, uint16_t port, const char *target, char *location, size_t location_bytes);

/// Answers a request, whatever its method, and ends its connection. One for a host that isn't this server, or for none,
/// goes nowhere.
/// @param port  as above
/// @return what the libwebsockets callback is to return
int tarn_redirect_answer(struct lws *wsi, uint16_t port, const tarn_http_head *request, const tarn_reach *reach);

// ---- which refusals are told ----
// Origins whose pages were refused: a page tries again and again, and each is told once a minute.

enum {
    TARN_REFUSED_ORIGINS_MAX = 16, ///< told in a minute; whoever comes with more isn't told
    TARN_REFUSED_ORIGIN_S = 60,
    TARN_REFUSED_ORIGIN_BYTES = 256, ///< with the end
};

typedef struct tarn_refused_origins {
    struct {
        char origin[TARN_REFUSED_ORIGIN_BYTES]; ///< empty: free
        uint64_t told_ns;
    } places[TARN_REFUSED_ORIGINS_MAX];
} tarn_refused_origins;

/// Whether the refusal of an origin's page is to be told now; it counts as told then. Zeroed origins are none.
int tarn_refused_origins_tell(tarn_refused_origins *origins, const char *origin, uint64_t now_ns);

#endif
