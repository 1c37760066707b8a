/// Under what names and addresses this machine is reached in its own networks.
#ifndef TARN_SERVER_GATEWAY_OWN_NAMES_H
#define TARN_SERVER_GATEWAY_OWN_NAMES_H

#include "server/gateway/gateway_limits.h"

#include <netinet/in.h>
#include <stdint.h>

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
