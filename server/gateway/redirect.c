// The answer is written by hand: it must not have the headers that libwebsockets gives all answers of an encrypted host
// (RFC 6797, section 7.2).
#include "server/gateway/redirect.h"
#include "server/gateway/gateway_limits.h"

#include <ctype.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HTTPS_PORT = 443, HOST_BYTES_MAX = 253, PORT_DIGITS_MAX = 5 };

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/// The bytes of a header's name or address; 0: it is none.
static size_t host_bytes(const char *header)
{
    size_t bytes;
    if (header[0] == '[') {
        bytes = 1 + strspn(header + 1, "0123456789abcdefABCDEF:.");
        return bytes > 2 && header[bytes] == ']' ? bytes + 1 : 0;
    }
    bytes = strspn(header, LETTERS "0123456789-._");
    return bytes <= HOST_BYTES_MAX && header[0] != '.' && header[0] != '-' ? bytes : 0;
}

/// The port behind a header's name: 0: none is there, -1: it is no port.
static long port_of(const char *text)
{
    if (text[0] == '\0') {
        return 0;
    }
    const size_t digits = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;
    const long port = digits > 0 && digits <= PORT_DIGITS_MAX && text[1 + digits] == '\0' ? atol(text + 1) : -1;
    return port > 0 && port <= UINT16_MAX ? port : -1;
}

/// Appends a text, with what isn't in `plain` encoded. @return where it ends; NULL: there is no room
static char *append(char *at, const char *end, const char *text, const char *plain)
{
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        const bool is_plain = (byte < 0x80 && isalnum(byte)) || strchr(plain, byte) != NULL;
        if (end - at < 4) {
            return NULL;
        }
        at += is_plain ? snprintf(at, 2, "%c", byte) : snprintf(at, 4, "%%%02X", byte);
    }
    return at;
}

bool tarn_redirect_location(const char *host, uint16_t port, const char *target, char *location, size_t location_bytes)
{
    const size_t bytes = host_bytes(host);
    const long found = bytes > 0 ? port_of(host + bytes) : -1;
    const char *end = location + location_bytes;
    char port_text[8] = "";
    if (found < 0 || target[0] != '/') {
        return false;
    }
    const long goes_to = port ? port : found;
    if (goes_to != 0 && goes_to != HTTPS_PORT) {
        snprintf(port_text, sizeof port_text, ":%ld", goes_to);
    }
    const int written = snprintf(location, location_bytes, "https://%.*s%s", (int)bytes, host, port_text);
    if (written < 0 || (size_t)written >= location_bytes) {
        return false;
    }
    char *at = append(location + written, end, target, "/-._~!$&'()*+,;=:@%?");
    if (at == NULL) {
        return false;
    }
    *at = '\0';
    return true;
}

/// @param head  the status line's end and what headers the answer has besides
static int answer(struct lws *wsi, const char *head, const char *body)
{
    uint8_t bytes[LWS_PRE + TARN_GATEWAY_LOCATION_BYTES_MAX + 512];
    char *text = (char *)bytes + LWS_PRE;
    const int length = snprintf(text, sizeof bytes - LWS_PRE,
                                "HTTP/1.1 %s\r\nCache-Control: no-store\r\nContent-Type: text/plain\r\n"
                                "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                                head, strlen(body), body);
    lws_write(wsi, bytes + LWS_PRE, (size_t)length, LWS_WRITE_HTTP_HEADERS);
    return -1; // ends it, whether it got the answer or not
}

int tarn_redirect_answer(struct lws *wsi, uint16_t port, const tarn_http_head *request, const tarn_reach *reach)
{
    char host[HOST_BYTES_MAX + 16] = "", target[TARN_GATEWAY_TARGET_BYTES_MAX + 1];
    char location[TARN_GATEWAY_LOCATION_BYTES_MAX], head[TARN_GATEWAY_LOCATION_BYTES_MAX + 64];
    const tarn_http_value *const path = &request->path, *const query = &request->query;
    const bool fits = (request->host.at == NULL || snprintf(host, sizeof host, "%.*s", (int)request->host.bytes,
                                                            request->host.at) < (int)sizeof host) &&
                      snprintf(target, sizeof target, "%.*s%.*s", (int)path->bytes, path->at, (int)query->bytes,
                               query->at) < (int)sizeof target;
    if (!fits || !tarn_redirect_location(host, port, target, location, sizeof location)) {
        return answer(wsi, "400 Bad Request", "This server speaks https; the Host header names no server to go to.\n");
    }
    if (!tarn_reach_takes(reach, host, lws_get_socket_fd(wsi))) {
        return answer(wsi, "421 Misdirected Request",
                      "This server goes by another name; its operator may add this one with --name.\n");
    }
    // 308 keeps the method. Nobody is to remember it: the ports are this start's.
    snprintf(head, sizeof head, "308 Permanent Redirect\r\nLocation: %s", location);
    return answer(wsi, head, "");
}
