/// Whom an address stands for, and how often it may do something, so that whoever asks without end takes the turns of
/// itself alone. Of IPv6 the first 64 bits count: a household or a machine has a network of 2^64 for itself, and may
/// come from another address each time. Pure.
#ifndef TARN_SERVER_GATEWAY_CLIENT_ADDRESS_H
#define TARN_SERVER_GATEWAY_CLIENT_ADDRESS_H

#include "server/gateway/gateway_limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/// Whether two addresses count as one client's. IPv4 ones are mapped.
bool tarn_client_is_one(const struct in6_addr *a, const struct in6_addr *b);

/// Addresses, each with the time up to which its turns are used. Starts zeroed.
typedef struct tarn_client_turns {
    struct {
        struct in6_addr address;
        uint64_t due_ns; ///< as for tarn_turn_allow; 0: nobody has the place
    } of[TARN_GATEWAY_TURN_ADDRESSES];
} tarn_client_turns;

/// Takes one turn of an address, `burst` at once and one every `every_ms` in the long run. Where no place is left the
/// address is forgotten that has taken least of late.
/// @return false: not now
bool tarn_client_turn_allow(tarn_client_turns *turns, const struct in6_addr *address, uint32_t every_ms,
                            uint32_t burst);

#endif
