// A Host is taken apart once; then it is an address, which is compared as one, or a name.
#include "server/gateway/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { DNS_NAME_BYTES_MAX = 253 };

/// @param address  of IPv4 it is mapped  @return false: it is none
static bool read_address(const char *text, struct in6_addr *address)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        memset(address, 0, sizeof *address);
        address->s6_addr[10] = address->s6_addr[11] = 0xff;
        memcpy(address->s6_addr + 12, &v4, sizeof v4);
        return true;
    }
    return inet_pton(AF_INET6, text, address) == 1;
}

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) || (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

bool tarn_reach_is_local(const char *host)
{
    struct in6_addr address;
    return read_address(host, &address) ? is_loopback(&address) : strcasecmp(host, "localhost") == 0;
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
    struct in6_addr found = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&own, &bytes) != 0) {
        return false;
    }
    if (own.ss_family == AF_INET) {
        memcpy(found.s6_addr + 12, &((const struct sockaddr_in *)&own)->sin_addr, 4);
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
    bool found = is_loopback(address);
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
