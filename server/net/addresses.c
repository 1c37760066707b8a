// Addresses as text and as whom they stand for, and turns by one due time each: begin at tarn_turn_allow.
#include "server/net/addresses.h"
#include "server/base/clock.h"
#include "server/base/limits.h"

#include <arpa/inet.h>
#include <string.h>

bool tarn_address_read(const char *text, struct in6_addr *address, bool *is_v4)
{
    struct in_addr v4;
    *is_v4 = inet_pton(AF_INET, text, &v4) == 1;
    if (!*is_v4) {
        return inet_pton(AF_INET6, text, address) == 1;
    }
    *address = tarn_address_map(&v4);
    return true;
}

bool tarn_address_is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) || (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

// ---- turns ----
// One due time is all that the generic cell rate algorithm keeps.

bool tarn_turn_allow(uint64_t *due_ns, uint32_t every_ms, uint32_t burst)
{
    const uint64_t now_ns = tarn_clock_monotonic_ns(), every_ns = every_ms * (uint64_t)1000000;
    const uint64_t used_ns = *due_ns > now_ns ? *due_ns : now_ns;
    if (used_ns - now_ns > (burst - 1) * every_ns) {
        return false;
    }
    *due_ns = used_ns + every_ns;
    return true;
}

// ---- clients ----
// A list, looked through at each turn.

enum { NETWORK_BYTES = 8 };

bool tarn_client_is_one(const struct in6_addr *a, const struct in6_addr *b)
{
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(a);
    return is_v4 == (bool)IN6_IS_ADDR_V4MAPPED(b) && memcmp(a, b, is_v4 ? sizeof *a : NETWORK_BYTES) == 0;
}

bool tarn_client_turn_allow(tarn_client_turns *turns, const struct in6_addr *address, uint32_t every_ms, uint32_t burst)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < TARN_GATEWAY_TURN_ADDRESSES; i++) {
        if (turns->of[i].due_ns != 0 && tarn_client_is_one(&turns->of[i].address, address)) {
            return tarn_turn_allow(&turns->of[i].due_ns, every_ms, burst);
        }
        place = turns->of[i].due_ns < turns->of[place].due_ns ? i : place;
    }
    turns->of[place].address = *address;
    turns->of[place].due_ns = 0;
    return tarn_turn_allow(&turns->of[place].due_ns, every_ms, burst);
}
