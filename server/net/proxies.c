// Addresses are compared as IPv6 ones, of which IPv4 is a network: begin at tarn_proxies_client. Then what this machine
// itself is called.
#include "server/net/proxies.h"
#include "server/net/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAPPED_BITS = 96, ALL_BITS = 128 };

tarn_status tarn_proxies_add(tarn_proxies *proxies, const char *text, tarn_text why)
{
    char address[INET6_ADDRSTRLEN + 8];
    bool is_v4 = false;
    if (proxies->count == TARN_GATEWAY_PROXIES_MAX) {
        snprintf(why, sizeof(tarn_text), "given more than %d times", TARN_GATEWAY_PROXIES_MAX);
        return TARN_E_LIMIT;
    }
    const size_t length = strcspn(text, "/");
    snprintf(address, sizeof address, "%.*s", (int)length, text);
    struct in6_addr *place = &proxies->networks[proxies->count].address;
    const bool is_address = length < sizeof address && tarn_address_read(address, place, &is_v4);
    const long most = is_v4 ? ALL_BITS - MAPPED_BITS : ALL_BITS;
    char *end = NULL;
    const char *digits = text[length] == '/' ? text + length + 1 : "";
    const long bits = text[length] == '/' ? strtol(digits, &end, 10) : most;
    const bool is_number = end == NULL || (*end == 0 && digits[0] >= '0' && digits[0] <= '9');
    if (!is_address || !is_number || bits < 0 || bits > most) {
        snprintf(why, sizeof(tarn_text),
                 "found \"%.100s\", allowed is an address or a network such as 10.0.0.0/8 or fd00::/8", text);
        return TARN_E_MALFORMED;
    }
    proxies->networks[proxies->count++].bits = (uint32_t)(is_v4 ? bits + MAPPED_BITS : bits);
    return TARN_OK;
}

void tarn_proxies_text(const tarn_proxies *proxies, uint32_t index, char text[TARN_PROXIES_TEXT_BYTES])
{
    const struct in6_addr *address = &proxies->networks[index].address;
    uint32_t bits = proxies->networks[index].bits;
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(address) && bits >= MAPPED_BITS;
    bits -= is_v4 ? MAPPED_BITS : 0;
    inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? address->s6_addr + 12 : address->s6_addr, text, INET6_ADDRSTRLEN);
    if (bits < (is_v4 ? ALL_BITS - MAPPED_BITS : ALL_BITS)) {
        snprintf(text + strlen(text), 8, "/%u", bits);
    }
}

static bool is_within(const struct in6_addr *address, const struct in6_addr *network, uint32_t bits)
{
    const uint32_t bytes = bits / 8, rest = bits % 8;
    if (memcmp(address, network, bytes) != 0) {
        return false;
    }
    return rest == 0 || ((address->s6_addr[bytes] ^ network->s6_addr[bytes]) >> (8 - rest)) == 0;
}

bool tarn_proxies_trust(const tarn_proxies *proxies, const struct in6_addr *address)
{
    for (uint32_t i = 0; i < proxies->count; i++) {
        if (is_within(address, &proxies->networks[i].address, proxies->networks[i].bits)) {
            return true;
        }
    }
    return false;
}

static bool is_port(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return digits >= 1 && digits <= 5 && text[digits] == 0 && atoi(text) <= UINT16_MAX;
}

/// One hop as proxies write it: an address, some with a port behind it. @return whether it is one, and nothing else
static bool read_hop(const char *at, size_t bytes, struct in6_addr *address)
{
    char text[INET6_ADDRSTRLEN + 16];
    bool is_v4;
    while (bytes > 0 && (at[0] == ' ' || at[0] == '\t')) {
        at++;
        bytes--;
    }
    while (bytes > 0 && (at[bytes - 1] == ' ' || at[bytes - 1] == '\t')) {
        bytes--;
    }
    if (bytes == 0 || bytes >= sizeof text) {
        return false;
    }
    memcpy(text, at, bytes);
    text[bytes] = 0;
    char *begin = text, *colon = strchr(text, ':');
    const char *port = NULL;
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (end == NULL || (end[1] != 0 && end[1] != ':')) {
            return false;
        }
        port = end[1] != 0 ? end + 2 : NULL;
        begin = text + 1;
        *end = 0;
    } else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        *colon = 0;
        port = colon + 1;
    }
    return (port == NULL || is_port(port)) && tarn_address_read(begin, address, &is_v4);
}

struct in6_addr tarn_proxies_client(const tarn_proxies *proxies, const struct in6_addr *peer,
                                    const tarn_http_head *head)
{
    struct in6_addr client = *peer;
    for (uint32_t i = head->forwarded_for_count; i > 0; i--) {
        const char *begin = head->forwarded_for[i - 1].at;
        for (const char *end = begin + head->forwarded_for[i - 1].bytes; end != NULL;) {
            struct in6_addr hop;
            const char *comma = end > begin ? memrchr(begin, ',', (size_t)(end - begin)) : NULL;
            const char *first = comma != NULL ? comma + 1 : begin;
            if (!tarn_proxies_trust(proxies, &client) || !read_hop(first, (size_t)(end - first), &hop)) {
                return client;
            }
            client = hop;
            end = comma;
        }
    }
    return client;
}

tarn_forwarded_scheme tarn_proxies_scheme(const tarn_proxies *proxies, const struct in6_addr *peer,
                                          const tarn_http_head *head)
{
    const tarn_http_value said = head->forwarded_proto;
    if (said.at == NULL || !tarn_proxies_trust(proxies, peer)) {
        return TARN_FORWARDED_UNKNOWN;
    }
    return said.bytes == 5 && strncasecmp(said.at, "https", 5) == 0  ? TARN_FORWARDED_HTTPS
           : said.bytes == 4 && strncasecmp(said.at, "http", 4) == 0 ? TARN_FORWARDED_HTTP
                                                                     : TARN_FORWARDED_UNKNOWN;
}

// ---- own names ----
// IPv4 addresses are those of getifaddrs; of IPv6 only /proc says which are temporary. Where it can't be read there are
// IPv4 addresses alone.

static void add_address(tarn_own_names *names, const struct in6_addr *address)
{
    for (uint32_t i = 0; i < names->address_count; i++) {
        if (memcmp(&names->addresses[i], address, sizeof *address) == 0) {
            return;
        }
    }
    if (names->address_count < TARN_GATEWAY_TLS_ADDRESSES_MAX) {
        names->addresses[names->address_count++] = *address;
    }
}

static void add_v4(tarn_own_names *names, const struct in_addr *address)
{
    const struct in6_addr mapped = tarn_address_map(address);
    add_address(names, &mapped);
}

/// Takes names that DNS could have; others don't get into a certificate.
static void add_name(tarn_own_names *names, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || length > 253 || name[0] == '.' || name[0] == '-' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != length) {
        return;
    }
    for (uint32_t i = 0; i < names->name_count; i++) {
        if (strcmp(names->names[i], name) == 0) {
            return;
        }
    }
    if (names->name_count < TARN_GATEWAY_TLS_NAMES_MAX) {
        snprintf(names->names[names->name_count++], TARN_OWN_NAME_BYTES, "%s", name);
    }
}

static void find_v4(tarn_own_names *names)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP)) {
            continue;
        }
        const struct in_addr *address = &((const struct sockaddr_in *)one->ifa_addr)->sin_addr;
        const uint32_t host_order = ntohl(address->s_addr);
        if (host_order >> 24 != 127 && host_order >> 16 != 0xa9fe) { // 169.254 is of one link
            add_v4(names, address);
        }
    }
    freeifaddrs(all);
}

/// @param digits  32 hexadecimal ones
static void read_v6(const char *digits, struct in6_addr *address)
{
    for (size_t i = 0; i < sizeof address->s6_addr; i++) {
        unsigned byte = 0;
        sscanf(digits + 2 * i, "%2x", &byte);
        address->s6_addr[i] = (uint8_t)byte;
    }
}

static void find_v6(tarn_own_names *names)
{
    enum { SCOPE_GLOBAL = 0x00, TEMPORARY = 0x01 }; // linux/if_addr.h
    char digits[33];
    unsigned scope, flags;
    FILE *list = fopen("/proc/net/if_inet6", "re");
    if (list == NULL) {
        return;
    }
    while (fscanf(list, "%32s %*x %*x %x %x %*s", digits, &scope, &flags) == 3) {
        struct in6_addr address;
        if (scope == SCOPE_GLOBAL && !(flags & TEMPORARY) && strlen(digits) == 32) {
            read_v6(digits, &address);
            add_address(names, &address);
        }
    }
    fclose(list);
}

void tarn_own_names_add(const char *host, tarn_own_names *names)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        if (v4.s_addr != INADDR_ANY) {
            add_v4(names, &v4);
        }
    } else if (inet_pton(AF_INET6, host, &v6) == 1) {
        if (!IN6_IS_ADDR_UNSPECIFIED(&v6)) {
            add_address(names, &v6);
        }
    } else {
        add_name(names, host);
    }
}

void tarn_own_names_find(const char *host, tarn_own_names *names)
{
    char own[TARN_OWN_NAME_BYTES - sizeof ".local"] = "", local[TARN_OWN_NAME_BYTES];
    memset(names, 0, sizeof *names);
    add_name(names, "localhost");
    tarn_own_names_add("127.0.0.1", names);
    tarn_own_names_add("::1", names);
    tarn_own_names_add(host, names);
    if (gethostname(own, sizeof own - 1) == 0) {
        add_name(names, own);
        if (own[0] && strchr(own, '.') == NULL) { // as networks without a name server know it (RFC 6762)
            snprintf(local, sizeof local, "%s.local", own);
            add_name(names, local);
        }
    }
    find_v4(names);
    find_v6(names);
}
