/// How often one address may join, so that whoever comes and goes without end takes the turns of itself alone: a
/// session takes so many in a second from all together. Pure.
#ifndef TARN_SERVER_GATEWAY_VIEWER_JOINS_H
#define TARN_SERVER_GATEWAY_VIEWER_JOINS_H

#include "server/gateway/gateway_limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tarn_viewer_joins {
    struct {
        struct in6_addr address; ///< IPv4 mapped; of IPv6 the first 64 bits count
        uint64_t due_ns;         ///< as for tarn_turn_allow; 0: nobody has the place
    } of[TARN_GATEWAY_JOIN_ADDRESSES];
} tarn_viewer_joins;

/// Takes one viewer of an address, TARN_GATEWAY_JOIN_ADDRESS_BURST at once and one each TARN_GATEWAY_JOIN_ADDRESS_MS in
/// the long run. Where no place is left the address is forgotten that has joined least of late.
/// @param joins  zeroed at first  @return false: not now
bool tarn_viewer_joins_allow(tarn_viewer_joins *joins, const struct in6_addr *address);

#endif
