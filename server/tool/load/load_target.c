// A URL taken apart, looked up, and whether it is this machine: start at load_target_find.
#include "server/tool/load/load_target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PORT_DEFAULT = 8080, PORT_HTTP = 80, PORT_HTTPS = 443 };

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    }
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

static bool scheme_is(const char *text, size_t length, const char *scheme)
{
    return strlen(scheme) == length && strncasecmp(text, scheme, length) == 0;
}

static bool read_scheme(const char **at, load_target *target, char *why)
{
    const char *end = strstr(*at, "://");
    target->port = PORT_DEFAULT;
    if (end == NULL) {
        return true;
    }
    const size_t length = (size_t)(end - *at);
    target->is_tls = scheme_is(*at, length, "https") || scheme_is(*at, length, "wss");
    if (!target->is_tls && !scheme_is(*at, length, "http") && !scheme_is(*at, length, "ws")) {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "found the scheme \"%.*s\", allowed are http, https, ws and wss",
                 (int)(length < 32 ? length : 32), *at);
        return false;
    }
    target->port = target->is_tls ? PORT_HTTPS : PORT_HTTP;
    *at = end + 3;
    return true;
}

static bool read_path(const char *path, char *why)
{
    if (path[0] == '\0' || strcmp(path, "/") == 0 || strcmp(path, "/ws") == 0) {
        return true;
    }
    snprintf(why, LOAD_TARGET_WHY_BYTES, "found the path \"%.100s\", allowed are / and /ws", path);
    return false;
}

static bool read_port(const char *text, size_t length, uint16_t *port, char *why)
{
    char digits[8] = "", *end = digits;
    long value = -1;
    if (length > 0 && length < sizeof digits) {
        memcpy(digits, text, length);
        errno = 0;
        value = strtol(digits, &end, 10);
    }
    if (value < 1 || value > 65535 || *end != '\0' || digits[0] < '0' || digits[0] > '9') {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "found the port \"%.*s\", allowed is a number from 1 to 65535",
                 (int)(length < 32 ? length : 32), text);
        return false;
    }
    *port = (uint16_t)value;
    return true;
}

/// HOST, HOST:PORT, [V6] or [V6]:PORT; `length` characters of it.
static bool read_authority(const char *text, size_t length, load_target *target, char *why)
{
    const char *end = text + length, *host = text, *host_end, *colon;
    if (length > 0 && text[0] == '[') {
        host = text + 1;
        host_end = memchr(text, ']', length);
        colon = host_end != NULL ? host_end + 1 : end;
    } else {
        colon = memchr(text, ':', length);
        colon = host_end = colon != NULL ? colon : end;
    }
    if (host_end == NULL || host_end == host || (size_t)(host_end - host) >= sizeof target->host ||
        (colon < end && *colon != ':')) {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "found \"%.*s\", allowed are HOST, HOST:PORT and [ADDRESS]:PORT",
                 (int)(length < 200 ? length : 200), text);
        return false;
    }
    if (colon < end && !read_port(colon + 1, (size_t)(end - colon - 1), &target->port, why)) {
        return false;
    }
    snprintf(target->host, sizeof target->host, "%.*s", (int)(host_end - host), host);
    bool v6 = strchr(target->host, ':') != NULL;
    snprintf(target->authority, sizeof target->authority, "%s%s%s:%u", v6 ? "[" : "", target->host, v6 ? "]" : "",
             target->port);
    return true;
}

static bool resolve(load_target *target, char *why)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", target->port);
    int error = getaddrinfo(target->host, service, &wanted, &found);
    if (error != 0 || found == NULL) {
        snprintf(why, LOAD_TARGET_WHY_BYTES, "the server \"%s\" was not found: %s", target->host, gai_strerror(error));
        return false;
    }
    // A name such as localhost has addresses of both kinds, and tarnd listens on 127.0.0.1 unless told otherwise.
    const struct addrinfo *taken = found;
    while (taken != NULL && taken->ai_family != AF_INET) {
        taken = taken->ai_next;
    }
    taken = taken != NULL ? taken : found;
    memcpy(&target->address, taken->ai_addr, taken->ai_addrlen);
    target->address_bytes = taken->ai_addrlen;
    target->loopback = is_loopback(&target->address);
    freeaddrinfo(found);
    return true;
}

bool load_target_find(const char *text, load_target *target, char why[LOAD_TARGET_WHY_BYTES])
{
    *target = (load_target){0};
    if (!read_scheme(&text, target, why)) {
        return false;
    }
    size_t length = strcspn(text, "/");
    return read_path(text + length, why) && read_authority(text, length, target, why) && resolve(target, why);
}
