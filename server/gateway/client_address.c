// A list, looked through at each turn.
#include "server/gateway/client_address.h"
#include "server/gateway/turn_taking.h"

#include <string.h>

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
