/// What a request without TLS is answered where the server has it: 308, the same address with https.
#ifndef TARN_SERVER_GATEWAY_REDIRECT_H
#define TARN_SERVER_GATEWAY_REDIRECT_H

#include "server/gateway/http_head.h"
#include "server/gateway/reach.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
