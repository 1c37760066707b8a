// A Host is taken apart once; then it is an address, which is compared as one, or a name: begin at tarn_reach_takes.
#include "server/gateway/reach.h"
#include "server/base/limits.h"
#include "server/net/addresses.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <libwebsockets.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { DNS_NAME_BYTES_MAX = 253 };

static bool read_address(const char *text, struct in6_addr *address)
{
    bool is_v4;
    return tarn_address_read(text, address, &is_v4);
}

bool tarn_reach_is_local(const char *host)
{
    struct in6_addr address;
    return read_address(host, &address) ? tarn_address_is_loopback(&address) : strcasecmp(host, "localhost") == 0;
}

bool tarn_reach_name_valid(const char *name)
{
    struct in6_addr address;
    const size_t length = strlen(name);
    return read_address(name, &address) ||
           (length > 0 && length <= DNS_NAME_BYTES_MAX && name[0] != '.' && name[0] != '-' &&
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == length);
}

void tarn_reach_find(tarn_reach *reach, const tarn_gateway_options *options)
{
    reach->options = options;
    tarn_own_names_find(options->host, &reach->own);
}

/// Takes the port, the brackets of an IPv6 address and the dot at a name's end off. @return false: it is no host
static bool take_host(const char *text, size_t text_bytes, char host[TARN_OWN_NAME_BYTES])
{
    const bool is_v6 = text_bytes > 0 && text[0] == '[';
    const char *from = is_v6 ? text + 1 : text, *end = text + text_bytes;
    const char *to = memchr(from, is_v6 ? ']' : ':', (size_t)(end - from));
    if (is_v6 && to == NULL) {
        return false;
    }
    const char *port = to == NULL ? end : is_v6 ? to + 1 : to;
    to = to == NULL ? end : to;
    if (port < end && (*port != ':' || strspn(port + 1, "0123456789") < (size_t)(end - port - 1))) {
        return false;
    }
    size_t length = (size_t)(to - from);
    length -= !is_v6 && length > 1 && from[length - 1] == '.';
    if (length == 0 || length >= TARN_OWN_NAME_BYTES) {
        return false;
    }
    memcpy(host, from, length);
    host[length] = 0;
    return tarn_reach_name_valid(host);
}

/// Whether the connection came to this very address, which the machine may have got since the start.
static bool is_local_end(const struct in6_addr *address, int fd)
{
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own;
    struct in6_addr found;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&own, &bytes) != 0) {
        return false;
    }
    if (own.ss_family == AF_INET) {
        found = tarn_address_map(&((const struct sockaddr_in *)&own)->sin_addr);
    } else if (own.ss_family == AF_INET6) {
        found = ((const struct sockaddr_in6 *)&own)->sin6_addr;
    } else {
        return false;
    }
    return memcmp(address, &found, sizeof found) == 0;
}

/// Whether a name or an address that was given by an option is this one.
static bool is_same(const char *given, const char *host, const struct in6_addr *address)
{
    struct in6_addr other;
    if (address != NULL) {
        return read_address(given, &other) && memcmp(&other, address, sizeof other) == 0;
    }
    const size_t length = strlen(given);
    const size_t named = length - (length > 1 && given[length - 1] == '.');
    return strncasecmp(given, host, named) == 0 && host[named] == 0;
}

static bool is_given(const tarn_gateway_options *options, const char *host, const struct in6_addr *address)
{
    char origin[TARN_OWN_NAME_BYTES];
    bool found = is_same(options->host, host, address);
    for (uint32_t i = 0; i < options->names.count; i++) {
        found |= is_same(options->names.texts[i], host, address);
    }
    for (uint32_t i = 0; i < options->origins.count; i++) {
        const char *of_origin = strstr(options->origins.texts[i], "://") + 3;
        found |= take_host(of_origin, strlen(of_origin), origin) && is_same(origin, host, address);
    }
    return found;
}

static bool is_own_address(const tarn_own_names *own, const struct in6_addr *address)
{
    bool found = tarn_address_is_loopback(address);
    for (uint32_t i = 0; i < own->address_count; i++) {
        found |= memcmp(&own->addresses[i], address, sizeof *address) == 0;
    }
    return found;
}

static bool is_own_name(const tarn_own_names *own, const char *host)
{
    static const char below[] = ".localhost"; // which browsers look up nowhere
    const size_t length = strlen(host);
    bool found = length >= sizeof below && strcasecmp(host + length - (sizeof below - 1), below) == 0;
    for (uint32_t i = 0; i < own->name_count; i++) {
        found |= is_same(own->names[i], host, NULL);
    }
    return found;
}

bool tarn_reach_takes(const tarn_reach *reach, const char *text, int fd)
{
    char host[TARN_OWN_NAME_BYTES];
    struct in6_addr address;
    if (!take_host(text, strlen(text), host)) {
        return false;
    }
    const bool is_address = read_address(host, &address);
    return is_given(reach->options, host, is_address ? &address : NULL) ||
           (is_address ? is_own_address(&reach->own, &address) || is_local_end(&address, fd)
                       : is_own_name(&reach->own, host));
}

// ---- requests without TLS ----
// The answer is written by hand: it must not have the headers that libwebsockets gives all answers of an encrypted host
// (RFC 6797, section 7.2).

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

// ---- which refusals are told ----
// A small table of refused origins by when each was told; a place is free again after a minute.

int tarn_refused_origins_tell(tarn_refused_origins *origins, const char *origin, uint64_t now_ns)
{
    int place = -1;
    for (int i = 0; i < TARN_REFUSED_ORIGINS_MAX; i++) {
        const char *known = origins->places[i].origin;
        const bool is_over = !known[0] || now_ns - origins->places[i].told_ns >= TARN_REFUSED_ORIGIN_S * 1000000000ull;
        if (!is_over && strncmp(known, origin, TARN_REFUSED_ORIGIN_BYTES - 1) == 0) {
            return 0;
        }
        if (is_over) {
            place = i;
        }
    }
    if (place < 0) {
        return 0;
    }
    snprintf(origins->places[place].origin, TARN_REFUSED_ORIGIN_BYTES, "%s", origin);
    origins->places[place].told_ns = now_ns;
    return 1;
}
