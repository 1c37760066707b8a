/// Addresses: read, whom one stands for, and how often it may do something. Pure. IPv4 ones are mapped into IPv6
/// everywhere.
#ifndef TARN_SERVER_NET_ADDRESSES_H
#define TARN_SERVER_NET_ADDRESSES_H

#include "server/base/limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/// An address of IPv4 as one of IPv6.
static inline struct in6_addr tarn_address_map(const struct in_addr *v4)
{
    struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(mapped.s6_addr + 12, v4, sizeof *v4);
    return mapped;
}

/// Reads an address as people write it. @param is_v4  receives whether it has 32 bits  @return false: it is none
bool tarn_address_read(const char *text, struct in6_addr *address, bool *is_v4);

/// Whether an address is this machine's own.
bool tarn_address_is_loopback(const struct in6_addr *address);

// ---- turns ----
// Bounding how often something may be done: the generic cell rate algorithm.

/// Takes one of what comes every `every_ms` in the long run, and `burst` at once.
/// @param due_ns  up to when they are used up; starts as 0  @return false: not now
bool tarn_turn_allow(uint64_t *due_ns, uint32_t every_ms, uint32_t burst);

// ---- clients ----
// Whoever asks without end takes the turns of itself alone. Of IPv6 the first 64 bits count: a household or a machine
// has a network of 2^64 for itself, and may come from another address each time.

/// Whether two addresses count as one client's.
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
