/// Bounding how often something may be done (the generic cell rate algorithm).
#ifndef TARN_SERVER_NET_ADDRESSES_H
#define TARN_SERVER_NET_ADDRESSES_H

#include "server/base/limits.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/// Takes one of what comes every `every_ms` in the long run, and `burst` at once.
/// @param due_ns  up to when they are used up; starts as 0  @return false: not now
bool tarn_turn_allow(uint64_t *due_ns, uint32_t every_ms, uint32_t burst);

// ---- client address ----
// Whom an address stands for, and how often it may do something, so that whoever asks without end takes the turns of
// itself alone. Of IPv6 the first 64 bits count: a household or a machine has a network of 2^64 for itself, and may
// come from another address each time. Pure.

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

// ---- log meter ----
// Keeps what many may cause at once from filling the log: so many lines a second, and how many were left out.

/// Zeros at first.
typedef struct tarn_log_meter {
    uint64_t due_ns;   ///< up to when lines are used up
    uint64_t told_ns;  ///< when it was told how many were left out
    uint32_t left_out; ///< since then
} tarn_log_meter;

/// @return whether a line may be written now; else it counts as left out
bool tarn_log_meter_allow(tarn_log_meter *meter);

/// How many were left out, at most once a second. @return 0: none, or not now
uint32_t tarn_log_meter_left_out(tarn_log_meter *meter, uint64_t now_ns);

#endif
