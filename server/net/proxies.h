/// Whom a request comes from where a trusted proxy passes it on, which is pure; and this machine's own names.
#ifndef TARN_SERVER_NET_PROXIES_H
#define TARN_SERVER_NET_PROXIES_H

#include "server/base/limits.h"
#include "server/net/http_head.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tarn_proxies {
    uint32_t count;
    struct {
        struct in6_addr address; ///< IPv4 ones mapped
        uint32_t bits;           ///< of it that count, 0..128
    } networks[TARN_GATEWAY_PROXIES_MAX];
} tarn_proxies;

typedef enum tarn_forwarded_scheme {
    TARN_FORWARDED_UNKNOWN = 0,
    TARN_FORWARDED_HTTP,
    TARN_FORWARDED_HTTPS,
} tarn_forwarded_scheme;

/// Adds an address, or a network such as 10.0.0.0/8 or fd00::/8.
/// @param why  on failure a sentence  @return TARN_OK, TARN_E_MALFORMED or TARN_E_LIMIT
tarn_status tarn_proxies_add(tarn_proxies *proxies, const char *text, tarn_text why);

enum { TARN_PROXIES_TEXT_BYTES = INET6_ADDRSTRLEN + 8 };

/// Writes what tarn_proxies_add reads. @param index  0..count-1
void tarn_proxies_text(const tarn_proxies *proxies, uint32_t index, char text[TARN_PROXIES_TEXT_BYTES]);

bool tarn_proxies_trust(const tarn_proxies *proxies, const struct in6_addr *address);

/// Whom a request comes from: the peer, unless it is a trusted proxy; then the last address in X-Forwarded-For that is
/// none, since whoever is in front of that may have written anything. What can't be read, as an address with
/// anything but a port behind it, ends the search: it comes from the proxy that wrote it.
struct in6_addr tarn_proxies_client(const tarn_proxies *proxies, const struct in6_addr *peer,
                                    const tarn_http_head *head);

/// How the client spoke to a trusted proxy, by X-Forwarded-Proto.
tarn_forwarded_scheme tarn_proxies_scheme(const tarn_proxies *proxies, const struct in6_addr *peer,
                                          const tarn_http_head *head);

// ---- own names ----
// Under what names and addresses this machine is reached in its own networks.

enum { TARN_OWN_NAME_BYTES = 256 }; ///< with the end

typedef struct tarn_own_names {
    uint32_t name_count, address_count;
    char names[TARN_GATEWAY_TLS_NAMES_MAX][TARN_OWN_NAME_BYTES]; ///< localhost first
    struct in6_addr addresses[TARN_GATEWAY_TLS_ADDRESSES_MAX];   ///< IPv4 ones mapped; 127.0.0.1 and ::1 first
} tarn_own_names;

/// Finds localhost, the host's name, alone and in .local, and the addresses of the interfaces that are up. Addresses of
/// one link and those of IPv6 that change by themselves (RFC 8981) are left out: nobody types them.
/// @param host  the address or name that the server listens on, which belongs to them, too
void tarn_own_names_find(const char *host, tarn_own_names *names);

/// Adds an address or a name, unless it is there or no certificate could have it.
void tarn_own_names_add(const char *host, tarn_own_names *names);

#endif
