// Addresses are compared as IPv6 ones, of which IPv4 is a network.
#include "server/gateway/proxies.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAPPED_BITS = 96, ALL_BITS = 128 };

/// @return whether it is an address; *is_v4: it has 32 bits
static bool read_address(const char *text, struct in6_addr *address, bool *is_v4)
{
    struct in_addr v4;
    *is_v4 = inet_pton(AF_INET, text, &v4) == 1;
    if (!*is_v4) {
        return inet_pton(AF_INET6, text, address) == 1;
    }
    memset(address, 0, sizeof *address);
    address->s6_addr[10] = address->s6_addr[11] = 0xff;
    memcpy(address->s6_addr + 12, &v4, sizeof v4);
    return true;
}

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
    const bool is_address = length < sizeof address && read_address(address, place, &is_v4);
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
    return (port == NULL || is_port(port)) && read_address(begin, address, &is_v4);
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
