/// What a request without TLS is answered where the server has it: 308, the same address with https.
#ifndef TARN_SERVER_GATEWAY_REDIRECT_H
#define TARN_SERVER_GATEWAY_REDIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lws;

/// Puts an address together.
/// @param host   a request's Host header; one that is no name or address, with or without a port, is refused
/// @param port   goes into the address, where it isn't https' own; 0: the header's
/// @param path   decoded; what isn't plain in it is encoded again
/// @param query  encoded, with its '?'; "": none
/// @return false: the header is refused, or there is no room
bool tarn_redirect_location(const char *host, uint16_t port, const char *path, const char *query, char *location,
                            size_t location_bytes);

/// Appends an argument of a request to a query, encoded, behind a '?' or a '&'.
/// @param query  "" or what this has made of earlier ones
/// @return false: there is no room
bool tarn_redirect_add_argument(char *query, size_t query_bytes, const char *argument);

/// Answers a request, whatever its method, and ends its connection.
/// @param port  as above
/// @return what the libwebsockets callback is to return
int tarn_redirect_answer(struct lws *wsi, uint16_t port, const char *path);

#endif
